"""Sources of data: open a built-in data set or a file as a `Table`."""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, count_of
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
from ..tables.frames import frame_of_array, numbered_names
from ..tables.series import note_on_steps
from ..tables.text_format import TextFormat
from ..tables.unmodelled import LeftOut
from .builtin import BUILTIN, builtin
from .coding import AUTO, coded
from .kinds import Kind
from .readers import frame_in, is_readable, read_file, stem_of
from .roles import Roles, is_picture, note_on_ratings, note_on_weights, set_aside, without_dropped
from .series import windows
from .table import Table

__all__ = ["open_source"]

BLOCKS_OF_SERIES = 40  # blocks of successive rows of a series, some of which are held out
_FILE_AND_KEY = re.compile(r"(?P<file>.+\.npz):(?P<key>[^/\\]+)", re.IGNORECASE | re.DOTALL)


def open_source(
    source: str | os.PathLike[str],
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
    given: str | Sequence[str] = (),
    past: int = 0,
) -> Table:
    r"""Return the rows of a built-in data set or of a file as a `Table`.

    A text or Parquet file with words, dates, missing cells, or numbers on different scales is read
    as a table, whose column types are inferred or given by `columns`. A FASTA, A2M, A3M, Stockholm,
    Clustal or PHYLIP file, or a text file with one aligned sequence per line, is read as an
    alignment of sequences.

    The exact name of a built-in set (`digits`, `bars`, `shifter`, `ising`, `mnist`) always refers
    to that set; to open a file with that name, add a folder or a suffix: `./digits`, `digits.csv`.
    `FILE.npz:KEY` selects one array in an .npz file, and `FILE.sto:NAME` one of several sequence
    families in a file.

    Args:
        source: The name of a built-in set, or a path.
        visible: The type of the visible units: a registered name such as "bernoulli", or "auto" to
            infer the type.
        scale: The grey level that means 1, for files whose grey levels do not range from 0 to 255.
        states: The number of states, for Potts units.
        seed: The seed for the configurations of `ising`.
        columns: The column types of a table: the columns of another table, or a record such as
            `{"columns": [{"name": "age", "kind": "continuous"}]}`. The types of other columns are
            inferred from their cells.
        sites: The sites of the alignment on which a model was trained, if the source contains
            sequences to be scored by the model.
        alphabet: The alphabet of an alignment: see `read_alignment`.
        identity: The fraction of identical sites at or above which two sequences of an alignment
            count as similar.
        header: The line number, from 1, of the column names in a text file; "none" if there are no
            names; None to detect it.
        separator: The separator between the cells of a text file: one character, or tab, space (any
            number of blanks), comma or semicolon; None to detect it.
        missing: Additional words that mark missing cells in a text file, such as "unknown".
        skip: The number of lines to skip at the beginning of a text file.
        label: The name of a column of labels, which is not learned; "none" if there is none. With
            None, the first or last column of pictures is treated as labels if its name or values
            look like labels.
        weight: The name of a column that contains the weight (count) of each row.
        new_rows: Whether the rows are new rows for an existing model, so that columns of labels and
            weights, and columns left out, may be missing.
        given: The names of columns that are given in every row; the model is conditional on them.
        past: For a series, the number of earlier rows that are given in every row: each row of the
            table gets their cells as columns, and the first `past` rows are left out.

    Raises:
        InputError: The source does not exist, or is incompatible with the options.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "pets.csv")
        ...     _ = file.write_text("pet,legs\n" + "cat,4\nparrot,2\n" * 10)
        ...     table = hm.open_source(str(file))
        >>> table.train.shape, [column.kind.value for column in table.columns.columns]
        ((20, 2), ['category', 'discrete'])
    """
    source = os.fspath(source)
    numbers = NumberFormat(visible, scale, states)
    text_format = TextFormat(
        header=header,  # pyright: ignore[reportArgumentType]  (`TextFormat` checks it)
        separator=separator,
        missing=missing,  # pyright: ignore[reportArgumentType]
        skip=skip,
    )
    if not isinstance(past, int) or past < 0:
        raise InputError(f"past: expected a number of rows, 0 or more; got {past!r}.")
    roles = Roles(label, weight, _left_out(columns), new_rows, _names(given), past)
    if source in BUILTIN and columns is None:
        _refuse_options(source, "a built-in set", text_format, roles)
        return _open_builtin(source, numbers, seed)
    path, key = _path_and_key(source)
    if not source or not os.path.lexists(path):
        raise _no_such_source(source, path)
    # With column options, a file whose name does not determine its type is read as a table.
    is_table = columns is not None or label is not None or weight is not None
    if sites is None and not named_as_alignment(path) and (is_table or not is_alignment(path)):
        known = None
        if isinstance(columns, Columns):
            known = columns.empty
        table = set_aside(read_file(path, key, known, text_format), roles, source, scale)
        return _decided(table, source, numbers, roles, columns)
    _refuse_options(source, "an alignment", text_format, roles)
    if visible not in (AUTO, Kind.CODES.layer) or scale is not None or states is not None:
        raise InputError(
            f"{source}: expected an alignment without --visible, --scale or --states; got one of"
            " these options; leave it out, since the letters determine the codes."
        )
    name = stem_of(path)
    if key is not None:  # the name becomes part of the name of a run folder
        name = re.sub(r"[^\w.-]+", "-", f"{name}-{key}").strip("-")
    return _of_alignment(source, name, sites, alphabet, identity)


