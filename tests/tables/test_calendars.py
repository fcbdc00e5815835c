"""Dates that are divided into parts: where that says more, exactly undone, with probabilities."""

import json

import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.tables import Columns, Frame, RawColumn, columns_of
from harmonium.tables.calendars import WEEKDAYS

N = 600
DAY = "%Y-%m-%d"
TIME = "%Y-%m-%d %H:%M:%S"


def dates(days, form=DAY, name="paid"):
    values = np.datetime64("2021-01-04") + np.asarray(days).astype("timedelta64[D]")
    return RawColumn(name, values.astype("datetime64[us]"), form)


def numbers(values, name="amount"):
    return RawColumn(name, np.asarray(values, float))


def season(raw):
    return (raw.values.astype("datetime64[M]").astype(int) % 12).astype(float)


def weekday(raw):
    return (raw.values.astype("datetime64[D]").astype(int) + 3) % 7


def table(habit, seed):
    """Return a column of dates and one of numbers, which depend in one way."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=N)
    long = dates(rng.integers(0, 1400, N))
    short = dates(rng.integers(0, 300, N))
    if habit == "none":
        return long, numbers(noise)
    if habit == "trend":
        return long, numbers(trend(long) + noise)
    if habit == "season":
        return long, numbers(3 * np.cos(2 * np.pi * season(long) / 12) + noise)
    if habit == "weekday":
        return short, numbers(2.0 * (weekday(short) >= 5) + noise)
    if habit == "weekday and season":
        return long, numbers(season(long) + 4.0 * (weekday(long) >= 5) + noise)
    hours = (9 + 8 * rng.random(N)) * 3600
    values = short.values + hours.astype("timedelta64[s]")
    return RawColumn("paid", values, TIME), numbers(noise)


def trend(raw):
    return (raw.values - raw.values.min()).astype("timedelta64[D]").astype(float) / 200.0


PARTS = {
    "none": ["paid"],
    "trend": ["paid"],
    "season": ["paid year", "paid month"],
    "weekday": ["paid week", "paid weekday"],
    "weekday and season": ["paid year", "paid month", "paid weekday"],
    "hour": ["paid week", "paid weekday", "paid hour"],
}


@pytest.mark.parametrize("habit", PARTS)
def test_dates_are_divided_where_that_says_more(habit):
    for seed in range(10):
        columns = columns_of(Frame(table(habit, seed)))
        assert [part.name for part in columns.parts if part.name != "amount"] == PARTS[habit]


def every(calendar, first, last):
    """Return all days, or all minutes of some days, as a column."""
    step = "m" if "%H" in calendar.form else "D"
    moments = np.arange(np.datetime64(first, step), np.datetime64(last, step))
    return RawColumn("paid", moments.astype("datetime64[us]"), calendar.form)


def panel(seed, months=24):
    """Return a monthly report of a hundred places."""
    firsts = np.arange(
        "2019-01", np.datetime64("2019-01") + np.timedelta64(months, "M"), dtype="M8[M]"
    )
    values = np.repeat(firsts.astype("datetime64[us]"), 100)
    return RawColumn("paid", values, DAY), numbers(
        np.random.default_rng(seed).normal(size=len(values))
    )


def test_a_monthly_report_has_no_days_of_the_week():
    for seed in range(5):
        for months in (4, 24, 48):
            columns = columns_of(Frame(panel(seed, months)))
            names = [part.name for part in columns.parts]
            assert not {"paid weekday", "paid week"} & set(names)
            back = columns.decode(columns.encode(Frame(panel(seed, months)), "t"))
            assert (back.columns[0].values == panel(seed, months)[0].values).all()


FIRSTS = RawColumn("paid", np.arange("2015-01", "2021-01", dtype="M8[M]").astype("M8[us]"), DAY)
MONTHLY = (FIRSTS, numbers(3 * np.cos(np.pi * season(FIRSTS) / 6)))
SUNDAYS = dates(6 + 7 * np.arange(150))
ENDS = np.arange("1950", "2020", dtype="M8[Y]").astype("M8[D]") - np.timedelta64(1, "D")
SPECIAL = {
    "monthly": MONTHLY,
    "sundays": (SUNDAYS, numbers(np.sin(np.arange(150.0)))),
    "ends of years": (
        RawColumn("paid", ENDS.astype("M8[us]"), DAY),
        numbers(np.sin(np.arange(70.0))),
    ),
}


@pytest.mark.parametrize(
    "habit",
    ["season", "weekday", "weekday and season", "hour", "monthly", "sundays", "ends of years"],
)
def test_probabilities_of_the_dates_with_the_same_parts_sum_to_one(habit):
    calendar = columns_of(Frame(SPECIAL.get(habit) or table(habit, 0))).columns[0]
    days = {"hour": 21, "sundays": 7 * 52, "ends of years": 36525}.get(habit, 1095)
    start = np.datetime64("2021-02-01" if habit != "ends of years" else "2000-01-01")
    raw = every(calendar, start, start + np.timedelta64(days, "D"))
    split = calendar.split(raw, "t")
    own = sum(part.log_density(column) for part, column in zip(calendar.parts, split, strict=True))
    seconds = 60.0 if habit == "hour" else 1.0  # all seconds of a minute are alike
    p = np.exp(calendar.log_density(raw) - own) * seconds
    parts = [tuple(map(str, cells)) for cells in zip(*(part.values for part in split), strict=True)]
    sums = {}
    for part, probability in zip(parts, p, strict=True):
        sums[part] = sums.get(part, 0.0) + probability
    np.testing.assert_allclose(list(sums.values()), 1.0, rtol=1e-6)


@pytest.mark.parametrize("habit", ["season", "weekday", "weekday and season", "hour"])
def test_parts_are_undone(habit):
    raw, amount = table(habit, 0)
    gaps = np.arange(N) % 10 == 0
    values = raw.values.copy()
    values[gaps] = np.datetime64("NaT", "us")
    frame = Frame((RawColumn("paid", values, raw.form), amount))
    columns = columns_of(frame)
    codes = columns.encode(frame, "t")
    back = columns.decode(codes, seed=1)
    assert back.names == ("paid", "amount")
    assert (back.columns[0].is_missing == gaps).all()
    np.testing.assert_array_equal(columns.encode(back, "t"), codes)
    exact = columns.decode(codes, known=frame)
    assert (exact.columns[0].values[~gaps] == values[~gaps]).all()
    filled = columns.completed(frame, np.nan_to_num(codes))
    assert not filled.columns[0].is_missing.any()
    same = Columns.from_record(json.loads(json.dumps(columns.record())), "columns.json")
    np.testing.assert_array_equal(same.encode(frame, "t"), codes)
    np.testing.assert_array_equal(same.log_density(frame), columns.log_density(frame))


def test_the_same_day_of_all_months_stays_and_others_are_unlikely():
    frame = Frame(MONTHLY)
    columns = columns_of(frame)
    calendar = columns.columns[0]
    assert [part.name for part in calendar.parts] == ["paid year", "paid month"]
    back = columns.decode(columns.encode(frame, "t"))
    assert (back.columns[0].values == FIRSTS.values).all()
    days = np.array(["2016-02-01", "2016-02-02"], "datetime64[us]")
    first, second = calendar.log_density(RawColumn("paid", days, DAY))
    assert first - second == pytest.approx(np.log(29 * 72 + 1))


def test_parts_are_columns_to_ask_for_and_to_tell():
    frame = Frame(table("weekday", 0))
    key = jax.random.key(0)
    columns = columns_of(frame)
    rbm = hm.initialize(columns.layer, hm.Bernoulli(6), columns.encode(frame, "t"), key=key)
    [by_day] = hm.ask(rbm, columns, "paid weekday | amount=1", key=key, sweeps=20)
    assert by_day.values == list(WEEKDAYS)
    [date] = hm.ask(rbm, columns, "paid | paid weekday=Sunday", key=key, sweeps=20)
    shown = np.array(date.quantiles, "datetime64[D]")
    assert (weekday(RawColumn("", shown)) == 6).all()
    conditions = columns.conditions("paid=2021-03-05", "--given")
    [row] = columns.encode(conditions.cells, "--given", may_lack=True)
    assert np.isnan(row).sum() == 1
    with pytest.raises(hm.InputError, match="before and after the bar; got 'paid weekday'"):
        hm.ask(rbm, columns, "paid weekday | paid=2021-03-05", key=key)
    [amount] = hm.ask(rbm, columns, "amount | paid=2021-03-05..2021-06-01", key=key, sweeps=20)
    assert amount.quantiles


def test_dates_are_divided_as_told_and_kept_whole_as_told():
    frame = Frame(table("none", 0))
    columns = columns_of(frame, {"paid": "calendar"})
    assert [p.name for p in columns.parts] == ["paid year", "paid month", "paid weekday", "amount"]
    assert ": year, month, weekday" in columns.columns[0].summary
    whole = columns_of(Frame(table("season", 0)), {"paid": "date"})
    assert [part.name for part in whole.parts] == ["paid", "amount"]
    named = Frame((*table("season", 0), numbers(np.arange(N) % 7, "paid month")))
    assert columns_of(named).columns[0].kind == "date"
    words = RawColumn("paid", np.array(["soon", "late"], object))
    with pytest.raises(hm.InputError, match="column 'paid': expected dates"):
        columns.encode(Frame((words, numbers([1, 2]))), "new")


def test_names_of_parts_are_unique_and_win_over_other_columns():
    raw, amount = table("season", 0)
    clash = Frame((raw, amount, numbers(np.arange(N) % 7, "paid month")))
    with pytest.raises(hm.InputError, match="no column with the name of a part of a date"):
        columns_of(clash, {"paid": "calendar"})
    columns = columns_of(Frame((raw, amount)))
    expected = columns.encode(Frame((raw, amount)), "t")
    np.testing.assert_array_equal(columns.encode(clash, "t"), expected)


def test_dates_with_commas_and_times_are_told():
    frame = Frame(table("hour", 0))
    columns = columns_of(frame)
    conditions = columns.conditions("paid=2021-03-05 10:30:00, paid hour=9", "--given")
    assert conditions.cells.names == ("paid", "paid hour")
    assert columns.conditions("paid=2021-02-01..2021-03-01", "--given").ranges[0].name == "paid"
    days = columns_of(
        Frame((RawColumn("paid", table("none", 0)[0].values, "%b %d, %Y"), table("none", 0)[1]))
    )
    assert (
        str(days.conditions("paid=Jan 05, 2022", "--given").cells.columns[0].values[0])[:10]
        == "2022-01-05"
    )


def test_a_chosen_calendar_may_stand_beside_dates_that_are_decided():
    rng = np.random.default_rng(0)
    frame = Frame((dates(rng.integers(0, 900, N)), dates(rng.integers(0, 900, N), name="due")))
    columns = columns_of(frame, {"paid": "calendar"})
    assert [column.kind for column in columns.columns] == ["calendar", "date"]
