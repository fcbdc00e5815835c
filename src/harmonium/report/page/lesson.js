// Small models that learn side by side: the exact gradient, CD and PCD, with their exact likelihood.

import { decodedRows } from "./arrays.js";
import { lines } from "./charts.js";
import { button, count, footer, make, nats, note, section } from "./dom.js";
import { tiles } from "./images.js";
import { Learner, METHODS, highest } from "./learning.js";

const MOST_POINTS = 300; // of a curve; every other one is dropped beyond
const SHOWN = 24; // rows and states of chains
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
const HIDDEN = [1, 2, 3, 4, 6, 8, 10, 12];

const choice = (words, options, value) => {
  const select = make("select", { "aria-label": words }, ...options.map((each) => make("option", { value: each, selected: each === value }, String(each))));
  return { select, element: make("label", {}, `${words} `, select), get value() { return Number(select.value); } };
};

/** Build the page: the data, the controls, the curves, and a column for each method. */
export function lesson(content, into) {
  const rows = decodedRows(content.rows).map((row) => Float32Array.from(row));
  const built = new Lesson(rows, content);
  into.replaceChildren(
    make("header", {}, make("h1", {}, content.title)),
    section("Learning", ...built.elements,
      note(`All models start with the same weights and biases and use all ${count(rows.length)} rows in each update. They differ only in the negative phase: the exact gradient sums over all states; CD starts its chains at the data in each update; PCD goes on with the chains that it has. The log-likelihood is exact, by a sum over all states of the hidden units.`)),
    footer());
}

class Lesson {
  constructor(rows, { shape, hidden, rate, seed }) {
    Object.assign(this, { rows, shape, running: false, seed, best: highest(rows) });
    this.learn = button("Learn", () => this.toggle(), "Make updates until you stop it");
    this.learn.setAttribute("aria-pressed", "false");
    this.choices = {
      hidden: choice("Hidden units", HIDDEN, hidden),
      rate: choice("Learning rate", RATES, rate),
      steps: choice("Sweeps of CD and PCD", [1, 2, 5, 10], 1),
    };
    this.speed = choice("Updates a frame", [1, 5, 20], 5);
    for (const name of ["rate", "steps"]) this.choices[name].select.addEventListener("change", () => this.set(name));
    this.choices.hidden.select.addEventListener("change", () => this.restart());
    this.says = make("p", { "aria-live": "polite" }, "");
    this.chart = make("div", {});
    this.columns = Object.keys(METHODS).map(() => make("figure", { class: "method" }));
    this.elements = [
      make("div", { class: "buttons" }, this.learn,
        button("One update", () => { this.stop(); this.updates(1); this.show(); }, "Make one update of each model"),
        button("Restart", () => { this.seed += 1; this.restart(); }, "Restart with other random numbers")),
      make("div", { class: "sliders" }, ...Object.values(this.choices).map(({ element }) => element), this.speed.element),
      make("div", { class: "player" },
        make("div", { class: "wide-side" }, make("h3", {}, "Mean log-likelihood of the rows"), this.chart, this.says),
        make("div", { class: "narrow-side" }, make("h3", {}, "Rows of data"), this.pictures(rows.slice(0, SHOWN), "rows of data"))),
      make("div", { class: "methods" }, ...this.columns),
    ];
    this.restart();
  }

  pictures(arrays, label, how = {}) {
    return tiles(arrays, this.shape, { across: 8, scale: Math.max(1, Math.round(32 / this.shape[1])), label, ...how });
  }

  restart() {
    const { hidden, rate, steps } = this.choices;
    this.learners = Object.keys(METHODS).map((method) => new Learner(this.rows, { method, hidden: hidden.value, rate: rate.value, steps: steps.value, seed: this.seed }));
    // Chains that are not part of the learning show what each model would draw.
    this.chains = this.learners.map(({ model, random }) => Array.from({ length: SHOWN }, () => model.chain(random)));
    this.points = this.learners.map(() => []);
    this.every = 1;
    this.record();
    this.show();
  }

  set(name) {
    for (const learner of this.learners) learner[name] = this.choices[name].value;
    this.show();
  }

  toggle() {
    if (this.running) this.stop();
    else {
      this.running = true;
      this.says.textContent = "Learning. The numbers follow when you pause.";
      this.label();
      requestAnimationFrame(() => this.frame());
    }
  }

  stop() {
    this.running = false;
    this.label();
    this.say();
  }

  label() {
    this.learn.textContent = this.running ? "Pause" : "Learn";
    this.learn.setAttribute("aria-pressed", String(this.running));
  }

  frame() {
    if (!this.running) return;
    this.updates(this.speed.value);
    this.show();
    requestAnimationFrame(() => this.frame());
  }

  updates(number) {
    for (let k = 0; k < number; k++) {
      for (const learner of this.learners) learner.update();
      if (this.learners[0].updates % this.every === 0) this.record();
    }
    this.sweep(number);
  }

  /** Let the chains that show the models run. */
  sweep(sweeps) {
    this.learners.forEach(({ model, random }, k) => {
      for (const chain of this.chains[k]) for (let s = 0; s < sweeps; s++) model.sweep(chain, random);
    });
  }

  record() {
    this.learners.forEach((learner, k) => this.points[k].push([learner.updates, learner.logLikelihood()]));
    if (this.points[0].length <= MOST_POINTS) return;
    this.every *= 2;
    this.points = this.points.map((points) => points.filter(([update]) => update % this.every === 0));
  }

  /** Say the latest numbers, for those who do not see the curve. */
  say() {
    const scores = this.learners.map((learner, k) => `${learner.title} ${nats(this.points[k].at(-1)[1])}`);
    this.says.textContent = `After ${count(this.learners[0].updates)} updates: ${scores.join(", ")}; the highest possible is ${nats(this.best)} nats.`;
  }

  show() {
    const last = Math.max(1, this.points[0].at(-1)[0]);
    const series = this.learners.map((learner, k) => ({ name: learner.title, points: this.points[k], color: [3, 1, 0][k] }));
    series.push({ name: "highest possible", points: [[0, this.best], [last, this.best]], color: 2 });
    this.chart.replaceChildren(lines({ series, xLabel: "update", yLabel: "nats per row", label: "Log-likelihood of each model, update by update", dots: false }));
    if (!this.running) this.say();
    this.learners.forEach((learner, k) => {
      const { model } = learner;
      const weights = Array.from({ length: model.hidden.size }, (_, j) => model.weightsOf(j));
      const high = Math.max(1e-9, ...weights.map((each) => each.reduce((size, w) => Math.max(size, Math.abs(w)), 0)));
      this.columns[k].replaceChildren(
        make("h3", {}, learner.title),
        make("figcaption", {}, "weights of each hidden unit (red: up, blue: down)"), this.pictures(weights, `weights, ${learner.title}`, { colors: "diverging", high }),
        make("figcaption", {}, "what the model draws"), this.pictures(this.chains[k].map(({ v }) => v), `draws, ${learner.title}`));
    });
  }
}
