"""Odd files, and what a careful person would read in each: data for `odd_report` and its test.

The files are of the kinds that spreadsheets, statistics programs, databases, instruments and
servers write. Nothing here knows how the reader works. An expectation lists the readings on which
most careful people would agree; where they would rather hear that a file cannot be read, the
refusal has to name what is wrong.
"""

# One case a line is how these are read, so lines are long and not reformatted.
# ruff: noqa: E501, E731
# fmt: off
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import numpy as np

ROWS = 60


@dataclass(frozen=True)
class Reads:
    """One acceptable reading.

    Attributes:
        rows: How many rows or sequences there are.
        columns: Pairs of a name (None: any, with a final `*`: a beginning) and a kind, of which `/`
            separates alternatives; a kind that begins with `?` is that of a column that may be
            absent. With `reasoned` a column may also be left out with a reason that tells what its
            cells nearly are. For other files than tables an integer, the number of sites or variables.
        cells: Triples of row, column and value; a value may be a tuple of alternatives.
        missing: How many cells of a column are missing.
        note: What the notes must match, apart from the list of columns, where silence would be a
            fault.
        remark: What the notes or the list of columns must match.
        kind: `columns`, `bits`, `spins`, `grey` or `codes`.
    """

    rows: int
    columns: tuple | int
    cells: tuple = ()
    missing: dict = field(default_factory=dict)
    note: str = ""
    remark: str = ""
    kind: str = "columns"


@dataclass(frozen=True)
class Case:
    """A file with what it may be read as; `refusal` is what a message must match, if one is right."""

    name: str
    content: bytes
    readings: tuple[Reads, ...]
    refusal: str = ""
    suffix: str = "csv"


CASES: list[Case] = []


def case(name, content, *readings, refusal="", suffix="csv", encoding="utf-8"):
    """Add a file to the cases."""
    data = content if isinstance(content, bytes) else content.encode(encoding)
    CASES.append(Case(name, data, readings, refusal, suffix))


def reads(columns, rows=ROWS, *cells, missing=None, note="", remark="", kind="columns"):
    """Return a reading; columns are told as `name kind | name kind`."""
    if isinstance(columns, str):
        pairs = (part.strip().rpartition(" ") for part in columns.split("|"))
        columns = tuple((None if name.strip() == "*" else name.strip(), kind) for name, _, kind in pairs)
    return Reads(rows, columns, cells, missing or {}, note, remark, kind)


def lines(header, row: Callable[[int], str], rows=ROWS, end="\n", last=True):
    """Return a header, if there is one, and numbered rows as one text."""
    parts = [header] if header is not None else []
    parts += [row(i) for i in range(rows)]
    return end.join(parts) + (end if last else "")


def joined(cells, separator=","):
    """Return one line of cells."""
    return separator.join(str(cell) for cell in cells)


def quoted(cell):
    """Return a cell as a careful program writes it."""
    if cell == '""' or not any(c in cell for c in ',"\n'):
        return cell
    return '"' + cell.replace('"', '""') + '"'



RNG = np.random.default_rng(49)
X = RNG.normal(2, 1, (ROWS, 12)).round(2)
BIG = (RNG.random(ROWS) * 9e6 + 1e6).round(2)
AGE = RNG.integers(18, 80, ROWS)
FEW = RNG.integers(1, 5, ROWS)
DRINK = RNG.choice(["tea", "milk", "coffee"], ROWS)
CITY = RNG.choice(["Rome", "Oslo", "Bern", "Lima"], ROWS)
SEX = RNG.choice(["male", "female"], ROWS)
ANSWER = RNG.choice(["yes", "no"], ROWS)
BITS = RNG.integers(0, 2, (ROWS, 12))
PIXELS = RNG.integers(0, 256, (ROWS, 64))
PIXELS[:, :6] = 0
DIGIT = RNG.integers(0, 10, ROWS)
HOLES = set(RNG.choice(ROWS, 7, replace=False).tolist())
FIRST_HOLE = min(HOLES)


def x(i, j=0):
    """Return a number with two decimals."""
    return f"{X[i, j]:.2f}"


def abc(i):
    """Return a row of a word, a number and a small whole number."""
    return f"{DRINK[i]},{x(i)},{AGE[i]}"


ABC = "drink category | price number | age number"
HEAD = "drink,price,age"
AT = ((0, "drink", str(DRINK[0])), (59, "price", X[59, 0]), (31, "age", AGE[31]))
PLAIN = reads(ABC, ROWS, *AT)


def plain(note="", rows=ROWS):
    """Return the reading of the plain table, with what has to be said."""
    return reads(ABC, rows, *AT, note=note)


UNNAMED = reads("* category | * number | * number", ROWS, (0, 0, str(DRINK[0])), (59, 1, X[59, 0]))


# First lines: names that are numbers, dates, cells, or that are not there.

ROW3 = lambda i: joined([x(i, 0), x(i, 1), x(i, 2)])
N3 = "{} number | {} number | {} number"


def number_names(name, names, row=ROW3, separator=",", index=False, more=(), **options):
    """Add a table of numbers whose names are unusual."""
    text = lines(names, lambda i: row(i).replace(",", separator))
    own = [n.strip('"') for n in names.split(separator)]
    columns = [(n, "number") for n in own]
    if index:
        columns[0] = (None, "?out/any")
    where = 1 if index else 0
    cell = float(row(0).split(",")[where])
    case(name, text, Reads(ROWS, tuple(columns), ((0, own[where], cell),)), *more, **options)


number_names("header 0,1,2 over negative and positive numbers", "0,1,2", lambda i: joined([X[i, 0] - 2, X[i, 1], X[i, 2]]))
number_names("header 0;1;2 with semicolons", "0;1;2", separator=";")
number_names("header of tabbed integers from 1", "1\t2\t3", separator="\t", suffix="tsv")
number_names("header 1,2,3 over prices", "1,2,3")
number_names("header of quoted integers", '"0","1","2"')
number_names("integer header with index column", ",0,1,2", lambda i: f"{i},{ROW3(i)}", index=True)
number_names("integer header with index column that starts at 1", ",1,2,3", lambda i: f"{i + 1},{ROW3(i)}", index=True)
number_names("descending years as names", "2023,2022,2021")
number_names("years as names, large counts below", "2019,2020,2021", lambda i: joined([int(BIG[i]), int(BIG[-i]), int(BIG[i] / 3)]))
number_names("sample numbers as names over expression values", "1017,1024,1033")
number_names("wavelengths with decimals as names", "400.5,401.0,401.5")
number_names("integer header from 10", "10,11,12")
number_names("integer header over proportions", "0,1,2", lambda i: joined([f"{abs(X[i, j]) / 6:.4f}" for j in range(3)]), more=[reads(3, ROWS, kind="grey")])
number_names("names are dates", "2024-01-01,2024-02-01,2024-03-01")
number_names("names are times of day", "00:00,08:00,16:00")
number_names("names are quarters", "2023Q1,2023Q2,2023Q3")
number_names("names are ranges of age", "0-4,5-9,10-14")
number_names("names are percentages", "5%,50%,95%")
case("gene rows, sample numbers as names", lines("gene,101,205,318", lambda i: f"G{i:03},{ROW3(i)}"),
     reads("gene out | 101 number | 205 number | 318 number", ROWS, (0, "205", X[0, 1])))
case("words first, then years as names", lines("city,2021,2020,2019", lambda i: f"{CITY[i]},{ROW3(i)}"),
     reads("city category | 2021 number | 2020 number | 2019 number", ROWS, (0, "2019", X[0, 2])))
case("empty first name, names of rows, years", lines(",2021,2022", lambda i: f"place{i},{x(i)},{x(i, 1)}"),
     reads("* out | 2021 number | 2022 number", ROWS, (0, "2021", X[0, 0])))
case("integer header over words and numbers", lines("0,1,2", abc),
     reads("0 category | 1 number | 2 number", ROWS, (59, "1", X[59, 0])))
