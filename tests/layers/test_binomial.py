import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [hm.Binomial(2, total=3)]


def test_a_unit_is_a_sum_of_binary_units_with_the_same_weights():
    weights = jax.random.normal(jax.random.key(0), (1, 3))
    counts = hm.RBM(hm.Binomial(1, total=4, bias=[0.3]), hm.Bernoulli(3), weights)
    many = hm.RBM(
        hm.Bernoulli(4, bias=np.full(4, 0.3)), hm.Bernoulli(3), jnp.repeat(weights, 4, axis=0)
    )
    np.testing.assert_allclose(hm.log_z(counts).value, hm.log_z(many).value, rtol=1e-6)


def test_other_numbers_are_refused():
    for wrong in (4, -1, 1.5):
        with pytest.raises(hm.InputError, match="whole numbers from 0 to 3"):
            hm.Binomial(2, total=3).validate([[0.0, wrong]])
    with pytest.raises(hm.InputError, match="Binomial total"):
        hm.Binomial(2, total=0)


def test_counts_come_back_in_the_smallest_type():
    for total, kind in ((255, np.uint8), (256, np.uint16)):
        layer = hm.Binomial(2, total=total, bias=[9.0, -9.0])
        drawn = layer.decode(layer.sample_without_inputs((3,), key=jax.random.key(0)))
        assert drawn.dtype == kind
        assert (drawn[:, 0] > 0.9 * total).all()
