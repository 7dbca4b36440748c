// Rows as points: their scores with the columns as arrows where they are few, or T2 and Q with their limits.
// Seen on light and on dark paper alike.
const SCALE = [[112, 80, 200], [52, 120, 190], [33, 150, 140], [110, 190, 80], [235, 180, 30]];
const shadeAt = (part) => {
  const at = Math.max(0, Math.min(1, part)) * (SCALE.length - 1), low = Math.min(Math.floor(at), SCALE.length - 2);
  return `rgb(${SCALE[low].map((value, k) => Math.round(value + (at - low) * (SCALE[low + 1][k] - value))).join(" ")})`;
};

class Scatter {
  constructor(figure) {
    this.table = onPage.tables[figure.dataset.scatter];
    this.box = figure.querySelector(".canvas");
    const bar = html(this.box, "div", "bar");
    // One component alone is drawn against the number of the row.
    this.axes = this.table.values.length > 1 ? [0, 1] : [null, 0];
    if (this.table.shares && this.axes[0] !== null) ["Across", "Up"].forEach((word, axis) => this.choice(bar, word, axis));
    this.arrows = this.table.arrows !== null;
    if (this.arrows) {
      const label = html(bar, "label"), check = html(label, "input");
      check.type = "checkbox";
      check.checked = true;
      html(label, "span", "", " columns as arrows");
      check.addEventListener("change", () => { this.arrows = check.checked; this.draw(); });
    }
    this.colour(html(this.box, "ul", "legend"));
    this.svg = shape(this.box, "svg", { class: "plot", role: "img", tabindex: "0", "aria-label": this.box.dataset.label });
    this.tip = html(this.box, "div", "tip");
    this.tip.hidden = true;
    this.tip.setAttribute("aria-live", "polite");
    this.at = null;
    this.listen();
    this.draw();
    new ResizeObserver(() => { if (this.box.clientWidth !== this.width) this.draw(); }).observe(this.box);
  }

  choice(bar, word, axis) {
    const label = html(bar, "label", "", `${word} `), select = html(label, "select");
    this.table.columns.forEach((name, k) => { html(select, "option", "", `${name} (${this.table.shares[k]})`).value = k; });
    select.value = this.axes[axis];
    select.addEventListener("change", () => { this.axes[axis] = Number(select.value); this.point(null); this.draw(); });
  }

