"""Columns that are not learned: labels, weights of rows, and those that a user drops.

They are taken out of a file before it is decided whether the rest is a picture or a table, so that
grey levels stay grey levels.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import count_of, input_error
from ..tables import Frame, RawColumn
from ..tables.frames import words_of
from ..tables.inference import counts_rows
from ..tables.text import LARGEST_LEVEL, MANY_LEVELS
from .parts import holds_only
from .readers import Contents

NONE = "none"
LABELS = ("label", "labels", "class", "target", "digit", "y")
OCCURRENCES = (  # names of columns that say how often a row was seen
    *("shots", "num occurrences", "occurrences", "multiplicity", "weights", "sample weight"),
    *("sample weights",),
)
COUNTS = ("count", "counts", "freq", "freqs", "frequency", "frequencies", "n")
FEW = 20  # different numbers of a column that tells rows apart as words do
MOST_CLASSES = 100  # Fashion-MNIST has 10, EMNIST 47 or 62
GREY = (128, LARGEST_LEVEL)  # the largest level of a picture whose levels are bytes


@dataclass(frozen=True)
class Roles:
    """What columns are for that are not learned.

    Attributes:
        label: the column of labels; None to decide it, "none" for none.
        weight: the column that holds how often a row counts, or None.
        dropped: columns to leave out of a picture.
        may_lack: whether columns may be missing, as in new rows for a model.
    """

    label: str | None = None
    weight: str | None = None
    dropped: tuple[str, ...] = ()
    may_lack: bool = False


def set_aside(contents: Contents, roles: Roles, source: str, scale: float | None) -> Contents:
    """Return what a file holds without the columns that are not learned, which are beside it.

    Args:
        contents: a file as it was read.
        roles: what columns are for.
        source: what error messages call the file.
        scale: the grey level that means 1, as told.

    Raises:
        InputError: there is no such column, or a weight is no finite number of at least 0.
    """
    contents = _without_counter(contents)
    if roles.weight is not None and _has(contents, roles.weight, roles, source, "--weight"):
        weights = _weights(_column(contents, roles.weight), source)
        note = f"{roles.weight!r} is the weight of each row, {weights.sum():,g} in all"
        contents = _without(contents, roles.weight, note)._replace(weights=weights)
        contents = _of_bits(contents)
    label = _label_in(contents, scale) if roles.label is None else roles.label
    if label not in (None, NONE) and _has(contents, label, roles, source, "--label"):
        column = _column(contents, label)
        classes = count_of(len(set(words_of(column).tolist())), "different value")
        note = f"{label!r} is set aside as labels ({classes}); --label none learns it"
        contents = _without(contents, label, note)._replace(labels=_labels(column))
    return contents


def _without_counter(contents: Contents) -> Contents:
    """Return a file of pictures without a first column that numbers them."""
    frame = contents.frame
    if frame is None or not frame.has_names or len(frame.names) <= MANY_LEVELS:
        return contents
    first, *others = frame.columns
    if first.values.dtype.kind != "f" or not counts_rows(first.name, first.values, is_first=True):
        return contents
    # A label may stand behind the counter, which is no part of the picture either.
    without_label = [column for column in others if column.name.strip().lower() not in LABELS]
    if not is_picture(Frame(tuple(without_label))):
        return contents
    return _without(contents, first.name, f"{first.name!r} counts the rows, and is left out")


def without_dropped(contents: Contents, roles: Roles, source: str) -> Contents:
    """Return what a file holds without the columns that the user drops.

    Raises:
        InputError: there is no such column.
    """
    for name in roles.dropped:
        if _has(contents, name, roles, source, "--drop"):
            contents = _without(contents, name, f"{name!r} is left out as told")
    return contents


def is_picture(frame: Frame) -> bool:
    """Return whether all columns are 0/1, spins, or grey levels of at least 64 pixels."""
    numbers = frame.numbers()
    if numbers is None:
        return False
    if holds_only(numbers, 0, 1) or holds_only(numbers, -1, 1):
        return True
    low = numbers.min()
    high = numbers.max()
    is_levels = low >= 0 and (high <= 1 or (numbers.dtype.kind == "i" and high <= GREY[1]))
    return is_levels and len(frame.names) >= MANY_LEVELS


def note_on_weights(frame: Frame) -> str:
    """Return that a column may say how often each row counts, or "" if none does.

    Its name says so, and a name such as "count" does if all others are words or few numbers and no
    two rows agree in them, as in a table of what was seen and how often.
    """
    for place, column in enumerate(frame.columns):
        name = _plain(column.name)
        others = frame.columns[:place] + frame.columns[place + 1 :]
        if not others or not _may_be_weights(column):
            continue
        if name in OCCURRENCES or (name in COUNTS and _are_different_cases(others)):
            option = f"--weight {shlex.quote(column.name)}"
            return f"if {column.name!r} says how often each row counts, give {option}"
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[ _.-]+", " ", name).strip().lower()


def _means_occurrences(name: str) -> bool:
    return _plain(name) in (*OCCURRENCES, *COUNTS)


def _may_be_weights(column: RawColumn) -> bool:
    values = column.values
    return values.dtype.kind == "f" and bool((np.isfinite(values) & (values >= 0)).all())


def _are_different_cases(columns: Sequence[RawColumn]) -> bool:
    """Return whether columns hold words or few numbers, and each row differs from all others."""
    if any(c.values.dtype.kind == "M" for c in columns):
        return False
    if any(c.values.dtype.kind == "f" and len(np.unique(c.values)) > FEW for c in columns):
        return False
    rows = list(zip(*(words_of(column).tolist() for column in columns), strict=True))
    return len(set(rows)) == len(rows)


def _names(contents: Contents) -> Sequence[str]:
    if contents.frame is not None:
        return contents.frame.names
    rows = contents.train
    if rows is None or rows.ndim != 2 or rows.dtype.kind not in "biuf" or not rows.size:
        return []  # what is wrong with such rows is said where they are read
    return [f"column {i + 1}" for i in range(rows.shape[1])]


def _has(contents: Contents, name: str, roles: Roles, source: str, option: str) -> bool:
    """Return whether there is such a column besides others, which must be there unless it may lack.

    Raises:
        InputError: it is not there.
    """
    names = _names(contents)
    if name in names and len(names) > 1:
        return True
    if roles.may_lack:
        return False
    seen = ", ".join(names)[:200] if names else "rows without names"
    raise input_error(source, f"{option} with one of several columns", repr(name), f"found: {seen}")


def _column(contents: Contents, name: str) -> RawColumn:
    place = list(_names(contents)).index(name)
    if contents.frame is not None:
        return contents.frame.columns[place]
    return RawColumn(name, np.asarray(contents.train[:, place], float))


def _without(contents: Contents, name: str, note: str) -> Contents:
    """Return the file without a column, with a sentence more."""
    place = list(_names(contents)).index(name)
    frame = contents.frame
    if frame is None:
        rest = np.delete(contents.train, place, axis=1)
    else:
        others = frame.columns[:place] + frame.columns[place + 1 :]
        frame = Frame(others, frame.has_names)
        rest = frame.numbers()
    notes = (*contents.notes, f"{contents.name}: {note}.")
    return contents._replace(train=rest, frame=frame, notes=notes)


def _weights(column: RawColumn, source: str) -> np.ndarray:
    values = column.values
    is_right = values.dtype.kind == "f" and bool((np.isfinite(values) & (values >= 0)).all())
    if not is_right or not values.sum() > 0:
        found = "words" if values.dtype.kind != "f" else "others"
        expected = "finite weights of at least 0, and one above it"
        advice = "correct them, or leave --weight out"
        raise input_error(f"{source}: column {column.name!r}", expected, found, advice)
    return values.astype(np.float32)


def _labels(column: RawColumn) -> np.ndarray:
    values = column.values
    is_whole = values.dtype.kind == "f" and bool((values == np.rint(values)).all())
    return values.astype(np.int64) if is_whole else words_of(column)


def _of_bits(contents: Contents) -> Contents:
    """Return a single column of strings such as 0110 as a column for each of their signs."""
    frame = contents.frame
    if frame is None or len(frame.columns) != 1 or frame.columns[0].values.dtype.kind == "M":
        return contents
    (column,) = frame.columns
    cells = [cell or "" for cell in words_of(column).tolist()]
    lengths = set(map(len, cells))
    # One sign a row is a column of 0 and 1 already.
    if len(lengths) > 1 or lengths & {0, 1} or not set("".join(cells)) <= {"0", "1"}:
        return contents
    rows = np.array([[int(sign) for sign in cell] for cell in cells])
    note = f"strings of {rows.shape[1]:,} signs are read as a column for each sign"
    notes = (*contents.notes, f"{contents.name}: {note}.")
    return contents._replace(train=rows, frame=None, notes=notes)


def _label_in(contents: Contents, scale: float | None) -> str | None:
    """Return the name of the first or last column if it holds the labels of pictures."""
    names = _names(contents)
    if contents.labels is not None or len(names) <= MANY_LEVELS:
        return None
    for place in (0, len(names) - 1):
        name = names[place]
        if contents.frame is not None and contents.frame.has_names:
            others = contents.frame.columns[:place] + contents.frame.columns[place + 1 :]
            # A column of 0 and 1 among others of 0 and 1 may be one of them, whatever its name.
            is_alike = holds_only(contents.train, 0, 1) if contents.train is not None else False
            is_named = name.strip().lower() in LABELS or _stands_apart(contents.frame, place)
            if is_named and not is_alike and is_picture(Frame(others)):
                return name
        elif contents.train is not None and _are_classes(contents.train, place, scale):
            return name
    return None


def _stands_apart(frame: Frame, place: int) -> bool:
    """Return whether a column holds classes, and the others, as pixel0, levels up to 255."""
    skeletons = [re.sub(r"\d+", "0", name) for name in frame.names]
    own = skeletons.pop(place)
    if len(set(skeletons)) > 1 or own in skeletons or _means_occurrences(frame.names[place]):
        return False
    column = frame.columns[place]
    if column.is_missing.any() or column.values.dtype.kind == "M":
        return False
    classes = np.unique(column.values)
    if not 2 <= len(classes) <= min(MOST_CLASSES, len(frame) // 2):
        return False
    others = [other.values for k, other in enumerate(frame.columns) if k != place]
    # Answers of a survey have names with numbers too, but low levels.
    if any(v.dtype.kind != "f" for v in others) or max(map(np.max, others)) < GREY[0]:
        return False
    # Numbers of classes leave none out; an energy or an age does.
    return column.values.dtype.kind == "O" or (
        classes[0] in (0, 1) and classes[-1] - classes[0] + 1 == len(classes)
    )


def _are_classes(rows: np.ndarray, place: int, scale: float | None) -> bool:
    """Return whether a column without a name numbers classes, beside the levels of a square.

    All numbers from 0 or 1 on occur in it, none as large as the largest level, and there are as
    many other columns as a square has pixels, which is no square with this column.
    """
    width = rows.shape[1]
    is_square = math.isqrt(width - 1) ** 2 == width - 1 and math.isqrt(width) ** 2 != width
    if not is_square or rows.dtype.kind not in "iu":
        return False
    classes = np.unique(rows[:, place])
    levels = np.delete(rows, place, axis=1)
    highest = levels.max()
    is_grey = GREY[0] <= highest <= GREY[1] or highest == scale
    counts_up = classes[0] in (0, 1) and len(classes) == classes[-1] - classes[0] + 1
    few = 2 <= len(classes) <= MOST_CLASSES
    return bool(is_grey and levels.min() >= 0 and counts_up and few and classes[-1] < highest)
