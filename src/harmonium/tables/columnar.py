"""Reading files with named and typed columns: Parquet (via DuckDB) and Arrow."""

from __future__ import annotations

import glob
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from .._base.files import parser_errors
from ..errors import InputError, MissingDependencyError
from .database import Database
from .dates import without_times
from .frames import Frame, RawColumn
from .readings import fetched, note_on_sentinels

# The first and the last date that Python can represent.
FIRST = np.datetime64("0001-01-01")
LAST = np.datetime64("9999-12-31T23:59:59")
NUMERIC = (  # types of Parquet columns
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)


def read_parquet(path: Path, label: str) -> Frame:
    """Read a Parquet file as a table.

    Raises:
        InputError: the file is damaged or in another format.
    """
    with (
        closing(Database()) as database,
        database.reading(label, "a Parquet file", path.stat().st_size) as connection,
    ):
        connection.execute("set TimeZone = 'UTC'")  # the same times on all computers
        pattern = glob.escape(str(path))  # DuckDB interprets names as patterns
        connection.execute("create table seen as select * from read_parquet(?)", [pattern])
        kinds = connection.execute("describe seen").fetchall()
        columns = [_typed(connection, name, kind) for name, kind, *_ in kinds]
    frame = Frame(tuple(columns))
    if not len(frame):
        raise InputError(f"{label}: expected rows; got none.")
    return frame


def _typed(connection: Any, name: str, kind: str) -> RawColumn:
    """Read a column of a Parquet file as numbers, dates or (for all other types) words."""
    cell = '"' + name.replace('"', '""') + '"'
    if kind in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIMESTAMP_S"):
        form = "%Y-%m-%d" + " %H:%M:%S" * (kind != "DATE")
        values = fetched(connection, f"cast({cell} as timestamp)")
        if not np.all(np.isnat(values) | ((values >= FIRST) & (values <= LAST))):
            raise InputError(
                f"column {name!r}: expected dates in the years 1 to 9999; got an infinite date or"
                " another year; leave such cells empty."
            )
        return RawColumn(name, values, without_times(values, form))
    is_number = kind.startswith("DECIMAL") or kind in NUMERIC
    if is_number:
        numbers = fetched(connection, f"cast({cell} as double)")
        return RawColumn(name, numbers, note=note_on_sentinels(numbers))
    return RawColumn(name, fetched(connection, f"cast({cell} as varchar)"))


def read_arrow(path: Path, label: str) -> Frame:
    """Read an Arrow file (also called IPC or Feather) as a table, with pyarrow or polars.

    Raises:
        InputError: the file is damaged or in another format.
        MissingDependencyError: neither library is installed.
    """
    reader = _arrow_reader()
    if reader is None:
        raise MissingDependencyError(
            f"{label}: reading Arrow files needs pyarrow or polars; pip install pyarrow."
        )
    from .containers import frame_of  # imports narwhals, which only data frames need

    with parser_errors(label, "an Arrow file"):
        return frame_of(reader(path), label)


def _arrow_reader() -> Any:
    """Return a function that reads an Arrow file, or None if no library for it is installed."""
    try:
        from pyarrow import feather
    except ImportError:
        pass
    else:

        def read(path: Path) -> Any:
            table = feather.read_table(path, memory_map=False)
            table.validate(full=True)  # otherwise memory beyond the file's end could be read
            return table

        return read
    try:
        import polars

        return polars.read_ipc
    except ImportError:
        return None
