// The page: reads its content, and builds its sections.

import { decoded, decodedRows } from "./arrays.js";
import {
  columnsBesideData, curves, howItWasMade, insideTheModel, likelihood, overview, samplesBesideData,
  sequencesBesideData,
} from "./charts_of_run.js";
import { comparison } from "./comparison.js";
import { make, note, section } from "./dom.js";
import { tiles } from "./images.js";
import { isKnown } from "./layers.js";
import { lesson } from "./lesson.js";
import { Model } from "./model.js";
import { player } from "./player.js";

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

function filters(model, shape) {
  const [n, m] = [model.visible.size, model.hidden.size];
  const norm = (j) => { let sum = 0; for (let i = 0; i < n; i++) sum += model.weights[i * m + j] ** 2; return sum; };
  const order = Array.from({ length: m }, (_, j) => [norm(j), j]).sort((a, b) => b[0] - a[0]).slice(0, 100).map(([, j]) => j);
  const arrays = order.map((j) => Float32Array.from({ length: n }, (_, i) => model.weights[i * m + j]));
  const sizes = Float32Array.from(arrays.flatMap((each) => Array.from(each, Math.abs))).sort();
  const high = sizes[Math.floor(0.995 * (sizes.length - 1))] || 1;
  const how = { across: 20, scale: Math.max(1, Math.round(44 / shape[1])), colors: "diverging", high, label: "Filters" };
  return section("Filters", tiles(arrays, shape, how), note(`The weights of ${arrays.length} of ${m} hidden units, those with the largest norm first; red raises a pixel, blue lowers it.`));
}

/** Build the report of a run. */
export function report(content, into) {
  const model = modelOf(content.model);
  const rows = rowsOf(content, model);
  const sites = content.sites;
  const columns = columnsOf(content.columns);
  const all = { ...content, model, rows, sites, columns, rounding: content.model.rounding };
  const drawn = model && !sites && !columns;
  const sections = [
    content.summary ? likelihood(all) : null,
    model ? player(all) : section("Play with the model", note("This page cannot run units of this kind.")),
    content.summary ? curves(all) : null,
    drawn && rows.shape[0] * rows.shape[1] === model.visible.size ? filters(model, rows.shape) : null,
    columns ? columnsBesideData(all) : sites ? sequencesBesideData(all) : samplesBesideData(all),
    model ? insideTheModel(all) : null,
    content.command ? howItWasMade(all) : null,
  ].filter(Boolean);
  const links = sections.map((each) => make("a", { href: `#${each.id}` }, each.querySelector("h2").textContent));
  into.replaceChildren(
    make("header", {}, make("h1", {}, content.title), model ? overview(all) : null, make("nav", { "aria-label": "Contents" }, ...links)),
    ...sections,
    make("footer", {}, note("Made by harmonium. This page is complete: it needs no network.")));
}

export const shown = { content: null };

if (typeof document !== "undefined") {
  const text = document.getElementById("content")?.textContent;
  if (text) {
    shown.content = JSON.parse(text);
    const build = { comparison, lesson, report }[shown.content.kind];
    build(shown.content, document.querySelector("main"));
  }
}
