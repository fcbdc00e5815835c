"""How runs end early: by divergence, interruption, faults, or a reader that goes away."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import harmonium as hm
from harmonium.runs import train as train_module
from harmonium.runs.checkpointing import Checkpointer
from harmonium.runs.simpler_start import SimplerCheck, SimplerIsBetterError, SimplerStart

SMALL = "--hidden 4 --chains 8 --batch 8"
# A child process of a shell's background job would ignore SIGINT; one of a terminal does not.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    " from harmonium.cli import main; main()"
)


def stop_after(monkeypatch, updates: int, error: BaseException) -> None:
    """Raise an error in the callbacks of a run after so many updates."""
    original = Checkpointer.__call__

    def call(self, report):
        original(self, report)
        if report.updates >= updates:
            raise error

    monkeypatch.setattr(Checkpointer, "__call__", call)


def same_arrays(file: str, other: str) -> None:
    first = load_file(file)
    second = load_file(other)
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)


# --- diverged ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "draws"),
    [("--lr 1e30", True), ("--lr 1e37", False), ("--lr 1e30 --method exact", False)],
)
def test_a_diverging_run_keeps_the_last_finite_model_and_ends_with_3(cli, request, options, draws):
    if not draws:
        request.getfixturevalue("no_report")
    np.save("reals.npy", np.random.default_rng(0).normal(size=(60, 5)))
    command = f"train reals.npy --visible gaussian {SMALL} --epochs 3 {options} --json"
    status, out, err = cli(command)
    summary = json.loads(out)
    assert status == 3
    assert summary["status"] == "diverged"
    assert summary["message"].startswith("diverged: ")
    assert (summary["log_z"], summary["log_likelihood"]) == (None, None)
    assert "Warning" not in err
    assert err.splitlines()[-1].startswith("harmonium: diverged: ")
    assert err.splitlines()[-1].endswith("The model is in runs/reals/model.safetensors.")
    rbm = hm.load("runs/reals")
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(rbm))
    for line in Path("runs/reals/metrics.jsonl").read_text().splitlines():
        assert "NaN" not in line
        assert "Infinity" not in line
    assert cli("evaluate runs/reals --json").status in (0, 2)  # never a fault of ours
    assert cli("sample runs/reals -n 2 --sweeps 3").status in (0, 2)
    assert cli("resume runs/reals").status == 3


def test_parameters_too_large_to_score_count_as_diverged(cli, no_report, monkeypatch):
    def overflow(rbm, rows, **_):
        raise ValueError("f(a) and f(b) must have different signs")

    monkeypatch.setattr("harmonium.runs.train.log_likelihood", overflow)
    status, out, err = cli(f"train bars {SMALL} --epochs 3 --json")
    assert (status, json.loads(out)["status"]) == (3, "diverged")
    assert "with a finite score" in err


# --- interrupted ------------------------------------------------------------------------


@pytest.mark.parametrize("options", ["", "--method cd"])
def test_a_resumed_run_equals_an_uninterrupted_one(cli, no_report, monkeypatch, options):
    command = f"train bars {SMALL} --epochs 12 {options}"
    assert cli(f"{command} --out whole").status == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 19, KeyboardInterrupt())
        status, out, err = cli(f"{command} --out cut --json")
    summary = json.loads(out)
    assert (status, summary["status"], summary["log_z"]) == (130, "interrupted", None)
    assert summary["samples_per_second"] > 0
    assert json.loads(Path("cut/summary.json").read_text()) == summary
    assert err.splitlines()[-1].endswith("saved in cut. Continue with: harmonium resume cut")
    assert hm.load("cut").hidden.size == 4
    assert cli("resume cut --json").status == 0
    same_arrays("whole/model.safetensors", "cut/model.safetensors")
    same_arrays("whole/checkpoints/last.safetensors", "cut/checkpoints/last.safetensors")
    whole, cut = (json.loads(Path(run, "summary.json").read_text()) for run in ("whole", "cut"))
    assert cut["log_likelihood"] == whole["log_likelihood"]
    assert (cut["status"], cut["updates"]) == ("done", whole["updates"])
    for name in ("update", "free_energy"):
        assert measured("cut", name) == measured("whole", name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_whose_exception_python_drops_is_acted_on(cli, no_report, monkeypatch, number):
    class Dropping:
        def __del__(self):  # an exception in it is ignored
            os.kill(os.getpid(), number)
            time.sleep(0.01)

    def call(self, report):
        original(self, report)
        if 19 <= report.updates < 40:
            Dropping()

    original = Checkpointer.__call__
    before = signal.signal(number, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Checkpointer, "__call__", call)
            ending = cli(f"train bars {SMALL} --epochs 12 --out cut")
    finally:
        signal.signal(number, before)
    assert ending.status == 128 + number
    assert ending.err.count("\n") == 1
    assert json.loads(Path("cut/summary.json").read_text())["status"] == "interrupted"
    assert cli("resume cut").status == 0


def test_a_run_without_these_options_goes_on_as_it_began(cli, no_report, monkeypatch):
    """A folder of an earlier version has no penalty, and nothing of held-out rows."""
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (80, 5)))
    command = f"train rows.npy {SMALL} --epochs 12 --penalty 0 --keep last"
    assert cli(f"{command} --out whole").status == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 19, KeyboardInterrupt())
        assert cli(f"{command} --out cut").status == 130
    config = json.loads(Path("cut/config.json").read_text())
    for name in ("penalty", "keep"):
        del config[name]
    Path("cut/config.json").write_text(json.dumps(config))
    tensors = load_file("cut/checkpoints/last.safetensors")
    with Path("cut/checkpoints/last.safetensors").open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        metadata = json.loads(file.read(length))["__metadata__"]
    added = {"held_out", "sha256"}
    header = {k: v for k, v in json.loads(metadata["harmonium"]).items() if k not in added}
    older = {name: array for name, array in tensors.items() if not name.startswith(".held_out")}
    assert len(older) < len(tensors)
    metadata = {"harmonium": json.dumps(header)}
    save_file(older, "cut/checkpoints/last.safetensors", metadata)
    assert cli("resume cut").status == 0
    same_arrays("whole/model.safetensors", "cut/model.safetensors")


@pytest.mark.parametrize("options", ["--penalty auto --keep best", "--penalty 0.01 --keep best"])
def test_a_resumed_run_decides_alike(cli, no_report, monkeypatch, options):
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (80, 5)))
    command = f"train rows.npy {SMALL} --lr 0.5 --epochs 30 {options}"
    assert cli(f"{command} --out whole").status == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 150, KeyboardInterrupt())
        assert cli(f"{command} --out cut").status == 130
    assert cli("resume cut").status == 0
    same_arrays("whole/model.safetensors", "cut/model.safetensors")
    same_arrays("whole/checkpoints/last.safetensors", "cut/checkpoints/last.safetensors")
    said = json.loads(Path("whole/summary.json").read_text())["message"]
    assert "where held-out rows had their highest log-likelihood" in said


def test_few_rows_are_cross_validated_once(cli, no_report, monkeypatch):
    """A run that is resumed knows what was found, and one of more epochs is not ended early."""
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 200)
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (80, 5)))
    command = f"train rows.npy {SMALL} --lr 0.5"
    whole = cli(f"{command} --out whole")
    assert whole.status == 0
    assert "80 rows, too few to hold any out: they are cross-validated" in whole.out
    assert "in 4-fold cross-validation, rows that a model has not seen have" in whole.out
    with monkeypatch.context() as patch:
        stop_after(patch, 5, KeyboardInterrupt())
        assert cli(f"{command} --out cut").status == 130
    monkeypatch.setattr("harmonium.training.recorder.cross_validate", lambda *_, **__: 1 / 0)
    assert cli("resume cut").status == 0
    same_arrays("whole/model.safetensors", "cut/model.safetensors")
    same_arrays("whole/checkpoints/last.safetensors", "cut/checkpoints/last.safetensors")
    assert json.loads(Path("whole/config.json").read_text())["validation"] == 0.0
    assert cli("resume cut --epochs 60").status == 0
    assert json.loads(Path("cut/summary.json").read_text())["updates"] == 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--penalty many", "--penalty: expected a number, or \"auto\"; got 'many'"),
        ("--penalty -1", "--penalty: expected auto, or a number of at least 0; got -1.0"),
        ("--keep first", "--keep: expected one of best, last"),
        ("--keep best --validation 0", "--keep best: expected rows that are held out; got none"),
    ],
)
def test_wrong_choices_are_refused_and_nothing_is_written(cli, options, message):
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (80, 5)))
    status, _, err = cli(f"train rows.npy {SMALL} {options} --out run")
    assert status == 2
    assert message in err
    assert not Path("run").exists()


def measured(run: str, name: str) -> list[float]:
    lines = Path(run, "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)[name] for line in lines]


def test_records_after_the_checkpoint_are_dropped_on_resume(cli, no_report):
    cli(f"train bars {SMALL} --epochs 12 --out run")
    before = measured("run", "update")
    with Path("run/metrics.jsonl").open("a") as file:
        file.write('{"update": 9999, "epoch": 1}\n{"update": 12')
    assert cli("resume run").status == 0
    assert measured("run", "update") == before


def test_a_resumed_run_that_is_cut_short_at_once_keeps_the_averaged_model(
    cli, no_report, monkeypatch
):
    cli(f"train bars {SMALL} --epochs 12 --out run")
    before = load_file("run/model.safetensors")
    monkeypatch.setattr("harmonium.runs.train.run_plan", interrupted)
    assert cli("resume run --epochs 20").status == 130
    for name, array in load_file("run/model.safetensors").items():
        np.testing.assert_array_equal(array, before[name])


def test_an_interruption_before_the_first_update_can_be_resumed(cli, no_report, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 0, KeyboardInterrupt())
        patch.setattr("harmonium.runs.train.run_plan", interrupted)
        status, _, err = cli(f"train bars {SMALL} --epochs 3 --out run")
    assert (status, "after 0 updates" in err) == (130, True)
    assert cli("resume run").status == 0


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_an_interruption_while_scoring_keeps_the_trained_model(cli, no_report, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("harmonium.runs.train.log_likelihood", interrupted)
        status, out, _ = cli(f"train bars {SMALL} --epochs 3 --out run --json")
    assert status == 130
    assert json.loads(out)["message"].startswith("trained, and interrupted while it was scored")
    assert json.loads(out)["updates"] == 12
    assert json.loads(cli("resume run --json").out)["log_likelihood"]["converged"]


def test_an_interruption_before_the_run_begins_writes_nothing(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("harmonium.runs.train.prepare", interrupted)
    assert cli("train bars") == (130, "", "harmonium: interrupted.\n")
    assert list(tmp_path.iterdir()) == []


# --- faults -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (RuntimeError("oh\nno"), 1, "internal error: RuntimeError: oh."),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), 2, "lower --hidden"),
        (MemoryError(), 2, "lower --hidden"),
        (OSError(28, "No space left on device", "runs/x"), 2, "runs/x: expected a file that"),
        (hm.NotFiniteError("a: expected b; got c; d."), 2, "a: expected b; got c; d."),
    ],
)
def test_every_error_is_reported_in_one_line(cli, monkeypatch, error, status, words):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("harmonium.runs.train.prepare", fail)
    ending = cli("train bars")
    assert (ending.status, ending.out) == (status, "")
    assert ending.err.count("\n") == 1
    assert words in ending.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_is_an_interruption(cli, monkeypatch, number):
    before = signal.signal(number, signal.SIG_DFL)  # a job in the background may ignore SIGHUP
    monkeypatch.setattr("harmonium.runs.train.prepare", lambda config: os.kill(os.getpid(), number))
    assert cli("train bars") == (128 + number, "", "harmonium: interrupted.\n")
    assert signal.signal(number, before) is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_so(cli, monkeypatch):
    """As nohup does it: a closed terminal does not end the run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    seen = []
    monkeypatch.setattr(
        "harmonium.runs.train.prepare",
        lambda config: seen.append(os.kill(os.getpid(), signal.SIGHUP)),
    )
    cli("train bars")
    assert seen == [None]
    assert signal.signal(signal.SIGHUP, before) is signal.SIG_IGN


