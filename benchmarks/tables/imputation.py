"""Imputation of mixed columns: tables with some of their cells removed, beside other libraries.

    python benchmarks/tables/imputation.py [METHOD ...] [--tables adult] [--rows 5000]
        [--seeds 0,1,2,3,4] [--missing 0.3] [--draws 100] [--sets 20]

A table is one of those of density.py. Columns of which more than half is missing, and those that no
unit models, such as names, are left out. For each seed, rows are chosen at random, and of the cells
that have a value each is removed with the same probability, whatever it holds. All methods see the
same rows. Scores are of removed cells alone:

- words: the fraction of guesses that are right (accuracy, higher is better);
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
  different words are as far apart as two standard deviations of a number: with 30 neighbours;
- ridge-one-hot: scikit-learn's IterativeImputer with BayesianRidge (its default) on one-hot words,
  of which the largest is the guess. The columns of a missing word are then predicted from one
  another, which sum to one, so its guess hardly moves from where it starts. Its numbers are kept
  between the ends of those seen;
- linear, forest: IterativeImputer with an estimator of our own, which classifies words and
  predicts numbers from the other columns one-hot: LogisticRegression and BayesianRidge, or extra
  trees for both, as missForest does;
- miceforest: LightGBM with predictive mean matching, five iterations: the mean or the mode of five
  data sets. Words are drawn by their probabilities ("fast"), since its default fails for words of
  which LightGBM gives some the probability 0. Draws: `--sets` data sets, if they are more.
  "miceforest 20" is the mean or the mode of these;
- harmonium: `harmonium.sklearn.RBMImputer`, all settings at their defaults. "harmonium draws" is
  the mean or the mode of the draws that also give the intervals.

Set HARMONIUM_DATA to the folder of reference data, and OMP_NUM_THREADS=1 if other jobs run on the
computer, which slow LightGBM and scikit-learn down many times over if they use all cores. A peer
that is not installed is left out.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import BayesianRidge, LogisticRegression

sys.path.append(str(Path(__file__).parents[1]))  # what all benchmarks share
from reporting import parser_of, seeds, table
from sources import TABLES, mostly_known

from harmonium.tables.inference import columns_of

LOW = 0.05  # the ends of intervals
HIGH = 0.95
SETS = 5  # of miceforest
ITERATIONS = 5  # of miceforest
NEIGHBOURS = 30
TREES = 100
LEAF = 5
FIRST_CODE = 1_000  # of words, where they must differ from standardised numbers


def words_in(rows: pd.DataFrame) -> list[str]:
    """Return the names of the columns of words."""
    return [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name])]


def numbers_in(rows: pd.DataFrame) -> list[str]:
    """Return the names of the columns of numbers."""
    return [name for name in rows if pd.api.types.is_numeric_dtype(rows[name])]


class Seconds(NamedTuple):
    """Time that passed, and time of processors, of which other jobs take nothing."""

    wall: float
    cpu: float

    def __add__(self, other: Any) -> "Seconds":
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)

    def __str__(self) -> str:
        return f"{self.wall:.0f} s, {self.cpu:.0f} s of CPU"


class Outcome(NamedTuple):
    """A method's result for a table with missing cells.

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


Method = Callable[[pd.DataFrame, int, argparse.Namespace], Outcome]


