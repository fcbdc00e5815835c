"""One RBM in three versions: NumPy from scratch, plain TensorFlow, and harmonium.

    python benchmarks/three_ways.py [--only digits|mnist] [--seeds N] [--epochs N] [--docs FOLDER]

All learn by PCD-1 with the same batches, chains and rate: 64×16 on scikit-learn's digits, with
exact likelihoods, and 784×500 on binarised MNIST, with log Z annealed forward and in reverse. MNIST
needs the reference data: set HARMONIUM_DATA to its folder. Tables are printed and written between
the markers of three_ways.md in FOLDER (docs), pictures to FOLDER/pictures, and all figures to a
JSON file.
"""

import importlib
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from reference_data import binarised_mnist, reference
from reporting import conditions, duration, mean_and_spread, parser_of, signed, table, write_into
from scipy.stats import ttest_ind
from sklearn.datasets import load_digits
from three_ways_pictures import (
    draw_curves,
    draw_filters,
    draw_reconstructions,
    reconstructed,
    shared_epochs,
)

import harmonium as hm

ROOT = Path(__file__).parents[1]
NUMPY = "NumPy"
TENSORFLOW = "TensorFlow"
OURS = "harmonium, same recipe"
CENTRED = "harmonium, its recipe"
DEFAULTS = "harmonium, all defaults"
SAME = (TENSORFLOW, OURS)  # with the settings of the NumPy version
DRAWN = (NUMPY, TENSORFLOW, OURS, CENTRED)
NO_TENSORFLOW = "TensorFlow is not installed here: that version was left out"
NOT_RUN = "not run: TensorFlow was not installed"


class Plan(NamedTuple):
    """The settings of all versions; there are as many chains as rows in a batch."""

    hidden: int
    epochs: int
    batch: int
    rate: float
    seeds: int


PLANS = {"digits": Plan(16, 30, 20, 0.05, 30), "mnist": Plan(500, 10, 100, 0.01, 3)}
ANNEALING = {"method": "annealed", "chains": 256, "steps": 2_000}


class Run:
    """A training run: its model, and its time and score at its start and after epochs.

    Scoring time is left out.
    """

    rbm: hm.RBM

    def __init__(self, measure: Callable[[hm.RBM], float | None]):
        self.measure = measure
        self.epochs: list[float] = []
        self.seconds: list[float] = []  # since the last recorded epoch
        self.curve: list[float | None] = []
        self.started = time.perf_counter()

    def record(self, epoch: float, model: Callable[[], hm.RBM]) -> None:
        """Record the time since the last call, then measure the score."""
        self.seconds.append(time.perf_counter() - self.started)
        self.epochs.append(epoch)
        self.curve.append(self.measure(model()))
        self.started = time.perf_counter()

    def score(self, _data: Any, *arrays: Any) -> None:
        """Replace the score function of an example."""
        self.record(len(self.epochs), lambda: model_of(arrays))

    @property
    def an_epoch(self) -> float:
        """Seconds an epoch: the median of all intervals but the first, which compiles."""
        return statistics.median(np.array(self.seconds[2:]) / np.diff(self.epochs[1:]))

    @property
    def compiling(self) -> float:
        """Seconds that the first interval took beyond the later time of as many epochs."""
        return self.seconds[1] - self.an_epoch * self.epochs[1]

    def at(self, epochs: Sequence[float]) -> np.ndarray:
        """Return the scores after some of the recorded epochs."""
        return np.array([self.curve[self.epochs.index(epoch)] for epoch in epochs], float)


def model_of(arrays: Any) -> hm.RBM:
    """Return a harmonium.RBM with an example's W, a and b, arrays of any kind."""
    return hm.RBM.from_arrays(*(np.asarray(x, np.float32) for x in arrays))


def by_the_example(name: str, dtype: Any) -> Callable:
    """Return a function that trains with an example's own `train`."""
    module = importlib.import_module(name)

    def train(rows: np.ndarray, plan: Plan, seed: int, run: Run) -> hm.RBM:
        settings = {"epochs": plan.epochs, "batch": plan.batch, "rate": plan.rate, "seed": seed}
        *arrays, _ = module.train(
            rows.astype(dtype), plan.hidden, method="pcd", k=1, score=run.score, **settings
        )
        return model_of(arrays)

    return train


