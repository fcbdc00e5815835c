// The model alive: chains that run, with what is pinned, a temperature, and half-sweeps one by one.

import { legend, range } from "./charts.js";
import { button, count, draw, figure, figures, make, note, section } from "./dom.js";
import { tiles } from "./images.js";
import { Simulation } from "./simulation.js";
import { ImageView } from "./view_images.js";
import { SequenceView } from "./view_sequences.js";
import { TableView } from "./view_tables.js";

const [HOTTEST, COLDEST] = [4, 0.25];
const WALK = 240; // frames of a walk along the temperature ladder
const MOST_UNITS = 1_024; // hidden units that are shown
const [FEW_UNITS, ACROSS] = [128, 384]; // hidden units that are shown larger; pixels of a line of them
const DRIVING = 8; // rows that drive a hidden unit most

/** The section with the model that can be played with. */
export class Player {
  constructor({ model, rows, sites, columns, rounding }, seed = 1) {
    // A table and a logo answer with averages over chains; a picture shows one chain.
    const simulation = new Simulation(model, { chains: columns ? 64 : sites ? 8 : 1, seed });
    // Where chains mix slowly, only draws of the model have its groups of rows in the right shares:
    // rows of data without a missing cell are seldom like all rows.
    if (columns && rows.sampled.length) simulation.startAmong(rows.sampled);
    const view = columns ? new TableView(simulation, columns) : sites ? new SequenceView(simulation, sites) : new ImageView(simulation, rows);
    Object.assign(this, { simulation, view, rows, sites, running: false, walking: 0 });
    this.play = button("Dream", () => this.toggle(), "Let the chains run");
    this.play.setAttribute("aria-pressed", "false");
    this.slider = make("input", { type: "range", min: Math.log(COLDEST), max: Math.log(HOTTEST), step: 0.01, value: 0, "aria-label": "temperature", oninput: (event) => this.heat(Math.exp(event.target.value)) });
    this.degree = make("output", {}, "1.00");
    this.speed = make("select", { "aria-label": "sweeps a frame" }, ...[1, 2, 5, 10, 50].map((n) => make("option", { value: n }, `${n} a frame`)));
    this.step = button("Half-sweep", () => this.half(), "Draw the hidden units given the visible ones, then the visible ones given the hidden ones");
    this.phase = make("p", { class: "phase", "aria-live": "polite" }, "");
    this.numbers = make("p", { class: "note" }, "");
    this.chart = draw("svg", { viewBox: "0 0 420 120", class: "chart energies", role: "img", "aria-label": "Energy and free energy of the chain, sweep by sweep" });
    this.cells = new HiddenUnits(simulation, rows, sites);
    this.element = section("Play with the model",
      make("div", { class: "player" },
        make("div", { class: "stage-side" }, view.element),
        make("div", { class: "controls" },
          make("div", { class: "buttons" }, this.play, this.step,
            button("A row of data", () => this.fromData(), "Start at a row of the data: the positive phase"),
            button("Restart", () => this.restart(), "Restart at draws without hidden units"),
            button("Unpin all", () => { simulation.releaseAll(); this.show(); }),
          ),
          make("div", { class: "sliders" },
            make("label", {}, "Temperature ", this.slider, this.degree),
            make("label", {}, "Sweeps ", this.speed),
            button("Heat and cool", () => { this.walking = WALK; this.start(); }, "Walk along the temperature ladder: up, and down to 1"),
          ),
          this.phase, legend([{ name: "energy E(v, h)", color: 1 }, { name: "free energy F(v)", color: 0 }]), this.chart, this.numbers,
          this.cells.element,
        )),
      note("Chains run in this page; nothing is sent anywhere. The temperature divides all parameters of the model: at 1 they are as learned. ", rounding));
    this.show();
  }

  /** Go on with another model of the same layers: that of a run which has gone on. */
  setModel(model) {
    this.simulation.setModel(model);
    if (!this.running) this.show();
  }

  toggle() {
    if (this.running) this.running = false;
    else this.start();
    this.label();
  }

  start() {
    if (this.running) return;
    this.running = true;
    this.label();
    requestAnimationFrame(() => this.frame());
  }

  label() {
    this.play.textContent = this.running ? "Pause" : "Dream";
    this.play.setAttribute("aria-pressed", String(this.running));
  }

  frame() {
    if (!this.running) return;
    if (this.walking > 0) {
      this.walking -= 1;
      const height = 1 - Math.abs((2 * this.walking) / WALK - 1); // 0, up to 1 and back
      this.heat(this.walking ? HOTTEST ** height : 1);
    }
    this.simulation.run(Number(this.speed.value));
    this.phase.textContent = "";
    this.show();
    requestAnimationFrame(() => this.frame());
  }

  heat(temperature) {
    this.simulation.setTemperature(temperature);
    this.slider.value = Math.log(temperature);
    this.degree.textContent = temperature.toFixed(2);
  }

  half() {
    this.running = false;
    this.label();
    this.simulation.halfSweep();
    this.phase.textContent = this.simulation.half === "h"
      ? "h ~ p(h | v): the hidden units were drawn, given the visible ones."
      : "v ~ p(v | h): the visible units were drawn, given the hidden ones.";
    this.show();
  }

  fromData() {
    const { states } = this.rows;
    const state = states[this.simulation.random.below(states.length)];
    this.startAt(state, "v is a row of the data: the positive phase. Half-sweeps now lead to the negative phase.");
  }

  /** Stop the chains at a state; the words say what it is. */
  startAt(state, words) {
    this.running = false;
    this.label();
    this.simulation.startAt(state);
    this.phase.textContent = words;
    this.show();
  }

