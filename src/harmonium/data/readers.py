"""Readers of files: arrays, text, Parquet, Arrow and idx; text and idx may be compressed (.gz).

A reader turns the bytes of one format into arrays; `read_file` chooses it by the file's name. What
the numbers mean is not decided here (see `as_table`), and nothing is ever unpickled.
"""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._base.files import (
    COPY_AGAIN,
    check_npy_head,
    check_regular,
    open_errors,
    parser_errors,
    read_npy,
    read_npz,
    unzipped,
)
from ..errors import InputError, input_error
from ..tables import Columns
from ..tables.columnar import read_arrow, read_parquet
from ..tables.frames import Frame, frame_of_array
from ..tables.text import Cells, open_text
from ..tables.text_format import TextFormat

LARGE = 2**28  # bytes; a larger .npy file is read a part at a time, when it is used
_IDX_NAME = re.compile(r".+([-.]idx\d-\w+|\.idx)(\.gz)?", re.IGNORECASE)
_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_ROLES = {
    "train": ("x_train", "train"),
    "test": ("x_test", "test"),
    "validation": ("x_val", "x_valid", "validation", "valid"),
}
_LABELS = {"train": ("y", "y_train"), "test": ("y_test",), "validation": ()}


class Contents(NamedTuple):
    """The contents of a file as they are: arrays of any shape and any numbers.

    Attributes:
        name: The file's stem.
        train: The training rows; None if they are no complete numbers.
        test: Test rows, or None.
        validation: Validation rows, or None.
        labels: One label for each training row, or None.
        test_labels: One label for each test row, or None.
        notes: One sentence for each thing that was done.
        frame: The columns of a table with their names; None for arrays.
        weights: One weight for each row, or None.
    """

    name: str
    train: Any
    test: np.ndarray | None = None
    validation: np.ndarray | None = None
    labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    frame: Frame | None = None
    weights: np.ndarray | None = None

    def as_frame(self, label: str) -> Frame:
        """Return the columns of a table; those of an array are named by their numbers.

        Raises:
            InputError: an array that is no matrix of numbers, of a file called `label`.
        """
        if self.frame is not None:
            return self.frame
        rows = np.asarray(self.train)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            shape = f"an array of {rows.dtype}, shape {rows.shape}"
            raise input_error(label, "a table", shape, "give rows of columns")
        return frame_of_array(rows, ())


class _Source(NamedTuple):
    """An open file, its label in error messages, its stem, and what is known of its content."""

    file: BinaryIO
    label: str
    name: str
    key: str | None
    known: Frame | None
    text_format: TextFormat


def is_readable(path: str | os.PathLike) -> bool:
    """Return whether the file's name has a suffix that `read_file` knows."""
    return _reader_of(Path(path)) is not None


def is_text(path: str | os.PathLike) -> bool:
    """Return whether a file is read as text, by its name."""
    return _reader_of(Path(path)) is _read_text


def read_file(
    path: str | os.PathLike,
    key: str | None = None,
    known: Frame | None = None,
    text_format: TextFormat | None = None,
) -> Contents:
    """Read a file of data.

    Args:
        path: The file; its suffix, in upper or lower case, names its format.
        key: Which array of an .npz file. If it is left out, `train` (or `x_train`) holds the rows,
            and `test`, `valid` and `y` hold what their names say; without `train`, the only array
            of two or three dimensions is read. If the file also has an `n_visible`, rows are packed
            bits and are unpacked.
        known: A table as whose columns those of a text file are read.
        text_format: How a text file is to be read, as far as it is not decided.

    Returns:
        The rows, of any shape and dtype that the file holds, and what else was found.

    Raises:
        InputError: The file is missing, damaged, or not of the format that its name says.
    """
    path = Path(path)
    label = str(path)
    name = stem_of(path)
    reader = _reader_of(path)
    check_regular(path, label)
    with open_errors(label), path.open("rb") as file:
        if reader is None:
            suffixes = ", ".join(_READERS) + ", .idx or -idx3-ubyte (text and idx also with .gz)"
            suffix = f"the suffix {path.suffix!r}" if path.suffix else "a name without a suffix"
            advice = "rename it after its format, or convert it"
            raise input_error(label, f"a file of a known format: {suffixes}", suffix, advice)
        if key is not None and reader is not _read_npz:
            raise input_error(label, "a key only after an .npz file", repr(key), "leave it out")
        if reader is not _read_text and text_format not in (None, TextFormat()):
            expected = "--header, --separator, --missing and --skip only of a text file"
            raise input_error(label, expected, f"a file {path.suffix}", "leave them out")
        if not file.peek(1):
            raise input_error(label, "data", "an empty file", "check how it was written")
        return reader(_Source(file, label, name, key, known, text_format or TextFormat()))


