"""Masked weights, between some pairs of units only."""

import jax
import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [lambda w: hm.weights.MaskedWeights(w, np.indices(w.shape).sum(0) % 3 > 0)]


def lattice(side: int) -> np.ndarray:
    """Connect each visible pixel of a picture with the hidden units above it and beside it."""
    places = np.indices((side, side)).reshape(2, -1)
    apart = np.abs(places[:, :, None] - places[:, None, :]).sum(0)
    return apart <= 1


def test_invalid_patterns_are_refused():
    with pytest.raises(hm.InputError, match="matrix of 0 and 1"):
        hm.weights.MaskedWeights(np.ones((2, 2)), [[0, 2], [1, 1]])
    with pytest.raises(hm.InputError, match=r"shape of the weights.*\(2, 2\)"):
        hm.weights.MaskedWeights(np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(hm.InputError, match="array or AbstractWeights; got Pattern"):
        hm.RBM(hm.Ising(1), hm.Ising(1), hm.weights.MaskedWeights([[1.0]], [[1]]).pattern)


def test_a_lattice_stays_a_lattice():
    """Through 1,000 updates with momentum, decay, centring, sparsity, penalties and averaging."""
    pattern = lattice(3)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 9)).astype(float)
    rows[:, 1] = rows[:, 0]
    layers = hm.Bernoulli(9), hm.Bernoulli(9)
    rbm = hm.initialize(*layers, rows, key=jax.random.key(0), pattern=pattern)
    recipe = hm.Recipe(momentum=0.9, decay=1e-3, penalties=(hm.L1(1e-4),))
    fitted = hm.fit(rbm, rows, key=jax.random.key(1), optimizer=recipe, epochs=1_000)
    for model in (fitted.rbm, fitted.state.rbm):
        assert (np.asarray(model.weights.weights)[~pattern] == 0).all()
        assert (np.asarray(model.dense_weights)[pattern] != 0).mean() > 0.5
    before, after = (hm.log_likelihood(m, rows).value for m in (rbm, fitted.rbm))
    assert after > before + 0.1


def test_a_pattern_of_units_is_one_of_columns():
    """A site of three states is connected with all of them or none."""
    visible = hm.Potts(2, states=3)
    hidden = hm.Mixed(hm.Potts(1, states=2), hm.Ising(1))
    rbm = hm.initialize(visible, hidden, key=jax.random.key(0), pattern=[[1, 0], [0, 1]])
    expected = np.repeat(np.array([[1, 1, 0], [0, 0, 1]], bool), 3, axis=0)
    np.testing.assert_array_equal(rbm.weights.connected, expected)
    np.testing.assert_array_equal(rbm.dense_weights != 0, expected)
    for wrong in (np.ones((6, 3)), [[0, 2], [1, 1]]):
        with pytest.raises(hm.InputError, match=r"pattern: expected a matrix .* \(2, 2\)"):
            hm.initialize(visible, hidden, key=jax.random.key(0), pattern=wrong)


def test_first_connections_are_among_the_allowed_ones():
    pattern = np.tri(6, 4)
    layers = (hm.Bernoulli(6), hm.Bernoulli(4))
    key = jax.random.key(0)
    rbm = hm.initialize(*layers, key=key, pattern=pattern, connections=2)
    weights = np.asarray(rbm.dense_weights)
    assert not weights[pattern == 0].any()
    assert ((weights != 0).sum(0) <= 2).all()
    assert weights.any()
    blocks = hm.weights.BlockWeights([[np.zeros((6, 4))]])
    with pytest.raises(hm.InputError, match="connections: expected None, since the pattern"):
        hm.initialize(*layers, key=key, pattern=blocks, connections=2)
