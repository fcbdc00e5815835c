"""A sweep's parts: who holds which trial, by which rows it is judged, which trials are pruned."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from harmonium.runs.display import Display
from harmonium.runs.folder import STUDY, RunFolder
from harmonium.runs.locks import Locks
from harmonium.runs.pruning import FEWEST_OTHERS, Curves, Pruner
from harmonium.runs.study import Study
from harmonium.runs.sweep import OWN_COMMAND, sweep
from harmonium.runs.sweep_spec import read_spec
from harmonium.training import Report

SPEC = 'source = "{source}"\nfolder = "swept"\n{head}\n[options]\n{options}\n[search]\n{search}\n'
SMALL = "hidden = 4\nchains = 8\nbatch = 8\nepochs = 3"
QUIET = Display(Console(quiet=True))


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """Work in an empty folder, and leave out reports, which take longest in a small run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harmonium.runs.train.rows_to_show", lambda *_: None)
    monkeypatch.setattr("harmonium.runs.train.reported", lambda *_: {"report": None})


def spec(search: str, head: str = "", source: str = "bars", options: str = SMALL) -> str:
    text = SPEC.format(source=source, head=head, options=options, search=search)
    Path("spec.toml").write_text(text)
    return "spec.toml"


# --- locks and trials -------------------------------------------------------------------


def test_locks_exclude_other_processes_and_end_with_them(tmp_path):
    locks = Locks(tmp_path, "lock")
    other = (
        "import sys; from pathlib import Path; from harmonium.runs.locks import Locks\n"
        "locks = Locks(Path(sys.argv[1]), 'lock')\n"
        "print(locks.attempt(5), locks.attempt(6), flush=True); sys.stdin.read()"
    )
    assert locks.attempt(5)
    command = [sys.executable, "-c", other, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline().split() == ["False", "True"]
        assert not locks.attempt(6)
        process.kill()
    assert locks.attempt(6)
    locks.close()


def test_a_trial_without_a_process_is_taken_before_a_new_one():
    """Its process may have ended at any point, even before it had drawn all values."""
    found = read_spec(spec("lr = {low = 0.1, high = 0.2}\nk = [1, 2]", "trials = 3"))
    with Study(found) as study:
        first = study.take(set())
    with Study(found) as study:
        assert study.take(set())[1:] == first[1:]
    with Study(found) as study:
        study.study.ask()  # a trial without values
        assert study.take({0}).number == 1
        assert set(study.trials()[1].params) == {"lr", "k"}
        assert study.take({0, 1}).number == 2
        assert study.take({0, 1, 2}) is None
        assert study.take({0, 2}).number == 1


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_what_is_drawn_depends_on_the_number_of_a_trial_only(sampler):
    path = spec("lr = {low = 0.1, high = 0.2}", f'trials = 4\nsampler = "{sampler}"')
    values = []
    for folder in ("one", "two"):
        for _ in range(1 if folder == "one" else 4):
            with Study(read_spec(path, folder)) as study:
                held = set(range(len(study.trials())))
                while (taken := study.take(held)) is not None:
                    values.append(taken.values["lr"])
                    held.add(taken.number)
                    if folder == "two":
                        break
    assert values[:4] == values[4:]
    assert len(set(values)) == 4


def test_a_study_of_another_sweep_is_refused():
    Study(read_spec(spec("lr = [0.1, 0.2]"))).__exit__()
    with pytest.raises(hm.InputError, match=r"swept: .*found one of another search"):
        Study(read_spec(spec("lr = [0.1, 0.3]")))
    Study(read_spec(spec("lr = [0.1, 0.2]", "prune = true\ntrials = 1"))).__exit__()


def in_parts():
    """Write rows in three parts, and return them.

    There are as many to learn from as where a tenth of a hundred is held out.
    """
    rng = np.random.default_rng(0)
    sizes = {"train": 90, "valid": 60, "test": 60}
    parts = {name: rng.integers(0, 2, (size, 5)) for name, size in sizes.items()}
    np.savez("parts.npz", **parts)
    return parts


# --- by which rows ----------------------------------------------------------------------


def test_trials_are_judged_by_held_out_rows_and_never_by_test_rows():
    parts = in_parts()
    found = sweep(spec("lr = [0.1, 0.2]", source="parts.npz"), None, 1, QUIET)
    for one in found["trials"]:
        score, rbm = one["log_likelihood"], hm.load(one["run"])
        assert RunFolder(one["run"]).summary().log_likelihood.rows == "test"
        assert score["rows"] == "validation"
        log_p = -hm.free_energies(rbm, parts["valid"]) - hm.log_z(rbm).value
        assert score["value"] == pytest.approx(log_p.mean(), abs=1e-4)
        error = log_p.std(ddof=1) / np.sqrt(60)
        assert score["stderr_rows"] == pytest.approx(error, rel=1e-3)
    values = [one["log_likelihood"]["value"] for one in found["trials"]]
    assert values == sorted(values, reverse=True)


def test_trials_of_all_seeds_have_the_same_held_out_rows():
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (100, 5)))
    found = sweep(spec("seed = [0, 1]", source="rows.npy"), None, 1, QUIET)
    prints = {RunFolder(one["run"]).checkpoints.fingerprint_of_rows for one in found["trials"]}
    assert len(prints) == 1


