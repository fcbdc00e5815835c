"""Reading tables: every usual make of a text file, and what is wrong with a file."""

import gzip
import sys

import duckdb
import numpy as np
import pytest

import harmonium as hm
from harmonium.errors import InputError
from harmonium.tables import Frame
from harmonium.tables.columnar import read_arrow, read_parquet
from harmonium.tables.writing import text_of
from text_files import read_text

TABLE = "name,age,when\nAnna,30,2024-01-31\nBob,,2024-02-29\n"


def written(path, content, encoding="utf-8"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def cells(frame):
    """Return the cells of each column by name, None where one is missing."""
    return {
        column.name: [
            None if gap else value
            for value, gap in zip(column.values.tolist(), column.is_missing, strict=True)
        ]
        for column in frame.columns
    }


def read(tmp_path, content, encoding="utf-8", name="t.csv"):
    return read_text(written(tmp_path / name, content, encoding), name)


def refusal(tmp_path, content):
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    assert message.startswith("t.csv: expected ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(tmp_path, delimiter, end):
    frame = read(tmp_path, TABLE.replace(",", delimiter).replace("\n", end))
    assert frame.has_names
    assert cells(frame)["name"] == ["Anna", "Bob"]
    assert cells(frame)["age"] == [30.0, None]
    assert [str(day)[:10] for day in frame.columns[2].values] == ["2024-01-31", "2024-02-29"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    frame = read(tmp_path, "name,age\nJosé,1\nZoë,2\n", encoding)
    assert cells(frame) == {"name": ["José", "Zoë"], "age": [1.0, 2.0]}


def test_gzip(tmp_path):
    assert len(read(tmp_path, gzip.compress(TABLE.encode()), name="t.csv.gz")) == 2


@pytest.mark.parametrize("word", ["", "NA", "n/a", "?", "-", ".", "NaN", "nan", "NULL", " ? "])
def test_what_stands_for_a_missing_cell(tmp_path, word):
    assert cells(read(tmp_path, f"a,b\n1,x\n{word},y\n"))["a"] == [1.0, None]


def test_quotes_spaces_and_line_ends_within_cells(tmp_path):
    frame = read(tmp_path, 'a, b\n"x, y", 1\n"two\nlines", 2\n"say ""hi""", 3\n')
    assert cells(frame) == {"a": ["x, y", "two\nlines", 'say "hi"'], "b": [1.0, 2.0, 3.0]}


def test_decimal_commas_and_thousands(tmp_path):
    assert cells(read(tmp_path, "a;b\n1,75;x\n2;y\n"))["a"] == [1.75, 2.0]
    assert cells(read(tmp_path, 'a,b\n"1,234.5",x\n12,y\n'))["a"] == [1234.5, 12.0]


LARGE = [12_345.25, 1_234_567.5, 987.75]
NOTATIONS = {
    "1.234,5": (";", lambda text: text.translate({44: ".", 46: ","})),
    "1 234,5": (";", lambda text: text.translate({44: " ", 46: ","})),
    "1'234.5": (";", lambda text: text.replace(",", "'")),
    "1\u202f234,5": ("\t", lambda text: text.translate({44: "\u202f", 46: ","})),
    "1,234.5": (";", str),
    "1.234,5 €": (";", lambda text: f"{text.translate({44: '.', 46: ','})} €"),
    "$1,234.5": ("|", lambda text: f"${text}"),
    "1,234.5 ": (",", lambda text: f'"{text}"'),
    "1.234,5 ": (",", lambda text: '"' + text.translate({44: ".", 46: ","}) + '"'),
}


@pytest.mark.parametrize("name", NOTATIONS)
def test_thousands_and_decimals_in_all_notations(tmp_path, name):
    delimiter, write = NOTATIONS[name]
    lines = [f"x{delimiter}{write(f'{number:,.2f}')}" for number in LARGE]
    frame = read(tmp_path, "\n".join([f"a{delimiter}b", *lines]))
    assert frame.columns[1].values.tolist() == LARGE


def test_a_dot_marks_thousands_where_other_columns_have_decimal_commas(tmp_path):
    lines = ["75.406;2,18;0.125", "991;3,50;1.250", "1.204.500;1,00;0.500"]
    frame = read(tmp_path, "\n".join(["income;size;rate", *lines]))
    income, size, rate = frame.columns
    assert income.values.tolist() == [75406.0, 991.0, 1204500.0]
    assert size.values.tolist() == [2.18, 3.5, 1.0]
    assert rate.values.tolist() == [0.125, 1.25, 0.5]  # no thousand begins with 0
    again = Frame((income.taken(np.array([0])), size, rate))
    known = read_text(written(tmp_path / "u.csv", "income;size;rate\n2.500;1;0.5"), "u", again)
    assert known.columns[0].values.tolist() == [2500.0]


def test_a_dot_that_may_mark_thousands_is_told(tmp_path):
    frame = read(tmp_path, "who;income\na;75.406\nb;991\nc;12.204")
    assert frame.columns[1].values.tolist() == [75.406, 991.0, 12.204]
    assert "if it means 75406, remove the dots" in frame.columns[1].note
    plain = read(tmp_path, "who;income\na;75.41\nb;991\nc;12.204")
    assert plain.columns[1].note == ""


def test_lines_of_text_are_no_table(tmp_path):
    prose = "This is a letter to a friend.\nIt has some lines.\nNone of them is a row of cells."
    assert "got lines of text" in refusal(tmp_path, prose)
    assert len(read(tmp_path, "name\nAnn Lee\nBob Ray\nCy Poe")) == 3


@pytest.mark.parametrize(
    ("cells_of_a", "form", "values"),
    [
        (["$1.5", "$12.25"], "$#", [1.5, 12.25]),
        (["12.5%", "3.25%"], "#%", [12.5, 3.25]),
        (["7.5 €", "12.25 €"], "# €", [7.5, 12.25]),
        (["USD 3.5", "USD 4.25"], "USD #", [3.5, 4.25]),
        (["1,5 %", "2,25 %"], "#, %", [1.5, 2.25]),
        (["-4.5%", "+3.25%"], "#%", [-4.5, 3.25]),
        (["$5", "€5"], "", ["$5", "€5"]),
        (["A12", "A13"], "", ["A12", "A13"]),
    ],
)
def test_amounts_and_percentages_are_numbers(tmp_path, cells_of_a, form, values):
    frame = read(tmp_path, "a;b\n" + "".join(f"{cell};x\n" for cell in (*cells_of_a, "")))
    assert frame.columns[0].form == form
    assert cells(frame)["a"] == [*values, None]
    if form:
        lines = text_of(frame, "t.tsv").splitlines()[1:]
        assert [line.split("\t")[0].replace("+", "") for line in lines] == [
            cell.replace("+", "") for cell in (*cells_of_a, "")
        ]


def test_thousands_of_an_amount(tmp_path):
    frame = read(tmp_path, 'a,b\n"$1,234.50",x\n$12,y\n')
    assert cells(frame)["a"] == [1234.5, 12.0]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-01-31", "%Y-%m-%d"),
        ("31.01.2024", "%d.%m.%Y"),
        ("31/01/2024", "%d/%m/%Y"),
        ("01/31/2024", "%m/%d/%Y"),
        ("2024-01-31 08:30:00", "%Y-%m-%d %H:%M:%S"),
        ("2024/01/31 08:30", "%Y/%m/%d %H:%M"),
        ("01/31/2024 08:30", "%m/%d/%Y %H:%M"),
        ("2024-01-31T08:30:00Z", "%Y-%m-%dT%H:%M:%SZ"),
        ("Jan 31 2024", "%b %d %Y"),
        ("31 January 2024", "%d %B %Y"),
        ("31-Jan-24", "%d-%b-%y"),
        ("01/31/24", "%m/%d/%y"),
        ("20240131", "%Y%m%d"),
    ],
)
def test_dates_come_back_in_their_form(tmp_path, text, form):
    frame = read(tmp_path, f"when,x\n{text},a\n,b\n")
    assert frame.columns[0].form == form
    assert str(frame.columns[0].values[0])[:10] == "2024-01-31"
    assert text_of(frame, "t.csv") == f"when,x\n{text},a\n,b\n"


@pytest.mark.parametrize("code", ["4711-12", "20241301", "20240131.5", "0815/01/02"])
def test_codes_are_no_dates(tmp_path, code):
    assert read(tmp_path, f"code,x\n{code},a\n{code},b\n").columns[0].values.dtype.kind != "M"


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("red,1\nblue,2\n", None),
        ("land,1990\nNorge,2.5\nSuomi,1.5\n", ("land", "1990")),
        ("red,big\nblue,small\nred,big\n", None),
        ("colour,size\nred,big\nblue,small\n", ("colour", "size")),
        (",size\n1,big\n2,small\n", ("column 1", "size")),
        ("# made by hand\n\ncolour,size\nred,1\n", ("colour", "size")),
        ("1,2\n3,x\n", None),
    ],
)
def test_a_first_line_of_names_is_told_from_a_row(tmp_path, content, names):
    frame = read(tmp_path, content)
    assert frame.has_names == (names is not None)
    assert frame.names == (names or ("column 1", "column 2"))


