"""Runs of several processes: the same model, signals, processes that die, checkpoints."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from harmonium.cli.distributed import COUNT
from harmonium.errors import InputError
from harmonium.runs.display import Display
from harmonium.runs.folder import RunFolder
from harmonium.runs.train import resume
from registry import ALL

PROGRAM = Path(__file__).parents[1] / "signalled.py"
OPTIONS = ["--hidden", "8", "--chains", "36", "--batch", "12", "--epochs", "40", "--lr", "0.1"]
OPTIONS += ["--validation", "0.25"]
LIMIT = 300.0  # seconds, for machines with much else to do
SECONDS_TO_NOTICE = 200.0  # JAX's heartbeats may be missing for 100
SEVERAL = 4 if ALL else 3


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (64, 12)))


class Processes:
    """Processes of one command: all that there are, and what they print."""

    def __init__(self, count, *arguments, signalled=None, devices=1, folders=None, commands=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        flags = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
        )
        shared = {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        if signalled is not None:
            shared["SIGNALLED"] = " ".join(map(str, map(int, signalled)))
        self.files = []
        self.processes = []
        for number in range(count):
            environment = os.environ | shared
            if count > 1:
                environment["JAX_COORDINATOR_ADDRESS"] = f"127.0.0.1:{port}"
                environment |= {"JAX_NUM_PROCESSES": str(count), "JAX_PROCESS_ID": str(number)}
            own = arguments if commands is None else commands[number]
            command = [sys.executable, str(PROGRAM), *own]
            command += ["--distributed"] if count > 1 else []
            folder = None if folders is None else folders[number]
            self.files.append([Path(f"{number}.{name}").absolute() for name in ("out", "err")])
            with self.files[-1][0].open("w") as out, self.files[-1][1].open("w") as err:
                process = subprocess.Popen(
                    command, env=environment, cwd=folder, stdout=out, stderr=err
                )
            self.processes.append(process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

    def statuses(self, seconds=LIMIT):
        until = time.monotonic() + seconds
        for process in self.processes:
            process.wait(max(0.1, until - time.monotonic()))
        return [process.returncode for process in self.processes]

    def said(self, number, stream=1):
        text = self.files[number][stream].read_text()
        return [line for line in text.splitlines() if "cpu_aot" not in line]


@contextmanager
def done(count, *arguments, **options):
    """Processes that have ended well."""
    with Processes(count, *arguments, **options) as processes:
        statuses = processes.statuses()
        assert statuses == [0] * count, [processes.said(i) for i in range(count)]
        yield processes


def parameters(run):
    rbm = hm.load(run)
    parts = (rbm.weights, rbm.visible.bias, rbm.hidden.bias)
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])


@pytest.fixture(scope="module")
def run_alone(tmp_path_factory):
    """The folder of the run of one process."""
    folder = tmp_path_factory.mktemp("alone")
    before = Path.cwd()
    try:
        os.chdir(folder)
        np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (64, 12)))
        with done(1, "train", "rows.npy", *OPTIONS, "--out", "run"):
            return folder / "run"
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def alone(run_alone):
    """The parameters that one process finds."""
    return parameters(run_alone)


def test_two_processes_make_the_model_of_one_and_the_first_one_writes_and_prints(alone):
    with done(2, "train", "rows.npy", *OPTIONS, "--out", "run", "--json") as processes:
        summary = json.loads("\n".join(processes.said(0, 0)))
        assert summary["status"] == "done"
        assert processes.said(1, 0) == processes.said(1) == []
    np.testing.assert_allclose(parameters("run"), alone, atol=1e-6)
    assert {path.name for path in Path().iterdir() if path.is_dir()} == {"run"}


def test_where_one_of_several_is_killed_the_others_end_and_two_go_on(alone):
    last = SEVERAL - 1
    killed = (last, signal.SIGKILL, 40)
    with Processes(SEVERAL, "train", "rows.npy", *OPTIONS, "--out", "run", signalled=killed) as run:
        run.processes[last].wait(LIMIT)
        assert all(run.statuses(SECONDS_TO_NOTICE))
    with done(2, "resume", "run") as two:
        assert two.said(0, 0)[0].startswith("resuming run after ")
    np.testing.assert_allclose(parameters("run"), alone, atol=1e-6)


def test_where_the_first_process_is_killed_the_others_end_too():
    killed = (0, signal.SIGKILL, 1)
    with Processes(2, "train", "rows.npy", *OPTIONS, "--out", "run", signalled=killed) as two:
        two.processes[0].wait(LIMIT)
        assert all(two.statuses(SECONDS_TO_NOTICE))


def test_a_signal_to_one_ends_all_and_a_checkpoint_fits_any_number_of_devices(alone):
    signalled = (1, signal.SIGTERM, 40)
    options = [*OPTIONS, "--mesh", "hidden=2", "--out", "run"]
    with Processes(2, "train", "rows.npy", *options, signalled=signalled) as two:
        assert two.statuses() == [128 + signal.SIGTERM] * 2, [two.said(0), two.said(1)]
        (line,) = two.said(0)
        assert line.startswith("harmonium: interrupted after ")
        assert line.endswith("resume run --distributed --mesh hidden=2")
        assert two.said(1) == []
    assert RunFolder("run").checkpoints.previous.exists()
    shutil.copytree("run", "other")
    for run, devices, mesh in (("run", 1, "data=1"), ("other", 8, "data=4,hidden=2")):
        with done(1, "resume", run, "--mesh", mesh, devices=devices):
            np.testing.assert_allclose(parameters(run), alone, atol=1e-6)


def test_a_folder_that_one_process_does_not_see_ends_all(tmp_path, run_alone):
    shutil.copytree(run_alone, "run")
    (tmp_path / "elsewhere").mkdir()
    folders = [tmp_path, tmp_path / "elsewhere"]
    with Processes(2, "resume", "run", folders=folders) as two:
        assert two.statuses() == [2, 2]
        for number in range(2):
            (line,) = two.said(number)
            assert "a file system that all processes share" in line


def test_rows_that_differ_between_processes_are_refused_before_anything_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    np.save("elsewhere/rows.npy", np.random.default_rng(1).integers(0, 2, (96, 12)))
    folders = [tmp_path, tmp_path / "elsewhere"]
    with Processes(2, "train", "rows.npy", *OPTIONS, "--out", "run", folders=folders) as two:
        assert two.statuses() == [2, 2]
        (line,) = two.said(0)
        expected = "rows.npy: expected the same rows in all processes; g"
        assert line.startswith(f"harmonium: {expected}")
        (line,) = two.said(1)
        assert line.startswith(f"harmonium: process 1: {expected}")
    assert not Path("run").exists()


def test_processes_of_other_command_lines_do_not_begin():
    commands = [["train", "rows.npy", *OPTIONS, "--out", name] for name in ("run", "walk")]
    with Processes(2, commands=commands) as two:
        assert two.statuses() == [2, 2]
        for number in range(2):
            (line,) = two.said(number)
            assert "--distributed: expected the same command in all processes; got" in line
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "--distributed: expected processes that JAX can connect; got coordinator_address"),
        ({COUNT: "four"}, "JAX_NUM_PROCESSES: expected a whole number; got 'four'"),
    ],
)
def test_what_is_missing_in_the_environment_is_named(environment, message):
    command = [sys.executable, "-m", "harmonium", "train", "rows.npy", "--distributed"]
    ended = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"harmonium: {message}")
    assert ended.stderr.count("\n") == 1


def test_checkpoints_in_parts_of_earlier_versions_are_named(run_alone):
    shutil.copytree(run_alone, "run")
    shutil.rmtree("run/checkpoints")
    Path("run/checkpoints/last.orbax").mkdir(parents=True)
    with pytest.raises(InputError, match="got checkpoints in parts"):
        resume("run", None, Display(Console(quiet=True)))
