"""The parts of text files: separators, lines before the table, names, rows, and what is said."""

import io

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.data.readers import cells_of, read_file
from harmonium.errors import InputError
from harmonium.tables.text import open_text
from harmonium.tables.text_format import TextFormat
from text_files import read_text

RNG = np.random.default_rng(0)
NUMBERS = [f"{x:.2f}" for x in RNG.normal(3.0, 2.0, 30)]
COUNTS = [str(x) for x in RNG.integers(0, 50, 30)]
COLOURS = [str(x) for x in RNG.choice(["red", "blue", "green"], 30)]
PEOPLE = [f"p{i}" for i in range(30)]


def lines(*columns, mark=","):
    return "".join(mark.join(row) + "\n" for row in zip(*columns, strict=True))


def opened(tmp_path, content, name="t.csv", **options):
    """Return the table of a file, and the notes on it as one text."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = open_text(path, name, TextFormat(**options))
    return table, "; ".join(table.notes)


def names_and_rows(tmp_path, content, **options):
    table, _ = opened(tmp_path, content, **options)
    return table.names, len(table.cells().rows)


def refusal(tmp_path, content, **options):
    with pytest.raises(InputError) as caught:
        opened(tmp_path, content, **options)[0].frame()
    return str(caught.value)


ROWS = lines(NUMBERS, NUMBERS, COLOURS)
WITH_NAMES = {
    "words above numbers": ("x,y,z\n" + ROWS, ("x", "y", "z")),
    "a word above numbers, others seen": (
        "name,age,Honorary\n" + lines(PEOPLE, COUNTS, ["Full", "Honorary"] * 15),
        ("name", "age", "Honorary"),
    ),
    "names that are cells of their column": (
        "a,b,c\n" + lines(["A", "B"] * 15, ["a", "b", "c"] * 10, ["u", "v"] * 15),
        ("a", "b", "c"),
    ),
    "answers to be ticked": (
        "age,Email,Phone\n" + lines(COUNTS, ["Email", "", ""] * 10, ["", "Phone", ""] * 10),
        ("age", "Email", "Phone"),
    ),
    "answers to be ticked, alone": (
        "Email,Phone,SMS\n" + lines(["Email", ""] * 15, ["", "Phone"] * 15, ["SMS", ""] * 15),
        ("Email", "Phone", "SMS"),
    ),
    "a name above cells A and B": (
        "name,A,B\n" + lines(PEOPLE, ["A", "B"] * 15, ["B", "A", "A"] * 10),
        ("name", "A", "B"),
    ),
    "one year": ("state,2022\n" + lines(["AA", "BB", "CC"] * 10, NUMBERS), ("state", "2022")),
    "numbers of samples over genes": (
        "gene,4711,1023,4801\n" + lines([f"BRCA{i}" for i in range(30)], *[NUMBERS] * 3),
        ("gene", "4711", "1023", "4801"),
    ),
    "dates": (
        "land,2020-01-22,2020-01-23\n" + lines(PEOPLE, COUNTS, COUNTS),
        ("land", "2020-01-22", "2020-01-23"),
    ),
    "American dates": (
        "land,1/22/20,1/23/20\n" + lines(PEOPLE, COUNTS, COUNTS),
        ("land", "1/22/20", "1/23/20"),
    ),
    "wavelengths": (
        "sample,400.0,402.5,405.0\n" + lines(PEOPLE, *[NUMBERS] * 3),
        ("sample", "400.0", "402.5", "405.0"),
    ),
    "percentages": ("item,5%,10%\n" + lines(PEOPLE, NUMBERS, NUMBERS), ("item", "5%", "10%")),
    "an empty first cell": (",colour\n" + lines(COUNTS, COLOURS), ("column 1", "colour")),
    "labels and pixels": (
        f"label,{','.join(map(str, range(70)))}\n" + lines(*[COUNTS] * 71),
        ("label", *map(str, range(70))),
    ),
    "counted items": (
        f"{','.join(map(str, range(1, 11)))}\n" + lines(*[["1", "2", "5"] * 10] * 10),
        tuple(map(str, range(1, 11))),
    ),
}


@pytest.mark.parametrize("case", WITH_NAMES)
def test_a_line_of_names_is_found_by_all_its_columns(tmp_path, case):
    content, names = WITH_NAMES[case]
    assert names_and_rows(tmp_path, content) == (names, 30)


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("content", ["reals", "bits", "words", "one column"])
def test_arrays_that_pandas_wrote_have_their_numbers_as_names(tmp_path, content, index):
    reals = RNG.normal(2.0, 1.0, (40, 3)).round(2)
    frame = {
        "reals": pd.DataFrame(reals),
        "bits": pd.DataFrame((reals > 2).astype(int)),
        "words": pd.DataFrame({0: ["tea", "milk"] * 20, 1: reals[:, 0]}),
        "one column": pd.DataFrame(reals[:, :1]),
    }[content]
    names = tuple(str(name) for name in frame.columns)
    expected = ("column 1", *names) if index else names
    assert names_and_rows(tmp_path, frame.to_csv(index=index)) == (expected, 40)


WITHOUT_NAMES = {
    "iris": lines(NUMBERS, NUMBERS, COLOURS),
    "words that repeat": lines(COLOURS, ["big", "small"] * 15, ["u", "v"] * 15),
    "bits that begin with 0, 1": "0,1\n" + "1,0\n0,1\n1,1\n" * 10,
    "small counts that begin with 0, 1, 2": "0,1,2\n" + "1,0,2\n0,3,1\n0,1,3\n" * 10,
    "ranks": "1,2,3\n" + "3,2,1\n2,1,3\n1,3,2\n" * 5,
    "windows of a series": "0,1,2,3\n1,2,3,4\n2,3,4,5\n3,4,5,6\n",
    "a matrix that was typed": "1,2,3\n4,5,6\n7,8,9\n",
    "amounts": "$5.00,red\n$6.50,blue\n$7.25,red\n",
    "dates": lines([f"2020-01-{i + 1:02}" for i in range(30)], NUMBERS, COLOURS),
    "years": "1990,5.5\n1991,6.1\n1992,7.7\n1993,6.5\n",
    "spins": "+-+\n--+\n" * 9,
    "few rows of counts": "Ann,1,2\nBob,2,3\nCy,4,4\n",
    "few rows of letters": "1,x\n2,y\n3,z\n",
    "few rows of words": "0,red\n1,blue\n2,green\n",
    "gaps in the first line": ",,red\n" + lines(["1.5", "", "2"] * 10, ["", "2"] * 15, COLOURS),
}


@pytest.mark.parametrize("case", WITHOUT_NAMES)
def test_a_first_line_like_the_others_is_a_row(tmp_path, case):
    content = WITHOUT_NAMES[case]
    assert names_and_rows(tmp_path, content) == (None, content.count("\n"))


def test_the_note_on_the_first_line_names_the_option_that_decides(tmp_path):
    bits = "0,1\n" + "1,0\n0,1\n1,1\n" * 10
    note = "the first line is read as a row; --header 1 reads it as names"
    assert opened(tmp_path, bits)[1] == note
    assert names_and_rows(tmp_path, bits, header=1) == (("0", "1"), 30)
    doubtful = "0,1,2\n" + "0,1,1\n1,1,0\n0,1,0\n" * 4
    note = "the first line names the 3 columns; --header none reads it as a row"
    assert opened(tmp_path, doubtful)[1] == note
    assert names_and_rows(tmp_path, doubtful, header="none") == (None, 13)
    assert opened(tmp_path, "x,y,z\n" + ROWS)[1] == "the first line names the 3 columns"
    assert opened(tmp_path, ROWS)[1] == ""


TABLE = "name,age,city\n" + lines(PEOPLE, COUNTS, COLOURS)
BEFORE = {
    "a title and a blank line": ("Report of sales\n\n" + TABLE, "'Report of sales'"),
    "a title": ("Sales of the year\n" + TABLE, "'Sales of the year'"),
    "a title with commas": ("Sales, by region, 2024\n\n" + TABLE, "'Sales by region 2024'"),
    "a title of a spreadsheet": ("Report,,\n,,\n" + TABLE, "before line 3 is set aside: 'Report'"),
    "several lines": ("Source: x\nDate: 2024-01-01\n\n" + TABLE, "'Source: x'"),
    "comments": ("# made by hand\n#\n" + TABLE, "set aside as comments: 2 lines"),
    "Excel's line": ("sep=,\n" + TABLE, "line 1 says that ',' separates the cells"),
    "empty rows at the end": (TABLE + ",,\n,,\n", "2 rows without any cell"),
    "texts at the end": (TABLE + "\nSource: World Bank\n", "'Source: World Bank'"),
    "a comment at the end": (TABLE + "# end of table\n", "set aside as comments: 1 line"),
    "a comment between": ("# a\n" + TABLE + "# break\n" + "q,5,red\n", "comments: 2 lines"),
}


@pytest.mark.parametrize("case", BEFORE)
def test_lines_that_are_no_rows_are_set_aside_with_a_note(tmp_path, case):
    content, note = BEFORE[case]
    table, notes = opened(tmp_path, content)
    assert table.names == ("name", "age", "city")
    assert len(table.cells().rows) == 30 + ("q,5" in content)
    assert note in notes


def test_a_title_above_rows_without_names(tmp_path):
    assert names_and_rows(tmp_path, "Measured on Monday\n\n" + ROWS) == (None, 30)


COMMENTS = {
    "numpy": ("# a b c\n" + lines(NUMBERS, NUMBERS, NUMBERS, mark=" "), ("a", "b", "c")),
    "numpy with commas": ("# a,b\n" + lines(NUMBERS, NUMBERS), ("a", "b")),
    "matlab": ("% made\n% x y\n" + lines(NUMBERS, NUMBERS, mark=" "), ("x", "y")),
    "genes": (
        "##x\n#CHROM\tPOS\n" + lines(["chr1", "chr2"] * 15, COUNTS, mark="\t"),
        ("CHROM", "POS"),
    ),
    "a counter": ("#,v\n" + lines(COUNTS, NUMBERS), ("#", "v")),
}


@pytest.mark.parametrize("case", COMMENTS)
def test_a_comment_may_name_the_columns(tmp_path, case):
    content, names = COMMENTS[case]
    assert names_and_rows(tmp_path, content) == (names, 30)


def test_rows_may_begin_with_the_sign_of_a_comment(tmp_path):
    content = "rank,v\n" + lines([f"#{i}" for i in range(30)], NUMBERS)
    assert names_and_rows(tmp_path, content) == (("rank", "v"), 30)
    mixed, _ = opened(tmp_path, "1,2,3\n#4,5,6\n7,8,9\n")
    assert mixed.numbers() is None
    assert len(mixed.cells().rows) == 3


def r_table(names, mark=" ", quote='"'):
    """Return a table as R's write.table writes it."""
    head = mark.join(f"{quote}{name}{quote}" for name in names) + "\n"
    columns = [NUMBERS, [f"{quote}{c}{quote}" for c in COLOURS]][: len(names)]
    return head + lines([f"{quote}{i + 1}{quote}" for i in range(30)], *columns, mark=mark)


