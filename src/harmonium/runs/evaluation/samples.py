"""Compare samples of a model with rows of data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...evaluation import (
    MomentAgreement,
    Quality,
    Score,
    moment_agreement,
    sample_quality,
)
from ...evaluation.moments import states_of
from ...inference.sampling import DrawnRows, drawn_like
from ...likelihood.scoring import free_energies
from ..failures import NotMeasuredError
from .base import (
    MOST_ROWS,
    NO_ROWS,
    AbstractBlock,
    Line,
    ReportProgress,
    figures,
    row_noun,
)
from .target import Target

SAMPLES = 1_000


def _both(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Return samples, and the training rows or, if those are unknown, the rows to score."""
    if target.samples is None or target.name is None:
        raise NotMeasuredError(NO_ROWS if target.name is None else "there are no samples")
    names = target.learned_and_held_out or (target.name, None)
    return target.samples.rows, target.rows(names[0], MOST_ROWS)


def _energies(plot: Any, target: Target) -> Any:
    samples, data = _both(target)
    return plot.energies(free_energies(target.rbm, data), free_energies(target.rbm, samples))


def _pca(plot: Any, target: Target) -> Any:
    return plot.pca_plane(*_both(target), states=states_of(target.rbm.visible))


def _means(plot: Any, target: Target) -> Any:
    return plot.means(*_both(target), states=states_of(target.rbm.visible))


@dataclass(frozen=True)
class SampleQuality(AbstractBlock):
    """Scores of samples from the model, each compared with the score of a perfect sampler.

    Attributes:
        drawn: the samples.
        quality: the scores of the samples.
        moments: the agreement of moments between samples and held-out rows or, if no rows are
            held out, the rows named `rows`.
        rows: the name of the rows with which the samples are compared.
        n_rows: the number of these rows.
        scaled: whether columns were divided by their standard deviations.
    """

    name = "sample_quality"
    title = "sample quality"
    stage = "samples"
    is_slow = True
    pictures = (("energies", _energies), ("pca", _pca), ("means", _means))

    drawn: DrawnRows
    quality: Quality
    moments: list[MomentAgreement]
    rows: str
    n_rows: int
    scaled: bool

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> SampleQuality:
        """Draw samples; compare them with the training rows or, if unknown, with the scored rows.

        Raises:
            NotMeasuredError: there are no rows, or values of the samples are not finite.
        """
        if target.name is None:
            raise NotMeasuredError(NO_ROWS)
        rbm = target.rbm
        rows = target.rows(target.name, SAMPLES)
        rows = rows[np.arange(SAMPLES) * len(rows) // SAMPLES]
        drawn = drawn_like(rbm, np.asarray(rows), key=target.key_of(3))
        if not np.isfinite(drawn.rows).all():
            raise NotMeasuredError("the model's draws overflow, since its parameters are too large")
        target.samples = drawn
        learned, held_out = target.learned_and_held_out or (target.name, None)
        data = target.rows(learned, MOST_ROWS)
        states = states_of(rbm.visible)
        scale = _scale(data, np.array(states), is_discrete=rbm.visible.n_states is not None)
        data = data / scale
        samples = drawn.rows / scale
        others = None if held_out is None else target.rows(held_out, MOST_ROWS) / scale
        quality = sample_quality(
            samples, data, states=states, held_out=others, seed=target.options.seed
        )
        if others is None:
            moments = moment_agreement(samples, data, states=states)
        else:
            moments = moment_agreement(samples, others, states=states, others=data)
        is_scaled = bool((scale != 1.0).any())
        return cls(drawn, quality, moments, learned, len(data), is_scaled)

    def to_json(self) -> dict[str, Any]:
        scores = [
            score._asdict() | {"z": score.z, "judgement": score.judgement}
            for score in self.quality.scores
        ]
        return {
            "samples": len(self.drawn.rows),
            "converged": self.drawn.converged,
            "message": self.drawn.message,
            "rows": self.rows,
            "n_rows": self.n_rows,
            "splits": self.quality.splits,
            "scaled": self.scaled,
            "scores": scores,
            "moments": [moment._asdict() for moment in self.moments],
        }

    def lines(self) -> list[Line]:
        explanation = f"against {self.quality.means.rows:,} {row_noun(self.rows)}s"
        if not self.drawn.converged:
            explanation += "; chains NOT converged"
        if self.scaled:
            explanation += "; columns in standard deviations"
        comparison = "of other rows of data; slope of samples"
        return [
            ("sample quality", f"{len(self.drawn.rows):,} samples", explanation),
            ("  score", "samples", "perfect sampler: other rows of data"),
            *map(_line_of_score, self.quality.scores),
            ("  moments of samples, Pearson", "with data", comparison),
            *map(_line_of_moment, self.moments),
        ]


def _scale(data: np.ndarray, states: np.ndarray, *, is_discrete: bool) -> np.ndarray:
    """Return the scale of each column: its standard deviation if it is real-valued, else 1."""
    if is_discrete:
        return np.ones(data.shape[1])
    deviations = data.std(axis=0)
    return np.where((states == 1) & (deviations > 0), deviations, 1.0)


def _line_of_score(score: Score) -> Line:
    value = f"{figures(score.value)} ± {figures(score.error, 2)}"
    perfect = f"{figures(score.perfect)} ± {figures(score.spread, 2)}"
    remark = "" if score.is_as_data else f": {score.judgement}"
    return f"  {score.name}", value, perfect + remark


def _line_of_moment(moment: MomentAgreement) -> Line:
    others = "" if moment.others is None else f"{figures(moment.others)}; "
    return f"  {moment.name}", figures(moment.samples), f"{others}slope {figures(moment.slope)}"