def read_frame(
    path: str | os.PathLike,
    known: Columns | None = None,
    text_format: TextFormat | None = None,
) -> Frame:
    """Read the columns of a table; those of an array are named by their numbers.

    Args:
        path: the file.
        known: columns of a table, as which those of the same name are read.
        text_format: how a text file is read, as far as it is not decided.

    Raises:
        InputError: as `read_file`, or an array that is no matrix of numbers.
    """
    empty = None if known is None else known.empty
    return read_file(path, known=empty, text_format=text_format).as_frame(str(path))


def cells_of(
    path: str | os.PathLike,
    rows: int,
    text_format: TextFormat | None = None,
    known: Frame | None = None,
) -> Cells | None:
    """Return the cells of a file as they stand there; None if it is no text of so many rows.

    Args:
        path: the file.
        rows: the number of its rows.
        text_format: how it was read.
        known: the table as it was read, by whose names they are found again.
    """
    if not is_text(path):
        return None
    try:
        cells = open_text(Path(path), str(path), text_format, known).cells()
    except InputError:  # a cell that only other readers take
        return None
    return cells if len(cells.rows) == rows else None


def stem_of(path: Path) -> str:
    """Return the name of a file without its suffix, and without .gz."""
    return Path(re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)).stem


def _reader_of(path: Path) -> Callable[[_Source], Contents] | None:
    """Choose the reader by the file's name."""
    if _IDX_NAME.fullmatch(path.name):
        return _read_idx
    if path.suffix.lower() == ".gz":
        reader = _READERS.get(Path(path.stem).suffix.lower())
        return reader if reader is _read_text else None
    return _READERS.get(path.suffix.lower())


def _read_npy(source: _Source) -> Contents:
    expected = "a NumPy .npy file of numbers"
    _check_magic(source, np.lib.format.MAGIC_PREFIX, expected, "numpy.save")
    path = Path(source.file.name)
    size = path.stat().st_size
    with parser_errors(source.label, expected):
        if size < LARGE:
            array = read_npy(lambda: path.open("rb"), size)
        elif check_npy_head(source.file, size):
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            array = np.empty(0, object)
    if array.dtype.hasobject:
        advice = "save an array of integers or floats instead"
        raise input_error(source.label, expected, "pickled Python objects, never loaded", advice)
    return Contents(source.name, array)


def _check_magic(source: _Source, magic: bytes, expected: str, writer: str) -> None:
    """Raise InputError if a file does not begin with the magic bytes of its format."""
    if source.file.read(len(magic)) != magic:
        advice = f"write it with {writer}, or rename it after its format"
        raise input_error(source.label, expected, "other content", advice)
    source.file.seek(0)


def _read_npz(source: _Source) -> Contents:
    expected = "a NumPy .npz file of arrays"
    _check_magic(source, b"PK", expected, "numpy.savez")
    arrays = read_npz(Path(source.file.name), source.label, expected)
    keys = _keys_of_parts(source, arrays)
    parts = {part: _unpacked(source, arrays, key) for part, key in keys.items()}
    notes = [f"{source.name}: {key!r} gives the {part} rows." for part, key in keys.items()]
    if any(parts[part] is not arrays[key] for part, key in keys.items()):
        notes.append(f"{source.name}: bits unpacked, {parts['train'].shape[1]:,} a row.")
    return Contents(
        name=source.name,
        train=parts["train"],
        test=parts.get("test"),
        validation=parts.get("validation"),
        labels=_labels(arrays, parts, "train"),
        test_labels=_labels(arrays, parts, "test"),
        notes=tuple(notes),
    )


def _keys_of_parts(source: _Source, arrays: dict[str, np.ndarray]) -> dict[str, str]:
    """Choose which array holds the train, test and validation rows; train is always among them."""
    label_names = [name for names in _LABELS.values() for name in names]
    usable = {key: a for key, a in arrays.items() if key.lower() not in label_names}
    data = {k.lower(): k for k, a in usable.items() if a.ndim in (2, 3) and a.dtype.kind in "biuf"}
    if source.key in usable and usable[source.key].dtype.kind != "O":
        return {"train": source.key}
    if source.key is None:
        keys = {part: data[n] for part, names in _ROLES.items() for n in names if n in data}
        if "train" in keys:
            return keys
        if len(data) == 1:
            return {"train": next(iter(data.values()))}
    listing = ", ".join(
        f"{key} (objects)" if array.dtype.kind == "O" else f"{key} {array.shape}"
        for key, array in arrays.items()
    )
    if source.key in arrays:
        what = "labels" if source.key not in usable else "Python objects, never loaded"
        listing = f"that {source.key!r} holds {what}; the file has {listing}"
    expected = "an array of rows" if source.key is None else f"data rows under {source.key!r}"
    advice = "pick an array of rows as FILE.npz:KEY, or name one 'train'"
    raise input_error(source.label, expected, listing or "no arrays", advice)


