"""The model cloud comes from a sampler of another package: an annealer, a solver, hardware."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.host import call_python
from .._base.parameters import map_parameters
from ..errors import InputError, input_error
from ..io.convert.annealers import Terms, quadratic_of, terms_of
from ..io.convert.base import optional
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, PhaseInfo, Status, cloud_gradient
from .sample_sets import (
    LEAST,
    MEMORY,
    MOST,
    OtherSampler,
    distinct,
    fitted,
    inverse_temperature,
    lists_every_state,
)

WEIGHTINGS = ("counts", "boltzmann")
FEW = 0.1  # the effective fraction of the draws below which a note says so


class ExternalState(NamedTuple):
    """What is known of the sampler.

    Attributes:
        beta: inverse temperature of the states that it returns, for the energies it is given.
        information: that of earlier updates about β, 1 / variance.
        effective: effective fraction of the last draws, (Σw)² / (n Σw²), after they were weighted
            to β = 1.
        clipped: the most fields and couplings that were clipped in an update.
    """

    beta: Float[Array, ""]
    information: Float[Array, ""]
    effective: Float[Array, ""]
    clipped: Int[Array, ""]


class Draws(NamedTuple):
    """What comes back from a call, as arrays.

    Attributes:
        is_high: distinct visible states, shape (n, visible), 1 where a unit is at its higher value.
        counts: how often each was drawn, shape (n,); 0 where nothing is left to fill the shape.
        beta: β of the sampler, after these draws.
        information: that of these and all earlier draws.
        at: β of these draws for the energies of the model itself.
        clipped: number of fields and couplings that were clipped, a whole number.
    """

    is_high: Any
    counts: Any
    beta: Any
    information: Any
    at: Any
    clipped: Any


class External(AbstractGradient):
    r"""Gradient whose model cloud is drawn by a sampler of another package, such as an annealer.

    Each update sends the model to the sampler, as a `dimod.BinaryQuadraticModel` of spins named as
    `to_dimod` names them, and takes the visible states that come back; hidden units are averaged
    analytically. Anything with `sample(bqm, **parameters)` that returns a dimod `SampleSet` serves.
    The units must take two values, such as Bernoulli or Ising units.

    An annealer returns states at an inverse temperature β that nobody knows: p ∝ e^(−βE) for the
    energies E that it was given. With `beta=None` it is found from the states themselves, by
    maximum pseudo-likelihood over all units, together with what earlier updates said. The next
    energies are divided by it, so that states arrive at β = 1. A remaining difference is corrected
    by weights: of states that arrive at b, each has the weight e^(F_b(v) − F(v)), where F_b is the
    free energy of the model with all parameters times b.

    Hardware has ranges for its coefficients. If a model does not fit, all of it is scaled down when
    β is estimated, and the weights above correct for it. With a given β, coefficients beyond a
    range are clipped, and a note says how many.

    The gradient follows the likelihood as far as the states are Boltzmann-distributed, which no
    sampler can promise. A run is a function of its key only if the sampler takes a `seed`.

    Attributes:
        other: the sampler with its `reads`, `ranges` and `parameters`.
        beta: inverse temperature of the sampler's states; None if it is estimated.
        weighting: "counts" for draws, which count as often as they were drawn; "boltzmann" for the
            states of a solver that lists states, as `dimod.ExactSolver` does: distinct visible
            states v are weighted by e^(−F(v)), normalised. That is exact if it lists them all.

    Example:
        >>> import dimod
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.External(dimod.ExactSolver(), weighting="boltzmann")
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> exact = hm.fit(rbm, rows, key=key, gradient="exact", epochs=2)
        >>> bool(jnp.allclose(fit.rbm.weights, exact.rbm.weights, atol=1e-5))
        True

    Source: Benedetti, Realpe-Gómez, Biswas & Perdomo-Ortiz 2016 (β in each update); Besag 1975
    (pseudo-likelihood).
    """

    other: OtherSampler = eqx.field(static=True)
    beta: float | None = eqx.field(static=True)
    weighting: str = eqx.field(static=True)

    def __init__(
        self,
        sampler: Any,
        reads: int = 1_000,
        *,
        beta: float | None = None,
        weighting: str = "counts",
        ranges: Any = None,
        parameters: Any = None,
    ):
        """Set the sampler and how it is used.

        Args:
            sampler: an object with `sample(bqm, **parameters)`.
            reads: number of draws in an update, passed as `num_reads` if the sampler takes it; at
                most so many distinct visible states may come back.
            beta: inverse temperature of its states; None to estimate it.
            weighting: "counts" or "boltzmann".
            ranges: ranges of fields and couplings of spins, as ((-2, 2), (-1, 1)); None for those
                among the sampler's `properties` ("h_range" and "j_range"), if it has any.
            parameters: further arguments of its `sample`. A `seed` is passed by itself.
        """
        reads = positive_integer(reads, "External reads")
        is_number = isinstance(beta, int | float) and 0 < beta < float("inf")
        if beta is not None and not is_number:
            raise InputError(f"External beta: expected a positive number or None; got {beta!r}.")
        if weighting not in WEIGHTINGS:
            expected = " or ".join(map(repr, WEIGHTINGS))
            raise InputError(f"External weighting: expected {expected}; got {weighting!r}.")
        self.other = OtherSampler(sampler, reads, ranges, parameters)
        self.beta = None if beta is None else float(beta)
        self.weighting = weighting

    @property
    def about(self) -> About:
        return About(f"external, by {self.other.name}", follows_likelihood=False)

    @property
    def estimates_beta(self) -> bool:
        """Whether β is estimated from the draws."""
        return self.beta is None and self.weighting == "counts"

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return notes on what was clipped, and on draws that hardly count."""
        notes = []
        if state is not None and int(state.clipped):
            total = rbm.visible.size + rbm.hidden.size + rbm.visible.size * rbm.hidden.size
            notes.append(
                f"up to {int(state.clipped):,} of {total:,} fields and couplings in an update were"
                f" beyond the ranges of {self.other.name} and were clipped: it sampled another"
                " model than this one"
            )
        if state is not None and not LEAST * 1.01 < float(state.beta) < MOST / 1.01:
            notes.append(
                f"no β from {LEAST:g} to {MOST:g} describes the states of {self.other.name}: they"
                " hardly depend on the energies, or it rescales what it is sent, and the gradient"
                " is wrong"
            )
        if state is not None and float(state.effective) < FEW:
            notes.append(
                f"draws of {self.other.name} arrived far from β = 1: weighted to it, the last ones"
                f" count as {float(state.effective):.1%} of their number"
            )
        return Status(notes=notes)

    def metrics(self, state: ExternalState) -> dict[str, Array]:
        """Return the sampler's β and the effective fraction of its draws, if β is estimated."""
        if not self.estimates_beta:
            return {}
        return {"beta": state.beta, "effective_reads": state.effective}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> ExternalState:
        """Check that the model can be sent, and return β = 1 ± 1 or the given one."""
        terms_of(rbm, self.other.source)
        optional("dimod", self.other.source)
        one = jnp.ones((), rbm.visible.dtype)
        beta = one if self.beta is None else self.beta * one
        return ExternalState(beta, one, one, jnp.zeros((), jnp.int32))

    def estimate(
        self, rbm: RBM, batch: Cloud, state: ExternalState, *, key: PRNGKeyArray
    ) -> tuple[RBM, ExternalState, PhaseInfo]:
        """Call the sampler, weight its states to β = 1, and return the gradient."""
        room = self.other.room(rbm.visible.size)
        size = rbm.visible.size
        shapes = ((room, size), (room,), (), (), (), ())
        types = _types(rbm.visible.dtype)
        like = Draws(*map(jax.ShapeDtypeStruct, shapes, types))
        seed = jax.random.bits(key, (), jnp.uint32) >> 1
        terms = terms_of(rbm, self.other.source)
        drawn = call_python(self._drawn, like, terms, state.beta, state.information, seed)
        cloud, effective = self._weighted(rbm, drawn)
        grads, info = cloud_gradient(rbm, batch, cloud)
        clipped = jnp.maximum(state.clipped, drawn.clipped)
        state = ExternalState(drawn.beta, MEMORY * drawn.information, effective, clipped)
        return grads, state, info

    def _drawn(self, terms: Terms, beta: Any, information: Any, seed: Any) -> Draws:
        """Send the model and return what comes back; this runs outside of the compiled program."""
        other = self.other
        dtype = np.asarray(terms.weights).dtype
        model = quadratic_of(terms, "SPIN")
        now = float(beta)
        known = float(information)
        if not all(np.isfinite(part).all() for part in model):  # the run has diverged: it will say
            shape = (other.room(len(model.visible_bias)), len(model.visible_bias))
            return _arrays(
                Draws(np.zeros(shape), np.full(shape[0], np.nan), now, known, 1.0, 0), dtype
            )
        lists = self.beta is None and self.weighting == "boltzmann"
        scale = 1.0 if lists else 1.0 / now
        sent, scale, clipped = fitted(model, scale, other.ranges, self.beta is not None)
        states = other.sample(sent, int(seed))
        if self.weighting == "counts" and lists_every_state(states):
            found = "every state of the model once, as a solver lists them"
            raise input_error(other.source, "draws", found, 'pass weighting="boltzmann"')
        at = 1.0
        if self.estimates_beta:
            now, known = inverse_temperature(states, sent, now, known)
            at = now * scale
        rows, counts = distinct(states, other.room(states.visible.shape[1]), other.source)
        return _arrays(Draws(rows, counts, now, known, at, clipped), dtype)

    def _weighted(self, rbm: RBM, drawn: Draws) -> tuple[Cloud, Float[Array, ""]]:
        """Return the model cloud at β = 1, and the effective fraction of the draws."""
        low, high = rbm.visible.coding.support
        v = low + (high - low) * drawn.is_high
        counts = drawn.counts
        one = jnp.ones((), v.dtype)
        if self.weighting == "boltzmann":
            shares = jax.nn.softmax(-rbm.free_energy(v), where=counts != 0)
            return Cloud(v, shares), one
        if not self.estimates_beta:
            return Cloud(v, counts / counts.sum()), one
        theirs = map_parameters(lambda leaf: drawn.at * leaf, rbm)
        log_ratios = theirs.free_energy(v) - rbm.free_energy(v)
        highest = jnp.where(counts == 0, -jnp.inf, log_ratios).max()
        ratios = jnp.where(counts == 0, 0.0, jnp.exp(log_ratios - highest))
        weights = counts * ratios
        effective = weights.sum() ** 2 / (counts.sum() * (weights @ ratios))
        return Cloud(v, weights / weights.sum()), effective


def _arrays(drawn: Draws, dtype: Any) -> Draws:
    """Return all as arrays of the types that the compiled program expects."""
    return Draws(*map(np.asarray, drawn, _types(dtype)))


def _types(dtype: Any) -> list[Any]:
    """Return the types of the fields of `Draws`."""
    return [*[dtype] * 5, np.int32]