def test_a_source_without_rows_to_hold_out_is_refused_before_anything_is_written():
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (20, 5)))
    with pytest.raises(hm.InputError, match="source: expected rows to hold out"):
        sweep(spec("seed = [0, 1]", source="rows.npy"), None, 1, QUIET)
    assert not Path("swept").exists()


def test_a_trial_on_other_rows_is_put_aside_and_told():
    rows = np.random.default_rng(0).integers(0, 2, (100, 5))
    np.save("rows.npy", rows)
    sweep(spec("k = [1, 2]", "trials = 1", source="rows.npy"), None, 1, QUIET)
    np.save("rows.npy", 1 - rows)
    found = sweep(spec("k = [1, 2]", source="rows.npy"), None, 1, QUIET)
    assert [one["status"] for one in found["trials"]] == ["done", "unfinished"]
    assert "expected the rows of all trials; found other rows" in found["trials"][1]["message"]
    np.save("rows.npy", rows)
    Path("swept/trial-0001").rename("elsewhere")
    found = sweep(spec("k = [1, 2]", source="rows.npy"), None, 1, QUIET)
    assert [one["status"] for one in found["trials"]] == ["done", "done"]


# --- trials that do not end as they should ----------------------------------------------


def test_a_trial_that_cannot_be_trained_is_put_aside_and_tried_again():
    path = spec("hidden = [4, 200]", options='chains = 8\nbatch = 8\nepochs = 3\nmethod = "exact"')
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (100, 40)))
    Path(path).write_text(Path(path).read_text().replace("bars", "rows.npy"))
    for _ in range(2):
        found = sweep(path, None, 1, QUIET)
        assert sorted(one["status"] for one in found["trials"]) == ["done", "unfinished"]
        assert "--method pcd" in found["trials"][-1]["message"]
    assert len(list(Path("swept").glob("trial-*"))) == 1


def test_a_trial_that_diverges_is_told_as_such():
    np.save("reals.npy", np.random.default_rng(0).normal(size=(80, 5)))
    options = f'{SMALL}\nvisible = "gaussian"'
    found = sweep(spec("lr = [0.01, 1e30]", source="reals.npy", options=options), None, 1, QUIET)
    assert [one["status"] for one in found["trials"]] == ["done", "diverged"]
    assert found["trials"][1]["log_likelihood"] == {}


# --- pruning ----------------------------------------------------------------------------


def curve(run: Path, values: list[float], step: int = 10) -> Path:
    run.mkdir(parents=True)
    (run / "config.json").touch()
    records = [
        {"update": step * (k + 1), "epoch": k, "log_likelihood": value}
        for k, value in enumerate(values)
    ]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    (run / "metrics.jsonl").write_text(text)
    return run


def report(updates: int) -> Report:
    metrics = {"update": updates, "log_likelihood": 0.0}
    return Report(updates, 100, 1.0, 10.0, 1.0, 1.0, 1.0, metrics, None, None)


