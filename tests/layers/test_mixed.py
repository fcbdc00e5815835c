import jax
import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [
    hm.Mixed(hm.Bernoulli(1), hm.Potts(1, states=3), hm.Ising(1)),
    hm.Mixed(hm.Bernoulli(2), hm.Gaussian(1, precision=[1.5])),
]


def test_units_columns_and_states():
    layer = EXAMPLES[0]
    assert (layer.size, layer.n_units, layer.n_states) == (5, 3, 12)
    assert EXAMPLES[1].n_states is None
    rows = np.array([[1, 2, -1], [0, 0, 1]])
    np.testing.assert_array_equal(layer.decode(layer.encode(rows)), rows)


def test_a_wrong_entry_is_named_by_its_own_column():
    with pytest.raises(hm.InputError, match="codes from 0 to 2; got 5 in row 0, column 1"):
        EXAMPLES[0].validate([[1, 5, -1]])
    with pytest.raises(hm.InputError, match="expected one or more layers"):
        hm.Mixed()


def test_parts_draw_with_keys_of_their_own():
    layer = hm.Mixed(hm.Gaussian(50), hm.Gaussian(50))
    x = layer.sample(layer.zero_inputs, key=jax.random.key(0))
    assert not np.allclose(x[:50], x[50:])
