"""Stages of an evaluation: results, reasons of failures, and the progress on the screen."""

import io

import pytest

import harmonium as hm
from harmonium.runs.display import Display, PatientConsole
from harmonium.runs.evaluation.base import NotKnown
from harmonium.runs.evaluation.progress import EvaluationProgress


def stages(terminal: bool = False) -> EvaluationProgress:
    console = PatientConsole(file=io.StringIO(), force_terminal=terminal, width=80)
    return EvaluationProgress(Display(console))


def fail(error: BaseException):
    def block(report):
        raise error

    return block


def test_a_block_returns_its_result_and_is_reported_in_a_pipe():
    blocks = stages()
    with blocks:
        assert blocks.attempt("mixing", lambda report: 3, at_most=20.0) == 3
        assert blocks.attempt("samples", lambda report: report(0.5)) is None
    assert blocks.display.console.file.getvalue() == "mixing, at most 20 s\nsamples\n"
    assert set(blocks.seconds) == {"mixing", "samples"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (hm.InputError("rows: expected 3;\ngot 2."), "rows: expected 3; got 2"),
        (MemoryError(), "memory ran out"),
        (RuntimeError("RESOURCE_EXHAUSTED: 9 GiB"), "memory ran out"),
        (KeyError("x"), "an internal error: KeyError: 'x'"),
    ],
)
def test_a_block_that_fails_returns_the_reason(error, reason):
    blocks = stages()
    with blocks:
        assert blocks.attempt("one", fail(error), title="first") == NotKnown("first", reason)
        assert blocks.attempt("other", lambda report: 1) == 1
    assert not blocks.interrupted


def test_after_an_interruption_nothing_more_is_done():
    blocks = stages()
    with blocks:
        assert blocks.attempt("one", fail(KeyboardInterrupt())) == NotKnown("", "interrupted")
        assert blocks.attempt("other", fail(AssertionError())) == NotKnown("", "interrupted")
        assert blocks.interrupted
        with pytest.raises(KeyboardInterrupt):
            blocks.run("log Z", fail(KeyboardInterrupt()))


def test_faults_are_raised_while_debugging(monkeypatch):
    monkeypatch.setenv("HARMONIUM_DEBUG", "1")
    with stages() as blocks, pytest.raises(KeyError):
        blocks.attempt("one", fail(KeyError("x")))


def test_a_terminal_sees_a_bar_that_goes_away():
    blocks = stages(terminal=True)
    with blocks:
        blocks.attempt("mixing", lambda report: report(0.25), at_most=20.0)
        blocks.bar.refresh()
        assert not blocks.bar.tasks
    assert not blocks.bar.live.is_started
    assert "mixing, at most 20 s\n" not in blocks.display.console.file.getvalue()
