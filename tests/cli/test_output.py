"""Standard output and error that are closed, full, or lose their reader."""

import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from harmonium.cli.base import run_command
from harmonium.cli.output import remembered_errors
from harmonium.runs.display import Display, PatientConsole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells elsewhere close no streams")
START = "from harmonium.cli import main; main()"
TRAIN = "train bars --hidden 4 --chains 8 --batch 8 --epochs 2 --out run"
FULL = "harmonium: standard output: expected a place that can be written to; got no space left"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")


def in_a_shell(command: str) -> subprocess.CompletedProcess:
    """Run a command with redirections; `H` in it stands for harmonium."""
    words = f'{sys.executable} -c "{START}"'
    whole = command.replace("H ", f"{words} ")
    return subprocess.run(
        ["bash", "-c", whole], capture_output=True, text=True, check=False, timeout=120
    )


@needs_full
@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("H info RUN --json >/dev/full", 2, FULL),
        ("H --help >/dev/full", 2, FULL),
        ("H info RUN >&-", 0, ""),
        ("H info RUN <&- >&- 2>&-", 0, ""),
        ("H info nowhere 2>/dev/full", 2, ""),
        ("H --help | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("H info RUN | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("H info RUN --json 2>/dev/full | grep -c kind", 0, ""),
    ],
)
def test_a_command_ends_without_a_traceback(command, status, said, trained):
    done = in_a_shell(command.replace("RUN", str(trained)))
    assert (done.returncode, done.stderr.startswith(said)) == (status, True), done.stderr
    assert done.stderr.count("\n") == bool(said), done.stderr


@needs_full
@pytest.mark.parametrize(
    ("streams", "status"), [(">/dev/full", 2), (">&- 2>&-", 0), ("--json 2>/dev/full", 0)]
)
def test_a_run_is_trained_scored_and_saved(streams, status):
    done = in_a_shell(f"H {TRAIN} {streams}")
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["status"] == "done"
    assert summary["log_likelihood"] is not None
    files = ("config.json", "model.safetensors", "report.html", "metrics.jsonl")
    assert all(Path("run", name).stat().st_size for name in files)


class Failing(io.StringIO):
    """A stream that fails with an error of the system."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number

    def write(self, text):
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("number", [5, 28], ids=["a closed terminal", "a full disk"])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_display_that_cannot_be_written_is_silent(number, terminal):
    console = PatientConsole(file=Failing(number), force_terminal=terminal)
    with Display(console) as display:
        display.say("nobody reads this")
        display.say("nor this")
    assert console.quiet


def test_an_error_of_output_is_told_though_the_display_goes_on(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", Failing(28))

    def command():
        Display(PatientConsole()).say("lost")

    with remembered_errors():
        assert run_command(command) == 2
    assert capsys.readouterr().err.startswith(FULL)


def test_an_error_about_a_file_is_none_of_output(capsys):
    def command():
        raise OSError(28, os.strerror(28), "some.csv")

    with remembered_errors():
        assert run_command(command) == 2
    assert capsys.readouterr().err.startswith("harmonium: some.csv: expected a file")


def test_an_interrupted_command_whose_reader_has_gone_is_interrupted(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Failing(32))

    def command():
        with suppress(BrokenPipeError):
            print("lost")
        return 130

    with remembered_errors():
        assert run_command(command) == 130
