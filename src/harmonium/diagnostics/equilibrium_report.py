"""A test of whether a model was trained at equilibrium, with enough sweeps in each update."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import checked_key, positive_integer
from .._base.html import table
from .._base.numerics import from_numpy, whole_number
from .._base.programs import compiled
from .._base.statistics import same_distribution
from .._base.threefry import split
from ..errors import InputError
from ..gradients import AbstractGradient
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud, Gibbs
from .base import Mixing, count
from .chain_observables import Directions, observables, slow_directions
from .relaxation import mixing as measured

__all__ = ["EquilibriumReport", "equilibrium"]

LEVEL = 0.01  # significance level of the test of the training chains
MOST_CHAINS = 512  # largest number of training chains that are tested
LENGTH_IN_RELAXATIONS = 10  # the influence of the start falls to e^(−20)


class EquilibriumReport(NamedTuple):
    """Whether a model was trained at equilibrium.

    Attributes:
        k: sweeps (or steps of replica exchange) per update; None if there are no chains.
        relaxation: relaxation time of the chains of this model, in sweeps or steps; a lower bound
            if `mixing` is not resolved.
        ratio: k / relaxation; an upper bound if `mixing` is not resolved.
        at_equilibrium: whether k is at least the relaxation time; None if this is not known, or if
            k is None.
        chains_agree: whether the training chains agree with the distribution of the model; None if
            there are no chains, or if it is not known whether the chains used as a reference have
            reached this distribution.
        message: a summary of the result.
        mixing: the mixing measurement that was used.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> method = hm.Persistent(hm.Gibbs(10))
        >>> report = hm.equilibrium(rbm, method, key=jax.random.key(0), sweeps=1_024)
        >>> report.k, report.chains_agree, report.message.endswith("trained at equilibrium.")
        (10, None, True)
    """

    k: int | None
    relaxation: float | None
    ratio: float | None
    at_equilibrium: bool | None
    chains_agree: bool | None
    message: str
    mixing: Mixing | None

    def __str__(self) -> str:
        """Return the message."""
        return self.message

    def _repr_html_(self) -> str:
        """Return an HTML table, for notebooks."""
        answers = {True: "yes", False: "no", None: "not known"}
        k = "none" if self.k is None else f"{self.k:,}"
        time = "not known" if self.relaxation is None else f"{count(self.relaxation)} sweeps"
        rows = {
            "trained at equilibrium": answers[self.at_equilibrium],
            "sweeps in an update": k,
            "relaxation time": time,
            "chains agree with the model": answers[self.chains_agree],
            "": self.message,
        }
        return table("equilibrium report", rows)


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
    """Report whether a model was trained at equilibrium, with enough sweeps in each update.

    If k, the number of sweeps per update, exceeds the relaxation time, the chains sample from the
    model, and training maximises the likelihood. If k is smaller, the chains do not reach
    equilibrium, and the model instead learns to generate the data in about k sweeps. The relaxation
    time usually grows during training, so it is measured for the trained model.

    For replica exchange along a ladder, k counts steps of replica exchange. The argument `state`,
    which contains the ladder, is then required.

    Persistent chains may track a slowly changing model even if k is small. If the state of the
    method is given, the chains themselves are therefore tested. The distribution of their
    observables is compared with a reference: the same chains after many more sweeps, and as many
    new chains that start from the model with zero weights and run for the same number of sweeps.
    The test applies only to the end of training, when the learning rate may have been low.

    Args:
        rbm: the trained model; if `state` is given, the model of its chains, `fit.state.rbm`.
        method: the gradient method used in training, or k itself.
        key: a JAX random key.
        data: rows at which half of the measured chains start, in the user's coding, or a `Dataset`.
        state: the method's state at the end of training, `fit.state.gradient`.
        mixing: an earlier measurement of this model's mixing; None to measure it here.
        settings: other arguments for `mixing`, such as `sweeps` and `seconds`.

    Raises:
        InputError: an argument is invalid.
        NotFiniteError: an observable of the chains is not finite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> report = hm.equilibrium(rbm, 10, key=jax.random.key(0), sweeps=1_024)  # k = 10
        >>> report.at_equilibrium, report.ratio > 10
        (True, True)

    Source: Decelle, Furtlehner & Seoane 2021.
    """
    cloud = None
    if isinstance(method, AbstractGradient):
        title = method.about.title
        status = method.status(rbm, state)
        kernel = status.kernel
        if state is not None:
            cloud = status.chains
    elif isinstance(method, int | np.integer) and not isinstance(method, bool):
        title = f"Training with k = {method}"
        kernel = Gibbs(1), positive_integer(method, "method")
    else:
        raise InputError(
            "method: expected a gradient method such as hm.Persistent(hm.Gibbs(1)), or the number"
            f" of sweeps per update; got {method!r}."
        )
    if kernel is None:
        message = f"{title[0].upper()}{title[1:]}: no chains are run that could lag behind."
        return EquilibriumReport(None, None, None, None, None, message, mixing)
    sampler, k = kernel
    key_mixing, key_chains = split(checked_key(key))
    if mixing is None:
        mixing = measured(rbm, key=key_mixing, starts=data, sampler=sampler, **settings)
    ratio = math.inf
    if mixing.relaxation > 0:
        ratio = k / mixing.relaxation
    at_equilibrium = ratio >= 1.0
    if at_equilibrium and not mixing.resolved:
        at_equilibrium = None
    agree = None
    chains = ""
    if cloud is not None:
        agree, p = _agree_with_distribution(rbm, sampler, cloud, mixing, key=key_chains)
        chains = _on_chains(agree, p, at_equilibrium)
    message = _on_k(title, ratio, at_equilibrium, agree, mixing) + chains
    return EquilibriumReport(k, mixing.relaxation, ratio, at_equilibrium, agree, message, mixing)


def _agree_with_distribution(
    rbm: RBM, sampler: AbstractSampler, cloud: Cloud, mixing: Mixing, *, key: PRNGKeyArray
) -> tuple[bool | None, float]:
    """Return whether chains agree with the model's distribution, and the p-value of the test.

    The reference consists of the same chains ten relaxation times later, and of as many chains that
    started from the model with zero weights and ran for the same time. If the relaxation time is
    not resolved, the reference consists only of the same chains later: if the chains have drifted,
    the first result is False; otherwise it is None.
    """
    present = np.flatnonzero(np.asarray(cloud.weights))  # chains of weight 0 only pad the cloud
    v = from_numpy(np.asarray(cloud.states)[present[:MOST_CHAINS]])
    n = len(v)
    if mixing.resolved:
        sweeps = math.ceil(LENGTH_IN_RELAXATIONS * max(1.0, mixing.relaxation))
    else:  # as many steps in total as the measurement
        sweeps = max(1, mixing.sweeps * mixing.chains // (2 * n))
    count = whole_number(sweeps)
    now, later = _now_and_later(rbm, sampler, v, slow_directions(rbm), count, key=key)
    now = np.asarray(now, np.float64)
    reference = np.asarray(later, np.float64)
    if not mixing.resolved:  # only the same chains
        reference = reference[:, :n]
    # Squared deviations are compared too: chains that vary too little may have the right means.
    centre = reference.mean(1, keepdims=True)
    p = same_distribution(*(np.concatenate([x, (x - centre) ** 2]) for x in (now, reference)))
    if p < LEVEL:
        return False, p
    if not mixing.resolved:
        return None, p
    return True, p


@compiled
def _now_and_later(
    rbm: RBM,
    sampler: AbstractSampler,
    v: Array,
    directions: Directions,
    sweeps: Array,
    *,
    key: PRNGKeyArray,
) -> tuple[Array, Array]:
    """Return observables of the chains now, and of these and as many new chains after `sweeps`."""
    key_base, key_start, key_move = split(key, 3)
    both = jnp.concatenate([v, Gibbs(1).init_independent(rbm, len(v), key=key_base).v])
    start = sampler.init(rbm, both, key=key_start)
    end = sampler.positions(sampler.run(rbm, start, sweeps, key=key_move))
    now, later = (observables(rbm, x, directions).values() for x in (v, end))
    return jnp.stack(list(now)), jnp.stack(list(later))


def _on_k(
    title: str, ratio: float, at_equilibrium: bool | None, agree: bool | None, mixing: Mixing
) -> str:
    """Describe how k compares with the relaxation time."""
    time = f"{count(mixing.relaxation)} {mixing.unit}"
    if at_equilibrium is None:
        return (
            f"{title}: it is not known whether the model was trained at equilibrium. The relaxation"
            f" time is at least {time}, but was not resolved; allow more sweeps and seconds."
        )
    if at_equilibrium:
        return (
            f"{title} ran {_times(ratio)} longer than the relaxation time ({time}):"
            " trained at equilibrium."
        )
    bound = "" if mixing.resolved else "at least "
    comparison = (
        f"{title} ran {bound}{_times(1 / ratio)} shorter than the relaxation time ({bound}{time})"
    )
    if agree:
        return f"{comparison}: so few sweeps per update do not by themselves ensure equilibrium."
    return f"{comparison}: its gradient may be biased; compare log-likelihoods to see the effect."


def _on_chains(agree: bool | None, p: float, at_equilibrium: bool | None) -> str:
    """Describe the result of the test of the training chains."""
    if agree is None:
        return (
            " The run's own chains do not drift, but whether they agree with this model's"
            " distribution is not known."
        )
    if not agree:
        return f" The run's own chains do not agree with this model's distribution (p = {p:.2g})."
    result = f"agree with this model's distribution (p = {p:.2g})"
    if at_equilibrium:
        return f" The run's own chains {result}."
    return f" Yet its own chains {result}: they kept up with the model at the end of the run."


def _times(ratio: float) -> str:
    if ratio > 1e6:
        return "far"
    return f"{count(ratio)} times"
