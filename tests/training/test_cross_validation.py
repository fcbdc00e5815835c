"""Few rows: cross-validation sets the penalty and the end of a run."""

import functools

import equinox as eqx
import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.training.arguments import first_state, plan_run
from harmonium.training.chunks import Models
from harmonium.training.cross_validation import (
    FOLDS,
    RISE,
    _Fold,
    cross_validate,
    is_for,
    records_of,
)
from harmonium.training.tracking import TOLERANCE
from harmonium.transforms.initialization import initialized_again

KEY = jax.random.key(3)
RNG = np.random.default_rng(5)
NOISE = (RNG.random((40, 10)) < 0.5).astype(np.uint8)  # to learn any of it is overfitting
OTHERS = (RNG.random((400, 10)) < 0.5).astype(np.uint8)
COPIES = np.repeat(RNG.random((120, 3)) < 0.5, 5, axis=1).astype(np.uint8)  # much to learn
CLUSTER = RNG.random((60, 1)) < 0.5
REALS = 0.4 * RNG.normal(size=(60, 3)) + np.where(CLUSTER, 1.0, -1.0)
GAPS = np.where(RNG.random((120, 15)) < 0.1, np.nan, COPIES)
ROWS = {"noise": NOISE, "copies": COPIES}
SHORT = {"key": KEY, "gradient": hm.Persistent(hm.Gibbs(1), 50), "batch_size": 20}
OTHER_ARGUMENTS = {"gradient": SHORT["gradient"], "batch_size": 20}


@pytest.fixture(autouse=True)
def _few_updates(monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 600)
    monkeypatch.setattr("harmonium.training.arguments.MANY_EPOCHS", 20)


def start(x=NOISE, hidden=8):
    return hm.initialize(hm.Bernoulli(x.shape[1]), hm.Bernoulli(hidden), x, key=KEY)


def recipe(rate=0.5, penalty="auto"):
    return hm.Recipe(rate=rate, penalties=(hm.Huber(penalty),))


@functools.cache
def whole_run(name):
    """Return the fit without a break to rows of this name, which several tests look at."""
    rows = ROWS[name]
    return hm.fit(start(rows), rows, **SHORT, optimizer=recipe())


def test_a_run_on_few_rows_of_noise_learns_hardly_any_of_it():
    fit = whole_run("noise")
    weak = hm.fit(start(), NOISE, **SHORT, optimizer=recipe(penalty=1e-4), epochs=300)
    cross_validated, overfitted, independent = (
        hm.log_likelihood(rbm, OTHERS).value for rbm in (fit.rbm, weak.rbm, start().uncoupled)
    )
    assert cross_validated > overfitted + 0.2
    assert cross_validated > independent - 0.2
    assert "in 4-fold cross-validation, rows that a model has not seen" in "\n".join(fit.notes)
    assert int(fit.state.folds.best) == int(fit.state.updates) < 600
    assert fit.message.startswith(f"finished after {int(fit.state.updates)} updates")


def test_a_run_goes_on_where_there_is_more_to_learn():
    fit = whole_run("copies")
    assert int(fit.state.updates) == 600
    scores = np.asarray(fit.state.folds.scores)
    assert scores[-1] == scores.max() > float(fit.state.folds.independent) + 3


@pytest.mark.parametrize("name", ["noise", "copies"])
@pytest.mark.parametrize("stop_at", [4, 40])
def test_a_resumed_run_keeps_what_it_knew(name, stop_at):
    rows = ROWS[name]
    given = SHORT | {"optimizer": recipe()}
    whole = whole_run(name)
    part = hm.fit(start(rows), rows, **given, callbacks=[lambda r: r.updates >= stop_at])
    assert int(part.state.updates) <= int(whole.state.updates)
    rest = hm.fit(start(rows), rows, **given, state=part.state)
    assert eqx.tree_equal(rest.state, whole.state)
    assert eqx.tree_equal(rest.rbm, whole.rbm)


def test_a_given_number_of_epochs_is_run_in_full():
    fit = hm.fit(start(), NOISE, **SHORT, optimizer=recipe(), epochs=100)
    assert int(fit.state.updates) == 200
    fit = hm.fit(start(), NOISE, **SHORT, epochs=10)
    assert fit.state.folds is None