def test_a_trial_below_the_median_of_the_others_at_the_same_update_is_stopped(tmp_path):
    (tmp_path / STUDY).touch()
    for k in range(FEWEST_OTHERS - 1):
        curve(tmp_path / f"trial-{k + 1:04}", [-9.0 - k, -5.0 - k, -8.0 - k, 0.0])
    curve(tmp_path / "trial-0009", [-9.0, -2.0, -2.0], step=15)  # measured at other updates
    run = curve(tmp_path / "trial-0000", [-9.0, -6.5, -7.5, -1.0])
    rule = Pruner(run, Curves()).reason
    assert rule(report(10)) is None  # too early
    # The best up to update 20: −5, −6, −7, −8, and −9 at 15; their median is −7.
    assert rule(report(20)) is None
    # At 30: −5, −6, −7, −8, −2; the median is −6, and this trial's best is −6.5.
    assert "pruned after 30 updates: held-out log-likelihood -6.50, below -6.00" in rule(report(30))
    # Only four others got as far as 50, of which the trial itself has no record.
    assert rule(report(50)) is None
    assert rule(report(100)) is None  # it has ended


def test_a_pruned_trial_is_a_run_that_says_so_and_that_can_go_on(monkeypatch):
    from harmonium.runs.train import resume

    monkeypatch.setattr("harmonium.runs.pruning.FEWEST_OTHERS", 2)
    options = "hidden = 4\nchains = 8\nbatch = 8\nepochs = 100\nmethod = 'exact'"
    path = spec("lr = [0.2, 0.3, 0.4, 0.001]", "prune = true", options=options)
    found = sweep(path, None, 1, QUIET)
    by_rate = {one["options"]["lr"]: one for one in found["trials"]}
    pruned = [one for one in found["trials"] if one["status"] == "pruned"]
    assert by_rate[0.4]["status"] == "done"
    assert pruned
    for one in pruned:
        summary = RunFolder(one["run"]).summary()
        assert (summary.status, summary.log_likelihood) == ("pruned", None)
        assert summary.message == one["message"]
        assert summary.updates == one["updates"] < 400
    whole = resume(pruned[0]["run"], None, QUIET)
    assert (whole["status"], whole["updates"]) == ("done", 400)


# --- trials of several models -----------------------------------------------------------


def test_a_trial_of_several_seeds_is_judged_by_their_mean_on_held_out_rows():
    parts = in_parts()
    options = f"{SMALL}\nensemble = 3"
    found = sweep(spec("lr = [0.1, 0.2]", source="parts.npz", options=options), None, 1, QUIET)
    for one in found["trials"]:
        values = []
        for i in range(3):
            rbm = hm.load(f"{one['run']}/ensemble/model-{i}.safetensors")
            log_p = -hm.free_energies(rbm, parts["valid"]) - hm.log_z(rbm).value
            values.append(log_p.mean())
        score = one["log_likelihood"]
        assert score["rows"] == "validation"
        assert score["value"] == pytest.approx(np.mean(values), abs=1e-4)
        error = np.std(values, ddof=1) / np.sqrt(3)
        assert score["stderr_models"] == pytest.approx(error, rel=1e-3)
    values = [one["log_likelihood"]["value"] for one in found["trials"]]
    assert values == sorted(values, reverse=True)


def test_a_trial_of_several_seeds_is_pruned_and_goes_on(monkeypatch):
    from harmonium.runs.train import resume

    monkeypatch.setattr("harmonium.runs.pruning.FEWEST_OTHERS", 2)
    options = "hidden = 4\nchains = 8\nbatch = 8\nepochs = 100\nmethod = 'exact'\nensemble = 2"
    path = spec("lr = [0.2, 0.3, 0.4, 0.001]", "prune = true", options=options)
    found = sweep(path, None, 1, QUIET)
    pruned = [one for one in found["trials"] if one["status"] == "pruned"]
    assert pruned
    assert pruned[0]["updates"] < 400
    whole = resume(pruned[0]["run"], None, QUIET)
    assert (whole["status"], whole["updates"]) == ("done", 400)
    assert len(whole["ensemble"]["models"]) == 2


def test_a_process_of_a_sweep_takes_no_module_of_the_working_folder(tmp_path):
    for name in ("harmonium", "typing", "jax", "typer"):
        (tmp_path / f"{name}.py").write_text("import sys; sys.exit('run')")
    command = [*OWN_COMMAND, "--version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"harmonium {hm.__version__}\n"), ended.stderr
