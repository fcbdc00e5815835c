"""States that may lie where annealing does not come: rows, and final states from other bases.

An annealed estimate knows only the regions that its chains reach. Reference states are of another
origin, and each stands for a fraction of the model's mass. Reverse runs start from some of
them. Where such a run costs far more than log Z, forward chains hardly reach its start.
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

QUENCH_SWEEPS = 64  # enough to fall into a mode, too few to leave it for the largest one
# Of 512 known states: so few that a mode of 3 % has as many, so many that the nearest of 128 draws
# of the same distribution lies within them.
NEIGHBOURS = 16
# Chains from random states are a check if they came to nearly all that is known. Not all of it:
# of as many draws of one distribution, two in a hundred have no neighbour (`covered`).
COVERED = 0.9


class ReferenceStates(NamedTuple):
    """States with the fractions of the mass that they stand for.

    Attributes:
        source: where they come from, in words.
        states: visible states, shape (n, visible).
        fractions: their sum is 1, shape (n,).
        log_z: the log of the mass for which all of them stand, nats; None for rows, which stand
            for all of the model's.
    """

    source: str
    states: np.ndarray
    fractions: np.ndarray
    log_z: float | None = None

    @classmethod
    def of_rows(cls, states: np.ndarray) -> ReferenceStates:
        """Return rows as reference states: each stands for as much as another."""
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
        """Choose n states: those least like known ones, and a sample of the rest.

        A region of little mass that is not among the known states holds few of them. A sample of
        n would often have none of them, but they are the farthest from all that is known.

        Args:
            known: visible states, shape (m, visible).
            n: how many to choose.
            rng: random numbers for the sample.

        Returns:
            States, shape (n, visible), and the fraction that each stands for: that of all states
            to which it is the nearest. Those to which a known state is nearer belong to none.
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
    """Return the part of known states near which there is one of the others.

    It is nearer than all but a few of the known states themselves, as one of as many draws of the
    same distribution nearly always is.
    """
    near = np.sort(_distances(known, known), axis=1)[:, min(NEIGHBOURS, len(known) - 1)]
    rounding = 1e-5 * known.shape[1]  # equal states have a distance of about 0
    return float((_distances(known, others).min(1) <= near + rounding).mean())


def _distances(states: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the squared distance of each state from each known one.

    Columns are measured in units of their standard deviation over both sets.
    """
    both = np.concatenate([states, known]).astype(np.float32)
    spread = both.std(0)
    scaled = both / np.where(spread > 0, spread, 1.0)
    x = scaled[: len(states)]
    y = scaled[len(states) :]
    return (x**2).sum(1)[:, None] + (y**2).sum(1) - 2.0 * x @ y.T


def quenched(rbm: RBM, n: int, *, key: PRNGKeyArray) -> Float[Array, "n visible"]:
    """Return the final states of short chains from random states: draws of many modes."""
    key_start, key_move = split(key)
    start = _random_states(rbm, n, key=key_start)
    # Its own call, since the search has compiled sweeps of so many chains already.
    return swept(rbm, start, whole_number(QUENCH_SWEEPS), key=key_move)


@compiled
def _random_states(rbm: RBM, n: int, *, key: PRNGKeyArray) -> Float[Array, "n visible"]:
    """Return states from which short chains come to modes of many kinds.

    Half of them are drawn given hidden states without inputs or biases, where a hidden unit alone
    can lead to its own pattern; the others are such visible states.
    """
    key_h, key_given, key_v = split(key, 3)
    h = rbm.hidden.base().sample_without_inputs((n - n // 2,), key=key_h)
    by_hidden = rbm.sample_v_from_h(h, key=key_given)
    by_visible = rbm.visible.base().sample_without_inputs((n // 2,), key=key_v)
    return jnp.concatenate([by_hidden, by_visible.astype(by_hidden.dtype)])
