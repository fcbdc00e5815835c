"""Damage to the records of a run: JSON of another structure, and commands that read it.

Bytes that are changed at random seldom stay JSON. Here values are replaced by those of other types,
names are lost, moved or doubled, so that what reads the records gets far.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harmonium.cli import main

# What reads a run of each kind, on files beside it: RUN is the damaged copy, OWN the run itself.
ALL = ("info RUN", "report RUN", "evaluate RUN --quick", "resume RUN", "compare RUN OWN")
COMMANDS = {
    "table": [
        *ALL,
        "sample RUN -n 3 --sweeps 2",
        "ask RUN x|who=bob",
        "impute table.csv RUN --out filled.csv --overwrite",
        "score table.csv RUN",
    ],
    "family": [
        *ALL,
        "sample RUN -n 3 --sweeps 2",
        "score family.fasta RUN",
        "contacts RUN",
        "motifs RUN",
        "scan RUN s1",
    ],
    "plain": [*ALL, "sample RUN -n 3 --sweeps 2"],
    "several": ["info RUN", "report RUN", "resume RUN", "compare RUN OWN"],
}
TRAIN = "--hidden 3 --chains 8 --batch 8 --epochs 2 --out"
SOURCES = {
    "table": "table.csv",
    "family": "family.fasta",
    "plain": "plain.csv",
    "several": "plain.csv --ensemble 2",
}
FILES = ("config.json", "summary.json", "columns.json", "sites.json", "metrics.jsonl")

NUMBERS = [0, 1, -1, 2, 0.5, -0.0, 1e-320, 1e308, -1e308, 2**31 - 1, 2**31, 2**63 - 1, -(2**63)]
TEXTS = [
    "\udcff",
    "",
    "auto",
    "a",
    "nan",
    "\x00",
    "\x1b[2J",
    "é",
    "x" * 300,
    "/",
    "..",
    "category",
    "test",
]
OTHERS = [None, True, False, [], {}, [[]], [None], {"": None}, {"kind": "date"}, [1, 2], ["a", "a"]]
EDGES = [*NUMBERS, *TEXTS, *OTHERS]
RAW = ["NaN", "Infinity", "-1e999", "9" * 40, "{", "", "null", "[" * 200, '{"a": 1, "a": 2}']
SECONDS = 20  # after which a command is interrupted: a record may ask for years of training


class Ended(NamedTuple):
    """How a command ended: its exit status, and its last line."""

    status: int
    said: str


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the names and numbers that lead to each value within a value of JSON."""
    yield here
    inner = value.items() if isinstance(value, dict) else ()
    for name, item in enumerate(value) if isinstance(value, list) else inner:
        yield from places(item, (*here, name))


def at(value: Any, place: tuple[Any, ...]) -> Any:
    """Return the value at a place."""
    for name in place:
        value = value[name]
    return value


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a value with another one at a place."""
    if not place:
        return new
    whole = copy.deepcopy(value)
    at(whole, place[:-1])[place[-1]] = new
    return whole


def damaged(value: Any, rng: random.Random) -> Any:
    """Return a value of JSON with one to three of its parts replaced, lost, moved or doubled."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        known = list(places(value))
        place = rng.choice(known)
        kind = rng.choice(["edge", "edge", "edge", "lost", "moved", "doubled", "wrapped", "near"])
        old = at(value, place)
        if kind == "edge" or not place:
            value = replaced(value, place, rng.choice(EDGES))
        elif kind == "lost":
            value = copy.deepcopy(value)
            del at(value, place[:-1])[place[-1]]
        elif kind == "moved":
            value = replaced(value, place, copy.deepcopy(at(value, rng.choice(known))))
        elif kind == "wrapped":
            value = replaced(value, place, rng.choice([[old], {"a": old}, str(old)]))
        elif kind == "doubled" and isinstance(old, list):
            value = replaced(value, place, old + old)
        elif isinstance(old, int | float):
            value = replaced(value, place, rng.choice([old + 1, old - 1, -old, old * 10, old / 3]))
    return value


def damaged_file(content: bytes, name: str, rng: random.Random) -> bytes:
    """Return the content of a record's file, or of several lines of them, with some damage."""
    if rng.random() < 0.05:
        return rng.choice(RAW).encode()
    if name.endswith(".jsonl"):
        records = [json.loads(line) for line in content.splitlines()]
        changed = damaged(records, rng)
        lines = changed if isinstance(changed, list) else [changed]
        return "".join(json.dumps(line) + "\n" for line in lines).encode()
    return json.dumps(damaged(json.loads(content), rng)).encode()


def make_runs(folder: Path) -> None:
    """Write sources and train a run of each kind, in the current folder."""
    rng = random.Random(0)
    lines = (f"{rng.choice(['ann', 'bob', 'eve'])},{rng.gauss(0, 1):.2f}" for _ in range(60))
    (folder / "table.csv").write_text("who,x\n" + "\n".join(lines) + "\n")
    rows = ("".join(rng.choices("ACGU-", k=10)) for _ in range(40))
    (folder / "family.fasta").write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))
    bits = (",".join(rng.choices("01", k=4)) for _ in range(60))
    (folder / "plain.csv").write_text("a,b,c,d\n" + "\n".join(bits) + "\n")
    for name, source in SOURCES.items():
        ended = ending_of(f"train {source} {TRAIN} {name}".split(), 600)
        assert ended.status == 0, ended


def ending_of(words: list[str], seconds: int = SECONDS) -> Ended:
    """Run a command in this process, and return how it ended; it is interrupted if it takes long.

    Any exception but the end of the command passes.
    """
    out = io.StringIO()
    err = io.StringIO()
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            main(words)
    except SystemExit as ending:
        lines = (err.getvalue().strip() or out.getvalue().strip()).splitlines()
        return Ended(int(ending.code or 0), lines[-1] if lines else "")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("the command did not exit")


def read_by(run: Path, words: list[str], name: str, content: bytes, work: Path) -> Ended:
    """Run a command on a copy of a run in which one file has other content."""
    target = work / "run"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run, target)
    (target / name).write_bytes(content)
    places = {"RUN": str(target), "OWN": str(run)}
    return ending_of([places.get(word, word) for word in words])
