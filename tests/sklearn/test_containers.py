"""The law of containers: what goes in comes out in kind, for every container and type of cell.

Models are fitted without an update, since only the containers of their answers are tested.
"""

import warnings
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from harmonium.errors import InputError
from harmonium.sklearn import RBM, RBMClassifier, RBMImputer
from harmonium.tables.containers import frame_of

# Draws of two sweeps are enough here, where only their form counts.
pytestmark = pytest.mark.filterwarnings("ignore:sample. Not converged")

N = 24
GAPS = [1, 5, 6, 17]  # rows
WORDS = ["b", "a", "c"]
WHOLE = [3, 1, 2]
REAL = [0.25, 1.5, -2.75, 4.125]
YES = [True, False]
DAYS = [date(2024, 1, 1), date(2024, 5, 7), date(2025, 3, 30)]
MOMENTS = [datetime(2024, 1, 1, 8), datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30)]
SPANS = [timedelta(hours=3), timedelta(days=2), timedelta(seconds=90)]
TIMES = [time(8, 30), time(23, 5), time(0, 0, 1)]
MONEY = [Decimal("1.50"), Decimal("2.25"), Decimal("-3.75")]


def cycle(values, gaps=()):
    """Return N cells, of which each column's are different from row to row, with gaps."""
    return [None if i in gaps else values[(i * i + i // 4) % len(values)] for i in range(N)]


def zoned(zone):
    result = pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize(
        zone, nonexistent="shift_forward", ambiguous=True
    )
    return list(result)


ARROW = pd.ArrowDtype
PANDAS = {
    "float64": REAL,
    "float32": REAL,
    "Float64": REAL,
    "Float32": REAL,
    "Int64": WHOLE,
    "Int8": WHOLE,
    "UInt16": WHOLE,
    "boolean": YES,
    "object": WORDS,
    "string": WORDS,
    "string[python]": WORDS,
    "category": WORDS,
    "datetime64[s]": MOMENTS,
    "datetime64[ns]": DAYS,
    "datetime64[us, UTC]": zoned("UTC"),
    "datetime64[ms, Europe/Berlin]": zoned("Europe/Berlin"),
    "timedelta64[s]": SPANS,
    "timedelta64[ns]": SPANS,
    "period[M]": [pd.Period("2024-01", "M"), pd.Period("2024-02", "M")],
    "Sparse[float64, nan]": REAL,
    "int64[pyarrow]": WHOLE,
    "double[pyarrow]": REAL,
    "float[pyarrow]": REAL,
    "bool[pyarrow]": YES,
    "string[pyarrow]": WORDS,
    "date32[pyarrow]": DAYS,
    "timestamp[us][pyarrow]": MOMENTS,
}
NAMED = {  # types of pandas that no short text names
    "inferred": (pd.Series(WORDS).dtype, WORDS),
    "objects: int": ("object", WHOLE),
    "objects: float": ("object", REAL),
    "objects: bool": ("object", YES),
    "objects: decimal": ("object", MONEY),
    "objects: date": ("object", DAYS),
    "objects: time": ("object", TIMES),
    "objects: mixed": ("object", ["a", 1, 2.5]),
    "category, ordered": (pd.CategoricalDtype(WORDS, ordered=True), WORDS),
    "category, unused": (pd.CategoricalDtype(["z", *WORDS]), WORDS),
    "category, codes": (pd.CategoricalDtype([7, 0, 14, 21]), [14, 0, 7]),
    "category, real": (pd.CategoricalDtype([0.5, 1.0, 2.0]), [0.5, 1.0, 2.0]),
    "category, bool": (pd.CategoricalDtype([True, False]), YES),
    "category, large": (pd.CategoricalDtype([2**60 + 1, 2**60 + 2]), [2**60 + 1, 2**60 + 2]),
    "category, days": (pd.CategoricalDtype(pd.to_datetime(DAYS)), list(pd.to_datetime(DAYS))),
    "category, intervals": (
        pd.interval_range(0, 3).astype("category").dtype,
        list(pd.interval_range(0, 3)),
    ),
    "offset": ("datetime64[us, UTC+02:00]", zoned("+02:00")),
    "arrow decimal": (ARROW(pa.decimal128(10, 2)), MONEY),
    "arrow dictionary": (ARROW(pa.dictionary(pa.int32(), pa.string())), WORDS),
    "arrow zone": (ARROW(pa.timestamp("ms", "Europe/Berlin")), zoned("Europe/Berlin")),
    "arrow time": (ARROW(pa.time64("us")), TIMES),
    "arrow span": (ARROW(pa.duration("s")), SPANS),
}
COMPLETE = {"int64": WHOLE, "uint8": WHOLE, "bool": YES, "Sparse[int64, 0]": WHOLE}  # have no gaps
POLARS = {
    "Float64": (pl.Float64, REAL),
    "Float32": (pl.Float32, REAL),
    "Int64": (pl.Int64, WHOLE),
    "Int8": (pl.Int8, WHOLE),
    "UInt32": (pl.UInt32, WHOLE),
    "Boolean": (pl.Boolean, YES),
    "String": (pl.String, WORDS),
    "Categorical": (pl.Categorical, WORDS),
    "Enum": (pl.Enum(["z", *WORDS]), WORDS),
    "Date": (pl.Date, DAYS),
    "Datetime": (pl.Datetime("ns"), MOMENTS),
    "Datetime, zone": (pl.Datetime("us", "Europe/Berlin"), zoned("Europe/Berlin")),
    "Duration": (pl.Duration("ms"), SPANS),
    "Time": (pl.Time, TIMES),
    "Decimal": (pl.Decimal(10, 2), MONEY),
}
PYARROW = {
    "float64": (pa.float64(), REAL),
    "float32": (pa.float32(), REAL),
    "int16": (pa.int16(), WHOLE),
    "bool": (pa.bool_(), YES),
    "string": (pa.string(), WORDS),
    "large_string": (pa.large_string(), WORDS),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), WORDS),
    "dictionary, codes": (pa.dictionary(pa.int32(), pa.int64()), [14, 0, 7]),
    "date32": (pa.date32(), DAYS),
    "timestamp": (pa.timestamp("s"), MOMENTS),
    "timestamp, zone": (pa.timestamp("us", "Europe/Berlin"), zoned("Europe/Berlin")),
    "duration": (pa.duration("s"), SPANS),
    "time64": (pa.time64("us"), TIMES),
    "decimal": (pa.decimal128(10, 2), MONEY),
}


def in_pandas(gaps):
    rows = [f"row {i % 20}" for i in range(N)]  # labels occur twice
    columns = {**{name: (name, cells) for name, cells in PANDAS.items()}, **NAMED}
    frames = [pd.Series(cycle(cells, gaps), dtype=kind) for kind, cells in columns.values()]
    frames += [pd.Series(cycle(cells), dtype=kind) for kind, cells in COMPLETE.items()]
    frame = pd.concat(frames, axis=1, keys=range(100, 100 + len(frames)))
    return frame.set_axis(frame.columns.rename("which"), axis=1).set_axis(rows, axis=0)


def in_polars(gaps):
    def plain(cells):
        return [x.to_pydatetime() if isinstance(x, pd.Timestamp) else x for x in cells]

    columns = {n: pl.Series(cycle(plain(c), gaps), dtype=kind) for n, (kind, c) in POLARS.items()}
    return pl.DataFrame(columns)


def in_pyarrow(gaps):
    columns = {n: pa.array(cycle(c, gaps), type=kind) for n, (kind, c) in PYARROW.items()}
    return pa.table(columns)


LIBRARIES = {"pandas": in_pandas, "polars": in_polars, "pyarrow": in_pyarrow}
COLUMNS = {
    "pandas": [*PANDAS, *NAMED, *COMPLETE],
    "polars": list(POLARS),
    "pyarrow": list(PYARROW),
}


def columns_of(frame):
    """Return each column's cells, None where one is missing."""
    if isinstance(frame, pd.DataFrame):
        cells = [frame.iloc[:, place].tolist() for place in range(frame.shape[1])]
    elif isinstance(frame, pl.DataFrame):
        cells = [column.to_list() for column in frame]
    else:
        cells = [column.to_pylist() for column in frame.columns]
    return [
        [None if cell is None or cell is pd.NA or cell != cell else cell for cell in column]
        for column in cells
    ]


def types_of(frame):
    """Return the type of each column."""
    if isinstance(frame, pa.Table):
        return frame.schema.types
    return list(frame.dtypes)


def check_container(result, frame, *, has_same_rows):
    """Check that an answer is in the container of the question, with its names."""
    assert type(result) is type(frame)
    if isinstance(frame, pd.DataFrame):
        assert result.columns.identical(frame.columns)
        assert not has_same_rows or result.index.identical(frame.index)
    elif isinstance(frame, pl.DataFrame):
        assert result.columns == frame.columns
    else:
        assert result.column_names == frame.column_names


class Answers:
    """The answers of all methods to one table."""

    def __init__(self, frame):
        imputer = RBMImputer(2, n_iter=0, random_state=0, draws=2, sweeps=2)
        density = RBM(2, n_iter=0, random_state=0)
        classifier = RBMClassifier(2, n_iter=0, random_state=0)
        self.frame = frame
        self.filled = {"fit_transform": imputer.fit_transform(frame)}
        self.filled["draws"] = imputer.set_params(sample_posterior=True).transform(frame)
        self.results = {
            "sample": density.fit(frame).sample(9, k=2),
            "reconstruct": density.reconstruct(frame),
            "classifier.sample": classifier.fit(frame, np.arange(N) % 2).sample(9, k=2),
        }


@pytest.fixture(scope="module", params=LIBRARIES)
def answers(request):
    return request.param, Answers(LIBRARIES[request.param](GAPS))


def test_a_data_frame_comes_back_as_one_of_its_library_with_names_and_labels(answers):
    _, given = answers
    for method, result in (given.filled | given.results).items():
        has_same_rows = "sample" not in method
        check_container(result, given.frame, has_same_rows=has_same_rows)


def test_each_column_of_a_data_frame_comes_back_in_its_type(answers):
    library, given = answers
    for method, result in (given.filled | given.results).items():
        kinds = zip(COLUMNS[library], types_of(given.frame), types_of(result), strict=True)
        wrong = {name: (before, after) for name, before, after in kinds if before != after}
        assert not wrong, method


def test_all_gaps_are_filled_and_all_other_cells_stay(answers):
    library, given = answers
    before = columns_of(given.frame)
    for result in given.filled.values():
        for name, old, new in zip(COLUMNS[library], before, columns_of(result), strict=True):
            assert (None in old) == (library != "pandas" or name not in COMPLETE), name
            assert None not in new, name
            known = [place for place, cell in enumerate(old) if cell is not None]
            assert [new[place] for place in known] == [old[place] for place in known], name
            assert {type(cell) for cell in new} <= {type(cell) for cell in old}, name


def test_new_rows_have_cells_of_the_same_types_and_no_unknown_words(answers):
    library, given = answers
    before = columns_of(given.frame)
    for method, result in given.results.items():
        for name, old, new in zip(COLUMNS[library], before, columns_of(result), strict=True):
            assert None not in new, (method, name)
            assert {type(cell) for cell in new} <= {type(cell) for cell in old}, (method, name)
            if not isinstance(new[0], float | timedelta | time | date | Decimal):
                assert set(new) <= set(old), (method, name)


@pytest.mark.parametrize("library", LIBRARIES)
def test_new_rows_without_known_cells_are_filled_in_the_types_of_fit(library):
    frame = LIBRARIES[library](GAPS)
    imputer = RBMImputer(2, n_iter=0, random_state=0, draws=2, sweeps=2).fit(frame)
    new = LIBRARIES[library](range(N))
    assert all(set(column) == {None} for column in columns_of(new)[: -len(COMPLETE)])
    result = imputer.transform(new)
    check_container(result, new, has_same_rows=True)
    assert types_of(result) == types_of(frame)
    assert not any(None in column for column in columns_of(result))


ARRAYS = {
    "float32": ("f4", REAL),
    "float64": ("f8", REAL),
    "float16": ("f2", REAL),
    "int8": ("i1", WHOLE),
    "int64": ("i8", WHOLE),
    "uint16": ("u2", WHOLE),
    "bits": ("i8", [0, 1]),
    "bool": ("?", YES),
    "words": ("O", WORDS),
    "objects: int": ("O", WHOLE),
    "objects: bool": ("O", YES),
    "objects: mixed": ("O", ["a", 1, 2.5]),
    "objects: days": ("O", DAYS),
    "texts": ("U1", WORDS),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("with_gaps", [False, True])
def test_an_array_comes_back_in_its_type(name, with_gaps):
    dtype, values = ARRAYS[name]
    with_gaps = with_gaps and dtype in ("f2", "f4", "f8", "O")
    cells = [cycle(values, GAPS if with_gaps else ()), cycle(values)[::-1], cycle(values)]
    if dtype == "O":
        array = np.array(cells, object).T
    else:
        array = np.array([[np.nan if x is None else x for x in c] for c in cells], dtype).T
    is_gap = np.array([[x is None or x != x for x in row] for row in array])
    imputer = RBMImputer(2, n_iter=0, random_state=0, draws=2, sweeps=2)
    density = RBM(2, n_iter=0, random_state=0).fit(array)
    filled = imputer.fit_transform(array)
    drawn = density.sample(9, k=2)
    means = density.reconstruct(array)
    assert filled.dtype == drawn.dtype == array.dtype
    assert means.dtype == (float if array.dtype.kind in "biu" else array.dtype)
    assert (filled[~is_gap] == array[~is_gap]).all()
    for result in (filled, drawn, means):
        assert not any(x is None or x != x for x in result.flat)
        if dtype == "O":
            assert {type(x) for x in result.flat} <= {type(x) for x in array[~is_gap]}
    if values in (WORDS, YES, [0, 1]):
        assert set(drawn.flat) <= set(array[~is_gap])


def small_imputer(X, **options):
    return RBMImputer(2, n_iter=0, random_state=0, draws=2, sweeps=2, **options).fit(X)


CITIES = ["rome", "oslo", "bern"]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (["rome"], CITIES),  # fewer than in fit
        ([], CITIES),
        (["bern", "oslo", "rome"], ["bern", "oslo", "rome"]),  # the same, in an order of their own
        (["paris", *CITIES], ["paris", *CITIES]),  # more
        (["paris", "rome"], [*CITIES, "paris"]),
    ],
)
def test_new_rows_have_the_categories_of_fit_and_their_own(declared, expected, ordered):
    kind = pd.CategoricalDtype(CITIES, ordered=ordered)
    train = pd.DataFrame({"city": pd.Series(cycle(CITIES), dtype=kind), "x": cycle(REAL)})
    own = pd.CategoricalDtype(declared, ordered=ordered)
    cells = [*declared[:1], None, None]
    new = pd.DataFrame({"city": pd.Series(cells, dtype=own), "x": REAL[: len(cells)]})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X: column 'city': categories not seen in fit")
        result = small_imputer(train).transform(new)
    assert result.city.dtype == pd.CategoricalDtype(expected, ordered=ordered)
    assert result.city.notna().all()
    assert result.city.tolist()[:1] == (declared[:1] or result.city.tolist()[:1])
    complete = new[new.city.notna()]
    if len(complete):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X: column 'city': categories not seen in fit")
            again = small_imputer(train).transform(complete)
        assert again.city.dtype == result.city.dtype  # whether a cell is missing or not


