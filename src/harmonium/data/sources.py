"""Sources of data: open a built-in data set or a file as a `Table`."""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, input_error
from ..layers.registry import Registered, registered_layers
from ..sequences import (
    Sites,
    file_and_family,
    is_alignment,
    named_as_alignment,
    read_alignment,
    read_sequences,
)
from ..sequences.alignment import IDENTITY
from ..tables import Columns, Frame, columns_from
from ..tables.frames import frame_of_array
from ..tables.text_format import TextFormat
from ..tables.unmodelled import LeftOut
from .builtin import BUILTIN, builtin
from .coding import AUTO, as_table
from .kinds import Kind
from .ratings import note_on_ratings
from .readers import Contents, is_readable, read_file, stem_of
from .roles import Roles, is_picture, note_on_weights, set_aside, without_dropped
from .table import Table, table_of, table_of_alignment, table_of_sequences

__all__ = ["open_source"]

_FILE_AND_KEY = re.compile(r"(?P<file>.+\.npz):(?P<key>[^/\\]+)", re.IGNORECASE | re.DOTALL)


def open_source(
    source: str,
    *,
    visible: str = AUTO,
    scale: int | float | None = None,
    states: int | None = None,
    seed: int = 0,
    columns: Columns | Mapping[str, Any] | None = None,
    sites: Sites | None = None,
    alphabet: str = "auto",
    identity: float = IDENTITY,
    header: int | str | None = None,
    separator: str | None = None,
    missing: Sequence[str] = (),
    skip: int = 0,
    label: str | None = None,
    weight: str | None = None,
    new_rows: bool = False,
) -> Table:
    r"""Return the rows of a built-in data set or of a file.

    A text or Parquet file with words, dates, missing cells, or numbers of different scales is a
    table: what each column means is decided, and can be told by `columns`. A FASTA, A2M, A3M,
    Stockholm, Clustal or PHYLIP file is an alignment of sequences; so is a text file with one
    aligned sequence in each line.

    The exact name of a built-in set (`digits`, `bars`, `shifter`, `ising`, `mnist`) always means
    that set; to open a file of that name, write it with a folder or a suffix: `./digits`,
    `digits.csv`. `FILE.npz:KEY` chooses one array of an .npz file, `FILE.sto:NAME` one of several
    families of sequences.

    Args:
        source: The name of a built-in set, or a path.
        visible: The type of the visible units, a registered name such as "bernoulli", or "auto".
        scale: The grey level that means 1, for files of other levels than 0 to 255.
        states: The number of states, for Potts units.
        seed: The seed for the configurations of `ising`.
        columns: What the columns of a table mean: those of another table, or a record such as
            `{"columns": [{"name": "age", "kind": "continuous"}]}`; columns that it does not name
            are decided by their cells.
        sites: What the sites of an alignment mean, for sequences to be scored by a model.
        alphabet: The letters of an alignment: see `read_alignment`.
        identity: The fraction of equal sites from which sequences of an alignment count as alike.
        header: The number of the line of a text file that names the columns, as editors count
            lines; "none" if no line does; None to decide it.
        separator: What stands between the cells of a text file: one character, or tab, space (any
            number of blanks), comma or semicolon; None to decide it.
        missing: Further words that mean a missing cell of a text file, such as "unknown".
        skip: The number of lines of a text file to drop at its beginning.
        label: The name of a column of labels, which is set aside; "none" for none. None sets a
            first or last column of pictures aside if its name or its values are those of labels.
        weight: The name of a column that says how often each row counts.
        new_rows: Whether the rows are for a model, so that the columns of labels and weights, and
            those left out, may be missing.

    Raises:
        InputError: There is no such source, or it cannot be used as given; the message is one line.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "pets.csv")
        ...     _ = file.write_text("pet,legs\n" + "cat,4\nparrot,2\n" * 10)
        ...     table = hm.open_source(str(file))
        >>> table.train.shape, [column.kind.value for column in table.columns.columns]
        ((20, 2), ['category', 'discrete'])
    """
    numbers = NumberFormat(visible, scale, states)
    text_format = TextFormat(
        header=header,  # pyright: ignore[reportArgumentType]  (it is checked there)
        separator=separator,
        missing=missing,  # pyright: ignore[reportArgumentType]
        skip=skip,
    )
    roles = Roles(label, weight, _left_out(columns), new_rows)
    if source in BUILTIN and columns is None:
        _refuse_options(source, "a built-in set", text_format, roles)
        return _open_builtin(source, numbers, seed)
    path, key = _path_and_key(source)
    if not source or not os.path.lexists(path):
        raise _no_such_source(source, path)
    # What is said of columns makes a table of a file whose name does not say what it is.
    is_table = columns is not None or label is not None or weight is not None
    if sites is None and not named_as_alignment(path) and (is_table or not is_alignment(path)):
        contents = read_file(path, key, _known(columns), text_format)
        return _table_in(set_aside(contents, roles, source, scale), source, numbers, roles, columns)
    _refuse_options(source, "an alignment", text_format, roles)
    if visible not in (AUTO, Kind.CODES.layer) or scale is not None or states is not None:
        expected = "no kind, scale or states of an alignment"
        raise input_error(source, expected, "one of them", "leave it out: letters are codes")
    name = stem_of(path) if key is None else _name_of_family(path, key)
    if sites is None:
        alignment = read_alignment(source, alphabet=alphabet, identity=identity)
        return table_of_alignment(alignment, name=name)
    raw = read_sequences(source)
    return table_of_sequences(sites.encode(raw, source), sites, name=name, notes=raw.notes)


