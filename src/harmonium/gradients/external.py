"""Gradients from states drawn by an external sampler, such as a quantum annealer.

A problem with spin variables −1 and +1 is sent to the sampler, which returns states at an inverse
temperature β. The functions that run on the host while a compiled program waits use NumPy.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.host import call_python
from .._base.parameters import map_parameters
from ..errors import InputError, count_of
from ..io.convert.annealers import Quadratic, Terms, bqm_of, labels_of, quadratic_of, terms_of
from ..io.convert.base import optional
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, Estimate, Status, cloud_gradient

WEIGHTINGS = ("counts", "boltzmann")
FEW = 0.1  # the effective fraction of the draws below which a note is added
# With few draws the estimate of β may be 0 or ∞. STEP limits its change in an update, and LEAST and
# MOST limit its value.
STEP = 8.0
LEAST = 1e-2
MOST = 1e2
MEMORY = 0.9  # factor by which the information on β is multiplied in each update
ROUNDING = 1e-6  # coefficients that exceed a range by less than this do not count as clipped

Range = tuple[float, float]


class ExternalState(NamedTuple):
    """The estimated inverse temperature of the sampler, and the quality of its draws.

    Attributes:
        beta: inverse temperature of the returned states, relative to the energies sent.
        information: the precision (1 / variance) of `beta`, from the draws of earlier updates.
        effective: effective fraction of the last draws, (Σw)² / (n Σw²), where w are the weights
            that correct the draws to β = 1.
        clipped: the largest number of fields and couplings clipped in an update.
    """

    beta: Float[Array, ""]
    information: Float[Array, ""]
    effective: Float[Array, ""]
    clipped: Int[Array, ""]


class Draws(NamedTuple):
    """The draws returned by one call of the sampler, with estimates of β.

    Attributes:
        is_high: distinct visible states, shape (n, visible), 1 for the higher value of a unit.
        counts: the number of times that each state was drawn, shape (n,); 0 for padding.
        beta: the estimate of the sampler's β that includes these draws.
        information: the precision of this estimate.
        at: β of these draws, relative to the energies of the model itself.
        clipped: number of fields and couplings that were clipped.
    """

    is_high: Any
    counts: Any
    beta: Any
    information: Any
    at: Any
    clipped: Any


class External(AbstractGradient):
    r"""A gradient with a model phase from an external sampler, such as a quantum annealer.

    Each update sends the model to the sampler, as a `dimod.BinaryQuadraticModel` of spins with the
    labels of `to_dimod`, and uses the visible states that the sampler returns; hidden units are
    averaged analytically. Any object with a method `sample(bqm, **parameters)` that returns a dimod
    `SampleSet` can be used. All units must be binary, as Bernoulli and Ising units are.

    An annealer returns states at an unknown inverse temperature β: p ∝ e^(−βE) for the energies E
    sent to it. With `beta=None`, β is estimated from the states by maximum pseudo-likelihood over
    all units, combined with the estimates of earlier updates. The energies of the next update are
    divided by the estimate, so that its states are returned at β ≈ 1. Weights correct any remaining
    deviation from β = 1: each state returned at β = b has weight e^(F_b(v) − F(v)), where F_b is
    the free energy of the model with all parameters multiplied by b.

    Hardware limits the range of coefficients. If the model's coefficients exceed this range and β
    is estimated, all coefficients are scaled down, and the weights e^(F_b(v) − F(v)) correct for
    the scaling. If β is given, coefficients beyond the range are clipped, and a note reports how
    many.

    The result approximates the likelihood gradient only to the extent that the states are
    Boltzmann-distributed, which cannot be guaranteed. A run is reproducible from its key only if
    the sampler accepts a `seed`.

    Attributes:
        other: the sampler, with its `reads`, `ranges` and `parameters`.
        beta: inverse temperature of the sampler's states; None if it is estimated.
        weighting: "counts" weights each state by the number of times it was drawn. "boltzmann" is
            for a solver that lists states, such as `dimod.ExactSolver`: distinct visible states v
            are weighted by e^(−F(v)), normalised, which is exact if the solver lists all states.

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
        """Set the sampler and its options.

        Args:
            sampler: an object with `sample(bqm, **parameters)`.
            reads: number of draws per update, passed as `num_reads` if the sampler accepts that
                argument; also the maximum number of distinct visible states in a reply.
            beta: inverse temperature of the sampler's states; None to estimate it.
            weighting: "counts" or "boltzmann".
            ranges: ranges of the spin fields and couplings, such as ((-2, 2), (-1, 1)); None to use
                "h_range" and "j_range" from the sampler's `properties`, if present.
            parameters: further arguments for `sample`. A `seed` is passed automatically.
        """
        reads = positive_integer(reads, "External reads")
        is_number = isinstance(beta, int | float) and 0 < beta < float("inf")
        if beta is not None and not is_number:
            raise InputError(f"External beta: expected a positive number or None; got {beta!r}.")
        if weighting not in WEIGHTINGS:
            raise InputError(
                f"External weighting: expected 'counts' or 'boltzmann'; got {weighting!r}."
            )
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
        """Return notes on clipped coefficients, an implausible β, and draws far from β = 1."""
        if state is None:
            return Status()
        notes = []
        if int(state.clipped):
            total = rbm.visible.size + rbm.hidden.size + rbm.visible.size * rbm.hidden.size
            notes.append(
                f"up to {int(state.clipped):,} of {total:,} fields and couplings in an update were "
                f"outside the ranges of {self.other.name} and were clipped: it sampled a different "
                "model"
            )
        if not LEAST * 1.01 < float(state.beta) < MOST / 1.01:
            notes.append(
                f"no β from {LEAST:g} to {MOST:g} describes the states of {self.other.name}: either"
                " they hardly depend on the energies, or the sampler rescales its input; in both"
                " cases the gradient is wrong"
            )
        if float(state.effective) < FEW:
            notes.append(
                f"draws of {self.other.name} were far from β = 1: after reweighting, the effective"
                f" sample size of the last draws is {float(state.effective):.1%} of their number"
            )
        return Status(notes=notes)

    def metrics(self, state: ExternalState) -> dict[str, Array]:
        """Return the sampler's β and the effective fraction of its draws if β is estimated."""
        if not self.estimates_beta:
            return {}
        return {"beta": state.beta, "effective_reads": state.effective}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> ExternalState:
        """Check that the model can be sent, and return the given β, or 1 with a variance of 1."""
        terms_of(rbm, self.other.source)
        optional("dimod", self.other.source)
        unit = jnp.ones((), rbm.visible.dtype)
        beta = unit if self.beta is None else self.beta * unit
        return ExternalState(beta, unit, unit, jnp.zeros((), jnp.int32))

    def estimate(
        self, rbm: RBM, batch: Cloud, state: ExternalState, *, key: PRNGKeyArray
    ) -> Estimate:
        """Call the sampler, reweight its states to β = 1, and return the gradient."""
        size = rbm.visible.size
        room = self.other.room(size)
        dtype = rbm.visible.dtype
        shapes = ((room, size), (room,), (), (), (), ())
        like = Draws(*map(jax.ShapeDtypeStruct, shapes, [*[dtype] * 5, np.int32]))
        seed = jax.random.bits(key, (), jnp.uint32) >> 1
        terms = terms_of(rbm, self.other.source)
        # `pure_callback` may call a function twice or not at all, but each call can cost money.
        drawn = call_python(self._drawn, like, terms, state.beta, state.information, seed)
        cloud, effective = self._weighted(rbm, drawn)
        grads, info = cloud_gradient(rbm, batch, cloud)
        clipped = jnp.maximum(state.clipped, drawn.clipped)
        state = ExternalState(drawn.beta, MEMORY * drawn.information, effective, clipped)
        return grads, state, info

    def _drawn(self, terms: Terms, beta: Any, information: Any, seed: Any) -> Draws:
        """Send the model and return the draws; this runs outside the compiled program."""
        other = self.other
        model = quadratic_of(terms, "SPIN")
        now = float(beta)
        known = float(information)
        if not all(np.isfinite(part).all() for part in model):  # `fit` reports that a run diverged
            size = len(model.visible_bias)
            room = other.room(size)
            return Draws(np.zeros((room, size)), np.full(room, np.nan), now, known, 1.0, 0)
        scale = 1.0 / now
        if (
            self.beta is None and self.weighting == "boltzmann"
        ):  # states are listed, so β is irrelevant
            scale = 1.0
        sent, scale, clipped = fitted(model, scale, other.ranges, self.beta is not None)
        states = other.sample(sent, int(seed))
        if self.weighting == "counts" and lists_every_state(states):
            raise InputError(
                f"{other.source}: expected draws; got every state of the model once, as from a "
                "solver"
                ' that lists states; pass weighting="boltzmann".'
            )
        at = 1.0
        if self.estimates_beta:
            now, known = inverse_temperature(states, sent, now, known)
            at = now * scale
        rows, counts = distinct(states, other.room(states.visible.shape[1]), other.source)
        return Draws(rows, counts, now, known, at, clipped)

    def _weighted(self, rbm: RBM, drawn: Draws) -> tuple[Cloud, Float[Array, ""]]:
        """Return the draws, reweighted to β = 1, and their effective fraction."""
        low, high = rbm.visible.coding.support
        v = low + (high - low) * drawn.is_high
        counts = drawn.counts
        all_count = jnp.ones((), v.dtype)
        if self.weighting == "boltzmann":
            probabilities = jax.nn.softmax(-rbm.free_energy(v), where=counts != 0)
            return Cloud(v, probabilities), all_count
        if not self.estimates_beta:
            return Cloud(v, counts / counts.sum()), all_count
        theirs = map_parameters(lambda leaf: drawn.at * leaf, rbm)
        log_ratios = theirs.free_energy(v) - rbm.free_energy(v)
        highest = jnp.where(counts == 0, -jnp.inf, log_ratios).max()
        ratios = jnp.where(counts == 0, 0.0, jnp.exp(log_ratios - highest))
        weights = counts * ratios
        effective = weights.sum() ** 2 / (counts.sum() * (weights @ ratios))
        return Cloud(v, weights / weights.sum()), effective


