"""What is said about a model: results that carry their bounds, their method and their warnings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
        """Return one line of the table."""
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
        """Return the table."""
        k = self.means.rows
        head = f"{k:,} samples against {k:,} rows of data; perfect: {k:,} other rows of data"
        columns = f"{'':<24} {'samples':>20} {'perfect':>20} {'z':>7}"
        return "\n".join([f"{head}; {self.splits} splits", columns, *map(str, self.scores)])
