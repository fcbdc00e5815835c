r"""Effective couplings: the fields, pair and higher interactions that an RBM has summed up in W.

An RBM's log p(v) = −U(v) + Γ(vW) − log Z is a sum of terms of one unit, of pairs, of triples and so
on. In the zero-sum gauge this sum is unique: each term is zero if summed over the states of any of
its units. The term of the units i, j, … is what remains of log p if the other units are averaged
over and the terms of fewer units are subtracted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from ._numerics import from_numpy
from ._threefry import key_of
from .data import Dataset
from .data.parts import in_parts
from .errors import InputError, input_error
from .layers import AbstractLayer
from .layers.capabilities import has_independent_units
from .rbm import RBM, checked_rbm

__all__ = ["Couplings", "contact_scores", "effective_couplings"]

NODES = 8  # of the quadrature over a normal density
LOWEST_VALUE, MOST_VALUES = -128, 2**16
MOST_ROWS = 200


class Couplings(NamedTuple):
    """Terms of log p(v), each of one tuple of visible units.

    Attributes:
        units: the units of each term, shape (terms, order).
        values: their terms in nats, shape (terms, q, …, q) with an axis for each unit, in the order
            of `states`. 0 for states that a unit does not have.
        states: the values of each unit in the user's coding, shape (visible units, q); NaN where a
            unit has fewer. For spins −1 and +1, the coupling J of J·s·s′ is `values[:, 1, 1]`.

    Example:
        >>> rbm = hm.RBM(hm.Ising(3), hm.Gaussian(1), [[1.0], [2.0], [3.0]])
        >>> found = hm.effective_couplings(rbm)
        >>> found.states[0].tolist(), found.values[0].round(3).tolist()
        ([-1, 1], [[2.0, -2.0], [-2.0, 2.0]])
        >>> print(found.norms.round(3))
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
    r"""Return the terms of log p(v) of so many visible units each, in the zero-sum gauge.

    The terms of units i and j are

        J_ij(a, b) = Σ_μ ⟨Γ_μ(w_iμ(a) + w_jμ(b) + X_μ)⟩, minus its means over a and over b,

    where X is what all other visible units send to hidden unit μ. Usually their states count as
    equally likely, and X as normal, which is exact for Gaussian hidden units and for very many
    visible ones. With `around`, X is that of real rows: the terms as they act near the data. Of
    order 1, the terms are fields, and −U is a part of them.

    Args:
        rbm: a model of discrete visible units and hidden units that are independent given them.
        order: the number of units of a term: 1, 2 or 3.
        units: the terms of interest, each `order` different units; all if None.
        around: rows in the user's coding, at most 200 of which are used, or None. With all states
            of a model as rows, no more than those, the terms are exact.
        progress: is called with the fraction of the terms that is done.

    Raises:
        InputError: layers or terms that are not as expected.

    Example:
        >>> rbm = hm.RBM(hm.Ising(3), hm.Gaussian(1), [[1.0], [2.0], [3.0]])  # log p = (s·w)² / 2
        >>> found = hm.effective_couplings(rbm)
        >>> found.units.tolist()
        [[0, 1], [0, 2], [1, 2]]
        >>> print(found.values[:, 1, 1].round(3))  # J of J·s·s′
        [2. 3. 6.]

    Source: Cossu, Del Debbio, Giani, Khamseh & Wilson 2019; Decelle, Furtlehner, Navas Gómez &
    Seoane 2024 (normal X).
    """
    visible = checked_rbm(rbm).visible
    if order not in (1, 2, 3):
        raise input_error("order", "1, 2 or 3 units a term", f"{order!r}", "give one of them")
    states = values_of_units(visible)
    if not has_independent_units(rbm.hidden):
        expected = "hidden units that are independent given v"
        raise input_error(f"{rbm}", expected, f"{rbm.hidden}", "use Bernoulli or DReLU units")
    terms = _terms(units, order, visible.n_units)
    present = ~np.isnan(states)
    sent, own = _sent(rbm, states)
    if around is None:
        inputs = _normal_inputs(sent, present)
    else:
        inputs = _inputs_of_rows(rbm, around, states, sent)
    arrays = (from_numpy(sent), from_numpy(present), inputs, from_numpy(own))
    done = 0

    def values_of(some: Array, number: int) -> Array:
        nonlocal done
        done += len(some)
        if progress is not None:
            progress(min(1.0, done / len(terms)))
        return _terms_of(rbm.hidden, some, *arrays)

    width = rbm.hidden.size * states.shape[1] ** order
    return Couplings(terms, in_parts(values_of, terms, width), states)


