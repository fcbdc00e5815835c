// Layers of units: p(x | inputs) ∝ exp(inputs·x − U(x)), as the Python classes of the same names.
//
// A layer has `size` columns and `units` units. Numbers that the model has learned, and only they,
// change with the temperature: `scaled(β)` multiplies them.

import {
  cholesky, log2cosh, logAddExp, logExpm1, logFactorial, logHalfLine, logInterval, meanHalfLine,
  meanInterval, sigmoid, softplus, solveLower, solveUpper,
} from "./functions.js";

const LOG_2PI = Math.log(2 * Math.PI);

/** The base of all layers; here of units with one column each, drawn one by one. */
class Layer {
  /** The fields that the model has learned; a layer of more than a bias names them. */
  static learned = ["bias"];

  /** @param fields those of the Python class, with arrays as numbers. */
  constructor(fields, size = fields.size, units = size) {
    Object.assign(this, fields, { fields, size, units, spare: new Float32Array(size) });
  }

  /** Return the layer with everything that was learned times β. */
  scaled(beta) {
    const { fields, constructor } = this;
    const times = (array) => array.map((number) => beta * number);
    const changed = constructor.learned.map((name) => [name, times(fields[name])]);
    return new constructor({ ...fields, ...Object.fromEntries(changed) });
  }

  /** Return Σ U(x) in nats. */
  energy(x) {
    let sum = 0;
    for (let i = 0; i < this.size; i++) sum += this.unitEnergy(i, x[i]);
    return sum;
  }

  /** Return Γ(inputs), the log of the integral over all states, in nats. */
  cgf(inputs) {
    let sum = 0;
    for (let i = 0; i < this.size; i++) sum += this.unitCgf(i, inputs[i]);
    return sum;
  }

  /** Write the means into `out`. */
  mean(inputs, out) {
    for (let i = 0; i < this.size; i++) out[i] = this.unitMean(i, inputs[i]);
  }

  /** Write a draw into `out`. */
  sample(inputs, random, out) {
    for (let i = 0; i < this.size; i++) out[i] = this.unitSample(i, inputs[i], random);
  }

  /** Draw the units of `x` that are not known, given those that are. */
  sampleGiven(inputs, known, random, x) {
    this.sample(inputs, random, this.spare);
    for (let unit = 0; unit < this.units; unit++) {
      if (known[unit]) continue;
      const [first, count] = this.columnsOf(unit);
      for (let i = first; i < first + count; i++) x[i] = this.spare[i];
    }
  }

  /** Return Γ(inputs) with the known units held at their values in `x`, in nats. */
  cgfGiven(inputs, known, x) {
    let sum = 0;
    for (let i = 0; i < this.size; i++) {
      sum += known[i] ? inputs[i] * x[i] - this.unitEnergy(i, x[i]) : this.unitCgf(i, inputs[i]);
    }
    return sum;
  }

  /** Return the first column of a unit, and the number of its columns. */
  columnsOf(unit) {
    return [unit, 1];
  }

  /** Write a row in the user's coding, one number for each unit, as a state. */
  encode(row, out) {
    for (let i = 0; i < this.size; i++) out[i] = row[i];
  }

  /** Return the number of a unit in the user's coding. */
  valueOf(x, unit) {
    return x[unit];
  }

  /** The number of states of each unit that has two or more; 0 for numbers. */
  statesOf() {
    return 0;
  }
}

class Bernoulli extends Layer {
  unitEnergy(i, x) { return -this.bias[i] * x; }
  unitCgf(i, input) { return softplus(input + this.bias[i]); }
  unitMean(i, input) { return sigmoid(input + this.bias[i]); }
  unitSample(i, input, random) { return random.uniform() < sigmoid(input + this.bias[i]) ? 1 : 0; }
  statesOf() { return 2; }
}

class Ising extends Layer {
  unitEnergy(i, x) { return -this.bias[i] * x; }
  unitCgf(i, input) { return log2cosh(input + this.bias[i]); }
  unitMean(i, input) { return Math.tanh(input + this.bias[i]); }
  unitSample(i, input, random) {
    return random.uniform() < sigmoid(2 * (input + this.bias[i])) ? 1 : -1;
  }
  statesOf() { return 2; }
}

