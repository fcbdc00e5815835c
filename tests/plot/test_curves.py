"""Learning curves: one panel for each measured value, and no others."""

import math

import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import learning_curves


def record(epoch: int, **more) -> dict:
    fixed = {"update": 10 * epoch, "epoch": float(epoch), "seconds": 0.1 * epoch}
    return {**fixed, "samples_per_second": 76_543.2, "free_energy": -10.0 - epoch, **more}


def likelihood(value: float) -> dict:
    ends = {"log_likelihood_low": value - 0.5, "log_likelihood_high": value + 0.25}
    return {"log_likelihood": value, **ends}


def drawn(history):
    figure = learning_curves(history)
    figure.draw_without_rendering()
    return figure


def titles(figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_only_what_was_measured_has_a_panel():
    figure = drawn([record(1), record(2)])
    assert titles(figure) == ["Mean free energy of training rows"]
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [1.0, 2.0])
    np.testing.assert_array_equal(line.get_ydata(), [-11.0, -12.0])
    assert figure.axes[0].get_xlabel() == "epoch"
    assert figure.axes[0].get_ylabel() == "nats per row"
    assert figure.get_suptitle() == "Learning curves · 20 updates · 77,000 rows per second"


def test_values_that_only_some_records_have():
    history = [record(e, free_energy_gap=0.1 * e) for e in range(1, 7)]
    history[2] |= likelihood(-20.0)
    history[5] |= likelihood(-15.0)
    figure = drawn(history)
    assert len(figure.axes) == 3
    assert titles(figure)[0] == "Log-likelihood"
    line = figure.axes[0].lines[0]
    band = figure.axes[0].collections[0]
    np.testing.assert_array_equal(line.get_xdata(), [3.0, 6.0])
    corners = {tuple(point) for point in band.get_paths()[0].vertices}
    assert {(3.0, -20.5), (3.0, -19.75), (6.0, -15.5), (6.0, -14.75)} <= corners
    assert len(figure.axes[1].lines[0].get_xdata()) == 6


def test_all_measured_values_are_drawn_in_two_columns():
    more = {"free_energy_gap_stderr": 0.25, "reconstruction": 0.1, "pseudo_log_likelihood": -9.0}
    figure = drawn([record(e, free_energy_gap=0.5, **more, **likelihood(-3.0)) for e in (1, 2)])
    assert [axes.get_gridspec().ncols for axes in figure.axes] == [2] * 5
    assert titles(figure)[1] == "Pseudo-log-likelihood, sum over units"
    band = figure.axes[2].collections[0].get_paths()[0].vertices
    assert {tuple(point) for point in band} == {(e, y) for e in (1.0, 2.0) for y in (0.25, 0.75)}
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "", "epoch", "epoch"]


def test_a_single_measurement_can_be_seen():
    figure = drawn([record(4, **likelihood(-3.0))])
    assert figure.axes[0].lines[0].get_marker() == "."
    (bar,) = figure.axes[0].collections[0].get_segments()
    np.testing.assert_array_equal(bar, [[4.0, -3.5], [4.0, -2.75]])


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf, "diverged"])
def test_entries_that_are_no_numbers_are_left_out(nothing):
    history = [record(1), record(2, free_energy=nothing, log_likelihood=nothing), record(3)]
    figure = drawn(history)
    assert len(figure.axes) == 1
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [1.0, 3.0])


@pytest.mark.parametrize("history", [[], [{"epoch": 1.0}]])
def test_a_run_without_measurements_says_so(history):
    figure = drawn(history)
    assert not figure.axes
    assert figure.texts[0].get_text() == "Nothing was measured in this run."


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (None, "expected a list of records.*got None"),
        ("metrics.jsonl", "expected a list of records.*got 'metrics.jsonl'"),
        ([1.0], "expected a list of records"),
        ([record(1), {"free_energy": 1.0}], "finite 'epoch'.*got None in record 1"),
        ([record(1) | {"epoch": math.nan}], "finite 'epoch'.*got nan in record 0"),
    ],
)
def test_mistakes_are_named(history, words):
    with pytest.raises(hm.InputError, match=words):
        learning_curves(history)
