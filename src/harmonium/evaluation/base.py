"""What is said about a machine: results that carry their bounds, their method and their doubts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._numerics import from_numpy
from ..checks import checked_key
from ..data import Dataset
from ..errors import InputError, NotFiniteError
from ..rbm import RBM

CHAINS = 512  # of an annealed estimate, in each direction
TRUSTED_ESS = 10.0
FEWEST_ROWS = 20  # below, the spread of the splits says little
FAR = 3.0  # 0.2 % of 4,200 perfect samplers, for seven kinds of data, had any |z| beyond it
NOTHING = 1e-12  # of a score: rounding errors

_USUAL = ("worse than other rows of data", "nearer than other rows of data: copies?")
_WORDS = {  # above perfect and below
    "AATS": ("can be told from data", "too near to data: copies?"),
    "AA truth": ("data nearer to data than to samples", "data nearer to samples than to data"),
    "AA syn": ("samples nearer to samples than to data", "samples nearer to data than to samples"),
    "privacy loss": (
        "nearer to data than to held-out rows",
        "nearer to held-out rows than to data",
    ),
}


class LogZ(NamedTuple):
    """log Z with an interval.

    Attributes:
        value: the estimate, nats.
        low: lower end of its 95 % interval, nats.
        high: upper end.
        method: how it was found, in words.
        converged: whether the interval can be relied on.
        ess: effective number of the chains that carry the estimate, the smaller of both directions.
        gap: reverse minus forward estimate, nats; 0 where exact.
        message: in English, why it converged or why not.
        forward: log weights of the forward journeys, shape (n,): log of the mean of e^w is the
            one-sided estimate of log Z; None where nothing was annealed.
        reverse: log weights of the journeys back, which estimate −log Z.
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

    def __str__(self) -> str:
        """Say it in a sentence."""
        doubt = "" if self.converged else ", NOT converged"
        return (
            f"log Z = {self.value:.4f} in [{self.low:.4f}, {self.high:.4f}] ({self.method}{doubt})"
        )


class AbstractLogZ(ABC):
    """A way to log Z; its settings are fields, checked when it is made."""

    def is_estimate(self, rbm: RBM) -> bool:
        """Whether the answer for this model is drawn: it then needs a key and a finite Z."""
        return True

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> AbstractLogZ:
        """Return the way that also uses what rows of data tell of the model, if it can."""
        return self

    @abstractmethod
    def found(self, rbm: RBM, key: Any, told: Callable[[float], Any]) -> LogZ:
        """Return log Z with a key that has been checked where there is need of one."""

    def estimate(
        self,
        rbm: RBM,
        *,
        key: PRNGKeyArray | None = None,
        progress: Callable[[float], Any] | None = None,
    ) -> LogZ:
        """Return log Z with its interval.

        Args:
            rbm: the model.
            key: a JAX random key; not needed where `is_estimate` is false.
            progress: called with the part done, from 0 to 1.

        Raises:
            InputError: no key where one is needed, or a model that the way does not fit.
            NotFiniteError: Z is infinite, or parameters are not finite.
        """
        if not self.is_estimate(rbm):
            key = None
        elif key is None:
            raise InputError(
                f"key: log Z of {rbm} is estimated by sampling; pass key=jax.random.key(0)."
            )
        else:
            key = checked_key(key)
        return self.found(rbm, key, progress or (lambda part: None))


class LogLikelihood(NamedTuple):
    """Mean log-likelihood of rows, nats a row, with the interval that log Z leaves open.

    Attributes:
        value: ⟨−F(v)⟩ − log Z.
        low: with log Z at the upper end of its interval.
        high: with log Z at the lower end of its interval.
        method: how log Z was found, and what the rows are if they are no states of the model.
        converged: whether the interval can be relied on.
        stderr_rows: standard error of the mean over rows, which the interval does not hold.
        log_z: the log Z behind it.
    """

    value: float
    low: float
    high: float
    method: str
    converged: bool
    stderr_rows: float
    log_z: LogZ

    def __str__(self) -> str:
        """Say it in a sentence."""
        doubt = "" if self.converged else ", NOT converged"
        return (
            f"log-likelihood = {self.value:.4f} in [{self.low:.4f}, {self.high:.4f}] nats a row,"
            f" ± {self.stderr_rows:.4f} over rows ({self.method}{doubt})"
        )


