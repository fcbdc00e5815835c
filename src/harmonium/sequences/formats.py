"""Alignment formats: FASTA and its variants, Stockholm, Clustal, PHYLIP, one sequence per line.

The format is inferred from the contents of a file. Biopython and Easel also read these formats, but
are not used, since they read only the first family of a file, or join all lines that have the same
name, and since reading an alignment should not require an extra package.
"""

from __future__ import annotations

import codecs
import re
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from .._base.files import bytes_of, parser_errors, unzipped
from ..errors import InputError, count_of, printable

LETTERS = re.compile(rb"[A-Za-z.*?~_-]+")
# Most programs write a gap as "-"; GCG writes "~" at the ends, and some viewers write "_".
_USUAL_GAPS = bytes.maketrans(b"_~", b"--")
STOCKHOLM = re.compile(rb"#\s*STOCKHOLM\b", re.IGNORECASE)  # the first line of a family
_CONSERVATION = re.compile(rb"[ \t*:.]+")  # the last line of a Clustal block
PEEK = 2**16  # bytes used to classify a file whose name does not reveal its type
FEWEST_SITES = 10  # shorter lines of letters are cells of a table rather than sequences
FEWEST_KNOWN = 0.95  # minimum fraction of letters in _KNOWN; in English, 10 % are O or U
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
    (rb"HMMER\d|HHsearch", "a profile HMM rather than an alignment"),
    (rb"LOCUS |ID   ", "GenBank or EMBL"),
    (rb"<|\{", "XML, HTML or JSON"),
    (rb"PK\x03\x04|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd", "an archive"),
)


class Entry(NamedTuple):
    """A sequence as stored in the file.

    Attributes:
        title: the name of the sequence and the rest of its title line.
        letters: the letters, with gaps as "-" and insertions unchanged.
        line: the number of the line on which the sequence begins.
    """

    title: str
    letters: bytes
    line: int

    @property
    def name(self) -> str:
        """The first word of the title."""
        return self.title.split(None, 1)[0]


class Family(NamedTuple):
    """The sequences of one alignment; a file may contain several families.

    Attributes:
        names: the accession and identifier of the family, or the name of its first sequence; may be
            empty.
        entries: the sequences.
        notes: clauses on how the file was read, without the name of the file.
    """

    names: tuple[str, ...]
    entries: list[Entry]
    notes: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """The first name of the family, shortened if it is long, or "" if there is none."""
        return next(iter(self.names), "")[:40]


def entry(title: bytes, letters: bytes, line: int, label: str) -> Entry:
    """Return an `Entry` without blanks around the title, and with "-" for the gaps "_" and "~".

    Raises:
        InputError: the title is empty.
    """
    text = title.decode(errors="replace")
    if not text.strip():
        raise InputError(
            f"{label}: expected a name; got {text!r} in line {line:,}; give each sequence a name."
        )
    return Entry(text.strip(), letters.translate(_USUAL_GAPS), line)


def families_in(path: Path, label: str) -> list[Family]:
    """Read the sequence families in a file, which may be compressed (.gz).

    Raises:
        InputError: the file cannot be read, or contains no sequences in a known format.
    """
    content = _plain(unzipped(bytes_of(path, label), label), label)
    if not content.strip(b"\0 \t\n"):
        raise InputError(f"{label}: expected aligned sequences; got an empty file.")
    start = content.lstrip(b"\0 \t\n")
    if not STOCKHOLM.match(start) and _TITLE.search(content):
        return _fasta(content, label)
    content = content.rstrip(b"\0 \t\n") + b"\n"
    start = content.lstrip(b"\0 \t\n")
    if b"\0" in content:
        raise _binary(label)
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
    """Return whether a text file that begins with `start` appears to contain sequences."""
    lines = [line.strip() for line in re.split(rb"[\r\n]+", start.strip(b"\0")) if line.strip()]
    if len(start) >= PEEK:  # the last line may be incomplete
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
    """Return whether the lines of a text file are sequences rather than cells of a table."""
    letters = b"".join(lines)
    width = len(lines[0])
    if width < FEWEST_SITES or any(len(line) != width for line in lines):
        return False
    # A column of words repeats a few words; a family contains few copies of a sequence.
    if not LETTERS.fullmatch(letters) or 2 * len(set(lines)) <= len(lines):
        return False
    return sum(letters.count(sign) for sign in _KNOWN) >= FEWEST_KNOWN * len(letters)


