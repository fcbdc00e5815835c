"""Read and write sequences for a run on an alignment: the run's own, and given or drawn ones."""

from __future__ import annotations

import difflib

import numpy as np

from ..errors import InputError
from ..sequences import RawAlignment, Sites, file_and_family, is_alignment, read_sequences
from .folder import RunFolder

SHOWN = 10  # sequences listed


def given_rows(given: str, sites: Sites) -> np.ndarray:
    """Return rows of codes to complete, with NaN for each letter to be drawn.

    Args:
        given: a file of aligned sequences, whose ambiguous letters, such as X, are to be drawn; or
            letters at columns of the alignment, counted from 1, such as "12=A,45=G".
        sites: the sites of the run's alignment.

    Raises:
        InputError: the sequences do not match the sites, or a column or letter does not exist.
    """
    label = f"--given {given}"
    if file_and_family(given)[0].is_file():
        raw = read_sequences(given)
        codes = sites.encode(raw, label).astype(float)
        codes[sites.alphabet.codes[raw.letters][:, list(sites.columns)] == -1] = np.nan
        return codes
    row = np.full((1, len(sites.columns)), np.nan)
    for part in given.split(","):
        column, equals, letter = (text.strip() for text in part.partition("="))
        if not equals or not column.isdecimal() or len(letter) != 1:
            raise InputError(
                f"{label}: expected a file, or COLUMN=LETTER; got {part!r}; write, say, 12=A,45=G."
            )
        site = sites.site_of(int(column))
        if site is None:
            expected = f"one of the {len(sites.columns):,} modelled columns, numbered from 1 to"
            expected += f" {sites.width:,}"
            raise InputError(
                f"{label}: expected {expected}; got {column}; see sites.json in the run's folder."
            )
        code = sites.alphabet.letters.find(letter.upper())
        if code < 0:
            raise InputError(
                f"{label}: expected one of the letters {sites.alphabet.letters}; got {letter!r};"
                " choose one of them."
            )
        row[0, site] = code
    return row


def fasta_of(words: list[str], names: list[str] | None = None) -> str:
    """Return sequences as FASTA text; without `names`, the sequences are numbered."""
    titles = [f"sample_{i + 1}" for i in range(len(words))] if names is None else names
    return "".join(f">{title}\n{word}\n" for title, word in zip(titles, words, strict=True))


def own_sequences(run: str, sites: Sites) -> tuple[list[str], np.ndarray] | None:
    """Return the names and codes of the run's own sequences; None if their file is missing."""
    source = RunFolder(run).config().origin
    if not file_and_family(source)[0].is_file():
        return None
    raw = read_sequences(source)
    return raw.names, sites.encode(raw, source)


def reference(run: str, sites: Sites, sequence: str | None) -> tuple[RawAlignment, int, np.ndarray]:
    """Return the alignment that contains the sequence to mutate, its index there, and its codes.

    Args:
        run: a run folder.
        sites: the run's sites.
        sequence: a file, whose first sequence is used; or a name in the run's own alignment; None
            for that alignment's first sequence.

    Raises:
        InputError: the file or sequence does not exist.
    """
    is_file = sequence is not None and is_alignment(file_and_family(sequence)[0])
    source = sequence if sequence is not None and is_file else RunFolder(run).config().origin
    raw = read_sequences(source)
    row = 0
    if sequence is not None and not is_file:
        places = [k for k, name in enumerate(raw.names) if sequence in (name, name.split("/")[0])]
        if len(places) != 1:
            count = len(places) or "none"
            near = difflib.get_close_matches(sequence, raw.names, n=3, cutoff=0.4)
            near = near or [name for name in raw.names if sequence.lower() in name.lower()][:3]
            meant = f"did you mean {' or '.join(near)}?" if near else "check the name."
            raise InputError(
                f"{source}: expected one sequence named {sequence!r}; got {count}; {meant} You can"
                " also give a sequence file."
            )
        row = places[0]
    alone = raw._replace(
        names=[raw.names[row]], letters=raw.letters[row : row + 1], lines=[raw.lines[row]]
    )
    return raw, row, sites.encode(alone, source)[0]