@dataclass(frozen=True)
class NumberFormat:
    """The user's options for plain numbers; omitted options are inferred from the numbers.

    Attributes:
        visible: the type of the visible units: a registered name, or "auto" to infer the type.
        scale: the grey level that means 1, or None.
        states: the number of states of each code, or None.
    """

    visible: str = AUTO
    scale: int | float | None = None
    states: int | None = None

    @property
    def option(self) -> str:
        """The name of the first option for plain numbers that is given, or "" if none is given."""
        if self.visible != AUTO:
            return "--visible"
        if self.scale is not None:
            return "--scale"
        if self.states is not None:
            return "--states"
        return ""


def _decided(
    table: Table,
    source: str,
    numbers: NumberFormat,
    roles: Roles,
    columns: Columns | Mapping[str, Any] | None,
) -> Table:
    """Decide the column types of a file's table, or the coding of its numbers."""
    if roles.dropped:
        rest = without_dropped(table, roles, source)
        if roles.may_lack or rest.frame is None or is_picture(rest.frame):
            table = rest
            columns = None
    option = numbers.option
    has_columns = table.frame is not None and not is_picture(table.frame)
    if columns is not None or (has_columns and not option):
        return _of_columns(table, source, roles, columns)
    if table.train is None:
        raise InputError(
            f"{source}: expected a number in every cell with {option}; got words or missing cells;"
            f" leave {option} out, so that column types are inferred."
        )
    ratings = _ratings_in(table)
    if ratings and not option:
        raise InputError(
            f"{source}: expected one row per example; got {ratings}; or name the"
            " columns to learn them as a table."
        )
    coding = coding_of(numbers.visible)
    names = () if table.frame is None else table.frame.names
    table = coded(table, coding, scale=numbers.scale, states=numbers.states, source=source)
    if not roles.given and not roles.past:
        return table
    return _with_given(table, names or numbered_names(table.train.shape[1]), roles, source)


def _names(given: Any) -> tuple[str, ...]:
    """Return the names of given columns; a single name stands for itself."""
    return (given,) if isinstance(given, str) else tuple(given)


