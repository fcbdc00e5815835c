"""Plots of hidden units' weights: their order and colours."""

import numpy as np
import pytest
from matplotlib.text import Text

import harmonium as hm
from harmonium.plot import filters
from harmonium.plot.base import tiled

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(24, 6)) * np.array([1.0, 3.0, 2.0, 6.0, 5.0, 4.0])
BY_NORM = np.argsort(-np.linalg.norm(WEIGHTS, axis=0))


def model(visible, weights=WEIGHTS) -> hm.RBM:
    return hm.RBM(visible, hm.Bernoulli(weights.shape[1]), np.asarray(weights, np.float32))


def drawn(figure):
    """Lay out the figure, and return its image."""
    figure.draw_without_rendering()
    return figure.axes[0].images[0]


def title(figure) -> str:
    return figure.get_suptitle()


@pytest.mark.parametrize("layer", [hm.Bernoulli, hm.Ising, hm.Gaussian])
def test_tiles_come_by_weight_norm(layer):
    figure = filters(model(layer(24)), image_shape=(4, 6))
    image = drawn(figure)
    expected = tiled(WEIGHTS.T[BY_NORM].reshape(6, 4, 6))
    shown = np.ma.filled(image.get_array(), np.nan)
    np.testing.assert_allclose(shown, expected, rtol=1e-6)
    assert title(figure) == "6 of 6 hidden units by weight norm, largest first"


def test_the_colours_are_symmetric_and_robust():
    weights = RNG.normal(size=(100, 20))
    weights[0, 0] = 1000.0
    figure = filters(model(hm.Bernoulli(100), weights), image_shape="square")
    low, high = drawn(figure).get_clim()
    assert -low == high
    assert high == pytest.approx(np.percentile(np.abs(weights), 99.5), rel=1e-6)
    assert high < 5.0


def test_without_a_shape_the_matrix_is_drawn():
    figure = filters(model(hm.Bernoulli(24)))
    axes = figure.axes[0]
    np.testing.assert_allclose(drawn(figure).get_array(), WEIGHTS[:, BY_NORM], rtol=1e-6)
    assert axes.get_ylabel() == "visible unit"
    assert axes.get_xlabel() == "hidden unit, by weight norm"


def test_count_keeps_the_largest():
    figure = filters(model(hm.Bernoulli(24)), count=2)
    shown = drawn(figure).get_array()
    np.testing.assert_allclose(shown, WEIGHTS[:, BY_NORM[:2]], rtol=1e-6)
    assert title(figure).startswith("2 of 6")


@pytest.mark.parametrize("shape", [None, (2, 4)])
def test_potts_sites_show_the_norm_over_their_states(shape):
    figure = filters(model(hm.Potts(8, states=3)), image_shape=shape)
    norms = np.linalg.norm(WEIGHTS.reshape(8, 3, 6), axis=1)[:, BY_NORM]
    image = drawn(figure)
    expected = norms if shape is None else tiled(norms.T.reshape(6, 2, 4))
    shown = np.ma.filled(image.get_array(), np.nan)
    np.testing.assert_allclose(shown, expected, rtol=1e-5)
    assert image.get_clim()[0] == 0.0


def test_mixed_layers_and_potts_hidden_layers_are_drawn():
    mixed = hm.Mixed(hm.Bernoulli(3), hm.Potts(7, states=3))
    figure = filters(hm.RBM(mixed, hm.Potts(2, states=3), np.asarray(WEIGHTS, np.float32)))
    assert drawn(figure).get_array().shape == (10, 6)
    assert "6 of 6 hidden columns" in title(figure)


def test_a_model_of_no_weights_is_drawn():
    image = drawn(filters(model(hm.Bernoulli(24), np.zeros((24, 6)))))
    assert image.get_clim() == (-1.0, 1.0)


def test_a_single_weight_far_out_still_has_a_colour():
    weights = np.zeros((400, 6))
    weights[3, 1] = 0.25
    assert drawn(filters(model(hm.Bernoulli(400), weights))).get_clim()[1] == 0.25


def test_all_text_is_large_enough():
    figure = filters(model(hm.Bernoulli(24)))
    drawn(figure)
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8


def test_mistakes_are_named():
    rbm = model(hm.Bernoulli(24))
    with pytest.raises(hm.InputError, match=r"24 pixels.*with 784"):
        filters(rbm, image_shape=(28, 28))
    with pytest.raises(hm.InputError, match="count: expected"):
        filters(rbm, count=0)
    with pytest.raises(hm.InputError, match=r"rbm\.weights: expected finite.*in 144"):
        filters(model(hm.Bernoulli(24), WEIGHTS * np.nan))


def test_shared_filters_are_drawn_once():
    weights = hm.weights.ConvolutionalWeights(np.arange(12.0).reshape(2, 2, 3), (4, 5))
    rbm = hm.RBM(hm.Bernoulli(20), hm.Bernoulli(18), weights)
    figure = filters(rbm)
    assert figure.get_suptitle() == "2 of 2 filters by weight norm, largest first"
    sequence = hm.weights.ConvolutionalWeights(np.ones((3, 2, 4)), (6,))
    rbm = hm.RBM(hm.Potts(6, states=4), hm.Bernoulli(15), sequence)
    figure = filters(rbm)
    axes = figure.axes[0]
    assert axes.get_ylabel() == "place in the window"
    np.testing.assert_allclose(np.asarray(axes.images[0].get_array()), 2.0)  # of four states
