// Charts as SVG, drawn from numbers. Colours are those of the page's style, so they follow its theme.

import { draw, figures, make } from "./dom.js";

const [WIDTH, HEIGHT] = [420, 220];
const MARGIN = { left: 58, right: 20, top: 10, bottom: 38 };
const LABEL = 14; // room above a chart for the label of its vertical axis

/** Return about `wanted` round numbers from low to high. */
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const places = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) places.push(Number((k * step).toPrecision(12)));
  return places;
}

/** Return ticks as text, with as many decimals as tell them apart. */
function labelled(places) {
  const step = places.length > 1 ? places[1] - places[0] : 1;
  const largest = Math.max(...places.map(Math.abs));
  if (largest >= 1e6 || (largest > 0 && largest < 1e-4)) return places.map((tick) => [tick, figures(tick)]);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = (tick) => Math.abs(tick).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return places.map((tick) => [tick, (tick < 0 ? "−" : "") + text(tick)]);
}

/** Return [lowest, highest] of numbers, with a little room; never empty. */
export function range(numbers, room = 0.05) {
  const finite = numbers.filter(Number.isFinite);
  let [low, high] = [Math.min(...finite), Math.max(...finite)];
  if (!finite.length) [low, high] = [0, 1];
  // Numbers that differ by rounding alone count as equal: ticks between them would have twelve decimals.
  const differ = high - low > 1e-6 * Math.max(Math.abs(low), Math.abs(high));
  const more = differ ? room * (high - low) : Math.abs(low) * 0.1 || 1;
  return [low - more, high + more];
}

/** A plane with axes; `x` and `y` turn numbers into places, `show` numbers of x into text. */
class Plane {
  constructor({ xs, ys, xLabel, yLabel, label, width = WIDTH, height = HEIGHT, show = null }) {
    const room = yLabel ? LABEL : 0;
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top + room, height - MARGIN.bottom];
    this.x = (number) => left + ((number - xs[0]) / (xs[1] - xs[0])) * (right - left);
    this.y = (number) => bottom - ((number - ys[0]) / (ys[1] - ys[0])) * (bottom - top);
    this.svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart" });
    for (const [tick, words] of labelled(ticks(...ys))) {
      const y = this.y(tick);
      this.add("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" });
      this.text(left - 6, y + 4, words, "end");
    }
    const places = show ? [0, 0.25, 0.5, 0.75, 1].map((part) => xs[0] + part * (xs[1] - xs[0])) : [];
    const named = show ? places.map((place) => [place, show(place)]) : labelled(ticks(...xs));
    for (const [tick, words] of named) this.text(this.x(tick), bottom + 16, words, "middle");
    this.add("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" });
    this.text((left + right) / 2, height - 4, xLabel, "middle");
    // Above the axis, where it is read without turning one's head, and wide numbers do not reach it.
    if (yLabel) this.text(0, 12, yLabel, "start");
  }

  add(tag, attributes, ...children) {
    const element = draw(tag, attributes, ...children);
    this.svg.append(element);
    return element;
  }

  text(x, y, words, anchor, cls = "") {
    return this.add("text", { x, y, "text-anchor": anchor, class: cls }, words);
  }
}

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/**
 * Draw lines, each {name, points: [[x, y, low?, high?]], color}, with bands where low and high are
 * given. `dots` marks the points of short lines. The legend above the chart names the lines.
 */
export function lines({ series, xLabel, yLabel, label, zero = false, dots = true }) {
  const all = series.flatMap(({ points }) => points);
  const ys = all.flatMap((p) => p.slice(1)).filter(Number.isFinite);
  const plane = new Plane({
    xs: range(all.map((p) => p[0]), 0.01), ys: range(zero ? [...ys, 0] : ys), xLabel, yLabel, label,
  });
  series.forEach(({ name, points, color }, number) => {
    const cls = `series-${color ?? number}`;
    const at = (x, y) => [plane.x(x), plane.y(y)];
    const banded = points.filter((p) => Number.isFinite(p[2]) && Number.isFinite(p[3]));
    if (banded.length > 1) {
      const around = [...banded.map((p) => at(p[0], p[3])), ...banded.toReversed().map((p) => at(p[0], p[2]))];
      plane.add("path", { d: `${path(around)}Z`, class: `band ${cls}` });
    } else if (banded.length === 1) {
      const [x, , low, high] = banded[0];
      plane.add("line", { x1: plane.x(x), x2: plane.x(x), y1: plane.y(low), y2: plane.y(high), class: `bar-error ${cls}` });
    }
    plane.add("path", { d: path(points.map((p) => at(p[0], p[1]))), class: `line ${cls}` });
    if (dots && points.length < 40) {
      for (const p of points) {
        const dot = plane.add("circle", { cx: plane.x(p[0]), cy: plane.y(p[1]), r: 2.6, class: `dot ${cls}` });
        dot.append(draw("title", {}, `${name}: ${figures(p[1], 5)} at ${figures(p[0])}`));
      }
    }
  });
  return withLegend(series, plane);
}

/** Return the names of series beside their colours. */
export function legend(series) {
  const items = series.map(({ name, color }, number) =>
    make("span", { class: "key" }, make("span", { class: `swatch series-${color ?? number}` }), name));
  return make("div", { class: "legend" }, ...items);
}

/** Return a chart, below a legend if it has several series. */
const withLegend = (series, plane) => (series.length > 1 ? make("div", {}, legend(series), plane.svg) : plane.svg);