def by_harmonium(options: Callable[[Plan], dict]) -> Callable:
    """Return a function that trains with `hm.fit` and these options."""

    def train(rows: np.ndarray, plan: Plan, seed: int, run: Run) -> hm.RBM:
        key_start, key_run = jax.random.split(jax.random.key(seed))
        visible = hm.Bernoulli(rows.shape[1])
        rbm = hm.initialize(visible, hm.Bernoulli(plan.hidden), rows, key=key_start)
        run.record(0, lambda: rbm)

        def record(report: Any) -> None:
            if report.metrics:  # at the end of an epoch
                run.record(report.epoch, lambda: report.rbm)

        return hm.fit(rbm, rows, key=key_run, callbacks=[record], **options(plan)).rbm

    return train


def same_updates(plan: Plan) -> dict:
    """Return the options of `hm.fit` for the same epochs, batches and chains."""
    gradient = hm.Persistent(hm.Gibbs(1), chains=plan.batch)
    return {"gradient": gradient, "epochs": plan.epochs, "batch_size": plan.batch}


def same_recipe(plan: Plan) -> dict:
    """Return the options of `hm.fit` for the same plain ascent as well."""
    recipe = hm.Recipe(rate=plan.rate, centring=None, averaging=None, hold=1.0)
    return same_updates(plan) | {"optimizer": recipe}


def all_versions() -> dict[str, Callable]:
    """Return every version that can run here."""
    sys.path.append(str(ROOT / "examples"))
    versions = {NUMPY: by_the_example("from_scratch", np.float64)}
    if find_spec("tensorflow"):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # no messages about its build
        versions[TENSORFLOW] = by_the_example("from_scratch_tensorflow", np.float32)
    else:
        print(NO_TENSORFLOW, flush=True)
    versions[OURS] = by_harmonium(same_recipe)
    versions[CENTRED] = by_harmonium(same_updates)
    return versions | {DEFAULTS: by_harmonium(lambda _: {})}


def train_all(
    rows: np.ndarray, plan: Plan, measure: Callable[[hm.RBM], float | None]
) -> dict[str, list[Run]]:
    """Train every version in turn, seed after seed; each seed is also a round of the timing."""
    versions = all_versions()
    runs: dict[str, list[Run]] = {name: [] for name in versions}
    for seed in range(plan.seeds):
        for name, train in versions.items():
            run = Run(measure)
            run.rbm = train(rows, plan, seed, run)
            runs[name].append(run)
            print(f"  seed {seed}, {name}: {sum(run.seconds):.1f} s", flush=True)
    return runs


def timing(runs: dict[str, list[Run]]) -> tuple[list[list[str]], dict]:
    """Return the table of times and its figures; ratios are taken within a round."""
    rows = [["version", "speed (rounds)", "an epoch", "compiling, once", "a run, s"]]
    figures = {}
    for name, trained in runs.items():
        epochs = [run.an_epoch for run in trained]
        pairs = zip(runs[NUMPY], trained, strict=True)
        ratios = [base.an_epoch / run.an_epoch for base, run in pairs]
        ratio = statistics.median(ratios)
        epoch = statistics.median(epochs)
        compiling = trained[0].compiling
        total = statistics.median(sum(run.seconds[1:]) for run in trained)
        speed = "1"
        if name != NUMPY:
            speed = f"{ratio:.2f} ({min(ratios):.2f} … {max(ratios):.2f})"
        rows.append([name, speed, duration(epoch), duration(max(compiling, 0)), f"{total:.1f}"])
        figures[name] = {
            "seconds_an_epoch": epochs,
            "ratios_to_numpy": ratios,
            "compiling": compiling,
            "seconds_in_all": total,
        }
    return with_missing_version(rows), figures


