// Chains of a model that runs in the page: what moves, without a picture of it.

import { Random } from "./random.js";

const REMEMBERED = 0.97; // of the averages, from one frame to the next: half a second of frames
const LONGEST = 400; // energies that are kept

export class Simulation {
  /** @param chains number of chains; the first one is shown, and all of them are averaged. */
  constructor(model, { chains = 1, seed = 1 } = {}) {
    this.model = model;
    this.random = new Random(seed);
    this.temperature = 1;
    this.chains = Array.from({ length: chains }, () => model.chain(this.random));
    this.average = new Float64Array(model.visible.size);
    this.weight = 0;
    this.sweeps = 0;
    this.half = "v"; // which layer was drawn last
    this.energies = [];
  }

  get first() { return this.chains[0]; }

  /** Let the chains go on under another model of the same layers. */
  setModel(model) {
    this.model = model;
    model.atTemperature(this.temperature);
    this.forget();
  }

  setTemperature(temperature) {
    this.temperature = temperature;
    this.model.atTemperature(temperature);
    this.forget();
  }

  /** Forget the averages, which belong to other pins or another temperature. */
  forget() {
    this.average.fill(0);
    this.weight = 0;
  }

  /** Make whole sweeps of all chains. */
  run(sweeps) {
    if (this.half === "h") this.halfSweep();
    for (let k = 0; k < sweeps; k++) for (const chain of this.chains) this.model.sweep(chain, this.random);
    this.sweeps += sweeps;
    this.measure();
  }

  /** Draw one layer: h given v, and at the next call v given h. */
  halfSweep() {
    this.half = this.half === "v" ? "h" : "v";
    for (const chain of this.chains) {
      if (this.half === "h") this.model.drawHidden(chain, this.random);
      else this.model.drawVisible(chain, this.random);
    }
    if (this.half === "v") this.sweeps += 1;
    this.measure();
  }

  measure() {
    const { model, first } = this;
    this.energies.push([model.energy(first) / model.beta, model.freeEnergy(first.v) / model.beta]);
    if (this.energies.length > LONGEST) this.energies.shift();
    this.average.forEach((x, i) => { this.average[i] = REMEMBERED * x; });
    this.weight = REMEMBERED * this.weight + this.chains.length;
    for (const { v } of this.chains) for (let i = 0; i < v.length; i++) this.average[i] += v[i];
  }

  /** Return the mean state of the last frames, over all chains. */
  means() {
    return this.average.map((sum) => sum / Math.max(this.weight, 1));
  }

  /** Hold a unit at a value in the user's coding, in all chains. */
  hold(unit, value) {
    const { visible } = this.model;
    const [start, count] = visible.columnsOf(unit);
    for (const { v, held } of this.chains) {
      held[unit] = 1;
      for (let i = 0; i < count; i++) v[start + i] = count === 1 ? value : Number(i === value);
    }
    this.forget();
  }

  release(unit) {
    for (const { held } of this.chains) held[unit] = 0;
    this.forget();
  }

  releaseAll() {
    for (const { held } of this.chains) held.fill(0);
    this.forget();
  }

  get held() { return this.first.held.reduce((sum, x) => sum + x, 0); }

  /** Put all chains at a state, but for what is held. */
  startAt(state) {
    for (const chain of this.chains) this.place(chain, state);
    this.half = "v";
    this.forget();
    this.measure();
  }

  /** Put each chain at one of these states. */
  startAmong(states) {
    for (const chain of this.chains) this.place(chain, states[this.random.below(states.length)]);
    this.half = "v";
    this.forget();
  }

  /** Restart all chains at draws without hidden units. */
  restart() {
    for (const chain of this.chains) {
      const fresh = this.model.chain(this.random);
      chain.h.set(fresh.h);
      this.place(chain, fresh.v);
    }
    this.energies = [];
    this.half = "v";
    this.forget();
    this.measure();
  }

  /** Put the units of a chain that are not held at a state. */
  place(chain, state) {
    const { visible } = this.model;
    for (let unit = 0; unit < visible.units; unit++) {
      const [first, count] = visible.columnsOf(unit);
      if (!chain.held[unit]) for (let i = first; i < first + count; i++) chain.v[i] = state[i];
    }
  }
}
