"""Alignments that are written in blocks of lines: Stockholm, Clustal and PHYLIP.

Biopython and easel read these too. They are read here all the same, since both take the first
family alone or join lines of one name, and an alignment is to be read without an extra package.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from ..errors import InputError, input_error
from .entries import LETTERS, Entry, Family, entry

STOCKHOLM = re.compile(rb"#\s*STOCKHOLM\b", re.IGNORECASE)  # the first line of a family
Named = tuple[bytes, bytes, int]  # name, letters and line of a sequence
_CONSERVATION = re.compile(rb"[ \t*:.]+")  # the line below a block of Clustal


class Row(NamedTuple):
    """A line of a block; blank lines tell paragraphs."""

    name: bytes
    letters: bytes
    line: int
    paragraph: int


# --- Stockholm ------------------------------------------------------------------------------


def stockholm(content: bytes, label: str) -> list[Family]:
    """Return the families of a Stockholm file, each of which ends with a line of //.

    Raises:
        InputError: a line that is no name with letters, or blocks that do not fit together.
    """
    families = list[Family]()
    rows, names, paragraph = list[Row](), dict[bytes, str](), 0
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.startswith(b"//") or STOCKHOLM.match(line):
            if rows:
                families.append(_family(rows, names, label, line.startswith(b"//")))
            rows, names, paragraph = [], {}, 0
        elif not line.strip():
            paragraph += 1
        elif line.startswith(b"#=GF"):
            what = line.split(None, 2)
            if len(what) == 3 and what[1] in (b"AC", b"ID"):
                names.setdefault(what[1], what[2].decode(errors="replace").strip())
        elif not line.startswith(b"#"):
            name, *letters = line.split()
            if len(letters) != 1:
                raise _no_row(label, line, number)
            rows.append(Row(name, letters[0], number, paragraph))
    if rows:
        families.append(_family(rows, names, label, False))
    if not families:
        raise input_error(label, "aligned sequences", "none", "check how it was written")
    return families


def _family(rows: list[Row], names: dict[bytes, str], label: str, is_closed: bool) -> Family:
    entries, notes = joined(rows, label)
    accession = names.get(b"AC", "")
    # Pfam's accessions have a version, PF00072.27, that people leave out.
    called = (accession.partition(".")[0], names.get(b"ID", ""), accession)
    if not is_closed:
        notes += ("the line // that ends it is missing: perhaps it was cut short",)
    return Family(tuple(dict.fromkeys(name for name in called if name)), entries, notes)


# --- Clustal --------------------------------------------------------------------------------


def clustal(content: bytes, label: str) -> Family:
    """Return the sequences of a Clustal file; its lines of conservation are left out.

    Raises:
        InputError: a line that is no name with letters, or blocks that do not fit together.
    """
    rows, paragraph, is_head = list[Row](), 0, True
    for number, line in enumerate(content.split(b"\n"), 1):
        if is_head or _CONSERVATION.fullmatch(line) or not line.strip():
            is_head = is_head and not line.strip()
            paragraph += 1
            continue
        name, *letters = line.split()
        if len(letters) == 2 and letters[1].isdigit():  # the number of residues so far
            letters = letters[:1]
        if len(letters) != 1:
            raise _no_row(label, line, number)
        rows.append(Row(name, letters[0], number, paragraph))
    if not rows:
        raise input_error(label, "aligned sequences", "none", "check how it was written")
    return Family((), *joined(rows, label))


# --- Blocks of named lines ------------------------------------------------------------------


def joined(rows: list[Row], label: str) -> tuple[list[Entry], tuple[str, ...]]:
    """Return the sequences of lines, of which those of one name are joined only if blocks say so.

    Blocks have the same names in the same order. They are parted by blank lines, or follow each
    other; a name in two lines of one block is that of two sequences.

    Raises:
        InputError: a name stands in blocks that differ, or lines of a block differ in length.
    """
    paragraphs = [list(group) for _, group in groupby(rows, key=lambda row: row.paragraph)]
    orders = [[row.name for row in paragraph] for paragraph in paragraphs]
    notes = ()
    if len(orders) > 1 and all(order == orders[0] for order in orders):
        blocks = paragraphs
    else:
        height = _period([row.name for row in rows])
        blocks = [rows[k : k + height] for k in range(0, len(rows), height)]
        if len(blocks) > 1:
            number = f"{len(blocks):,} blocks with the same {height:,} names in the same order"
            notes = (f"{number} are joined",)
        else:
            _check_paragraphs(paragraphs, label)
            return [entry(row.name, row.letters, row.line, label) for row in rows], notes
    for block in blocks:
        width = len(block[0].letters)
        for row in block:
            if len(row.letters) != width:
                expected = f"{width:,} letters in line {row.line:,}, as in line {block[0].line:,}"
                found = f"{len(row.letters):,} of {_text(row.name)}"
                raise input_error(label, expected, found, "mend this block, or align again")
    columns = zip(*blocks, strict=True)
    sequences = [(lines[0], b"".join(row.letters for row in lines)) for lines in columns]
    return [entry(row.name, letters, row.line, label) for row, letters in sequences], notes


def _period(names: list[bytes]) -> int:
    """Return after how many lines the same names begin again, or their number if they do not."""
    height = next((k for k in range(1, len(names)) if names[k] == names[0]), len(names))
    # One name in each line is several sequences of that name, not a sequence in several lines.
    is_block = height > 1 and len(set(names[:height])) == height and len(names) % height == 0
    repeats = is_block and names == names[:height] * (len(names) // height)
    return height if repeats else len(names)


def _check_paragraphs(paragraphs: list[list[Row]], label: str) -> None:
    """Refuse a name in several paragraphs: it may be one sequence in parts, or several."""
    first = dict[bytes, Row]()
    for paragraph in paragraphs:
        for row in paragraph:
            earlier = first.setdefault(row.name, row)
            if earlier.paragraph != row.paragraph:
                found = f"{_text(row.name)} in lines {earlier.line:,} and {row.line:,}"
                found += ", whose blocks have other names"
                advice = "write each sequence in one line, or all names in each block"
                raise input_error(label, "the same names in each block", found, advice)


def _no_row(label: str, line: bytes, number: int) -> InputError:
    expected, advice = "a name and letters in each line", "check how it was written"
    return input_error(label, expected, f"{line[:40]!r} in line {number:,}", advice)


def _text(name: bytes) -> str:
    return repr(name.decode(errors="replace"))


# --- PHYLIP ---------------------------------------------------------------------------------


def phylip(content: bytes, label: str) -> Family:
    """Return the sequences of a PHYLIP file, whichever of its forms it has.

    Names end at a blank, or after ten letters; sequences follow each other, or are in blocks. A
    form counts if it gives as many sequences of as many letters as the first line says.

    Raises:
        InputError: no form does, or two do with different results.
    """
    lines = [(k, line) for k, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    number, length = (int(word) for word in lines[0][1].split()[:2])
    expected = f"{number:,} sequences of {length:,} letters, as the first line says"
    forms = list[list[Entry]]()
    for is_strict in (False, True):
        for rows_of in (_in_blocks, _one_by_one):
            rows = rows_of(lines[1:], number, length, is_strict)
            if rows is not None:
                entries = [entry(name, letters, line, label) for name, letters, line in rows]
                forms += [entries] if entries not in forms else []
    advice = "write the sequences as FASTA"
    if not forms:
        raise input_error(label, expected, f"others in {len(lines) - 1:,} lines", advice)
    if len(forms) > 1:
        raise input_error(label, expected, "two ways to read them", advice)
    if any(b"." in item.letters for item in forms[0]):
        # PHYLIP's own programs repeat the first sequence there, others mean a gap.
        found = "dots, which mean a gap or the letter of the first sequence"
        raise input_error(label, "PHYLIP without dots", found, "write gaps as '-'")
    return Family((), forms[0])


def _in_blocks(
    lines: list[tuple[int, bytes]], number: int, length: int, is_strict: bool
) -> list[Named] | None:
    """Return name, letters and line of sequences in blocks; None if they are not."""
    if not number or len(lines) % number:
        return None
    heads = [_head(line, is_strict) for _, line in lines[:number]]
    parts = [[letters] for _, letters in heads]
    for place, (_, line) in enumerate(lines[number:]):
        parts[place % number].append(b"".join(line.split()))
    rows = zip(heads, parts, lines, strict=False)
    found = [(head[0], b"".join(part), line) for head, part, (line, _) in rows]
    return found if all(head[1] for head in heads) and _fit(found, length) else None


def _one_by_one(
    lines: list[tuple[int, bytes]], number: int, length: int, is_strict: bool
) -> list[Named] | None:
    """Return name, letters and line of sequences that follow each other; None if they do not."""
    found, place = list[Named](), 0
    while place < len(lines) and len(found) < number:
        line, text = lines[place]
        name, letters = _head(text, is_strict)
        parts, width = [letters], len(letters)
        place += 1
        while width < length and place < len(lines):
            parts.append(b"".join(lines[place][1].split()))
            width += len(parts[-1])
            place += 1
        found.append((name, b"".join(parts), line))
    is_all = place == len(lines) and len(found) == number
    return found if is_all and _fit(found, length) else None


def _head(line: bytes, is_strict: bool) -> tuple[bytes, bytes]:
    """Return the name that begins a line, and the letters after it."""
    name = line[:10] if is_strict else b"".join(line.split(None, 1)[:1])
    rest = line[10:] if is_strict else line.lstrip()[len(name) :]
    return name.strip(), b"".join(rest.split())


def _fit(rows: list[Named], length: int) -> bool:
    return all(
        name and len(letters) == length and LETTERS.fullmatch(letters) for name, letters, _ in rows
    )