# ---------------------------------------------------------------- calls to the external sampler


class States(NamedTuple):
    """States returned by an external sampler.

    Attributes:
        visible: whether each visible unit has its higher value, shape (n, visible).
        hidden: whether each hidden unit has its higher value, shape (n, hidden).
        counts: the number of times that each row was drawn, shape (n,).
    """

    visible: np.ndarray
    hidden: np.ndarray
    counts: np.ndarray


class OtherSampler:
    """An external sampler with its options; compiled programs identify it by object identity.

    Attributes:
        sampler: an object whose `sample(bqm, **parameters)` returns a dimod `SampleSet`.
        name: the sampler's name in error messages.
        reads: number of draws to request, if the sampler accepts such a number.
        parameters: further arguments for `sample`.
        ranges: ranges of the spin fields and couplings, or None.
    """

    def __init__(self, sampler: Any, reads: int, ranges: Any, parameters: Any):
        """Check the options, and read ranges that are not given from the sampler's properties."""
        if isinstance(sampler, type) or not callable(getattr(sampler, "sample", None)):
            raise InputError(
                "External sampler: expected an object with a method sample(bqm), such as"
                f" dimod.ExactSolver(); got {sampler!r}; pass a dimod sampler, or write one."
            )
        self.sampler = sampler
        self.name = type(sampler).__name__
        self.reads = reads
        self.source = f"External with {self.name}"
        self.parameters = _checked_parameters(parameters)
        if ranges is None:
            ranges = _ranges_of(sampler)
        self.ranges = _checked_ranges(ranges, self.source)

    def __repr__(self) -> str:
        """Return the name of the sampler."""
        return self.name

    def room(self, visible: int) -> int:
        """Return the largest number of distinct visible states that a reply may contain."""
        return min(self.reads, 2 ** min(visible, 62))

    def sample(self, model: Quadratic, seed: int) -> States:
        """Return states of a model of spins.

        Raises:
            InputError: the sampler failed, or returned an invalid sample set for this model.
        """
        bqm = bqm_of(model, "SPIN", self.source)
        own = {"num_reads": self.reads, "seed": seed}
        options = {name: value for name, value in own.items() if _takes(self.sampler, name)}
        try:
            samples = self.sampler.sample(bqm, **options | self.parameters)
            record = samples.record
            names = list(samples.variables)
            rows = np.asarray(record.sample)
            counts = np.asarray(record.num_occurrences)
            energies = np.asarray(record.energy, float)
        except Exception as error:
            raise InputError(
                f"{self.source}: expected a dimod SampleSet; got {_in_words(error)}; correct the"
                " sampler or its parameters."
            ) from None
        labels = labels_of(*model.weights.shape)
        if not len(rows) or counts.sum() <= 0:
            raise InputError(
                f"{self.source}: expected at least one row of states; got none; request draws with"
                " reads= or parameters=."
            )
        if set(names) != set(labels):
            other = [*(set(labels) - set(names)), *(set(names) - set(labels))][0]
            raise InputError(
                f"{self.source}: expected the {len(labels)} variables of the model, ('v', 0) to"
                f" {labels[-1]}; got {len(names)} variables, and {other!r} is in only one of the"
                " two sets; correct the sampler."
            )
        wrong = int((~np.isfinite(energies)).sum())
        if wrong:
            raise InputError(
                f"{self.source}: expected finite energies; got other values in {wrong:,} of"
                f" {count_of(len(energies), 'row')}; correct the sampler."
            )
        place = {name: column for column, name in enumerate(names)}
        high = rows[:, [place[label] for label in labels]] > 0  # for both SPIN and BINARY
        visible, hidden = np.split(high, [len(model.visible_bias)], axis=1)
        return States(visible, hidden, counts.astype(float))


