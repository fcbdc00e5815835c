"""Detecting the separator between the cells of a text file, and splitting lines into records."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..errors import InputError
from .numbers import is_number
from .readings import MISSING

RARE_MARKS = "~^"  # these separate cells only if no other character does
MARKS = "\t;|,"  # in order of preference: commas also occur in numbers and texts
BLANKS = " "  # any number of blanks
WIDE_BLANKS = "  "  # two or more, if cells contain single blanks
QUOTED = r'"(?:[^"\\]|\\.|"")*"|\S+'  # a cell between blanks
THOUSANDS = r"\d{1,3}( \d{3})+([.,]\d+)?"
MOMENT = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?"
DECIMAL_COMMA = r"[+-]?\d+,\d+([eE][+-]?\d+)?"
COMMENTS = ("#", "%")  # begin a line that is not a row
RULE = r"[-+:=|\s]{3,}"  # between rows, in tables drawn with characters
RULE_OF_BLANKS = r"(={2,}|-{3,})(\s+(={2,}|-{3,}))*"  # likewise with blanks; not a row of spins
MOSTLY = 0.5  # minimum fraction of the lines of a table with equally many cells
ALIGNED = 0.9  # such a fraction if one or two lines may be a title or a description
FEW_WORDS = 6  # maximum number of different words in a table of signs such as X and Z
REPEATED = 3  # minimum average count of a word in its column, in a table without numbers


class Record(NamedTuple):
    """The cells of a line (or of several, if cells contain line breaks), and the line number."""

    line: int
    cells: list[str]

    @property
    def is_blank(self) -> bool:
        """Whether all cells are blank."""
        return not any(map(str.strip, self.cells))

    @property
    def bare(self) -> tuple[str, ...]:
        """The cells without surrounding blanks."""
        return tuple(map(str.strip, self.cells))

    @property
    def filled(self) -> list[str]:
        """The cells that are not blank."""
        return list(filter(str.strip, self.cells))

    @property
    def has_sign(self) -> bool:
        """Whether the record begins with a comment character."""
        return bool(self.cells) and self.cells[0].lstrip().startswith(COMMENTS)

    def is_longer_than(self, width: int) -> bool:
        """Return whether the record has an empty last cell in addition to `width` cells."""
        return len(self.cells) == width + 1 and not self.cells[-1].strip()


class Splitter(NamedTuple):
    """The rules for splitting lines into cells: the separator and the use of quotes.

    Attributes:
        mark: the separator: a character, `BLANKS` or `WIDE_BLANKS`.
        skips_blanks: whether blanks may precede an opening quote.
        has_escapes: whether quotes in cells are escaped with a backslash.
        quote: the character around quoted cells.
        is_framed: whether each line begins and ends with a separator, as in Markdown.
    """

    mark: str
    skips_blanks: bool = False
    has_escapes: bool = False
    quote: str = '"'
    is_framed: bool = False

    def records(
        self, lines: Sequence[str], first: int, label: str, *, is_whole: bool = True
    ) -> Iterator[Record]:
        """Split lines into records, including records for blank lines.

        Args:
            lines: the lines, including their line endings.
            first: the line number of the first line.
            label: the name of the file in error messages.
            is_whole: whether the lines include the end of the table; otherwise the last record may
                be incomplete.

        Raises:
            InputError: a quote is not closed, or a cell is too long.
        """
        if self.is_blank:
            for number, line in enumerate(lines, first):
                yield Record(number, self._between_blanks(line))
            return
        for record in self._between_marks(lines, first, label, is_whole):
            cells = record.cells
            if self.is_framed and len(cells) > 2 and not (cells[0] + cells[-1]).strip():
                cells = cells[1:-1]
            yield Record(record.line, cells)

    def _between_marks(
        self, lines: Sequence[str], first: int, label: str, is_whole: bool
    ) -> Iterator[Record]:
        settings: dict[str, Any] = {
            "delimiter": self.mark,
            "quotechar": self.quote,
            "skipinitialspace": self.skips_blanks,
            "escapechar": "\\" if self.has_escapes else None,
        }
        reader = csv.reader(lines, strict=True, **settings)
        while True:
            number = first + reader.line_num
            try:
                yield Record(number, next(reader))
            except StopIteration:
                return
            except csv.Error as error:
                last = first + reader.line_num - 1
                is_cut = last == first + len(lines) - 1 and "end of data" in str(error)
                if is_cut and not is_whole:
                    return
                if is_cut or last > number:
                    raise unclosed(label, number) from None
                if "field limit" in str(error):
                    raise InputError(
                        f"{label}: expected cells of at most 131,072 characters; got a longer one"
                        f" in line {number:,}; drop the column of long text."
                    ) from None
                # A quote and the next separator are not adjacent, for example because of a blank.
                yield Record(number, next(csv.reader([lines[number - first]], **settings)))

    @property
    def is_blank(self) -> bool:
        """Whether the cells are separated by any number of blanks."""
        return self.mark in (BLANKS, WIDE_BLANKS)

    def is_no_row(self, record: Record, width: int) -> bool:
        """Return whether a record is a comment or a line drawn between rows, rather than a row.

        Args:
            record: the record.
            width: the number of columns.
        """
        if self.is_rule(record.cells):
            return True
        if not record.has_sign:
            return False
        # A row may begin with a comment sign, as in #12, but then it has a cell for each column.
        is_sign_alone = self.is_blank and record.cells[0] in COMMENTS
        return len(record.cells) != width or is_sign_alone

    def is_rule(self, cells: list[str]) -> bool:
        """Return whether a record is a line of characters drawn between rows."""
        if self.is_blank:
            return re.fullmatch(RULE_OF_BLANKS, " ".join(cells)) is not None
        return self.mark == "|" and re.fullmatch(RULE, "|".join(cells)) is not None

    def _between_blanks(self, line: str) -> list[str]:
        if self.mark == WIDE_BLANKS:
            if line.strip():
                return re.split(r"\s{2,}|\t", line.strip())
            return []
        if '"' not in line:
            return line.split()
        return [_bare(cell) for cell in re.findall(QUOTED, line)]


def unclosed(label: str, line: int) -> InputError:
    """Return the error for an unclosed quote."""
    return InputError(
        f"{label}: expected quotes in pairs; got one that opens in line {line:,} and is not closed"
        " there; close it, or double a quote within a cell."
    )


def _bare(cell: str) -> str:
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"':
        return cell
    return re.sub(r'\\(.)|""', lambda match: match[1] or '"', cell[1:-1])


def splitter_of(lines: Sequence[str], separator: str | None, label: str) -> Splitter:
    """Choose the separator that gives most lines the same number of cells.

    Args:
        lines: the first lines of a table, the last of them complete.
        separator: the separator, if it is known.
        label: the name of the file in error messages.
    """
    if separator is not None:
        return _with_quotes(separator, lines)
    splitters = [_with_quotes(mark, lines) for mark in MARKS]
    fits = [_fit(splitter, lines, label) for splitter in splitters]
    evenness, _ = max(fits)
    best = splitters[fits.index(max(fits))]  # the first if several split equally well
    if evenness < MOSTLY:
        rare = next((mark for mark in RARE_MARKS if _divides_all(mark, lines)), None)
        if rare is not None:
            return _with_quotes(rare, lines)
    if _are_numbers_between_blanks(lines, best):
        return Splitter(BLANKS)
    blanks = _blanks_between(lines, evenness)
    if blanks is not None:
        return Splitter(blanks)
    if not evenness:
        return _with_quotes(",", lines)
    return best


def _fit(splitter: Splitter, lines: Sequence[str], label: str) -> tuple[float, float]:
    """Return two measures of how well a separator splits lines.

    The first measure is the fraction of lines with the most frequent number of cells, or 0 if this
    number is 1. The second measure is the fraction of cells that neither begin nor end with another
    separator.
    """
    records = _records_before_error(splitter, lines, label)
    fraction, width = _common(records)
    # Rounded, so that cleanness decides between separators that split almost equally well.
    return round(fraction, 2) * (width > 1), _cleanness(records, splitter.mark)


def _plain_lines(lines: Sequence[str]) -> list[str]:
    plain = (line.strip() for line in lines if not line.startswith(COMMENTS))
    return [line for line in plain if line and not re.fullmatch(RULE_OF_BLANKS, line)]


def _divides_all(mark: str, lines: Sequence[str]) -> bool:
    """Return whether a rare separator splits all lines into the same columns, none being empty."""
    cells = [line.split(mark) for line in _plain_lines(lines)]
    width = 0
    if cells:
        width = len(cells[0])
    columns = zip(*cells, strict=False)
    is_even = all(len(row) == width for row in cells)
    # Each column needs a cell: "~5" is a number, not a second cell.
    return width > 1 and is_even and all(any(cell.strip() for cell in c) for c in columns)


def _are_numbers_between_blanks(lines: Sequence[str], splitter: Splitter) -> bool:
    """Return whether blanks separate numbers although another separator seems to divide the cells.

    The other separator may be a tab among blanks, or a decimal comma below names without commas.
    """
    text = _plain_lines(lines)
    if splitter.mark not in ("\t", ",") or len(text) < 2 or splitter.mark in text[0]:
        return False
    records = [Splitter(BLANKS)._between_blanks(line) for line in text]
    fraction, width = _common(records)
    if width < 2 or fraction < 1.0:
        return False
    if splitter.mark == "\t":
        return is_numbers(chain.from_iterable(records[1:]))
    with_commas = [cell for record in records[1:] for cell in record if "," in cell]
    return all(re.fullmatch(DECIMAL_COMMA, cell) for cell in with_commas)


def _records_before_error(splitter: Splitter, lines: Sequence[str], label: str) -> list[list[str]]:
    """Return the records before the first error, which is raised later, when all rows are read."""
    records: list[list[str]] = []
    try:
        # `extend` keeps the items that the generator yielded before an error.
        records.extend(
            record.cells
            for record in splitter.records(lines, 1, label, is_whole=False)
            if not record.is_blank
            and not record.cells[0].startswith(COMMENTS)
            and not splitter.is_rule(record.cells)
        )
    except InputError:
        return records
    return records


def _with_quotes(mark: str, lines: Sequence[str]) -> Splitter:
    text = "".join(lines)
    skips_blanks = not mark.isspace() and re.search(rf'{re.escape(mark)} +"', text) is not None
    has_escapes = re.search(rf'\\"[^{re.escape(mark)}\r\n]', text) is not None
    quote = '"'
    if '"' not in text and _has_single_quotes(mark, lines):
        quote = "'"
    plain = [
        line.strip() for line in lines if line.strip() and not re.fullmatch(RULE, line.strip())
    ]
    framed = [line for line in plain if len(line) > 1 and line[0] == line[-1] == mark]
    # One or two lines may describe the table instead.
    is_framed = mark == "|" and len(plain) > 0 and len(framed) >= ALIGNED * len(plain)
    return Splitter(mark, skips_blanks, has_escapes, quote, is_framed)


def _has_single_quotes(mark: str, lines: Sequence[str]) -> bool:
    """Return whether nearly all lines have cells in single quotes, and all quotes are closed."""
    ends = re.escape(mark)
    cell = rf"(?:^|{ends})\s*'(?:[^']|'')*'\s*(?=$|{ends})"
    bare = [line.strip() for line in lines if line.strip()]
    rests = [re.sub(cell, "", line) for line in bare]
    with_pairs = sum(len(rest) < len(line) for line, rest in zip(bare, rests, strict=True))
    # An apostrophe that begins a cell but is not closed belongs to a word: 'tis
    opened = any(re.search(rf"(?:^|{ends})\s*'", rest) for rest in rests)
    return with_pairs >= ALIGNED * len(bare) and not opened


def _common(records: list[list[str]]) -> tuple[float, int]:
    """Return the fraction of records with the most frequent number of cells, and that number."""
    widths = Counter(map(len, records))
    width = max(widths, key=lambda width: widths[width], default=0)  # the first of equals
    return widths[width] / max(1, len(records)), width


def _cleanness(records: list[list[str]], mark: str) -> float:
    """Return the fraction of cells that neither begin nor end with another separator."""
    others = tuple(set(MARKS) - {mark})
    cells = [cell.strip(" ") for record in records[:50] for cell in record if cell.strip()]
    odd = sum(cell.strip().endswith(others) or cell.strip().startswith(others) for cell in cells)
    return round(1.0 - odd / max(1, len(cells)), 2)


def _blanks_between(lines: Sequence[str], others: float) -> str | None:
    """Return `BLANKS` or `WIDE_BLANKS` if blanks are the best separator of cells, or else None.

    Args:
        lines: the lines.
        others: the fraction of lines with equally many cells for the best other separator.
    """
    text = _without_repeated_names(_plain_lines(lines))
    records = [Splitter(BLANKS)._between_blanks(line) for line in text]
    wide = [Splitter(WIDE_BLANKS)._between_blanks(line) for line in text]
    fraction, width = _common(records)
    wide_fraction, wide_width = _common(wide)
    with_commas = (
        width > 1
        and fraction > ALIGNED
        and all(re.fullmatch(r"[+-]?\d+(,\d+)?", cell) for record in records for cell in record)
    )
    if with_commas and any("," in line for line in text):
        return BLANKS
    if others >= MOSTLY:
        return None
    is_wide = wide_fraction >= ALIGNED and wide_fraction > fraction
    if wide_width > 1 and len(text) > 2 and is_wide:
        return WIDE_BLANKS
    if width > 1 and _is_table(text, records, fraction, width):
        return BLANKS
    return None


def _without_repeated_names(text: list[str]) -> list[str]:
    """Remove repetitions of the first line if it has no digits but most other lines do."""
    if not text or re.search(r"\d", text[0]):
        return text
    others = [line for line in text[1:] if line.split() != text[0].split()]
    has_digits = 2 * sum(bool(re.search(r"\d", line)) for line in others) > len(others)
    if has_digits:
        return [text[0], *others]
    return text


def _is_table(text: list[str], records: list[list[str]], fraction: float, width: int) -> bool:
    """Return whether words between blanks are cells, rather than equally long sentences."""
    first, *others = records
    rows = [record for record in others if len(record) == width]
    if others and all(map(_is_number_or_gap, chain.from_iterable(others))):
        are_thousands = all(re.fullmatch(THOUSANDS, line) for line in text[1:])
        return not (are_thousands and len(first) == 1)
    if fraction < MOSTLY or not rows:
        return False
    if 2 * sum(bool(re.fullmatch(MOMENT, line)) for line in text) > len(rows):
        return False
    # Each line has at least two cells with two quotes each.
    is_quoted = all(line.startswith('"') and line.count('"') >= 4 for line in text[1:])
    columns = list(zip(*rows, strict=True))
    below = columns if len(rows) < 5 else [column[2:] for column in columns]  # skip the names
    numeric = [is_numbers(column) and any(map(is_number, column)) for column in below]
    has_titles = len(others[0]) == width and not any(map(_is_number_or_gap, others[0]))
    if len(first) == 1 and not is_quoted and not (has_titles and any(numeric)):
        # With one name above two cells, these are numbered rows, as in R, or texts of two words.
        return width == 2 and all(numeric) and counts_from(columns[0], 1)
    if any(numeric) or is_quoted:
        return True
    words = set(chain.from_iterable(rows))
    different = max(len(set(column)) for column in columns)
    if len(set(map(tuple, rows))) <= different:
        return False  # each word determines the next one: New York
    is_of_signs = len(words) <= FEW_WORDS and len(rows) > 2
    return is_of_signs or different * REPEATED <= len(rows)


def _is_number_or_gap(cell: str) -> bool:
    return cell.lower() in MISSING or is_number(cell.strip('"'))


def line_in_words(number: int, *, is_first: bool) -> str:
    """Return a line number in words: "the first line" or "line 12"."""
    if is_first:
        return "the first line"
    return f"line {number:,}"


def counts_from(cells: Sequence[str], first: int) -> bool:
    """Return whether cells are consecutive integers starting at `first`."""
    return list(cells) == [str(first + place) for place in range(len(cells))]


def is_numbers(cells: Iterable[str]) -> bool:
    """Return whether all cells are numbers or words for missing cells."""
    return all(_is_number_or_gap(cell.strip()) for cell in cells if cell.strip())