case("integer header over bits", lines(joined(range(12)), lambda i: joined(BITS[i])),
     reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"), reads(" | ".join(f"{j} number/yes-no" for j in range(12)), ROWS))
case("integer header over spins", lines(joined(range(12)), lambda i: joined(2 * BITS[i] - 1)),
     reads(12, ROWS, (0, 3, 2 * BITS[0, 3] - 1), kind="spins"), reads(" | ".join(f"{j} number/yes-no" for j in range(12)), ROWS))
case("index column and integer header over bits", lines("," + joined(range(8)), lambda i: f"{i}," + joined(BITS[i, :8])),
     reads(8, ROWS, (0, 3, BITS[0, 3]), kind="bits"),
     reads("* ?out | " + " | ".join(f"{j} number/category" for j in range(8)), ROWS))
case("site names s1, s2 over spins with spaces", lines(joined([f"s{j}" for j in range(8)], " "), lambda i: joined(2 * BITS[i, :8] - 1, " ")),
     reads(8, ROWS, (0, 3, 2 * BITS[0, 3] - 1), kind="spins"), suffix="txt")
case("a name is a cell of its column, beside ages", lines("age,male", lambda i: f"{AGE[i]},{SEX[i]}"),
     reads("age number | male yes-no/category", ROWS, (0, "age", AGE[0]), (0, "male", str(SEX[0]))))
case("multiple choice: cells repeat the name or are blank", lines("years,Car,Bike,Boat", lambda i: f"{AGE[i]},{'Car' if BITS[i, 0] else ''},{'Bike' if BITS[i, 1] else ''},{'Boat' if BITS[i, 2] else ''}"),
     reads("years number | Car yes-no/out | Bike yes-no/out | Boat yes-no/out", ROWS, (0, "years", AGE[0])))
case("names A and B over cells A and B, beside a number", lines("weight,A,B", lambda i: f"{x(i)},{'AB'[BITS[i, 0]]},{'AB'[BITS[i, 1]]}"),
     reads("weight number | A yes-no/category | B yes-no/category", ROWS, (0, "weight", X[0, 0])))
case("name tea over teas, beside a date", lines("day,tea", lambda i: f"2024-{i % 12 + 1:02}-{i % 28 + 1:02},{DRINK[i]}"),
     reads("day date | tea category", ROWS, (0, "tea", str(DRINK[0]))))
case("only words, with names", lines("drink,town,sex", lambda i: f"{DRINK[i]},{CITY[i]},{SEX[i]}"),
     reads("drink category | town category | sex yes-no/category", ROWS, (0, "town", str(CITY[0]))))
case("only words, without names", lines(None, lambda i: f"{DRINK[i]},{CITY[i]},{SEX[i]}"),
     reads("* category | * category | * category", ROWS, (0, 1, str(CITY[0]))))
case("no names: words and numbers", lines(None, abc), UNNAMED)
case("no names: dates and numbers", lines(None, lambda i: f"2024-{i % 12 + 1:02}-{i % 28 + 1:02},{x(i)}"),
     reads("* date | * number", ROWS, (0, 1, X[0, 0])))
case("no names: first cell missing", lines(None, lambda i: f"{'' if i == 0 else x(i)},{DRINK[i]},{x(i, 1)}"),
     reads("* number | * category | * number", ROWS, (0, 0, None), (0, 2, X[0, 1])))
case("no names: NA in the first row", lines(None, lambda i: f"{'NA' if i == 0 else x(i)},{x(i, 2)},{x(i, 1)}"),
     reads("* number | * number | * number", ROWS, (0, 0, None), (0, 2, X[0, 1])))
case("no names: iris, numbers then a word", lines(None, lambda i: f"{x(i)},{x(i, 1)},Iris-{CITY[i].lower()}"),
     reads("* number | * number | * category", ROWS, (0, 2, f"Iris-{CITY[0].lower()}")), suffix="data")
case("header of sharp and commas", lines("#drink,price,age", abc),
     PLAIN, reads("#drink category | price number | age number", ROWS, *AT[1:]))
case("header of sharp and tabs", lines("# drink\tprice\tage", lambda i: abc(i).replace(",", "\t")),
     PLAIN, reads("# drink category | price number | age number", ROWS, *AT[1:]), suffix="tsv")
case("header of a Matlab comment", lines("% t u v", lambda i: ROW3(i).replace(",", " ")),
     reads(N3.format("t", "u", "v"), ROWS, (0, "u", X[0, 1])), suffix="txt")
case("savetxt with header and footer", lines("# t u v", lambda i: f"{X[i, 0]:.18e} {X[i, 1]:.18e} {X[i, 2]:.18e}") + "# the end\n",
     reads(N3.format("t", "u", "v"), ROWS, (0, "u", X[0, 1])), suffix="txt")
case("savetxt with a prose header", "# measured on a Monday, by hand\n" + lines(None, lambda i: f"{X[i, 0]:.6e} {X[i, 1]:.6e} {X[i, 2]:.6e}"),
     reads(N3.format("*", "*", "*"), ROWS, (0, 1, X[0, 1])), suffix="txt")
case("gnuplot: comments, then unnamed columns", "# run 7\n# T = 300 K\n#\n" + lines(None, lambda i: f"{x(i)}\t{x(i, 1)}\t{x(i, 2)}"),
     reads(N3.format("*", "*", "*"), ROWS, (0, 1, X[0, 1])), suffix="data")
case("R write.table: quoted names of rows, header one shorter", lines('"mass" "size"', lambda i: f'"sample {i}" {x(i)} {x(i, 1)}'),
     reads("* ?out | mass number | size number", ROWS, (0, "size", X[0, 1])), suffix="txt")
case("R write.table: tabs, header one shorter", lines("mass\tsize\tdrink", lambda i: f"r{i}\t{x(i)}\t{x(i, 1)}\t{DRINK[i]}"),
     reads("* ?out | mass number | size number | drink category", ROWS, (0, "size", X[0, 1])), suffix="txt")
case("R write.csv: first name empty in quotes", lines('"","mass","drink"', lambda i: f'"{i + 1}",{x(i)},"{DRINK[i]}"'),
     reads("* ?out | mass number | drink category", ROWS, (0, "mass", X[0, 0])))
case("mtcars: names of cars, header one shorter, spaces", lines("mpg cyl", lambda i: f"car{i} {x(i)} {FEW[i]}"),
     reads("* ?out | mpg number | cyl number", ROWS, (0, "mpg", X[0, 0])), suffix="txt")
TWO = lines("height,height,weight\nmean,sd,mean", ROW3)
case("two header rows: quantity above statistic", TWO,
     reads("height* number | height* number | weight* number", ROWS, (0, 2, X[0, 2]), note="mean|header|line|row"))
case("pandas MultiIndex columns", lines(",left,left,right\n,a,b,a\nid,,,", lambda i: f"{i},{ROW3(i)}"),
     reads("* ?out | * number | * number | * number", ROWS, note="header|line|row"), refusal="header|name|line")
case("survey export: names, then questions", lines('Q1,Q2,Q3\n"How old are you?","Which drink, if any?",Price paid', lambda i: f"{AGE[i]},{DRINK[i]},{x(i)}"),
     reads("* number | * category | * number", ROWS, (0, 0, AGE[0]), note="How old|header|second|line|row"))
case("Qualtrics: names, questions, import ids", lines('Q1,Q2,Q3\nAge,Drink,Price\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"', lambda i: f"{AGE[i]},{DRINK[i]},{x(i)}"),
     reads("* number | * category | * number", ROWS, (0, 0, AGE[0]), note="Age|ImportId|header|lines|rows"), refusal="line|header")
case("SurveyMonkey: second line says Response", lines("Respondent,Do you drink tea?,Age\n,Response,Open-Ended Response", lambda i: f"{118000 + 7 * i},{ANSWER[i]},{AGE[i]}"),
     reads("Respondent out/number | Do you drink tea?* yes-no/category | Age* number", ROWS, note="Response|header|second|line|row"))
for label, row in {"bare": "m,s,kg", "in brackets": "[m],[s],[kg]", "in parentheses": "(m),(s),(kg)", "with powers": "m/s^2,1/s,µg/m³"}.items():
    case(f"row of units {label}", lines("height,time,mass\n" + row, ROW3),
         reads("height* number | time* number | mass* number", ROWS, (0, 1, X[0, 1]), note="unit|header|second|line|row|kg|µg"))
case("row of units beside an empty first one", lines("drink,time,mass\n,s,kg", lambda i: f"{DRINK[i]},{x(i)},{x(i, 1)}"),
     reads("drink category | time* number | mass* number", ROWS, (0, 1, X[0, 0]), note="unit|header|second|line|row|kg"))
case("row of types", lines("drink,price,age\nstring,float,int", abc), plain("type|header|second|line|row|float"))
case("header repeated in the middle", lines(HEAD, abc, 30) + lines(HEAD, lambda i: abc(i + 30), 30), plain("header|repeat|again|line|row"))
case("header repeated every 15 rows", "".join(lines(HEAD, lambda i, k=k: abc(i + 15 * k), 15) for k in range(4)), plain("header|repeat|again|line|row"))

case("a series of pandas: index and 0", lines(",0", lambda i: f"{i},{x(i)}"), reads("* ?out | 0 number", ROWS, (0, "0", X[0, 0])))
case("a series of pandas: named index and 0", lines("index,0", lambda i: f"{i},{x(i)}"), reads("index ?out | 0 number", ROWS, (0, "0", X[0, 0])))
case("one column under the name 0", lines("0", x), reads("0 number", ROWS, (0, "0", X[0, 0])))
case("pandas: dates as the unnamed index", lines(",price,drink", lambda i: f"2024-{i % 12 + 1:02}-{i % 28 + 1:02},{x(i)},{DRINK[i]}"), reads("* date | price number | drink category", ROWS, (0, "price", X[0, 0])))
case("pandas: Unnamed: 0", lines("Unnamed: 0,price,drink", lambda i: f"{i},{x(i)},{DRINK[i]}"), reads("Unnamed: 0 out | price number | drink category", ROWS))
case("pandas: two indices written twice", lines(",Unnamed: 0,price,drink", lambda i: f"{i},{i},{x(i)},{DRINK[i]}"), reads("* ?out | Unnamed: 0 out | price number | drink category", ROWS))
case("crosstab: True and False as names", lines("drink,False,True", lambda i: f"{DRINK[i]},{x(i)},{x(i, 1)}"), reads("drink category | False number | True number", ROWS, (0, "True", X[0, 1])))
case("integer header over 150 rows", lines("0,1,2", lambda i: ROW3(i % ROWS), 150), reads(N3.format(0, 1, 2), 150, (0, "1", X[0, 1])))
case("integer header over 40 rows of one word", lines("0,1", lambda i: f"{DRINK[i]},{x(i)}", 40), reads("0 category | 1 number", 40, (0, "1", X[0, 0])))
number_names("lags as names", "-1,0,1")
number_names("powers of ten as names", "0.001,0.01,0.1")
case("no names: a counter and numbers", lines(None, lambda i: f"{i + 1},{x(i)},{x(i, 1)}"), reads("* out | * number | * number", ROWS, (0, 1, X[0, 0])), reads("* number | * number", ROWS, note="count"))
case("no names: whole numbers of either sign", lines(None, lambda i: joined([AGE[i] - 50, AGE[-1 - i] - 40, FEW[i] - 3])), reads("* number | * number | * number", ROWS, (0, 0, AGE[0] - 50)))
case("no names: whole numbers, 1,2,3 by chance above counts", lines(None, lambda i: "1,2,3" if i == 0 else joined([FEW[i], FEW[-i] + 1, FEW[i // 2] + 2])), reads("* number | * number | * number", ROWS), reads("1 number | 2 number | 3 number", ROWS - 1, note="header|name|first line"), refusal="--scale|--visible|--header")

# Lines before, between and after the rows.

for label, before in {
    "one title": "Report of sales in 2024\n", "a title with commas": "Sales, by drink, in 2024\n", "a title and a blank line": "Sales 2024\n\n",
    "a title in quotes": '"Sales, 2024"\n\n', "a title padded with commas": "Sales 2024,,\n,,\n", "settings of a logger": "Station: 12\nUnit: mm\nFirmware: 2.1\n\n",
    "a table of settings": "Station,12\nOperator,Miller\n\n", "four lines of prose": "Exported by the kitchen.\nDo not edit.\nPrices are in euros.\nAsk Anna.\n",
}.items():
    case(f"before the header: {label}", before + lines(HEAD, abc), plain(r"line|skip|title|before|header"))
for label, before in {"blank lines": "\n\n\n", "sharp comments": "# exported 2024\n# by the kitchen\n", "a line of spaces": "   \n", "a line of commas": ",,\n"}.items():
    case(f"before the header: {label}", before + lines(HEAD, abc), PLAIN)
for mark in ("//", "%", ";", "--", "!"):
    case(f"before the header: comments that begin with {mark}", f"{mark} exported by the kitchen\n{mark} euros, of 2024\n" + lines(HEAD, abc), PLAIN)
case("World Bank: source, date, names of years", '"Data Source","World Indicators",\n\n"Last Updated Date","2024-05-01",\n\n' + lines('"Country Name","Code","2021","2022",', lambda i: f'"Land {i}","L{i:02}","{x(i)}","{x(i, 1) if i not in HOLES else ""}",'),
     reads("Country Name out | Code out | 2021 number | 2022 number | * ?out", ROWS, missing={"2022": 7}, note="line|skip|title|before|header"))
case("blank line between all rows", lines(HEAD, abc, end="\n\n"), PLAIN)
case("a blank line in the middle", lines(HEAD, abc, 30) + "\n" + lines(None, lambda i: abc(i + 30), 30), PLAIN)
case("a comment in the middle", lines(HEAD, abc, 30) + "# second day\n" + lines(None, lambda i: abc(i + 30), 30), PLAIN)
case("a heading in the middle", lines(HEAD, abc, 30) + "second day\n" + lines(None, lambda i: abc(i + 30), 30), plain("line|row|second day"), refusal="line 32|second day")
for label, after in {
    "a source": "Source: World Kitchen\n", "a blank line and a source": "\nSource: World Kitchen\n", "number of rows": "(60 rows)\n", "two notes": "\nNotes:\nPrices in euros.\n",
    "a note padded with commas": "Source: kitchen,,\n", "end of file": "-- end --\n", "time of export": "\nExported 2024-05-01 10:00\n",
}.items():
    case(f"after the rows: {label}", lines(HEAD, abc) + after, plain("line|foot|last|row|end|skip|set aside"), refusal=r"line 6\d|last line|foot")
case("after the rows: totals", lines(HEAD, abc) + f"Total,{X[:, 0].sum():.2f},{AGE.sum()}\n", plain("(?i)total"), reads(ABC, 61, note="(?i)total"))
case("after the rows: a blank line and totals", lines(HEAD, abc) + f"\nTotal,{X[:, 0].sum():.2f},{AGE.sum()}\n", plain("(?i)total"), reads(ABC, 61, note="(?i)total"))
case("after the rows: lines of commas", lines(HEAD, abc) + ",,\n" * 12, PLAIN)
case("after the rows: blank lines and spaces", lines(HEAD, abc) + "\n  \n\n", PLAIN)
case("after the rows: the end mark of DOS", lines(HEAD, abc) + "\x1a", PLAIN)
case("after the rows: NUL", lines(HEAD, abc) + "\0", PLAIN)
case("after the rows: a page of NUL", lines(HEAD, abc) + "\0" * 512, plain(), refusal="NUL|zero|binary")

# Separators, quotes, line ends, encodings.

for label, mark in {"semicolons": ";", "pipes": "|", "tabs": "\t", "spaces": " ", "tildes": "~", "carets": "^", "unit separators": "\x1f", "Hive's control-A": "\x01"}.items():
    case(f"separated by {label}", lines(HEAD.replace(",", mark), lambda i, mark=mark: abc(i).replace(",", mark)), PLAIN, suffix="txt", refusal="separat|control|binary" if ord(mark) < 9 or mark == "\x1f" else "separat" if mark in "~^" else "")
case("separated by comma and space", lines("drink, price, age", lambda i: abc(i).replace(",", ", ")), PLAIN)
case("separated by several tabs", lines("drink\t\tprice\tage", lambda i: "{}\t\t{}\t{}".format(*abc(i).split(","))), reads("drink category | * ?out | price number | age number", ROWS), suffix="txt")
case("separated by double colons, no names", lines(None, lambda i: abc(i).replace(",", "::")), UNNAMED, suffix="data", refusal="separat|::")
case("fixed width with names", lines(f"{'drink':<10}{'price':>8}{'age':>5}", lambda i: f"{DRINK[i]:<10}{X[i, 0]:>8.2f}{AGE[i]:>5}"), PLAIN, suffix="txt")
case("fixed width with words of two parts", lines(f"{'drink':<14}{'price':>8}{'age':>5}", lambda i: f"{'iced ' + DRINK[i]:<14}{X[i, 0]:>8.2f}{AGE[i]:>5}"), reads(ABC, ROWS, (0, "drink", "iced " + str(DRINK[0]))), suffix="txt", refusal="column|separat|width")
case("spaces before each row", lines("  drink price age", lambda i: "  " + abc(i).replace(",", " ")), PLAIN, suffix="txt")
case("spaces at the ends of rows", lines("t u v", lambda i: ROW3(i).replace(",", "  ") + "  "), reads(N3.format("t", "u", "v"), ROWS, (0, "u", X[0, 1])), suffix="txt")
case("tabs and spaces mixed", lines("t u v", lambda i: f"{x(i)}\t{x(i, 1)}   {x(i, 2)}"), reads(N3.format("t", "u", "v"), ROWS, (0, "u", X[0, 1])), suffix="txt")
case("spaces with quoted words", lines("drink price age", lambda i: f'"hot {DRINK[i]}" {x(i)} {AGE[i]}'), reads(ABC, ROWS, (0, "drink", "hot " + str(DRINK[0]))), suffix="txt")
for label, first, mark in (("sep=tab", "sep=\t", "\t"), ("sep=|", "sep=|", "|"), ("quoted sep=;", '"sep=;"', ";"), ("SEP=,", "SEP=,", ",")):
    case(f"first line {label}", first + "\n" + lines(HEAD.replace(",", mark), lambda i, mark=mark: abc(i).replace(",", mark)), PLAIN)
case("sep=; after a BOM with CRLF", "\ufeffsep=;\r\n" + lines("drink;price;age", lambda i: abc(i).replace(",", ";"), end="\r\n"), PLAIN)
case("semicolons and decimal commas", lines("drink;price;age", lambda i: f"{DRINK[i]};{x(i).replace('.', ',')};{AGE[i]}"), PLAIN)
case("tabs and decimal commas", lines("drink\tprice\tage", lambda i: f"{DRINK[i]}\t{x(i).replace('.', ',')}\t{AGE[i]}"), PLAIN, suffix="tsv")
case("spaces and decimal commas", lines("drink price age", lambda i: f"{DRINK[i]} {x(i).replace('.', ',')} {AGE[i]}"), PLAIN, suffix="txt")
case("quoted decimal commas between commas", lines(HEAD, lambda i: f'{DRINK[i]},"{x(i).replace(".", ",")}",{AGE[i]}'), PLAIN)
case("semicolons, commas within words", lines("drink;price;age", lambda i: f"{DRINK[i]}, hot;{x(i)};{AGE[i]}"), reads(ABC, ROWS, (0, "drink", f"{DRINK[0]}, hot")))
case("commas within quoted words", lines(HEAD, lambda i: f'"{DRINK[i]}, hot",{x(i)},{AGE[i]}'), reads(ABC, ROWS, (0, "drink", f"{DRINK[0]}, hot")))
case("trailing comma in rows alone", lines(HEAD, lambda i: abc(i) + ","), reads(ABC + " | * ?out", ROWS, *AT))
case("trailing comma everywhere", lines(HEAD + ",", lambda i: abc(i) + ","), reads(ABC + " | * ?out", ROWS, *AT))
case("trailing semicolons everywhere", lines("drink;price;age;", lambda i: abc(i).replace(",", ";") + ";"), reads(ABC + " | * ?out", ROWS, *AT))
case("leading comma everywhere", lines("," + HEAD, lambda i: "," + abc(i)), reads("* ?out | " + ABC, ROWS, *AT))
case("everything quoted", lines('"drink","price","age"', lambda i: joined(f'"{c}"' for c in abc(i).split(","))), PLAIN)
case("everything in single quotes", lines("'drink','price','age'", lambda i: joined(f"'{c}'" for c in abc(i).split(","))), PLAIN)
case("quoted newlines in a remark", lines("remark,price,age", lambda i: f'"good {DRINK[i]}\nagain",{x(i)},{AGE[i]}'), reads("remark category/out | price number | age number", ROWS, (59, "price", X[59, 0])))
case("quoted newline in a name", lines('drink,"price\n(euro)",age', abc), reads("drink category | price* number | age number", ROWS, (59, 1, X[59, 0])))
case("doubled quotes in words", lines(HEAD, lambda i: f'"the ""{DRINK[i]}""",{x(i)},{AGE[i]}'), reads(ABC, ROWS, (0, "drink", f'the "{DRINK[0]}"')))
case("backslashes before quotes", lines(HEAD, lambda i: f'"the \\"{DRINK[i]}\\"",{x(i)},{AGE[i]}'), reads("drink category | price number | age number", ROWS, (59, "price", X[59, 0])), refusal="quote")
case("inches: a bare quote within cells", lines("pipe,price,age", lambda i: f'{FEW[i]}" pipe,{x(i)},{AGE[i]}'), reads("pipe category | price number | age number", ROWS, (0, "pipe", f'{FEW[0]}" pipe')))
case("apostrophes within cells", lines("name,price,age", lambda i: f"O'{CITY[i]},{x(i)},{AGE[i]}"), reads("name category | price number | age number", ROWS, (0, "name", f"O'{CITY[0]}")))
case("a quote that is never closed", lines(HEAD, lambda i: ('"' if i == 40 else "") + abc(i)), refusal="line 42|quote")
for label, end in {"CRLF": "\r\n", "CR of old Macs": "\r", "CR CR LF": "\r\r\n"}.items():
    case(f"line ends {label}", lines(HEAD, abc, end=end), PLAIN)
case("line ends mixed", lines(HEAD, abc, 30, end="\r\n") + lines(None, lambda i: abc(i + 30), 30), PLAIN)
case("line ends mixed: CR and LF", lines(HEAD, abc, 30) + lines(None, lambda i: abc(i + 30), 30, end="\r"), PLAIN, refusal="line")
case("no line end at the end", lines(HEAD, abc, last=False), PLAIN)
UMLAUT = lines("Getränk,price,größe", lambda i: f"{'Tee' if BITS[i, 0] else 'Weißbier'},{x(i)},{AGE[i]}")
UMLAUTS = reads("Getränk yes-no/category | price number | größe number", ROWS, (59, "price", X[59, 0]))
for codec in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252", "mac-roman", "utf-32"):
    case(f"encoding {codec}", UMLAUT, UMLAUTS, encoding=codec, refusal="UTF-32|UTF-8|encod" if codec == "utf-32" else "")
case("encoding UTF-16 BE with BOM", b"\xfe\xff" + UMLAUT.encode("utf-16-be"), UMLAUTS)
case("encoding UTF-16 LE, tabs, as Excel writes it", b"\xff\xfe" + UMLAUT.replace(",", "\t").encode("utf-16-le"), UMLAUTS, suffix="txt")
case("encoding cp850 of DOS", UMLAUT, reads("* yes-no/category | price number | * number", ROWS, note="(?i)encod|read as|850|437|1252|mac"), encoding="cp850", refusal="(?i)encod|utf-8")
case("encoding cp1252: euro sign and curly quotes", lines("price (€),“size”,drink", lambda i: f"{x(i)},{x(i, 1)},café {DRINK[i]}"), reads("price (€) number | “size” number | drink category", ROWS, (0, 2, f"café {DRINK[0]}")), encoding="cp1252")
for codec in ("cp1251", "koi8-r", "shift-jis", "gbk"):
    word = ["чай", "кофе"] if codec in ("cp1251", "koi8-r") else ["東京", "大阪"]
    case(f"encoding {codec}", lines("place,price,age", lambda i, word=word: f"{word[BITS[i, 0]]},{x(i)},{AGE[i]}"), reads("place yes-no/category | price number | age number", ROWS, note="(?i)encod|read as|utf|1252|mac|latin"), encoding=codec, refusal="(?i)encod|utf-8")
case("encoding: one Latin-1 line in UTF-8", lines(HEAD, lambda i: f"thé,{x(i)},{AGE[i]}" if i % 2 else abc(i)).encode() + f"café,{x(0)},33\n".encode("latin-1"),
     reads(ABC, 61, note="(?i)encod|utf|line"), refusal="(?i)utf-8|encod|line")
case("BOM before a quoted name", "\ufeff" + lines('"drink","price","age"', abc), PLAIN)
case("gzip named csv.gz", gzip.compress(lines(HEAD, abc).encode(), mtime=0), PLAIN, suffix="csv.gz")
case("gzip named csv", gzip.compress(lines(HEAD, abc).encode(), mtime=0), PLAIN, refusal="(?i)gzip|compress|\\.gz")
case("gzip of UTF-16", gzip.compress(UMLAUT.encode("utf-16"), mtime=0), UMLAUTS, suffix="csv.gz")
case("gzip that was cut off", gzip.compress(lines(HEAD, abc).encode(), mtime=0)[:-40], suffix="csv.gz", refusal="(?i)gzip|damaged|cut|end|incomplete|truncated|whole")

# Names.

case("names repeated", lines("score,score,drink", lambda i: f"{x(i)},{x(i, 1)},{DRINK[i]}"), reads("score* number | score* number | drink category", ROWS, (0, 1, X[0, 1])), refusal="(?i)score")
case("names that differ in case alone", lines("x,X,drink", lambda i: f"{x(i)},{x(i, 1)},{DRINK[i]}"), reads("x number | X* number | drink category", ROWS, (0, 1, X[0, 1])))
case("names repeated after spaces are cut", lines("size, size,drink", lambda i: f"{x(i)},{x(i, 1)},{DRINK[i]}"), reads("size number | *  number | drink category", ROWS, (0, 1, X[0, 1])), refusal="(?i)size")
case("a name empty in the middle", lines("drink,,age", abc), reads("drink category | * number | age number", ROWS, (59, 1, X[59, 0])))
case("two names empty", lines("drink,,", abc), reads("drink category | * number | * number", ROWS, (59, 1, X[59, 0])))
case("a name of 300 letters", lines("drink," + "price" * 60 + ",age", abc), reads("drink category | " + "price" * 60 + " number | age number", ROWS, (59, 1, X[59, 0])))
for name in ("a=b", "a|b", "50% or more", "price, in euro", 'the "best"', "a;b", "a\x1b[31mb", "x" * 60 + "é", "naïve café 😀", "select", "rowid", "None", "NaN", "1st", "price [€/kg]", "a..b", "<b>x</b>", "{x}", "'; drop table t; --", "C:\\x"):
    case(f"a name {ascii(name)[1:-1]}", lines(joined([quoted(name), "drink", "age"]), lambda i: f"{x(i)},{DRINK[i]},{AGE[i]}"), Reads(ROWS, ((name, "number"), ("drink", "category"), ("age", "number")), ((59, 0, X[59, 0]),)), *([reads("a* number | drink category | age number", ROWS, (59, 0, X[59, 0]))] if "\x1b" in name else []))
case("names that a database would give: column1, column0", lines("column1,column0", lambda i: f"{x(i)},{x(i, 1)}"), reads("column1 number | column0 number", ROWS, (0, "column0", X[0, 1])))
case("names that this library would give, in another order", lines("column 2,column 1", lambda i: f"{x(i)},{x(i, 1)}"), reads("column 2 number | column 1 number", ROWS, (0, "column 1", X[0, 1])))
case("the first name is ID, as in SYLK", lines("ID,price,drink", lambda i: f"{4000 + 3 * i},{x(i)},{DRINK[i]}"), reads("ID out/number | price number | drink category", ROWS))

# Shapes.

case("one row is short", lines(HEAD, lambda i: DRINK[i] if i == 30 else abc(i)), plain("line 32|row 31|short"), refusal="line 32")
case("one row is long", lines(HEAD, lambda i: abc(i) + (",7" if i == 30 else "")), plain("line 32|row 31|long"), refusal="line 32")
case("rows without their last empty cells", lines("drink,price,note", lambda i: f"{DRINK[i]},{x(i)}" + (",good" if BITS[i, 0] else "")), reads("drink category | price number | note yes-no/out", ROWS, (59, "price", X[59, 0])), refusal=r"line \d+")
case("header longer by one", lines(HEAD + ",note", abc), reads(ABC + " | note out", ROWS, *AT), refusal="column|line|cells|name")
case("baskets: rows of any length", lines(None, lambda i: joined(["milk", "bread", "eggs", "beer"][: 1 + FEW[i] % 4])), refusal=r"line \d|column|length|cells")
case("only a header", "drink,price,age\n", refusal="row")
case("a header and one row", "drink,price,age\ntea,2.5,30\n", reads("drink any | price any | age any", 1), refusal="row|always")
case("an empty file", b"", refusal="(?i)empty|no row|nothing|0 bytes|rows")
case("only blank lines", "\n\n\n", refusal="(?i)empty|no row|nothing|blank|row")
case("only a BOM", "\ufeff", refusal="(?i)empty|no row|nothing|row")
case("one column of numbers with a name", lines("price", x), reads("price number", ROWS, (0, "price", X[0, 0])))
case("one column of numbers without a name", lines(None, lambda i: f"{X[i, 0] - 2:.2f}"), reads("* number", ROWS, (0, 0, X[0, 0] - 2)))
case("one column of words with a name", lines("drink", lambda i: DRINK[i]), reads("drink category", ROWS, (0, "drink", str(DRINK[0]))))
case("one column with blank cells", lines("price", lambda i: "" if i in HOLES else x(i)), reads("price number", ROWS, (FIRST_HOLE, "price", None)), reads("price number", ROWS - 7, note="blank|empty|line"))
case("one quoted column with commas", lines("place", lambda i: f'"{CITY[i]}, Europe"'), reads("place category", ROWS, (0, "place", f"{CITY[0]}, Europe")))
case("all cells missing", lines("a,b", lambda _: "NA,"), reads("a out | b out", ROWS), refusal="cell|value|column|row|missing")
case("one column all missing", lines(HEAD + ",e", lambda i: abc(i) + ",NA"), reads(ABC + " | e out", ROWS, *AT))
case("one column constant", lines(HEAD + ",e", lambda i: abc(i) + ",7"), reads(ABC + " | e out", ROWS, *AT))
case("60 columns of numbers with names", lines(joined(f"v{j}" for j in range(60)), lambda i: joined(f"{X[i, j % 12] * (j + 1):.2f}" for j in range(60))), reads(" | ".join(f"v{j} number" for j in range(60)), ROWS, (0, "v59", round(X[0, 11] * 60, 2))))
case("transposed: names in the first column", "\n".join([joined(["mass", *X[:12, 0]]), joined(["size", *X[:12, 1]]), joined(["drink", *DRINK[:12]])]) + "\n", reads(" | ".join(["* any"] * 13), 3, note="transpos|rows|turn"), reads("mass number | size number | drink category", 12), refusal="transpos|row|names")

# Yes and no, categories, keys.

V = (RNG.random(ROWS) * 99 + 0.5).round(2)  # positive, two decimals, all of two digits or less


def beside(name, cell, kind, *cells, missing=None, remark="", refusal="", more=()):
    """Add a table whose column `v` has unusual cells, beside a word and a number."""
    text = lines("v,drink,y", lambda i: f"{quoted(cell(i))},{DRINK[i]},{x(i, 1)}")
    triples = [(i, "v", value) for i, value in cells]
    reading = reads(f"v {kind} | drink category | y number", ROWS, *triples, (59, "y", X[59, 1]), missing=missing and {"v": missing}, remark=remark)
    case(name, text, reading, *more, refusal=refusal)


for yes, no in (("ja", "nein"), ("oui", "non"), ("sí", "no"), ("да", "нет"), ("Y", "N"), ("T", "F"), ("t", "f"), ("on", "off"), ("✓", "✗"), ("TRUE", "FALSE"), (".TRUE.", ".FALSE."), ("M", "F"), ("+", "-"), ("1", "2"), ("1.0", "0.0"), ("pos", "neg")):
    beside(f"yes/no: {yes} and {no}", lambda i, yes=yes, no=no: yes if BITS[i, 2] else no, "yes-no")
for yes in ("x", "X", "✓", "1", "yes", "*"):
    beside(f"yes or blank: {yes}", lambda i, yes=yes: yes if BITS[i, 3] else "", "yes-no/out")
beside("yes/no with gaps: TRUE, FALSE, NA", lambda i: "NA" if i in HOLES else ("TRUE" if BITS[i, 2] else "FALSE"), "yes-no", missing=7)
beside("yes/no with unknown", lambda i: "unknown" if i in HOLES else ("true" if BITS[i, 2] else "false"), "category/yes-no")
beside("yes/no in many spellings", lambda i: ("yes", "Yes", "YES", "no", "No")[i % 5], "category/yes-no")
beside("yes/no with spaces at the end", lambda i: ("yes", "yes ", "no", "no ")[i % 4], "yes-no")
WORDS = {
    "results of chess": ("1-0", "0-1", "1/2-1/2"), "ratios": ("16:9", "4:3", "21:9"), "genotypes as words": ("A/G", "A/A", "G/G"), "genotypes of VCF": ("0/0", "0/1", "1/1"), "blood groups": ("A+", "A-", "0+", "B-"), "grades": ("A+", "A", "A-", "B"),
    "codes that look like powers": ("1E5", "2E7", "3F2"), "colours, a sharp first": ("#ff0000", "#00ff00", "#0000ff"), "months": ("Jan", "Feb", "Mar", "May"), "months spelled out": ("January", "May", "July"), "weekdays": ("Mon", "Tue", "Sun"), "Roman numbers": ("I", "II", "IV"), "leading zeros": ("00501", "02139", "00123", "10001"),
    "Likert": ("1 - never", "2 - rarely", "3 - often"), "words with commas": ("tea, green", "tea, black"), "sizes": ("S", "M", "L", "XL"), "bins of income": ("$0 - $9,999", "$10,000 - $49,999", "$50,000 or more"), "intervals of pandas": ("(0, 18]", "(18, 65]", "(65, 99]"), "ranges of age": ("18-24", "25-34", "35-44", "65+"),
    "ranges that Excel takes for dates": ("1-5", "6-10", "11-15"), "versions": ("1.2.3", "1.2.10", "2.0.0"), "emoji": ("😀", "😐", "😡"), "one is called other": ("other", "tea", "milk"), "equal signs": ("a=1", "a=2", "b=1"), "formulas of a spreadsheet": ("=A1", "=B1", "@x"), "hours of opening": ("9-17", "9-12", "13-17"),
    "fractions of inches": ('1/2"', '3/4"', '7/8"'), "letter T and others": ("T", "A", "C", "G"), "minus signs of strength": ("-", "--", "+", "++"), "words in brackets": ("[none]", "[some]", "[all]"), "country codes": ("DE", "NO", "FR", "IT"), "ternary: low, mid, high": ("low", "mid", "high"), "IP addresses": ("10.0.0.1", "10.0.0.2", "192.168.1.1"),
}
for label, words in WORDS.items():
    beside(f"words: {label}", lambda i, words=words: words[(i * 7 + FEW[i]) % len(words)], "category/yes-no", (0, words[FEW[0] % len(words)]), missing=0)
beside("words: namespace codes with NA for Namibia", lambda i: ("DE", "NA", "FR", "ZA")[i % 4], "category")
beside("words: None, Mild, Severe", lambda i: ("None", "Mild", "Severe")[i % 3], "category/yes-no")
KEYS = {
    "UUID": lambda i: f"{zlib.crc32(b'%d' % i):08x}-4a5b-4c6d-8e7f-{zlib.crc32(b'k%d' % i):08x}0000", "prefix and number": lambda i: f"P{i + 1:03}", "mail addresses": lambda i: f"p{i}@example.org", "telephone numbers": lambda i: f"+41 44 {zlib.crc32(b'%d' % i) % 900 + 100} {i + 10} {99 - i}",
    "20 digits": lambda i: f"8944{zlib.crc32(b'%d' % i):016}", "leading zeros, all different": lambda i: f"{zlib.crc32(b'%d' % i) % 99999:06}", "Excel text formula": lambda i: f'="{i + 101:05}"', "addresses of pages": lambda i: f"https://example.org/?q={i},a#top", "prose": lambda i: f"Customer {i} said: good, but late. Would come again!", "JSON": lambda i: f'{{"a": {i}, "b": [1, 2]}}', "hexadecimal": lambda i: f"0x{zlib.crc32(b'%d' % i):08x}", "IBAN": lambda i: f"CH93 0076 2011 {zlib.crc32(b'%d' % i) % 9000 + 1000} {i + 10}00 7",
}
for label, cell in KEYS.items():
    beside(f"keys: {label}", cell, "out")
case("keys: a counter named id that ends the row", lines("drink,y,id", lambda i: f"{DRINK[i]},{x(i)},{i + 1}"), reads("drink category | y number | id out", ROWS))
case("keys: a shuffled id", lines("user_id,drink,y", lambda i: f"{(i * 37) % 60 + 1},{DRINK[i]},{x(i)}"), reads("user_id out | drink category | y number", ROWS))
case("no key: ages in order", lines("age,drink,y", lambda i: f"{i + 18},{DRINK[i]},{x(i)}"), reads("age number | drink category | y number", ROWS, (3, "age", 21)))
case("no key: years in order", lines("year,drink,y", lambda i: f"{i + 1961},{DRINK[i]},{x(i)}"), reads("year number/date | drink category | y number", ROWS))
case("no key: temperatures 0, 1, 2 … in the last column", lines("drink,y,celsius", lambda i: f"{DRINK[i]},{x(i)},{i}"), reads("drink category | y number | celsius number", ROWS, (3, "celsius", 3)), reads("drink category | y number | celsius out", ROWS, remark="celsius.*(count|--as)"))

# Markers of missing cells, and numbers in other forms.

MARKERS = ("", " ", '""', "NA", "N/A", "n/a", "#N/A", "NaN", "-nan", "null", "NULL", "None", "?", "-", "--", "---", "—", "–", ".", "..", "...", "*", "**", "#DIV/0!", "#VALUE!", "#REF!", "#NULL!", "<NA>", "nd", "n.d.", "n.a.", "k.A.", "missing", "unknown", "Unknown", "not available", "not measured", "(blank)", "\\N", ":", "1.#QNAN", "TBD", "NIL", "x", "########", "[REDACTED]", "#NUM!", "Not Known", "s")
USUAL = {"", " ", '""', "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "?", "-", ".", "<na>", "\\n"}
SEEN = next(i for i in range(ROWS) if i not in HOLES)
RARE = {"TBD", "NIL", "x", "s", "[REDACTED]", "########", "Not Known", "not measured", "(blank)", "k.A.", "nd", "**", "1.#QNAN"}
for marker in MARKERS:
    # A marker that not every program knows is a decision, so it has to be said.
    said = "" if marker.lower() in USUAL else re.escape(marker) + "|(?i)missing"
    beside(f"missing: {ascii(marker)[1:-1] or 'empty'}", lambda i, marker=marker: marker if i in HOLES else str(V[i]), "number/reasoned" if marker in RARE else "number", (FIRST_HOLE, None), (SEEN, V[SEEN]), missing=7, remark=said.replace("(?i)", ""))
for marker in ("-99", "-999", "-9999", "9999", "999.99"):
    beside(f"missing as a number: {marker}", lambda i, marker=marker: marker if i in HOLES else str(V[i]), "number", missing=7, more=(reads("v number | drink category | y number", ROWS, remark=f"{marker}.*(missing|--missing)|--missing.*{marker}"),))
beside("missing: SAS letters", lambda i: (".", ".A", ".B", ".Z")[i % 4] if i in HOLES else str(V[i]), "number", missing=7)
beside("missing: Stata letters", lambda i: (".a", ".b")[i % 2] if i in HOLES else str(V[i]), "number", missing=7)
beside("missing: several markers", lambda i: ("NA", "-", "", "..", "unknown", "n/a")[i % 6] if i in HOLES else str(V[i]), "number", missing=7)
beside("missing: Eurostat colons and flags", lambda i: ": " if i in HOLES else f"{V[i]}{(' b', ' p', ' e', '')[i % 4]}", "number", missing=7)
beside("missing: Eurostat colon with a flag", lambda i: ": u" if i in HOLES else f"{V[i]} ", "number", missing=7)
beside("missing: among words", lambda i: "n/a" if i in HOLES else str(CITY[i]), "category", missing=7)
beside("missing: question mark among words", lambda i: "?" if i in HOLES else str(CITY[i]), "category", missing=7)
beside("missing: dash among words", lambda i: "—" if i in HOLES else str(CITY[i]), "category", missing=7, more=(reads("v category | drink category | y number", ROWS, missing={"v": 0}),))
beside("missing: infinity among numbers", lambda i: "inf" if i in HOLES else str(V[i]), "number", remark="(?i)inf", refusal="(?i)inf|finite", more=(reads("v out | drink category | y number", ROWS, remark="(?i)inf"),))
case("missing: markers of two columns", lines("v,w,drink", lambda i: f"{'*' if i in HOLES else V[i]},{'..' if i in HOLES else x(i)},{DRINK[i]}"), reads("v number | w number | drink category", ROWS, missing={"v": 7, "w": 7}))

W = (V / 7 + 1).round(2)
NUMBERS = {
    "kilograms after a space": (lambda v: f"{v} kg", V), "kilograms without a space": (lambda v: f"{v}kg", V), "degrees": (lambda v: f"{v}°C", V), "percent": (lambda v: f"{v}%", V), "percent after a space": (lambda v: f"{v} %", V), "pounds": (lambda v: f"£{v:,.2f}", BIG), "dollars": (lambda v: f"${v:,.2f}", BIG), "dollars after a space": (lambda v: f"$ {v}", V), "euros behind": (lambda v: f"{v} €", V), "USD before": (lambda v: f"USD {v}", V), "EUR behind": (lambda v: f"{v} EUR", V), "Swiss francs": (lambda v: f"CHF {v:,.2f}".replace(",", "'"), BIG), "yen": (lambda v: f"¥{v:,.0f}", BIG.round()), "rupees, lakh": (lambda v: f"₹{v / 100:,.2f}", BIG),
    "multiples": (lambda v: f"{v}x", V), "about": (lambda v: f"~{v}", V), "thousands with commas": (lambda v: f"{v:,.0f}", BIG.round()), "thousands with spaces": (lambda v: f"{v:,.2f}".replace(",", " "), BIG), "thousands with no-break spaces": (lambda v: f"{v:,.2f}".replace(",", "\u00a0"), BIG), "thousands with narrow no-break spaces": (lambda v: f"{v:,.2f}".replace(",", "\u202f"), BIG), "thousands with underscores": (lambda v: f"{v:_.2f}", BIG), "thousands with apostrophes": (lambda v: f"{v:,.2f}".replace(",", "'"), BIG), "thousands with typographic apostrophes": (lambda v: f"{v:,.2f}".replace(",", "’"), BIG), "thousands with dots, twice": (lambda v: f"{v:,.0f}".replace(",", "."), BIG.round()),
    "exponents": (lambda v: f"{v:.3e}", V), "capital exponents": (lambda v: f"{v:.3E}", V), "exponents with decimal commas": (lambda v: f"{v:.3e}".replace(".", ","), V), "Fortran's D": (lambda v: f"{v:.3e}".replace("e", "D"), V), "without a zero before the dot": (lambda v: f"{v / 100:.4f}"[1:], (V / 100).round(4)), "with a dot at the end": (lambda v: f"{v:.0f}.", (V * 50).round()), "plus signs": (lambda v: f"+{v}", V), "17 digits": (lambda v: f"{v / 3:.17f}", V), "quoted by an apostrophe": (lambda v: f"'{v}", V), "middle dots": (lambda v: str(v).replace(".", "·"), V), "full-width digits": (lambda v: "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in str(v)), V), "spaces before and after": (lambda v: f"  {v} ", V), "very small": (lambda v: f"{v:.3f}e-30", V), "very large": (lambda v: f"{v:.3f}e+30", V), "tiny next to 1": (lambda v: f"{1 + v / 1e4:.7f}", 1 + V / 1e4), "K for thousands": (lambda v: f"{v}K", V), "seconds": (lambda v: f"{v} s", V), "compared with a maximum": (lambda v: f"{v}/100", V), "stars": (lambda v: f"{v}*", V),
}
RARE_FORMS = {"multiples", "about", "thousands with underscores", "Fortran's D", "middle dots", "full-width digits", "K for thousands", "compared with a maximum", "stars", "quoted by an apostrophe"}
for label, (form, numbers) in NUMBERS.items():
    values = {"17 digits": V / 3, "very small": V * 1e-30, "very large": V * 1e30, "rupees, lakh": BIG / 100, "without a zero before the dot": (numbers / 100).round(4), "K for thousands": V * 1000, "tiny next to 1": 1 + numbers / 1e4}.get(label, numbers)
    also = (float(V[3]),) if label == "K for thousands" else (float(V[3]) / 100,) if "percent" in label or "maximum" in label else ()
    beside(f"numbers: {label}", lambda i, form=form, numbers=numbers: form(float(numbers[i])), "number/reasoned" if label in RARE_FORMS else "number", (3, (float(values[3]), *also)), missing=0)
SIGNS = {"a true minus": lambda v: f"{v}".replace("-", "−"), "parentheses": lambda v: f"({-v})" if v < 0 else f"{v}", "dollars in parentheses": lambda v: f"(${-v})" if v < 0 else f"${v}", "a minus behind": lambda v: f"{-v}-" if v < 0 else f"{v}", "a minus before a dollar": lambda v: f"-${-v}" if v < 0 else f"${v}", "a dollar before a minus": lambda v: f"${v}", "a space after the minus": lambda v: f"- {-v}" if v < 0 else f"{v}", "an en dash": lambda v: f"{v}".replace("-", "–"), "a negative zero": lambda v: "-0.00" if abs(v) < 0.3 else f"{v:.2f}"}
Z = (X[:, 3] - 2 + 0.005).round(2)
LEAST = int(Z.argmin())
for label, form in SIGNS.items():
    beside(f"negative: {label}", lambda i, form=form: form(float(Z[i])), "number/reasoned" if label in {"an en dash", "a space after the minus"} else "number", (LEAST, float(Z[LEAST])), missing=0)
SOME = {"footnote stars on some": lambda v, i: f"{v}{'*' if i in HOLES else ''}", "footnotes in brackets on some": lambda v, i: f"{v}{'[a]' if i in HOLES else ''}", "superscripts on some": lambda v, i: f"{v}{'¹' if i in HOLES else ''}", "percent on some": lambda v, i: f"{v}{'%' if i in HOLES else ''}", "units on some": lambda v, i: f"{v}{' kg' if i in HOLES else ''}", "ca. on some": lambda v, i: f"{'ca. ' if i in HOLES else ''}{v}"}
KEPT = next(i for i in range(ROWS) if i not in HOLES)
for label, form in SOME.items():
    beside(f"numbers: {label}", lambda i, form=form: form(V[i], i), "number/reasoned", (KEPT, V[KEPT]))
LIMITS = {"below a limit": lambda v, i: "<0.5" if i in HOLES else f"{v}", "above a limit": lambda v, i: ">90" if i in HOLES else f"{v}", "90+": lambda v, i: "90+" if i in HOLES else f"{v:.0f}", "below, with a space": lambda v, i: "< 0.5" if i in HOLES else f"{v}", "at most": lambda v, i: "≤0.5" if i in HOLES else f"{v}", "10 or more": lambda v, i: "90 or more" if i in HOLES else f"{v:.0f}"}
for label, form in LIMITS.items():
    beside(f"numbers: {label}", lambda i, form=form: form(V[i], i), "number/reasoned", (KEPT, (V[KEPT], round(V[KEPT]))), remark=r"[<>≤]|90\+|or more|limit|bound|censor")
for label, cell in {"two units": lambda i: f"{V[i]} kg" if i % 2 else f"{V[i] * 1000:.0f} g", "two currencies": lambda i: f"${V[i]}" if i % 2 else f"€{V[i]}", "bytes, KB and MB": lambda i: f"{V[i]} {('B', 'KB', 'MB')[i % 3]}"}.items():
    beside(f"numbers: {label} in one column", cell, "out", remark=r"v .*(unit|such as|but for|kg|€|KB|currenc)", more=(reads("v number | drink category | y number", ROWS, remark="unit|kg|€|KB|currenc"),))
beside("words or numbers: telephone areas", lambda i: ("+41", "+49", "+1")[i % 3], "category/number")
for label, cell in {"feet and inches": lambda i: f"{5 + i % 2}'{i % 12}\"", "degrees, minutes, seconds": lambda i: f"{i + 1}°{i % 60:02}'{(i * 7) % 60:02}\"N", "a pair in one cell": lambda i: f"{V[i]}, {Z[i]}", "ranges, all different": lambda i: f"{i}-{i + 5}", "plus-minus": lambda i: f"{V[i]} ± 0.1", "value and (sd)": lambda i: f"{V[i]} (0.3)", "a list": lambda i: f"[{V[i]}, {Z[i]}]", "complex": lambda i: f"{V[i]}+2j"}.items():
    beside(f"numbers within text: {label}", cell, "out/number/category" if "feet" in label else "out/number")
case("numbers: thousands with dots, decimal commas elsewhere", lines("v;drink;y", lambda i: f"{f'{int(AGE[i]) * 137:,}'.replace(',', '.')};{DRINK[i]};{x(i).replace('.', ',')}"), reads("v number | drink category | y number", ROWS, (0, "v", int(AGE[0]) * 137), (59, "y", X[59, 0])))
case("numbers: three decimals everywhere", lines("v,drink,y", lambda i: f"{V[i] / 10:.3f},{DRINK[i]},{x(i)}"), reads("v number | drink category | y number", ROWS, (3, "v", V[3] / 10)))
case("numbers: salaries rounded to thousands", lines("salary,drink,y", lambda i: f"{30000 + 1000 * (i * 7 % 8)},{DRINK[i]},{x(i)}"), reads("salary number | drink category | y number", ROWS, (1, "salary", 37000)))
case("numbers: rain that is mostly 0", lines("rain,drink,y", lambda i: f"{0 if i % 4 else V[i]},{DRINK[i]},{x(i)}"), reads("rain number | drink category | y number", ROWS, (1, "rain", 0)))

# Dates, times of the day, durations.

START = datetime(2023, 1, 3, 4, 5, 6)
MOMENTS = [START + timedelta(days=int(d), seconds=int(s)) for d, s in zip(np.sort(RNG.integers(0, 600, ROWS)), RNG.integers(0, 86400, ROWS), strict=True)]
MOMENTS[5] = datetime(2023, 2, 28, 17, 45, 30)
GERMAN = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"]
FRENCH = ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."]
DAYS = {
    "ISO": "%Y-%m-%d", "ISO without dashes": "%Y%m%d", "German": "%d.%m.%Y", "German, two digits of the year": "%d.%m.%y", "American": "%m/%d/%Y", "American, two digits of the year": "%m/%d/%y", "British": "%d/%m/%Y", "Dutch": "%d-%m-%Y", "Japanese": "%Y/%m/%d", "Chinese": "%Y年%m月%d日", "year, day, month": "%Y-%d-%m", "day and short month": "%d %b %Y", "Oracle": "%d-%b-%y", "American words": "%b %d, %Y", "American long words": "%B %d, %Y", "with the weekday": "%a, %d %b %Y", "with the long weekday": "%A, %B %d, %Y", "dots and spaces": "%d. %m. %Y", "dots, year first": "%Y.%m.%d", "SAS": "%d%b%Y", "day of the year": "%Y-%j",
}
INSTANTS = {
    "ISO with T": "%Y-%m-%dT%H:%M:%S", "ISO with a space": "%Y-%m-%d %H:%M:%S", "without seconds": "%Y-%m-%d %H:%M", "with Z": "%Y-%m-%dT%H:%M:%SZ", "with milliseconds": "%Y-%m-%d %H:%M:%S.250", "with microseconds and Z": "%Y-%m-%dT%H:%M:%S.123456Z", "with nine decimals": "%Y-%m-%dT%H:%M:%S.123456789", "with nine decimals and Z": "%Y-%m-%dT%H:%M:%S.123456789Z", "UTC in words": "%Y-%m-%d %H:%M:%S UTC", "offset +0000": "%Y-%m-%d %H:%M:%S +0000", "ctime": "%a %b %d %H:%M:%S %Y", "American with AM and PM": "%m/%d/%Y %I:%M:%S %p", "German with the time": "%d.%m.%Y %H:%M", "German with Uhr": "%d.%m.%Y %H:%M Uhr", "Apache's log": "%d/%b/%Y:%H:%M:%S +0000", "compact": "%Y%m%dT%H%M%S", "compact digits": "%Y%m%d%H%M%S", "decimal comma": "%Y-%m-%d %H:%M:%S,250", "comma before the time": "%d/%m/%Y, %H:%M:%S",
}
for label, form in DAYS.items():
    beside(f"dates: {label}", lambda i, form=form: MOMENTS[i].strftime(form), "date/reasoned" if label in {"Chinese", "SAS", "day of the year", "dots and spaces"} else "date", (5, "2023-02-28"), missing=0)
for label, form in INSTANTS.items():
    beside(f"instants: {label}", lambda i, form=form: MOMENTS[i].strftime(form), "date/number" if "digits" in label else "date/reasoned" if label in {"German with Uhr", "Apache's log"} else "date", *([(5, "2023-02-28T17:45:30")] if "digits" not in label else []), missing=0)
ZONE = timezone(timedelta(hours=2))
CLOCK = ("2023-02-28T17:45:30", "2023-02-28T15:45:30")
for label, form in {"+02:00": "%Y-%m-%dT%H:%M:%S+02:00", "+0200": "%Y-%m-%d %H:%M:%S+0200", "+02": "%Y-%m-%d %H:%M:%S+02", "space +02:00": "%Y-%m-%d %H:%M:%S +02:00", "nine decimals and +02:00": "%Y-%m-%dT%H:%M:%S.123456789+02:00", "half an hour": "%Y-%m-%dT%H:%M:%S+02:00"}.items():
    beside(f"instants: offset {label}", lambda i, form=form: MOMENTS[i].strftime(form), "date", (5, CLOCK), missing=0)
beside("instants: offset that changes in summer", lambda i: MOMENTS[i].replace(microsecond=0).isoformat() + ("+02:00" if 4 <= MOMENTS[i].month <= 10 else "+01:00"), "date", (5, ("2023-02-28T17:45:30", "2023-02-28T16:45:30")), missing=0)
beside("instants: mails, RFC 2822", lambda i: format_datetime(MOMENTS[i].replace(tzinfo=ZONE)), "date", (5, CLOCK), missing=0)
beside("instants: HTTP, GMT in words", lambda i: format_datetime(MOMENTS[i].replace(tzinfo=UTC), usegmt=True), "date", (5, "2023-02-28T17:45:30"), missing=0)
OTHER = {
    "German months in words": lambda m: f"{m.day}. {GERMAN[m.month - 1]} {m.year}", "French months in words": lambda m: f"{m.day} {FRENCH[m.month - 1]} {m.year}", "Sept for September": lambda m: f"{m.day} {'Sept' if m.month == 9 else m.strftime('%b')} {m.year}", "without leading zeros, German": lambda m: f"{m.day}.{m.month}.{m.year}", "without leading zeros, American": lambda m: f"{m.month}/{m.day}/{m.year}", "months in capitals": lambda m: m.strftime("%d-%b-%Y").upper(), "a midnight behind": lambda m: m.strftime("%d.%m.%Y 00:00:00"), "with st, nd, th": lambda m: f"{m.strftime('%B')} {m.day}{ {1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd', 31: 'st'}.get(m.day, 'th')}, {m.year}",
}
for label, form in OTHER.items():
    beside(f"dates: {label}", lambda i, form=form: form(MOMENTS[i]), "date/reasoned" if label in {"French months in words", "with st, nd, th"} else "date", (5, "2023-02-28"), missing=0)
PARTS = {
    "ISO weeks": lambda m: "{}-W{:02}".format(*m.isocalendar()[:2]), "quarters 2024Q1": lambda m: f"{m.year}Q{(m.month + 2) // 3}", "quarters Q1 2024": lambda m: f"Q{(m.month + 2) // 3} {m.year}", "year and month": lambda m: m.strftime("%Y-%m"), "month and year": lambda m: m.strftime("%m/%Y"), "month in words and year": lambda m: m.strftime("%b-%y"), "ISO weeks with days": lambda m: "{}-W{:02}-{}".format(*m.isocalendar()), "months of Eurostat": lambda m: m.strftime("%YM%m"),
}
for label, form in PARTS.items():
    beside(f"dates: {label}", lambda i, form=form: form(MOMENTS[i]), "date/category/reasoned" if "quarter" in label or "week" in label else "date", missing=0)
beside("dates: Excel's numbers", lambda i: str((MOMENTS[i] - datetime(1899, 12, 30)).days), "number/date")
beside("dates: seconds since 1970", lambda i: str(int(MOMENTS[i].timestamp())), "number/date")
beside("dates: milliseconds since 1970", lambda i: str(int(MOMENTS[i].timestamp()) * 1000), "number/date")
for label, bad in {"31 June": "31.06.2023", "30 February": "30.02.2023", "day 0": "00.00.0000", "a word": "yesterday", "month 13": "01.13.2023"}.items():
    beside(f"dates: three impossible cells, {label}", lambda i, bad=bad: bad if i in (7, 20, 40) else MOMENTS[i].strftime("%d.%m.%Y"), "date/reasoned", (5, "2023-02-28"), missing=3, remark=re.escape(bad) + "|but for|no date")
beside("dates: 0000-00-00 for missing", lambda i: "0000-00-00" if i in HOLES else MOMENTS[i].strftime("%Y-%m-%d"), "date", missing=7)
beside("dates: NaT for missing", lambda i: "NaT" if i in HOLES else MOMENTS[i].strftime("%Y-%m-%d"), "date", missing=7)
beside("dates: empty cells and dashes", lambda i: ("", "-")[i % 2] if i in HOLES else MOMENTS[i].strftime("%d.%m.%Y"), "date", missing=7)
beside("dates: two formats in one column", lambda i: MOMENTS[i].strftime("%Y-%m-%d" if i % 2 else "%d.%m.%Y"), "date/reasoned", (5, "2023-02-28"), missing=0)
beside("dates: some with a time", lambda i: MOMENTS[i].strftime("%Y-%m-%d %H:%M:%S" if i % 2 else "%Y-%m-%d"), "date/reasoned", missing=0)
beside("dates: both orders fit, nothing decides", lambda i: f"{i % 12 + 1:02}/{(i * 5) % 12 + 1:02}/2023", "date", missing=0, remark="(?i)order|day|month")
case("dates: the order of one column decides for another", lines("poll,election,y", lambda i: f"{MOMENTS[i]:%m/%d/%Y},{i % 12 + 1:02}/08/2024,{x(i)}"), reads("poll date | election date | y number", ROWS, (0, "election", "2024-01-08"), (5, "poll", "2023-02-28")))
case("dates: British order of one column decides for another", lines("poll,election,y", lambda i: f"{MOMENTS[i]:%d/%m/%Y},{i % 12 + 1:02}/08/2024,{x(i)}"), reads("poll date | election date | y number", ROWS, (4, "election", "2024-08-05"), (5, "poll", "2023-02-28")))
case("dates: day and time in two columns", lines("day,time,y", lambda i: f"{MOMENTS[i]:%Y-%m-%d},{MOMENTS[i]:%H:%M:%S},{x(i)}"), reads("day date | time time | y number", ROWS, (5, "day", "2023-02-28")))
case("dates: births of the fifties, two digits", lines("born,drink,y", lambda i: f"{i % 28 + 1:02}.{i % 12 + 1:02}.{50 + i % 20},{DRINK[i]},{x(i)}"), reads("born date/reasoned | drink category | y number", ROWS, (0, "born", ("1950-01-01",))), reads("born date | drink category | y number", ROWS, note="19|20|century"))
case("dates: German in a semicolon file with decimal commas", lines("tag;menge;getränk", lambda i: f"{MOMENTS[i]:%d.%m.%Y};{x(i).replace('.', ',')};{DRINK[i]}"), reads("tag date | menge number | getränk category", ROWS, (5, "tag", "2023-02-28"), (0, "menge", X[0, 0])), encoding="cp1252")
TIMES = {"13:05": "%H:%M", "1:05 PM": "%I:%M %p", "1:05pm": "%I:%M%p", "13:05:09": "%H:%M:%S", "13:05:09.5": "%H:%M:%S.5", "13h05": "%Hh%M", "T13:05": "T%H:%M", "13.05 Uhr": "%H.%M Uhr"}
for label, form in TIMES.items():
    text = (lambda m, form=form: m.strftime(form).lower()) if "pm" in label else (lambda m, form=form: m.strftime(form))
    beside(f"times: {label}", lambda i, text=text: text(MOMENTS[i]), "time/reasoned" if label in {"13h05", "T13:05", "13.05 Uhr", "13:05:09.5"} else "time", missing=0)
SPANS = {"hours beyond 24": lambda i: f"{i * 7 % 90}:{i % 60:02}:00", "minutes and seconds": lambda i: f"{i * 7 % 90}:{i % 60:02}", "ISO": lambda i: f"PT{i % 5}H{i % 60}M", "1h 20m": lambda i: f"{i % 5}h {i % 60}m", "pandas": lambda i: f"{i % 5} days {i % 24:02}:{i % 60:02}:00", "minutes in words": lambda i: f"{i + 3} min"}
for label, cell in SPANS.items():
    beside(f"durations: {label}", cell, "time/number/reasoned", missing=0)

# Files of other programs: they are read, or the message says what they are.

# The words of the file itself, quoted in a message, do not say what it is.
MARKUP = r"(?i)web page|markup|page of html|(html|xml) (page|file|document|table|text)|(is|holds|like|an?|found|got) (html|xml)"
EITHER = {"refusal": r"(?i)expected .*; (found|got) .*;"}
case("MySQL: a drawn table", f"+--------+-------+-----+\n| {'drink':<6} | price | age |\n+--------+-------+-----+\n" + lines(None, lambda i: f"| {DRINK[i]:<6} | {x(i):>5} | {AGE[i]:>3} |") + "+--------+-------+-----+\n60 rows in set (0.00 sec)\n", plain("line|rows|table|skip"), suffix="txt", refusal="line|column|table|separat")
case("psql: pipes and a dashed line", " drink  | price | age\n--------+-------+-----\n" + lines(None, lambda i: f" {DRINK[i]:<6} | {x(i):>5} | {AGE[i]:>3}") + "(60 rows)\n", plain("line|rows|table|skip"), suffix="txt", refusal="line|column|table|separat")
case("Markdown", "| drink | price | age |\n|-------|------:|----:|\n" + lines(None, lambda i: f"| {DRINK[i]} | {x(i)} | {AGE[i]} |"), plain(), suffix="txt", refusal="line|column|Markdown|separat")
case("reStructuredText", "====== ===== ===\ndrink  price age\n====== ===== ===\n" + lines(None, lambda i: f"{DRINK[i]:<6} {x(i):>5} {AGE[i]:>3}") + "====== ===== ===\n", plain(), suffix="txt", refusal="line|column|table|separat")
case("LaTeX", "\\begin{tabular}{lrr}\ndrink & price & age \\\\\n\\hline\n" + lines(None, lambda i: f"{DRINK[i]} & {x(i)} & {AGE[i]} \\\\") + "\\end{tabular}\n", plain("line|skip"), suffix="txt", refusal="(?i)line|column|latex|separat")
case("Jupyter: a printed data frame", "     drink  price  age\n" + lines(None, lambda i: f"{i:<3} {DRINK[i]:>6}  {x(i)}   {AGE[i]}"), reads("* ?out | " + ABC, ROWS, *AT), suffix="txt", refusal="line|column|separat")
case("HTML named csv", "<!DOCTYPE html>\n<html><body><table>\n<tr><th>drink</th><th>price</th></tr>\n" + lines(None, lambda i: f"<tr><td>{DRINK[i]}</td><td>{x(i)}</td></tr>") + "</table></body></html>\n", reads("drink category | price number", ROWS), refusal=MARKUP)
case("an error page named csv", "<html><head><title>404 Not Found</title></head>\n<body>\n<h1>Not Found</h1>\n<p>The requested URL, /a.csv, was not found.</p>\n</body></html>\n", refusal=MARKUP)
case("XML named csv", '<?xml version="1.0"?>\n<rows>\n' + lines(None, lambda i: f"  <row drink='{DRINK[i]}' price='{x(i)}'/>") + "</rows>\n", refusal="(?i)xml|html|markup|<")
case("a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n", refusal="(?i)lfs|row|pointer|text|line")
case("JSON lines", lines(None, lambda i: json.dumps({"drink": str(DRINK[i]), "price": X[i, 0]})), reads("drink category | price number", ROWS), suffix="jsonl", **EITHER)
case("JSON lines named txt", lines(None, lambda i: json.dumps({"drink": str(DRINK[i]), "price": X[i, 0]})), reads("drink category | price number", ROWS), suffix="txt", refusal="(?i)json")
case("a JSON array named csv", json.dumps([{"drink": str(DRINK[i]), "price": X[i, 0]} for i in range(ROWS)], indent=1), reads("drink category | price number", ROWS), refusal="(?i)json")
case("Qiskit's counts as JSON", json.dumps({f"{i:06b}": int(AGE[i]) for i in range(ROWS)}), suffix="json", **EITHER)
case("ARFF", "@relation kitchen\n@attribute drink {tea,milk,coffee}\n@attribute price numeric\n@attribute age numeric\n@data\n" + lines(None, abc), PLAIN, suffix="txt", refusal="(?i)arff|line|column|@")
case("libsvm", lines(None, lambda i: f"{DIGIT[i]} " + " ".join(f"{j + 1}:{X[i, j]}" for j in range(8) if (i + j) % 3)), suffix="txt", refusal=r"(?i)svm|line \d|column|sparse|1:")
case("Matrix Market", "%%MatrixMarket matrix coordinate real general\n60 12 120\n" + "".join(f"{i + 1} {j + 1} {X[i, j]}\n" for i in range(ROWS) for j in (i % 6, 6 + i % 6)), suffix="mtx", **EITHER)
case("Matrix Market named txt", "%%MatrixMarket matrix coordinate real general\n60 12 120\n" + "".join(f"{i + 1} {j + 1} {X[i, j]}\n" for i in range(ROWS) for j in (i % 6, 6 + i % 6)), suffix="txt", refusal="(?i)matrix ?market|sparse|mmread")
case("YAML", lines(None, lambda i: f"- drink: {DRINK[i]}\n  price: {x(i)}"), suffix="yaml", **EITHER)
BOOK = io.BytesIO()
with zipfile.ZipFile(BOOK, "w") as archive:
    for part in ("[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"):
        archive.writestr(zipfile.ZipInfo(part), "<x/>" * 40)
BINARY = {"an Excel book": (BOOK.getvalue(), "(?i)excel|zip|spreadsheet|binary"), "an old Excel book": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(range(256)) * 8, "(?i)excel|binary|spreadsheet"), "a PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n" * 8 + bytes(range(256)), "(?i)pdf|binary"), "a PNG": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "(?i)png|image|picture|binary"), "a SQLite database": (b"SQLite format 3\0" + bytes(range(256)) * 4, "(?i)sqlite|database|binary"), "a pickle": (b"\x80\x04\x95" + bytes(range(256)) * 4, "(?i)pickle|binary"), "Parquet": (b"PAR1" + bytes(range(256)) * 4 + b"PAR1", "(?i)parquet|binary")}
for label, (content, words) in BINARY.items():
    case(f"{label} named csv", content, refusal=words)
ARRAY = io.BytesIO()
np.save(ARRAY, X)
case("a NumPy array named csv", ARRAY.getvalue(), refusal="(?i)npy|numpy|binary")

# Rows of one kind, ratings, counts, pictures with labels.

for label, mark in {"commas": ",", "spaces": " ", "tabs": "\t", "semicolons": ";", "two spaces": "  "}.items():
    case(f"bits with {label}", lines(None, lambda i, mark=mark: joined(BITS[i], mark)), reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt")
    case(f"spins with {label}", lines(None, lambda i, mark=mark: joined(2 * BITS[i] - 1, mark)), reads(12, ROWS, (0, 3, 2 * BITS[0, 3] - 1), kind="spins"), suffix="txt")
case("bits right-aligned, a space first", lines(None, lambda i: " " + joined(BITS[i], "  ")), reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt")
case("bits as 0.0 and 1.0", lines(None, lambda i: joined(BITS[i].astype(float))), reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"))
case("bits as savetxt writes them", lines(None, lambda i: " ".join(f"{b:.18e}" for b in BITS[i])), reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt")
case("spins with plus signs", lines(None, lambda i: " ".join(f"{2 * b - 1:+d}" for b in BITS[i])), reads(12, ROWS, (0, 3, 2 * BITS[0, 3] - 1), kind="spins"), suffix="txt")
case("bits with names", lines(joined(f"q{j}" for j in range(12)), lambda i: joined(BITS[i])), reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"), reads(" | ".join(f"q{j} number/yes-no" for j in range(12)), ROWS))
case("bits with a footer", lines(None, lambda i: joined(BITS[i], " ")) + "# done\n", reads(12, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt")
for label, (yes, no) in {"True and False": ("True", "False"), "plus and minus": ("+", "-"), "up and down": ("up", "down"), "X and Z": ("X", "Z"), "T and F": ("T", "F")}.items():
    case(f"words with spaces: {label}", lines(None, lambda i, yes=yes, no=no: " ".join(yes if b else no for b in BITS[i, :6])), reads(6, ROWS, kind="bits"), reads(6, ROWS, kind="spins"), reads(" | ".join(["* yes-no/category"] * 6), ROWS), suffix="txt")
case("bits with gaps", lines(joined(f"q{j}" for j in range(6)), lambda i: joined("" if i in HOLES and j == 2 else BITS[i, j] for j in range(6))), reads(" | ".join(f"q{j} number/yes-no" for j in range(6)), ROWS, missing={"q2": 7}))
STRINGS = ["".join(map(str, row[:8])) for row in BITS]
case("strings of bits", lines(None, lambda i: STRINGS[i]), reads(8, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt", refusal="bit")
case("strings of bits that begin with 0", lines(None, lambda i: "0" + STRINGS[i][1:]), reads(8, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="csv", refusal="bit")
case("strings of bits in quotes", lines(None, lambda i: f'"{STRINGS[i]}"'), reads(8, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt", refusal="bit")
case("strings of bits with a name", lines("state", lambda i: STRINGS[i]), reads(8, ROWS, (0, 3, BITS[0, 3]), kind="bits"), refusal="bit")
case("strings of bits with CRLF", lines(None, lambda i: STRINGS[i], end="\r\n"), reads(8, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt", refusal="bit")
case("strings of 40 bits", lines(None, lambda i: (STRINGS[i] * 5)), reads(40, ROWS, (0, 3, BITS[0, 3]), kind="bits"), suffix="txt", refusal="bit")
case("strings of bits of two lengths", lines(None, lambda i: STRINGS[i][: 8 - (i == 30)]), suffix="txt", refusal="line 31|length|bits")
case("strings of plus and minus", lines(None, lambda i: STRINGS[i].replace("1", "+").replace("0", "-")), reads(8, ROWS, kind="spins"), reads(8, ROWS, kind="bits"), suffix="txt", refusal="bit|spin|separate")
OUTCOMES = [f"{i:06b}" for i in range(ROWS)]
for label, head in {"outcome,count": "outcome,count", "bitstring,counts": "bitstring,counts", "state,shots": "state,shots"}.items():
    case(f"outcomes with counts: {label}", lines(head, lambda i: f"{OUTCOMES[i]},{AGE[i]}"), reads(6, ROWS, kind="bits", note="(?i)count|weight|shots"), reads(f"{head.split(',')[0]} any | {head.split(',')[1]} number", ROWS, note="weight"), refusal="weight")
case("D-Wave: spins, energy, occurrences", lines(joined(f"x{j}" for j in range(6)) + ",energy,num_occurrences", lambda i: joined(2 * BITS[i, :6] - 1) + f",{x(i)},{AGE[i]}"), reads(" | ".join(f"x{j} number/yes-no" for j in range(6)) + " | energy number | num_occurrences number", ROWS, note="weight"), reads(6, ROWS, kind="spins", note="energy"), refusal="weight")
CELLS = [(u, f, int(RNG.integers(1, 6))) for u in range(30) for f in range(12) if RNG.random() < 0.4]
RATED = reads(" | ".join(["* any"] * 12), 30, note="(?i)pivot|user")
LONG = "(?i)pivot|long form|one row for each|wide"
case("ratings: userId,movieId,rating", "userId,movieId,rating\n" + "".join(f"{u + 1},{f + 100},{r}\n" for u, f, r in CELLS), RATED, reads("userId any | movieId any | rating any", len(CELLS), note=LONG), refusal=LONG)
case("ratings with times, tabs, no names", "".join(f"{u + 1}\t{f + 100}\t{r}\t{880000000 + 97 * u + f}\n" for u, f, r in CELLS), RATED, reads("* any | * any | * any | * any", len(CELLS), note=LONG), refusal=LONG, suffix="data")
case("ratings in words: user,item,value", "user,item,value\n" + "".join(f"u{u},film {f},{r}\n" for u, f, r in CELLS), RATED, reads("user any | item any | value any", len(CELLS), note=LONG), refusal=LONG)
case("sparse triplets: row,col,value", "row,col,value\n" + "".join(f"{u},{f},{r}\n" for u, f, r in CELLS), reads(" | ".join(["* any"] * 12), 30, note="(?i)pivot|row"), reads("row any | col any | value any", len(CELLS), note=LONG), refusal=LONG)
case("no ratings: a long table of measurements", lines("patient,visit,pulse", lambda i: f"{i // 3 + 1},{i % 3 + 1},{60 + AGE[i] % 30}"), reads("patient number/out/category | visit number/category | pulse number", ROWS))
GREY = reads(64, ROWS, (0, 20, int(PIXELS[0, 20])), kind="grey", note="(?i)label|class|target|digit")
TABLED = lambda name, names: Reads(ROWS, tuple((n, "category/number" if n == name else "number/out") for n in names), note="")
for label, name in {"label first": "label", "class first": "class", "target first": "target", "digit first": "digit", "y first": "y"}.items():
    case(f"pictures: {label}", lines(f"{name}," + joined(f"pixel{j}" for j in range(64)), lambda i: joined([DIGIT[i], *PIXELS[i]])), GREY, TABLED(name, [name, *(f"pixel{j}" for j in range(64))]))
case("pictures: label last", lines(joined(f"p{j}" for j in range(64)) + ",label", lambda i: joined([*PIXELS[i], DIGIT[i]])), GREY, TABLED("label", [*(f"p{j}" for j in range(64)), "label"]))
case("pictures: labels are words", lines("label," + joined(f"{r}x{c}" for r in range(8) for c in range(8)), lambda i: joined([CITY[i], *PIXELS[i]])), GREY, TABLED("label", ["label", *(f"{r}x{c}" for r in range(8) for c in range(8))]))
case("pictures: an index column and a label", lines(",label," + joined(f"pixel{j}" for j in range(64)), lambda i: joined([i, DIGIT[i], *PIXELS[i]])), GREY, Reads(ROWS, ((None, "?out"), ("label", "category/number"), *((f"pixel{j}", "number/out") for j in range(64)))))
case("pictures: label, 0 to 1", lines("label," + joined(f"pixel{j}" for j in range(64)), lambda i: joined([DIGIT[i], *(PIXELS[i] / 255).round(4)])), reads(64, ROWS, kind="grey", note="(?i)label"), TABLED("label", ["label", *(f"pixel{j}" for j in range(64))]))
case("pictures: label, black and white", lines("label," + joined(f"pixel{j}" for j in range(64)), lambda i: joined([DIGIT[i], *(PIXELS[i] > 127).astype(int)])), reads(64, ROWS, kind="bits", note="(?i)label"), TABLED("label", ["label", *(f"pixel{j}" for j in range(64))]))
case("pictures: 0 to 255, no labels, integer names", lines(joined(range(64)), lambda i: joined(PIXELS[i])), reads(64, ROWS, (0, 20, int(PIXELS[0, 20])), kind="grey"))
case("pictures: 0 to 255, no labels, no names", lines(None, lambda i: joined(PIXELS[i], " ")), reads(64, ROWS, (0, 20, int(PIXELS[0, 20])), kind="grey"), suffix="txt")

# Alignments.

PROTEIN = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 24)) for _ in range(40)]
PROTEIN = [s[:5] + "-" + s[6:] if i % 3 else s for i, s in enumerate(PROTEIN)]
DNA = ["".join(RNG.choice(list("ACGT"), 24)) for _ in range(40)]
RNA = [s.replace("T", "U") for s in DNA]
FASTA = lambda sequences, prefix="s": "".join(f">{prefix}{i}\n{s}\n" for i, s in enumerate(sequences))


def family(name, text, sequences=PROTEIN, rows=40, sites=24, note="", suffix="fasta", refusal="", first=None):
    """Add an alignment of `rows` sequences, whose first is `first`."""
    case(name, text, reads(sites, rows, (0, None, first or sequences[0].upper()), kind="codes", note=note), suffix=suffix, refusal=refusal)


family("FASTA of proteins", FASTA(PROTEIN))
family("FASTA of DNA", FASTA(DNA), DNA)
family("FASTA of RNA", FASTA(RNA), RNA)
family("FASTA of RNA in lower case", FASTA([s.lower() for s in RNA]), RNA)
family("FASTA of proteins in lower case", FASTA([s.lower() for s in PROTEIN]), note="", refusal="lower")
GAPPED = [s[: i % 20] + "-" + s[i % 20 + 1 :] for i, s in enumerate(DNA)]
family("FASTA of DNA in lower case with gaps", FASTA([s.lower() for s in GAPPED]), GAPPED)
family("FASTA: half the sequences in lower case", FASTA([s.lower() if i % 2 else s for i, s in enumerate(DNA)]), DNA)
family("FASTA wrapped at 10", "".join(f">s{i}\n{s[:10]}\n{s[10:20]}\n{s[20:]}\n" for i, s in enumerate(PROTEIN)))
family("FASTA with CRLF", FASTA(PROTEIN).replace("\n", "\r\n"))
family("FASTA with CR", FASTA(PROTEIN).replace("\n", "\r"))
family("FASTA with blank lines between entries", FASTA(PROTEIN).replace(">", "\n>"))
family("FASTA with spaces within sequences", "".join(f">s{i}\n{s[:10]} {s[10:]}\n" for i, s in enumerate(PROTEIN)))
family("FASTA with spaces after sequences", FASTA(PROTEIN).replace("\n", "  \n"))
family("FASTA with a BOM", "\ufeff" + FASTA(PROTEIN))
family("FASTA with comments of semicolons", "; made by hand\n" + FASTA(PROTEIN), refusal="line 1|;")
family("FASTA with long descriptions", "".join(f">sp|P{i:05}|X_HUMAN Protein {i} OS=Homo sapiens, OX=9606 | a=b\n{s}\n" for i, s in enumerate(PROTEIN)))
family("FASTA with stars at the ends", FASTA([s + "*" for s in PROTEIN]), sites=24, refusal="\\*", first=(PROTEIN[0], PROTEIN[0] + "-"))
family("FASTA with NUL at the end", FASTA(PROTEIN) + "\0")
family("FASTA with NUL after each sequence", FASTA(PROTEIN).replace("\n>", "\n\0>"), suffix="a3m", refusal="(?i)nul|famil")
family("FASTA with gaps _", FASTA([s.replace("-", "_") for s in PROTEIN]))
family("FASTA with gaps ~", FASTA([s.replace("-", "~") for s in PROTEIN]))
family("FASTA with gaps .", FASTA([s.replace("-", ".") for s in PROTEIN]))
family("FASTA named txt", FASTA(PROTEIN), suffix="txt")
family("FASTA named fa.gz", gzip.compress(FASTA(PROTEIN).encode(), mtime=0), suffix="fa.gz")
family("FASTA in UTF-16", FASTA(PROTEIN).encode("utf-16"), refusal="(?i)utf-16|encod")
family("FASTA: a repeated name, other sequences", FASTA(PROTEIN).replace(">s9\n", ">s3\n"), note="s3|name")
family("FASTA: all names the same", "".join(f">seq\n{s}\n" for s in PROTEIN), note="seq|name")
family("FASTA: empty names", "".join(f">\n{s}\n" for s in PROTEIN), refusal="name")
family("FASTA: an entry without a sequence", FASTA(PROTEIN) + ">empty\n", note="empty|without", refusal="empty|without|no letters|(found|got) 0|with 0")
family("FASTA: secondary structure above", ">ss_dssp\n" + "HHHHEEEE----" * 2 + "\n" + FASTA(PROTEIN), note="ss_dssp|structure")
family("FASTA: predicted structure and confidence", ">ss_pred PSIPRED\n" + "CCCHHHEEECCC" * 2 + "\n>ss_conf\n" + "998877665544" * 2 + "\n" + FASTA(PROTEIN), note="ss_|structure", suffix="a3m")
case("FASTA: sequences are not aligned", FASTA([s[: 24 - i % 5] for i, s in enumerate(DNA)]), suffix="fasta", refusal="(?i)align|length|sites")
case("FASTA: one sequence is shorter", FASTA([s[: 24 - (i == 30)] for i, s in enumerate(DNA)]), suffix="fasta", refusal="s30")
case("FASTA: quality lines of FASTQ", "".join(f"@s{i}\n{s}\n+\n{'I' * 24}\n" for i, s in enumerate(DNA)), suffix="fastq", **EITHER)
case("FASTA: FASTQ named fasta", "".join(f"@s{i}\n{s}\n+\n{'I' * 24}\n" for i, s in enumerate(DNA)), suffix="fasta", refusal="(?i)fastq|FASTA|@")
INSERTED = "".join(f">s{i}\n{s[:8]}{'acd'[: i % 4]}{s[8:]}\n" for i, s in enumerate(PROTEIN))
family("A3M with insertions", INSERTED, suffix="a3m")
family("A3M with ColabFold's first line", "#24\t1\n>101\n" + PROTEIN[0] + "\n" + FASTA(PROTEIN[1:]), suffix="a3m")
family("A3M with ColabFold's first line and insertions", "#24\t1\n" + INSERTED, suffix="a3m")
family("A3M with a name as its first line", "#PF00001 a family\n" + INSERTED, suffix="a3m")
case("A3M of a complex: two chains in the first line", "#12,12\t1,1\n>101\t102\n" + PROTEIN[0] + "\n" + FASTA(PROTEIN[1:]), reads(24, 40, kind="codes"), suffix="a3m", refusal="(?i)chain|12,12")
family("A3M: an entry repeated, name and sequence", FASTA(PROTEIN) + f">s3\n{PROTEIN[3]}\n", note="s3|repeat|twice|same", suffix="a3m")
family("A2M with dots and lower case", "".join(f">s{i}\n{s[:8]}{'ac' if i % 2 else '..'}{s[8:]}\n" for i, s in enumerate(PROTEIN)), suffix="a2m")
family("FASTA named aln with insertions of all", "".join(f">s{i}\n{s[:8]}{'ac' if i % 2 else '..'}{s[8:]}\n" for i, s in enumerate(PROTEIN)), suffix="aln")
STOCK = "# STOCKHOLM 1.0\n#=GF ID  test\n"
family("Stockholm", STOCK + "".join(f"s{i}/1-24   {s}\n" for i, s in enumerate(PROTEIN)) + "//\n", suffix="sto")
family("Stockholm with annotations", STOCK + "#=GS s1 AC P1\n" + "".join(f"s{i} {s}\n#=GR s{i} SS {'H' * 24}\n" for i, s in enumerate(PROTEIN)) + f"#=GC SS_cons {'H' * 24}\n//\n", suffix="sto")
family("Stockholm in wrapped blocks", STOCK + "".join(f"s{i} {s[:14]}\n" for i, s in enumerate(PROTEIN)) + "\n" + "".join(f"s{i} {s[14:]}\n" for i, s in enumerate(PROTEIN)) + "//\n", suffix="sto")
family("Stockholm in wrapped blocks without a blank line", STOCK + "".join(f"s{i} {s[:14]}\n" for i, s in enumerate(PROTEIN)) + "".join(f"s{i} {s[14:]}\n" for i, s in enumerate(PROTEIN)) + "//\n", suffix="sto")
family("Stockholm with a name twice", STOCK + "".join(f"s{3 if i == 9 else i} {s}\n" for i, s in enumerate(PROTEIN)) + "//\n", note="s3|name", suffix="sto")
family("Stockholm with each name twice", STOCK + "".join(f"chr{i // 2} {s}\n" for i, s in enumerate(PROTEIN)) + "//\n", note="chr|name", suffix="stk", refusal="chr0|name")
family("Stockholm without the end", STOCK + "".join(f"s{i} {s}\n" for i, s in enumerate(PROTEIN)), suffix="sto", refusal="//|end")
family("Stockholm with CRLF", (STOCK + "".join(f"s{i} {s}\n" for i, s in enumerate(PROTEIN)) + "//\n").replace("\n", "\r\n"), suffix="sto")
TWO_FAMILIES = STOCK + "".join(f"s{i} {s}\n" for i, s in enumerate(PROTEIN[:20])) + "//\n" + STOCK.replace("test", "other") + "".join(f"t{i} {s[:15]}\n" for i, s in enumerate(PROTEIN[20:])) + "//\n"
family("Stockholm: two families", TWO_FAMILIES, rows=20, note="(?i)2 |two|other|famil|alignments", suffix="sto", refusal="(?i)2 |two|other|famil|alignments")
family("Stockholm: two families of one width", STOCK + "".join(f"s{i} {s}\n" for i, s in enumerate(PROTEIN[:20])) + "//\n" + STOCK + "".join(f"t{i} {s}\n" for i, s in enumerate(PROTEIN[20:])) + "//\n", rows=20, note="(?i)2 |two|other|famil|alignments", suffix="sto", refusal="(?i)2 |two|other|famil|alignments")
CLUSTAL = "CLUSTAL W (1.83) multiple sequence alignment\n\n\n"
family("Clustal", CLUSTAL + "".join(f"s{i:<12} {s}\n" for i, s in enumerate(PROTEIN)) + " " * 14 + "*  : .\n", suffix="aln")
family("Clustal in blocks with numbers", CLUSTAL + "".join(f"s{i:<12} {s[:14]} {14 - s[:14].count('-')}\n" for i, s in enumerate(PROTEIN)) + " " * 14 + "*  : .\n\n" + "".join(f"s{i:<12} {s[14:]} {24 - s.count('-')}\n" for i, s in enumerate(PROTEIN)) + " " * 14 + "  .\n", suffix="aln")
family("Clustal named clustal, by MUSCLE", "MUSCLE (3.8) multiple sequence alignment\n\n" + "".join(f"s{i:<12} {s}\n" for i, s in enumerate(PROTEIN)), suffix="clustal", refusal=r"(?i)expected .*; (found|got) .*;")
family("PHYLIP, sequential, strict names", " 40 24\n" + "".join(f"s{i:<9}{s}\n" for i, s in enumerate(DNA)), DNA, suffix="phy")
family("PHYLIP, relaxed names", "40 24\n" + "".join(f"a_long_name_{i}  {s}\n" for i, s in enumerate(DNA)), DNA, suffix="phy")
family("PHYLIP, interleaved", " 40 24\n" + "".join(f"s{i:<9}{s[:10]}\n" for i, s in enumerate(DNA)) + "\n" + "".join(f"{s[10:]}\n" for s in DNA), DNA, suffix="phy")
family("PHYLIP, sequential, wrapped", " 40 24\n" + "".join(f"s{i:<9}{s[:12]}\n          {s[12:]}\n" for i, s in enumerate(DNA)), DNA, suffix="phy", refusal="(?i)phylip|line|sites")
family("PSICOV: a sequence a line, named aln", "".join(f"{s}\n" for s in PROTEIN), suffix="aln")
family("PSICOV: a sequence a line, named txt", "".join(f"{s}\n" for s in PROTEIN), suffix="txt")
family("PSICOV: a sequence a line, named psicov", "".join(f"{s}\n" for s in PROTEIN), suffix="psicov", refusal=r"(?i)expected .*; (found|got) .*;")
family("PSICOV: DNA, a sequence a line, CRLF", "".join(f"{s}\r\n" for s in DNA), DNA, suffix="aln")
case("PSICOV: one line is shorter", "".join(f"{s[: 24 - (i == 30)]}\n" for i, s in enumerate(PROTEIN)), suffix="aln", refusal="31")
family("NEXUS", "#NEXUS\nbegin data;\ndimensions ntax=40 nchar=24;\nformat datatype=dna gap=-;\nmatrix\n" + "".join(f"s{i} {s}\n" for i, s in enumerate(DNA)) + ";\nend;\n", DNA, suffix="nex", refusal=r"(?i)expected .*; (found|got) .*;")
case("sequences in a table with names", lines("name,sequence,activity", lambda i: f"m{i},{DNA[i % 40]},{x(i)}"), reads("name out | sequence out/category | activity number", ROWS))
