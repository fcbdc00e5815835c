"""Whether the model that a run ends with says more of the rows than units by themselves.

Chains that stay where they are can go on agreeing with the data while the model does not: of two
clusters, each keeps its chains, and nothing sets the model's shares of them. Then the means of the
model are off, and its log-likelihood may be below that of the same units without weights. Both are
known exactly for a model with few states; else by the log Z that a run followed, and by its chains.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._threefry import key_of
from ..data import Dataset
from ..partition_function.enumerated import chunk_of_states, enumerable
from ..rbm import RBM
from ..samplers import Cloud
from ..statistics import effective_size
from .monitors import Monitors, RowStatistics
from .update import batch_of

# Shorter runs have hardly left their start: from biases of 0, as scikit-learn's begin, a hundred
# updates are often worth less than the rows' means.
FEWEST_UPDATES = 1_000
LEAST_LOSS = 0.05  # nats below independent units, which short runs differ from by chance
ERRORS = 3.0  # of the mean over rows, likewise
# Of two equal clusters, the model has a seventh or less in one of them. Good models of digits with
# ten chains, BernoulliRBM's default, were off by up to 0.19 in twenty seeds and by 0.35 in another.
FAR_OFF = 0.5
# Means over n independent chains are off by 1/n on average, by ten times that once in a thousand.
CHANCE = 10.0
ADVICE = (
    "lower the learning rate, keep chains mixing (gradient or method 'auto'), or leave out the"
    " number of epochs and hold rows out, so that the best model on the way is kept"
)


class PoorModelWarning(RuntimeWarning):
    """A run ended with a model that is worth less than units by themselves, or far from its rows.

    Example:
        >>> import warnings
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", hm.PoorModelWarning)  # then it is an error
        ...     fit = hm.fit(rbm, rows, key=key, epochs=2)
        >>> fit.notes
        ()
    """


class Known(NamedTuple):
    """What a run knows of its model's partition function.

    Attributes:
        log_z: log Z, nats; None if it is not known.
        error: by how much it may be too small.
        mean: ⟨v⟩ of the model, by enumeration or by chains; None if there are none.
        chance: how far means may be off by chance, as a share of the variance.
    """

    log_z: float | None
    error: float
    mean: Array | None
    chance: float


def known_exactly(rbm: RBM) -> Known:
    """Return log Z and ⟨v⟩ by enumeration, for a model of few states whose Z is finite."""
    log_z, mean = _enumerated(rbm)
    return Known(float(log_z), 0.0, mean, 0.0)


def known_of_chains(chains: Cloud | None, log_z: float | None, error: float) -> Known:
    """Return what a run's own chains say, with the log Z that was followed, if any was."""
    if chains is None:
        return Known(log_z, error, None, 0.0)
    chance = CHANCE / float(effective_size(chains.weights))
    return Known(log_z, error, chains.weights @ chains.states, chance)


def reason_against(rbm: RBM, monitors: Monitors, known: Known) -> str:
    """Return in a sentence why the model is worth little, and what to do; empty if it is not."""
    return _worth_less(rbm, monitors, known) or _far_off(rbm, monitors, known)


def _worth_less(rbm: RBM, monitors: Monitors, known: Known) -> str:
    """Compare the log-likelihood with that of the start's units without weights.

    A start that `initialize` made has the means of the data.
    """
    if known.log_z is None or not np.isfinite(known.log_z):
        return ""
    names = ("training rows", "held-out rows")
    for name, rows in zip(names, monitors.measured(rbm), strict=False):
        value = -rows.energy - known.log_z
        without = -rows.reference - monitors.log_z_of_reference
        margin = max(LEAST_LOSS, known.error + rows.reach + ERRORS * _stderr(rows))
        if value < without - margin:
            return (
                f"the model is worth less than its units by themselves: the log-likelihood of"
                f" {name} is {value:.2f} nats, and {without:.2f} without weights; {ADVICE}"
            )
    return ""


def _far_off(rbm: RBM, monitors: Monitors, known: Known) -> str:
    """Compare ⟨v⟩ with that of the training rows, if they are complete."""
    if known.mean is None or monitors.watched[0][0].missing:
        return ""
    share, off = map(float, _distance(rbm, *monitors.watched[0], known.mean))
    if not share > FAR_OFF + known.chance:
        return ""
    return (
        f"the model has lost the rows: its means are {off:.2f} standard deviations of a column away"
        f" from theirs, in the root mean square; {ADVICE}"
    )


def _stderr(rows: RowStatistics) -> float:
    """Return the standard error of the mean difference between the model and independent units."""
    variance = rows.variance + rows.reference_variance - 2.0 * rows.covariance
    return float(np.sqrt(max(0.0, variance) / max(1.0, rows.worth - 1.0)))


@eqx.filter_jit
def _enumerated(rbm: RBM) -> tuple[Float[Array, ""], Float[Array, " visible"]]:
    """Return log Z and ⟨v⟩ by one sum over the states of the smaller discrete layer."""
    side = enumerable(rbm)
    assert side is not None
    states, minus_f = chunk_of_states(side, jnp.zeros((), jnp.uint32), side.visible.n_states or 0)
    log_z = jax.nn.logsumexp(minus_f)
    is_transposed = side is not rbm
    means = rbm.mean_v_from_h(states) if is_transposed else states
    return log_z, jnp.exp(minus_f - log_z) @ means


@eqx.filter_jit
def _distance(
    rbm: RBM, dataset: Dataset, n: Array, mean: Float[Array, " visible"]
) -> Float[Array, " 2"]:
    """Return the mean over columns of (Δ/σ)², each at most 1, and the root of the whole mean.

    The bound keeps a few rare columns, of which σ is tiny, from deciding for all.
    """
    indices = jnp.arange(len(dataset))
    cloud, _ = batch_of(rbm.visible, dataset, indices, indices < n, key=key_of(0))
    of_rows = cloud.weights @ cloud.states
    variance = cloud.weights @ (cloud.states - of_rows) ** 2
    varies = variance > 0.0
    ratios = jnp.where(varies, (mean - of_rows) ** 2 / jnp.where(varies, variance, 1.0), 0.0)
    count = jnp.maximum(varies.sum(), 1)
    return jnp.stack([jnp.minimum(ratios, 1.0).sum() / count, jnp.sqrt(ratios.sum() / count)])
