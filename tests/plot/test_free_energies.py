"""Plots of free energies: histograms of area 1 of data and samples, with their medians."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import energies
from harmonium.plot.base import BLUE, GREY

RNG = np.random.default_rng(0)
DATA = RNG.normal(-50.0, 3.0, 800)
SAMPLES = RNG.normal(-45.0, 3.0, 300)


def drawn(figure):
    figure.draw_without_rendering()
    axes = figure.axes[0]
    outlines = [patch.get_data() for patch in axes.patches if not patch.get_fill()]
    lines = [(line.get_xdata()[0], line.get_color()) for line in axes.lines]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    return outlines, lines, texts


def test_both_histograms_have_area_one_and_common_bins():
    outlines, lines, texts = drawn(energies(DATA, SAMPLES))
    assert [float((o.values * np.diff(o.edges)).sum()) for o in outlines] == pytest.approx([1, 1])
    np.testing.assert_array_equal(outlines[0].edges, outlines[1].edges)
    assert lines == [(np.median(DATA), GREY), (np.median(SAMPLES), BLUE)]
    assert texts[0] == f"data (n = 800): median {np.median(DATA):.2f}".replace("-", "−")
    assert texts[1].startswith("samples (n = 300)")


def test_far_tails_are_cut_off_and_counted():
    outlines, _, texts = drawn(energies(np.append(DATA, 1e6), SAMPLES))
    assert outlines[0].edges[-1] < 0.0
    assert texts[0].endswith("(1 beyond the axis)")
    assert float((outlines[0].values * np.diff(outlines[0].edges)).sum()) == pytest.approx(
        800 / 801
    )
    assert "beyond" not in texts[1]


@pytest.mark.parametrize("values", [[3.0], [0.0, 0.0], [1e9, 1e9], np.arange(3)])
def test_few_and_equal_values_are_drawn(values):
    outlines, _, _ = drawn(energies(values, values))
    assert outlines[0].edges[0] <= min(values) <= max(values) <= outlines[0].edges[-1]
    assert outlines[0].values.max() > 0.0


@pytest.mark.parametrize(
    ("data", "samples", "words"),
    [
        (DATA[:, None], SAMPLES, "data_energies: expected a non-empty array"),
        (DATA, [], "sample_energies: expected a non-empty array"),
        (DATA, [1.0, np.nan], "sample_energies: expected finite numbers; got NaN or infinity in 1"),
        (["x"], SAMPLES, "data_energies: expected a non-empty array"),
    ],
)
def test_mistakes_are_named(data, samples, words):
    with pytest.raises(hm.InputError, match=words):
        energies(data, samples)
