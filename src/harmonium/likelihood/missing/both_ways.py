"""Free energies of rows with missing values by annealing in both directions, row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..._base.numerics import from_numpy
from ..._base.sharding import clock, fetched
from ...data.parts import rows_at_once
from ...errors import NotFiniteError
from ...layers.capabilities import has_independent_units, sample_given
from ...rbm import RBM
from .agreement import RowEstimates, RowRuns, estimates, resampled_chains
from .annealed import Ramp, log_z_uncoupled, moved, seen_of
from .marginal import with_missing

CHAINS = 64  # of a row, forward and in reverse
# starts of reverse runs of each of the three other kinds
DONATED = 8
FALLING_SWEEPS = 8
OTHERS = 3 * DONATED  # of the reverse runs
FIRST_STEPS = 32
ROUNDS = (FIRST_STEPS, *(FIRST_STEPS * 2**k for k in range(6)))  # steps, up to 1,024
FEWEST_ROWS = 8  # at once
SECONDS = 60.0  # after which no row is annealed with more steps
STEPS_AT_ONCE = 64  # of a dispatch, so that a long run can be interrupted


def energies_of_rows(
    rbm: RBM, rows: Any, *, key: PRNGKeyArray, seconds: float = SECONDS
) -> RowEstimates:
    """Return estimates of −F(v_seen) for rows in the user's coding, NaN where missing.

    Forward chains begin with independent missing units. Their final states, resampled within each
    row by their weights, burn in for a quarter as many sweeps and are annealed back. So are others,
    three of eight, whose starts the forward chains need not have found: final states of a short run
    along the other path, missing values taken from other rows, and modes of the whole model.

    The first run lets hidden units follow the seen units from the start. Rows that have not
    converged are annealed along the path on which all weights grow, then along that which lost less
    work, with twice the steps each time, while there is time.

    Args:
        rbm: the model.
        rows: shape (n, units), each with a missing value.
        key: a JAX random key.
        seconds: time after which no row is annealed again.

    Raises:
        NotFiniteError: annealing weights are not finite, because parameters are far too large.

    Source: Neal 2001; Bennett 1976.
    """
    rows = np.asarray(rows)
    most = min(rows_at_once(CHAINS * rbm.widest), 1 << max(4, (len(rows) - 1).bit_length()))
    began = clock()
    pace = np.inf
    found = None
    left = np.arange(len(rows))
    whole = np.zeros(len(rows))
    lost = np.full((2, len(rows)), np.inf)
    for number, steps in enumerate(ROUNDS):
        size = _few_sizes(len(left), most)
        if number == 1:
            whole[left] = 1.0
        elif number:
            whole[left] = lost[:, left].argmin(0)
        for part, first in enumerate(range(0, len(left), size)):
            which = left[first : first + size]
            if found is not None and clock() - began + pace * steps > seconds:
                return found
            started = clock()
            padded = np.resize(which, size)
            key_part = jax.random.fold_in(jax.random.fold_in(key, number), part)
            own = _annealed(rbm, rows, padded, whole[padded], steps, key=key_part)
            pace = min(pace, (clock() - started) / steps)  # the first one was compiled too
            new = RowEstimates(*(each[: len(which)] for each in own))
            found = _with(found, new, which, len(rows))
            lost[whole[which].astype(int), which] = new.lost
        assert found is not None
        left = np.flatnonzero(~found.converged)
        if not len(left):
            break
    assert found is not None
    return found


def _few_sizes(count: int, most: int) -> int:
    """Return how many rows to anneal at once: the smallest of few sizes that holds them.

    Each size is compiled, and rows that only fill it up take as long as others.
    """
    size = most
    while size // 4 >= max(count, FEWEST_ROWS):
        size //= 4
    return size


def _with(
    found: RowEstimates | None, new: RowEstimates, which: np.ndarray, count: int
) -> RowEstimates:
    """Return the estimates with new ones for some rows."""
    if found is None:
        found = RowEstimates(*(np.zeros(count, each.dtype) for each in new))
    for old, each in zip(found, new, strict=True):
        old[which] = each
    return found


def _annealed(
    rbm: RBM,
    rows: np.ndarray,
    which: np.ndarray,
    whole: np.ndarray,
    steps: int,
    *,
    key: PRNGKeyArray,
) -> RowEstimates:
    """Anneal some of the rows both ways with so many steps, and return their estimates."""
    key_up, key_down, key_start, key_other, key_host = jax.random.split(key, 5)
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key_host)).ravel())
    own = from_numpy(rows[which])
    path = from_numpy(whole.astype(rbm.visible.dtype))
    donated = from_numpy(_donated(rbm, rows, which, rng))
    begun = _begun(rbm, own, donated, path, key=key_start)
    short = Ramp(0, 1, FIRST_STEPS, 1.0 - path)
    aside, weights = _through(rbm, own, begun.chains, short, FIRST_STEPS + 1, key=key_other)
    few = resampled_chains(weights, DONATED, rng.random(len(which)))
    up, forward = _through(rbm, own, begun.chains, Ramp(0, 1, steps, path), steps + 1, key=key_up)
    parents = resampled_chains(forward, CHAINS - OTHERS, rng.random(len(which)))
    chosen = (from_numpy(each.astype(np.int32)) for each in (parents, few))
    again = _chosen(up, aside, begun.fallen, *chosen)
    burn_in = max(1, steps // 4)
    down = Ramp(steps + burn_in, -1, steps, path)
    _, back = _through(rbm, own, again, down, steps + burn_in + 1, key=key_down)
    known = fetched(begun.log_z).astype(np.float64)
    runs = RowRuns(forward + known, back[:-OTHERS] - known, parents, back[-OTHERS:] - known)
    if not all(np.isfinite(w).all() for w in (runs.forward, runs.reverse, runs.others)):
        raise NotFiniteError("F(v_seen): annealing weights are not finite; the model diverged.")
    return estimates(runs)


def _donated(rbm: RBM, rows: np.ndarray, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows with missing values taken from others, shape (DONATED, n, units).

    They stay NaN where the other row has none either, and where units depend on one another, so
    that the values of two rows might not go together.
    """
    own = np.broadcast_to(rows[which], (DONATED, len(which), rows.shape[1]))
    if not has_independent_units(rbm.visible):
        return np.array(own)
    donors = rng.integers(len(rows), size=own.shape[:2])
    return np.where(np.isnan(own), rows[donors], own)