def _of_columns(
    table: Table, source: str, roles: Roles, columns: Columns | Mapping[str, Any] | None
) -> Table:
    """Return a table of named columns encoded as codes, with notes on other interpretations."""
    frame = frame_in(table, source)
    if not isinstance(columns, Columns):
        columns = columns_from(columns or {"columns": []}, frame, source)
        columns = columns.with_given(roles.given, source) if roles.given else columns
        columns = columns.with_past(roles.past, source) if roles.past else columns
    rows = len(frame)
    note_on_time = note_on_steps(frame) if columns.past else ""
    frame = columns.rows_of_series(frame, source)
    table = _restricted(table, frame.places)
    hints = [note_on_ratings(frame), note_on_time]
    if not roles.weight:
        hints.append(note_on_weights(frame))
    incomplete = rows - columns.past - len(frame)
    if columns.past and incomplete > 0:
        hints.append(
            f"{count_of(incomplete, 'row')} left out, since a cell of the rows before is empty"
        )
    notes = [f"{table.name}: {hint}." for hint in hints if hint]
    return Table(
        name=table.name,
        train=columns.encode(frame, source),
        kind=Kind.COLUMNS,
        labels=table.labels,
        weights=table.weights,
        notes=(*table.notes, *columns.described(frame), *notes),
        columns=columns,
        log_density=columns.log_density(frame),
        groups=_blocks_of_series(len(frame)) if columns.past else None,
        is_series=columns.past > 0,
    )


def _restricted(table: Table, places: np.ndarray | None) -> Table:
    """Return the table with the labels and weights of these rows only; None stands for all."""
    if places is None:
        return table
    labels = None if table.labels is None else table.labels[places]
    weights = None if table.weights is None else table.weights[places]
    return replace(table, labels=labels, weights=weights)


def _blocks_of_series(rows: int) -> np.ndarray:
    """Return the block of each row; a block is held out as a whole, since its rows are alike."""
    return np.arange(rows) * min(rows, BLOCKS_OF_SERIES) // rows


def _with_given(table: Table, names: Sequence[str], roles: Roles, source: str) -> Table:
    """Return a table of plain numbers after joining earlier rows to each row and setting `given`.

    Args:
        table: the table.
        names: the names of its columns.
        roles: the roles of columns.
        source: the name of the file in error messages.

    Raises:
        InputError: a given column does not exist, or the series is too short.
    """
    for name in roles.given:
        if name not in names:
            raise InputError(
                f"{source}: expected given columns among {', '.join(names):.200}; got {name!r}."
            )
    columns = table.train.shape[1]
    given = [place for place, name in enumerate(names) if name in roles.given]
    if roles.past:
        rows = windows(table.train, roles.past, source)
        table = _restricted(table, np.arange(roles.past, len(table.train)))
        note = f"{table.name}: each row follows {count_of(roles.past, 'row')} that are given."
        groups = _blocks_of_series(len(rows))
        notes = (*table.notes, note)
        table = replace(table, train=rows, groups=groups, notes=notes, is_series=True)
        before = roles.past * columns
        given = [*range(before), *(before + place for place in given)]
    if len(given) == table.train.shape[1]:
        raise InputError(f"{source}: expected at least one column that is not given; got none.")
    return replace(table, given=tuple(given), image_shape=None if given else table.image_shape)


def _of_alignment(
    source: str, name: str, sites: Sites | None, alphabet: str, identity: float
) -> Table:
    """Return a table of the sequences of an alignment, encoded as codes.

    Sequences for training get weights and clusters. If `sites` are given, the sequences are to be
    scored by a model, so all of them are kept, with weight 1.
    """
    if sites is not None:
        raw = read_sequences(source)
        codes = sites.encode(raw, source)
        notes = raw.notes
        weights = groups = None
    else:
        alignment = read_alignment(source, alphabet=alphabet, identity=identity)
        sites = alignment.sites
        codes = alignment.codes
        notes = alignment.notes
        weights = alignment.weights.astype(np.float32)
        groups = alignment.neighbours.cluster
    return Table(
        name=name,
        train=codes,
        kind=Kind.CODES,
        states=sites.states,
        weights=weights,
        notes=notes,
        sites=sites,
        groups=groups,
    )


