// A row of a table as a form: known cells are held, and the other columns show their distributions.

import { draw, figures, make, shortened } from "./dom.js";
import { histogram } from "./charts.js";

const [WIDTH, HEIGHT] = [220, 54];
const MOST_BARS = 12; // the months of a year
const REMEMBERED = 0.9; // of the counts of numbers, from one frame to the next: ten frames
const BINS = 22;
// An answer is shown at once: the chains make so many sweeps, or as many as fit into a moment.
const [SETTLING, MOMENT] = [200, 150]; // sweeps, milliseconds

export class TableView {
  /** @param columns [{name, states, labels, cell, code, ends}] in the order of the units. */
  constructor(simulation, columns) {
    Object.assign(this, { simulation, columns });
    this.counts = columns.map(() => new Float64Array(BINS));
    this.answers = columns.map(({ name }) => draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "answer", role: "img", "aria-label": `Distribution of ${name}` }));
    const fields = columns.map((column, unit) => make("div", { class: "field" },
      make("label", {}, make("span", { class: "name", title: column.name }, shortened(column.name, 30)), column.states ? this.choice(column, unit) : this.number(column, unit)),
      this.answers[unit]));
    this.element = make("div", {}, make("p", {}, "Fill in what you know of a row; the other columns show their distributions given that."), make("div", { class: "form" }, ...fields));
    this.settle();
  }

  /** Let the chains forget what was known before; without a sweep, the means would be those of nothing. */
  settle() {
    const end = performance.now() + MOMENT;
    for (let sweep = 0; sweep < SETTLING && performance.now() < end; sweep++) this.simulation.run(1);
  }

  choice(column, unit) {
    const options = column.labels.map((label, code) => make("option", { value: code }, shortened(label, 40)));
    return make("select", { onchange: (event) => this.set(unit, event.target.value === "" ? null : Number(event.target.value)) }, make("option", { value: "" }, "unknown"), ...options);
  }

  number(column, unit) {
    return make("input", { type: "number", step: "any", placeholder: "unknown", onchange: (event) => this.set(unit, event.target.value === "" ? null : column.code(Number(event.target.value))) });
  }

  set(unit, value) {
    if (value === null) this.simulation.release(unit);
    else this.simulation.hold(unit, value);
    for (const counts of this.counts) counts.fill(0);
    this.settle();
    this.show();
  }

  show() {
    const { simulation, columns } = this;
    const { visible } = simulation.model;
    const means = simulation.means();
    columns.forEach((column, unit) => {
      const [first, count] = visible.columnsOf(unit);
      if (column.states) {
        const chances = count === 1 ? [1 - means[first], means[first]] : Array.from(means.subarray(first, first + count));
        this.answers[unit].replaceChildren(...this.bars(column, chances));
      } else {
        const counts = histogram(simulation.chains.map(({ v }) => v[first]), BINS, column.ends);
        this.counts[unit].forEach((before, bin) => { this.counts[unit][bin] = REMEMBERED * before + counts[bin]; });
        this.answers[unit].replaceChildren(...this.outline(column, this.counts[unit]));
      }
    });
  }

  bars(column, chances) {
    const order = chances.map((chance, code) => [chance, code]).sort((a, b) => b[0] - a[0]).slice(0, MOST_BARS).sort((a, b) => a[1] - b[1]);
    const width = WIDTH / order.length;
    return order.flatMap(([chance, code], k) => {
      const height = 26 * chance;
      return [
        draw("rect", { x: k * width + 2, y: 40 - height, width: width - 4, height, class: "bar series-0" }),
        draw("text", { x: (k + 0.5) * width, y: 50, "text-anchor": "middle" }, shortened(column.labels[code], Math.max(2, Math.floor(width / 7)))),
        draw("text", { x: (k + 0.5) * width, y: 37 - height, "text-anchor": "middle" }, `${Math.round(100 * chance)}${order.length > 7 ? "" : " %"}`),
        draw("title", {}, order.map(([p, value]) => `${column.labels[value]}: ${Math.round(100 * p)} %`).join("\n")),
      ];
    });
  }

  outline(column, counts) {
    const [most, width] = [Math.max(...counts, 1e-9), WIDTH / BINS];
    const boxes = Array.from(counts, (count, bin) => draw("rect", { x: bin * width, y: 40 - (36 * count) / most, width: width - 0.5, height: (36 * count) / most, class: "bar series-0" }));
    return [...boxes, draw("text", { x: 0, y: 51 }, figures(column.cell(column.ends[0]), 2)),
      draw("text", { x: WIDTH / 2, y: 51, "text-anchor": "middle" }, figures(column.cell((column.ends[0] + column.ends[1]) / 2), 2)),
      draw("text", { x: WIDTH, y: 51, "text-anchor": "end" }, figures(column.cell(column.ends[1]), 2))];
  }
}
