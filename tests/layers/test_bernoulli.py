import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [hm.Bernoulli(4)]


def test_fractions_are_allowed_and_others_refused():
    layer = hm.Bernoulli(2)
    assert layer.validate([[0.25, 1.0]]).shape == (1, 2)
    with pytest.raises(hm.InputError, match=r"values in \[0, 1\]; got 1.5 in row 1, column 0"):
        layer.validate([[0, 1], [1.5, 0]])


def test_sizes_and_shapes_are_checked():
    for size in (0, -3, True):
        with pytest.raises(hm.InputError, match="whole number of at least 1"):
            hm.Bernoulli(size)
    with pytest.raises(hm.InputError, match=r"expected shape \(3,\); got \(2,\)"):
        hm.Bernoulli(3, bias=[0.0, 1.0])
    with pytest.raises(hm.InputError, match="finite numbers; got nan in row 0, column 1"):
        hm.Bernoulli(2).validate(np.array([[0.0, np.nan]]))


def test_rows_come_back_as_bytes():
    assert hm.Bernoulli(2).decode(np.array([[0.0, 1.0]])).dtype == np.uint8
