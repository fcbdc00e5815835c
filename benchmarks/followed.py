"""The log-likelihood that is followed along a run, held against its exact or annealed value.

    python benchmarks/followed.py [KIND ...] [--records 20] [--seconds 10] [--seed 0]

Eight default runs with held-out rows: yes/no rows, exclusive groups, words of documents, spins,
letters, numbers, a table of several kinds, and yes/no rows with gaps. Rows come from mixtures with
strong components, where chains that stay in one of them are misled. Models have so few hidden units
that log Z is exact; the run is made to follow it all the same. With `--hidden 64` the held-out rows
are scored by annealing. A record is outside if both intervals do not meet; a record that shows no
log-likelihood says nothing.
"""

from __future__ import annotations

import argparse
import time

import jax
import numpy as np

import harmonium as hm
from harmonium.training import recorder, tracking
from harmonium.training.optimizers import averaged_model

ROWS, PARTS = 1_500, 4
HIDDEN = 12


def mixture(rng: np.random.Generator, columns: int, sure: float) -> np.ndarray:
    """Return rows of 0 and 1 from a few components that hold most columns at one value."""
    p = np.where(rng.uniform(size=(PARTS, columns)) < 0.5, sure, 1 - sure)
    part = rng.choice(PARTS, ROWS, p=[0.5, 0.3, 0.15, 0.05])
    return (rng.uniform(size=(ROWS, columns)) < p[part]).astype(np.float32)


def letters(rng: np.random.Generator, sites: int, states: int, sure: float) -> np.ndarray:
    """Return rows of letters from a few components with a usual letter at each site."""
    usual = rng.integers(states, size=(PARTS, sites))
    part = rng.choice(PARTS, ROWS, p=[0.5, 0.3, 0.15, 0.05])
    is_usual = rng.uniform(size=(ROWS, sites)) < sure
    other = rng.integers(states, size=(ROWS, sites))
    return np.where(is_usual, usual[part], other).astype(np.float32)


def words(rng: np.random.Generator) -> np.ndarray:
    """Return which of 200 words documents of about 30 words hold, from eight topics."""
    topics = rng.dirichlet(np.full(200, 0.05), size=8)
    chosen = topics[rng.integers(8, size=ROWS)]
    counts = np.array([rng.multinomial(rng.poisson(30), p) for p in chosen])
    return (counts > 0).astype(np.float32)


def numbers(rng: np.random.Generator) -> np.ndarray:
    """Return standardised numbers around a few centres."""
    centres = rng.normal(0.0, 2.5, (PARTS, 12))
    x = centres[rng.choice(PARTS, ROWS, p=[0.5, 0.3, 0.15, 0.05])]
    x = x + rng.normal(0.0, 1.0, x.shape)
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32)


def kinds(rng: np.random.Generator, kind: str) -> tuple[np.ndarray, hm.AbstractLayer]:
    """Return rows and their layer."""
    if kind == "yes/no":
        return mixture(rng, 60, 0.97), hm.Bernoulli(60)
    if kind == "groups":
        return letters(rng, 80, 3, 0.97), hm.Potts(80, states=3)
    if kind == "words":
        return words(rng), hm.Bernoulli(200)
    if kind == "spins":
        return 2 * mixture(rng, 60, 0.95) - 1, hm.Ising(60)
    if kind == "letters":
        return letters(rng, 40, 20, 0.9), hm.Potts(40, states=20)
    if kind == "numbers":
        return numbers(rng), hm.Gaussian(12)
    if kind == "mixed":
        both = np.concatenate([mixture(rng, 20, 0.97), letters(rng, 15, 4, 0.95)], axis=1)
        layer = hm.Mixed(hm.Bernoulli(20), hm.Potts(15, states=4))
        return both, layer
    rows = mixture(rng, 60, 0.97)
    rows[rng.uniform(size=rows.shape) < 0.1] = np.nan
    return rows, hm.Bernoulli(60)


KINDS = ("yes/no", "groups", "words", "spins", "letters", "numbers", "mixed", "gaps")


def scored(kind: str, hidden: int, records: int, seconds: float, seed: int) -> dict:
    """Train a default run, and score the models of its records anew."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    rows, layer = kinds(rng, kind)
    train, held = rows[: ROWS * 9 // 10], rows[ROWS * 9 // 10 :]
    key = jax.random.key(seed)
    start = hm.initialize(layer, hm.Bernoulli(hidden), train, key=key)
    kept: list[tuple[int, hm.RBM, dict]] = []

    def keep(report: hm.Report) -> None:
        if report.metrics:
            # At the end `report.rbm` is the model that was chosen, which is not that of the record.
            rbm = averaged_model(report.state.optimizer, report.state.rbm)
            kept.append((report.updates, rbm, dict(report.metrics)))

    started = time.perf_counter()
    fit = hm.fit(start, train, key=key, validation=held, callbacks=[keep])
    took = time.perf_counter() - started
    chosen = [kept[i] for i in np.unique(np.linspace(0, len(kept) - 1, records).astype(int))]
    found = []
    for i, (updates, rbm, metrics) in enumerate(chosen):
        key_score = jax.random.fold_in(key, i)
        score = hm.log_likelihood(rbm, held, key=key_score, seconds=seconds)
        low = metrics.get("log_likelihood_low", np.nan)
        high = metrics.get("log_likelihood_high", np.nan)
        value = metrics.get("log_likelihood", np.nan)
        apart = max(low - score.high, score.low - high, 0.0) if np.isfinite(value) else np.nan
        found.append((updates, value, low, high, score, apart))
    shown = [one for one in found if np.isfinite(one[1])]
    outside = [one for one in shown if one[5] > 0]
    for updates, value, low, high, score, apart in outside:
        print(
            f"  update {updates}: followed {value:.3f} [{low:.3f}, {high:.3f}], anew"
            f" {score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
            f" ({'converged' if score.converged else 'not converged'}): {apart:.3f} apart"
        )
    kept_score = hm.log_likelihood(fit.rbm, held, key=key, seconds=seconds)
    sure = [one[4] for one in found if one[4].converged]
    return {
        "kind": kind,
        "records": len(found),
        "shown": len(shown),
        "outside": len(outside),
        "worst": max((one[5] for one in outside), default=0.0),
        "half": np.median([(one[3] - one[2]) / 2 for one in shown]) if shown else np.nan,
        "off": np.median([abs(one[1] - one[4].value) for one in shown]) if shown else np.nan,
        "above 0": sum(one[1] > 0 for one in shown),
        "kept": kept_score,
        "best": max(sure, key=lambda score: score.value, default=None),
        "last": found[-1][4],
        "seconds": took,
        "method": found[-1][4].method,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--records", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each score")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=HIDDEN)
    options = parser.parse_args()
    tracking.EXACT_WORK = recorder.EXACT_WORK = 0
    print("| rows | records | shown | outside | worst | half width | off (median) | kept | best |")
    print("|---" * 9 + "|")
    for kind in options.kinds:
        one = scored(kind, options.hidden, options.records, options.seconds, options.seed)
        best = "" if one["best"] is None else f"{one['best'].value:.2f}"
        kept = one["kept"]
        print(
            f"| {kind} | {one['records']} | {one['shown']} | {one['outside']} |"
            f" {one['worst']:.3f} | {one['half']:.3f} | {one['off']:.3f} |"
            f" {kept.value:.2f} [{kept.low:.2f}, {kept.high:.2f}] | {best} |"
            f" {one['seconds']:.0f} s, {one['method']}",
            flush=True,
        )
        jax.clear_caches()


if __name__ == "__main__":
    main()
