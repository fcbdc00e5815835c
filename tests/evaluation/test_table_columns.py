import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.evaluation import cell_scores, column_scores, unexpected
from harmonium.tables import Frame, RawColumn, columns_of
from registry import random_rbm

KEY = jax.random.key(0)


def table(n=120, seed=0):
    """Return a table of two categories and two numbers, and what its columns are."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    words = np.array(["red", "green", "blue"], object)[rng.integers(0, 3, n)]
    frame = Frame(
        (
            RawColumn("colour", words),
            RawColumn("yes", np.where(rng.random(n) < 0.4, "yes", "no").astype(object)),
            RawColumn("x", x),
            RawColumn("y", x + 0.2 * rng.normal(size=n)),
        )
    )
    return frame, columns_of(frame)


def model_of(columns, seed=0):
    rbm = random_rbm(columns.layer, hm.Bernoulli(4), seed, coupling=0.6)
    precision = jnp.array([[9.0, -5.0], [-5.0, 6.0]])
    gaussian = hm.MultivariateGaussian(2, [0.3, -0.2], precision)
    parts = (*rbm.visible.parts[:-1], gaussian)
    return hm.RBM(hm.Mixed(*parts), rbm.hidden, rbm.weights)


def enumerated(rbm, rows, unit):
    """Return log p(cell | others) of complete rows from the joint sum over h and the unit."""
    without = rows.copy()
    without[:, unit] = np.nan
    return hm.free_energies(rbm, without) - hm.free_energies(rbm, rows)


def test_probabilities_of_cells_are_the_enumerated_ones():
    frame, columns = table()
    rbm = model_of(columns)
    rows = columns.encode(frame, "table")
    scores = cell_scores(rbm, columns, rows, key=KEY)
    names = [column.name for column in columns.modelled]
    for unit, column in enumerate(columns.modelled):
        raw = next(cells for cells in frame.columns if cells.name == names[unit])
        expected = enumerated(rbm, rows, unit) + column.log_density(raw)
        np.testing.assert_allclose(scores.log_p[:, unit], expected, atol=5e-3)


def test_where_other_cells_are_missing_they_are_averaged_over(monkeypatch):
    monkeypatch.setattr("harmonium.evaluation.table_columns.COMPLETIONS", 400)
    frame, columns = table(40)
    rbm = model_of(columns)
    rows = columns.encode(frame, "table")
    rows[np.random.default_rng(1).random(rows.shape) < 0.3] = np.nan
    log_p = cell_scores(rbm, columns, rows, key=KEY).log_p
    np.testing.assert_array_equal(np.isnan(log_p), np.isnan(rows))
    for unit, column in enumerate(columns.modelled):
        if column.states is None:
            continue
        seen = ~np.isnan(rows[:, unit])
        expected = enumerated(rbm, rows, unit)[seen]
        assert abs(np.exp(log_p[seen, unit]) - np.exp(expected)).max() < 0.1
        assert np.mean(np.exp(log_p[seen, unit]) - np.exp(expected)) == pytest.approx(0, abs=0.01)


@pytest.fixture(scope="module")
def learned():
    """Return a table, what its columns are, its rows, and a model that has learned them."""
    frame, columns = table(400)
    rows = columns.encode(frame, "table")
    rbm = hm.initialize(columns.layer, hm.Bernoulli(4), rows, key=KEY)
    return frame, columns, rows, hm.fit(rbm, rows, key=KEY, epochs=300).rbm


def test_a_column_that_follows_from_another_is_predicted(learned):
    frame, columns, rows, rbm = learned
    scores = {score.name: score for score in column_scores(rbm, columns, rows, rows, key=KEY)}
    assert list(scores) == ["colour", "yes", "x", "y"]
    x, y = (np.asarray(frame.columns[i].values) for i in (2, 3))
    fitted = stats.linregress(x, y)
    residual = np.std(y - fitted.slope * x - fitted.intercept)
    assert scores["y"].error == pytest.approx(residual, rel=0.1)
    assert scores["y"].spread == pytest.approx(y.std(), rel=0.01)
    assert scores["y"].log_p > scores["y"].alone + 1.0
    assert scores["colour"].log_p == pytest.approx(scores["colour"].alone, abs=0.1)
    assert scores["colour"].correct == pytest.approx(scores["colour"].commonest, abs=0.15)


def test_the_cell_that_does_not_fit_is_named_first(learned):
    _, columns, rows, rbm = learned
    names = [column.name for column in columns.modelled]
    odd = rows[:5].copy()
    odd[:, names.index("x")] = 1.5
    odd[:, names.index("y")] = -1.5
    every = np.concatenate([rows[5:], odd])
    blamed = unexpected(cell_scores(rbm, columns, every, key=KEY), columns, count=2)
    assert all({name for name, _ in row} == {"x", "y"} for row in blamed[-5:])
