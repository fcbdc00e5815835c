"""Names and values in quotes, in questions and in what is given."""

import numpy as np
import pytest

from harmonium.errors import InputError
from harmonium.tables import Frame, RawColumn, columns_of
from harmonium.tables.conditions import split_outside, unquoted

OPINION = "In your opinion, which is a=b | c?"


@pytest.fixture(scope="module")
def columns():
    """A survey whose names and answers have all signs of a question."""

    def words(*cells):
        return np.array(list(cells) * 10, object)

    age = np.random.default_rng(0).integers(18, 80, 60).astype(float)
    return columns_of(
        Frame(
            (
                RawColumn(OPINION, words("yes", "no, never", "a..b")[:20].repeat(3)),
                RawColumn("income", words("$50,000 - $99,999", "..", 'so "rich"').repeat(2)),
                RawColumn('5" pipe', words("it's", "'q'", "x=1|y").repeat(2)),
                RawColumn("age", age),
            )
        )
    )


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (f'"{OPINION}"=yes', {OPINION: "yes"}),
        (f"'{OPINION}'=yes", {OPINION: "yes"}),
        (f'"{OPINION}" = "no, never" , age=30', {OPINION: "no, never", "age": 30.0}),
        ('income="$50,000 - $99,999"', {"income": "$50,000 - $99,999"}),
        ("income=$50,000 - $99,999", {"income": "$50,000 - $99,999"}),
        ("income='$50,000 - $99,999',age=30", {"income": "$50,000 - $99,999", "age": 30.0}),
        (f'"{OPINION}"="a..b"', {OPINION: "a..b"}),
        (f'"{OPINION}"=a..b', {OPINION: "a..b"}),
        ('income=".."', {"income": ".."}),
        ('income="so ""rich"""', {"income": 'so "rich"'}),
        ("income='so \"rich\"'", {"income": 'so "rich"'}),
        ("5\" pipe=it's", {'5" pipe': "it's"}),
        ('"5"" pipe"="x=1|y"', {'5" pipe': "x=1|y"}),
        ('5" pipe=x=1|y', {'5" pipe': "x=1|y"}),
        ('5" pipe="\'q\'"', {'5" pipe': "'q'"}),
        ('age="30"', {"age": 30.0}),
    ],
)
def test_names_and_values_may_be_in_quotes(columns, text, cells):
    conditions = columns.conditions(text, "QUESTION")
    assert {column.name: column.values[0] for column in conditions.cells.columns} == cells
    assert not conditions.ranges


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("age=30..40", (30.0, 40.0)),
        ('age="30".."40"', (30.0, 40.0)),
        ('"age"=..40', (None, 40.0)),
        (f'"{OPINION}"=yes,age=30..', (30.0, None)),
    ],
)
def test_ranges_stand_outside_of_quotes(columns, text, ends):
    [part] = columns.conditions(text, "QUESTION").ranges
    assert (part.name, part.low, part.high) == ("age", *ends)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("In your opinion, which=yes", "write it in quotes: '\"In your opinion, which is"),
        ('age="30..40"', "got '\"30..40\"' for 'age'"),
        (f'"{OPINION}"=maybe', "expected one of: "),
        (f'"{OPINION}"', "expected NAME=VALUE"),
        (f'"{OPINION}=yes', "expected NAME=VALUE"),
        ("age=", "got '' for 'age'"),
    ],
)
def test_what_is_cut_or_not_closed_is_refused(columns, text, message):
    with pytest.raises(InputError) as caught:
        columns.conditions(text, "QUESTION")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "mark", "pieces"),
    [
        ('"a | b", c | d="|"', "|", ['"a | b", c ', ' d="|"']),
        ("it's, 'a, b', c", ",", ["it's", " 'a, b'", " c"]),
        ('a "b, c" d, e', ",", ['a "b', ' c" d', " e"]),
        ('"a, b', ",", ['"a', " b"]),
        ("", ",", [""]),
    ],
)
def test_quotes_open_at_the_beginning_of_a_name_or_value(text, mark, pieces):
    assert split_outside(text, mark) == pieces


@pytest.mark.parametrize(
    ("text", "bare"),
    [(' "a b" ', "a b"), ('"a', '"a'), ('"a" b', '"a" b'), ("''", ""), ('"', '"'), ('""""', '"')],
)
def test_a_text_loses_its_own_quotes_alone(text, bare):
    assert unquoted(text) == bare
