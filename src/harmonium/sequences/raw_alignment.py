"""Reading aligned sequences from a file, and restricting them to their shared columns."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError, count_of
from .formats import PEEK, Entry, Family, families_in, looks_aligned

FASTA = (".fasta", ".fa", ".fas", ".faa", ".fna", ".afa", ".aln")
INSERTIONS_MARKED = (".a2m", ".a3m")
STOCKHOLM = (".sto", ".sth", ".stk", ".stockholm", ".seed", ".pfam")
BLOCKS = (".clustal", ".clustalw", ".clw", ".phy", ".phylip", ".phylips")
LINES = (".psicov", ".psc", ".psi", ".slx", ".selex")
OTHERS = (".afasta", ".fst", ".fsa", ".mfa", ".ffn", ".frn", ".msa", ".pir", ".ali")
UNREAD = (".nex", ".nexus", ".nxs", ".msf")  # recognised only to be rejected with advice
SUFFIXES = (*FASTA, *INSERTIONS_MARKED, *STOCKHOLM, *BLOCKS, *LINES, *OTHERS, *UNREAD)
OPEN = ("", ".txt")  # suffixes that do not reveal the contents of a file
# Bytes.
GAP = ord("-")
DOT = ord(".")
_CAPITAL = re.compile(rb"[A-MO-WYZ]")  # without N and X, which mask letters in either case
_MARKS = re.compile(rb"[a-z.]")
# Rows of structure or consensus that HHsuite adds to the sequences.
_SET_ASIDE = re.compile(
    r"((ss|sa|aa)_(dssp|pred|conf)(?![a-z])|cons(ensus)?-?$)|.*_consensus$", re.I
)


class RawAlignment(NamedTuple):
    """Aligned sequences in capital letters, restricted to their shared columns (sites).

    Attributes:
        names: the first word of each sequence's title.
        titles: the full title of each sequence.
        letters: one byte for each site, shape (sequences, sites); gaps are "-".
        lines: the number of the line on which each sequence begins.
        notes: sentences that describe what was dropped.
        whole: each sequence with its insertions, as in the file.
        columns: the index of each site's column in the file, or None if insertions were removed
            letter by letter.
    """

    names: list[str]
    titles: list[str]
    letters: np.ndarray
    lines: list[int]
    notes: tuple[str, ...]
    whole: list[bytes]
    columns: np.ndarray | None

    def numbers(self, row: int) -> tuple[np.ndarray, str]:
        """Return a sequence's residue number at each site (0 at gaps), and a note on the numbering.

        Numbering starts at the number given in the name, such as 24 in "BLAT_ECOLX/24-286", or else
        at 1, and counts insertions. If the range in the name does not match the number of residues
        in the file, residues were removed at unknown positions, and the sites are numbered by
        their columns instead.
        """
        letters = np.frombuffer(self.whole[row], np.uint8)
        is_residue = (_upper(letters) >= ord("A")) & (_upper(letters) <= ord("Z"))
        columns = self.columns
        if columns is None:
            columns = np.flatnonzero(~(_is_lower(letters) | (letters == DOT)))
        numbers = np.cumsum(is_residue)[columns]
        count = int(is_residue.sum())
        origin = "residues, from 1"
        residues = re.search(r"/(\d{1,9})-(\d{1,9})$", self.names[row])
        if residues:
            first = int(residues[1])
            named = int(residues[2]) - first + 1
            if named == count:
                numbers = numbers + first - 1
                origin = f"residues, from {first}, as in the name"
            else:
                numbers = np.arange(1, len(numbers) + 1)
                origin = (
                    f"columns of the alignment, since the name gives {named:,} residues"
                    f" but the file has {count:,}"
                )
        return np.where(is_residue[columns], numbers, 0), origin


def named_as_alignment(path: Path) -> bool:
    """Return whether a file's name has the suffix of an alignment format, with or without .gz."""
    return _suffix(path) in SUFFIXES


