"""Train a model on a source and write a run folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from .._base.processes import are_several, by_first, in_any
from .._base.sharding import clock
from .._base.signals import Asked
from .._base.threefry import fold_in, key_of
from ..errors import InputError, NotFiniteError
from ..layers.capabilities import n_targets
from ..likelihood.scoring import log_likelihood
from ..rbm import RBM
from ..training import DivergenceWarning, Fit, PoorModelWarning, TrainState
from ..training.cross_validation import will_cross_validate
from ..training.loop import Callback, run_plan
from .baselines import baselines, verdict
from .checkpointing import Checkpointer
from .checkpoints import CHECKPOINTS
from .display import Display
from .ensemble import as_one, learn_together, summary_of_ensemble
from .failures import failure_of
from .final_score import finite_score
from .folder import RunFolder, check_target
from .options import EVALUATION_SEED, check_count
from .origin import check_hashes, config_of
from .prepare import Prepared, prepare
from .report import Shown, content_of_run, rows_of_data, rows_to_show, write_report
from .rows import hashes, remember
from .simpler_start import SimplerCheck, SimplerIsBetterError
from .summaries import DIVERGED, DONE, INTERRUPTED, LogZSummary, ScoreSummary, Summary
from .train_options import RunConfig

if TYPE_CHECKING:  # the server module is slow to import, and few runs are watched
    from .watch import Watch

SECONDS_TO_SCORE = (120.0, 600.0)


class EndedEarly(Exception):  # noqa: N818  (not an error)
    """Raised by a callback to end a run, which is then saved but not scored.

    Attributes:
        status: the status of the run in the summary.
        message: the reason, as a sentence without a full stop.
    """

    def __init__(self, status: str, message: str):
        super().__init__(status, message)
        self.status = status
        self.message = message


def train(
    config: RunConfig,
    out: str | None,
    overwrite: bool,
    display: Display,
    watch: Watch | None = None,
    callbacks: Sequence[Callback] = (),
) -> Summary:
    """Train a model as the options specify; return the summary that the command reports.

    Args:
        config: the options.
        out: the folder of the run; None for a new folder under `runs`.
        overwrite: whether an older run in this folder may be replaced.
        display: where progress is shown.
        watch: shows the run in a browser; None if it is not watched.
        callbacks: further functions that are called with each report; one may raise `EndedEarly`.

    Raises:
        InputError: the options or the source cannot be used; nothing is written.
    """
    if out is not None:
        # Check before reading rows and creating a model, which may take a long time.
        by_first(check_target)(Path(out), overwrite=overwrite)
    asked = replace(config, folder=str(Path.cwd()))
    prepared = prepare(asked)
    state = prepared.start
    with RunFolder.claim(out, prepared.rows.name, overwrite, prepared.config) as folder:
        folder.write_meaning(prepared.rows.columns, prepared.rows.sites)
        remember(folder, prepared.rows)
        return carried_out(asked, prepared, state, folder, display, watch, callbacks)


def resume(
    path: str,
    epochs: int | None,
    display: Display,
    watch: Watch | None = None,
    callbacks: Sequence[Callback] = (),
    source: str | None = None,
) -> Summary:
    """Resume an interrupted run, or train a finished one for more epochs.

    Args:
        path: the folder of the run.
        epochs: the total number of epochs to reach; None for the number in the run's options.
        display: where progress is shown.
        watch: shows the run in a browser; None if it is not watched.
        callbacks: further functions that are called with each report.
        source: a file of rows named by the user, which replaces the run's own source.

    Raises:
        InputError: there is no run to resume, or the run has already made more epochs; nothing is
            changed.
    """
    folder = RunFolder(path)
    if in_any(not folder.checkpoints.exist):
        raise _no_checkpoints(folder)
    config = config_of(folder, source)
    if epochs is not None:
        check_count("--epochs", epochs)
        config = replace(config, epochs=epochs)
    with folder:
        prepared = prepare(config, folder.columns())
        template = prepared.start_with(folder.checkpoints.learned_of_rows)
        state = folder.checkpoints.state(template, prepared.fingerprint, config.source)
        rows = prepared.rows
        if source is None:
            check_hashes(folder, config, hashes(rows), rows.columns is not None)
        updates = int(state.updates)
        _refuse_fewer_epochs(config, prepared, updates)
        config = prepared.config
        folder.write_config(config)
        remember(folder, rows)
        folder.drop_summary()
        folder.keep_metrics_until(updates)
        display.say(f"resuming {path} after {updates:,} updates")
        if folder.checkpoints.whole != folder.checkpoints.last:
            display.say("  the last checkpoint is damaged: continuing from the one before it")
        before = folder.checkpoints.jax_version
        if before != jax.__version__:
            display.say(
                f"  trained with JAX {before} so far, from now on with {jax.__version__}: the last"
                " digits may differ"
            )
        return carried_out(config, prepared, state, folder, display, watch, callbacks)


def carried_out(
    asked: RunConfig,
    prepared: Prepared,
    state: TrainState,
    folder: RunFolder,
    display: Display,
    watch: Watch | None,
    callbacks: Sequence[Callback],
) -> Summary:
    """Carry out a run, and restart it from a simpler model if that model scores better.

    Args:
        asked: the options before defaults were filled in.
        prepared: the run prepared from these options.
        state: the state to start from.
        folder: the run's folder.
        display: where progress is shown.
        watch: shows the run in a browser; None if it is not watched.
        callbacks: further functions that are called with each report.
    """
    config = prepared.config
    check = SimplerCheck(prepared)
    try:
        return carry_out(config, prepared, state, folder, display, watch, callbacks, check)
    except SimplerIsBetterError as better:
        prepared = prepare(replace(asked, **better.options)).with_note(better.note)
    config = prepared.config
    folder.write_config(config)  # so that `resume` continues from the simpler model
    folder.keep_metrics_until(0)  # earlier metrics belong to the abandoned model
    return carry_out(config, prepared, prepared.start, folder, display, watch, callbacks)


def _no_checkpoints(folder: RunFolder) -> InputError:
    content = f"a folder without {CHECKPOINTS}" if folder.path.is_dir() else "no such folder"
    advice = "name a folder that harmonium train made"
    if folder.checkpoints.are_of_orbax:
        content = "checkpoints in parts (Orbax), which versions before 0.1 wrote and read"
        advice = "resume it with the version that made it, or train a new model"
    elif are_several():
        content = "no checkpoints that all processes can see"
        advice += ", on a file system that all processes share"
    return InputError(f"{folder.path}: expected the folder of a run; got {content}; {advice}.")


def _refuse_fewer_epochs(config: RunConfig, prepared: Prepared, updates: int) -> None:
    epochs = updates / config.updates_an_epoch(len(prepared.plan.rows))
    if config.epochs is not None and config.epochs < epochs:
        raise InputError(
            f"--epochs: expected at least the {epochs:g} epochs already made; got"
            f" {config.epochs:,}; give a larger number, or train a new model."
        )


def carry_out(
    config: RunConfig,
    prepared: Prepared,
    state: TrainState,
    folder: RunFolder,
    display: Display,
    watch: Watch | None = None,
    callbacks: Sequence[Callback] = (),
    check: SimplerCheck | None = None,
) -> Summary:
    """Train, save, score and report one run; a run that ends early is saved but not scored.

    Raises:
        SimplerIsBetterError: a simpler model scores better.
    """
    if check is not None:
        callbacks = [*callbacks, check]
    checkpointer = Checkpointer(folder, prepared, state, display.say)
    stage = "interrupted"
    try:
        checkpointer.save()
        for line in prepared.rows.introduction:
            display.say(line)
        how = config.method
        if config.lr is not None:
            how += f" at rate {config.lr:g}"
        several = f"{config.ensemble} models of " if prepared.others else ""
        display.say(f"{several}{prepared.rbm}, {how}, to {folder.path}")
        if will_cross_validate(prepared.plan, prepared.validation, state):
            display.say("cross-validating, since there are few rows")
        if watch is not None:
            rows = rows_of_data(prepared.rows, prepared.key)
            watch.begin(contents(checkpointer, Shown(rows, rows[:0]), None))
        fits = learn(prepared, state, checkpointer, display, watch, callbacks)
        result = as_one(prepared, fits)
        models = []
        if prepared.others:
            models = [fit.rbm for fit in fits]
        checkpointer.keep(result, models)
        stage = "trained, and interrupted while it was scored,"
        summary = finish(prepared, result, checkpointer, display, watch, check)
    except KeyboardInterrupt:  # several processes raise this at the same point
        Asked.number = 0
        checkpointer.save()
        updates = int(checkpointer.state.updates)
        summary = checkpointer.summary(INTERRUPTED, f"{stage} after {updates:,} updates")
    except EndedEarly as ending:
        checkpointer.save()
        summary = checkpointer.summary(ending.status, ending.message)
    folder.write_summary(summary)
    return summary


def learn(
    prepared: Prepared,
    state: TrainState,
    checkpointer: Checkpointer,
    display: Display,
    watch: Watch | None,
    callbacks: Sequence[Callback] = (),
) -> list[Fit]:
    """Train the models of a run, with checkpoints and a progress display; return their fits."""
    called = [checkpointer.convert, checkpointer, display, *callbacks]  # save before showing
    if watch is not None:
        called.append(lambda report: watch.update(report, checkpointer.rbm))
    with display, warnings.catch_warnings():
        for category in (DivergenceWarning, PoorModelWarning):  # the summary reports them
            warnings.simplefilter("ignore", category)
        if prepared.others:
            fits = learn_together(prepared, state, called)
        else:
            result = run_plan(
                prepared.rbm,
                prepared.plan,
                key=prepared.key,
                validation=prepared.validation,
                keep=str(prepared.config.keep),
                callbacks=called,
                state=state,
                track=True,
            )
            fits = [result]
    return [fit._replace(rbm=prepared.restored(fit.rbm)) for fit in fits]


def finish(
    prepared: Prepared,
    result: Fit,
    checkpointer: Checkpointer,
    display: Display,
    watch: Watch | None,
    check: SimplerCheck | None = None,
) -> Summary:
    """Score a run whose training has ended, write its report, and return its summary.

    Raises:
        SimplerIsBetterError: a simpler model scores better.
    """
    summary = checkpointer.summary(DIVERGED if result.diverged else DONE, result.message)
    summary = replace(summary, notes=[*summary.notes, *result.notes])
    if not result.diverged:
        display.say(result.message)
    for note in result.notes:
        display.say(f"  {note}")
    if watch is not None:
        watch.say("trained; computing log Z and drawing samples")
    key = fold_in(prepared.key, 2)
    with ThreadPoolExecutor(1) as aside:  # scoring leaves a core idle for much of the time
        drawing = aside.submit(rows_to_show, prepared.rows, result.rbm, key)
        if are_several():  # processes must compute in the same order
            drawing.result()
        if not result.diverged:
            seconds = seconds_to_score(clock() - checkpointer.began)
            score = partial(final_score, prepared, display=display, seconds=seconds)
            summary = scored(summary, result.rbm, checkpointer, score)
            if check is not None and summary.log_z is not None:
                check.by_held_out(result.rbm, summary.log_z.value)
        # Write results to disk before drawing them, which may fail or take a long time.
        checkpointer.folder.write_summary(summary)
        try:
            return reported(checkpointer, drawing.result(), summary, watch)
        except OSError as error:  # a full disk must not cause the loss of the score
            reason = f"no report: it cannot be written ({error.strerror or error})"
        except Exception as error:
            reason = f"no report: {failure_of(error)}"
    display.say(f"  {reason}")
    return replace(summary, notes=[*summary.notes, reason])


def contents(checkpointer: Checkpointer, shown: Shown, summary: Summary | None) -> dict[str, Any]:
    """Return the contents of a run's report, with the model and metrics reached so far."""
    prepared = checkpointer.prepared
    return content_of_run(
        checkpointer.folder, prepared.config, prepared.rows, checkpointer.rbm, shown, summary
    )


