"""Aligned sequences as files hold them: FASTA, A2M, A3M and Stockholm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._files import bytes_of, unzipped
from ..errors import InputError, count_of, input_error

FASTA = (".fasta", ".fa", ".fas", ".faa", ".fna", ".afa", ".aln")
INSERTIONS_MARKED = (".a2m", ".a3m")
STOCKHOLM = (".sto", ".stk", ".stockholm")
SUFFIXES = (*FASTA, *INSERTIONS_MARKED, *STOCKHOLM)
GAP, DOT = ord("-"), ord(".")


class RawAlignment(NamedTuple):
    """Aligned sequences: the columns that are shared by all, in capital letters.

    Attributes:
        names: the first word of each sequence's title.
        titles: the whole title, with what else it says.
        letters: one byte for each site, shape (sequences, sites); gaps are "-".
        lines: the number of the line where each sequence begins.
        notes: sentences that say what was dropped.
        whole: each sequence with its insertions, as it is in the file.
        columns: the columns of the file that are kept; None where each letter was judged by itself.
    """

    names: list[str]
    titles: list[str]
    letters: np.ndarray
    lines: list[int]
    notes: tuple[str, ...]
    whole: list[bytes]
    columns: np.ndarray | None

    def numbers(self, row: int) -> tuple[np.ndarray, str]:
        """Return the number of a sequence's residue at each site, 0 at a gap, and how it is found.

        The first residue has the number that the name tells, as 24 in "BLAT_ECOLX/24-286", else 1;
        insertions count. If the name tells of more or fewer residues than the file has, some were
        removed nobody knows where: then sites have the numbers of their columns.
        """
        letters = np.frombuffer(self.whole[row], np.uint8)
        is_residue = (_upper(letters) >= ord("A")) & (_upper(letters) <= ord("Z"))
        is_site = ~(_is_lower(letters) | (letters == DOT))
        kept = is_site if self.columns is None else self.columns
        found, count = np.cumsum(is_residue)[kept], int(is_residue.sum())
        told, how = re.search(r"/(\d{1,9})-(\d{1,9})$", self.names[row]), "residues, from 1"
        if told:
            first, last = int(told[1]), int(told[2])
            found, how = found + first - 1, f"residues, from {first}, as the name tells"
            if last - first + 1 != count:
                found = np.arange(1, len(found) + 1)
                how = (
                    f"columns of the alignment, as the name tells of {last - first + 1:,} residues"
                    f" and the file has {count:,}"
                )
        return np.where(is_residue[kept], found, 0), how


class _Entry(NamedTuple):
    """A sequence as the file holds it."""

    title: str
    letters: bytes
    line: int

    @property
    def name(self) -> str:
        """The first word of the title."""
        return self.title.split(None, 1)[0]


def is_alignment(path: Path) -> bool:
    """Return whether the file's name has a suffix of aligned sequences, perhaps with .gz."""
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    return Path(name).suffix.lower() in SUFFIXES


def read_sequences(path: str | Path) -> RawAlignment:
    """Read aligned sequences; `.gz` files are decompressed.

    Letters in lower case and dots are insertions, which are dropped: in A2M and A3M files each
    letter by itself; in others whole columns, in which no sequence has a capital letter or "-".

    Args:
        path: a FASTA, A2M, A3M or Stockholm file.

    Raises:
        InputError: the file cannot be read, holds no sequences, or they are not aligned; the
            message names the sequence and its line.
    """
    label, content = str(path), _content_of(Path(path))
    stockholm = content.lstrip().startswith(b"# STOCKHOLM")
    entries = list(_stockholm(content, label) if stockholm else _fasta(content, label))
    if not entries:
        raise input_error(label, "aligned sequences", "none", "check how it was written")
    entries, notes = _without_repeats(entries, label)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    marked = any(suffix in INSERTIONS_MARKED for suffix in suffixes)
    letters, columns, dropped = _aligned(entries, label, marked)
    if dropped:
        notes += (f"{Path(path).name}: {dropped}.",)
    names, titles = [entry.name for entry in entries], [entry.title for entry in entries]
    whole, lines = [entry.letters for entry in entries], [entry.line for entry in entries]
    return RawAlignment(names, titles, letters, lines, notes, whole, columns)


def _content_of(path: Path) -> bytes:
    label = str(path)
    content = unzipped(bytes_of(path, label), label)
    if not content.strip():
        raise input_error(label, "aligned sequences", "an empty file", "check how it was written")
    return content


