"""Lines that are no rows, rarer separators and quotes, and files that are no tables."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.errors import InputError
from harmonium.tables.text import open_text

RNG = np.random.default_rng(1)
WORDS = RNG.choice(["tea", "milk", "coffee"], 30)
PRICES = [f"{x:.2f}" for x in RNG.normal(5.0, 2.0, 30)]
AGES = RNG.integers(18, 80, 30)
CELLS = [[str(w), p, str(a)] for w, p, a in zip(WORDS, PRICES, AGES, strict=True)]
HEAD = "drink,price,age\n"


def rows(mark=",", cells=None):
    return "".join(mark.join(row) + "\n" for row in (CELLS if cells is None else cells))


def opened(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = open_text(path, name)
    return table, "; ".join(table.notes)


ASIDE = {  # content, and what is said
    "names again": (HEAD + rows() + HEAD, "repeated once"),
    "names again, in quotes": (HEAD + rows() + '"drink","price","age"\n', "repeated once"),
    "names again, often": (
        HEAD + HEAD.join(rows(cells=CELLS[i : i + 6]) for i in range(0, 30, 6)),
        "repeated 4 times",
    ),
    "names again between blanks": (
        HEAD.replace(",", " ")
        + rows(" ", CELLS[:15])
        + HEAD.replace(",", "  ")
        + rows(" ", CELLS[15:]),
        "repeated once",
    ),
    "comments of C": ("// exported\n// 2024\n" + HEAD + rows(), "comments: 2 lines"),
    "comments of SQL": ("-- exported, 2024\n" + HEAD + rows(), "comments: 1 line"),
    "comments of assemblers": ("; exported\n" + HEAD + rows(), "comments: 1 line"),
    "a sentence": ("Sales, by drink, in 2024\n" + HEAD + rows(), "before line 2"),
    "a source": (HEAD + rows() + "Source: World Kitchen\n", "'Source: World Kitchen'"),
    "a source with marks": (HEAD + rows() + "Source: kitchen,,\n", "'Source: kitchen,,'"),
    "a source in quotes": (HEAD + rows() + '"Source: Kitchen, Bern"\n', "Kitchen, Bern"),
    "texts apart": (HEAD + rows() + "Of 2024.\n\nBy the kitchen\n", "'Of 2024.'"),
    "Markdown": (
        "| drink | price | age |\n|---|---:|---|\n"
        + "".join(f"| {w} | {p} | {a} |\n" for w, p, a in CELLS),
        "",
    ),
    "reStructuredText": (
        "====== ===== ===\ndrink  price age\n====== ===== ===\n"
        + "".join(f"{w:<6} {p:>5} {a}\n" for w, p, a in CELLS)
        + "====== ===== ===\n",
        "",
    ),
    "zeros at the end": (HEAD + rows() + "\0" * 512, "512 zero bytes"),
    "a control character": (HEAD + rows().replace("0", "\x1b0", 1), "1 control character"),
    "tildes": (HEAD.replace(",", "~") + rows("~"), ""),
    "carets": (HEAD.replace(",", "^") + rows("^"), ""),
    "single quotes": (
        "'drink','price','age'\n" + "".join(f"'{w}','{p}','{a}'\n" for w, p, a in CELLS),
        "",
    ),
    "tabs and blanks": (
        "drink price age\n" + "".join(f"{i}\t{p}   {a}\n" for i, (_, p, a) in enumerate(CELLS)),
        "",
    ),
    "decimal commas between blanks": (
        "drink price age\n" + rows(" ", [[w, p.replace(".", ","), a] for w, p, a in CELLS]),
        "",
    ),
}


@pytest.mark.parametrize("case", ASIDE)
def test_what_is_no_row_is_none_and_it_is_said(tmp_path, case):
    content, said = ASIDE[case]
    table, notes = opened(tmp_path, content, "t.txt")
    assert [name.strip() for name in table.names or ()] == ["drink", "price", "age"]
    frame = table.frame()
    assert len(frame) == 30
    assert frame.columns[2].values.dtype.kind == "f"
    assert frame.columns[1].values[5] == float(PRICES[5])
    assert said in notes


KEPT = {  # content, and the number of its rows
    "answers, all ticked": ("n,Tea,Ham\n" + "1,Tea,Ham\n2,Tea,\n3,,Ham\n4,Tea,Ham\n" * 5, 20),
    "rows that say the names": ("n,m\n" + "n,m\nn,\n,m\n" * 8 + "n,m\n", 25),
    "a short word behind others": (HEAD + rows() + "grape,,\n", 31),
    "two columns": ("a,b\n" + "one two,5\none two,\n" * 5 + "other words,\n", 11),
    "many rows with the first cell alone": (HEAD + rows() + "ice tea,,\n" * 8 + "hot tea,,\n", 39),
    "a remark of two lines": ("a,b\n" + '5,"good\nagain there"\n' * 9, 9),
    "an empty first name before semicolons": ("; a;b\n" + "1;5;x\n2;6;y\n" * 5, 10),
    "minus signs": ("--5,x\n" + "5,x\n7,y\n" * 9, 19),
    "about": ("v\n" + "~5.5\n~6.5\n~8\n" * 5, 15),
    "apostrophes": ("a,b\n" + "'tis,5\nO'Hara,6\n" * 5, 10),
}


@pytest.mark.parametrize("case", KEPT)
def test_rows_that_look_like_something_else_stay(tmp_path, case):
    content, count = KEPT[case]
    assert len(opened(tmp_path, content)[0].cells().rows) == count


def test_a_row_of_totals_is_a_row_and_it_is_said(tmp_path):
    table, notes = opened(tmp_path, HEAD + rows() + "Total,150.0,1400\n")
    assert len(table.cells().rows) == 31
    assert "line 32 is read as a row; delete it if 'Total' sums up the other rows" in notes
    among = HEAD + rows(cells=[["Total", *CELLS[0][1:]], *CELLS]) + "Total,150.0,1400\n"
    assert "sums up" not in opened(tmp_path, among)[1]


def test_a_table_on_its_side_is_said_to_be_one(tmp_path):
    _, notes = opened(tmp_path, "mass,1.5,2.5,3,4\nsize,2,3,4,5.5\ndrink,tea,tea,milk,tea\n")
    assert "transpose the table" in notes


NAMES = {
    "powers of ten": "0.001,0.01,0.1",
    "ages": "<18,18-65,>65",
    "ranges": "0-4,5-9,10-14",
    "decimals": "0.125,0.25,0.5",
    "tags": "<b>x</b>,<i>y</i>,z",
    "tags alone": "<x>,<y>,<z>",
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_numbers_written_unlike_those_below_are_names(tmp_path, names):
    cells = [PRICES, PRICES[::-1], PRICES]
    content = names + "\n" + "".join(",".join(row) + "\n" for row in zip(*cells, strict=True))
    assert opened(tmp_path, content)[0].names == tuple(names.split(","))


def test_years_above_millions_are_names(tmp_path):
    content = "2019,2020,2021\n" + "".join(
        f"{i}345678,{i}222333,{i}7654321\n" for i in range(1, 20)
    )
    assert opened(tmp_path, content)[0].names == ("2019", "2020", "2021")


REFUSED = {
    "<rows>\n<row a='1'/>\n</rows>\n": "HTML or XML",
    "<html><head><title>Not, found</title></head>\n<p>a</p>\n": "HTML or XML",
    "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n": "git lfs pull",
    "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 5\n": "mmread",
    "01\x1f02\n03\x1f04\n": "binary",
}


@pytest.mark.parametrize("content", REFUSED)
def test_other_formats_are_named(tmp_path, content):
    with pytest.raises(InputError, match=REFUSED[content]):
        opened(tmp_path, content)


def test_strings_of_bits_of_two_lengths_are_refused_by_their_row(tmp_path):
    path = tmp_path / "bits.txt"
    path.write_text("01011\n" * 20 + "0101\n" + "11111\n" * 5)
    with pytest.raises(InputError, match=r"strings of 5 bits or spins, .*; got 4 signs in row 21"):
        hm.open_source(str(path))


def test_a_name_in_tags_above_a_single_column_is_no_page(tmp_path):
    assert opened(tmp_path, "<x>\n" + "\n".join(PRICES))[0].names == ("<x>",)


def test_a_file_without_any_column_says_what_its_cells_nearly_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("price\n" + "".join(f"{i}.25\n" for i in range(40)) + "Source: the kitchen\n")
    with pytest.raises(InputError, match="since 'Source: the kitchen' is not a number"):
        hm.open_source(str(path))


def test_a_column_that_is_left_out_shows_how_its_cells_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("v,w\n" + "".join(f"{i // 60}h {i % 60}m,{i % 7}\n" for i in range(90)))
    notes = "".join(hm.open_source(str(path)).notes)
    assert "text: 90 different values, all of them such as '0h 0m'" in notes