/**
 * Draw numbers that have no natural zero as dots on an axis, each {name, value, low?, high?, color?}; a
 * bar would begin at a number that means nothing. Their values stand beside them.
 */
export function dots({ items, label, unit, show = (value) => figures(value, 4), width = 520, left = 150, right = 96 }) {
  const [row, top] = [26, 4];
  const bottom = top + row * items.length + 2;
  const values = items.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const [least, most] = range(values, 0.15);
  const x = (value) => left + ((value - least) / (most - least)) * (width - left - right);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${bottom + 42}`, role: "img", "aria-label": label, class: "chart dots" });
  for (const [tick, words] of labelled(ticks(least, most))) {
    svg.append(
      draw("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "grid" }),
      draw("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, words),
    );
  }
  svg.append(draw("line", { x1: left, x2: width - right, y1: bottom, y2: bottom, class: "axis" }));
  items.forEach(({ name, value, low, high, color }, number) => {
    const y = top + row * number + 13;
    svg.append(draw("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, name));
    if (high > low) svg.append(draw("line", { x1: x(low), x2: x(high), y1: y, y2: y, class: "error" }));
    svg.append(
      draw("circle", { cx: x(value), cy: y, r: 5, class: `dot series-${color ?? 0}` }),
      draw("text", { x: x(Math.max(value, high ?? value)) + 10, y: y + 4, class: "value" }, show(value)),
    );
  });
  svg.append(draw("text", { x: (left + width - right) / 2, y: bottom + 34, "text-anchor": "middle" }, unit));
  return svg;
}

/** Draw horizontal bars from 0, each {name, value, low?, high?, color?}; their values stand beside them. */
export function bars({ items, label, unit, show = (value) => figures(value, 4), width = 520, left = 150, right = 96 }) {
  const [row, top] = [26, 4];
  const height = top + row * items.length + 26;
  const values = items.flatMap(({ value, high }) => [value, high ?? value]);
  const x = (value) => left + (value / (Math.max(...values) * 1.02)) * (width - left - right);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart bars" });
  items.forEach(({ name, value, low, high, color }, number) => {
    const y = top + row * number;
    svg.append(
      draw("text", { x: left - 8, y: y + 16, "text-anchor": "end" }, name),
      draw("rect", { x: left, y: y + 4, width: Math.max(0.5, x(value) - left), height: row - 10, class: `bar series-${color ?? 0}` }),
      draw("text", { x: x(Math.max(value, high ?? value)) + 6, y: y + 16, class: "value" }, show(value)),
    );
    if (high > low) svg.append(draw("line", { x1: x(low), x2: x(high), y1: y + 12, y2: y + 12, class: "error" }));
  });
  svg.append(draw("text", { x: left, y: height - 8 }, unit));
  return svg;
}

/** Return counts in equal bins between the ends. */
export function histogram(numbers, bins, [low, high]) {
  const counts = new Array(bins).fill(0);
  for (const x of numbers) {
    if (!Number.isFinite(x)) continue;
    const bin = Math.floor(((x - low) / (high - low)) * bins);
    counts[Math.min(bins - 1, Math.max(0, bin))] += 1;
  }
  return counts;
}

/** Draw histograms, each {name, numbers, color}, as outlines; fractions of all numbers. `show` names places of x. */
export function histograms({ series, xLabel, label, bins = 40, ends = null, width, height, show = null, keys = true }) {
  const all = series.flatMap(({ numbers }) => Array.from(numbers)).filter(Number.isFinite).sort((a, b) => a - b);
  const quantile = (q) => all[Math.min(all.length - 1, Math.floor(q * all.length))];
  const xs = ends ?? (quantile(0.995) > quantile(0.005) ? [quantile(0.005), quantile(0.995)] : range(all));
  const fractions = series.map(({ numbers }) => histogram(numbers, bins, xs).map((c) => c / Math.max(1, numbers.length)));
  const plane = new Plane({ xs, ys: [0, 1.05 * Math.max(1e-9, ...fractions.flat())], xLabel, yLabel: "fraction", label, width, height, show });
  series.forEach(({ color }, number) => {
    const step = (xs[1] - xs[0]) / bins;
    const points = fractions[number].flatMap((y, i) => [[xs[0] + i * step, y], [xs[0] + (i + 1) * step, y]]);
    const d = path([[xs[0], 0], ...points, [xs[1], 0]].map(([x, y]) => [plane.x(x), plane.y(y)]));
    const cls = `series-${color ?? number}`;
    plane.add("path", { d: `${d}Z`, class: `area ${cls}` });
    plane.add("path", { d, class: `line ${cls}` });
  });
  return keys ? withLegend(series, plane) : plane.svg;
}

/** Draw points, each {name, points: [[x, y]]}; `diagonal` draws x = y. */
export function scatter({ series, xLabel, yLabel, label, diagonal = false }) {
  const all = series.flatMap(({ points }) => points);
  const numbers = diagonal ? all.flat() : null;
  const plane = new Plane({
    xs: range(numbers ?? all.map((p) => p[0])), ys: range(numbers ?? all.map((p) => p[1])), xLabel, yLabel, label,
  });
  if (diagonal) {
    const [low, high] = range(numbers);
    plane.add("line", { x1: plane.x(low), y1: plane.y(low), x2: plane.x(high), y2: plane.y(high), class: "axis" });
  }
  series.forEach(({ points, color }, number) => {
    for (const [x, y] of points) plane.add("circle", { cx: plane.x(x), cy: plane.y(y), r: 2.2, class: `dot series-${color ?? number}` });
  });
  return withLegend(series, plane);
}
