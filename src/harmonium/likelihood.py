"""The questions that users ask of a likelihood: the method is chosen for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ._numerics import from_numpy
from .checks import as_array, checked_key
from .courses import data_base, own_bases
from .data import Dataset
from .enumeration import LARGEST_LOG2_STATES, enumerable
from .errors import InputError, NotFiniteError
from .evaluation import (
    LogLikelihood,
    LogZ,
    annealed_log_z,
    closed_log_z,
    exact_log_z,
    has_closed_form,
    likelihood_from,
    tempered_log_z,
)
from .evaluation.base import CHAINS, over_rows
from .holes import PATIENT_SUMS, posterior, rows_at_once, way_to_sum, with_holes
from .path import AbstractPath
from .rbm import RBM
from .rounding import quicker

__all__ = ["finite_z", "free_energies", "log_likelihood", "log_z"]

METHODS = ("auto", "exact", "annealed", "tempered")
LARGEST_EXACT_WORK = 2**34  # states × width of the other layer: half a minute on two cores
ROWS_AT_ONCE = 4096
ROWS_TO_NOTE = 512  # at a time: there and back takes several copies


def log_z(
    rbm: RBM,
    *,
    key: PRNGKeyArray | None = None,
    method: str = "auto",
    tolerance: float = 0.1,
    seconds: float = 120.0,
    chains: int | None = None,
    steps: int | None = None,
    paths: Sequence[AbstractPath] = (),
    starts: Any = None,
    burn_in: int | None = None,
    progress: Callable[[float], Any] | None = None,
) -> LogZ:
    """Give log Z: exact where that is cheap, in closed form, or else annealed both ways.

    It is enumerated where the smaller discrete layer is small enough, and has a closed form for two
    Gaussian layers. Annealing adds steps and chains by itself until the two directions meet within
    the tolerance or the time is up; the answer says which. Tempering, which is not chosen by
    itself, runs replicas on two ladders until the interval is narrow enough (`tempered_log_z`).

    Args:
        rbm: the machine.
        key: a JAX random key; may be left out only where the answer is exact.
        method: "auto", "exact", "annealed" or "tempered".
        tolerance: nats that the two directions may lie apart, and the interval's half width.
        seconds: time after which no new round begins.
        chains: chains of an annealed estimate, in each direction, 512 if None; or independent
            columns of replicas of a tempered one, 64 if None.
        steps: of annealing: steps of each journey; as many as it takes if None.
        paths: of annealing: paths from machines without weights, such as `Heating`, of which the
            one that loses least work is taken; from the machine's own moments and from neutrality
            if not given.
        starts: of annealing: rows to travel back from as a check, in the user's coding, such as the
            data.
        burn_in: of annealing: Gibbs sweeps before chains are taken for draws of the machine.
        progress: called with the part done, from 0 to 1.

    Raises:
        InputError: no key for an estimate, an unknown method, or arguments of annealing where it is
            not what is asked for.
        NotFiniteError: Z of the machine is infinite, or not known to be finite.
        Interrupted: an interruption of an enumeration; it says how far that got.
    """
    _check(rbm, method)
    if not _is_estimated(rbm, method):
        return closed_log_z(rbm) if has_closed_form(rbm) else exact_log_z(rbm, progress=progress)
    if not finite_z(rbm):
        raise NotFiniteError(
            f"{rbm}: Z is not known to be finite. Its continuous units are not confined: the matrix"
            " of their precisions and couplings is not positive definite."
        )
    if key is None:
        raise InputError(
            f"key: log Z of {rbm} is estimated by sampling; pass key=jax.random.key(0)."
        )
    limits: Any = {"tolerance": tolerance, "seconds": seconds, "progress": progress}
    limits |= {} if chains is None else {"chains": chains}
    if method == "tempered":
        of_annealing = {"steps": steps, "paths": paths or None, "starts": starts}
        for name, value in {**of_annealing, "burn_in": burn_in}.items():
            if value is not None:
                raise InputError(f"{name}: method 'tempered' has no use for it; leave it out.")
        return tempered_log_z(rbm, key=checked_key(key), **limits)
    states = None if starts is None else rbm.visible.encode(rbm.visible.validate(starts, "starts"))
    return annealed_log_z(
        rbm,
        key=checked_key(key),
        steps=steps,
        paths=paths,
        starts=states,
        burn_in=burn_in,
        **limits,
    )


_log_z = log_z  # `log_likelihood` has an argument of that name


def log_likelihood(
    rbm: RBM,
    data: Any,
    *,
    key: PRNGKeyArray | None = None,
    log_z: LogZ | None = None,
    method: str = "auto",
    **settings: Any,
) -> LogLikelihood:
    """Give the mean log-likelihood of rows, ⟨−F(v)⟩ − log Z, in nats a row.

    An annealed log Z also tries the independent machine with the rows' moments as a base, and
    checks that the way back from the rows agrees. Rows with sample weights count by them. Of rows
    with holes it is ⟨log p(v_seen)⟩, exactly: see `free_energies`.

    Args:
        rbm: the machine.
        data: rows in the user's coding, shape (n, visible units), NaN where a unit is absent, or a
            `Dataset`; binary values are drawn once from the grey levels of a stochastic one.
        key: a JAX random key; may be left out only where the answer is exact.
        log_z: a log Z found before; found here if None.
        method: as in `log_z`.
        settings: the other arguments of `log_z`.

    Raises:
        InputError: rows outside the visible layer's domain, or no key where one is needed.
    """
    _check(rbm, method)
    keys = (None, None, None) if key is None else tuple(jax.random.split(checked_key(key), 3))
    dataset = Dataset.of(data)
    found, note = [], ""
    for i, part in enumerate(dataset.parts(ROWS_AT_ONCE, key=keys[0])):
        rbm.visible.validate(part, "data", i * ROWS_AT_ONCE, holes=dataset.absent > 0)
        found.append(free_energies(rbm, part))
        note = note or _note(rbm, part)
    energies = np.concatenate(found)
    if log_z is None:
        if keys[1] is not None and method != "tempered" and _is_estimated(rbm, method):
            key_data, key_own = jax.random.split(keys[1])
            near = quicker(rbm, settings.get("chains") or CHAINS)
            bases = own_bases(near, key=key_own)
            if not dataset.absent:
                rows = dataset.some(ROWS_AT_ONCE).rows(key=keys[0])
                bases.insert(0, data_base(near, rbm.visible.encode(rows), key=key_data))
                settings = {"starts": rows} | settings
            settings = {"paths": bases} | settings
        log_z = _log_z(rbm, key=keys[2], method=method, **settings)
    weights = None if dataset.weights is None else np.asarray(dataset.weights)
    return likelihood_from(energies, log_z, note, weights)


def free_energies(rbm: RBM, rows: Any) -> np.ndarray:
    """Give F of rows in the user's coding, shape (n,), nats, a few thousand rows at a time.

    Of a row with holes, NaN where a unit is absent, it is F(v_seen) = −log of the sum of e^(−F)
    over the absent units, so that log p(v_seen) = −F(v_seen) − log Z. The sum is an exact one.

    Raises:
        InputError: rows outside the domain, or holes where there are more than 2^16 hidden states
            and more than 2^12 completions of a row.
    """
    array = as_array(rows, "data")
    holes = np.isnan(array) if array.dtype.kind == "f" and array.ndim == 2 else np.zeros((1, 1))
    if not holes.any():
        return over_rows(_free_energy, rbm, array, ROWS_AT_ONCE)
    array = rbm.visible.validate(array, holes=True)
    absent = int(holes.sum(1).max())
    if way_to_sum(rbm, absent, PATIENT_SUMS)[0] is None:
        raise InputError(
            f"data: rows with holes ask for a sum over at most {PATIENT_SUMS.hidden:,} hidden"
            f" states or {PATIENT_SUMS.completions:,} completions of a row; {rbm} with"
            f" {absent} absent units has more. Estimate F of one row's seen units:"
            " -hm.log_z(hm.condition(rbm, row[None]), key=key).value."
        )
    size = min(ROWS_AT_ONCE, rows_at_once(rbm, absent, PATIENT_SUMS))
    parts = [array[first : first + size] for first in range(0, len(array), size)]
    return np.concatenate([_free_energy_of_seen(rbm, from_numpy(p), absent) for p in parts])


@eqx.filter_jit
def _free_energy_of_seen(rbm: RBM, rows: Array, absent: int) -> Array:
    found = posterior(rbm, with_holes(rbm.visible, rows), absent, PATIENT_SUMS)
    assert found is not None
    return -found.log_z_seen


@eqx.filter_jit
def _free_energy(rbm: RBM, rows: Array) -> Array:
    return rbm.free_energy(rbm.visible.encode(rows))


def _is_estimated(rbm: RBM, method: str) -> bool:
    exact = is_exact_cheap(rbm) or has_closed_form(rbm)
    return method in ("annealed", "tempered") or (method == "auto" and not exact)


def is_exact_cheap(rbm: RBM, work: int = LARGEST_EXACT_WORK) -> bool:
    """Say whether log Z can be enumerated with at most this many terms times their width."""
    side = enumerable(rbm)
    if side is None or side.visible.n_states is None:
        return False
    states = side.visible.n_states
    return states <= 2**LARGEST_LOG2_STATES and states * side.hidden.size <= work


def finite_z(rbm: RBM) -> bool:
    """Say whether Z is certain to be finite: a sufficient test, sharp for Gaussian layers.

    With the curvatures c of both layers (∞ for bounded units), the energy grows in every direction
    if the largest singular value of W / √(c_v c_h) is below 1.
    """
    confined = [np.isfinite(np.asarray(side.curvature)) for side in (rbm.visible, rbm.hidden)]
    if not all(side.any() for side in confined):
        return True  # one layer is bounded
    weights = np.asarray(rbm.dense_weights)
    curvatures = (np.asarray(layer.curvature) for layer in (rbm.visible, rbm.hidden))
    joint = np.sqrt(np.outer(*curvatures))
    if (weights[joint == 0] != 0).any():
        return False  # along these columns nothing is known to hold back what W adds
    strength = weights / np.where(joint == 0, 1.0, joint)
    return not strength.any() or float(np.linalg.norm(strength, 2)) < 1.0


def _note(rbm: RBM, rows: np.ndarray) -> str:
    """Say so where discrete units hold values between their states."""
    for first in range(0, len(rows), ROWS_TO_NOTE):
        some = rows[first : first + ROWS_TO_NOTE]
        seen = ~np.isnan(some)
        back = rbm.visible.decode(rbm.visible.encode(np.where(seen, some, 0)))
        if not np.allclose(back[seen], some[seen], rtol=1e-3, atol=1e-3):
            return "; grey levels used as they are, which is no probability of binary rows"
    return ""


def _check(rbm: Any, method: str) -> None:
    if not isinstance(rbm, RBM):
        raise InputError(f"rbm: expected a machine; got {type(rbm).__name__}.")
    if method not in METHODS:
        expected = ", ".join(map(repr, METHODS[:-1]))
        raise InputError(f"method: expected {expected} or {METHODS[-1]!r}; got {method!r}.")
    for layer in (rbm.visible, rbm.hidden):
        if jax.eval_shape(layer.cgf, layer.resting).ndim:
            raise InputError(
                "rbm: expected one machine; got a batch. Condition on one row at a time."
            )