def test_debugging_shows_the_traceback(cli, monkeypatch):
    monkeypatch.setenv("HARMONIUM_DEBUG", "1")
    monkeypatch.setattr("harmonium.runs.train.prepare", lambda config: 1 / 0)
    assert "Traceback" in cli("train bars").err


# --- real processes ---------------------------------------------------------------------


def start(*words: str, before: str = "") -> subprocess.Popen:
    """Start the command in a process of its own, with pipes for its output, after some Python."""
    command = [sys.executable, "-c", before + START, *words]
    pipe = subprocess.PIPE
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)  # which JAX has set for this process
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)


def read_until(stream: IO[str], word: str) -> None:
    """Read lines up to the first one that contains the word."""
    lines = []
    for line in stream:
        lines.append(line)
        if word in line:
            return
    raise AssertionError(f"no {word!r} in {lines}")


def test_ctrl_c_while_training_keeps_a_run_that_can_go_on(cli, no_report):
    options = f"{SMALL} --epochs 100000 --out run".split()
    with start("train", "bars", *options) as process:
        read_until(process.stdout, "epoch 3/")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.count("\n") == 1, err
    assert err.startswith("harmonium: interrupted after ")
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["updates"] >= 12
    assert hm.load("run").visible.size == 16
    epochs = summary["updates"] // 4 + 1
    assert cli(f"resume run --epochs {epochs}").status == 0