/** Units with several one-hot columns each. */
class OneHot extends Layer {
  /** @param fields {counts, bias}: each unit's number of states. */
  constructor(fields) {
    const { counts } = fields;
    super(fields, counts.reduce((sum, count) => sum + count, 0), counts.length);
    this.firsts = [];
    counts.reduce((first, count) => (this.firsts.push(first), first + count), 0);
  }
  columnsOf(unit) { return [this.firsts[unit], this.counts[unit]]; }
  statesOf(unit) { return this.counts[unit]; }

  energy(x) {
    let sum = 0;
    for (let i = 0; i < this.size; i++) if (x[i] !== 0) sum -= this.bias[i] * x[i];
    return sum;
  }

  /** Write e^(I + b), divided by the largest of the unit, into the unit's part of `out`. */
  odds(inputs, unit, out) {
    const [first, count] = this.columnsOf(unit);
    let [largest, total] = [-Infinity, 0];
    for (let i = first; i < first + count; i++) largest = Math.max(largest, inputs[i] + this.bias[i]);
    for (let i = first; i < first + count; i++) {
      out[i] = Math.exp(inputs[i] + this.bias[i] - largest);
      total += out[i];
    }
    return [largest, total];
  }

  cgf(inputs) {
    let sum = 0;
    for (let unit = 0; unit < this.units; unit++) {
      const [largest, total] = this.odds(inputs, unit, this.spare);
      sum += largest + Math.log(total);
    }
    return sum;
  }

  cgfGiven(inputs, known, x) {
    let sum = 0;
    for (let unit = 0; unit < this.units; unit++) {
      const [first, count] = this.columnsOf(unit);
      if (known[unit]) {
        for (let i = first; i < first + count; i++) sum += (inputs[i] + this.bias[i]) * x[i];
        continue;
      }
      const [largest, total] = this.odds(inputs, unit, this.spare);
      sum += largest + Math.log(total);
    }
    return sum;
  }

  mean(inputs, out) {
    for (let unit = 0; unit < this.units; unit++) {
      const [, total] = this.odds(inputs, unit, out);
      const [first, count] = this.columnsOf(unit);
      for (let i = first; i < first + count; i++) out[i] /= total;
    }
  }

  sample(inputs, random, out) {
    for (let unit = 0; unit < this.units; unit++) {
      const [, total] = this.odds(inputs, unit, out);
      const [first, count] = this.columnsOf(unit);
      let left = random.uniform() * total;
      let chosen = first;
      while (chosen < first + count - 1 && left >= out[chosen]) left -= out[chosen++];
      for (let i = first; i < first + count; i++) out[i] = i === chosen ? 1 : 0;
    }
  }

  encode(row, out) {
    out.fill(0);
    for (let unit = 0; unit < this.units; unit++) out[this.firsts[unit] + row[unit]] = 1;
  }

  valueOf(x, unit) {
    const [first, count] = this.columnsOf(unit);
    for (let code = 0; code < count; code++) if (x[first + code] === 1) return code;
    return 0;
  }
}

/** 0/1 units in groups: each that is on beyond the first of its group costs κ. */
class Exclusive extends Layer {
  static learned = ["bias", "cost"];

  constructor(fields) {
    super(fields);
    const { size, groups, cost } = fields;
    const grouped = new Set(groups.flat());
    const single = Array.from({ length: size }, (_, i) => i).filter((i) => !grouped.has(i));
    this.blocks = [...groups.map((units, g) => [units, cost[g]]), ...single.map((i) => [[i], 0])];
  }
  statesOf() { return 2; }

  energy(x) {
    let sum = 0;
    for (const [units, cost] of this.blocks) {
      let on = 0;
      for (const i of units) {
        on += x[i];
        sum -= this.bias[i] * x[i];
      }
      sum += cost * Math.max(on - 1, 0);
    }
    return sum;
  }