@pytest.mark.parametrize("mark", [" ", "\t", ","])
@pytest.mark.parametrize("quote", ['"', ""])
@pytest.mark.parametrize("names", [("x", "y"), ("x",)])
def test_names_that_lack_the_first_as_r_writes_them(tmp_path, mark, quote, names):
    content = r_table(names, mark, quote)
    assert names_and_rows(tmp_path, content) == (("column 1", *names), 30)
    count = len(names) + 1
    note = f"the first line names all of the {count} columns but the first"
    assert note in opened(tmp_path, content)[1]


def test_a_frame_that_pandas_printed(tmp_path):
    frame = pd.DataFrame({"x": np.arange(20) / 4, "y": COLOURS[:20]})
    assert names_and_rows(tmp_path, frame.to_string() + "\n") == (("column 1", "x", "y"), 20)


SECOND = {
    "units": ("t,v,name\ns,m/s,\n" + ROWS, ("t", "v", "name"), "line 2 is set aside as names"),
    "answers": (
        "id,Do you smoke?\n,Response\n"
        + lines([str(i + 1) for i in range(30)], ["Yes", "No"] * 15),
        ("id", "Do you smoke?"),
        "line 2 is set aside as names or units; --header 1 reads it as a row",
    ),
    "merged cells": (
        "Group A,,Group B,\nx,y,x,y\n" + lines(*[NUMBERS] * 4),
        ("Group A x", "Group A y", "Group B x", "Group B y"),
        "the first line and line 2 name the 4 columns",
    ),
}


