r"""Effective couplings: the fields and interactions that hidden units induce among visible units.

The log-probability of an RBM, log p(v) = −U(v) + Γ(vW) − log Z, where U is the energy of the
visible units and Γ the cumulant generating function of the hidden units, can be expanded into a
sum of terms for single units, pairs, triples and so on. This expansion is unique in the zero-sum
gauge, in which each term sums to zero over the states of any of its units. The term of the units
i, j, … is the mean of log p over the states of all other units, minus the terms of all proper
subsets of {i, j, …}.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from .._base.numerics import from_numpy
from .._base.programs import compiled
from .._base.threefry import key_of
from ..data import Dataset
from ..data.parts import in_parts
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import has_independent_units
from ..rbm import RBM, checked_rbm

__all__ = ["Couplings", "contact_scores", "effective_couplings"]

NODES = 8  # number of quadrature nodes for a normal density
# `values_of_units` tries the values from the lowest signed byte to the highest two-byte integer.
LOWEST_VALUE = -128
MOST_VALUES = 2**16
MOST_ROWS = 200  # the largest number of rows over which couplings are averaged


class Couplings(NamedTuple):
    """Interaction terms of log p(v), one for each tuple of visible units.

    Attributes:
        units: the units of each term, shape (terms, order).
        values: the terms in nats, shape (terms, q, …, q), where q is the largest number of states
            of a unit. Each axis of length q runs over the states of one unit of the term, in the
            order of `states`; entries for states that the unit lacks are 0.
        states: the values of each unit in the user's coding, shape (visible units, q), padded with
            NaN for units with fewer than q values. For spins s and s′ of ±1, `values[:, 1, 1]` is
            the coupling J in the term J·s·s′.

    Example:
        >>> rbm = hm.RBM(hm.Ising(3), hm.Gaussian(1), [[1.0], [2.0], [3.0]])
        >>> couplings = hm.effective_couplings(rbm)
        >>> couplings.states[0].tolist(), couplings.values[0].round(3).tolist()
        ([-1, 1], [[2.0, -2.0], [-2.0, 2.0]])
        >>> print(couplings.norms.round(3))
        [ 4.  6. 12.]
    """

    units: np.ndarray
    values: np.ndarray
    states: np.ndarray

    @property
    def norms(self) -> np.ndarray:
        """The Frobenius norm of each term."""
        return np.sqrt((self.values**2).sum(axis=tuple(range(1, self.values.ndim))))


def effective_couplings(
    rbm: RBM,
    order: int = 2,
    *,
    units: Sequence[Sequence[int]] | None = None,
    around: Any = None,
    progress: Callable[[float], None] | None = None,
) -> Couplings:
    r"""Return the terms of log p(v) that involve `order` visible units, in the zero-sum gauge.

    The terms of units i and j are

        J_ij(a, b) = Σ_μ ⟨Γ_μ(w_iμ(a) + w_jμ(b) + X_μ)⟩, centred over a and over b,

    where w_iμ(a) is the input to hidden unit μ from unit i in state a, X_μ the input from all other
    visible units, ⟨·⟩ the mean over X_μ, and Γ_μ the cumulant generating function of hidden unit μ.
    By default, all states of the other visible units are assumed to be equally likely, and X_μ to
    be normally distributed, which is exact for Gaussian hidden units and in the limit of many
    visible units. With `around`, X_μ is computed from given rows, which yields the effective terms
    near the data. The terms of order 1 are the fields, and include the contribution of −U.

    Args:
        rbm: a model with discrete visible units, and hidden units that are independent given v.
        order: the number of units per term: 1, 2 or 3.
        units: the terms of interest, each a tuple of `order` different units; None for all terms.
        around: rows in the user's coding, of which at most 200 are used, or None. If the rows
            contain each state of the visible units once, and these are at most 200, the terms are
            exact.
        progress: a function called with the fraction of terms done.

    Raises:
        InputError: the layers are not as described for `rbm`, or an argument is invalid.

    Example:
        >>> rbm = hm.RBM(hm.Ising(3), hm.Gaussian(1), [[1.0], [2.0], [3.0]])  # log p = (s·w)² / 2
        >>> couplings = hm.effective_couplings(rbm)
        >>> couplings.units.tolist()
        [[0, 1], [0, 2], [1, 2]]
        >>> print(couplings.values[:, 1, 1].round(3))  # J of J·s·s′
        [2. 3. 6.]

    Source: Cossu, Del Debbio, Giani, Khamseh & Wilson 2019; Decelle, Furtlehner, Navas Gómez &
    Seoane 2024 (normal X).
    """
    visible = checked_rbm(rbm).visible
    if order not in (1, 2, 3):
        raise InputError(f"order: expected 1, 2 or 3 units per term; got {order!r}.")
    states = values_of_units(visible)
    if not has_independent_units(rbm.hidden):
        raise InputError(
            f"{rbm}: expected hidden units that are independent given v; got {rbm.hidden};"
            " use Bernoulli or DReLU units."
        )
    terms = _checked_terms(units, order, visible.n_units)
    present = ~np.isnan(states)
    contributions, energies = _contributions(rbm, states)
    # Around rows, the couplings reflect the model near the data. On PF00072, with 800 hidden units,
    # 95.5 % of the 2L pairs with the highest scores are contacts (L is the length of a sequence),
    # compared with 93.8 % for normal inputs.
    if around is None:
        inputs = _normal_inputs(contributions, present)
    else:
        inputs = _inputs_of_rows(rbm, around, states, contributions)
    inputs = _Inputs(*(jnp.asarray(array, contributions.dtype) for array in inputs))
    arrays = (from_numpy(contributions), from_numpy(present), inputs, from_numpy(-energies))
    done = 0

    def values_of(portion: Array, number: int) -> Array:
        nonlocal done
        done += len(portion)
        if progress is not None:
            progress(min(1.0, done / len(terms)))
        return _values_of_terms(rbm.hidden, portion, *arrays)

    width = rbm.hidden.size * states.shape[1] ** order
    return Couplings(terms, in_parts(values_of, terms, width), states)


def contact_scores(couplings: Couplings, *, without: int | None = None) -> Float[np.ndarray, "n n"]:
    """Return the strength of each pair's coupling: a norm with average-product correction.

    S_ij = F_ij − F_i F_j / F, where F_ij is the Frobenius norm of the pair's term, F_i the mean of
    F_ij over all other units j, and F the mean over all pairs. The subtracted term F_i F_j / F is
    the part of F_ij that is explained by the variability of each unit alone.

    Args:
        couplings: couplings of order 2 for all pairs.
        without: the index of a state to ignore, such as the gap of a sequence alignment.

    Returns:
        A symmetric matrix with zeros on the diagonal.

    Raises:
        InputError: the couplings are not of order 2, or pairs are missing.

    Example:
        >>> weights = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
        >>> rbm = hm.RBM(hm.Ising(4), hm.Gaussian(2), weights)
        >>> scores = hm.contact_scores(hm.effective_couplings(rbm))
        >>> (scores > 0.5).astype(int).tolist()  # 0 with 1, and 2 with 3
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]

    Source: Dunn, Wahl & Gloor 2008 (the correction); Ekeberg et al. 2013 (norms).
    """
    if not isinstance(couplings, Couplings):
        raise InputError(
            f"couplings: expected the result of effective_couplings(rbm); got {couplings!r:.80}."
        )
    n = len(couplings.states)
    order = couplings.units.shape[1]
    if order != 2 or len(couplings.units) != n * (n - 1) // 2:
        raise InputError(
            f"couplings: expected terms of order 2 for all {n * (n - 1) // 2} pairs; got"
            f" {len(couplings.units)} terms of order {order}; use effective_couplings(rbm)."
        )
    values = couplings.values
    if without is not None:
        values = np.delete(np.delete(values, without, axis=1), without, axis=2)
    norms = np.zeros((n, n))
    i, j = couplings.units.T
    norms[i, j] = norms[j, i] = couplings._replace(values=values).norms
    mean = norms.sum(0) / max(n - 1, 1)
    scores = norms - np.outer(mean, mean) / max(mean.mean(), np.finfo(float).tiny)
    np.fill_diagonal(scores, 0.0)
    return scores


def values_of_units(layer: AbstractLayer) -> Float[np.ndarray, "units most"]:
    """Return the values of each unit in the user's coding, in ascending order, padded with NaN.

    Raises:
        InputError: units are dependent, are not discrete, or have values that are not whole
            numbers.
    """
    if layer.n_states is None or not has_independent_units(layer):
        raise InputError(
            "rbm: expected independent visible units with few values each, such as Bernoulli, Ising"
            f" or Potts units; got {layer}."
        )
    values: list[list[int]] = [[] for _ in range(layer.n_units)]
    # The search is complete when the product of the units' numbers of values equals the layer's
    # number of states, up to rounding.
    log_states = math.log(layer.n_states) - 1e-6
    value = LOWEST_VALUE
    while value < MOST_VALUES and sum(math.log(max(len(own), 1)) for own in values) < log_states:
        inside = ~layer.coding.outside(np.full((1, layer.n_units), float(value)))[0]
        for unit in np.flatnonzero(inside):
            values[unit].append(value)
        value += 1
    if value == MOST_VALUES:
        raise InputError(f"rbm: expected units whose values are whole numbers; got {layer}.")
    most = max(map(len, values))
    return np.array([[*own, *[np.nan] * (most - len(own))] for own in values])


def _checked_terms(units: Sequence[Sequence[int]] | None, order: int, n: int) -> np.ndarray:
    if order > n:
        raise InputError(f"order: expected at most the {n} visible units; got {order}.")
    if units is None:
        return np.array(list(itertools.combinations(range(n), order)))
    terms = np.asarray(units)
    fits = terms.ndim == 2 and terms.shape[1] == order and terms.dtype.kind in "iu" and len(terms)
    if not fits or (terms < 0).any() or (terms >= n).any():
        raise InputError(
            f"units: expected tuples of {order} indices of visible units, from 0 to {n - 1};"
            f" got {units!r:.80}."
        )
    if (np.diff(np.sort(terms, axis=1), axis=1) == 0).any():
        raise InputError("units: expected distinct units in each term; got a repeated unit.")
    return terms


def _contributions(rbm: RBM, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the input to h from each visible unit, and its energy, in each of its states."""
    visible = rbm.visible
    weights = rbm.dense_weights
    contributions = []
    energies = []
    for column in np.where(np.isnan(states), states[:, :1], states).T:
        x = visible.encode(column)
        contributions.append(np.asarray(visible.fold((x[:, None] * weights).T).T))
        energies.append(np.asarray(visible.unit_energies(x)))
    return np.stack(contributions, axis=1), np.stack(energies, axis=1)


