"""Draw rows from a model stored in a file or a run folder, and write them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.threefry import fold_in, key_of
from ..data.readers import read_file, read_frame
from ..errors import HarmoniumError, InputError, NotFiniteError
from ..inference.sampling import drawn_rows
from ..io.formats.base import write_whole
from ..io.storage import load
from ..layers.capabilities import is_conditional
from ..rbm import RBM
from ..sequences import Sites
from ..sequences.raw_alignment import FASTA
from ..tables import Columns, Frame
from ..tables.conditions import Conditions
from ..tables.text_format import TextFormat
from ..tables.writing import SUFFIXES as TEXT
from ..tables.writing import plain, text_of
from ..transforms.sharpen import sharpened
from .checks import refuse_misfit
from .folder import RunFolder
from .leftovers import is_run
from .options import AS_DECIDED, TextOptions
from .rows import own_rows, text_format_for
from .sequences import fasta_of, given_rows
from .writing import check_target, write_table

FEWEST_DRAWN = 200  # rows in each set of draws, of which the rows in a range are kept
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".png")


class Draws(NamedTuple):
    """Drawn rows, also as a table or as sequences if the run is on a table or an alignment.

    Attributes:
        rows: the rows in the user's coding.
        table: the rows as a table, or None.
        words: the rows as sequences, or None.
        converged: whether the rows can be relied on.
        message: how the rows were drawn and, if not converged, what is wrong and what to do.
    """

    rows: np.ndarray
    table: Frame | None
    words: list[str] | None
    converged: bool
    message: str

    @property
    def noun(self) -> str:
        """The noun for the draws: rows or sequences."""
        return "rows" if self.words is None else "sequences"

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.rows.shape[1] if self.table is None else len(self.table.names)

    @property
    def values(self) -> Any:
        """The rows in JSON types: sequences, or cells by column name, or numbers."""
        if self.words is not None:
            return self.words
        if self.table is not None:
            return {column.name: plain(column) for column in self.table.columns}
        return self.rows

    def text(self, guard: bool = False) -> Iterator[str]:
        """Yield the rows as FASTA or CSV text; numeric rows come one at a time, to save memory.

        Args:
            guard: whether to write ' before cells that a spreadsheet would run as formulas.
        """
        if self.words is not None:
            yield fasta_of(self.words)
        elif self.table is not None:
            yield text_of(self.table, "rows.csv", guard)
        else:
            for row in self.rows:  # use the fewest digits from which each number is recovered
                yield f"{','.join(map(str, row))}\n"

    def write(self, out: str, run: str, guard: bool = False) -> None:
        """Write the rows in the format of the file's suffix; no file is left half-written.

        Args:
            out: the file to write.
            run: the run, which determines the height and width of a picture.
            guard: whether to write ' before cells that a spreadsheet would run as formulas.
        """
        path = Path(out)
        content = io.BytesIO()
        suffix = path.suffix.lower()
        if self.table is not None:
            write_table(self.table, out, guard)
            return
        if suffix == ".png":
            shape = picture_shape(run, self.rows.shape[1])
            from ..plot import image_grid  # Matplotlib takes a third of a second
            from ..plot.base import save_figure

            save_figure(image_grid(self.rows, image_shape=shape), path)
            return
        if suffix == ".npy":
            np.save(content, self.rows, allow_pickle=False)
        elif suffix == ".npz":
            np.savez_compressed(content, samples=self.rows)
        else:
            content.write("".join(self.text()).encode())
        write_whole(path, content.getvalue())


def draw_rows(
    run: str,
    n: int,
    *,
    sweeps: int | None = None,
    seed: int = 0,
    given: str | None = None,
    beta: int = 1,
    text: TextOptions = AS_DECIDED,
    with_missing: bool = False,
    out: str | None = None,
    overwrite: bool = False,
) -> Draws:
    """Draw rows from a model; the help of `harmonium sample` describes the arguments.

    No file is written; `out` is only checked, before rows are drawn, which may take a long time.

    Raises:
        InputError: an option cannot be used with this run, or `out` cannot be written.
        NotFiniteError: the model's draws overflow.
    """
    folder = RunFolder(run)
    columns = folder.columns()
    sites = folder.sites()
    if out is not None:
        suffixes = SUFFIXES
        if sites is not None:
            suffixes = FASTA
        elif columns is not None:
            suffixes = TEXT
        check_target(f"--out {out}", out, suffixes, overwrite)
    rbm = sharpened(load(run), beta)
    conditions = _Conditions()
    if given is not None:
        read_format = partial(text_format_for, given, run, text)
        conditions = _conditions(given, rbm, columns, sites, read_format)
    if conditions.rows is None and is_conditional(rbm.visible):
        raise InputError(
            "--given: expected a value of each given column, or a file of such rows; got none; name"
            " these values, since the model gives no distribution of the given columns."
        )
    gaps = _gaps_of(run) if with_missing else None

    verdicts: list[tuple[bool, str]] = []

    def drawn(count: int, number: int) -> np.ndarray:
        """Draw `count` rows; the key of the draws depends on `number`."""
        key = key_of(seed) if number == 0 else fold_in(key_of(seed), number)
        draws = drawn_rows(rbm, count, key=key, steps=sweeps, given=conditions.rows)
        verdicts.append((draws.converged, draws.message))
        if np.isfinite(draws.rows).all():
            return draws.rows
        raise NotFiniteError(
            f"{run}: expected a model that draws finite rows; got draws that overflow, since its"
            " parameters are too large; train it again with a lower --lr."
        )

    request = conditions.request
    if columns is not None and request is not None and request.ranges:
        draw_many = partial(drawn, max(n, FEWEST_DRAWN))
        rows, frame = columns.draw(request, draw_many, n, seed=seed)
    else:
        rows = drawn(n, 0)
        frame = None
        if columns is not None:
            frame = columns.decode(rows, seed=seed, known=conditions.cells)
    if gaps is not None:
        missing = _missing_as_in(gaps, len(rows), seed)
        if columns is not None and frame is not None:
            frame = columns.lacking(frame, missing, conditions.cells)
        else:
            rows = np.where(missing, np.nan, rows)
    words = None if sites is None else sites.words(rows)
    converged, message = min(verdicts)  # the worst of several sets of draws
    return Draws(rows, frame, words, converged, message)


class _Conditions(NamedTuple):
    """The conditions on drawn rows: rows with gaps to fill and, for a table, cells and ranges."""

    rows: np.ndarray | None = None
    cells: Frame | None = None
    request: Conditions | None = None


def _conditions(
    given: str,
    rbm: RBM,
    columns: Columns | None,
    sites: Sites | None,
    read_format: Callable[[], TextFormat],
) -> _Conditions:
    """Read `--given`: a file of rows, cells of a table, or letters of a sequence."""
    if sites is not None:
        return _Conditions(given_rows(given, sites))
    if columns is None:
        return _Conditions(read_given(given, rbm, read_format()))
    request = None
    if Path(given).is_file():
        cells = read_frame(given, columns, read_format())
    else:
        request = columns.conditions(given, f"--given {given}")
        cells = request.cells
    rows = None
    if cells.columns:  # there may be only ranges
        rows = columns.encode(cells, f"--given {given}", may_lack=True)
        columns.check_given(rows, f"--given {given}")
    return _Conditions(rows, cells, request)


def _gaps_of(run: str) -> np.ndarray:
    """Return a mask of the values that are missing in the rows of a run's source.

    Raises:
        InputError: `run` is not the folder of a run, or the run's source cannot be read or has no
            missing values.
    """
    if not is_run(run):
        raise InputError(
            f"--with-missing: expected the folder of a run; got {run!r}; name a run folder, or"
            " leave --with-missing out."
        )
    rows = own_rows(RunFolder(run)).parts["train"].rows()
    gaps = np.isnan(rows)
    if not gaps.any():
        raise InputError(
            "--with-missing: expected a run on rows with missing values; got complete rows; leave"
            " --with-missing out."
        )
    return gaps


def _missing_as_in(gaps: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return a mask of values to leave out of drawn rows; it is copied from random source rows.

    In each column, cells are then missing as often as in the source, and in the same combinations.
    The mask does not depend on the values drawn.
    """
    return gaps[np.random.default_rng(seed).integers(len(gaps), size=count)]


