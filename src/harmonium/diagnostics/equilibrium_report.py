"""In which regime a model was trained: at equilibrium, or faster than its chains forget."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..checks import checked_key, positive_integer
from ..errors import InputError
from ..gradients import AbstractGradient
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud, Gibbs
from ..statistics import same_distribution
from .base import Mixing, count
from .chain_observables import Directions, observables, slow_directions
from .relaxation import mixing as measured

__all__ = ["EquilibriumReport", "equilibrium"]

LEVEL = 0.01  # of the test of a run's own chains
MOST_CHAINS = 512
LENGTH_IN_RELAXATIONS = 10  # e^(−20) of a start is left


class EquilibriumReport(NamedTuple):
    """Whether a model was trained at equilibrium.

    Attributes:
        k: sweeps of a chain in one update, or steps of replica exchange; None where no chains move.
        relaxation: sweeps or steps in which chains of this model forget; a lower bound where
            `mixing` is not resolved.
        ratio: k / relaxation; the most that it can be where `mixing` is not resolved.
        at_equilibrium: whether k reaches the relaxation time; None where that is not known, or
            there is no k.
        chains_agree: whether the run's own chains stand in the law of the model; None where
            there are none, or the law could not be reached.
        message: all of it in words.
        mixing: the measurement behind it.
    """

    k: int | None
    relaxation: float | None
    ratio: float | None
    at_equilibrium: bool | None
    chains_agree: bool | None
    message: str
    mixing: Mixing | None

    def __str__(self) -> str:
        """Say it in words."""
        return self.message


def equilibrium(
    rbm: RBM,
    method: Any,
    *,
    key: PRNGKeyArray,
    data: Any = None,
    state: Any = None,
    mixing: Mixing | None = None,
    **settings: Any,
) -> EquilibriumReport:
    """Judge whether a model was trained at equilibrium, by the k of its training method.

    Chains that are swept more than their relaxation time in an update draw from the model, and the
    model learned is p(v). Chains swept less do not: what is learned is then how to reach the data
    in about k sweeps. Relaxation slows down as learning goes on, so the trained model is the
    hardest case.

    Chains that are exchanged along a ladder are judged by the steps of that exchange, with the
    state of the method, which knows the ladder.

    Persistent chains may follow a model that moves slowly though k is small. Given the state of
    the method, the chains themselves are looked at: whether they have the law of observables that
    they have much later, and that chains from the model without its weights have by then. This
    speaks for the end of the run, where the rate of learning may have been low.

    Args:
        rbm: the trained model; with `state`, the one that the chains belong to,
            `fit.state.rbm`.
        method: the gradient method that it was trained with, or k itself.
        key: a JAX random key.
        data: rows that half of the measurement's chains start from, in the user's coding, or a
            `Dataset`.
        state: the method's state at the end, `fit.state.gradient`.
        mixing: a measurement of this model made before; made here if None.
        settings: other arguments of `mixing`, such as `sweeps` and `seconds`.

    Raises:
        InputError: arguments that do not fit.
        NotFiniteError: chains run away.

    Source: Decelle, Furtlehner & Seoane 2021.
    """
    title, (sampler, k) = _named(method, rbm, state)
    if sampler is None or k is None:
        said = f"{title[0].upper()}{title[1:]}: no chains are swept, so none can lag behind."
        return EquilibriumReport(None, None, None, None, None, said, mixing)
    key_mixing, key_chains = jax.random.split(checked_key(key))
    if mixing is None:
        mixing = measured(rbm, key=key_mixing, starts=data, sampler=sampler, **settings)
    ratio = k / mixing.relaxation if mixing.relaxation > 0 else math.inf
    reached = ratio >= 1.0
    at_equilibrium = None if reached and not mixing.resolved else reached
    agree, p, cloud = None, 1.0, None
    if state is not None and isinstance(method, AbstractGradient):
        cloud = method.status(rbm, state).chains
    if cloud is not None:
        agree, p = _agree_with_distribution(rbm, sampler, cloud, mixing, key=key_chains)
    said = _on_k(title, ratio, at_equilibrium, agree, mixing, sampler.unit)
    said += "" if cloud is None else _on_chains(agree, p, at_equilibrium)
    return EquilibriumReport(k, mixing.relaxation, ratio, at_equilibrium, agree, said, mixing)


def _named(
    method: Any, rbm: RBM, state: Any
) -> tuple[str, tuple[AbstractSampler, int] | tuple[None, None]]:
    """Return a method's name in words, what moves its chains, and its k."""
    if isinstance(method, AbstractGradient):
        return method.about.title, method.status(rbm, state).kernel or (None, None)
    if isinstance(method, bool) or not isinstance(method, int | np.integer):
        raise InputError(
            "method: expected a gradient method such as hm.Persistent(hm.Gibbs(1)), or the number"
            f" of sweeps in an update; got {method!r}."
        )
    return f"Training with k = {method}", (Gibbs(1), positive_integer(method, "method"))