def _refuse_options(source: str, what: str, text_format: TextFormat, roles: Roles) -> None:
    """Raise InputError if options for tables are used with another type of source."""
    options = ""
    if roles.label is not None or roles.weight is not None:
        options = "column of labels or weights"
    elif roles.given or roles.past:
        options = "given columns or past rows"
    elif text_format != TextFormat():
        options = "header, separator, missing words or lines to skip"
    if options:
        raise InputError(f"{source}: expected no {options} with {what}; got one; leave it out.")


def _ratings_in(table: Table) -> str:
    """Return advice if columns of integers without names look like ratings, or "" otherwise."""
    rows = table.train
    are_whole = table.frame is None and rows.dtype.kind in "iu" and rows.size > 0
    if not are_whole or rows.ndim != 2 or rows.shape[1] not in (3, 4):
        return ""
    return note_on_ratings(frame_of_array(np.asarray(rows), ()))


def _left_out(columns: Columns | Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of columns to leave out, or () if `columns` also sets other column types."""
    if not isinstance(columns, Mapping):
        return ()
    entries = columns.get("columns")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return ()  # `columns_from` raises the error
    if any(entry.get("kind") != LeftOut.kind or len(entry) != 2 for entry in entries):
        return ()
    return tuple(str(entry.get("name")) for entry in entries)


def _open_builtin(name: str, numbers: NumberFormat, seed: int) -> Table:
    """Return a built-in set, converted for the type of visible units that the user named."""
    if numbers.scale is not None:
        raise InputError(
            f"{name}: expected no scale with a built-in set, which has its own; got"
            f" scale={numbers.scale:g}; leave the scale out."
        )
    table = builtin(name, seed=seed)
    if not numbers.option:
        return table
    coding = coding_of(numbers.visible)
    scale = None
    table = replace(table, notes=table.notes[:-1])
    if table.kind == Kind.GREY and coding == table.kind.coding:
        scale = table.scale
    elif table.kind == Kind.GREY and coding == Kind.REAL.coding:
        level = np.float32(table.scale)
        note = f"{name}: grey levels divided by {table.scale:g}."
        table = replace(table, train=table.train / level, notes=(*table.notes, note))
        if table.test is not None:
            table = replace(table, test=table.test / level)
    return coded(table, coding, scale=scale, states=numbers.states, source=name)


def _path_and_key(source: str) -> tuple[Path, str | None]:
    """Split FILE.npz:KEY or FILE.sto:FAMILY at the colon, unless a file has exactly that name."""
    match = _FILE_AND_KEY.fullmatch(source)
    if match is None or os.path.lexists(source):
        return file_and_family(source)
    return Path(match["file"]), match["key"]


def _no_such_source(source: str, path: Path) -> InputError:
    """Return an error for an unknown source, with the built-in sets and similar file names."""
    names = list(BUILTIN)
    with suppress(OSError):  # no file is suggested if the folder cannot be read
        files = sorted(path.parent.iterdir())
        names += [file.name for file in files if is_readable(file) or named_as_alignment(file)]
    close = difflib.get_close_matches(path.name.lower(), [name.lower() for name in names], n=3)
    meant = [repr(name) for name in names if name.lower() in close]
    advice = "check the spelling"
    if meant:
        advice = f"perhaps you mean {' or '.join(meant)}"
    return InputError(
        f"{source or 'the source'}: expected a built-in set ({', '.join(BUILTIN)}) or a file; got"
        f" no such file; {advice}."
    )


def coding_of(visible: str) -> str:
    """Return the name of the coding in which rows for visible units of this type are read."""
    if visible == AUTO:
        return AUTO
    return named_units("--visible", visible, AUTO).rows


def named_units(option: str, name: str, *others: str) -> Registered:
    """Return the registry entry of a layer type, given its name as the value of an option.

    Raises:
        InputError: there is no layer type of this name.
    """
    rows = {row.name: row for row in registered_layers()}
    if name not in rows:
        raise InputError(f"{option}: expected one of {', '.join((*others, *rows))}; got {name!r}.")
    return rows[name]
