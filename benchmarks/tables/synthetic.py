"""Synthetic rows: UCI Adult as harmonium draws it, beside the synthesisers of SDV.

    python benchmarks/tables/synthetic.py [METHOD ...] [--train 10000] [--test 5000] [--seed 0]
        [--epochs 300] [--keep FOLDER] [--out FILE.json]

Each synthesiser learns from the same real rows, complete or with gaps as they come, and draws as
many new ones. Scores are:

- ROC AUC: of a classifier (scikit-learn's HistGradientBoostingClassifier, which takes words as
  categories) that learned from the synthetic rows who earns more than 50K, on real test rows, ± its
  standard error over these;
- quality: the score of SDMetrics' QualityReport against the training rows, and its two parts, the
  shapes of columns and the trends of pairs of columns; 1 is best. It takes no notice of gaps;
- copies: the share of rows that equal a training row in all cells, and in all but fnlwgt. A gap
  equals a gap.

The methods are:

- real: the training rows themselves;
- others: as many other real rows, which no synthesiser can be expected to surpass;
- copula, ctgan: SDV's GaussianCopulaSynthesizer and CTGANSynthesizer, with their defaults but for
  `--epochs` of the latter. The kinds of columns are told: numbers and categories;
- harmonium: `harmonium train FILE` and `harmonium sample RUN -n N --out FILE`, all options at their
  defaults.

Set HARMONIUM_DATA to the folder of reference data. A peer that is not installed is left out.
"""

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from adult import LABEL, NAMES, NUMBERS, RICH, WORDS, adult, markdown, read, some
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

RESAMPLES = 200  # of test rows, for a standard error
LIBRARIES = ("harmonium", "jax", "sdv", "ctgan", "copulas", "sdmetrics", "torch", "scikit-learn")
UNIQUE = "fnlwgt"  # a column of numbers that hardly repeat


class Made(NamedTuple):
    """Synthetic rows.

    Attributes:
        rows: the rows, like the training rows.
        seconds: of learning, and of drawing.
        note: what is to be said of it.
    """

    rows: pd.DataFrame
    seconds: tuple[float, float]
    note: str = ""


class Real(NamedTuple):
    """Real rows: to learn from, to test a classifier, and as many others as to learn from."""

    train: pd.DataFrame
    test: pd.DataFrame
    others: pd.DataFrame


def real_rows(train: int, test: int, seed: int) -> Real:
    """Return rows chosen at random, none of them twice."""
    every = some(adult(), 2 * train + test, seed)
    parts = np.split(np.arange(len(every)), (train, train + test))
    return Real(*(every.iloc[part].reset_index(drop=True) for part in parts))


# ------------------------------------------------------------------ synthesisers


