"""log Z, log-likelihoods and free energies of a model, with an automatic choice of method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from .._base.checks import as_array, checked_key
from .._base.html import table
from .._base.sharding import clock
from .._base.statistics import effective_size, weights_of
from .._base.threefry import fold_in, split
from ..data import Dataset
from ..data.parts import parts_of
from ..errors import InputError, warn_user
from ..layers.capabilities import is_conditional, takes_lengths
from ..rbm import RBM, checked_rbm
from .missing.agreement import RowEnergies
from .missing.both_ways import SECONDS
from .missing.rows import energies_of_seen
from .partition_function.annealed import Annealed
from .partition_function.base import AbstractLogZ, LogZ, convergence_word, warning_of
from .partition_function.by_length import lengths_of_rows, log_z_of_rows
from .partition_function.closed_form import ClosedForm, has_closed_form
from .partition_function.enumerated import LARGEST_LOG2_STATES, Enumerated, layers_to_enumerate
from .partition_function.replica_exchange import Exchanged

__all__ = [
    "Automatic",
    "LogLikelihood",
    "exact_kl",
    "free_energies",
    "likelihood_from",
    "log_likelihood",
    "log_z",
]

LARGEST_EXACT_WORK = 2**33  # number of states × width of the other layer; half a minute on 2 cores


class LogLikelihood(NamedTuple):
    """Mean log-likelihood of rows, in nats per row, with the interval implied by log Z.

    Attributes:
        value: ⟨−F(v)⟩ − log Z.
        low: the value with log Z at the upper end of its interval.
        high: the value with log Z at the lower end of its interval.
        method: how log Z was computed, followed by the note, if any.
        converged: whether the interval is reliable.
        stderr_rows: standard error of the mean over rows, which the interval does not include.
        log_z: the log Z that was used.
        note: a remark on the rows; empty if they are complete states of the model.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> score = hm.log_likelihood(rbm, [[1, 1, 1, 0], [1, 1, 1, 1]])
        >>> score.low == score.value == score.high, round(score.log_z.value, 3)  # exact
        (True, 6.068)
    """

    value: float
    low: float
    high: float
    method: str
    converged: bool
    stderr_rows: float
    log_z: LogZ
    note: str = ""

    @property
    def convergence(self) -> str:
        """One of three words, as for log Z: "converged", "unchecked" or "not converged"."""
        return convergence_word(self.converged, self.log_z.checked)

    def __str__(self) -> str:
        """Return a summary in one sentence."""
        warning = warning_of(self.convergence)
        return (
            f"log-likelihood = {self.value:.4f} in [{self.low:.4f}, {self.high:.4f}] nats per row,"
            f" ± {self.stderr_rows:.4f} over rows ({self.method}{warning})"
        )

    def _repr_html_(self) -> str:
        """Return an HTML table, for notebooks."""
        converged = "yes"
        if not self.converged:
            converged = f"NO ({self.convergence}): do not quote it"
        rows = {
            "nats per row": f"{self.value:.4f}",
            "95 % interval": f"{self.low:.4f} to {self.high:.4f}",
            "standard error over rows": f"{self.stderr_rows:.4f}",
            "method": self.method,
            "converged": converged,
        }
        return table("log-likelihood", rows)


def likelihood_from(
    free_energies: np.ndarray, log_z: LogZ, note: str = "", weights: np.ndarray | None = None
) -> LogLikelihood:
    """Combine free energies of rows with log Z into the mean log-likelihood and its interval.

    Args:
        free_energies: F of each row, shape (n,), nats.
        log_z: log Z of the same model.
        note: a remark on the rows, which is also added to the method of the result.
        weights: a weight for each row; the effective number of rows is then (Σw)²/Σw² (Kish 1965).

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.log_z(rbm)  # once, for many sets of rows
        >>> energies = hm.free_energies(rbm, [[1, 1, 1, 0], [1, 1, 1, 1]])
        >>> round(hm.likelihood.likelihood_from(energies, found).value, 3)  # log(64 / 432)
        -1.91
    """
    fractions = _fractions(weights, len(free_energies))
    size = float(effective_size(fractions))
    energies = np.asarray(free_energies, np.float64)
    mean = -float(fractions @ energies)
    variance = float(fractions @ (energies + mean) ** 2)
    stderr = float("nan")
    if size > 1.0:
        stderr = float(np.sqrt(variance / (size - 1.0)))
    return LogLikelihood(
        value=mean - log_z.value,
        low=mean - log_z.high,
        high=mean - log_z.low,
        method=_joined(log_z.method, note),
        converged=log_z.converged,
        stderr_rows=stderr,
        log_z=log_z,
        note=note,
    )


def _fractions(weights: np.ndarray | None, n: int) -> np.ndarray:
    """Return the weights of rows, divided by their sum."""
    weights = weights_of(n, weights)
    return weights / weights.sum()


def _joined(*remarks: str) -> str:
    """Join remarks into one text, omitting empty ones."""
    return "; ".join(filter(None, remarks))


@dataclass(frozen=True)
class Automatic(AbstractLogZ):
    """An automatic choice: log Z is exact if cheap or in closed form, and otherwise estimated.

    Attributes:
        otherwise: the method of estimation; if None, an InputError is raised instead.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> method = hm.likelihood.Automatic(otherwise=hm.Annealed(steps=1_000))
        >>> method.is_estimate(rbm), hm.log_z(rbm, method=method).method  # h has few states
        (False, 'exact, 8 states')
    """

    otherwise: AbstractLogZ | None = field(default_factory=Annealed)

    def for_model(self, rbm: RBM) -> AbstractLogZ:
        """Return the method for this model: a closed form, an enumeration or `otherwise`."""
        if has_closed_form(rbm):
            return ClosedForm()
        if self.otherwise is None or is_exact_cheap(rbm):
            return Enumerated()
        return self.otherwise

    def is_estimate(self, rbm: RBM) -> bool:
        """Return whether log Z is too costly to enumerate and has no closed form."""
        return self.for_model(rbm).is_estimate(rbm)

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> AbstractLogZ:
        """Return the chosen method, with the rows added if it is an estimate that can use them."""
        return self.for_model(rbm).with_rows(rbm, dataset, key=key)

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        return self.for_model(rbm).compute(rbm, key, progress)


METHODS: dict[str, Callable[..., AbstractLogZ]] = {
    "auto": lambda **settings: Automatic(Annealed(**settings)),
    "exact": lambda **settings: Automatic(None, **settings),
    "annealed": Annealed,
    "tempered": Exchanged,
}


def log_z(
    rbm: RBM,
    *,
    key: PRNGKeyArray | None = None,
    method: AbstractLogZ | str = "auto",
    progress: Callable[[float], Any] | None = None,
    **settings: Any,
) -> LogZ:
    """Return log Z with its interval, in nats: exact if cheap, otherwise an estimate.

    Args:
        rbm: the model.
        key: a JAX random key; may be omitted only if the result is exact.
        method: a method such as `hm.Annealed(steps=1000)`, `hm.Exchanged()` or `hm.Enumerated()`,
            or the name of a method. "auto" enumerates if the smaller discrete layer is small
            enough, uses the closed form for two Gaussian layers, and anneals otherwise. "exact"
            raises an error instead of annealing. "annealed" and "tempered" stand for `hm.Annealed`
            and `hm.Exchanged`.
        progress: a function called with the fraction done, from 0 to 1.
        settings: fields of the named method, such as `tolerance` and `seconds`.

    Raises:
        InputError: a key for an estimate is missing, or the method or its settings are unknown.
        NotFiniteError: the model's Z is infinite, or not known to be finite.
        Interrupted: an enumeration was interrupted; the message states how much of it was done.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.log_z(rbm)
        >>> round(found.value, 3), found.method  # log(6 · 6 · 6 · 2): three pairs, a unit alone
        (6.068, 'exact, 8 states')
    """
    return _method_of(rbm, method, settings).estimate(rbm, key=key, progress=progress)


def log_likelihood(
    rbm: RBM,
    data: Any,
    *,
    key: PRNGKeyArray | None = None,
    log_z: LogZ | None = None,
    method: AbstractLogZ | str = "auto",
    progress: Callable[[float], Any] | None = None,
    **settings: Any,
) -> LogLikelihood:
    """Return the mean log-likelihood of rows, ⟨−F(v)⟩ − log Z, in nats per row.

    For an annealed log Z, the independent-units model with the moments of the rows is also tried as
    a base, and reverse runs from the rows serve as a check. Rows are weighted by their sample
    weights. For rows with missing values the result is ⟨log p(v_seen)⟩: exact if the missing units
    can be summed over (see `free_energies`), otherwise by annealing in both directions, whose error
    is included in the interval; if too many rows have not converged, the result does not count as
    converged. In a model of documents (`ReplicatedSoftmax`), each length has its own log Z.

    Args:
        rbm: the model.
        data: rows in the user's coding, shape (n, visible units), with NaN for missing values, or a
            `Dataset`; for a stochastic `Dataset`, binary values are drawn once from grey levels.
        key: a JAX random key; may be omitted only if the result is exact.
        log_z: a log Z computed earlier; computed here if None.
        method: as in `log_z`.
        progress: as in `log_z`.
        settings: as in `log_z`.

    Raises:
        InputError: rows are outside the visible layer's domain, or a key is needed but missing.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> score = hm.log_likelihood(rbm, [[1, 1, 1, 0], [1, 1, 1, 1]])
        >>> round(score.value, 3), score.method  # log(4 · 4 · 4 / 432)
        (-1.91, 'exact, 8 states')
    """
    chosen = _method_of(rbm, method, settings)
    key_rows = key_gaps = key_z = None
    if key is not None:
        key_rows, key_gaps, key_z = split(checked_key(key), 3)
    dataset = Dataset.of(data).checked_for(rbm.visible)
    scored = _scored(rbm, dataset, float(settings.get("seconds") or SECONDS), key=key_rows)
    energies = scored.energies
    if scored.lengths is None:
        if log_z is None:
            is_one = is_conditional(rbm.visible)  # Z = 1, see `energies_of_seen`
            if key_gaps is not None and not is_one and chosen.is_estimate(rbm):
                chosen = chosen.with_rows(rbm, dataset, key=key_gaps)
            log_z = chosen.estimate(rbm, key=key_z, progress=progress)
    elif log_z is None:
        by_length = log_z_of_rows(
            rbm, scored.lengths, scored.weights, chosen, key=key_z, progress=progress
        )
        log_z = by_length.mean
        energies = energies + by_length.of_row - log_z.value
    elif np.ptp(scored.lengths) > 0:
        raise InputError(
            "log_z: expected None, since each length of rows has its own log Z; got one log Z."
        )
    score = likelihood_from(energies, log_z, scored.note, scored.weights)
    summed = "targets summed over" if is_conditional(rbm.visible) else "missing values"
    fractions = _fractions(scored.weights, len(energies))
    return _with_annealed(score, scored.of_seen, fractions, summed)


class _ScoredRows(NamedTuple):
    """The quantities on which the likelihood of rows depends.

    Attributes:
        energies: F minus the log density factor for the units of measurement, in nats.
        of_seen: F(v_seen), with intervals for rows whose missing values were annealed.
        weights: sample weights; None if all are equal.
        lengths: the lengths of documents; None if the model has a single log Z.
        note: a remark on the rows.
    """

    energies: np.ndarray
    of_seen: RowEnergies
    weights: np.ndarray | None
    lengths: np.ndarray | None
    note: str


def _scored(rbm: RBM, dataset: Dataset, seconds: float, *, key: Any) -> _ScoredRows:
    """Return the free energies of rows and related quantities, a few rows at a time.

    Args:
        rbm: the model.
        dataset: rows within its domain.
        seconds: time limit after which no row is annealed again.
        key: a JAX random key, or None.
    """
    deadline = clock() + seconds
    has_lengths = takes_lengths(rbm.visible)
    energies = []
    lengths = []
    note = ""
    for number, rows in enumerate(dataset.parts(key=key)):
        key_part = None if key is None else fold_in(key, number)
        left = deadline - clock()
        energies.append(energies_of_seen(rbm, rows, key=key_part, seconds=left))
        if has_lengths:
            lengths.append(lengths_of_rows(rbm, rows))
        note = note or _note(rbm, rows)
    of_seen = RowEnergies(*(np.concatenate(arrays) for arrays in zip(*energies, strict=True)))
    values = of_seen.value
    if dataset.log_density is not None:
        values = values - np.asarray(dataset.log_density)
    weights = dataset.weights
    if weights is not None:
        weights = np.asarray(weights)
    all_lengths = None
    if has_lengths:
        all_lengths = np.concatenate(lengths)
    return _ScoredRows(values, of_seen, weights, all_lengths, note)


def _with_annealed(
    score: LogLikelihood, of_seen: RowEnergies, fractions: np.ndarray, summed: str
) -> LogLikelihood:
    """Return the likelihood, with the uncertainty from annealing missing values included."""
    if not of_seen.annealed.any():
        return score
    below, above = of_seen.error_of_mean(fractions)
    note = f"{summed} by annealing both ways, within {max(below, above):.2g} nats"
    is_bounded = of_seen.is_from_bound
    if is_bounded.any():
        note += f", {int(is_bounded.sum()):,} rows estimated from their mean-field bounds"
    is_known = of_seen.is_mean_known(fractions)
    if not is_known:
        doubtful = int((~of_seen.converged & ~is_bounded).sum())
        note += f", which did NOT converge for {doubtful:,} of {int(of_seen.annealed.sum()):,} rows"
    return score._replace(
        low=score.low - above,
        high=score.high + below,
        method=_joined(score.method, note),
        note=_joined(score.note, note),
        converged=score.converged and is_known,
    )


def _method_of(rbm: Any, method: Any, settings: dict[str, Any]) -> AbstractLogZ:
    """Return the named or given method, after checking that `rbm` is a single model."""
    checked_rbm(rbm)
    given = {name: value for name, value in settings.items() if value is not None}
    names = ", ".join(given)
    if isinstance(method, AbstractLogZ) and not given:
        return method
    if isinstance(method, AbstractLogZ) or method not in METHODS:
        raise InputError(
            f"method: expected {', '.join(map(repr, METHODS))}, or a method such as hm.Annealed()"
            f" with its own settings; got {' and '.join(filter(None, (repr(method), names)))}."
        )
    try:
        return METHODS[method](**given)
    except TypeError:
        raise InputError(
            f"method {method!r}: expected only its own fields as settings; got {names}."
        ) from None


def free_energies(rbm: RBM, rows: Any, *, key: PRNGKeyArray | None = None) -> np.ndarray:
    """Return the free energies of rows, shape (n,), in nats, a few thousand rows at a time.

    For a row with missing values (NaN), the result is F(v_seen) = −log of the sum of e^(−F) over
    the missing units, so that log p(v_seen) = −F(v_seen) − log Z. The sum is exact if there are at
    most 2^16 hidden states or 2^12 completions of a row; otherwise it is estimated by annealing,
    which requires a key, and a warning is issued if rows do not converge. Exact sums are in
    float64.

    For a conditional model, the result is −log p(y | u) of the targets y given the given units u.

    Args:
        rbm: the model.
        rows: the rows in the user's coding, shape (n, visible units).
        key: a JAX random key; may be omitted only if the sums are exact.

    Raises:
        InputError: rows are outside the domain, or a key is needed but missing.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> rows = [[0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, np.nan]]
        >>> print(hm.free_energies(rbm, rows).round(3))  # −log 2³, −log 4³, −log(2³ + 2³)
        [-2.079 -4.159 -2.773]
    """
    checked = rbm.visible.validate(as_array(rows, "data"), missing=True)
    energies = energies_of_seen(rbm, checked, key=key)
    doubtful = int((~energies.converged).sum())
    if doubtful:
        warn_user(
            f"free_energies: the annealing of missing values did not converge for {doubtful:,} of"
            f" {int(energies.annealed.sum()):,} rows; hm.log_likelihood returns an interval that"
            " includes their errors."
        )
    return energies.value


def is_exact_cheap(rbm: RBM, work: int = LARGEST_EXACT_WORK) -> bool:
    """Return whether log Z can be enumerated with states × width of the other layer ≤ `work`."""
    if is_conditional(rbm.visible):  # Z = 1, see `energies_of_seen`
        return True
    layers = layers_to_enumerate(rbm)
    if layers is None:
        return False
    summed, other = layers
    states = summed.n_states or 0
    return states <= 2**LARGEST_LOG2_STATES and states * other.size <= work


def _note(rbm: RBM, rows: np.ndarray) -> str:
    """Return a note if discrete units have values between their states, else an empty string."""
    for part in parts_of(rows):
        seen = ~np.isnan(part)
        coding = rbm.visible.coding
        back = coding.decode(coding.encode(np.where(seen, part, 0), rbm.visible.dtype))
        if not np.allclose(back[seen], part[seen], rtol=1e-3, atol=1e-3):
            return "grey levels used unchanged, so this is not a probability of binary rows"
    return ""


def exact_kl(rbm: RBM, rows: Any, weights: Any = None) -> float:
    """Return KL(q‖p) = Σ_v q(v) log [q(v)/p(v)], in nats, with q the distribution of the rows.

    Identical rows are one state v, with q(v) their fraction of all rows. Minimising KL(q‖p) is the
    same as maximising the likelihood.

    Args:
        rbm: a model that can be enumerated, with a discrete visible layer.
        rows: the rows in the user's coding, shape (n, visible units).
        weights: the rows' probabilities, up to a factor; None if all are equal.

    Raises:
        InputError: the visible layer is continuous, so the divergence from a finite set of rows is
            infinite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.zeros((4, 3)))  # 16 equal states
        >>> rows = hm.bars_and_stripes(2, distinct=True)
        >>> round(hm.exact_kl(rbm, rows), 3)  # log(16 / 6)
        0.981
    """
    if rbm.visible.n_states is None:
        raise InputError(
            f"KL: expected a discrete visible layer; got {rbm.visible}, which is continuous, so KL"
            " from a finite set of rows is infinite."
        )
    if is_conditional(rbm.visible):
        raise InputError(
            f"KL: expected a model of whole rows; got {rbm.visible}, which models its targets given"
            " the other units; see log_likelihood."
        )
    array = rbm.visible.validate(rows)
    states, index = np.unique(array, axis=0, return_inverse=True)
    q = np.bincount(index.ravel(), _fractions(weights, len(array)), minlength=len(states))
    states = states[q > 0]
    q = q[q > 0]
    energies = free_energies(rbm, states)
    return float(q @ np.log(q) + q @ energies + Enumerated().estimate(rbm).value)
