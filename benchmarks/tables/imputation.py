"""Imputation of mixed columns: UCI Adult with 30 % of its cells removed, beside other libraries.

    python benchmarks/tables/imputation.py [METHOD ...] [--rows 5000] [--seeds 0,1,2,3,4]
        [--missing 0.3] [--draws 100] [--sets 20] [--harmonium JSON] [--out FILE.json]

For each seed, rows are chosen at random, and of the cells that have a value each is removed with
the same probability, whatever it holds. All methods see the same rows. Scores are of removed cells
alone:

- words: the share of guesses that are right (accuracy, higher is better);
- numbers: the root of the mean squared error, divided by the standard deviation of the column in
  these rows (nrmse, lower is better; the mean of the column has about 1).

Some methods also draw cells, for 90 % intervals from the 5 % to the 95 % quantile of the draws: the
k-th smallest of m draws is the k/(m + 1) quantile, so that draws from the true distribution cover
90 % of the cells at any m. Two shares are shown for each column of numbers:

- inside: the share of removed cells in the closed interval. If many cells are equal, as in
  capital-gain, of which nine in ten are 0, this is above 90 % even for the true distribution;
- by rank: the same with ties broken at random, which for the true distribution is 90 % always.

The methods are:

- mean, mode: of each column;
- knn: scikit-learn's KNNImputer, on standardised numbers and one-hot words, each scaled so that two
  different words are as far apart as two standard deviations of a number: with its default of 5
  neighbours, and with 30;
- ridge, trees, boosting: scikit-learn's IterativeImputer with BayesianRidge (its default),
  ExtraTreesRegressor or HistGradientBoostingRegressor, on ordinal codes of words. Draws:
  `sample_posterior` of ridge. Its numbers are kept between the ends of those seen;
- ridge one-hot: BayesianRidge on one-hot words, of which the largest is the guess. The columns of a
  missing word are then predicted from one another, which sum to one, so its guess hardly moves from
  where it starts;
- linear, forest: IterativeImputer with an estimator of our own, which classifies words and
  predicts numbers from the other columns one-hot: LogisticRegression and BayesianRidge, or extra
  trees for both, as missForest does;
- miceforest: LightGBM with predictive mean matching, five iterations: the mean or the mode of five
  data sets. Words are drawn by their probabilities ("fast"), since its default fails for words of
  which LightGBM gives some the probability 0. Draws: `--sets` data sets, if they are more.
  "miceforest 20" is the mean or the mode of these;
- harmonium: `harmonium.sklearn.RBMImputer`, all settings at their defaults but for those that
  `--harmonium` names. "harmonium draws" is the mean or the mode of the draws that also give the
  intervals.

Set HARMONIUM_DATA to the folder of reference data, and OMP_NUM_THREADS=1 if other jobs run on the
computer, which slow LightGBM and scikit-learn down many times over if they use all cores. A peer
that is not installed is left out.
"""

import argparse
import importlib.metadata
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from adult import NAMES, NUMBERS, WORDS, adult, markdown, some
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import BayesianRidge, LogisticRegression

LOW, HIGH = 0.05, 0.95  # the ends of intervals
SETS, ITERATIONS = 5, 5  # of miceforest
NEIGHBOURS = 30  # beside the default of 5
TREES, LEAF = 100, 5
FIRST_CODE = 1_000  # of words, where they must be told from standardised numbers
LIBRARIES = ("harmonium", "jax", "scikit-learn", "miceforest", "lightgbm", "numpy", "pandas")


class Seconds(NamedTuple):
    """Time that passed, and time of processors, of which other jobs take nothing."""

    wall: float
    cpu: float

    def __add__(self, other: Any) -> "Seconds":
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)

    def __str__(self) -> str:
        return f"{self.wall:.0f} s, {self.cpu:.0f} s of CPU"


class Found(NamedTuple):
    """What a method made of a table with missing cells.

    Attributes:
        guesses: complete tables by the name of the way in which they were guessed, and its seconds.
        draws: for each column of numbers all drawn columns, shape (draws, rows); or None.
        seconds: of the draws.
        note: what is to be said of it.
    """

    guesses: dict[str, tuple[pd.DataFrame, Seconds]]
    draws: dict[str, np.ndarray] | None = None
    seconds: Seconds | None = None
    note: str = ""