@pytest.mark.parametrize("case", SECOND)
def test_a_second_line_of_names_is_no_row(tmp_path, case):
    content, names, note = SECOND[case]
    assert names_and_rows(tmp_path, content) == (names, 30)
    assert note in opened(tmp_path, content)[1]
    assert names_and_rows(tmp_path, content, header=1)[1] == 31


def test_two_levels_of_names_of_pandas_are_joined(tmp_path):
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")])
    for index in (None, pd.Index(range(20), name="index")):
        frame = pd.DataFrame(RNG.normal(size=(20, 3)).round(2), columns=columns, index=index)
        names, rows = names_and_rows(tmp_path, frame.to_csv())
        assert names == ("column 1", "a x", "a y", "b x")
        assert rows == 20


@pytest.mark.parametrize(
    "first",
    [",,red\n", "0,,red\n", "1.5,unknown,red\n", "unknown,2,blue\n"],
)
def test_a_first_row_with_gaps_or_odd_cells_stays(tmp_path, first):
    assert names_and_rows(tmp_path, "x,y,z\n" + first + ROWS) == (("x", "y", "z"), 31)


BLANKS = {
    "signs": lines(["X", "Z", "X"] * 10, ["X", "Z"] * 15, ["Z", "Z", "X"] * 10, mark=" "),
    "truth": lines(["True", "False"] * 15, ["True", "False", "True"] * 10, mark=" "),
    "mixed": "name age\n" + lines(PEOPLE, COUNTS, mark=" "),
    "aligned": "name   age\n"
    + "".join(f"{a:<6}  {b:>3}\n" for a, b in zip(PEOPLE, COUNTS, strict=True)),
    "aligned, with blanks in cells": "name        town\n"
    + "".join(f"Ann Lee{i % 7:<3}  {'New York' if i % 3 else 'Rome'}\n" for i in range(30)),
    "missing": lines(NUMBERS, ["NA", "?", "-", "None", "1.5"] * 6, mark=" "),
    "numbers with commas": lines(*[[x.replace(".", ",") for x in NUMBERS]] * 2, mark="  "),
    "tabs and blanks": "".join(f" {a}\t  {b} \n" for a, b in zip(NUMBERS, COUNTS, strict=True)),
    "a title": "My results of today\n\nx y\n" + lines(NUMBERS, NUMBERS, mark=" "),
    "times": "day time v\n" + "".join(f"2024-01-01 10:{i:02} {i}.5\n" for i in range(30)),
}


