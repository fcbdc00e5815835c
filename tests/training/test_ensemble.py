import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from registry import ALL

KEYS = jax.random.split(jax.random.key(3), 3)
X = (np.random.default_rng(0).random((53, 12)) < 0.4).astype(np.uint8)
GIVEN = {"epochs": 4, "batch_size": 10, "gradient": hm.Persistent(hm.Gibbs(1), 20)}


def models(visible=None, x=X, keys=KEYS):
    layer = hm.Bernoulli(12) if visible is None else visible
    return [hm.initialize(layer, hm.Bernoulli(5), x, key=key) for key in keys]


@pytest.mark.parametrize("method", ["pcd", "auto", "tap"])
def test_each_model_equals_that_of_fit(method):
    given = {"epochs": 3, "batch_size": 10, "gradient": method}
    together = hm.fit_ensemble(models(), X, keys=KEYS, **given)
    for rbm, key, fit in zip(models(), KEYS, together, strict=True):
        alone = hm.fit(rbm, X, key=key, **given)
        for a, b in zip(jax.tree.leaves(alone.rbm), jax.tree.leaves(fit.rbm), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
        assert int(fit.state.updates) == int(alone.state.updates) == 18
        for name in ("free_energy", "reconstruction", "update", "epoch"):
            assert fit.history[0][name] == pytest.approx(alone.history[-1][name], rel=1e-3)
    assert len({float(fit.rbm.weights[0, 0]) for fit in together}) == 3


def test_other_layers_weights_of_rows_and_a_state_to_go_on_from():
    rows = np.random.default_rng(1).normal(size=(40, 12))
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 40)
    rbms = models(hm.Gaussian(12), rows)
    together = hm.fit_ensemble(rbms, rows, keys=KEYS, weights=weights, epochs=3, batch_size=16)
    given = {"key": KEYS[1], "weights": weights, "batch_size": 16}
    alone = hm.fit(rbms[1], rows, epochs=3, **given)
    np.testing.assert_allclose(together[1].rbm.weights, alone.rbm.weights, atol=1e-5)
    assert (
        int(hm.fit(rbms[1], rows, epochs=5, state=together[1].state, **given).state.updates) == 15
    )


def test_rates_may_differ_and_nothing_else():
    rates = [hm.Recipe(rate=rate) for rate in (0.01, 0.1, 0.5)]
    together = hm.fit_ensemble(models(), X, keys=KEYS, optimizer=rates, **GIVEN)
    moved = []
    for rbm, key, recipe, fit in zip(models(), KEYS, rates, together, strict=True):
        alone = hm.fit(rbm, X, key=key, optimizer=recipe, **GIVEN)
        np.testing.assert_allclose(fit.rbm.weights, alone.rbm.weights, atol=1e-5)
        moved.append(abs(fit.rbm.weights - rbm.weights).max())
    assert moved[0] < moved[1] < moved[2]


def test_an_optimiser_may_be_a_function_of_the_number_of_updates():
    def decaying(updates):
        return optax.sgd(optax.linear_schedule(0.1, 0.0, updates))

    together = hm.fit_ensemble(models(), X, keys=KEYS, optimizer=decaying, **GIVEN)
    alone = hm.fit(models()[1], X, key=KEYS[1], optimizer=decaying, **GIVEN)
    np.testing.assert_allclose(together[1].rbm.weights, alone.rbm.weights, atol=1e-5)


def test_products_in_bfloat16_are_reported():
    rounded = hm.fit_ensemble(models(), X, keys=KEYS, precision="bfloat16", **GIVEN)
    assert any("bfloat16" in note for note in rounded[0].notes)


def test_a_model_that_diverges_keeps_its_last_state_and_the_others_go_on():
    recipes = [hm.Recipe(rate=rate, centring=None) for rate in (0.1, 1e30, 0.1)]
    with pytest.warns(hm.DivergenceWarning, match=r"1 of 3 models diverged \(number 1"):
        together = hm.fit_ensemble(models(), X, keys=KEYS, optimizer=recipes, **GIVEN)
    assert [fit.diverged for fit in together] == [False, True, False]
    assert int(together[1].state.updates) == 0  # its first update diverged
    assert together[1].message.startswith("diverged: after 0 updates (0 epochs)")
    assert all(jnp.isfinite(fit.rbm.weights).all() for fit in together)
    alone = hm.fit(models()[2], X, key=KEYS[2], optimizer=recipes[2], **GIVEN)
    np.testing.assert_allclose(together[2].rbm.weights, alone.rbm.weights, atol=1e-5)


def leaves(fits):
    """Return all arrays of models and states."""
    return [np.asarray(leaf) for fit in fits for leaf in jax.tree.leaves((fit.rbm, fit.state))]


def same(fits, others):
    return all(np.array_equal(a, b) for a, b in zip(leaves(fits), leaves(others), strict=True))


def stop_after(updates):
    return lambda report: report.updates >= updates


HOLES = np.where(np.random.default_rng(5).random(X.shape) < 0.1, np.nan, X.astype(float))


RUNS = {"pcd": (X, "pcd"), "auto": (X, "auto"), "pt": (X, "pt"), "missing": (HOLES, "pcd")}
CHUNKS = (7, 1)