def of_harmonium(real: Real, args: argparse.Namespace) -> Made:
    """Return the rows that the command line draws."""
    with tempfile.TemporaryDirectory() as folder:
        table, run, new = (str(Path(folder, name)) for name in ("train.csv", "run", "new.csv"))
        real.train.to_csv(table, index=False)
        command = [sys.executable, "-P", "-m", "harmonium"]
        seed = ["--seed", str(args.seed)]
        start = time.perf_counter()
        said = subprocess.run(
            [*command, "train", table, "--out", run, *seed, "--json"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        middle = time.perf_counter()
        count = ["-n", str(len(real.train))]
        subprocess.run(
            [*command, "sample", run, *count, "--out", new, *seed],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        end = time.perf_counter()
        result = json.loads(said)
        note = str(result.get("ended") or result.get("message") or "")
        return Made(read(Path(new)), (middle - start, end - middle), note)


def of_sdv(name: str, **options: Any) -> Callable[[Real, argparse.Namespace], Made]:
    """Return the synthesiser of a class of SDV."""

    def made(real: Real, args: argparse.Namespace) -> Made:
        import torch
        from sdv import single_table
        from sdv.metadata import Metadata

        np.random.seed(args.seed)  # noqa: NPY002 (SDV draws from it)
        torch.manual_seed(args.seed)
        given = {key: getattr(args, value) for key, value in options.items()}
        metadata = Metadata.load_from_dict({"tables": {"rows": {"columns": kinds()}}})
        start = time.perf_counter()
        synthesiser = getattr(single_table, name)(metadata, **given)
        synthesiser.fit({"rows": real.train})
        middle = time.perf_counter()
        rows = synthesiser.sample(len(real.train))["rows"]
        end = time.perf_counter()
        note = ", ".join(f"{key} {value}" for key, value in given.items())
        return Made(rows, (middle - start, end - middle), note)

    return made


def kinds() -> dict[str, dict[str, str]]:
    """Return what the columns are, as SDV says it."""
    return {name: {"sdtype": "numerical" if name in NUMBERS else "categorical"} for name in NAMES}


METHODS: dict[str, tuple[str, Callable[[Real, argparse.Namespace], Made]]] = {
    "real": ("", lambda real, args: Made(real.train, (0.0, 0.0))),
    "others": ("", lambda real, args: Made(real.others, (0.0, 0.0))),
    "copula": ("sdv", of_sdv("GaussianCopulaSynthesizer")),
    "ctgan": ("sdv", of_sdv("CTGANSynthesizer", epochs="epochs")),
    "harmonium": ("harmonium", of_harmonium),
}


# ------------------------------------------------------------------ scores


def auc(rows: pd.DataFrame, test: pd.DataFrame, seed: int) -> tuple[float, float]:
    """Return the ROC AUC on test rows of a classifier of the rows, and its standard error."""
    words = [name for name in WORDS if name != LABEL]
    types = {name: pd.CategoricalDtype(_words(name, rows, test)) for name in words}
    features = [name for name in NAMES if name != LABEL]
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
    model.fit(rows[features].astype(types), rows[LABEL] == RICH)
    p = model.predict_proba(test[features].astype(types))[:, 1]
    truth = (test[LABEL] == RICH).to_numpy()
    rng, found = np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        which = rng.integers(len(p), size=len(p))
        found.append(roc_auc_score(truth[which], p[which]))
    return float(roc_auc_score(truth, p)), float(np.std(found))


def _words(name: str, *tables: pd.DataFrame) -> list[str]:
    return sorted({word for table in tables for word in table[name].dropna()})


def quality(rows: pd.DataFrame, train: pd.DataFrame) -> dict[str, float]:
    """Return the scores of SDMetrics."""
    from sdmetrics.reports import QualityReport

    report = QualityReport()
    what = {"tables": {"rows": {"columns": kinds()}}}
    report.generate({"rows": train}, {"rows": rows}, what, verbose=False)
    parts = report.get_properties().set_index("Property")["Score"]
    return {
        "quality": float(report.get_score()),
        "column shapes": float(parts["Column Shapes"]),
        "column pair trends": float(parts["Column Pair Trends"]),
    }


def copies(rows: pd.DataFrame, train: pd.DataFrame, *, without: tuple[str, ...] = ()) -> float:
    """Return the share of rows that equal a training row in all columns but some."""
    names = [name for name in NAMES if name not in without]

    def cells(table: pd.DataFrame) -> list[tuple[Any, ...]]:
        known = table[names].astype(object).where(table[names].notna(), None)
        return list(known.itertuples(index=False, name=None))

    known = set(cells(train))
    return float(np.mean([row in known for row in cells(rows)]))


def record_of(title: str, made: Made, real: Real, seed: int) -> dict[str, Any]:
    """Return all scores of synthetic rows."""
    rows = made.rows[list(NAMES)]
    value, error = auc(rows, real.test, seed)
    record: dict[str, Any] = {"method": title, "auc": value, "auc standard error": error}
    try:
        record |= quality(rows, real.train)
    except ImportError as error:
        print(f"no quality: {error}", file=sys.stderr)
    learning, drawing = made.seconds
    return record | {
        "copies": copies(rows, real.train),
        f"copies but for {UNIQUE}": copies(rows, real.train, without=(UNIQUE,)),
        "missing cells": float(rows.isna().to_numpy().mean()),
        "seconds of learning": learning,
        "seconds of drawing": drawing,
        "note": made.note,
    }


def shown(record: dict[str, Any]) -> list[str]:
    """Return a line of the table."""
    parts = ("quality", "column shapes", "column pair trends")
    seconds = [record[f"seconds of {what}"] for what in ("learning", "drawing")]
    return [
        record["method"],
        f"{record['auc']:.4f} ± {record['auc standard error']:.4f}",
        *(f"{record[part]:.4f}" if part in record else "" for part in parts),
        f"{record['copies']:.2%}, {record[f'copies but for {UNIQUE}']:.2%}",
        f"{seconds[0]:.0f} + {seconds[1]:.0f}" if any(seconds) else "",
    ]


def versions() -> dict[str, str]:
    """Return the versions of the libraries that are installed."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("methods", nargs="*", default=list(METHODS), metavar="METHOD")
    parser.add_argument("--train", type=int, default=10_000)
    parser.add_argument("--test", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    real, records = real_rows(args.train, args.test, args.seed), []
    for title in args.methods:
        module, method = METHODS[title]
        try:
            made = method(real, args)
        except ImportError as error:
            if not module or error.name is None:
                raise
            print(f"left out: {title}: {error}", file=sys.stderr)
            continue
        if args.keep is not None:
            args.keep.mkdir(parents=True, exist_ok=True)
            made.rows.to_csv(args.keep / f"{title}.csv", index=False)
        records.append(record_of(title, made, real, args.seed))
        print(json.dumps(records[-1]), file=sys.stderr, flush=True)
        if args.out is not None:
            settings = {"train": args.train, "test": args.test, "seed": args.seed}
            whole = {"versions": versions(), "settings": settings, "records": records}
            args.out.write_text(json.dumps(whole, indent=1) + "\n")
    test = copies(real.test, real.train), copies(real.test, real.train, without=(UNIQUE,))
    heads = ["rows", "ROC AUC", "quality", "column shapes", "column pair trends"]
    heads += [f"copies, but for {UNIQUE}", "seconds"]
    print(markdown(heads, [shown(record) for record in records]))
    print(f"\nOf the real test rows {test[0]:.2%} are copies, {test[1]:.2%} but for {UNIQUE}.")


if __name__ == "__main__":
    main()
