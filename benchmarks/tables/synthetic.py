"""Synthetic rows: UCI Adult as harmonium draws it, beside the synthesisers of SDV.

    python benchmarks/tables/synthetic.py [METHOD ...] [--train 10000] [--test 5000] [--seed 0]
        [--epochs 300]

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
  `--epochs` of the latter. They are given the kinds of columns: numbers and categories;
- harmonium: `harmonium train FILE` and `harmonium sample RUN -n N --out FILE`, all options at their
  defaults.

Set HARMONIUM_DATA to the folder of reference data. A peer that is not installed is left out.
"""

import argparse
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
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

sys.path.append(str(Path(__file__).parents[1]))  # what all benchmarks share
from adult import LABEL, NAMES, NUMBERS, RICH, WORDS, adult, read, sampled_rows
from reporting import parser_of, table

RESAMPLES = 200  # of test rows, for a standard error

UNIQUE = "fnlwgt"  # a column of numbers that hardly repeat


class Synthesis(NamedTuple):
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
    rows = sampled_rows(adult(), 2 * train + test, seed)
    parts = np.split(np.arange(len(rows)), (train, train + test))
    return Real(*(rows.iloc[part].reset_index(drop=True) for part in parts))


# ------------------------------------------------------------------ synthesisers


def of_harmonium(real: Real, args: argparse.Namespace) -> Synthesis:
    """Return the rows that the command line draws."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "train.csv")
        run = str(Path(folder, "run"))
        new = Path(folder, "new.csv")
        real.train.to_csv(file, index=False)
        command = [sys.executable, "-P", "-m", "harmonium"]
        seed = ["--seed", str(args.seed)]
        learn = [*command, "train", str(file), "--out", run, *seed, "--json"]
        count = ["-n", str(len(real.train))]
        draw = [*command, "sample", run, *count, "--out", str(new), *seed]
        start = time.perf_counter()
        output = subprocess.run(learn, check=True, stdout=subprocess.PIPE, text=True).stdout
        middle = time.perf_counter()
        subprocess.run(draw, check=True, stdout=subprocess.DEVNULL)
        end = time.perf_counter()
        result = json.loads(output)
        note = str(result.get("ended") or result.get("message") or "")
        return Synthesis(read(new), (middle - start, end - middle), note)


def of_sdv(name: str, **options: Any) -> Callable[[Real, argparse.Namespace], Synthesis]:
    """Return the synthesiser of a class of SDV."""

    def synthesise(real: Real, args: argparse.Namespace) -> Synthesis:
        import torch
        from sdv import single_table
        from sdv.metadata import Metadata

        np.random.seed(args.seed)  # noqa: NPY002 (SDV draws from it)
        torch.manual_seed(args.seed)
        settings = {key: getattr(args, value) for key, value in options.items()}
        metadata = Metadata.load_from_dict({"tables": {"rows": {"columns": kinds()}}})
        start = time.perf_counter()
        synthesiser = getattr(single_table, name)(metadata, **settings)
        synthesiser.fit({"rows": real.train})
        middle = time.perf_counter()
        rows = synthesiser.sample(len(real.train))["rows"]
        end = time.perf_counter()
        note = ", ".join(f"{key} {value}" for key, value in settings.items())
        return Synthesis(rows, (middle - start, end - middle), note)

    return synthesise


def kinds() -> dict[str, dict[str, str]]:
    """Return what the columns are, as SDV says it."""
    types = dict.fromkeys(NUMBERS, "numerical") | dict.fromkeys(WORDS, "categorical")
    return {name: {"sdtype": types[name]} for name in NAMES}


METHODS: dict[str, tuple[str, Callable[[Real, argparse.Namespace], Synthesis]]] = {
    "real": ("", lambda real, args: Synthesis(real.train, (0.0, 0.0))),
    "others": ("", lambda real, args: Synthesis(real.others, (0.0, 0.0))),
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
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(RESAMPLES):
        which = rng.integers(len(p), size=len(p))
        values.append(roc_auc_score(truth[which], p[which]))
    return float(roc_auc_score(truth, p)), float(np.std(values))


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

    def cells(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
        complete = frame[names].astype(object).where(frame[names].notna(), None)
        return list(complete.itertuples(index=False, name=None))

    known = set(cells(train))
    return float(np.mean([row in known for row in cells(rows)]))


def record_of(title: str, synthesis: Synthesis, real: Real, seed: int) -> dict[str, Any]:
    """Return all scores of synthetic rows."""
    rows = synthesis.rows[list(NAMES)]
    value, error = auc(rows, real.test, seed)
    record: dict[str, Any] = {"method": title, "auc": value, "auc standard error": error}
    try:
        record |= quality(rows, real.train)
    except ImportError as missing:
        print(f"no quality: {missing}", file=sys.stderr)
    learning, drawing = synthesis.seconds
    return record | {
        "copies": copies(rows, real.train),
        f"copies but for {UNIQUE}": copies(rows, real.train, without=(UNIQUE,)),
        "missing cells": float(rows.isna().to_numpy().mean()),
        "seconds of learning": learning,
        "seconds of drawing": drawing,
        "note": synthesis.note,
    }


def shown(record: dict[str, Any]) -> list[str]:
    """Return a line of the table."""
    quality = ["", "", ""]
    if "quality" in record:
        parts = ("quality", "column shapes", "column pair trends")
        quality = [f"{record[part]:.4f}" for part in parts]
    learning = record["seconds of learning"]
    drawing = record["seconds of drawing"]
    return [
        record["method"],
        f"{record['auc']:.4f} ± {record['auc standard error']:.4f}",
        *quality,
        f"{record['copies']:.2%}, {record[f'copies but for {UNIQUE}']:.2%}",
        f"{learning:.0f} + {drawing:.0f}" if learning else "",
    ]


def main() -> None:
    """Print a table in Markdown."""
    args = parser_of(
        __doc__, methods=METHODS, train=10_000, test=5_000, seed=0, epochs=300
    ).parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    real = real_rows(args.train, args.test, args.seed)
    records = []
    for title in args.methods:
        module, method = METHODS[title]
        try:
            synthesis = method(real, args)
        except ImportError as error:
            if not module or error.name is None:
                raise
            print(f"left out: {title}: {error}", file=sys.stderr)
            continue
        records.append(record_of(title, synthesis, real, args.seed))
        print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    titles = ["rows", "ROC AUC", "quality", "column shapes", "column pair trends"]
    titles += [f"copies, but for {UNIQUE}", "seconds"]
    print(table([titles, *(shown(record) for record in records)]))
    equal = copies(real.test, real.train)
    nearly_equal = copies(real.test, real.train, without=(UNIQUE,))
    print(f"\nOf the real test rows {equal:.2%} are copies, {nearly_equal:.2%} but for {UNIQUE}.")


if __name__ == "__main__":
    main()
