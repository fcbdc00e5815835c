"""Columns that no unit models: constants are known, and nothing else is changed."""

import json

import numpy as np
import pytest

from harmonium.errors import InputError
from harmonium.tables import Columns, Frame, RawColumn, columns_of

N = 30
REAL = RawColumn("x", np.random.default_rng(0).normal(size=N))
GAPS = np.arange(N) % 3 == 0


def words(*cells):
    values = np.empty(N, object)
    values[:] = [cells[i % len(cells)] for i in range(N)]
    return values


def columns_with(values, form=""):
    """Return the columns of a table with another column, after they have been a file."""
    columns = columns_of(Frame((REAL, RawColumn("a", values, form))))
    return Columns.from_record(json.loads(json.dumps(columns.record())), "columns.json")


DAY = np.datetime64("2024-05-06", "us")
CONSTANTS = {
    "a number": (np.full(N, 4.5), 4.5),
    "a number with gaps": (np.where(GAPS, np.nan, 4.5), 4.5),
    "a word": (words("Earth"), "Earth"),
    "a word with gaps": (words("TRUE", None, None), None),
    "a day": (np.full(N, DAY), DAY),
    "a day with gaps": (np.where(GAPS, np.datetime64("NaT"), DAY), DAY),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_new_rows_have_a_constant_where_it_is_known(name):
    values, expected = CONSTANTS[name]
    columns = columns_with(values, "%Y-%m-%d" if values.dtype.kind == "M" else "")
    decoded = columns.decode(np.zeros((2, 1))).columns[1]
    assert decoded.is_missing.tolist() == [expected is None] * 2
    if expected is not None:
        assert decoded.values.dtype.kind == values.dtype.kind
        assert decoded.values.tolist() == np.array([expected] * 2, values.dtype).tolist()


@pytest.mark.parametrize("name", [name for name in CONSTANTS if "gaps" in name])
@pytest.mark.parametrize("constants", [False, True])
def test_gaps_of_a_column_that_is_not_modelled_stay(name, constants):
    values, _ = CONSTANTS[name]
    columns = columns_with(values, "%Y-%m-%d" if values.dtype.kind == "M" else "")
    frame = Frame((REAL, RawColumn("a", values), RawColumn("new", words("b", None))))
    filled = columns.filled(frame, np.zeros((N, 1)), constants=constants)
    is_filled = constants and name == "a number with gaps"  # as estimators do
    assert filled.columns[1].is_missing.any() != is_filled
    assert filled.columns[2].is_missing.tolist() == frame.columns[2].is_missing.tolist()
    unfilled = columns.unfilled(filled)
    assert list(unfilled) == (["new"] if is_filled else ["a", "new"])
    assert unfilled["new"] == "not a column of the run"


def test_words_beside_empty_cells_say_so():
    assert columns_with(words("TRUE", None)).columns[1].summary == "always TRUE, or empty"


def test_a_constant_date_from_a_file_must_be_one():
    record = columns_with(np.full(N, DAY), "%Y-%m-%d").record()
    record["columns"][1]["value"] = "no date"
    with pytest.raises(InputError, match=r"columns.json: expected the columns of a run"):
        Columns.from_record(record, "columns.json")


def test_a_column_without_cells_is_read_as_any_kind():
    frame = Frame((REAL, RawColumn("d", np.repeat([1.0, 2.0, 4.0], 10))))
    columns = columns_of(frame)
    empty = Frame((RawColumn("x", words(None)), RawColumn("d", words(None))))
    assert np.isnan(columns.encode(empty, "t.csv")).all()


def test_declared_categories_are_categories():
    codes = words(*(str(7 * i) for i in range(N)))
    columns = columns_of(Frame((REAL, RawColumn("code", codes, is_category=True))))
    assert columns.columns[1].kind == "category"  # though all differ
    assert columns_of(Frame((REAL, RawColumn("code", codes)))).columns[1].kind == "key"