def fitted(
    model: Quadratic, scale: float, ranges: tuple[Range, Range] | None, clips: bool
) -> tuple[Quadratic, float, int]:
    """Return the scaled model to send, the scale factor, and the number of clipped coefficients.

    Args:
        model: the energy in spins.
        scale: the desired scale factor of the energies.
        ranges: the ranges of fields and of couplings, in dimod's sign convention.
        clips: whether coefficients beyond a range are clipped; if not, `scale` is reduced until all
            coefficients are in range.
    """
    if ranges is None:
        return _scaled(model, scale), scale, 0
    fields = -np.concatenate([model.visible_bias, model.hidden_bias])
    if not clips:
        pairs = zip((fields, -model.weights), ranges, strict=True)
        scale = min(scale, *(_largest_scale(values, bounds) for values, bounds in pairs))
    sent = _scaled(model, scale)
    h, j = ranges
    inside = sent._replace(
        weights=-np.clip(-sent.weights, *j),
        visible_bias=-np.clip(-sent.visible_bias, *h),
        hidden_bias=-np.clip(-sent.hidden_bias, *h),
    )
    pairs = zip(sent[:3], inside[:3], strict=True)
    clipped = sum(int((abs(a - b) > ROUNDING * abs(a)).sum()) for a, b in pairs)
    return inside, scale, clipped