def digits(plan: Plan) -> tuple[str, dict, dict]:
    """Return the results on the digits, as text and as figures, and the runs."""
    rows = (load_digits().data / 16 > 0.5).astype(np.uint8)
    runs = train_all(rows, plan, lambda rbm: hm.log_likelihood(rbm, rows).value)
    times, figures = timing(runs)
    lines = [["version", "epochs", "updates", "log-likelihood", "second half, less NumPy's"]]
    for name, trained in runs.items():
        ends = np.array([run.curve[-1] for run in trained], float)
        difference_in_words = "–"
        if name in SAME and plan.seeds > 1:
            difference, error, p = compared(trained, runs[NUMPY])
            difference_in_words = f"{signed(difference)} ± {error:.3f}, p = {p:.2g}"
            figures[name] |= {"apart": difference, "error": error, "welch_p": p}
        figures[name] |= {"log_likelihood": ends.tolist(), "curves": [run.curve for run in trained]}
        figures[name]["epochs"] = trained[0].epochs
        cells = [*length(trained[0], rows, plan, name), mean_and_spread(ends)]
        lines.append([name, *cells, difference_in_words])
    rbm = runs[OURS][0].rbm
    start = runs[NUMPY][0].curve[0]
    exact = hm.log_likelihood(rbm, rows)
    check = hm.log_likelihood(rbm, rows, key=jax.random.key(0), **ANNEALING)
    figures[OURS]["annealed_beside_exact"] = [check.low, check.value, check.high, exact.value]
    text = (
        f"{setting(plan, rows)} Exact log-likelihood of these rows in nats per row,"
        f" {over(plan.seeds)}; at the start it is {signed(start)}. The last column compares means"
        " over the second half of the epochs (those that both report): the difference, its"
        " standard error, and Welch's p.\n\n"
        f"{table(with_missing_version(lines))}\n\n"
        f"As a check, the annealed estimate for one of these models is {signed(check.value)} in"
        f" [{signed(check.low)}, {signed(check.high)}]; the exact value is"
        f" {signed(exact.value)}.\n\n"
        f"{table(times)}"
    )
    return text, figures, runs


def compared(runs: list[Run], base: list[Run]) -> tuple[float, float, float]:
    """Return the mean excess of the second halves over those of `base`, its error, and Welch's p.

    A mean over a half is less noisy than the last score. `fit` does not report every epoch, so the
    mean is over the epochs that both have.
    """
    late = [e for e in shared_epochs([runs, base]) if e > base[0].epochs[-1] / 2]
    ours = np.array([run.at(late).mean() for run in runs])
    theirs = np.array([run.at(late).mean() for run in base])
    error = np.sqrt(ours.var(ddof=1) / len(ours) + theirs.var(ddof=1) / len(theirs))
    p = ttest_ind(ours, theirs, equal_var=False).pvalue
    return float(ours.mean() - theirs.mean()), float(error), float(p)


def mnist(plan: Plan) -> tuple[str, dict, dict]:
    """Return the results on MNIST, as text and as figures, and the runs."""
    rows = binarised_mnist("train")
    test = binarised_mnist("test")
    runs = train_all(rows, plan, lambda rbm: None)
    times, figures = timing(runs)
    lines = [["version", "epochs", "updates", "test", "low … high", "largest gap, met"]]
    lines[0] += ["training rows", "pixels wrong"]
    for name, trained in runs.items():
        scores = [annealed(run.rbm, rows, test, seed) for seed, run in enumerate(trained)]
        print(f"  annealed: {name}", flush=True)
        columns = {part: [score[part] for score in scores] for part in scores[0]}
        figures[name] |= columns
        mean = {part: np.mean(values) for part, values in columns.items()}
        gap = signed(max(columns["gap"], key=abs), 2)
        lines.append(
            [
                name,
                *length(trained[0], rows, plan, name),
                mean_and_spread(np.array(columns["test"]), 2),
                f"{signed(mean['low'], 2)} … {signed(mean['high'], 2)}",
                f"{gap}, {sum(columns['met'])} of {len(scores)}",
                signed(mean["train"], 2),
                f"{100 * mean['pixels_wrong']:.2f} %",
            ]
        )
    text = (
        f"{setting(plan, rows)} Log-likelihood in nats per row of {len(test):,} test rows,"
        f" {over(plan.seeds)}; *low … high* are the ends of the interval from annealing forward and"
        f" in reverse ({ANNEALING['chains']} chains × {ANNEALING['steps']:,} models), averaged"
        " over the seeds. The gap is reverse minus forward log Z; *met* counts the runs in which"
        " they agree. *Pixels wrong* is the fraction of the test rows' pixels that a"
        " reconstruction puts on the wrong side of one half.\n\n"
        f"{table(with_missing_version(lines))}\n\n{table(times)}"
    )
    return text, figures, runs


