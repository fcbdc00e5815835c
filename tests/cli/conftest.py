"""Fixtures: the command, run in this process, and a folder with a trained run."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from harmonium.cli import main
from harmonium.runs.display import Display
from harmonium.runs.train import FinalScore, train
from harmonium.runs.train_options import RunConfig


class Ending(NamedTuple):
    """How a command ended: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory) -> Iterator[None]:
    """Use no cache of the user, have 80 columns, and make warnings errors.

    Where the tests share a cache of compiled programs (`make test`), the command uses it too.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "warnoptions", ["error"])  # warnings are errors, as everywhere
        yield


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch) -> None:
    """Run every test in an empty folder, in which it may write."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cli(capsys) -> Callable[..., Ending]:
    """Return a function that runs a command, given as words or as one string without quotes."""

    def run(*words: str) -> Ending:
        arguments = words[0].split() if len(words) == 1 else list(words)
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        written = capsys.readouterr()
        return Ending(int(exit_.value.code or 0), written.out, written.err)

    return run


@pytest.fixture
def no_report(monkeypatch) -> None:
    """Leave out the report, which takes longest in a small run."""
    leave_out_report(monkeypatch)


def leave_out_report(patch: pytest.MonkeyPatch) -> None:
    """Neither draw samples for the report nor write it."""
    patch.setattr("harmonium.runs.train.rows_to_show", lambda *_: None)
    patch.setattr("harmonium.runs.train.reported", lambda *given: given[2])


@pytest.fixture
def no_score(monkeypatch) -> None:
    """Leave out the final score, for tests that say nothing about it."""
    monkeypatch.setattr("harmonium.runs.train.final_score", lambda *_, **__: FinalScore())


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """Return the folder of a finished run on bars and stripes, which tests must not change."""
    folder = tmp_path_factory.mktemp("trained") / "bars"
    config = RunConfig(source="bars", hidden=4, chains=8, epochs=3, batch=8)
    with pytest.MonkeyPatch.context() as patch:
        leave_out_report(patch)
        train(config, str(folder), False, Display(Console(quiet=True)))
    return folder
