import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [hm.Potts(2, states=3)]


def test_rows_are_codes_and_states_are_one_hot():
    layer = hm.Potts(2, states=3)
    assert (layer.size, layer.n_units) == (6, 2)
    x = layer.encode(np.array([[2, 0]]))
    np.testing.assert_array_equal(x, [[0, 0, 1, 1, 0, 0]])
    np.testing.assert_array_equal(layer.decode(x), [[2, 0]])
    assert layer.decode(x).dtype == np.uint8
    assert hm.Potts(1, states=300).decode(np.eye(300)[[299]]).tolist() == [[299]]


def test_codes_out_of_range_are_refused():
    with pytest.raises(hm.InputError, match="integer codes from 0 to 2; got 3 in row 0, column 1"):
        hm.Potts(2, states=3).validate([[0, 3]])
    with pytest.raises(hm.InputError, match=r"got 0\.5"):
        hm.Potts(2, states=3).validate([[0.5, 1.0]])
    with pytest.raises(hm.InputError, match="at least 2"):
        hm.Potts(2, states=1)
