"""Filters shared over positions, against sums written out."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.weights import ConvolutionalWeights


def of_one_window(weights):
    """Return filters whose window is the whole sequence, which can be any weights."""
    return ConvolutionalWeights(weights.T, (len(weights),))


EXAMPLES = [of_one_window]
CASES = [
    # grid, window, channels, filters, stride, padding
    ((5,), (2,), 1, 3, 1, "valid"),
    ((6,), (3,), 2, 2, 2, "periodic"),
    ((5,), (3,), 2, 2, 2, "same"),
    ((4, 5), (2, 3), 1, 2, 1, "valid"),
    ((4, 6), (3, 2), 2, 2, (2, 3), "periodic"),
    ((3, 4), (2, 2), 3, 2, 1, "same"),
    ((3, 2, 4), (2, 2, 2), 1, 2, 1, "periodic"),
]


def random_weights(grid, window, channels, filters, stride, padding, seed=0):
    shape = (filters, *window, channels)
    values = np.random.default_rng(seed).normal(size=shape)
    return ConvolutionalWeights(values, grid, stride, padding)


def by_definition(weights) -> np.ndarray:
    """Return W, entry by entry, from I_pk = Σ f_koc v_{s p + o, c}."""
    filters = np.asarray(weights.filters)
    grid = weights.grid
    pairs = list(zip(grid, weights.window, weights.stride, weights.maps, strict=True))
    before = [0] * len(grid)
    if weights.padding == "same":  # as few pixels as possible, one more after than before
        before = [max((m - 1) * s + w - n, 0) // 2 for n, w, s, m in pairs]
    channels = filters.shape[-1]
    w = np.zeros((*grid, channels, *weights.maps, len(filters)))
    for p in itertools.product(*map(range, weights.maps)):
        for o in itertools.product(*map(range, weights.window)):
            steps = zip(p, weights.stride, o, before, strict=True)
            v = [a * s + b - c for a, s, b, c in steps]
            if weights.padding == "periodic":
                v = [a % n for a, n in zip(v, grid, strict=True)]
            if all(0 <= a < n for a, n in zip(v, grid, strict=True)):
                w[(*v, slice(None), *p)] += filters[(slice(None), *o)].T
    return w.reshape(np.prod(grid) * channels, -1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_products_are_those_of_the_definition(case):
    weights = random_weights(*case)
    w = by_definition(weights)
    assert weights.shape == w.shape
    np.testing.assert_allclose(weights.dense, w, atol=1e-6)
    np.testing.assert_allclose(weights.T.dense, w.T, atol=1e-6)
    rng = np.random.default_rng(1)
    v = rng.normal(size=(2, 3, w.shape[0]))
    h = rng.normal(size=(4, w.shape[1]))
    np.testing.assert_allclose(jnp.asarray(v) @ weights, v @ w, atol=1e-5)
    np.testing.assert_allclose(jnp.asarray(h) @ weights.T, h @ w.T, atol=1e-5)
    np.testing.assert_allclose(weights.replaced(jnp.asarray(w)).filters, weights.filters, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_by_filters_are_those_of_the_dense_weights(case):
    weights = random_weights(*case)
    rng = np.random.default_rng(1)
    v = jnp.asarray(rng.normal(size=(3, weights.shape[0])), jnp.float32)
    g = jnp.asarray(rng.normal(size=(3, weights.shape[1])), jnp.float32)

    def both(w):
        return ((v @ w) * g).sum() + jnp.tanh((g @ w.T) * v).sum()

    ours = eqx.filter_grad(both)(weights).filters
    expected = eqx.filter_grad(lambda w: both(w.dense))(weights).filters
    np.testing.assert_allclose(ours, expected, atol=1e-4)


@pytest.mark.parametrize(("grid", "window", "stride"), [((6,), (3,), 1), ((4, 6), (2, 3), 2)])
def test_a_periodic_model_is_the_same_when_both_layers_move(grid, window, stride):
    """Translation by a stride: E(v, h), F(v) and the conditional means move with the states."""
    weights = random_weights(grid, window, 2, 3, stride, "periodic")
    visible = hm.Potts(int(np.prod(grid)), states=2)
    rbm = hm.RBM(visible, hm.Bernoulli(weights.shape[1]), weights)
    key_v, key_h = jax.random.split(jax.random.key(0))
    v = rbm.visible.sample_without_inputs((5,), key=key_v)
    h = rbm.hidden.sample_without_inputs((5,), key=key_h)

    def moved(x, shape, step):
        array = x.reshape(5, *shape, -1)
        return jnp.roll(array, step, axis=range(1, len(shape) + 1)).reshape(5, -1)

    steps = (stride,) * len(grid)
    v_moved = moved(v, grid, steps)
    h_moved = moved(h, weights.maps, (1,) * len(grid))
    np.testing.assert_allclose(rbm.energy(v_moved, h_moved), rbm.energy(v, h), rtol=1e-5)
    np.testing.assert_allclose(rbm.free_energy(v_moved), rbm.free_energy(v), rtol=1e-5)
    means = moved(rbm.mean_h_from_v(v), weights.maps, (1,) * len(grid))
    np.testing.assert_allclose(rbm.mean_h_from_v(v_moved), means, atol=1e-5)


def test_a_convolutional_model_learns_and_is_stored(tmp_path):
    """A line of 8 spins, each like its neighbours: two filters of width 2 learn it."""
    rng = np.random.default_rng(0)
    flips = rng.random((500, 8)) < 0.1
    flips[:, 0] = rng.random(500) < 0.5
    rows = np.cumsum(flips, axis=1) % 2
    like = ConvolutionalWeights(np.zeros((2, 2)), (8,), padding="periodic")
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(8), hm.Bernoulli(16), rows, key=key, pattern=like)
    assert isinstance(rbm.weights, ConvolutionalWeights)
    recipe = hm.Recipe(rate=0.8)
    fit = hm.fit(rbm, rows, key=key, gradient="exact", epochs=500, optimizer=recipe)
    alone = hm.log_likelihood(rbm, rows).value
    assert hm.log_likelihood(fit.rbm, rows).value > alone + 1.0
    hm.save(fit.rbm, tmp_path / "model.safetensors")
    assert eqx.tree_equal(hm.load(tmp_path / "model.safetensors"), fit.rbm)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros((2, 6)), (5,)), "a window no larger than the image"),
        ((np.zeros((2, 3, 3)), (5,)), None),
        ((np.zeros((2, 3)), (5, 5)), "as many axes of the window as in the grid"),
        ((np.zeros((2, 3)), (5,), 1, "full"), "expected one of valid, same, periodic; got 'full'"),
        ((np.zeros((2, 3)), (5,), 2, "periodic"), "expected divisors of the sizes"),
        ((np.zeros((2, 3)), (5,), (1, 1)), "stride: expected one number per grid axis"),
        ((np.zeros((2, 0)), (5,)), "windows of at least one unit"),
        ((np.zeros((0, 3)), (5,)), "at least one filter"),
        (([["a", "b"]], (5,)), "filters: expected real numbers"),
        (([[1.0], [1.0, 2.0]], (5,)), "filters: expected rows of equal length"),
        ((np.zeros((2, 3), complex), (5,)), "filters: expected real numbers"),
        ((np.zeros((2, 3)), (0,)), "grid: expected a whole number of at least 1; got 0"),
    ],
)
def test_filters_that_do_not_fit_are_refused(arguments, words):
    if words is None:  # three channels
        assert ConvolutionalWeights(*arguments).shape == (15, 6)
        return
    with pytest.raises(hm.InputError, match=words):
        ConvolutionalWeights(*arguments)


def test_whole_numbers_are_converted():
    weights = ConvolutionalWeights(jnp.ones((2, 3), int), (5,))
    assert weights.filters.dtype == jnp.float32


def test_layers_that_do_not_fit_are_named():
    like = ConvolutionalWeights(np.zeros((2, 3)), (5,))
    with pytest.raises(hm.InputError, match="choose layers of 5 and 6 columns"):
        hm.initialize(hm.Bernoulli(5), hm.Bernoulli(7), key=jax.random.key(0), pattern=like)


def test_entries_that_differ_between_positions_are_refused():
    weights = random_weights(*CASES[0])
    with pytest.raises(hm.InputError, match="repeat at all positions"):
        weights.replaced(weights.dense.at[0, 0].add(1.0))
