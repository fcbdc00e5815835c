"""Runs of several models side by side: what they write, and that they go on where they were."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from harmonium.errors import InputError
from harmonium.runs import checkpointing
from harmonium.runs.display import Display
from harmonium.runs.folder import RunFolder
from harmonium.runs.train import resume, train
from harmonium.runs.train_options import RunConfig

QUIET = Display(Console(quiet=True))
CONFIG = RunConfig(source="bars", hidden=4, epochs=12, chains=20, batch=8, ensemble=3)
WITHOUT = {"seconds", "samples_per_second", "update_ratio", "pseudo_log_likelihood"}


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """Work in an empty folder, save after every chunk, and write no report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr("harmonium.runs.train.rows_to_show", lambda *_: None)
    monkeypatch.setattr("harmonium.runs.train.reported", lambda *given: given[2])


def interrupt_after(updates):
    def then(report):
        if report.updates >= updates:
            raise KeyboardInterrupt

    return [then]


def content_of(name):
    """Return all models and the state of a run, byte by byte, and its records without times."""
    files = [*Path(name).glob("*.safetensors"), *Path(name).glob("ensemble/*")]
    files.append(RunFolder(name).checkpoints.last)
    records = [
        {key: value for key, value in record.items() if key not in WITHOUT}
        for record in RunFolder(name).metrics()
    ]
    return {str(file.relative_to(name)): file.read_bytes() for file in files}, records


def rows_file():
    rng = np.random.default_rng(0)
    np.save("rows.npy", (rng.random((200, 6)) < rng.random((200, 1))).astype(np.uint8))
    return "rows.npy"


FOLLOWED = {"validation": 0.2, "penalty": "auto", "keep": "best"}


@pytest.mark.parametrize("given", [{}, FOLLOWED], ids=["plain", "followed"])
def test_each_model_is_that_of_a_run_with_its_seed(given):
    config = replace(CONFIG, source=rows_file(), **given)
    summary = train(config, "run", False, QUIET)
    values = []
    for i in range(3):
        alone = train(replace(config, ensemble=1, seed=i, split=0), f"alone-{i}", False, QUIET)
        own = hm.load(f"alone-{i}")
        other = hm.load(f"run/ensemble/model-{i}.safetensors")
        for a, b in zip(jax.tree.leaves(own), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4)
        values.append(alone.log_likelihood.value)
    mean = summary.ensemble.mean
    assert mean.value == pytest.approx(np.mean(values), abs=1e-4)
    assert mean.stderr_models == pytest.approx(np.std(values, ddof=1) / 3**0.5, abs=1e-4)
    assert summary.log_likelihood.value == pytest.approx(values[0], abs=1e-4)
    names = [str(Path(file)) for file in summary.ensemble.models]
    assert names == [str(Path(f"run/ensemble/model-{i}.safetensors")) for i in range(3)]
    assert Path("run/model.safetensors").read_bytes() == Path(names[0]).read_bytes()
    last = [RunFolder(f"alone-{i}").metrics()[-1]["free_energy"] for i in range(3)]
    assert RunFolder("run").metrics()[-1]["free_energy"] == pytest.approx(np.mean(last), abs=1e-3)


@pytest.mark.parametrize("given", [{}, FOLLOWED], ids=["plain", "followed"])
def test_an_interrupted_run_goes_on_to_the_same_models(given):
    config = replace(CONFIG, source=rows_file(), **given)
    train(config, "whole", False, QUIET)
    summary = train(config, "run", False, QUIET, callbacks=interrupt_after(20))
    assert summary.status == "interrupted"
    assert not Path("run/ensemble").exists()
    resume("run", None, QUIET, callbacks=interrupt_after(100))
    assert resume("run", None, QUIET).status == "done"
    assert content_of("run") == content_of("whole")
    again = resume("run", None, QUIET)
    assert again.message.startswith("nothing to do: the run was complete")
    assert content_of("run") == content_of("whole")
    longer = resume("run", 14, QUIET)
    assert (longer.status, longer.updates / 14) == ("done", again.updates / 12)
    assert content_of("run")[0] != content_of("whole")[0]


def test_a_run_of_which_a_model_diverges_has_diverged():
    summary = train(replace(CONFIG, lr=1e30), "run", False, QUIET)
    assert (summary.status, summary.updates) == ("diverged", 0)
    assert summary.message.startswith("diverged: after 0 updates")
    assert summary.ensemble is None
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(hm.load("run")))
    assert resume("run", None, QUIET).status == "diverged"


def test_a_run_of_one_model_that_replaces_an_ensemble_leaves_nothing_of_it():
    train(CONFIG, "run", False, QUIET)
    assert len(list(Path("run/ensemble").iterdir())) == 3
    train(replace(CONFIG, ensemble=1), "run", True, QUIET)
    assert not Path("run/ensemble").exists()


def test_what_cannot_be_an_ensemble_is_refused_before_anything_is_written():
    with pytest.raises(InputError, match="--ensemble: expected a whole number of at least 1"):
        replace(CONFIG, ensemble=0)
    with pytest.raises(InputError, match=r"--ensemble: expected seeds below 4,294,967,296"):
        replace(CONFIG, seed=2**32 - 2)
    with pytest.raises(InputError, match=r"--ensemble: .*lower --ensemble"):
        train(replace(CONFIG, ensemble=2**31 - 1), "run", False, QUIET)
    assert not Path("run").exists()


def test_rows_that_are_read_while_a_model_learns_are_refused():
    Path("parts").mkdir()
    for i in range(2):
        np.save(f"parts/{i}.npy", np.random.default_rng(i).integers(0, 2, (300, 6), np.uint8))
    with pytest.raises(InputError, match="--ensemble: expected rows in memory"):
        train(replace(CONFIG, source="parts"), "run", False, QUIET)
    assert not Path("run").exists()
    keys = jax.random.split(jax.random.key(0), 2)
    stream = hm.Stream("parts")
    starts = [hm.initialize(hm.Bernoulli(6), hm.Bernoulli(3), stream, key=key) for key in keys]
    with pytest.raises(InputError, match="expected rows in memory"):
        hm.fit_ensemble(starts, stream, keys=keys, epochs=1)