  cgf(inputs) {
    let sum = 0;
    for (const [units, cost] of this.blocks) {
      let total = 0;
      for (const i of units) total += softplus(inputs[i] + this.bias[i] - cost);
      sum += softplus(cost + logExpm1(total));
    }
    return sum;
  }

  mean(inputs, out) {
    for (const [units, cost] of this.blocks) {
      let total = 0;
      for (const i of units) total += softplus(inputs[i] + this.bias[i] - cost);
      const any = sigmoid(cost + logExpm1(total)) / -Math.expm1(-total);
      for (const i of units) out[i] = any * sigmoid(inputs[i] + this.bias[i] - cost);
    }
  }

  sample(inputs, random, out) {
    this.sampleGiven(inputs, null, random, out);
  }

  /** Draw the free units of each group one after the other, until one is on; then they are free. */
  sampleGiven(inputs, known, random, x) {
    for (const [units, cost] of this.blocks) {
      const free = known ? units.filter((i) => !known[i]) : units;
      const on = known ? units.some((i) => known[i] && x[i] > 0) : false;
      const logit = (i) => inputs[i] + this.bias[i] - cost;
      let left = 0;
      for (const i of free) left += softplus(logit(i));
      let any = on || random.uniform() < sigmoid(cost + logExpm1(left));
      let needed = any && !on; // one of those that are left is on
      for (const i of free) {
        const sure = needed ? -Math.expm1(-left) : 1;
        x[i] = any && random.uniform() < sigmoid(logit(i)) / sure ? 1 : 0;
        if (x[i]) needed = false;
        left -= softplus(logit(i));
      }
    }
  }
}

class Gaussian extends Layer {
  static learned = ["bias", "precision"];
  unitEnergy(i, x) { return (0.5 * this.precision[i] * x - this.bias[i]) * x; }
  unitCgf(i, input) {
    const field = input + this.bias[i];
    return 0.5 * (field ** 2 / this.precision[i] + LOG_2PI - Math.log(this.precision[i]));
  }
  unitMean(i, input) { return (input + this.bias[i]) / this.precision[i]; }
  unitSample(i, input, random) {
    return this.unitMean(i, input) + random.normal() / Math.sqrt(this.precision[i]);
  }
}

class MultivariateGaussian extends Layer {
  static learned = ["bias", "precision"];

  constructor(fields) {
    super(fields);
    this.free = Array.from({ length: fields.size }, (_, i) => i);
    this.factor = cholesky(fields.precision, fields.size);
    this.whole = [this.free, this.factor];
  }

  energy(x) {
    let sum = 0;
    for (let i = 0; i < this.size; i++) {
      let row = 0;
      for (let j = 0; j < this.size; j++) row += this.precision[i * this.size + j] * x[j];
      sum += x[i] * (0.5 * row - this.bias[i]);
    }
    return sum;
  }

  cgf(inputs) {
    const field = Float64Array.from(inputs, (input, i) => input + this.bias[i]);
    const [, factor] = this.whole;
    solveLower(factor, this.size, field);
    let sum = 0;
    for (let i = 0; i < this.size; i++) {
      sum += 0.5 * (field[i] ** 2 + LOG_2PI) - Math.log(factor[i * this.size + i]);
    }
    return sum;
  }

  mean(inputs, out) {
    const field = Float64Array.from(inputs, (input, i) => input + this.bias[i]);
    solveLower(this.whole[1], this.size, field);
    solveUpper(this.whole[1], this.size, field);
    out.set(field);
  }

  sample(inputs, random, out) {
    [this.free, this.factor] = this.whole;
    this.draw(inputs, random, out);
  }

  sampleGiven(inputs, known, random, x) {
    this.release(known);
    this.draw(inputs, random, x);
  }

  cgfGiven(inputs, known, x) {
    this.release(known);
    const field = this.fieldOfFree(inputs, x);
    solveLower(this.factor, field.length, field);
    let sum = 0;
    field.forEach((y, a) => { sum += 0.5 * (y ** 2 + LOG_2PI) - Math.log(this.factor[a * field.length + a]); });
    for (let i = 0; i < this.size; i++) {
      if (!known[i]) continue;
      let row = 0;
      for (let j = 0; j < this.size; j++) if (known[j]) row += this.precision[i * this.size + j] * x[j];
      sum += x[i] * (inputs[i] + this.bias[i] - 0.5 * row);
    }
    return sum;
  }

