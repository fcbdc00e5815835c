"""What the cells of a column of text are: every usual way to write numbers, dates and gaps."""

import csv
import io
import itertools
from pathlib import Path

import numpy as np
import pytest

from harmonium.tables import Frame, columns_of
from harmonium.tables.dates import LONG_MONTHS, SHORT_MONTHS
from harmonium.tables.numbers import NumberForm, dressed, number_in
from harmonium.tables.writing import plain, text_of
from text_files import read_text

ROWS = 120
DAYS = np.datetime64("2023-01-05") + np.arange(ROWS) * 6
TIMES = DAYS.astype("datetime64[s]") + np.arange(ROWS) * 1_717


def written(path: Path, columns: dict[str, list[str]], delimiter: str = "\t") -> Path:
    """Write a table in which each column's cells are repeated to as many rows as the longest has.

    Names have a letter, so that the first line is a header whatever the cells are.
    """
    rows = max(map(len, columns.values()))
    cells = [list(itertools.islice(itertools.cycle(column), rows)) for column in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*cells, strict=True))
    return path


def read(path, columns, delimiter="\t", known=None):
    frame = read_text(written(path, columns, delimiter), path.name, known)
    return {column.name: column for column in frame.columns}


def back(column, delimiter="\t"):
    """Return the cells of a column as they are written."""
    text = text_of(Frame((column,)), f"t.{'tsv' if delimiter == chr(9) else 'csv'}")
    return [row[0] if row else "" for row in csv.reader(io.StringIO(text), delimiter=delimiter)][1:]


def numbers(count=ROWS):
    return [f"{(37 * i) % 101 + 0.25}" for i in range(count)]


def among(cells, *words, step=9):
    """Return cells of which some are replaced by words."""
    changed = list(cells)
    for i, word in enumerate(words):
        changed[i * step + 3] = word
    return changed


# --- Numbers ----------------------------------------------------------------------------------

WRITTEN = {  # cells, their numbers, their form; what is written again is the same
    "true minus": (["−1.5", "2.25"], [-1.5, 2.25], "#;−#"),
    "en dash": (["–1.5", "2.25"], [-1.5, 2.25], "#;–#"),
    "accounting": (["(1.5)", "2.25"], [-1.5, 2.25], "#;(#)"),
    "amounts": (["($1.5)", "$2.25"], [-1.5, 2.25], "$#;(#)"),
    "minus behind": ([f"{i}.5-" for i in range(1, 30)] + ["2.5"], None, "#;#-"),
    "kilograms": (["5 kg", "7 kg"], [5.0, 7.0], "# kg"),
    "no blank": (["5kg", "7kg"], [5.0, 7.0], "#kg"),
    "speed": (["5.5 km/h", "7.25 km/h"], [5.5, 7.25], "# km/h"),
    "area": (["5.5 m²", "7.25 m²"], [5.5, 7.25], "# m²"),
    "degrees": (["5.5 °C", "-7.25 °C"], [5.5, -7.25], "# °C"),
    "feet": (["5'", "6'"], [5.0, 6.0], "#'"),
    "inches": (['5.5"', '6.5"'], [5.5, 6.5], '#"'),
    "of ten points": (["7.5/10", "8.5/10"], [7.5, 8.5], "#/10"),
    "text in a spreadsheet": (["'5.5", "'7.5"], [5.5, 7.5], "'#"),
    "crowns": (["SEK 5", "SEK 7"], [5.0, 7.0], "SEK #"),
    "dollars": (["US$ 5", "US$ 7"], [5.0, 7.0], "US$ #"),
    "rupees": (["Rs. 5", "Rs. 7"], [5.0, 7.0], "Rs. #"),
    "grouped": (["1,234,567.5", "999.25"], [1234567.5, 999.25], "#,##0"),
    "apart": (["1 234.5", "999.25"], [1234.5, 999.25], "# ##0"),
    "hard blanks": (["1\u00a0234.5", "999.25"], [1234.5, 999.25], "#\u00a0##0"),
    "underscores": (["1_234", "999"], [1234.0, 999.0], "#_##0"),
    "whole, grouped": (["1,234", "999"], [1234.0, 999.0], "#,##0"),
    "weights": (["1,234 kg", "999 kg"], [1234.0, 999.0], "#,##0 kg"),
    "amounts, grouped": (["($1,234.5)", "$7.25"], [-1234.5, 7.25], "$#,##0;(#)"),
}


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    """All columns that tests look at, of one file each for tabs and for semicolons."""
    folder = tmp_path_factory.mktemp("cells")
    cells = {name: case[0] for name, case in (WRITTEN | READ).items()}
    cells |= {name: case[0] for name, case in (DATES | CLOCKS).items()}
    cells |= {f"gap {word}": among(numbers(), *[word] * 12) for word in GAPS}
    return read(folder / "t.tsv", cells)


