"""Train several models at the same time, with consecutive seeds, as one run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

import jax.numpy as jnp

from ..training import Fit, Report, TrainState
from ..training.arguments import continued
from ..training.judge import Judge
from ..training.loop import Callback, run_ensemble
from ..training.recorder import Recorder
from .folder import RunFolder
from .prepare import Prepared
from .summaries import EnsembleSummary, MeanSummary, ScoreSummary


def learn_together(
    prepared: Prepared, state: TrainState, callbacks: Sequence[Callback]
) -> list[Fit]:
    """Train all models of a run together; return the fit of each.

    Args:
        prepared: the parts of the run.
        state: the state to continue from.
        callbacks: functions called with reports that contain the first model, the joint state of
            all models, and the means of the metrics.
    """

    def called(report: Report) -> bool:
        models: Any = report.rbm
        states: Any = report.state
        # One joint state has one checkpoint, so all models of a killed run resume together.
        of_run = report._replace(rbm=models[0], state=prepared.joined(states))
        stops = [callback(of_run) is True for callback in callbacks]
        return any(stops)

    plan = prepared.plan
    keep = str(prepared.config.keep)
    states = [
        continued(own, model.rbm, plan, key=model.key)
        for own, model in zip(prepared.separate(state), prepared.models, strict=True)
    ]
    recorders = [
        Recorder(
            model.plan,
            Judge(model.rbm, model.plan.rows, prepared.validation, model.plan.auto_strength),
            keep=keep,
            track=True,
            key=model.key,
        )
        for model in prepared.models
    ]
    keys = jnp.stack([model.key for model in prepared.models])
    return run_ensemble(plan, states, keys=keys, callbacks=[called], recorders=recorders)


def as_one(prepared: Prepared, fits: Sequence[Fit]) -> Fit:
    """Return the fit of a run: the fit of its first model, but with the state of all models.

    The run counts as diverged if any of its models has diverged.
    """
    ended = next((fit for fit in fits if fit.diverged), fits[0])
    state = prepared.joined([fit.state for fit in fits])
    return fits[0]._replace(state=state, message=ended.message, diverged=ended.diverged)


def summary_of_ensemble(folder: RunFolder, scores: list[ScoreSummary]) -> EnsembleSummary:
    """Return the summary of an ensemble from the log-likelihoods of its models."""
    files = [str(folder.model(number)) for number in range(len(scores))]
    return EnsembleSummary(models=files, log_likelihoods=scores, mean=mean_of(scores))


def mean_of(scores: Sequence[ScoreSummary]) -> MeanSummary:
    """Return the mean of the models' log-likelihoods, and the standard error over models."""
    values = [score.value for score in scores]
    return MeanSummary(
        value=fmean(values),
        stderr_models=stdev(values) / len(values) ** 0.5,
        models=len(values),
        converged=all(score.converged for score in scores),
        rows=scores[0].rows,
    )
