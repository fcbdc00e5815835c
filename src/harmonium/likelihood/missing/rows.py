"""Free energies of rows, complete or not: each row by what its own missing values need."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float

from ...data.parts import in_parts
from ...errors import InputError
from ...rbm import RBM
from ...transforms.precision import in_float64
from .both_ways import SECONDS, energies_of_rows
from .marginal import SLOW_SUMS, entries_of_sum, posterior, way_to_sum, with_missing

SMALL_ERROR = 0.1  # nats of a mean over rows: rows that have not converged may matter so little


class RowEnergies(NamedTuple):
    """F(v_seen) of rows with 95 % intervals, nats; each entry has the shape (n,).

    Attributes:
        value: the free energies.
        half_width: half the interval of a row that has converged; 0 where the sum is exact.
        gap: how far forward and reverse estimates lie apart, with its sign.
        low: lower end of each row's interval.
        high: its upper end.
        converged: whether the interval can be relied on to be narrow.
        annealed: which rows are estimates.
    """

    value: Float[np.ndarray, " n"]
    half_width: Float[np.ndarray, " n"]
    gap: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    converged: Bool[np.ndarray, " n"]
    annealed: Bool[np.ndarray, " n"]

    def reach_of_mean(self, share: Float[np.ndarray, " n"]) -> tuple[float, float]:
        """Return how far the mean of F may lie below and above that of the values, nats.

        Errors of rows that have converged are independent, except for what both directions differ
        by on average: Bennett's ratio lies between them. A row that has not converged may err as
        far as its interval says, and others may do so in the same direction.

        Args:
            share: the weights of the rows, which sum to 1.
        """
        sure = np.where(self.converged, share, 0.0)
        doubtful = share - sure
        common = abs(float(sure @ self.gap)) / 2.0
        within = float(np.sqrt(np.sum((sure * self.half_width) ** 2))) + common
        below = self.value - self.low
        above = self.high - self.value
        return within + float(doubtful @ below), within + float(doubtful @ above)

    def is_mean_known(self, share: Float[np.ndarray, " n"]) -> bool:
        """Return whether all rows have converged, or the others hardly matter for the mean."""
        return bool(self.converged.all()) or max(self.reach_of_mean(share)) < SMALL_ERROR


def energies_of_seen(
    rbm: RBM, rows: np.ndarray, *, key: Any = None, seconds: float = SECONDS
) -> RowEnergies:
    """Return F of rows that lie in the domain, NaN where a value is missing.

    Complete rows, and rows whose missing units can be summed over, are computed in float64. The
    others are annealed. So a row's answer does not depend on what the rows beside it need.

    Args:
        rbm: the model.
        rows: in the user's coding, shape (n, units).
        key: a JAX random key, for rows that are annealed.
        seconds: time after which no row is annealed again.

    Raises:
        InputError: no key where one is needed.
    """
    counts = np.isnan(rows).sum(1)
    ways = {int(n): way_to_sum(rbm, int(n), SLOW_SUMS)[0] for n in np.unique(counts) if n}
    annealed = np.array([n > 0 and ways[int(n)] is None for n in counts])
    summed = (counts > 0) & ~annealed
    value = np.zeros(len(rows))
    with in_float64(rbm) as model:
        if not counts.all():
            some = rows[counts == 0]
            value[counts == 0] = in_parts(
                lambda part, _: _free_energy(model, part), some, rbm.widest, np.float64
            )
        if summed.any():
            most = int(counts[summed].max())
            width = max(rbm.widest, entries_of_sum(rbm, most, SLOW_SUMS))
            value[summed] = in_parts(
                lambda part, _: _free_energy_of_seen(model, part, most),
                rows[summed],
                width,
                np.float64,
            )
    nothing = np.zeros(len(rows))
    exact = np.ones(len(rows), bool)
    found = RowEnergies(value, nothing, nothing.copy(), value, value, exact, annealed)
    if not annealed.any():
        return found
    if key is None:
        raise InputError(
            f"data: rows with missing values need at most {SLOW_SUMS.hidden:,} hidden states or"
            f" {SLOW_SUMS.completions:,} completions of a row to sum over; {rbm} with"
            f" {counts.max()} missing units has more. Pass key= for an estimate."
        )
    log_z = energies_of_rows(rbm, rows[annealed], key=key, seconds=seconds)
    found = RowEnergies(*(np.array(each) for each in found))
    found.value[annealed] = -log_z.value
    found.half_width[annealed] = log_z.half_width
    found.gap[annealed] = log_z.gap
    found.low[annealed] = -log_z.high
    found.high[annealed] = -log_z.low
    found.converged[annealed] = log_z.converged
    return found


@eqx.filter_jit
def _free_energy_of_seen(rbm: RBM, rows: Array, missing: int) -> Array:
    found = posterior(rbm, with_missing(rbm.visible, rows), missing, SLOW_SUMS)
    assert found is not None
    return -found.log_z_seen


@eqx.filter_jit
def _free_energy(rbm: RBM, rows: Array) -> Array:
    return rbm.free_energy(rbm.visible.encode(rows))