@pytest.mark.parametrize("case", BLANKS)
def test_cells_between_blanks_are_cells(tmp_path, case):
    table, _ = opened(tmp_path, BLANKS[case])
    rows = table.cells().rows
    width = 3 if case in ("signs", "times") else 2
    assert (len(rows), {len(row) for row in rows}) == (30, {width})
    assert len(table.frame().columns) == width


@pytest.mark.parametrize(
    "content",
    [
        "name\n" + "Ann Lee\nBob Ray\nCy Poe\n" * 5,
        "New York\nLos Angeles\nSan Diego\n" * 5,
        "when\n" + "".join(f"2024-01-{i + 1:02} 10:00\n" for i in range(20)),
        "".join(f"2024-01-{i + 1:02} 10:00\n" for i in range(20)),
        "weight\n5 kg\n6 kg\n7.5 kg\n",
        "x\n1 234\n2 345\n",
    ],
)
def test_cells_with_blanks_stay_whole(tmp_path, content):
    assert opened(tmp_path, content)[0].width == 1


SEPARATED = {
    "decimal commas": lines(*[[x.replace(".", ",") for x in NUMBERS]] * 2, mark=";"),
    "texts with commas": "a;b\n" + lines(NUMBERS, ["one, two"] * 30, mark=";"),
    "lists": "a\tb\n" + lines(NUMBERS, ["u,v,w"] * 30, mark="\t"),
    "quotes behind blanks": "id, text\n" + lines(NUMBERS, ['"a, b"'] * 30, mark=", "),
    "line ends in cells": "id,text\n" + lines(NUMBERS, ['"a\nb"', '"c\r\nd"'] * 15),
    "quotes behind a backslash": "id,text\n" + lines(NUMBERS, ['"say \\"a\\", b"'] * 30),
    "inches": "size,v\n" + lines(['5" pipe'] * 30, NUMBERS),
    "blanks behind quotes": "a,b\n" + "".join(f'"{x}" ,5\n' for x in COLOURS),
    "a table that was drawn": "| a | b |\n|---|---|\n"
    + "".join(f"| {x} | {y} |\n" for x, y in zip(NUMBERS, COLOURS, strict=True)),
    "a mark at each end": "a,b,\n"
    + "".join(f"{x},{y},\n" for x, y in zip(NUMBERS, COLOURS, strict=True)),
    "a mark behind rows": "a,b\n"
    + "".join(f"{x},{y},\n" for x, y in zip(NUMBERS, COLOURS, strict=True)),
    "a mark behind names": "a,b,\n" + lines(NUMBERS, COLOURS),
}


