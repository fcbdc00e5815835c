"""Rows shown as images: their shape, their grey scale, and which of many are shown."""

import numpy as np
import pytest

from harmonium import InputError
from harmonium._base.images import checked_shape, evenly_spaced, grey_scale


def test_evenly_spaced_takes_both_ends():
    rows = np.arange(10)[:, None]
    assert evenly_spaced(rows, 4).ravel().tolist() == [0, 3, 6, 9]
    assert evenly_spaced(rows, 10) is rows
    assert len(evenly_spaced(rows, 99)) == 10


def test_shapes_that_fit():
    assert checked_shape(None, 12, "pixels") is None
    assert checked_shape((3, 4), 12, "pixels") == (3, 4)
    assert checked_shape("square", 16, "pixels") == (4, 4)


@pytest.mark.parametrize(
    ("shape", "pixels", "words"),
    [
        ((28, 28), 64, r"expected 64 pixels.*got \(28, 28\), with 784"),
        ((64,), 64, "two positive whole numbers"),
        (64, 64, "two positive whole numbers"),
        ((-8, -8), 64, "two positive whole numbers"),
        ((8.0, 8.0), 64, "two positive whole numbers"),
        ("square", 60, "square number.*got 60"),
        ("square", 9, "square number.*got 9"),
        ("round", 64, "'square' or None; got 'round'"),
    ],
)
def test_shapes_that_do_not_fit(shape, pixels, words):
    with pytest.raises(InputError, match=words) as caught:
        checked_shape(shape, pixels, "visible units of the model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.2, 0.4], (0.0, 1.0)),
        ([-0.5, np.nan], (-1.0, 1.0)),
        ([3.0, 9.0], (3.0, 9.0)),
        ([], (0.0, 1.0)),
    ],
)
def test_grey_levels_and_spins_have_the_same_scale_whichever_rows_are_shown(values, ends):
    assert grey_scale(np.array(values), np.array([])) == ends
