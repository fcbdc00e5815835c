"""Draw rows from a model that is stored in a file or a run folder, and write them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from .._threefry import key_of
from ..data.readers import read_file, read_frame
from ..errors import HarmoniumError, NotFiniteError, input_error
from ..io.formats.base import write_whole
from ..io.storage import load
from ..plot import image_grid
from ..plot.base import save_figure
from ..rbm import RBM
from ..sampling import drawn_rows
from ..sharpen import sharpened
from ..tables import Frame
from ..tables.text_format import TextFormat
from ..tables.writing import SUFFIXES as TEXT
from .checks import refuse_misfit
from .folder import CONFIG, RunFolder
from .options import check_count, check_seed, check_target
from .rows import own_rows
from .sequences import check_fasta, given_rows
from .text_formats import text_format_for

FEWEST_DRAWN = 200  # rows in a set of draws, of which those in a range are kept
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".png")


class Draws(NamedTuple):
    """Drawn rows, as a table or as sequences too if the run's rows are such.

    Attributes:
        rows: in the user's coding.
        table: the same as a table, or None.
        words: the same as sequences, or None.
        converged: whether they can be relied on.
        message: a sentence that says so, or what is wrong and what to do.
    """

    rows: np.ndarray
    table: Frame | None
    words: list[str] | None
    converged: bool
    message: str


def draw_rows(
    run: str,
    n: int,
    sweeps: int | None,
    seed: int,
    given: str | None,
    out: str | None,
    overwrite: bool,
    times: int = 1,
    text: Mapping[str, Any] | None = None,
    with_missing: bool = False,
) -> Draws:
    """Draw rows from a model.

    Args:
        run: a run folder or a model.
        n: number of rows to draw; with `given`, for each given row.
        sweeps: Gibbs sweeps of each chain, the first quarter of them annealed; None for exact draws
            where a sum is feasible, and else as many as it takes.
        seed: random seed of the draws.
        given: a file of rows to complete, or for a table cells and ranges of one row such as
            "sex=female,age=30..40", for an alignment letters as "12=A"; None for neither.
        out: file that the rows will be written to.
        overwrite: whether an existing file is replaced.
        times: the inverse temperature of p(v), 1 for the model itself.
        text: how a given text file is read, as `text_format_for` takes it.
        with_missing: whether drawn rows lack cells as often as rows of the run's source.

    Raises:
        InputError: an option cannot be used, or the file exists already.
        NotFiniteError: the model's draws overflow.
    """
    check_count("--count", n)
    if sweeps is not None:
        check_count("--sweeps", sweeps)
    check_seed(seed)
    check_count("--beta", times)
    columns, sites = RunFolder(run).columns(), RunFolder(run).sites()
    if out is not None and sites is not None:
        check_fasta(out, overwrite)
    elif out is not None:
        check_target(f"--out {out}", out, SUFFIXES if columns is None else TEXT, overwrite)
    rbm = sharpened(load(run), times)
    held = known = told = None
    if given is not None and columns is not None:
        if Path(given).is_file():
            known = read_frame(given, columns, text_format_for(given, run, text or {}))
        else:
            told = columns.conditions(given, f"--given {given}")
            known = told.cells
        if known.columns:
            held = columns.encode(known, f"--given {given}", may_lack=True)
    elif given is not None:
        if sites is not None:
            held = given_rows(given, sites)
        else:
            held = read_given(given, rbm, text_format_for(given, run, text or {}))
    gaps = _gaps_of(run) if with_missing else None

    said: list[tuple[bool, str]] = []

    def drawn(count: int, turn: int) -> np.ndarray:
        key = key_of(seed) if turn == 0 else jax.random.fold_in(key_of(seed), turn)
        found = drawn_rows(rbm, count, key=key, steps=sweeps, given=held)
        said.append((found.converged, found.message))
        if np.isfinite(found.rows).all():
            return found.rows
        raise NotFiniteError(
            f"{run}: expected a model that draws finite rows; found draws that overflow."
            " Its parameters are too large: train it anew with a lower --lr."
        )

    if columns is None:
        rows = drawn(n, 0)
        rows = rows if gaps is None else np.where(_chosen(gaps, len(rows), seed), np.nan, rows)
        return Draws(rows, None, None if sites is None else sites.words(rows), *min(said))
    if told is None or not told.ranges:
        rows = drawn(n, 0)
        frame = columns.decode(rows, seed=seed, known=known)
    else:
        drawn_many = partial(drawn, max(n, FEWEST_DRAWN))
        rows, frame = columns.draw(told, drawn_many, n, seed=seed)
    if gaps is not None:
        frame = columns.lacking(frame, _chosen(gaps, len(rows), seed), known)
    return Draws(rows, frame, None, *min(said))


def _gaps_of(run: str) -> np.ndarray:
    """Return which values the rows of a run's source lack.

    Raises:
        InputError: the run is no folder, its source cannot be read, or lacks nothing.
    """
    if not (Path(run) / CONFIG).is_file():
        advice = "leave it out, or name the folder"
        raise input_error("--with-missing", "the folder of a run", repr(run), advice)
    rows = own_rows(RunFolder(run)).parts["train"].rows()
    gaps = np.isnan(rows)
    if not gaps.any():
        expected = "a run on rows with missing values"
        raise input_error("--with-missing", expected, "complete rows", "leave it out")
    return gaps


def _chosen(gaps: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return which values of drawn rows are missing: those of rows of the source, at random.

    So each column lacks as many cells as in the source, and columns lack them together as there;
    what is missing does not depend on the values that are drawn.
    """
    return gaps[np.random.default_rng(seed).integers(len(gaps), size=count)]