  /** Let the units that are not known be the free ones, and factorise their precision. */
  release(known) {
    const free = this.whole[0].filter((i) => !known[i]);
    if (String(free) === String(this.free)) return;
    const n = free.length;
    const part = new Float64Array(n * n);
    free.forEach((i, a) => free.forEach((j, b) => { part[a * n + b] = this.precision[i * this.size + j]; }));
    [this.free, this.factor] = [free, cholesky(part, n)];
  }

  /** Return the field on each of the units `free`, given the others. */
  fieldOfFree(inputs, x) {
    const [free, n] = [this.free, this.free.length];
    const field = new Float64Array(n);
    for (let a = 0; a < n; a++) {
      field[a] = inputs[free[a]] + this.bias[free[a]];
      if (n === this.size) continue;
      for (let j = 0; j < this.size; j++) field[a] -= this.precision[free[a] * this.size + j] * x[j];
      for (let b = 0; b < n; b++) field[a] += this.precision[free[a] * this.size + free[b]] * x[free[b]];
    }
    return field;
  }

  /** Draw the units `free`, whose precision has the factor `factor`, given the others. */
  draw(inputs, random, x) {
    const [free, n] = [this.free, this.free.length];
    if (n === 0) return;
    const field = this.fieldOfFree(inputs, x);
    solveLower(this.factor, n, field);
    for (let a = 0; a < n; a++) field[a] += random.normal();
    solveUpper(this.factor, n, field);
    for (let a = 0; a < n; a++) x[free[a]] = field[a];
  }
}

class ReLU extends Gaussian {
  standard(i, input) { return (input + this.bias[i]) / Math.sqrt(this.precision[i]); }
  unitCgf(i, input) {
    return logHalfLine(this.standard(i, input)) - 0.5 * Math.log(this.precision[i]);
  }
  unitMean(i, input) { return meanHalfLine(this.standard(i, input)) / Math.sqrt(this.precision[i]); }
  unitSample(i, input, random) {
    return random.positiveNormal(this.standard(i, input)) / Math.sqrt(this.precision[i]);
  }
}

class DReLU extends Layer {
  static learned = ["bias_above", "bias_below", "precision_above", "precision_below"];

  unitEnergy(i, x) {
    const side = x > 0 ? "above" : "below";
    return (0.5 * this[`precision_${side}`][i] * x - this[`bias_${side}`][i]) * x;
  }
  /** Return t and the width of either side, and the log of the weight of each. */
  sides(i, input) {
    const above = 1 / Math.sqrt(this.precision_above[i]);
    const below = 1 / Math.sqrt(this.precision_below[i]);
    const up = (input + this.bias_above[i]) * above;
    const down = -(input + this.bias_below[i]) * below;
    const logs = [logHalfLine(up) + Math.log(above), logHalfLine(down) + Math.log(below)];
    return { up, above, down, below, logs };
  }
  unitCgf(i, input) { return logAddExp(...this.sides(i, input).logs); }
  unitMean(i, input) {
    const { up, above, down, below, logs } = this.sides(i, input);
    const chance = sigmoid(logs[0] - logs[1]);
    return chance * meanHalfLine(up) * above - (1 - chance) * meanHalfLine(down) * below;
  }
  unitSample(i, input, random) {
    const { up, above, down, below, logs } = this.sides(i, input);
    return random.uniform() < sigmoid(logs[0] - logs[1])
      ? random.positiveNormal(up) * above
      : -random.positiveNormal(down) * below;
  }
}

class UnitInterval extends Layer {
  unitEnergy(i, x) { return -this.bias[i] * x; }
  unitCgf(i, input) { return logInterval(input + this.bias[i]); }
  unitMean(i, input) { return meanInterval(input + this.bias[i]); }
  unitSample(i, input, random) {
    const [t, u] = [input + this.bias[i], random.uniform()];
    if (Math.abs(t) < 1e-6) return u; // where the inverse would be 0 / 0
    // One inverse in two forms, so that no exponential overflows.
    return t > 0 ? 1 + Math.log(u + (1 - u) * Math.exp(-t)) / t : Math.log1p(u * Math.expm1(t)) / t;
  }
}