def test_an_enum_of_polars_has_the_categories_of_fit_too():
    train = pl.DataFrame({"city": cycle(CITIES), "x": cycle(REAL)})
    train = train.cast({"city": pl.Enum(CITIES)})
    new = pl.DataFrame({"city": pl.Series(["rome", None], dtype=pl.Enum(["rome"])), "x": REAL[:2]})
    result = small_imputer(train).transform(new)
    assert result.schema["city"] == pl.Enum(CITIES)
    assert result["city"].null_count() == 0


@pytest.mark.parametrize("count", [4, 60])
def test_declared_codes_are_categories_however_many(count):
    codes = [7 * (i % count) for i in range(2 * count)]
    with_gaps = [None if i % 5 == 0 else code for i, code in enumerate(codes)]
    frame = pd.DataFrame({"code": pd.Categorical(with_gaps), "x": np.arange(2.0 * count) % 3})
    assert small_imputer(frame).transform(frame).code.notna().all()
    drawn = RBM(2, n_iter=0, random_state=0).fit(frame).sample(50, k=2)
    assert drawn.code.notna().all()
    assert drawn.code.dtype == frame.code.dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_array_with_a_constant_and_gaps_stays_an_array_of_numbers(dtype):
    X = np.array([cycle(REAL), cycle(REAL)[::-1], [1.5] * N], dtype).T
    X[::5, 2] = np.nan
    filled = small_imputer(X).transform(X)
    assert filled.dtype == dtype
    assert (filled[:, 2] == 1.5).all()
    density = RBM(2, n_iter=0, random_state=0).fit(X)
    assert density.sample(2, k=2).dtype == density.reconstruct(X).dtype == dtype
    assert density.transform(X).dtype == dtype


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_answers_do_not_depend_on_whether_a_cell_is_missing(make):
    whole = np.array([cycle(REAL), cycle(REAL)[::-1]]).T
    gap = whole.copy()
    gap[3, 1] = np.nan
    pairs = []
    for cells in (whole, gap):
        X = make(cells)
        density = RBM(2, n_iter=0, random_state=0).fit(X)
        answers = density.sample(3, k=2), density.reconstruct(X), small_imputer(X).transform(X)
        pairs.append(
            [(type(a), str(getattr(a, "dtypes", getattr(a, "dtype", "")))) for a in answers]
        )
        pairs[-1].append(str(density.transform(X).dtype))
    assert pairs[0] == pairs[1]


