"""DuckDB, used to read tables in bounded memory without access to other files or the network.

DuckDB also reads Parquet. It starts in 0.07 s (polars 0.03 s, pyarrow 0.11 s), and its wheel of
25 MB is the smallest (polars and pyarrow: 45 to 50 MB).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._base.files import most_unpacked, parser_errors
from ..errors import InputError

WORKING = 2**29  # bytes of memory for reading, in addition to the unpacked file
SETTINGS = {
    "temp_directory": "",  # otherwise DuckDB would write into the current folder
    "autoinstall_known_extensions": False,  # otherwise a file may request external code
    "autoload_known_extensions": False,
}


def opened_database() -> Any:
    """Return a connection to an empty database in memory."""
    import duckdb  # imported here: it takes 0.07 s

    connection = duckdb.connect(config=SETTINGS)
    # DuckDB shows a progress bar after a few seconds, which would mix with a command's output.
    connection.execute("set enable_progress_bar = false")
    return connection


class Database:
    """An in-memory database for reading one file at a time, opened at first use."""

    def __init__(self) -> None:
        self.connection: Any = None

    def close(self) -> None:
        """Close the database and release its memory."""
        if self.connection is not None:
            self.connection.close()

    @contextmanager
    def reading(self, label: str, expected: str, size: int) -> Iterator[Any]:
        """Yield the connection for reading one file.

        Args:
            label: the name of the file in error messages.
            expected: the expected type of file, for error messages.
            size: the size of the file in bytes; reading may use 512 MiB of memory plus twice the
                maximum unpacked size.

        Raises:
            InputError: the file is damaged, or needs more than this memory.
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
                    f"{label}: expected a table that fits in {most / 2**30:,.1f} GiB of memory;"
                    " got one that needs more; save it as an array, in .npy format."
                ) from None
