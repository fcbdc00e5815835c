"""How fast chains mix: relaxation time, effective sample sizes, R̂, and a test of two starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._numerics import from_numpy
from ..checks import checked_key, positive_integer
from ..data import Dataset
from ..errors import InputError, NotFiniteError
from ..missing.marginal import completed, with_missing
from ..rbm import RBM, checked_rbm
from ..samplers import AbstractSampler, Gibbs
from ..sharding import clock
from ..statistics import same_distribution
from .autocorrelation import certain_memory, estimates, relaxation_of
from .base import Mixing
from .chain_observables import names_watched, slow_directions, watch

FIRST_SWEEPS = 1_024
MOST_RECORDS = 4_096  # of each chain; a longer run is thinned
RECORDS_PER_DISPATCH = 128
FEWEST_CHAINS = 16
LENGTH_IN_TAU = 50
LARGEST_RHAT = 1.01
LEVEL = 0.01  # of the test whether chains from both starts agree
ROWS = 10_000
FILLING_SWEEPS = 100  # of missing values, with the seen ones held


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
    r"""Measure how fast chains mix: their relaxation time in sweeps, with diagnostics.

    Half of the chains start from the model without its weights, half from `starts`. The first
    quarter of the run is discarded as burn-in. The run is doubled until it is resolved, or until a
    limit is reached. It is resolved if each chain has a length of at least 50 τ for every
    observable, every R̂ is below 1.01, and the chains from both starts agree.

    τ = 1 + 2 Σ_t ρ(t) is the integrated autocorrelation time. A sweep v → h → v has eigenvalues
    1 = λ₁ > λ₂ ≥ … ≥ 0, and no observable's τ exceeds that of the slowest mode,
    (1 + λ₂)/(1 − λ₂). The relaxation time is that of a mode with the largest τ found,

        relaxation = −2 / log λ,    λ = (τ − 1)/(τ + 1),

    so that k sweeps leave λ^k = e^(−2k / relaxation) of a disturbance: 14 % at k = relaxation. It
    is twice the exponential autocorrelation time −1 / log λ, and from three sweeps on it equals τ
    within 4 %. If more sweeps than that are run between updates, chains no longer depend on the
    update before.

    A mode that no chain from either start finds cannot be detected: both groups of chains then
    agree on the distribution of what was found. A slow mode of little probability contributes a
    small share to every observable, and `relaxation` may be smaller than the relaxation time of
    that mode by this share.

    Args:
        rbm: the model.
        key: a JAX random key.
        chains: number of chains, at least 16.
        sweeps: the longest run of a chain.
        starts: rows from which the second half of the chains start, in the user's coding, or a
            `Dataset`. If None, h is drawn from the *hidden* layer without weights, and then v given
            h.
        sampler: the sampler of the chains; block Gibbs sampling if None. With another sampler,
            "sweeps" are its steps. With replica exchange, whole columns are measured too, since the
            last model alone decorrelates whenever replicas take turns at it. Steps of replica
            exchange are not a positive kernel: the result is then the relaxation time of the
            slowest observable, and no bound.
        seconds: time after which a run is not prolonged.
        progress: called with the fraction of the limits used, from 0 to 1.

    Raises:
        InputError: arguments that do not fit, or rows outside the visible layer's domain.
        NotFiniteError: observables of chains are not finite, as for a model without a finite Z.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.mixing(rbm, key=jax.random.key(0), sweeps=1_024)
        >>> found.resolved, abs(found.relaxation - 0.72) < 0.1  # −2 / log(1/16)
        (True, True)

    Source: Decelle, Furtlehner & Seoane 2021; Vehtari et al. 2021 (R̂, effective sizes); Sokal 1997.
    """
    if not seconds > 0:
        raise InputError(f"seconds: expected a positive number; got {seconds}.")
    began, report = clock(), progress or (lambda part: None)
    run, target = _Run(rbm, chains, starts, key, sampler=sampler), 0
    sweeps = positive_integer(sweeps, "sweeps")

    def used() -> float:
        return min(1.0, max(run.sweeps / sweeps, (clock() - began) / seconds))

    while True:
        target = min(max(FIRST_SWEEPS, 2 * target), sweeps)
        while run.sweeps < target and (used() < 1.0 or not run.sweeps):
            run.go_on(target)
            report(used())
        found = _judged(run)
        if found.resolved or used() == 1.0:
            report(1.0)
            return found


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
    """Return the observables along chains that `mixing` uses, for ArviZ or for plots.

    Args:
        rbm: the model.
        key: a JAX random key.
        chains: number of chains, at least 16; the first half start from the model without its
            weights, the others from `starts`, as in `mixing`.
        sweeps: length of a chain; no burn-in is discarded.
        every: sweeps from draw to draw.
        starts: as in `mixing`.
        sampler: as in `mixing`.

    Returns:
        Each of the `observables` by name, shape (chains, draws).

    Raises:
        InputError: arguments that do not fit, or rows outside the visible layer's domain.
        NotFiniteError: observables of chains are not finite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.trace(rbm, key=jax.random.key(0), sweeps=100, every=10)
        >>> found["free_energy"].shape  # chains, draws
        (64, 10)
    """
    run = _Run(
        rbm, chains, starts, key, positive_integer(every, "every"), thinned=False, sampler=sampler
    )
    sweeps = positive_integer(sweeps, "sweeps")
    while run.sweeps + run.every <= sweeps:
        run.go_on(sweeps)
    if not run.sweeps:
        raise InputError(f"every: expected at most the {sweeps} sweeps of a chain; got {every}.")
    seen = run.seen()
    return {name: seen[:, i].T for i, name in enumerate(run.names)}


class _Run:
    """Chains from two kinds of starts, and the observables recorded along them."""

    def __init__(
        self,
        rbm: RBM,
        chains: int,
        starts: Any,
        key: Any,
        every: int = 1,
        *,
        thinned: bool = True,
        sampler: AbstractSampler | None = None,
    ):
        _check(rbm, chains)
        key_base, key_other, key_start, self.key = jax.random.split(checked_key(key), 4)
        self.rbm, self.chains, self.every, self.thinned = rbm, chains, every, thinned
        self.sampler, self.sweeps = Gibbs(1) if sampler is None else sampler, 0
        self.directions = slow_directions(rbm)
        other = _other_side(rbm, starts, chains - chains // 2, key=key_other)
        keys = key_base, key_start
        self.state: Any = _from_both_sides(rbm, self.sampler, other, chains // 2, keys=keys)
        self.names = names_watched(self.sampler, self.state, self.directions)
        self.parts: list[np.ndarray] = []

    def go_on(self, target: int) -> None:
        """Run one stretch of sweeps, towards a total of `target`."""
        records = min(RECORDS_PER_DISPATCH, max(1, (target - self.sweeps) // self.every))
        self.state, seen = watch(
            self.rbm,
            self.sampler,
            self.directions,
            self.state,
            first=jnp.asarray(self.sweeps, jnp.int32),
            every=jnp.asarray(self.every, jnp.int32),
            records=jnp.asarray(records, jnp.int32),
            room=RECORDS_PER_DISPATCH,
            key=self.key,
        )
        self.parts.append(np.asarray(seen)[:records])
        self.sweeps += records * self.every
        if not np.isfinite(self.parts[-1]).all():
            raise NotFiniteError(
                f"Chains of {self.rbm}: observables are not finite after {self.sweeps:,} sweeps;"
                " the model diverged, or its Z is not finite (see hm.finite_z)."
            )
        if self.thinned and sum(map(len, self.parts)) >= MOST_RECORDS:
            self.parts, self.every = [self.seen()[1::2]], 2 * self.every

    def seen(self) -> np.ndarray:
        """Return all records, shape (draws, observables, chains)."""
        return np.concatenate(self.parts)


def _check(rbm: Any, chains: Any) -> None:
    checked_rbm(rbm)
    if positive_integer(chains, "chains") < FEWEST_CHAINS:
        raise InputError(
            f"chains: expected at least {FEWEST_CHAINS}, half per start; got {chains}."
        )


def _other_side(rbm: RBM, starts: Any, n: int, *, key: PRNGKeyArray) -> Array:
    """Return n visible states from rows, or from the hidden layer without weights."""
    if starts is None:
        return _from_hidden(rbm, n, key=key)
    key_rows, key_order = jax.random.split(key)
    rows = starts.some(ROWS).rows(key=key_rows) if isinstance(starts, Dataset) else starts
    rows = rbm.visible.validate(rows, "starts", missing=True)
    order = np.asarray(jax.random.permutation(key_order, len(rows)))
    chosen = rows[np.resize(order, n)]
    if not np.isnan(chosen).any():
        return rbm.visible.encode(chosen)
    return _filled(rbm, from_numpy(chosen), key=jax.random.fold_in(key, 1))


@eqx.filter_jit
def _filled(rbm: RBM, rows: Array, *, key: PRNGKeyArray) -> Array:
    return completed(rbm, with_missing(rbm.visible, rows), FILLING_SWEEPS, key=key)


@eqx.filter_jit
def _from_hidden(rbm: RBM, n: int, *, key: PRNGKeyArray) -> Array:
    return Gibbs(1).init_independent(rbm.T, n, key=key).h


@eqx.filter_jit
def _from_both_sides(
    rbm: RBM,
    sampler: AbstractSampler,
    other: Array,
    n: int,
    *,
    keys: tuple[PRNGKeyArray, PRNGKeyArray],
) -> Any:
    """Start n chains from the model without its weights, and more chains from other states."""
    base = Gibbs(1).init_independent(rbm, n, key=keys[0]).v
    return sampler.init(rbm, jnp.concatenate([base, other]), key=keys[1])


def _judged(run: _Run) -> Mixing:
    """Compute all results from the last three quarters of a run."""
    seen = np.moveaxis(run.seen().astype(np.float64), 0, -1)  # observables, chains, draws
    seen = seen[..., seen.shape[-1] // 4 :]
    spread = np.ptp(seen, axis=(1, 2))
    moving = spread > 1e-5 * (1.0 + abs(seen).max(axis=(1, 2)))
    names = [name for name, moves in zip(run.names, moving, strict=True) if moves]
    seen, draws, half = seen[moving], seen.shape[-1], run.chains // 2
    p = same_distribution(*np.split(_time_means(seen), [half], axis=1))
    found = {name: estimates(x, run.every) for name, x in zip(names, seen, strict=True)}
    tau = max((each.tau for each in found.values()), default=np.inf)
    rhat = max((each.rhat for each in found.values()), default=np.inf)
    long_enough = draws * run.every >= LENGTH_IN_TAU * tau
    resolved = bool(long_enough and rhat < LARGEST_RHAT and p >= LEVEL)
    if resolved:
        relaxation = run.every * relaxation_of(tau / run.every)
    else:
        bound = max((certain_memory(x) for x in seen), default=0.0)
        relaxation = min(run.every * bound, float(run.sweeps))
    shown = int(np.clip(5 * tau / run.every, 2, draws // 2)) if names else 0
    found = {
        name: x._replace(autocorrelation=x.autocorrelation[:shown]) for name, x in found.items()
    }
    lags = run.every * np.arange(shown)
    agree, unit = p >= LEVEL, run.sampler.unit
    return Mixing(relaxation, resolved, p, agree, found, lags, run.sweeps, run.chains, unit)


def _time_means(seen: np.ndarray) -> np.ndarray:
    """Return each chain's means of the observables and of their squared deviations."""
    deviations = seen - seen.mean(axis=(1, 2), keepdims=True)
    return np.concatenate([seen.mean(-1), (deviations**2).mean(-1)])
