"""The base class of methods for log Z, and their result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..._base.checks import checked_key
from ..._base.numerics import from_numpy
from ..._base.threefry import fold_in
from ...data import Dataset
from ...errors import InputError, NotFiniteError
from ...layers.capabilities import is_conditional
from ...rbm import RBM
from ...samplers.finite import UNCONFINED, finite_z

TRUSTED_ESS = 10.0  # effective number of chains; below this, a few chains dominate


class LogZ(NamedTuple):
    """log Z with a 95 % interval.

    Attributes:
        value: the estimate, nats.
        low: lower end of its 95 % interval, nats.
        high: upper end of the interval, nats.
        method: a description of the computation.
        converged: whether the interval is reliable: all checks were made, and agree.
        checked: whether anything independent, such as rows or another base, could have contradicted
            the estimate. If False, `converged` is False too, even if the runs agree.
        ess: effective number of chains, the minimum over the two directions.
        gap: reverse minus forward estimate, nats; 0 if exact.
        message: why it converged, or why not.
        forward: log weights of the forward annealing runs, shape (n,); the log of the mean of e^w
            is the lower estimate of log Z. None if nothing was annealed.
        reverse: log weights of the reverse runs, which estimate −log Z; each includes the log of
            the share of the model that the start of this run represents.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> print(hm.log_z(rbm))
        log Z = 6.0684 in [6.0684, 6.0684] (exact, 8 states)
    """

    value: float
    low: float
    high: float
    method: str
    converged: bool
    ess: float = float("inf")
    gap: float = 0.0
    message: str = ""
    forward: np.ndarray | None = None
    reverse: np.ndarray | None = None
    checked: bool = True

    @property
    def convergence(self) -> str:
        """One of three words: "converged", "unchecked" or "not converged"."""
        return convergence_word(self.converged, self.checked)

    def out_of_time(self, seconds: float) -> LogZ:
        """Return the result with a message that also reports the time limit."""
        late = f" The time limit of {seconds:g} s was reached; raise `seconds`."
        return self._replace(message=self.message + late)

    def __str__(self) -> str:
        """Return a summary in one sentence."""
        warning = warning_of(self.convergence)
        interval = f"[{self.low:.4f}, {self.high:.4f}]"
        return f"log Z = {self.value:.4f} in {interval} ({self.method}{warning})"


def convergence_word(converged: bool, checked: bool) -> str:
    """Return "converged", "unchecked" or "not converged".

    An estimate is unchecked if its own runs agree, but nothing independent of them could have
    revealed a missed part of the model.
    """
    if converged:
        return "converged"
    return "not converged" if checked else "unchecked"


def warning_of(convergence: str) -> str:
    """Return the warning to append to a result, or an empty string if it converged."""
    if convergence == "converged":
        return ""
    return f", {convergence.replace('not', 'NOT')}"


def broken(*rules: tuple[bool, str]) -> list[str]:
    """Return the sentences of all violated rules, each a reason not to rely on a result."""
    return [reason for holds, reason in rules if not holds]


def message_of(warnings: list[str], otherwise: str) -> str:
    """Return one sentence of reasons not to rely on a result, or `otherwise` if there are none."""
    if not warnings:
        return otherwise
    return f"Not converged: {'; '.join(warnings)}."


class AbstractLogZ(ABC):
    """A method for log Z; its settings are fields, which are checked on creation.

    Example:
        >>> class Uncoupled(hm.likelihood.AbstractLogZ):
        ...     def compute(self, rbm, key, progress):  # of a model whose weights are 0
        ...         value = float(hm.path.Line(rbm, rbm).log_z_of_base)
        ...         return hm.LogZ(value, value, value, "no weights", converged=True)
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.zeros((4, 3)))
        >>> round(hm.log_z(rbm, method=Uncoupled(), key=jax.random.key(0)).value, 3)  # 7 log 2
        4.852
    """

    def is_estimate(self, rbm: RBM) -> bool:
        """Return whether log Z is estimated by sampling, which requires a key and a finite Z."""
        return True

    def for_model(self, rbm: RBM) -> AbstractLogZ:
        """Return the method that computes log Z of this model; a method may delegate to another."""
        return self

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> AbstractLogZ:
        """Return a method that also uses rows of data, or this method if it cannot use them."""
        return self

    @abstractmethod
    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z; if a key is needed, it has already been checked."""

    def compute_by_length(
        self,
        rbm: RBM,
        lengths: Float[np.ndarray, " lengths"],
        key: Any,
        progress: Callable[[float], Any],
    ) -> list[LogZ]:
        """Return log Z of the model of documents for each length, in ascending order.

        Lengths are treated one by one, unless a method handles all lengths in one run.
        """
        results = []
        for i, length in enumerate(lengths):
            model = rbm.with_lengths(from_numpy(np.asarray(length, rbm.visible.dtype)))
            own_key = None if key is None else fold_in(key, i)

            def report(fraction: float, i: int = i) -> None:
                progress((i + fraction) / len(lengths))

            results.append(self.compute(model, own_key, report))
        return results

    def estimate(
        self,
        rbm: RBM,
        *,
        key: PRNGKeyArray | None = None,
        progress: Callable[[float], Any] | None = None,
    ) -> LogZ:
        """Return log Z with its interval.

        For a conditional model, log Z is 0, since the free energy of a row is defined as the
        negative log-likelihood of its targets given its other units.

        Args:
            rbm: the model.
            key: a JAX random key; not needed if `is_estimate` is false.
            progress: a function called with the fraction done, from 0 to 1.

        Raises:
            InputError: a key is needed but missing, or the method cannot handle the model.
            NotFiniteError: Z is infinite, or parameters are not finite.
        """
        if is_conditional(rbm.visible):
            return exact_result(0.0, "normalised for the given values of each row")
        return self.compute(rbm, self.checked_key(rbm, key), progress or (lambda part: None))

    def checked_key(self, rbm: RBM, key: Any) -> Any:
        """Return the checked key, or None if none is needed.

        Raises:
            InputError: a key is needed but missing.
            NotFiniteError: log Z would be estimated but is not known to be finite.
        """
        if not self.is_estimate(rbm):
            return None
        if not finite_z(rbm):
            raise NotFiniteError(f"{rbm}: {UNCONFINED}")
        if key is None:
            raise InputError(
                f"key: log Z of {rbm} is estimated by sampling; pass key=jax.random.key(0)."
            )
        return checked_key(key)


def check_finite_weights(*log_weights: np.ndarray) -> None:
    """Raise NotFiniteError if log weights of annealing runs are not finite."""
    if not all(np.isfinite(array).all() for array in log_weights):
        raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")


def exact_result(value: float, method: str, rounding: float = 0.0) -> LogZ:
    """Return an exact log Z, whose only error is rounding.

    Args:
        value: log Z, nats.
        method: a description of the computation.
        rounding: the half-width of its interval, nats; 0 if sums were in float64.

    Raises:
        NotFiniteError: the model's parameters are not finite, or overflow.
    """
    if not np.isfinite(value):
        raise NotFiniteError(
            f"log Z is {value}: the model's parameters are not finite or too large."
        )
    return LogZ(value, value - rounding, value + rounding, method, converged=True)
