"""Free energies of complete and incomplete rows, by exact sums if feasible, else by annealing."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array

from ..._base.programs import compiled
from ..._base.threefry import fold_in
from ...data.parts import in_parts
from ...errors import InputError
from ...layers import AbstractLayer
from ...layers.capabilities import given_units, is_conditional
from ...rbm import RBM
from ...transforms.precision import in_float64
from ..partition_function.by_length import check_lengths_known
from .agreement import RowEnergies
from .both_ways import SECONDS, energies_of_rows
from .marginal import SLOW_SUMS, TermSum, cheapest_sum


def energies_of_seen(
    rbm: RBM, rows: np.ndarray, *, key: Any = None, seconds: float = SECONDS
) -> RowEnergies:
    """Return the free energies of rows in which NaN marks missing values.

    For a conditional model of targets y given the units u, the result is −log p(y_seen | u) =
    F(u, y_seen) − F(u) instead.

    The free energies of complete rows, and of rows whose missing units can be summed over, are
    computed in float64 and do not depend on the other rows. The other rows are annealed.

    Args:
        rbm: the model.
        rows: rows in the user's coding, within the layer's domain, shape (n, units).
        key: a JAX random key, for rows that are annealed.
        seconds: time limit after which no row is annealed again.

    Raises:
        InputError: a key is needed but missing, or the model takes the lengths of rows as given.
    """
    energies = _energies(rbm, rows, key=key, seconds=seconds)
    if not is_conditional(rbm.visible):
        return energies
    distinct, place = np.unique(rows_of_given(rbm.visible, rows), axis=0, return_inverse=True)
    if key is not None:
        key = fold_in(key, 1)
    of_given = _energies(rbm, distinct, key=key, seconds=seconds)
    return energies.minus(RowEnergies(*(array[place.ravel()] for array in of_given)))


def rows_of_given(layer: AbstractLayer, rows: np.ndarray) -> np.ndarray:
    """Return rows in the user's coding with NaN in place of every target."""
    return np.where(given_units(layer)[: layer.n_observed], rows, np.nan)


def _energies(rbm: RBM, rows: np.ndarray, *, key: Any, seconds: float) -> RowEnergies:
    """Return F(v_seen) of each row, whether or not some of the units are given."""
    counts = rbm.visible.coding.missing(rows).sum(1)
    check_lengths_known(rbm, int(counts.max()))
    summable = [
        n for n in np.unique(counts[counts > 0]) if cheapest_sum(rbm, int(n), SLOW_SUMS) is not None
    ]
    is_summed = np.isin(counts, summable)
    is_annealed = (counts > 0) & ~is_summed
    value = np.zeros(len(rows))
    with in_float64(rbm) as model:
        if not counts.all():
            value[counts == 0] = in_parts(
                lambda part, _: _free_energy(model, part), rows[counts == 0], rbm.widest, np.float64
            )
        if is_summed.any():
            terms = cheapest_sum(rbm, int(counts[is_summed].max()), SLOW_SUMS)
            assert terms is not None
            value[is_summed] = in_parts(
                lambda part, _: _free_energy_of_seen(model, part, terms),
                rows[is_summed],
                terms.entries(rbm),
                np.float64,
            )
    energies = RowEnergies.exact(value)
    if not is_annealed.any():
        return energies
    if key is None:
        raise InputError(
            f"data: expected at most {SLOW_SUMS.hidden:,} hidden states or"
            f" {SLOW_SUMS.completions:,} completions to sum over for a row with missing values; got"
            f" more ({rbm}; most missing units in a row: {counts.max()}); pass key= for an"
            " estimate."
        )
    energies.put(is_annealed, energies_of_rows(rbm, rows[is_annealed], key=key, seconds=seconds))
    return energies


@compiled
def _free_energy_of_seen(rbm: RBM, rows: Array, terms: TermSum) -> Array:
    return -terms.posterior(rbm, rbm.visible.encode_seen(rows)).log_z_seen


@compiled
def _free_energy(rbm: RBM, rows: Array) -> Array:
    return rbm.free_energy(rbm.visible.encode(rows))
