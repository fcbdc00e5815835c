"""Answers of `ask` and shares of drawn rows, held against long runs of replica exchange.

    python benchmarks/questions.py RUN_FOLDER [TABLE ...] [--questions 10] [--steps 8000]

Each table is trained by `harmonium train` with no option, in its folder under RUN_FOLDER; a run
that is there already is used. A table is `titanic` or `adult` from the folder that HARMONIUM_DATA
names, or one of three that are made here: rows come from a few groups, whose words and numbers
differ, and some columns nearly repeat others. A question asks for a column of few values, given up
to three cells of a row that the model draws. The reference is replica exchange from random states
on the model with these cells held fixed, 32 columns of replicas at 24 models; its error is by
columns.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from harmonium.missing.marginal import given_seen, with_missing
from harmonium.runs.folder import RunFolder
from harmonium.statistics import Z_95, student_95

SHARES = {"halves": (0.5, 0.5), "rare": (0.9, 0.07, 0.03), "many": (0.4, 0.3, 0.15, 0.1, 0.05)}
TABLES = ("titanic", "adult", *SHARES)
ROWS, WORDS, NUMBERS, COPIES = 2_000, 8, 3, 3
REPLICAS, MODELS = 32, 24
STUDENT = student_95(REPLICAS - 1)


def made(name: str, path: Path) -> None:
    """Write a table of groups: columns of words and numbers, and some that nearly repeat others."""
    rng = np.random.default_rng(list(SHARES).index(name))
    shares = np.array(SHARES[name])
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
    if name in SHARES:
        path = folder / f"{name}.csv"
        made(name, path)
        return path
    if "HARMONIUM_DATA" not in os.environ:
        sys.exit("set HARMONIUM_DATA to the folder of reference data")
    stored = Path(os.environ["HARMONIUM_DATA"], "tables")
    return stored / {"titanic": "titanic.csv", "adult": "adult.data"}[name]


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


def shares_of(columns: hm.Columns, means: np.ndarray) -> tuple[list, list]:
    """Return the shares of each column's values, and their standard errors by replicas."""
    each = [part.astype(float) for part in columns.probabilities(means)]
    errors = [part.std(0, ddof=1) / np.sqrt(len(part)) for part in each]
    return [part.mean(0) for part in each], errors


def questions(
    rbm: hm.RBM, columns: hm.Columns, number: int, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Return questions: a column of words, and cells of a row that the model draws."""
    v = hm.sample(rbm, number, key=jax.random.key(int(rng.integers(2**31))))
    cells = {c.name: c.values for c in columns.split(columns.decode(np.asarray(v))).columns}
    words = [p.name for p in columns.modelled if p.states and p.states <= 20 and p.name in cells]
    asked = []
    for i in range(number):
        name = str(rng.choice(words))
        others = [other for other in cells if other != name]
        given = rng.choice(others, size=min(i % 4, len(others)), replace=False)
        known = ", ".join(f'"{one}"="{cells[one][i]}"' for one in given)
        asked.append((name, known))
    return asked


def judged(run: Path, number: int, steps: int, seed: int) -> list[dict]:
    """Ask the questions, and return how far the answers lie from the reference."""
    rbm, columns = hm.load(run), RunFolder(run).columns_of_table()
    rng = np.random.default_rng(seed)
    place = {part.name: i for i, part in enumerate(columns.modelled)}
    found = []
    for i, (name, known) in enumerate(questions(rbm, columns, number, rng)):
        started = time.perf_counter()
        question = f'"{name}" | {known}' if known else f'"{name}"'
        answer = hm.ask(rbm, columns, question, key=jax.random.key(100 * seed + i))[0]
        took = time.perf_counter() - started
        row = None
        if known:
            told = columns.told(known, "QUESTION")
            row = jnp.asarray(columns.encode(told.cells, "QUESTION", may_lack=True)[0])
        means = np.asarray(exchanged(rbm, row, steps, jax.random.key(7_000 + i)))
        shares, errors = shares_of(columns, means)
        truth, error = shares[place[name]], errors[place[name]]
        apart = np.abs(np.array(answer.shares) - truth)
        allowed = np.sqrt(np.array(answer.reach) ** 2 + (STUDENT * error) ** 2)
        one = {
            "question": question,
            "apart": float(apart.max()),
            "reach": float(np.max(answer.reach)),
            "error": float(error.max()),
            "outside": int((apart > allowed + 1e-4).sum()),
            "values": len(truth),
            "converged": answer.converged,
            "method": answer.method,
            "seconds": took,
        }
        found.append(one)
        print(
            f"  {question[:56]:56s} off by {one['apart']:.4f}, ± {one['reach']:.4f} (reference ±"
            f" {STUDENT * one['error']:.4f}), {one['outside']} of {one['values']} outside,"
            f" {'' if answer.converged else 'not '}converged, {answer.method}, {took:.1f} s",
            flush=True,
        )
    return found


def judged_rows(run: Path, rows: int, steps: int, seed: int) -> str:
    """Return how far the shares among rows that `sample` draws lie from the reference."""
    rbm, columns = hm.load(run), RunFolder(run).columns_of_table()
    started = time.perf_counter()
    v = np.asarray(hm.sample(rbm, rows, key=jax.random.key(seed)))
    took = time.perf_counter() - started
    means = np.asarray(exchanged(rbm, None, steps, jax.random.key(9_000 + seed)))
    shares, errors = shares_of(columns, means)
    drawn, _ = shares_of(columns, np.asarray(rbm.visible.encode(jnp.asarray(v))))
    scores, largest = [], 0.0
    for part, truth, error, share in zip(columns.modelled, shares, errors, drawn, strict=True):
        if part.states:
            by_chance = np.sqrt(truth * (1 - truth) / rows + error**2 + 1e-9)
            scores.extend(((share - truth) / by_chance).tolist())
            largest = max(largest, float(np.abs(share - truth).max()))
    z = np.array(scores)
    return (
        f"{rows:,} drawn rows, {took:.1f} s: shares off by {largest:.3f} at most;"
        f" {np.mean(np.abs(z) > Z_95):.1%} of {len(z)} shares beyond their 95 %, largest"
        f" {np.abs(z).max():.1f} standard errors"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--steps", type=int, default=8_000, help="of the reference")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    every = []
    for name in options.tables:
        run = options.folder / name
        if not (run / "config.json").exists():
            path = source(name, options.folder)
            command = [sys.executable, "-m", "harmonium", "train", str(path), "--out", str(run)]
            subprocess.run(command, check=True, capture_output=True)
        print(name, hm.load(run), flush=True)
        every += judged(run, options.questions, options.steps, options.seed)
        print(" ", judged_rows(run, 1_000, options.steps, options.seed), flush=True)
        jax.clear_caches()
    outside = sum(one["outside"] > 0 for one in every)
    print(
        f"{len(every)} questions: {outside} with a share outside its interval;"
        f" {sum(one['converged'] for one in every)} converged; a question takes"
        f" {np.median([one['seconds'] for one in every]):.1f} s (median),"
        f" {max(one['seconds'] for one in every):.1f} s (longest)"
    )


if __name__ == "__main__":
    main()