# The score of so small a model may be ready before the signal arrives. XLA's messages are switched
# off before it is imported, as the command does.
SCORE_SLOWLY = (
    "import os; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
    "import time, harmonium.runs.train as t; score = t.log_likelihood;"
    " t.log_likelihood = lambda *a, **k: (time.sleep(30), score(*a, **k))[1]\n"
)


def test_ctrl_c_while_scoring_keeps_the_trained_model():
    options = f"{SMALL} --epochs 3 --out run --json".split()
    with start("train", "bars", *options, before=SCORE_SLOWLY) as process:
        read_until(process.stderr, "finished after")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.count("\n") == 1, err
    summary = json.loads(out)  # nothing is printed before or after it
    message = "trained, and interrupted while it was scored, after 12 updates"
    assert (summary["message"], summary["updates"]) == (message, 12)
    assert hm.load("run").hidden.size == 4


# After three updates a compiled program does not come back: its threads wait for each other, say.
HANG = (
    "import os; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
    "import jax, harmonium.runs.checkpointing as c, harmonium.cli.interruption as i\n"
    "i.SECONDS_TO_ACT = 1.0; c.SECONDS_BETWEEN_CHECKPOINTS = -1.0; call = c.Checkpointer.__call__\n"
    "def hang(self, report):\n"
    "    call(self, report)\n"
    "    if report.updates < 3: return\n"
    "    print('hanging', flush=True)\n"
    "    jax.jit(lambda x: jax.lax.while_loop(lambda x: x < 2, lambda x: 1 - x, x))(0).item()\n"
    "c.Checkpointer.__call__ = hang\n"
)