class _Begun(NamedTuple):
    """Where chains of each row begin.

    Attributes:
        chains: states from which a ramp up may begin, shape (CHAINS, n, visible).
        fallen: starts that owe nothing to the seen values, shape (2 DONATED, n, visible).
        log_z: that of the row at t = 0, shape (n,).
    """

    chains: Array
    fallen: Array
    log_z: Array


@eqx.filter_jit
def _begun(rbm: RBM, rows: Array, donated: Array, whole: Array, *, key: PRNGKeyArray) -> _Begun:
    """Return where chains begin.

    Of the starts that owe nothing to the seen values, the first half have the donated values. The
    others fall into one of the modes of the whole model: their hidden states are drawn from the
    neutral layer, and a few sweeps follow in which no unit is held. Then the missing units follow
    the hidden ones.
    """
    visible = rbm.visible
    hidden = rbm.hidden
    key_rest, key_h, key_v = jax.random.split(key, 3)
    seen = seen_of(rbm, with_missing(visible, rows))
    held = seen_of(rbm, with_missing(visible, donated))
    nothing = jnp.zeros_like(held.values)
    filled = sample_given(visible, nothing, held.known, held.values, key=key_rest)
    h = hidden.base().sample_without_inputs((len(donated), len(rows)), key=key_h)

    def sweep(i: Array, h: Array) -> Array:
        key_x, key_next = jax.random.split(jax.random.fold_in(key_v, i))
        x = rbm.sample_v_from_h(h, key=key_x)
        return rbm.sample_h_from_v(x, key=key_next)

    h = jax.lax.fori_loop(0, FALLING_SWEEPS, sweep, h)
    x = sample_given(visible, rbm.inputs_to_v(h), seen.known, seen.values, key=key_v)
    x = jnp.where(jnp.isfinite(x), x, seen.values)  # what the seen units confine may run away
    chains = jnp.broadcast_to(seen.values, (CHAINS, *seen.values.shape))
    return _Begun(chains, jnp.concatenate([filled, x]), log_z_uncoupled(rbm, seen, whole))


@eqx.filter_jit
def _chosen(up: Array, aside: Array, fallen: Array, parents: Array, few: Array) -> Array:
    """Return the resampled final states of each row, followed by its other starts."""
    rows = jnp.arange(up.shape[1])
    return jnp.concatenate([up[parents, rows], aside[few, rows], fallen])


def _through(
    rbm: RBM, rows: Array, x: Array, ramp: Ramp, end: int, *, key: PRNGKeyArray
) -> tuple[Array, np.ndarray]:
    """Run all chains through a ramp, some steps at a time; return states and float64 weights."""
    total = np.zeros(x.shape[:2])
    numbers = from_numpy(np.array(ramp[:3], np.int32))
    whole = jnp.asarray(ramp.whole)
    for first in range(0, end, STEPS_AT_ONCE):
        places = np.array([first, min(first + STEPS_AT_ONCE, end)], np.int32)
        x, gained = _some_steps(rbm, rows, x, numbers, whole, from_numpy(places), key=key)
        total += fetched(gained).astype(np.float64)
    return x, total


@eqx.filter_jit
def _some_steps(
    rbm: RBM, rows: Array, x: Array, numbers: Array, whole: Array, places: Array, *, key: Any
) -> tuple[Array, Array]:
    seen = seen_of(rbm, with_missing(rbm.visible, rows))
    nothing = jnp.zeros(x.shape[:2], x.dtype)
    ramp = Ramp(numbers[0], numbers[1], numbers[2], whole)
    between = (places[0], places[1])
    return moved(rbm, seen, ramp, between, x, nothing, key=key)
