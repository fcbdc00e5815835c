"""Plots on the data's first two principal axes: same limits, same scale, right positions."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import pca_plane, planes

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(200, 4)) * [4.0, 2.0, 1.0, 0.5] + 10.0
SAMPLES = DATA[:50] + 1.0


def drawn(figure):
    figure.draw_without_rendering()
    return figure.axes


def test_points_are_projections_on_the_axes_of_the_data():
    left, right = drawn(pca_plane(SAMPLES, DATA))
    centred = DATA - DATA.mean(0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    fraction = singular**2 / (singular**2).sum()
    offsets = np.asarray(left.collections[0].get_offsets())
    expected = np.abs(centred @ axes[:2].T)
    np.testing.assert_allclose(np.sort(np.abs(offsets), 0), np.sort(expected, 0), atol=1e-6)
    assert len(right.collections[1].get_offsets()) == 50
    assert left.get_xlabel() == f"axis 1: {fraction[0]:.1%} of the data's variance"
    assert left.get_ylabel() == f"axis 2: {fraction[1]:.1%} of the data's variance"
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()
    assert right.get_title(loc="left") == "samples: 50 rows"


def test_rows_at_one_place_are_one_point_of_their_area():
    corners = np.array([[0, 0], [0, 1], [1, 1]])
    left, _ = drawn(pca_plane(corners.repeat([5, 5, 10], axis=0), corners.repeat(7, axis=0)))
    assert len(left.collections[0].get_offsets()) == 3
    _, right = drawn(pca_plane(corners.repeat([5, 5, 10], axis=0), corners.repeat(7, axis=0)))
    areas = right.collections[1].get_sizes()
    np.testing.assert_allclose(areas / planes.BUBBLES, [0.5, 0.25, 0.25])


def test_many_rows_are_shares_in_cells_of_one_scale():
    data = RNG.normal(size=(3_000, 3))
    samples = RNG.normal(size=(2_000, 3)) / 2
    left, right = drawn(pca_plane(samples, data))
    shown = [axes.collections[-1] for axes in (left, right)]
    sums = [float(np.ma.filled(mesh.get_array(), 0.0).sum()) for mesh in shown]
    assert sums == pytest.approx([1.0, 1.0])
    assert shown[0].get_clim() == shown[1].get_clim()
    pale = np.ma.filled(right.collections[0].get_array(), 0.0)
    np.testing.assert_array_equal(pale > 0, np.ma.filled(shown[0].get_array(), 0.0) > 0)


def test_many_rows_of_few_states_are_points():
    bits = RNG.integers(0, 2, (3_000, 3))
    left, _ = drawn(pca_plane(bits, bits))
    assert len(left.collections[0].get_offsets()) == 8


def test_codes_are_counted_state_by_state():
    codes = np.array([[0], [1], [2]]).repeat(30, axis=0)
    left, _ = drawn(pca_plane(codes, codes, states=3))
    sides = np.asarray(left.collections[0].get_offsets())
    lengths = [np.linalg.norm(sides[i] - sides[i - 1]) for i in range(3)]
    np.testing.assert_allclose(lengths, np.sqrt(2.0))  # all codes are equally far apart


@pytest.mark.parametrize(
    "rows",
    [np.ones((5, 3)), RNG.normal(size=(5, 1)), RNG.normal(size=(600, 1)), RNG.normal(size=(1, 4))],
)
def test_fewer_axes_than_two_are_drawn(rows):
    left, _ = drawn(pca_plane(rows, rows))
    assert left.get_ylabel() == "axis 2: 0.0% of the data's variance"


def test_rows_are_limited(monkeypatch):
    monkeypatch.setattr(planes, "MOST_ROWS", 30)
    left, right = drawn(pca_plane(SAMPLES, DATA))
    assert left.get_title(loc="left") == "data: 30 of 200 rows"
    assert len(right.collections[1].get_offsets()) == 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": SAMPLES[:, :2]}, "samples: expected 4 columns"),
        ({"data": DATA * np.nan}, "data: expected finite"),
        ({"states": 3}, "data: expected codes from 0 to 2"),
        ({"states": [1, 1]}, "states: expected one number, or one for each of the 4"),
    ],
)
def test_mistakes_are_named(options, words):
    with pytest.raises(hm.InputError, match=words):
        pca_plane(**({"samples": SAMPLES, "data": DATA} | options))
