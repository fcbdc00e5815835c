// Runs side by side.

import { dots, lines } from "./charts.js";
import { count, figures, make, nats, note, section } from "./dom.js";

const MOST = 6; // colours

/** Build the page of a comparison: the best run first. */
export function comparison({ title, rows, runs, histories }, into) {
  const color = (k) => k % MOST;
  const items = runs.map(({ run, value, low, high }, k) => ({ name: run, value, low, high, color: color(k) }));
  const series = runs.map(({ run }, k) => ({
    name: run, color: color(k),
    points: histories[k].filter((record) => Number.isFinite(record.log_likelihood)).map((record) => [record.seconds, record.log_likelihood]),
  })).filter(({ points }) => points.length > 0);
  const heads = ["run", "nats per row", "behind the best", "95 % interval", "updates", "seconds", "weights"];
  const body = runs.map((run, k) => make("tr", {},
    make("th", { scope: "row" }, run.run),
    make("td", {}, nats(run.value) + (run.converged ? "" : " (not converged)")),
    make("td", {}, k ? nats(run.behind) : "the best"),
    make("td", {}, k ? `${nats(run.behind_low)} to ${nats(run.behind_high)}` : ""),
    make("td", {}, count(run.updates)), make("td", {}, figures(run.seconds)), make("td", {}, count(run.weights))));
  into.replaceChildren(
    make("header", {}, make("h1", {}, title)),
    section("Log-likelihood",
      dots({ items, label: "Log-likelihood of each run", unit: `nats per row, of the same ${rows}; more is better`, show: nats }),
      make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Runs" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...body))),
      note("The interval of a difference pairs the rows: what is common to all models of a row cancels. So it is narrower than the intervals of the two likelihoods. Where it does not reach 0, the runs differ.")),
    ...(series.length ? [section("Learning curves", lines({ series, xLabel: "seconds", yLabel: "log-likelihood, nats per row", label: "Learning curves" }),
      note("Followed during training, each with its own log Z; the score above is computed afterwards."))] : []),
    section("How they were made", ...runs.map(({ run, command }) => make("div", {}, make("h3", {}, run), make("pre", { tabindex: 0 }, make("code", {}, command))))),
  );
}
