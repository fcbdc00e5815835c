"""The questions that users ask of a likelihood: the method is chosen for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .data import Dataset
from .enumeration import enumerable
from .errors import InputError, NotFiniteError
from .evaluation import (
    LogLikelihood,
    LogZ,
    annealed_log_z,
    data_base,
    exact_log_z,
    likelihood_from,
)
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
    progress: Callable[[float], Any] | None = None,
    **settings: Any,
) -> LogZ:
    """Give log Z, exact where the smaller discrete layer is small enough, else annealed both ways.

    Annealing takes four times as many machines until the two directions meet within `tolerance`,
    and says so if they do not.

    Args:
        rbm: the machine.
        key: a JAX random key; may be left out only where the answer is exact.
        method: "auto", "exact" or "annealed".
        tolerance: the largest gap between both directions that counts as converged, nats.
        progress: called with the part done, from 0 to 1.
        settings: passed to `annealed_log_z`: chains, steps, path, starts, burn_in.

    Raises:
        InputError: no key for an annealed estimate, or an unknown method.
        NotFiniteError: Z of the machine is not known to be finite.
    """
    if method not in ("auto", "exact", "annealed"):
        raise InputError(f"method: expected 'auto', 'exact' or 'annealed'; got {method!r}.")
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
    plan = (settings.pop("steps"),) if "steps" in settings else STEPS
    result = None
    for attempt, steps in enumerate(plan):
        subkey = jax.random.fold_in(key, attempt)
        result = annealed_log_z(
            rbm, key=subkey, steps=steps, tolerance=tolerance, progress=progress, **settings
        )
        if result.converged:
            break
    assert result is not None
    return result


_log_z = log_z  # `log_likelihood` has an argument of that name


def log_likelihood(
    rbm: RBM,
    data: Any,
    *,
    key: PRNGKeyArray | None = None,
    log_z: LogZ | None = None,
    **settings: Any,
) -> LogLikelihood:
    """Give the mean log-likelihood of rows, ⟨−F(v)⟩ − log Z, in nats a row.

    An annealed log Z starts from the independent machine with the rows' moments.

    Args:
        rbm: the machine.
        data: rows in the user's coding, shape (n, visible units), or a `Dataset`; binary values are
            drawn once from the grey levels of a stochastic one.
        key: a JAX random key; may be left out only where the answer is exact.
        log_z: a log Z found before; found here if None.
        settings: passed to `log_z`.

    Raises:
        InputError: rows outside the visible layer's domain, or no key where one is needed.
    """
    key_rows, key_z = (None, None) if key is None else tuple(jax.random.split(key))
    dataset = data if isinstance(data, Dataset) else Dataset.of(rbm.visible.validate(data))
    rows = dataset.rows(key=key_rows)
    energies = free_energies(rbm, rows)
    if log_z is None:
        if _is_annealed(rbm, settings.get("method", "auto")) and "path" not in settings:
            settings["path"] = data_base(rbm, rbm.visible.encode(rows[:BASE_ROWS]))
        log_z = _log_z(rbm, key=key_z, **settings)
    grey = dataset.is_grey or _is_fractional(rbm, dataset)
    note = "; grey levels used as they are, which is no probability of binary rows" if grey else ""
    return likelihood_from(energies, log_z, note)


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
    return side is not None and (side.visible.n_states or 0) * side.hidden.size <= work


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


def _is_fractional(rbm: RBM, dataset: Dataset) -> bool:
    """Say whether discrete units hold values between their states."""
    if dataset.packed or rbm.visible.n_states is None:
        return False
    rows = dataset.head(ROWS_AT_ONCE).rows(key=jax.random.key(0))
    back = rbm.visible.decode(rbm.visible.encode(rows))
    return bool((back != rows).any())
