"""Tables of ratings, one a row: who, what, how much. A model of users needs a row for each user."""

from __future__ import annotations

import re

import numpy as np

from ..tables import Frame, RawColumn
from ..tables.frames import words_of

PEOPLE = (
    *("user", "customer", "reviewer", "rater", "person", "member", "subject", "viewer", "reader"),
    *("listener", "player", "voter", "row"),
)
THINGS = (
    *("item", "movie", "film", "product", "book", "song", "track", "artist", "game", "joke"),
    *("article", "anime", "isbn", "asin", "col", "column"),
)
FEWEST = 5  # users and items
FEWEST_NUMBERED = 20  # of each, where no name says what they are
SECONDS = 5e8  # since 1970: times of ratings are later, and no column of counts is like them
MOST_VALUES = 101  # of a rating: 0 to 100


def note_on_ratings(frame: Frame) -> str:
    """Return how a table of ratings becomes one that can be learned, or "" for any other table.

    Such a table has columns of users, of items and of values, and at most one more, of times. Each
    pair of user and item occurs once, and users and items occur several times. Names tell which is
    which; without names, whole numbers do.
    """
    columns = frame.columns
    if len(columns) not in (3, 4):
        return ""
    if frame.has_names:
        who = [i for i in range(3) if _names_one(columns[i], PEOPLE)]
        what = [i for i in range(3) if _names_one(columns[i], THINGS)]
        if len(who) != 1 or len(what) != 1:
            return ""
        user = who[0]
        item = what[0]
    else:
        user = 0
        item = 1
        fewest = FEWEST if len(columns) == 4 and _are_times(columns[3]) else FEWEST_NUMBERED
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
    share = rows / (counts[0] * counts[1])
    return (
        f"these seem to be ratings, one a row, of {counts[0]:,} × {counts[1]:,}, {share:.1%} of"
        f" all; to learn what goes together, write a row for each {names[0]!r} and a column for"
        f" each {names[1]!r}, empty where there is none: in pandas, frame.pivot(index={names[0]!r},"
        f" columns={names[1]!r}, values={names[2]!r})"
    )


def _names_one(column: RawColumn, nouns: tuple[str, ...]) -> bool:
    """Return whether a name is one of these nouns, as in user, userId, user_id or item ids."""
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", column.name).lower()
    words = re.sub(r"[ _.-]+", " ", words).strip().removesuffix("s")
    last = words.removesuffix(" id").removesuffix("id").removesuffix("s").split(" ")[-1]
    return last in nouns


def _are_times(column: RawColumn) -> bool:
    """Return whether a column holds seconds, or milliseconds, since 1970."""
    values = column.values
    return values.dtype.kind == "M" or (values.dtype.kind == "f" and np.nanmin(values) > SECONDS)


def _are_numbers_of_things(column: RawColumn, fewest: int) -> bool:
    """Return whether a column without a name holds many different whole numbers from 0 on."""
    values = column.values
    if values.dtype.kind != "f" or np.isnan(values).any():
        return False
    is_whole = bool((values == np.rint(values)).all()) and values.min() >= 0
    return is_whole and len(np.unique(values)) > fewest
