"""Aligned sequences of a file: which file and family, and the columns that its sequences share."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError, count_of, input_error
from .entries import Entry, chosen_family, sequences_of, without_final_stops
from .formats import PEEK, families_in, looks_aligned

FASTA = (".fasta", ".fa", ".fas", ".faa", ".fna", ".afa", ".aln")
INSERTIONS_MARKED = (".a2m", ".a3m")
STOCKHOLM = (".sto", ".sth", ".stk", ".stockholm", ".seed", ".pfam")
BLOCKS = (".clustal", ".clustalw", ".clw", ".phy", ".phylip", ".phylips")
LINES = (".psicov", ".psc", ".psi", ".slx", ".selex")
OTHERS = (".afasta", ".fst", ".fsa", ".mfa", ".ffn", ".frn", ".msa", ".pir", ".ali")
UNREAD = (".nex", ".nexus", ".nxs", ".msf")  # known only so that they are refused by their names
SUFFIXES = (*FASTA, *INSERTIONS_MARKED, *STOCKHOLM, *BLOCKS, *LINES, *OTHERS, *UNREAD)
OPEN = ("", ".txt")  # suffixes that say nothing of what a file holds
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


def named_as_alignment(path: Path) -> bool:
    """Return whether the file's name has a suffix of aligned sequences, perhaps with .gz."""
    return _suffix(path) in SUFFIXES


def is_alignment(path: Path) -> bool:
    """Return whether a file holds aligned sequences, by its name; if that is open, by its content.

    A name is open if it has the suffix .txt or none.
    """
    if named_as_alignment(path):
        return True
    if _suffix(path) not in OPEN:
        return False
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(PEEK)
            if start[:2] == b"\x1f\x8b":
                start = zlib.decompressobj(wbits=31).decompress(start + file.read(PEEK), PEEK)
    except (OSError, zlib.error):
        return False
    return looks_aligned(start)


def file_and_family(source: str | Path) -> tuple[Path, str | None]:
    """Split FILE:FAMILY if FILE holds aligned sequences, unless a file has that very name."""
    text = os.fspath(source)
    file, _, family = text.rpartition(":")
    if not file or not family or os.path.lexists(text) or not is_alignment(Path(file)):
        return Path(text), None
    return Path(file), family


def _suffix(path: Path) -> str:
    return Path(re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)).suffix.lower()


def read_sequences(path: str | Path) -> RawAlignment:
    """Read aligned sequences; the content of the file tells its format, and .gz is decompressed.

    Letters in lower case and dots are insertions, which are dropped: in A2M and A3M files each
    letter by itself; in others whole columns, in which no sequence has a capital letter or "-". In
    a file without any capital letter, lower case is how its program writes letters.

    Args:
        path: a file of FASTA, A2M, A3M, Stockholm, Clustal or PHYLIP, or with a sequence in each
            line. FILE:NAME chooses one of several families.

    Raises:
        InputError: the file cannot be read, holds no sequences or several families, or they are not
            aligned; the message names the sequence and its line.
    """
    file, choice = file_and_family(path)
    label = str(file)
    families = families_in(file, label)
    family = chosen_family(families, choice, label)
    entries, names, notes = sequences_of(family.entries, label)
    if len(families) > 1:
        others = [name for name in family.names[1:2] if not name.startswith(family.called)]
        name = " ".join([family.called or f"{choice}", *others])
        notes.insert(0, f"{name}, one of {len(families):,} families")
    is_marked = any(suffix.lower() in INSERTIONS_MARKED for suffix in file.suffixes)
    if not any(_CAPITAL.search(item.letters) for item in entries):
        # MAFFT writes all DNA so; insertions alone would be no alignment.
        is_marked = False
        entries = [item._replace(letters=item.letters.upper()) for item in entries]
        notes.append("letters are in lower case, and none is an insertion")
    if not _are_as_wide(entries, is_marked):
        bare, note = without_final_stops(entries)
        if _are_as_wide(bare, is_marked):
            entries = bare
            notes.append(note)
    letters, columns, dropped = _aligned(entries, label, is_marked)
    notes = [f"{file.name}: {note}." for note in (*family.notes, *notes, dropped) if note]
    whole, lines = [item.letters for item in entries], [item.line for item in entries]
    titles = [item.title for item in entries]
    return RawAlignment(names, titles, letters, lines, tuple(notes), whole, columns)


def _are_as_wide(entries: list[Entry], is_marked: bool) -> bool:
    """Return whether all sequences have as many sites as the first one."""
    if len({len(item.letters) for item in entries}) == 1 and not is_marked:
        return True
    return len({len(_MARKS.sub(b"", item.letters)) for item in entries}) == 1


def _aligned(
    entries: list[Entry], label: str, is_marked: bool
) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Return the shared columns in capital letters, their places, and what was dropped."""
    columns = None
    widths = {len(item.letters) for item in entries}
    if not is_marked and len(widths) == 1:
        letters = _matrix([item.letters for item in entries])
        is_lower = _is_lower(letters)
        inserted = (is_lower | (letters == DOT)).all(0) & is_lower.any(0)
        letters = _upper(letters[:, ~inserted])
        letters[letters == DOT] = GAP
        dropped = f"{count_of(int(inserted.sum()), 'column')} of insertions dropped"
        dropped += f"; columns are numbered without {'it' if inserted.sum() == 1 else 'them'}"
        columns = np.flatnonzero(~inserted)
        mixed = int(is_lower[:, ~inserted].sum())
        if not inserted.any():
            dropped = ""
        if mixed:
            # Soft-masked letters, unless A3M of equally many insertions has another name.
            as_letters = f"{mixed:,} letters in lower case among capitals read as letters"
            as_letters += ", which would be insertions in a file named .a3m"
            dropped = f"{dropped}; {as_letters}" if dropped else as_letters
    else:
        kept = [_MARKS.sub(b"", item.letters) for item in entries]
        _check_widths(entries, kept, label)
        letters = _matrix(kept)
        lost = sum(len(e.letters) - len(k) for e, k in zip(entries, kept, strict=True))
        dropped = f"{lost:,} insertions dropped (lower case and dots)" if lost else ""
    if not letters.shape[1]:
        advice = "write them in capital letters; lower case means an insertion"
        raise input_error(label, "capital letters", "lower case only", advice)
    return letters, columns, dropped


_CAPITAL = re.compile(rb"[A-MO-WYZ]")  # N and X mask letters in either case
_MARKS = re.compile(rb"[a-z.]")


def _check_widths(entries: list[Entry], kept: list[bytes], label: str) -> None:
    first = len(kept[0])
    for entry, letters in zip(entries, kept, strict=True):
        if len(letters) != first:
            raise _not_aligned(label, entries[0], first, entry, len(letters))


def _not_aligned(label: str, first: Entry, width: int, other: Entry, found: int) -> InputError:
    expected = f"aligned sequences of {width:,} sites, as {first.name!r} has"
    shown = f"{other.name!r} (line {other.line:,}) with {found:,}"
    return input_error(label, expected, shown, "align them first, with MAFFT or hmmalign")


def _matrix(sequences: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(sequences), np.uint8).reshape(len(sequences), -1).copy()


def _is_lower(letters: np.ndarray) -> np.ndarray:
    return (letters >= ord("a")) & (letters <= ord("z"))


def _upper(letters: np.ndarray) -> np.ndarray:
    return np.where(_is_lower(letters), letters - 32, letters)
