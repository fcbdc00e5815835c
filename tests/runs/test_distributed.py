"""Runs of several processes: the same model, signals, processes that die, checkpoints in parts."""

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

import harmonium as hm
from harmonium.cli.together import Together
from harmonium.errors import InputError
from harmonium.runs import places
from harmonium.runs.folder import RunFolder
from harmonium.runs.lookout import Lookout
from harmonium.runs.places import Place, check_name, devices_of, place_here
from registry import ALL

PROGRAM = Path(__file__).parents[1] / "signalled.py"
OPTIONS = ["--hidden", "8", "--chains", "36", "--batch", "12", "--epochs", "40", "--lr", "0.1"]
OPTIONS += ["--validation", "0.25"]
LIMIT = 300.0  # seconds, for machines with much else to do
SECONDS_TO_NOTICE = 30.0
SEVERAL = 4 if ALL else 3


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (64, 12)))


class Processes:
    """Processes of one command: all that there are, and what they print."""

    def __init__(self, count, *arguments, signalled=None, devices=1, folders=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        flags = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
        )
        shared = {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        if signalled is not None:
            shared["SIGNALLED"] = " ".join(map(str, map(int, signalled)))
        self.files, self.processes = [], []
        for number in range(count):
            environment = os.environ | shared
            if count > 1:
                environment["JAX_COORDINATOR_ADDRESS"] = f"127.0.0.1:{port}"
                environment |= {"JAX_NUM_PROCESSES": str(count), "JAX_PROCESS_ID": str(number)}
            command = [sys.executable, str(PROGRAM), *arguments]
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
        assert run.statuses(SECONDS_TO_NOTICE) == [4] * last + [-signal.SIGKILL]
        for number in range(last):
            (line,) = run.said(number)
            assert line.startswith(f"harmonium: process {last} on {socket.gethostname()} ended")
    with done(2, "resume", "run") as two:
        assert two.said(0, 0)[0].startswith("resuming run after ")
    np.testing.assert_allclose(parameters("run"), alone, atol=1e-6)


def test_where_the_first_process_is_killed_the_others_end_too():
    killed = (0, signal.SIGKILL, 1)
    with Processes(2, "train", "rows.npy", *OPTIONS, "--out", "run", signalled=killed) as two:
        two.processes[0].wait(LIMIT)
        assert two.statuses(SECONDS_TO_NOTICE) == [-signal.SIGKILL, 4]
        (line,) = two.said(1)
        assert line.startswith(f"harmonium: process 0 on {socket.gethostname()} ended")


def test_a_signal_to_one_ends_all_and_parts_of_a_checkpoint_fit_any_number_of_devices(alone):
    pytest.importorskip("orbax.checkpoint")
    told = (1, signal.SIGTERM, 40)
    options = [*OPTIONS, "--mesh", "hidden=2", "--checkpoints", "sharded", "--out", "run"]
    with Processes(2, "train", "rows.npy", *options, signalled=told) as two:
        assert two.statuses() == [128 + signal.SIGTERM] * 2, [two.said(0), two.said(1)]
        (line,) = two.said(0)
        assert line.startswith("harmonium: interrupted after ")
        assert line.endswith("resume run --distributed --mesh hidden=2")
        assert two.said(1) == []
    checkpoints = RunFolder("run").checkpoints
    assert checkpoints.last.name == "last.orbax"
    assert checkpoints.previous.name == "previous.orbax"
    shutil.copytree("run", "other")
    for run, devices, mesh in (("run", 1, "data=1"), ("other", 8, "data=4,hidden=2")):
        with done(1, "resume", run, "--mesh", mesh, devices=devices):
            np.testing.assert_allclose(parameters(run), alone, atol=1e-6)


def test_an_error_of_one_process_is_told_by_the_first_and_ends_all(tmp_path, run_alone):
    shutil.copytree(run_alone, "run")
    (tmp_path / "elsewhere").mkdir()
    folders = [tmp_path, tmp_path / "elsewhere"]
    with Processes(2, "resume", "run", folders=folders) as two:
        assert two.statuses() == [2, 2]
        (line,) = two.said(0)
        assert "process 1 on" in line
        assert "a file system that all processes share" in line
        assert two.said(1) == []


def test_rows_that_differ_between_processes_are_refused_before_anything_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    np.save("elsewhere/rows.npy", np.random.default_rng(1).integers(0, 2, (96, 12)))
    folders = [tmp_path, tmp_path / "elsewhere"]
    with Processes(2, "train", "rows.npy", *OPTIONS, "--out", "run", folders=folders) as two:
        assert two.statuses() == [2, 2]
        (line,) = two.said(0)
        assert line.startswith("harmonium: rows.npy: expected the same rows in all processes; f")
        assert two.said(1) == []
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("count", "number", "command", "message"),
    [
        (3, 1, "train", "JAX_NUM_PROCESSES: expected the same count in all processes; found 2 in"),
        (2, 1, "resume", "--distributed: expected the same command in all processes; found train"),
    ],
)
def test_processes_that_contradict_each_other_do_not_begin(count, number, command, message):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ended = []
    first, other = (
        Lookout(Place("127.0.0.1", port, *told, None), line, 4, lambda *end: ended.append(end))
        for told, line in (((2, 0), "train"), ((count, number), command))
    )
    with pytest.raises(InputError, match=message):
        first.meet(LIMIT)
    first.leave(2, "told")
    until = time.monotonic() + LIMIT
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
    assert ended[0] == (2, None)
    assert not other.met.is_set()