Method = Callable[[pd.DataFrame, int, argparse.Namespace], Found]


class Clock:
    """Seconds since it was made, or since it was last read."""

    def __init__(self):
        self.start = Seconds(time.perf_counter(), time.process_time())

    def read(self) -> Seconds:
        """Return the seconds."""
        now = Seconds(time.perf_counter(), time.process_time())
        past = Seconds(now.wall - self.start.wall, now.cpu - self.start.cpu)
        self.start = now
        return past


# ------------------------------------------------------------------ codings


@dataclass(frozen=True)
class Coding:
    """A table as standardised numbers: words as ordinal codes or one-hot.

    Attributes:
        words: the sorted words of each column of words.
        mean, deviation: of each column of numbers.
        one_hot: how large a one is; None for ordinal codes.
        first: the code of the first word.
    """

    words: dict[str, list[str]]
    mean: pd.Series
    deviation: pd.Series
    one_hot: float | None
    first: int = 0

    @classmethod
    def of(cls, seen: pd.DataFrame, one_hot: float | None, first: int = 0) -> "Coding":
        """Return the coding of a table."""
        words = {name: sorted(seen[name].dropna().unique()) for name in WORDS}
        numbers = seen[list(NUMBERS)]
        return cls(words, numbers.mean(), numbers.std(), one_hot, first)

    def encode(self, seen: pd.DataFrame) -> np.ndarray:
        """Return the numbers of a table, NaN in all columns of a missing cell."""
        parts = []
        for name in NAMES:
            cells = seen[name]
            if name in NUMBERS:
                parts.append(((cells - self.mean[name]) / self.deviation[name]).to_numpy()[:, None])
                continue
            codes = cells.map({word: i for i, word in enumerate(self.words[name])})
            codes = codes.to_numpy(float)[:, None]
            if self.one_hot is not None:
                places = np.arange(len(self.words[name]))
                codes = np.where(np.isnan(codes), np.nan, (codes == places) * self.one_hot)
            parts.append(codes + self.first)
        return np.concatenate(parts, axis=1)

    def decode(self, filled: np.ndarray) -> pd.DataFrame:
        """Return a complete table: the nearest code, or the word with the largest number."""
        columns, place = {}, 0
        for name in NAMES:
            if name in NUMBERS:
                columns[name] = filled[:, place] * self.deviation[name] + self.mean[name]
                place += 1
                continue
            known = np.array(self.words[name], object)
            width = 1 if self.one_hot is None else len(known)
            piece, place = filled[:, place : place + width], place + width
            code = (
                piece.argmax(1) if self.one_hot is not None else np.rint(piece[:, 0]) - self.first
            )
            columns[name] = known[np.clip(code, 0, len(known) - 1).astype(int)]
        return pd.DataFrame(columns)


