"""An alignment to learn from: codes, weights and clusters of its sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import count_of, input_error
from .alphabets import Alphabet, alphabet_named
from .reading import RawAlignment, file_and_family, read_sequences
from .similarity import Neighbours, neighbours
from .sites import Sites, codes_of, notes_on_letters

__all__ = ["Alignment", "read_alignment"]

MOST_GAPS_AT_SITE = 0.8
MOST_GAPS_IN_SEQUENCE = 0.5
IDENTITY = 0.8


@dataclass(frozen=True, eq=False)
class Alignment:
    r"""Aligned sequences as a model learns from them.

    Attributes:
        names: the first word of each sequence's title.
        titles: the whole titles.
        codes: integer codes, shape (sequences, sites); 0 is a gap.
        sites: what the sites and the codes mean.
        neighbours: how alike the sequences are.
        notes: a sentence for each thing that was done.

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
        """Return the number of sequences and sites, and the alphabet."""
        sequences, sites = self.codes.shape
        letters = self.sites.alphabet.letters
        return f"Alignment({sequences:,} sequences of {sites:,} sites, letters {letters})"

    @property
    def weights(self) -> np.ndarray:
        """The weight of each sequence: 1 / the number of sequences that are like it."""
        return self.neighbours.weights

    @property
    def words(self) -> list[str]:
        """The sequences, at full width."""
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
    r"""Read aligned sequences to learn from.

    Columns with too many gaps are left out, then sequences with too many gaps at the others. Each
    sequence gets the weight 1 / (number of sequences with at least this identity, itself included).

    Args:
        path: a FASTA, A2M, A3M, Stockholm, Clustal or PHYLIP file, or one with a sequence in each
            line, perhaps with .gz; FILE:NAME chooses one of several families.
        alphabet: "auto", "protein", "rna", "dna", or all letters with the gap first, as "-AB".
        identity: the fraction of equal sites from which two sequences count as alike.
        most_gaps_at_site: columns with a larger fraction of gaps are left out.
        most_gaps_in_sequence: sequences with a larger fraction of gaps are dropped.
        progress: is called with the fraction of the pairs of sequences that were compared.

    Raises:
        InputError: the file cannot be read, is not aligned, holds other letters or fewer than two
            sequences; the message names the sequence and its line.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "family.fasta")
        ...     _ = file.write_text(">a\nGGCAU\n>b\nGGCAU\n>c\nAUGC-\n")
        ...     family = hm.read_alignment(file)
        >>> family.codes.shape, family.weights.tolist()  # a and b share a weight of 1
        ((3, 5), [0.5, 0.5, 1.0])
    """
    label, name = str(path), file_and_family(path)[0].name
    raw = read_sequences(path)
    if len(raw.names) < 2:
        expected, advice = "an alignment of many sequences", "give all sequences of the family"
        raise input_error(label, expected, "a single sequence", advice)
    for option, value in (("site", most_gaps_at_site), ("sequence", most_gaps_in_sequence)):
        if not 0 <= value <= 1:
            given = f"most_gaps_{option}"
            raise input_error(given, "a fraction from 0 to 1", f"{value}", "give 0.5")
    letters = alphabet_named(alphabet, _counts(raw), label)
    codes = codes_of(raw, letters, label)
    kept, rows, notes = _without_gaps(codes, name, most_gaps_at_site, most_gaps_in_sequence)
    if len(rows) < 2 or not len(kept):
        found = f"{count_of(len(rows), 'sequence')} and {count_of(len(kept), 'site')}"
        advice = "raise the fraction of gaps that is allowed"
        raise input_error(label, "sequences and sites with few gaps", found, advice)
    sites = Sites(letters, tuple(kept.tolist()), codes.shape[1])
    codes = np.ascontiguousarray(codes[rows][:, kept])
    found = neighbours(codes, identity, progress)
    about = f"{name}: {count_of(len(codes), 'sequence')} of {count_of(len(kept), 'site')}"
    about += f" ({_described(letters)}), {found.effective:,.0f} effective ones at"
    about += f" {identity:.0%} identity, in {count_of(int(found.cluster.max()) + 1, 'cluster')}."
    notes = (*raw.notes, *notes_on_letters(raw, letters, name), *notes, about)
    names, titles = ([some[k] for k in rows] for some in (raw.names, raw.titles))
    return Alignment(names, titles, codes, sites, found, notes)


def _described(alphabet: Alphabet) -> str:
    kind = {"rna": "RNA", "dna": "DNA", "protein": "protein"}.get(alphabet.name, "letters as told")
    return f"{kind}: {alphabet.letters}"


def _counts(raw: RawAlignment) -> np.ndarray:
    counts = np.bincount(raw.letters.ravel(), minlength=256)
    counts[[ord("-"), ord(".")]] = 0
    return counts


def _without_gaps(
    codes: np.ndarray, name: str, at_site: float, in_sequence: float
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the columns and the sequences with few gaps, and what was left out."""
    gaps = codes == 0
    kept = np.flatnonzero(gaps.mean(0) <= at_site)
    share = gaps[:, kept].mean(1) if len(kept) else np.ones(len(codes))
    rows, notes = np.flatnonzero(share <= in_sequence), ()
    columns = codes.shape[1] - len(kept)
    if columns:
        found = f"{count_of(columns, 'column')} with more than {at_site:.0%} gaps left out"
        notes = (f"{name}: {found}; the others keep their numbers.",)
    lost = len(codes) - len(rows)
    if lost:
        found = f"{count_of(lost, 'sequence')} with more than {in_sequence:.0%} gaps dropped"
        notes = (*notes, f"{name}: {found}.")
    return kept, rows, notes
