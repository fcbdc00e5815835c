"""States that annealing may not reach: rows, and final states from other bases.

An annealed estimate covers only the regions that its chains reach. Reference states have a
different origin, and each represents a fraction of the model's mass. Reverse runs start at some of
these states. If the log weight of such a run is far below −log Z, forward chains hardly reach its
start.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.numerics import whole_number
from ..._base.programs import compiled
from ..._base.sharding import fetched
from ..._base.statistics import effective_size, log_mean_exp, relative_weights, resampled
from ..._base.threefry import split
from ...rbm import RBM
from .schedule import swept

QUENCH_SWEEPS = 64  # enough sweeps to reach a mode, too few to leave it for the largest mode
# A state counts as near a known state if fewer than this many of 512 known states are nearer. The
# number is small enough that a mode of 3 % has as many known states, and large enough that one of
# 128 draws from the same distribution is nearly always near.
NEIGHBOURS = 16
# Chains from random states are a check if they reach more than this fraction of the known states.
# The fraction is below 1, because even among equally many draws from the same distribution, two in
# a hundred have no neighbour (`covered`).
COVERED = 0.9


class ReferenceStates(NamedTuple):
    """Reference states, each with the fraction of their total mass that it represents.

    Attributes:
        source: the origin of the states, as text.
        states: visible states, shape (n, visible).
        fractions: the fraction of the mass per state, summing to 1, shape (n,).
        log_z: the log of the mass that all states represent, nats; None for rows, which represent
            the whole model.
    """

    source: str
    states: np.ndarray
    fractions: np.ndarray
    log_z: float | None = None

    @classmethod
    def of_rows(cls, states: np.ndarray) -> ReferenceStates:
        """Return rows as reference states with equal fractions."""
        n = len(states)
        return cls("the starts (for a likelihood, the rows)", states, np.full(n, 1.0 / n))

    @classmethod
    def of_chains(cls, v: Array, log_weights: np.ndarray) -> ReferenceStates:
        """Return the final states of forward runs from another base, with their weights."""
        weights = relative_weights(log_weights)
        log_z = float(log_mean_exp(log_weights))
        return cls("chains from another base", fetched(v), weights / weights.sum(), log_z)

    @property
    def effective(self) -> float:
        """The effective number of states."""
        return float(effective_size(self.fractions))

    def chosen(
        self, known: np.ndarray, n: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose n states: the states least similar to known states, and a sample of the rest.

        An unknown region of low mass contains few of these states. A random sample of n states
        would often miss these few, but they are the farthest from all known states.

        Args:
            known: visible states, shape (m, visible).
            n: number of states to choose.
            rng: random numbers for the sample.

        Returns:
            States, shape (n, visible), and the fraction that each represents: the total fraction of
            the states nearest to it. States nearer to a known state are not counted.
        """
        from_known = _distances(self.states, known).min(1)
        most_distant = np.argsort(-from_known, kind="stable")
        count = min(n, len(self.states)) // 2
        far = most_distant[:count]
        rest = most_distant[count:]
        weights = self.fractions[rest]
        if not weights.sum() > 0.0:
            weights = np.ones(len(rest))
        sampled = rest[resampled(weights, n - count, rng.uniform())]
        states = self.states[np.append(far, sampled)]
        from_chosen = _distances(self.states, states)
        is_nearer = from_chosen.min(1) < from_known
        nearest = from_chosen.argmin(1)[is_nearer]
        return states, np.bincount(nearest, self.fractions[is_nearer], minlength=n)


def covered(known: np.ndarray, others: np.ndarray) -> float:
    """Return the fraction of known states with a nearby state among the others.

    A state counts as nearby if only a few other known states are nearer; among equally many draws
    from the same distribution, there is nearly always such a state.
    """
    near = np.sort(_distances(known, known), axis=1)[:, min(NEIGHBOURS, len(known) - 1)]
    rounding = 1e-5 * known.shape[1]  # equal states have a distance of about 0
    return float((_distances(known, others).min(1) <= near + rounding).mean())


def _distances(states: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the squared distance of each state from each known state.

    Columns are measured in units of their standard deviation over both sets.
    """
    both = np.concatenate([states, known]).astype(np.float32)
    spread = both.std(0)
    scaled = both / np.where(spread > 0, spread, 1.0)
    x = scaled[: len(states)]
    y = scaled[len(states) :]
    return (x**2).sum(1)[:, None] + (y**2).sum(1) - 2.0 * x @ y.T


def quenched(rbm: RBM, n: int, *, key: PRNGKeyArray) -> Float[Array, "n visible"]:
    """Return the final states of short chains from random states, which cover many modes."""
    key_start, key_move = split(key)
    start = _random_states(rbm, n, key=key_start)
    # A separate call, because sweeps of this many chains are already compiled for the search.
    return swept(rbm, start, whole_number(QUENCH_SWEEPS), key=key_move)


@compiled
def _random_states(rbm: RBM, n: int, *, key: PRNGKeyArray) -> Float[Array, "n visible"]:
    """Return states from which short chains reach many different modes.

    Half of the states are drawn given states of hidden units without inputs or biases, so that a
    single hidden unit can lead to its own pattern; the other half are states of visible units
    without inputs or biases.
    """
    key_h, key_given, key_v = split(key, 3)
    h = rbm.hidden.base().sample_without_inputs((n - n // 2,), key=key_h)
    by_hidden = rbm.sample_v_from_h(h, key=key_given)
    by_visible = rbm.visible.base().sample_without_inputs((n // 2,), key=key_v)
    return jnp.concatenate([by_hidden, by_visible.astype(by_hidden.dtype)])
