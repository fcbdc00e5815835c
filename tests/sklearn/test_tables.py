"""The estimators on tables of words, numbers, booleans, dates and missing cells."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import harmonium as hm
from harmonium.sklearn import RBM, RBMClassifier, RBMImputer

# Most fits here are short; how well they learn is tested elsewhere.
pytestmark = pytest.mark.filterwarnings(
    "ignore:RBMClassifier:sklearn.exceptions.ConvergenceWarning"
)


def people(n=400, missing=0.1, seed=0):
    """Return a data frame whose columns depend on a class, and the class."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "sex": np.where(rng.random(n) < 0.2 + 0.6 * kind, "female", "male"),
            "age": rng.normal(30 + 10 * kind, 5, n).round(2),
            "rooms": rng.integers(1, 4, n) + kind,
            "owner": rng.random(n) < 0.1 + 0.8 * kind,
            "since": pd.to_datetime("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 600, n) + 600 * kind, unit="D"),
        }
    )
    gaps = rng.random(frame.shape) < missing
    gaps &= gaps.cumsum(1) <= 2  # other numbers of gaps in a row would be other programs
    for place, name in enumerate(frame.columns):
        if name != "since":
            frame[name] = frame[name].astype(object).where(~gaps[:, place], None)
    frame["age"] = frame["age"].astype(float)
    return frame, np.where(kind == 1, "city", "country")


# Most time goes into compiling, so the tests fit tables of one shape to models of one shape.


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def fitted(table):
    frame, _ = table
    return RBM(8, n_iter=60, random_state=0).fit(frame)


@pytest.fixture(scope="module")
def classifier(table):
    return RBMClassifier(8, n_iter=80, random_state=0).fit(*table)


def test_a_data_frame_with_words_and_gaps_is_learned_scored_and_sampled(table, fitted):
    frame, _ = table
    kinds = {column.name: column.kind for column in fitted.columns_.columns.columns}
    assert kinds == {
        "sex": "category",
        "age": "continuous",
        "rooms": "discrete",
        "owner": "category",
        "since": "date",
    }
    hidden = fitted.transform(frame)
    assert hidden.shape == (len(frame), 8)
    assert ((hidden >= 0) & (hidden <= 1)).all()
    scores = fitted.score_samples(frame)
    likelihood = fitted.log_likelihood(frame)
    assert scores.mean() == pytest.approx(likelihood.value, abs=1e-4)
    new = fitted.sample(50, k=20)
    assert list(new.columns) == list(frame.columns)
    assert set(new["sex"]) <= {"female", "male"}
    assert new["since"].dtype == frame["since"].dtype
    again = fitted.reconstruct(frame)
    assert list(again.columns) == list(frame.columns)
    assert len(again) == len(frame)


def test_polars_in_polars_out(table):
    frame, y = table
    same = pl.from_pandas(frame)
    model = RBM(8, n_iter=1, random_state=0).fit(same)
    assert isinstance(model.sample(50, k=20), pl.DataFrame)
    assert isinstance(model.reconstruct(same), pl.DataFrame)
    classifier = RBMClassifier(8, n_iter=1, random_state=0).fit(same, y)
    assert isinstance(classifier.sample(3, "city", k=2), pl.DataFrame)


def test_a_classifier_takes_words_and_gaps(table, classifier):
    whole, _ = people(missing=0.0)
    assert classifier.score(whole, table[1]) > 0.9
    assert classifier.score(*table) > 0.85
    p = classifier.predict_proba(table[0])
    np.testing.assert_allclose(p.sum(1), 1.0, rtol=1e-5)


def test_labels_of_incomplete_rows_are_those_of_the_enumerated_model(table, classifier):
    columns = classifier.columns_
    rows = columns.encode(columns.checked(classifier, table[0]))
    labelled = [np.column_stack([rows, np.full(len(rows), code)]) for code in range(2)]
    energies = np.stack([hm.free_energies(classifier.rbm_, label) for label in labelled], axis=1)
    p = np.exp(-energies - np.logaddexp.reduce(-energies, axis=1, keepdims=True))
    np.testing.assert_allclose(classifier.predict_proba(table[0]), p, atol=1e-3)


