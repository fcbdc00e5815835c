import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [
    hm.Categorical(2, states=(3, 2)),
    hm.Categorical(2, states=(2, 4), orders=[(), (1, 0, 2, 3)]),
]


def test_rows_are_codes_and_states_are_one_hot():
    layer = hm.Categorical(3, states=(3, 2, 4))
    assert (layer.size, layer.n_units) == (9, 3)
    x = layer.encode(np.array([[2, 0, 3]]))
    np.testing.assert_array_equal(x, [[0, 0, 1, 1, 0, 0, 0, 0, 1]])
    np.testing.assert_array_equal(layer.decode(x), [[2, 0, 3]])
    assert layer.decode(x).dtype == np.uint8
    assert str(layer) == "Categorical(states=(3, 2, 4))"


def test_with_equal_numbers_of_states_it_is_a_potts_layer():
    key = jax.random.key(0)
    bias, inputs = jax.random.normal(key, (2, 12))
    categorical = hm.Categorical(3, 4, bias)
    potts = hm.Potts(3, 4, bias)
    states = categorical.states(jnp.arange(64))
    np.testing.assert_array_equal(states, potts.states(jnp.arange(64)))
    np.testing.assert_allclose(categorical.unit_cgfs(inputs), potts.unit_cgfs(inputs), rtol=1e-6)
    np.testing.assert_allclose(categorical.mean(inputs), potts.mean(inputs), rtol=1e-6)
    np.testing.assert_allclose(categorical.variance(inputs), potts.variance(inputs), rtol=1e-5)
    np.testing.assert_allclose(
        categorical.fit_moments(states).bias, potts.fit_moments(states).bias, atol=1e-6
    )


def test_a_unit_far_below_another_keeps_its_digits():
    layer = hm.Categorical(2, states=(2, 3))
    inputs = jnp.array([300.0, 299.0, -300.0, -300.0, -301.0])
    np.testing.assert_allclose(layer.fold(layer.mean(inputs)), 1.0, rtol=1e-6)
    np.testing.assert_allclose(layer.unit_cgfs(inputs)[1], -300 + np.log(2 + np.exp(-1)), rtol=1e-6)


def test_every_draw_has_one_state_a_unit_and_none_of_no_probability():
    layer = hm.Categorical(3, states=(2, 5, 3))
    inputs = jnp.array([0.0, -1e9] + [0.0] * 5 + [0.0, -1e9, 2.0])
    drawn = layer.sample(jnp.broadcast_to(inputs, (20_000, 10)), key=jax.random.key(1))
    assert (layer.fold(drawn) == 1).all()
    assert not drawn[:, [1, 8]].any()


def test_what_is_no_number_of_states_is_refused():
    for states in ((3,), (1, 2), 1):
        with pytest.raises(hm.InputError, match="Categorical: expected a positive size"):
            hm.Categorical(2, states=states)
    with pytest.raises(hm.InputError, match="integer codes from 0 to 1; got 2 in row 0, col"):
        hm.Categorical(2, states=(3, 2)).validate([[2, 2]])
    with pytest.raises(hm.InputError, match=r"number that can be indexed; got about 2\^40"):
        hm.Categorical(40, 2).states(jnp.arange(2))


def test_a_missing_unit_leaves_the_others_known():
    layer = hm.Categorical(2, states=(2, 3))
    x = jnp.array([jnp.nan, jnp.nan, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(layer.fold(x), [np.nan, 1.0])


def test_fields_of_states_in_order_are_mostly_slopes():
    """(SSᵀ)⁻¹ has the trace of the identity, of which the slope has all but a twentieth."""
    layer = hm.Categorical(3, states=(9, 3, 4), orders=[range(9), (), (1, 0, 2, 3)])
    columns = layer.ordered_columns
    np.testing.assert_array_equal(columns, [*range(9), 13, 12, 14, 15])
    smoothing = np.asarray(layer.smoothing)
    covariance = np.linalg.inv(smoothing @ smoothing.T)
    np.testing.assert_allclose(covariance[:9, 9:], 0.0, atol=1e-12)
    for own in (covariance[:9, :9], covariance[9:, 9:]):
        count = len(own)
        assert np.trace(own) == pytest.approx(count)
        np.testing.assert_allclose(own.sum(0), 1.0)  # what is the same for all states is apart
        values, vectors = np.linalg.eigh(own)
        np.testing.assert_allclose(values[: count - 2], 0.05)  # bends
        assert values[-1] == pytest.approx(0.95 * (count - 1) + 0.05)
        assert abs(np.corrcoef(vectors[:, -1], np.arange(count))[0, 1]) == pytest.approx(1.0)
    assert hm.Categorical(2, 3).smoothing.shape == (0, 0)


def test_orders_name_every_state_once():
    for orders in ([(0, 1, 2)], [(0, 1), ()], [(0, 1, 1), ()]):
        with pytest.raises(hm.InputError, match="Categorical orders: expected, for each unit"):
            hm.Categorical(2, states=3, orders=orders)
