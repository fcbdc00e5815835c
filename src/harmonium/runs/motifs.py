"""Motifs that the hidden units of a sequence model detect, and sequences with these motifs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..analysis.gauge import zero_sum
from ..data.parts import in_parts
from ..io.storage import load
from ..plot import weight_logos
from ..plot.base import save_figure
from ..rbm import RBM
from ..sequences import Sites
from .folder import RunFolder
from .sequences import own_sequences
from .writing import check_target

SEQUENCES = 3
LETTERS = 6


@dataclass(frozen=True, kw_only=True)
class LetterWeight:
    """The weight of a letter in a column of the alignment; columns are counted from 1."""

    column: int
    letter: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class Motif:
    """The motif that a hidden unit detects, and the sequences that excite it most and least.

    Attributes:
        unit: the index of the unit.
        norm: the norm of its weights, in the zero-sum gauge.
        letters: the letters for which the unit has its largest weights.
        high: names of the sequences that give the unit its largest inputs; None if the file of the
            run's sequences is missing.
        low: names of the sequences that give the unit its smallest inputs.
        spread: the standard deviation of its inputs over the run's sequences.
    """

    unit: int
    norm: float
    letters: list[LetterWeight]
    high: list[str] | None = None
    low: list[str] | None = None
    spread: float | None = None


@dataclass(frozen=True, kw_only=True)
class Motifs:
    """The strongest hidden units of a run, and the picture of their weights, if any was drawn."""

    run: str
    out: str | None
    units: list[Motif]


def motifs(run: str, units: int, out: str | None, overwrite: bool) -> Motifs:
    """Return the motifs that the strongest hidden units detect; draw them if `out` is given.

    Args:
        run: the folder of a run on an alignment.
        units: number of hidden units to return, those with the largest weights first.
        out: the file for a picture of their weights as logos (.png); None to draw none.
        overwrite: whether an existing file is replaced.

    Raises:
        InputError: a file cannot be read or written.
    """
    if out is not None:
        check_target(f"--out {out}", out, (".png",), overwrite)
    rbm = load(run)
    sites = RunFolder(run).sites_of_alignment()
    weights = np.asarray(zero_sum(rbm).dense_weights).reshape(len(sites.columns), sites.states, -1)
    norms = np.sqrt((weights**2).sum((0, 1)))
    strongest = np.argsort(-norms)[:units].tolist()
    if out is not None:
        numbers = (np.array(sites.columns) + 1).tolist()
        figure = weight_logos(weights, sites.alphabet.letters, strongest, numbers=numbers)
        save_figure(figure, out)
    own = own_sequences(run, sites)
    motifs_of_units = [
        Motif(unit=unit, norm=float(norms[unit]), letters=_letters(weights[:, :, unit], sites))
        for unit in strongest
    ]
    if own is not None:
        names, codes = own
        inputs = _inputs(rbm, codes)
        motifs_of_units = [
            _with_sequences(motif, names, inputs[:, motif.unit]) for motif in motifs_of_units
        ]
    return Motifs(run=run, out=out, units=motifs_of_units)


def _inputs(rbm: RBM, codes: np.ndarray) -> np.ndarray:
    """Return the inputs of the hidden units for each sequence.

    Hidden means would rank the sequences in the same order, but many means may be rounded to 1.
    """
    visible = rbm.visible
    return in_parts(lambda rows, _: rbm.inputs_to_h(visible.encode(rows)), codes, rbm.widest)


def _letters(weights: np.ndarray, sites: Sites) -> list[LetterWeight]:
    """Return the letters for which a hidden unit has the weights of largest magnitude."""
    flat = weights.ravel()
    return [
        LetterWeight(
            column=sites.columns[place // sites.states] + 1,
            letter=sites.alphabet.letters[place % sites.states],
            weight=float(flat[place]),
        )
        for place in np.argsort(-np.abs(flat))[:LETTERS]
    ]


def _with_sequences(motif: Motif, names: list[str], inputs: np.ndarray) -> Motif:
    """Return a copy of a motif, with the sequences that have its largest and smallest inputs."""
    order = np.argsort(inputs, kind="stable")
    return replace(
        motif,
        high=[names[k] for k in order[::-1][:SEQUENCES]],
        low=[names[k] for k in order[:SEQUENCES]],
        spread=float(inputs.std()),
    )
