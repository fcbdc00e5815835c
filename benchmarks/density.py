"""Test log-likelihoods of default runs beside independent columns, trees and scikit-learn.

    python benchmarks/density.py [SET[:ROWS] ...] [--hidden auto] [--cuts] [--seconds 60]
        [--plain] [--against] [--peers] [--hclt] [--json docs/measured/density.json]

A set is one of the binary sets in the folder that HARMONIUM_DATA names, or "words": rows drawn from
a topic model. With ROWS, so many of its training rows are used, chosen at random; `--cuts` adds
cuts of 100, 300, 1,000 and 3,000 rows of each set. A tenth of the training rows is held out, or
none of fewer than 500, which are cross-validated. All models are scored on all test rows. `--plain`
takes all columns as independent units. `--against` adds two runs without the penalty of the default
recipe: one that ends with its last model, and one with its best. `--peers` adds scikit-learn's
BernoulliRBM with 64 hidden units, trained on all training rows with each of eight settings: the one
with the best test score is shown, with the seconds of that setting alone. `--hclt` adds a hidden
Chow-Liu tree, trained on all training rows. `--json` writes all figures to a file.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from reference_data import binary_set
from reporting import (
    head,
    parser_of,
    rounded,
    row,
    unless_converged,
    with_interval,
    write_records,
)
from sklearn.neural_network import BernoulliRBM
from timing import timed
from trees import hidden_chow_liu, independent

import harmonium as hm
from harmonium.data.splits import held_out_rows, usual_fraction
from harmonium.runs.prepare import usual_hidden

SETS = ("nltcs", "plants", "adult", "mushrooms", "dna", "words")
PEER_HIDDEN = 64
CUTS = (100, 300, 1_000, 3_000)
RATES = (0.003, 0.01, 0.03, 0.1)  # of scikit-learn, whose default is 0.1
PASSES = (30, 200)  # of scikit-learn, whose default is 10
TOPICS = 8
LENGTH = 30
WORDS = 500
TEST_ROWS = 1_000


def rows_of(name: str, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of 0 and 1."""
    rng = np.random.default_rng(1)
    if name == "words":
        return topics(count or 400)
    train, test = binary_set(name)
    if count is not None:
        train = train[rng.permutation(len(train))[:count]]
    return train, test


