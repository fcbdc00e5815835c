"""Decide how to interpret an array: as 0/1, grey levels, spins, codes or real numbers.

`as_table` makes this decision and stores the rows in the smallest type that can represent them. It
describes each step in a note. If the coding does not allow a value, the error message contains the
value and its position.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..errors import InputError, count_of
from ..layers.registry import CODINGS
from .kinds import Kind
from .parts import extremes, holds_only, is_mapped, parts_of
from .table import Table

AUTO = "auto"  # infer the coding from the numbers
MOST_STATES = 65_536
_FLOAT32_MAX = float(np.finfo(np.float32).max)


class _Given(NamedTuple):
    """The options of `as_table`, and its rows, which have been checked to be numbers."""

    source: str
    parts: dict[str, np.ndarray]  # "row", "test row", "validation row" -> (rows, columns)
    scale: int | float | None = None
    states: int | None = None


class _Coding(NamedTuple):
    """The meaning of the numbers, and the type in which they are stored."""

    kind: Kind
    dtype: DTypeLike
    scale: float = 1.0
    states: int | None = None
    note: str = ""


def as_table(
    array: ArrayLike,
    *,
    name: str,
    coding: str = AUTO,
    scale: int | float | None = None,
    states: int | None = None,
    test: ArrayLike | None = None,
    validation: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    test_labels: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    image_shape: tuple[int, int] | None = None,
    exhaustive: bool = False,
    notes: tuple[str, ...] = (),
    source: str | None = None,
) -> Table:
    """Interpret a raw array and store it as a table with a single coding.

    `array`, `test` and `validation` are examined together and share one coding:

    - "levels": binary values or grey levels. Numbers that are all 0 or 1 are binary. Other floats
        in [0, 1] are grey levels, used unchanged. Integers from 0 with a maximum of 128 to 255 are
        grey levels, which are divided by 255. For other grey levels, give `scale`.
    - "spins": −1 and +1. "codes": integers 0 ... states − 1. "reals": any finite real numbers.
    - "auto": "spins" if −1 and +1 both occur and no other value does, otherwise "levels".

    Args:
        array: Numbers of shape (rows, columns), or (rows, height, width), which is flattened.
        name: The table's name.
        coding: One of the names above.
        scale: The grey level that means 1 (only for levels).
        states: The number of states (only for codes); the largest code + 1 if omitted.
        test: Test rows, with the same number of columns.
        validation: Validation rows, with the same number of columns.
        labels: One label for each row.
        test_labels: One label for each test row.
        weights: One finite weight for each row, stored unchanged.
        image_shape: Height and width; if omitted, taken from a three-dimensional `array`.
        exhaustive: Whether the rows are the complete distribution rather than a sample.
        notes: Existing notes, to which this function appends its own.
        source: The name of the data in error messages; `name` if omitted.

    Returns:
        The table, whose arrays may share memory with the arguments.

    Raises:
        InputError: A value is invalid in the coding; the message contains the first invalid value
            and its position.

    Example:
        >>> table = hm.data.as_table([[0, 128, 255], [64, 0, 32]], name="greys")
        >>> table.kind, table.scale
        ('grey', 255.0)
        >>> hm.data.as_table([[-1, 1], [1, 1]], name="spins").kind
        'spins'
    """
    others: dict[str, Any] = {"test": test, "validation": validation, "weights": weights}
    others |= {"labels": labels, "test_labels": test_labels, "image_shape": image_shape}
    table = Table(name=name, train=array, exhaustive=exhaustive, notes=notes, **others)
    return coded(table, coding, scale=scale, states=states, source=source or name)


def coded(
    table: Table,
    coding: str = AUTO,
    *,
    scale: int | float | None = None,
    states: int | None = None,
    source: str,
) -> Table:
    """Return the table with its numbers interpreted as `as_table` interprets them.

    Raises:
        InputError: a number is invalid in the coding.
    """
    _check_options(source, coding, scale, states)
    arrays = {"row": table.train, "test row": table.test, "validation row": table.validation}
    raw = {where: _numbers(part, source) for where, part in arrays.items() if part is not None}
    given = _Given(source, {k: v.reshape(len(v), -1) for k, v in raw.items()}, scale, states)
    _check_parts(given)
    read = _READERS[coding](given)
    rows = dict(given.parts)
    for where, part in given.parts.items():
        if not is_mapped(part):
            rows[where] = part.astype(read.dtype, copy=False)
    height_and_width = raw["row"].shape[1:]
    image_shape = table.image_shape
    if image_shape is None and len(height_and_width) == 2:
        image_shape = height_and_width
    return replace(
        table,
        train=rows["row"],
        kind=read.kind,
        test=rows.get("test row"),
        validation=rows.get("validation row"),
        scale=read.scale,
        states=read.states,
        image_shape=image_shape,
        labels=_one_each(table.labels, rows.get("row"), "labels", source),
        test_labels=_one_each(table.test_labels, rows.get("test row"), "test labels", source),
        weights=_one_each(table.weights, rows.get("row"), "weights", source),
        notes=(*table.notes, *_notes(table.name, read, raw["row"])),
        frame=None,
    )


def _check_options(source: str, coding: str, scale: int | float | None, states: int | None) -> None:
    """Raise InputError for an unknown coding, and for invalid or inapplicable options."""
    has_scale = scale is not None
    has_states = states is not None
    problems = (
        (coding not in _READERS, f"a coding among {', '.join(_READERS)}; got {coding!r}"),
        (
            has_scale and coding not in (AUTO, Kind.GREY.coding),
            f"no scale with {coding}; got scale={scale or 0:g}; leave the scale out, or choose"
            " --visible bernoulli",
        ),
        (
            has_scale and not 0 < scale <= _FLOAT32_MAX,
            f"a finite positive scale; got scale={scale or 0:g}; give the grey level that means 1,"
            " such as --scale 255",
        ),
        (
            has_states and coding != Kind.CODES.coding,
            f"no states with {coding}; got states={states}; leave the states out, or choose"
            " --visible potts",
        ),
        (
            has_states and not 2 <= states <= MOST_STATES,
            f"2 to {MOST_STATES:,} states; got states={states}; give the number of different"
            " codes, or leave it out",
        ),
    )
    for is_wrong, problem in problems:
        if is_wrong:
            raise InputError(f"{source}: expected {problem}.")


def _numbers(array: ArrayLike, source: str) -> np.ndarray:
    """Return the array, checked to have 2 or 3 non-empty axes and to contain numbers or bools."""
    try:
        numbers = np.asarray(array)
    except ValueError:
        raise InputError(f"{source}: expected rows of equal length; got a ragged list.") from None
    expected = "numbers of shape (rows, columns) or (rows, height, width)"
    if numbers.dtype.kind not in "biuf":
        kinds = {"O": "Python objects", "c": "complex numbers", "U": "text", "S": "text"}
        raise InputError(
            f"{source}: expected {expected}; got {kinds.get(numbers.dtype.kind, 'something else')}"
            f" (dtype {numbers.dtype}); convert them to integers or floats first."
        )
    if numbers.ndim not in (2, 3):
        advice = "reshape it with array.reshape(len(array), -1)"
        if numbers.ndim < 2:
            advice = "reshape it with array.reshape(-1, 1) for one column or (1, -1) for one row"
        raise InputError(
            f"{source}: expected {expected}; got an array of shape {numbers.shape}; {advice}."
        )
    if numbers.size == 0:
        shape = f"an empty array of shape {numbers.shape}"
        raise InputError(f"{source}: expected at least one row and one column; got {shape}.")
    return numbers


def _check_parts(given: _Given) -> None:
    """Raise InputError for rows of different widths, and for the first NaN or infinity."""
    width = given.parts["row"].shape[1]
    for where, rows in given.parts.items():
        if rows.shape[1] != width:
            others = f"{where}s with {rows.shape[1]:,}"
            raise InputError(
                f"{given.source}: expected {width:,} columns in all rows; got {others}."
            )
    advice = (
        "fill in missing and infinite values, or drop the rows that contain them; in Python, hm.fit"
        " also accepts NaN for a missing value"
    )
    if not _is_whole(given):
        _refuse_where(given, lambda rows: ~np.isfinite(rows), "finite numbers", advice)


def _refuse_where(
    given: _Given, is_bad: Callable[[np.ndarray], np.ndarray], expected: str, advice: str
) -> None:
    """Raise InputError for the first invalid value, with its position and the number of others."""
    for where, rows in given.parts.items():
        count = 0
        before = 0
        first = ""
        for part in parts_of(rows):
            bad = is_bad(part)
            if not count and bad.any():
                row, column = np.unravel_index(int(np.argmax(bad)), bad.shape)
                place = f"{where} {before + row}, column {column} (counted from 0)"
                first = f"{part[row, column]} at {place}"
            count += int(np.count_nonzero(bad))
            before += len(part)
        if count:
            more = f" and {count - 1:,} more" * (count > 1)
            raise InputError(f"{given.source}: expected {expected}; got {first}{more}; {advice}.")


def _extremes(given: _Given) -> tuple[int | float, int | float]:
    ends = [extremes(rows) for rows in given.parts.values()]
    return min(low for low, _ in ends).item(), max(high for _, high in ends).item()


def _is_whole(given: _Given) -> bool:
    """Return whether all arrays have an integer or bool dtype; floats such as 3.0 do not count."""
    return all(part.dtype.kind in "biu" for part in given.parts.values())


def _only(given: _Given, low: int, high: int) -> bool:
    """Return whether every value is one of the two given values."""
    return all(holds_only(rows, low, high) for rows in given.parts.values())


def _auto(given: _Given) -> _Coding:
    if given.scale is None and _extremes(given) == (-1, 1) and _only(given, -1, 1):
        return _spins(given)._replace(note=", taken for Ising spins, since every value is −1 or +1")
    return _levels(given)


def _levels(given: _Given) -> _Coding:
    low, high = _extremes(given)
    if given.scale not in (None, 1):
        return _scaled(given, float(given.scale))
    if low >= 0 and high <= 1 and (_is_whole(given) or _only(given, 0, 1)):
        return _Coding(Kind.BINARY, np.uint8)
    if _is_whole(given) and low >= 0 and 127 < high <= 255 and given.scale is None:
        return _Coding(Kind.GREY, np.uint8, scale=255.0, note=", divided by 255")
    expected = "values in [0, 1]"
    advice = "rescale them, or choose --visible gaussian"
    if low < 0:
        advice += " (ising for spins −1/+1)"
    elif _is_whole(given) and high <= 127:
        expected += ", or grey levels whose maximum is given"
        advice = f"give the maximum with --scale MAX (scale={high} is the largest seen), or choose "
        advice += "--visible potts for codes, gaussian for reals"
    else:
        advice = f"divide by the largest level with --scale MAX ({high:g} is the largest seen)"
        advice += ", or choose --visible gaussian"
    _refuse_where(given, lambda rows: (rows < 0) | (rows > 1), expected, advice)
    return _Coding(Kind.GREY, np.float32, note=" between 0 and 1, used unchanged")


def _scaled(given: _Given, scale: float) -> _Coding:
    """Return the coding of grey levels whose maximum, `scale`, was given by the user."""
    advice = "give the largest possible level as --scale, or choose --visible gaussian"
    expected = f"grey levels in [0, {scale:g}]"
    _refuse_where(given, lambda rows: (rows < 0) | (rows > scale), expected, advice)
    dtype: DTypeLike = np.float32
    if _is_whole(given) and _extremes(given)[1] <= 255:
        dtype = np.uint8
    return _Coding(Kind.GREY, dtype, scale=scale, note=f", divided by {scale:g}")


def _spins(given: _Given) -> _Coding:
    advice = "convert 0/1 with 2 * x - 1, or choose --visible bernoulli"
    _refuse_where(given, lambda rows: (rows != -1) & (rows != 1), "spins −1 or +1", advice)
    return _Coding(Kind.SPINS, np.int8)


def _codes(given: _Given) -> _Coding:
    limit = given.states or MOST_STATES
    advice = "number the states from 0, and set --states to at least the largest code + 1"
    expected = f"whole codes from 0 to {limit - 1:,}"

    def is_outside(rows: np.ndarray) -> np.ndarray:
        return (rows < 0) | (rows >= limit) | (rows != np.floor(rows))

    _refuse_where(given, is_outside, expected, advice)
    states = given.states or max(2, int(_extremes(given)[1]) + 1)
    note = f" with {states:,} states"
    return _Coding(Kind.CODES, np.min_scalar_type(states - 1), states=states, note=note)


def _reals(given: _Given) -> _Coding:
    expected = f"reals within ±{_FLOAT32_MAX:.1e}, the range of float32"
    _refuse_where(given, lambda rows: np.abs(rows) > _FLOAT32_MAX, expected, "rescale them")
    return _Coding(Kind.REAL, np.float32)


_READERS: dict[str, Callable[[_Given], _Coding]] = {
    AUTO: _auto,
    **dict(zip(CODINGS, (_levels, _spins, _codes, _reals), strict=True)),
}


def _one_each(
    values: ArrayLike | None, rows: np.ndarray | None, what: str, source: str
) -> np.ndarray | None:
    """Convert labels or weights to an array and check that there is one for each row."""
    if values is None or rows is None:
        return None
    array = np.asarray(values)
    if array.shape != (len(rows),):
        raise InputError(
            f"{source}: expected {len(rows):,} {what}; got an array of shape {array.shape}."
        )
    if what == "weights" and not (array.dtype.kind in "biuf" and np.isfinite(array).all()):
        raise InputError(f"{source}: expected finite weights; got other values, such as NaN.")
    return array


def _notes(name: str, coding: _Coding, train: np.ndarray) -> tuple[str, ...]:
    """Return notes on how the rows are interpreted and, for pictures, on their flattening."""
    columns = int(np.prod(train.shape[1:]))
    rows = count_of(len(train), "row")
    done = f"{name}: {rows} of {columns:,} {coding.kind.noun}{coding.note}."
    if train.ndim == 2:
        return (done,)
    return (f"{name}: pictures of {train.shape[1]} × {train.shape[2]} flattened to rows.", done)
