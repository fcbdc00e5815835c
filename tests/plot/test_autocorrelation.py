"""Plots of autocorrelations: curves at their lags, on an axis that fits the lags."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import autocorrelations

LAGS = np.arange(6)
CURVES = [np.exp(-LAGS / 2.0), np.exp(-LAGS / 5.0)]
NAMES = ["energy", "magnetisation"]


def drawn(figure):
    figure.draw_without_rendering()
    axes = figure.axes[0]
    return axes, [line for line in axes.lines if not line.get_label().startswith("_")]


def test_curves_are_drawn_at_their_lags():
    axes, lines = drawn(autocorrelations(CURVES, names=NAMES, sweeps=LAGS))
    for line, curve, name in zip(lines, CURVES, NAMES, strict=True):
        np.testing.assert_allclose(line.get_xdata(), LAGS)
        np.testing.assert_allclose(line.get_ydata(), curve)
        assert line.get_label() == name
    assert axes.get_xscale() == "linear"
    assert axes.lines[0].get_ydata()[0] == 0.0


def test_a_number_is_the_step_between_lags():
    _, lines = drawn(autocorrelations(CURVES, names=NAMES, sweeps=10))
    np.testing.assert_allclose(lines[0].get_xdata(), 10 * LAGS)


@pytest.mark.parametrize(
    ("lags", "scale"),
    [
        ([0, 1, 3, 10, 100, 1_000], "symlog"),
        ([1, 2, 4, 8, 16, 32], "symlog"),
        ([0, 1, 2, 3, 4, 1_000], "symlog"),
        ([0, 1, 2, 3, 5, 6], "linear"),
        (np.arange(6) * 1_000, "linear"),
    ],
)
def test_lags_that_grow_get_a_logarithmic_axis(lags, scale):
    axes, lines = drawn(autocorrelations(CURVES, names=NAMES, sweeps=lags))
    assert axes.get_xscale() == scale
    np.testing.assert_allclose(lines[0].get_xdata(), lags)


def test_many_curves_and_a_single_lag_are_drawn():
    many = autocorrelations(CURVES * 8, names=[f"x{i}" for i in range(16)], sweeps=LAGS)
    _, lines = drawn(many)
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 16
    drawn(autocorrelations([[1.0]], names=["energy"], sweeps=1))
    drawn(autocorrelations([[1.0]], names=["energy"], sweeps=[0]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"curves": CURVES[0]}, "curves: expected a non-empty array"),
        ({"curves": [[1.0, 0.5], [1.0]]}, "curves: expected rows of equal length"),
        (
            {"curves": [CURVES[0], CURVES[0] * np.nan]},
            "curves: expected finite.*observable that never changes",
        ),
        ({"names": ["energy"]}, r"names: expected a list of one name per curve \(2 in all\)"),
        ({"names": "xy"}, r"one name per curve \(2 in all\); got 'xy'"),
        ({"sweeps": LAGS[:3]}, r"sweeps: expected one lag .* \(6 in all\).*got 3"),
        ({"sweeps": LAGS[::-1]}, "sweeps: expected one lag .*ascending"),
        ({"sweeps": LAGS - 1}, "non-negative"),
        ({"sweeps": 0}, "sweeps: expected a whole number"),
    ],
)
def test_mistakes_are_named(change, words):
    with pytest.raises(hm.InputError, match=words):
        autocorrelations(**({"curves": CURVES, "names": NAMES, "sweeps": LAGS} | change))
