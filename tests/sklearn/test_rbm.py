import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_iris

import harmonium as hm
from harmonium.sklearn import RBM
from registry import random_rbm

RNG = np.random.default_rng(0)
COLOUR = RNG.choice([1.0, 2.0, 5.0], 400, p=[0.5, 0.3, 0.2])
YEAR = 2000 + 3 * (COLOUR == 5) + RNG.normal(size=400)
FLAG = (RNG.random(400) < np.where(COLOUR == 1, 0.9, 0.1)) * 1.0
SPIN = np.where(COLOUR == 2, 1.0, -1.0)
TABLE = np.stack([COLOUR, YEAR, FLAG, SPIN], axis=1)
SPEC = [("potts", [0]), ("gaussian", [1]), ("bernoulli", [2]), ("ising", [3])]


@pytest.fixture(scope="module")
def fitted():
    return RBM(6, visible=SPEC, random_state=0).fit(TABLE)


def test_columns_get_the_kinds_that_are_named(fitted):
    assert str(fitted.rbm_.visible) == (
        "Mixed(Potts(1, states=3), Gaussian(1), Bernoulli(1), Ising(1))"
    )
    rows = fitted.columns_.encode(TABLE)
    np.testing.assert_allclose(fitted.columns_.decode(rows), TABLE, rtol=1e-12)
    auto = RBM(2, n_iter=0).fit(TABLE)
    assert str(auto.rbm_.visible) == "Mixed(Gaussian(2), Bernoulli(1), Ising(1))"
    assert str(RBM(2, visible="bernoulli", n_iter=0).fit(FLAG[:, None]).rbm_.visible) == (
        "Bernoulli(1)"
    )


def test_columns_can_be_named_in_every_way():
    frame = pd.DataFrame(TABLE, columns=["colour", "year", "flag", "spin"])
    specs = [
        [("potts", "colour"), ("gaussian", ["year"]), ("bernoulli", 2), ("ising", slice(3, None))],
        [
            ("ising", [-1]),
            ("potts", [True, False, False, False]),
            ("gaussian", [1]),
            ("bernoulli", [2]),
        ],
    ]
    for spec in specs:
        model = RBM(2, visible=spec, n_iter=0).fit(frame)
        rows = model.columns_.encode(TABLE)
        np.testing.assert_allclose(model.columns_.decode(rows), TABLE, rtol=1e-12)


def test_categories_in_different_numbers_go_into_layers_of_their_own():
    table = np.stack([COLOUR, FLAG * 7, RNG.integers(0, 3, 400)], axis=1)
    model = RBM(2, visible="potts", n_iter=0).fit(table)
    assert str(model.rbm_.visible) == "Mixed(Potts(1, states=2), Potts(2, states=3))"
    np.testing.assert_array_equal(model.columns_.decode(model.columns_.encode(table)), table)


def test_samples_look_like_the_rows(fitted):
    """Means of the columns and of two that depend, as z, Bonferroni at 1e−4; a fit is no copy."""
    drawn = fitted.sample(2_000)
    assert set(np.unique(drawn[:, 0])) <= {1.0, 2.0, 5.0}
    for view in (lambda t: t[:, 1], lambda t: t[:, 2], lambda t: (t[:, 0] == 5) * (t[:, 1] - 2000)):
        drawn_values = view(drawn)
        values = view(TABLE)
        spread = np.sqrt(drawn_values.var() / len(drawn_values) + values.var() / len(values))
        assert abs(drawn_values.mean() - values.mean()) < 4.5 * spread + 0.15 * values.std()
    assert fitted.score(TABLE) > RBM(6, visible=SPEC, n_iter=0, random_state=0).fit(TABLE).score(
        TABLE
    )


def test_a_density_has_the_units_of_its_columns():
    """For columns ten times as large, the density is a tenth in each of four dimensions."""
    X = load_iris().data
    models = [RBM(4, n_iter=50, random_state=0).fit(X * by) for by in (1.0, 10.0)]
    scores = [model.score(X * by) for model, by in zip(models, (1.0, 10.0), strict=True)]
    assert scores[0] - scores[1] == pytest.approx(4 * np.log(10), abs=1e-2)


def test_a_density_integrates_to_one():
    model = RBM(2, random_state=0, n_iter=50).fit(YEAR[:, None])
    grid = np.linspace(YEAR.min() - 40, YEAR.max() + 40, 20_001)[:, None]
    density = np.exp(model.score_samples(grid))
    assert np.trapezoid(density, grid[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_probabilities_of_all_rows_sum_to_one():
    table = np.stack([COLOUR, FLAG], axis=1)
    model = RBM(2, visible=[("potts", 0), ("bernoulli", 1)], n_iter=0, random_state=0).fit(table)
    model.rbm_ = random_rbm(model.rbm_.visible, model.rbm_.hidden, 0)
    every = np.array([[c, f] for c in (1.0, 2.0, 5.0) for f in (0.0, 1.0)])
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0, abs=1e-5)
    assert model.score(table) == pytest.approx(model.score_samples(table).mean(), abs=1e-5)


def test_means_are_in_the_units_of_the_table(fitted):
    back = fitted.reconstruct(TABLE)
    assert set(np.unique(back[:, 0])) <= {1.0, 2.0, 5.0}
    assert (back[:, 0] == COLOUR).mean() > 0.8
    assert stats.pearsonr(back[:, 1], YEAR).statistic > 0.8
    assert ((back[:, 2] >= 0) & (back[:, 2] <= 1)).all()
    assert (abs(back[:, 3]) <= 1).all()


def test_portions_and_pickles(fitted):
    model = RBM(4, visible=SPEC, random_state=0)
    for part in np.split(TABLE, 4):
        model.partial_fit(part)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(TABLE), model.transform(TABLE))
    assert clone(fitted).get_params()["visible"] == SPEC


