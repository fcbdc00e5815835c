// The sections of a report that show numbers.

import { bars, dots, histograms, legend, lines, scatter } from "./charts.js";
import { count, countOf, figure, figures, make, nats, note, section, shortened } from "./dom.js";
import { tiles } from "./images.js";

const LARGEST_TILES = 64;
const MOST_VALUES = 6; // of a column, that have bars

/** How good the model is: the log-likelihood of rows, in words and beside simpler models. */
export function likelihood({ summary, baselines }) {
  const score = summary.log_likelihood;
  if (!score) return section("How good it is", note(`No score: ${summary.message}.`));
  const items = [
    ...baselines.map(({ name, value }) => ({ name, value, color: 2 })),
    { name: "this model", value: score.value, low: score.low, high: score.high, color: 0 },
  ];
  const value = make("p", { class: "figure" }, make("strong", {}, `${nats(score.value)} nats`), " per row");
  const exact = score.low === score.high;
  const interval = exact ? "This is exact." : `95 % interval ${nats(score.low)} to ${nats(score.high)}.`;
  const best = baselines.reduce((a, b) => (a && a.value > b.value ? a : b), null);
  const apart = best ? score.value - best.value : 0;
  const factor = figures(Math.exp(Math.abs(apart)), 2);
  const times = Number(factor) === 1 ? "the probability that" : `${factor} times the probability that`;
  return section(
    "How good it is",
    value,
    make("p", {},
      `The mean log-likelihood of ${countOf(score.n_rows, `${score.rows} row`)}. ${interval} `,
      score.converged ? null : make("strong", {}, "The estimate has not converged: do not quote it. "),
      best ? (apart >= 0 ? `The model gives a row ${times} ${best.words} gives it (geometric mean).` : `${capital(best.words)} gives a row ${times} this model gives it (geometric mean).`) : null),
    dots({ items, label: "Log-likelihood beside simpler models", unit: "nats per row; more is better", show: nats }),
    note(`${score.method}.`),
  );
}

