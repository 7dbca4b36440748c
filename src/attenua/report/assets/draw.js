// What all pictures share. No library, no request. Texts from the data are only ever set as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";
const onPage = JSON.parse(document.getElementById("report-data").textContent);

function shape(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}
function html(parent, name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}
const show = (value) => {
  if (value === null) return "open";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
  return String(Number(value.toPrecision(4))).replace("-", "−");
};
// Without spreading the values into arguments, of which there may be too many.
const endsOf = (values) => values.reduce(([low, high], value) => (value === null ? [low, high] : [Math.min(low, value), Math.max(high, value)]), [Infinity, -Infinity]);
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
// The same on a logarithmic scale: round numbers within a decade, over more 1, 2 and 5 times powers of ten, the powers alone or some.
function logTicks(low, high, count) {
  if (high - low < 1) return ticks(10 ** low, 10 ** high, count).map(Math.log10);
  const factors = (high - low) * 3 > count + 1 ? [1] : [1, 2, 5], step = Math.ceil((high - low) / (count + 1)), found = [];
  for (let power = Math.floor(low / step) * step; power <= high; power += step) for (const factor of factors) found.push(power + Math.log10(factor));
  return found.filter((place) => place >= low && place <= high);
}
// Shortened in the middle: long names often differ in their ends.
const clip = (text, length) => {
  const letters = Array.from(text), tail = Math.floor((length - 1) / 2);
  return letters.length > length ? letters.slice(0, length - 1 - tail).join("") + "…" + letters.slice(-tail).join("") : text;
};
// Beside a point of the picture, inside the box: below `under` where that is given, else level with `level`.
function placeTip(box, svg, tip, x, under, level) {
  const top = svg.getBoundingClientRect().top - box.getBoundingClientRect().top;
  const wide = tip.offsetWidth, left = x + 14 + wide > box.clientWidth ? x - 14 - wide : x + 14;
  tip.style.left = `${Math.max(0, Math.min(left, box.clientWidth - wide))}px`;
  tip.style.top = `${top + (under === null ? Math.max(0, level - tip.offsetHeight / 2) : under)}px`;
}
// The place of a pointer in the units of a picture.
function placeIn(svg, event) {
  const frame = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / frame.width;
  return [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
}
