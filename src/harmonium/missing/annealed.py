"""Free energies of rows with missing values where no sum over them is feasible: by annealing."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import from_numpy
from ..data.parts import rows_at_once
from ..layers import AbstractLayer
from ..rbm import RBM
from .marginal import missing_units, with_missing

CHAINS, STEPS = 64, 64


class SeenEnergies(NamedTuple):
    """Estimates of F(v_seen), nats.

    Attributes:
        value: one for each row, corrected for the mean error of a logarithm, variance/2.
        variance: the variance of each, from the spread of its chains' weights.
        completed: states of the rows with their missing units as one chain left them, about as
            probable as p(v_missing | v_seen) says, shape (n, visible).
    """

    value: Float[Array, " n"]
    variance: Float[Array, " n"]
    completed: Float[Array, "n visible"]

    @property
    def reach(self) -> float:
        """How far the mean over rows may lie off: two standard errors, and the correction."""
        variance = np.asarray(self.variance, np.float64)
        return float(2.0 * np.sqrt(variance.sum()) / len(variance) + variance.mean() / 2.0)


def seen_energies(
    rbm: RBM, v: Float[Array, "n visible"], chains: int, steps: int, *, key: PRNGKeyArray
) -> SeenEnergies:
    r"""Return F(v_seen) = −log Σ_h ∫ exp(−E) dv_missing by annealed importance sampling. Traceable.

    W between the missing units and the hidden units is multiplied by t, from 0 to 1 in equal
    steps. At t = 0 the missing units are independent of all others, and the sum is known. Each
    chain moves by one Gibbs sweep a step, with the seen units held.

    Args:
        rbm: the model.
        v: states, NaN in all columns of a missing unit.
        chains: chains for each row.
        steps: steps of t.
        key: a JAX random key.

    Source: Neal 2001.
    """
    visible, hidden = rbm.visible, rbm.hidden
    known = ~missing_units(visible, v)
    values = jnp.where(jnp.isnan(v), visible.mean(visible.zero_inputs), v)
    by_seen = rbm.inputs_to_h(jnp.where(visible.spread(known), values, 0.0))
    nothing = jnp.zeros((chains, *v.shape), v.dtype)

    def step(i: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        # The turn at t = 0 draws the start. As a turn of the loop it is compiled with the others.
        by_missing, log_w, _ = carry
        before, after = (by_seen + at / steps * by_missing for at in (jnp.maximum(i - 1, 0), i))
        log_w = log_w + hidden.cgf(after) - hidden.cgf(before)
        key_h, key_v = jax.random.split(jax.random.fold_in(key, i))
        inputs = i / steps * rbm.inputs_to_v(hidden.sample(after, key=key_h))
        x = visible.sample_given(inputs, known, values, key=key_v)
        return rbm.inputs_to_h(x) - by_seen, log_w, x[0]

    log_zero = jnp.zeros(nothing.shape[:-1], v.dtype)
    begun = jnp.zeros((*log_zero.shape, hidden.size), v.dtype), log_zero, nothing[0]
    _, log_w, completed = jax.lax.fori_loop(0, steps + 1, step, begun)
    alone = visible.unit_cgfs_given(jnp.zeros_like(v), known, values).sum(-1) + hidden.cgf(by_seen)
    total = jax.nn.logsumexp(log_w, axis=0) - jnp.log(chains)
    share = jnp.exp(log_w - total)
    variance = ((share - 1.0) ** 2).sum(0) / (chains * max(1, chains - 1))
    return SeenEnergies(-(alone + total + variance / 2.0), variance, completed)


def independent_energies(
    visible: AbstractLayer, hidden: AbstractLayer, v: Float[Array, "n visible"]
) -> Float[Array, " n"]:
    """Return F(v_seen) of the model of these layers without weights, exactly. Traceable."""
    values = jnp.where(jnp.isnan(v), visible.mean(visible.zero_inputs), v)
    known = ~missing_units(visible, v)
    seen = visible.unit_cgfs_given(jnp.zeros_like(v), known, values).sum(-1)
    return -(seen + hidden.cgf(hidden.zero_inputs))


@eqx.filter_jit
def _of_rows(rbm: RBM, rows: Array, key: PRNGKeyArray) -> SeenEnergies:
    return seen_energies(rbm, with_missing(rbm.visible, rows), CHAINS, STEPS, key=key)


def energies_of_rows(rbm: RBM, rows: Any, *, key: PRNGKeyArray) -> SeenEnergies:
    """Return estimates for rows in the user's coding, NaN where missing; some rows at a time."""
    size = rows_at_once(CHAINS * rbm.widest)
    found = []
    for part, first in enumerate(range(0, len(rows), size)):
        some = np.asarray(rows[first : first + size])
        filled = np.concatenate([some, np.repeat(some[-1:], size - len(some), axis=0)])
        whole = len(rows) > size  # so that one program serves all parts
        given = from_numpy(filled if whole else some)
        estimate = _of_rows(rbm, given, jax.random.fold_in(key, part))
        found.append(SeenEnergies(*(each[: len(some)] for each in estimate)))
    return SeenEnergies(*(np.concatenate(each) for each in zip(*found, strict=True)))  # pyright: ignore
