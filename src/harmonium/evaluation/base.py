"""Results of `sample_quality`: single scores, and the table of all scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FEWEST_ROWS = 20  # with fewer rows, the spread over splits is unreliable
FAR = 3.0  # some |z| was larger for 0.2 % of 4,200 perfect samplers on seven types of data
ROUNDING = 1e-12  # relative to a score

# Words for scores above and below a perfect sampler's score.
_USUAL = ("worse than other rows of data", "nearer than other rows of data: copies?")
_WORDS = {
    "AATS": ("distinguishable from data", "too near to data: copies?"),
    "AA truth": ("data nearer to data than to samples", "data nearer to samples than to data"),
    "AA syn": ("samples nearer to samples than to data", "samples nearer to data than to samples"),
    "privacy loss": (
        "nearer to data than to held-out rows",
        "nearer to held-out rows than to data",
    ),
}


class Score(NamedTuple):
    """One score of samples and, as a reference, the same score of other rows of data.

    Attributes:
        name: the name of the score.
        value: the score of the samples, averaged over the splits.
        error: the standard error of `value`, estimated by the standard deviation over the splits.
            The samples are redrawn with replacement in each split, except for the scores based on
            nearest neighbours, which repeated rows would change.
        perfect: the score of other rows of data (a perfect sampler), averaged over the splits.
        spread: standard deviation of the perfect sampler's score over the splits.
        rows: number of rows in each of the two sets that are compared.

    Example:
        >>> data = np.random.default_rng(0).integers(0, 2, (400, 4))
        >>> score = hm.sample_quality(data[:100], data[100:]).aats
        >>> score.rows, abs(score.z) < 3, score.judgement
        (100, True, 'as other rows of data')
    """

    name: str
    value: float
    error: float
    perfect: float
    spread: float
    rows: int

    @property
    def z(self) -> float:
        """The difference value − perfect divided by √(error² + spread²); 0 if the scores are equal.

        This z is conservative: for perfect samplers its standard deviation is at most about 1.
        """
        difference = self.value - self.perfect
        if abs(difference) <= ROUNDING * max(abs(self.value), abs(self.perfect)):
            return 0.0
        error = float(np.hypot(self.error, self.spread))
        if error <= ROUNDING * abs(difference):
            return float(np.copysign(np.inf, difference))
        return difference / error

    @property
    def is_as_data(self) -> bool:
        """Whether the samples score like other rows of data: |z| ≤ 3, with 20 or more rows."""
        return self.rows >= FEWEST_ROWS and abs(self.z) <= FAR

    @property
    def judgement(self) -> str:
        """A phrase that compares the samples with other rows of data."""
        if self.rows < FEWEST_ROWS:
            return "too few rows to say"
        if self.is_as_data:
            return "as other rows of data"
        return _WORDS.get(self.name, _USUAL)[self.z < 0]

    def __str__(self) -> str:
        """Return the line of this score in the table of all scores."""
        ours = f"{self.value:.4g} ± {self.error:.2g}"
        perfect = f"{self.perfect:.4g} ± {self.spread:.2g}"
        return f"{self.name:<24} {ours:>20} {perfect:>20} {self.z:>7.1f}  {self.judgement}"


class Quality(NamedTuple):
    """The quality of samples compared with data; smaller scores are better unless noted.

    Attributes:
        means: root mean square difference of the means of samples and data.
        covariances: root mean square difference of pair covariances; None if there is no pair.
        triples: root mean square difference of three-point connected correlations, or None if
            there is no triple.
        spectrum: relative difference of the variances along principal axes, from 0 to 1.
        aats: nearest-neighbour adversarial accuracy; 0.5 is perfect, smaller values mean copies.
        aa_truth: the part of `aats` that is computed at rows of data; 0.5 is perfect.
        aa_syn: the part of `aats` that is computed at samples; 0.5 is perfect.
        energy: energy distance, in the units of the columns; it can be negative by chance.
        privacy_loss: `aats` against held-out rows minus `aats` against data; None without
            held-out rows.
        splits: number of random splits of the data.

    Example:
        >>> data = np.random.default_rng(0).integers(0, 2, (400, 4))
        >>> quality = hm.sample_quality(data[:100], data[100:])
        >>> len(quality.scores), quality.splits, quality.privacy_loss  # no held-out rows
        (8, 40, None)
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
        """All scores that are not None."""
        return [score for score in self if isinstance(score, Score)]

    def __str__(self) -> str:
        """Return the table of all scores as text."""
        k = self.means.rows
        head = f"{k:,} samples against {k:,} rows of data; perfect: {k:,} other rows of data"
        columns = f"{'':<24} {'samples':>20} {'perfect':>20} {'z':>7}"
        return "\n".join([f"{head}; {self.splits} splits", columns, *map(str, self.scores)])
