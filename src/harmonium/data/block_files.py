"""Files of rows that are read a block at a time: .npy, .npz, Parquet and Arrow."""

from __future__ import annotations

import glob
import io
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from .._files import (
    check_npy_head,
    check_regular,
    check_unpacked_size,
    open_errors,
    parser_errors,
    read_npz,
)
from ..errors import InputError, MissingDependencyError, input_error
from ..tables.database import Database
from .blocks import (
    AbstractBlocks,
    BlockSource,
    Chained,
    matrix_of,
    rows_of_block,
    sizes_of_blocks,
)

NAMES_OF_ROWS = ("train", "x_train")
MOST_IN_HEAD = 2**14  # bytes; NumPy refuses longer heads of arrays, once it has unpacked them
# The bytes of the largest row group of a Parquet file in memory, where a few bytes of a file may
# stand for many cells. DuckDB reads this of any file; pyarrow (26.0.1) ends the process at some.
LARGEST_GROUP = """
    select max(bytes) from (
        select sum(greatest(total_uncompressed_size, num_values * case type
            when 'BOOLEAN' then 1 when 'INT32' then 4 when 'FLOAT' then 4 else 8 end)) as bytes
        from parquet_metadata(?) group by row_group_id)
"""


def files_named(source: str | Path) -> list[Path]:
    """Return the files of a source, sorted by name: a file, a folder, or a pattern with * or ?.

    Raises:
        InputError: there is none that can be read in blocks.
    """
    path, found = Path(source), []
    with open_errors(source):
        with suppress(FileNotFoundError, NotADirectoryError, ValueError):  # a pattern
            path.stat()  # which raises what Python's newer is_file() does not
        if path.is_file():
            return [path]
        if path.is_dir():
            found = [each for each in path.iterdir() if _is_known(each)]
        else:
            with suppress(ValueError):  # such as ** within a name
                found = [each for each in path.parent.glob(path.name) if _is_known(each)]
    if not found:
        expected = f"a file, a folder of files, or a pattern such as 'rows-*.npy': {SUFFIXES}"
        raise input_error(str(source), expected, "none", "check the name")
    return sorted(found)


def is_in_blocks(source: str | Path) -> bool:
    """Return whether a source is files that can be read in blocks: one, a folder's, a pattern's."""
    try:
        return all(map(_is_known, files_named(source)))
    except InputError:
        return False


def _is_known(path: Path) -> bool:
    return path.suffix.lower() in _OPENERS and path.is_file()


def source_of_files(paths: Sequence[str | Path], name: str) -> BlockSource:
    """Return the rows of files, one after the other.

    Raises:
        InputError: a file cannot be read in blocks, or has another number of columns.
    """
    files = [file for path in paths for file in files_named(path)]
    with closing(Database()) as database:
        shared = Shared(Kept(), database)
        members = [_blocks_of(file, shared) for file in files]
    widths = [int(each.read(0, 0, 1).shape[1]) for each in members]
    for file, width in zip(files, widths, strict=True):
        if width != widths[0]:
            expected = f"{widths[0]:,} columns, as in {files[0]}"
            raise input_error(str(file), expected, f"{width:,}", "leave it out")
    return BlockSource(members[0] if len(members) == 1 else Chained(members), name)


def _blocks_of(path: Path, shared: Shared) -> AbstractBlocks:
    label = str(path)
    opener = _OPENERS.get(path.suffix.lower())
    check_regular(path, label)
    if opener is None:
        advice = "convert it, or read it in a function that yields batches"
        raise input_error(
            label, f"a file that can be read in blocks: {SUFFIXES}", "another", advice
        )
    with open_errors(label):
        blocks = opener(path, label, shared)
    if not sum(blocks.sizes):
        raise input_error(label, "rows", "none", "check how it was written")
    return blocks


def _array_blocks(path: Path, label: str, _: Shared) -> AbstractBlocks:
    """Map an .npy file."""
    with parser_errors(label, "a NumPy .npy file of numbers"):
        with path.open("rb") as file:
            is_plain = check_npy_head(file, path.stat().st_size)
        array: Any = (
            np.load(path, mmap_mode="r", allow_pickle=False) if is_plain else np.empty(0, "O")
        )
    if not is_plain or array.ndim != 2 or not array.shape[1]:
        found = f"an array of shape {array.shape}" if is_plain else "Python objects, never loaded"
        raise input_error(
            label, "a matrix of numbers", found, "save an array of shape (rows, columns)"
        )
    first = matrix_of(array[:1], label)
    return (_Lines if array.flags.c_contiguous else _Columns)(
        path, array, rows_of_block(first.nbytes)
    )


