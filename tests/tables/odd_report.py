"""Open every odd file and tell which are read rightly, refused, lost or silently wrong.

    python tests/tables/odd_report.py            # all: counts, and each that is not right
    python tests/tables/odd_report.py --all      # also those that are right
    python tests/tables/odd_report.py WORD …     # those whose name has one of the words, with notes

The exit status is 1 if any file is silently wrong, lost without a reason, refused without naming
what is wrong, or ends in another exception than an `InputError`.
"""

import re
import sys
import tempfile
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
from odd_files import CASES

import harmonium as hm

RIGHT = "right"
NOTED = "right with a note"
REFUSED = "clear refusal"
WITH_REASON = "left out with a reason"
HINT = "wrong with a hint"
NEEDLESS = "refused, though readable"
UNCLEAR = "refused unclearly"
LOST = "lost without a reason"
WRONG = "silently wrong"
CRASHED = "crashed"
VERDICTS = (RIGHT, NOTED, REFUSED, WITH_REASON, HINT, NEEDLESS, UNCLEAR, LOST, WRONG, CRASHED)
FINE = {RIGHT, NOTED, REFUSED}
FAULTS = {UNCLEAR, LOST, WRONG, CRASHED}
OUT = {"left out", "key", "identifier"}
NO_NUMBERS = OUT | {"category", "date", "calendar", "time"}
# A column that was left out has a reason if its line tells what its cells nearly are.
REASON = r"but for|nearly|almost|such as|--as|--missing|unit|order"
OPTION = r"--(header|skip|separator|missing|as|label|weight|scale|visible|drop)\b"
MINUTES = np.timedelta64(5, "m")  # codes are of single precision


def is_kind(column, values, kind):
    """Return whether a column, with its decoded cells, is of a kind."""
    seen = {str(v) for v in values if not is_missing(v)}
    return {
        "any": True,
        "out": column.kind in OUT,
        "number": column.kind not in NO_NUMBERS,
        "category": column.kind == "category",
        "yes-no": column.kind not in OUT | {"date", "calendar"} and len(seen) <= 2,
        "date": column.kind in {"date", "calendar"},
        "time": column.kind not in OUT | {"category"},
        "reasoned": False,  # `of_kind` looks at the reason
    }[kind]


def is_missing(value):
    """Return whether a decoded cell is missing."""
    return value is None or bool(value != value)


def agrees(value, wanted, kind):
    """Return whether a decoded cell is the expected value, up to what codes can hold."""
    if isinstance(wanted, tuple):
        return any(agrees(value, alternative, kind) for alternative in wanted)
    if wanted is None or is_missing(value):
        return wanted is None and is_missing(value)
    if kind in {"date", "calendar"}:
        if not isinstance(wanted, str):
            return False
        apart = abs(np.datetime64(value, "s") - np.datetime64(wanted, "s"))
        day = np.timedelta64(1, "D") - np.timedelta64(1, "s")
        return apart <= (
            np.timedelta64(31, "D") if kind == "calendar" else MINUTES if "T" in wanted else day
        )
    if isinstance(wanted, str):
        return str(value) == wanted
    try:
        return bool(np.isclose(float(value), float(wanted), rtol=5e-3, atol=0))
    except ValueError:
        return False


def of_columns(table, reading):
    """Return what differs from a reading as a table: pairs of a verdict and words."""
    columns = table.columns.columns
    decoded = [column.values for column in table.columns.decode(table.train).columns]
    wanted = list(reading.columns)
    if len(wanted) > len(columns):
        surplus = len(wanted) - len(columns)
        optional = [pair for pair in wanted if pair[1].startswith("?")][:surplus]
        wanted = [pair for pair in wanted if pair not in optional]
    names = ", ".join(repr(column.name) for column in columns)
    if len(wanted) != len(columns):
        return [(WRONG, f"{len(columns)} columns instead of {len(wanted)}: {names[:120]}")]
    faults = []
    printed = {column.name: line_of(table, column) for column in columns}
    if len(table.train) != reading.rows:
        faults.append((WRONG, f"{len(table.train)} rows instead of {reading.rows}"))
    for (name, kinds), column, values in zip(wanted, columns, decoded, strict=True):
        if name and not (
            column.name == name or (name.endswith("*") and column.name.startswith(name[:-1]))
        ):
            faults.append((WRONG, f"a column is named {column.name!r} instead of {name!r}"))
        faults += of_kind(column, values, kinds.lstrip("?"), printed[column.name])
    if any(verdict == WRONG for verdict, _ in faults):
        return faults
    positions = {column.name: j for j, column in enumerate(columns)}
    for row, place, value in reading.cells:
        j = positions.get(place, place)
        if isinstance(j, int) and reading.columns[0][1].startswith("?") and isinstance(place, int):
            j -= len(reading.columns) - len(wanted)
        if not isinstance(j, int) or columns[j].kind in OUT:
            continue
        if not agrees(decoded[j][row], value, columns[j].kind):
            kind = LOST if is_missing(decoded[j][row]) else WRONG
            faults.append(
                (kind, f"{columns[j].name!r}, row {row}: {decoded[j][row]} instead of {value!r}")
            )
    for name, count in reading.missing.items():
        column = columns[positions[name]]
        there = sum(map(is_missing, decoded[positions[name]]))
        if column.kind not in OUT and there != count:
            faults.append(
                (
                    LOST if there > count else WRONG,
                    f"{name!r}: {there} cells missing instead of {count}",
                )
            )
    return faults


def line_of(table, column):
    """Return what a person reads of a column: its line in the list, with the note at its end."""
    lines = (line for note in table.notes for line in note.split("\n"))
    shown = (line for line in lines if line.startswith(column.name[:8]) and column.kind in line)
    return next(shown, column.summary)


