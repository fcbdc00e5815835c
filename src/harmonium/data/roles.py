"""The roles of columns: labels, row weights, dropped columns, and the columns of ratings.

Columns that are not learned are removed before the other columns are classified as a picture or a
table; otherwise they might prevent grey levels from being recognised.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError, count_of
from ..tables import Frame, RawColumn
from ..tables.frames import CellKind, numbered_names, words_of
from ..tables.inference import counts_rows
from ..tables.text import LARGEST_LEVEL, MANY_LEVELS
from .parts import holds_only
from .table import Table

NONE = "none"
LABELS = ("label", "labels", "class", "target", "digit", "y")
OCCURRENCES = (  # column names for the number of times a row was seen
    *("shots", "num occurrences", "occurrences", "multiplicity", "weights", "sample weight"),
    *("sample weights",),
)
COUNTS = ("count", "counts", "freq", "freqs", "frequency", "frequencies", "n")
FEW = 20  # columns with at most this many different numbers are treated as categories
MOST_CLASSES = 100  # Fashion-MNIST has 10 classes, EMNIST 47 or 62
GREY = (128, LARGEST_LEVEL)  # the range of the largest level of pictures stored as bytes
PEOPLE = (
    *("user", "customer", "reviewer", "rater", "person", "member", "subject", "viewer", "reader"),
    *("listener", "player", "voter", "row"),
)
THINGS = (
    *("item", "movie", "film", "product", "book", "song", "track", "artist", "game", "joke"),
    *("article", "anime", "isbn", "asin", "col", "column"),
)
FEWEST = 5  # minimum number of users, and of items, in a table of ratings
FEWEST_NUMBERED = 20  # the same minimum if names do not identify the columns
SECONDS = 5e8  # since 1970; times of ratings are larger numbers, and counts are smaller
MOST_VALUES = 101  # maximum number of different ratings, such as 0 to 100


@dataclass(frozen=True)
class Roles:
    """The roles that the user has given to columns.

    Attributes:
        label: the name of the column of labels; None to detect it, "none" if there is none.
        weight: the name of the column of row weights, or None.
        dropped: the names of columns to leave out of a picture.
        may_lack: whether these columns may be missing, as they may be in new rows for a model.
        given: the names of the columns that are given in every row, on which a model is
            conditional.
        past: the number of earlier rows of a series that are given in every row.
    """

    label: str | None = None
    weight: str | None = None
    dropped: tuple[str, ...] = ()
    may_lack: bool = False
    given: tuple[str, ...] = ()
    past: int = 0


def set_aside(table: Table, roles: Roles, source: str, scale: float | None) -> Table:
    """Separate the columns that are not learned from the rest of a file.

    Args:
        table: the table read from the file.
        roles: the roles of columns.
        source: the name of the file in error messages.
        scale: the grey level that means 1, if given by the user.

    Raises:
        InputError: a named column does not exist, or a weight is negative or not finite.
    """
    table = _without_counter(table)
    if roles.weight is not None and _has(table, roles.weight, roles, source, "--weight"):
        weights = _weights(_column(table, roles.weight), source)
        note = f"{roles.weight!r} is the weight of each row, {weights.sum():,g} in all"
        table = _of_bits(replace(_without(table, roles.weight, note), weights=weights))
    label = roles.label
    if label is None:
        label = _label_in(table, scale)
    given = {roles.label, roles.weight} & set(roles.given)
    if given:
        raise InputError(
            f"{source}: expected a column to be either given or set aside as labels or weights; got"
            f" both for {given.pop()!r}; leave one option out."
        )
    if label in roles.given:  # a column that looks like labels, but that the user asks for
        label = NONE
    if label not in (None, NONE) and _has(table, label, roles, source, "--label"):
        column = _column(table, label)
        classes = count_of(len(set(words_of(column).tolist())), "different value")
        note = f"{label!r} is set aside as labels ({classes}); to learn it, give --label none"
        table = replace(_without(table, label, note), labels=_labels(column))
    return table


def _without_counter(table: Table) -> Table:
    """Return a table of pictures without its first column if this column contains row numbers."""
    frame = table.frame
    if frame is None or not frame.has_names or len(frame.names) <= MANY_LEVELS:
        return table
    first, *others = frame.columns
    are_numbers = first.cell_kind is CellKind.NUMBERS
    if not are_numbers or not counts_rows(first.name, first.values, is_first=True):
        return table
    # A column of labels may follow the counter; it is not part of the picture either.
    without_label = [column for column in others if column.name.strip().lower() not in LABELS]
    if not is_picture(Frame(tuple(without_label))):
        return table
    return _without(table, first.name, f"{first.name!r} numbers the rows and is left out")


def without_dropped(table: Table, roles: Roles, source: str) -> Table:
    """Return a table without the columns that the user drops.

    Raises:
        InputError: a dropped column does not exist.
    """
    for name in roles.dropped:
        if _has(table, name, roles, source, "--drop"):
            table = _without(table, name, f"{name!r} is left out as requested")
    return table


def is_picture(frame: Frame) -> bool:
    """Return whether the columns are all 0/1, all spins, or grey levels of at least 64 pixels."""
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
    """Return a note on a column that may contain the weights of rows, or "" if there is none.

    Such a column is recognised by its name. An ambiguous name such as "count" suffices only if all
    other columns contain words or few different numbers and no two rows agree in all of these
    columns, as in a table of observations and their counts.
    """
    for column in frame.columns:
        name = _plain(column.name)
        others = frame.without(column.name).columns
        if not others or not _may_be_weights(column):
            continue
        if name in OCCURRENCES or (name in COUNTS and _are_different_cases(others)):
            option = f"--weight {shlex.quote(column.name)}"
            return f"if {column.name!r} is the number of occurrences of each row, give {option}"
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[ _.-]+", " ", name).strip().lower()


def _may_be_weights(column: RawColumn) -> bool:
    values = column.values
    are_numbers = column.cell_kind is CellKind.NUMBERS
    return are_numbers and bool((np.isfinite(values) & (values >= 0)).all())


def _are_different_cases(columns: Sequence[RawColumn]) -> bool:
    """Return whether the columns contain words or few different numbers, and no two rows agree."""
    for column in columns:
        are_numbers = column.cell_kind is CellKind.NUMBERS
        has_many = are_numbers and len(np.unique(column.values)) > FEW
        if has_many or column.cell_kind is CellKind.DATES:
            return False
    rows = list(zip(*(words_of(column).tolist() for column in columns), strict=True))
    return len(set(rows)) == len(rows)


def _names(table: Table) -> Sequence[str]:
    if table.frame is not None:
        return table.frame.names
    rows = table.train
    if rows is None or rows.ndim != 2 or rows.dtype.kind not in "biuf" or not rows.size:
        return ()  # errors in such rows are raised later, when the rows are read
    return numbered_names(rows.shape[1])


def _has(table: Table, name: str, roles: Roles, source: str, option: str) -> bool:
    """Return whether a column exists and is not the only column; raise an error if it must exist.

    Raises:
        InputError: a required column does not exist, or is the only column.
    """
    names = _names(table)
    if name in names and len(names) > 1:
        return True
    if roles.may_lack:
        return False
    seen = ", ".join(names)[:200] or "rows without names"
    raise InputError(
        f"{source}: expected {option} to name one of several columns; got {name!r}; available:"
        f" {seen}."
    )


def _column(table: Table, name: str) -> RawColumn:
    place = _names(table).index(name)
    if table.frame is not None:
        return table.frame.columns[place]
    return RawColumn(name, np.asarray(table.train[:, place], float))


def _without(table: Table, name: str, note: str) -> Table:
    """Return the table without one column, with an additional note."""
    notes = (*table.notes, f"{table.name}: {note}.")
    if table.frame is None:
        place = _names(table).index(name)
        return replace(table, train=np.delete(table.train, place, axis=1), notes=notes)
    frame = table.frame.without(name)
    return replace(table, train=frame.numbers(), frame=frame, notes=notes)


def _weights(column: RawColumn, source: str) -> np.ndarray:
    if not _may_be_weights(column) or not column.values.sum() > 0:
        raise InputError(
            f"{source}: column {column.name!r}: expected finite weights of at least 0, not all 0;"
            f" got other values ({column.cell_kind}); correct them, or leave --weight out."
        )
    return column.values.astype(np.float32)


def _labels(column: RawColumn) -> np.ndarray:
    values = column.values
    if column.cell_kind is CellKind.NUMBERS and (values == np.rint(values)).all():
        return values.astype(np.int64)
    return words_of(column)


def _of_bits(table: Table) -> Table:
    """Split a single column of bit strings such as 0110 into one column per bit."""
    frame = table.frame
    if frame is None or len(frame.columns) != 1 or frame.columns[0].cell_kind is CellKind.DATES:
        return table
    cells = [cell or "" for cell in words_of(frame.columns[0]).tolist()]
    lengths = set(map(len, cells))
    # With a single character per row, the column already contains 0 and 1.
    if len(lengths) > 1 or lengths & {0, 1} or not set("".join(cells)) <= {"0", "1"}:
        return table
    rows = np.array([[int(sign) for sign in cell] for cell in cells])
    note = f"strings of {rows.shape[1]:,} characters are read as one column each"
    notes = (*table.notes, f"{table.name}: {note}.")
    return replace(table, train=rows, frame=None, notes=notes)


def _label_in(table: Table, scale: float | None) -> str | None:
    """Return the name of the first or last column if it contains labels of pictures, else None."""
    names = _names(table)
    if table.labels is not None or len(names) <= MANY_LEVELS:
        return None
    for place in (0, len(names) - 1):
        name = names[place]
        if table.frame is not None and table.frame.has_names:
            others = table.frame.without(name)
            # A 0/1 column among other 0/1 columns may be part of the picture, whatever its name.
            is_alike = table.train is not None and holds_only(table.train, 0, 1)
            is_named = name.strip().lower() in LABELS or _stands_apart(table.frame, place)
            if is_named and not is_alike and is_picture(others):
                return name
        elif table.train is not None and _are_classes(table.train, place, scale):
            return name
    return None


def _stands_apart(frame: Frame, place: int) -> bool:
    """Return whether a column contains classes and all other columns contain grey levels."""
    skeletons = [re.sub(r"\d+", "0", name) for name in frame.names]
    own = skeletons.pop(place)
    means_occurrences = _plain(frame.names[place]) in (*OCCURRENCES, *COUNTS)
    if len(set(skeletons)) > 1 or own in skeletons or means_occurrences:
        return False
    column = frame.columns[place]
    if column.is_missing.any() or column.cell_kind is CellKind.DATES:
        return False
    classes = np.unique(column.values)
    if not 2 <= len(classes) <= min(MOST_CLASSES, len(frame) // 2):
        return False
    others = frame.without(column.name).with_gaps()
    # Columns of survey answers also have numbered names, but contain small numbers.
    if others is None or others.max() < GREY[0]:
        return False
    return column.cell_kind is CellKind.WORDS or _counts_up(classes)


def _counts_up(classes: np.ndarray) -> bool:
    """Return whether sorted numbers are consecutive from 0 or 1, like classes but unlike ages."""
    return classes[0] in (0, 1) and classes[-1] - classes[0] + 1 == len(classes)


def _are_classes(rows: np.ndarray, place: int, scale: float | None) -> bool:
    """Return whether an unnamed column contains class numbers for pictures in the other columns.

    The column's values must be consecutive integers from 0 or 1, below the largest grey level. The
    number of columns must be a perfect square without this column, but not with it.
    """
    width = rows.shape[1]
    is_square = math.isqrt(width - 1) ** 2 == width - 1 and math.isqrt(width) ** 2 != width
    if not is_square or rows.dtype.kind not in "iu":
        return False
    classes = np.unique(rows[:, place])
    levels = np.delete(rows, place, axis=1)
    highest = levels.max()
    is_grey = GREY[0] <= highest <= GREY[1] or highest == scale
    are_few = 2 <= len(classes) <= MOST_CLASSES and classes[-1] < highest
    return bool(is_grey and levels.min() >= 0 and are_few and _counts_up(classes))


# --- Ratings ------------------------------------------------------------------------------------


def note_on_ratings(frame: Frame) -> str:
    """Return advice on how to reshape a table of ratings for training, or "" for other tables.

    A table of ratings has columns of users, items and values, and possibly of times. Each pair of
    user and item occurs once, but users and items occur several times. Columns are identified by
    their names or, if they have none, by their values.
    """
    columns = frame.columns
    if len(columns) not in (3, 4):
        return ""
    if frame.has_names:
        users_in = [i for i in range(3) if _names_one(columns[i], PEOPLE)]
        items_in = [i for i in range(3) if _names_one(columns[i], THINGS)]
        if len(users_in) != 1 or len(items_in) != 1:
            return ""
        user = users_in[0]
        item = items_in[0]
    else:
        user = 0
        item = 1
        fewest = FEWEST_NUMBERED
        if len(columns) == 4 and _are_times(columns[3]):
            fewest = FEWEST
        if not all(_are_numbers_of_things(column, fewest) for column in columns[:2]):
            return ""
    value = next(i for i in range(3) if i not in (user, item))
    users = words_of(columns[user])
    items = words_of(columns[item])
    rows = len(frame)
    counts = len(set(users.tolist())), len(set(items.tolist()))
    is_complete = not any(columns[i].is_missing.any() for i in (user, item))
    pairs = set(zip(users.tolist(), items.tolist(), strict=True))
    repeated = min(counts) >= FEWEST and rows >= 2 * max(counts)
    few = len(set(words_of(columns[value]).tolist())) <= MOST_VALUES
    if not (is_complete and repeated and few and len(pairs) == rows):
        return ""
    names = [columns[i].name for i in (user, item, value)]
    fraction = rows / (counts[0] * counts[1])
    return (
        f"one rating per row, it seems, for {fraction:.1%} of {counts[0]:,} × {counts[1]:,} pairs;"
        f" to learn what goes together, write one row for each {names[0]!r} and one column for each"
        f" {names[1]!r}, with empty cells for missing ratings: in pandas,"
        f" frame.pivot(index={names[0]!r}, columns={names[1]!r}, values={names[2]!r})"
    )


def _names_one(column: RawColumn, nouns: tuple[str, ...]) -> bool:
    """Return whether a column's name ends in one of the nouns, as in user, userId or user_id."""
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", column.name).lower()
    words = re.sub(r"[ _.-]+", " ", words).strip().removesuffix("s")
    last = words.removesuffix(" id").removesuffix("id").removesuffix("s").split(" ")[-1]
    return last in nouns


def _are_times(column: RawColumn) -> bool:
    """Return whether a column contains times as seconds or milliseconds since 1970."""
    if column.cell_kind is CellKind.NUMBERS:
        return bool(np.nanmin(column.values) > SECONDS)
    return column.cell_kind is CellKind.DATES


def _are_numbers_of_things(column: RawColumn, fewest: int) -> bool:
    """Return whether a column contains more than `fewest` different non-negative integers."""
    values = column.values
    if column.cell_kind is not CellKind.NUMBERS or np.isnan(values).any():
        return False
    is_whole = bool((values == np.rint(values)).all()) and values.min() >= 0
    return is_whole and len(np.unique(values)) > fewest
