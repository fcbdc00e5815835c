"""The results of an evaluation as JSON: numbers by name, or why they are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics.base import Mixing
from ..diagnostics.equilibrium_report import EquilibriumReport
from ..evaluation import ColumnScore
from .figures import Pictures
from .metrics import MIXING_SECONDS, Compared, Mean
from .progress import Unknown
from .sampling import Drawn

NOT_KNOWN = "not_known"


def record(found: Any, write: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Return a block's record, or the reason why there is none under `not_known`."""
    return {NOT_KNOWN: found.reason} if isinstance(found, Unknown) else write(found)


def mean_record(found: Mean) -> dict[str, Any]:
    """Return a mean over rows."""
    return {
        "value": found.value,
        "stderr_rows": found.stderr,
        "rows": found.name,
        "n_rows": found.rows,
    }


def pseudo_likelihood_record(found: Mean, units: int) -> dict[str, Any]:
    """Return the pseudo-log-likelihood of rows and its mean over units."""
    return mean_record(found) | {"per_unit": found.value / units}


def reconstruction_record(found: tuple[Mean, float]) -> dict[str, Any]:
    """Return the reconstruction error and the variance of the same rows."""
    error, variance = found
    return mean_record(error) | {"kind": "mean squared difference", "variance": variance}


def gap_record(found: tuple[Mean, Mean]) -> dict[str, Any]:
    """Return ⟨F⟩ of held-out rows minus ⟨F⟩ of training rows; their errors are independent."""
    learned, held_out = found
    return {
        "value": held_out.value - learned.value,
        "stderr": (held_out.stderr**2 + learned.stderr**2) ** 0.5,
        "rows": held_out.name,
        "n_rows": held_out.rows,
        "learned_from": learned.name,
        "n_learned_from": learned.rows,
    }


def mixing_record(found: Mixing) -> dict[str, Any]:
    """Return the measurement of mixing, without the curves."""
    names = ("relaxation", "resolved", "rhat", "slowest", "met", "two_sided", "sweeps", "chains")
    taus = {name: seen.tau for name, seen in found.observables.items()}
    numbers = {name: getattr(found, name) for name in (*names, "message")}
    return numbers | {"tau": taus, "seconds_allowed": MIXING_SECONDS}


def equilibrium_record(found: EquilibriumReport) -> dict[str, Any]:
    """Return the equilibrium report, with its measurement of mixing, without the curves."""
    numbers = found._asdict()
    measured = numbers.pop("mixing")
    return numbers | {"mixing": None if measured is None else mixing_record(measured)}


def quality_record(found: Compared, drawn: Drawn) -> dict[str, Any]:
    """Return the scores of samples, each beside that of a perfect sampler."""
    scores = [
        score._asdict() | {"z": score.z, "judgement": score.judgement}
        for score in found.quality.scores
    ]
    return {
        "samples": len(drawn.rows),
        "sweeps": drawn.sweeps,
        "sweeps_wanted": drawn.wanted,
        "converged": drawn.converged,
        "message": drawn.message,
        "rows": found.name,
        "n_rows": found.rows,
        "splits": found.quality.splits,
        "scaled": found.scaled,
        "scores": scores,
        "moments": [each._asdict() for each in found.moments],
    }


def pictures_record(found: Pictures) -> dict[str, Any]:
    """Return the paths of the pictures, and why some were left out."""
    return {
        "pictures": [str(path) for path in found.written],
        "pictures_left_out": found.left_out,
    }


def columns_record(found: tuple[list[ColumnScore], str]) -> dict[str, Any]:
    """Return how well each column is predicted from the others."""
    scores, name = found
    return {"rows": name, "columns": [score._asdict() for score in scores]}
