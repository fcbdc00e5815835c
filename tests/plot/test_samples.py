"""Plots of samples beside data: the same number of rows and the same grey scale."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import samples_beside_data
from harmonium.plot.base import tiled

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (50, 20)).astype(np.uint8)


def drawn(figure):
    """Lay out the figure, and return the images of data and samples."""
    figure.draw_without_rendering()
    return [axes.images[0] for axes in figure.axes[:2]]


def test_both_panels_show_as_many_rows():
    figure = samples_beside_data(BITS[:7], BITS, image_shape=(4, 5))
    data, samples = drawn(figure)
    chosen = BITS[[0, 8, 16, 24, 33, 41, 49]]
    for image, rows in ((data, chosen), (samples, BITS[:7])):
        shown = np.ma.filled(image.get_array(), np.nan)
        np.testing.assert_array_equal(shown, tiled(rows.reshape(-1, 4, 5).astype(float)))
    titles = [axes.get_title(loc="left") for axes in figure.axes[:2]]
    assert titles == ["data: 7 of 50 rows", "samples: 7 of 7 rows"]


def test_without_a_shape_rows_are_lines():
    data, samples = drawn(samples_beside_data(BITS[::-1], BITS, count=50))
    np.testing.assert_array_equal(data.get_array(), BITS)
    np.testing.assert_array_equal(samples.get_array(), BITS[::-1])


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (BITS, (0.0, 1.0)),
        (BITS > 0, (0.0, 1.0)),
        (BITS / 4, (0.0, 1.0)),
        (2.0 * BITS - 1.0, (-1.0, 1.0)),
        (7 * BITS, (0.0, 7.0)),
        (BITS * 5.0 - 3.0, (-3.0, 2.0)),
    ],
)
def test_both_panels_share_one_grey_scale(data, ends):
    samples = np.zeros_like(data) if data.min() == 0 else data[:, ::-1]
    images = drawn(samples_beside_data(samples, data))
    assert [image.get_clim() for image in images] == [ends, ends]


def test_one_row_and_constant_rows_are_drawn():
    drawn(samples_beside_data(BITS[:1], BITS, image_shape=(20, 1)))
    drawn(samples_beside_data(np.full((3, 20), 5.0), np.full((3, 20), 5.0)))


def test_mistakes_are_named():
    with pytest.raises(hm.InputError, match=r"20 pixels.*columns of data.*\(8, 8\)"):
        samples_beside_data(BITS, BITS, image_shape=(8, 8))
    with pytest.raises(hm.InputError, match="expected 20 columns"):
        samples_beside_data(BITS[:, :4], BITS)
    with pytest.raises(hm.InputError, match="count: expected"):
        samples_beside_data(BITS, BITS, count=-1)
