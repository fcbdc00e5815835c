"""Sources of data: open a built-in data set or a file as a `Table`."""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from ..tables import Columns, columns_from
from ..tables.frames import frame_of_array
from ..tables.left_out import LeftOut
from ..tables.text_format import TextFormat
from .builtin import BUILTIN, builtin
from .coding import as_table
from .frames import frame_in
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
    visible: str = "auto",
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
        >>> table.train.shape, [column.kind for column in table.columns.columns]
        ((20, 2), ['category', 'discrete'])
    """
    text_format = TextFormat(
        header=header,  # pyright: ignore[reportArgumentType]  (it is checked there)
        separator=separator,
        missing=tuple(missing) if not isinstance(missing, str) else (missing,),
        skip=skip,
    )
    if source in BUILTIN and columns is None:
        _refuse_options(source, "a built-in set", text_format, label, weight)
        return _open_builtin(source, visible, scale, states, seed)
    path, key = _path_and_key(source)
    if not source or not os.path.lexists(path):
        raise _no_such_source(source, path)
    # What is told of columns makes a table of a file whose name does not say what it is.
    is_told = columns is not None or label is not None or weight is not None
    holds_sequences = named_as_alignment(path) or (not is_told and is_alignment(path))
    if sites is not None or holds_sequences:
        _refuse_options(source, "an alignment", text_format, label, weight)
        if visible not in ("auto", "potts") or scale is not None or states is not None:
            expected, seen = "no kind, scale or states of an alignment", "one of them"
            raise input_error(source, expected, seen, "leave it out: letters are codes")
        name = stem_of(path) if key is None else _name_of_family(path, key)
        if sites is not None:
            raw = read_sequences(source)
            codes = sites.encode(raw, source)
            return table_of_sequences(codes, sites, name=name, notes=raw.notes)
        alignment = read_alignment(source, alphabet=alphabet, identity=identity)
        return table_of_alignment(alignment, name=name)
    known = columns.empty if isinstance(columns, Columns) else None
    roles = Roles(label, weight, _left_out(columns), new_rows)
    found = set_aside(read_file(path, key, known, text_format), roles, source, scale)
    if roles.dropped:
        rest = without_dropped(found, roles, source)
        if new_rows or rest.frame is None or is_picture(rest.frame):
            found = rest
            columns = None
    told = visible != "auto" or scale is not None or states is not None
    if columns is not None or (
        found.frame is not None and not told and not is_picture(found.frame)
    ):
        frame = frame_in(found, source)
        if not isinstance(columns, Columns):
            columns = columns_from(columns or {"columns": []}, frame, source)
        table = table_of(frame, columns, name=found.name, source=source)
        hints = (note_on_ratings(frame), "" if weight else note_on_weights(frame))
        hints = tuple(f"{found.name}: {hint}." for hint in hints if hint)
        notes = (*found.notes, *table.notes, *hints)
        return replace(table, notes=notes, labels=found.labels, weights=found.weights)
    if found.train is None:
        option = (
            "--visible" if visible != "auto" else "--scale" if scale is not None else "--states"
        )
        expected, seen = f"complete numbers with {option}", "words or missing cells"
        raise input_error(
            source, expected, seen, f"leave {option} out: columns are then told apart"
        )
    ratings = "" if told else _ratings_in(found)
    if ratings:
        advice = "or give them names, to learn them as a table"
        raise input_error(source, "a row for each of what is learned", ratings, advice)
    return as_table(
        found.train,
        name=found.name,
        coding=coding_of(visible),
        scale=scale,
        states=states,
        test=found.test,
        validation=found.validation,
        labels=found.labels,
        test_labels=found.test_labels,
        weights=found.weights,
        notes=found.notes,
        source=source,
    )


def _refuse_options(
    source: str, what: str, text_format: TextFormat, label: str | None, weight: str | None
) -> None:
    """Raise InputError for options of tables with a source that is none."""
    if label is not None or weight is not None:
        expected = f"no column of labels or weights with {what}"
        raise input_error(source, expected, "one of them", "leave it out")
    if text_format != TextFormat():
        expected = "no header, separator, missing words or lines to skip"
        raise input_error(source, f"{expected} with {what}", "some", "leave them out")


def _ratings_in(found: Contents) -> str:
    """Return what whole numbers without names seem to be if they would be refused as levels."""
    rows = found.train
    if found.frame is not None or rows is None or rows.dtype.kind not in "iu" or not rows.size:
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


def _open_builtin(
    name: str, visible: str, scale: int | float | None, states: int | None, seed: int
) -> Table:
    """Return a built-in set, read for another type of visible units if one is named."""
    if scale is not None:
        advice = "leave the scale out"
        expected = "no scale with a built-in set, which has its own"
        raise input_error(name, expected, f"scale={scale:g}", advice)
    table = builtin(name, seed=seed)
    if visible == "auto" and states is None:
        return table
    coding = coding_of(visible)
    is_grey = table.kind == Kind.GREY
    rows, test, notes = table.train, table.test, table.notes[:-1]
    if is_grey and coding == Kind.REAL.coding:
        rows = rows / np.float32(table.scale)
        test = None if test is None else test / np.float32(table.scale)
        notes = (*notes, f"{name}: grey levels divided by {table.scale:g}.")
    return as_table(
        rows,
        name=name,
        coding=coding,
        scale=table.scale if is_grey and coding == table.kind.coding else None,
        states=states,
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
    return "auto" if visible == "auto" else named_units("--visible", visible, "auto").rows


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