/** All scores of `harmonium evaluate`, in the words in which it prints them. */
export function scores({ evaluation }) {
  const row = ([quantity, value, words]) => make("tr", {},
    make("th", { scope: "row", class: quantity.startsWith(" ") ? "part" : null }, quantity.trim()), make("td", {}, value), make("td", { class: "soft" }, words));
  const groups = evaluation.sections.map((lines) => make("tbody", {}, ...lines.map(row)));
  return section("All scores", ...evaluation.heads.map((line) => note(line)), make("table", { class: "scores" }, ...groups));
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

const CURVES = [
  ["log_likelihood", "Log-likelihood", "nats per row", ["log_likelihood_low", "log_likelihood_high"]],
  ["pseudo_log_likelihood", "Pseudo-log-likelihood", "nats per row"],
  ["free_energy_gap", "Free-energy gap: held-out less training rows", "nats per row"],
  ["reconstruction", "Reconstruction error", "mean squared difference"],
  ["update_ratio", "Size of an update, |ΔW| / |W|", "ratio"],
  ["penalty", "Strength of the penalty on weights", "strength"],
];

// What a method records of its chains; what is not here is shown under its own name.
const OF_CHAINS = [
  ["ladder", "Models on the temperature ladder", "number"],
  ["acceptance", "Swaps accepted between neighbours, the smallest fraction", "fraction"],
  ["effective_chains", "Effective fraction of the chains", "fraction"],
  ["resampled", "Resamplings so far", "number"],
  ["coupling_time", "Sweeps until two chains meet", "mean, sweeps"],
  ["longest_coupling_time", "Sweeps until the last two chains meet", "sweeps"],
  ["log_z", "log Z as the chains track it", "nats"],
];
const SHOWN_ELSEWHERE = ["update", "epoch", "seconds", "samples_per_second", "free_energy", "free_energy_gap_stderr", "log_likelihood_low", "log_likelihood_high"];

/** Learning curves: one chart for each quantity that was measured. */
export function curves({ history }) {
  const charts = chartsOf(CURVES, history);
  if (!charts.length) return section("Learning curves", note("Nothing was measured yet."));
  return section("Learning curves", make("div", { class: "grid-of-charts" }, ...charts));
}

/** What the method recorded of its chains and its ladder; null where it recorded nothing. */
export function chainsOfRun({ history }) {
  const named = new Set([...CURVES, ...OF_CHAINS].map(([name]) => name).concat(SHOWN_ELSEWHERE));
  const others = Object.keys(history.at(-1) ?? {}).filter((name) => !named.has(name));
  const words = (name) => name.replaceAll("_", " ");
  const charts = chartsOf([...OF_CHAINS, ...others.map((name) => [name, capital(words(name)), words(name)])], history);
  return charts.length ? section("Chains", make("div", { class: "grid-of-charts" }, ...charts)) : null;
}

function chartsOf(quantities, history) {
  const known = quantities.map(([name, title, unit, band]) => {
    const points = history.filter((record) => Number.isFinite(record[name]))
      .map((record) => [record.epoch, record[name], ...(band ?? []).map((side) => record[side])]);
    return { name, title, unit, points };
  }).filter(({ points }) => points.length > 0);
  return known.map(({ name, title, unit, points }) => {
    const chart = lines({ series: [{ name: title, points }], xLabel: "epoch", yLabel: unit, label: title, zero: name === "free_energy_gap" });
    return figure(title, chart);
  });
}

/** Rows of data beside samples, as pictures. */
export function samplesBesideData({ rows, player }) {
  const { data, samples, shape, low, high } = rows;
  const n = Math.min(LARGEST_TILES, data.length, samples.length);
  const how = { across: 8, scale: Math.max(1, Math.round(26 / shape[1])), low, high };
  const panel = (title, arrays, stateOf) => {
    const choose = player && ((k) => player.load(stateOf(k)));
    return figure(title, tiles(arrays.slice(0, n), shape, { ...how, label: title, choose }));
  };
  return section("Samples beside data", make("div", { class: "side-by-side" },
    panel("data", data, (k) => rows.states[rows.complete.indexOf(data[k])]),
    panel("samples of the model", samples, (k) => rows.sampled[k])),
    player ? note("A click loads a picture: the chain above goes on from it.") : null);
}

/** The means of the visible units in samples against those in data: points on the line agree. */
export function meansOfUnits({ rows }) {
  const mean = (states) => Array.from(states[0], (_, i) => states.reduce((sum, state) => sum + state[i], 0) / states.length);
  const ours = mean(rows.sampled);
  const points = mean(rows.states).map((x, i) => [x, ours[i]]);
  return scatter({ series: [{ name: "units", points }], xLabel: "mean in data", yLabel: "mean in samples", label: "Means of visible units", diagonal: true });
}

/** The weights' singular values, a histogram of weights, and how often hidden units are on. */
export function insideTheModel({ model, spectrum, rows }) {
  const activity = new Float64Array(model.hidden.size);
  const states = rows.states.slice(0, 200);
  for (const v of states) model.meanHidden(v).forEach((mean, j) => { activity[j] += mean / states.length; });
  return section("Inside the model", make("div", { class: "grid-of-charts" },
    spectrum && figure("Singular values of the weights", lines({ series: [{ name: "singular value", points: spectrum.map((value, k) => [k + 1, value]) }], xLabel: "number", yLabel: "value", label: "Singular values", zero: true }),
      "The few large ones are what the model has learned; the others are as large as noise makes them."),
    figure("Weights", histograms({ series: [{ name: "weights", numbers: model.weights }], xLabel: "weight", label: "Histogram of weights" })),
    figure("Mean of each hidden unit over rows of data", histograms({ series: [{ name: "hidden units", numbers: activity }], xLabel: "mean", label: "Histogram of hidden means", bins: 30 }),
      "Units at one end for all rows do nothing."),
    rows.sampled.length ? figure("Means of visible units", meansOfUnits({ rows }), "Points on the line agree.") : null,
  ));
}

/** Sequences of the data, and new ones. */
export function sequencesBesideData({ rows, sites }) {
  const words = (sequences) => sequences.slice(0, 10).map((row) => Array.from(row, (code) => sites.letters[code]).join("")).join("\n");
  const panel = (title, sequences) => figure(title, make("pre", { tabindex: 0, "aria-label": title }, words(sequences)));
  return section("Sequences", panel("data", rows.data), panel("samples of the model", rows.samples));
}

/** The columns of a table: data beside samples. */
export function columnsBesideData({ rows, columns }) {
  const panels = columns.map((column, unit) => {
    const title = shortened(column.name, 28);
    const of = (states) => states.map((row) => row[unit]);
    const [theirs, ours] = [of(rows.data), of(rows.samples)];
    const chart = column.states ? fractions(column, theirs, ours) : histograms({
      series: [{ name: "data", numbers: theirs, color: 2 }, { name: "samples", numbers: ours, color: 0 }],
      xLabel: "", label: column.name, bins: 24, ends: column.ends, show: (x) => figures(column.cell(x), 2), width: 320, height: 170, keys: false,
    });
    const rarer = column.states ? column.labels.length - MOST_VALUES : 0;
    return figure(make("span", { title: column.name }, title), chart, rarer > 0 ? `${countOf(rarer, "rarer value")} not shown` : null);
  });
  return section("Columns: data beside samples", legend([{ name: "data", color: 2 }, { name: "samples of the model", color: 0 }]), make("div", { class: "grid-of-charts small" }, ...panels));
}

/** Fractions of the commonest values, two bars each. */
function fractions(column, theirs, ours) {
  const fraction = (codes, code) => codes.filter((c) => c === code).length / Math.max(1, codes.filter(Number.isFinite).length);
  const values = column.labels.map((label, code) => ({ label, data: fraction(theirs, code), samples: fraction(ours, code) }));
  const shown = values.toSorted((a, b) => b.data - a.data).slice(0, MOST_VALUES);
  const items = shown.flatMap(({ label, data, samples }) => [
    { name: shortened(label, 18), value: data, color: 2 }, { name: "", value: samples, color: 0 }]);
  return bars({ items, label: column.name, unit: "fraction of rows", show: (x) => `${Math.round(100 * x)} %`, width: 320, left: 110, right: 48 });
}

/** What was done, and how to do it again. */
export function howItWasMade({ command, about, config, versions }) {
  const lists = about.length ? make("ul", {}, ...about.map((line) => make("li", {}, line))) : null;
  const rows = Object.entries(config).map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, String(value))));
  return section("How it was made",
    make("p", {}, "This command makes it again:"), make("pre", { tabindex: 0 }, make("code", {}, command)),
    lists,
    make("details", {}, make("summary", {}, "All options"), make("table", {}, make("tbody", {}, ...rows))),
    note(versions));
}

export const overview = ({ layers, summary, model, history }) => {
  const last = history.at(-1) ?? {};
  const facts = [["model", layers], ["weights", count(model.weights.length)]];
  if (summary) {
    facts.push(["status", summary.status === "done" ? "finished" : summary.status], ["updates", count(last.update ?? 0)], ["epochs", figures(last.epoch ?? 0)]);
  }
  return make("dl", { class: "facts" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
};
