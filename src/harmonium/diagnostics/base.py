"""What is said of chains: how fast each observable is forgotten, and by all together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


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
    """How fast chains of a model forget where they began.

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