def test_only_runs_that_set_their_penalty_and_can_be_scored_are_cross_validated():
    def asks(rows, rbm=None, **options):
        return is_for(plan_run(rbm or start(), rows, **options))

    assert asks(NOISE)
    assert not asks(NOISE, epochs=5)
    assert not asks(NOISE, optimizer=hm.Recipe())
    assert not asks(NOISE[: 2 * FOLDS - 1])
    assert not asks(np.resize(NOISE, (500, 10)))
    assert not asks(hm.Dataset(NOISE, np.ones(40)))
    assert asks(GAPS, start_of(GAPS))
    assert asks(REALS, start_of(REALS))


def start_of(rows):
    layer = hm.Bernoulli(rows.shape[1])
    if rows is REALS:
        layer = hm.Gaussian(rows.shape[1])
    return hm.initialize(layer, hm.Bernoulli(4), rows, key=KEY)


@pytest.mark.parametrize("rows", [REALS, GAPS], ids=["reals", "gaps"])
def test_rows_without_a_pseudo_likelihood_are_scored_by_their_log_likelihood(rows):
    plan = plan_run(start_of(rows), rows, **OTHER_ARGUMENTS, optimizer=recipe(0.2))
    result = cross_validate(start_of(rows), plan, key=KEY)
    scores = np.asarray(result.scores)
    assert np.isfinite(scores).all()
    assert scores.argmax() > 0  # of two clusters there is much to learn
    assert result.score > float(result.independent) + 0.3
    assert not result.prefers_units_alone
    assert "have a log-likelihood of" in result.note(plan)


def test_units_by_themselves_are_the_model_where_they_score_better(monkeypatch):
    rows = REALS
    alone = 100.0

    def found(start, plan, *, key):
        known = cross_validate(start, plan, key=key)
        return known._replace(independent=np.asarray(alone, np.float32))

    monkeypatch.setattr("harmonium.training.recorder.cross_validate", found)
    fit = hm.fit(start_of(rows), rows, **SHORT, optimizer=recipe(0.2))
    assert not np.asarray(fit.rbm.weights).any()
    assert "the model is the one without weights, by cross-validation" in fit.message


def test_words_are_not_cross_validated():
    """Log Z differs from length to length, so their likelihood is not followed."""
    counts = RNG.poisson(2.0, size=(40, 6)).astype(float)
    rbm = hm.initialize(hm.ReplicatedSoftmax(6), hm.Bernoulli(3), counts, key=KEY)
    assert not is_for(plan_run(rbm, counts, batch_size=20))


def test_rows_of_weight_zero_are_not_learned():
    """So no model of a cross-validation knows the rows that judge it."""
    weights = np.array([[1.0] * 30 + [0.0] * 10, [0.0] * 10 + [1.0] * 30]) * 40 / 30
    changed = NOISE.copy()
    changed[30:] = 1 - changed[30:]
    rbms = []
    for rows in (NOISE, changed):
        plan = plan_run(start(), rows, gradient=SHORT["gradient"], epochs=20, batch_size=20)
        keys = jax.random.split(KEY, 2)
        models = Models(plan, list(keys), weights)
        state = models.join([first_state(start(), plan, key=key) for key in keys])
        rbms.append(models.advance(state, plan.total)[0].rbm)
    leaves, changed_leaves = (jax.tree.leaves(rbm) for rbm in rbms)
    assert all((a[0] == b[0]).all() for a, b in zip(leaves, changed_leaves, strict=True))
    assert not all((a[1] == b[1]).all() for a, b in zip(leaves, changed_leaves, strict=True))


