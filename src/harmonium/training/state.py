"""What a run carries from update to update, and what it gives back."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Array, Int

from ..rbm import RBM


class TrainState(NamedTuple):
    """All that a run needs to go on, but for the key and the data.

    Attributes:
        rbm: the model that the chains belong to.
        gradient: the gradient method's state, such as persistent chains.
        optimizer: the optimiser's state, with the averaged model in it.
        updates: number of updates made.
    """

    rbm: RBM
    gradient: Any
    optimizer: Any
    updates: Int[Array, ""]


class Report(NamedTuple):
    """Where a run stands, as callbacks see it.

    Attributes:
        updates: updates made so far.
        total: updates that the run is to make.
        epoch: epochs made so far, a fraction within one.
        epochs: epochs that the run is to make.
        seconds: time since the run (or its resumption) began.
        samples_per_second: data rows processed a second, over the last chunk.
        updates_per_second: updates made a second, over the last chunk.
        metrics: what the monitors measured here; empty between the points of measurement.
        rbm: the averaged model.
        state: the run's state.
    """

    updates: int
    total: int
    epoch: float
    epochs: float
    seconds: float
    samples_per_second: float
    updates_per_second: float
    metrics: dict[str, float]
    rbm: RBM
    state: TrainState

    @property
    def seconds_left(self) -> float:
        """Time that the rest of the run takes at the present speed."""
        return (self.total - self.updates) / self.updates_per_second


class Fit(NamedTuple):
    """A trained model.

    Attributes:
        rbm: the averaged model, which is the one to use.
        history: one record of metrics for each point of measurement.
        state: what `fit(..., state=)` goes on from; `state.rbm` is the raw model.
        message: in words, how the run ended.
        diverged: whether parameters became non-finite; `rbm` is then the last finite model.
        notes: what the gradient method did of its own accord and why, a sentence each.
    """

    rbm: RBM
    history: list[dict[str, float]]
    state: TrainState
    message: str
    diverged: bool
    notes: tuple[str, ...] = ()