def is_alignment(path: Path) -> bool:
    """Return whether a file contains aligned sequences, judging by its suffix or its contents.

    The contents are examined only if the suffix is .txt or absent.
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
    """Split "FILE:FAMILY" into two if FILE is an alignment and no file has the whole name."""
    text = os.fspath(source)
    file, _, family = text.rpartition(":")
    if not file or not family or os.path.lexists(text) or not is_alignment(Path(file)):
        return Path(text), None
    return Path(file), family


def _suffix(path: Path) -> str:
    return Path(re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)).suffix.lower()


def read_sequences(path: str | Path) -> RawAlignment:
    """Read aligned sequences from a file, whose format is inferred from its contents.

    Insertions are dropped. In A2M and A3M files, and if sequences differ in length, every
    lower-case letter or dot is an insertion; in other files, the insertions are columns in which no
    sequence has a capital letter or "-". In a file without capital letters, lower case does not
    mark insertions.

    Args:
        path: a FASTA, A2M, A3M, Stockholm, Clustal or PHYLIP file, or a text file with one sequence
            per line, optionally compressed (.gz). FILE:NAME selects one of several families.

    Raises:
        InputError: the file cannot be read, contains no sequences or several families, or its
            sequences are not aligned; the message gives the sequence and its line.
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
    if not any(_CAPITAL.search(entry.letters) for entry in entries):
        # Lower case does not mark insertions here: MAFFT writes all DNA in lower case.
        is_marked = False
        entries = [entry._replace(letters=entry.letters.upper()) for entry in entries]
        notes.append("letters are in lower case, and none marks an insertion")
    if not _are_as_wide(entries, is_marked):
        bare, note = without_final_stops(entries)
        if _are_as_wide(bare, is_marked):
            entries = bare
            notes.append(note)
    letters, columns, dropped = _aligned(entries, label, is_marked)
    notes = [f"{file.name}: {note}." for note in (*family.notes, *notes, dropped) if note]
    return RawAlignment(
        names=names,
        titles=[entry.title for entry in entries],
        letters=letters,
        lines=[entry.line for entry in entries],
        notes=tuple(notes),
        whole=[entry.letters for entry in entries],
        columns=columns,
    )


def _are_as_wide(entries: list[Entry], is_marked: bool) -> bool:
    """Return whether all sequences have the same number of sites."""
    if len({len(entry.letters) for entry in entries}) == 1 and not is_marked:
        return True
    return len({len(_MARKS.sub(b"", entry.letters)) for entry in entries}) == 1


def _aligned(
    entries: list[Entry], label: str, is_marked: bool
) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Return the shared columns in capital letters, their indices, and a note on insertions.

    The indices are None if insertions were removed letter by letter.
    """
    widths = {len(entry.letters) for entry in entries}
    if is_marked or len(widths) > 1:
        aligned = [_MARKS.sub(b"", entry.letters) for entry in entries]
        _check_widths(entries, aligned, label)
        letters = _matrix(aligned)
        columns = None
        insertions = sum(len(entry.letters) for entry in entries) - letters.size
        dropped = ""
        if insertions:
            dropped = f"{insertions:,} insertions dropped (lower case and dots)"
    else:
        letters, columns, dropped = _without_insertions(_matrix([e.letters for e in entries]))
    if not letters.shape[1]:
        raise InputError(
            f"{label}: expected capital letters; got only lower case, which marks insertions;"
            " write the sequences in capital letters."
        )
    return letters, columns, dropped


def _without_insertions(letters: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Drop columns of insertions; return the other columns, their indices, and a note."""
    is_lower = _is_lower(letters)
    is_insertion = (is_lower | (letters == DOT)).all(0) & is_lower.any(0)
    columns = np.flatnonzero(~is_insertion)
    clauses = []
    if is_insertion.any():
        count = int(is_insertion.sum())
        pronoun = "them" if count > 1 else "it"
        clauses.append(f"{count_of(count, 'column')} of insertions dropped")
        clauses.append(f"columns are numbered without {pronoun}")
    mixed = int(is_lower[:, columns].sum())
    if mixed:
        # The letters may be soft-masked, or the file may be in A3M format despite its suffix.
        clauses.append(
            f"{mixed:,} letters in lower case among capitals read as letters; in a file named"
            " .a3m, they would be insertions"
        )
    letters = _upper(letters[:, columns])
    letters[letters == DOT] = GAP
    return letters, columns, "; ".join(clauses)


def _check_widths(entries: list[Entry], aligned: list[bytes], label: str) -> None:
    width = len(aligned[0])
    for entry, letters in zip(entries, aligned, strict=True):
        if len(letters) != width:
            raise InputError(
                f"{label}: expected aligned sequences of {width:,} sites, like {entries[0].name!r};"
                f" got {entry.name!r} (line {entry.line:,}) with {len(letters):,}; align them"
                " first, for example with MAFFT or hmmalign."
            )


def _matrix(sequences: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(sequences), np.uint8).reshape(len(sequences), -1).copy()


def _is_lower(letters: np.ndarray) -> np.ndarray:
    return (letters >= ord("a")) & (letters <= ord("z"))


