"""Groups of related 0/1 columns: mutually exclusive columns, and duplicate columns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Integer

from ..errors import count_of
from .dataset import Dataset

__all__ = ["exclusive_groups"]

LEVEL = 1e-4  # largest probability of accepting any group of one size if columns are independent
COVER = 0.5  # minimum fraction of the rows in which some column of a category is on
SHARE = 0.02  # minimum fraction of rows with two or more columns on if columns were independent
MOST_COLUMNS = 2_000  # the table of all pairs is searched


class Groups(NamedTuple):
    """Groups of columns that are mutually exclusive, and groups of equal columns.

    Attributes:
        exclusive: groups in which at most one column is on in any row.
        equal: groups of columns that are equal in every row.
    """

    exclusive: tuple[tuple[int, ...], ...] = ()
    equal: tuple[tuple[int, ...], ...] = ()

    @property
    def all(self) -> tuple[tuple[int, ...], ...]:
        """The groups of both types, sorted by the index of their first column."""
        return tuple(sorted((*self.exclusive, *self.equal)))

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each type of group that occurs."""
        return tuple(
            f"{sum(map(len, groups)):,} columns form {count_of(len(groups), 'group')} of columns"
            f" of which {rule} (such as {_listed(groups[0])}): each group is {what}."
            for groups, rule, what in (
                (self.exclusive, "at most one is on in any row", "read as one category"),
                (self.equal, "all are the same in every row", "read as one value"),
            )
            if groups
        )


def exclusive_groups(rows: Any) -> tuple[tuple[int, ...], ...]:
    """Return groups of 0/1 columns that are mutually exclusive, which chance does not explain.

    In such a group, at most one column is on in any row. Let column a be on in n_a of n rows, and
    the columns already in the group be on in s rows. If columns were independent, column a would be
    off in all of these s rows with probability C(n − s, n_a) / C(n, n_a). A group of q columns is
    accepted if the product of these probabilities, one for each added column, is below
    1e-4 / C(columns, q), so that in data with independent columns the probability of accepting any
    set of q columns is at most 1e-4. A group must also resemble a category: in at least half of the
    rows, one of its columns is on; and if its columns were independent, more than one would be on
    in at least 2 % of the rows. (In pictures, many groups of pixels are never on together, but few
    of them meet these conditions.)

    Args:
        rows: 0 and 1, shape (n, columns), or a `Dataset`. Rows with a missing value are ignored.

    Returns:
        The groups, sorted by their first columns; each lists its columns in ascending order.
        Columns that are never or always on are in no group. With more than 2,000 columns, the
        result is empty.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> letters = np.eye(4)[rng.integers(0, 4, (200, 2))][..., 1:]
        >>> hm.data.exclusive_groups(letters.reshape(200, 6))
        ((0, 1, 2), (3, 4, 5))
    """
    return column_groups(rows).exclusive


def column_groups(rows: Any) -> Groups:
    """Return exclusive groups (see `exclusive_groups`), and groups of columns equal in every row.

    Two columns that are each on in n_a of n rows are equal by chance with probability
    1 / C(n, n_a). They form a group if this probability is below 1e-4 divided by the number of
    pairs.
    """
    data = Dataset.of(rows)
    if data.columns > MOST_COLUMNS or data.stochastic or data.scale != 1.0:
        return Groups()
    n, both = _co_occurrences(data)
    if both is None:
        return Groups()
    counts = np.diag(both)
    free = (counts > 0) & (counts < n)
    chance = _LogChance(n, counts, math.log(LEVEL))
    exclusive = _exclusive(free, both > 0, chance)
    return Groups(exclusive, _equal(free, both, chance))


def _exclusive(
    free: np.ndarray, both: np.ndarray, chance: _LogChance
) -> tuple[tuple[int, ...], ...]:
    """Return exclusive groups, found by repeatedly accepting the best group of unused columns."""
    grown: dict[int, tuple[float, list[int]]] = {}
    groups: list[tuple[int, ...]] = []
    while True:
        for seed in np.flatnonzero(free):
            if seed not in grown:
                grown[int(seed)] = _grown(int(seed), both, free, chance)
        score, taken = min(grown.values(), default=(0.0, []))
        if score >= 0:
            return tuple(sorted(groups))
        if chance.is_category(taken):
            groups.append(tuple(sorted(taken)))
            free[taken] = False
            gone = set(taken)
            grown = {s: group for s, group in grown.items() if gone.isdisjoint((s, *group[1]))}
        else:
            grown |= dict.fromkeys(taken, (0.0, []))


