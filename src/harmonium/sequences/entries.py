"""Sequences as files hold them: their titles, names and letters, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import count_of, input_error

LETTERS = re.compile(rb"[A-Za-z.*?~_-]+")
# Most programs write a gap as "-"; GCG writes "~" at the ends, and some viewers write "_".
_ONE_GAP = bytes.maketrans(b"_~", b"--")
# Rows that HHsuite writes among the sequences: a structure or a consensus is no sequence.
_SET_ASIDE = re.compile(
    r"((ss|sa|aa)_(dssp|pred|conf)(?![a-z])|cons(ensus)?-?$)|.*_consensus$", re.I
)


class Entry(NamedTuple):
    """A sequence as the file holds it.

    Attributes:
        title: the name and what else stands in its line.
        letters: with gaps as "-", insertions as they are.
        line: the number of the line where it begins.
    """

    title: str
    letters: bytes
    line: int

    @property
    def name(self) -> str:
        """The first word of the title."""
        return self.title.split(None, 1)[0]


class Family(NamedTuple):
    """The sequences of one alignment; some files hold several.

    Attributes:
        names: what it is called: an accession, an identifier, or the name of its first sequence.
        entries: its sequences.
        notes: what was set aside, as clauses without the name of the file.
    """

    names: tuple[str, ...]
    entries: list[Entry]
    notes: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """The first of its names, of limited length; nothing if it has none."""
        return self.names[0][:40] if self.names else ""


def entry(title: bytes, letters: bytes, line: int, label: str) -> Entry:
    """Return a sequence of a file.

    Raises:
        InputError: the title is empty.
    """
    text = title.decode(errors="replace")
    if not text.strip():
        advice = "give each sequence a name"
        raise input_error(label, "a name", f"{text!r} in line {line:,}", advice)
    return Entry(text.strip(), letters.translate(_ONE_GAP), line)


def sequences_of(entries: list[Entry], label: str) -> tuple[list[Entry], list[str], list[str]]:
    """Return the entries that are sequences, their names, and clauses that say what was changed.

    Rows of structure and consensus, and copies of a title with its sequence, are left out. A name
    that stands for several sequences is numbered.

    Raises:
        InputError: nothing remains.
    """
    notes = []
    sequences = [item for item in entries if not _SET_ASIDE.match(item.name)]
    if len(sequences) < len(entries):
        names = dict.fromkeys(item.name for item in entries if _SET_ASIDE.match(item.name))
        number = count_of(len(entries) - len(sequences), "row")
        notes.append(f"{number} of structure or consensus set aside ({_listed(names)})")
    # Equal sequences of different titles stay: their weights already make them count as one.
    by_content = dict[tuple[str, bytes], Entry]()
    for item in sequences:
        by_content.setdefault((item.title, item.letters), item)
    different = list(by_content.values())
    if len(different) < len(sequences):
        copies = count_of(len(sequences) - len(different), "repeated sequence")
        notes.append(f"{copies} dropped")
    if not different:
        raise input_error(label, "aligned sequences", "none", "check how it was written")
    names = _distinct([item.name for item in different])
    changed = [new for new, item in zip(names, different, strict=True) if new != item.name]
    if changed:
        number = count_of(len(changed), "repeated name")
        notes.append(f"{number} numbered, such as {changed[0]}")
    return different, names, notes


def without_final_stops(entries: list[Entry]) -> tuple[list[Entry], str]:
    """Return the entries without the stop that ends them, and a clause that says so."""
    stopped = sum(item.letters.endswith(b"*") for item in entries)
    bare = [item._replace(letters=item.letters.rstrip(b"*")) for item in entries]
    return bare, f"the stop * at the end of {count_of(stopped, 'sequence')} left out"


def chosen_family(families: list[Family], choice: str | None, label: str) -> Family:
    """Return the family of a file that is meant.

    Args:
        families: those of the file.
        choice: a name, or a number from 1; None for the only one.
        label: what error messages call the file.

    Raises:
        InputError: several families and no choice, or a choice that there is not.
    """
    if choice is None and len(families) == 1:
        return families[0]
    names = [family.called or f"{k}" for k, family in enumerate(families, 1)]
    if len(set(names)) < len(names):  # then only numbers tell them apart
        names = [f"{k} ({name})" for k, name in enumerate(names, 1)]
    number = f"{len(families):,} families" if len(families) > 1 else "one family"
    found = f"{number}: {_listed(names)}"
    if choice is None:
        example = names[0]
        if (
            not example.isprintable()
            or len(example.split()) != 1
            or example not in families[0].names
        ):
            example = "1"
        advice = f"choose one of them as {label}:{example}"
        raise input_error(label, "the alignment of one family", found, advice)
    meant = [family for family in families if choice.lower() in map(str.lower, family.names)]
    if not meant and choice.isdecimal() and 0 < int(choice) <= len(families):
        meant = [families[int(choice) - 1]]
    if len(meant) != 1:
        expected = f"one family named {choice!r}"
        if meant:
            found = f"{len(meant):,} of that name among {number}"
        advice = f"choose one of them by its name, or by its number from 1 to {len(families):,}"
        raise input_error(label, expected, found, advice)
    return meant[0]


def _distinct(names: list[str]) -> list[str]:
    """Return the names, of which the second and later of each kind are numbered."""
    taken, seen, distinct = set(names), dict[str, int](), []
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
    """Return the name with a number before the range of residues that it may end with."""
    stem, slash, residues = name.rpartition("/")
    return f"{stem}_{number}/{residues}" if slash else f"{name}_{number}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 6:,} more" if len(names) > 6 else ""
    return ", ".join(name[:40] for name in names[:6]) + more
