"""Annealing of rows with missing values: the chains, and a quick estimate from few chains."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.loops import loop
from ...layers import AbstractLayer
from ...layers.capabilities import mean_given, sample_given, unit_cgfs_given
from ...rbm import RBM
from .marginal import missing_units

MEAN_FIELD_SWEEPS = 8
ROUGH = 1.0  # nats of dissipated work above which a few forward chains are unreliable


class SeenEnergies(NamedTuple):
    """Quick estimates of F(v_seen), in nats, from forward chains alone.

    `variance` does not reveal modes that the chains miss, but `lost` grows long before chains miss
    any mode. Do not select a model by these estimates if the mean of `lost` over the rows exceeds
    `ROUGH`.

    Attributes:
        value: F(v_seen) of each row, corrected by variance/2 for the bias of the logarithm.
        variance: the variance of each value, estimated from the spread of the chains' weights.
        completed: states of the rows, with missing units from one chain, drawn approximately from
            p(v_missing | v_seen), shape (n, visible).
        lost: log ⟨e^w⟩ − ⟨w⟩ of each row, 0 or more: the work that its chains dissipate. For
            normally distributed w of variance σ², `lost` is σ²/2, and about e^(σ²) chains are
            needed. `lost` is 0 if nothing was annealed.
    """

    value: Float[Array, " n"]
    variance: Float[Array, " n"]
    completed: Float[Array, "n visible"]
    lost: Float[Array, " n"]


class Ramp(NamedTuple):
    """The schedule of a run: at step i, the matrix W is multiplied by t = (first + slope i)/steps.

    t is clipped to the interval from 0 to 1, so that a downward ramp may start with a burn-in.
    There are two paths, which differ in the constant inputs that the units receive in proportion to
    1 − t. On the first path, these are the inputs of the row's mean field, a good approximation if
    the seen units determine the mode of the missing units. On the second path, there are no such
    inputs, so that seen and missing units choose a mode together.

    Attributes:
        first, slope, steps: whole numbers.
        whole: 0 for rows that start at their mean field, 1 for rows that start without inputs;
            shape (n,), or one number for all.
    """

    first: Array | int
    slope: Array | int
    steps: Array | int
    whole: Array | float = 0.0

    def inputs(self, i: Array, field: Array, of_weights: Array) -> Array:
        """Return a layer's inputs at step i, from its mean-field inputs and inputs through W."""
        return self.share(i)[..., None] * field + self.at(i) * of_weights

    def share(self, i: Array) -> Array:
        """Return the factor of the mean-field inputs at step i."""
        return (1.0 - jnp.asarray(self.whole)) * (1.0 - self.at(i))

    def at(self, i: Array) -> Array:
        """Return the factor t at step i."""
        return jnp.clip((self.first + self.slope * i) / self.steps, 0.0, 1.0)


class Seen(NamedTuple):
    """The observed parts of rows.

    Attributes:
        known: which units are seen, shape (n, units).
        values: states, with arbitrary finite numbers for missing units, shape (n, visible).
        field: the mean-field inputs of the missing units, 0 for seen units, shape (n, visible).
        hidden_field: the mean-field inputs of the hidden units, shape (n, hidden).
    """

    known: Array
    values: Array
    field: Array
    hidden_field: Array


def seen_of(rbm: RBM, v: Float[Array, "*rows visible"], sweeps: int = MEAN_FIELD_SWEEPS) -> Seen:
    """Return the observed parts of states with NaN in all columns of missing units. Traceable.

    The mean field of a row is a factorised distribution of the missing and hidden units. It is
    found by `sweeps` sweeps of coordinate ascent on the variational bound of log p(v_seen), which
    start from missing units without inputs. If `sweeps` is 0, the hidden units have only the inputs
    from the seen units, and the missing units have no inputs.
    """
    visible = rbm.visible
    known = ~missing_units(visible, v)
    values = jnp.where(jnp.isnan(v), visible.mean(visible.zero_inputs), v)
    is_known = visible.spread(known)

    def ascend(_: Array, hidden_field: Array) -> Array:
        inputs = rbm.inputs_to_v(rbm.hidden.mean(hidden_field))
        return rbm.inputs_to_h(mean_given(visible, inputs, known, values))

    start = rbm.inputs_to_h(jnp.where(is_known, values, 0.0))
    if not sweeps:
        return Seen(known, values, jnp.zeros_like(values), start)
    hidden_field = loop(0, sweeps, ascend, start)
    inputs = rbm.inputs_to_v(rbm.hidden.mean(hidden_field))
    return Seen(known, values, jnp.where(is_known, 0.0, inputs), hidden_field)


def ascended(
    rbm: RBM, v: Float[Array, "n visible"], means: Float[Array, "n visible"]
) -> Float[Array, "n visible"]:
    """Return the means of v after a sweep of coordinate ascent from these means. Traceable.

    Args:
        rbm: the model.
        v: states, with NaN in all columns of missing units.
        means: the present means of v.
    """
    known = ~missing_units(rbm.visible, v)
    inputs = rbm.inputs_to_v(rbm.mean_h_from_v(means))
    return mean_given(rbm.visible, inputs, known, jnp.nan_to_num(v))


def mean_field_of(rbm: RBM, v: Float[Array, "n visible"], sweeps: int) -> Float[Array, "n visible"]:
    """Return the mean-field means of v given its seen units. Traceable."""
    seen = seen_of(rbm, v, sweeps)
    return mean_given(rbm.visible, seen.field, seen.known, seen.values)


