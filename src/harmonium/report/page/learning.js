// Learning in the page: a small model of 0/1 units that follows the gradient of the log-likelihood,
// exact or estimated. What moves, without a picture of it.

import { sigmoid, softplus } from "./functions.js";
import { Model } from "./model.js";
import { Random } from "./random.js";

const SPREAD = 0.01; // standard deviation of the first weights (Hinton 2010)
const LEAST = 0.02; // a pixel that is never on begins with this probability, not with 0

/** Call `use(h, inputs)` for each state of the hidden units, with Wh; both arrays are used again. */
function eachHidden(model, use) {
  const m = model.hidden.size;
  const h = new Float32Array(m);
  const inputs = new Float64Array(model.visible.size); // float64, as they are added up along all states
  for (let k = 0; ; k++) {
    use(h, inputs, k);
    if (k + 1 === 2 ** m) return;
    const j = 31 - Math.clz32(~k & (k + 1)); // the one unit that changes (Gray's order)
    const by = h[j] ? -1 : 1;
    h[j] += by;
    for (let i = 0; i < inputs.length; i++) inputs[i] += by * model.weights[i * m + j];
  }
}

/** Return log Σ_v e^−E(v, h) of each hidden state, in the order of `eachHidden`, and log Z. */
function enumerated(model) {
  const { visible, hidden } = model;
  const logs = new Float64Array(2 ** hidden.size);
  eachHidden(model, (h, inputs, k) => {
    let log = 0;
    for (let j = 0; j < h.length; j++) log += hidden.bias[j] * h[j];
    for (let i = 0; i < inputs.length; i++) log += softplus(visible.bias[i] + inputs[i]);
    logs[k] = log;
  });
  const largest = logs.reduce((a, b) => Math.max(a, b));
  return { logs, logZ: largest + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - largest), 0)) };
}

/** Return log Z by the sum over all hidden states. */
export const logZ = (model) => enumerated(model).logZ;

/** Means of v h, v and h: what a phase of the gradient is made of. */
class Moments {
  constructor(n, m) {
    Object.assign(this, { vh: new Float64Array(n * m), v: new Float64Array(n), h: new Float64Array(m) });
  }

  add(weight, v, h) {
    const m = h.length;
    for (let j = 0; j < m; j++) this.h[j] += weight * h[j];
    for (let i = 0; i < v.length; i++) {
      if (v[i] === 0) continue;
      const size = weight * v[i];
      this.v[i] += size;
      for (let j = 0; j < m; j++) this.vh[i * m + j] += size * h[j];
    }
  }
}

/** Return the moments of rows, with the means of the hidden units given each. */
function momentsOf(model, rows) {
  const moments = new Moments(model.visible.size, model.hidden.size);
  for (const v of rows) moments.add(1 / rows.length, v, model.meanHidden(v));
  return moments;
}

/** Return the moments under the model, exactly. */
function exactMoments(model) {
  const { logs, logZ: total } = enumerated(model);
  const moments = new Moments(model.visible.size, model.hidden.size);
  const v = new Float64Array(model.visible.size);
  eachHidden(model, (h, inputs, k) => {
    for (let i = 0; i < v.length; i++) v[i] = sigmoid(model.visible.bias[i] + inputs[i]);
    moments.add(Math.exp(logs[k] - total), v, h);
  });
  return moments;
}

/** The methods: what each is called, and its negative phase. */
export const METHODS = {
  exact: { title: () => "exact gradient", negative: ({ model }) => exactMoments(model) },
  cd: { title: (k) => `CD-${k}`, negative: (learner) => learner.sampled(learner.rows.map((row) => learner.model.chainAt(row))) },
  pcd: { title: (k) => `PCD-${k}`, negative: (learner) => learner.sampled(learner.chains) },
};

export class Learner {
  /**
   * @param rows states of the visible units, arrays of 0 and 1; an update uses all of them
   * @param options {method, hidden, steps, rate, seed}: a name of METHODS, the number of hidden
   *   units, Gibbs sweeps an update, and the learning rate
   */
  constructor(rows, { method, hidden, steps = 1, rate = 0.1, seed = 1 }) {
    Object.assign(this, { rows, method, steps, rate, updates: 0 });
    this.random = new Random(seed);
    const n = rows[0].length;
    const bias = Float32Array.from({ length: n }, (_, i) => {
      const mean = rows.reduce((sum, row) => sum + row[i], 0) / rows.length;
      const p = Math.min(1 - LEAST, Math.max(LEAST, mean));
      return Math.log(p / (1 - p));
    });
    this.model = new Model({
      visible: { type: "Bernoulli", fields: { size: n, bias } },
      hidden: { type: "Bernoulli", fields: { size: hidden, bias: new Float32Array(hidden) } },
      weights: Float32Array.from({ length: n * hidden }, () => SPREAD * this.random.normal()),
    });
    this.chains = rows.map(() => this.model.chain(this.random));
  }

  get title() { return METHODS[this.method].title(this.steps); }

  /** Return the moments of chains after some sweeps. */
  sampled(chains) {
    for (const chain of chains) for (let k = 0; k < this.steps; k++) this.model.sweep(chain, this.random);
    return momentsOf(this.model, chains.map(({ v }) => v));
  }

  /** Make one update: rate · (moments of the data − moments of the model). */
  update() {
    const positive = momentsOf(this.model, this.rows);
    const negative = METHODS[this.method].negative(this);
    const step = (name) => positive[name].map((x, i) => this.rate * (x - negative[name][i]));
    this.model.change({ weights: step("vh"), visible: step("v"), hidden: step("h") });
    this.updates += 1;
  }

  /** Return the mean log-likelihood of the rows in nats, exactly. */
  logLikelihood() {
    const { model, rows } = this;
    return -rows.reduce((sum, v) => sum + model.freeEnergy(v), 0) / rows.length - logZ(model);
  }
}

/** Return the highest mean log-likelihood that any model has: minus the entropy of the rows. */
export function highest(rows) {
  const counts = new Map();
  for (const row of rows) counts.set(row.join(""), (counts.get(row.join("")) ?? 0) + 1);
  return Array.from(counts.values()).reduce((sum, count) => sum + (count / rows.length) * Math.log(count / rows.length), 0);
}