def test_columns_that_are_not_modelled_stay_as_they_are_with_a_warning():
    yes = [True if i % 6 == 0 else None for i in range(N)]
    frame = pd.DataFrame(
        {
            "x": cycle(REAL),
            "internal": pd.array(yes, "boolean"),
            "note": [None if i == 3 else f"note {i}" for i in range(N)],
            "nothing": np.full(N, np.nan),
            "number": [2**60 + i for i in range(N)],
            "one": pd.array([1 if i % 2 else None for i in range(N)], "Int64"),
        }
    )
    imputer = small_imputer(frame)
    message = r"remain in columns .* not modelled: 'internal' \(always True, or empty\), 'note'"
    with pytest.warns(UserWarning, match=message):
        result = imputer.transform(frame)
    for name in ("internal", "note", "nothing", "number"):
        pd.testing.assert_series_equal(result[name], frame[name])
    assert result.one.dtype == "Int64"
    assert (result.one == 1).all()
    excluding = small_imputer(
        frame, kinds=dict.fromkeys(["internal", "note", "nothing"], "left out")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        excluding.transform(frame)


def test_names_of_pandas_may_be_numbers_or_in_levels():
    cells = np.array([cycle(REAL, [1]), cycle(REAL)], float).T
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["of", None])
    for names in (pd.Index([7, 3]), levels, pd.RangeIndex(2)):
        frame = pd.DataFrame(cells, columns=names)
        assert small_imputer(frame).transform(frame).columns.identical(names)
        drawn = RBM(2, n_iter=0, random_state=0).fit(frame).sample(2, k=2)
        assert drawn.columns.identical(names)
    marked = small_imputer(frame, add_indicator=True).transform(frame)
    assert list(marked.columns) == [0, 1, "missingindicator_0"]


