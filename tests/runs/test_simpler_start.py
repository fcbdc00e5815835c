"""Runs that begin again from a simpler model: a tree of columns, or a mixture of products."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.runs import simpler_start
from harmonium.runs.prepare import prepare
from harmonium.runs.rows import rows_of_run
from harmonium.runs.simpler_start import SimplerCheck, SimplerIsBetterError
from harmonium.runs.train_options import RunConfig
from harmonium.training.cross_validation import rows_left_out

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def chain(tmp_path, monkeypatch):
    """Rows of 30 columns, of which each nearly repeats the one before."""
    monkeypatch.chdir(tmp_path)
    flips = np.random.default_rng(0).random((60, 30)) < np.array([0.5] + [0.03] * 29)
    rows = (np.cumsum(flips, axis=1) % 2).astype(np.uint8)
    np.save("chain.npy", rows)
    return rows


def report_of(score: float) -> SimpleNamespace:
    folds = SimpleNamespace(score=score, of_rows=np.full(500, score))
    return SimpleNamespace(state=SimpleNamespace(folds=folds))


def test_visible_tree_takes_the_tree_of_the_training_rows(chain):
    rows = rows_of_run(RunConfig(source="chain.npy", visible="tree"))
    assert rows.visible.parents == hm.data.dependence_tree(chain)
    assert rows.binary


def test_rows_that_the_tree_has_not_seen_are_scored(chain):
    left_out = rows_left_out(60, key=KEY)
    independent = 30 * np.log(0.5)
    entropy = np.log(0.5) + 29 * (0.03 * np.log(0.03) + 0.97 * np.log(0.97))
    score, pseudo = (
        float(simpler_start._tree(chain, left_out, pseudo=pseudo).scores.mean())
        for pseudo in (False, True)
    )
    assert independent < score < pseudo < 0.0
    # Four standard errors of 60 rows (a flip gains or costs log(0.97 / 0.03) nats) and 1 nat of
    # what 45 rows leave unknown.
    error = np.log(0.97 / 0.03) * np.sqrt(29 * 0.03 * 0.97 / 60)
    assert abs(score - entropy) < 4 * error + 1.0


def test_the_pseudo_log_likelihood_of_a_tree_is_that_of_its_neighbours(chain):
    rows = chain.astype(float)
    forest = hm.analysis.dependence_forest(rows, [2] * 30)
    flips = np.eye(30)
    neighbours = abs(rows[:, None] - flips).reshape(-1, 30)
    away = forest.log_p(neighbours).reshape(60, 30) - forest.log_p(rows)[:, None]
    expected = -np.log1p(np.exp(away)).sum(1)
    np.testing.assert_allclose(simpler_start._pseudo_log_p(forest, rows), expected, rtol=1e-9)


def test_a_model_that_scores_less_than_the_tree_is_begun_again():
    prepared = prepare(RunConfig(source="chain.npy", hidden=4))
    with pytest.raises(SimplerIsBetterError, match="begins from the best tree of columns"):
        SimplerCheck(prepared)(report_of(-15.0))
    SimplerCheck(prepared)(report_of(-1.0))
    SimplerCheck(prepared)(report_of(-np.inf))  # of scores that could not be followed
    check = SimplerCheck(prepared)
    check(report_of(-1.0))
    check(report_of(-15.0))  # it is asked once


@pytest.mark.parametrize(
    "options", [{"visible": "bernoulli"}, {"epochs": 3}, {"source": "bars"}, {"ensemble": 2}]
)
def test_what_the_user_chose_is_kept(options):
    prepared = prepare(RunConfig(**({"source": "chain.npy", "hidden": 4} | options)))
    SimplerCheck(prepared)(report_of(-15.0))


def classes(n: int) -> np.ndarray:
    """Return rows of four classes far apart."""
    rng = np.random.default_rng(1)
    centres = rng.random((4, 20)) < 0.5
    flips = rng.random((n, 20)) < 0.05
    return (centres[rng.integers(0, 4, n)] ^ flips).astype(np.uint8)


@pytest.mark.parametrize("n", [120, 600])  # cross-validated, and with held-out rows
def test_a_mixture_that_scores_better_is_begun_from(n):
    np.save("classes.npy", classes(n))
    prepared = prepare(RunConfig(source="classes.npy"))
    check = SimplerCheck(prepared)
    asked = partial(check, report_of(-12.0))
    if n >= 500:  # the model before the first update is that of independent columns
        asked = partial(check.by_held_out, prepared.rbm, hm.log_z(prepared.rbm).value)
    with pytest.raises(SimplerIsBetterError, match="from a mixture of") as caught:
        asked()
    begun = prepare(RunConfig(source="classes.npy", **caught.value.options))
    # Columns that are never on together have groups, which do not hold within a class.
    count = caught.value.options["hidden_states"]
    assert 4 <= count <= (n / 10)
    assert str(begun.rbm) == f"RBM(Bernoulli(20) – Potts(1, states={count}))"
    entropy = np.log(0.25) + 20 * (0.05 * np.log(0.05) + 0.95 * np.log(0.95))
    score = hm.log_likelihood(begun.rbm, begun.train)
    error = np.log(19) * np.sqrt(20 * 0.05 * 0.95 / n)
    # Above it by what 20 parameters a class learn of chance, at most; four standard errors below.
    assert entropy - 4 * error - 0.1 < score.value < entropy + 4 * error + 20 * count / n


def numbers(n: int) -> np.ndarray:
    """Return rows of two numbers in three classes, whose spreads differ by far."""
    rng = np.random.default_rng(2)
    which = rng.integers(0, 3, (n, 1))
    return (which - 1.0) + np.array([0.02, 0.3, 1.0])[which] * rng.normal(size=(n, 2))


@pytest.mark.parametrize("n", [200, 600])  # cross-validated, and with held-out rows
def test_numbers_begin_from_classes_with_spreads_of_their_own(n):
    np.save("numbers.npy", numbers(n))
    prepared = prepare(RunConfig(source="numbers.npy", visible="gaussian", hidden=8))
    check = SimplerCheck(prepared)
    asked = partial(check, report_of(-3.0))
    if n >= 500:
        asked = partial(check.by_held_out, prepared.rbm, hm.log_z(prepared.rbm).value)
    with pytest.raises(SimplerIsBetterError, match="begins from a mixture of") as caught:
        asked()
    begun = prepare(replace(prepared.config, **caught.value.options))
    count = caught.value.options["classes"]
    assert 3 <= count <= 8
    assert str(begun.rbm) == f"RBM(Mixture({count} × Gaussian(2)) – Bernoulli(8))"
    SimplerCheck(begun)(report_of(-3.0))  # it does not begin a third time


def test_numbers_that_the_user_wants_in_one_class_stay_there():
    np.save("numbers.npy", numbers(200))
    prepared = prepare(RunConfig(source="numbers.npy", visible="gaussian", classes=1))
    SimplerCheck(prepared)(report_of(-3.0))


def test_units_without_an_inverse_of_the_mean_have_no_classes():
    np.save("levels.npy", np.random.default_rng(0).random((40, 3)))
    with pytest.raises(hm.InputError, match="leave --classes out"):
        prepare(RunConfig(source="levels.npy", visible="unit_interval", classes=2))


@pytest.mark.parametrize("options", [{"hidden": 64}, {"method": "cd"}, {"lr": 0.1}])
def test_hidden_units_that_the_user_chose_are_kept(options):
    np.save("classes.npy", classes(120))
    prepared = prepare(RunConfig(source="classes.npy", visible="bernoulli", **options))
    SimplerCheck(prepared)(report_of(-12.0))
    completed = prepare(RunConfig(source="classes.npy", **options)).config
    assert not prepare(completed).config.may_be_mixture


def test_whether_a_run_may_become_a_mixture_is_kept_in_its_options():
    completed = prepare(RunConfig(source="chain.npy")).config
    assert completed.may_be_mixture
    assert prepare(completed).config.may_be_mixture  # though 64 hidden units stand there now