class _Lines(AbstractBlocks):
    """The rows of an .npy file, read and not mapped: to map pages takes longer than to copy."""

    def __init__(self, path: Path, array: Any, size: int):
        self.path, self.dtype, self.columns = path, array.dtype, array.shape[1]
        self.begin, self.size = array.offset, size
        self.sizes = sizes_of_blocks(len(array), size)

    def read(self, block: int, start: int, stop: int) -> Any:
        """Return some rows of a block."""
        bytes_of_row = self.columns * self.dtype.itemsize
        offset = self.begin + (block * self.size + start) * bytes_of_row
        count = (stop - start) * self.columns
        with open_errors(str(self.path)):
            found = np.fromfile(self.path, self.dtype, count, offset=offset)
        if found.size < count:
            found, advice = f"{found.size:,}", "restore the file"
            raise input_error(str(self.path), f"{count:,} numbers there", found, advice)
        return found.reshape(stop - start, self.columns)


class _Columns(AbstractBlocks):
    """The rows of an .npy file that holds its columns one after the other.

    It is mapped anew for each read: then no page stays in memory, and no file open.
    """

    def __init__(self, path: Path, array: Any, size: int):
        self.path, self.size, self.shape = path, size, array.shape
        self.sizes = sizes_of_blocks(len(array), size)

    def read(self, block: int, start: int, stop: int) -> Any:
        """Return some rows of a block."""
        at = block * self.size
        with parser_errors(str(self.path), "a NumPy .npy file of numbers"):
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)
            if array.shape != self.shape:
                raise ValueError(f"its shape was {self.shape} and is {array.shape}")
            return np.array(array[at + start : at + stop])


class Kept:
    """The last block that was read as a whole, of all files: windows end within blocks.

    One is in memory, and one is read at a time: a run that ended may still be reading ahead. One
    file stays open, as a process may open only so many.

    Attributes:
        opened: the last blocks that were read, and their open file.
    """

    def __init__(self) -> None:
        self.last: tuple[Any, int, Any] | None = None
        self.opened: tuple[Any, Any] = (None, None)
        self.one_at_a_time = Lock()

    def of(self, blocks: AbstractLoaded, block: int) -> Any:
        """Return all rows of a block."""
        with self.one_at_a_time:
            if self.last is None or self.last[0] is not blocks or self.last[1] != block:
                self.last = None  # two blocks are never in memory
                rows = blocks.load(block)
                if rows.shape[0] != blocks.sizes[block]:
                    expected = f"{blocks.sizes[block]:,} rows, as the file says elsewhere"
                    found, advice = f"{rows.shape[0]:,}", "write it again"
                    raise input_error(blocks.label, expected, found, advice)
                self.last = blocks, block, rows
            return self.last[2]


class Shared(NamedTuple):
    """What the files of a source share.

    Attributes:
        kept: the last block that was read as a whole.
        database: asked about Parquet files while they are opened; a new one takes 18 ms.
    """

    kept: Kept
    database: Database


class AbstractLoaded(AbstractBlocks):
    """Blocks that are read as a whole.

    Attributes:
        label: what error messages call the file.
        kept: where the last block is kept.
    """

    label: str
    kept: Kept

    @abstractmethod
    def load(self, block: int) -> Any:
        """Return all rows of a block."""

    def read(self, block: int, start: int, stop: int) -> Any:
        """Return some rows of a block."""
        return self.kept.of(self, block)[start:stop]


