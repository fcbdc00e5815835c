"""Reading .npy, Parquet and Arrow files one block of rows at a time.

Row groups of Parquet files are read with pyarrow. For a group of 2,000 rows and 784 columns, DuckDB
takes five times as long (0.1 s instead of 0.02 s), since it binds all columns for each query.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .._base.files import (
    check_npy_head,
    check_regular,
    check_unpacked_size,
    open_errors,
    parser_errors,
)
from ..errors import InputError, MissingDependencyError
from ..tables.database import Database
from .blocks import Block, BlockSource, sliced

ARRAY = ".npy"
ARCHIVE = ".npz"  # rejected with advice, since its arrays cannot be read in blocks
PARQUET = ".parquet"
SUFFIXES = (ARRAY, PARQUET, ".arrow", ".feather", ".ipc")
# A query for the size in memory of the largest row group of a Parquet file, since a few bytes of
# such a file may encode many cells. DuckDB can read this size from any file; pyarrow (26.0.1)
# crashes on some files.
LARGEST_GROUP = """
    select max(bytes) from (
        select sum(greatest(total_uncompressed_size, num_values * case type
            when 'BOOLEAN' then 1 when 'INT32' then 4 when 'FLOAT' then 4 else 8 end)) as bytes
        from parquet_metadata(?) group by row_group_id)
"""


def files_named(source: str | Path) -> list[Path]:
    """Return the files that match a path, a folder or a pattern with * or ?, sorted by name.

    Raises:
        InputError: there is no such file, or none of the files has a known suffix.
    """
    path = Path(source)
    files: list[Path] = []
    with open_errors(source):
        with suppress(FileNotFoundError, NotADirectoryError, ValueError):  # may be a pattern
            path.stat()  # raises errors that the is_file() of newer Pythons suppresses
        if path.is_file():
            return [path]
        if path.is_dir():
            files = list(path.iterdir())
        else:
            with suppress(ValueError):  # invalid patterns, such as ** within a name
                files = list(path.parent.glob(path.name))
    files = [file for file in files if _is_known(file)]
    if not files:
        suffixes = ", ".join(SUFFIXES)
        raise InputError(
            f"{source}: expected a file, a folder of files, or a pattern such as 'rows-*.npy', with"
            f" a suffix among {suffixes}; got no such file; check the name."
        )
    return sorted(files)


def is_in_blocks(source: str | Path) -> bool:
    """Return whether a source names only files to read in blocks, or .npz files, rejected later."""
    try:
        return all(map(_is_known, files_named(source)))
    except InputError:
        return False


def _is_known(path: Path) -> bool:
    return path.suffix.lower() in (*SUFFIXES, ARCHIVE) and path.is_file()


def source_of_files(paths: Sequence[str | Path], name: str) -> BlockSource:
    """Return a source that yields the rows of several files, concatenated.

    Raises:
        InputError: a file cannot be read in blocks or has no rows, or the files differ in their
            number of columns.
    """
    files = [file for path in paths for file in files_named(path)]
    for file in files:
        _check_suffix(file)
    _check_groups([file for file in files if file.suffix.lower() == PARQUET])
    opened = lru_cache(maxsize=1)(_opened)  # the number of open files per process is limited
    blocks: list[Block] = []
    beginnings: list[int] = []
    for file in files:
        beginnings.append(sum(block.size for block in blocks))
        blocks += _blocks_of(file, opened)
        if sum(block.size for block in blocks) == beginnings[-1]:
            raise InputError(f"{file}: expected rows; got none; check how the file was written.")
    source = BlockSource.of(blocks, name)
    for file, first in zip(files, beginnings, strict=True):
        columns = int(source.blocks.read(first, first + 1).shape[1])
        if columns != source.columns:
            expected = f"{source.columns:,} columns, as in {files[0]}"
            raise InputError(f"{file}: expected {expected}; got {columns:,}.")
    return source


def _check_suffix(path: Path) -> None:
    check_regular(path, str(path))
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return
    advice = "convert it, or read it in a function that yields batches"
    if suffix == ARCHIVE:
        advice = "save its array as .npy with numpy.save, or give only one file and no window"
    raise InputError(
        f"{path}: expected a file that can be read in blocks: {', '.join(SUFFIXES)}; got"
        f" {suffix or 'a name without a suffix'}; {advice}."
    )


def _check_groups(files: Sequence[Path]) -> None:
    """Raise InputError for a Parquet file with a row group that exceeds the memory limit."""
    with closing(Database()) as database:  # shared by all files, since opening one takes 18 ms
        for path in files:
            with open_errors(path):
                size = path.stat().st_size
            with database.reading(str(path), "a Parquet file", size) as connection:
                pattern = glob.escape(str(path))  # DuckDB interprets names as patterns
                rows = connection.execute(LARGEST_GROUP, [pattern]).fetchall()
            advice = "if you trust it, write it with smaller row groups"
            check_unpacked_size(path, size, int(rows[0][0] or 0), advice)


def _blocks_of(path: Path, opened: Callable[[Path], Any]) -> list[Block]:
    """Return the blocks of a file; `opened` opens Parquet and Arrow files."""
    if path.suffix.lower() == ARRAY:
        return _blocks_of_array(path)

    def load(group: int) -> Any:
        with parser_errors(path, "a whole file"):
            file = opened(path)
            if path.suffix.lower() == PARQUET:
                return file.read_row_group(group)
            batch = file.get_batch(group)
            batch.validate(full=True)  # otherwise memory beyond the file's end could be read
            return batch

    with parser_errors(path, f"a {path.suffix} file"):
        file = opened(path)
        if path.suffix.lower() == PARQUET:
            groups = range(file.num_row_groups)
            sizes = [file.metadata.row_group(group).num_rows for group in groups]
        else:
            sizes = [file.get_batch(group).num_rows for group in range(file.num_record_batches)]
        if min(sizes, default=0) < 0:
            raise ValueError("a negative number of rows")
    return [Block(size, partial(load, group), str(path)) for group, size in enumerate(sizes)]


def _opened(path: Path) -> Any:
    """Open a Parquet or Arrow file with pyarrow."""
    if find_spec("pyarrow") is None:
        line = f"{path}: reading it in blocks needs pyarrow; pip install pyarrow."
        raise MissingDependencyError(line)
    if path.suffix.lower() == PARQUET:
        from pyarrow.parquet import ParquetFile

        return ParquetFile(path, memory_map=False)
    import pyarrow

    return pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))


def _blocks_of_array(path: Path) -> list[Block]:
    """Return the blocks of an .npy file without loading the file."""
    expected = "a NumPy .npy file of numbers"
    with parser_errors(path, expected), path.open("rb") as file:
        is_plain = check_npy_head(file, path.stat().st_size)
    if not is_plain:
        raise InputError(
            f"{path}: expected {expected}; got Python objects, which are never loaded."
        )
    with parser_errors(path, expected):
        array: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or not array.shape[1]:
        shape = f"an array of shape {array.shape}"
        raise InputError(f"{path}: expected a matrix of shape (rows, columns); got {shape}.")
    order = "C" if array.flags.c_contiguous else "F"
    # The file is mapped separately for each block, so no page stays in memory and no file stays
    # open.
    mapped = partial(np.memmap, path, array.dtype, "r", array.offset, array.shape, order)

    def load(first: int, last: int) -> np.ndarray:
        with parser_errors(path, expected):
            return mapped()[first:last]

    return sliced(load, len(array), str(path))