def topics(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that say which words occur in documents with a few topics each."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    mixtures = rng.dirichlet(np.full(TOPICS, 0.3), count + TEST_ROWS)
    lengths = rng.poisson(LENGTH, len(mixtures))
    documents = [
        rng.multinomial(n, mixture @ words) > 0
        for n, mixture in zip(lengths, mixtures, strict=True)
    ]
    rows = np.array(documents, np.uint8)
    return rows[:count], rows[count:]


def trained(
    train: np.ndarray, args: argparse.Namespace, options: Callable[[hm.RBM], dict]
) -> tuple[hm.training.Fit, float]:
    """Return a fit of the rows, a tenth of them held out, and the seconds that it took."""
    key_start, key = jax.random.split(jax.random.key(0))
    validation = None
    fraction = usual_fraction(len(train), can_cross_validate=True)
    if fraction:
        train_rows, held_rows = held_out_rows(len(train), fraction, seed=0)
        validation = train[held_rows]
        train = train[train_rows]
    started = time.perf_counter()
    columns = train.shape[1]
    visible = hm.Bernoulli(columns)
    groups = () if args.plain else hm.data.exclusive_groups(train)
    if groups:
        visible = hm.Exclusive(columns, groups)
    is_auto = args.hidden == "auto"
    hidden = usual_hidden(len(train), columns) if is_auto else int(args.hidden)
    rbm = hm.initialize(visible, hm.Bernoulli(hidden), train, key=key_start)
    fit = hm.fit(rbm, train, key=key, validation=validation, **options(rbm))
    return fit, time.perf_counter() - started


def of_sklearn(train: np.ndarray, test: np.ndarray, args: argparse.Namespace) -> dict[str, Any]:
    """Return the best of scikit-learn's scores, its setting, and the seconds that this one took."""
    records = []
    for rate, passes in itertools.product(RATES, PASSES):
        settings = {"learning_rate": rate, "batch_size": 100, "n_iter": passes}
        model = BernoulliRBM(PEER_HIDDEN, random_state=0, **settings)
        _, seconds = timed(model.fit, train)
        rbm = hm.io.from_sklearn(model)
        score = hm.log_likelihood(rbm, test, key=jax.random.key(1), seconds=args.seconds / 4)
        setting = {"rate": rate, "passes": passes, "seconds": round(seconds)}
        records.append(rounded(score) | setting)
        print(f"  scikit-learn: {records[-1]}", file=sys.stderr)
    return max(records, key=lambda record: record["value"])


def default(rbm: hm.RBM) -> dict:
    return {}


def without_penalty(rbm: hm.RBM) -> dict:
    return {"optimizer": hm.Recipe(rate=hm.Persistent(hm.Gibbs(1)).about.rate(rbm))}


def without_penalty_best(rbm: hm.RBM) -> dict:
    return without_penalty(rbm) | {"keep": "best"}


RUNS = {"default": default}
AGAINST = {"no penalty, last": without_penalty, "no penalty, best": without_penalty_best}


def measured(
    name: str, train: np.ndarray, test: np.ndarray, runs: dict, args: argparse.Namespace
) -> dict[str, Any]:
    """Return the scores of all models of a set."""
    record: dict[str, Any] = {
        "set": name,
        "rows": train.shape[0],
        "columns": train.shape[1],
        "independent": round(independent(train, test), 2),
        "tree": round(hm.analysis.tree_log_likelihood(train, test), 2),
    }
    for title, options in runs.items():
        fit, seconds = trained(train, args, options)
        score, scoring = timed(
            hm.log_likelihood, fit.rbm, test, key=jax.random.key(1), seconds=args.seconds
        )
        print(f"  {title}: {fit.message}; {'; '.join(fit.notes)}", file=sys.stderr)
        times = {"seconds": round(seconds), "scoring": round(scoring)}
        record[title] = rounded(score) | times
    if args.hclt:
        score, seconds = timed(hidden_chow_liu, train, test)
        record["hidden tree"] = {"value": round(score, 2), "seconds": round(seconds)}
    if args.peers:
        record["scikit-learn"] = of_sklearn(train, test, args)
    return record


def cells_of(record: dict[str, Any], runs: dict) -> list[str]:
    """Return a line of the table."""
    cells = [f"{record['set']}: {record['rows']:,} × {record['columns']}"]
    cells += [f"{record[name]:.2f}" for name in ("independent", "tree")]
    for title in runs:
        score = SimpleNamespace(**record[title])
        text = with_interval(score) + unless_converged(score)
        cells += [text, f"{score.seconds} + {score.scoring}"]
    if "hidden tree" in record:
        cells.append("{value:.2f}, {seconds} s".format(**record["hidden tree"]))
    if "scikit-learn" in record:
        best = SimpleNamespace(**record["scikit-learn"])
        setting = f"rate {best.rate:g}, {best.passes} passes, {best.seconds} s"
        cells.append(f"{with_interval(best)}{unless_converged(best)}, {setting}")
    return cells


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    flags = dict.fromkeys(("cuts", "plain", "against", "peers", "hclt"), False)
    args = parser_of(__doc__, sets=SETS, hidden="auto", seconds=60.0, json="", **flags).parse_args()
    runs = RUNS | AGAINST if args.against else RUNS
    titles = ["rows", "independent", "Chow-Liu"]
    for run in runs:
        titles += [run, "s"]
    if args.hclt:
        titles.append("hidden Chow-Liu tree")
    if args.peers:
        titles.append("scikit-learn, best of eight")
    print(head(titles), flush=True)
    records = []
    for text in args.sets:
        name, _, size = text.partition(":")
        counts = [int(size)] if size else [None]
        if args.cuts:
            counts = [*CUTS, None]
        for count in counts:
            train, test = rows_of(name, count)
            if count is None or len(train) >= count:
                records.append(measured(name, train, test, runs, args))
                print(row(cells_of(records[-1], runs)), flush=True)
                write_records(args.json, "benchmarks/density.py", records)


if __name__ == "__main__":
    main()