@pytest.mark.parametrize("case", SEPARATED)
def test_separators_are_told_from_what_is_in_cells(tmp_path, case):
    table, _ = opened(tmp_path, SEPARATED[case])
    rows = table.cells().rows
    assert (len(rows), table.width) == (30, 2)
    assert {len(row) for row in rows} == {2}
    assert len(table.frame()) == 30


def test_blank_lines_between_few_rows_are_no_reason_for_names(tmp_path):
    assert names_and_rows(tmp_path, "a,b\n\n1,x\n2,y\n") == (("a", "b"), 2)


def test_an_empty_line_in_a_single_column_is_a_missing_cell(tmp_path):
    table, _ = opened(tmp_path, "x\n1.5\n\n3.5\n4\n\n")
    assert table.frame().columns[0].is_missing.tolist() == [False, True, False, False]


def test_names_that_repeat_are_numbered_and_said(tmp_path):
    table, notes = opened(tmp_path, "a,b,a,a.1\n1,x,2,5\n3,y,4,6\n")
    assert table.names == ("a", "b", "a.2", "a.1")
    assert "2 columns have the name 'a': read as a, a.2" in notes


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('a,b\n1,x\n2,"y\n' + "3,z\n" * 50, 3),
        ('a,b\n1,x\n2,"y\n', 3),
        ("a,b,c\n" + 'u,1,"p"\n' * 5 + '"v,68,1\n' + 'u,1,"p"\n' * 30, 7),
        ('"a,b\n' + "1,2\n" * 9, 1),
        ("a,b\n" + 'u,"p"\n' * 90_000 + 'v,"q\n' + "u,r\n" * 60_000, 90_002),
    ],
)
def test_a_quote_that_is_not_closed_is_named_by_the_line_where_it_opens(tmp_path, content, line):
    message = refusal(tmp_path, content)
    assert f"got one that opens in line {line:,} and is not closed" in message


def test_lines_of_other_widths_are_refused_with_the_options_that_may_help(tmp_path):
    late = refusal(tmp_path, TABLE + "1,2\n" + lines(PEOPLE, COUNTS, COLOURS))
    assert "expected 3 columns as in the first line; got 2 in line 32" in late
    assert "--separator" in late
    early = refusal(tmp_path, "x\n" + lines(NUMBERS, NUMBERS))
    assert "expected 1 column as in the first line; got 2 in line 2" in early
    assert "--skip N" in early
    assert "--header N" in early
    titled = refusal(tmp_path, "A title of it\n\n" + TABLE + "1,2\n")
    assert "3 columns as in line 3; got 2 in line 34" in titled


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("<html><body>\n<table>\n<tr><td>1</td></tr>\n</table>\n", "HTML or XML"),
        ('[{"a": 1, "b": 2},\n {"a": 2, "b": 3}]\n', "JSON"),
        ('{"a": 1}\n{"a": 2}\n', "JSON"),
        ("This is a letter.\nIt has some lines of text.\nNone is a row.\n", "lines of text"),
        (",,,\n,,\n", "only blank lines"),
        ("# a\n# b\n", "only blank lines"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content, kind):
    assert kind in refusal(tmp_path, content)


# --- Encodings --------------------------------------------------------------------------

