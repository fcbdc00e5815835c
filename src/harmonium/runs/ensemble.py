"""Runs of several models from successive seeds, which are trained side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import Any

import jax.numpy as jnp

from ..rbm import RBM
from ..training import Fit, Report, TrainState
from ..training.ensemble import run_ensemble
from ..training.loop import Callback
from ..training.recorder import Judge, Recorder
from ..training.start import continued
from .folder import RunFolder
from .prepare import Prepared


def learn_together(
    prepared: Prepared, state: TrainState, callbacks: Sequence[Callback]
) -> list[Fit]:
    """Make the updates of all models of a run; return the fit of each.

    Args:
        prepared: the parts of the run.
        state: the state to go on from.
        callbacks: are called with the first model, the state of all and the means of metrics.
    """

    def called(report: Report) -> bool:
        models: Any = report.rbm
        states: Any = report.state
        of_run = report._replace(rbm=models[0], state=prepared.joined(states))
        stops = [callback(of_run) is True for callback in callbacks]
        return any(stops)

    plan = prepared.plan
    keep = str(prepared.config.keep)
    states = [
        continued(each, one.rbm, plan, key=one.key)
        for each, one in zip(prepared.separate(state), prepared.models, strict=True)
    ]
    recorders = [
        Recorder(
            one.plan,
            Judge(one.rbm, one.plan.rows, prepared.validation, one.plan.prior),
            keep=keep,
            track=True,
            key=one.key,
        )
        for one in prepared.models
    ]
    keys = jnp.stack([one.key for one in prepared.models])
    return run_ensemble(plan, states, keys=keys, callbacks=[called], recorders=recorders)


def as_one(prepared: Prepared, fits: Sequence[Fit]) -> Fit:
    """Return the fit of a run: that of its first model, with the state of all.

    It has diverged where one of them has.
    """
    ended = next((fit for fit in fits if fit.diverged), fits[0])
    state = prepared.joined([fit.state for fit in fits])
    return fits[0]._replace(state=state, message=ended.message, diverged=ended.diverged)


def scored_together(
    folder: RunFolder,
    models: Sequence[RBM],
    summary: dict[str, Any],
    score: Callable[[RBM], dict[str, Any]],
) -> dict[str, Any]:
    """Return what the summary of a run says of all its models; nothing of a run of one.

    Args:
        folder: the run.
        models: its models, if they are several.
        summary: the summary with the score of the first.
        score: returns what the summary says of the score of another.
    """
    if not models or summary["log_likelihood"] is None:
        return {}
    scores = [summary["log_likelihood"]]
    for rbm in models[1:]:
        found = score(rbm)
        if "log_likelihood" not in found:  # it has diverged
            return found
        scores.append(found["log_likelihood"])
    files = [str(folder.model(number)) for number in range(len(models))]
    return {"ensemble": {"models": files, "log_likelihoods": scores, "mean": mean_of(scores)}}


def mean_of(scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of the log-likelihoods of models, and its standard error over models."""
    values = [score["value"] for score in scores]
    return {
        "value": fmean(values),
        "stderr_models": stdev(values) / len(values) ** 0.5,
        "models": len(values),
        "converged": all(score["converged"] for score in scores),
        "rows": scores[0]["rows"],
    }
