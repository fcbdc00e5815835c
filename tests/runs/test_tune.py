"""Parts of `harmonium tune`: who runs which trial, by which rows it is judged, which are pruned."""

import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from harmonium.runs.display import Display
from harmonium.runs.folder import RunFolder
from harmonium.runs.study import NAME, Study, TrialResult, TrialScore, quietly
from harmonium.runs.train import EndedEarly
from harmonium.runs.tune import OWN_COMMAND, Pruner, tune
from harmonium.runs.tune_spec import read_spec
from harmonium.training import Report

SPEC = 'source = "{source}"\nfolder = "tuned"\n{head}\n[options]\n{options}\n[search]\n{search}\n'
SMALL = "hidden = 4\nchains = 8\nbatch = 8\nepochs = 3"
QUIET = Display(Console(quiet=True))


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """Work in an empty folder, and leave out reports, which take longest in a small run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harmonium.runs.train.rows_to_show", lambda *_: None)
    monkeypatch.setattr("harmonium.runs.train.reported", lambda *given: given[2])


def outcome(status, value=None):
    """Return the result of a trial."""
    score = None if value is None else TrialScore(value=value)
    return TrialResult(status=status, message="", log_likelihood=score)


def spec(search: str, head: str = "", source: str = "bars", options: str = SMALL) -> str:
    text = SPEC.format(source=source, head=head, options=options, search=search)
    Path("spec.toml").write_text(text)
    return "spec.toml"


# --- trials -----------------------------------------------------------------------------


def test_a_trial_whose_process_has_ended_is_repeated_in_its_folder(monkeypatch):
    """Its process may have ended at any point, even before it had drawn all values."""
    monkeypatch.setattr("harmonium.runs.study.SECONDS_UNTIL_STALE", 1)
    path = spec("lr = {low = 0.1, high = 0.2}\nk = [1, 2]", "trials = 2")
    left = Study(read_spec(path))
    with quietly(left.optuna):
        trial = left.study.ask()
        lr = trial.suggest_float("lr", 0.1, 0.2)
    left.study._storage.record_heartbeat(trial._trial_id)
    time.sleep(2.1)
    summary = tune(path, None, 1, QUIET)
    trials = {row.trial: row for row in summary.trials}
    assert {number: row.status for number, row in trials.items()} == {0: "done", 1: "done"}
    assert trials[0].options["lr"] == lr
    assert len(list(Path("tuned").glob("trial-*"))) == 2


@pytest.mark.parametrize("sampler", ["random", "tpe", "grid"])
def test_what_is_drawn_depends_on_the_number_of_a_trial_only(sampler):
    values = "[0.1, 0.2, 0.3, 0.4]" if sampler == "grid" else "{low = 0.1, high = 0.4}"
    path = spec(f"lr = {values}", f'trials = 4\nsampler = "{sampler}"')
    rates = {"one": [], "two": []}

    def objective(trial, number, rates):
        rates.append(study.spec.search["lr"].suggest(trial, "lr"))
        assert number == len(rates) - 1
        return outcome("done", rates[-1])

    for folder, known in rates.items():
        study = Study(read_spec(path, folder))
        for _ in range(4):
            study.run_one(lambda trial, number, known=known: objective(trial, number, known))
            if folder == "two":
                study = Study(read_spec(path, folder))
    assert rates["one"] == rates["two"]
    assert len(set(rates["one"])) == 4


def test_a_trial_beyond_the_last_one_is_left_out():
    """Two processes may begin one at the same time, if one is left."""
    study = Study(read_spec(spec("lr = [0.1, 0.2]", "trials = 1")))
    for _ in range(2):
        study.run_one(lambda trial, number: outcome("done", 1.0))
    assert list(study.trials()) == [0]
    assert [trial.state.name for trial in study.study.trials] == ["COMPLETE", "PRUNED"]


def test_a_journal_of_an_earlier_version_is_continued():
    optuna = pytest.importorskip("optuna")
    first = tune(spec("lr = [0.1, 0.2]", "trials = 1"), None, 1, QUIET)
    path = spec("lr = [0.1, 0.2]")
    journal = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend("tuned/study.journal")
    )
    url = "sqlite:///tuned/study.db"
    optuna.copy_study(
        from_study_name=NAME, from_storage=url, to_storage=journal, to_study_name="sweep"
    )
    optuna.load_study(study_name="sweep", storage=journal).ask()  # by a process that was killed
    Path("tuned/study.db").unlink()
    rows = sorted(tune(path, None, 1, QUIET).trials, key=lambda row: row.trial)
    assert rows[0] == first.trials[0]
    assert [row.status for row in rows] == ["done", "done"]


def test_a_study_of_another_search_is_refused():
    Study(read_spec(spec("lr = [0.1, 0.2]")))
    with pytest.raises(hm.InputError, match=r"tuned: .*got a study with another search"):
        Study(read_spec(spec("lr = [0.1, 0.3]")))
    Study(read_spec(spec("lr = [0.1, 0.2]", "prune = true\ntrials = 1")))


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
    search = tune(spec("lr = [0.1, 0.2]", source="parts.npz"), None, 1, QUIET)
    for trial in search.trials:
        score = trial.log_likelihood
        rbm = hm.load(trial.run)
        assert RunFolder(trial.run).summary().log_likelihood.rows == "test"
        assert score.rows == "validation"
        log_p = -hm.free_energies(rbm, parts["valid"]) - hm.log_z(rbm).value
        assert score.value == pytest.approx(log_p.mean(), abs=1e-4)
        error = log_p.std(ddof=1) / np.sqrt(60)
        assert score.stderr_rows == pytest.approx(error, rel=1e-3)
    values = [trial.log_likelihood.value for trial in search.trials]
    assert values == sorted(values, reverse=True)


def test_trials_of_all_seeds_have_the_same_held_out_rows():
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (100, 5)))
    search = tune(spec("seed = [0, 1]", source="rows.npy"), None, 1, QUIET)
    prints = {RunFolder(trial.run).checkpoints.fingerprint_of_rows for trial in search.trials}
    assert len(prints) == 1


def test_a_source_without_rows_to_hold_out_is_refused_before_anything_is_written():
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (20, 5)))
    with pytest.raises(hm.InputError, match="source: expected held-out rows"):
        tune(spec("seed = [0, 1]", source="rows.npy"), None, 1, QUIET)
    assert not Path("tuned").exists()


def test_a_trial_on_other_rows_fails_and_is_repeated():
    rows = np.random.default_rng(0).integers(0, 2, (100, 5))
    np.save("rows.npy", rows)
    tune(spec("k = [1, 2]", "trials = 1", source="rows.npy"), None, 1, QUIET)
    np.save("rows.npy", 1 - rows)
    search = tune(spec("k = [1, 2]", source="rows.npy"), None, 1, QUIET)
    assert [trial.status for trial in search.trials] == ["done", "unfinished"]
    assert "expected the same rows as in other trials" in search.trials[1].message
    np.save("rows.npy", rows)
    Path("tuned/trial-0001").rename("elsewhere")
    search = tune(spec("k = [1, 2]", source="rows.npy"), None, 1, QUIET)
    assert [trial.status for trial in search.trials] == ["done", "done"]


# --- trials that do not end as they should ----------------------------------------------


def test_a_trial_that_cannot_be_trained_fails_and_is_repeated():
    path = spec("hidden = [4, 200]", options='chains = 8\nbatch = 8\nepochs = 3\nmethod = "exact"')
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (100, 40)))
    Path(path).write_text(Path(path).read_text().replace("bars", "rows.npy"))
    for _ in range(2):
        search = tune(path, None, 1, QUIET)
        assert sorted(trial.status for trial in search.trials) == ["done", "unfinished"]
        assert "--method pcd" in search.trials[-1].message
    assert len(list(Path("tuned").glob("trial-*"))) == 1


def test_a_trial_that_diverges_is_told_as_such():
    np.save("reals.npy", np.random.default_rng(0).normal(size=(80, 5)))
    options = f'{SMALL}\nvisible = "gaussian"'
    search = tune(spec("lr = [0.01, 1e30]", source="reals.npy", options=options), None, 1, QUIET)
    assert [trial.status for trial in search.trials] == ["done", "diverged"]
    assert search.trials[1].log_likelihood is None


# --- pruning ----------------------------------------------------------------------------


def report(updates: int, value: float) -> Report:
    metrics = {"update": updates, "log_likelihood": value}
    return Report(updates, 100, updates / 10, 10.0, 1.0, 1.0, 1.0, metrics, None, None)


def test_a_trial_below_the_median_of_the_others_at_the_same_epoch_is_stopped():
    """The others have −4 to −8, then −2 to −6; at 10 updates it is too early."""
    study = Study(read_spec(spec("lr = {low = 0.1, high = 0.2}", "trials = 9")))

    def other(trial, number):
        pruner = Pruner(trial)
        for updates, value in ((10, -4.0), (20, -4.0), (30, -2.0), (100, -2.0)):
            pruner(report(updates, value - number))
        return outcome("done", -2.0)

    def own(trial, number):
        pruner = Pruner(trial)
        pruner(report(10, -9.0))
        pruner(report(20, -5.5))
        with pytest.raises(EndedEarly, match=r"pruned after 30 updates: .*-7.50") as caught:
            pruner(report(30, -7.5))
        stopped.append(caught.value.status)
        pruner(report(100, -9.5))  # the run has ended
        return outcome("pruned")

    stopped = []
    for _ in range(5):
        study.run_one(other)
    study.run_one(own)
    assert stopped == ["pruned"]


def test_a_pruned_trial_is_a_run_that_says_so_and_that_can_go_on(monkeypatch):
    from harmonium.runs.train import resume

    monkeypatch.setattr("harmonium.runs.study.FEWEST_OTHERS", 2)
    options = "hidden = 4\nchains = 8\nbatch = 8\nepochs = 100\nmethod = 'exact'"
    path = spec("lr = [0.2, 0.3, 0.4, 0.001]", "prune = true", options=options)
    search = tune(path, None, 1, QUIET)
    by_rate = {trial.options["lr"]: trial for trial in search.trials}
    pruned = [trial for trial in search.trials if trial.status == "pruned"]
    assert by_rate[0.4].status == "done"
    assert pruned
    for trial in pruned:
        summary = RunFolder(trial.run).summary()
        assert (summary.status, summary.log_likelihood) == ("pruned", None)
        assert summary.message == trial.message
        assert summary.updates == trial.updates < 400
    whole = resume(pruned[0].run, None, QUIET)
    assert (whole.status, whole.updates) == ("done", 400)


# --- trials of several models -----------------------------------------------------------


def test_a_trial_of_several_seeds_is_judged_by_their_mean_on_held_out_rows():
    parts = in_parts()
    options = f"{SMALL}\nensemble = 3"
    search = tune(spec("lr = [0.1, 0.2]", source="parts.npz", options=options), None, 1, QUIET)
    for trial in search.trials:
        values = []
        for i in range(3):
            rbm = hm.load(f"{trial.run}/ensemble/model-{i}.safetensors")
            log_p = -hm.free_energies(rbm, parts["valid"]) - hm.log_z(rbm).value
            values.append(log_p.mean())
        score = trial.log_likelihood
        assert score.rows == "validation"
        assert score.value == pytest.approx(np.mean(values), abs=1e-4)
        error = np.std(values, ddof=1) / np.sqrt(3)
        assert score.stderr_models == pytest.approx(error, rel=1e-3)
    values = [trial.log_likelihood.value for trial in search.trials]
    assert values == sorted(values, reverse=True)


def test_a_trial_of_several_seeds_is_pruned_and_goes_on(monkeypatch):
    from harmonium.runs.train import resume

    monkeypatch.setattr("harmonium.runs.study.FEWEST_OTHERS", 2)
    options = "hidden = 4\nchains = 8\nbatch = 8\nepochs = 100\nmethod = 'exact'\nensemble = 2"
    path = spec("lr = [0.2, 0.3, 0.4, 0.001]", "prune = true", options=options)
    search = tune(path, None, 1, QUIET)
    pruned = [trial for trial in search.trials if trial.status == "pruned"]
    assert pruned
    assert pruned[0].updates < 400
    whole = resume(pruned[0].run, None, QUIET)
    assert (whole.status, whole.updates) == ("done", 400)
    assert len(whole.ensemble.models) == 2


def test_a_process_of_a_search_takes_no_module_of_the_working_folder(tmp_path):
    for name in ("harmonium", "typing", "jax", "typer"):
        (tmp_path / f"{name}.py").write_text("import sys; sys.exit('run')")
    command = [*OWN_COMMAND, "--version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"harmonium {hm.__version__}\n"), ended.stderr
