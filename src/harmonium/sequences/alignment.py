"""Alignments as training data: encoded sequences, sequence weights and clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, count_of
from .raw_alignment import RawAlignment, file_and_family, read_sequences
from .similarity import Neighbours, neighbours
from .sites import Alphabet, Sites, alphabet_named, codes_of, notes_on_letters

__all__ = ["Alignment", "read_alignment"]

MOST_GAPS_AT_SITE = 0.8
MOST_GAPS_IN_SEQUENCE = 0.5
IDENTITY = 0.8


@dataclass(frozen=True, eq=False)
class Alignment:
    r"""Aligned sequences, encoded as training data for a model.

    Attributes:
        names: the first word of each sequence's title.
        titles: the full title of each sequence.
        codes: integer codes, shape (sequences, sites); 0 is a gap.
        sites: the sites of the alignment and the meaning of the codes.
        neighbours: how many sequences are similar to each, and clusters of similar sequences.
        notes: sentences on how the file was read, for example on what was left out.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "family.fasta")
        ...     _ = file.write_text(">a\nGGCAU\n>b\nGGCAU\n>c\nAUGC-\n")
        ...     family = hm.read_alignment(file)
        >>> family.names, family.words, family.codes[2].tolist()
        (['a', 'b', 'c'], ['GGCAU', 'GGCAU', 'AUGC-'], [1, 4, 3, 2, 0])
    """

    names: list[str]
    titles: list[str]
    codes: np.ndarray
    sites: Sites
    neighbours: Neighbours
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """Return a summary: the numbers of sequences and sites, and the alphabet."""
        sequences, sites = self.codes.shape
        letters = self.sites.alphabet.letters
        return f"Alignment({sequences:,} sequences of {sites:,} sites, letters {letters})"

    @property
    def weights(self) -> np.ndarray:
        """The weight of each sequence: 1 / (number of similar sequences, including itself)."""
        return self.neighbours.weights

    @property
    def words(self) -> list[str]:
        """The sequences as strings, with gaps in place of columns that were left out."""
        return self.sites.words(self.codes)


def read_alignment(
    path: str | Path,
    *,
    alphabet: str = "auto",
    identity: float = IDENTITY,
    most_gaps_at_site: float = MOST_GAPS_AT_SITE,
    most_gaps_in_sequence: float = MOST_GAPS_IN_SEQUENCE,
    progress: Callable[[float], None] | None = None,
) -> Alignment:
    r"""Read a sequence alignment as training data for a model.

    Columns with too many gaps are removed first, and then sequences with too many gaps in the
    remaining columns. The weight of each sequence is 1 / (number of sequences similar to it,
    including itself).

    Args:
        path: a FASTA, A2M, A3M, Stockholm, Clustal or PHYLIP file, or a text file with one sequence
            per line, optionally compressed (.gz); FILE:NAME selects one of several families.
        alphabet: "auto", "protein", "rna", "dna", or a string of all letters with the gap first,
            such as "-AB".
        identity: the fraction of identical sites at or above which two sequences count as similar.
        most_gaps_at_site: columns with a larger fraction of gaps are left out.
        most_gaps_in_sequence: sequences with a larger fraction of gaps are dropped.
        progress: a function called with the fraction of sequence pairs compared so far.

    Raises:
        InputError: the file cannot be read, is not aligned, contains letters outside the alphabet,
            or has fewer than two sequences with few enough gaps; or an option is out of range.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "family.fasta")
        ...     _ = file.write_text(">a\nGGCAU\n>b\nGGCAU\n>c\nAUGC-\n")
        ...     family = hm.read_alignment(file)
        >>> family.codes.shape, family.weights.tolist()  # a and b share a weight of 1
        ((3, 5), [0.5, 0.5, 1.0])
    """
    label = str(path)
    name = file_and_family(path)[0].name
    raw = read_sequences(path)
    if len(raw.names) < 2:
        raise InputError(
            f"{label}: expected an alignment of many sequences; got a single sequence; include all"
            " sequences of the family."
        )
    _check_fraction("most_gaps_at_site", most_gaps_at_site)
    _check_fraction("most_gaps_in_sequence", most_gaps_in_sequence)
    letters = alphabet_named(alphabet, _counts(raw), label)
    codes = codes_of(raw, letters, label)
    is_gap = codes == 0
    columns = np.flatnonzero(is_gap.mean(0) <= most_gaps_at_site)
    gap_fraction = np.ones(len(codes))
    if len(columns):
        gap_fraction = is_gap[:, columns].mean(1)
    rows = np.flatnonzero(gap_fraction <= most_gaps_in_sequence)
    if len(rows) < 2 or not len(columns):
        raise InputError(
            f"{label}: expected at least 2 sequences and 1 site with few enough gaps; got"
            f" {count_of(len(rows), 'sequence')} and {count_of(len(columns), 'site')}; increase the"
            " maximum fraction of gaps."
        )
    notes = [*raw.notes, *notes_on_letters(raw, letters, name)]
    n_columns = codes.shape[1] - len(columns)
    if n_columns:
        notes.append(
            f"{name}: {count_of(n_columns, 'column')} with more than {most_gaps_at_site:.0%} gaps"
            " left out; the other columns keep their numbers."
        )
    n_rows = len(codes) - len(rows)
    if n_rows:
        notes.append(
            f"{name}: {count_of(n_rows, 'sequence')} with more than {most_gaps_in_sequence:.0%}"
            " gaps dropped."
        )
    sites = Sites(letters, tuple(columns.tolist()), codes.shape[1])
    codes = np.ascontiguousarray(codes[rows][:, columns])
    similar = neighbours(codes, identity, progress)
    n_clusters = int(similar.cluster.max()) + 1
    notes.append(
        f"{name}: {count_of(len(codes), 'sequence')} of {count_of(len(columns), 'site')}"
        f" ({_described(letters)}), {similar.effective:,.0f} effective sequences at"
        f" {identity:.0%} identity, in {count_of(n_clusters, 'cluster')}."
    )
    return Alignment(
        names=[raw.names[row] for row in rows],
        titles=[raw.titles[row] for row in rows],
        codes=codes,
        sites=sites,
        neighbours=similar,
        notes=tuple(notes),
    )


def _check_fraction(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"{name}: expected a fraction from 0 to 1; got {value}.")


def _described(alphabet: Alphabet) -> str:
    title = {"rna": "RNA", "dna": "DNA", "protein": "protein"}.get(alphabet.name)
    return f"{title or 'given letters'}: {alphabet.letters}"


def _counts(raw: RawAlignment) -> np.ndarray:
    """Return how often each byte (letter) occurs in the sequences; gaps are not counted."""
    counts = np.bincount(raw.letters.ravel(), minlength=256)
    counts[[ord("-"), ord(".")]] = 0
    return counts
