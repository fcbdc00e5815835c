"""What columns mean: decided from cells, coded, undone, with probabilities that sum to one."""

import json
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

import harmonium as hm
from harmonium.tables import Columns, Frame, RawColumn, columns_from, columns_of
from harmonium.tables.base import Guess
from harmonium.tables.columns import column_from
from harmonium.tables.continuous import Continuous
from harmonium.tables.words import Words

RNG = np.random.default_rng(0)
N = 400


def column(values, name="x", form=""):
    array = np.asarray(values)
    return RawColumn(name, array if array.dtype.kind in "OM" else array.astype(float), form)


def words(values, name="x"):
    return RawColumn(name, np.array(values, object))


def kind_of(raw):
    return columns_of(Frame((raw, words(["a", "b"] * (len(raw.values) // 2), "other")))).columns[0]


TIED = np.where(RNG.random(N) < 0.5, 0, RNG.integers(1, 3000, N)).astype(float)
SPREAD = np.exp(RNG.normal(size=N)) * 20
DAYS = np.datetime64("2020-01-01") + RNG.integers(0, 900, N)
EXAMPLES = {
    "yes or no": (words(RNG.choice(["yes", "no"], N)), "category", 2),
    "categories": (words(RNG.choice(["a", "b", "c"], N)), "category", 3),
    "many words": (words([f"w{int(i)}" for i in RNG.exponential(25, N)]), "category", 50),
    "0 and 1": (column(RNG.integers(0, 2, N)), "discrete", 2),
    "few numbers": (column(RNG.integers(1, 7, N)), "discrete", 6),
    "halves": (column(RNG.integers(0, 5, N) / 2), "discrete", 5),
    "tied": (column(TIED), "discrete", None),
    "continuous": (column(RNG.normal(size=N)), "continuous", None),
    "skewed": (column(SPREAD), "continuous", None),
    "whole": (column(RNG.integers(18, 90, N)), "continuous", None),
    "a coarse scale": (column((RNG.normal(size=N) * 4).round() / 2 + 10), "continuous", None),
    "dates": (column(DAYS.astype("datetime64[us]"), form="%Y-%m-%d"), "date", None),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_kind_is_what_a_person_would_say(name):
    raw, kind, states = EXAMPLES[name]
    column = kind_of(raw)
    assert column.kind == kind
    if states is not None:
        assert column.states == states


@pytest.mark.parametrize(
    ("raw", "kind", "why"),
    [
        (column(np.arange(1.0, N + 1)), "key", "an identifier: it counts the rows"),
        (column(RNG.permutation(9 * N)[:N], "customerId"), "key", "an identifier: all different"),
        (words([f"person {i}" for i in range(N)]), "key", "an identifier: 400 different texts"),
        (words([f"{'x' * i} person" for i in range(N)]), "left out", "text: 400 different values"),
        (column(np.full(N, 7.0)), "left out", "always 7"),
        (column(np.full(N, np.nan)), "left out", "no cell has a value"),
    ],
)
def test_a_column_that_no_unit_models_has_no_part_but_a_reason(raw, kind, why):
    column = kind_of(raw)
    assert (column.kind, column.parts) == (kind, ())
    assert column.summary.startswith(why)


def test_years_and_numbers_that_differ_by_chance_are_no_identifiers():
    assert kind_of(column(np.arange(1700.0, 1700 + N))).kind == "continuous"
    assert kind_of(column(np.arange(1.0, N + 1), "year of reign")).kind == "continuous"
    assert kind_of(column(RNG.permutation(9 * N)[:N], "income")).kind == "continuous"
    assert kind_of(column(RNG.normal(size=N), "humid")).kind == "continuous"


@pytest.mark.parametrize(
    ("name", "place", "start", "is_key"),
    [
        ("x", 0, 1, True),
        ("x", 0, 0, True),
        ("x", 0, 18, False),
        ("x", 1, 1, False),
        ("age", 1, 18, False),
        ("index", 1, 1, True),
        ("Unnamed: 0", 2, 500, True),
        ("row_number", 1, 7, True),
        ("S.No.", 1, 1, True),
        ("customerId", 1, 300, True),
        ("rowing time", 1, 1, False),
    ],
)
def test_a_counter_begins_at_0_or_1_and_is_first_or_is_named_so(name, place, start, is_key):
    others = [words(["a", "b"] * (N // 2), f"other {i}") for i in range(place)]
    counter = column(np.arange(start, start + N), name)
    columns = columns_of(Frame((*others, counter, words(["u", "v"] * (N // 2), "last"))))
    assert (columns.columns[place].kind == "key") == is_key


SALARIES = [24_000, 31_000, 35_000, 43_000, 52_000, 61_000, 75_000, 97_000]
SCORES = {  # numbers cut from a scale; whether they are numbers of a scale in the table
    "salaries": (SALARIES, True),
    "tens of thousands": (range(10_000, 90_000, 10_000), True),
    "powers of two": ([1, 2, 4, 8, 16, 32, 64], True),
    "ratings": (range(1, 6), False),
    "ages": (range(18, 26), False),
    "halves": (np.arange(1, 6) / 2, False),
    "two values": ([0, 1_000], False),
}


def table_with(levels, seed, n=173):
    """Return a column of some levels of a normal number, and two columns that depend on that."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    levels = np.array(levels, float)
    place = np.searchsorted(np.quantile(z, np.arange(1, len(levels)) / len(levels)), z)
    others = [column(0.9 * z + 0.4 * rng.normal(size=n), name) for name in "ab"]
    return Frame((column(levels[place]), *others, words(rng.choice(["u", "v"], n), "w")))


@pytest.mark.parametrize("name", SCORES)
def test_few_numbers_are_those_of_a_scale_if_they_lie_apart_and_others_rise_with_them(name):
    levels, is_scale = SCORES[name]
    kinds = [columns_of(table_with(levels, seed)).columns[0].kind for seed in range(5)]
    assert kinds.count("continuous" if is_scale else "discrete") >= 4


def test_codes_stay_states_however_far_apart_they_are():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 6, 173)
    codes = column(np.array([20, 30, 60, 90, 120, 190])[group])
    means = np.array([0.0, 2, -2, 1, -1, 3])
    other = column(means[group] + 0.5 * rng.normal(size=173), "y")
    assert columns_of(Frame((codes, other))).columns[0].kind == "discrete"
    alone = Frame((codes, column(rng.normal(size=173), "noise")))
    assert columns_of(alone).columns[0].kind == "discrete"
    columns = columns_of(table_with(SALARIES, 0), {"x": "discrete"})
    assert columns.columns[0].kind == "discrete"


def test_rain_that_is_0_on_most_days_keeps_a_state_for_0():
    rng = np.random.default_rng(0)
    wet = rng.random(300) < 0.3
    rain = column(np.where(wet, np.round(rng.gamma(1.0, 8.0, 300), 1), 0.0), "rain")
    cloud = column(2.0 * wet + rng.normal(size=300), "cloud")
    discrete = columns_of(Frame((rain, cloud))).columns[0]
    assert discrete.kind == "discrete"
    assert "0" in discrete.state_names()
    assert (discrete.codes(rain, "t")[~wet] == discrete.codes(column([0.0], "rain"), "t")[0]).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_cells_come_back_in_the_tables_own_types(name):
    raw, *_ = EXAMPLES[name]
    column = kind_of(raw)
    codes = column.codes(raw, "t")
    back = column.cells(codes, np.random.default_rng(1))
    again = column.codes(RawColumn(raw.name, back, raw.form), "t")
    np.testing.assert_allclose(again, codes, atol=1e-5)  # a code may stand for several cells
    if column.kind == "continuous" or (column.states or 99) <= 6:
        same = [x == y for x, y in zip(back.tolist(), raw.values.tolist(), strict=True)]
        assert np.mean(same) > 0.99 or np.allclose(back.astype(float), raw.values, rtol=1e-6)
    assert set(map(str, back)) <= set(map(str, raw.values)) or column.kind in ("continuous", "date")


@pytest.mark.parametrize("name", ["0 and 1", "few numbers", "halves", "tied"])
def test_probabilities_of_the_numbers_of_a_code_sum_to_one(name):
    raw, *_ = EXAMPLES[name]
    discrete = kind_of(raw)
    far = 10 * (raw.values.max() - raw.values.min())
    every = np.arange(raw.values.min() - far, raw.values.max() + far, discrete.step)
    p = np.exp(discrete.log_density(column(every))) * discrete.step
    code = discrete.codes(column(every), "t").astype(int)
    np.testing.assert_allclose(np.bincount(code, p), 1.0, atol=1e-3)


def test_numbers_far_beyond_those_seen_are_possible():
    discrete = kind_of(EXAMPLES["few numbers"][0])
    log_p = discrete.log_density(column([1e4, -1e6, np.nan]))
    assert np.isfinite(log_p).all()
    assert log_p[1] < log_p[0] < -1e3


def test_rare_words_share_a_category_and_its_probability():
    raw, *_ = EXAMPLES["many words"]
    column = kind_of(raw)
    rare = words(list(column.others))
    assert (column.codes(rare, "t") == column.states - 1).all()
    assert np.exp(column.log_density(rare)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["continuous", "skewed", "whole"])
def test_the_density_of_a_number_is_the_slope_of_its_code(name):
    raw, *_ = EXAMPLES[name]
    continuous = kind_of(raw)
    x = raw.values
    step = 1e-4
    rise = continuous.codes(column(x + step), "t") - continuous.codes(column(x - step), "t")
    np.testing.assert_allclose(continuous.log_density(raw), np.log(rise / (2 * step)), atol=1e-3)


def test_skewed_numbers_are_made_normal():
    raw, *_ = EXAMPLES["skewed"]
    z = kind_of(raw).codes(raw, "t")
    assert (
        abs((z**3).mean())
        < 0.3
        < ((raw.values - raw.values.mean()) ** 3).mean() / raw.values.std() ** 3
    )


def frame_of_all():
    columns = [RawColumn(name, raw.values.copy(), raw.form) for name, (raw, *_) in EXAMPLES.items()]
    for column in columns:
        column.values[RNG.random(N) < 0.1] = {"O": None, "M": np.datetime64("NaT", "us")}.get(
            column.values.dtype.kind, np.nan
        )
    return Frame((*columns, words([f"text {i}" for i in range(N)], "text")))


@pytest.mark.parametrize("seed", range(5))
def test_states_are_in_order_if_others_rise_with_them(seed):
    rng = np.random.default_rng(seed)
    mark = rng.integers(1, 8, N)
    answer = np.clip(mark + rng.integers(-2, 3, N), 1, 7)
    region = rng.integers(1, 8, N)
    rent = rng.permutation(8)[region] + rng.normal(size=N)  # rises with none of its numbers
    spent = np.where(rng.random(N) < 0.4, 0, 10 * mark + rng.integers(0, 40, N))
    given = {"mark": mark, "answer": answer, "region": region, "rent": rent, "spent": spent}
    raw = [column(values, name) for name, values in given.items()]
    columns = columns_of(Frame((*raw, words(rng.choice(["a", "b", "c"], N), "w"))))
    by_name = {part.name: part for part in columns.parts}
    assert [name for name, part in by_name.items() if part.order] == ["mark", "answer", "spent"]
    assert by_name["mark"].order == tuple(range(7))
    spent = by_name["spent"]
    assert spent.order[0] == spent.states - 1  # 0 is a state of its own, after the ranges of others
    numbers = spent.best(np.eye(spent.states)[list(spent.order)])
    assert (np.diff(numbers) > 0).all()
    several = [part for part in columns.modelled if (part.states or 0) > 2]
    states = next(part for part in columns.layer.parts if isinstance(part, hm.Categorical))
    assert states.orders == tuple(part.order for part in several)
    assert Columns.from_record(columns.record(), "t").layer == columns.layer
    record = by_name["mark"].record()
    del record["ordered"]  # as of a run that is older than orders
    assert column_from(record, "t").order == ()


def test_rows_are_those_of_the_layer_and_missing_cells_stay_missing():
    frame = frame_of_all()
    columns = columns_of(frame)
    rows = columns.encode(frame, "t")
    assert rows.shape == (N, columns.layer.n_units)
    columns.layer.validate(rows, "rows", missing=True)
    back = columns.decode(rows)
    assert back.names == frame.names
    for column, decoded in zip(frame.columns[:-1], back.columns[:-1], strict=True):
        np.testing.assert_array_equal(column.is_missing, decoded.is_missing)


def test_columns_are_stored_and_read_as_json():
    frame = frame_of_all()
    columns = columns_of(frame)
    record = json.loads(json.dumps(columns.record()))
    assert Columns.from_record(record, "t").columns == columns.columns
    record = {"columns": [{"name": "few numbers", "kind": "continuous"}]}
    kinds = {column.name: column.kind for column in columns_from(record, frame, "t").columns}
    expected = {column.name: column.kind for column in columns.columns}
    assert kinds == expected | {"few numbers": "continuous"}


def test_numbers_declared_as_categories_come_back_as_numbers():
    codes = RNG.choice([1234567.0, 2.5, -1.0], N)
    raw = column(codes)
    category = columns_of(Frame((raw,)), {"x": "category"}).columns[0]
    assert category.words == ("-1", "2.5", "1234567")
    np.testing.assert_array_equal(category.cells(category.codes(raw, "t"), RNG), codes)


def test_tenths_come_back_without_rounding_errors():
    tenths = RNG.integers(1, 8, N) / 10
    discrete = kind_of(column(tenths))
    assert discrete.cells(discrete.codes(column(tenths), "t"), RNG).tolist() == tenths.tolist()


def test_large_tied_numbers_and_very_many_words():
    large = np.where(RNG.random(N) < 0.5, 3e17, RNG.normal(size=N) * 1e17)
    assert kind_of(column(large)).kind == "continuous"
    many = words([f"w{i // 3}" for i in range(31_000)])
    assert kind_of(many).summary == "text: 10,334 different values, all of them such as 'w0'"


def test_order_is_repaired_and_other_columns_are_ignored():
    frame = frame_of_all()
    columns = columns_of(frame)
    turned = Frame((words(["?"] * N, "another"), *frame.columns[::-1]))
    np.testing.assert_array_equal(columns.encode(turned, "t"), columns.encode(frame, "t"))
    lacking = Frame(frame.columns[1:])
    message = "t: expected 12 columns, matched by name; got no column 'yes"
    with pytest.raises(hm.InputError, match=message):
        columns.encode(lacking, "t")


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("categories", "d", "expected one of the 3 categories; got 'd' in row 1"),
        ("continuous", np.inf, "expected finite numbers; got infinity in row 1"),
    ],
)
def test_a_cell_that_a_column_does_not_know_is_named(name, cell, message):
    raw, *_ = EXAMPLES[name]
    column = kind_of(raw)
    values = raw.values.copy()
    values[0] = cell
    with pytest.raises(hm.InputError, match=f"t: column 'x': {message}"):
        column.codes(RawColumn("x", values), "t")


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"nobody": "category"}, "'nobody'"),
        ({"categories": "continuous"}, "column 'categories': expected numbers; got words such"),
        ({"continuous": "date"}, "column 'continuous': expected dates"),
        (
            {"continuous": "gausian"},
            "a kind among category, discrete, continuous, date, calendar, key, left out",
        ),
    ],
)
def test_kinds_that_do_not_fit_are_refused(kinds, message):
    with pytest.raises(hm.InputError, match=message):
        columns_of(frame_of_all(), kinds, "t")


def test_the_best_guess_is_the_mode_of_words_and_the_mean_of_numbers():
    few = kind_of(EXAMPLES["few numbers"][0])
    many = kind_of(EXAMPLES["tied"][0])
    assert few.best(np.eye(6)[[2, 5]]).tolist() == [3.0, 6.0]
    assert few.best(np.array([[0.4, 0.0, 0.0, 0.0, 0.0, 0.6]])).tolist() == [4.0]
    words = kind_of(EXAMPLES["categories"][0])
    assert words.best(np.array([[0.4, 0.25, 0.35]])).tolist() == ["a"]
    spread = np.full((1, many.states), 1 / many.states)
    assert many.best(spread)[0] == pytest.approx(
        np.mean([np.mean(many.cells(np.full(500, float(c)), RNG)) for c in range(many.states)]),
        rel=0.1,
    )


def test_cells_that_are_told_are_a_row():
    frame = frame_of_all()
    columns = columns_of(frame)
    conditions = columns.conditions("categories=b, few numbers=3, dates=2020-02-01", "--given")
    row = conditions.cells
    assert not conditions.ranges
    assert row.columns[2].values[0] == np.datetime64(datetime(2020, 2, 1))
    rows = columns.encode(row, "t", may_lack=True)
    assert rows.shape == (1, columns.layer.n_units)
    assert np.isnan(rows).sum() == columns.layer.n_units - 3
    assert columns.conditions("categories=B", "--given").cells.columns[0].values[0] == "b"
    for text, message in (
        ("colour=b", "NAME=VALUE with a name among"),
        ("few numbers=many", "'many' for 'few numbers'"),
        ("few numbers=1..many", "'1..many' for 'few numbers'"),
        ("categories=a..b", "'a..b' for 'categories'"),
        ("categries=b", "perhaps you mean categories"),
        ("categories=b few numbers=3", "separate conditions by commas"),
        ("few numbers=..", "'..' for 'few numbers'"),
        ("", "conditions such as sex=female"),
    ):
        with pytest.raises(hm.InputError, match=message):
            columns.conditions(text, "--given")


def test_ranges_that_are_told_hold_for_rows_inside_them():
    frame = frame_of_all()
    columns = columns_of(frame)
    conditions = columns.conditions("few numbers=2..4, dates=2020-02-01.., categories=b", "--given")
    assert [column.name for column in conditions.cells.columns] == ["categories"]
    cells = {column.name: column.values for column in frame.columns}
    expected = (cells["few numbers"] >= 2) & (cells["few numbers"] <= 4)
    expected &= cells["dates"] >= np.datetime64("2020-02-01")
    np.testing.assert_array_equal(conditions.hold_for(frame), expected)
    assert 0 < expected.sum() < len(frame)


def test_an_unseen_word_is_an_error_or_missing_or_one_of_the_rare_ones_as_told():
    rng = np.random.default_rng(0)
    common = [f"w{i}" for i in rng.integers(0, 40, 2_000)]
    words = np.array([*common, *(f"rare{i}" for i in range(30))], object)
    column = Words.of(RawColumn("x", words), "x")
    new = RawColumn("x", np.array(["w1", "never seen", None], object))
    with pytest.raises(hm.InputError, match="never seen"):
        column.codes(new, "t")
    missing, other = (replace(column, unseen=how) for how in ("missing", "other"))
    assert np.isnan(missing.codes(new, "t")).tolist() == [False, True, True]
    assert other.codes(new, "t")[1] == len(column.words)
    rare = RawColumn("x", np.array(sorted(column.others), object))
    total = np.exp(other.log_density(rare)).sum() + np.exp(other.log_density(new)[1])
    assert total == pytest.approx(1.0)
    with pytest.raises(hm.InputError, match="unseen"):
        column_from(column.record() | {"unseen": "perhaps"}, "columns.json")


def test_words_and_numbers_of_one_column_are_filled_as_words():
    rooms = words(["1", "2", "3+"] * 20, "rooms")
    columns = columns_of(Frame((rooms, column(RNG.normal(size=60), "size"))))
    new = Frame((column([1.0, np.nan, 2.0], "rooms"), column([0.1, 0.2, 0.3], "size")))
    codes = np.nan_to_num(columns.encode(new, "new"), nan=2.0)
    assert list(columns.completed(new, codes).columns[0].values) == ["1", "3+", "2"]


def test_days_are_days_in_a_table_with_times_too():
    raw, *_ = EXAMPLES["dates"]
    column = kind_of(raw)
    timed = RawColumn(raw.name, raw.values + np.timedelta64(9, "h"), "%Y-%m-%d %H:%M:%S")
    np.testing.assert_array_equal(column.codes(timed, "t"), column.codes(raw, "t"))
    np.testing.assert_array_equal(column.log_density(timed), column.log_density(raw))


def test_a_cell_that_does_not_fit_is_named_with_its_row():
    odd = words(["1", "2", "x", "4"])
    with pytest.raises(hm.InputError, match="column 'x': expected numbers; got 'x' in row 3"):
        kind_of(EXAMPLES["continuous"][0]).codes(odd, "t")
    days = words(["2024-01-05", "2024-13-45"])
    message = "expected dates such as 2024-01-31; got '2024-13-45' in row 2"
    with pytest.raises(hm.InputError, match=message):
        kind_of(EXAMPLES["dates"][0]).codes(days, "t")


# ------------------------------------------------------------------ power transforms

SHAPES = {  # whether a power makes the numbers normal
    "normal": (lambda rng, n: rng.normal(size=n), False),
    "two clusters": (lambda rng, n: rng.choice([-1, 1], n) + 0.1 * rng.normal(size=n), False),
    "a few far away": (
        lambda rng, n: np.where(rng.random(n) < 0.02, 5.0, 0.0) + rng.normal(size=n) * 0.7,
        False,
    ),
    "log-normal": (lambda rng, n: rng.lognormal(size=n), True),
    "exponential": (lambda rng, n: rng.exponential(size=n), True),
    "incomes": (lambda rng, n: rng.lognormal(10.0, 0.7, n), True),
    "mice and dogs": (
        lambda rng, n: np.exp(np.log(rng.choice([4.0, 600.0], n)) + 0.1 * rng.normal(size=n)),
        True,
    ),
}


@pytest.mark.parametrize("n", [200, 3_000])
@pytest.mark.parametrize("name", SHAPES)
def test_a_power_is_for_skewed_numbers_and_not_for_clusters(name, n):
    draw, is_skewed = SHAPES[name]
    powers = [
        Continuous.of(column(draw(np.random.default_rng(seed), n)), "x").power for seed in range(10)
    ]
    assert sum((power != 1.0) == is_skewed for power in powers) >= 9


# ------------------------------------------------------------------ single guesses


def test_the_mean_of_a_skewed_number_is_that_of_its_draws_and_the_median_is_not():
    part = Continuous.of(column(np.random.default_rng(0).lognormal(size=3_000)), "x")
    assert part.power < 0.2
    means = np.array([[-0.5], [0.0], [0.5]])
    spread = np.array([0.2, 0.5, 0.8])
    codes = means + spread[:, None] * np.random.default_rng(1).normal(size=(3, 20_000))
    numbers = np.stack([part.cells(row, RNG) for row in codes])
    error = numbers.std(1) / np.sqrt(20_000)
    assert (abs(part.best(means, Guess.MEAN, spread) - numbers.mean(1)) < 4 * error).all()
    np.testing.assert_allclose(
        part.best(means, Guess.MEDIAN, spread), np.median(numbers, axis=1), rtol=0.02
    )


def test_numbers_of_states_are_guessed_by_their_mean_median_or_frequency():
    part = columns_of(Frame((column(np.repeat([1, 2, 5], 100)), words(["a", "b"] * 150, "w"))))
    part = part.columns[0]
    assert part.kind == "discrete"
    p = np.array([[0.4, 0.2, 0.4], [0.6, 0.1, 0.3], [0.0, 0.45, 0.55]])
    assert part.best(p, Guess.MEAN).tolist() == [2, 2, 5]  # 2.8, 2.3 and 3.65 among those seen
    np.testing.assert_allclose(part.best(p, Guess.EXACT), [2.8, 2.3, 3.65])
    assert part.best(p, Guess.MEDIAN).tolist() == [2, 1, 5]
    assert part.best(p, Guess.MODE).tolist() == [1, 1, 5]