def _plain(content: bytes, label: str) -> bytes:
    """Convert text to UTF-8 without a byte order mark and with Unix line endings."""
    for mark, encoding in _ENCODINGS:
        if content.startswith(mark):
            with parser_errors(label, "text"):
                content = content.decode(encoding).encode()
            break
    if b"\r" in content:
        content = re.sub(rb"\r\n?", b"\n", content)
    return content


def _fasta(content: bytes, label: str) -> list[Family]:
    """Return the families in a FASTA, A2M or A3M file.

    ColabFold's server ends the alignment of each query with a NUL byte. The server may return an
    alignment in several parts; parts that begin with the same sequence are joined into one family.
    """
    parts = content.split(b"\0")
    for before, after in pairwise(parts):
        at_line_end = before.endswith(b"\n") or not before or after[:1] in (b"", b">", b"#", b"\n")
        if not at_line_end:
            raise _binary(label)
    families = dict[bytes, Family]()
    line = 1
    for part in parts:
        if part.strip():
            names, entries, notes = _part_of_fasta(part, line, label)
            query = entries[0].letters
            if query in families:
                names, earlier, earlier_notes = families[query]
                entries = earlier + entries
                notes = tuple(dict.fromkeys(earlier_notes + notes))
            families[query] = Family(names, entries, notes)
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
        if _PIR.match(title.decode(errors="replace")):  # line 2 is a description
            body = body.partition(b"\n")[2].strip().removesuffix(b"*")
        if b"#" in body or b";" in body:
            comments += _COMMENT.findall(body)
            body = _COMMENT.sub(b"", body)
        letters = b"".join(body.split())
        if not title.strip():
            raise InputError(
                f"{label}: expected a name after each '>'; got an empty name in line {line:,}; give"
                " each sequence a name."
            )
        sequence = entry(title, letters, line, label)
        if not letters:
            raise InputError(
                f"{label}: expected a sequence after each name; got no letters after"
                f" {sequence.title!r} (line {line:,}); remove this name."
            )
        entries.append(sequence)
        line += record.count(b"\n")
    return Family((entries[0].name,), entries, _note_on_comments(comments))


def _note_on_comments(comments: list[bytes]) -> tuple[str, ...]:
    if not comments:
        return ()
    number = count_of(len(comments), "line")
    return (f"{number} of comments set aside, the first {_shown(comments[0])}",)


def _lines_of_letters(content: bytes, label: str) -> Family:
    """Return the family in a file with one sequence per line (PSICOV, CCMpred or SELEX format)."""
    rows = list[Row]()
    comments = list[bytes]()
    paragraph = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        words = line.split()
        if line[:1] in (b"#", b";"):
            comments.append(line)
        elif not words:
            paragraph += 1
        elif len(words) > 2 or not LETTERS.fullmatch(words[-1]):
            if not rows:
                raise _unknown(label, f"a file that begins with {_shown(line)}")
            raise _unknown(label, f"{_shown(line)} in line {number:,}")
        else:
            rows.append(Row(b"".join(words[:-1]), words[-1], number, paragraph))
    if len(rows) < 2:
        raise _unknown(label, f"a file that begins with {_shown(content)}")
    nameless = [row for row in rows if not row.name]
    if not nameless:
        entries, notes = joined(rows, label)
        return Family((), entries, ("each line has a name", *notes, *_note_on_comments(comments)))
    if len(nameless) < len(rows):
        raise _unknown(label, f"{_shown(nameless[0].letters)} in line {nameless[0].line:,}")
    if 1 < len({row.paragraph for row in rows}) < len(rows):
        # The lines may be parts of longer sequences, or belong to several alignments.
        raise InputError(
            f"{label}: expected a complete sequence in each line; got blocks of lines without"
            " names; write the sequences as FASTA."
        )
    note = "each line is a sequence without a name"
    note += f"; the sequences are numbered from row_1 to row_{len(rows)}"
    entries = [entry(b"row_%d" % k, row.letters, row.line, label) for k, row in enumerate(rows, 1)]
    return Family((), entries, (note, *_note_on_comments(comments)))