def _fasta(content: bytes, label: str) -> Iterator[_Entry]:
    line = 1
    head, *records = re.split(rb"^>", content, flags=re.MULTILINE)
    if head.strip() or not records:
        found = f"a file that begins with {head.strip()[:20].decode(errors='replace')!r}"
        advice = "write sequences as FASTA, each after a line of '>' and its name"
        raise input_error(label, "FASTA, A2M, A3M or Stockholm", found, advice)
    line += head.count(b"\n")
    for record in records:
        title, _, body = record.partition(b"\n")
        name = title.decode(errors="replace").strip()
        if not name:
            found, advice = f"an empty name in line {line:,}", "give each sequence a name"
            raise input_error(label, "a name after each '>'", found, advice)
        letters = b"".join(body.split())
        if not letters:
            found = f"{name!r} (line {line:,}) without letters"
            raise input_error(label, "a sequence after each name", found, "remove it")
        yield _Entry(name, letters, line)
        line += record.count(b"\n")


def _stockholm(content: bytes, label: str) -> Iterator[_Entry]:
    found: dict[str, tuple[int, list[bytes]]] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if line.startswith(b"//"):
            break
        if not line.strip() or line.startswith(b"#"):
            continue
        name, *rest = line.split()
        if len(rest) != 1:
            expected, advice = "a name and letters in each line", "check how it was written"
            raise input_error(label, expected, f"{line[:40]!r} in line {number:,}", advice)
        title = name.decode(errors="replace")
        if not title.split():
            advice = "give each sequence a name"
            raise input_error(label, "a name", f"{title!r} in line {number:,}", advice)
        found.setdefault(title, (number, []))[1].append(rest[0])
    for title, (number, pieces) in found.items():
        yield _Entry(title, b"".join(pieces), number)


def _without_repeats(entries: list[_Entry], label: str) -> tuple[list[_Entry], tuple[str, ...]]:
    """Return the entries without copies of name and sequence; refuse one name for two sequences."""
    seen: dict[str, _Entry] = {}
    for entry in entries:
        first = seen.setdefault(entry.name, entry)
        if first.letters != entry.letters:
            found = f"{entry.name!r} in lines {first.line:,} and {entry.line:,}"
            advice = "rename or remove one of the two sequences"
            raise input_error(label, "a name of its own for each sequence", found, advice)
    copies = len(entries) - len(seen)
    note = f"{Path(label).name}: {count_of(copies, 'repeated sequence')} dropped."
    return list(seen.values()), (note,) if copies else ()


def _aligned(
    entries: list[_Entry], label: str, marked: bool
) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Return the shared columns in capital letters, their places, and what was dropped."""
    columns = None
    widths = {len(entry.letters) for entry in entries}
    if not marked and len(widths) == 1:
        letters = _matrix([entry.letters for entry in entries])
        is_lower = _is_lower(letters)
        inserted = (is_lower | (letters == DOT)).all(0) & is_lower.any(0)
        letters = _upper(letters[:, ~inserted])
        letters[letters == DOT] = GAP
        dropped = f"{count_of(int(inserted.sum()), 'column')} of insertions dropped"
        dropped += f"; columns are numbered without {'it' if inserted.sum() == 1 else 'them'}"
        dropped, columns = dropped if inserted.any() else "", np.flatnonzero(~inserted)
    else:
        kept = [_MARKS.sub(b"", entry.letters) for entry in entries]
        _check_widths(entries, kept, label)
        letters = _matrix(kept)
        lost = sum(len(e.letters) - len(k) for e, k in zip(entries, kept, strict=True))
        dropped = f"{lost:,} insertions dropped (lower case and dots)" if lost else ""
    if not letters.shape[1]:
        advice = "write them in capital letters; lower case means an insertion"
        raise input_error(label, "capital letters", "lower case only", advice)
    return letters, columns, dropped


_MARKS = re.compile(rb"[a-z.]")


def _check_widths(entries: list[_Entry], kept: list[bytes], label: str) -> None:
    first = len(kept[0])
    for entry, letters in zip(entries, kept, strict=True):
        if len(letters) != first:
            raise _not_aligned(label, entries[0], first, entry, len(letters))


def _not_aligned(label: str, first: _Entry, width: int, other: _Entry, found: int) -> InputError:
    expected = f"aligned sequences of {width:,} sites, as {first.name!r} has"
    shown = f"{other.name!r} (line {other.line:,}) with {found:,}"
    return input_error(label, expected, shown, "align them first, with MAFFT or hmmalign")


def _matrix(sequences: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(sequences), np.uint8).reshape(len(sequences), -1).copy()


def _is_lower(letters: np.ndarray) -> np.ndarray:
    return (letters >= ord("a")) & (letters <= ord("z"))


def _upper(letters: np.ndarray) -> np.ndarray:
    return np.where(_is_lower(letters), letters - 32, letters)
