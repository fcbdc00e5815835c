"""Numbers are written as they were read: digits after the point, in draws and in filled cells."""

import json
from dataclasses import replace

import numpy as np
import pytest

from harmonium.errors import InputError
from harmonium.tables import Columns, Frame, RawColumn, columns_of
from harmonium.tables.base import decimals_of
from harmonium.tables.text import open_text
from harmonium.tables.writing import TextStyle, text_of, text_with
from text_files import read_text

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(50, 20, 40).round(2)


def table(tmp_path, cells, delimiter=";"):
    path = tmp_path / "t.csv"
    lines = [f"a{delimiter}b", *(f"{x}{delimiter}{i % 2}" for i, x in enumerate(cells))]
    path.write_text("\n".join(lines) + "\n")
    return path


FORMS = {  # a number, how it is written, and how many digits all have
    "two": (lambda x: f"{x:.2f}", 2),
    "six": (lambda x: f"{x / 7:.6f}", 6),
    "twelve": (lambda x: f"{x / 700:.12f}", 12),
    "whole": (lambda x: f"{x:.0f}", 0),
    "one, all whole": (lambda x: f"{x:.0f}.0", 1),
    "comma": (lambda x: f"{x:.2f}".replace(".", ","), 2),
    "currency": (lambda x: f"${abs(x):.2f}", 2),
    "percent": (lambda x: f"{x:.1f} %", 1),
    "shortest": (lambda x: repr(float(x)), None),
    "exponent": (lambda x: f"{x:.3e}", None),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("gap", ["", "NA"])
def test_draws_have_as_many_digits_as_the_data(tmp_path, name, gap):
    write, digits = FORMS[name]
    cells = [*map(write, NUMBERS), gap]
    frame = read_text(table(tmp_path, cells), "t.csv")
    assert frame.columns[0].digits == digits
    columns = columns_of(frame)
    again = Columns.from_record(json.loads(json.dumps(columns.record())), "columns.json")
    assert again.columns == columns.columns
    drawn = again.decode(RNG.normal(size=(60, len(columns.modelled))).clip(0, 1))
    written = [line.split("\t")[0] for line in text_of(drawn, "t.tsv").splitlines()[1:]]
    if digits is not None:
        number = [cell.strip("$ %").replace(",", ".") for cell in written]
        assert {len(cell.partition(".")[2]) for cell in number} == {digits}
    assert text_of(frame, "t.tsv").split("\n")[1].split("\t")[0] == cells[0] or digits is None


def test_a_filled_cell_has_the_digits_of_its_column_and_others_stay(tmp_path):
    cells = ["4.20", "3.00", "", *map("{:.2f}".format, NUMBERS)]
    path = table(tmp_path, cells)
    frame = read_text(path, "t.csv")
    columns = columns_of(frame)
    codes = np.nan_to_num(columns.encode(frame, "t.csv"))
    filled = columns.completed(frame, codes)
    after = text_with(filled, frame, open_text(path, "t.csv").cells(), "t.csv").splitlines()
    before = path.read_text().splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert len(changed[0][1].split(";")[0].partition(".")[2]) == 2
    assert "\n3.00\t" in text_of(filled, "t.tsv")


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-6, 1.0, 1e6, 1e12])
def test_decimals_are_those_of_numbers_of_any_size(scale):
    numbers = RNG.normal(size=200)
    assert decimals_of(scale * numbers) is None
    if 1e-9 <= scale <= 1e6:
        places = 3 - round(np.log10(scale))
        rounded = np.round(scale * numbers, max(places, 0))
        assert decimals_of(rounded) == max(places, 0)


def test_sums_of_rounded_numbers_have_their_decimals():
    assert decimals_of(np.array([0.1 + 0.2, 0.7, 1.1 + 2.2])) == 1
    assert decimals_of(np.array([0.0, 0.0])) == 0
    assert decimals_of(np.array([4.0, 1e15])) == 0


def test_tiny_numbers_that_recur_are_no_zeros():
    seen = np.array([1e-9, 2.5e-9, 7e-9])
    frame = Frame((RawColumn("a", np.repeat(seen, 20)),))
    decoded = columns_of(frame).decode(np.array([[0.0], [1.0], [2.0]]))
    np.testing.assert_allclose(decoded.columns[0].values, seen)


@pytest.mark.parametrize("digits", [-1, 16, 10**9])
@pytest.mark.parametrize("field", ["digits", "decimals"])
def test_digits_from_a_file_are_bounded(field, digits):
    columns = columns_of(Frame((RawColumn("a", NUMBERS),)))
    record = json.loads(json.dumps(columns.record()))
    record["columns"][0][field] = digits
    with pytest.raises(
        InputError, match=f"columns.json: expected .*{digits} digits after the point"
    ):
        Columns.from_record(record, "columns.json")


def test_old_records_have_no_digits():
    columns = columns_of(Frame((RawColumn("a", NUMBERS),)))
    assert "digits" not in columns.record()["columns"][0]


STYLES = {
    "plain": "a,b,c\nx,4.20,1\ny,,2\n",
    "windows": "a;b;c\r\nx;4,20;1\r\ny;;2\r\n",
    "mark of UTF-8": "\ufeffa,b,c\nx,4.20,1\ny,NA,2\n",
    "all in quotes": '"a","b","c"\n"x","4.20","1"\n"y",,"2"\n',
    "as R writes": '"a","b","c"\n"x",4.20,1\n"say ""hi""",NA,2\n',
    "quotes where needed": 'a,b,c\n"x, y",4.20,1\n"two\nlines",,2\n',
    "tabs": "a\tb\tc\nx\t4.20\t1\ny\t\t2\n",
}


@pytest.mark.parametrize("name", STYLES)
def test_a_file_is_written_in_its_own_style(tmp_path, name):
    """All bytes stay, but for those of the filled cell."""
    content = STYLES[name].encode()
    (tmp_path / "t.csv").write_bytes(content)
    frame = read_text(tmp_path / "t.csv", "t.csv")
    cells = open_text(tmp_path / "t.csv", "t.csv").cells()
    style = TextStyle.of(content, cells.delimiter, 3)
    untouched = text_with(frame, frame, cells, tmp_path / "u.csv", style)
    assert untouched.encode() == content
    values = np.where(frame.columns[1].is_missing, 3.5, frame.columns[1].values)
    filled = Frame((frame.columns[0], replace(frame.columns[1], values=values), frame.columns[2]))
    numbered = Frame((RawColumn("n", np.ones(2)), *filled.columns))
    comma = "," if name == "windows" else "."
    for changed, start in ((filled, b""), (numbered, b"1" + cells.delimiter.encode())):
        new = text_with(changed, frame, cells, tmp_path / "u.csv", style).encode()
        quote = b'"' if name == "all in quotes" else b""
        assert quote + f"3{comma}50".encode() + quote in new
        assert start + content.partition(b"\n")[2].partition(cells.delimiter.encode())[0] in new
