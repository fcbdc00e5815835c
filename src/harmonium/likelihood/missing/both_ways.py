"""Free energies of rows with missing values, by annealing each row in both directions."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..._base.numerics import from_numpy
from ..._base.programs import compiled
from ..._base.sharding import clock, fetched
from ..._base.threefry import fold_in, split
from ...data.parts import in_parts, rows_at_once
from ...errors import NotFiniteError
from ...layers.capabilities import has_independent_units, sample_given
from ...rbm import RBM
from .agreement import RowEnergies, RowRuns, energies_from, resampled_chains
from .annealed import Ramp, log_z_uncoupled, mean_field_bounds, moved, seen_of

CHAINS = 64  # number of chains per row, in each direction
# Number of a row's reverse runs from each of three kinds of starts that forward chains may miss.
OF_A_KIND = 8
OTHERS = 3 * OF_A_KIND
FALLING_SWEEPS = 8  # enough sweeps to reach a mode of the whole model
FIRST_STEPS = 32  # steps of the first run, and of the short run along the other path
ROUNDS = (FIRST_STEPS, *(FIRST_STEPS * 2**k for k in range(6)))  # steps of each round
FEWEST_ROWS = 8  # smallest number of rows that are annealed at once
ENOUGH_ROWS = 32  # number of rows that are annealed at least once, whatever the time limit
FIRST_SHARE = 0.4  # fraction of the time after which no further row is annealed for the first time
SECONDS = 60.0  # time limit after which no row is annealed again with more steps
STEPS_AT_ONCE = 64  # steps per dispatch; few, so that a long run can be interrupted


def energies_of_rows(
    rbm: RBM, rows: Any, *, key: PRNGKeyArray, seconds: float = SECONDS
) -> RowEnergies:
    """Return estimates of F(v_seen) for rows in the user's coding, with NaN for missing values.

    Forward chains start with independent units. The final states of a row's forward chains are
    resampled by weight, run for a burn-in of a quarter as many sweeps, and annealed in reverse.
    Three in eight reverse chains start instead from states that forward chains may not have found:
    final states of a short run along the other path, states with missing values taken from other
    rows, and states in modes of the whole model.

    In the first run, the independent units have the mean-field inputs of their row. Rows that have
    not converged are annealed again along the path that starts without inputs, and then along the
    path that dissipated less work, with twice as many steps each time, until the time limit. If
    there is not enough time to anneal all rows once, a random sample of rows is annealed. The other
    rows are assigned the mean-field bound of F(v_seen) minus the mean difference between bound and
    estimate of the annealed rows.

    Args:
        rbm: the model.
        rows: shape (n, units), each with a missing value.
        key: a JAX random key.
        seconds: time after which no row is annealed again; the first runs take at most a part of
            it, but a few rows are always annealed.

    Raises:
        NotFiniteError: annealing weights are not finite, because parameters are far too large.

    Source: Neal 2001; Bennett 1976.
    """
    rows = np.asarray(rows)
    most = min(rows_at_once(CHAINS * rbm.widest), 1 << max(4, (len(rows) - 1).bit_length()))
    began = clock()
    pace = np.inf
    energies = RowEnergies.exact(np.zeros(len(rows)))
    remaining = _order(len(rows), key)
    is_annealed = np.zeros(len(rows), bool)
    whole = np.zeros(len(rows))
    lost = np.full((2, len(rows)), np.inf)  # dissipated work along each of the two paths
    for number, steps in enumerate(ROUNDS):
        size = _batch_size(len(remaining), most)
        if number == 1:
            whole[remaining] = 1.0
        elif number:
            whole[remaining] = lost[:, remaining].argmin(0)
        for part, first in enumerate(range(0, len(remaining), size)):
            which = remaining[first : first + size]
            spent = clock() - began
            if number and spent + pace * steps > seconds:
                return _with_rest(rbm, rows, energies, is_annealed)
            is_late = spent > FIRST_SHARE * seconds and is_annealed.sum() >= ENOUGH_ROWS
            if is_late and not number:
                break
            started = clock()
            padded = np.resize(which, size)
            key_part = fold_in(fold_in(key, number), part)
            runs = _runs_of_rows(rbm, rows, padded, whole[padded], steps, key=key_part)
            pace = min(pace, (clock() - started) / steps)  # the first run included compilation
            runs = RowRuns(*(array[:, : len(which)] for array in runs))
            energies.put(which, energies_from(runs))
            lost[whole[which].astype(int), which] = runs.lost
            is_annealed[which] = True
        remaining = np.flatnonzero(is_annealed & ~energies.converged)
        if not len(remaining):
            break
    return _with_rest(rbm, rows, energies, is_annealed)


def _order(count: int, key: PRNGKeyArray) -> np.ndarray:
    """Return the indices of rows, in random order if there may not be time to anneal all rows."""
    if count <= ENOUGH_ROWS:
        return np.arange(count)
    seed = np.asarray(jax.random.key_data(key)).ravel()
    return np.random.default_rng(seed).permutation(count)


def _with_rest(
    rbm: RBM, rows: np.ndarray, energies: RowEnergies, is_annealed: np.ndarray
) -> RowEnergies:
    """Return the free energies of all rows, from bounds for rows that were not annealed."""
    if is_annealed.all():
        return energies
    return energies.with_rest(is_annealed, bounds_of_rows(rbm, rows).astype(np.float64))


def bounds_of_rows(rbm: RBM, rows: np.ndarray) -> np.ndarray:
    """Return the mean-field upper bound of F(v_seen) of rows in the user's coding, in nats."""
    return in_parts(lambda part, _: _bounds(rbm, part), rows, rbm.widest)