def read_given(given: str, rbm: RBM, text_format: TextFormat | None = None) -> np.ndarray:
    """Read rows to complete: numbers, and nan where a value is to be drawn.

    Args:
        given: a file.
        rbm: the model.
        text_format: how a text file is read, as far as it is not decided.

    Raises:
        InputError: the width or the values of the rows do not fit the visible units.
    """
    name, advice = f"--given {given}", "write nan where a value is to be drawn"
    found = read_file(given, text_format=text_format)
    gaps = None if found.frame is None else found.frame.with_gaps()
    if found.frame is not None and gaps is None:
        raise input_error(name, "rows of numbers", "words", advice)
    array: np.ndarray = found.train if gaps is None else gaps
    if array.dtype.kind not in "biuf" or array.ndim not in (2, 3) or not array.size:
        expected, found = "rows of numbers", f"an array of {array.dtype}, shape {array.shape}"
        raise input_error(name, expected, found, advice)
    rows = array.reshape(len(array), -1).astype(float)
    refuse_misfit(rows, rbm, name, advice)
    return rows


def write_rows(rows: np.ndarray, out: str, run: str) -> None:
    """Write rows in the format that the suffix names, whole or not at all."""
    path, content = Path(out), io.BytesIO()
    suffix = path.suffix.lower()
    if suffix == ".png":
        save_figure(image_grid(rows, image_shape=picture_shape(run, rows.shape[1])), path)
        return
    if suffix == ".npy":
        np.save(content, rows, allow_pickle=False)
    elif suffix == ".npz":
        np.savez_compressed(content, samples=rows)
    else:
        content.write("".join(f"{line}\n" for line in csv_lines(rows)).encode())
    write_whole(path, content.getvalue())


def csv_lines(rows: np.ndarray) -> Iterator[str]:
    """Return rows as CSV lines, each number with the fewest digits that read back as the same."""
    for row in rows:
        yield ",".join(map(str, row))


def picture_shape(run: str, columns: int) -> tuple[int, int] | None:
    """Return the shape of a row as a picture: the source's own, else a square where possible."""
    if (Path(run) / CONFIG).is_file():
        try:
            return own_rows(RunFolder(run)).image_shape
        except HarmoniumError:  # the source may have moved since
            pass
    side = round(columns**0.5)
    return (side, side) if side * side == columns else None
