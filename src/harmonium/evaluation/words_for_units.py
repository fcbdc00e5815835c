"""Hidden units in words: what a table's columns are like where a unit is on."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..rbm import RBM
from ..tables import Columns
from ..tables.base import AbstractPart
from ..tables.discrete import Discrete

__all__ = ["UnitInWords", "hidden_in_words"]

MOST_NAMED = 8  # states of numbers: of more, only whether the number is high or low is said
LEAST_CHANGE = 0.1  # of a probability, or of half a standard deviation, that is worth a word


class UnitInWords(NamedTuple):
    """What goes with a hidden unit being on, the strongest changes first.

    Attributes:
        unit: the number of the unit.
        words: such as "sex female", "fare high", a phrase for each column that changes.
        changes: how much: the probability that moves to other states, or the change of a real
            number's mean in half standard deviations, at most 1.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), [[3.0], [-2.0]])
        >>> found = hm.hidden_in_words(rbm, columns)[0]
        >>> found.unit, np.round(found.changes, 3).tolist()  # σ(3) − ½, ½ − σ(−2)
        (0, [0.453, 0.381])
    """

    unit: int
    words: list[str]
    changes: list[float]


def hidden_in_words(rbm: RBM, columns: Columns, most: int = 4) -> list[UnitInWords]:
    """Return what each hidden unit says about the columns, the units with most to say first.

    The visible means with the unit at its highest value are compared with those at its lowest, all
    other hidden units being at their means.

    Args:
        rbm: a model of the columns.
        columns: what they mean.
        most: how many columns to name for a unit.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), [[3.0], [-2.0]])
        >>> hm.hidden_in_words(rbm, columns)[0].words
        ['pet dog', 'fur long']
    """
    off, on, spread = (np.asarray(each, float) for each in _means(rbm))
    before, after = columns.pieces(off), columns.pieces(on)
    scales = columns.pieces(np.broadcast_to(spread, off.shape))
    phrases: list[list[tuple[float, str]]] = [[] for _ in range(len(off))]
    for column, low, high, scale in zip(columns.modelled, before, after, scales, strict=True):
        names = column.state_names()
        for unit, moved in enumerate(high - low):
            if column.states is None:
                size = min(1.0, float(2.0 * abs(moved[0]) / scale[unit, 0]))
                said = "high" if moved[0] > 0 else "low"
            elif column.states > MOST_NAMED and column.kind == Discrete.kind:
                size, said = _shift(column, low[unit], high[unit])
            elif column.states == 2:
                size, said = float(abs(moved[0])), names[int(moved[0] > 0)]
            else:
                size = float(abs(moved).sum() / 2.0)
                risen = np.flatnonzero(moved > max(moved.max() / 2.0, 0.0))
                said = " or ".join(names[state] for state in risen[:3])
            phrases[unit].append((size, f"{column.name} {said}"))
    found = []
    for unit, each in enumerate(phrases):
        chosen = [part for part in sorted(each, reverse=True)[:most] if part[0] >= LEAST_CHANGE]
        found.append(UnitInWords(unit, [said for _, said in chosen], [size for size, _ in chosen]))
    return sorted(found, key=lambda unit: -sum(unit.changes))


def _shift(column: AbstractPart, low: np.ndarray, high: np.ndarray) -> tuple[float, str]:
    """Return how far the mean of many numbers moves, in half standard deviations, and where to."""
    values, usual = column.best(np.eye(len(low))), (low + high) / 2.0
    spread = np.sqrt(max(usual @ values**2 - (usual @ values) ** 2, 0.0))
    moved = float((high - low) @ values)
    size = min(1.0, 2.0 * abs(moved) / float(spread)) if spread > 0 else 0.0
    return size, "high" if moved > 0 else "low"


@eqx.filter_jit
def _means(rbm: RBM) -> tuple[Array, Array, Array]:
    """Return the visible means with each hidden column at its lowest and highest value.

    Also the visible standard deviations. An unbounded unit goes one standard deviation to each
    side.
    """
    hidden, visible = rbm.hidden, rbm.visible
    usual = rbm.mean_h_from_v(visible.mean(visible.zero_inputs))
    spread = jnp.sqrt(hidden.variance(hidden.zero_inputs))
    low, high = (jnp.asarray(end, hidden.dtype) for end in hidden.coding.support)
    ends = (
        jnp.where(jnp.isfinite(low), low, usual - spread),
        jnp.where(jnp.isfinite(high), high, usual + spread),
    )
    eye = jnp.eye(hidden.size, dtype=bool)
    off, on = (rbm.mean_v_from_h(jnp.where(eye, end, usual)) for end in ends)
    return off, on, jnp.sqrt(visible.variance(visible.zero_inputs))
