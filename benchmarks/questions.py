"""Answers of `ask` and shares of drawn rows, held against long runs of replica exchange.

    python benchmarks/questions.py RUN_FOLDER [TABLE ...] [--questions 10] [--steps 8000]

Each table is trained by `harmonium train` with no option, in its folder under RUN_FOLDER; a run
that is there already is used. A table is `titanic` or `adult` from the folder that HARMONIUM_DATA
names, or one of three that are generated here: rows come from a few groups, whose words and numbers
differ, and some columns nearly repeat others. A question asks for a column of few values, given up
to three cells of a row that the model draws. The reference is replica exchange from random states
on the model with these cells held fixed, 32 columns of replicas at 24 models; its error is by
columns.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from reference_data import reference
from reporting import parser_of
from timing import timed

import harmonium as hm
from harmonium._base.statistics import Z_95, student_95
from harmonium.likelihood.missing.marginal import given_seen, with_missing
from harmonium.runs.folder import RunFolder

GROUPS = {  # the probabilities of each table's groups
    "halves": (0.5, 0.5),
    "rare": (0.9, 0.07, 0.03),
    "many": (0.4, 0.3, 0.15, 0.1, 0.05),
}
FILES = {"titanic": "titanic.csv", "adult": "adult.data"}
TABLES = (*FILES, *GROUPS)
ROWS = 2_000
WORDS = 8
NUMBERS = 3
COPIES = 3
REPLICAS = 32
MODELS = 24
STUDENT = student_95(REPLICAS - 1)


def write_groups(name: str, path: Path) -> None:
    """Write a table of groups: columns of words and numbers, and some that nearly repeat others."""
    rng = np.random.default_rng(list(GROUPS).index(name))
    shares = np.array(GROUPS[name])
    group = rng.choice(len(shares), ROWS, p=shares)
    columns: dict[str, np.ndarray] = {}
    for i in range(WORDS):
        kinds = int(rng.integers(2, 6))
        usual = rng.integers(kinds, size=len(shares))
        is_usual = rng.uniform(size=ROWS) < 0.95
        codes = np.where(is_usual, usual[group], rng.integers(kinds, size=ROWS))
        columns[f"word{i}"] = np.array([f"kind {c}" for c in codes])
    for i in range(NUMBERS):
        centre = rng.normal(0.0, 6.0, len(shares))
        columns[f"number{i}"] = np.round(20.0 + centre[group] + rng.normal(size=ROWS), 2)
    for i in range(COPIES):
        same = columns[f"word{i}"].copy()
        others = rng.uniform(size=ROWS) < 0.02
        same[others] = rng.permutation(same[others])
        columns[f"copy{i}"] = same
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def source(name: str, folder: Path) -> Path:
    """Return the table's file."""
    if name in FILES:
        return reference(f"tables/{FILES[name]}")
    path = folder / f"{name}.csv"
    write_groups(name, path)
    return path


