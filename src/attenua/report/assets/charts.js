// Charts of the report: lines over a number, and rows of dots or bars.
class Chart {
  constructor(figure) {
    this.views = onPage.charts[figure.dataset.chart];
    this.box = figure.querySelector(".canvas");
    this.clipId = "clip-" + figure.dataset.chart;
    const bar = html(this.box, "div", "bar");
    if (this.views.length > 1) {
      this.select = html(bar, "select");
      this.select.setAttribute("aria-label", "What to show");
      this.views.forEach((view, k) => { html(this.select, "option", "", view.label).value = k; });
      this.select.addEventListener("change", () => this.open(Number(this.select.value)));
    }
    this.legend = html(bar, "ul", "legend");
    const tools = html(bar, "div", "tools");
    this.buttons = [["+", "Zoom in", () => this.zoom(0.5)], ["−", "Zoom out", () => this.zoom(2)], ["Reset", "Show everything", () => this.reset()]].map(
      ([text, label, action]) => {
        const button = html(tools, "button", "", text);
        button.type = "button";
        button.setAttribute("aria-label", label);
        button.title = label;
        button.addEventListener("click", action);
        return button;
      });
    this.svg = shape(this.box, "svg", { class: "plot", role: "img", tabindex: "0", "aria-label": this.box.dataset.label });
    this.tip = html(this.box, "div", "tip");
    this.tip.hidden = true;
    this.tip.setAttribute("aria-live", "polite");
    this.listen();
    this.open(0);
    new ResizeObserver(() => { if (this.box.clientWidth !== this.width) this.draw(); }).observe(this.box);
  }

  open(number) {
    this.view = this.views[number];
    this.isRows = this.view.type === "rows";
    this.legend.replaceChildren();
    const quiet = this.view.series.filter((series) => series.quiet);
    const named = this.view.series.filter((series) => !series.quiet);
    if (quiet.length) named.splice(1, 0, { ...quiet[0], name: quiet.length === 1 ? "one held-out part" : "each held-out part" });
    for (const series of named) {
      const item = html(this.legend, "li");
      const key = shape(item, "svg", { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true", style: "width:22px;flex:none" });
      const look = `role-${series.role} `;
      if (series.kind === "band") shape(key, "rect", { class: look + "band", x: 0, y: 1, width: 22, height: 10 });
      else if (series.kind === "bar") shape(key, "rect", { class: look + "column", x: 2, y: 2, width: 18, height: 8 });
      else if (series.kind === "line") shape(key, "path", { class: look + "line", d: "M0 6H22" });
      else if (series.kind === "span") shape(key, "path", { class: look + "line", d: "M11 0V12" });
      if (series.kind === "dot") shape(key, "circle", { class: look + "dot", cx: 11, cy: 6, r: series.role === "pca" ? 5 : 4 });
      if (series.kind === "mark") shape(key, "circle", { class: look + "mark", cx: 11, cy: 6, r: 4.5 });
      html(item, "span", "", series.name);
    }
    let [low, high] = endsOf(this.view.series.flatMap((series) => series.x));
    if (this.isRows) { low = Math.min(0, low); high = Math.max(0, high); }
    if (this.view.whole) { low -= 0.4; high += 0.4; }
    if (low === high) { low -= 0.5; high += 0.5; }
    const room = this.isRows ? 0.06 * (high - low) : 0;
    this.full = [low - (low < 0 || !this.isRows ? room : 0), high + (high > 0 || !this.isRows ? room : 0)];
    this.range = this.full.slice();
    this.at = null;
    // Where the pointer may stop: every place where a series with values to show has one.
    this.stops = this.isRows ? this.view.rows.map((_, k) => k)
      : [...new Set(this.view.series.filter((s) => !s.quiet).flatMap((s) => s.x))].sort((a, b) => a - b);
    this.draw();
  }

  visible(series) {
    // Points in range with one neighbour on each side, so that lines run to the edge.
    const [low, high] = this.range;
    let first = series.x.findIndex((x) => x >= low - 1e-12), last = series.x.length - 1;
    while (last >= 0 && series.x[last] > high + 1e-12) last--;
    if (first < 0) return [];
    first = Math.max(0, first - 1);
    last = Math.min(series.x.length - 1, last + 1);
    return Array.from({ length: last - first + 1 }, (_, k) => first + k);
  }

  heights() {
    let low = Infinity, high = -Infinity;
    const add = (value) => { if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); } };
    for (const series of this.view.series) {
      for (const k of this.visible(series)) {
        if (series.x[k] < this.range[0] - 1e-9 || series.x[k] > this.range[1] + 1e-9) continue;
        if (series.lo) { add(series.lo[k]); add(series.hi[k]); } else add(series.y[k]);
      }
    }
    if (this.view.zero && (this.range[0] <= this.full[0] + 1e-12)) add(0);
    if (!(high >= low)) return [0, 1];
    const room = (high - low || Math.abs(high) || 1) * 0.07;
    return [low - room, high + room];
  }

