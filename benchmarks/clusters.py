"""Two clusters between which chains do not move: low-rank starts against small random weights.

    python benchmarks/clusters.py [--columns 60] [--hidden 8] [--json docs/measured/clusters.json]

A quarter of the 4,000 rows come from one of two product distributions with means of 0.08 and 0.92,
independently chosen for each column. For each start and method, the table has the update from
which on the model (exact draws) has the right share of the smaller cluster; this share at the end,
in the chains and in the model; and the exact log-likelihood of the rows, beside that of the mixture
from which they are drawn.
"""

from typing import Any

import jax
import numpy as np
from reporting import head, parser_of, row, signed, write_records

import harmonium as hm

ROWS = 4_000
SHARE = 0.25  # of the rows in the smaller cluster
LOW = 0.08
DRAWS = 10_000
TOLERANCE = 0.05  # of a mass, within which it is called right
RATE = 0.05
STARTS = {"small random weights": None, "rank=1": 1}
METHODS = {
    "PCD": hm.Persistent(hm.Gibbs(1), chains=500),
    "Jarzynski": hm.Jarzynski(hm.Gibbs(1), chains=500),
    "parallel tempering": hm.Tempering(),
    "trajectory tempering": hm.Trajectory(),
    "auto": hm.training.Autopilot(),
}


def two_clusters(
    columns: int, rows: int = ROWS, seed: int = 0, low: float = LOW
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the rows, the means of the two clusters, and the mixture's mean log-likelihood."""
    rng = np.random.default_rng(seed)
    means = np.where(rng.random((2, columns)) < 0.5, low, 1.0 - low)
    of_row = (rng.random(rows) < SHARE).astype(int)
    x = (rng.random((rows, columns)) < means[of_row]).astype(float)
    log_p = [x @ np.log(mean) + (1 - x) @ np.log(1 - mean) for mean in means]
    shares = np.log([1 - SHARE, SHARE])
    return x, means, float(np.logaddexp(log_p[0] + shares[0], log_p[1] + shares[1]).mean())


def share_of_smaller(states: np.ndarray, means: np.ndarray, weights: Any = None) -> float:
    """Return the (weighted) share of states that are closer to the smaller cluster's mean."""
    of_larger, of_smaller = (((states - mean) ** 2).sum(-1) for mean in means)
    return float(np.average(of_smaller < of_larger, weights=weights))


class Watched:
    """The masses of the smaller cluster at each record of a run, as a callback of `fit`."""

    def __init__(self, method: Any, means: np.ndarray):
        self.method = method
        self.means = means
        self.records: list[tuple[int, float, float]] = []  # updates, in the chains, in the model

    def __call__(self, report: Any) -> None:
        if not report.metrics:
            return
        chains = self.method.status(report.state.rbm, report.state.gradient).chains
        weights = np.asarray(chains.weights)
        of_chains = share_of_smaller(np.asarray(chains.states), self.means, weights)
        drawn = hm.sample(report.rbm, DRAWS, key=jax.random.key(report.updates))
        self.records.append((report.updates, of_chains, share_of_smaller(drawn, self.means)))

    @property
    def settled(self) -> int | None:
        """The first update from which the model's masses stay right, None if they are wrong."""
        errors = [(updates, abs(share - SHARE)) for updates, _, share in self.records]
        wrong = [updates for updates, error in errors if error > TOLERANCE]
        later = [updates for updates, _ in errors if not wrong or updates > wrong[-1]]
        return later[0] if later else None


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    args = parser_of(__doc__, columns=60, hidden=8, epochs=100, seed=0, json="").parse_args()
    x, means, best = two_clusters(args.columns, seed=args.seed)
    key = jax.random.key(args.seed)
    print(f"Rows: {share_of_smaller(x, means):.3f} in the smaller cluster, {signed(best, 2)} nats.")
    print(head(["start", "method", "right from", "chains", "model", "nats per row"]))
    records = []
    for start, rank in STARTS.items():
        layers = (hm.Bernoulli(args.columns), hm.Bernoulli(args.hidden))
        rbm = hm.initialize(*layers, x, key=key, rank=rank)
        for name, method in METHODS.items():
            watched = Watched(method, means)
            fit = hm.fit(
                rbm,
                x,
                key=key,
                gradient=method,
                optimizer=hm.Recipe(rate=RATE),
                epochs=args.epochs,
                callbacks=[watched],
            )
            score = hm.log_likelihood(fit.rbm, x).value
            _, in_chains, in_model = watched.records[-1]
            records.append(
                {
                    "start": start,
                    "method": name,
                    "updates": int(fit.state.updates),
                    "settled": watched.settled,
                    "in chains": round(in_chains, 3),
                    "in model": round(in_model, 3),
                    "nats": round(score, 2),
                }
            )
            settled = "never" if watched.settled is None else f"{watched.settled:,}"
            cells = [start, name, settled, f"{in_chains:.3f}", f"{in_model:.3f}", signed(score, 2)]
            print(row(cells), flush=True)
    if args.json:
        write_records(args.json, __file__, records)


if __name__ == "__main__":
    main()
