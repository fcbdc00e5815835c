"""Plots of annealing runs: both estimates in their places, and the overlap in the headline."""

import numpy as np
import pytest
from scipy.special import logsumexp

import harmonium as hm
from harmonium.plot import annealing_runs
from harmonium.plot.base import BLUE, ORANGE

# Gaussian work of variance σ²: both annealing runs give log Z = 20 on average of e^w.
RNG = np.random.default_rng(0)
LOG_Z = 20.0
SIGMA = 0.8
FORWARD = RNG.normal(LOG_Z - SIGMA**2 / 2, SIGMA, 4_000)
REVERSE = RNG.normal(-LOG_Z - SIGMA**2 / 2, SIGMA, 3_000)


def drawn(figure):
    figure.draw_without_rendering()
    axes = figure.axes[0]
    lines = [(float(line.get_xdata()[0]), line.get_color()) for line in axes.lines]
    return axes.get_title(loc="left"), lines, [t.get_text() for t in figure.legends[0].get_texts()]


def test_estimates_are_one_sided_means_of_weights():
    _, lines, texts = drawn(annealing_runs(FORWARD, REVERSE))
    forward = logsumexp(FORWARD) - np.log(4_000)
    reverse = np.log(3_000) - logsumexp(REVERSE)
    assert [x for x, _ in lines] == pytest.approx([forward, reverse])
    assert [color for _, color in lines] == [BLUE, ORANGE]
    assert forward == pytest.approx(LOG_Z, abs=0.1)
    assert any(text.startswith("log Z from the forward run alone: ") for text in texts)


def test_the_headline_states_the_overlap():
    """Two normal distributions whose means differ by σ² overlap by 2Φ(−σ/2) = 69 %."""
    headline, _, _ = drawn(annealing_runs(FORWARD, REVERSE))
    shown = float(headline.split("by ")[1].rstrip("%"))
    assert shown == pytest.approx(69, abs=4)
    apart, _, _ = drawn(annealing_runs(FORWARD - 50.0, REVERSE))
    assert apart.startswith("Forward and reverse log weights do not overlap")
    assert drawn(annealing_runs(FORWARD, -FORWARD))[0].endswith("100%")


def test_value_and_interval_are_drawn():
    _, lines, texts = drawn(annealing_runs(FORWARD, REVERSE, value=20.0, low=19.9, high=20.1))
    assert (20.0, "black") in lines
    assert any(text.startswith("interval from 19.9") for text in texts)
    assert any(text.startswith("estimate of log Z: 20.0") for text in texts)
    _, lines, texts = drawn(annealing_runs(FORWARD, REVERSE, low=19.9, high=20.1))
    assert len(lines) == 2
    assert len(texts) == 5


def test_digits_tell_the_lines_apart():
    texts = drawn(annealing_runs([5.0], [-5.001], value=5.0005))[2]
    assert "log Z from the reverse run alone: 5.0010" in texts
    assert "estimate of log Z: 5.0005" in texts
    assert "estimate of log Z: −5.00" in drawn(annealing_runs([-5.0], [5.0], value=-5.0))[2]


def test_one_chain_and_equal_weights_are_drawn():
    assert drawn(annealing_runs([5.0], [-5.0]))[0].endswith("100%")
    drawn(annealing_runs([5.0] * 10, [-7.0] * 10))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"forward": [np.inf, 0.0]}, "forward: expected finite numbers; got NaN or infinity in 1"),
        ({"reverse": []}, "reverse: expected a non-empty array"),
        ({"low": 1.0}, "expected both ends"),
        ({"low": 2.0, "high": 1.0}, "expected low ≤ value ≤ high"),
        ({"value": 3.0, "low": 1.0, "high": 2.0}, "expected low ≤ value ≤ high"),
        ({"value": np.nan}, "expected finite numbers or None"),
        ({"value": "x"}, "expected finite numbers or None"),
    ],
)
def test_mistakes_are_named(change, words):
    with pytest.raises(hm.InputError, match=words):
        annealing_runs(**({"forward": FORWARD, "reverse": REVERSE} | change))
