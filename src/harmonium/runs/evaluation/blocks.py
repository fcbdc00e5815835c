"""The blocks of an evaluation, in the order in which they are measured and printed."""

from __future__ import annotations

from .base import AbstractBlock
from .chains import Equilibrium, Mixing
from .columns import PredictedColumns
from .free_energy_gap import FreeEnergyGap
from .pseudo_likelihood import PseudoLikelihood
from .reconstruction import Reconstruction
from .samples import SampleQuality

# The most useful for their time first. Samples come after mixing, which says how long to sample.
BLOCKS: tuple[type[AbstractBlock], ...] = (
    PseudoLikelihood,
    Reconstruction,
    FreeEnergyGap,
    PredictedColumns,
    Mixing,
    Equilibrium,
    SampleQuality,
)
