"""The report of a run: one HTML page with its results and an interactive view of its model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._base.processes import by_first
from .._base.threefry import fold_in, key_of
from ..errors import InputError, NotFiniteError, count_of
from ..inference.sampling import drawn_like
from ..io.formats.base import write_whole
from ..io.storage import load
from ..rbm import RBM
from ..report import Rows as Shown
from ..report import page_of, report_content
from ..report.content import baseline
from .display import Display
from .folder import MODEL, REPORT, RunFolder
from .jsonable import jsonable
from .leftovers import is_run
from .rows import Rows, own_rows
from .summaries import Summary
from .train_options import RunConfig

MOST_ROWS = 2_000
UNFINISHED = Summary(status="training", message="the run has not ended")
MOST_ROWS_OF_TREE = 10_000


def report(run: str, out: str | None, display: Display, source: str | None = None) -> Path:
    """Write the report of a run folder, and return its path.

    Args:
        run: the folder.
        out: the file to write; None for report.html of the run.
        display: shows the progress of long computations.
        source: a file of rows named by the user, which replaces the run's own source.

    Raises:
        InputError: the folder is not a run, it has no model yet, or its rows cannot be read.
    """
    folder = RunFolder(run)
    if not is_run(run) or not (folder.path / MODEL).is_file():
        content = "a folder without a model" if folder.path.is_dir() else "no such folder"
        raise InputError(
            f"{run}: expected the folder of a run; got {content}; name one that harmonium train"
            " made."
        )
    display.say(f"drawing samples for the report of {run}")
    return report_with(folder, own_rows(folder, source), out)


def report_with(folder: RunFolder, rows: Rows, out: str | None = None) -> Path:
    """Write the report of a run whose rows have already been read, and return its path.

    Args:
        folder: the folder of the run.
        rows: the run's own rows.
        out: the file to write; None for report.html of the run.

    Raises:
        InputError: a file of the run cannot be read.
    """
    config = folder.config()
    rbm = load(folder.path / MODEL)
    shown = rows_to_show(rows, rbm, fold_in(key_of(config.seed), 2))
    summary = folder.summary()
    if summary is not None and summary.log_likelihood is not None:
        summary.log_likelihood.part_of(rows.parts, folder.path)
    return write_report(folder, content_of_run(folder, config, rows, rbm, shown, summary), out)


def rows_to_show(rows: Rows, rbm: RBM, key: Any) -> Shown:
    """Return rows of data to show, and an equal number of samples of the model."""
    data = rows_of_data(rows, key)
    try:
        drawn = drawn_like(rbm, data, key=key)
    except NotFiniteError:  # the report shows this in place of log Z
        return Shown(data, data[:0])
    doubt = "" if drawn.converged else f"Samples that are shown: {drawn.message}"
    return Shown(data, drawn.rows, doubt)


def rows_of_data(rows: Rows, key: Any) -> np.ndarray:
    """Return rows of data to show: rows of the scored part or, for a table, training rows."""
    name = rows.scored if rows.columns is None else "train"
    return np.asarray(rows.parts[name].some(MOST_ROWS).rows(key=key))


def content_of_run(
    folder: RunFolder,
    config: RunConfig,
    rows: Rows,
    rbm: RBM,
    shown: Shown,
    summary: Summary | None,
) -> dict[str, Any]:
    """Return the contents of a run's report, in JSON types.

    Args:
        folder: the run's folder.
        config: the run's options.
        rows: the rows of the run's source.
        rbm: the run's model.
        shown: the rows of data and the samples to show.
        summary: the summary reported by the command; None for a run that has not ended.
    """
    from .. import __version__

    evaluation = folder.evaluation()
    notes = rows.notes
    if summary is not None and summary.notes:
        notes = summary.notes
    return report_content(
        rbm,
        shown,
        title=f"{rows.name}: an RBM with {count_of(rbm.hidden.n_units, 'hidden unit')}",
        image_shape=rows.image_shape,
        columns=rows.columns,
        sites=rows.sites,
        summary=jsonable(UNFINISHED if summary is None else summary),
        history=jsonable(folder.metrics()),
        evaluation=None if evaluation is None else asdict(evaluation),
        baselines=baselines_of(summary),
        command=config.command,
        about=[rows.about, *notes, *filter(None, [shown.doubt])],
        config={k: v for k, v in jsonable(asdict(config)).items() if k != "folder"},
        versions=f"harmonium {__version__}, JAX {jax.__version__}, on {jax.default_backend()}.",
    )


def baselines_of(summary: Summary | None) -> list[dict[str, Any]]:
    """Return records of the simpler models with which a run's model was compared."""
    if summary is None or summary.log_likelihood is None:
        return []
    return [
        baseline(simpler.name, simpler.words, simpler.value)
        for simpler in summary.log_likelihood.baselines
    ]


def write_report(folder: RunFolder, content: dict[str, Any], out: str | None = None) -> Path:
    """Write the report of a run to `out`, or else into the run's folder; return its path."""
    return Path(_written(folder, content, out))


@by_first
def _written(folder: RunFolder, content: dict[str, Any], out: str | None) -> str:
    path = folder.file(REPORT) if out is None else Path(out)
    write_whole(path, page_of(content, content["title"]).encode())
    return str(path)