def contact_scores(couplings: Couplings, *, without: int | None = None) -> Float[np.ndarray, "n n"]:
    """Return how strongly each pair of units is coupled: Frobenius norms, corrected by averages.

    S_ij = F_ij − F_i F_j / F, with the norm F_ij of the terms of a pair, its mean F_i over all
    other units and F over all pairs. The subtracted product is what a unit's variability alone
    would explain.

    Args:
        couplings: those of order 2 of all pairs.
        without: the place of a state that does not count, such as that of a gap.

    Returns:
        A symmetric matrix with zeros on the diagonal.

    Raises:
        InputError: couplings of another order, or not of all pairs.

    Example:
        >>> weights = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
        >>> rbm = hm.RBM(hm.Ising(4), hm.Gaussian(2), weights)
        >>> scores = hm.contact_scores(hm.effective_couplings(rbm))
        >>> (scores > 0.5).astype(int).tolist()  # 0 with 1, and 2 with 3
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]

    Source: Dunn, Wahl & Gloor 2008 (the correction); Ekeberg et al. 2013 (norms).
    """
    n, order = len(couplings.states), couplings.units.shape[1]
    if order != 2 or len(couplings.units) != n * (n - 1) // 2:
        found = f"{len(couplings.units)} terms of order {order}"
        raise input_error("couplings", "all pairs", found, "use effective_couplings(rbm)")
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
    """Return the values of each unit in the user's coding, in rising order; NaN pads.

    Raises:
        InputError: units that depend on one another, are not discrete, or have values that are no
            whole numbers.
    """
    if layer.n_states is None or not has_independent_units(layer):
        expected = "independent visible units of a few values, such as Bernoulli, Ising or Potts"
        raise input_error("rbm", expected, f"{layer}", "use a model of such units")
    kept: list[list[int]] = [[] for _ in range(layer.n_units)]
    wanted, value = math.log(layer.n_states) - 1e-6, LOWEST_VALUE
    while sum(math.log(max(len(some), 1)) for some in kept) < wanted and value < MOST_VALUES:
        inside = ~layer.coding.outside(np.full((1, layer.n_units), float(value)))[0]
        for unit in np.flatnonzero(inside):
            kept[unit].append(value)
        value += 1
    if value == MOST_VALUES:
        raise input_error("rbm", "units of whole numbers", f"{layer}", "use a model of such units")
    most = max(map(len, kept))
    return np.array([[*some, *[np.nan] * (most - len(some))] for some in kept])


def _terms(units: Sequence[Sequence[int]] | None, order: int, n: int) -> np.ndarray:
    if order > n:
        raise input_error("order", f"at most the {n} visible units", f"{order}", "lower it")
    if units is None:
        return np.array(list(itertools.combinations(range(n), order)))
    terms = np.asarray(units)
    fits = terms.ndim == 2 and terms.shape[1] == order and terms.dtype.kind in "iu" and len(terms)
    if not fits or (terms < 0).any() or (terms >= n).any():
        expected = f"rows of {order} numbers of visible units, from 0 to {n - 1}"
        raise input_error("units", expected, f"{units!r}"[:80], "give a list of tuples")
    if (np.diff(np.sort(terms, axis=1), axis=1) == 0).any():
        raise input_error("units", "different units in a term", "one unit twice", "leave it out")
    return terms


