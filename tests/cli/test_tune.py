"""`harmonium tune`: from its file to its table; killed, interrupted, and by several processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from harmonium.cli.tune import tune
from harmonium.runs.checkpointing import Checkpointer
from harmonium.runs.folder import RunFolder
from harmonium.runs.study import Study, has_ended
from harmonium.runs.tune_spec import read_spec

SPEC = """
source = "bars"
folder = "tuned"
[options]
hidden = 4
chains = 8
batch = 8
epochs = {epochs}
[search]
lr = [0.1, 0.2]
seed = [0, 1]
"""
PROGRAM = Path(__file__).parents[1] / "tuned.py"


@pytest.fixture
def spec():
    Path("spec.toml").write_text(SPEC.format(epochs=3))
    return "spec.toml"


def times_ended() -> Counter:
    """Count, for each trial, how often the study says that it has ended."""
    study = Study(read_spec("spec.toml"))
    attempts = study.study.trials
    folders = study._folders(attempts)
    ended = filter(has_ended, attempts)
    return Counter(folders[study._first_attempt(attempt)] for attempt in ended)


def test_a_search_from_its_file_to_its_table(cli, no_report, spec):
    status, out, err = cli("tune spec.toml")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("trial-0000  log-likelihood -")
    assert lines[3].endswith("(4 of 4)")
    assert " ".join(lines[4].split()) == "run nats per row ± over rows lr seed status"
    values = [float(line.split()[1]) for line in lines[5:9]]
    assert values == sorted(values, reverse=True)
    assert lines[9] == f"best      {lines[5].split()[0]}"
    assert lines[10].startswith("next      harmonium compare tuned/trial-")
    again = cli("tune spec.toml")
    assert again.out.splitlines()[0] == "4 of 4 trials in tuned are finished"
    assert again.out.splitlines()[1:] == lines[4:]
    assert times_ended() == Counter(range(4))
    by_old_name = cli("sweep spec.toml --json")
    assert "`harmonium sweep` is now `harmonium tune`" in by_old_name.err
    search = json.loads(by_old_name.out)
    assert search["best"] == search["trials"][0]["run"]
    assert {trial["status"] for trial in search["trials"]} == {"done"}
    compared = json.loads(cli("compare tuned --json").out)["runs"]
    assert [trial["run"] for trial in compared] == [trial["run"] for trial in search["trials"]]
    assert compared[0]["value"] == search["trials"][0]["log_likelihood"]["value"]


def test_a_trial_of_a_killed_process_goes_on_from_its_checkpoint(cli, no_report, monkeypatch):
    Path("spec.toml").write_text("trials = 1\n" + SPEC.format(epochs=60_000))
    metrics = Path("tuned/trial-0000/metrics.jsonl")
    command = [sys.executable, str(PROGRAM), "tune", "spec.toml"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not metrics.is_file() or metrics.read_text().count("\n") < 4:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        process.kill()
    assert RunFolder("tuned/trial-0000").summary() is None
    updates = json.loads(metrics.read_text().splitlines()[2])["update"]
    starts = []

    def call(self, report):
        starts.append(int(self.state.updates))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpointer, "__call__", call)
        patch.setattr("harmonium.runs.study.SECONDS_UNTIL_STALE", 4)
        status, out, err = cli("tune spec.toml")
    assert "waiting for other processes: trial-0000" in out
    assert (status, starts[0] >= updates) == (130, True)
    assert "saved. Continue with: harmonium tune spec.toml" in err
    assert err.count("\n") == 1
    assert times_ended() == Counter()


def test_an_interrupted_search_ends_as_one_that_was_not(cli, no_report, spec, monkeypatch):
    assert cli("tune spec.toml --out whole").status == 0
    original = Checkpointer.__call__
    seen = []

    def call(self, report):
        original(self, report)
        seen.append(report.updates)
        if len(seen) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpointer, "__call__", call)
        assert cli("tune spec.toml").status == 130
    assert len(times_ended()) < 4
    assert cli("tune spec.toml").status == 0
    assert times_ended() == Counter(range(4))
    for number in range(4):
        whole, resumed = (f"{folder}/trial-{number:04}" for folder in ("whole", "tuned"))
        arrays = load_file(f"{resumed}/model.safetensors")
        for name, array in load_file(f"{whole}/model.safetensors").items():
            assert (array == arrays[name]).all()


def test_processes_share_the_trials_and_one_that_is_killed_loses_none(spec):
    command = [sys.executable, str(PROGRAM), "tune", "spec.toml", "--processes", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if children.is_file():  # Linux
            until = time.monotonic() + 60
            while not Path("tuned/trial-0000/config.json").is_file():
                assert time.monotonic() < until
                time.sleep(0.02)
            os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        out, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert times_ended() == Counter(range(4))
    assert "(4 of 4)" in out
    assert ("ended with -9: killed" in out) == Path("/proc/self/task").is_dir()


def test_ctrl_c_ends_all_processes_and_keeps_their_trials(spec):
    Path("spec.toml").write_text(SPEC.format(epochs=1_000_000))
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        " from harmonium.cli import main; main()"
    )
    command = [sys.executable, "-c", start, "tune", "spec.toml", "--processes", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 120
        models = [Path(f"tuned/trial-{number:04}/model.safetensors") for number in range(2)]
        while not all(model.is_file() for model in models):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert "trials under way are saved" in err
    for number in range(2):
        assert RunFolder(f"tuned/trial-{number:04}").summary().status == "interrupted"


def test_optuna_that_is_missing_is_named_before_anything_is_written(cli, spec, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    status, out, err = cli("tune spec.toml")
    assert (status, out) == (2, "")
    assert err.startswith("harmonium: tune: expected the package optuna")
    assert "pip install 'harmonium[tune]'" in err
    assert not Path("tuned").exists()


def test_the_files_that_are_shown_are_searches(tmp_path):
    page = (Path(__file__).parents[2] / "docs/tune.md").read_text()
    of_help = str(tune.__doc__).partition("searched:\n\n")[2].partition("\n\n")[0]
    for text in (page.partition("```toml\n")[2].partition("```")[0], of_help):
        Path("shown.toml").write_text(text)
        assert read_spec("shown.toml").trials == 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("lr =", "rl ="), "spec.toml: [search] rl: expected an option of harmonium train"),
        (('"bars"', '"none.csv"'), "none.csv: expected"),
        (('"tuned"', '"spec.toml"'), "spec.toml: expected a folder; got a file"),
        (('"tuned"', '"full"'), "full: expected a new or empty folder"),
    ],
)
def test_mistakes_are_told_in_one_line_and_nothing_is_written(cli, spec, change, message):
    Path("full/other").mkdir(parents=True)
    Path("spec.toml").write_text(Path("spec.toml").read_text().replace(*change))
    status, out, err = cli("tune spec.toml")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not Path("tuned").exists()
    assert not Path("full/study.db").exists()
