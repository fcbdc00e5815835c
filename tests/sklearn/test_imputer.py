"""RBMImputer: tables of numbers and data frames of two libraries, filled with what is likely."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import harmonium as hm
from harmonium.sklearn import RBMImputer
from harmonium.tables.containers import FrameLike, frame_of
from sklearn import config_context

RNG = np.random.default_rng(0)
N = 200
IS_CAT = RNG.random(N) < 0.5
CELLS = {
    "animal": np.where(IS_CAT, "cat", "cow").astype(object),
    "mass": np.where(IS_CAT, RNG.normal(4, 0.3, N), RNG.normal(600, 40, N)).round(1),
    "legs": RNG.integers(3, 5, N),
    "tame": IS_CAT.copy(),
    "seen": np.datetime64("2024-01-01") + RNG.integers(0, 300, N),
}


def pandas_table():
    table = pd.DataFrame(CELLS)
    table["animal"] = table["animal"].astype("category")
    table["seen"] = table["seen"].astype("datetime64[us]")
    table.loc[:19, "animal"] = None
    table.loc[10:39, "mass"] = np.nan
    table.index = [f"row {i}" for i in range(N)]
    return table


def polars_table():
    table = pl.DataFrame({n: c.tolist() if n == "animal" else c for n, c in CELLS.items()})
    row = pl.int_range(pl.len())
    return table.with_columns(
        pl.when(row < 20).then(None).otherwise(pl.col("animal")).alias("animal"),
        pl.when((row >= 10) & (row < 40)).then(None).otherwise(pl.col("mass")).alias("mass"),
    )


def imputer(**options):
    return RBMImputer(
        **{"n_components": 24, "n_iter": 400, "random_state": 0, "sweeps": 50} | options
    )


def test_pandas_comes_back_with_its_types_and_labels():
    table = pandas_table()
    # Masses differ by factors: the mean of what may be a mouse or a dog is neither.
    filled = imputer(strategy="median").fit_transform(table)
    assert filled.index.equals(table.index)
    assert list(filled.columns) == list(table.columns)
    for name in table:
        assert filled[name].dtype == table[name].dtype
        known = table[name].notna()
        assert filled[name][known].equals(table[name][known])
    assert filled.notna().all(axis=None)
    assert (filled["animal"].iloc[:10] == CELLS["animal"][:10]).mean() >= 0.9
    assert np.abs(np.log(filled["mass"].iloc[20:40] / CELLS["mass"][20:40])).max() < 0.5


def test_polars_comes_back_with_its_types():
    table = polars_table()
    filled = imputer(n_iter=2).fit_transform(table)
    assert isinstance(filled, pl.DataFrame)
    assert filled.schema == table.schema
    assert filled.null_count().sum_horizontal().item() == 0
    known = table["mass"].is_not_null()
    assert filled.filter(known)["mass"].equals(table.filter(known)["mass"])


def test_draws_differ_as_much_as_the_cells_are_uncertain():
    x = RNG.normal(size=(400, 1)) * [[1.0, 1.0]] + RNG.normal(size=(400, 2)) * [[0.0, 0.5]]
    y = x.copy()
    y[:200, 1] = np.nan
    model = RBMImputer(8, n_iter=300, sweeps=60, random_state=0, sample_posterior=True).fit(y)
    drawn = np.stack([model.set_params(random_state=s).transform(y)[:200, 1] for s in range(8)])
    spread = drawn.std(0, ddof=1).mean()
    assert 0.3 < spread < 0.8
    assert np.corrcoef(drawn.mean(0), x[:200, 0])[0, 1] > 0.8


def test_means_of_floats_are_exact_and_those_of_integers_whole():
    marks = np.random.default_rng(0).integers(1, 6, (300, 2))
    marks[:, 1] = np.clip(marks[:, 0] + marks[:, 1] // 3, 1, 6)
    floats = pd.DataFrame(marks.astype(float), columns=["a", "b"])
    floats.loc[:50, "b"] = np.nan
    model = RBMImputer(4, n_iter=50, random_state=0).fit(floats)
    exact = model.transform(floats)["b"]
    integers = model.transform(floats.astype("Int64"))["b"]
    assert (exact[:50] % 1 > 0).any()
    np.testing.assert_array_equal(integers[:50], exact[:50].round())
    np.testing.assert_array_equal(exact[51:], floats["b"][51:])


def test_the_median_of_skewed_numbers_lies_below_their_mean():
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    X = np.stack([z, np.exp(0.5 * z + rng.normal(size=400))], axis=1)
    is_missing = rng.random(400) < 0.3
    seen = X.copy()
    seen[is_missing, 1] = np.nan
    model = RBMImputer(4, n_iter=100, random_state=0).fit(seen)
    by_strategy = {
        name: model.set_params(strategy=name).transform(seen)[is_missing, 1]
        for name in ("mean", "median", "most_frequent")
    }
    assert (by_strategy["median"] < by_strategy["mean"]).all()
    with pytest.raises(hm.InputError, match="strategy: expected one of 'mean', 'median'"):
        model.set_params(strategy="best").transform(seen)
    with pytest.raises(hm.InputError, match="got 'best'"):
        RBMImputer(strategy="best").fit(seen)


def test_indicators_and_names():
    table = pandas_table()
    model = imputer(add_indicator=True, n_iter=2).fit(table)
    filled = model.transform(table)
    names = [*table.columns, "missingindicator_animal", "missingindicator_mass"]
    assert list(filled.columns) == list(model.get_feature_names_out()) == names
    assert filled["missingindicator_mass"].tolist() == table["mass"].isna().tolist()
    numbers = table[["mass", "legs"]].to_numpy(float)
    assert imputer(n_iter=0).fit_transform(numbers).shape == (N, 2)
    with config_context(transform_output="pandas"):
        named = imputer(n_iter=0).fit(numbers).transform(numbers)
    assert list(named.columns) == ["x0", "x1"]


def test_kinds_can_be_told():
    table = pandas_table()
    model = RBMImputer(4, n_iter=0, kinds={"legs": "continuous", "seen": "left out"}).fit(table)
    assert {c.name: c.kind for c in model.columns_.columns} == {
        "animal": "category",
        "mass": "continuous",
        "legs": "continuous",
        "tame": "category",
        "seen": "left out",
    }


def test_bad_input_is_named():
    table = pandas_table()
    model = imputer(n_iter=0).fit(table)
    other = table.assign(animal="dog")
    with pytest.warns(UserWarning, match="'animal': categories not seen in fit are treated"):
        filled = model.transform(other)
    assert set(filled["animal"]) == {"dog"}  # a cell that is there stays
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table.rename(columns={"mass": "weight"}))
    with pytest.raises(hm.InputError, match="X: expected a column that can be modelled"):
        RBMImputer(4).fit(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))
    with pytest.raises(hm.InputError, match="table: expected a data frame; got dict"):
        frame_of({"a": [1]})
    with pytest.raises(hm.InputError, match="X: expected columns with different names"):
        frame_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), "X")


@pytest.mark.parametrize("make", [pandas_table, polars_table])
def test_a_frame_comes_back_as_it_was(make):
    table = make()
    back = FrameLike.of(table).rows(frame_of(table))
    expected = table.reset_index(drop=True) if make is pandas_table else table
    assert back.equals(expected)


def test_times_of_a_zone_are_those_on_its_clock():
    times = pd.date_range("2024-03-01 00:30", periods=6, freq="D", tz="Europe/Berlin")
    naive = pl.DataFrame({"when": list(times.tz_localize(None))})
    zoned = naive.with_columns(pl.col("when").dt.replace_time_zone("Europe/Berlin"))
    for frame in (pd.DataFrame({"when": times}), zoned):
        read = frame_of(frame)
        assert str(read.columns[0].values[0])[:16] == "2024-03-01T00:30"
        back = FrameLike.of(frame).rows(read)
        assert back["when"].dtype == frame["when"].dtype
        assert list(back["when"]) == list(frame["when"])