@pytest.mark.parametrize(
    ("rows", "method", "chunk"),
    [
        pytest.param(*run, chunk, id=f"{name}-{chunk}")
        for n, (name, run) in enumerate(RUNS.items())
        for chunk in (CHUNKS if ALL else CHUNKS[n % 2 : n % 2 + 1])
    ],
)
def test_a_resumed_ensemble_equals_one_without_interruption(rows, method, chunk, monkeypatch):
    given = {"epochs": 5, "batch_size": 10, "gradient": method, "keys": KEYS}
    whole = hm.fit_ensemble(models(), rows, **given)
    monkeypatch.setattr("harmonium.training.loop.next_chunk", lambda *_: chunk)
    fits = hm.fit_ensemble(models(), rows, callbacks=[stop_after(3)], **given)
    for updates in (9, 13, 20, 30):
        assert int(fits[0].state.updates) < updates
        states = [fit.state for fit in fits]
        again = [stop_after(updates)]
        fits = hm.fit_ensemble(models(), rows, states=states, callbacks=again, **given)
    assert same(fits, whole)
    assert (
        fits[0].message
        == whole[0].message
        == "finished after 30 updates (5 epochs), one of an ensemble"
    )
    assert fits[0].history == whole[0].history


def test_an_ensemble_may_go_on_for_more_epochs_at_the_rates_it_has():
    rates = [hm.Recipe(rate=rate) for rate in (0.01, 0.1, 0.5)]
    given = GIVEN | {"keys": KEYS}
    short = hm.fit_ensemble(models(), X, optimizer=rates, **given)
    states = [fit.state for fit in short]
    longer = hm.fit_ensemble(models(), X, states=states, **given | {"epochs": 6})
    for i, rbm in enumerate(models()):
        alone = hm.fit(rbm, X, key=KEYS[i], state=states[i], **GIVEN | {"epochs": 6})
        np.testing.assert_allclose(longer[i].rbm.weights, alone.rbm.weights, atol=1e-5)
        assert int(longer[i].state.updates) == 36
    done = hm.fit_ensemble(models(), X, states=states, **given)
    assert same(done, short)
    assert done[0].message.startswith("nothing to do: the run was complete after 24 updates")


def test_callbacks_receive_the_progress_and_all_models_and_states():
    reports = []
    fits = hm.fit_ensemble(
        models(), X, keys=KEYS, callbacks=[reports.append, hm.ProgressBar()], **GIVEN
    )
    assert [report.updates for report in reports] == sorted({report.updates for report in reports})
    last = reports[-1]
    assert (last.updates, last.total, last.epoch, last.epochs) == (24, 24, 4, 4)
    assert last.metrics == {}
    assert (len(last.rbm), len(last.state)) == (3, 3)
    reported = [
        fit._replace(rbm=rbm, state=state)
        for fit, rbm, state in zip(fits, last.rbm, last.state, strict=True)
    ]
    assert same(reported, fits)
    going_on = hm.fit_ensemble(models(), X, keys=KEYS, states=reports[0].state, **GIVEN)
    assert same(going_on, fits)


def test_a_callback_may_stop_an_ensemble_and_say_why():
    class Enough:
        reason = "it is late"

        def __call__(self, report):
            return report.updates >= 1

    fits = hm.fit_ensemble(models(), X, keys=KEYS, callbacks=[Enough()], **GIVEN)
    assert fits[2].message.startswith("stopped by a callback after ")
    assert fits[2].message.endswith("one of an ensemble: it is late")
    assert not any(fit.diverged for fit in fits)


def test_a_model_that_diverged_stays_as_it_is_where_others_go_on():
    recipes = [hm.Recipe(rate=rate, centring=None) for rate in (0.1, 1e30, 0.1)]
    given = GIVEN | {"keys": KEYS, "optimizer": recipes}
    with pytest.warns(hm.DivergenceWarning):
        whole = hm.fit_ensemble(models(), X, **given)
    with pytest.warns(hm.DivergenceWarning):
        part = hm.fit_ensemble(models(), X, callbacks=[stop_after(5)], **given)
    assert [fit.diverged for fit in part] == [False, True, False]
    with pytest.warns(hm.DivergenceWarning, match=r"number 1"):
        fits = hm.fit_ensemble(models(), X, states=[fit.state for fit in part], **given)
    assert same(fits, whole)
    assert [fit.diverged for fit in fits] == [False, True, False]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keys": KEYS[:2]}, "keys: expected one key for each model, 3 in all"),
        ({"optimizer": [hm.Recipe()] * 2}, "optimizer: expected a list with one entry for each"),
        (
            {"optimizer": [hm.Recipe(), hm.Recipe(decay=0.1), hm.Recipe()]},
            "differ only in their rates; got recipe number 1",
        ),
        (lambda: {"rbms": [*models()[:2], models(hm.Ising(12), 2 * X - 1.0)[0]]}, "number 2"),
        ({"states": []}, "states: expected a list with one entry for each model, 3 in all; got 0"),
        ({"states": [1, 2, 3]}, "states, number 0: expected the `state` of a Fit; got"),
        ({"callbacks": 3}, "callbacks: expected a list of functions"),
        ({"rbms": []}, "rbms: expected at least one model"),
        ({"rbms": [1, 2, 3]}, "rbms, number 0: expected an RBM"),
    ],
)
def test_mistakes_are_named(given, words):
    given = given() if callable(given) else given
    asked = {"rbms": models(), "keys": KEYS} | GIVEN | given
    with pytest.raises(hm.InputError, match=words):
        hm.fit_ensemble(asked.pop("rbms"), X, **asked)
