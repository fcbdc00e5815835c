// A restricted Boltzmann machine: E(v, h) = U_v(v) + U_h(h) − v·W h.

import { layerOf } from "./layers.js";

/** Add x · row to `out`; most states are 0 or 1. */
function addRow(out, matrix, start, x) {
  const n = out.length;
  if (x === 1) for (let j = 0; j < n; j++) out[j] += matrix[start + j];
  else for (let j = 0; j < n; j++) out[j] += x * matrix[start + j];
}

/** Write β · states · matrix into `out`; the matrix has one row for each state. */
function product(states, matrix, beta, out) {
  out.fill(0);
  for (let i = 0; i < states.length; i++) {
    if (states[i] !== 0) addRow(out, matrix, i * out.length, beta * states[i]);
  }
}

export class Model {
  /**
   * @param visible description of a layer, see `layerOf`
   * @param hidden description of a layer
   * @param weights W, one row for each column of the visible layer, one after the other
   */
  constructor({ visible, hidden, weights }) {
    this.learned = { visible: layerOf(visible), hidden: layerOf(hidden) };
    this.weights = weights;
    this.atTemperature(1);
    const [n, m] = [this.visible.size, this.hidden.size];
    this.columns = new Float32Array(n * m); // Wᵀ, so that both products read rows
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) this.columns[j * n + i] = weights[i * m + j];
    this.inputsOfHidden = new Float32Array(m);
    this.inputsOfVisible = new Float32Array(n);
  }

  /** Multiply everything that the model has learned by β = 1 / temperature. */
  atTemperature(temperature) {
    this.beta = 1 / temperature;
    const { visible, hidden } = this.learned;
    this.visible = temperature === 1 ? visible : visible.scaled(this.beta);
    this.hidden = temperature === 1 ? hidden : hidden.scaled(this.beta);
  }

  /** Add a step to the weights and to the biases of layers that have learned nothing else. */
  change({ weights, visible, hidden }) {
    const [n, m] = [this.visible.size, this.hidden.size];
    for (let i = 0; i < n; i++) {
      this.visible.bias[i] += visible[i];
      for (let j = 0; j < m; j++) {
        this.weights[i * m + j] += weights[i * m + j];
        this.columns[j * n + i] = this.weights[i * m + j];
      }
    }
    for (let j = 0; j < m; j++) this.hidden.bias[j] += hidden[j];
  }

  /** Return v·W; the array is used again by the next call. */
  toHidden(v) {
    product(v, this.weights, this.beta, this.inputsOfHidden);
    return this.inputsOfHidden;
  }

  /** Return W h; the array is used again by the next call. */
  toVisible(h) {
    product(h, this.columns, this.beta, this.inputsOfVisible);
    return this.inputsOfVisible;
  }

  /** Draw the hidden units given the visible ones. */
  drawHidden(chain, random) {
    this.hidden.sample(this.toHidden(chain.v), random, chain.h);
  }

  /** Draw the visible units that are not held, given the hidden ones. */
  drawVisible(chain, random) {
    const inputs = this.toVisible(chain.h);
    if (chain.held.some(Boolean)) this.visible.sampleGiven(inputs, chain.held, random, chain.v);
    else this.visible.sample(inputs, random, chain.v);
  }

  /** One Gibbs sweep: h given v, then v given h. */
  // 2,600 a second at 784 × 500 units, forty times what a screen shows: so no WebAssembly.
  sweep(chain, random) {
    this.drawHidden(chain, random);
    this.drawVisible(chain, random);
  }

  /** Return the weights of a hidden unit, in a new array. */
  weightsOf(unit) {
    return Float32Array.from({ length: this.visible.size }, (_, i) => this.weights[i * this.hidden.size + unit]);
  }

  /** Return a chain at a state of the visible units, with nothing held; its h is not drawn yet. */
  chainAt(v) {
    return { v: Float32Array.from(v), h: new Float32Array(this.hidden.size), held: new Uint8Array(this.visible.units) };
  }

  /** Return a chain whose visible units are drawn without hidden units. */
  chain(random) {
    const chain = this.chainAt(new Float32Array(this.visible.size));
    this.visible.sample(new Float32Array(this.visible.size), random, chain.v);
    this.drawHidden(chain, random);
    return chain;
  }

  /** Return E(v, h) in nats. */
  energy({ v, h }) {
    const inputs = this.toHidden(v);
    let coupled = 0;
    for (let j = 0; j < h.length; j++) coupled += inputs[j] * h[j];
    return this.visible.energy(v) + this.hidden.energy(h) - coupled;
  }

  /** Return F(v) = −log Σ_h e^−E in nats: −log p(v) but for log Z. */
  freeEnergy(v) {
    return this.visible.energy(v) - this.hidden.cgf(this.toHidden(v));
  }

  /** Return the means of the hidden units given v, in a new array. */
  meanHidden(v) {
    const means = new Float32Array(this.hidden.size);
    this.hidden.mean(this.toHidden(v), means);
    return means;
  }

  /** Return the means of the visible units given h, in a new array. */
  meanVisible(h) {
    const means = new Float32Array(this.visible.size);
    this.visible.mean(this.toVisible(h), means);
    return means;
  }
}
