"""Every gradient method against the gradient of the enumerated likelihood."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium._base.threefry import key_of
from harmonium.likelihood.partition_function import enumerated
from registry import ALL, LEVEL, covered, exact_states, examples, identify, pairs, random_rbm

REPEATS = 400 if ALL else 200
AT_ONCE = 100
CASES = covered("gradients", 3, 6, is_meant=lambda method: method.about.follows_likelihood)
PAIRS = pairs(13)  # few: JAX differentiates all of them in the same way


def problem(visible, hidden, seed):
    """Return a model that mixes within a few sweeps, and weighted rows from another model.

    The weights in units of both layers' spreads have a norm of at most 0.9. Near 1, spins that
    share continuous units align, and a hundred sweeps would be too few.
    """
    rbm = random_rbm(visible, hidden, seed, coupling=0.4)
    spreads = [jnp.sqrt(layer.variance(layer.zero_inputs)) for layer in (rbm.visible, rbm.hidden)]
    strength = jnp.linalg.norm(spreads[0][:, None] * rbm.weights * spreads[1], 2)
    weaker = rbm.weights * jnp.minimum(1.0, 0.9 / strength)
    rbm = eqx.tree_at(lambda m: m.weights, rbm, weaker)
    rows = exact_states(
        random_rbm(visible, hidden, seed + 50, coupling=0.4), 30, jax.random.key(seed)
    )
    weights = jax.random.uniform(jax.random.key(seed + 1), (30,), minval=0.5, maxval=1.5)
    return rbm, hm.samplers.Cloud(rows, weights / weights.sum())


@eqx.filter_jit
def enumerated_gradient(rbm, batch):
    """Differentiate −Σ w log p(v) = Σ w F(v) + log Z, with Z summed over states, by JAX."""

    def loss(rbm):
        return batch.weights @ rbm.free_energy(batch.states) + enumerated.log_z(rbm)

    return eqx.filter_value_and_grad(loss)(rbm)


@eqx.filter_jit
def estimates(method, rbm, batch, key):
    """Return independent estimates of the gradient."""

    def estimate(key):
        key_init, key_estimate = jax.random.split(key)
        state = method.init(rbm, batch, key=key_init)
        return method.estimate(rbm, batch, state, key=key_estimate)[0]

    return jax.lax.map(estimate, jax.random.split(key, REPEATS), batch_size=AT_ONCE)


def test_every_method_has_an_example():
    import harmonium.gradients as home

    kinds = {n for n, kind in vars(home).items() if isinstance(kind, type)}
    named = {n for n in kinds if issubclass(getattr(home, n), hm.gradients.AbstractGradient)}
    shown = {type(method).__name__ for method in examples("gradients")}
    assert {n for n in named if not n.startswith("Abstract")} == shown


@pytest.mark.parametrize(("visible", "hidden", "seed"), PAIRS, ids=identify)
def test_exact_is_the_gradient_of_the_enumerated_likelihood(visible, hidden, seed):
    rbm, batch = problem(visible, hidden, seed)
    loss, expected = enumerated_gradient(rbm, batch)
    grads, _, info = eqx.filter_jit(hm.Exact().estimate)(rbm, batch, (), key=jax.random.key(0))
    np.testing.assert_allclose(info.gap, loss, rtol=1e-5, atol=1e-5)
    for g, e in zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("method", "visible", "hidden", "seed"), CASES, ids=identify)
def test_every_method_is_unbiased_when_its_chains_are_long(method, visible, hidden, seed):
    """The mean of independent estimates equals the exact gradient: largest |z|, Bonferroni."""
    rbm, batch = problem(visible, hidden, seed)
    _, expected = enumerated_gradient(rbm, batch)
    leaves = jax.tree.leaves(estimates(method, rbm, batch, key_of(seed)))
    sizes = sum(leaf[0].size for leaf in leaves)
    bound = stats.t.isf(LEVEL / (2 * sizes * len(CASES)), REPEATS - 1)
    for drawn, e in zip(leaves, jax.tree.leaves(expected), strict=True):
        error = drawn.mean(0) - e
        spread = drawn.std(0, ddof=1) / np.sqrt(REPEATS)
        z = abs(error) / (spread + 1e-4 * (1 + abs(e)) / bound)  # plus float32 rounding
        assert float(z.max()) < bound


@pytest.mark.parametrize("seed", range(3))
def test_cd_approaches_the_exact_gradient_as_k_grows(seed):
    """The enumerated bias of CD-k's mean gradient falls with k, by far more than the noise."""
    rbm, batch = problem(hm.Bernoulli(4), hm.Bernoulli(4), seed)
    rbm = eqx.tree_at(lambda m: m.weights, rbm, 6.0 * rbm.weights)
    _, expected = enumerated_gradient(rbm, batch)
    many = hm.samplers.Cloud(
        jnp.repeat(batch.states, 500, axis=0), jnp.repeat(batch.weights / 500, 500)
    )
    errors = []
    for k in (1, 100):
        method = hm.Contrastive(hm.Gibbs(k))
        grads, _, _ = eqx.filter_jit(method.estimate)(rbm, many, (), key=jax.random.key(seed))
        errors.append(float(jnp.linalg.norm(grads.weights - expected.weights)))
    assert errors[0] > 3 * errors[1]


@pytest.mark.parametrize(("visible", "hidden", "seed"), PAIRS[:4], ids=identify)
def test_clouds_of_hidden_states_enter_by_the_turned_model(visible, hidden, seed):
    """⟨∂F(v)/∂θ⟩ over p(v) equals ⟨∂F(h)/∂θ⟩ over p(h): exact sums may run over either layer."""
    if visible.n_states is None or hidden.n_states is None:
        visible = hm.Bernoulli(3)
        hidden = hm.Ising(2)
    rbm, _ = problem(visible, hidden, seed)

    def model_cloud(model):
        states = model.visible.states(jnp.arange(model.visible.n_states))
        return hm.samplers.Cloud(states, jax.nn.softmax(-model.free_energy(states)))

    clouds = model_cloud(rbm), model_cloud(rbm.T)
    from_v = eqx.filter_grad(lambda m: hm.gradients.mean_free_energy(m, clouds[0]))(rbm)
    from_h = eqx.filter_grad(lambda m: hm.gradients.mean_free_energy(m.T, clouds[1]))(rbm)
    for a, b in zip(jax.tree.leaves(from_v), jax.tree.leaves(from_h), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