def reported(
    checkpointer: Checkpointer, shown: Shown, summary: Summary, watch: Watch | None
) -> Summary:
    """Write the report of a run; return the summary with the path of the report added.

    Raises:
        OSError: the report cannot be written.
    """
    content = contents(checkpointer, shown, summary)
    if watch is not None:
        watch.end(content)
    return replace(summary, report=str(write_report(checkpointer.folder, content)))


def scored(
    summary: Summary,
    rbm: RBM,
    checkpointer: Checkpointer,
    score: Callable[[RBM], FinalScore],
) -> Summary:
    """Score the model of a run, or all models of an ensemble; return the summary with the scores.

    Args:
        summary: the summary without a score.
        rbm: the model, or the first model of an ensemble.
        checkpointer: the run's checkpointer, which has all models of an ensemble.
        score: a function that scores a model.
    """
    first = score(rbm)
    summary = replace(summary, log_z=first.log_z, log_likelihood=first.log_likelihood)
    if first.log_likelihood is not None:
        no_better = verdict(first.log_likelihood.baselines)
        summary = replace(summary, notes=[*summary.notes, *filter(None, [no_better])])
    scores = [first, *(score(model) for model in checkpointer.models[1:])]
    for of_model in scores:
        if of_model.problem:
            return replace(summary, status=DIVERGED, message=of_model.problem)
    likelihoods = [of_model.log_likelihood for of_model in scores if of_model.log_likelihood]
    if len(likelihoods) > 1:
        ensemble = summary_of_ensemble(checkpointer.folder, likelihoods)
        summary = replace(summary, ensemble=ensemble)
    return summary