  /** Continue from a picture that was clicked. */
  load(state) {
    if (!state) return;
    this.startAt(state, "v is the picture that you chose.");
    this.element.scrollIntoView({ block: "start" });
  }

  chooseUnit(unit) {
    this.cells.choose(unit);
    this.cells.element.scrollIntoView({ block: "center" });
  }

  restart() {
    this.simulation.restart();
    this.phase.textContent = "";
    this.show();
  }

  show() {
    const { energies, sweeps } = this.simulation;
    this.view.show();
    this.cells.show();
    this.drawEnergies(energies);
    const [energy, free] = energies.at(-1) ?? [NaN, NaN];
    this.numbers.textContent = energies.length
      ? `${count(sweeps)} sweeps; E = ${figures(energy, 4)}, F = ${figures(free, 4)} nats`
      : "no sweep yet";
  }

  drawEnergies(energies) {
    const all = energies.flat().filter(Number.isFinite);
    if (all.length < 2) return this.chart.replaceChildren();
    const [low, high] = range(all);
    const points = (which) => energies.map((pair, k) => `${((k / Math.max(1, energies.length - 1)) * 410 + 5).toFixed(1)},${(115 - ((pair[which] - low) / (high - low)) * 110).toFixed(1)}`).join(" ");
    this.chart.replaceChildren(
      draw("polyline", { points: points(0), class: "line series-1" }), draw("polyline", { points: points(1), class: "line series-0" }),
      draw("text", { x: 5, y: 12 }, figures(high)), draw("text", { x: 5, y: 117 }, figures(low)));
    return undefined;
  }
}

/** The hidden units as cells; a chosen one shows its weights and the rows that drive it. */
class HiddenUnits {
  constructor(simulation, rows, sites) {
    Object.assign(this, { simulation, rows, sites });
    this.shown = Math.min(MOST_UNITS, simulation.model.hidden.size);
    const size = this.shown > FEW_UNITS ? 12 : 24; // pixels; the number below chooses the smaller ones too
    this.across = Math.min(this.shown, ACROSS / size);
    const down = Math.ceil(this.shown / this.across);
    this.canvas = make("canvas", { width: this.across, height: down, class: "hidden-units", role: "img", "aria-label": "The hidden units; choose one by its number below", onclick: (event) => this.point(event) });
    this.canvas.style.width = `${size * this.across}px`;
    this.context = this.canvas.getContext("2d");
    this.image = this.context.createImageData(this.across, down);
    this.number = make("input", { type: "number", min: 1, max: simulation.model.hidden.size, value: "", "aria-label": "hidden unit", onchange: () => this.choose(Number(this.number.value) - 1) });
    this.details = make("div", { class: "details", "aria-live": "polite" });
    this.element = make("div", {},
      make("p", {}, "Hidden units (white: on). Choose one to see its weights and the rows that drive it: ", this.number), this.canvas, this.details);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    this.choose(Math.floor(y * this.canvas.height) * this.across + Math.floor(x * this.across));
  }

  choose(unit) {
    const { model } = this.simulation;
    if (!(unit >= 0 && unit < model.hidden.size)) return;
    this.number.value = unit + 1;
    const drives = this.rows.states.map((v, k) => [model.toHidden(v)[unit], k]).sort((a, b) => b[0] - a[0]).slice(0, DRIVING);
    const weights = model.weightsOf(unit);
    const rows = drives.map(([, k]) => this.rows.complete[k]);
    this.details.replaceChildren(make("h3", {}, `Hidden unit ${unit + 1}`), this.sites ? this.letters(weights, drives) : this.pictures(weights, rows));
  }

  pictures(weights, rows) {
    const { shape, low, high } = this.rows;
    const scale = Math.max(1, Math.round(84 / shape[1]));
    const largest = weights.reduce((size, w) => Math.max(size, Math.abs(w)), 1e-9);
    const wide = weights.length === shape[0] * shape[1];
    return make("div", { class: "side-by-side" },
      wide ? figure("weights (red: up, blue: down)", tiles([weights], shape, { across: 1, scale, colors: "diverging", high: largest, label: "weights" })) : null,
      figure("rows of data that drive it most", tiles(rows, shape, { across: 4, scale: Math.max(1, Math.round(scale / 2)), low, high, label: "rows" })));
  }

  letters(weights, drives) {
    const { letters, numbers } = this.sites;
    const { visible } = this.simulation.model;
    const words = Array.from(weights, (w, i) => [w, i]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 12)
      .map(([w, i]) => `${letters[i % letters.length]}${numbers[Math.floor(i / letters.length)]} ${w > 0 ? "+" : "−"}${figures(Math.abs(w), 2)}`);
    const sequences = drives.map(([, k]) => Array.from({ length: visible.units }, (_, unit) => letters[visible.valueOf(this.rows.states[k], unit)]).join(""));
    return make("div", {},
      make("p", {}, `Largest weights, letter and site: ${words.join(", ")}.`),
      make("p", {}, "Sequences that drive it most:"), make("pre", { tabindex: 0 }, sequences.join("\n")));
  }

  show() {
    const { h } = this.simulation.first;
    let [low, high] = [0, 1];
    for (const x of h) [low, high] = [Math.min(low, x), Math.max(high, x)];
    for (let j = 0; j < this.shown; j++) {
      const level = 40 + (215 * (h[j] - low)) / (high - low);
      this.image.data.set([level, level, level, 255], 4 * j);
    }
    this.context.putImageData(this.image, 0, 0);
  }
}