def test_each_model_of_an_ensemble_has_its_own_weights():
    """Weights of an ensemble give the model that `fit` makes with them."""
    weights = RNG.random((2, 40))
    weights /= weights.mean(1, keepdims=True)
    plan = plan_run(start(), NOISE, gradient=hm.Exact(), epochs=20, batch_size=20)
    keys = jax.random.split(KEY, 2)
    models = Models(plan, list(keys), weights)
    state = models.join([first_state(start(), plan, key=key) for key in keys])
    state, _ = models.advance(state, plan.total)
    assert int(state.updates) == 40
    for i in range(2):
        data = hm.Dataset(NOISE, weights[i])
        alone = hm.fit(start(), data, key=keys[i], gradient=hm.Exact(), epochs=20, batch_size=20)
        np.testing.assert_allclose(state.rbm.weights[i], alone.state.rbm.weights, atol=1e-5)


def test_models_that_diverge_end_the_search(recwarn):
    """What was found before is used, and the user is not warned of models that they do not see."""
    plan = plan_run(start(), NOISE, optimizer=recipe(1e30), gradient=SHORT["gradient"])
    result = cross_validate(start(), plan, key=KEY)
    assert int(result.best) == -1
    assert not result.prefers_units_alone
    assert not recwarn.list


def test_a_run_goes_on_where_its_score_was_lost(monkeypatch):
    """Models that were the better the longer they learned, until then, are no reason to stop."""
    lost_after = 100
    measured = _Fold.measured

    def until_lost(self, state):
        result = measured(self, state)
        if int(state.updates) > lost_after:
            return result._replace(score=np.nan)
        return result._replace(score=float(state.updates))

    monkeypatch.setattr(_Fold, "measured", until_lost)
    plan = plan_run(start(), NOISE, **OTHER_ARGUMENTS, optimizer=recipe())
    result = cross_validate(start(), plan, key=KEY)
    assert np.isfinite(result.score)
    assert int(result.best) == -1


@pytest.mark.parametrize("rows", [8, 40, 499])
def test_records_reach_half_of_the_run(rows):
    plan = plan_run(start(), np.resize(NOISE, (rows, 10)))
    records = records_of(plan)
    assert records == sorted(records)
    assert records[0] == 10
    assert records[-1] == plan.total // 2


def test_the_penalty_rises_once_rows_left_out_get_less_likely():
    """Not before: where nothing is learned yet, a stronger one would keep it so."""
    weak = 1e-3
    plan = plan_run(start(), NOISE, **OTHER_ARGUMENTS, optimizer=recipe())
    noise = cross_validate(start(), plan._replace(auto_strength=weak), key=KEY)
    scores = np.asarray(noise.scores)
    strengths = np.asarray(noise.strengths)
    overfits = scores < np.maximum.accumulate(scores) - TOLERANCE
    assert overfits.any()
    before = np.concatenate([[weak], strengths[:-1]])
    np.testing.assert_allclose(strengths / before, np.where(overfits, RISE, 1.0), rtol=1e-5)
    assert noise.strength_after(int(noise.updates[-1])) == strengths[-1]
    plan = plan_run(start(COPIES), COPIES, **OTHER_ARGUMENTS, optimizer=recipe())
    copies = cross_validate(start(COPIES), plan, key=KEY)
    np.testing.assert_allclose(copies.strengths, 1 / len(COPIES), rtol=1e-5)


def test_models_of_a_cross_validation_do_not_know_the_rows_left_out():
    """Their start is that of the rows they see, and has the pattern of the run's own weights."""
    pattern = np.ones((10, 4), int)
    pattern[0] = 0
    rbm = hm.initialize(hm.Bernoulli(10), hm.Bernoulli(4), NOISE, key=KEY, pattern=pattern)
    seen = np.arange(40) < 30
    again = initialized_again(rbm, hm.Dataset(NOISE), seen=seen, key=KEY)
    changed = NOISE.copy()
    changed[30:] = 1 - changed[30:]
    other = hm.initialize(hm.Bernoulli(10), hm.Bernoulli(4), changed, key=KEY, pattern=pattern)
    same = initialized_again(other, hm.Dataset(changed), seen=seen, key=KEY)
    np.testing.assert_allclose(again.visible.bias, same.visible.bias, atol=1e-5)
    np.testing.assert_allclose(again.dense_weights, same.dense_weights)
    assert not again.dense_weights[0].any()
    means = again.uncoupled.visible.mean(again.visible.zero_inputs)
    np.testing.assert_allclose(means, NOISE[:30].mean(0), atol=0.05)