class Clock:
    """Seconds since the start, or since the last reading."""

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
        names: the columns.
        words: the sorted words of each column of words.
        mean, deviation: of each column of numbers.
        one_hot: how large a one is; None for ordinal codes.
        first: the code of the first word.
    """

    names: list[str]
    words: dict[str, list[str]]
    mean: pd.Series
    deviation: pd.Series
    one_hot: float | None
    first: int = 0

    @classmethod
    def of(cls, seen: pd.DataFrame, one_hot: float | None, first: int = 0) -> "Coding":
        """Return the coding of a table."""
        words = {name: sorted(seen[name].dropna().unique()) for name in words_in(seen)}
        numbers = seen[numbers_in(seen)]
        return cls(list(seen), words, numbers.mean(), numbers.std(), one_hot, first)

    def encode(self, seen: pd.DataFrame) -> np.ndarray:
        """Return the numbers of a table, NaN in all columns of a missing cell."""
        parts = []
        for name in self.names:
            cells = seen[name]
            if name not in self.words:
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
        columns = {}
        place = 0
        for name in self.names:
            if name not in self.words:
                columns[name] = filled[:, place] * self.deviation[name] + self.mean[name]
                place += 1
                continue
            known = np.array(self.words[name], object)
            if self.one_hot is None:
                codes = np.rint(filled[:, place]) - self.first
                place += 1
            else:
                codes = filled[:, place : place + len(known)].argmax(1)
                place += len(known)
            columns[name] = known[np.clip(codes, 0, len(known) - 1).astype(int)]
        return pd.DataFrame(columns)


def typical(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean of each number and the most frequent of each word, cell by cell."""
    columns: dict[str, Any] = {}
    for name in frames[0]:
        if name in numbers_in(frames[0]):
            columns[name] = np.mean([frame[name].to_numpy(float) for frame in frames], axis=0)
            continue
        cells = np.stack([frame[name].to_numpy(object) for frame in frames])
        words = np.unique(cells.astype(str))
        counts = np.stack([(cells == word).sum(0) for word in words])
        columns[name] = words[counts.argmax(0)].astype(object)
    return pd.DataFrame(columns)