def inverse_temperature(
    states: States, model: Quadratic, before: float, information: float
) -> tuple[float, float]:
    r"""Return the maximum pseudo-likelihood estimate of β, and the precision of the estimate.

        Σ_n c_n Σ_i log σ(β z_ni) − ½ I (β − β₀)²,    z_ni = 2 s_ni (field_i + Σ_j J_ij s_nj)

    This function of β is concave, and the estimate maximises it. s_n are the states, in spins, and
    c_n their counts. The estimate β₀ and its precision I summarise earlier updates.

    Args:
        states: the states.
        model: the energies that were sent to the sampler.
        before: β₀.
        information: I.
    """
    v = 2.0 * states.visible - 1.0
    h = 2.0 * states.hidden - 1.0
    of_visible = v * (model.visible_bias + h @ model.weights.T)
    of_hidden = h * (model.hidden_bias + v @ model.weights)
    z = 2.0 * np.hstack([of_visible, of_hidden])
    low = max(before / STEP, LEAST)
    high = min(before * STEP, MOST)
    beta = before
    curvature = information
    for _ in range(60):  # Newton steps, replaced by bisection if they leave the bracket
        against = np.exp(-np.logaddexp(0.0, beta * z))  # σ(−βz)
        slope = states.counts @ (z * against).sum(1) - information * (beta - before)
        curvature = states.counts @ (z**2 * against * (1.0 - against)).sum(1) + information
        if slope > 0:
            low = beta
        else:
            high = beta
        new = beta + slope / max(curvature, np.finfo(float).tiny)
        if not low < new < high:
            new = np.sqrt(low * high)
        if abs(new - beta) < 1e-9 * beta:
            break
        beta = new
    return float(beta), float(curvature)