def read_given(given: str, rbm: RBM, text_format: TextFormat | None = None) -> np.ndarray:
    """Read rows to complete, with numbers for known values and nan for each value to be drawn.

    Args:
        given: a file.
        rbm: the model.
        text_format: how a text file is read; None to infer the format.

    Raises:
        InputError: the width or the values of the rows are incompatible with the visible units.
    """
    name = f"--given {given}"
    advice = "write nan where a value is to be drawn"
    contents = read_file(given, text_format=text_format)
    array = contents.train
    if contents.frame is not None:
        array = contents.frame.with_gaps()
    if array is None:
        raise InputError(f"{name}: expected rows of numbers; got words; {advice}.")
    if array.dtype.kind not in "biuf" or array.ndim not in (2, 3) or not array.size:
        raise InputError(
            f"{name}: expected rows of numbers; got an array of {array.dtype}, shape"
            f" {array.shape}; {advice}."
        )
    rows = array.reshape(len(array), -1).astype(float)
    refuse_misfit(rows, rbm, name, advice)
    return rows


def picture_shape(run: str, columns: int) -> tuple[int, int] | None:
    """Return the height and width of a picture: as in the source, else of a square, else None."""
    if is_run(run):
        folder = RunFolder(run)
        summary = folder.rows()
        if summary.counts and _is_shape(summary.image_shape, columns):
            return summary.image_shape
        # A folder from an earlier version has no shape, and its source may have been moved.
        with suppress(HarmoniumError):
            return own_rows(folder).image_shape
    width = math.isqrt(columns)
    return (width, width) if width * width == columns else None


def _is_shape(shape: tuple[int, ...] | None, columns: int) -> bool:
    """Return whether a shape is None, or has as many pixels as there are columns."""
    return shape is None or (len(shape) == 2 and math.prod(shape) == columns)
