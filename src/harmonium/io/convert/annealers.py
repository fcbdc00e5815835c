r"""RBMs of two-valued units as quadratic models with a constant offset: QUBO, Ising, and dimod.

A 0/1 unit and a −1/+1 unit are the same unit in different codings. With v = αx + β and h = γy + δ
for each unit,

    −a·v − b·h − vᵀWh  =  −a′·x − b′·y − xᵀW′y + c

    W′ = α W γ,   a′ = α (a + Wδ),   b′ = γ (b + Wᵀβ),   c = −a·β − b·δ − βᵀWδ

so the conversion is exact in both directions, up to the constant c.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...errors import InputError
from ...layers import AbstractLayer, Bernoulli, Ising
from ...layers.capabilities import has_independent_units
from ...rbm import RBM
from .base import KEEP_IT_NATIVE, checked_model, optional

CODINGS = {"BINARY": (0.0, 1.0), "SPIN": (-1.0, 1.0)}  # dimod's names for the values of a unit


class Recoded(NamedTuple):
    """A model whose units have been recoded to other values, and the energy offset.

    Attributes:
        rbm: the recoded model, whose energy differs from the original energy only by the offset.
        offset: c in E(v, h) = E′(x, y) + c, in nats. The free energies satisfy F = F′ + c, and log
            Z = log Z′ − c.
    """

    rbm: RBM
    offset: float


class Qubo(NamedTuple):
    """A QUBO: E = xᵀ Q x + offset in nats, with 0/1 units x = (v, h) and upper triangular Q."""

    matrix: np.ndarray
    offset: float


class Couplings(NamedTuple):
    """An Ising model: E = −½ sᵀ J s − field·s + offset in nats, with spins s = (v, h) of ±1.

    This is the form that p-bit hardware uses: the local field of spin i is Σ_j J_ij s_j + field_i,
    and the spin is +1 with probability σ(2 (Σ_j J_ij s_j + field_i)) at inverse temperature 1. J is
    symmetric, with zeros within each layer.

    Source: Camsari et al. 2017 (arXiv 1610.00377), where the local field is called the input I.
    """

    matrix: np.ndarray
    field: np.ndarray
    offset: float


class TwoValued(NamedTuple):
    """The units of a layer as arrays: two values for each unit, and the potential U of each value.

    The potential U is in nats.
    """

    low: Any
    high: Any
    at_low: Any
    at_high: Any


class Terms(NamedTuple):
    """The energy terms of a model of two-valued units, as arrays."""

    weights: Any
    visible: TwoValued
    hidden: TwoValued


class Quadratic(NamedTuple):
    """The parameters W′, a′, b′ and c of the module's formula, in float64."""

    weights: np.ndarray
    visible_bias: np.ndarray
    hidden_bias: np.ndarray
    offset: float


def to_bernoulli(rbm: RBM) -> Recoded:
    """Recode a model of Bernoulli and Ising units so that all units are 0/1; −1 becomes 0.

    Raises:
        InputError: the model has units of other types.
    """
    return _recoded(quadratic_of(terms_of(rbm, "to_bernoulli"), "BINARY"), Bernoulli)


def to_ising(rbm: RBM) -> Recoded:
    """Recode a model of Bernoulli and Ising units so that all units are ±1; 0 becomes −1.

    Raises:
        InputError: the model has units of other types.
    """
    return _recoded(quadratic_of(terms_of(rbm, "to_ising"), "SPIN"), Ising)


def _recoded(model: Quadratic, layer: type[Bernoulli] | type[Ising]) -> Recoded:
    weights, a, b, offset = model
    return Recoded(RBM(layer(len(a), a), layer(len(b), b), weights), offset)


def to_qubo(rbm: RBM) -> Qubo:
    """Return the QUBO matrix Q and the offset; the state −1 of an Ising unit becomes 0.

        E(v, h) = xᵀ Q x + offset,   x = (v, h)

    Raises:
        InputError: the model has units other than Bernoulli and Ising.
    """
    weights, a, b, offset = quadratic_of(terms_of(rbm, "to_qubo"), "BINARY")
    matrix = np.diag(-np.concatenate([a, b]))
    matrix[: len(a), len(a) :] = -weights
    return Qubo(matrix, offset)


def to_couplings(rbm: RBM) -> Couplings:
    """Return the couplings, fields and offset for spins s = (v, h); the state 0 becomes −1.

        E(v, h) = −½ sᵀ J s − field·s + offset

    Raises:
        InputError: the model has units other than Bernoulli and Ising.
    """
    weights, a, b, offset = quadratic_of(terms_of(rbm, "to_couplings"), "SPIN")
    matrix = np.zeros((len(a) + len(b),) * 2)
    matrix[: len(a), len(a) :] = weights
    return Couplings(matrix + matrix.T, np.concatenate([a, b]), offset)