def _binary(label: str) -> InputError:
    return InputError(f"{label}: expected text; got binary content; write sequences as FASTA.")


def _unknown(label: str, content: str) -> InputError:
    return InputError(
        f"{label}: expected FASTA, A2M, A3M, Stockholm, Clustal or PHYLIP, or a sequence in each"
        f" line; got {content}; write sequences as FASTA, each after a line with '>' and its name."
    )


def _shown(text: bytes) -> str:
    first = text.strip().split(b"\n")[0]
    return printable(repr(first[:20].decode(errors="replace")))


class Row(NamedTuple):
    """A line of letters, with its name, its line number and the index of its paragraph.

    Paragraphs are separated by blank lines.
    """

    name: bytes
    letters: bytes
    line: int
    paragraph: int


# --- Stockholm ------------------------------------------------------------------------------


def stockholm(content: bytes, label: str) -> list[Family]:
    """Return the families in a Stockholm file, in which a line "//" ends each family.

    Raises:
        InputError: a line does not consist of a name and letters, or blocks are inconsistent.
    """
    families = list[Family]()
    rows = list[Row]()
    names = dict[bytes, str]()
    paragraph = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.startswith(b"//") or STOCKHOLM.match(line):
            if rows:
                families.append(_family(rows, names, label, line.startswith(b"//")))
            rows = []
            names = {}
            paragraph = 0
        elif not line.strip():
            paragraph += 1
        elif line.startswith(b"#=GF"):
            words = line.split(None, 2)
            if len(words) == 3 and words[1] in (b"AC", b"ID"):
                names.setdefault(words[1], words[2].decode(errors="replace").strip())
        elif not line.startswith(b"#"):
            name, *letters = line.split()
            if len(letters) != 1:
                raise _no_row(label, line, number)
            rows.append(Row(name, letters[0], number, paragraph))
    if rows:
        families.append(_family(rows, names, label, False))
    if not families:
        raise InputError(f"{label}: expected aligned sequences; got none.")
    return families


def _family(rows: list[Row], names: dict[bytes, str], label: str, is_closed: bool) -> Family:
    entries, notes = joined(rows, label)
    accession = names.get(b"AC", "")
    # Users omit the version in accessions of Pfam, such as PF00072.27.
    candidates = (accession.partition(".")[0], names.get(b"ID", ""), accession)
    if not is_closed:
        notes += ("the final line // is missing: perhaps the file was cut short",)
    return Family(tuple(dict.fromkeys(filter(None, candidates))), entries, notes)


# --- Clustal --------------------------------------------------------------------------------


def clustal(content: bytes, label: str) -> Family:
    """Return the sequences in a Clustal file, ignoring conservation lines.

    Raises:
        InputError: a line does not consist of a name and letters, or blocks are inconsistent.
    """
    rows = list[Row]()
    paragraph = 0
    is_head = True
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
        raise InputError(f"{label}: expected aligned sequences; got none.")
    return Family((), *joined(rows, label))


# --- Blocks of named lines ------------------------------------------------------------------