def test_a_process_ends_although_nobody_reads_what_it_says(monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

    ended, together = [], Together()
    together.voice = Closed()
    monkeypatch.setattr(os, "_exit", ended.append)
    together._end(4, "lost")
    assert ended == [4]


# --- who is who -------------------------------------------------------------------------

PLACE = {places.ADDRESS: "node1:29500", places.COUNT: "4", places.NUMBER: "3"}
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "node[03-04]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}


def place(environment, monkeypatch):
    for name in [*PLACE, *SLURM, *(name for pair in places.LAUNCHERS for name in pair)]:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return place_here()


def test_a_place_is_told_by_variables_or_by_slurm(monkeypatch):
    assert place(PLACE, monkeypatch) == ("node1", 29500, 4, 3, None)
    assert place(PLACE | {places.ADDRESS: "[::1]:80"}, monkeypatch)[:2] == ("::1", 80)
    assert place(SLURM, monkeypatch)[0] == "node03"
    assert place(SLURM, monkeypatch)[2:] == (4, 3, [1])
    mpi = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}
    address = {places.ADDRESS: "node1:29500"}
    assert place(mpi | address, monkeypatch) == ("node1", 29500, 4, 3, None)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "found no JAX_COORDINATOR_ADDRESS, no JAX_NUM_PROCESSES, no JAX_PROCESS_ID; set"),
        ({places.COUNT: "4"}, "found no JAX_COORDINATOR_ADDRESS, no JAX_PROCESS_ID; set"),
        (PLACE | {places.ADDRESS: "node1"}, "JAX_COORDINATOR_ADDRESS: expected HOST:PORT"),
        (PLACE | {places.ADDRESS: "node1:0"}, "JAX_COORDINATOR_ADDRESS: expected HOST:PORT"),
        (PLACE | {places.COUNT: "four"}, "JAX_NUM_PROCESSES: expected a whole number from 1;"),
        (PLACE | {places.NUMBER: "4"}, "JAX_PROCESS_ID: expected a whole number from 0 to 3"),
        (SLURM | {places.COUNT: "2"}, "JAX_NUM_PROCESSES: expected 4, as the launcher says; f"),
    ],
)
def test_what_is_missing_or_contradicts_itself_is_told(environment, message, monkeypatch):
    with pytest.raises(InputError, match=message):
        place(environment, monkeypatch)


def test_a_name_without_an_address_is_told(monkeypatch):
    check_name()
    monkeypatch.setattr("socket.gethostname", lambda: "nowhere.invalid")
    message = "found 'nowhere.invalid' without one; add nowhere.invalid to /etc/hosts"
    with pytest.raises(hm.InputError, match=message):
        check_name()


def test_devices_are_those_that_the_launcher_lets_a_process_see():
    assert devices_of(None, {"CUDA_VISIBLE_DEVICES": "2"}) is None
    assert devices_of(3, {}) == [3]
    assert devices_of(3, {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}) == [3]
    assert devices_of(3, {"CUDA_VISIBLE_DEVICES": "3"}) == [0]  # --gpus-per-task=1
    assert devices_of(3, {"JAX_LOCAL_DEVICE_IDS": "1,2"}) is None