class Observable(NamedTuple):
    """How fast chains forget one scalar observable.

    Attributes:
        tau: integrated autocorrelation time 1 + 2 Σ_t ρ(t), sweeps: draws for one effective draw.
        ess: effective number of all chains' draws, the smaller of those with and without ranks.
        rhat: split R̂, the larger of those with and without ranks; 1 where chains agree.
        autocorrelation: ρ at the lags of the `Mixing`, with the variance between chains in it, so
            that it stays up where chains do not meet.
    """

    tau: float
    ess: float
    rhat: float
    autocorrelation: np.ndarray


class Mixing(NamedTuple):
    """How fast chains of a machine forget where they began.

    Attributes:
        relaxation: sweeps after which chains keep e^(−2) = 14 % of the slowest observed mode; a
            lower bound where `resolved` is False.
        resolved: whether the run was long enough to say so.
        two_sided: p-value of the test that chains from both sides have one law, Bonferroni over the
            observables.
        met: whether both sides agree by that test.
        observables: each observable that moved, by name.
        lags: of the autocorrelations, sweeps.
        sweeps: length of the run, with the first quarter, which is not counted.
        chains: number of chains.
        unit: what is called sweeps here, in words, where other moves than Gibbs sampling are made.
    """

    relaxation: float
    resolved: bool
    two_sided: float
    met: bool
    observables: dict[str, Observable]
    lags: np.ndarray
    sweeps: int
    chains: int
    unit: str = "sweeps"

    @property
    def slowest(self) -> str:
        """Name of the observable of the largest tau."""
        return max(self.observables, key=lambda name: self.observables[name].tau, default="none")

    @property
    def rhat(self) -> float:
        """The largest R̂."""
        return max((seen.rhat for seen in self.observables.values()), default=float("nan"))

    @property
    def message(self) -> str:
        """Say it in words."""
        run = f"{self.chains} chains × {self.sweeps:,} {self.unit}"
        if not self.observables:
            return f"Not resolved: nothing moved in {run}."
        sides = "both sides agree" if self.met else "the two sides differ"
        details = (
            f"slowest: {self.slowest}; R-hat {self.rhat:.3f}; {sides}, p = {self.two_sided:.2g}"
        )
        if self.resolved:
            return f"Chains forget in {count(self.relaxation)} {self.unit} ({run}; {details})."
        least = f"chains take at least {count(self.relaxation)} {self.unit} to forget"
        return f"Not resolved: {least} ({run}; {details})."

    def __str__(self) -> str:
        """Say it in words."""
        return self.message