@compiled
def _bounds(rbm: RBM, rows: Array) -> Array:
    return mean_field_bounds(rbm, rbm.visible.encode_seen(rows))


def _batch_size(count: int, most: int) -> int:
    """Return the number of rows to anneal at once: the smallest of a few sizes that is sufficient.

    A program is compiled for each size, and padding rows take as long as real rows.
    """
    size = most
    while size // 4 >= max(count, FEWEST_ROWS):
        size //= 4
    return size


def _runs_of_rows(
    rbm: RBM,
    rows: np.ndarray,
    which: np.ndarray,
    whole: np.ndarray,
    steps: int,
    *,
    key: PRNGKeyArray,
) -> RowRuns:
    """Anneal the selected rows in both directions with this number of steps."""
    key_up, key_down, key_start, key_other, key_host = split(key, 5)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_host)).ravel())
    own = from_numpy(rows[which])
    dtype = rbm.visible.dtype
    path = from_numpy(whole.astype(dtype))
    other_path = from_numpy(1 - whole.astype(dtype))
    donated = from_numpy(_donated(rbm, rows, which, rng))
    starts = _starts(rbm, own, donated, path, key=key_start)
    # A short run along the other path, whose final states also serve as starts.
    along_other = Ramp(0, 1, FIRST_STEPS, other_path)
    aside, log_weights = _annealed(
        rbm, own, starts.chains, along_other, FIRST_STEPS + 1, key=key_other
    )
    few = resampled_chains(log_weights, OF_A_KIND, rng.random(len(which)))
    up, forward = _annealed(rbm, own, starts.chains, Ramp(0, 1, steps, path), steps + 1, key=key_up)
    parents = resampled_chains(forward, CHAINS - OTHERS, rng.random(len(which)))
    places = (from_numpy(array.astype(np.int32)) for array in (parents, few))
    again = _starts_back(up, aside, starts.fallen, *places)
    burn_in = max(1, steps // 4)
    down = Ramp(steps + burn_in, -1, steps, path)
    _, back = _annealed(rbm, own, again, down, steps + burn_in + 1, key=key_down)
    known = fetched(starts.log_z).astype(np.float64)
    if not (np.isfinite(forward).all() and np.isfinite(back).all() and np.isfinite(known).all()):
        raise NotFiniteError("F(v_seen): annealing weights are not finite; the model diverged.")
    back = back - known
    return RowRuns(forward + known, back[:-OTHERS], parents, back[-OTHERS:])


def _donated(rbm: RBM, rows: np.ndarray, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows with missing values copied from other rows, shape (OF_A_KIND, n, units).

    Values stay NaN if the other row lacks them too, or if units are dependent, because the values
    of two rows might be incompatible.
    """
    own = np.broadcast_to(rows[which], (OF_A_KIND, len(which), rows.shape[1]))
    if not has_independent_units(rbm.visible):
        return np.array(own)
    donors = rng.integers(len(rows), size=own.shape[:2])
    return np.where(np.isnan(own), rows[donors], own)


class _Starts(NamedTuple):
    """The starting states of the chains of each row.

    Attributes:
        chains: starts of an upward ramp, shape (CHAINS, n, visible).
        fallen: starts independent of the seen values, shape (2 OF_A_KIND, n, visible).
        log_z: log Z of the row at t = 0, shape (n,).
    """

    chains: Array
    fallen: Array
    log_z: Array


@compiled
def _starts(rbm: RBM, rows: Array, donated: Array, whole: Array, *, key: PRNGKeyArray) -> _Starts:
    """Return the starting states of the chains.

    In the first half of the starts that are independent of the seen values, the missing values are
    copied from other rows (`donated`). The second half are in modes of the whole model: hidden
    states are drawn from the neutral layer and run for a few sweeps with no unit held fixed. Then
    the missing units are drawn given the hidden units.
    """
    visible = rbm.visible
    hidden = rbm.hidden
    key_rest, key_h, key_v = split(key, 3)
    seen = seen_of(rbm, visible.encode_seen(rows))
    held = seen_of(rbm, visible.encode_seen(donated))
    nothing = jnp.zeros_like(held.values)
    filled = sample_given(visible, nothing, held.known, held.values, key=key_rest)
    h = hidden.base().sample_without_inputs((len(donated), len(rows)), key=key_h)

    def sweep(i: Array, h: Array) -> Array:
        key_x, key_next = split(fold_in(key_v, i))
        x = rbm.sample_v_from_h(h, key=key_x)
        return rbm.sample_h_from_v(x, key=key_next)

    h = jax.lax.fori_loop(0, FALLING_SWEEPS, sweep, h)
    x = sample_given(visible, rbm.inputs_to_v(h), seen.known, seen.values, key=key_v)
    x = jnp.where(jnp.isfinite(x), x, seen.values)  # units that only seen units confine may diverge
    chains = jnp.broadcast_to(seen.values, (CHAINS, *seen.values.shape))
    return _Starts(chains, jnp.concatenate([filled, x]), log_z_uncoupled(rbm, seen, whole))


@compiled
def _starts_back(up: Array, aside: Array, fallen: Array, parents: Array, few: Array) -> Array:
    """Return the starts of the reverse runs: resampled final states, then the other starts."""
    rows = jnp.arange(up.shape[1])
    return jnp.concatenate([up[parents, rows], aside[few, rows], fallen])


def _annealed(
    rbm: RBM, rows: Array, x: Array, ramp: Ramp, end: int, *, key: PRNGKeyArray
) -> tuple[Array, np.ndarray]:
    """Run all chains through a ramp, a few steps at a time; return their states and log weights."""
    log_weights = np.zeros(x.shape[:2])
    numbers = from_numpy(np.array(ramp[:3], np.int32))
    whole = jnp.asarray(ramp.whole)
    for first in range(0, end, STEPS_AT_ONCE):
        places = np.array([first, min(first + STEPS_AT_ONCE, end)], np.int32)
        x, gain = _steps_of_ramp(rbm, rows, x, numbers, whole, from_numpy(places), key=key)
        log_weights += fetched(gain).astype(np.float64)
    return x, log_weights


@compiled
def _steps_of_ramp(
    rbm: RBM, rows: Array, x: Array, numbers: Array, whole: Array, places: Array, *, key: Any
) -> tuple[Array, Array]:
    seen = seen_of(rbm, rbm.visible.encode_seen(rows))
    nothing = jnp.zeros(x.shape[:2], x.dtype)
    ramp = Ramp(numbers[0], numbers[1], numbers[2], whole)
    return moved(rbm, seen, ramp, (places[0], places[1]), x, nothing, key=key)