@pytest.mark.parametrize(
    ("signals", "status"), [([signal.SIGINT] * 2, 130), ([signal.SIGTERM], 143)]
)
def test_a_command_ends_although_a_computation_does_not(cli, no_report, signals, status):
    options = f"{SMALL} --epochs 40 --out run".split()
    with start("train", "bars", *options, before=HANG) as process:
        read_until(process.stdout, "hanging")
        for number in signals:
            time.sleep(0.8)  # less than half a second apart, two signals are one press
            process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == status
    assert err.count("\n") == 1, err
    assert "ended without saving, since a computation did not return" in err
    assert cli("resume run").status == 0
    assert json.loads(Path("run/summary.json").read_text())["updates"] == 160


def test_a_reader_that_goes_away_is_no_error(trained):
    with start("sample", str(trained), "-n", "9999", "--sweeps", "1") as process:
        assert process.stdout.readline().count(",") == 15
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == ""


def test_the_module_runs_as_the_command_and_asks_no_jax_for_its_version():
    check = (
        "import sys, runpy; sys.argv = ['harmonium', '--version']\n"
        "try: runpy.run_module('harmonium', run_name='__main__')\n"
        "except SystemExit as ending: assert not ending.code\n"
        "assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"harmonium {hm.__version__}\n", "")


# --- real columns -----------------------------------------------------------------------


def test_real_columns_are_learned_standardised_and_scored_in_their_own_units(cli, no_report):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) @ [[0.1, 0.5, 30.0], [0.0, 0.5, -30.0]]
    x += 0.05 * rng.normal(size=x.shape) * [0.1, 0.7, 40.0] + [3.0, 0.0, -200.0]
    np.save("reals.npy", x)
    command = "train reals.npy --visible gaussian --hidden 4 --epochs 100 --validation 0 --json"
    status, out, _ = cli(command)
    score = json.loads(out)["log_likelihood"]["value"]
    assert status == 0
    assert any("in the data's units" in note for note in json.loads(out)["notes"])
    expected = hm.log_likelihood(hm.load("runs/reals"), x).value
    assert score == pytest.approx(expected, abs=1e-2)
    apart = -0.5 * np.log(2 * np.pi * np.e * x.var(0)).sum()  # the best for independent columns
    assert score > apart
    assert cli("resume runs/reals --epochs 102 --json").status == 0