def distinct(states: States, room: int, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct visible states, and the number of draws of each, padded with zeros.

    Raises:
        InputError: there are more distinct states than `room`.
    """
    rows, inverse = np.unique(states.visible, axis=0, return_inverse=True)
    if len(rows) > room:
        raise InputError(
            f"{source}: expected at most reads={room:,} distinct visible states; got {len(rows):,};"
            f" set reads={len(rows):,} or more."
        )
    counts = np.bincount(inverse.ravel(), weights=states.counts, minlength=room)
    return np.pad(rows, [(0, room - len(rows)), (0, 0)]), counts


def lists_every_state(states: States) -> bool:
    """Return whether the states are a list of all states of the model, each state once."""
    n = states.visible.shape[1] + states.hidden.shape[1]
    if len(states.counts) != 2**n or (states.counts != 1).any():
        return False
    return len(np.unique(np.hstack([states.visible, states.hidden]), axis=0)) == 2**n


def _scaled(model: Quadratic, scale: float) -> Quadratic:
    weights, a, b, offset = model
    return Quadratic(scale * weights, scale * a, scale * b, scale * offset)


def _largest_scale(values: np.ndarray, bounds: Range) -> float:
    """Return the largest factor that keeps all values within the bounds."""
    low, high = bounds
    above = values.max()
    below = values.min()
    scale = np.inf
    if above > 0:
        scale = high / above
    if below < 0:
        scale = min(scale, low / below)
    return scale


def _takes(sampler: Any, name: str) -> bool:
    """Return whether the sampler's `sample` accepts this argument."""
    parameters = getattr(sampler, "parameters", None)
    if isinstance(parameters, Mapping | Iterable) and name in parameters:
        return True
    try:
        return name in inspect.signature(sampler.sample).parameters
    except (TypeError, ValueError):  # the signature cannot be read
        return False


def _ranges_of(sampler: Any) -> Any:
    """Return h_range and j_range of a sampler, or of the sampler that it wraps; None if unknown."""
    properties = getattr(sampler, "properties", None)
    while isinstance(properties, Mapping):
        if "h_range" in properties and "j_range" in properties:
            return properties["h_range"], properties["j_range"]
        properties = properties.get("child_properties")
    return None


def _checked_ranges(ranges: Any, source: str) -> tuple[Range, Range] | None:
    if ranges is None:
        return None
    try:
        (h_low, h_high), (j_low, j_high) = ranges
        pair = (float(h_low), float(h_high)), (float(j_low), float(j_high))
    except (TypeError, ValueError):
        pair = ()
    if not pair or not all(low < 0 < high for low, high in pair):
        raise InputError(
            f"{source} ranges: expected two ranges around 0, for fields and couplings, such as"
            f" ((-2, 2), (-1, 1)); got {ranges!r}."
        )
    return pair


def _checked_parameters(parameters: Any) -> dict[str, Any]:
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise InputError(
            "External parameters: expected a dictionary of arguments for the sampler; got"
            f" {parameters!r}."
        )
    if "num_reads" in parameters:
        raise InputError(
            "External parameters: expected arguments other than 'num_reads'; got 'num_reads';"
            f" pass reads={parameters['num_reads']!r} instead."
        )
    return dict(parameters)


def _in_words(error: Exception) -> str:
    """Describe an error raised by the sampler, with the line of code that raised it."""
    *_, last = traceback.extract_tb(error.__traceback__)
    text = str(error)
    if len(text) > 203:
        text = f"{text[:200]}..."
    where = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    return f"{type(error).__name__} ({where}): {text}".rstrip(": .")