class Binomial extends Layer {
  unitEnergy(i, x) {
    const ways = logFactorial(this.total) - logFactorial(x) - logFactorial(this.total - x);
    return -ways - this.bias[i] * x;
  }
  unitCgf(i, input) { return this.total * softplus(input + this.bias[i]); }
  unitMean(i, input) { return this.total * sigmoid(input + this.bias[i]); }
  unitSample(i, input, random) {
    const chance = sigmoid(input + this.bias[i]);
    let count = 0;
    for (let trial = 0; trial < this.total; trial++) count += random.uniform() < chance ? 1 : 0;
    return count;
  }
}

class Poisson extends Layer {
  unitEnergy(i, x) { return logFactorial(x) - this.bias[i] * x; }
  unitCgf(i, input) { return Math.exp(input + this.bias[i]); }
  unitMean(i, input) { return Math.exp(input + this.bias[i]); }
  unitSample(i, input, random) { return random.poisson(Math.exp(input + this.bias[i])); }
}

/** Layers side by side. */
class Mixed extends Layer {
  /** @param fields {parts}: the layers. */
  constructor(fields) {
    const total = (name) => fields.parts.reduce((sum, part) => sum + part[name], 0);
    super(fields, total("size"), total("units"));
  }
  scaled(beta) { return new Mixed({ parts: this.parts.map((part) => part.scaled(beta)) }); }

  /** Call a function with each part, and its first column and unit. */
  each(call) {
    let [column, unit] = [0, 0];
    for (const part of this.parts) {
      call(part, column, unit);
      column += part.size;
      unit += part.units;
    }
  }

  /** Return a part, a unit's number in it, and the part's first column. */
  partOf(unit) {
    let place = null;
    this.each((part, column, first) => {
      if (unit >= first && unit < first + part.units) place = [part, unit - first, column];
    });
    return place;
  }

  energy(x) {
    let sum = 0;
    this.each((part, c) => { sum += part.energy(x.subarray(c, c + part.size)); });
    return sum;
  }
  cgf(inputs) {
    let sum = 0;
    this.each((part, c) => { sum += part.cgf(inputs.subarray(c, c + part.size)); });
    return sum;
  }
  mean(inputs, out) {
    this.each((part, c) => part.mean(inputs.subarray(c, c + part.size), out.subarray(c, c + part.size)));
  }
  sample(inputs, random, out) {
    this.each((part, c) => {
      part.sample(inputs.subarray(c, c + part.size), random, out.subarray(c, c + part.size));
    });
  }
  sampleGiven(inputs, known, random, x) {
    this.each((part, c, u) => {
      const own = [inputs.subarray(c, c + part.size), known.subarray(u, u + part.units)];
      part.sampleGiven(...own, random, x.subarray(c, c + part.size));
    });
  }
  cgfGiven(inputs, known, x) {
    let sum = 0;
    this.each((part, c, u) => {
      const own = [inputs.subarray(c, c + part.size), known.subarray(u, u + part.units)];
      sum += part.cgfGiven(...own, x.subarray(c, c + part.size));
    });
    return sum;
  }
  columnsOf(unit) {
    const [part, own, column] = this.partOf(unit);
    const [first, count] = part.columnsOf(own);
    return [column + first, count];
  }
  encode(row, out) {
    this.each((part, c, u) => {
      part.encode(row.slice(u, u + part.units), out.subarray(c, c + part.size));
    });
  }
  valueOf(x, unit) {
    const [part, own, column] = this.partOf(unit);
    return part.valueOf(x.subarray(column, column + part.size), own);
  }
  statesOf(unit) {
    const [part, own] = this.partOf(unit);
    return part.statesOf(own);
  }
}