def mean_field_bounds(rbm: RBM, v: Float[Array, "n visible"]) -> Float[Array, " n"]:
    r"""Return the mean-field upper bound of F(v_seen) of each row, in nats. Traceable.

    Let q be the factorised distribution of the missing and hidden units whose inputs f and g are
    those of the row's mean field, and Z_q its normalising constant. Then

        −F(v_seen) ≥ log Z_q + ⟨v⟩ W ⟨h⟩ − f·⟨v⟩ − g·⟨h⟩,      means over q.

    The difference between the two sides is the relative entropy (KL divergence) of q with respect
    to p(v_missing, h | v_seen).

    Source: Jordan, Ghahramani, Jaakkola & Saul 1999; for deep machines, Salakhutdinov & Hinton
    2009.
    """
    seen = seen_of(rbm, v)
    mean_v = mean_given(rbm.visible, seen.field, seen.known, seen.values)
    mean_h = rbm.hidden.mean(seen.hidden_field)
    interaction = (rbm.inputs_to_h(mean_v) * mean_h).sum(-1)
    by_fields = (seen.field * mean_v).sum(-1) + (seen.hidden_field * mean_h).sum(-1)
    return by_fields - interaction - log_z_uncoupled(rbm, seen)


def log_z_uncoupled(rbm: RBM, seen: Seen, whole: Array | float = 0.0) -> Float[Array, " n"]:
    """Return −F(v_seen) at t = 0: with zero weights but with constant inputs. Traceable."""
    factor = 1.0 - jnp.asarray(whole)[..., None]
    alone = unit_cgfs_given(rbm.visible, factor * seen.field, seen.known, seen.values).sum(-1)
    return alone + rbm.hidden.cgf(factor * seen.hidden_field)


def moved(
    rbm: RBM,
    seen: Seen,
    ramp: Ramp,
    steps: tuple[Array | int, Array | int],
    x: Float[Array, "chains n visible"],
    log_weights: Float[Array, "chains n"],
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "chains n visible"], Float[Array, "chains n"]]:
    """Return completed states and log weights after the given steps of a ramp. Traceable.

    Each step reweights a chain for the change in t and moves it by one Gibbs sweep, with the seen
    units held fixed. At t = 0 a sweep draws the missing units independently, so the initial states
    of a ramp from 0 do not matter.

    Args:
        rbm: the model.
        seen: the observed parts of the rows.
        ramp: t of each step.
        steps: indices of the first step, and of the step after the last.
        x: states of the chains.
        log_weights: log weights accumulated so far.
        key: a JAX random key, the same for all steps of a ramp.
    """

    def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        x, log_weights = carry
        i_before = jnp.maximum(i - 1, 0)
        of_weights = rbm.inputs_to_h(x)
        before = ramp.inputs(i_before, seen.hidden_field, of_weights)
        after = ramp.inputs(i, seen.hidden_field, of_weights)
        log_weights = log_weights + rbm.hidden.cgf(after) - rbm.hidden.cgf(before)
        log_weights += (ramp.share(i) - ramp.share(i_before)) * (x * seen.field).sum(-1)
        key_h, key_v = jax.random.split(jax.random.fold_in(key, i))
        of_weights = rbm.inputs_to_v(rbm.hidden.sample(after, key=key_h))
        inputs = ramp.inputs(i, seen.field, of_weights)
        x = sample_given(rbm.visible, inputs, seen.known, seen.values, key=key_v)
        return x, log_weights

    return loop(*steps, step, (x, log_weights))


def seen_energies(
    rbm: RBM, v: Float[Array, "n visible"], chains: int, steps: int, *, key: PRNGKeyArray
) -> SeenEnergies:
    r"""Return F(v_seen) = −log Σ_h ∫ exp(−E) dv_missing by annealed importance sampling. Traceable.

    The weights between missing units and hidden units are multiplied by t, from 0 to 1 in equal
    steps. At t = 0 the missing units are independent of all others, and F(v_seen) is known. Chains
    do not start at a mean field, since they could then stay in one of several modes, which the
    dissipated work would not reveal.

    Args:
        rbm: the model.
        v: states, with NaN in all columns of missing units.
        chains: number of chains per row.
        steps: number of steps of t.
        key: a JAX random key.

    Source: Neal 2001.
    """
    seen = seen_of(rbm, v, sweeps=0)
    x = jnp.broadcast_to(seen.values, (chains, *v.shape))
    nothing = jnp.zeros((chains, len(v)), v.dtype)
    # The iteration at t = 0 draws the start; inside the loop it needs no separate compilation.
    x, log_w = moved(rbm, seen, Ramp(0, 1, steps), (0, steps + 1), x, nothing, key=key)
    total = jax.nn.logsumexp(log_w, axis=0) - jnp.log(chains)
    relative = jnp.exp(log_w - total)  # relative to the mean weight
    variance = ((relative - 1.0) ** 2).sum(0) / (chains * max(1, chains - 1))
    value = -(log_z_uncoupled(rbm, seen) + total + variance / 2.0)
    return SeenEnergies(value, variance, x[0], total - log_w.mean(0))


def independent_energies(
    visible: AbstractLayer, hidden: AbstractLayer, v: Float[Array, "n visible"]
) -> Float[Array, " n"]:
    """Return the exact F(v_seen) of a model with these layers and zero weights. Traceable."""
    values = jnp.where(jnp.isnan(v), visible.mean(visible.zero_inputs), v)
    known = ~missing_units(visible, v)
    seen = unit_cgfs_given(visible, jnp.zeros_like(v), known, values).sum(-1)
    return -(seen + hidden.cgf(hidden.zero_inputs))
