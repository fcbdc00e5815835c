"""What each change of a single unit does to log p(v): mutational effects."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..couplings import values_of_units
from ..errors import InputError
from ..rbm import RBM, checked_rbm

__all__ = ["single_changes"]


def single_changes(rbm: RBM, row: Any) -> Float[np.ndarray, "units states"]:
    """Return log p(v′) − log p(v) for every v′ that differs from a row in one unit.

    It is the model's score of each mutation, in nats: negative where the change makes the row less
    probable. It needs no log Z.

    Args:
        rbm: a model of independent discrete visible units.
        row: one row in the user's coding.

    Returns:
        One entry for each unit and each of its values in rising order; 0 at the row's own value,
        NaN where a unit has fewer values than others.

    Raises:
        InputError: a row that does not fit, or units of other kinds.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> changes = hm.single_changes(rbm, [1, 1, 0, 0])
        >>> changes.round(3).tolist()  # of each unit set to 0 and to 1; log 2 is 0.693
        [[-0.693, 0.0], [-0.693, 0.0], [0.0, 0.693], [0.0, 0.0]]
    """
    values = values_of_units(checked_rbm(rbm).visible)
    here = rbm.visible.validate(np.atleast_2d(row), "row")
    if len(here) != 1:
        raise InputError(f"row: expected one row; got {len(here)}.")
    found = np.full(values.shape, np.nan)
    for place, column in enumerate(values.T):
        known = ~np.isnan(column)
        others = np.repeat(here, len(column), axis=0).astype(float)
        others[np.arange(len(column)), np.arange(len(column))] = np.where(known, column, here[0])
        found[:, place] = np.where(known, _differences(rbm, here[0], others), np.nan)
    return found


def _differences(rbm: RBM, row: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.asarray(_log_odds(rbm, rbm.visible.encode(row), rbm.visible.encode(others)))


@eqx.filter_jit
def _log_odds(rbm: RBM, v: Array, others: Array) -> Array:
    """Return F(v) − F(v′), summed unit by unit, so that nothing large is subtracted."""
    visible = rbm.visible
    hidden = rbm.hidden
    dearer = visible.unit_energies(others) - visible.unit_energies(v)
    gained = hidden.unit_cgfs(rbm.inputs_to_h(others)) - hidden.unit_cgfs(rbm.inputs_to_h(v))
    return jnp.sum(gained, axis=-1) - jnp.sum(dearer, axis=-1)
