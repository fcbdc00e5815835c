"""What a search for log Z tries before it anneals in earnest: paths, and what short runs say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .reference_states import ReferenceStates
from .schedule import AnnealingSchedule, FinalStates


class Candidate(NamedTuple):
    """A path that was tried, with the final states of its forward runs and their gains."""

    schedule: AnnealingSchedule
    final: FinalStates
    gains: np.ndarray

    @property
    def references(self) -> ReferenceStates:
        """Its final states as reference states for another path."""
        return ReferenceStates.of_chains(self.final.v, self.final.log_weights)


class PilotRuns(NamedTuple):
    """What pilot runs along a path in both directions say of it.

    Attributes:
        schedule: the path, spaced by their work.
        lost: the work lost forward and in reverse together, nats.
        spread: half the sum of the variances of their work. It is as large as `lost` where both are
            small, and far better known.
    """

    schedule: AnnealingSchedule
    lost: float
    spread: float