def test_names_that_differ_by_type_alone_are_refused():
    frame = pd.DataFrame([[1.0, 2.0], [2.0, 3.0]], columns=[0, "0"])
    message = "X: expected columns with different names; got 0 more than once"
    with pytest.raises(InputError, match=message):
        frame_of(frame, "X")


def test_columns_are_those_of_fit_by_their_places_where_scikit_learn_allows_it():
    frame = pd.DataFrame({"a": cycle(REAL, [1]), "b": cycle(REAL)})
    imputer = small_imputer(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        result = imputer.transform(frame.to_numpy())
    np.testing.assert_array_equal(result, imputer.transform(frame).to_numpy())
    numbered = frame.set_axis([0, 1], axis=1)
    with pytest.raises(InputError, match="X: expected the columns of fit: 0, 1; got 1, 0;"):
        small_imputer(numbered).transform(numbered[[1, 0]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": cycle(WHOLE), "b": cycle([0, 1])}, dtype="int64"),
        pd.DataFrame({"a": cycle(WHOLE), "b": cycle(REAL)}).astype({"a": "Int64", "b": "float32"}),
        pl.DataFrame({"a": cycle(WHOLE), "b": cycle([0, 1])}).cast(pl.Int8),
        pa.table({"a": pa.array(cycle(WHOLE), pa.uint8()), "b": cycle(REAL)}),
    ],
    ids=["pandas", "pandas, nullable", "polars", "pyarrow"],
)
def test_a_data_frame_of_complete_numbers_comes_back_as_one(frame):
    density = RBM(2, n_iter=0, random_state=0).fit(frame)
    for result in (density.sample(5, k=2), density.reconstruct(frame)):
        assert type(result) is type(frame)
        assert types_of(result) == types_of(frame)
        assert not any(None in column for column in columns_of(result))
