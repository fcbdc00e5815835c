"""Default runs at several learning rates, for every kind of units: test log-likelihoods.

    python benchmarks/rates.py [SET ...] [--hidden 64] [--seconds 10]

All else is the default: the penalty, the schedule, PCD-1 with 500 chains, the model that held-out
rows like best. A fifth of the rows is kept for the test where a set has no test rows of its own;
a tenth of the others is held out. Real columns are standardised by their training rows. The rates
are the one that `fit` would choose and multiples of it. Sets that need the reference data (set
HARMONIUM_DATA to its folder) are left out without it.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import harmonium as hm
from harmonium.data.splits import held_out_rows

FACTORS = (0.25, 1.0, 4.0)  # of the rate that is the default
ADULT_REAL, ADULT_WORDS = (0, 2, 4, 12), (5, 7, 8)  # columns of the table
ADULT_SKEWED = (0, 2, 4, 10, 11, 12)
MOST_ADULTS = 10_000

Rows = tuple[hm.AbstractLayer, np.ndarray, np.ndarray]


class AtRate(hm.Persistent):
    """PCD whose default learning rate is given."""

    rate: float = eqx.field(static=True, default=0.1)

    def usual_rate(self, rbm: hm.RBM) -> float:
        """Return the given rate."""
        return self.rate


def divided(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows, and a fifth for the test."""
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order[len(rows) // 5 :]], rows[order[: len(rows) // 5]]


def standardised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows whose training columns have mean 0 and variance 1."""
    train, test = divided(rows)
    varies = train.std(0) > 0
    train, test = train[:, varies], test[:, varies]
    return (train - train.mean(0)) / train.std(0), (test - train.mean(0)) / train.std(0)


def real(rows: np.ndarray) -> Rows:
    train, test = standardised(rows)
    return hm.Gaussian(train.shape[1]), train, test


def digits(spins: bool) -> Rows:
    train, test = divided((load_digits().data > 7).astype(np.int8))
    if spins:
        return hm.Ising(64), 2 * train - 1, 2 * test - 1
    return hm.Bernoulli(64), train, test


def skewed() -> Rows:
    rng = np.random.default_rng(0)
    common = rng.normal(size=(3_000, 4)) @ rng.normal(size=(4, 12)) / 2
    return real(np.exp(0.7 * (common + 0.5 * rng.normal(size=(3_000, 12)))))


def reference(name: str) -> Path | None:
    folder = os.environ.get("HARMONIUM_DATA")
    path = None if folder is None else Path(folder, name)
    return path if path is not None and path.exists() else None


def binary(name: str, change: Callable[[np.ndarray], tuple]) -> Rows | None:
    """Return a binary set, each part changed into another coding."""
    path = reference(f"debd/{name}.npz")
    if path is None:
        return None
    with np.load(path) as stored:
        count = int(stored["n_visible"])
        train, test = (np.unpackbits(stored[k], axis=1, count=count) for k in ("train", "test"))
    layer, train = change(train)
    return layer, train, change(test)[1]


def as_spins(rows: np.ndarray) -> tuple[hm.AbstractLayer, np.ndarray]:
    return hm.Ising(rows.shape[1]), 2 * rows.astype(np.int8) - 1


def as_letters(rows: np.ndarray) -> tuple[hm.AbstractLayer, np.ndarray]:
    codes = (rows.reshape(len(rows), -1, 3) * np.array([1, 2, 3])).sum(-1)
    return hm.Potts(codes.shape[1], states=4), codes


def proteins() -> Rows | None:
    path = reference("proteins/pf00072_train0.6.npz")
    if path is None:
        return None
    with np.load(path) as stored:
        codes = next(stored[name] for name in stored.files if stored[name].ndim == 2)
    train, test = divided(codes[:4_000].astype(np.int64))
    return hm.Potts(codes.shape[1], states=21), train, test


def adults() -> list[list[str]] | None:
    path = reference("tables/adult.data")
    if path is None:
        return None
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
    return rows[1 : MOST_ADULTS + 1]


def adults_real() -> Rows | None:
    rows = adults()
    return rows and real(np.array([[float(row[c]) for c in ADULT_SKEWED] for row in rows]))


def adults_mixed() -> Rows | None:
    rows = adults()
    if rows is None:
        return None
    words = [np.unique([row[c] for row in rows], return_inverse=True) for c in ADULT_WORDS]
    bits = np.array([[row[9] == "Male", row[14] == ">50K"] for row in rows])
    numbers = standardised(np.array([[float(row[c]) for c in ADULT_REAL] for row in rows]))
    others = divided(np.column_stack([*(codes for _, codes in words), bits]))
    parts = [hm.Potts(1, states=len(names)) for names, _ in words]
    layer = hm.Mixed(hm.Gaussian(len(ADULT_REAL)), *parts, hm.Bernoulli(2))
    return layer, *(np.column_stack(pair) for pair in zip(numbers, others, strict=True))


BITS, SPINS, REALS = hm.Bernoulli, hm.Ising, hm.Gaussian
SETS: dict[str, tuple[Callable[[], Rows | None], type]] = {
    "digits, 0/1": (lambda: digits(False), BITS),
    "digits, ±1": (lambda: digits(True), BITS),
    "digits, ±1, both layers": (lambda: digits(True), SPINS),
    "plants, ±1": (lambda: binary("plants", as_spins), BITS),
    "plants, ±1, both layers": (lambda: binary("plants", as_spins), SPINS),
    "dna, letters": (lambda: binary("dna", as_letters), BITS),
    "proteins PF00072": (proteins, BITS),
    "wine, real": (lambda: real(load_wine().data), BITS),
    "breast cancer, real": (lambda: real(load_breast_cancer().data), BITS),
    "digits, real": (lambda: real(load_digits().data), BITS),
    "log-normal, real": (skewed, BITS),
    "adult, real": (adults_real, BITS),
    "adult, mixed": (adults_mixed, BITS),
}


def start(rows: Rows, hidden: hm.AbstractLayer) -> tuple[hm.RBM, np.ndarray, np.ndarray]:
    """Return the model that runs start from, and the rows to train on and to hold out."""
    visible, train, _ = rows
    kept, held = held_out_rows(len(train), 0.1, seed=0)
    rbm = hm.initialize(visible, hidden, train[kept], key=jax.random.key(0))
    return rbm, train[kept], train[held]


def cell(rows: Rows, hidden: hm.AbstractLayer, factor: float, seconds: float) -> str:
    """Return the score at the default rate times a factor."""
    rbm, train, held = start(rows, hidden)
    key, rate = jax.random.key(0), factor * usual_rate(rbm)
    method = AtRate(hm.Gibbs(1), rate=rate)
    fit = hm.fit(rbm, train, key=key, gradient=method, validation=held)
    score = hm.log_likelihood(fit.rbm, rows[2], key=key, method=hm.Annealed(seconds=seconds))
    again = " (began again)" if any("diverged" in note for note in fit.notes) else ""
    return f"{score.value:.2f}{'' if score.converged else '?'}{again}"


def usual_rate(rbm: hm.RBM) -> float:
    """Return the rate that `fit` would choose."""
    return hm.Persistent(hm.Gibbs(1)).about.rate(rbm)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each score")
    args = parser.parse_args()
    heads = " | ".join("the default" if each == 1 else f"times {each:g}" for each in FACTORS)
    print(f"| set | rows × columns | default rate | {heads} |")
    print("|---|---|---|" + "---|" * len(FACTORS))
    for name in args.sets:
        load, kind = SETS[name]
        rows = load()
        if rows is None:
            continue
        hidden, train = kind(args.hidden), rows[1]
        usual = usual_rate(start(rows, hidden)[0])
        found = " | ".join(cell(rows, hidden, each, args.seconds) for each in FACTORS)
        size = f"{len(train):,} × {train.shape[1]}"
        print(f"| {name} | {size} | {usual:.2g} | {found} |", flush=True)


if __name__ == "__main__":
    main()
