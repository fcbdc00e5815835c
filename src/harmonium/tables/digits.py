"""How many digits after the point the numbers of a text file are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .base import MOST_DIGITS
from .frames import RawColumn
from .moments import is_date

EXPONENT = r"\d[eE][+-]?\d"


def with_digits(connection: Any, columns: Sequence[RawColumn]) -> list[RawColumn]:
    """Return the columns of the table `cells` of texts with the digits that their numbers have.

    Args:
        connection: to DuckDB.
        columns: what the columns c0, c1, … of the table were read as.
    """
    return [
        replace(raw, digits=_digits_in(connection, f"c{i}", raw)) for i, raw in enumerate(columns)
    ]


def _digits_in(connection: Any, cell: str, raw: RawColumn) -> int | None:
    """Return the digits after the point that all numbers of a column have; None if they differ."""
    # the numbers of a form such as "%H:%M" are times of day
    if raw.values.dtype.kind != "f" or is_date(raw.form) or raw.is_missing.all():
        return None
    mark = "," if "," in raw.form else "."
    fewest, most, exponents = connection.execute(
        f"select min(length(digits)), max(length(digits)), count_if(is_exponent) from ("
        f"select regexp_extract({cell}, '[{mark}](\\d+)\\D*$', 1) as digits,"
        f" regexp_matches({cell}, '{EXPONENT}') as is_exponent"
        f" from cells where regexp_matches({cell}, '\\d'))"
    ).fetchone()
    if fewest is None or fewest != most or exponents or most > MOST_DIGITS:
        return None
    known = raw.values[~raw.is_missing]
    # A number with a note after it would otherwise count the digits of the note.
    is_rounded = np.allclose(known, np.round(known, most), rtol=1e-12, atol=10.0 ** -(most + 3))
    return int(most) if is_rounded else None
