"""Test log-likelihoods of default runs beside independent columns, trees and scikit-learn.

    python benchmarks/density.py [SET[:ROWS] ...] [--hidden auto] [--cuts] [--seconds 60]
        [--plain] [--against] [--peers] [--hclt]

A set is one of the binary sets in the folder that HARMONIUM_DATA names, or "words": rows drawn from
a topic model. With ROWS, so many of its training rows are used, chosen at random; `--cuts` adds
cuts of 100, 300, 1,000 and 3,000 rows of each set. A tenth of the training rows is held out, or
none of fewer than 500, which are cross-validated. All models are scored on all test rows. `--plain`
takes all columns as independent units. `--against` adds two runs without the penalty of the default
recipe: one that ends with its last model, and one with its best. `--peers` adds scikit-learn's
BernoulliRBM with 64 hidden units, trained on all training rows with each of eight settings: the one
with the best test score is shown, with the seconds of that setting alone. `--hclt` adds a hidden
Chow-Liu tree, trained on all training rows.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from sklearn.neural_network import BernoulliRBM
from trees import hidden_chow_liu, independent

import harmonium as hm
from harmonium.data.splits import held_out_rows, usual_fraction
from harmonium.runs.prepare import usual_hidden

SETS = ("nltcs", "plants", "adult", "mushrooms", "dna", "words")
PEER_HIDDEN = 64
CUTS = (100, 300, 1_000, 3_000)
RATES, PASSES = (
    (0.003, 0.01, 0.03, 0.1),
    (30, 200),
)  # of scikit-learn, whose defaults are 0.1 and 10
TOPICS, LENGTH, WORDS, TEST_ROWS = 8, 30, 500, 1_000


def rows_of(name: str, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of 0 and 1."""
    rng = np.random.default_rng(1)
    if name == "words":
        return topics(count or 400)
    folder = os.environ.get("HARMONIUM_DATA")
    if folder is None:
        sys.exit("set HARMONIUM_DATA to the folder of reference data")
    stored = np.load(Path(folder, "debd", f"{name}.npz"), allow_pickle=False)
    parts = ("train", "test")
    train, test = (
        np.unpackbits(stored[part], axis=1, count=int(stored["n_visible"])) for part in parts
    )
    return (train if count is None else train[rng.permutation(len(train))[:count]]), test


def topics(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that say which words occur in documents with a few topics each."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    shares = rng.dirichlet(np.full(TOPICS, 0.3), count + TEST_ROWS)
    lengths = rng.poisson(LENGTH, len(shares))
    found = [
        rng.multinomial(n, share @ words) > 0 for n, share in zip(lengths, shares, strict=True)
    ]
    rows = np.array(found, np.uint8)
    return rows[:count], rows[count:]


def trained(
    train: np.ndarray, args: argparse.Namespace, options: Callable[[hm.RBM], dict]
) -> tuple[hm.Fit, float]:
    """Return a fit of the rows, a tenth of them held out, and the seconds that it took."""
    key_start, key = jax.random.split(jax.random.key(0))
    kept, held = np.arange(len(train)), None
    fraction = usual_fraction(len(train), can_cross_validate=True)
    if fraction:
        kept, held = held_out_rows(len(train), fraction, seed=0)
    started = time.perf_counter()
    groups = () if args.plain else hm.exclusive_groups(train[kept])
    columns = train.shape[1]
    count = usual_hidden(len(kept), columns) if args.hidden == "auto" else int(args.hidden)
    visible = hm.Exclusive(columns, groups) if groups else hm.Bernoulli(columns)
    rbm = hm.initialize(visible, hm.Bernoulli(count), train[kept], key=key_start)
    validation = None if held is None else train[held]
    found = hm.fit(rbm, train[kept], key=key, validation=validation, **options(rbm))
    return found, time.perf_counter() - started


def of_sklearn(train: np.ndarray, test: np.ndarray, args: argparse.Namespace) -> str:
    """Return the best of scikit-learn's scores, its setting, and the seconds that this one took."""
    best = (-np.inf, "")
    for rate in RATES:
        for passes in PASSES:
            started = time.perf_counter()
            model = BernoulliRBM(PEER_HIDDEN, learning_rate=rate, batch_size=100, n_iter=passes)
            model.set_params(random_state=0).fit(train)
            seconds = time.perf_counter() - started
            rbm = hm.RBM.from_arrays(
                model.components_.T, model.intercept_visible_, model.intercept_hidden_
            )
            score = hm.log_likelihood(rbm, test, key=jax.random.key(1), seconds=args.seconds / 4)
            sure = "" if score.converged else ", not converged"
            ends = f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]{sure}"
            setting = f"rate {rate:g}, {passes} passes, {seconds:.0f} s"
            print(f"  scikit-learn: {ends}, {setting}", file=sys.stderr)
            best = max(best, (score.value, f"{ends}, {setting}"))
    return best[1]


def line(name: str, train: np.ndarray, test: np.ndarray, args: argparse.Namespace) -> str:
    """Return a line of the table."""
    rate = hm.Persistent(hm.Gibbs(1)).about.rate
    runs: dict[str, Callable[[hm.RBM], dict]] = {"default": lambda rbm: {}}
    if args.against:
        plain = lambda rbm: {"optimizer": hm.Recipe(rate=rate(rbm))}  # noqa: E731
        runs["no penalty, last"] = plain
        runs["no penalty, best"] = lambda rbm: plain(rbm) | {"keep": "best"}
    cells = [f"{name}: {train.shape[0]:,} × {train.shape[1]}"]
    cells += [f"{independent(train, test):.2f}", f"{hm.tree_log_likelihood(train, test):.2f}"]
    for title, options in runs.items():
        fit, seconds = trained(train, args, options)
        started = time.perf_counter()
        score = hm.log_likelihood(fit.rbm, test, key=jax.random.key(1), seconds=args.seconds)
        scoring = time.perf_counter() - started
        print(f"  {title}: {fit.message}; {'; '.join(fit.notes)}", file=sys.stderr)
        ends = f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]"
        sure = "" if score.converged else ", not converged"
        cells.append(f"{ends}{sure}, {seconds:.0f} + {scoring:.0f} s")
    if args.hclt:
        started = time.perf_counter()
        score = hidden_chow_liu(train, test)
        cells.append(f"{score:.2f}, {time.perf_counter() - started:.0f} s")
    if args.peers:
        cells.append(of_sklearn(train, test, args))
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--hidden", default="auto")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cuts", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--against", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--hclt", action="store_true")
    args = parser.parse_args()
    heads = ["rows", "independent", "Chow-Liu", "default"]
    heads += ["no penalty, last", "no penalty, best"] if args.against else []
    heads += ["hidden Chow-Liu tree"] if args.hclt else []
    heads += ["scikit-learn, best of eight"] if args.peers else []
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
    wanted = [
        (name, int(count) if count else None)
        for name, _, count in (each.partition(":") for each in args.sets)
    ]
    if args.cuts:
        wanted = [(name, count) for name, _ in wanted for count in (*CUTS, None)]
    for name, count in wanted:
        train, test = rows_of(name, count)
        if len(train) < (count or 0):
            continue
        print(line(name, train, test, args), flush=True)


if __name__ == "__main__":
    main()
