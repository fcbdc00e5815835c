"""Gradient methods by name, for the command line and the scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InputError
from ..gradients import (
    AbstractGradient,
    Contrastive,
    Coupled,
    Exact,
    FastPersistent,
    Jarzynski,
    MeanField,
    Persistent,
    ProbabilityFlow,
    PseudoLikelihood,
    RatioMatching,
    Tempering,
    Trajectory,
)
from ..samplers import Gibbs
from .autopilot import Autopilot

PLACES = 10  # number of places on a ladder, among which the chains are divided

Maker = Callable[[int, int], AbstractGradient]

# Methods by the names of options, each made from k and a number of chains.
_MAKERS: dict[str, Maker] = {
    "pcd": lambda k, chains: Persistent(Gibbs(k), chains),
    "cd": lambda k, chains: Contrastive(Gibbs(k)),
    "exact": lambda k, chains: Exact(),
    "auto": lambda k, chains: Autopilot(PLACES, _per_place(chains), sweeps=k),
    "unbiased": lambda k, chains: Coupled(k, chains),
    "fpcd": lambda k, chains: FastPersistent(Gibbs(k), chains),
    "pt": lambda k, chains: Tempering(PLACES, _per_place(chains), sweeps=k),
    "ptt": lambda k, chains: Trajectory(PLACES, _per_place(chains), sweeps=k),
    "jarzynski": lambda k, chains: Jarzynski(Gibbs(k), chains),
    "tap": lambda k, chains: MeanField(2, chains),
    "mean-field": lambda k, chains: MeanField(1, chains),
    "pseudo-likelihood": lambda k, chains: PseudoLikelihood(),
    "ratio-matching": lambda k, chains: RatioMatching(),
    "flow": lambda k, chains: ProbabilityFlow(),
}
METHOD_NAMES = tuple(_MAKERS)


def method_named(
    name: str, k: int = 1, chains: int = 500, *, argument: str = "method"
) -> AbstractGradient:
    """Return a gradient method by its name.

    Args:
        name: one of `METHOD_NAMES`.
        k: Gibbs sweeps per update, if the method makes sweeps.
        chains: total number of chains, or of mean-field solutions, if the method has any.
        argument: the name of the caller's argument, for the error message.

    Raises:
        InputError: the name is unknown, or a number is not positive.

    Example:
        >>> hm.training.method_named("cd", k=5).about.title, hm.training.method_named("pcd").chains
        ('CD-5', 500)
        >>> [hm.training.method_named(name).about.title for name in hm.training.METHOD_NAMES[:4]]
        ['PCD-1', 'CD-1', 'exact gradient', 'autopilot']
    """
    if name not in _MAKERS:
        raise InputError(f"{argument}: expected one of {', '.join(METHOD_NAMES)}; got {name!r}.")
    return _MAKERS[name](k, chains)


def _per_place(chains: int) -> int:
    return max(1, chains // PLACES)
