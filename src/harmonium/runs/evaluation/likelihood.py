"""Compute the first part of an evaluation: log Z, and the log-likelihood of rows."""

from __future__ import annotations

from typing import Any

from ..._base.threefry import key_of
from ...layers.capabilities import n_targets
from ...likelihood.partition_function.base import TRUSTED_ESS, LogZ
from ...likelihood.scoring import LogLikelihood, log_likelihood, log_z
from ..baselines import baselines, verdict
from ..display import nats
from ..failures import NotMeasuredError
from ..final_score import finite_score
from ..summaries import LogZSummary, ScoreSummary
from .base import Line, ReportProgress
from .target import Target

WORDS = {True: "yes", False: "NO", None: "not known"}


def likelihood(
    target: Target, settings: dict[str, Any], progress: ReportProgress
) -> tuple[LogZSummary, ScoreSummary | None]:
    """Return log Z and, if there are rows to score, their log-likelihood.

    Args:
        target: the model and the rows; log Z is stored in it.
        settings: the arguments of `log_z`.
        progress: progress callback.

    Raises:
        NotFiniteError: log Z or the log-likelihood is not finite.
    """
    rbm = target.rbm
    rows = target.scored
    settings = settings | {"key": key_of(target.options.seed), "progress": progress}
    if rows is None:
        estimate: LogZ = finite_score(rbm, lambda: log_z(rbm, **settings))
        target.log_z = estimate
        return LogZSummary.of(estimate), None
    score: LogLikelihood = finite_score(rbm, lambda: log_likelihood(rbm, rows, **settings))
    target.log_z = score.log_z
    simpler = []
    if target.own and "train" in target.parts:
        simpler = baselines(rbm, target.parts["train"], rows, score.value)
    summary = ScoreSummary.of(
        score,
        rows=str(target.name),
        n_rows=len(rows),
        n_units=n_targets(rbm.visible),
        baselines=simpler,
    )
    return LogZSummary.of(score.log_z), summary


def likelihood_lines(score: ScoreSummary | None) -> list[Line]:
    """Return a log-likelihood, and those of simpler models, as lines of the printed table."""
    if score is None:
        return [("log-likelihood", "not known", "no rows; name them as DATA.")]
    warning = "" if score.converged else "; NOT converged: do not quote it"
    lines = [("log-likelihood", f"{nats(score.value, 3)} nats per row", f"mean over rows{warning}")]
    if score.low != score.high:
        interval = f"{nats(score.low, 3)} to {nats(score.high, 3)}"
        lines.append(("  95 % interval", interval, "of this mean, from the error of log Z alone"))
    lines.append(("  per unit", f"{nats(score.per_unit, 4)} nats", "per site, pixel or column"))
    if score.n_rows > 1:
        explanation = "standard error of the mean, due to the choice of rows"
        lines.append(("  over rows", f"± {nats(score.stderr_rows, 3)}", explanation))
    for simpler in score.baselines:
        explanation = f"of {simpler.words}; gain of the model {simpler.difference}"
        lines.append((f"  {simpler.name}", f"{nats(simpler.value, 3)} nats per row", explanation))
    no_better = verdict(score.baselines)
    if no_better:
        lines.append(("  simpler models", "", no_better))
    if score.note:
        lines.append(("  note", "", score.note))
    return lines


def log_z_lines(log_z: LogZSummary) -> list[Line]:
    """Return log Z, with its interval and diagnostics, as lines of the printed table."""
    if log_z.is_zero:
        return []
    lines = [("log Z", f"{nats(log_z.value, 4)} nats", log_z.method)]
    if log_z.low == log_z.high:
        return lines
    lines.append(("  95 % interval", f"{nats(log_z.low, 4)} to {nats(log_z.high, 4)}", ""))
    if log_z.forward_estimate is not None:
        lines += [
            ("  forward alone", nats(log_z.forward_estimate, 4), "biased low"),
            ("  reverse alone", nats(log_z.reverse_estimate, 4), "biased high"),
            ("  gap", nats(log_z.gap, 4), "reverse minus forward"),
            ("  effective chains", f"{log_z.ess:,.0f}", f"{TRUSTED_ESS:g} or more are trusted"),
        ]
    word = WORDS[log_z.converged] if log_z.checked else "unchecked"
    return [*lines, ("  converged", word, log_z.message)]


def annealing_picture(plot: Any, target: Target) -> Any:
    """Plot the log weights of the annealing runs that estimated log Z.

    Raises:
        NotMeasuredError: log Z was not estimated by annealing.
    """
    log_z = target.log_z
    if log_z is None or log_z.forward is None or log_z.reverse is None:
        method = "not known" if log_z is None else log_z.method.split(",")[0]
        raise NotMeasuredError(f"log Z is {method}, so nothing was annealed")
    interval = {"value": log_z.value, "low": log_z.low, "high": log_z.high}
    return plot.annealing_runs(log_z.forward, log_z.reverse, **interval)
