"""Columns that name the rows: how they are known, and the names of drawn rows."""

import uuid

import numpy as np
import pytest

import harmonium as hm
from harmonium.tables import Columns, columns_of
from harmonium.tables.frames import Frame, RawColumn
from harmonium.tables.unmodelled import Key


def frame_of(cells, name: str = "key") -> Frame:
    is_text = isinstance(cells[0], str)
    values = np.array(cells, object if is_text else float)
    other = RawColumn("x", np.random.default_rng(0).normal(size=len(cells)))
    return Frame((RawColumn(name, values), other))


def drawn(frame: Frame, rows: int = 5) -> list:
    columns = columns_of(frame)
    again = Columns.from_record(columns.record(), "columns.json")
    codes = np.zeros((rows, 1), np.float32)
    assert columns.columns[0].kind == "key", columns.columns[0].summary
    names = again.decode(codes, seed=1).columns[0].values.tolist()
    assert names == columns.decode(codes, seed=1).columns[0].values.tolist()
    return names


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (np.arange(1.0, 61.0), [61.0, 62.0]),
        ([f"C{i:04d}" for i in range(7, 67)], ["C0067", "C0068"]),
        ([f"row {i}." for i in range(60)], ["row 60.", "row 61."]),
        ([f"{i:05d}" for i in range(60)], ["00060", "00061"]),
    ],
)
def test_drawn_rows_get_the_numbers_after_the_last_one(cells, expected):
    assert drawn(frame_of(cells), 2) == expected


def test_drawn_rows_get_names_of_the_same_form():
    rng = np.random.default_rng(0)
    seen = [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(200)]
    names = drawn(frame_of(seen), 100)
    assert len(set(names)) == 100
    assert not set(names) & set(seen)
    for name in names:
        assert uuid.UUID(name).version == 4  # a sign that all have stays
        assert [sign == "-" for sign in name] == [sign == "-" for sign in seen[0]]


@pytest.mark.parametrize(
    "cells",
    [
        [f"{a}{b}" for a in ("Ann", "Bo", "Cy", "Di") for b in ("el", "ette", "son", "z")] * 4,
        [f"a sentence {'that goes on ' * (i % 7)} and number {i} of {60 - i}" for i in range(60)],
    ],
)
def test_words_and_text_are_no_keys(cells):
    assert columns_of(frame_of(cells)).columns[0].kind != "key"


def test_missing_keys_are_never_filled():
    cells = [f"C{i:04d}" for i in range(60)]
    cells[7] = None
    values = np.array(cells, object)
    other = RawColumn("x", np.where(np.arange(60) == 3, np.nan, np.arange(60) % 7 + 0.5))
    frame = Frame((RawColumn("key", values), other))
    columns = columns_of(frame)
    filled = columns.filled(frame, np.zeros((60, 1)))
    assert filled.columns[0].values[7] is None
    assert columns.unfilled(frame).keys() == {"key"}


def test_a_key_may_be_told_or_left_out():
    frame = frame_of(np.arange(5.0, 65.0) * 3, "number")
    assert columns_of(frame).columns[0].kind == "continuous"
    assert columns_of(frame, {"number": "key"}).columns[0].kind == "key"
    assert columns_of(frame_of(np.arange(60.0)), {"key": "left out"}).columns[0].kind == "left out"
    with pytest.raises(hm.InputError, match="expected whole numbers, or different texts"):
        columns_of(frame, {"x": "key"})


@pytest.mark.parametrize("fields", [{"width": 10**9}, {"last": 10**30}, {"signs": ("a", "")}])
def test_keys_of_a_damaged_file_are_refused(fields):
    with pytest.raises(ValueError, match="key"):
        Key(name="key", why="", **fields)
