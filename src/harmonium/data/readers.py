"""Readers of files: arrays, text, Parquet, Arrow and idx. Text and idx files may be gzipped.

A reader converts a file of one format into a `Table` whose kind is still undecided; `read_file`
chooses the reader by the file's name. No reader ever unpickles anything.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path

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
from ..errors import InputError
from ..tables import Columns
from ..tables.columnar import read_arrow, read_parquet
from ..tables.frames import Frame, frame_of_array
from ..tables.text import Cells, open_text
from ..tables.text_format import TextFormat
from .table import Table

LARGE = 2**28  # bytes; larger .npy files are memory-mapped and read in parts
_IDX_NAME = re.compile(r".+([-.]idx\d-\w+|\.idx)(\.gz)?", re.IGNORECASE)
_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_ROLES = {
    "train": ("x_train", "train"),
    "test": ("x_test", "test"),
    "validation": ("x_val", "x_valid", "validation", "valid"),
}
_LABELS = {"train": ("y", "y_train"), "test": ("y_test",), "validation": ()}


def is_readable(path: str | os.PathLike) -> bool:
    """Return whether `read_file` has a reader for the suffix of the file's name."""
    return _reader_of(Path(path)) is not None


def is_text(path: str | os.PathLike) -> bool:
    """Return whether `read_file` reads a file with this name as text."""
    return _reader_of(Path(path)) is _read_text


def read_file(
    path: str | os.PathLike,
    key: str | None = None,
    known: Frame | None = None,
    text_format: TextFormat | None = None,
) -> Table:
    """Read a data file into a table, choosing the reader by the suffix of the file's name.

    Args:
        path: The file; its suffix, in upper or lower case, determines the format.
        key: The array to read from an .npz file. If omitted, rows are read from `train` (or
            `x_train`), test and validation rows from `test` and `valid`, and labels from `y`;
            without `train`, the only array of two or three dimensions is read. If the file also
            contains `n_visible`, rows are treated as packed bits and unpacked.
        known: A table whose column types are used for the columns of a text file.
        text_format: The user's options for a text file; omitted options are detected.

    Returns:
        A table whose kind is undecided: the rows with the shape and dtype of the file, and any test
        rows, validation rows and labels.

    Raises:
        InputError: The file is missing, damaged, or not of the format that its name implies.
    """
    path = Path(path)
    reader = _reader_of(path)
    check_regular(path, str(path))
    with open_errors(path):
        with path.open("rb") as file:
            is_empty = not file.read(1)
        if reader is None:
            suffixes = ", ".join(_READERS) + ", .idx or -idx3-ubyte (text and idx also with .gz)"
            suffix = "a name without a suffix"
            if path.suffix:
                suffix = f"the suffix {path.suffix!r}"
            raise InputError(
                f"{path}: expected a file of a known format: {suffixes}; got {suffix}; rename the"
                " file to match its format, or convert the file."
            )
        if key is not None and reader is not _read_npz:
            raise InputError(f"{path}: expected a key only after an .npz file; got {key!r}.")
        if reader is not _read_text and text_format not in (None, TextFormat()):
            raise InputError(
                f"{path}: expected --header, --separator, --missing and --skip only with a text"
                f" file; got a {path.suffix} file; leave them out."
            )
        if is_empty:
            raise InputError(
                f"{path}: expected data; got an empty file; check how the file was written."
            )
        if reader is _read_text:
            return _read_text(path, known, text_format)
        if reader is _read_npz:
            return _read_npz(path, key)
        return reader(path)


def read_frame(
    path: str | os.PathLike,
    known: Columns | None = None,
    text_format: TextFormat | None = None,
) -> Frame:
    """Read the columns of a table or matrix; the columns of a matrix are named by their index.

    Args:
        path: the file.
        known: columns of a table, whose types are used for columns of the same name.
        text_format: the user's options for a text file; omitted options are detected.

    Raises:
        InputError: `read_file` fails, or the file contains an array that is not a matrix of
            numbers.
    """
    empty = known and known.empty
    frame = frame_in(read_file(path, known=empty, text_format=text_format), str(path))
    return frame if known is None else known.rows_of_series(frame, str(path))