/** Classes, each a layer by itself: U(x) = −b·x − log Σ_k π_k p_k(x). */
class Mixture extends Layer {
  /** @param fields {bias, classes, log_shares}: the classes as layers. */
  constructor(fields) {
    const [first] = fields.classes;
    super(fields, first.size, first.units);
    const none = new Float32Array(first.size);
    this.offsets = fields.classes.map((layer, k) => fields.log_shares[k] - layer.cgf(none));
    this.field = new Float32Array(first.size);
  }

  /** Return I + b; the array is used again by the next call. */
  fieldOf(inputs) {
    for (let i = 0; i < this.size; i++) this.field[i] = inputs[i] + this.bias[i];
    return this.field;
  }

  /** Return the probabilities of the classes by the logs of their weights, and log Σ of these. */
  shares(logOf) {
    const logs = this.classes.map((layer, k) => this.offsets[k] + logOf(layer));
    const largest = Math.max(...logs);
    const odds = logs.map((log) => Math.exp(log - largest));
    const total = odds.reduce((sum, x) => sum + x, 0);
    return { shares: odds.map((x) => x / total), logSum: largest + Math.log(total) };
  }

  /** Return a class drawn by its probability. */
  chosen({ shares }, random) {
    let [left, k] = [random.uniform(), 0];
    while (k < shares.length - 1 && left >= shares[k]) left -= shares[k++];
    return this.classes[k];
  }

  energy(x) {
    let linear = 0;
    for (let i = 0; i < this.size; i++) linear += this.bias[i] * x[i];
    return -linear - this.shares((layer) => -layer.energy(x)).logSum;
  }

  cgf(inputs) {
    const field = this.fieldOf(inputs);
    return this.shares((layer) => layer.cgf(field)).logSum;
  }

  mean(inputs, out) {
    const field = this.fieldOf(inputs);
    const { shares } = this.shares((layer) => layer.cgf(field));
    out.fill(0);
    this.classes.forEach((layer, k) => {
      layer.mean(field, this.spare);
      for (let i = 0; i < this.size; i++) out[i] += shares[k] * this.spare[i];
    });
  }

  sample(inputs, random, out) {
    const field = this.fieldOf(inputs);
    this.chosen(this.shares((layer) => layer.cgf(field)), random).sample(field, random, out);
  }

  sampleGiven(inputs, known, random, x) {
    const field = this.fieldOf(inputs);
    const given = this.shares((layer) => layer.cgfGiven(field, known, x));
    this.chosen(given, random).sampleGiven(field, known, random, x);
  }

  columnsOf(unit) { return this.classes[0].columnsOf(unit); }
  encode(row, out) { this.classes[0].encode(row, out); }
  valueOf(x, unit) { return this.classes[0].valueOf(x, unit); }
  statesOf(unit) { return this.classes[0].statesOf(unit); }
}

const KINDS = {
  Bernoulli, Ising, Exclusive, Gaussian, MultivariateGaussian, ReLU, DReLU, UnitInterval, Binomial,
  Poisson,
};

/** Return the layer of a description: its type's name, and its fields with arrays as numbers. */
export function layerOf({ type, fields }) {
  if (type === "Mixed") return new Mixed({ parts: fields.parts.map(layerOf) });
  if (type === "Mixture") return new Mixture({ ...fields, classes: fields.classes.map(layerOf) });
  if (type === "Categorical") return new OneHot(fields);
  if (type === "Potts") {
    return new OneHot({ counts: Array(fields.sites).fill(fields.states_per_site), bias: fields.bias });
  }
  return new KINDS[type](fields);
}

/** Return whether the page knows a layer's type. */
export function isKnown({ type, fields }) {
  if (type === "Mixed") return fields.parts.every(isKnown);
  if (type === "Mixture") return fields.classes.every((layer) => isKnown(layer) && hasSumsGiven(layer));
  return ["Categorical", "Potts"].includes(type) || type in KINDS;
}

/** Return whether the page can sum over some units of a layer given others. */
function hasSumsGiven({ type, fields }) {
  return type === "Mixed" ? fields.parts.every(hasSumsGiven) : type !== "Exclusive";
}
