"""Scalar observables of the states of chains, recorded during a run."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.numerics import from_numpy
from .._base.programs import compiled
from ..layers import AbstractLayer
from ..rbm import RBM
from ..samplers.base import AbstractSampler

DIRECTIONS = 4  # number of singular vectors of W, along which chains relax most slowly


class Directions(NamedTuple):
    """The leading singular vectors of the weight matrix, stored as columns.

    Attributes:
        visible: left singular vectors, shape (visible, few).
        hidden: right singular vectors, shape (hidden, few).
    """

    visible: Float[Array, "visible few"]
    hidden: Float[Array, "hidden few"]


def slow_directions(rbm: RBM, count: int = DIRECTIONS) -> Directions:
    """Return the leading singular vectors of W, along which chains relax most slowly.

    With W = Σ_α s_α u_α w_αᵀ, the linearised dynamics of a chain decouples into one mode for each
    pair (u_α, w_α); modes with larger s_α are slower. A component of the weights that is equal for
    all columns of a unit acts only as a bias and is subtracted first.

    Args:
        rbm: the model.
        count: the largest number of directions.

    Source: Decelle, Fissore & Furtlehner 2017.
    """
    weights = _centred_weights(rbm)
    left, _, right = np.linalg.svd(np.asarray(weights, np.float64), full_matrices=False)
    dtype = rbm.visible.dtype
    of_both = (left[:, :count], right[:count].T)
    return Directions(*(from_numpy(np.ascontiguousarray(part, dtype)) for part in of_both))


@compiled
def _centred_weights(rbm: RBM) -> Float[Array, "visible hidden"]:
    return _centred(rbm.hidden, _centred(rbm.visible, rbm.dense_weights.T).T)


def _centred(layer: AbstractLayer, weights: Array) -> Array:
    """Subtract, for each unit with several columns (last axis), the mean over these columns."""
    columns = layer.fold(jnp.ones(layer.size, weights.dtype))
    centred = weights - layer.spread(layer.fold(weights) / columns)
    return jnp.where(layer.spread(columns) > 1, centred, weights)


def observables(
    rbm: RBM, v: Float[Array, "*batch visible"], directions: Directions | None = None
) -> dict[str, Float[Array, "*batch"]]:
    """Return scalar observables of visible states, for layers of any type.

    Observables of the hidden units are computed from the means m = ⟨h⟩ given v rather than from
    samples of h, and so add no sampling noise:

        free_energy               F(v), in nats
        visible_magnetisation     mean of v over its columns
        hidden_magnetisation      mean of m over its columns
        visible_overlap_1, …      v·u_α
        hidden_overlap_1, …       m·w_α

    Args:
        rbm: the model.
        v: visible states.
        directions: the singular vectors u_α and w_α of W; None to compute them by
            `slow_directions`.

    Returns:
        Observables by name, each with the shape of the batch.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> m = hm.diagnostics.observables(rbm, jnp.ones((8, 4)))["hidden_magnetisation"]
        >>> m.shape, round(float(m[0]), 3)
        ((8,), 0.75)
    """
    if directions is None:
        directions = slow_directions(rbm)
    inputs = rbm.inputs_to_h(v)
    m = rbm.hidden.mean(inputs)
    free_energy = rbm.visible.energy(v) - rbm.hidden.cgf(inputs)
    overlaps = jnp.concatenate([v @ directions.visible, m @ directions.hidden], axis=-1)
    values = [free_energy, v.mean(-1), m.mean(-1), *jnp.moveaxis(overlaps, -1, 0)]
    return dict(zip(names_of(directions), values, strict=True))


def names_of(directions: Directions) -> list[str]:
    """Return the names of the `observables`, in order."""
    return [
        "free_energy",
        "visible_magnetisation",
        "hidden_magnetisation",
        *(f"visible_overlap_{a + 1}" for a in range(directions.visible.shape[1])),
        *(f"hidden_overlap_{a + 1}" for a in range(directions.hidden.shape[1])),
    ]


def names_watched(sampler: AbstractSampler, state: Any, directions: Directions) -> list[str]:
    """Return the names of the observables that `watch` records, in order."""
    names = names_of(directions)
    if jax.eval_shape(sampler.replicas, state).shape[0] == 1:
        return names
    return [*names, *(f"column_{name}" for name in names)]


@compiled
def watch(
    rbm: RBM,
    sampler: AbstractSampler,
    directions: Directions,
    state: Any,
    first: Array,
    every: Array,
    records: Array,
    room: int,
    *,
    key: PRNGKeyArray,
) -> tuple[Any, Float[Array, "room observables n"]]:
    """Run chains for `records · every` steps, and record their observables every `every` steps.

    For a sampler that moves chains of several models at once, the mean of each observable over a
    column (one chain of every model) is recorded as well. Chains take turns at the last model when
    they are swapped, so that successive states of the last model are hardly correlated. But the
    same chains return later: the column as a whole decorrelates more slowly. (For bars and stripes
    with 12 hidden units, the relaxation time is 2 steps if it is measured at the last model, and 97
    steps if it is measured on columns; chains started from noise need about 97 steps to reach the
    enumerated distribution.)

    Step s uses the key fold_in(key, s), so a run in several parts gives the same results as a
    single run, and the program is compiled only once.

    Args:
        rbm: the model.
        sampler: the sampler that moves the chains.
        directions: the singular vectors that define the overlaps among the observables.
        state: the chains.
        first: number of steps made before this call.
        every: number of steps between records.
        records: number of records, at most `room`.
        room: length of the returned array, with zeros after the last record.
        key: a JAX random key.

    Returns:
        The chains, and the recorded observables in the order of `names_watched`.
    """
    shape = jax.eval_shape(lambda: _recorded(rbm, sampler, directions, state))

    def record(i: Array, carry: tuple[Any, Array]) -> tuple[Any, Array]:
        state = sampler.run(rbm, carry[0], every, key=key, first=first + i * every)
        return state, carry[1].at[i].set(_recorded(rbm, sampler, directions, state))

    start = state, jnp.zeros((room, *shape.shape), shape.dtype)
    return jax.lax.fori_loop(0, records, record, start)


def _recorded(
    rbm: RBM, sampler: AbstractSampler, directions: Directions, state: Any
) -> Float[Array, "observables n"]:
    states = sampler.replicas(state)
    values = jnp.stack(list(observables(rbm, states, directions).values()), axis=1)
    if len(values) == 1:  # a single model
        return values[-1]
    return jnp.concatenate([values[-1], values.mean(0)])
