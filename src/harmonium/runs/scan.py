"""Score all single mutants of a sequence under a model of its family."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..analysis import single_changes
from ..io.storage import load
from ..plot import mutation_map
from ..plot.base import save_figure
from .folder import RunFolder
from .sequences import reference
from .writing import check_target, frame_of, write_table

SUFFIXES = (".csv", ".tsv", ".png")
SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A single mutant, such as A12G, and its score log p(mutant) − log p(sequence), in nats."""

    mutant: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A scan of all single mutants of a sequence, with the lowest and the highest scores.

    Attributes:
        run: the folder of the run.
        sequence: the name of the sequence.
        numbered: a description of how its residues are numbered.
        out: the file with all scores; None if none was written.
        mutants: the number of mutants.
        mean: the mean score, in nats; None if there are no mutants.
        most_harmful: the mutants with the lowest scores.
        most_favourable: the mutants with the highest scores.
    """

    run: str
    sequence: str
    numbered: str
    out: str | None
    mutants: int
    mean: float | None
    most_harmful: list[Mutant]
    most_favourable: list[Mutant]


def scan(run: str, sequence: str | None, out: str | None, overwrite: bool) -> Scan:
    """Score each single mutant of a sequence by log p(mutant) − log p(sequence).

    Args:
        run: the folder of a run on an alignment.
        sequence: a file, whose first sequence is scanned, or a name in the run's alignment; None
            for that alignment's first sequence.
        out: the file to write: a table (.csv, .tsv) or a heat map (.png); None to write none.
        overwrite: whether an existing file is replaced.

    Raises:
        InputError: a file cannot be read or written, or the sequence does not match the alignment.
    """
    if out is not None:
        check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    sites = RunFolder(run).sites_of_alignment()
    raw, row, codes = reference(run, sites, sequence)
    scores = single_changes(rbm, codes)
    letters = sites.alphabet.letters
    numbers, numbered = raw.numbers(row)
    numbers = numbers[list(sites.columns)]
    site, code = np.nonzero(np.ones_like(scores, bool))
    # Code 0 is the gap: neither filling a gap nor deleting a residue counts as a mutant.
    is_mutant = (code != codes[site]) & (code != 0) & (codes[site] != 0)
    site = site[is_mutant]
    code = code[is_mutant]
    before = np.array(list(letters), object)[codes[site]]
    after = np.array(list(letters), object)[code]
    values = scores[site, code]
    names = [f"{a}{k}{b}" for a, k, b in zip(before, numbers[site], after, strict=True)]
    if out is not None and Path(out).suffix.lower() == ".png":
        shown = np.where(codes[:, None] == 0, np.nan, scores)  # gaps are not mutated
        figure = mutation_map(shown, letters, codes, numbers=numbers.tolist(), label=numbered)
        save_figure(figure, out)
    elif out is not None:
        columns = np.array(sites.columns)[site] + 1.0
        table = {"mutant": np.array(names, object), "column": columns}
        table |= {"from": before, "to": after, "score": np.round(values, 4)}
        write_table(frame_of(table), out)
    mutants = [Mutant(mutant=names[k], score=float(values[k])) for k in np.argsort(values)]
    return Scan(
        run=run,
        sequence=raw.names[row],
        numbered=numbered,
        out=out,
        mutants=len(mutants),
        mean=float(values.mean()) if mutants else None,
        most_harmful=mutants[:SHOWN],
        most_favourable=mutants[::-1][:SHOWN],
    )