class _Inputs(NamedTuple):
    """The cases over which terms are averaged: quadrature nodes of normal inputs, or given rows.

    Attributes:
        totals: the inputs to h from all visible units in each case, shape (cases, hidden).
        parts: each unit's part of the inputs, shape (units, cases, hidden) or (units, 1, hidden).
        variance: variance of the normal inputs, shape (hidden,); zero for rows.
        variances: each unit's contribution to this variance, shape (units, hidden).
        nodes: each case's distance from the mean, in standard deviations, shape (cases,).
        weights: the weight of each case.
    """

    totals: Array | np.ndarray
    parts: Array | np.ndarray
    variance: Array | np.ndarray
    variances: Array | np.ndarray
    nodes: Array | np.ndarray
    weights: Array | np.ndarray


def _normal_inputs(contributions: np.ndarray, present: np.ndarray) -> _Inputs:
    p = (present / present.sum(1, keepdims=True))[:, :, None]
    mean = (p * contributions).sum(1)
    variances = (p * (contributions - mean[:, None]) ** 2).sum(1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return _Inputs(
        totals=np.broadcast_to(mean.sum(0), (NODES, mean.shape[1])),
        parts=mean[:, None],
        variance=variances.sum(0),
        variances=variances,
        nodes=nodes,
        weights=weights / weights.sum(),
    )


def _inputs_of_rows(
    rbm: RBM, around: Any, states: np.ndarray, contributions: np.ndarray
) -> _Inputs:
    dataset = Dataset.of(around).checked_for(rbm.visible)
    if dataset.missing:
        raise InputError("around: expected complete rows; got missing values.")
    rows = np.asarray(dataset.some(MOST_ROWS).rows(key=key_of(0)))
    matches = rows[:, :, None] == states
    if not matches.any(-1).all():
        row, unit = (int(k) for k in np.argwhere(~matches.any(-1))[0])
        raise InputError(
            "around: expected only values that the units can take; got"
            f" {rows[row, unit]:g} in column {unit}; binarise grey levels first."
        )
    place = matches.argmax(-1)
    parts = np.take_along_axis(contributions[None], place[:, :, None, None], axis=2)[:, :, 0]
    n_hidden = contributions.shape[2]
    return _Inputs(
        totals=parts.sum(1),
        parts=parts.transpose(1, 0, 2),
        variance=np.zeros(n_hidden),
        variances=np.zeros((len(states), n_hidden)),
        nodes=np.zeros(len(rows)),
        weights=np.full(len(rows), 1.0 / len(rows)),
    )


@compiled
def _values_of_terms(
    hidden: AbstractLayer,
    terms: Integer[Array, "terms order"],
    contributions: Float[Array, "units states hidden"],
    present: Array,
    inputs: _Inputs,
    negative_energies: Float[Array, "units states"],
) -> Array:
    """Return the terms of these tuples of units in the zero-sum gauge, shape (terms, q, …, q)."""
    order = terms.shape[1]
    q = contributions.shape[1]

    def on_axis(values: Array, axis: int) -> Array:
        """Reshape (terms, q, …) so that the q states lie along one of `order` axes for units."""
        shape = [len(terms), *[1] * order, *values.shape[2:]]
        shape[1 + axis] = q
        return values.reshape(shape)

    own = jnp.zeros((len(terms), *[1] * order, contributions.shape[2]), contributions.dtype)
    for axis in range(order):
        own += on_axis(contributions[terms[:, axis]], axis)
    deviation = jnp.sqrt(jnp.maximum(inputs.variance - inputs.variances[terms].sum(1), 0.0))

    def add_case(case: Array, total: Array) -> Array:
        column = jnp.minimum(case, inputs.parts.shape[1] - 1)
        others = inputs.totals[case] - inputs.parts[terms, column].sum(1)
        others = (others + inputs.nodes[case] * deviation).reshape(len(terms), *[1] * order, -1)
        difference = hidden.unit_cgfs(own + others) - hidden.unit_cgfs(others)
        return total + inputs.weights[case] * difference.sum(-1)

    start = jnp.zeros((len(terms), *[q] * order), contributions.dtype)
    if order == 1:
        start = negative_energies[terms[:, 0]]
    total = jax.lax.fori_loop(0, len(inputs.weights), add_case, start)
    for axis in range(order):
        is_state = on_axis(present[terms[:, axis]], axis)
        count = is_state.sum(axis + 1, keepdims=True)
        mean = (total * is_state).sum(axis + 1, keepdims=True) / count
        total = (total - mean) * is_state
    return total