  draw(paper) {
    this.width = paper ? paper.width : this.box.clientWidth;
    const width = Math.max(this.width, 200), narrow = width < 520, rowHeight = paper ? paper.rowHeight : 22;
    const labelWidth = narrow ? 108 : 190;
    const height = this.isRows ? 30 + rowHeight * this.view.rows.length + 34 : paper ? paper.height : this.view.small ? 220 : narrow ? 270 : 340;
    const area = this.area = { left: this.isRows ? labelWidth : 58, right: width - 12, top: this.isRows ? 8 : 22, bottom: height - 42 };
    const [x0, x1] = this.range;
    this.px = (x) => area.left + ((x - x0) / (x1 - x0)) * (area.right - area.left);
    this.xAt = (pixel) => x0 + ((pixel - area.left) / (area.right - area.left)) * (x1 - x0);
    const svg = this.svg;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    svg.dataset.xMin = x0;
    svg.dataset.xMax = x1;
    // Lines end at the edge of the area; a round mark on the edge is shown whole.
    const defs = shape(svg, "defs", {}), groups = [0, 8].map((margin) => {
      const id = `${this.clipId}-${margin}`;
      shape(shape(defs, "clipPath", { id }), "rect", { x: area.left - margin, y: area.top - margin, width: area.right - area.left + 2 * margin, height: area.bottom - area.top + 2 * margin });
      return id;
    });
    this.back = shape(svg, "g", {});
    [this.lines, this.front] = groups.map((id) => shape(svg, "g", { "clip-path": `url(#${id})` }));
    this.drawX(narrow);
    if (this.isRows) this.drawRows(rowHeight, narrow); else this.drawLines();
    this.over = shape(svg, "g", {});
    const zoomed = this.range[0] !== this.full[0] || this.range[1] !== this.full[1];
    this.buttons[1].disabled = this.buttons[2].disabled = !zoomed;
    this.point(this.at);
  }

  drawX(narrow) {
    const { area, view, back } = this, [x0, x1] = this.range;
    if (view.shade && view.shade[1] > x0 && view.shade[0] < x1) {
      const left = Math.max(area.left, this.px(view.shade[0])), right = Math.min(area.right, this.px(view.shade[1]));
      shape(back, "rect", { class: "shade", x: left, y: area.top, width: right - left, height: area.bottom - area.top });
      if (right - left > 110) shape(back, "text", { x: (left + right) / 2, y: area.top - 7, "text-anchor": "middle" }, view.shade[2]);
    }
    let places = ticks(x0, x1, narrow ? 5 : 9);
    if (view.whole) places = [...new Set(places.map(Math.round))].filter((x) => x >= x0 && x <= x1);
    for (const x of places) {
      if (this.isRows) shape(back, "line", { class: "grid", x1: this.px(x), x2: this.px(x), y1: area.top, y2: area.bottom });
      shape(back, "line", { class: "axis", x1: this.px(x), x2: this.px(x), y1: area.bottom, y2: area.bottom + 4 });
      shape(back, "text", { class: "xtick", x: this.px(x), y: area.bottom + 18, "text-anchor": "middle" }, show(x));
    }
    shape(back, "text", { x: (area.left + area.right) / 2, y: area.bottom + 36, "text-anchor": "middle" }, view.xLabel);
    if (view.cut && view.cut[0] > x0 && view.cut[0] < x1) {
      const x = this.px(view.cut[0]);
      shape(back, "line", { class: "cutline", x1: x, x2: x, y1: area.top, y2: area.bottom });
      shape(back, "text", { x: x, y: area.top - 7, "text-anchor": "middle" }, view.cut[1]);
    }
  }

