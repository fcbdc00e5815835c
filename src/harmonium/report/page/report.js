// The report of a run, or of a model: its sections, and how they follow a run that goes on.

import { decoded, decodedRows } from "./arrays.js";
import {
  chainsOfRun, columnsBesideData, curves, howItWasMade, insideTheModel, likelihood, overview, samplesBesideData,
  scores, sequencesBesideData,
} from "./charts_of_run.js";
import { footer, make, note, section } from "./dom.js";
import { tiles } from "./images.js";
import { isKnown } from "./layers.js";
import { Model } from "./model.js";
import { Player } from "./player.js";

/** Put arrays in the place of their names in a description. */
function resolved(description, arrays) {
  if (Array.isArray(description)) return description.map((each) => resolved(each, arrays));
  if (description === null || typeof description !== "object") return description;
  if ("tensor" in description) return arrays[description.tensor];
  return Object.fromEntries(Object.entries(description).map(([name, value]) => [name, resolved(value, arrays)]));
}

/** Return the model of a page's content. */
export function modelOf({ visible, hidden, arrays }) {
  const numbers = Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, decoded(array)]));
  const layers = { visible: resolved(visible, numbers), hidden: resolved(hidden, numbers) };
  if (!isKnown(layers.visible) || !isKnown(layers.hidden)) return null;
  return new Model({ ...layers, weights: numbers.weights });
}

/** Return rows in the user's coding, and as states of the model. */
function rowsOf(content, model) {
  const { data, samples, shape, low, high } = content.rows;
  const rows = { data: decodedRows(data), samples: decodedRows(samples), shape, low, high };
  // Rows without missing cells are states; where there are none, samples are.
  const complete = rows.data.filter((row) => row.every(Number.isFinite));
  rows.complete = complete.length ? complete : rows.samples;
  const encoded = (row) => {
    const state = new Float32Array(model.visible.size);
    model.visible.encode(Array.from(row), state);
    return state;
  };
  rows.states = model ? rows.complete.map(encoded) : [];
  rows.sampled = model ? rows.samples.map(encoded) : [];
  return rows;
}

/** Return columns with functions between the numbers of a table and those of the model. */
function columnsOf(columns) {
  return columns?.map((column) => {
    if (column.states) return column;
    const { codes, cells } = column.scale;
    const between = (from, to) => (x) => {
      let k = 1;
      while (k < from.length - 1 && from[k] < x) k += 1;
      const part = from[k] > from[k - 1] ? (x - from[k - 1]) / (from[k] - from[k - 1]) : 0;
      return to[k - 1] + Math.min(1, Math.max(0, part)) * (to[k] - to[k - 1]);
    };
    return { ...column, cell: between(codes, cells), code: between(cells, codes), ends: [codes[0], codes.at(-1)] };
  });
}

function filters(model, shape, player) {
  const [n, m] = [model.visible.size, model.hidden.size];
  const norm = (j) => { let sum = 0; for (let i = 0; i < n; i++) sum += model.weights[i * m + j] ** 2; return sum; };
  const order = Array.from({ length: m }, (_, j) => [norm(j), j]).sort((a, b) => b[0] - a[0]).slice(0, 100).map(([, j]) => j);
  const arrays = order.map((j) => model.weightsOf(j));
  const sizes = Float32Array.from(arrays.flatMap((each) => Array.from(each, Math.abs))).sort();
  const high = sizes[Math.floor(0.995 * (sizes.length - 1))] || 1;
  const how = { across: 20, scale: Math.max(1, Math.round(44 / shape[1])), colors: "diverging", high, label: "Filters", choose: (k) => player.chooseUnit(order[k]) };
  return section("Filters", tiles(arrays, shape, how), note(`The weights of ${arrays.length} of ${m} hidden units, in the order of their norms; red raises a pixel, blue lowers it. A click shows the unit and the rows that drive it.`));
}

/** The sections in order: each builds its part of the page, or null where it has nothing to show. */
const SECTIONS = {
  likelihood: (all) => (all.summary ? likelihood(all) : null),
  player: (all) => all.player?.element ?? section("Play with the model", note("This page cannot run units of this kind.")),
  scores: (all) => (all.evaluation ? scores(all) : null),
  curves: (all) => (all.summary ? curves(all) : null),
  chains: (all) => (all.summary ? chainsOfRun(all) : null),
  filters: ({ model, rows, sites, columns, player }) =>
    (model && !sites && !columns && rows.shape[0] * rows.shape[1] === model.visible.size ? filters(model, rows.shape, player) : null),
  beside: (all) => {
    if (!all.rows.samples.length) return null;
    return all.columns ? columnsBesideData(all) : all.sites ? sequencesBesideData(all) : samplesBesideData(all);
  },
  inside: (all) => (all.model ? insideTheModel(all) : null),
  made: (all) => (all.command ? howItWasMade(all) : null),
};

// What only a run adds to a page.
const WITHOUT_RUN = { baselines: [], about: [], config: {}, versions: "" };

/** The page of a report, built into an element. */
export class Report {
  constructor(content, into) {
    const model = modelOf(content.model);
    this.all = {
      ...WITHOUT_RUN, ...content, model, rows: rowsOf(content, model), columns: columnsOf(content.columns), rounding: content.model.rounding,
    };
    this.all.player = model && new Player(this.all);
    this.facts = make("div", {});
    this.parts = Object.fromEntries(Object.keys(SECTIONS).map((name) => [name, SECTIONS[name](this.all)]));
    const shown = Object.values(this.parts).filter(Boolean);
    const links = shown.map((each) => make("a", { href: `#${each.id}` }, each.querySelector("h2").textContent));
    this.tell();
    into.replaceChildren(
      make("header", {}, make("h1", {}, content.title), this.facts, make("nav", { "aria-label": "Contents" }, ...links)),
      ...shown,
      footer());
  }

  tell() {
    this.facts.replaceChildren(...(this.all.model ? [overview(this.all)] : []));
  }

  /** Show a longer history and, where there is one, a newer model; the chains go on with it. */
  follow({ history, model }) {
    this.all.history = history;
    const changed = ["curves", "chains"];
    if (model && this.all.model) {
      this.all.model = modelOf(model);
      this.all.player.setModel(this.all.model);
      changed.push("filters", "inside");
    }
    for (const name of changed) this.renew(name);
    this.tell();
  }

  /** Rebuild a section; one that had nothing to show before comes after those before it. */
  renew(name) {
    const fresh = SECTIONS[name](this.all);
    if (!fresh) return;
    if (this.parts[name]) this.parts[name].replaceWith(fresh);
    else {
      const names = Object.keys(this.parts);
      const before = names.slice(0, names.indexOf(name)).findLast((each) => this.parts[each]);
      this.parts[before].after(fresh);
    }
    this.parts[name] = fresh;
  }
}

export const report = (content, into) => new Report(content, into);