@dataclass(frozen=True)
class NumberFormat:
    """What a user says of plain numbers; what is left out is decided by the numbers.

    Attributes:
        visible: the type of the visible units that take them, a registered name, or "auto".
        scale: the grey level that means 1, or None.
        states: the number of states of each code, or None.
    """

    visible: str = AUTO
    scale: int | float | None = None
    states: int | None = None

    @property
    def option(self) -> str:
        """The first option that says that there are plain numbers; "" if none does."""
        if self.visible != AUTO:
            return "--visible"
        if self.scale is not None:
            return "--scale"
        return "" if self.states is None else "--states"


def _known(columns: Columns | Mapping[str, Any] | None) -> Frame | None:
    """Return the empty table as whose columns those of a file are read, if they are known."""
    return columns.empty if isinstance(columns, Columns) else None


def _table_in(
    contents: Contents,
    source: str,
    numbers: NumberFormat,
    roles: Roles,
    columns: Columns | Mapping[str, Any] | None,
) -> Table:
    """Return the rows of a file: of named columns, or of plain numbers."""
    if roles.dropped:
        rest = without_dropped(contents, roles, source)
        if roles.may_lack or rest.frame is None or is_picture(rest.frame):
            contents = rest
            columns = None
    has_columns = contents.frame is not None and not is_picture(contents.frame)
    if columns is not None or (has_columns and not numbers.option):
        return _table_of_columns(contents, source, roles, columns)
    if contents.train is None:
        option = numbers.option
        expected = f"complete numbers with {option}"
        advice = f"leave {option} out: columns are then told apart"
        raise input_error(source, expected, "words or missing cells", advice)
    ratings = "" if numbers.option else _ratings_in(contents)
    if ratings:
        advice = "or give them names, to learn them as a table"
        raise input_error(source, "a row for each of what is learned", ratings, advice)
    return as_table(
        contents.train,
        name=contents.name,
        coding=coding_of(numbers.visible),
        scale=numbers.scale,
        states=numbers.states,
        test=contents.test,
        validation=contents.validation,
        labels=contents.labels,
        test_labels=contents.test_labels,
        weights=contents.weights,
        notes=contents.notes,
        source=source,
    )


def _table_of_columns(
    contents: Contents,
    source: str,
    roles: Roles,
    columns: Columns | Mapping[str, Any] | None,
) -> Table:
    """Return the rows of named columns, with hints at what they may be besides."""
    frame = contents.as_frame(source)
    if not isinstance(columns, Columns):
        columns = columns_from(columns or {"columns": []}, frame, source)
    table = table_of(frame, columns, name=contents.name, source=source)
    hints = [note_on_ratings(frame)]
    if not roles.weight:
        hints.append(note_on_weights(frame))
    notes = [f"{contents.name}: {hint}." for hint in hints if hint]
    return replace(
        table,
        notes=(*contents.notes, *table.notes, *notes),
        labels=contents.labels,
        weights=contents.weights,
    )