@pytest.mark.parametrize("years", [(2023, 2022, 2021), (1990, 1995, 2000)])
def test_years_at_equal_distances_may_name_columns(tmp_path, years):
    head = ",".join(map(str, years))
    assert read(tmp_path, f"land,{head}\nNorge,2.5,2,3\n").names == ("land", *map(str, years))
    assert read(tmp_path, f"{head}\n2.5,2,x\n").names == tuple(map(str, years))
    assert not read(tmp_path, f"a,{head}\nb,1980,2000,1999\n").has_names


def test_years_may_name_columns(tmp_path):
    frame = read(tmp_path, "land,1990,1991,1992\nNorge,2.5,2,3\nSuomi,1.5,1,4\n")
    assert frame.names == ("land", "1990", "1991", "1992")


def test_a_column_of_mixed_types_is_read_as_words_and_said(tmp_path):
    frame = read(tmp_path, "a,b\n1,x\n2,y\nforty,x\n3,y\n")
    assert cells(frame)["a"] == ["1", "2", "forty", "3"]
    assert frame.columns[0].note == "read as words, since 'forty' is not a number"


def test_what_is_wrong_is_named_with_its_line(tmp_path):
    ragged = "a,b,c\n1,x,3\n4,y\n" + "5,z,6\n" * 9
    assert "3 columns as in the first line; got 2 in line 3" in refusal(tmp_path, ragged)
    longer = "a,b,c\n1,x,3\n4,y,5,6\n" + "5,z,6\n" * 9
    assert "3 columns as in the first line; got 4 in line 3" in refusal(tmp_path, longer)
    assert read(tmp_path, "a,b,a\n1,x,2\n").names == ("a", "b", "a.1")
    assert "only blank lines" in refusal(tmp_path, "\n \n")
    assert "a header and no rows" in refusal(tmp_path, "name,age\n")
    assert "binary content" in refusal(tmp_path, b"a,b\n\x00\x01,2\n")
    assert "at most 131,072 characters" in refusal(tmp_path, "a,b\nx," + "y" * 200_000)