def test_hidden_units_of_other_kinds():
    X = load_iris().data
    for hidden in ("ising", "gaussian"):
        features = RBM(3, hidden=hidden, n_iter=20, random_state=0).fit_transform(X)
        assert features.shape == (150, 3)
        assert (features.std(0) > 0).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"visible": "normal"}, "visible: expected one of 'auto', 'table', 'category'"),
        ({"visible": [("potts", [0])]}, r"a kind for every column; got none for \[1, 2, 3\]"),
        ({"visible": [("potts", slice(None)), ("ising", [1])]}, "column 1 is named twice"),
        ({"visible": [("potts", ["hue"])]}, "pairs"),
        ({"visible": [("potts", [9])]}, "there are 4 columns"),
        ({"visible": [("potts", [True, False])]}, "the mask has 2 entries for 4 columns"),
        ({"visible": "bernoulli"}, r"values in \[0, 1\]; got"),
        ({"hidden": "potts"}, "potts: expected a number of states"),
    ],
)
def test_mistakes_are_named(wrong, message):
    with pytest.raises(hm.InputError, match=message):
        RBM(**{"n_components": 2, "visible": SPEC, "n_iter": 1} | wrong).fit(TABLE)


@pytest.mark.parametrize(("value", "rows"), [(2000.1, 1000), (2.7, 100), (7.1, 1000)])
def test_a_constant_column_has_no_scale(value, rows):
    X = np.column_stack([np.full(rows, value), RNG.normal(size=rows)])
    model = RBM(2, visible="gaussian", n_iter=2, random_state=0).fit(X)
    assert model.columns_.parts[0].scale[0] == 1.0
    assert abs(model.score(X + np.array([1e-6, 0.0])) - model.score(X)) < 1e-3


def test_an_entry_outside_is_named_by_its_own_column():
    kinds = [("bernoulli", [0, 2]), ("gaussian", [1, 3])]
    table = np.column_stack([FLAG, YEAR, FLAG, YEAR])
    table[3, 2] = 9
    with pytest.raises(hm.InputError, match=r"X: .*got 9 in row 3, column 2"):
        RBM(2, visible=kinds).partial_fit(table)


def test_categories_are_known_in_either_precision():
    table = RNG.choice([0.1, 0.7], (50, 2))
    model = RBM(2, visible="potts", n_iter=0, random_state=0).fit(table)
    features = model.transform(table.astype(np.float32))
    np.testing.assert_allclose(features, model.transform(table), atol=1e-6)


def test_a_category_never_seen_is_named(fitted):
    other = TABLE.copy()
    other[7, 0] = 3
    with pytest.raises(hm.InputError, match="such as 1, 2, 5; got 3 in row 7"):
        fitted.transform(other)


def test_a_default_fit_on_few_rows_does_not_overfit(monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 1_000)
    rng = np.random.default_rng(0)
    X = (rng.random((120, 12)) < 0.5).astype(np.float64)  # to learn any of it is overfitting
    others = (rng.random((2_000, 12)) < 0.5).astype(np.float64)
    default = RBM(20, learning_rate=0.3, batch_size=108, random_state=0).fit(X)
    assert "a penalty of" in default.message_
    unpenalised = RBM(20, learning_rate=0.3, batch_size=108, n_iter=1_000, random_state=0).fit(X)
    assert "penalty" not in unpenalised.message_
    assert default.score(others) > unpenalised.score(others) + 0.1
    same = RBM(20, learning_rate=0.3, batch_size=108, random_state=0).fit(X)
    np.testing.assert_array_equal(same.rbm_.weights, default.rbm_.weights)
    before = default.rbm_
    assert default.partial_fit(X).rbm_ is not before
    assert default.score(others) > unpenalised.score(others)


@pytest.mark.parametrize("fraction", [1.0, -0.1, "many", None])
def test_a_fraction_that_is_none_is_named(fraction):
    with pytest.raises(hm.InputError, match=r"validation_fraction: expected a number in \[0, 1\)"):
        RBM(2, validation_fraction=fraction).fit(np.eye(60)[:, :4])


def test_one_hot_columns_are_read_as_categories():
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, (400, 2))].reshape(400, 8)
    model = RBM(4, n_iter=100, random_state=0).fit(X)
    assert model.rbm_.visible.groups == ((0, 1, 2, 3), (4, 5, 6, 7))
    plain = RBM(4, visible="bernoulli", n_iter=100, random_state=0).fit(X)
    assert str(plain.rbm_.visible) == "Bernoulli(8)"
    assert model.score(X) > plain.score(X)
    broken = np.array([[1.0, 1, 0, 0, 0, 0, 0, 1]])  # which never happened
    assert -40 < model.score_samples(broken)[0] < model.score(X) - 3


def test_a_row_with_a_gap_changes_no_answer_of_another_row():
    rng = np.random.default_rng(0)
    rows = (rng.random((12, 24)) < 0.5) * 1.0
    model = RBM(20, n_iter=0, random_state=0).fit(rows)
    model.rbm_ = random_rbm(model.rbm_.visible, model.rbm_.hidden, 0)
    gaps = rows.copy()
    gaps[3, 2] = np.nan
    gaps[5, :20] = np.nan
    others = np.delete(np.arange(12), [3, 5])
    for answer in (model.free_energy, model.transform):
        np.testing.assert_array_equal(answer(gaps)[others], answer(rows)[others])