def _refuse_options(source: str, what: str, text_format: TextFormat, roles: Roles) -> None:
    """Raise InputError for options of tables with a source that is none."""
    if roles.label is not None or roles.weight is not None:
        expected = f"no column of labels or weights with {what}"
        raise input_error(source, expected, "one of them", "leave it out")
    if text_format != TextFormat():
        expected = "no header, separator, missing words or lines to skip"
        raise input_error(source, f"{expected} with {what}", "some", "leave them out")


def _ratings_in(contents: Contents) -> str:
    """Return what whole numbers without names seem to be if they would be refused as levels."""
    rows = contents.train
    if contents.frame is not None or rows is None or rows.dtype.kind not in "iu" or not rows.size:
        return ""
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        return ""
    return note_on_ratings(frame_of_array(np.asarray(rows), ()))


def _left_out(columns: Columns | Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the columns that are left out, if nothing else is said of columns."""
    if not isinstance(columns, Mapping):
        return ()
    entries = columns.get("columns")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return ()  # `columns_from` says what is wrong
    if any(entry.get("kind") != LeftOut.kind or len(entry) != 2 for entry in entries):
        return ()
    return tuple(str(entry.get("name")) for entry in entries)


def _open_builtin(name: str, numbers: NumberFormat, seed: int) -> Table:
    """Return a built-in set, read for another type of visible units if one is named."""
    if numbers.scale is not None:
        expected = "no scale with a built-in set, which has its own"
        scale = f"scale={numbers.scale:g}"
        raise input_error(name, expected, scale, "leave the scale out")
    table = builtin(name, seed=seed)
    if not numbers.option:
        return table
    coding = coding_of(numbers.visible)
    is_grey = table.kind == Kind.GREY
    rows = table.train
    test = table.test
    notes = table.notes[:-1]
    if is_grey and coding == Kind.REAL.coding:
        rows = rows / np.float32(table.scale)
        test = None if test is None else test / np.float32(table.scale)
        notes = (*notes, f"{name}: grey levels divided by {table.scale:g}.")
    return as_table(
        rows,
        name=name,
        coding=coding,
        scale=table.scale if is_grey and coding == table.kind.coding else None,
        states=numbers.states,
        test=test,
        labels=table.labels,
        test_labels=table.test_labels,
        image_shape=table.image_shape,
        exhaustive=table.exhaustive,
        notes=notes,
    )


def _path_and_key(source: str) -> tuple[Path, str | None]:
    """Split FILE.npz:KEY and FILE.sto:FAMILY, unless a file has that very name."""
    match = _FILE_AND_KEY.fullmatch(source)
    if match is None or os.path.lexists(source):
        return file_and_family(source)
    return Path(match["file"]), match["key"]


def _name_of_family(path: Path, family: str) -> str:
    """Return a name that tells the families of a file apart, and can be that of a run's folder."""
    return re.sub(r"[^\w.-]+", "-", f"{stem_of(path)}-{family}").strip("-")


def _no_such_source(source: str, path: Path) -> InputError:
    """Return the error that lists the built-in sets and suggests similar names."""
    names = [*BUILTIN, *_readable_names(path.parent)]
    close = difflib.get_close_matches(path.name.lower(), [name.lower() for name in names], n=3)
    meant = [repr(name) for name in names if name.lower() in close]
    advice = f"perhaps you mean {' or '.join(meant)}" if meant else "check the spelling"
    expected = f"a built-in set ({', '.join(BUILTIN)}) or a file"
    return input_error(source or "the source", expected, "no such file", advice)


def _readable_names(folder: Path) -> list[str]:
    """Return the names of the files in a folder with a known suffix; none if it is unreadable."""
    try:
        return sorted(
            file.name for file in folder.iterdir() if is_readable(file) or named_as_alignment(file)
        )
    except OSError:
        return []


def coding_of(visible: str) -> str:
    """Return how rows are read for units of this name."""
    return AUTO if visible == AUTO else named_units("--visible", visible, AUTO).rows


def named_units(option: str, name: str, *others: str) -> Registered:
    """Return the registry entry of the layer type that an option names.

    Raises:
        InputError: there is no layer type of this name.
    """
    rows = {row.name: row for row in registered_layers()}
    if name not in rows:
        expected = f"one of {', '.join((*others, *rows))}"
        raise input_error(option, expected, repr(name), "choose one of them")
    return rows[name]