  drawLines() {
    const { area, view } = this, [y0, y1] = this.heights();
    const py = this.py = (y) => area.bottom - ((y - y0) / (y1 - y0)) * (area.bottom - area.top);
    for (const y of ticks(y0, y1, 5)) {
      shape(this.back, "line", { class: y === 0 && view.zero ? "axis" : "grid", x1: area.left, x2: area.right, y1: py(y), y2: py(y) });
      shape(this.back, "text", { x: area.left - 8, y: py(y) + 4, "text-anchor": "end" }, show(y));
    }
    shape(this.back, "text", { transform: `translate(13 ${(area.top + area.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, view.yLabel);
    for (const series of view.series) {
      const seen = this.visible(series), look = `role-${series.role} `;
      const at = (k, y) => `${this.px(series.x[k]).toFixed(2)} ${py(y).toFixed(2)}`;
      if (series.kind === "band") {
        // A band without an upper end goes on to the edge.
        const there = seen.filter((k) => series.lo[k] !== null);
        if (there.length) {
          const path = there.map((k) => at(k, series.lo[k])).concat(there.slice().reverse().map((k) => at(k, series.hi[k] === null ? y1 : series.hi[k])));
          shape(this.lines, "path", { class: look + "band", d: "M" + path.join("L") + "Z" });
        }
      } else if (series.kind === "line") {
        const there = seen.filter((k) => series.y[k] !== null);
        if (there.length) shape(this.lines, "path", { class: look + "line", d: "M" + there.map((k) => at(k, series.y[k])).join("L") });
        if (series.dots && there.length < 80) for (const k of there) shape(this.front, "circle", { class: look + "dot", cx: this.px(series.x[k]), cy: py(series.y[k]), r: 2.6 });
      } else if (series.kind === "span") {
        for (const k of seen) shape(this.lines, "path", { class: look + "line", d: `M${at(k, series.lo[k])}L${at(k, series.hi[k])}` });
      } else for (const k of seen) shape(this.front, "circle", { class: look + "mark", cx: this.px(series.x[k]), cy: py(series.y[k]), r: 6.5 });
    }
  }

  drawRows(rowHeight, narrow) {
    const { area, view } = this;
    const middle = this.middle = (k) => area.top + rowHeight * (k + 0.5) + 6;
    if (this.range[0] < 0 && this.range[1] > 0) shape(this.back, "line", { class: "axis", x1: this.px(0), x2: this.px(0), y1: area.top, y2: area.bottom });
    view.rows.forEach((name, k) => {
      const label = shape(this.back, "text", { class: "name", x: area.left - 10, y: middle(k) + 4, "text-anchor": "end" }, clip(name, narrow ? 14 : 26));
      shape(label, "title", {}, name);
      if (view.series.length > 1) shape(this.lines, "line", { class: "link", x1: this.px(view.series[0].x[k]), x2: this.px(view.series[1].x[k]), y1: middle(k), y2: middle(k) });
      for (const series of view.series) {
        const look = `role-${series.role} `, x = this.px(series.x[k]), zero = this.px(0);
        if (series.kind === "bar") shape(this.lines, "rect", { class: look + "column", x: Math.min(x, zero), y: middle(k) - 0.32 * rowHeight, width: Math.abs(x - zero), height: 0.64 * rowHeight });
        else shape(this.front, "circle", { class: look + "dot", cx: x, cy: middle(k), r: series.role === "pca" ? 6 : 4 });
      }
    });
  }

  // --- hovering -------------------------------------------------------------------------------------------
  point(at) {
    this.at = at;
    this.over.replaceChildren();
    this.tip.hidden = at === null;
    if (at === null) return;
    const { area, view } = this;
    this.tip.replaceChildren();
    let x, y;
    if (this.isRows) {
      y = this.middle(at);
      x = this.px(view.series[0].x[at]);
      shape(this.over, "line", { class: "guide", x1: area.left, x2: area.right, y1: y, y2: y });
      html(this.tip, "b", "", view.rows[at]);
      for (const series of view.series) html(this.tip, "div", "", `${series.name}: ${show(series.x[at])}`);
      if (view.notes) html(this.tip, "div", "", view.notes[at]);
    } else {
      x = this.px(at);
      y = (area.top + area.bottom) / 2;
      shape(this.over, "line", { class: "guide", x1: x, x2: x, y1: area.top, y2: area.bottom });
      const name = view.ticks ? view.ticks[at - 1] : view.around ? view.around.join(at) : `${view.xLabel} ${show(at)}`;
      html(this.tip, "b", "", name);
      for (const series of view.series) {
        const k = series.x.indexOf(at);
        if (k < 0 || series.quiet) continue;
        const value = series.lo ? `${show(series.lo[k])} to ${show(series.hi[k])}` : show(series.y[k]);
        html(this.tip, "div", "", `${series.name}: ${value}`);
      }
      const folds = view.series.filter((series) => series.quiet).map((series) => series.y[series.x.indexOf(at)]);
      if (folds.length > 1) html(this.tip, "div", "", `held-out parts: ${show(Math.min(...folds))} to ${show(Math.max(...folds))}`);
    }
    placeTip(this.box, this.svg, this.tip, x, this.isRows ? y + 14 : null, y);
  }
  nearest(event) {
    const [x, y] = placeIn(this.svg, event);
    if (this.isRows) return Math.max(0, Math.min(this.view.rows.length - 1, Math.floor((y - this.area.top - 6) / 22)));
    const there = this.stops.filter((stop) => stop >= this.range[0] - 1e-12 && stop <= this.range[1] + 1e-12);
    if (!there.length) return null;
    const wanted = this.xAt(x);
    return there.reduce((best, stop) => (Math.abs(stop - wanted) < Math.abs(best - wanted) ? stop : best));
  }
  step(by) {
    const there = this.isRows ? this.stops : this.stops.filter((stop) => stop >= this.range[0] && stop <= this.range[1]);
    const place = this.at === null ? (by > 0 ? -1 : there.length) : there.indexOf(this.at);
    if (there.length) this.point(there[Math.max(0, Math.min(there.length - 1, place + by))]);
  }

  // --- zooming --------------------------------------------------------------------------------------------
  setRange(low, high) {
    const least = (this.full[1] - this.full[0]) / 200;
    if (high - low < least) return;
    if (high - low >= (this.full[1] - this.full[0]) * 0.999) this.range = this.full.slice();
    else {
      const shift = Math.max(0, this.full[0] - low) - Math.max(0, high - this.full[1]);
      this.range = [low + shift, high + shift];
    }
    if (!this.isRows && this.at !== null && (this.at < this.range[0] || this.at > this.range[1])) this.at = null;
    this.draw();
  }
  zoom(factor) {
    const centre = !this.isRows && this.at !== null ? this.at : (this.range[0] + this.range[1]) / 2;
    const half = ((this.range[1] - this.range[0]) * factor) / 2;
    this.setRange(centre - half, centre + half);
  }
  reset() { this.range = this.full.slice(); this.draw(); }

  listen() {
    const svg = this.svg;
    let start = null, brush = null;
    const local = (event) => Math.max(this.area.left, Math.min(this.area.right, placeIn(svg, event)[0]));
    svg.addEventListener("pointerdown", (event) => {
      // A finger scrubs along the chart; a mouse marks what to zoom to.
      if (event.pointerType === "mouse" && event.button === 0) { start = local(event); svg.setPointerCapture(event.pointerId); }
      this.point(this.nearest(event));
    });
    svg.addEventListener("pointermove", (event) => {
      if (start === null) { this.point(this.nearest(event)); return; }
      const now = local(event);
      if (!brush) brush = shape(svg, "rect", { class: "brush", y: this.area.top, height: this.area.bottom - this.area.top });
      brush.setAttribute("x", Math.min(start, now));
      brush.setAttribute("width", Math.abs(now - start));
    });
    const finish = (event) => {
      if (start === null) return;
      const ends = [this.xAt(start), this.xAt(local(event))].sort((a, b) => a - b), moved = Math.abs(local(event) - start);
      if (brush) brush.remove();
      start = brush = null;
      if (moved > 8) this.setRange(ends[0], ends[1]);
    };
    svg.addEventListener("pointerup", finish);
    svg.addEventListener("pointercancel", () => { if (brush) brush.remove(); start = brush = null; });
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && start === null) this.point(null); });
    svg.addEventListener("dblclick", () => this.reset());
    svg.addEventListener("blur", () => this.point(null));
    svg.addEventListener("keydown", (event) => {
      const action = {
        ArrowRight: () => this.step(1), ArrowDown: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowUp: () => this.step(-1),
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(), Escape: () => this.point(null),
      }[event.key];
      if (action && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); action(); }
    });
  }
}
