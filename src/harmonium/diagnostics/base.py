"""Results of a mixing measurement, for each observable and for all observables together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Observable(NamedTuple):
    """How well chains mix, as measured by one scalar observable.

    Attributes:
        tau: integrated autocorrelation time 1 + 2 Σ_t ρ(t), in sweeps: the number of sweeps
            that estimate a mean as precisely as one independent draw.
        ess: effective sample size of all chains, the smaller of the values with and without ranks.
        rhat: split R̂, the larger of the values with and without ranks; 1 if the chains agree.
        autocorrelation: ρ(t) at the lags t in `Mixing.lags`. ρ includes the variance between
            chains, so it does not decay to 0 if the chains disagree.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> mixing = hm.mixing(rbm, key=jax.random.key(0), sweeps=1_024)
        >>> observable = mixing.observables["free_energy"]
        >>> observable.tau < 2, observable.ess > 10_000
        (True, True)
    """

    tau: float
    ess: float
    rhat: float
    autocorrelation: np.ndarray


class Mixing(NamedTuple):
    """Results of a measurement of how fast the chains of a model mix.

    Attributes:
        relaxation: relaxation time, the number of sweeps after which e^(−2) = 14 % of the slowest
            observed mode remains; a lower bound if `resolved` is False.
        resolved: whether the run was long enough to measure the relaxation time reliably.
        two_sided: p-value of a test of whether chains from the two kinds of starts (see `mixing`)
            have the same distribution, with a Bonferroni correction over the observables.
        met: whether the chains from both kinds of starts agree according to this test.
        observables: results for each observable that varied during the run, by name.
        lags: lags of the autocorrelations, in sweeps.
        sweeps: length of the run, including the first quarter, which is discarded.
        chains: number of chains.
        unit: the unit in which `sweeps`, `lags` and times are counted: "sweeps", or the steps of
            another sampler.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> mixing = hm.mixing(rbm, key=jax.random.key(0), sweeps=1_024)
        >>> mixing.chains, mixing.sweeps, mixing.rhat < 1.01
        (64, 1024, True)
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
        """The name of the observable with the largest tau."""
        return max(self.observables, key=lambda name: self.observables[name].tau, default="none")

    @property
    def rhat(self) -> float:
        """The largest R̂ of all observables."""
        rhats = (observable.rhat for observable in self.observables.values())
        return max(rhats, default=float("nan"))

    @property
    def message(self) -> str:
        """A one-line summary."""
        run = f"{self.chains} chains × {self.sweeps:,} {self.unit}"
        if not self.observables:
            return f"Not resolved: nothing moved in {run}."
        starts = "chains from the two starts differ"
        if self.met:
            starts = "chains from both starts agree"
        details = (
            f"{run}; slowest: {self.slowest}; R-hat {self.rhat:.3f}; {starts},"
            f" p = {self.two_sided:.2g}"
        )
        time = f"{count(self.relaxation)} {self.unit}"
        if self.resolved:
            return f"The relaxation time is {time} ({details})."
        return f"Not resolved: the relaxation time is at least {time} ({details})."

    def __str__(self) -> str:
        """Return the message."""
        return self.message


def count(number: float) -> str:
    """Format a number of sweeps with at least two digits: "3.2", "45", "1,200"."""
    if number >= 10:
        return f"{number:,.0f}"
    return f"{number:.1f}"
