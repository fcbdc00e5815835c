"""Cells that a spreadsheet would take for formulas."""

import csv
import io

import numpy as np
import pytest

from harmonium.tables import Frame, RawColumn
from harmonium.tables.text import Cells
from harmonium.tables.writing import TextStyle, text_of, text_with


@pytest.mark.parametrize("sign", list("=+-@\t\r\n＝＋－＠"))
def test_a_spreadsheet_runs_no_cell_and_no_name_that_is_guarded(sign):
    cell = f"{sign}cmd|' /C calc'!A0"
    frame = Frame((RawColumn(f"{sign}name", np.array([cell, "a"], object)),))
    plain, guarded = (
        list(csv.reader(io.StringIO(text_of(frame, "t.csv", guard), newline="")))
        for guard in (False, True)
    )
    assert plain == [[f"{sign}name"], [cell], ["a"]]  # by default as they are
    assert guarded == [[f"'{sign}name"], [f"'{cell}"], ["a"]]


@pytest.mark.parametrize("cell", ["-1.5", "+3", "-$1,250.50", "-5%", "-1,5", "-1e-5", "a=b", ""])
def test_numbers_are_not_guarded(cell):
    frame = Frame((RawColumn("x", np.array([cell, "b"], object)),))
    assert text_of(frame, "t.csv", True) == text_of(frame, "t.csv")


def test_unchanged_cells_are_guarded_too():
    frame = Frame((RawColumn("x", np.array(["=1", None], object)),))
    filled = Frame((RawColumn("x", np.array(["=1", "@b"], object)),))
    source = Cells(";", [["=1"], [""]])
    assert text_with(filled, frame, source, "t.csv") == "x\n=1\n@b\n"
    assert text_with(filled, frame, source, "t.csv", TextStyle(is_guarded=True)) == "x\n'=1\n'@b\n"
