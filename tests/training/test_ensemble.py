import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm

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
    for rbm, key, found in zip(models(), KEYS, together, strict=True):
        alone = hm.fit(rbm, X, key=key, **given)
        for a, b in zip(jax.tree.leaves(alone.rbm), jax.tree.leaves(found.rbm), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
        assert int(found.state.updates) == int(alone.state.updates) == 18
        for name in ("free_energy", "reconstruction", "update", "epoch"):
            assert found.history[0][name] == pytest.approx(alone.history[-1][name], rel=1e-3)
    assert len({float(found.rbm.weights[0, 0]) for found in together}) == 3


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
    for rbm, key, recipe, found in zip(models(), KEYS, rates, together, strict=True):
        alone = hm.fit(rbm, X, key=key, optimizer=recipe, **GIVEN)
        np.testing.assert_allclose(found.rbm.weights, alone.rbm.weights, atol=1e-5)
    moved = [abs(f.rbm.weights - r.weights).max() for f, r in zip(together, models(), strict=True)]
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


def test_one_that_diverges_is_kept_and_the_others_go_on():
    recipes = [hm.Recipe(rate=rate, centring=None) for rate in (0.1, 1e30, 0.1)]
    with pytest.warns(hm.DivergenceWarning, match=r"1 of 3 models diverged \(number 1"):
        together = hm.fit_ensemble(models(), X, keys=KEYS, optimizer=recipes, **GIVEN)
    assert [found.diverged for found in together] == [False, True, False]
    assert int(together[1].state.updates) == 0  # its first update diverged
    assert together[1].message.startswith("diverged: after 0 updates (0 epochs)")
    assert all(jnp.isfinite(found.rbm.weights).all() for found in together)
    alone = hm.fit(models()[2], X, key=KEYS[2], optimizer=recipes[2], **GIVEN)
    np.testing.assert_allclose(together[2].rbm.weights, alone.rbm.weights, atol=1e-5)


def test_progress_is_reported():
    reported = []
    hm.fit_ensemble(models(), X, keys=KEYS, progress=reported.append, **GIVEN)
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keys": KEYS[:2]}, "keys: expected one for each of 3 models"),
        ({"optimizer": [hm.Recipe()] * 2}, "optimizer: expected 3 of them"),
        (
            {"optimizer": [hm.Recipe(), hm.Recipe(decay=0.1), hm.Recipe()]},
            "differ in their rates alone; number 1",
        ),
        ({"rbms": [*models()[:2], models(hm.Ising(12), 2 * X.astype(int) - 1)[0]]}, "number 2"),
        ({"rbms": []}, "rbms: expected at least one model"),
        ({"rbms": [1, 2, 3]}, "rbms, number 0: expected an RBM"),
    ],
)
def test_mistakes_are_named(given, words):
    asked = {"rbms": models(), "keys": KEYS} | GIVEN | given
    with pytest.raises(hm.InputError, match=words):
        hm.fit_ensemble(asked.pop("rbms"), X, **asked)
