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

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

sys.path.append(str(Path(__file__).parents[1]))  # what all benchmarks share
from reporting import parser_of, seeds, table
from sources import TABLES, TEST_FRACTION

from harmonium.tables import Frame
from harmonium.tables.writing import text_of

AGES = ((0.0, 15.0), (16.0, 39.0), (40.0, 80.0))


def questions() -> list[tuple[str, dict[str, object]]]:
    """Return what is known in each question, in words and as cells and ranges."""
    pairs: list[tuple[str, dict[str, object]]] = []
    for sex, place in itertools.product(("female", "male"), (1, 2, 3)):
        pairs.append((f"sex={sex}, pclass={place}", {"sex": sex, "pclass": float(place)}))
    for sex, (low, high) in itertools.product(("female", "male"), AGES):
        known: dict[str, object] = {"sex": sex, "age": (low, high)}
        pairs.append((f"sex={sex}, age={low:g}..{high:g}", known))
    for port, place in itertools.product(("C", "Q", "S"), (1, 3)):
        pairs.append(
            (f"embarked={port}, pclass={place}", {"embarked": port, "pclass": float(place)})
        )
    return pairs


def matching(frame: Frame, known: dict[str, object]) -> np.ndarray:
    """Return which rows are as known."""
    cells = {column.name: column.values for column in frame.columns}
    matches = np.ones(len(frame), bool)
    for name, value in known.items():
        if isinstance(value, tuple):
            with np.errstate(invalid="ignore"):
                matches &= (cells[name] >= value[0]) & (cells[name] <= value[1])
        else:
            matches &= cells[name] == value
    return matches


class Answer(NamedTuple):
    """The probability of survival, and its standard error."""

    p: float
    stderr: float


def answers(train: Frame, conditions: list[str], seed: int) -> list[Answer]:
    """Return the answer to each question of a model of the rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "titanic.csv")
        run = str(Path(folder, "run"))
        path.write_text(text_of(train, str(path)))
        command = [sys.executable, "-P", "-m", "harmonium"]
        seeded = ["--seed", str(seed)]
        learn = [*command, "train", str(path), "--out", run, *seeded]
        subprocess.run(learn, check=True, stdout=subprocess.DEVNULL)
        results = []
        for condition in conditions:
            ask = [*command, "ask", run, f"survived | {condition}", "--json", *seeded]
            output = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout
            [answer] = json.loads(output)["answers"]
            place = answer["values"].index("1")
            results.append(Answer(answer["shares"][place], answer["reach"][place] / 2.0))
        return results


def survivors(rows: Frame, cells: dict[str, object]) -> tuple[int, float]:
    """Return the number of rows that a question is about, and how many of them survived."""
    survived = rows.columns[rows.names.index("survived")].values[matching(rows, cells)]
    return len(survived), float(survived.sum())


def log_score(p: float, survived: float, count: int) -> float:
    return survived * np.log(p) + (count - survived) * np.log(1 - p)


def main() -> None:
    """Print a table in Markdown, and the sum of squares."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=seeds, default=[0])
    args = parser.parse_args()
    frame = TABLES["titanic"]()
    lines = [["seed", "known", "held-out rows", "survived", "of the others", "ask", "z"]]
    z_scores = []
    scores = []
    for seed in args.seeds:
        order = np.random.default_rng(seed).permutation(len(frame))
        held = round(TEST_FRACTION * len(frame))
        train = frame.taken(np.sort(order[held:]))
        test = frame.taken(np.sort(order[:held]))
        conditions = questions()
        replies = answers(train, [words for words, _ in conditions], seed)
        for (words, cells), (p, stderr) in zip(conditions, replies, strict=True):
            n, n_survived = survivors(train, cells)
            m, m_survived = survivors(test, cells)
            if m < 5:
                continue
            fraction = m_survived / m
            learned = (n_survived + 0.5) / (n + 1)
            z = (fraction - p) / np.sqrt(p * (1 - p) / m + stderr**2)
            z_learned = (fraction - learned) / np.sqrt(learned * (1 - learned) / m)
            z_scores.append((z, z_learned))
            scores.append((log_score(p, m_survived, m), log_score(learned, m_survived, m), m))
            cells = [f"{fraction:.2f}", f"{learned:.2f}", f"{p:.3f} ± {2 * stderr:.3f}"]
            lines.append([str(seed), words, f"{m}", *cells, f"{z:+.1f}"])
    print(table(lines))
    square, square_learned = np.square(z_scores).sum(0)
    p = chi2.sf(square, len(z_scores))
    print(
        f"\nχ² = {square:.1f} for {len(z_scores)} answers, p = {p:.2f};"
        f" of frequencies {square_learned:.1f}"
    )
    ours, learned, rows = np.sum(scores, axis=0)
    print(f"log score: {ours / rows:.4f} nats per row, of frequencies {learned / rows:.4f}")


if __name__ == "__main__":
    main()