@eqx.filter_jit
def exchanged(rbm: hm.RBM, row: jax.Array, steps: int, key) -> jax.Array:
    """Return means of v by columns of replicas, over the last three quarters of the steps."""
    seen = rbm
    if row is not None:
        seen = given_seen(rbm, with_missing(rbm.visible, row))
    ladder = hm.ReplicaExchange(times=MODELS)
    key_start, key_move = jax.random.split(key)

    def step(i, carry):
        chains, total = carry
        chains, _ = ladder.step(seen, chains, key=jax.random.fold_in(key_move, i))
        return chains, total + jnp.where(i >= steps // 4, chains.v[-1], 0.0)

    start = ladder.init_independent(seen, REPLICAS, key=key_start)
    total = jax.lax.fori_loop(0, steps, step, (start, jnp.zeros_like(start.v[-1])))[1]
    return total / (steps - steps // 4)


def probabilities_of(columns: hm.Columns, means: np.ndarray) -> tuple[list, list]:
    """Return the probabilities of each column's values, and their standard errors by replicas."""
    probabilities = [part.astype(float) for part in columns.probabilities(means)]
    errors = [part.std(0, ddof=1) / np.sqrt(len(part)) for part in probabilities]
    return [part.mean(0) for part in probabilities], errors


class Comparison(NamedTuple):
    """The answer to a question beside the reference; the largest figures of any value.

    Attributes:
        apart: the distance of a probability from the reference.
        half_width: half the width of the answer's interval.
        error: of the reference.
        outside: the number of probabilities outside their interval.
        values: the number of values of the column.
        converged, method, seconds: of the answer.
    """

    apart: float
    half_width: float
    error: float
    outside: int
    values: int
    converged: bool
    method: str
    seconds: float

    def __str__(self) -> str:
        verdict = "converged" if self.converged else "not converged"
        return (
            f"off by {self.apart:.4f}, ± {self.half_width:.4f} (reference ±"
            f" {STUDENT * self.error:.4f}), {self.outside} of {self.values} outside,"
            f" {verdict}, {self.method}, {self.seconds:.1f} s"
        )


def questions(
    rbm: hm.RBM, columns: hm.Columns, number: int, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Return questions: a column of words, and cells of a row that the model draws."""
    v = hm.sample(rbm, number, key=jax.random.key(int(rng.integers(2**31))))
    cells = {c.name: c.values for c in columns.split(columns.decode(np.asarray(v))).columns}
    words = [p.name for p in columns.modelled if p.states and p.states <= 20 and p.name in cells]
    pairs = []
    for i in range(number):
        name = str(rng.choice(words))
        others = [other for other in cells if other != name]
        conditions = rng.choice(others, size=min(i % 4, len(others)), replace=False)
        pairs.append((name, ", ".join(f'"{other}"="{cells[other][i]}"' for other in conditions)))
    return pairs


def judged(run: Path, number: int, steps: int, seed: int) -> list[Comparison]:
    """Ask the questions, and return how far the answers lie from the reference."""
    rbm = hm.load(run)
    columns = RunFolder(run).columns_of_table()
    rng = np.random.default_rng(seed)
    place = {part.name: i for i, part in enumerate(columns.modelled)}
    comparisons = []
    for i, (name, condition) in enumerate(questions(rbm, columns, number, rng)):
        question = f'"{name}"'
        if condition:
            question += f" | {condition}"
        key = jax.random.key(100 * seed + i)
        answers, seconds = timed(hm.ask, rbm, columns, question, key=key)
        answer = answers[0]
        row = None
        if condition:
            cells = columns.conditions(condition, "QUESTION").cells
            row = jnp.asarray(columns.encode(cells, "QUESTION", may_lack=True)[0])
        means = np.asarray(exchanged(rbm, row, steps, jax.random.key(7_000 + i)))
        truths, errors = probabilities_of(columns, means)
        truth = truths[place[name]]
        error = errors[place[name]]
        distances = np.abs(np.array(answer.shares) - truth)
        half_widths = np.sqrt(np.array(answer.reach) ** 2 + (STUDENT * error) ** 2)
        comparison = Comparison(
            apart=float(distances.max()),
            half_width=float(np.max(answer.reach)),
            error=float(error.max()),
            outside=int((distances > half_widths + 1e-4).sum()),
            values=len(truth),
            converged=answer.converged,
            method=answer.method,
            seconds=seconds,
        )
        comparisons.append(comparison)
        print(f"  {question[:56]:56s} {comparison}", flush=True)
    return comparisons


def judged_rows(run: Path, rows: int, steps: int, seed: int) -> str:
    """Return how far the shares among rows that `sample` draws lie from the reference."""
    rbm = hm.load(run)
    columns = RunFolder(run).columns_of_table()
    started = time.perf_counter()
    v = np.asarray(hm.sample(rbm, rows, key=jax.random.key(seed)))
    seconds = time.perf_counter() - started
    means = np.asarray(exchanged(rbm, None, steps, jax.random.key(9_000 + seed)))
    truths, errors = probabilities_of(columns, means)
    drawn, _ = probabilities_of(columns, np.asarray(rbm.visible.encode(jnp.asarray(v))))
    scores = []
    largest = 0.0
    for part, truth, error, sampled in zip(columns.modelled, truths, errors, drawn, strict=True):
        if part.states:
            by_chance = np.sqrt(truth * (1 - truth) / rows + error**2 + 1e-9)
            scores.extend(((sampled - truth) / by_chance).tolist())
            largest = max(largest, float(np.abs(sampled - truth).max()))
    z = np.array(scores)
    return (
        f"{rows:,} drawn rows, {seconds:.1f} s: shares off by {largest:.3f} at most;"
        f" {np.mean(np.abs(z) > Z_95):.1%} of {len(z)} shares beyond their 95 %, largest"
        f" {np.abs(z).max():.1f} standard errors"
    )


def main() -> None:
    parser = parser_of(__doc__, questions=10, steps=8_000, seed=0)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*", default=TABLES, metavar="TABLE")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    comparisons = []
    for name in args.tables:
        run = args.folder / name
        if not (run / "config.json").exists():
            path = source(name, args.folder)
            command = [sys.executable, "-m", "harmonium", "train", str(path), "--out", str(run)]
            subprocess.run(command, check=True, capture_output=True)
        print(name, hm.load(run), flush=True)
        comparisons += judged(run, args.questions, args.steps, args.seed)
        print(" ", judged_rows(run, 1_000, args.steps, args.seed), flush=True)
        jax.clear_caches()
    outside = sum(comparison.outside > 0 for comparison in comparisons)
    seconds = [comparison.seconds for comparison in comparisons]
    print(
        f"{len(comparisons)} questions: {outside} with a share outside its interval;"
        f" {sum(comparison.converged for comparison in comparisons)} converged; a question takes"
        f" {np.median(seconds):.1f} s (median), {max(seconds):.1f} s (longest)"
    )


if __name__ == "__main__":
    main()