def test_damaged_gzip(tmp_path):
    with pytest.raises(InputError, match=r"t.csv.gz: expected a gzip file; got a truncated"):
        read(tmp_path, gzip.compress(TABLE.encode() * 99)[:-20], name="t.csv.gz")


def test_a_name_with_signs_of_a_pattern(tmp_path):
    assert len(read(tmp_path, TABLE, name="what[1]*.csv")) == 2


def test_parquet(tmp_path):
    query = (
        "select * from (values ('a', 1, true, date '2024-01-31'), (null, null, false, null),"
        " ('b', 3, true, date '2024-03-01')) as t(word, whole, yes, \"when\")"
    )
    with duckdb.connect() as connection:
        connection.execute(f"copy ({query}) to '{tmp_path / 't.parquet'}' (format parquet)")
    frame = read_parquet(tmp_path / "t.parquet", "t")
    assert cells(frame)["word"] == ["a", None, "b"]
    assert cells(frame)["whole"] == [1.0, None, 3.0]
    assert cells(frame)["yes"] == [1.0, 0.0, 1.0]
    assert np.isnat(frame.columns[3].values).tolist() == [False, True, False]
    (tmp_path / "what[1]*.parquet").write_bytes((tmp_path / "t.parquet").read_bytes())
    assert len(read_parquet(tmp_path / "what[1]*.parquet", "t")) == 3
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + b"x" * 50)
    with pytest.raises(
        InputError, match="bad: expected a Parquet file; got a truncated or damaged"
    ):
        read_parquet(tmp_path / "bad.parquet", "bad")


