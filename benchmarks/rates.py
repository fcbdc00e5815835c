"""Runs at several learning rates and default runs, for every kind of units: test log-likelihoods.

    python benchmarks/rates.py [SET ...] [--hidden 64] [--seconds 10]

All else is the default: the penalty, the schedule, PCD-1 with 500 chains, the model that held-out
rows like best. A fifth of the rows is kept for the test where a set has no test rows of its own; a
tenth of the others is held out. Real columns are standardised by their training rows. The rates are
the usual one of PCD and multiples of it; a default run tries four times the usual one, and begins
again at the usual one where the log-likelihood of held-out rows cannot be followed. Sets that need
the reference data (set HARMONIUM_DATA to its folder) are left out without it.
"""

from __future__ import annotations

import csv
import math
import warnings
from collections.abc import Callable

import jax
import numpy as np
from reference_data import binary_set, stored
from reporting import head, parser_of, row
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import harmonium as hm
from harmonium.data.splits import held_out_rows
from harmonium.training.arguments import USUAL_BATCH as BATCH
from harmonium.training.arguments import usual_epochs
from harmonium.training.schedules import rate_of

FACTORS = {0.25: "times 0.25", 1.0: "the usual", 4.0: "times 4"}  # of the usual rate
ADULT_REAL = (0, 2, 4, 12)  # columns of the table
ADULT_WORDS = (5, 7, 8)
ADULT_SKEWED = (0, 2, 4, 10, 11, 12)
MOST_ADULTS = 10_000

Rows = tuple[hm.layers.AbstractLayer, np.ndarray, np.ndarray]


def divided(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows, and a fifth for the test."""
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order[len(rows) // 5 :]], rows[order[: len(rows) // 5]]


def standardised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows whose training columns have mean 0 and variance 1."""
    train, test = divided(rows)
    varies = train.std(0) > 0
    train = train[:, varies]
    test = test[:, varies]
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


def binary(name: str, change: Callable[[np.ndarray], tuple]) -> Rows | None:
    """Return a binary set, each part changed into another coding."""
    if stored(f"debd/{name}.npz") is None:
        return None
    train, test = binary_set(name)
    layer, train = change(train)
    return layer, train, change(test)[1]


def as_spins(rows: np.ndarray) -> tuple[hm.layers.AbstractLayer, np.ndarray]:
    return hm.Ising(rows.shape[1]), 2 * rows.astype(np.int8) - 1


def as_letters(rows: np.ndarray) -> tuple[hm.layers.AbstractLayer, np.ndarray]:
    codes = (rows.reshape(len(rows), -1, 3) * np.array([1, 2, 3])).sum(-1)
    return hm.Potts(codes.shape[1], states=4), codes


def proteins() -> Rows | None:
    path = stored("proteins/pf00072_train0.6.npz")
    if path is None:
        return None
    with np.load(path) as archive:
        codes = archive["x"]
    train, test = divided(codes[:4_000].astype(np.int64))
    return hm.Potts(codes.shape[1], states=21), train, test


def adults() -> list[list[str]] | None:
    path = stored("tables/adult.data")
    if path is None:
        return None
    with path.open(newline="") as file:
        rows = [cells for cells in csv.reader(file, skipinitialspace=True) if len(cells) == 15]
    return rows[1 : MOST_ADULTS + 1]


def adults_real() -> Rows | None:
    rows = adults()
    if rows is None:
        return None
    return real(np.array([[float(cells[c]) for c in ADULT_SKEWED] for cells in rows]))


def adults_mixed() -> Rows | None:
    rows = adults()
    if rows is None:
        return None
    words = [np.unique([cells[c] for cells in rows], return_inverse=True) for c in ADULT_WORDS]
    bits = np.array([[cells[9] == "Male", cells[14] == ">50K"] for cells in rows])
    numbers = standardised(np.array([[float(cells[c]) for c in ADULT_REAL] for cells in rows]))
    others = divided(np.column_stack([*(codes for _, codes in words), bits]))
    parts = [hm.Potts(1, states=len(names)) for names, _ in words]
    layer = hm.Mixed(hm.Gaussian(len(ADULT_REAL)), *parts, hm.Bernoulli(2))
    return layer, *(np.column_stack(pair) for pair in zip(numbers, others, strict=True))


BITS = hm.Bernoulli
SPINS = hm.Ising
REALS = hm.Gaussian
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


def start(rows: Rows, hidden: hm.layers.AbstractLayer) -> tuple[hm.RBM, np.ndarray, np.ndarray]:
    """Return the model that runs start from, and the rows to train on and to hold out."""
    visible, train, _ = rows
    train_rows, held_rows = held_out_rows(len(train), 0.1, seed=0)
    rbm = hm.initialize(visible, hidden, train[train_rows], key=jax.random.key(0))
    return rbm, train[train_rows], train[held_rows]


def cell(rows: Rows, hidden: hm.layers.AbstractLayer, factor: float | None, seconds: float) -> str:
    """Return the score at the usual rate times a factor, or that of a default run if it is None."""
    rbm, train, held = start(rows, hidden)
    key = jax.random.key(0)
    recipe = None
    epochs = None
    keep = None
    if factor is not None:
        recipe = hm.Recipe(rate=factor * usual_rate(rbm), penalties=(hm.Huber(),))
        epochs = usual_epochs(rbm, math.ceil(len(train) / BATCH))
        keep = "best"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of divergence: the score says it
        fit = hm.fit(
            rbm, train, key=key, optimizer=recipe, epochs=epochs, validation=held, keep=keep
        )
    if fit.diverged:
        return "diverged"
    score = hm.log_likelihood(fit.rbm, rows[2], key=key, method=hm.Annealed(seconds=seconds))
    text = f"{score.value:.2f}"
    if not score.converged:
        text += "?"
    if factor is None:
        text += f" at {rate_of(fit.state.optimizer):.2g}"
    return text


def usual_rate(rbm: hm.RBM) -> float:
    """Return the usual rate of PCD, which `fit` takes without held-out rows."""
    return hm.Persistent(hm.Gibbs(1)).about.rate(rbm)


def main() -> None:
    """Print the table."""
    args = parser_of(__doc__, sets=SETS, hidden=64, seconds=10.0).parse_args()
    columns = ["set", "rows × columns", "usual rate", *FACTORS.values(), "a default run"]
    print(head(columns))
    for name in args.sets:
        load, kind = SETS[name]
        rows = load()
        if rows is None:
            continue
        hidden = kind(args.hidden)
        train = rows[1]
        usual = usual_rate(start(rows, hidden)[0])
        cells = [cell(rows, hidden, factor, args.seconds) for factor in (*FACTORS, None)]
        size = f"{len(train):,} × {train.shape[1]}"
        print(row([name, size, f"{usual:.2g}", *cells]), flush=True)


if __name__ == "__main__":
    main()
