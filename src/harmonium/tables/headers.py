"""Whether a record of a text file names the columns: by what it would be as a row.

A record is weighed twice: how probable are its cells as names, and how probable are they as cells
of the columns below. So a word above numbers, numbers 0, 1, 2, … above others, an empty first cell
or a word that its column never has count for names, each as much as it says.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .cells import MISSING, NUMBER
from .moments import YEARS

MOST_CELLS = 40_000  # that are looked at, but of 20 rows at least
USUAL_NAMES = frozenset(
    (
        *("age", "class", "category", "city", "code", "color", "colour", "count", "country"),
        *("date", "day", "gender", "gene", "group", "id", "index", "item", "key", "label"),
        *("month", "name", "number", "price", "sex", "species", "target", "time", "title", "type"),
        *("unit", "user", "value", "weight", "year"),
    )
)
NAME_OF_RANGE = r"[<>≤≥]?=? ?\d+ ?\+?|\d.*[%‰<>]|\d+ ?[-–:] ?\d+"  # 2021, <18, 18-65, 65+, 5%
DAY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{4}[-/]\d{1,2}"
# Probabilities of what stands in a line of names, where no other reason is given.
NEW_WORD, SEEN_WORD, ONLY_WORD = 0.95, 0.05, 0.6  # a word that its column has not, has, has alone
TWICE = 0.05  # a name that another column has too
EMPTY_FIRST, EMPTY, GAP = 0.3, 0.05, 0.002  # as above an index; elsewhere; a word such as NA
COUNTED, COUNTED_ON = 0.006, 0.2  # 0, 1 or 1, 2, with which many rows begin; three or more
SPACED, YEAR, DIFFERENT = 0.005, 0.01, 0.003  # numbers at equal distances; one year; others
DATES = 0.05
DECIMAL = 1e-4
UNLIKE_NAMES = 1e-6
WORDS_ARE_NAMES = 3.0  # odds before the cells are seen: most files of words have names
RARE_SECOND_LINE = 0.01  # of a further line of names, or of units


class _Column(NamedTuple):
    """The cells below a name: how many of each kind, and of each text."""

    count: int
    kinds: Counter[str]
    cells: Counter[str]
    words: Counter[str]
    shapes: Counter[str]
    decimals: Counter[int]
    smallest: float
    largest: float


def log_odds(
    record: Sequence[str], rows: Sequence[Sequence[str]], missing: Sequence[str] = ()
) -> float:
    """Return the logarithm (base 10) of the odds that a record names the columns of some rows.

    Args:
        record: its cells.
        rows: the records that are rows whatever it is.
        missing: words for missing cells, besides the usual ones.
    """
    blanks = {"", *MISSING, *(word.lower() for word in missing)}
    cells = [cell.strip() for cell in record]
    kinds = [_kind_of(cell, blanks) for cell in cells]
    numbers = [cell for cell, kind in zip(cells, kinds, strict=True) if _is_numeric(kind)]
    if not any(cells) or (numbers and not rows):
        return -math.inf
    as_names = _numbers_as_names(numbers)
    if as_names <= UNLIKE_NAMES and "word" not in kinds:
        return -math.inf
    rows = rows[: max(20, MOST_CELLS // len(cells))]
    counted = _is_counted(numbers)
    if counted and _has_such_rows(cells, rows):
        as_names, counted = UNLIKE_NAMES, False
    total = math.log10(as_names)
    total += math.log10(WORDS_ARE_NAMES) if "word" in kinds else 0.0
    total += math.log10(DATES) if "date" in kinds else 0.0
    before: set[str] = set()
    for place, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        column = _column_of([row[place] for row in rows if place < len(row)], blanks)
        if kind == "word":
            total += math.log10(_word_as_name(cell, column))
            total += math.log10(TWICE) if cell in before else 0.0
            before.add(cell)
        elif kind == "missing":
            empty = EMPTY if place else EMPTY_FIRST
            total += math.log10(GAP if cell else empty)
        as_row = _as_row(cell, kind, column)
        if counted and kind == "whole":
            as_row = min(as_row, _value(cell, column))
        total -= math.log10(as_row)
    return total


def is_further_line(
    record: Sequence[str], rows: Sequence[Sequence[str]], missing: Sequence[str] = ()
) -> bool:
    """Return whether a record below the names is a second line of them, or of units.

    It has words and no number, and some of them would be strange in their columns. A row with gaps
    alone, as a series of differences begins, is a row.
    """
    blanks = {"", *MISSING, *(word.lower() for word in missing)}
    kinds = [_kind_of(cell.strip(), blanks) for cell in record]
    if len(rows) < 3 or len(record) < 2 or not set(kinds) <= {"word", "missing"}:
        return False
    words = [place for place, kind in enumerate(kinds) if kind == "word"]
    if not words:
        return False
    parts = [[row[place] for place in words if place < len(row)] for row in rows]
    of_words = log_odds([record[place] for place in words], parts, missing)
    is_strange = of_words - math.log10(WORDS_ARE_NAMES) >= 1.0
    return is_strange and log_odds(record, rows, missing) + math.log10(RARE_SECOND_LINE) > 0


def _kind_of(cell: str, blanks: set[str]) -> str:
    if cell.lower() in blanks:
        return "missing"
    if re.fullmatch(r"[+-]?\d+", cell):
        return "whole"
    if re.fullmatch(r"[+-]+", cell):
        return "number"  # spins
    if re.fullmatch(DAY, cell):
        return "date"
    if re.fullmatch(NUMBER, cell):
        return "number"
    # Digits without letters: amounts and percentages, told apart by their signs.
    is_number = re.fullmatch(r"[^A-Za-z]*\d[^A-Za-z]*", cell)
    # A hyphen between digits is that of a range or of a telephone.
    return "number" + re.sub(r"[\d.,\s]|^[+-]", "", cell) if is_number else "word"


def _is_numeric(kind: str) -> bool:
    return kind == "whole" or kind.startswith("number")


def _column_of(cells: list[str], blanks: set[str]) -> _Column:
    bare = [cell.strip() for cell in cells]
    kinds = [_kind_of(cell, blanks) for cell in bare]
    words = [cell for cell, kind in zip(bare, kinds, strict=True) if kind == "word"]
    numbers = [cell for cell, kind in zip(bare, kinds, strict=True) if _is_numeric(kind)]
    sizes = [abs(_number(cell)) for cell in numbers]
    return _Column(
        count=len(bare),
        kinds=Counter(kinds),
        cells=Counter(bare),
        words=Counter(words),
        shapes=Counter(map(_shape_of, words)),
        decimals=Counter(_decimals(cell) for cell in numbers),
        smallest=min(sizes, default=0.0),
        largest=max(sizes, default=math.inf),
    )


def _decimals(cell: str) -> int:
    """Return how many digits stand after the point of a number."""
    return len(cell.partition(".")[2])


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:  # signs around it
        return 0.0


def _shape_of(word: str) -> str:
    """Return what a word looks like: its first letter, and whether it has digits."""
    first = "A" if word[0].isupper() else "a" if word[0].islower() else "-"
    return first + ("1" if re.search(r"\d", word) else "")


def _word_as_name(word: str, column: _Column) -> float:
    if column.words[word]:
        # Answers to be ticked: cells are empty or repeat the name.
        return ONLY_WORD if len(column.words) == 1 else SEEN_WORD
    usual = 10.0 if word.lower() in USUAL_NAMES else 1.0
    return NEW_WORD * usual


def _as_row(cell: str, kind: str, column: _Column) -> float:
    """Return how probable a cell is in a column."""
    share = (column.kinds[kind] + 0.2) / (column.count + 0.4)
    if _is_numeric(kind):
        # Numbers as 2022 or 4711 above small ones, or above millions.
        size = abs(_number(cell))
        is_far = size > 3.0 * column.largest or 0.0 < 3.0 * size < column.smallest
        if is_far:
            return share * 0.5 / (column.count + 1)
        if kind != "number":
            return share
        return share * (column.decimals[_decimals(cell)] + 0.5) / (column.count + 1)
    words = sum(column.words.values())
    if kind != "word" or not words:
        return share
    singles = sum(count == 1 for count in column.words.values())
    unseen = (singles + 0.5) / (words + 1.0)  # as Good and Turing estimate it
    if column.words[cell]:
        return share * max(1.0 - unseen, 0.5 / (words + 1.0))
    shape = (column.shapes[_shape_of(cell)] + 0.5) / (words + 1.0)
    return share * unseen * shape


def _value(cell: str, column: _Column) -> float:
    """Return how probable a cell of exactly this text is in a column."""
    return (column.cells[cell] + 0.5) / (column.count + 1.0)


def _is_counted(numbers: list[str]) -> bool:
    """Return whether numbers count from 0 or from 1."""
    first = numbers[0] if numbers else ""
    if first not in ("0", "1"):
        return False
    return numbers == [str(int(first) + place) for place in range(len(numbers))]


def _numbers_as_names(numbers: list[str]) -> float:
    """Return how probable it is that just these numbers name columns; 1 for no numbers."""
    if not numbers:
        return 1.0
    if _is_counted(numbers):
        return COUNTED_ON if len(numbers) > 2 else COUNTED
    if len(set(numbers)) < len(numbers):
        return UNLIKE_NAMES
    values = [_number(cell) for cell in numbers]
    steps = {round(b - a, 6) for a, b in pairwise(values)}
    # Doses and penalties are spaced by their ratios: 0.001, 0.01, 0.1.
    ratios = {round(b / a, 6) for a, b in pairwise(values)} if all(values) else set()
    if len(values) > 2 and min(len(steps), len(ratios) or 2) == 1 and 0.0 not in steps:
        return SPACED
    if all(re.fullmatch(r"\d{4}", cell) and _is_year(float(cell)) for cell in numbers):
        return YEAR
    if all(re.fullmatch(NAME_OF_RANGE, cell) for cell in numbers):
        return DIFFERENT
    return max(DECIMAL ** len(numbers), 1e-300)


def _is_year(value: float) -> bool:
    return YEARS[0] <= value <= YEARS[1]


def _has_such_rows(cells: list[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are like one that counts: they count on from another number, or are it.

    So it is with windows of a series, ranks, and matrices that were typed.
    """
    places = [place for place, cell in enumerate(cells) if re.fullmatch(r"\d+", cell)]
    if len(places) < 3:
        return False
    wanted = sorted(cells[place] for place in places)
    for row in rows:
        others = [row[place].strip() for place in places if place < len(row)]
        if sorted(others) == wanted:
            return True
        if all(re.fullmatch(r"\d{1,15}", cell) for cell in others):
            steps = {int(b) - int(a) for a, b in pairwise(others)}
            if steps == {1}:
                return True
    return False