def test_numbers_alone_start_without_the_reader_of_tables(tmp_path):
    import subprocess

    written(tmp_path / "t.csv", "0,1\n1,1\n")
    code = (
        "import sys; from harmonium.data.readers import read_file;"
        f" read_file({str(tmp_path / 't.csv')!r}); assert 'duckdb' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_arrow(tmp_path, library, monkeypatch):
    polars = pytest.importorskip("polars")
    original = polars.DataFrame({"x": [1.5, None, 3.0], "word": ["a", "b", None]})
    original.write_ipc(tmp_path / "t.arrow")
    if library == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = read_arrow(tmp_path / "t.arrow", "t")
    assert frame.names == ("x", "word")
    np.testing.assert_array_equal(frame.columns[0].values, [1.5, np.nan, 3.0])
    assert list(frame.columns[1].values) == ["a", "b", None]
    (tmp_path / "bad.arrow").write_bytes(b"ARROW1" + b"x" * 50)
    with pytest.raises(hm.InputError, match="bad: expected an Arrow file"):
        read_arrow(tmp_path / "bad.arrow", "bad")


def test_arrow_without_a_library(tmp_path, monkeypatch):
    for name in ("pyarrow", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(hm.MissingDependencyError, match="pip install pyarrow"):
        read_arrow(tmp_path / "t.arrow", "t")


@pytest.mark.parametrize(
    "cell",
    ["00501", "+491512839167", "4323961363064710981", "-007"],
    ids=["zip", "phone", "card", "minus"],
)
def test_digits_that_are_names_stay_as_they_are(tmp_path, cell):
    frame = read(tmp_path, f"a,b\n{cell},1\n12345,2\n" if "+" not in cell else f"a,b\n{cell},1\n")
    assert frame.columns[0].values[0] == cell
    assert frame.columns[0].values.dtype.kind == "O"


@pytest.mark.parametrize(
    ("days", "is_date"),
    [
        (["14.01.69", "02.03.40"], False),  # 1940 or 2040
        (["1.2.10", "3.8.39"], False),  # versions
        (["2003-04", "2005-06"], False),  # seasons
        (["2003-04", "2005-07"], True),
        (["01/31/99", "02/28/24"], True),
    ],
)
def test_dates_that_may_be_something_else_are_words(tmp_path, days, is_date):
    frame = read(tmp_path, "when,x\n" + "".join(f"{day},a\n" for day in days))
    assert (frame.columns[0].values.dtype.kind == "M") == is_date


def test_one_cell_that_is_no_date_is_named(tmp_path):
    lines = [f"2024-01-{day:02},x\n" for day in range(1, 29)]
    frame = read(tmp_path, "when,b\n" + "".join(lines) + "2024-02-31,x\n")
    expected = "read as words, since '2024-02-31' is not a date like the others"
    assert frame.columns[0].note == expected
    gap = read(tmp_path, "when,b\n" + "".join(lines) + "0000-00-00,x\n")
    assert gap.columns[0].note == "read as missing: '0000-00-00' (1 cell)"


def test_times_that_are_all_midnight_are_days(tmp_path):
    text = "when,b\n2024-01-31 00:00:00,x\n2024-02-01 00:00:00,y\n"
    frame = read(tmp_path, text)
    assert frame.columns[0].form == "%Y-%m-%d 00:00:00"
    assert text_of(frame, "t.csv") == text


def test_a_second_file_is_read_as_the_first(tmp_path):
    first = read(tmp_path, "when,season,n\n01/31/2024,2003-04,1\n02/28/2024,2003-07b,2\n")
    assert [column.form for column in first.columns] == ["%m/%d/%Y", "", ""]
    path = tmp_path / "second.csv"
    path.write_text("season,n,when\n2009-10,3,03/04/2024\n2003-04,,05/06/2024\n")
    frame = read_text(path, "second", first)
    assert cells(frame)["season"] == ["2009-10", "2003-04"]
    assert str(frame.columns[2].values[0])[:10] == "2024-03-04"
    path.write_text("when\n2024-03-04\n")
    assert str(read_text(path, "second", first).columns[0].values[0])[:10] == "2024-03-04"


def test_refunds_have_their_sign_before_the_currency(tmp_path):
    frame = read(tmp_path, "a\tb\n$5.5\tx\n-$1.25\ty\n")
    assert cells(frame)["a"] == [5.5, -1.25]
    assert text_of(frame, "t.tsv") == "a\tb\n$5.5\tx\n-$1.25\ty\n"
