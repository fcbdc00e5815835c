"""Plots of means and covariances against NumPy's values."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.evaluation.moments import groups, variables_of
from harmonium.plot import means, moments

RNG = np.random.default_rng(0)
DATA = RNG.integers(0, 2, (60, 8)).astype(np.uint8)
SAMPLES = (RNG.random((40, 8)) < 0.3).astype(np.uint8)
CODES = RNG.integers(0, 3, (50, 4))


def points(figure):
    """Lay out the figure; return the points (data, samples) of the means and the covariances."""
    figure.draw_without_rendering()
    return [np.asarray(axes.collections[0].get_offsets()) for axes in figure.axes]


def notes(figure) -> list[str]:
    return [axes.texts[0].get_text() for axes in figure.axes]


def upper(rows, weights=None) -> np.ndarray:
    covariance = np.cov(rows, rowvar=False, bias=True, aweights=weights)
    return np.sort(covariance[np.triu_indices(rows.shape[1], 1)])


def one_hot(codes) -> np.ndarray:
    return np.eye(3)[codes].reshape(len(codes), -1)


def test_means_and_covariances_are_right():
    at_mean, at_pairs = points(means(SAMPLES, DATA))
    np.testing.assert_allclose(at_mean, np.stack([DATA.mean(0), SAMPLES.mean(0)], 1))
    assert at_pairs.shape == (28, 2)
    np.testing.assert_allclose(np.sort(at_pairs[:, 0]), upper(DATA), atol=1e-12)
    np.testing.assert_allclose(np.sort(at_pairs[:, 1]), upper(SAMPLES), atol=1e-12)


def test_real_numbers_and_weights():
    rows = RNG.normal(size=(30, 5))
    weights = RNG.random(30)
    at_mean, at_pairs = points(means(rows, rows, weights=7 * weights))
    np.testing.assert_allclose(at_mean[:, 0], weights @ rows / weights.sum())
    np.testing.assert_allclose(np.sort(at_pairs[:, 0]), upper(rows, weights), atol=1e-12)
    np.testing.assert_allclose(np.sort(at_pairs[:, 1]), upper(rows), atol=1e-12)


@pytest.mark.parametrize("states", [3, [3, 3, 3, 3]])
def test_codes_are_counted_state_by_state(states):
    at_mean, at_pairs = points(means(CODES[::2], CODES, states=states))
    np.testing.assert_allclose(at_mean[:, 0], one_hot(CODES).mean(0))
    covariance = np.cov(one_hot(CODES), rowvar=False, bias=True)
    other_site = [(i, j) for i in range(12) for j in range(i + 1, 12) if i // 3 != j // 3]
    expected = sorted(covariance[i, j] for i, j in other_site)
    assert len(at_pairs) == 6 * 9
    np.testing.assert_allclose(np.sort(at_pairs[:, 0]), expected, atol=1e-12)


def test_columns_of_different_kinds():
    rows = np.column_stack([CODES, RNG.normal(size=50)])
    figure = means(rows, rows, states=[3, 1, 3, 1, 1])
    at_mean, at_pairs = points(figure)
    assert len(at_mean) == 9
    assert len(at_pairs) == 36 - 6
    assert at_mean[-1, 0] == pytest.approx(rows[:, 4].mean())


def test_how_well_they_agree_is_noted():
    same = means(DATA, DATA)
    points(same)
    assert all(n.startswith("correlation 1.000\nrms difference 0 (noise") for n in notes(same))
    opposite = notes(means(1 - DATA, DATA))
    assert opposite[0].startswith("correlation −1.000")
    assert opposite[1].startswith("correlation 1.000")


def test_the_noise_is_that_of_independent_rows():
    """Two sets from one distribution differ by the noise in the note, in both panels."""
    probability = RNG.uniform(0.1, 0.9, 40)
    ours, theirs = (RNG.random((n, 40)) < probability for n in (500, 2_000))
    figure = means(ours, theirs)
    for at, note in zip(points(figure), notes(figure), strict=True):
        noise = float(note.split("noise alone: ")[1].rstrip(")"))
        assert 0.6 < np.sqrt(np.mean((at[:, 1] - at[:, 0]) ** 2)) / noise < 1.6


def test_pairs_and_rows_are_limited(monkeypatch):
    monkeypatch.setattr(moments, "MOST_ROWS", 30)
    wide = (RNG.random((100, 600)) < 0.5).astype(np.uint8)
    at_mean, at_pairs = points(means(wide, wide))
    np.testing.assert_allclose(
        at_mean[:, 0], wide[np.linspace(0, 99, 30).round().astype(int)].mean(0)
    )
    assert len(at_pairs) == moments.MOST_PAIRS
    chosen = groups(variables_of(None, 600), 2, moments.MOST_PAIRS)
    assert len(np.unique(chosen, axis=0)) == len(chosen)
    assert (chosen[:, 0] < chosen[:, 1]).all()


def test_rows_without_weight_do_not_count():
    weights = np.r_[np.zeros(30), np.ones(30)]
    at_mean, _ = points(means(SAMPLES, DATA, weights=weights))
    np.testing.assert_allclose(at_mean[:, 0], DATA[30:].mean(0))


def test_a_single_unit_and_constant_rows_are_drawn():
    figure = means(DATA[:, :1], DATA[:, :1])
    figure.draw_without_rendering()
    assert figure.axes[1].texts[0].get_text() == "no pairs"
    constant = means(np.ones((5, 3)), np.ones((5, 3)))
    constant.draw_without_rendering()
    assert notes(constant)[0].startswith("correlation undefined")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"states": 2}, "data: expected codes from 0 to 1; got 2"),
        ({"states": [3, 3]}, "one for each of the 4 columns; got 2"),
        ({"states": 0}, "states: expected a whole number"),
        ({"weights": np.ones(3)}, "weights: expected 50"),
        ({"weights": np.zeros(50)}, "weights: expected 50.*not all zero"),
        ({"weights": -np.ones(50)}, "weights: expected 50"),
    ],
)
def test_mistakes_are_named(options, words):
    with pytest.raises(hm.InputError, match=words):
        means(CODES, CODES, **options)


def test_fractions_are_no_codes():
    with pytest.raises(hm.InputError, match=r"samples: expected codes.*got 0\.5 in row 0"):
        means(np.full((2, 4), 0.5), CODES, states=3)