LATIN = "nom,âge,ville\n" + lines(
    ["José", "Björn", "Françoise"] * 10, COUNTS, ["Málaga", "à côté", "Köln"] * 10
)
OTHERS = "имя,число\n" + lines(["Анна", "Пётр"] * 15, COUNTS)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("cp1252", "Windows-1252"),
        ("mac_roman", "Mac Roman"),
    ],
)
def test_encodings_are_found_and_said(tmp_path, encoding, title, end):
    table, notes = opened(tmp_path, LATIN.replace("\n", end).encode(encoding))
    assert table.names == ("nom", "âge", "ville")
    assert table.cells().rows[1][0] == "Björn"
    assert table.cells().rows[1][2] == "à côté"
    assert notes.startswith(f"the text is {title}, not UTF-8" if title else "the first line")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_scripts_are_read_from_unicode(tmp_path, encoding):
    table, _ = opened(tmp_path, OTHERS.encode(encoding))
    assert table.names == ("имя", "число")


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "shift_jis"])
def test_other_encodings_are_refused_and_not_taken_for_western_letters(tmp_path, encoding):
    content = OTHERS if encoding != "shift_jis" else "名前,数\n東京,1\n大阪,2\n東京,3\n"
    assert "bytes in another encoding; save it as UTF-8" in refusal(
        tmp_path, content.encode(encoding)
    )


@pytest.mark.parametrize(
    "text", ["don’t", "“yes” – no", "5 €", "5°C", "Paris–Roubaix", "½", "Ærø", "garçon"]
)
def test_signs_of_windows_stay_those_of_windows(tmp_path, text):
    content = f"text,v\n{text},1\nplain,2\nplain,3\n".encode("cp1252")
    assert opened(tmp_path, content)[0].cells().rows[0][0] == text


@pytest.mark.parametrize(
    "text", ["José", "Zoë", "Köln", "Größe", "España", "naïve", "5°C", "señor"]
)
def test_letters_of_a_mac_are_letters(tmp_path, text):
    content = f"text,v\n{text},1\nplain,2\nplain,3\n".encode("mac_roman")
    assert opened(tmp_path, content)[0].cells().rows[0][0] == text


def test_signs_that_other_programs_take_for_line_ends_stay_in_cells(tmp_path):
    table, _ = opened(tmp_path, "a,b\n" + "one\u2028two\x85three,1\n" * 3)
    assert table.cells().rows == [["one\u2028two\x85three", "1"]] * 3


# --- Bits and spins ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "first", "rows"),
    [
        ("010010\n111101\n000000\n", [0, 1, 0, 0, 1, 0], 3),
        ("outcome\n01\n11\n", [0, 1], 2),
        ("1101\n1111\n", [1, 1, 0, 1], 2),
        ("+-+\n--+\n", [1, -1, 1], 2),
        ("+ - +\n- - +\n+ + -\n- + -\n", [1, -1, 1], 4),
    ],
)
def test_strings_of_bits_and_spins_are_columns(tmp_path, content, first, rows):
    path = tmp_path / "shots.txt"
    path.write_text(content)
    contents = read_file(path)
    assert contents.train.shape == (rows, len(first))
    assert contents.train[0].tolist() == first
    is_string = " " not in content
    assert any("read as one column each" in note for note in contents.notes) == is_string


@pytest.mark.parametrize("content", ["10\n11\n10\n", "101\n111\n", "0\n1\n", "00,5\n01,6\n"])
def test_numbers_of_zeros_and_ones_stay_numbers(tmp_path, content):
    assert opened(tmp_path, content)[0].signs is None


# --- As told ----------------------------------------------------------------------------


def test_a_format_decides_what_a_file_leaves_open(tmp_path):
    odd = "Some title\nname!age!note\n" + lines(PEOPLE, ["unknown", *COUNTS[1:]], COLOURS, mark="!")
    table, _ = opened(tmp_path, odd, separator="!", header=2, missing=("Unknown", "red"))
    frame = table.frame()
    assert frame.names == ("name", "age", "note")
    assert frame.columns[1].values.dtype.kind == "f"
    assert frame.columns[1].is_missing.tolist() == [True] + [False] * 29
    assert set(frame.columns[2].values) == {None, "blue", "green"}
    assert names_and_rows(tmp_path, odd, separator="!", skip=2, header="none") == (None, 30)
    assert names_and_rows(tmp_path, odd, separator="!", skip=1, header="none") == (None, 31)
    assert names_and_rows(tmp_path, TABLE, separator="tab")[1] == 30
    assert opened(tmp_path, TABLE, separator="tab")[0].width == 1
    assert opened(tmp_path, "5 6\n7 8\n", separator="comma")[0].width == 1