def to_dimod(rbm: RBM, vartype: str | None = None, *, source: str = "to_dimod") -> Any:
    """Return a `dimod.BinaryQuadraticModel` with energy E(v, h), including the offset.

    The variables are ("v", 0), ("v", 1), … and ("h", 0), …, so `sample["v", 3]` is the state of a
    visible unit. Energies are in nats: to sample from the RBM's distribution, rather than find
    ground states, an annealer must run at inverse temperature 1.

    Args:
        rbm: a model of Bernoulli and Ising units, which may be mixed within a layer.
        vartype: "BINARY" or "SPIN". If None, the coding of the model's units, or "BINARY" if it has
            both types.
        source: the name of the conversion in error messages.

    Raises:
        InputError: the model has units of other types, or `vartype` is invalid.
        MissingDependencyError: dimod is not installed.
    """
    if vartype not in (None, *CODINGS):
        raise InputError(f"{source}: expected vartype BINARY or SPIN; got {vartype!r}.")
    terms = terms_of(rbm, source)
    if vartype is None:
        low = np.concatenate([terms.visible.low, terms.hidden.low])
        vartype = "SPIN" if (low == CODINGS["SPIN"][0]).all() else "BINARY"
    return bqm_of(quadratic_of(terms, vartype), vartype, source)


def bqm_of(model: Quadratic, vartype: str, source: str) -> Any:
    """Return the `dimod.BinaryQuadraticModel` with this energy, in the coding `vartype`.

    Raises:
        MissingDependencyError: dimod is not installed.
    """
    dimod = optional("dimod", source)
    weights, a, b, offset = model
    labels = labels_of(*weights.shape)
    rows, columns = np.indices(weights.shape)
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        -np.concatenate([a, b]),
        (rows.ravel(), columns.ravel() + len(a), -weights.ravel()),
        offset,
        vartype,
        variable_order=labels,
    )


def labels_of(visible: int, hidden: int) -> list[tuple[str, int]]:
    """Return the names of the variables: ("v", i) for visible, ("h", j) for hidden units."""
    return [("v", i) for i in range(visible)] + [("h", j) for j in range(hidden)]


def terms_of(rbm: Any, source: str) -> Terms:
    """Return the energy terms of a model as arrays; JAX can trace this function.

    Raises:
        InputError: the model has units that do not take exactly two values.
    """
    model = checked_model(rbm, source)
    visible = _two_valued(model.visible, model, source)
    return Terms(model.dense_weights, visible, _two_valued(model.hidden, model, source))


def quadratic_of(terms: Terms, coding: str) -> Quadratic:
    """Return the parameters of a model's energy in another coding, by this module's formula."""
    scale_v, shift_v = _recoding(terms.visible, coding)
    scale_h, shift_h = _recoding(terms.hidden, coding)
    weights = np.asarray(terms.weights, float)
    a, c_v = _field(terms.visible)
    b, c_h = _field(terms.hidden)
    return Quadratic(
        scale_v[:, None] * weights * scale_h,
        scale_v * (a + weights @ shift_h),
        scale_h * (b + shift_v @ weights),
        float(c_v + c_h - a @ shift_v - b @ shift_h - shift_v @ weights @ shift_h),
    )


def _two_valued(layer: AbstractLayer, rbm: RBM, source: str) -> TwoValued:
    if layer.n_states != 2**layer.size or not has_independent_units(layer):
        raise InputError(
            f"{source}: expected independent units that take two values, such as Bernoulli or"
            f" Ising; got {layer} in {rbm}; {KEEP_IT_NATIVE}."
        )
    low, high = layer.coding.support
    return TwoValued(
        low,
        high,
        at_low=layer.unit_energies(jnp.asarray(low, layer.dtype)),
        at_high=layer.unit_energies(jnp.asarray(high, layer.dtype)),
    )


def _recoding(units: TwoValued, coding: str) -> tuple[np.ndarray, np.ndarray]:
    """Return α and β of x ↦ αx + β, which maps the coding's two values to each unit's values."""
    new_low, new_high = CODINGS[coding]
    low = np.asarray(units.low)
    scale = (np.asarray(units.high) - low) / (new_high - new_low)
    return scale, low - scale * new_low


def _field(units: TwoValued) -> tuple[np.ndarray, float]:
    """Return b and c such that the potential of two-valued units is U(x) = −b·x + c."""
    low, high, at_low, at_high = (np.asarray(part, float) for part in units)
    field = (at_low - at_high) / (high - low)
    return field, float((at_low + field * low).sum())
