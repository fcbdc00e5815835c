"""Mutational effects: the change in log p(v) for each change of a single unit."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.programs import compiled
from ..errors import InputError
from ..rbm import RBM, checked_rbm
from .couplings import values_of_units

__all__ = ["single_changes"]


def single_changes(rbm: RBM, row: Any) -> Float[np.ndarray, "units states"]:
    """Return log p(v′) − log p(v) for every v′ that differs from a row in one unit.

    This is the model's score of each mutation, in nats: negative if the change makes the row less
    probable. It does not require log Z.

    Args:
        rbm: a model with independent discrete visible units.
        row: one row in the user's coding.

    Returns:
        An array with a row for each unit and a column for each of its values, in ascending order.
        Entries for the row's own values are 0; units with fewer values than others are padded with
        NaN.

    Raises:
        InputError: the row does not match the model, or the units are not independent and discrete.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> changes = hm.analysis.single_changes(rbm, [1, 1, 0, 0])
        >>> changes.round(3).tolist()  # of each unit set to 0 and to 1; log 2 is 0.693
        [[-0.693, 0.0], [-0.693, 0.0], [0.0, 0.693], [0.0, 0.0]]
    """
    values = values_of_units(checked_rbm(rbm).visible)
    rows = rbm.visible.validate(np.atleast_2d(row), "row")
    if len(rows) != 1:
        raise InputError(f"row: expected one row; got {len(rows)}.")
    changes = np.full(values.shape, np.nan)
    v = rbm.visible.encode(rows[0])
    units = np.arange(len(values))
    for place, column in enumerate(values.T):
        is_value = ~np.isnan(column)
        mutants = np.repeat(rows, len(units), axis=0).astype(float)
        mutants[units, units] = np.where(is_value, column, rows[0])
        log_odds = np.asarray(_log_odds(rbm, v, rbm.visible.encode(mutants)))
        changes[:, place] = np.where(is_value, log_odds, np.nan)
    return changes


@compiled
def _log_odds(rbm: RBM, v: Array, others: Array) -> Array:
    """Return F(v) − F(v′), summed over differences of single units to avoid cancellation."""
    visible = rbm.visible
    hidden = rbm.hidden
    energies = visible.unit_energies(others) - visible.unit_energies(v)
    cgfs = hidden.unit_cgfs(rbm.inputs_to_h(others)) - hidden.unit_cgfs(rbm.inputs_to_h(v))
    return jnp.sum(cgfs, axis=-1) - jnp.sum(energies, axis=-1)
