"""What an evaluation measures besides the likelihood, one function per block."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..diagnostics.base import Mixing
from ..diagnostics.equilibrium_report import EquilibriumReport, equilibrium
from ..diagnostics.relaxation import mixing
from ..evaluation import (
    ColumnScore,
    MomentAgreement,
    Quality,
    column_scores,
    moment_agreement,
    pseudo_log_likelihoods,
    reconstruction_errors,
    sample_quality,
)
from ..evaluation.moments import states_of
from ..likelihood import free_energies
from .folder import RunFolder
from .origin import config_of
from .prepare import prepare
from .progress import NotMeasuredError, ReportProgress
from .target import Target, is_run

MOST_ROWS = 10_000
MOST_ROWS_PREDICTED = 4_000
PSEUDO_WORK = 2**30  # rows × visible columns × hidden columns: about five seconds on two cores
MOST_ROWS_OF_COLUMNS = 1_000
MIXING_SECONDS, MIXING_SWEEPS = 20.0, 100_000
NO_ROWS = "no rows; name them as DATA"


class Mean(NamedTuple):
    """A mean over rows, its standard error, and the name and number of the rows."""

    value: float
    stderr: float
    name: str
    rows: int


class Compared(NamedTuple):
    """Scores of samples, the rows they are compared with, and whether columns were scaled.

    `moments` compares them with held-out rows if there are any.
    """

    quality: Quality
    name: str
    rows: int
    scaled: bool
    moments: list[MomentAgreement]


def pseudo_likelihood(target: Target) -> Mean:
    """Return the exact pseudo-log-likelihood: the mean over rows of the sum over units.

    Raises:
        NotMeasuredError: there are no rows, or the visible units are not discrete.
    """
    visible, hidden = target.rbm.visible, target.rbm.hidden
    if visible.n_states is None:
        raise NotMeasuredError(f"it needs discrete visible units, and {visible} has others")
    affordable = max(100, PSEUDO_WORK // (visible.size * hidden.size))
    rows = _scored_rows(target, min(MOST_ROWS_PREDICTED, affordable))
    return _mean(pseudo_log_likelihoods(target.rbm, rows), target.name)


def reconstruction(target: Target) -> tuple[Mean, float]:
    """Return the reconstruction error, and the variance of the same rows.

    Raises:
        NotMeasuredError: no rows.
    """
    rows = _scored_rows(target, MOST_ROWS)
    states = np.asarray(target.rbm.visible.encode(rows), np.float64)
    found = reconstruction_errors(target.rbm, rows)
    return _mean(found, target.name), float(states.var(axis=0).mean())


def predicted_columns(target: Target) -> tuple[list[ColumnScore], str]:
    """Return how well each column of a table is predicted from the others, and the rows' name.

    Raises:
        NotMeasuredError: the rows are not those of a table.
    """
    columns = None if target.data is None else target.data.columns
    if columns is None or target.name is None:
        raise NotMeasuredError("the rows are plain numbers, not a table with named columns")
    learned = target.parts.get("train", target.parts[target.name])
    codes = target.parts[target.name].some(MOST_ROWS_OF_COLUMNS).rows()
    others, key = learned.some(MOST_ROWS).rows(), target.key_of(5)
    return column_scores(target.rbm, columns, codes, others, key=key), target.name


def free_energy_gap(target: Target) -> tuple[Mean, Mean]:
    """Return the mean free energies of training rows and of held-out rows.

    Raises:
        NotMeasuredError: training rows or held-out rows are not available.
    """
    names = target.learned_and_held_out
    if names is None:
        reason = "held out" if target.own else "that the model is known to have learned from"
        raise NotMeasuredError(f"there are no rows {reason}")
    found = [free_energies(target.rbm, target.rows(name, MOST_ROWS)) for name in names]
    learned, held_out = (_mean(each, name) for each, name in zip(found, names, strict=True))
    return learned, held_out


def measured_mixing(target: Target, progress: ReportProgress) -> Mixing:
    """Measure how fast chains mix, in sweeps; half of them start at rows if there are any."""
    name = "train" if "train" in target.parts else target.name
    starts = None if name is None else target.parts[name]
    return mixing(
        target.rbm,
        key=target.key_of(1),
        starts=starts,
        sweeps=MIXING_SWEEPS,
        seconds=MIXING_SECONDS,
        progress=progress,
    )


def equilibrium_report(target: Target, progress: ReportProgress) -> EquilibriumReport:
    """Return whether a run trained at equilibrium, from its chains and the model they belong to.

    Raises:
        NotMeasuredError: the target is a model without a run.
        InputError: the run's rows or checkpoint cannot be read.
    """
    if not is_run(target.run):
        raise NotMeasuredError("a model alone does not tell how it was trained; name a run folder")
    folder = RunFolder(target.run)
    config = config_of(folder, target.source)
    prepared = prepare(config, folder.columns())
    state = folder.checkpoints.state(prepared.start, prepared.fingerprint, config.source)
    return equilibrium(
        state.rbm,
        prepared.plan.method.gradient,
        key=target.key_of(2),
        data=prepared.train,
        state=state.gradient,
        sweeps=MIXING_SWEEPS,
        seconds=MIXING_SECONDS,
        progress=progress,
    )


def quality(target: Target, samples: np.ndarray, seed: int) -> Compared:
    """Score samples against the training rows if these are known, else the scored rows.

    If the model has continuous units, columns that do not hold codes are divided by their standard
    deviations, since distances add up columns.
    """
    names = target.learned_and_held_out or (target.name or "", None)
    data = target.rows(names[0], MOST_ROWS)
    held_out = None if names[1] is None else target.rows(names[1], MOST_ROWS)
    states = np.array(states_of(target.rbm.visible))
    scale = np.ones(data.shape[1])
    if target.rbm.visible.n_states is None:
        spread = data.std(axis=0)
        scale = np.where((states == 1) & (spread > 0), spread, 1.0)
    data, samples = data / scale, samples / scale
    held_out = None if held_out is None else held_out / scale
    columns: dict[str, Any] = {"states": states.tolist(), "held_out": held_out, "seed": seed}
    found = sample_quality(samples, data, **columns)
    of_data = {"data": data} if held_out is None else {"data": held_out, "others": data}
    moments = moment_agreement(samples, states=states.tolist(), **of_data)
    return Compared(found, names[0], len(data), bool((scale != 1.0).any()), moments)


def _scored_rows(target: Target, most: int) -> np.ndarray:
    if target.name is None:
        raise NotMeasuredError(NO_ROWS)
    return target.rows(target.name, most)


def _mean(values: np.ndarray, name: str | None) -> Mean:
    n = len(values)
    spread = float(np.std(values, ddof=1, dtype=np.float64)) if n > 1 else math.nan
    return Mean(float(np.mean(values, dtype=np.float64)), spread / math.sqrt(n), str(name), n)