def _upper(letters: np.ndarray) -> np.ndarray:
    return np.where(_is_lower(letters), letters - 32, letters)


def sequences_of(entries: list[Entry], label: str) -> tuple[list[Entry], list[str], list[str]]:
    """Return the entries that are sequences, a different name for each, and notes on changes.

    Rows of annotation (structure or consensus) are left out, as are entries that repeat both the
    title and the sequence of another. If several sequences share a name, an index is added to it.

    Raises:
        InputError: no sequences remain.
    """
    notes = []
    sequences = [entry for entry in entries if not _SET_ASIDE.match(entry.name)]
    if len(sequences) < len(entries):
        names = dict.fromkeys(entry.name for entry in entries if _SET_ASIDE.match(entry.name))
        number = count_of(len(entries) - len(sequences), "row")
        notes.append(f"{number} of structure or consensus set aside ({_listed(names)})")
    # Equal sequences with different titles are kept: their weights together count as one sequence.
    by_content = dict[tuple[str, bytes], Entry]()
    for entry in sequences:
        by_content.setdefault((entry.title, entry.letters), entry)
    different = list(by_content.values())
    if len(different) < len(sequences):
        copies = count_of(len(sequences) - len(different), "repeated sequence")
        notes.append(f"{copies} dropped")
    if not different:
        raise InputError(f"{label}: expected aligned sequences; got none.")
    names = _distinct([entry.name for entry in different])
    changed = [new for new, entry in zip(names, different, strict=True) if new != entry.name]
    if changed:
        number = count_of(len(changed), "repeated name")
        notes.append(f"{number} numbered, such as {changed[0]}")
    return different, names, notes


def without_final_stops(entries: list[Entry]) -> tuple[list[Entry], str]:
    """Remove stop symbols at the ends of sequences; return the sequences and a note."""
    stopped = sum(entry.letters.endswith(b"*") for entry in entries)
    bare = [entry._replace(letters=entry.letters.rstrip(b"*")) for entry in entries]
    return bare, f"the stop * at the end of {count_of(stopped, 'sequence')} left out"


def chosen_family(families: list[Family], choice: str | None, label: str) -> Family:
    """Return the family that the user chose, or the only family of the file.

    Args:
        families: the families in the file.
        choice: a name, or an index from 1; may be None if the file has only one family.
        label: the name of the file in error messages.

    Raises:
        InputError: there are several families and no choice, or the choice does not exist.
    """
    if choice is None and len(families) == 1:
        return families[0]
    names = [family.called or f"{k}" for k, family in enumerate(families, 1)]
    if len(set(names)) < len(names):  # equal names can be distinguished only by index
        names = [f"{k} ({name})" for k, name in enumerate(names, 1)]
    count = f"{len(families):,} families" if len(families) > 1 else "one family"
    if choice is None:
        example = names[0]
        is_word = example.isprintable() and len(example.split()) == 1
        if not is_word or example not in families[0].names:
            example = "1"
        raise InputError(
            f"{label}: expected the alignment of one family; got {count}: {_listed(names)}; choose"
            f" one, such as {label}:{example}."
        )
    meant = [family for family in families if choice.lower() in map(str.lower, family.names)]
    if not meant and choice.isdecimal() and 0 < int(choice) <= len(families):
        meant = [families[int(choice) - 1]]
    if len(meant) != 1:
        candidates = f"{count}: {_listed(names)}"
        if meant:
            candidates = f"{len(meant):,} families of that name"
        raise InputError(
            f"{label}: expected one family named {choice!r}; got {candidates}; choose a family"
            f" by its name, or by its number from 1 to {len(families):,}."
        )
    return meant[0]


def _distinct(names: list[str]) -> list[str]:
    """Return the names, with an index added to each repetition of an earlier name."""
    taken = set(names)
    seen = dict[str, int]()
    distinct = []
    for name in names:
        number = seen.get(name, 0) + 1
        new = name
        while number > 1 and new in taken:
            new = _numbered(name, number)
            number += new in taken
        seen[name] = number
        taken.add(new)
        distinct.append(new)
    return distinct


def _numbered(name: str, number: int) -> str:
    """Return the name with an index added, or inserted before a range of residues at its end."""
    stem, slash, residues = name.rpartition("/")
    if slash:
        return f"{stem}_{number}/{residues}"
    return f"{name}_{number}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    listed = ", ".join(name[:40] for name in names[:6])
    if len(names) > 6:
        listed += f" and {len(names) - 6:,} more"
    return listed