def of_kind(column, values, kinds, printed):
    """Return what differs in the kind of a column, whose line was printed."""
    if any(is_kind(column, values, kind) for kind in kinds.split("/")):
        return []
    words = f"{column.name!r} is {column.kind} ({column.summary[:70]}) instead of {kinds}"
    if column.kind not in OUT:
        return [(WRONG, words)]
    if not re.search(REASON, printed):
        return [(LOST, words)]
    return [(NOTED if "reasoned" in kinds else WITH_REASON, words)]


def of_rows(table, reading):
    """Return what differs from a reading as rows of one kind, or as an alignment."""
    kind = {"bits": "binary"}.get(reading.kind, reading.kind)
    shape = tuple(table.train.shape)
    if table.kind != kind:
        return [(WRONG, f"{table.kind} of {shape} instead of {reading.kind}")]
    if shape != (reading.rows, reading.columns):
        return [(WRONG, f"{shape} instead of {(reading.rows, reading.columns)}")]
    for row, site, value in reading.cells:
        decoded = (
            table.sites.words(table.train[row : row + 1])[0]
            if site is None
            else table.train[row, site]
        )
        if not (decoded in value if isinstance(value, tuple) else decoded == value):
            return [(WRONG, f"row {row}, column {site}: {decoded} instead of {value}")]
    return []


def held(table, reading):
    """Return the verdict on one reading, and why."""
    is_table = table.kind == "columns"
    if is_table != (reading.kind == "columns"):
        names = (
            ", ".join(f"{c.name!r} {c.kind}" for c in table.columns.columns[:6]) if is_table else ""
        )
        words = f"{table.kind} of {tuple(table.train.shape)} instead of {reading.kind}"
        return WRONG, f"{words}: {names}" if names else words
    faults = of_columns(table, reading) if is_table else of_rows(table, reading)
    notes = "\n".join(table.notes)
    worst = max((verdict for verdict, _ in faults), key=VERDICTS.index, default=RIGHT)
    if worst not in FINE:
        has_hint = worst in {LOST, WRONG} and re.search(OPTION, notes)
        return HINT if has_hint else worst, "; ".join(
            dict.fromkeys(words for _, words in faults[:3])
        )
    for wanted, words in ((reading.note, others(table)), (reading.remark, notes)):
        if wanted and not re.search(wanted, words):
            return LOST, f"read rightly, but not said (a note that matches {wanted!r})"
    said = "; ".join([*(words for _, words in faults), others(table)]).strip("; ")
    return (NOTED if said else RIGHT), said


def others(table):
    """Return the notes that are not the list of columns, or not the usual lines on rows."""
    if table.columns is None:
        usual = re.compile(r": \d[\d,]* (rows|sequences) of \d")
        return "\n".join(
            note
            for note in table.notes
            if not usual.search(note) and re.sub(r"\d+", "0", note) not in usual_notes()
        )
    usual = usual_notes()
    listed = [(c.name[:8].strip(), c.kind) for c in table.columns.columns]
    lines = [line for text in table.notes for line in text.split("\n")]
    return "\n".join(
        line
        for line in lines
        if re.sub(r"\d+", "0", line) not in usual
        and not any(line.startswith(name) and f" {kind}" in line for name, kind in listed)
    )


@cache
def usual_notes():
    """Return the notes on a table that is not odd, with 0 for all numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "odd.csv"
        path.write_text(
            "drink,price\n"
            + "".join(f"{'tea' if i % 3 else 'milk'},{i * 7 % 61}.5\n" for i in range(60))
        )
        notes = hm.open_source(str(path)).notes
    return {re.sub(r"\d+", "0", line) for note in notes for line in note.split("\n")}


def judged(case, folder):
    """Open a case in a folder; return the verdict and what was found."""
    path = Path(folder) / f"odd.{case.suffix}"
    path.write_bytes(case.content)
    try:
        table = hm.open_source(str(path))
    except hm.InputError as error:
        words = str(error).replace(str(path), path.name)
        if case.refusal:
            return (REFUSED if re.search(case.refusal, words) else UNCLEAR), words
        return NEEDLESS, words
    except Exception as error:  # what is not an InputError would reach the user as a traceback
        return CRASHED, f"{type(error).__name__}: {error}"
    finally:
        path.unlink()
    if not case.readings:
        if table.kind == "columns":
            names = ", ".join(f"{c.name!r} {c.kind}" for c in table.columns.columns[:6])
        else:
            names = table.kind
        hint = re.search(OPTION, "\n".join(table.notes))
        return (HINT if hint else WRONG), f"opened as {tuple(table.train.shape)}: {names}"
    results = [held(table, reading) for reading in case.readings]
    return min(results, key=lambda result: VERDICTS.index(result[0]))


def main(arguments):
    """Print the verdicts and their counts; return the exit status."""
    warnings.simplefilter("ignore")
    words = [argument for argument in arguments if not argument.startswith("--")]
    cases = [case for case in CASES if not words or any(word in case.name for word in words)]
    with tempfile.TemporaryDirectory() as folder:
        results = [(case, *judged(case, folder)) for case in cases]
    for verdict in VERDICTS:
        if verdict in FINE and not words and "--all" not in arguments:
            continue
        for case, its, what in results:
            if its == verdict:
                print(f"{verdict:<25} {case.name}\n    {what[:300]!a}")
    counts = Counter(its for _, its, _ in results)
    print(f"\n{len(results)} files")
    for verdict in VERDICTS:
        print(f"{counts[verdict]:5} {verdict}")
    return int(any(its in FAULTS for _, its, _ in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