def test_a_number_may_be_told_to_be_missing(tmp_path):
    table, _ = opened(tmp_path, lines(["-999", *NUMBERS[1:]], NUMBERS), missing="-999")
    assert table.numbers() is None
    assert table.frame().columns[0].is_missing.sum() == 1
    spaced, _ = opened(tmp_path, lines(["it's", *NUMBERS[1:]], NUMBERS), missing=["it's"])
    assert spaced.frame().columns[0].values.dtype.kind == "f"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"header": 0}, "--header: expected the number of the line"),
        ({"header": "yes"}, "--header: expected the number of the line"),
        ({"header": True}, "--header: expected the number of the line"),
        ({"header": 1.5}, "--header: expected the number of the line"),
        ({"header": 2, "skip": 3}, "--header: expected a line after line 3, the last that"),
        ({"skip": -1}, "--skip: expected a whole number of lines"),
        ({"skip": "2"}, "--skip: expected a whole number of lines"),
        ({"separator": ""}, "--separator: expected one character"),
        ({"separator": "::"}, "--separator: expected one character"),
        ({"separator": "x"}, "--separator: expected one character"),
        ({"separator": '"'}, "--separator: expected one character"),
        ({"separator": "\n"}, "--separator: expected one character"),
        ({"separator": 5}, "--separator: expected one character"),
        ({"missing": [""]}, "--missing: expected words"),
        ({"missing": [5]}, "--missing: expected words"),
        ({"missing": 5}, "--missing: expected words"),
    ],
)
def test_a_format_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        TextFormat(**options)


def test_a_format_that_does_not_fit_the_file_is_refused(tmp_path):
    message = refusal(tmp_path, "a\n\nb\nc\n", header=2)
    assert "got a blank line; the next line with cells is line 3" in message
    assert "got a file of 2 lines" in refusal(tmp_path, "a\n5\n", skip=2)
    assert "got a file of 2 lines" in refusal(tmp_path, "a\n5\n", header=3)
    assert "got a header and no rows" in refusal(tmp_path, "a\n5\n", header=2)
    (tmp_path / "t.npy").write_bytes(b"")
    with pytest.raises(InputError, match="only with a text file"):
        read_file(tmp_path / "t.npy", text_format=TextFormat(skip=1))
    for options in ({"header": 1}, {"separator": ","}, {"missing": "x"}, {"skip": 1}):
        with pytest.raises(InputError, match="digits: expected no header"):
            hm.open_source("digits", **options)


def test_sources_are_opened_with_the_options_given(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("A title\nx!y\n" + lines(NUMBERS, ["unknown", *NUMBERS[1:]], mark="!"))
    options = {"header": 2, "separator": "!", "missing": ["unknown"]}
    table = hm.open_source(str(path), **options)
    assert [column.name for column in table.columns.columns] == ["x", "y"]
    assert np.isnan(table.train).sum() == 1


def test_a_later_file_has_the_names_of_the_first_one(tmp_path):
    """Also where its few rows say little, and where its line of units is to be found again."""
    first, _ = opened(tmp_path, "id,Email,t\n,,s\n" + lines(PEOPLE, ["Email", ""] * 15, NUMBERS))
    known = first.frame()
    assert known.names == ("id", "Email", "t")
    path = tmp_path / "later.csv"
    path.write_text("My rows\nEmail,t,id\nEmail,,p7\n")
    later = read_text(path, "later", known)
    assert later.names == ("Email", "t", "id")
    assert len(later) == 1
    assert cells_of(path, 1, known=later).rows == [["Email", "", "p7"]]


def test_one_decoding_serves_names_rows_and_cells(tmp_path, monkeypatch):
    reads = []
    real = open_text.__globals__["bytes_of"]
    monkeypatch.setitem(
        open_text.__globals__, "bytes_of", lambda *given: reads.append(given) or real(*given)
    )
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    assert read_file(path).frame.names == ("name", "age", "city")
    assert len(reads) == 1


def test_savetxt_with_a_footer_stays_a_matrix(tmp_path):
    bits = (RNG.random((60, 6)) < 0.5).astype(int)
    out = io.StringIO()
    np.savetxt(out, bits, fmt="%d", footer="end of run")
    path = tmp_path / "bits.txt"
    path.write_text(out.getvalue())
    contents = read_file(path)
    np.testing.assert_array_equal(contents.train, bits)
    assert contents.train.dtype == np.int64
    assert contents.frame is None