def count(number: float) -> str:
    """Write a number of sweeps with two digits at least: "3.2", "45", "1,200"."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


class Score(NamedTuple):
    """One score of samples, and that of other rows of data in their place.

    Attributes:
        name: what it is.
        value: of the samples, mean over the splits.
        error: its standard error: standard deviation over the splits, the samples drawn anew from
            themselves, with replacement, wherever copies do no harm (not in AATS).
        perfect: of a perfect sampler: other rows of data, mean over the splits.
        spread: standard deviation of the latter over the splits.
        rows: rows on each side.
    """

    name: str
    value: float
    error: float
    perfect: float
    spread: float
    rows: int

    @property
    def z(self) -> float:
        """Value less perfect, in units of √(error² + spread²); 0 where both are the same.

        It is cautious: that of perfect samplers has a standard deviation of at most about 1.
        """
        gap = self.value - self.perfect
        if abs(gap) <= NOTHING * max(abs(self.value), abs(self.perfect)):
            return 0.0
        scale = float(np.hypot(self.error, self.spread))
        return gap / scale if scale > NOTHING * abs(gap) else float(np.copysign(np.inf, gap))

    @property
    def verdict(self) -> str:
        """Say in words whether the samples are as good as other rows of data."""
        if self.rows < FEWEST_ROWS:
            return "too few rows to say"
        if abs(self.z) <= FAR:
            return "as other rows of data"
        return _WORDS.get(self.name, _USUAL)[self.z < 0]

    def __str__(self) -> str:
        """Give one line of the table."""
        ours = f"{self.value:.4g} ± {self.error:.2g}"
        perfect = f"{self.perfect:.4g} ± {self.spread:.2g}"
        return f"{self.name:<24} {ours:>20} {perfect:>20} {self.z:>7.1f}  {self.verdict}"


class Quality(NamedTuple):
    """How good samples are against data: scores of which smaller is better, unless said.

    Attributes:
        means: root mean square difference of means.
        covariances: that of covariances of pairs; None where there is no pair.
        triples: that of three-point connected correlations; None where there is no triple.
        spectrum: relative difference of the variances along principal axes, from 0 to 1.
        aats: nearest-neighbour adversarial accuracy; 0.5 is perfect, below are copies.
        aa_truth: its half of data rows; 0.5 is perfect.
        aa_syn: its half of samples; 0.5 is perfect.
        energy: energy distance, in units of the columns; can be negative by chance.
        privacy_loss: AATS of held-out rows less that of data; None without held-out rows.
        splits: random splits of the data.
    """

    means: Score
    covariances: Score | None
    triples: Score | None
    spectrum: Score
    aats: Score
    aa_truth: Score
    aa_syn: Score
    energy: Score
    privacy_loss: Score | None
    splits: int

    @property
    def scores(self) -> list[Score]:
        """All scores that there are."""
        return [score for score in self if isinstance(score, Score)]

    def __str__(self) -> str:
        """Give the table."""
        k = self.means.rows
        head = f"{k:,} samples against {k:,} rows of data; perfect: {k:,} other rows of data"
        columns = f"{'':<24} {'samples':>20} {'perfect':>20} {'z':>7}"
        return "\n".join([f"{head}; {self.splits} splits", columns, *map(str, self.scores)])


def exact_result(value: float, method: str) -> LogZ:
    """Give a log Z that has no error but rounding.

    Raises:
        NotFiniteError: the machine's parameters are not finite, or overflow.
    """
    if not np.isfinite(value):
        raise NotFiniteError(
            f"log Z is {value}: the machine's parameters are not finite or too large."
        )
    return LogZ(value, value, value, method, converged=True)


def likelihood_from(
    free_energies: np.ndarray, log_z: LogZ, note: str = "", weights: np.ndarray | None = None
) -> LogLikelihood:
    """Combine free energies of rows with log Z, whose interval becomes theirs, turned round.

    With weights, the mean over rows is a weighted one and counts for (Σw)²/Σw² rows (Kish 1965).
    """
    share = np.ones(len(free_energies)) if weights is None else np.asarray(weights, np.float64)
    share = share / share.sum()
    energies = np.asarray(free_energies, np.float64)
    mean, worth = -float(share @ energies), 1.0 / float(share @ share)
    spread = float(share @ (energies + mean) ** 2)
    stderr = float(np.sqrt(spread / (worth - 1.0))) if worth > 1.0 else float("nan")
    return LogLikelihood(
        value=mean - log_z.value,
        low=mean - log_z.high,
        high=mean - log_z.low,
        method=log_z.method + note,
        converged=log_z.converged,
        stderr_rows=stderr,
        log_z=log_z,
    )


def over_rows(of_rows: Callable[[RBM, Array], Array], rbm: RBM, rows: Any, most: int) -> np.ndarray:
    """Give one number for each row in the user's coding, at most so many rows at a time.

    The last part is filled up with copies of its first row, and parts of fewer rows are powers of
    two: few sizes, few compilations.

    Args:
        of_rows: from a machine and rows to a number for each, compiled.
        rbm: the machine.
        rows: in the user's coding, shape (n, visible units).
        most: a power of two.

    Raises:
        InputError: rows outside the visible layer's domain.
    """
    array = rbm.visible.validate(rows)
    size = min(most, 2 ** (len(array) - 1).bit_length())
    found = []
    for first in range(0, len(array), size):
        some = array[first : first + size]
        filled = np.concatenate([some, np.repeat(some[:1], size - len(some), axis=0)])
        found.append(np.asarray(of_rows(rbm, from_numpy(filled)))[: len(some)])
    return np.concatenate(found)


def check_positive(**numbers: float) -> None:
    """Raise InputError unless all of these are positive."""
    for name, number in numbers.items():
        if not number > 0:
            raise InputError(f"{name}: expected a positive number; got {number}.")