  colour(legend) {
    const colour = this.table.colour;
    this.look = () => ({ class: "point kind-0" });
    this.colourOf = () => null;
    if (colour === null) return;
    const key = (text, attributes) => {
      const item = html(legend, "li");
      const picture = shape(item, "svg", { width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true", style: "width:12px;flex:none" });
      shape(picture, "circle", { cx: 6, cy: 6, r: 5, ...attributes });
      html(item, "span", "", text);
    };
    html(legend, "li", "title", `${colour.name}:`);
    if (colour.labels) {
      this.look = (k) => ({ class: `point kind-${colour.codes[k] < 0 ? "none" : colour.codes[k]}` });
      this.colourOf = (k) => (colour.codes[k] < 0 ? colour.others : colour.labels[colour.codes[k]]);
      colour.labels.forEach((label, k) => key(label, { class: `point kind-${k}` }));
      if (colour.others) key(colour.others, { class: "point kind-none" });
      return;
    }
    const [low, high] = endsOf(colour.values), isEmpty = !(high >= low);
    const part = (value) => (high > low ? (value - low) / (high - low) : 0.5);
    this.look = (k) => (colour.values[k] === null ? { class: "point kind-none" } : { class: "point", fill: shadeAt(part(colour.values[k])) });
    this.colourOf = (k) => (colour.values[k] === null ? "missing" : show(colour.values[k]));
    if (!isEmpty) for (const step of high > low ? [0, 0.25, 0.5, 0.75, 1] : [0.5]) key(show(Number((low + (high > low ? step * (high - low) : 0)).toPrecision(3))), { class: "point", fill: shadeAt(step) });
    if (colour.values.includes(null)) key("missing", { class: "point kind-none" });
  }

  draw(paper) {
    const { table, svg, axes } = this;
    this.width = paper ? paper.width : this.box.clientWidth;
    const width = Math.max(this.width, 200), height = paper ? paper.height : Math.round(Math.max(300, Math.min(520, 0.72 * width)));
    const area = { left: 58, right: width - 12, top: 12, bottom: height - 42 };
    // T2 and Q have a logarithmic scale, on which rows far out leave room for the others.
    const scaled = (value) => (!table.limits ? value : value > 0 ? Math.log10(value) : null);
    const places = table.limits ? logTicks : ticks, said = (place) => show(table.limits ? 10 ** place : place);
    const columns = axes.map((axis) => (axis === null ? table.rows : table.values[axis].map(scaled)));
    const ranges = columns.map((column, axis) => {
      const within = table.limits ? table.limits[axis].map(scaled) : axes[axis] === null ? [] : [0];
      const [low, high] = endsOf(table.drawn.map((k) => column[k]).concat(within));
      const room = 0.06 * (high - low) || 1;
      return high >= low ? [low - room, high + room] : [-1, 1];
    });
    const px = (x) => area.left + ((x - ranges[0][0]) / (ranges[0][1] - ranges[0][0])) * (area.right - area.left);
    const py = (y) => area.bottom - ((y - ranges[1][0]) / (ranges[1][1] - ranges[1][0])) * (area.bottom - area.top);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    for (const x of places(...ranges[0], width < 520 ? 4 : 8)) {
      shape(svg, "line", { class: x === 0 && !table.limits ? "axis" : "grid", x1: px(x), x2: px(x), y1: area.top, y2: area.bottom });
      shape(svg, "text", { x: px(x), y: area.bottom + 18, "text-anchor": "middle" }, said(x));
    }
    for (const y of places(...ranges[1], 6)) {
      shape(svg, "line", { class: y === 0 && !table.limits ? "axis" : "grid", x1: area.left, x2: area.right, y1: py(y), y2: py(y) });
      shape(svg, "text", { x: area.left - 8, y: py(y) + 4, "text-anchor": "end" }, said(y));
    }
    const names = axes.map((axis) => (axis === null ? "row" : table.columns[axis] + (table.shares ? ` (${table.shares[axis]})` : "")));
    (table.limits ? table.limits[0] : []).forEach((_, k) => {
      const [x, y] = table.limits.map((limits, axis) => [px, py][axis](scaled(limits[k])));
      shape(svg, "path", { class: `limit limit-${k}`, d: `M${x} ${area.top}V${area.bottom}M${area.left} ${y}H${area.right}` });
    });
    shape(svg, "text", { class: "xname", x: (area.left + area.right) / 2, y: area.bottom + 36, "text-anchor": "middle" }, names[0]);
    shape(svg, "text", { class: "yname", transform: `translate(13 ${(area.top + area.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, names[1]);
    const radius = table.drawn.length > 600 ? 2.6 : 3.8;
    this.points = table.drawn.filter((k) => columns.every((column) => column[k] !== null)).map((k) => ({ k, x: px(columns[0][k]), y: py(columns[1][k]) }));
    for (const { k, x, y } of this.points) shape(svg, "circle", { ...this.look(k), cx: x.toFixed(1), cy: y.toFixed(1), r: radius });
    if (this.arrows) this.drawArrows(px, py, ranges, area);
    this.over = shape(svg, "g", {});
    this.inOrder = this.points.slice().sort((a, b) => a.x - b.x || a.y - b.y);
    if (this.at) this.at = this.points.find((point) => point.k === this.at.k) ?? null;
    this.point(this.at);
  }

  drawArrows(px, py, ranges, area) {
    const { names, values } = this.table.arrows, ways = this.axes.map((axis) => values[axis]);
    // One scale for both axes, as long as the picture allows: only directions and relative lengths count.
    const room = ways.flatMap((way, axis) => way.filter((load) => load).map((load) => ranges[axis][load < 0 ? 0 : 1] / load));
    const scale = 0.85 * Math.min(...room, Number.MAX_VALUE);
    const arrows = names.map((name, k) => ({ name, x: px(ways[0][k] * scale), y: py(ways[1][k] * scale) }));
    for (const { name, x, y } of arrows) {
      const marks = [shape(this.svg, "line", { class: "arrow", x1: px(0), y1: py(0), x2: x, y2: y }), shape(this.svg, "circle", { class: "arrowhead", cx: x, cy: y, r: 3 })];
      for (const mark of marks) shape(mark, "title", {}, name);
    }
    // Long arrows are named first, next to their ends, on the far side if possible. A name that would cover another
    // name or end is left to the title and to the loadings below.
    const length = ({ x, y }) => Math.hypot(x - px(0), y - py(0));
    const taken = arrows.map(({ x, y }) => ({ left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 }));
    const isFree = (box) => box.left >= area.left && box.right <= this.width && box.top >= 0 && box.bottom <= area.bottom
      && !taken.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
    for (const { name, x, y } of arrows.sort((a, b) => length(b) - length(a))) {
      const label = shape(this.svg, "text", { class: "arrowname" }, clip(name, area.right < 510 ? 18 : 26));
      const wide = label.getComputedTextLength(), sides = [x + 6, x - 6 - wide];
      if (x < px(0)) sides.reverse();
      const boxes = [0, -14, 14].flatMap((by) => sides.map((left) => ({ left, right: left + wide, top: y + by - 9, bottom: y + by + 8 })));
      const box = boxes.find(isFree);
      if (!box) { label.remove(); continue; }
      label.setAttribute("x", box.left);
      label.setAttribute("y", box.top + 13);
      taken.push(box);
    }
  }

  point(at) {
    this.at = at;
    this.over.replaceChildren();
    this.tip.hidden = at === null;
    if (at === null) return;
    const { table } = this, k = at.k, colour = this.colourOf(k);
    shape(this.over, "circle", { class: "ring", cx: at.x, cy: at.y, r: 7 });
    this.tip.replaceChildren();
    html(this.tip, "b", "", table.names ? table.names[k] : `row ${table.rows[k]}`);
    for (const axis of new Set(this.axes)) if (axis !== null) html(this.tip, "div", "", `${table.columns[axis]}: ${show(table.values[axis][k])}`);
    if (colour !== null) html(this.tip, "div", "", `${table.colour.name}: ${colour}`);
    placeTip(this.box, this.svg, this.tip, at.x, null, at.y);
  }

  nearest(event) {
    const [x, y] = placeIn(this.svg, event);
    let best = null, least = 40 * 40;
    for (const point of this.points) {
      const square = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (square < least) { best = point; least = square; }
    }
    return best;
  }

  step(by) {
    const place = this.at === null ? (by > 0 ? -1 : this.inOrder.length) : this.inOrder.indexOf(this.at);
    if (this.inOrder.length) this.point(this.inOrder[Math.max(0, Math.min(this.inOrder.length - 1, place + by))]);
  }

  listen() {
    const point = (event) => this.point(this.nearest(event));
    this.svg.addEventListener("pointerdown", point);
    this.svg.addEventListener("pointermove", point);
    this.svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.point(null); });
    this.svg.addEventListener("blur", () => this.point(null));
    this.svg.addEventListener("keydown", (event) => {
      const action = { ArrowRight: () => this.step(1), ArrowDown: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowUp: () => this.step(-1), Escape: () => this.point(null) }[event.key];
      if (action && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); action(); }
    });
  }
}