def numbers_of(frames: Sequence[pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return all drawn columns of numbers."""
    return {
        name: np.stack([frame[name].to_numpy(float) for frame in frames])
        for name in numbers_in(frames[0])
    }


# ------------------------------------------------------------------ methods


def of_columns(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Outcome:
    """Return the mean or the mode of each column."""
    clock = Clock()
    fills = {name: seen[name].mean() for name in numbers_in(seen)}
    fills |= {name: seen[name].mode()[0] for name in words_in(seen)}
    return Outcome({"mean, mode": (seen.fillna(fills), clock.read())})


def of_neighbours(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Outcome:
    """Return the guesses of KNNImputer."""
    clock = Clock()
    coding = Coding.of(seen, one_hot=float(np.sqrt(2)))
    filled = KNNImputer(n_neighbors=NEIGHBOURS).fit_transform(coding.encode(seen))
    return Outcome({f"knn {NEIGHBOURS}": (coding.decode(filled), clock.read())})


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
        if self.which_.any():
            self.encoder_.fit(X[:, self.which_])
        chosen = self.numbers
        if y.min() >= FIRST_CODE:
            chosen = self.words
        self.estimator_ = clone(chosen).fit(self._expanded(X), y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the column's cells."""
        return self.estimator_.predict(self._expanded(X))

    def _expanded(self, X: np.ndarray) -> np.ndarray:
        if not self.which_.any():
            return X
        words = self.encoder_.transform(X[:, self.which_])
        return np.concatenate([X[:, ~self.which_], words], axis=1)


def iterative(estimator: Callable[[int], Any], title: str) -> Method:
    """Return the method of IterativeImputer with an estimator, a function of the seed."""

    def imputed(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Outcome:
        clock = Clock()
        chosen = estimator(seed)
        coding = Coding.of(seen, one_hot=1.0)
        strategy = "mean"
        if isinstance(chosen, ByKind):
            coding = Coding.of(seen, one_hot=None, first=FIRST_CODE)
            strategy = "most_frequent"
        rows = coding.encode(seen)
        imputer = IterativeImputer(
            chosen,
            random_state=seed,
            min_value=np.nanmin(rows, axis=0),
            max_value=np.nanmax(rows, axis=0),
            initial_strategy=strategy,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            filled = imputer.fit_transform(rows)
        guesses = {title: (coding.decode(filled), clock.read())}
        return Outcome(guesses, note=f"{imputer.n_iter_} rounds")

    return imputed


def ridge(seed: int) -> Any:
    return BayesianRidge()


def linear(seed: int) -> Any:
    return ByKind(LogisticRegression(max_iter=200), BayesianRidge())


def forest(seed: int) -> Any:
    options = {"min_samples_leaf": LEAF, "max_features": 0.3, "random_state": seed}
    return ByKind(ExtraTreesClassifier(TREES, **options), ExtraTreesRegressor(TREES, **options))


def of_miceforest(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Outcome:
    """Return the guesses and the draws of miceforest."""
    import miceforest

    clock = Clock()

    def data_sets(count: int, seed: int) -> list[pd.DataFrame]:
        words = words_in(seen)
        kernel = miceforest.ImputationKernel(
            seen.astype(dict.fromkeys(words, "category")),
            num_datasets=count,
            random_state=seed,
            mean_match_strategy=dict.fromkeys(words, "fast"),
            save_all_iterations_data=False,
        )
        kernel.mice(ITERATIONS)
        types = dict.fromkeys(words, object)
        return [kernel.complete_data(i).astype(types) for i in range(count)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that some words are rare
        first = data_sets(SETS, seed)
        guess = typical(first)
        first_seconds = clock.read()
        guesses = {"miceforest": (guess, first_seconds)}
        if args.sets <= SETS:
            return Outcome(guesses)
        draws = first + data_sets(args.sets - SETS, 1_000 + seed)
    guess = typical(draws)
    seconds = first_seconds + clock.read()
    guesses[f"miceforest {len(draws)}"] = (guess, seconds)
    return Outcome(guesses, numbers_of(draws), seconds, f"{len(draws)} draws")


def of_harmonium(seen: pd.DataFrame, seed: int, args: argparse.Namespace) -> Outcome:
    """Return the guesses and the draws of RBMImputer."""
    import jax

    import harmonium as hm
    from harmonium.sklearn import RBMImputer
    from harmonium.tables.containers import FrameLike, frame_of

    clock = Clock()
    imputer = RBMImputer(random_state=seed).fit(seen)
    fitting = clock.read()
    guess = imputer.transform(seen)
    filling = clock.read()
    frame = frame_of(seen)
    columns = imputer.columns_
    codes = columns.encode(frame, "rows")
    draws = hm.impute(imputer.rbm_, codes, key=jax.random.key(seed), draws=args.draws).draws
    container = FrameLike.of(seen)
    frames = [
        container.rows(columns.completed(frame, np.asarray(rows), seed=i))
        for i, rows in enumerate(draws)
    ]
    seconds = clock.read()
    note = f"fit {fitting}, fill {filling}, draws {seconds}; {imputer.message_}"
    guesses = {
        "harmonium": (guess, fitting + filling),
        "harmonium draws": (typical(frames), fitting + seconds),
    }
    return Outcome(guesses, numbers_of(frames), seconds, f"{args.draws} draws; {note}")


METHODS: dict[str, tuple[str, Method]] = {
    "mean": ("", of_columns),
    "knn": ("", of_neighbours),
    "ridge-one-hot": ("", iterative(ridge, "ridge one-hot")),
    "linear": ("", iterative(linear, "linear")),
    "forest": ("", iterative(forest, "forest")),
    "miceforest": ("miceforest", of_miceforest),
    "harmonium": ("harmonium", of_harmonium),
}


# ------------------------------------------------------------------ scores


def errors(truth: pd.DataFrame, guess: pd.DataFrame, removed: np.ndarray) -> dict[str, float]:
    """Return each column's nrmse or accuracy on the removed cells."""
    scores = {}
    for i, name in enumerate(truth):
        real = truth[name].to_numpy()[removed[:, i]]
        guessed = guess[name].to_numpy()[removed[:, i]]
        if name in words_in(truth):
            scores[name] = float(np.mean(real == guessed))
        else:
            error = np.sqrt(np.mean((real - guessed.astype(float)) ** 2))
            scores[name] = float(error / truth[name].std(ddof=0))
    return scores


def coverages(
    truth: pd.DataFrame, draws: dict[str, np.ndarray], removed: np.ndarray, seed: int
) -> dict[str, dict[str, float]]:
    """Return the shares of removed cells in their intervals: closed, and by rank."""
    rng = np.random.default_rng(seed)
    results = {}
    for name, columns in draws.items():
        where = removed[:, list(truth).index(name)]
        real = truth[name].to_numpy()[where]
        drawn = columns[:, where]
        low, high = np.quantile(drawn, (LOW, HIGH), axis=0, method="weibull")
        ties = (drawn == real).sum(0) + 1
        rank = ((drawn < real).sum(0) + rng.random(len(real)) * ties) / (len(drawn) + 1)
        results[name] = {
            "inside": float(np.mean((low <= real) & (real <= high))),
            "by rank": float(np.mean((rank >= LOW) & (rank <= HIGH))),
            "width": float(np.mean(high - low) / truth[name].std(ddof=0)),
        }
    return results


def with_gaps(truth: pd.DataFrame, fraction: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows with cells removed, and which these are."""
    rng = np.random.default_rng((seed, 1))
    removed = (rng.random(truth.shape) < fraction) & truth.notna().to_numpy()
    return truth.mask(removed), removed


def rows_of(name: str, count: int, seed: int) -> pd.DataFrame:
    """Return some rows of a table, without what no unit models or is mostly missing."""
    frame = mostly_known(TABLES[name]())
    modelled = {column.name for column in columns_of(frame).columns if column.parts}
    cells = {column.name: column.values for column in frame.columns if column.name in modelled}
    rows = pd.DataFrame(cells)
    order = np.random.default_rng(seed).permutation(len(rows))[:count]
    return rows.iloc[np.sort(order)].reset_index(drop=True)


def run(name: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a record of a table for each method, each of its guesses, and each seed."""
    records = []
    missing = set()
    for seed in args.seeds:
        truth = rows_of(name, args.rows, seed)
        seen, removed = with_gaps(truth, args.missing, seed)
        for key in args.methods:
            module, method = METHODS[key]
            if key in missing:
                continue
            try:
                outcome = method(seen.copy(), seed, args)
            except ImportError as error:
                if error.name is None or error.name.partition(".")[0] != module:
                    raise
                missing.add(key)
                print(f"left out: {key}: {error}", file=sys.stderr)
                continue
            intervals = None
            if outcome.draws is not None:
                intervals = coverages(truth, outcome.draws, removed, seed)
            for i, (title, (guess, seconds)) in enumerate(outcome.guesses.items()):
                scores = errors(truth, guess, removed)
                record = {
                    "table": name,
                    "method": title,
                    "seed": seed,
                    "note": outcome.note,
                    "seconds": seconds.wall,
                    "cpu seconds": seconds.cpu,
                    "columns": scores,
                    "words": words_in(truth),
                    "accuracy": mean_of(scores, words_in(truth)),
                    "nrmse": mean_of(scores, numbers_in(truth)),
                }
                if intervals is not None and i == 0:
                    record |= {"intervals": intervals, "seconds of draws": outcome.seconds}
                records.append(record)
                print(
                    f"{name}, seed {seed}, {title}: accuracy {record['accuracy']:.4f}, nrmse"
                    f" {record['nrmse']:.4f}, {seconds}; {outcome.note}",
                    file=sys.stderr,
                    flush=True,
                )
    return records


def mean_of(scores: dict[str, float], names: Sequence[str]) -> float:
    """Return the mean score of some columns; NaN if there are none."""
    if not names:
        return float("nan")
    return float(np.mean([scores[name] for name in names]))


def shown(values: list[float], form: str = ".3f") -> str:
    """Return a mean, with its standard error over the seeds if there are several."""
    mean = f"{np.mean(values):{form}}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / np.sqrt(len(values)):{form}}"


def tables(records: list[dict[str, Any]]) -> str:
    """Return tables in Markdown of one table's records: means, columns, intervals."""
    by_title: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_title.setdefault(record["method"], []).append(record)
    texts = [f"{records[0]['table']}:", means_table(by_title)]
    texts.append(columns_table(by_title))
    drawn = {title: runs for title, runs in by_title.items() if "intervals" in runs[0]}
    if drawn:
        texts.append(intervals_table(drawn))
    return "\n\n".join(texts)


def means_table(by_title: dict[str, list[dict[str, Any]]]) -> str:
    lines = [["method", "accuracy (words)", "nrmse (numbers)", "seconds", "of CPU"]]
    for title, runs in by_title.items():
        scores = [shown([run[key] for run in runs]) for key in ("accuracy", "nrmse")]
        seconds = [np.mean([run[key] for run in runs]) for key in ("seconds", "cpu seconds")]
        lines.append([title, *scores, *(f"{value:.0f}" for value in seconds)])
    return table(lines)


def columns_table(by_title: dict[str, list[dict[str, Any]]]) -> str:
    lines = [["accuracy or nrmse", *by_title]]
    for name in next(iter(by_title.values()))[0]["columns"]:
        values = [np.mean([run["columns"][name] for run in runs]) for runs in by_title.values()]
        lines.append([name, *(f"{value:.3f}" for value in values)])
    return table(lines)


def intervals_table(drawn: dict[str, list[dict[str, Any]]]) -> str:
    lines = [["inside, by rank, mean width in standard deviations", *drawn]]
    for name in next(iter(drawn.values()))[0]["intervals"]:
        line = [name]
        for runs in drawn.values():
            intervals = [run["intervals"][name] for run in runs]
            inside = 100 * np.mean([interval["inside"] for interval in intervals])
            rank = 100 * np.mean([interval["by rank"] for interval in intervals])
            width = np.mean([interval["width"] for interval in intervals])
            line.append(f"{inside:.1f} %, {rank:.1f} %, {width:.2f}")
        lines.append(line)
    return table(lines)


def summary(records: list[dict[str, Any]]) -> str:
    """Return a line for each table: the mean error of each method, and the cells in intervals.

    The error of a table is the mean over its columns: of nrmse, or of the share of wrong guesses.
    """
    titles = list(dict.fromkeys(record["method"] for record in records))
    lines = [["table", *titles, "of 90 % intervals, by rank"]]
    for name in dict.fromkeys(record["table"] for record in records):
        own = [record for record in records if record["table"] == name]
        line = [name]
        for title in titles:
            runs = [record for record in own if record["method"] == title]
            line.append(f"{np.mean([error_of(run) for run in runs]):.3f}" if runs else "")
        shares = [
            interval["by rank"] for run in own for interval in run.get("intervals", {}).values()
        ]
        lines.append([*line, f"{100 * np.mean(shares):.1f} %" if shares else ""])
    return table(lines)


def error_of(record: dict[str, Any]) -> float:
    """Return the mean over columns of nrmse, or of the share of wrong guesses."""
    errors = [
        1.0 - score if name in record["words"] else score
        for name, score in record["columns"].items()
    ]
    return float(np.mean(errors))


def main() -> None:
    """Print tables in Markdown."""
    parser = parser_of(__doc__, methods=METHODS, rows=5_000, missing=0.3, sets=20, draws=100)
    parser.add_argument("--seeds", type=seeds, default=[0, 1, 2, 3, 4])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=["adult"])
    args = parser.parse_args()
    records = []
    for name in args.tables:
        own = run(name, args)
        records += own
        print(tables(own), flush=True)
    if len(args.tables) > 1:
        print(summary(records))


if __name__ == "__main__":
    main()