@pytest.mark.parametrize("name", WRITTEN)
def test_numbers_are_read_and_written_in_their_form(columns, name):
    cells, values, form = WRITTEN[name]
    column = columns[name]
    assert column.form == form
    if values is not None:
        assert column.values[: len(values)].tolist() == values
    assert back(column)[: len(cells)] == cells


READ = {  # cells, their numbers, what is said
    "with plain ones": (["5%", "5", "6", "7%"], [5.0, 5.0, 6.0, 7.0], "'%' in "),
    "plural": (["1 day", "2 days"], [1.0, 2.0], ""),
    "footnotes": (["5.5*", "7.25", "6.5[1]", "8.5†", "9 (a)"], [5.5, 7.25, 6.5, 8.5, 9.0], "mark"),
    "bounds": (
        [f"<{i}" if i % 9 == 0 else f"{i}" for i in range(1, 90)],
        None,
        "'<9' and the like",
    ),
    "ends": ([str(min(i, 90)) + "+" * (i >= 90) for i in range(100)], None, "'90+' and the like"),
    "exponents": (["1e5", "2.5E-3", "1"], [1e5, 0.0025, 1.0], ""),
    "points": (["5.", ".5", "7"], [5.0, 0.5, 7.0], ""),
    "Fortran": (["1.5D+01", "-2.5D-01", "0.0D+00"], [15.0, -0.25, 0.0], ""),
    "circa": (
        [f"ca. {i}" if i % 9 == 0 else f"{i}" for i in range(1, 90)],
        None,
        "'ca. 9' and the like",
    ),
    "flags of Eurostat": (
        ["5.5 b", "6.5 p", "7", "8 e"],
        [5.5, 6.5, 7.0, 8.0],
        "'5.5 b' and the like",
    ),
    "raised figures": (["5.5¹", "6.5", "7", "8"], [5.5, 6.5, 7.0, 8.0], "'5.5¹' and the like"),
    "full width": (["５", "１２．５"], [5.0, 12.5], ""),
    "blanks": (["5\u00a0", " 7.5"], [5.0, 7.5], ""),
    "sign before": (["$(1.5)", "$2.25"], [-1.5, 2.25], ""),
    "blank after minus": (["- 5", "6"], [-5.0, 6.0], ""),
    "lakhs": (["12,34,567", "5,678"], [1234567.0, 5678.0], ""),
    "plus": (["+1.5%", "-2.5%"], [1.5, -2.5], ""),
    "sentinel": (among([str(i % 90) for i in range(ROWS)], *["-999"] * 9), None, "--missing -999"),
    "two sentinels": (
        among(numbers(), *["-199", "-999"] * 4),
        None,
        "-999 and -199 in 8 cells, far from all others",
    ),
    "an error": (among(numbers(), "1O2.5"), None, "read as missing: '1O2.5' (1 cell)"),
    "two kinds": (among(numbers(), "unknown", "*", "unknown"), None, "'unknown' (2 cells), '*'"),
}


