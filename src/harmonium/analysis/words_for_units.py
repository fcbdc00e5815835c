"""Hidden units in words: how the columns of a table change when a unit is on."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._base.programs import compiled
from ..rbm import RBM
from ..tables import Columns
from ..tables.base import AbstractPart
from ..tables.discrete import Discrete

__all__ = ["UnitInWords", "hidden_in_words"]

MOST_NAMED = 8  # a change in a numeric column of more states than this is called high or low
LEAST_CHANGE = 0.1  # smallest change that is named, in the units of `UnitInWords.changes`


class UnitInWords(NamedTuple):
    """The changes in a table's columns when a hidden unit is on, the largest first.

    Attributes:
        unit: the index of the unit.
        words: a phrase for each column that changes, such as "sex female", "fare high".
        changes: the size of each change: the probability that moves to other states, or, for a
            column of numbers, twice the change of its mean in standard deviations, at most 1.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), [[3.0], [-2.0]])
        >>> unit = hm.analysis.hidden_in_words(rbm, columns)[0]
        >>> unit.unit, np.round(unit.changes, 3).tolist()  # σ(3) − ½, ½ − σ(−2)
        (0, [0.453, 0.381])
    """

    unit: int
    words: list[str]
    changes: list[float]


def hidden_in_words(rbm: RBM, columns: Columns, most: int = 4) -> list[UnitInWords]:
    """Describe how each hidden unit changes the columns; units that change them most come first.

    The visible means with the unit at its highest value are compared with the visible means with
    the unit at its lowest value, while all other hidden units are at their means.

    Args:
        rbm: a model of the columns.
        columns: the columns of the table.
        most: the largest number of columns to name for a unit.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), [[3.0], [-2.0]])
        >>> hm.analysis.hidden_in_words(rbm, columns)[0].words
        ['pet dog', 'fur long']
    """
    off, on, deviations = (np.asarray(array, float) for array in _means(rbm))
    means_off = columns.pieces(off)
    means_on = columns.pieces(on)
    scales = columns.pieces(np.broadcast_to(deviations, off.shape))
    changes: list[list[_Change]] = [[] for _ in range(len(off))]
    for column, low, high, scale in zip(columns.modelled, means_off, means_on, scales, strict=True):
        for unit in range(len(off)):
            changes[unit].append(_change(column, low[unit], high[unit], scale[unit]))
    units = []
    for unit, of_unit in enumerate(changes):
        named = [change for change in sorted(of_unit, reverse=True) if change.size >= LEAST_CHANGE]
        words = [change.words for change in named[:most]]
        units.append(UnitInWords(unit, words, [change.size for change in named[:most]]))
    return sorted(units, key=lambda unit: -sum(unit.changes))


class _Change(NamedTuple):
    """The size and the description of a column's change when a hidden unit is on."""

    size: float
    words: str


def _change(
    column: AbstractPart, low: np.ndarray, high: np.ndarray, deviation: np.ndarray
) -> _Change:
    """Describe how a column's means change from `low` (unit off) to `high` (unit on)."""
    difference = high - low
    if column.states is None:
        size = float(2.0 * abs(difference[0]) / deviation[0])
        return _shift(column, float(difference[0]), size)
    if column.states > MOST_NAMED and column.kind == Discrete.kind:
        values = column.best(np.eye(len(low)))
        p = (low + high) / 2.0
        spread = float(np.sqrt(max(p @ values**2 - (p @ values) ** 2, 0.0)))
        shift = float(difference @ values)
        size = 0.0
        if spread > 0:
            size = 2.0 * abs(shift) / spread
        return _shift(column, shift, size)
    names = column.state_names()
    if column.states == 2:
        return _Change(float(abs(difference[0])), f"{column.name} {names[int(difference[0] > 0)]}")
    risen = np.flatnonzero(difference > max(difference.max() / 2.0, 0.0))
    words = " or ".join(names[state] for state in risen[:3])
    return _Change(float(abs(difference).sum() / 2.0), f"{column.name} {words}")


def _shift(column: AbstractPart, shift: float, size: float) -> _Change:
    direction = "high" if shift > 0 else "low"
    return _Change(min(1.0, size), f"{column.name} {direction}")


@compiled
def _means(rbm: RBM) -> tuple[Array, Array, Array]:
    """Return the visible means with each column of h, in turn, at its lowest and highest value.

    The visible standard deviations are also returned. An unbounded unit is set to one standard
    deviation below and above its mean.
    """
    hidden = rbm.hidden
    visible = rbm.visible
    mean = rbm.mean_h_from_v(visible.mean(visible.zero_inputs))
    deviation = jnp.sqrt(hidden.variance(hidden.zero_inputs))
    low, high = (jnp.asarray(end, hidden.dtype) for end in hidden.coding.support)
    low = jnp.where(jnp.isfinite(low), low, mean - deviation)
    high = jnp.where(jnp.isfinite(high), high, mean + deviation)
    eye = jnp.eye(hidden.size, dtype=bool)
    off = rbm.mean_v_from_h(jnp.where(eye, low, mean))
    on = rbm.mean_v_from_h(jnp.where(eye, high, mean))
    return off, on, jnp.sqrt(visible.variance(visible.zero_inputs))
