"""Report how `harmonium train` or `harmonium resume` ended, as text or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from .base import DONE, INTERRUPTED, NOT_REACHED, complain, nats, print_json, typed

if TYPE_CHECKING:  # these import JAX
    from ..runs.summaries import LogZSummary, MeanSummary, ScoreSummary, Summary

_STATUSES = {"interrupted": INTERRUPTED, "diverged": NOT_REACHED}


def print_summary(summary: Summary, as_json: bool, show: Any, options: Sequence[str] = ()) -> int:
    """Print the summary of a run, as JSON or as text, and return the exit status.

    Args:
        summary: the summary of the run.
        as_json: whether to print JSON on standard output.
        show: the progress display.
        options: options to suggest for the command that resumes the run.
    """
    from .._base.processes import is_first

    status = _STATUSES.get(summary.status, DONE)
    if not is_first():
        return status
    if as_json:
        print_json(summary)
    if summary.status == "interrupted":
        go_on = typed("resume", summary.run, *options)
        complain(f"{summary.message}; saved in {summary.run}. Continue with: {go_on}")
    elif summary.status == "diverged":
        complain(f"{summary.message} The model is in {summary.model}.")
    elif not as_json:
        for line in _lines_of(summary):
            show.say(line)
    return status


def _lines_of(summary: Summary) -> list[str]:
    """Return lines with the score of a run, its files, and a suggested next command."""
    lines = []
    if summary.log_likelihood is not None:
        lines.append(_score_line(summary.log_likelihood))
        lines.append(_baseline_line(summary.log_likelihood))
    if summary.ensemble is not None:
        lines.append(_mean_line(summary.ensemble.mean))
    if summary.log_z is not None and not summary.log_z.is_zero:
        lines.append(_log_z_line(summary.log_z))
    lines.append(f"model     {summary.model}")
    if summary.report is not None:
        lines.append(f"report    {summary.report}")
    lines.append(f"next      {typed('evaluate', summary.run)}")
    return lines


def _score_line(score: ScoreSummary) -> str:
    """Format a log-likelihood with its interval, its standard error over rows and its method."""
    method = score.method
    if not score.converged:
        method += "; NOT converged: do not quote it"
    interval = f"in [{nats(score.low)}, {nats(score.high)}]"
    if score.stderr_rows is not None and isfinite(score.stderr_rows):
        interval += f", ± {nats(score.stderr_rows)} over rows"
    return f"{score.rows} log-likelihood {nats(score.value)} nats per row, {interval} ({method})"


def _baseline_line(score: ScoreSummary) -> str:
    """Describe how a log-likelihood compares with the log-likelihoods of simpler models."""
    if not score.baselines:
        return "  simpler models have not been scored"
    models = [f"{simpler.name} {nats(simpler.value)}" for simpler in score.baselines]
    best = max(score.baselines, key=lambda simpler: simpler.value)
    return f"  simpler models: {', '.join(models)}; above the best of them {best.difference}"


def _mean_line(mean: MeanSummary) -> str:
    """Format the mean log-likelihood of the models of an ensemble."""
    error = f"± {nats(mean.stderr_models)} (standard error over seeds)"
    return (
        f"  mean of {mean.models} models {nats(mean.value)} {error}; the first model is shown above"
    )


def _log_z_line(log_z: LogZSummary) -> str:
    """Format log Z with its interval and the method that computed it."""
    value, low, high = (nats(number, 4) for number in (log_z.value, log_z.low, log_z.high))
    return f"log Z {value} in [{low}, {high}] ({log_z.method})"