def typical(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean of each number and the most frequent of each word, cell by cell."""
    each = list(tables)
    columns: dict[str, Any] = {}
    for name in NAMES:
        if name in NUMBERS:
            columns[name] = np.mean([table[name].to_numpy(float) for table in each], axis=0)
            continue
        cells = np.stack([table[name].to_numpy(object) for table in each])
        words = np.unique(cells.astype(str))
        counts = np.stack([(cells == word).sum(0) for word in words])
        columns[name] = words[counts.argmax(0)].astype(object)
    return pd.DataFrame(columns)


def numbers_of(tables: Iterable[pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return all drawn columns of numbers."""
    each = list(tables)
    return {name: np.stack([table[name].to_numpy(float) for table in each]) for name in NUMBERS}


# ------------------------------------------------------------------ methods


def of_columns(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Found:
    """Return the mean or the mode of each column."""
    clock = Clock()
    fills = {name: seen[name].mean() if name in NUMBERS else seen[name].mode()[0] for name in NAMES}
    return Found({"mean, mode": (seen.fillna(fills), clock.read())})


def of_neighbours(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Found:
    """Return the guesses of KNNImputer."""
    guesses = {}
    for title, options in {"knn 5": {}, f"knn {NEIGHBOURS}": {"n_neighbors": NEIGHBOURS}}.items():
        clock = Clock()
        coding = Coding.of(seen, one_hot=float(np.sqrt(2)))
        filled = KNNImputer(**options).fit_transform(coding.encode(seen))
        guesses[title] = (coding.decode(filled), clock.read())
    return Found(guesses)


class ByKind(BaseEstimator):
    """An estimator for the columns of a table: a classifier of words, a regressor of numbers.

    A column is one of words if all of its cells are `FIRST_CODE` or more. Other columns of words
    are given to it one-hot.

    Parameters
    ----------
    words, numbers : estimators.
    """

    def __init__(self, words: Any = None, numbers: Any = None):
        self.words = words
        self.numbers = numbers

    def fit(self, X: np.ndarray, y: np.ndarray) -> "ByKind":
        """Learn to tell one column from the others."""
        from sklearn.preprocessing import OneHotEncoder

        self.which_ = X.min(0) >= FIRST_CODE
        self.encoder_ = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self.encoder_.fit(X[:, self.which_])
        chosen = self.words if y.min() >= FIRST_CODE else self.numbers
        self.estimator_ = clone(chosen).fit(self._expanded(X), y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the column's cells."""
        return self.estimator_.predict(self._expanded(X))

    def _expanded(self, X: np.ndarray) -> np.ndarray:
        words = self.encoder_.transform(X[:, self.which_])
        return np.concatenate([X[:, ~self.which_], words], axis=1)


def iterative(estimator: Callable[[int], Any], title: str, *, one_hot: bool = False) -> Method:
    """Return the method of IterativeImputer with an estimator, which is made from a seed."""

    def found(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Found:
        clock, chosen = Clock(), estimator(seed)
        by_kind = isinstance(chosen, ByKind)
        coding = Coding.of(seen, 1.0 if one_hot else None, FIRST_CODE if by_kind else 0)
        rows = coding.encode(seen)
        options = {
            "random_state": seed,
            "min_value": np.nanmin(rows, axis=0),
            "max_value": np.nanmax(rows, axis=0),
            "initial_strategy": "most_frequent" if by_kind else "mean",
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            imputer = IterativeImputer(chosen, **options)
            filled = imputer.fit_transform(rows)
            guesses = {title: (coding.decode(filled), clock.read())}
            if title != "ridge":
                return Found(guesses, note=f"{imputer.n_iter_} rounds")
            # A fitted imputer's `transform` draws anew each time.
            drawer = IterativeImputer(chosen, sample_posterior=True, **options).fit(rows)
            tables = [coding.decode(drawer.transform(rows)) for _ in range(args.draws)]
        note = f"{imputer.n_iter_} rounds, {args.draws} draws"
        return Found(guesses, numbers_of(tables), clock.read(), note)

    return found


def ridge(seed: int) -> Any:
    return BayesianRidge()


def trees(seed: int) -> Any:
    return ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, random_state=seed)


def boosting(seed: int) -> Any:
    return HistGradientBoostingRegressor(random_state=seed)


def linear(seed: int) -> Any:
    return ByKind(LogisticRegression(max_iter=200), BayesianRidge())


def forest(seed: int) -> Any:
    options = {"min_samples_leaf": LEAF, "max_features": 0.3, "random_state": seed}
    return ByKind(ExtraTreesClassifier(TREES, **options), ExtraTreesRegressor(TREES, **options))


def of_miceforest(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Found:
    """Return the guesses and the draws of miceforest."""
    import miceforest

    clock = Clock()

    def data_sets(count: int, seed: int) -> list[pd.DataFrame]:
        table = seen.astype(dict.fromkeys(WORDS, "category"))
        kernel = miceforest.ImputationKernel(
            table,
            num_datasets=count,
            random_state=seed,
            mean_match_strategy=dict.fromkeys(WORDS, "fast"),
            save_all_iterations_data=False,
        )
        kernel.mice(ITERATIONS)
        complete = [kernel.complete_data(i) for i in range(count)]
        return [each.astype(dict.fromkeys(WORDS, object)) for each in complete]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that some words are rare
        first = data_sets(SETS, seed)
        few, first_seconds = typical(first), clock.read()
        guesses = {"miceforest": (few, first_seconds)}
        if args.sets <= SETS:
            return Found(guesses)
        every = [*first, *data_sets(args.sets - SETS, 1_000 + seed)]
    many, seconds = typical(every), first_seconds + clock.read()
    guesses[f"miceforest {len(every)}"] = (many, seconds)
    return Found(guesses, numbers_of(every), seconds, f"{len(every)} draws")


def of_harmonium(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Found:
    """Return the guesses and the draws of RBMImputer."""
    import jax

    import harmonium as hm
    from harmonium.sklearn import RBMImputer
    from harmonium.tables.containers import frame_of, like

    clock = Clock()
    imputer = RBMImputer(random_state=seed, **args.harmonium).fit(seen)
    fitting = clock.read()
    guess = imputer.transform(seen)
    filling = clock.read()
    frame, columns = frame_of(seen), imputer.columns_
    codes = columns.encode(frame, "rows")
    drawn = hm.impute(imputer.rbm_, codes, key=jax.random.key(seed), draws=args.draws).draws
    tables = [
        like(columns.completed(frame, one, seed=i), seen)
        for i, one in enumerate(np.asarray(each) for each in drawn)
    ]
    seconds = clock.read()
    note = f"fit {fitting}, fill {filling}, draws {seconds}; {imputer.message_}"
    guesses = {
        "harmonium": (guess, fitting + filling),
        "harmonium draws": (typical(tables), fitting + seconds),
    }
    return Found(guesses, numbers_of(tables), seconds, f"{args.draws} draws; {note}")


METHODS: dict[str, tuple[str, Method]] = {
    "mean": ("", of_columns),
    "knn": ("", of_neighbours),
    "ridge": ("", iterative(ridge, "ridge")),
    "ridge-one-hot": ("", iterative(ridge, "ridge one-hot", one_hot=True)),
    "trees": ("", iterative(trees, "trees")),
    "boosting": ("", iterative(boosting, "boosting")),
    "linear": ("", iterative(linear, "linear")),
    "forest": ("", iterative(forest, "forest")),
    "miceforest": ("miceforest", of_miceforest),
    "harmonium": ("harmonium", of_harmonium),
}


# ------------------------------------------------------------------ scores


def errors(truth: pd.DataFrame, guess: pd.DataFrame, removed: np.ndarray) -> dict[str, float]:
    """Return each column's nrmse or accuracy on the removed cells."""
    found = {}
    for i, name in enumerate(NAMES):
        real, made = truth[name].to_numpy()[removed[:, i]], guess[name].to_numpy()[removed[:, i]]
        if name in WORDS:
            found[name] = float(np.mean(real == made))
        else:
            error = np.sqrt(np.mean((real - made.astype(float)) ** 2))
            found[name] = float(error / truth[name].std(ddof=0))
    return found


def coverages(
    truth: pd.DataFrame, draws: dict[str, np.ndarray], removed: np.ndarray, seed: int
) -> dict[str, dict[str, float]]:
    """Return the shares of removed cells in their intervals: closed, and by rank."""
    rng, found = np.random.default_rng(seed), {}
    for name, each in draws.items():
        where = removed[:, NAMES.index(name)]
        real, drawn = truth[name].to_numpy()[where], each[:, where]
        low, high = np.quantile(drawn, (LOW, HIGH), axis=0, method="weibull")
        ties = (drawn == real).sum(0) + 1
        rank = ((drawn < real).sum(0) + rng.random(len(real)) * ties) / (len(drawn) + 1)
        found[name] = {
            "inside": float(np.mean((low <= real) & (real <= high))),
            "by rank": float(np.mean((rank >= LOW) & (rank <= HIGH))),
            "width": float(np.mean(high - low) / truth[name].std(ddof=0)),
        }
    return found


def means(scores: dict[str, float]) -> dict[str, float]:
    """Return the mean nrmse and the mean accuracy over columns."""
    return {
        "accuracy": float(np.mean([scores[name] for name in WORDS])),
        "nrmse": float(np.mean([scores[name] for name in NUMBERS])),
    }


def with_gaps(truth: pd.DataFrame, share: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows with cells removed, and which these are."""
    rng = np.random.default_rng((seed, 1))
    removed = (rng.random(truth.shape) < share) & truth.notna().to_numpy()
    return truth.mask(removed), removed


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a record for each method, way to guess and seed."""
    every, records, missing = adult(), [], set()
    for seed in args.seeds:
        truth = some(every, args.rows, seed)
        seen, removed = with_gaps(truth, args.missing, seed)
        for key in args.methods:
            module, method = METHODS[key]
            if key in missing:
                continue
            try:
                found = method(seen.copy(), seed, args)
            except ImportError as error:
                if error.name is None or error.name.partition(".")[0] != module:
                    raise
                missing.add(key)
                print(f"left out: {key}: {error}", file=sys.stderr)
                continue
            intervals = None
            if found.draws is not None:
                intervals = coverages(truth, found.draws, removed, seed)
            for i, (title, (guess, seconds)) in enumerate(found.guesses.items()):
                scores = errors(truth, guess, removed)
                record = {"method": title, "seed": seed, "note": found.note}
                record |= {"seconds": seconds.wall, "cpu seconds": seconds.cpu}
                record |= {"columns": scores} | means(scores)
                if intervals is not None and i == 0:
                    record |= {"intervals": intervals, "seconds of draws": found.seconds}
                records.append(record)
                print(
                    f"seed {seed}, {title}: accuracy {record['accuracy']:.4f}, nrmse"
                    f" {record['nrmse']:.4f}, {seconds}; {found.note}",
                    file=sys.stderr,
                    flush=True,
                )
            write(args, records)
    return records


def write(args: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    """Write what is known so far."""
    if args.out is None:
        return
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    settings = {"rows": args.rows, "missing": args.missing, "draws": args.draws}
    settings |= {"harmonium": args.harmonium}
    whole = {"versions": versions, "settings": settings, "records": records}
    args.out.write_text(json.dumps(whole, indent=1) + "\n")


def shown(values: list[float], form: str = ".3f") -> str:
    """Return a mean, with its standard error over the seeds if there are several."""
    mean = f"{np.mean(values):{form}}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / np.sqrt(len(values)):{form}}"


def tables(records: list[dict[str, Any]]) -> str:
    """Return tables in Markdown: means, columns, intervals."""
    by_title: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_title.setdefault(record["method"], []).append(record)

    def line(title: str, key: str) -> list[float]:
        return [record[key] for record in by_title[title]]

    text = []
    heads = ["method", "accuracy (words)", "nrmse (numbers)", "seconds", "of CPU"]
    rows = [
        [
            title,
            *(shown(line(title, key)) for key in ("accuracy", "nrmse")),
            *(f"{np.mean(line(title, key)):.0f}" for key in ("seconds", "cpu seconds")),
        ]
        for title in by_title
    ]
    text.append(markdown(heads, rows))
    for names, measure in ((WORDS, "accuracy"), (NUMBERS, "nrmse")):
        rows = []
        for name in names:
            each = [np.mean([r["columns"][name] for r in by_title[t]]) for t in by_title]
            best = max(each) if measure == "accuracy" else min(each)
            cells = [f"**{x:.3f}**" if x == best else f"{x:.3f}" for x in each]
            rows.append([name, *cells])
        text.append(markdown([measure, *by_title], rows))
    drawn = [title for title in by_title if "intervals" in by_title[title][0]]
    if drawn:
        rows = []
        for name in NUMBERS:
            cells = []
            for title in drawn:
                each = [record["intervals"][name] for record in by_title[title]]
                inside, rank = (100 * np.mean([e[k] for e in each]) for k in ("inside", "by rank"))
                width = np.mean([e["width"] for e in each])
                cells.append(f"{inside:.1f} %, {rank:.1f} %, {width:.2f}")
            rows.append([name, *cells])
        heads = ["inside, by rank, mean width in standard deviations", *drawn]
        text.append(markdown(heads, rows))
    return "\n\n".join(text)


def main() -> None:
    """Print tables in Markdown."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("methods", nargs="*", default=list(METHODS), choices=[*METHODS, []])
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")])
    parser.add_argument("--missing", type=float, default=0.3)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--harmonium", type=json.loads, default={})
    parser.add_argument("--out", type=Path)
    parser.set_defaults(seeds=[0, 1, 2, 3, 4])
    args = parser.parse_args()
    print(tables(run(args)))


if __name__ == "__main__":
    main()