def _equal(
    free: np.ndarray, joint_counts: np.ndarray, chance: _LogChance
) -> tuple[tuple[int, ...], ...]:
    """Return groups of unused columns that are on in the same rows."""
    counts = chance.counts
    columns = np.flatnonzero(free)
    is_significant = -chance.ways(chance.n, counts) < chance.needed(2)
    groups: list[tuple[int, ...]] = []
    taken: set[int] = set()
    for a in columns:
        if a not in taken and is_significant[a]:
            same = columns[(joint_counts[a, columns] == counts[a]) & (counts[columns] == counts[a])]
            if len(same) > 1:
                groups.append(tuple(int(column) for column in same))
                taken |= set(groups[-1])
    return tuple(groups)


class _LogChance:
    """Log probabilities of the event that independent columns are never on in the same row."""

    def __init__(self, n: int, counts: Integer[np.ndarray, " columns"], level: float):
        self.n = n
        self.counts = counts
        self.level = level
        numbers = np.arange(1, max(n, len(counts)) + 1)
        self.log_factorials = np.concatenate([[0.0], np.cumsum(np.log(numbers))])

    def ways(self, of: Any, chosen: Any) -> Any:
        """Return log C(of, chosen), the log number of ways to choose rows or columns."""
        logs = self.log_factorials
        return logs[of] - logs[chosen] - logs[of - chosen]

    def clear(self, covered: int) -> Float[np.ndarray, " columns"]:
        """Return log[C(n − s, n_a) / C(n, n_a)] for each column a; −∞ if n_a > n − s.

        `covered` is s, the number of rows in which a column of the group is on.
        """
        room = self.n - covered
        able = self.counts <= room
        counts = np.minimum(self.counts, room)
        return np.where(able, self.ways(room, counts) - self.ways(self.n, counts), -np.inf)

    def needed(self, size: int) -> float:
        """Return the threshold of the log probability for accepting a group of this size."""
        return self.level - float(self.ways(len(self.counts), size))

    def is_category(self, columns: list[int]) -> bool:
        """Return whether exclusive columns are often on, and by chance would often coincide."""
        on = self.counts[columns] / self.n
        none = np.prod(1 - on)
        together = 1 - none - (none * on / (1 - on)).sum()
        return bool(on.sum() >= COVER and together >= SHARE)


def _co_occurrences(data: Dataset) -> tuple[int, np.ndarray | None]:
    """Return the number of complete rows, and in how many of them both columns of each pair are on.

    The counts of pairs are None if the rows contain anything but 0 and 1.
    """
    n = 0
    both = np.zeros((data.columns, data.columns), np.int64)
    for part in data.parts():
        rows = part[~np.isnan(part).any(1)]
        if not data.stored.is_binary and not np.isin(rows, (0, 1)).all():
            return n, None
        x = rows.astype(np.float32)  # counts are exact below 2²⁴
        both += (x.T @ x).astype(np.int64)
        n += len(rows)
    return n, both


def _listed(columns: tuple[int, ...]) -> str:
    """Return column indices as text: "0, 1 and 2", or "0, 3, …, 41" for many columns."""
    first, *others, last = columns
    if len(others) > 2:
        return f"{first}, {others[0]}, …, {last}"
    return f"{', '.join(map(str, (first, *others)))} and {last}"


def _grown(
    seed: int, both: np.ndarray, free: np.ndarray, chance: _LogChance
) -> tuple[float, list[int]]:
    """Return the best group grown from a column, preceded by its score (negative if accepted).

    Each step adds the column that is least likely to be exclusive with the group by chance.
    """
    group = [seed]
    covered = int(chance.counts[seed])
    log_p = 0.0
    able = free & ~both[seed]
    best: tuple[float, list[int]] = (0.0, [])
    while able.any():
        logs = np.where(able, chance.clear(covered), np.inf)
        column = int(np.argmin(logs))
        log_p += float(logs[column])
        group.append(column)
        covered += int(chance.counts[column])
        able &= ~both[column]
        able[column] = False
        score = log_p - chance.needed(len(group))
        if score < best[0]:
            best = (score, list(group))
    return best