def _agree_with_distribution(
    rbm: RBM, sampler: AbstractSampler, cloud: Cloud, mixing: Mixing, *, key: PRNGKeyArray
) -> tuple[bool | None, float]:
    """Return whether chains have the law of the model, and the p-value of having it.

    The law is that of the same chains, and of others from the model without its weights, ten
    relaxation times later. Where that time is not known, chains that still drift are not in it.
    """
    there = np.flatnonzero(np.asarray(cloud.weights))
    v = jnp.asarray(cloud.states)[there[:MOST_CHAINS]]
    n = len(v)
    if mixing.resolved:
        sweeps = math.ceil(LENGTH_IN_RELAXATIONS * max(1.0, mixing.relaxation))
    else:  # as much work as the measurement took
        sweeps = max(1, mixing.sweeps * mixing.chains // (2 * n))
    now, later = _now_and_later(rbm, sampler, v, slow_directions(rbm), jnp.asarray(sweeps), key=key)
    now, later = (np.asarray(x, np.float64) for x in (now, later))
    theirs = later if mixing.resolved else later[:, :n]
    centre = theirs.mean(1, keepdims=True)
    p = same_distribution(*(np.concatenate([x, (x - centre) ** 2]) for x in (now, theirs)))
    if p < LEVEL:
        return False, p
    return (True if mixing.resolved else None), p


@eqx.filter_jit
def _now_and_later(
    rbm: RBM,
    sampler: AbstractSampler,
    v: Array,
    directions: Directions,
    sweeps: Array,
    *,
    key: PRNGKeyArray,
) -> tuple[Array, Array]:
    """Return observables of chains, and those of them and of as many new ones some steps later."""
    key_base, key_start, key_move = jax.random.split(key, 3)
    both = jnp.concatenate([v, Gibbs(1).init(rbm, len(v), key=key_base).v])
    begun = sampler.start(rbm, both, key=key_start)
    moved = sampler.cloud(sampler.steps(rbm, begun, sweeps, key=key_move)).states
    now, later = (observables(rbm, x, directions).values() for x in (v, moved))
    return jnp.stack(list(now)), jnp.stack(list(later))


def _on_k(
    title: str,
    ratio: float,
    at_equilibrium: bool | None,
    agree: bool | None,
    mixing: Mixing,
    unit: str,
) -> str:
    """Hold k against the relaxation time, in words."""
    time = f"{count(mixing.relaxation)} {unit}"
    if at_equilibrium is None:
        return (
            f"{title}: not known. These chains take at least {time} to forget, but their relaxation"
            " time was not resolved; allow them more sweeps and seconds."
        )
    if at_equilibrium:
        return (
            f"{title} ran {_times(ratio)} longer than these chains take to forget ({time}):"
            " trained at equilibrium."
        )
    faster, least = f"{_times(1 / ratio)} faster", "" if mixing.resolved else "at least "
    said = f"{title} ran {least}{faster} than these chains forget ({least}{time})"
    if agree:
        return f"{said}: k alone does not keep it at equilibrium."
    return f"{said}: this model reproduces its training dynamics, not p(v)."


def _on_chains(agree: bool | None, p: float, at_equilibrium: bool | None) -> str:
    """Say what the run's own chains showed."""
    if agree is None:
        return (
            " The run's own chains do not drift, but whether they stand in this model's law is"
            " not known."
        )
    if not agree:
        return f" The run's own chains do not stand in this model's law (p = {p:.2g})."
    said = f"stand in this model's law (p = {p:.2g})"
    if at_equilibrium:
        return f" The run's own chains {said}."
    return f" Yet its own chains {said}: they kept up with it at the end of the run."


def _times(ratio: float) -> str:
    return "far" if ratio > 1e6 else f"{count(ratio)} times"
