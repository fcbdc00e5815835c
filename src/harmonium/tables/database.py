"""DuckDB, by which tables are read: in bounded memory, and without anything but the file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._files import most_unpacked, parser_errors
from ..errors import input_error

WORKING = 2**29  # bytes, besides those of the file unpacked
SETTINGS = {
    "temp_directory": "",  # otherwise it would write into the current folder
    "autoinstall_known_extensions": False,  # a file may ask for code from elsewhere
    "autoload_known_extensions": False,
}


@contextmanager
def database(label: str, expected: str, size: int) -> Iterator[tuple[Any, Path]]:
    """Yield a connection to an empty database in memory, and a folder for its files.

    Args:
        label: what error messages call the file that is read.
        expected: what it should be, for error messages.
        size: of the file, in bytes; twice what it may unpack to, and 512 MiB, may be used.

    Raises:
        InputError: the file is damaged, or needs more memory.
    """
    import duckdb

    most = WORKING + 2 * most_unpacked(size)
    settings = SETTINGS | {"memory_limit": f"{most}B"}
    with (
        parser_errors(label, expected),
        tempfile.TemporaryDirectory() as folder,
        duckdb.connect(config=settings) as connection,
    ):
        try:
            yield connection, Path(folder)
        except duckdb.OutOfMemoryException:
            expected = f"a table that is read in {most / 2**30:,.1f} GiB of memory"
            found, advice = "one that needs more", "write it as an array, in .npy"
            raise input_error(label, expected, found, advice) from None
