"""DuckDB, by which tables are read: in bounded memory, and without anything but the file.

Beside polars and pyarrow it starts quickly (0.07 s; 0.03 and 0.11 s), has the smallest wheel
(25 MB; 45 to 50 MB), and reads Parquet too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._base.files import most_unpacked, parser_errors
from ..errors import InputError

WORKING = 2**29  # bytes, besides those of the file unpacked
SETTINGS = {
    "temp_directory": "",  # otherwise it would write into the current folder
    "autoinstall_known_extensions": False,  # a file may ask for code from elsewhere
    "autoload_known_extensions": False,
}


def opened_database() -> Any:
    """Return a connection to an empty database in memory."""
    import duckdb  # imported here: it takes 0.07 s

    connection = duckdb.connect(config=SETTINGS)
    # It would be drawn among what a command prints, if a file takes seconds.
    connection.execute("set enable_progress_bar = false")
    return connection


class Database:
    """An empty database in memory, opened when it is first used. It reads one file at a time."""

    def __init__(self) -> None:
        self.connection: Any = None

    def close(self) -> None:
        """Give its memory back."""
        if self.connection is not None:
            self.connection.close()

    @contextmanager
    def reading(self, label: str, expected: str, size: int) -> Iterator[Any]:
        """Yield the connection, for one file.

        Args:
            label: what error messages call the file that is read.
            expected: what it should be, for error messages.
            size: of the file, in bytes; twice what it may unpack to, and 512 MiB, may be used.

        Raises:
            InputError: the file is damaged, or needs more memory.
        """
        import duckdb

        most = WORKING + 2 * most_unpacked(size)
        with parser_errors(label, expected):
            if self.connection is None:
                self.connection = opened_database()
            self.connection.execute(f"set memory_limit = '{most}B'")
            try:
                yield self.connection
            except duckdb.OutOfMemoryException:
                raise InputError(
                    f"{label}: expected a table that is read in {most / 2**30:,.1f} GiB of memory;"
                    " got one that needs more; write it as an array, in .npy."
                ) from None