def _sent(rbm: RBM, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each unit sends to h in each of its states, and −U of each."""
    visible, weights = rbm.visible, rbm.dense_weights
    sent, own = [], []
    for column in np.where(np.isnan(states), states[:, :1], states).T:
        x = visible.encode(column)
        sent.append(np.asarray(visible.fold((x[:, None] * weights).T).T))
        own.append(-np.asarray(visible.unit_energies(x)))
    return np.stack(sent, axis=1), np.stack(own, axis=1)


class _Inputs(NamedTuple):
    """Typical inputs to h: `whole` for each case, and what each unit has given to it.

    Attributes:
        whole: shape (cases, hidden).
        part: shape (units, cases, hidden) or (units, 1, hidden).
        variance: of normal inputs, in all, shape (hidden,); zero for rows.
        parts: what each unit contributes to it, shape (units, hidden).
        nodes: in standard deviations, shape (cases,).
        shares: the weight of each case.
    """

    whole: Array
    part: Array
    variance: Array
    parts: Array
    nodes: Array
    shares: Array


def _normal_inputs(sent: np.ndarray, present: np.ndarray) -> _Inputs:
    share = (present / present.sum(1, keepdims=True))[:, :, None]
    mean = (share * sent).sum(1)
    variance = (share * (sent - mean[:, None]) ** 2).sum(1)
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    whole = np.broadcast_to(mean.sum(0), (NODES, mean.shape[1]))
    arrays = (whole, mean[:, None], variance.sum(0), variance, nodes, shares / shares.sum())
    return _Inputs(*(jnp.asarray(array, sent.dtype) for array in arrays))


def _inputs_of_rows(rbm: RBM, around: Any, states: np.ndarray, sent: np.ndarray) -> _Inputs:
    dataset = Dataset.of(around).checked_for(rbm.visible)
    if dataset.missing:
        raise InputError("around: expected complete rows; found missing values.")
    rows = np.asarray(dataset.some(MOST_ROWS).rows(key=key_of(0)))
    matches = rows[:, :, None] == states
    if not matches.any(-1).all():
        row, unit = (int(k) for k in np.argwhere(~matches.any(-1))[0])
        raise InputError(
            f"around: expected rows of states; found {rows[row, unit]:g} in column {unit}."
            " Draw grey levels as 0 or 1 first."
        )
    place = matches.argmax(-1)
    part = np.take_along_axis(sent[None], place[:, :, None, None], axis=2)[:, :, 0]
    flat = np.zeros(sent.shape[2])
    arrays = (
        part.sum(1),
        part.transpose(1, 0, 2),
        flat,
        np.zeros((len(states), sent.shape[2])),
        np.zeros(len(rows)),
        np.full(len(rows), 1.0 / len(rows)),
    )
    return _Inputs(*(jnp.asarray(array, sent.dtype) for array in arrays))


@eqx.filter_jit
def _terms_of(
    hidden: AbstractLayer,
    terms: Integer[Array, "terms order"],
    sent: Float[Array, "units states hidden"],
    present: Array,
    inputs: _Inputs,
    own: Float[Array, "units states"],
) -> Array:
    """Return the terms of these units."""
    order, q = terms.shape[1], sent.shape[1]
    several = jnp.zeros((len(terms), *[1] * order, sent.shape[2]), sent.dtype)
    for axis in range(order):
        shape = [len(terms), *[q if k == axis else 1 for k in range(order)], sent.shape[2]]
        several += sent[terms[:, axis]].reshape(shape)
    spread = jnp.sqrt(jnp.maximum(inputs.variance - inputs.parts[terms].sum(1), 0.0))

    def added(case: Array, total: Array) -> Array:
        each = jnp.minimum(case, inputs.part.shape[1] - 1)
        rest = inputs.whole[case] - inputs.part[terms, each].sum(1) + inputs.nodes[case] * spread
        here = rest.reshape(len(terms), *[1] * order, -1)
        gain = hidden.unit_cgfs(several + here) - hidden.unit_cgfs(here)
        return total + inputs.shares[case] * gain.sum(-1)

    start = jnp.zeros((len(terms), *[q] * order), sent.dtype)
    if order == 1:
        start = own[terms[:, 0]]
    total = jax.lax.fori_loop(0, len(inputs.shares), added, start)
    for axis in range(order):
        shape = [len(terms), *[q if k == axis else 1 for k in range(order)]]
        there = present[terms[:, axis]].reshape(shape)
        mean = (total * there).sum(axis + 1, keepdims=True) / there.sum(axis + 1, keepdims=True)
        total = (total - mean) * there
    return total
