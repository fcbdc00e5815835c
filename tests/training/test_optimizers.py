import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from harmonium.training.optimizers import averaged_model
from registry import random_rbm

KEY = jax.random.key(3)
X = (np.random.default_rng(0).random((12, 5)) < 0.7).astype(np.uint8)


def flipped(rbm):
    """Return the model of 1 − v: W → −W, b → −b, c → c + Σ_i W_i."""
    visible = hm.Bernoulli(rbm.visible.size, -rbm.visible.bias)
    return hm.RBM(visible, rbm.hidden.shift(rbm.weights.sum(0)), -rbm.weights)


@pytest.mark.parametrize(
    "inner",
    [
        lambda: optax.sgd(0.1),
        lambda: optax.sgd(0.05, momentum=0.9),
        lambda: optax.adam(0.02),
        lambda: optax.chain(
            optax.add_decayed_weights(0.05, hm.training.weights_only), optax.sgd(0.1)
        ),
    ],
    ids=["sgd", "momentum", "adam", "decay"],
)
def test_training_on_flipped_data_gives_the_flipped_run(inner):
    """Centring does not depend on which value is called one, for any inner transformation."""
    rbm = random_rbm(hm.Bernoulli(5), hm.Bernoulli(3), 0)
    options = {"key": KEY, "gradient": hm.Exact(), "epochs": 60, "batch_size": 12}
    loose = inner()  # once, and centred once: other functions would be compiled anew
    centred = hm.training.centred(loose)
    expected = flipped(hm.fit(rbm, X, optimizer=centred, **options).rbm)
    trained = hm.fit(flipped(rbm), 1 - X, optimizer=centred, **options).rbm
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(trained), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-4)
    plain = [
        hm.fit(m, x, optimizer=loose, **options).rbm for m, x in ((rbm, X), (flipped(rbm), 1 - X))
    ]
    assert abs(flipped(plain[0]).weights - plain[1].weights).max() > 0.02  # the test has power


def test_centring_is_gradient_descent_in_centred_coordinates():
    """The update equals a plain step on (W, b~, c~) of E = −b~(v−μ) − c~(h−λ) − (v−μ)W(h−λ)."""
    rbm = random_rbm(hm.Bernoulli(5), hm.Bernoulli(3), 1)
    batch = hm.samplers.Cloud.uniform(jnp.asarray(X, jnp.float32))
    optimizer = hm.training.centred(optax.sgd(0.1))

    @eqx.filter_jit
    def updated(rbm):
        grads, _, info = hm.Exact().estimate(rbm, batch, (), key=KEY)
        return optimizer.update(grads, optimizer.init(rbm), rbm, info=info)[0], info

    updates, info = updated(rbm)
    mu = info.visible_mean
    lam = info.hidden_mean

    def plain(w, b, c):
        """Convert centred parameters into those of the model."""
        return hm.RBM(hm.Bernoulli(5, b - w @ lam), hm.Bernoulli(3, c - mu @ w), w)

    def loss(w, b, c):
        from harmonium.likelihood.partition_function.enumerated import log_z

        rbm = plain(w, b, c)
        return batch.weights @ rbm.free_energy(batch.states) + log_z(rbm)

    w = rbm.weights
    b = rbm.visible.bias + w @ lam
    c = rbm.hidden.bias + mu @ w
    g = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(w, b, c)
    expected = plain(*(p - 0.1 * d for p, d in zip((w, b, c), g, strict=True)))
    moved = jax.tree.map(jnp.add, rbm, updates)
    for a, b in zip(jax.tree.leaves(moved), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_centring_shifts_layers_of_any_kind():
    """In a layer that has parameters besides its bias, only the bias is shifted."""
    x = np.random.default_rng(0).normal(size=(20, 3)) + 2.0
    whole = hm.initialize(hm.Gaussian(3), hm.Bernoulli(2), x, key=KEY)
    bias = whole.visible.bias
    precision = whole.visible.precision
    parts = [hm.Gaussian(1, bias[:1], precision[:1]), hm.Gaussian(2, bias[1:], precision[1:])]
    fits = []
    for visible in (whole.visible, hm.Mixed(*parts)):
        rbm = hm.RBM(visible, whole.hidden, whole.weights)
        options = {"gradient": hm.Exact(), "epochs": 30, "batch_size": 20}
        fits.append(hm.fit(rbm, x, key=KEY, **options).rbm)
    np.testing.assert_allclose(fits[0].weights, fits[1].weights, rtol=1e-4, atol=1e-5)


def test_the_averaged_model_follows_its_recursion():
    rbm = random_rbm(hm.Bernoulli(2), hm.Bernoulli(1), 0)
    optimizer = hm.training.averaged(optax.identity(), forgetting=0.5)
    state = optimizer.init(rbm)
    path = rbm
    expected = rbm
    for t in range(6):
        step = jax.tree.map(lambda leaf: jnp.full_like(leaf, 0.1), rbm)
        updates, state = optimizer.update(step, state, path)
        path = jax.tree.map(jnp.add, path, updates)
        weight = 1.0 / (0.5 * t + 1.0)
        expected = jax.tree.map(lambda mean, x, w=weight: mean + w * (x - mean), expected, path)
    for a, b in zip(
        jax.tree.leaves(averaged_model(state, rbm)), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert averaged_model((), rbm) is rbm


def test_the_schedule_holds_then_falls_to_zero():
    counts = jnp.array([0, 50, 75, 100, 120])
    total = jnp.asarray(100.0)
    np.testing.assert_allclose(hm.training.hold_then_fall(counts, total, 0.5), [1, 1, 0.5, 0, 0])
    np.testing.assert_allclose(hm.training.hold_then_fall(counts[0], total, 1.0), 1.0)


def test_decay_touches_weights_alone():
    rbm = random_rbm(hm.Bernoulli(2), hm.Bernoulli(2), 0)
    mask = hm.training.weights_only(rbm)
    assert mask.weights is True
    assert mask.visible.bias is False


def test_a_recipe_is_printable_and_checked():
    assert "rate=0.1" in repr(hm.Recipe())
    for wrong in (
        {"rate": 0.0},
        {"rate": np.nan},
        {"momentum": 1.5},
        {"decay": -1.0},
        {"hold": 2.0},
    ):
        with pytest.raises(hm.InputError, match=next(iter(wrong))):
            hm.Recipe(**wrong)


def test_an_ensemble_of_models_is_a_vmap_of_the_loop():
    """Rates are array leaves of the state, so models with different rates train at once."""
    from harmonium.training import begin
    from harmonium.training.arguments import plan_run
    from harmonium.training.chunks import advance

    rbm = random_rbm(hm.Bernoulli(5), hm.Bernoulli(3), 0)
    options = {"gradient": hm.Exact(), "epochs": 10, "batch_size": 12}
    plan = plan_run(rbm, X, **options)
    state = begin(rbm, X, key=KEY, **options)
    rates = jnp.array([0.05, 0.1, 0.2])
    inner = state.optimizer.inner.inner.inner[0]
    assert float(inner.rate) == pytest.approx(0.1)

    def run(rate):
        started = eqx.tree_at(lambda s: s.optimizer.inner.inner.inner[0].rate, state, rate)
        return advance(
            plan.method, plan.dataset, len(plan.dataset), started, jnp.asarray(10), key=KEY
        )

    together = eqx.filter_vmap(run)(rates)
    alone = hm.fit(rbm, X, key=KEY, optimizer=hm.Recipe(rate=0.2), **options)
    np.testing.assert_allclose(
        together.rbm.weights[2], alone.state.rbm.weights, rtol=1e-4, atol=1e-6
    )