def annealed(rbm: hm.RBM, rows: np.ndarray, test: np.ndarray, seed: int) -> dict:
    """Score a model on training and test rows by one log Z, annealed forward and in reverse."""
    train = hm.log_likelihood(rbm, rows, key=jax.random.key(seed), **ANNEALING)
    score = hm.log_likelihood(rbm, test, log_z=train.log_z)
    wrong = ((reconstructed(rbm, test) > 0.5) != test).mean()
    return {
        "test": score.value,
        "low": score.low,
        "high": score.high,
        "train": train.value,
        "gap": score.log_z.gap,
        "ess": score.log_z.ess,
        "met": score.converged,
        "stderr_rows": score.stderr_rows,
        "pixels_wrong": float(wrong),
    }


def over(seeds: int) -> str:
    """Return in words over how many runs a mean is taken."""
    if seeds == 1:
        return "one run"
    return f"mean ± spread of {seeds} seeds"


def setting(plan: Plan, rows: np.ndarray) -> str:
    """Return the settings of all versions in words."""
    return (
        f"{rows.shape[1]}×{plan.hidden}, {len(rows):,} rows, PCD-1 at rate {plan.rate} with batches"
        f" of {plan.batch} and as many chains."
    )


def length(run: Run, rows: np.ndarray, plan: Plan, name: str) -> list[str]:
    """Return the epochs and updates of a run."""
    batch = plan.batch
    if name == DEFAULTS:
        batch = min(200, len(rows))
    epochs = round(run.epochs[-1])
    return [f"{epochs:,}", f"{epochs * math.ceil(len(rows) / batch):,}"]


def with_missing_version(rows: list[list[str]]) -> list[list[str]]:
    """Add a row for TensorFlow where it did not run."""
    if any(row[0] == TENSORFLOW for row in rows):
        return rows
    missing = [TENSORFLOW, NOT_RUN, *[""] * (len(rows[0]) - 2)]
    return [*rows[:2], missing, *rows[2:]]


def main() -> None:
    parser = parser_of(
        __doc__, docs=ROOT / "docs", json=ROOT / "docs" / "measured" / "three_ways.json"
    )
    parser.add_argument("--only", choices=PLANS)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    if (args.epochs or 2) < 2 or (args.seeds or 1) < 1:
        parser.error("at least 1 seed, and 2 epochs: the first one compiles, the others are timed")
    parts = [args.only] if args.only else list(PLANS)
    if "mnist" in parts:
        reference("mnist/binarized_mnist.npz")  # a missing file is reported now
    pictures = args.docs / "pictures"
    for folder in (pictures, args.json.parent):
        folder.mkdir(parents=True, exist_ok=True)
    results: dict = {}
    if args.json.exists():
        results = json.loads(args.json.read_text())
    measured_on = conditions()
    for part in parts:
        plan = PLANS[part]
        plan = plan._replace(seeds=args.seeds or plan.seeds, epochs=args.epochs or plan.epochs)
        print(f"{part}: {plan}", flush=True)
        started = time.perf_counter()
        text, figures, runs = {"digits": digits, "mnist": mnist}[part](plan)
        text = f"{text}\n\n{measured_on}"
        results[part] = {"conditions": measured_on, "plan": plan._asdict(), "versions": figures}
        args.json.write_text(json.dumps(results, indent=2))
        print(f"\n{text}\n\n{part}: {time.perf_counter() - started:.0f} s\n", flush=True)
        drawn = {name: runs[name] for name in DRAWN if name in runs}
        if part == "digits":
            draw_curves(drawn, SAME, pictures / "three_ways_curves.png")
        else:
            models = {name: trained[0].rbm for name, trained in drawn.items()}
            draw_filters(models, pictures / "three_ways_filters.png")
            test = binarised_mnist("test")
            draw_reconstructions(models, test, pictures / "three_ways_reconstructions.png")
        write_into(args.docs / "three_ways.md", part, text)


if __name__ == "__main__":
    main()