def frame_in(table: Table, label: str) -> Frame:
    """Return the columns of a table or matrix read from a file; see `read_frame`.

    Raises:
        InputError: the table is an array that is not a matrix of numbers; `label`, the name of the
            file, begins the message.
    """
    if table.frame is not None:
        return table.frame
    rows = np.asarray(table.train)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise InputError(
            f"{label}: expected a table; got an array of {rows.dtype}, shape {rows.shape}; give"
            " a matrix of numbers."
        )
    return frame_of_array(rows, ())


def cells_of(
    path: str | os.PathLike,
    rows: int,
    text_format: TextFormat | None = None,
    known: Frame | None = None,
) -> Cells | None:
    """Return the original cells of a text file, or None if it is no text file with `rows` rows.

    Args:
        path: the file.
        rows: the number of rows.
        text_format: the options with which the file was read.
        known: the table read from the file; its names identify the columns.
    """
    if not is_text(path):
        return None
    try:
        cells = open_text(Path(path), str(path), text_format, known).cells()
    except InputError:  # text of another format, such as an alignment
        return None
    if len(cells.rows) != rows:
        return None
    return cells


def stem_of(path: Path) -> str:
    """Return the name of a file without its suffix and without .gz."""
    return Path(re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)).stem


def _reader_of(path: Path) -> Callable[..., Table] | None:
    """Return the reader for a file's name, or None if its suffix is unknown."""
    if _IDX_NAME.fullmatch(path.name):
        return _read_idx
    if path.suffix.lower() == ".gz":
        reader = _READERS.get(Path(path.stem).suffix.lower())
        return reader if reader is _read_text else None
    return _READERS.get(path.suffix.lower())


def _read_npy(path: Path) -> Table:
    expected = "a NumPy .npy file of numbers"
    _check_magic(path, np.lib.format.MAGIC_PREFIX, expected, "numpy.save")
    size = path.stat().st_size
    with parser_errors(path, expected), path.open("rb") as file:
        if size < LARGE:
            array = read_npy(lambda: path.open("rb"), size)
        elif check_npy_head(file, size):
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            array = np.empty(0, object)
    if array.dtype.hasobject:
        raise InputError(
            f"{path}: expected {expected}; got pickled Python objects, which are never loaded; save"
            " an array of integers or floats instead."
        )
    return Table(name=stem_of(path), train=array)


def _check_magic(path: Path, magic: bytes, expected: str, writer: str) -> None:
    """Raise InputError if a file does not begin with the magic bytes of its format."""
    with path.open("rb") as file:
        if file.read(len(magic)) != magic:
            raise InputError(
                f"{path}: expected {expected}; got other content; write it with {writer}, or"
                " rename the file to match its format."
            )


def _read_npz(path: Path, key: str | None) -> Table:
    expected = "a NumPy .npz file of arrays"
    _check_magic(path, b"PK", expected, "numpy.savez")
    arrays = read_npz(path, str(path), expected)
    keys = _keys_of_parts(path, arrays, key)
    parts = {part: _unpacked(path, arrays, key) for part, key in keys.items()}
    name = stem_of(path)
    notes = [f"{name}: {key!r} contains the {part} rows." for part, key in keys.items()]
    if any(parts[part] is not arrays[key] for part, key in keys.items()):
        notes.append(f"{name}: bits unpacked, {parts['train'].shape[1]:,} per row.")
    return Table(
        name=name,
        train=parts["train"],
        test=parts.get("test"),
        validation=parts.get("validation"),
        labels=_labels(arrays, parts, "train"),
        test_labels=_labels(arrays, parts, "test"),
        notes=tuple(notes),
    )


def _keys_of_parts(path: Path, arrays: dict[str, np.ndarray], key: str | None) -> dict[str, str]:
    """Return the name of the array for each part: train and, if present, test and validation."""
    label_names = [name for names in _LABELS.values() for name in names]
    usable = {name: a for name, a in arrays.items() if name.lower() not in label_names}
    data = {k.lower(): k for k, a in usable.items() if a.ndim in (2, 3) and a.dtype.kind in "biuf"}
    if key in usable and usable[key].dtype.kind != "O":
        return {"train": key}
    if key is None:
        keys = {part: data[n] for part, names in _ROLES.items() for n in names if n in data}
        if "train" in keys:
            return keys
        if len(data) == 1:
            return {"train": next(iter(data.values()))}
    shapes = {name: array.shape for name, array in arrays.items()}
    shapes |= {name: "(objects)" for name, array in arrays.items() if array.dtype.kind == "O"}
    listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    expected = "an array of rows"
    if key is not None:
        expected = f"data rows under {key!r}"
    if key in usable:
        listing = f"Python objects, which are never loaded; the file contains {listing}"
    elif key in arrays:
        listing = f"labels; the file contains {listing}"
    raise InputError(
        f"{path}: expected {expected}; got {listing or 'no arrays'}; pick an array of rows as"
        " FILE.npz:KEY, or name one 'train'."
    )


