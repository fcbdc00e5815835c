"""Formats of alignments, told by their content: FASTA with its kin, and lines of letters alone."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise
from pathlib import Path

from .._files import bytes_of, parser_errors, unzipped
from ..errors import InputError, count_of, input_error, printable
from .blocks import STOCKHOLM, Row, clustal, joined, phylip, stockholm
from .entries import LETTERS, Entry, Family, entry

PEEK = 2**16  # bytes from which a file without a telling name is judged
FEWEST_SITES = 10  # shorter lines of letters are words of a table rather than sequences
FEWEST_KNOWN = 0.95  # of such lines' letters are amino acids or bases; English has 10 % of O and U
_KNOWN = frozenset(b"ACDEFGHIKLMNPQRSTVWY-.XBZacdefghiklmnpqrstvwy")
_CLUSTAL = re.compile(rb"(CLUSTAL|MUSCLE|PROBCONS|MSAPROBS|T-COFFEE|Kalign)\b[^\n]*(\n|$)", re.I)
_PHYLIP = re.compile(rb"[ \t]*\d{1,9}[ \t]+\d{1,9}([ \t]+[A-Za-z]+)*[ \t]*\n")
_NAME_AND_LETTERS = re.compile(rb"[^\n]*?[ \t]+[A-Za-z.*?~_ \t-]+(\n|$)")
_TITLE = re.compile(rb"(^|\0)>", re.MULTILINE)
_COMMENT = re.compile(rb"^[#;].*", re.MULTILINE)
_PIR = re.compile(r"(P1|F1|D[LC]|R[LC]|N[13]|XX);")
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNREAD = (
    (rb"#NEXUS", "NEXUS"),
    (rb"!!|PileUp|[^\n]*\bMSF:", "MSF (GCG)"),
    (rb"HMMER\d|HHsearch", "a profile HMM, no alignment"),
    (rb"LOCUS |ID   ", "GenBank or EMBL"),
    (rb"<|\{", "XML, HTML or JSON"),
    (rb"PK\x03\x04|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd", "an archive"),
)


def families_in(path: Path, label: str) -> list[Family]:
    """Return the families of sequences of a file; `.gz` files are decompressed.

    Raises:
        InputError: the file cannot be read, or holds no sequences of a known format.
    """
    content = _plain(unzipped(bytes_of(path, label), label), label)
    if not content.strip(b"\0 \t\n"):
        raise input_error(label, "aligned sequences", "an empty file", "check how it was written")
    start = content.lstrip(b"\0 \t\n")
    if not STOCKHOLM.match(start) and _TITLE.search(content):
        return _fasta(content, label)
    content = content.rstrip(b"\0 \t\n") + b"\n"
    start = content.lstrip(b"\0 \t\n")
    if b"\0" in content:
        raise input_error(label, "text", "binary content", "write sequences as FASTA")
    if STOCKHOLM.match(start):
        return stockholm(content, label)
    if _CLUSTAL.match(start):
        return [clustal(content, label)]
    if _PHYLIP.match(start):
        return [phylip(content, label)]
    for pattern, name in _UNREAD:
        if re.match(pattern, start):
            raise _unknown(label, name)
    return [_lines_of_letters(content, label)]


def looks_aligned(start: bytes) -> bool:
    """Return whether a text file that begins with these bytes holds sequences."""
    lines = [line.strip() for line in re.split(rb"[\r\n]+", start.strip(b"\0")) if line.strip()]
    if len(start) >= PEEK:  # the last line may go on
        lines = lines[:-1]
    if len(lines) < 2:
        return False
    if STOCKHOLM.match(lines[0]) or lines[0].startswith((b"CLUSTAL ", b"MUSCLE (")):
        return True
    first = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    if lines[first].startswith(b">"):
        return LETTERS.fullmatch(b"".join(lines[first + 1 : first + 2])) is not None
    if _PHYLIP.fullmatch(lines[0] + b"\n"):
        return _NAME_AND_LETTERS.fullmatch(lines[1]) is not None
    return _are_sequences(lines)


def _are_sequences(lines: list[bytes]) -> bool:
    """Return whether lines of a text file are sequences, and no words of a table."""
    letters = b"".join(lines)
    width = len(lines[0])
    if width < FEWEST_SITES or any(len(line) != width for line in lines):
        return False
    # A column of words repeats few of them; a family has few copies.
    if not LETTERS.fullmatch(letters) or 2 * len(set(lines)) <= len(lines):
        return False
    return sum(letters.count(sign) for sign in _KNOWN) >= FEWEST_KNOWN * len(letters)


def _plain(content: bytes, label: str) -> bytes:
    """Return text as UTF-8 without a mark at its beginning, with the line ends of Unix."""
    for mark, encoding in _ENCODINGS:
        if content.startswith(mark):
            with parser_errors(label, "text"):
                content = content.decode(encoding).encode()
            break
    return re.sub(rb"\r\n?", b"\n", content) if b"\r" in content else content


def _fasta(content: bytes, label: str) -> list[Family]:
    """Return the families of a FASTA, A2M or A3M file.

    ColabFold's server ends the alignment of each query by a NUL, and answers for one query in
    several parts, which begin with the same sequence: they are one family.
    """
    parts = content.split(b"\0")
    for before, after in pairwise(parts):
        at_line_end = before.endswith(b"\n") or not before or after[:1] in (b"", b">", b"#", b"\n")
        if not at_line_end:
            raise input_error(label, "text", "binary content", "write sequences as FASTA")
    line, families = 1, dict[bytes, Family]()
    for part in parts:
        if part.strip():
            family = _part_of_fasta(part, line, label)
            query = family.entries[0].letters
            earlier = families.get(query)
            if earlier is not None:
                family = Family(
                    earlier.names,
                    earlier.entries + family.entries,
                    tuple(dict.fromkeys(earlier.notes + family.notes)),
                )
            families[query] = family
        line += part.count(b"\n")
    return list(families.values())


def _part_of_fasta(part: bytes, line: int, label: str) -> Family:
    head, *records = re.split(rb"^>", part, flags=re.MULTILINE)
    comments = [text for text in head.splitlines() if text.strip()]
    if not records or any(text[:1] not in (b"#", b";") for text in comments):
        raise _unknown(label, f"a file that begins with {_shown(head or part)}")
    line += head.count(b"\n")
    entries = list[Entry]()
    for record in records:
        title, _, body = record.partition(b"\n")
        if _PIR.match(title.decode(errors="replace")):  # its second line is a description
            body = body.partition(b"\n")[2].strip().removesuffix(b"*")
        if b"#" in body or b";" in body:
            comments += _COMMENT.findall(body)
            body = _COMMENT.sub(b"", body)
        letters = b"".join(body.split())
        if not title.strip():
            found, advice = f"an empty name in line {line:,}", "give each sequence a name"
            raise input_error(label, "a name after each '>'", found, advice)
        sequence = entry(title, letters, line, label)
        if not letters:
            found = f"{sequence.title!r} (line {line:,}) without letters"
            raise input_error(label, "a sequence after each name", found, "remove it")
        entries.append(sequence)
        line += record.count(b"\n")
    return Family((entries[0].name,), entries, _note_on_comments(comments))


def _note_on_comments(comments: list[bytes]) -> tuple[str, ...]:
    if not comments:
        return ()
    number = count_of(len(comments), "line")
    return (f"{number} of comments set aside, the first {_shown(comments[0])}",)


def _lines_of_letters(content: bytes, label: str) -> Family:
    """Return a sequence for each line, as PSICOV, CCMpred and SELEX write them."""
    rows, comments, paragraph = list[Row](), list[bytes](), 0
    for number, line in enumerate(content.split(b"\n"), 1):
        words = line.split()
        if line[:1] in (b"#", b";"):
            comments.append(line)
        elif not words:
            paragraph += 1
        elif len(words) > 2 or not LETTERS.fullmatch(words[-1]):
            where = f"{_shown(line)} in line {number:,}"
            raise _unknown(label, where if rows else f"a file that begins with {_shown(line)}")
        else:
            name = words[0] if len(words) == 2 else b""
            rows.append(Row(name, words[-1], number, paragraph))
    if len(rows) < 2:
        raise _unknown(label, f"a file that begins with {_shown(content)}")
    nameless = [row for row in rows if not row.name]
    if not nameless:
        entries, notes = joined(rows, label)
        return Family((), entries, ("each line has a name", *notes, *_note_on_comments(comments)))
    if len(nameless) < len(rows):
        raise _unknown(label, f"{_shown(nameless[0].letters)} in line {nameless[0].line:,}")
    if 1 < len({row.paragraph for row in rows}) < len(rows):
        # They may be parts of longer sequences, or several alignments.
        found = "blocks of lines without names"
        raise input_error(label, "a sequence in each line", found, "write it as FASTA")
    how = "each line is a sequence without a name"
    how += f"; they are numbered from row_1 to row_{len(rows)}"
    entries = [entry(b"row_%d" % k, row.letters, row.line, label) for k, row in enumerate(rows, 1)]
    return Family((), entries, (how, *_note_on_comments(comments)))


def _unknown(label: str, found: str) -> InputError:
    expected = "FASTA, A2M, A3M, Stockholm, Clustal or PHYLIP, or a sequence in each line"
    advice = "write sequences as FASTA, each after a line of '>' and its name"
    return input_error(label, expected, found, advice)


def _shown(text: bytes) -> str:
    first = text.strip().split(b"\n")[0]
    return printable(repr(first[:20].decode(errors="replace")))