# --- begun again ------------------------------------------------------------------------


TREE = {"visible": "tree"}
CLASSES = {"classes": 3}
MIXTURE = {"hidden": 1, "hidden_units": "potts", "hidden_states": 3, "method": "exact"}


@pytest.mark.parametrize("asked", ["after cross-validation", "by held-out rows"])
@pytest.mark.parametrize("simpler", [TREE, MIXTURE, CLASSES], ids=["tree", "mixture", "classes"])
def test_a_run_that_is_begun_again_leaves_nothing_of_the_first(
    cli, monkeypatch, no_report, simpler, asked
):
    def raised(*_):
        raise SimplerIsBetterError(SimplerStart("it", simpler, np.zeros(1)), -1.0, -2.0)

    class Always(SimplerCheck):
        __call__ = raised if asked == "after cross-validation" else lambda *_: None
        by_held_out = raised

    flips = np.random.default_rng(0).random((60, 30)) < np.array([0.5] + [0.03] * 29)
    np.save("chain.npy", (np.cumsum(flips, axis=1) % 2).astype(np.uint8))
    monkeypatch.setattr(train_module, "SimplerCheck", Always)
    options = "--hidden 4 --chains 8 --epochs 4 --out run --json"
    status, out, _ = cli(f"train chain.npy {options}")
    assert status == 0
    assert json.loads(Path("run/config.json").read_text()).items() >= simpler.items()
    rbm = hm.load("run")
    assert isinstance(rbm.visible, hm.Tree) == (simpler is TREE)
    assert isinstance(rbm.visible, hm.Mixture) == (simpler is CLASSES)
    assert isinstance(rbm.hidden, hm.Potts) == (simpler is MIXTURE)
    assert any("begins from it" in note for note in json.loads(out)["notes"])
    lines = Path("run/metrics.jsonl").read_text().splitlines()
    updates = [json.loads(line)["update"] for line in lines]
    assert updates == sorted(set(updates))
    assert cli("resume run --epochs 6").status == 0