def _unpacked(path: Path, arrays: dict[str, np.ndarray], key: str) -> np.ndarray:
    """Return an array's rows, unpacked from bits if the file also contains `n_visible`."""
    rows = arrays[key]
    count = arrays.get("n_visible")
    if count is None or rows.ndim != 2 or key == "n_visible":
        return rows
    if count.shape == () and count.dtype.kind in "iu" and count > 0:
        if rows.dtype == np.uint8 and rows.shape[1] == math.ceil(int(count) / 8):
            return np.unpackbits(rows, axis=1, count=int(count))
        if rows.shape[1] == count:
            return rows
    raise InputError(
        f"{path}: expected bits packed into uint8 rows alongside n_visible = {count}; got {key}"
        f" of {rows.dtype}, shape {rows.shape}; write it with numpy.packbits(..., axis=1)."
    )


def _labels(
    arrays: dict[str, np.ndarray], parts: dict[str, np.ndarray], part: str
) -> np.ndarray | None:
    """Return the labels of one part, or None if the file does not contain one label per row."""
    for key, array in arrays.items():
        is_named = key.lower() in _LABELS[part] and part in parts
        if is_named and array.dtype.kind != "O" and array.shape == parts[part].shape[:1]:
            return array
    return None


def _read_text(path: Path, known: Frame | None, text_format: TextFormat | None) -> Table:
    text = open_text(path, str(path), text_format, known)
    name = stem_of(path)
    notes = [f"{name}: {note}." for note in text.notes]
    names = text.names or ()
    numbers = None
    if known is None:
        numbers = text.signs
    if numbers is not None:
        names = ()
        width = numbers.shape[1]
        if text.width != width:
            note = f"strings of {width:,} characters are read as one column each"
            notes.append(f"{name}: {note}.")
    else:
        numbers = text.numbers(known)
    frame = None
    if numbers is None:
        frame = text.frame(known)
        numbers = frame.numbers()
    elif names or not _are_levels(numbers):
        frame = frame_of_array(numbers, names)
    return Table(name=name, train=numbers, notes=tuple(notes), frame=frame)


def _are_levels(numbers: np.ndarray) -> bool:
    """Return whether numbers are all non-negative integers, or all from 0 to 1."""
    return numbers.min() >= 0 and (numbers.dtype.kind == "i" or numbers.max() <= 1)


def _read_columns(path: Path) -> Table:
    read = read_arrow
    if path.suffix.lower() == ".parquet":
        read = read_parquet
    frame = read(path, str(path))
    return Table(name=stem_of(path), train=frame.numbers(), frame=frame)


def _read_idx(path: Path) -> Table:
    data = unzipped(path.read_bytes(), str(path))
    start = 4 + 4 * sum(data[3:4])  # a header of four bytes, and four per dimension
    if data[:2] != b"\0\0" or len(data) < start or data[2] not in _IDX_TYPES or data[3] > 32:
        raise InputError(
            f"{path}: expected an idx file: two zero bytes, a type, the number of dimensions, the"
            f" dimensions; got {len(data):,} bytes that begin with"
            f" {data[:4].hex(' ') or 'nothing'}; rename the file to match its format."
        )
    shape = tuple(np.frombuffer(data, ">u4", data[3], 4).tolist())
    dtype = np.dtype(_IDX_TYPES[data[2]])
    size = math.prod(shape)
    if len(data) != start + size * dtype.itemsize:
        raise InputError(
            f"{path}: expected {size * dtype.itemsize:,} bytes after the header for dimensions"
            f" {shape}; got {len(data) - start:,}; {COPY_AGAIN}."
        )
    with parser_errors(path, "an idx file of numbers"):
        values = np.frombuffer(data, dtype, size, start).reshape(shape)
    return Table(name=stem_of(path), train=values.astype(dtype.newbyteorder("="), copy=False))


_READERS: dict[str, Callable[..., Table]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_text,
    ".tsv": _read_text,
    ".txt": _read_text,
    ".data": _read_text,
    **dict.fromkeys((".parquet", ".arrow", ".feather", ".ipc"), _read_columns),
}
