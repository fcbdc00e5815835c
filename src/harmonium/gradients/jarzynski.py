"""Persistent chains, weighted by Jarzynski's equality along the training run."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.statistics import effective_size, log_mean_exp, resampled
from ..errors import InputError
from ..path import Heating
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractChains, Estimate, cloud_gradient
from .starting import start_states


class JarzynskiState(NamedTuple):
    """Weighted chains between updates.

    Attributes:
        v: visible states, shape (chains, visible).
        energies: F(v) under the model to which the weights refer, shape (chains,), nats.
        log_weights: log weights since the last resampling, shape (chains,).
        log_z: estimate of log Z at the last resampling; adding the log of the mean weight gives the
            current log Z.
        resampled: number of resamplings so far.
    """

    v: Float[Array, "chains visible"]
    energies: Float[Array, " chains"]
    log_weights: Float[Array, " chains"]
    log_z: Float[Array, ""]
    resampled: Array


class Jarzynski(AbstractChains):
    r"""Persistent chains with importance weights that correct for the chains' lag behind the model.

    Each update changes the parameters from θ to θ′, reweights each chain at its state v, and then
    moves the chain:

        log w += F_θ(v) − F_θ′(v),    then v moves under θ′.

    This is annealed importance sampling along the training run, which starts from independent
    units. The weighted chains represent the model at every update, however slowly they move: their
    averages converge to the model's averages as the number of chains grows, and the mean of w has
    expectation Z(θ)/Z(θ₀), so log Z is estimated throughout the run. When the effective fraction of
    the chains falls below `threshold`, the chains are resampled in proportion to their weights.

    A mode that no chain has found gets no weight. The effective sample size does not reveal such a
    mode, because it counts chains, not modes.

    Attributes:
        sampler: the sampler that moves the chains; it must be able to start from any visible
            states, as `Gibbs` does.
        chains: number of chains.
        threshold: effective fraction of the chains, (Σw)² / (n Σw²), below which they are
            resampled.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.Jarzynski(hm.Gibbs(1), chains=100)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> abs(fit.history[-1]["log_z"] - hm.log_z(fit.state.rbm).value) < 0.1
        True

    Source: Carbone, Hua, Coste & Vanden-Eijnden 2023; Jarzynski 1997; Neal 2001.
    """

    threshold: float = 0.5

    def __check_init__(self):
        if not 0 <= self.threshold <= 1:
            raise InputError(
                f"Jarzynski threshold: expected a number from 0 to 1; got {self.threshold}."
            )

    @property
    def about(self) -> About:
        return About.for_sampler(self.sampler, "Jarzynski")

    def cloud_of(self, state: JarzynskiState) -> Cloud:
        """Return the chains with their weights."""
        return Cloud(state.v, jax.nn.softmax(state.log_weights))

    def metrics(self, state: JarzynskiState) -> dict[str, Array]:
        """Return log Z, the effective fraction of the chains, and the number of resamplings."""
        log_z = state.log_z + log_mean_exp(state.log_weights)
        effective = _effective_fraction(state.log_weights)
        return {"log_z": log_z, "effective_chains": effective, "resampled": state.resampled}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> JarzynskiState:
        """Draw the chains from the model with zero weights, whose log Z is known.

        If the weights are so large that chains may stay where they start, the chains start at rows,
        and log Z is not known (NaN).
        """
        v, are_rows = start_states(rbm, batch, (self.chains,), key=key)
        energies = jnp.where(are_rows, rbm.free_energy(v), rbm.uncoupled.free_energy(v))
        none = jnp.zeros(self.chains, v.dtype)
        log_z = Heating(rbm.visible, rbm.hidden, rbm).log_z_of_base
        log_z = jnp.where(are_rows, jnp.nan, log_z)
        return JarzynskiState(v, energies, none, log_z, jnp.zeros((), jnp.int32))

    def estimate(
        self, rbm: RBM, batch: Cloud, state: JarzynskiState, *, key: PRNGKeyArray
    ) -> Estimate:
        """Reweight the chains, resample if needed, move them, and return the gradient."""
        key_draw, key_start, key_move = jax.random.split(key, 3)
        log_weights = state.log_weights + state.energies - rbm.free_energy(state.v)
        state = state._replace(log_weights=log_weights)
        state = jax.lax.cond(
            _effective_fraction(log_weights) < self.threshold,
            lambda state: _resampled(state, key=key_draw),
            lambda state: state,
            state,
        )
        chains: Any = self.sampler.init(rbm, state.v, key=key_start)
        chains, _ = self.sampler.step(rbm, chains, key=key_move)
        v = self.sampler.positions(chains)
        state = state._replace(v=v, energies=rbm.free_energy(v))
        grads, info = cloud_gradient(rbm, batch, self.cloud_of(state))
        return grads, state, info


def _resampled(state: JarzynskiState, *, key: PRNGKeyArray) -> JarzynskiState:
    """Resample n chains systematically: a chain of weight w is drawn ⌊nw⌋ or ⌈nw⌉ times."""
    weights = jax.nn.softmax(state.log_weights)
    offset = jax.random.uniform(key, (), weights.dtype)
    chosen = resampled(weights, len(weights), offset)
    return state._replace(
        v=state.v[chosen],
        log_weights=jnp.zeros_like(state.log_weights),
        log_z=state.log_z + log_mean_exp(state.log_weights),
        resampled=state.resampled + 1,
    )


def _effective_fraction(log_weights: Float[Array, " n"]) -> Float[Array, ""]:
    """Return the effective fraction of the chains, (Σw)² / (n Σw²), from 1/n to 1."""
    return effective_size(jax.nn.softmax(log_weights)) / len(log_weights)