class _Archive(AbstractLoaded):
    """The rows of an .npz file as one block."""

    def __init__(self, path: Path, label: str, shared: Shared):
        self.path, self.label, self.kept = path, label, shared.kept
        self.expected = "a NumPy .npz file of arrays"
        with parser_errors(label, self.expected), zipfile.ZipFile(path) as archive:
            shapes = {}
            for member in archive.infolist():
                if member.filename.endswith(".npy"):
                    with archive.open(member) as file:
                        head = io.BytesIO(file.read(MOST_IN_HEAD))
                    if check_npy_head(head, member.file_size):
                        shapes[member.filename.removesuffix(".npy")] = _shape(head)
        matrices = [key for key, shape in shapes.items() if len(shape) == 2]
        named = [key for key in matrices if key.lower() in NAMES_OF_ROWS]
        chosen = named or matrices
        if len(chosen) != 1:
            found = ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "no arrays"
            raise input_error(label, "one matrix, or one named 'train'", found, "name it 'train'")
        self.key = chosen[0]
        self.sizes = [int(shapes[self.key][0])]

    def load(self, block: int) -> Any:
        """Read the matrix."""
        found = read_npz(self.path, self.label, self.expected, [self.key])
        return matrix_of(found[self.key], self.label)


def _shape(head: io.BytesIO) -> tuple[int, ...]:
    head.seek(0)
    version = np.lib.format.read_magic(head)
    read = np.lib.format.read_array_header_1_0
    return (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(head)[0]


class _Groups(AbstractLoaded):
    """The row groups of a Parquet file or the batches of an Arrow file, of columns of numbers."""

    def __init__(
        self,
        opened: Callable[[], Any],
        group: Callable[[Any, int], Any],
        sizes: list[int],
        label: str,
        kept: Kept,
    ):
        self.opened, self.group = opened, group
        self.sizes, self.label, self.kept = sizes, label, kept

    def load(self, block: int) -> Any:
        """Return the columns side by side, NaN where a cell is empty."""
        with parser_errors(self.label, "a whole file"):
            if self.kept.opened[0] is not self:
                self.kept.opened = self, self.opened()
            table = self.group(self.kept.opened[1], block)
            columns = {name: _numbers(table.column(name)) for name in table.schema.names}
        return matrix_of(columns, self.label)


def _numbers(column: Any) -> np.ndarray:
    """Return the cells of a column; lists of equal length as a matrix."""
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if pyarrow.types.is_fixed_size_list(column.type):
        return _numbers(column.flatten()).reshape(len(column), column.type.list_size)
    if pyarrow.types.is_boolean(column.type) and column.null_count:
        column = column.cast(pyarrow.int8())
    return column.to_numpy(zero_copy_only=False)


def _pyarrow(label: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        line = f"{label}: reading it in blocks needs pyarrow; pip install pyarrow."
        raise MissingDependencyError(line) from None
    return pyarrow


def _parquet_blocks(path: Path, label: str, shared: Shared) -> AbstractBlocks:
    _pyarrow(label)
    from pyarrow import parquet

    opened = partial(parquet.ParquetFile, path, memory_map=False)
    with parser_errors(label, "a Parquet file"):
        head = opened().metadata
        sizes = [head.row_group(i).num_rows for i in range(head.num_row_groups)]
        if min(sizes, default=0) < 0:
            raise ValueError("a negative number of rows")
    with shared.database.reading(label, "a Parquet file", path.stat().st_size) as connection:
        name = glob.escape(str(path))  # which it would take for a pattern
        largest = int(connection.execute(LARGEST_GROUP, [name]).fetchall()[0][0] or 0)
    advice = "if you trust it, write it with smaller row groups"
    check_unpacked_size(label, path.stat().st_size, largest, advice)
    return _Groups(opened, parquet.ParquetFile.read_row_group, sizes, label, shared.kept)


def _arrow_blocks(path: Path, label: str, shared: Shared) -> AbstractBlocks:
    pyarrow = _pyarrow(label)

    def opened() -> Any:
        return pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))

    with parser_errors(label, "an Arrow file"):
        file = opened()
        sizes = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    return _Groups(opened, _batch, sizes, label, shared.kept)


def _batch(file: Any, i: int) -> Any:
    found = file.get_batch(i)
    found.validate(full=True)  # otherwise places beyond the file's end would be read
    return found


_OPENERS: dict[str, Callable[[Path, str, Shared], AbstractBlocks]] = {
    ".npy": _array_blocks,
    ".npz": _Archive,
    ".parquet": _parquet_blocks,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _arrow_blocks),
}
SUFFIXES = ", ".join(_OPENERS)
