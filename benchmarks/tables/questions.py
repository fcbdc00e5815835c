"""Answers of `harmonium ask` beside frequencies: the Titanic's survivors, in rows held out.

    python benchmarks/tables/questions.py [--seeds 0,1,2]

Four fifths of the rows are given to `harmonium train FILE` without options. The others are counted:
of those that a question is about, the share with the answer. For each question the table has this
share, that of the rows that were learned from, and what `ask` says. Each difference between the
held-out share and the answer is divided by its standard error, √(p(1 − p)/n + s²), with p the
answer, s its own standard error and n the held-out rows. If the answers are right, the squares of
these sum to χ² with as many degrees of freedom as questions, and to more since the rows that were
learned from are a sample too. So the learned frequencies (smoothed by one row) are judged in the
same way beside them, and both by their log score per row.

Set HARMONIUM_DATA to the folder of reference data.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from adult import markdown
from scipy.stats import chi2
from sources import TABLES, TEST_SHARE

from harmonium.tables import Frame
from harmonium.tables.writing import text_of

AGES = ((0.0, 15.0), (16.0, 39.0), (40.0, 80.0))


def questions() -> list[tuple[str, dict[str, object]]]:
    """Return what is known in each question, in words and as cells and ranges."""
    found: list[tuple[str, dict[str, object]]] = []
    for sex, place in itertools.product(("female", "male"), (1, 2, 3)):
        found.append((f"sex={sex}, pclass={place}", {"sex": sex, "pclass": float(place)}))
    for sex, (low, high) in itertools.product(("female", "male"), AGES):
        known: dict[str, object] = {"sex": sex, "age": (low, high)}
        found.append((f"sex={sex}, age={low:g}..{high:g}", known))
    for port, place in itertools.product(("C", "Q", "S"), (1, 3)):
        found.append(
            (f"embarked={port}, pclass={place}", {"embarked": port, "pclass": float(place)})
        )
    return found


def matching(frame: Frame, known: dict[str, object]) -> np.ndarray:
    """Return which rows are as known."""
    cells = {column.name: column.values for column in frame.columns}
    found = np.ones(len(frame), bool)
    for name, value in known.items():
        if isinstance(value, tuple):
            with np.errstate(invalid="ignore"):
                found &= (cells[name] >= value[0]) & (cells[name] <= value[1])
        else:
            found &= cells[name] == value
    return found


def answers(train: Frame, told: list[str], seed: int) -> list[tuple[float, float]]:
    """Return the probability of survival in each question, and its standard error."""
    with tempfile.TemporaryDirectory() as folder:
        table, run = Path(folder, "titanic.csv"), str(Path(folder, "run"))
        table.write_text(text_of(train, str(table)))
        command = [sys.executable, "-P", "-m", "harmonium"]
        options = ["--out", run, "--seed", str(seed)]
        subprocess.run(
            [*command, "train", str(table), *options], check=True, stdout=subprocess.DEVNULL
        )
        found = []
        for known in told:
            ask = [*command, "ask", run, f"survived | {known}", "--json", "--seed", str(seed)]
            said = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout
            [answer] = json.loads(said)["answers"]
            place = answer["values"].index("1")
            found.append((answer["shares"][place], answer["reach"][place] / 2.0))
        return found


def main() -> None:
    """Print a table in Markdown, and the sum of squares."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--seeds", type=lambda text: [int(s) for s in text.split(",")], default=[0])
    args = parser.parse_args()
    frame, lines, total, scores = TABLES["titanic"](), [], [], []
    for seed in args.seeds:
        order = np.random.default_rng(seed).permutation(len(frame))
        held = round(TEST_SHARE * len(frame))
        train, test = frame.taken(np.sort(order[held:])), frame.taken(np.sort(order[:held]))
        known = questions()
        found = answers(train, [words for words, _ in known], seed)
        for (words, cells), (p, stderr) in zip(known, found, strict=True):
            counts = []
            for rows in (train, test):
                survived = rows.columns[rows.names.index("survived")].values
                each = survived[matching(rows, cells)]
                counts.append((len(each), float(each.sum())))
            (n, yes), (m, seen) = counts
            if m < 5:
                continue
            z = (seen / m - p) / np.sqrt(p * (1 - p) / m + stderr**2)
            learned = (yes + 0.5) / (n + 1)
            by_learned = (seen / m - learned) / np.sqrt(learned * (1 - learned) / m)
            total.append((z, by_learned))
            each = (seen * np.log(q) + (m - seen) * np.log(1 - q) for q in (p, learned))
            scores.append([*each, m])
            shares = [f"{seen / m:.2f}", f"{learned:.2f}", f"{p:.3f} ± {2 * stderr:.3f}"]
            lines.append([str(seed), words, f"{m}", *shares, f"{z:+.1f}"])
    heads = ["seed", "known", "held-out rows", "survived", "of the others", "ask", "z"]
    print(markdown(heads, lines))
    square, other = np.square(total).sum(0)
    p = chi2.sf(square, len(total))
    print(f"\nχ² = {square:.1f} for {len(total)} answers, p = {p:.2f}; of frequencies {other:.1f}")
    ours, learned, rows = np.sum(scores, axis=0)
    print(f"log score: {ours / rows:.4f} nats per row, of frequencies {learned / rows:.4f}")


if __name__ == "__main__":
    main()