def test_arrays_with_gaps_are_tables_and_told_kinds_stay_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 50.0]]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = RBM(4, n_iter=40, random_state=0).fit(X)
    new = model.sample(2_000, k=50)
    assert new.shape == (2_000, 3)
    assert np.corrcoef(new[:, 0], new[:, 1])[0, 1] > 0.8
    gaussian = RBM(4, visible="gaussian", n_iter=40, random_state=0).fit(X)
    assert isinstance(gaussian.rbm_.visible, hm.Gaussian)
    assert np.isfinite(gaussian.score(X))
    spread = np.nanstd(gaussian.sample(2_000, k=50), axis=0) / np.nanstd(X, axis=0)
    np.testing.assert_allclose(spread, 1.0, atol=0.25)


def test_kinds_are_told_by_name_or_in_pairs_as_for_a_column_transformer():
    frame, _ = people(200)
    pairs = [("category", ["rooms"]), ("left out", slice(4, 5))]
    for spec in (pairs, {"rooms": "category", "since": "left out"}):
        model = RBM(4, visible=spec, n_iter=0, random_state=0).fit(frame)
        kinds = [column.kind for column in model.columns_.columns.columns]
        assert kinds == ["category", "continuous", "category", "category", "left out"]
        filled = RBMImputer(4, kinds=spec, n_iter=0, random_state=0)
        assert [c.kind for c in filled.fit(frame).columns_.columns] == kinds
    numbers = frame[["age", "rooms"]].dropna().astype(float)
    assert (
        RBM(4, visible="table", n_iter=0).fit(numbers).columns_.columns.columns[1].kind
        == "discrete"
    )
    with pytest.raises(
        hm.InputError, match="kinds: expected a mapping from names to kinds, or a list of pairs"
    ):
        RBMImputer(kinds=[("category", ["colour"])]).fit(frame)


def test_they_work_in_pipelines_and_cross_validation():
    frame, y = people(800)
    imputer = RBMImputer(8, n_iter=5, draws=20, sweeps=50, random_state=0)
    model = make_pipeline(imputer, RBMClassifier(8, n_iter=40, random_state=0))
    assert cross_val_score(model, frame, y, cv=2).mean() > 0.75


def test_scoring_needs_the_columns_of_fit(table, fitted):
    frame, _ = table
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame.rename(columns={"age": "years"}))
    odd = frame.assign(sex="unknown")
    with pytest.warns(UserWarning, match="column 'sex': categories not seen in fit are treated"):
        scores = fitted.score_samples(odd)
    np.testing.assert_allclose(scores, fitted.score_samples(frame.assign(sex=None)), rtol=1e-4)


@pytest.mark.parametrize("visible", ["tabel", {"age": "categry"}])
def test_a_kind_that_does_not_exist_is_named(table, visible):
    frame, _ = table
    with pytest.raises(hm.InputError, match=r"visible: expected one of .*'table'.*categ"):
        RBM(4, visible=visible, n_iter=0).fit(frame)


@pytest.mark.parametrize("estimator", [RBM, RBMImputer])
def test_questions_are_answered_and_unknown_words_refused(estimator):
    """An estimator reads unknown words as missing cells: in a question they would be ignored."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Bern", "Chur"], 200)
    plan = np.where(rng.random(200) < 0.9, city == "Bern", city == "Chur")
    table = pd.DataFrame({"city": city, "plan": np.where(plan, "gold", "basic")})
    model = estimator(4, n_iter=1_000, learning_rate=0.3, random_state=0).fit(table)
    (answer,) = model.ask("plan | city=Bern")
    assert dict(zip(answer.values, answer.shares, strict=True))["gold"] > 0.7
    with pytest.raises(hm.InputError, match="expected one of: Bern, Chur; got 'Genf'"):
        model.ask("plan | city=Genf")


def test_arrays_of_numbers_cannot_be_asked():
    model = RBM(2, n_iter=1, random_state=0).fit(np.eye(4))
    with pytest.raises(hm.InputError, match="fitted to a table with named columns"):
        model.ask("x0")
