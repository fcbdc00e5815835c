"""The display of a run, on a terminal and in a pipe."""

import io
import os

import pytest

from harmonium.runs.display import Display, PatientConsole, clock, describe_metrics, nats, short
from harmonium.training import Report


def report(updates: int, **metrics: float) -> Report:
    epoch = updates / 10
    measured = {"update": updates, "epoch": epoch} | metrics if metrics else {}
    nothing = None  # a display uses neither the model nor the state
    return Report(updates, 1000, epoch, 100.0, 1.0, 12_345.6, 61.7, measured, nothing, nothing)


def shown(terminal: bool, reports: list[Report]) -> str:
    file = io.StringIO()
    console = PatientConsole(file=file, force_terminal=terminal, width=80)
    with Display(console) as display:
        for report in reports:
            display(report)
        display.say("done " + "x" * 200)
    return file.getvalue()


def test_a_pipe_sees_whole_plain_lines():
    text = shown(False, [report(10, log_likelihood=-2.5, log_likelihood_low=-2.75,
                                log_likelihood_high=-2.25, free_energy_gap=0.5), report(15),
                         report(20, free_energy_gap=0.25), report(100, free_energy_gap=0.1),
                         report(1000, free_energy_gap=-0.1)])  # fmt: skip
    first, second, last, said = text.splitlines()
    assert first == (
        "epoch 1/100  log-likelihood -2.50 [-2.75, -2.25]  free-energy gap +0.50"
        "  12.3k samples/s  0:16 left"
    )
    assert second.startswith("epoch 10/100  log-likelihood -2.50 [-2.75, -2.25] (epoch 1)  free")
    assert last.startswith("epoch 100/100  ")  # the end is always reported
    assert said == "done " + "x" * 200
    assert "\x1b" not in text


def test_a_terminal_sees_everything_within_its_width():
    known = {"log_likelihood": -12.5, "log_likelihood_low": -12.75, "log_likelihood_high": -12.25}
    text = shown(True, [report(500, free_energy_gap=0.5, **known)])
    assert "epoch 50/100" in text
    assert "12.3k samples/s" in text
    assert "0:08 left" in text
    assert "log-likelihood -12.50 [-12.75, -12.25]  free-energy gap +0.50" in text
    assert "…" not in text


def test_a_display_that_an_error_ends_is_closed():
    console = PatientConsole(file=io.StringIO(), force_terminal=True)
    display = Display(console)
    with pytest.raises(KeyboardInterrupt), display:
        raise KeyboardInterrupt
    assert display.live is None


def test_a_reader_that_goes_away_ends_the_display_and_not_the_run():
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as file:  # noqa: PTH123  (a file descriptor)
        display = Display(PatientConsole(file=file))
        for _ in range(3):
            display.say("nobody hears this")
        display(report(1000, free_energy_gap=1.0))


def test_progress_of_a_long_computation(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("harmonium.runs.display.common_clock", lambda: now[0])
    file = io.StringIO()
    progress = Display(PatientConsole(file=file)).timer("log Z")
    parts = ((1.0, 0.1), (6.0, 0.5), (7.0, 0.6), (20.0, 1.0), (22.0, 0.1), (27.0, 0.5))
    for second, part in parts:
        now[0] = second
        progress(part)
    expected = "log Z: 50 %, at most 0:06 left\nlog Z (attempt 2): 50 %, at most 0:05 left\n"
    assert file.getvalue() == expected


def test_what_is_left_is_not_more_than_the_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("harmonium.runs.display.common_clock", lambda: now[0])
    file = io.StringIO()
    progress = Display(PatientConsole(file=file)).timer("log Z", 60.0)
    now[0] = 10.0
    progress(0.01)
    assert file.getvalue() == "log Z: 1 %, at most 0:50 left\n"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nats(-1.234), "-1.23"),
        (lambda: nats(0.5, sign="+"), "+0.50"),
        (lambda: nats(-5.4928e28), "-5.493e+28"),
        (lambda: nats(None), "unknown"),
        (lambda: nats(float("nan")), "unknown"),
        (lambda: nats(float("-inf")), "unknown"),
        (lambda: short(950), "950"),
        (lambda: short(12_345), "12.3k"),
        (lambda: short(4_560_000), "4.56M"),
        (lambda: clock(7.4), "0:07"),
        (lambda: clock(750), "12:30"),
        (lambda: clock(11_100), "3:05:00"),
        (lambda: describe_metrics({}), ""),
    ],
)
def test_the_form_of_numbers(call, text):
    assert call() == text
