"""From what a user names, a built-in set or a file, to a `Table`; and rows held out of one."""

import difflib
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harmonium.data.base import Table, as_table, input_error
from harmonium.data.builtin import BUILTIN, builtin
from harmonium.data.readers import is_readable, read_array
from harmonium.errors import InputError
from harmonium.layers.registry import Registered, registered_layers

__all__ = ["open_source", "split_off"]

FEWEST_ROWS_TO_SPLIT = 10
_FILE_AND_KEY = re.compile(r"(?P<file>.+\.npz):(?P<key>[^/\\]+)", re.IGNORECASE | re.DOTALL)


def open_source(
    source: str,
    *,
    visible: str = "auto",
    scale: int | float | None = None,
    states: int | None = None,
    seed: int = 0,
) -> Table:
    """Give the rows of a built-in set or of a file.

    The exact name of a built-in set (`digits`, `bars`, `shifter`, `ising`, `mnist`) always means
    that set; a file of that name is reached with a folder or a suffix: `./digits`, `digits.csv`.
    `FILE.npz:KEY` picks one array of an .npz file.

    Args:
        source: A built-in set's name, or a path.
        visible: the kind of visible units, a registered name such as "bernoulli", or "auto".
        scale: The grey level that means 1, for files of other levels than 0 to 255.
        states: The number of states, for Potts visibles.
        seed: Draws the configurations of `ising`.

    Raises:
        InputError: There is no such source, or it cannot be used as given; in one line.
        MissingDependencyError: A Parquet file without pandas and pyarrow.
    """
    if source in BUILTIN:
        return _open_builtin(source, visible, scale, states, seed)
    path, key = _path_and_key(source)
    if not source or not os.path.lexists(path):
        raise _no_such_source(source, path)
    array, info = read_array(path, key)
    return as_table(
        array,
        name=info.name,
        coding=_coding_of(visible),
        scale=scale,
        states=states,
        test=info.test,
        validation=info.validation,
        labels=info.labels,
        test_labels=info.test_labels,
        notes=info.notes,
        source=source,
    )


def split_off(table: Table, fraction: float, *, seed: int) -> tuple[Table, np.ndarray | None]:
    """Hold out a random part of the training rows for validation.

    Args:
        table: The table; it is left as it is.
        fraction: The part of the rows to hold out, in [0, 1); rounded, and at least one row.
        seed: Chooses the rows, and nothing else.

    Returns:
        The table of the remaining rows and the held-out rows, both in their old order and in the
        same coding. The rows are None and the table unchanged when `fraction` is 0 or the table is
        exhaustive. A source's own validation rows are handed out instead of held-out ones.

    Raises:
        InputError: `fraction` lies outside [0, 1), or there are fewer than 10 rows.
    """
    split = choose_rows(table, fraction, seed=seed)
    if split.kept is None or split.held is None:
        return table, split.source
    remaining = replace(
        table,
        train=table.train[split.kept],
        labels=None if table.labels is None else table.labels[split.kept],
        weights=None if table.weights is None else table.weights[split.kept],
        notes=(*table.notes, *split.notes),
    )
    return remaining, table.train[split.held]


class Split(NamedTuple):
    """What is learned from and what is held out.

    Attributes:
        kept: indices of the rows to learn from; None for all.
        source: the rows among which those held out are; None where there are none.
        held: their indices; None for all.
        notes: sentences that say so.
    """

    kept: np.ndarray | None = None
    source: np.ndarray | None = None
    held: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def choose_rows(table: Table, fraction: float, *, seed: int) -> Split:
    """Choose what `split_off` hands out, and copy nothing."""
    if not 0 <= fraction < 1:
        advice = "give a part of the rows such as 0.1, or 0 to hold out none"
        raise input_error(table.name, "a validation fraction in [0, 1)", f"{fraction}", advice)
    if fraction == 0 or table.exhaustive:
        return Split()
    if table.validation is not None:
        return Split(source=table.validation)
    rows = len(table.train)
    if rows < FEWEST_ROWS_TO_SPLIT:
        expected = f"at least {FEWEST_ROWS_TO_SPLIT} rows to hold some out for validation"
        advice = "give more rows, or a validation fraction of 0"
        raise input_error(table.name, expected, f"{rows}", advice)
    count = min(max(1, round(fraction * rows)), rows - 1)
    order = np.random.default_rng(seed).permutation(rows)
    note = f"{table.name}: {count:,} of {rows:,} rows held out for validation."
    held, kept = np.sort(order[:count]), np.sort(order[count:])  # files are read from front to back
    return Split(kept, table.train, held, (note,))


def _open_builtin(
    name: str, visible: str, scale: int | float | None, states: int | None, seed: int
) -> Table:
    """Give a built-in set, read for another kind of visible unit where one is named."""
    if scale is not None:
        advice = "leave the scale out"
        expected = "no scale with a built-in set, which knows its own"
        raise input_error(name, expected, f"scale={scale:g}", advice)
    table = builtin(name, seed=seed)
    if visible == "auto" and states is None:
        return table
    is_grey, coding = table.kind == "grey", _coding_of(visible)
    rows, test, notes = table.train, table.test, table.notes[:-1]
    if is_grey and coding == "reals":
        rows = rows / np.float32(table.scale)
        test = None if test is None else test / np.float32(table.scale)
        notes = (*notes, f"{name}: grey levels divided by {table.scale:g}.")
    return as_table(
        rows,
        name=name,
        coding=coding,
        scale=table.scale if is_grey and coding == "levels" else None,
        states=states,
        test=test,
        labels=table.labels,
        test_labels=table.test_labels,
        image_shape=table.image_shape,
        exhaustive=table.exhaustive,
        notes=notes,
    )


def _path_and_key(source: str) -> tuple[Path, str | None]:
    """Split FILE.npz:KEY, unless a file has that very name."""
    match = _FILE_AND_KEY.fullmatch(source)
    if match is None or os.path.lexists(source):
        return Path(source), None
    return Path(match["file"]), match["key"]


def _no_such_source(source: str, path: Path) -> InputError:
    """Name the built-in sets and whatever is spelt much like the source."""
    names = [*BUILTIN, *_readable_names(path.parent)]
    close = difflib.get_close_matches(path.name.lower(), [name.lower() for name in names], n=3)
    meant = [repr(name) for name in names if name.lower() in close]
    advice = f"perhaps you mean {' or '.join(meant)}" if meant else "check the spelling"
    expected = f"a built-in set ({', '.join(BUILTIN)}) or a file"
    return input_error(source or "the source", expected, "no such file", advice)


def _readable_names(folder: Path) -> list[str]:
    """Give the names of the files in a folder whose suffix can be read; none where it cannot."""
    try:
        return sorted(file.name for file in folder.iterdir() if is_readable(file))
    except OSError:
        return []


def _coding_of(visible: str) -> str:
    """Return how rows are read for units of this name."""
    return "auto" if visible == "auto" else named_units("--visible", visible, "auto").rows


def named_units(option: str, name: str, *others: str) -> Registered:
    """Return the row of the layer type that an option names.

    Raises:
        InputError: there is none of this name.
    """
    rows = {row.name: row for row in registered_layers()}
    if name not in rows:
        expected = f"one of {', '.join((*others, *rows))}"
        raise input_error(option, expected, repr(name), "choose one of them")
    return rows[name]
