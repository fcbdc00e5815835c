"""The questions that users ask of a likelihood: the method is chosen for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .checks import checked_key
from .data import Dataset
from .enumeration import LARGEST_LOG2_STATES, enumerable
from .errors import InputError, NotFiniteError
from .evaluation import (
    LogLikelihood,
    LogZ,
    annealed_log_z,
    data_base,
    exact_log_z,
    likelihood_from,
)
from .path import Heating
from .rbm import RBM

__all__ = ["finite_z", "free_energies", "log_likelihood", "log_z"]

LARGEST_EXACT_WORK = 2**34  # states × width of the other layer: half a minute on two cores
ROWS_AT_ONCE = 4096
BASE_ROWS = 10_000
STEPS = (1_000, 4_000)


def log_z(
    rbm: RBM,
    *,
    key: PRNGKeyArray | None = None,
    method: str = "auto",
    tolerance: float = 0.1,
    chains: int = 512,
    steps: int | None = None,
    path: Heating | None = None,
    starts: Any = None,
    burn_in: int = 1_000,
    progress: Callable[[float], Any] | None = None,
) -> LogZ:
    """Give log Z, exact where the smaller discrete layer is small enough, else annealed both ways.

    Annealing tries 1,000 machines on the way, and 4,000 if the two directions do not meet within
    `tolerance`; it says so if they still do not.

    Args:
        rbm: the machine.
        key: a JAX random key; may be left out only where the answer is exact.
        method: "auto", "exact" or "annealed".
        tolerance: the largest gap between both directions that counts as converged, nats.
        chains: chains of an annealed estimate, in each direction.
        steps: machines on the way, if not those two numbers.
        path: the path of machines; see `annealed_log_z`.
        starts: rows to start the reverse journey from, in the user's coding.
        burn_in: Gibbs sweeps before chains are taken for draws of the machine.
        progress: called with the part done, from 0 to 1.

    Raises:
        InputError: no key for an annealed estimate, or an unknown method.
        NotFiniteError: Z of the machine is not known to be finite.
    """
    _check(rbm, method)
    if not _is_annealed(rbm, method):
        return exact_log_z(rbm, progress=progress)
    if not finite_z(rbm):
        raise NotFiniteError(
            f"{rbm}: Z is not known to be finite. Its continuous units are not confined: the matrix"
            " of their precisions and couplings is not positive definite."
        )
    if key is None:
        raise InputError(
            f"key: log Z of {rbm} is estimated by sampling; pass key=jax.random.key(0)."
        )
    states = None if starts is None else rbm.visible.encode(rbm.visible.validate(starts, "starts"))
    plan = STEPS if steps is None else (steps,)
    found: LogZ | None = None
    for attempt, number in enumerate(plan):
        found = annealed_log_z(
            rbm,
            key=jax.random.fold_in(checked_key(key), attempt),
            chains=chains,
            steps=number,
            path=path,
            starts=states,
            burn_in=burn_in,
            tolerance=tolerance,
            progress=progress,
        )
        if found.converged:
            break
    assert found is not None
    return found


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

    An annealed log Z starts from the independent machine with the rows' moments. Rows with sample
    weights count by them.

    Args:
        rbm: the machine.
        data: rows in the user's coding, shape (n, visible units), or a `Dataset`; binary values are
            drawn once from the grey levels of a stochastic one.
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
        rbm.visible.validate(part, "data", i * ROWS_AT_ONCE)
        found.append(free_energies(rbm, part))
        note = note or _note(rbm, part)
    energies = np.concatenate(found)
    if log_z is None:
        if keys[1] is not None and _is_annealed(rbm, method) and settings.get("path") is None:
            some = rbm.visible.encode(dataset.some(BASE_ROWS).rows(key=keys[0]))
            settings["path"] = data_base(rbm, some, key=keys[1])
        log_z = _log_z(rbm, key=keys[2], method=method, **settings)
    weights = None if dataset.weights is None else np.asarray(dataset.weights)
    return likelihood_from(energies, log_z, note, weights)


def free_energies(rbm: RBM, rows: Any) -> np.ndarray:
    """Give F of rows in the user's coding, shape (n,), nats, a few thousand rows at a time."""
    array = rbm.visible.validate(rows)
    chunks = [
        np.asarray(_free_energy(rbm, jnp.asarray(array[first : first + ROWS_AT_ONCE])))
        for first in range(0, len(array), ROWS_AT_ONCE)
    ]
    return np.concatenate(chunks)


@eqx.filter_jit
def _free_energy(rbm: RBM, rows: Array) -> Array:
    return rbm.free_energy(rbm.visible.encode(rows))


def _is_annealed(rbm: RBM, method: str) -> bool:
    return method == "annealed" or (method == "auto" and not is_exact_cheap(rbm))


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
    confined = [np.isfinite(np.asarray(side.confinement)) for side in (rbm.visible, rbm.hidden)]
    if not all(side.any() for side in confined):
        return True  # one layer is bounded
    strength = np.asarray(rbm.weights) / np.sqrt(
        np.outer(np.asarray(rbm.visible.confinement), np.asarray(rbm.hidden.confinement))
    )
    return not strength.any() or float(np.linalg.norm(strength, 2)) < 1.0


def _note(rbm: RBM, rows: np.ndarray) -> str:
    """Say so where discrete units hold values between their states."""
    some = rows[:ROWS_AT_ONCE]
    back = rbm.visible.decode(rbm.visible.encode(some))
    if np.allclose(back, some, rtol=1e-3, atol=1e-3):
        return ""
    return "; grey levels used as they are, which is no probability of binary rows"


def _check(rbm: Any, method: str) -> None:
    if not isinstance(rbm, RBM):
        raise InputError(f"rbm: expected a machine; got {type(rbm).__name__}.")
    if method not in ("auto", "exact", "annealed"):
        raise InputError(f"method: expected 'auto', 'exact' or 'annealed'; got {method!r}.")
    for layer in (rbm.visible, rbm.hidden):
        if jnp.ndim(layer.cgf(layer.resting)):
            raise InputError(
                "rbm: expected one machine; got a batch. Condition on one row at a time."
            )
