"""The last word on the model of a run: the last one, or one from before that is surely better.

What was followed knows small differences between records. But where the chains of a run miss what a
model says elsewhere, it can be wrong by hundreds of nats without a sign of it. So each model that
may be kept is annealed anew at the end. What was followed decides if that agrees with it, and the
annealing itself if not; and where neither is sure, the last model is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from ..rbm import RBM
from .anew import found_anew
from .following import TOLERANCE
from .held_out import HeldOut, Tracker

WORK = 2.0  # of all annealing at the end, as a multiple of that for following


class Choice(NamedTuple):
    """The model that a run ends with.

    Attributes:
        rbm: the model.
        update: its update.
        why: what decided, in words that go on a message; empty if there was nothing to decide.
    """

    rbm: RBM
    update: int
    why: str = ""


class _Worth(NamedTuple):
    """The log-likelihood of held-out rows under a model, nats per row.

    Attributes:
        rbm: the model.
        update: its update.
        value: as it was followed; None if it is not known.
        variance: of the log Z that was followed.
        low: lower end by annealing anew.
        high: its upper end.
    """

    rbm: RBM
    update: int
    value: float | None
    variance: float
    low: float
    high: float

    @property
    def is_confirmed(self) -> bool:
        """Whether what was followed lies where annealing anew says, within both errors."""
        reach = 2.0 * self.variance**0.5 + TOLERANCE
        return self.value is not None and self.low - reach <= self.value <= self.high + reach

    def __str__(self) -> str:
        return f"[{self.low:.2f}, {self.high:.2f}] nats"


def in_updates(update: int) -> str:
    """Return which record's model is meant, in words."""
    return f"after update {update:,}"


def chosen(
    tracker: Tracker,
    state: HeldOut,
    last: RBM,
    updates: int,
    measured: Callable[[RBM], tuple[float, float]],
    named: Callable[[int], str] = in_updates,
) -> Choice:
    """Return the model to keep of a run that has ended.

    Args:
        tracker: what followed log Z.
        state: what is known at the end.
        last: the averaged model of the end.
        updates: updates made.
        measured: the mean free energy of the held-out rows under a model, nats, NaN if it is too
            rough to choose by; and a number that its log Z exceeds for certain.
        named: which model is that of an update, in words.
    """
    found = [(state.best, int(state.update)), (state.earlier, int(state.earlier_update))]
    others = [(rbm, update) for rbm, update in found if 0 <= update < updates]
    if not others:
        return Choice(last, updates)
    if tracker.is_exact:
        rbm, update = others[0]
        return Choice(rbm, update, f"the model is that {named(update)}, where {HIGHEST}")
    now, sweeps = state.found, WORK / (1 + len(others)) * tracker.allowed(state, updates)
    worths = []
    for i, (rbm, update) in enumerate([(last, updates), *others]):
        key = jax.random.fold_in(jax.random.fold_in(tracker.key, 0), i)
        anew = found_anew(rbm, tracker.base, sweeps, tracker.chains_of(state), key=key)
        energy, least = measured(rbm)
        value, variance = None, 0.0
        if update == updates and not now.doubt:
            value, variance = -energy - now.value, (now.reach / 2.0) ** 2
        elif update == int(state.update):
            value, variance = float(state.value), float(state.variance)
        lowest_log_z = max(anew.low, least)
        highest_log_z = max(anew.high, least)
        ends = -energy - highest_log_z, -energy - lowest_log_z
        worths.append(_Worth(rbm, update, value, variance, *ends))
    end, *rest = worths
    better = [(_advantage(one, end), one) for one in rest]
    most, best = max(better, key=lambda pair: pair[0])
    if most <= 0.0:
        doubtful = " or ".join(named(one.update) for one in rest)
        why = (
            "the last model is kept: annealing in both directions did not confirm that held-out"
            f" rows had a higher log-likelihood {doubtful}"
        )
        return Choice(last, updates, why)
    if _is_followed(best, end):
        why = f"{HIGHEST}, as it was followed, which annealing anew does not contradict"
    else:
        why = f"held-out rows have {best} by annealing anew, and {end} with the last model"
    return Choice(best.rbm, best.update, f"the model is that {named(best.update)}, where {why}")


HIGHEST = "held-out rows had their highest log-likelihood"


def _is_followed(one: _Worth, last: _Worth) -> bool:
    return one.is_confirmed and last.is_confirmed


def _advantage(one: _Worth, last: _Worth) -> float:
    """Return by how much a model is better than the last one, less all that may be wrong, nats.

    Errors that both share, since log Z was followed from one to the other, do not count.
    """
    if not _is_followed(one, last) or one.value is None or last.value is None:
        advantage = one.low - last.high
    else:
        advantage = one.value - last.value - 2.0 * abs(last.variance - one.variance) ** 0.5
    return -np.inf if np.isnan(advantage) else advantage
