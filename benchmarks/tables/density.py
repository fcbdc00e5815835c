"""The density of held-out rows of tables: a default run beside four other models.

    python benchmarks/tables/density.py [TABLE ...] [--seeds 3] [--rows 20000]
        [--seconds 120] [--out runs/tables.json]

A table is wine, breast_cancer or diabetes, which scikit-learn brings along, or penguins, titanic or
adult of the folder that HARMONIUM_DATA names, or one that is made (made.py). Columns of which more
than half is missing and then rows with a missing cell are left out. A fifth of the rows is held out
at random, once for each seed; what the columns are is decided by the other rows alone. Held-out
rows with a word that no other row has are left out too. All models have the same columns and the
same codes, so that

    log p(row) = log p(codes) + Σ_columns log p(cell | code)

differs only in its first part. The models are independent columns; a tree of the strongest
dependences (`hm.analysis.dependence_forest`); a Gaussian copula (copula.py); a mixture of products,
of a size chosen by held-out rows (peers.py); and `harmonium train FILE` without any option. The
score is the mean of log p(row), in nats in the table's own units: densities may be above 1. Results
of each row are stored in a file, and stored ones are not computed again. The table is Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

import harmonium as hm
from harmonium.data import Dataset
from harmonium.io import load
from harmonium.runs.folder import RunFolder
from harmonium.tables import Columns
from harmonium.tables.writing import text_of

sys.path.append(str(Path(__file__).parents[1]))  # what all benchmarks share
from command import trained
from copula import copula
from peers import chosen_mixture, independent
from reporting import head, parser_of, row, with_minus
from sources import TABLES, Split, complete, orders_of, split
from timing import timed

OURS = "harmonium"
LEARNED = 1_000  # training rows that are scored too, to tell overfitting from underfitting
SURE = 1.96  # standard errors on either side of a 95 % interval


class Codes:
    """The rows of a split as codes, and what a cell adds to the log probability of its code."""

    def __init__(self, cut: Split):
        self.cut = cut
        self.states = tuple(column.states for column in cut.columns.modelled)
        sample = np.random.default_rng(0).permutation(len(cut.train))[:LEARNED]
        learned = cut.train.taken(np.sort(sample))
        encode = cut.columns.encode
        self.train = encode(cut.train, "train").astype(float)
        self.test = encode(cut.test, "test")
        self.learned = encode(learned, "train")
        self.of_test = cut.columns.log_density(cut.test)
        self.of_learned = cut.columns.log_density(learned)


Score = dict[str, Any]  # log p of test rows and of training rows, and what is known of the error


def of_independent(codes: Codes, seed: int, seconds: float) -> Score:
    """Score independent columns."""
    log_p = independent(codes.train, codes.states)
    return {"test": log_p(codes.test), "train": log_p(codes.learned)}


def of_tree(codes: Codes, seed: int, seconds: float) -> Score:
    """Score the tree of the strongest dependences between pairs of columns."""
    forest = hm.analysis.dependence_forest(codes.train, codes.states)
    return {"test": forest.log_p(codes.test), "train": forest.log_p(codes.learned)}


def of_copula(codes: Codes, seed: int, seconds: float) -> Score:
    """Score a Gaussian copula."""
    model = copula(codes.train, codes.states, orders_of(codes.cut.columns), seed)
    test, errors = model.log_p(codes.test)
    train, _ = model.log_p(codes.learned)
    return {"test": test, "train": train, "worst_error_of_a_row": float(errors.max())}


def of_mixture(codes: Codes, seed: int, seconds: float) -> Score:
    """Score a mixture of products."""
    model, scores = chosen_mixture(codes.train, codes.states, seed)
    about = {"classes": len(model.weights), "prior": model.prior, "by_prior_and_classes": scores}
    return {"test": model.log_p(codes.test), "train": model.log_p(codes.learned)} | about


def of_harmonium(codes: Codes, seed: int, seconds: float) -> Score:
    """Score the run that the command makes of a file of the training rows.

    After so many seconds log Z is no longer refined.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.csv")
        out = Path(folder, "run")
        source.write_text(text_of(codes.cut.train, source), encoding="utf-8")
        summary = trained(source, out)
        columns = RunFolder(out).columns_of_table()
        assert meaning(columns) == meaning(codes.cut.columns), "the run read the columns otherwise"
        rbm = load(out)
    rows = Dataset(codes.test, log_density=codes.of_test)
    score = hm.log_likelihood(rbm, rows, key=jax.random.key(1), seconds=seconds)
    test = -np.asarray(hm.free_energies(rbm, codes.test), float) - score.log_z.value
    train = -np.asarray(hm.free_energies(rbm, codes.learned), float) - score.log_z.value
    assert abs((test + codes.of_test).mean() - score.value) < 1e-3 * (1 + abs(score.value))
    return {
        "test": test,
        "train": train,
        "message": summary.get("message"),
        "notes": summary.get("notes"),
        "updates": summary.get("updates"),
        "model": str(rbm),
        "log_z_low": score.log_z.low - score.log_z.value,
        "log_z_high": score.log_z.high - score.log_z.value,
        "converged": score.converged,
    }