def joined(rows: list[Row], label: str) -> tuple[list[Entry], tuple[str, ...]]:
    """Join the lines of each sequence across blocks; return the sequences and notes on joining.

    All blocks must contain the same names in the same order. Blocks are separated by blank lines or
    follow each other directly. Two lines with the same name in one block are two sequences.

    Raises:
        InputError: blocks share some but not all names, or the lines of a block differ in length.
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
                raise InputError(
                    f"{label}: expected {width:,} letters in line {row.line:,}, as in line"
                    f" {block[0].line:,}; got {len(row.letters):,} for {_text(row.name)}; correct"
                    " this block, or realign the sequences."
                )
    columns = zip(*blocks, strict=True)
    sequences = [(lines[0], b"".join(row.letters for row in lines)) for lines in columns]
    return [entry(row.name, letters, row.line, label) for row, letters in sequences], notes


def _period(names: list[bytes]) -> int:
    """Return the number of lines in a block, after which the list of names repeats.

    If the list does not repeat, all lines form one block.
    """
    height = next((k for k in range(1, len(names)) if names[k] == names[0]), len(names))
    # If all lines have the same name, they are several sequences, not one sequence in parts.
    is_block = height > 1 and len(set(names[:height])) == height and len(names) % height == 0
    if is_block and names == names[:height] * (len(names) // height):
        return height
    return len(names)


def _check_paragraphs(paragraphs: list[list[Row]], label: str) -> None:
    """Raise InputError if any name occurs in several paragraphs.

    The lines with this name might be parts of one sequence, or several sequences.
    """
    first = dict[bytes, Row]()
    for paragraph in paragraphs:
        for row in paragraph:
            earlier = first.setdefault(row.name, row)
            if earlier.paragraph != row.paragraph:
                raise InputError(
                    f"{label}: expected the same names in each block; got {_text(row.name)} in"
                    f" lines {earlier.line:,} and {row.line:,}, in blocks whose other names differ;"
                    " write each sequence in one line, or all names in each block."
                )


def _no_row(label: str, line: bytes, number: int) -> InputError:
    return InputError(
        f"{label}: expected a name and letters in each line; got {line[:40]!r} in line {number:,}."
    )


def _text(name: bytes) -> str:
    return repr(name.decode(errors="replace"))


# --- PHYLIP ---------------------------------------------------------------------------------


def phylip(content: bytes, label: str) -> Family:
    """Return the sequences in a PHYLIP file, in any of its variants.

    Depending on the variant, names end at a blank or after ten characters, and the layout is
    sequential or interleaved. A variant is accepted if it yields the number and length of sequences
    stated in the first line.

    Raises:
        InputError: no variant is accepted, or two accepted variants give different results.
    """
    numbered = enumerate(content.split(b"\n"), 1)
    (_, first), *lines = [(number, line) for number, line in numbered if line.strip()]
    count, length = (int(word) for word in first.split()[:2])
    forms = list[list[Entry]]()
    for is_strict in (False, True):
        for rows_of in (_in_blocks, _one_by_one):
            rows = rows_of(lines, count, length, is_strict)
            is_whole = len(rows) == count and all(
                row.name and len(row.letters) == length and LETTERS.fullmatch(row.letters)
                for row in rows
            )
            if not is_whole:
                continue
            entries = [entry(row.name, row.letters, row.line, label) for row in rows]
            if entries not in forms:
                forms.append(entries)
    if len(forms) != 1:
        readings = f"a different number or length in {count_of(len(lines), 'line')}"
        if forms:
            readings = "lines that can be read in two ways"
        raise InputError(
            f"{label}: expected {count:,} sequences of {length:,} letters, as line 1 states;"
            f" got {readings}; write the sequences as FASTA."
        )
    if any(b"." in sequence.letters for sequence in forms[0]):
        # In PHYLIP's own programs, a dot means the letter of the first sequence; in others, a gap.
        raise InputError(
            f"{label}: expected PHYLIP without dots; got dots, which may mean gaps or the letters"
            " of the first sequence; write gaps as '-'."
        )
    return Family((), forms[0])


def _in_blocks(
    lines: list[tuple[int, bytes]], count: int, length: int, is_strict: bool
) -> list[Row]:
    """Return the sequences of an interleaved file, or [] if its lines do not form blocks."""
    if not count or len(lines) % count:
        return []
    heads = [_head(line, is_strict) for _, line in lines[:count]]
    if not all(letters for _, letters in heads):
        return []
    rows = []
    for place, (name, letters) in enumerate(heads):
        others = b"".join(line for _, line in lines[place + count :: count])
        rows.append(Row(name, letters + b"".join(others.split()), lines[place][0], 0))
    return rows


def _one_by_one(
    lines: list[tuple[int, bytes]], count: int, length: int, is_strict: bool
) -> list[Row]:
    """Return the sequences of a sequential file, `length` letters each, or [] if lines remain."""
    rows = list[Row]()
    place = 0
    while place < len(lines) and len(rows) < count:
        number, line = lines[place]
        name, letters = _head(line, is_strict)
        place += 1
        while len(letters) < length and place < len(lines):
            letters += b"".join(lines[place][1].split())
            place += 1
        rows.append(Row(name, letters, number, 0))
    if place < len(lines):
        return []
    return rows


def _head(line: bytes, is_strict: bool) -> tuple[bytes, bytes]:
    """Split a line into the name at its beginning and the letters after it."""
    if is_strict:
        return line[:10].strip(), b"".join(line[10:].split())
    name, *letters = line.split()
    return name, b"".join(letters)