def seconds_to_score(learning: float) -> float:
    """Return the time limit for a score: twice the training time, but from 120 to 600 seconds."""
    shortest, longest = SECONDS_TO_SCORE
    return min(longest, max(shortest, 2.0 * learning))


class FinalScore(NamedTuple):
    """The score of a model: log Z and the log-likelihood of rows, or why there is no score."""

    log_z: LogZSummary | None = None
    log_likelihood: ScoreSummary | None = None
    problem: str = ""


def final_score(prepared: Prepared, rbm: RBM, display: Display, seconds: float) -> FinalScore:
    """Return log Z and the log-likelihood of the rows to score, or why there is no score."""
    name, rows = prepared.scored
    # The key does not depend on the run's seed, so all runs are scored on the same binary draws of
    # grey levels, and `harmonium evaluate` returns the same number.
    key = key_of(EVALUATION_SEED)
    progress = display.timer("log Z", seconds)
    estimate = partial(log_likelihood, rbm, rows, key=key, progress=progress, seconds=seconds)
    try:
        score = finite_score(rbm, estimate)
    except NotFiniteError as error:
        return FinalScore(problem=f"diverged: {error}")
    summary = ScoreSummary.of(
        score,
        rows=name,
        n_rows=len(rows),
        n_units=n_targets(rbm.visible),
        baselines=baselines(rbm, prepared.rows.parts["train"], rows, score.value),
    )
    return FinalScore(LogZSummary.of(score.log_z), summary)
