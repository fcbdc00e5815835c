"""Mixing of chains: relaxation time, effective sample sizes, R̂, and chains from two starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import check_positive, checked_key, positive_integer
from .._base.numerics import whole_number
from .._base.programs import compiled
from .._base.sharding import clock
from .._base.statistics import same_distribution
from .._base.threefry import fold_in, split
from ..data import Dataset
from ..errors import InputError, NotFiniteError
from ..likelihood.missing.marginal import states_of_rows
from ..rbm import RBM, checked_rbm
from ..samplers import AbstractSampler, Gibbs
from .autocorrelation import estimates, relaxation_bound, relaxation_of
from .base import Mixing
from .chain_observables import names_watched, slow_directions, watch

FIRST_SWEEPS = 1_024  # initial length of a run, doubled until the relaxation time is resolved
MOST_RECORDS = 4_096  # per chain; longer runs are thinned
RECORDS_PER_DISPATCH = 128  # few, so that a long run can be interrupted
FEWEST_CHAINS = 16  # half of them from each kind of start
LENGTH_IN_TAU = 50  # chain length at which the autocorrelation time is reliable (Sokal 1997)
LARGEST_RHAT = 1.01  # for chains that agree (Vehtari et al. 2021)
LEVEL = 0.01  # significance level of the test that both starts agree
ROWS = 10_000  # number of rows of a dataset from which starts are drawn


def mixing(
    rbm: RBM,
    *,
    key: PRNGKeyArray,
    chains: int = 64,
    sweeps: int = 100_000,
    starts: Any = None,
    sampler: AbstractSampler | None = None,
    seconds: float = 60.0,
    progress: Callable[[float], Any] | None = None,
) -> Mixing:
    r"""Measure how fast chains mix: their relaxation time in sweeps, and convergence diagnostics.

    Half of the chains start from the model with zero weights, and half from `starts`. The first
    quarter of the run is discarded as burn-in. The length of the run is doubled until the
    relaxation time is resolved, or until the limit on sweeps or seconds is reached. The relaxation
    time is resolved if each chain is at least 50 τ long for every observable, every R̂ is below
    1.01, and the chains from both starts agree.

    τ = 1 + 2 Σ_t ρ(t) is the integrated autocorrelation time. The transition matrix of a
    sweep v → h → v has eigenvalues 1 = λ₁ > λ₂ ≥ … ≥ 0, and no observable's τ exceeds the τ of the
    slowest mode, (1 + λ₂)/(1 − λ₂). The relaxation time is that of a mode whose τ equals the
    largest measured τ:

        relaxation = −2 / log λ,    λ = (τ − 1)/(τ + 1).

    After k sweeps, a fraction λ^k = e^(−2k / relaxation) of a perturbation remains: 14 % at k =
    relaxation. The relaxation time is twice the exponential autocorrelation time −1 / log λ, and
    for τ ≥ 3 it equals τ to within 4 %. If the number of sweeps between updates exceeds the
    relaxation time, the chains hardly depend on their states at the previous update.

    A mode that no chain from either start visits cannot be detected: both groups of chains then
    agree on the distribution over the modes that they did visit. A slow mode with low probability
    contributes only a small fraction of the variance of every observable, and `relaxation` may then
    be as small as about this fraction of the relaxation time of that mode.

    Args:
        rbm: the model.
        key: a JAX random key.
        chains: number of chains, at least 16.
        sweeps: the maximum length of a chain.
        starts: rows at which the second half of the chains start, in the user's coding, or a
            `Dataset`. If None, these chains start at v drawn given h, where h is drawn from the
            isolated *hidden* layer.
        sampler: the sampler of the chains; block Gibbs sampling if None. With another sampler,
            "sweeps" are steps of that sampler. With replica exchange, means over all models of the
            ladder are measured too, since the states of the last model alone decorrelate whenever
            replicas are swapped there. A step of replica exchange may have negative eigenvalues:
            the result is then the relaxation time of the slowest observable, not a lower bound on
            that of the slowest mode.
        seconds: time, in seconds, after which the run is not extended.
        progress: a function called with the fraction of `seconds` or of `sweeps` that has been
            used, from 0 to 1.

    Raises:
        InputError: an argument is invalid, or rows are outside the visible layer's domain.
        NotFiniteError: an observable of the chains is not finite, for example because Z is
            infinite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> mixing = hm.mixing(rbm, key=jax.random.key(0), sweeps=1_024)
        >>> mixing.resolved, abs(mixing.relaxation - 0.72) < 0.1  # −2 / log(1/16)
        (True, True)

    Source: Decelle, Furtlehner & Seoane 2021; Vehtari et al. 2021 (R̂ and effective sample sizes);
    Sokal 1997.
    """
    check_positive(seconds=seconds)
    start = clock()
    run = _Run(rbm, chains, starts, key, sampler or Gibbs(1))
    sweeps = positive_integer(sweeps, "sweeps")

    report = progress or (lambda fraction: None)

    def used() -> float:
        return min(1.0, max(run.sweeps / sweeps, (clock() - start) / seconds))

    target = 0
    while True:
        target = min(max(FIRST_SWEEPS, 2 * target), sweeps)
        while run.sweeps < target and (used() < 1.0 or not run.sweeps):
            run.extend(target)
            report(used())
        measured = _measured(run)
        if measured.resolved or used() == 1.0:
            report(1.0)
            return measured


def trace(
    rbm: RBM,
    *,
    key: PRNGKeyArray,
    chains: int = 64,
    sweeps: int = 1_000,
    every: int = 1,
    starts: Any = None,
    sampler: AbstractSampler | None = None,
) -> dict[str, np.ndarray]:
    """Return the observables that `mixing` uses, recorded along chains, for ArviZ or for plots.

    Args:
        rbm: the model.
        key: a JAX random key.
        chains: number of chains, at least 16; the first half start from the model with zero
            weights, the others from `starts`, as in `mixing`.
        sweeps: length of a chain; no burn-in is discarded.
        every: number of sweeps between draws.
        starts: as in `mixing`.
        sampler: as in `mixing`.

    Returns:
        Each of the `observables` by name, shape (chains, draws).

    Raises:
        InputError: an argument is invalid, or rows are outside the visible layer's domain.
        NotFiniteError: observables of chains are not finite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> trace = hm.diagnostics.trace(rbm, key=jax.random.key(0), sweeps=100, every=10)
        >>> trace["free_energy"].shape  # chains, draws
        (64, 10)
    """
    every = positive_integer(every, "every")
    run = _Run(rbm, chains, starts, key, sampler or Gibbs(1), every, thinned=False)
    sweeps = positive_integer(sweeps, "sweeps")
    while run.sweeps + run.every <= sweeps:
        run.extend(sweeps)
    if not run.sweeps:
        raise InputError(f"every: expected at most {sweeps}, the number of sweeps; got {every}.")
    records = run.records()
    return {name: records[:, i].T for i, name in enumerate(run.names)}


@dataclass
class _Run:
    """Chains with two kinds of starting states, and the observables recorded along them."""

    rbm: RBM
    chains: int
    starts: Any
    key: Any
    sampler: AbstractSampler
    every: int = 1
    thinned: bool = True
    sweeps: int = 0
    parts: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self):
        rbm = checked_rbm(self.rbm)
        if positive_integer(self.chains, "chains") < FEWEST_CHAINS:
            raise InputError(
                f"chains: expected at least {FEWEST_CHAINS}, half for each start;"
                f" got {self.chains}."
            )
        key_base, key_other, key_start, self.key = split(checked_key(self.key), 4)
        n = self.chains // 2
        self.directions = slow_directions(rbm)
        others = _starts_of_second_half(rbm, self.starts, self.chains - n, key=key_other)
        self.state: Any = _started(rbm, self.sampler, others, n, keys=(key_base, key_start))
        self.names = names_watched(self.sampler, self.state, self.directions)

    def extend(self, target: int) -> None:
        """Run some more sweeps, up to a total of `target`."""
        count = min(RECORDS_PER_DISPATCH, max(1, (target - self.sweeps) // self.every))
        self.state, records = watch(
            self.rbm,
            self.sampler,
            self.directions,
            self.state,
            first=whole_number(self.sweeps),
            every=whole_number(self.every),
            records=whole_number(count),
            room=RECORDS_PER_DISPATCH,
            key=self.key,
        )
        self.parts.append(np.asarray(records)[:count])
        self.sweeps += count * self.every
        if not np.isfinite(self.parts[-1]).all():
            raise NotFiniteError(
                f"Chains of {self.rbm}: observables are not finite after {self.sweeps:,} sweeps;"
                " the model diverged, or its Z is not finite (see hm.likelihood.finite_z)."
            )
        if self.thinned and sum(map(len, self.parts)) >= MOST_RECORDS:
            # Keep every second record, so that memory does not grow with the run.
            self.parts = [self.records()[1::2]]
            self.every = 2 * self.every

    def records(self) -> np.ndarray:
        """Return all records, shape (draws, observables, chains)."""
        return np.concatenate(self.parts)


@compiled
def _order(count: int, *, key: PRNGKeyArray) -> Array:
    return jax.random.permutation(key, count)


def _starts_of_second_half(rbm: RBM, starts: Any, n: int, *, key: PRNGKeyArray) -> Array:
    """Return n visible states: rows of `starts`, or, if None, states drawn given isolated h."""
    if starts is None:
        return _from_hidden(rbm, n, key=key)
    key_rows, key_order = split(key)
    rows = starts
    if isinstance(starts, Dataset):
        rows = starts.some(ROWS).rows(key=key_rows)
    rows = rbm.visible.validate(rows, "starts", missing=True)
    order = np.asarray(_order(len(rows), key=key_order))
    chosen = rows[np.resize(order, n)]
    return states_of_rows(rbm, chosen, key=fold_in(key, 1))


@compiled
def _from_hidden(rbm: RBM, n: int, *, key: PRNGKeyArray) -> Array:
    return Gibbs(1).init_independent(rbm.T, n, key=key).h


@compiled
def _started(
    rbm: RBM,
    sampler: AbstractSampler,
    others: Array,
    n: int,
    *,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
) -> Any:
    """Start n chains from the model with zero weights, and further chains from `others`."""
    base = Gibbs(1).init_independent(rbm, n, key=keys[0]).v
    return sampler.init(rbm, jnp.concatenate([base, others]), key=keys[1])


def _measured(run: _Run) -> Mixing:
    """Compute all results from the last three quarters of a run."""
    x = np.moveaxis(run.records().astype(np.float64), 0, -1)  # (observables, chains, draws)
    x = x[..., x.shape[-1] // 4 :]
    draws = x.shape[-1]
    # If an observable varies only by float32 rounding, its autocorrelation cannot be estimated.
    is_moving = np.ptp(x, axis=(1, 2)) > 1e-5 * (1.0 + abs(x).max(axis=(1, 2)))
    names = [name for name, moves in zip(run.names, is_moving, strict=True) if moves]
    x = x[is_moving]
    first, second = np.split(_time_means(x), [run.chains // 2], axis=1)
    p = same_distribution(first, second)
    measured = [estimates(own, run.every) for own in x]
    tau = max((observable.tau for observable in measured), default=np.inf)
    rhat = max((observable.rhat for observable in measured), default=np.inf)
    is_long = draws * run.every >= LENGTH_IN_TAU * tau
    resolved = bool(is_long and rhat < LARGEST_RHAT and p >= LEVEL)
    if resolved:
        relaxation = run.every * relaxation_of(tau / run.every)
    else:
        bound = max((relaxation_bound(own) for own in x), default=0.0)
        relaxation = min(run.every * bound, float(run.sweeps))
    n_lags = 0
    if names:  # up to lags without correlation, or to half of the run
        n_lags = int(np.clip(5 * tau / run.every, 2, draws // 2))
    return Mixing(
        relaxation=relaxation,
        resolved=resolved,
        two_sided=p,
        met=p >= LEVEL,
        observables={
            name: observable._replace(autocorrelation=observable.autocorrelation[:n_lags])
            for name, observable in zip(names, measured, strict=True)
        },
        lags=run.every * np.arange(n_lags),
        sweeps=run.sweeps,
        chains=run.chains,
        unit=run.sampler.unit,
    )


def _time_means(x: np.ndarray) -> np.ndarray:
    """Return each chain's time averages of the observables and of their squared deviations."""
    deviations = x - x.mean(axis=(1, 2), keepdims=True)
    return np.concatenate([x.mean(-1), (deviations**2).mean(-1)])
