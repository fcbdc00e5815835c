"""The entropy of a model's distribution p(v)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._base.checks import as_array, checked_key
from ..errors import InputError
from ..likelihood.partition_function.base import LogZ
from ..likelihood.scoring import free_energies, log_z
from ..rbm import RBM, checked_rbm

__all__ = ["Entropy", "entropy"]


class Entropy(NamedTuple):
    """The entropy of p(v), in nats.

    Attributes:
        value: the estimated entropy.
        low: lower end of a 95 % confidence interval for the entropy.
        high: upper end of this interval.
        method: how log Z and the mean free energy were estimated.
        converged: whether the estimate of log Z has converged; if not, the interval is unreliable.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> entropy = hm.entropy(rbm, hm.sample(rbm, 64, key=jax.random.key(0)))
        >>> entropy.low <= entropy.value <= entropy.high, entropy.converged
        (True, True)
    """

    value: float
    low: float
    high: float
    method: str
    converged: bool


def entropy(rbm: RBM, samples: Any, *, log_z_found: LogZ | None = None, key: Any = None) -> Entropy:
    """Return the entropy of p(v), S = log Z + ⟨F(v)⟩, where ⟨·⟩ is the mean over `samples`.

    For discrete units e^S is the effective number of states. For real-valued units S is the
    differential entropy, which depends on the units of measurement of the rows.

    Args:
        rbm: the model.
        samples: independent draws from the model in the user's coding, for example from `sample`.
        log_z_found: the model's log Z, if known; None to compute or estimate it.
        key: a JAX random key, needed if log Z has to be estimated.

    Raises:
        InputError: there are fewer than two rows, or the rows do not match the model.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.zeros((4, 3)))  # four fair coins
        >>> draws = hm.sample(rbm, 64, key=jax.random.key(0))
        >>> round(hm.entropy(rbm, draws).value, 3)  # 4 log 2
        2.773
    """
    if key is not None:
        key = checked_key(key)
    rows = as_array(samples, "samples")
    if rows.ndim != 2 or len(rows) < 2:
        raise InputError(f"samples: expected at least two rows; got shape {rows.shape}.")
    checked_rbm(rbm)
    if log_z_found is None:
        log_z_found = log_z(rbm, key=key)
    energies = free_energies(rbm, rows).astype(np.float64)
    half_width = 1.96 * float(energies.std(ddof=1)) / math.sqrt(len(rows))
    value = log_z_found.value + float(energies.mean())
    return Entropy(
        value,
        low=value - math.hypot(log_z_found.value - log_z_found.low, half_width),
        high=value + math.hypot(log_z_found.high - log_z_found.value, half_width),
        method=f"log Z {log_z_found.method}, free energy over {len(rows):,} draws",
        converged=log_z_found.converged,
    )