def meaning(columns: Columns) -> list[dict[str, Any]]:
    """Return what columns mean, without how their numbers are written, which a file may change."""
    return [replace(column, digits=None).record() for column in columns.columns]


MODELS: dict[str, Callable[[Codes, int, float], Score]] = {
    "independent": of_independent,
    "tree": of_tree,
    "copula": of_copula,
    "mixture": of_mixture,
    OURS: of_harmonium,
}


def measure(name: str, seed: int, args: argparse.Namespace, record: dict[str, Any]) -> None:
    """Add what is not known yet of a table and a seed to the stored results."""
    missing = [model for model in MODELS if model not in record]
    if not missing:
        return
    cut = split(complete(TABLES[name](), args.rows), seed)
    codes = Codes(cut)
    about = {
        "train_rows": len(cut.train),
        "test_rows": cut.test_rows.tolist(),
        "unknown": cut.unknown,
        "columns": cut.columns.described(cut.train),
    }
    if any(record.get(key, value) != value for key, value in about.items()):
        sys.exit(f"{args.out} holds other rows or columns of {name}: give another --out")
    record |= about
    for model in missing:
        score, score_seconds = timed(MODELS[model], codes, seed, args.seconds)
        score["seconds"] = round(score_seconds, 1)
        for part, density in (("test", codes.of_test), ("train", codes.of_learned)):
            score[part] = np.round(np.asarray(score[part], float) + density, 4).tolist()
        record[model] = score
        print(
            f"  {name}, seed {seed}, {model}: {np.mean(score['test']):.3f}, on training rows"
            f" {np.mean(score['train']):.3f}, {score['seconds']:.0f} s",
            file=sys.stderr,
            flush=True,
        )


def gain(runs: list[dict[str, Any]], other: str) -> tuple[float, float, float]:
    """Return the mean of log p(row) of our model less that of another one, and its 95 % interval.

    A row that was held out with several seeds counts as one observation. The interval includes that
    of log Z.
    """
    rows = np.concatenate([run["test_rows"] for run in runs])
    pairs = [np.array(run[OURS]["test"]) - np.array(run[other]["test"]) for run in runs]
    gains = np.concatenate(pairs)
    mean = float(gains.mean())
    _, place = np.unique(rows, return_inverse=True)
    stderr = float(np.sqrt((np.bincount(place, gains - mean) ** 2).sum())) / len(gains)
    low = mean - SURE * stderr - float(np.mean([run[OURS]["log_z_high"] for run in runs]))
    high = mean + SURE * stderr - float(np.mean([run[OURS]["log_z_low"] for run in runs]))
    return mean, low, high


def line(name: str, runs: list[dict[str, Any]]) -> str:
    """Return a line of the table."""
    rows = runs[0]["train_rows"]
    tests = sum(len(run["test_rows"]) for run in runs)
    cells = [f"{name}: {rows:,} rows, {tests:,} scored"]
    for model in MODELS:
        score = np.mean([np.mean(run[model]["test"]) for run in runs])
        seconds = np.mean([run[model]["seconds"] for run in runs])
        cells.append(f"{score:,.2f}, {seconds:.0f} s")
    for other in MODELS:
        if other != OURS:
            mean, low, high = gain(runs, other)
            cells.append(f"{mean:+,.2f} [{low:+,.2f}, {high:+,.2f}]")
    return with_minus(row(cells))


def main() -> None:
    """Measure the tables and print a table in Markdown."""
    args = parser_of(
        __doc__, tables=TABLES, seeds=3, rows=20_000, seconds=120.0, out=Path("runs/tables.json")
    ).parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    stored: dict[str, Any] = {}
    if args.out.exists():
        stored = json.loads(args.out.read_text())
    titles = ["table", *MODELS, *(f"{OURS} − {other}" for other in MODELS if other != OURS)]
    print(head(titles), flush=True)
    for name in args.tables:
        runs = []
        for seed in range(args.seeds):
            record = stored.setdefault(f"{name} {seed}", {})
            measure(name, seed, args, record)
            args.out.write_text(json.dumps(stored))
            runs.append(record)
        print(line(name, runs), flush=True)


if __name__ == "__main__":
    main()