@pytest.mark.parametrize("name", READ)
def test_numbers_with_what_is_lost_are_read_and_it_is_said(columns, name):
    _, values, note = READ[name]
    column = columns[name]
    assert column.values.dtype.kind == "f"
    if values is not None:
        assert column.values[: len(values)].tolist() == values
    assert note in column.note if note else not column.note


def test_rare_errors_of_several_kinds_are_no_units(tmp_path):
    cells = among([str(i) for i in range(400)], "5x", "6y", "7z")
    column = read(tmp_path / "t.tsv", {"a": cells, "b": ["u"]})["a"]
    assert column.note == "read as missing: '5x' (1 cell), '6y' (1 cell), '7z' (1 cell)"


GAPS = (
    *("..", "--", "---", "—", "–", "*", "**", "***", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?"),
    *("unknown", "Missing", "not available", "n.a.", "N/D", "x", "TBD", "(blank)", "no data"),
    *("[REDACTED]", "<suppressed>", "(not asked)", ".a", ".Z", ":", ": c"),
)


@pytest.mark.parametrize("word", GAPS)
def test_words_for_a_missing_cell_among_numbers_are_gaps(columns, word):
    column = columns[f"gap {word}"]
    assert column.is_missing.sum() == 12
    assert column.note == f"read as missing: {word!r} (12 cells)"


WORDS = {  # columns that stay words, and why
    "colours": (["red", "unknown", "blue", "12"], ""),
    "children": (["0", "1", "2", "3+"], "are not numbers"),
    "chromosomes": ([*map(str, range(1, 23)), "X"], "are not numbers"),
    "list": (["(1)", "(2)", "(3)"], ""),
    "labels": (["00123", "00456"], ""),
    "codes": (["A12", "A13"], ""),
    "units": (["5 kg", "7 lb"], "'kg' and 'lb'"),
    "signs": (["+", "-", "+", "++"], ""),
    "pipes": (['4" pipe', '5" pipe'], ""),
    "powers": (["10³", "12³"], ""),
    "addresses": (["192.168.100.101", "192.168.100.102"], ""),
    "codes with a D": (["1D5", "2D7", "12D3"], ""),
    "seconds and days": (["5 s", "6 d", "7"], "'d' and 's'"),
    "answers in brackets": (["[1]", "[2]"], ""),
    "prices": (["47.-", "56.-"], ""),
    "houses": ([f"{i}" if i % 5 else f"{i}b" for i in range(60)], "are not numbers"),
    "fractions": (["1/2", "3/4"], ""),
    "versions": (["1.2.3", "1.2.4"], ""),
    "ranges": (["10-19", "20-29"], ""),
    "ratios": (["16:9", "4:3"], ""),
    "shops": (among(numbers(), *["closed"] * 9), "since 9 cells such as 'closed' are not numbers"),
    "often unknown": (["unknown", "unknown", "5"], ""),
    "nearly dates": (
        among([f"{d.item():%d.%m.%Y}" for d in DAYS], *["31.06.2020"] * 3),
        "read as words, since 3 cells such as '31.06.2020' are not dates",
    ),
    "two formats": (["2024-01-31", "31.01.2024", "2024-02-01"], "not dates like the others"),
    "two formats alike often": (["2024-01-31", "31.01.2024"], "dates have two forms"),
    "days of a year": (["22 Aug", "25 Mar"], ""),
    "mixed clocks": (["59:45", "1:02:33", "58:45"], "are not times of day"),
    "some zones": (
        ["2024-01-31 10:00:00Z", "2024-01-31 10:00:00", "2024-01-31 11:00:00Z"],
        "not dates like the others",
    ),
}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    cells = {name: case[0] for name, case in WORDS.items()}
    return read(tmp_path_factory.mktemp("words") / "t.tsv", cells)


@pytest.mark.parametrize("name", WORDS)
def test_what_may_be_something_else_stays_words(words, name):
    cells, note = WORDS[name]
    column = words[name]
    assert column.values.dtype.kind == "O"
    assert list(column.values[: len(cells)]) == cells
    assert note in column.note


def test_a_comma_before_three_digits_is_read_by_the_other_cells(tmp_path):
    cells = {
        "thousands": ["1,234", "999", "17,500"],
        "all": ["1,234", "2,345"],
    }
    frame = read(tmp_path / "t.tsv", cells)
    assert frame["thousands"].values[:3].tolist() == [1234.0, 999.0, 17500.0]
    assert "1,234 is read as 1234" in frame["thousands"].note
    assert frame["all"].values[:2].tolist() == [1.234, 2.345]
    assert "if it means 1234, remove the commas" in frame["all"].note
    small = read(tmp_path / "s.tsv", {"decimals": ["0,125", "2,345", "2"], "b": ["u"]})
    assert small["decimals"].values[:3].tolist() == [0.125, 2.345, 2.0]
    other = read(tmp_path / "u.tsv", cells | {"commas": ["1,5", "2,25"]})
    assert other["thousands"].values[:3].tolist() == [1.234, 999.0, 17.5]


def test_a_comma_marks_thousands_where_other_columns_have_decimal_points(tmp_path):
    cells = {"pay": ["£47,912", "£57,432"], "size": ["1.5", "2.25"], "both": ["46.9", "1,234"]}
    frame = read(tmp_path / "t.tsv", cells)
    assert frame["pay"].values[:2].tolist() == [47912.0, 57432.0]
    assert frame["both"].values[:2].tolist() == [46.9, 1234.0]
    alone = read(tmp_path / "u.tsv", {"pay": cells["pay"], "b": ["u"]})
    assert "if it means 47912, remove the commas" in alone["pay"].note


def test_two_answers_in_one_cell_are_no_decimal_comma(tmp_path):
    frame = read(tmp_path / "t.csv", {"a": ["1,3", "2,4"], "b": ["0,25", "2,5"]}, ",")
    assert frame["a"].values[:2].tolist() == ["1,3", "2,4"]
    assert frame["b"].values[:2].tolist() == [0.25, 2.5]


@pytest.mark.parametrize(
    ("form", "number", "text"),
    [
        ("", "-1.5", "-1.5"),
        (",", "-1.5", "-1,5"),
        ("$#", "-1234.5", "-$1234.5"),
        ("$#,##0;(#)", "-1234.5", "($1,234.5)"),
        ("#.##0, €", "1234567.5", "1.234.567,5 €"),
        ("#;#-", "-5", "5-"),
        ("# kg", "7", "7 kg"),
        ("%H:%M", "785", "13:05"),
        ("%-I:%M %p", "785", "1:05 PM"),
        ("%-I:%M%P", "5", "12:05am"),
        ("%H:%M:%S", "47120", "13:05:20"),
        ("%-H:%M:%S.%2f", "3753.5", "1:02:33.50"),
        ("%-H:%M", "4530", "75:30"),
    ],
)
def test_a_form_is_undone(form, number, text):
    assert dressed(number, form) == text
    assert number_in(text, form) == float(number)
    if "%" not in form:
        assert NumberForm.of(form).text == form


@pytest.mark.parametrize(
    "form", ["#" * 50, "#,##0" * 9, ";", "#;", ";#", "%H%H", "%", "\0", "%9f%H"]
)
def test_a_damaged_form_of_numbers_does_no_harm(form):
    assert isinstance(dressed("1.5", form), str)


# --- Dates and times --------------------------------------------------------------------------


def ordinal(day):
    last = 0 if day in (11, 12, 13) else day % 10
    return f"{day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def in_form(form, times=TIMES):
    return [time.item().strftime(form) for time in times]


FORMS = [
    "%Y-%m-%d %H:%M:%S+02:00",
    "%Y-%m-%d %H:%M:%S+02",
    "%Y-%m-%d %H:%M:%S+0200",
    "%Y-%m-%d %H:%M:%S -05:30",
    "%Y-%m-%d %H:%M:%S UTC",
    "%Y-%m-%d %H:%M:%S GMT",
    "%Y-%m-%d %H:%M:%S EST",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%MZ",
    "%Y-%m-%dT%H:%M:%S+01:00[Europe/Berlin]",
    "%Y%m%dT%H%M%SZ",
    "%Y%m%d%H%M%S",
    "%a, %d %b %Y %H:%M:%S +0000",
    "%a %b %d %H:%M:%S +0000 %Y",
    "%a %b %d %Y %H:%M:%S GMT+0200 (CEST)",
    "%d/%b/%Y:%H:%M:%S +0200",
    "%A, %d %B %Y",
    "%a %d/%m/%Y",
    "%d %b %Y %H:%M",
    "%b %d, %Y %I:%M %p",
    "%B %d, %Y at %I:%M %p",
    "%d. %B %Y",
    "%b. %d, %Y",
    "%Y-%b-%d",
    "%b-%y",
    "%Y-%d-%m",
    "%Y.%m.%d",
    "%y-%m-%d",
    "%d-%m-%y",
    "%d. %m. %Y",
    "%H:%M %d/%m/%Y",
    "%Y-%m-%d_%H:%M",
]
DATES = {form: (in_form(form), form) for form in FORMS}
DATES |= {
    "ctime": (in_form("%a %b %e %H:%M:%S %Y"), "%a %b %e %H:%M:%S %Y"),
    "no zeros": (
        [f"{t.month}/{t.day}/{t:%y} {t.hour}:{t:%M}" for t in TIMES.tolist()],
        "%-m/%-d/%y %-H:%M",
    ),
    "German": ([f"{t.day}.{t.month}.{t:%y}" for t in TIMES.tolist()], "%-d.%-m.%y"),
    "capitals": ([cell.upper() for cell in in_form("%d-%b-%Y")], "%d-%^b-%Y"),
    "small letters": (
        [cell.lower() for cell in in_form("%m/%d/%Y %I:%M %p")],
        "%m/%d/%Y %I:%M %P",
    ),
    "milliseconds": (
        [f"{t}.{i:03}" for i, t in enumerate(in_form("%Y-%m-%d %H:%M:%S"))],
        "%Y-%m-%d %H:%M:%S.%3f",
    ),
    "nanoseconds": (
        [cell + ".123456000-05:00" for cell in in_form("%Y-%m-%dT%H:%M:%S")],
        "%Y-%m-%dT%H:%M:%S.%9f-05:00",
    ),
    "comma": (
        [cell + ",25" for cell in in_form("%Y-%m-%d %H:%M:%S")],
        "%Y-%m-%d %H:%M:%S,%2f",
    ),
}


def in_language(names, form):
    """Return dates whose form has {} for the month."""
    names = names.split()
    return [form.format(names[t.month - 1], t=t) for t in TIMES.tolist()]


DATES |= {
    "German months": (in_language(LONG_MONTHS["de"], "{t:%d}. {} {t:%Y}"), "%d. %B{de} %Y"),
    "French months": (in_language(SHORT_MONTHS["fr"], "{t.day} {} {t:%Y}"), "%-d %b{fr} %Y"),
    "Spanish months": (
        in_language(LONG_MONTHS["es"], "{t.day} de {} de {t:%Y}"),
        "%-d de %B{es} de %Y",
    ),
    "Dutch capitals": (
        in_language(SHORT_MONTHS["nl"].upper(), "{t:%d}-{}-{t:%Y}"),
        "%d-%^b{nl}-%Y",
    ),
    "German with times": (
        in_language(LONG_MONTHS["de"], "{t.day}. {} {t:%Y %H:%M} Uhr"),
        "%-d. %B{de} %Y %H:%M Uhr",
    ),
    "Chinese": (in_form("%Y年%m月%d日"), "%Y年%m月%d日"),
    "ordinals": (
        [f"{t:%B} {ordinal(t.day)}, {t:%Y}" for t in TIMES.tolist()],
        "%B %-d{th}, %Y",
    ),
    "of Eurostat": (in_form("%YM%m"), "%YM%m"),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_read_and_written_in_their_form(columns, name):
    cells, form = DATES[name]
    column = columns[name]
    assert column.values.dtype.kind == "M"
    assert column.form == form
    assert back(column) == cells
    unit = "D" if "d" in form or "%e" in form else "M"
    days = column.values.astype(f"datetime64[{unit}]")
    assert (days == TIMES.astype(f"datetime64[{unit}]")).all()


def test_times_of_different_offsets_are_those_of_utc_and_it_is_said(tmp_path):
    summer = [f"2024-{m:02}-11 10:00:00+0{1 + (3 < m < 10)}:00" for m in range(1, 13)]
    named = [f"2024-{m:02}-11 10:00:00 {'CEST' if 3 < m < 10 else 'CET'}" for m in range(1, 13)]
    frame = read(tmp_path / "t.tsv", {"a": summer, "b": named})
    expected = [f"2024-{m:02}-11T0{9 - (3 < m < 10)}:00:00.000000" for m in range(1, 13)]
    assert [str(time) for time in frame["a"].values] == expected
    assert [str(time) for time in frame["b"].values] == expected
    assert "different offsets (+01:00 and +02:00)" in frame["a"].note
    assert back(frame["a"])[0] == "2024-01-11 09:00:00+00:00"
    assert back(frame["b"])[0] == "2024-01-11 09:00:00 UTC"


def test_september_has_four_letters_in_some_files(tmp_path):
    frame = read(tmp_path / "t.tsv", {"a": ["30 Sept 2024", "1 Oct 2024"], "b": ["u"]})
    assert frame["a"].values.astype("M8[D]").astype(str).tolist() == ["2024-09-30", "2024-10-01"]


GAPS_OF_DATES = ("unknown", "00.00.0000", "31.12.9999", "--", "01.01.0001")


def test_words_for_a_missing_cell_among_dates_are_gaps(tmp_path):
    days = in_form("%d.%m.%Y")
    cells = {f"gap {word}": among(days, *[word] * 9) for word in GAPS_OF_DATES}
    frame = read(tmp_path / "t.tsv", cells | {"one": among(days, "31.06.2023")})
    for word in GAPS_OF_DATES:
        assert frame[f"gap {word}"].is_missing.sum() == 9
        assert frame[f"gap {word}"].note == f"read as missing: {word!r} (9 cells)"
    assert frame["one"].note == "read as missing: '31.06.2023' (1 cell)"


CLOCKS = {
    "24 hours": (in_form("%H:%M"), "%H:%M"),
    "seconds": (in_form("%H:%M:%S"), "%H:%M:%S"),
    "no zero": ([f"{t.hour}:{t:%M}" for t in TIMES.tolist()], "%-H:%M"),
    "halves": (in_form("%I:%M %p"), "%I:%M %p"),
    "small halves": (
        [f"{int(f'{t:%I}')}:{t:%M}{f'{t:%p}'.lower()}" for t in TIMES.tolist()],
        "%-I:%M%P",
    ),
    "parts of seconds": ([f"{c}.5" for c in in_form("%H:%M:%S")], "%H:%M:%S.%1f"),
    "durations": (["24:10", "75:30", "3:05"], "%-H:%M"),
}


@pytest.mark.parametrize("name", CLOCKS)
def test_times_of_day_are_numbers_and_come_back(columns, name):
    cells, form = CLOCKS[name]
    column = columns[name]
    assert (column.values.dtype.kind, column.form) == ("f", form)
    assert back(column)[: len(cells)] == cells
    assert plain(column)[0] == cells[0]
    kind = columns_of(Frame((column,))).columns[0]
    low, high = (number_in(cell, form) for cell in (cells[0], cells[1]))
    assert kind.parsed(cells[0]).values[0] == low
    assert kind.shown(high) == cells[1]
    if kind.kind == "continuous":
        assert " … " in kind.summary
        assert ":" in kind.summary


def test_day_and_month_have_one_order_in_a_file_and_it_is_said(tmp_path):
    poll = ["8/17/22", "9/2/22", "8/30/22"]
    clear = read(tmp_path / "t.csv", {"poll": poll, "election": ["11/8/22"]}, ",")
    assert str(clear["election"].values[0])[:10] == "2022-11-08"
    assert clear["election"].note == "day and month in the order of 'poll'"
    assert back(clear["election"])[0] == "11/8/22"
    times = read(tmp_path / "t.csv", {"poll": poll, "seen": ["11/8/2022 10:30"]}, ",")
    assert str(times["seen"].values[0])[:16] == "2022-11-08T10:30"
    turned = ["17/8/22", "2/9/22"]
    first = read(tmp_path / "t.csv", {"poll": turned, "election": ["11/8/22"]}, ",")
    assert str(first["election"].values[0])[:10] == "2022-08-11"
    open_one = read(tmp_path / "t.csv", {"election": ["11/8/22", "12/9/22"]}, ",")
    assert str(open_one["election"].values[0])[:10] == "2022-08-11"
    assert "read with the day first, as no cell decides" in open_one["election"].note
    both = read(tmp_path / "t.csv", {"a": poll, "b": turned, "c": ["11/8/22"]}, ",")
    assert "no cell decides" in both["c"].note


def test_a_second_file_is_read_as_the_first_and_its_words_for_missing_cells_are_gaps(tmp_path):
    cells = {
        "mass": [f"{i} kg" for i in range(60)],
        "gain": [f"({i})" if i % 2 else str(i) for i in range(60)],
        "price": [f"{i},{i:03}" for i in range(1, 61)] + ["7"],
        "when": in_form("%Y-%m-%d %H:%M:%S+02:00"),
        "day": in_form("%m/%d/%Y"),
        "at": in_form("%H:%M"),
    }
    first = read(tmp_path / "t.tsv", cells)
    known = Frame(tuple(column.taken(np.arange(0)) for column in first.values()))
    new = {
        "mass": ["5 kg", "7", "unknown"],
        "gain": ["(5)", "7", "--"],
        "price": ["1,234", "2,345", ""],
        "when": ["2024-01-01 10:00:00+01:00", "2024-01-01 10:00:00+02:00", "unknown"],
        "day": ["02/03/2024", "unknown", "n/a"],
        "at": ["08:30", "unknown", "unknown"],
    }
    frame = read(tmp_path / "u.tsv", new, known=known)
    assert frame["mass"].values[:2].tolist() == [5.0, 7.0]
    assert frame["gain"].values[:2].tolist() == [-5.0, 7.0]
    assert frame["price"].values[:2].tolist() == [1234.0, 2345.0]
    assert [str(t)[11:16] for t in frame["when"].values[:2]] == ["11:00", "10:00"]
    assert str(frame["day"].values[0])[:10] == "2024-02-03"
    assert frame["at"].values[0] == 510.0
    for column in frame.values():
        assert column.is_missing[2]
        assert column.form == first[column.name].form or column.name in ("mass", "gain", "price")
    gone = read(tmp_path / "v.tsv", {name: ["unknown", ""] for name in cells}, known=known)
    assert all(column.is_missing.all() for column in gone.values())
    assert [c.values.dtype.kind for c in gone.values()] == ["f", "f", "f", "M", "M", "f"]