def _unpacked(source: _Source, arrays: dict[str, np.ndarray], key: str) -> np.ndarray:
    """Return an array's rows, unpacked from bits if the file also has an `n_visible`."""
    rows = arrays[key]
    count = arrays.get("n_visible")
    if count is None or rows.ndim != 2 or key == "n_visible":
        return rows
    if count.shape == () and count.dtype.kind in "iu" and count > 0:
        if rows.dtype == np.uint8 and rows.shape[1] == -(-int(count) // 8):
            return np.unpackbits(rows, axis=1, count=int(count))
        if rows.shape[1] == count:
            return rows
    expected = f"bits packed into uint8 rows beside n_visible = {count}"
    array = f"{key} {rows.dtype} {rows.shape}"
    advice = "write it with numpy.packbits(..., axis=1)"
    raise input_error(source.label, expected, array, advice)


def _labels(
    arrays: dict[str, np.ndarray], parts: dict[str, np.ndarray], part: str
) -> np.ndarray | None:
    """Return the labels of one part, if the file has one for each of its rows."""
    for key, array in arrays.items():
        is_named = key.lower() in _LABELS[part] and part in parts
        if is_named and array.dtype.kind != "O" and array.shape == parts[part].shape[:1]:
            return array
    return None


def _read_text(source: _Source) -> Contents:
    text = open_text(Path(source.file.name), source.label, source.text_format, source.known)
    notes = [f"{source.name}: {note}." for note in text.notes]
    signs = text.signs if source.known is None else None
    numbers = text.numbers() if signs is None else signs
    if numbers is None:
        levels = text.levels() if source.known is None else None
        names = text.layout.names or ()
        frame = text.frame(source.known) if levels is None else frame_of_array(levels, names)
        return Contents(source.name, frame.numbers(), notes=tuple(notes), frame=frame)
    if numbers is signs and text.layout.width != numbers.shape[1]:
        what = f"strings of {numbers.shape[1]:,} signs are read as a column for each sign"
        notes.append(f"{source.name}: {what}.")
    is_levels = numbers.min() >= 0 and (numbers.dtype.kind == "i" or numbers.max() <= 1)
    frame = None if is_levels else frame_of_array(numbers, ())
    return Contents(source.name, numbers, notes=tuple(notes), frame=frame)


def _read_columns(source: _Source) -> Contents:
    is_parquet = source.file.name.lower().endswith(".parquet")
    frame = (read_parquet if is_parquet else read_arrow)(Path(source.file.name), source.label)
    return Contents(source.name, frame.numbers(), frame=frame)


def _read_idx(source: _Source) -> Contents:
    data = unzipped(source.file.read(), source.label)
    start = 4 + 4 * data[3] if len(data) > 3 else 4
    if data[:2] != b"\0\0" or len(data) < start or data[2] not in _IDX_TYPES or data[3] > 32:
        expected = "an idx file: two zero bytes, a type, the number of dimensions, the dimensions"
        content = f"{len(data):,} bytes that begin with {data[:4].hex(' ') or 'nothing'}"
        raise input_error(source.label, expected, content, "rename it after its format")
    shape = tuple(np.frombuffer(data, ">u4", data[3], 4).tolist())
    dtype = np.dtype(_IDX_TYPES[data[2]])
    size = math.prod(shape)
    if len(data) != start + size * dtype.itemsize:
        expected = f"{size * dtype.itemsize:,} bytes after the head for the dimensions {shape}"
        raise input_error(source.label, expected, f"{len(data) - start:,}", COPY_AGAIN)
    with parser_errors(source.label, "an idx file of numbers"):
        values = np.frombuffer(data, dtype, size, start).reshape(shape)
    return Contents(source.name, values.astype(dtype.newbyteorder("="), copy=False))


_READERS: dict[str, Callable[[_Source], Contents]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_text,
    ".tsv": _read_text,
    ".txt": _read_text,
    ".data": _read_text,
    **dict.fromkeys((".parquet", ".arrow", ".feather", ".ipc"), _read_columns),
}
