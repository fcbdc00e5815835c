"""Proximal steps against their definition, and their effects in a run."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from harmonium.training.penalties import prior_strength, size_of_weights
from registry import random_rbm

KEY = jax.random.key(5)
RNG = np.random.default_rng(0)
X = np.repeat(RNG.random((30, 2)) < 0.5, 3, axis=1) ^ (RNG.random((30, 6)) < 0.15)  # two blocks
LABELS = (0, 0, 1, 1, 1, 2)
PENALTIES = [
    hm.L1(0.8),
    hm.Huber(0.7, width=0.5),
    hm.GroupLasso(0.5),
    hm.GroupLasso(0.7, visible="each", hidden="all"),
    hm.GroupLasso(0.5, visible=LABELS, hidden="each"),
    hm.GroupLasso(0.4, visible="all", hidden=(5, 5, 7)),
    hm.SquaredL1(0.9),
    hm.MaxNorm(1.1),
    hm.MaxNorm(0.8, visible=LABELS),
]


@eqx.filter_jit
def estimate(rbm):
    """Return the exact gradient on all rows, and its info."""
    batch = hm.samplers.Cloud.uniform(jnp.asarray(X, jnp.float32))
    grads, _, info = hm.Exact().estimate(rbm, batch, (), key=KEY)
    return grads, info


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(hm.Bernoulli(6), hm.Bernoulli(3), 0)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_proximal_step_minimises_its_objective(penalty, rbm):
    """½|U − W|² + ηR(U) is convex: no nearby point, along any axis or at random, lies below."""
    step = 0.5
    w = rbm.weights

    def objective(u):
        return 0.5 * ((u - w) ** 2).sum() + step * penalty.value(u, rbm)

    with jax.enable_x64(True):
        w = jnp.asarray(np.asarray(w), jnp.float64)
        minimum = penalty.proximal(w, step, rbm)
        lowest = float(objective(minimum))
        assert lowest < float(objective(w)) or np.isinf(objective(w))
        rng = np.random.default_rng(1)
        axes = np.eye(minimum.size).reshape(-1, *minimum.shape)
        random = rng.normal(size=(100, *w.shape))
        directions = [*axes, *-axes, *random, w - minimum, -minimum]
        nearby = jnp.stack([minimum + e * d for d in directions for e in (1e-3, 1e-1)])
        assert (jax.vmap(objective)(nearby) >= lowest - 1e-9).all()


def test_l1_gives_exact_zeros_and_groups_vanish_as_a_whole(rbm):
    soft = hm.L1(1.0).proximal(rbm.weights, jnp.asarray(0.5), rbm)
    np.testing.assert_array_equal(soft == 0, abs(rbm.weights) <= 0.5)
    shrunk = hm.GroupLasso(1.0, LABELS).proximal(rbm.weights, jnp.asarray(0.5), rbm)
    for label, unit in itertools.product(range(3), range(3)):
        rows = np.flatnonzero(np.array(LABELS) == label)
        norm = np.linalg.norm(rbm.weights[rows, unit])
        factor = max(0.0, 1.0 - 0.5 * np.sqrt(len(rows)) / norm)
        np.testing.assert_allclose(
            shrunk[rows, unit], factor * rbm.weights[rows, unit], rtol=1e-5, atol=1e-7
        )


def test_a_potts_site_is_never_divided():
    rbm = random_rbm(hm.Potts(4, states=3), hm.Potts(2, states=2), 0)
    by_site = rbm.weights.reshape(4, 3, 2, 2)
    norms = np.sqrt((by_site**2).sum((1, 3)))
    strength = float(np.median(norms)) / np.sqrt(6)
    pairs = hm.GroupLasso(strength, "each", "each")
    shrunk = pairs.proximal(rbm.weights, jnp.asarray(1.0), rbm).reshape(4, 3, 2, 2)
    expected = by_site * np.maximum(1 - strength * np.sqrt(6) / norms, 0)[:, None, :, None]
    np.testing.assert_allclose(shrunk, expected, rtol=1e-5, atol=1e-6)
    value = strength * np.sqrt(6) * norms.sum()
    np.testing.assert_allclose(pairs.value(rbm.weights, rbm), value, rtol=1e-5)


def test_tiles_are_labels_of_patches():
    labels = np.array(hm.training.tiles((4, 5), (2, 3))).reshape(4, 5)
    np.testing.assert_array_equal(labels[::2], [[0, 0, 0, 1, 1], [2, 2, 2, 3, 3]])
    np.testing.assert_array_equal(labels[::2], labels[1::2])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: hm.L1(-1.0), "L1 strength: expected a number of at least 0"),
        (lambda: hm.MaxNorm(0.0), "MaxNorm bound: expected a positive number"),
        (lambda: hm.GroupLasso(1.0, visible="rows"), 'expected "each", "all" or a tuple'),
        (lambda: hm.Recipe(momentum=(0.5, 1.0)), "momentum: expected a number from 0"),
        (lambda: hm.Recipe(sparsity=(0.1, -1.0)), "strength: expected a number of at least 0"),
        (lambda: hm.Recipe(centring=None, model_share=0.5), "expected 0 without centring"),
        (lambda: hm.training.tiles((4, 4), (0, 2)), "tiles tile height"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(hm.InputError, match=words):
        make()


def test_labels_that_do_not_fit_are_named_before_the_run(rbm):
    recipe = hm.Recipe(penalties=(hm.MaxNorm(1.0, visible=(0, 1)),))
    with pytest.raises(hm.InputError, match="MaxNorm: expected 6 labels"):
        hm.fit(rbm, X, key=KEY, optimizer=recipe, epochs=1)


def test_an_l1_run_ends_where_the_optimality_conditions_hold(rbm):
    """At the optimum of −log L + λ|W|₁: |g| ≤ λ where W is 0, g = −λ sign(W) elsewhere."""
    strength = 0.02
    recipe = hm.Recipe(rate=0.5, penalties=(hm.L1(strength),), averaging=None)
    fit = hm.fit(
        rbm, X, key=KEY, gradient=hm.Exact(), optimizer=recipe, epochs=4_000, batch_size=30
    )
    w = fit.rbm.weights
    (grads, info) = estimate(fit.rbm)
    assert 0 < (w == 0).sum() < w.size
    # The biases are at their optimum, so the plain gradient and the centred one agree.
    np.testing.assert_allclose(grads.visible.bias, 0.0, atol=2e-3)
    assert abs(np.asarray(grads.weights))[np.asarray(w == 0)].max() <= strength + 2e-3
    pulled = np.asarray(grads.weights + strength * jnp.sign(w))[np.asarray(w != 0)]
    np.testing.assert_allclose(pulled, 0.0, atol=2e-3)
    assert np.isfinite(info.gap)


def test_zeros_and_bounds_survive_averaging_and_centring(rbm):
    recipe = hm.Recipe(rate=0.3, momentum=0.5, penalties=(hm.L1(0.02), hm.MaxNorm(0.9)))
    fit = hm.fit(rbm, X, key=KEY, gradient=hm.Exact(), optimizer=recipe, epochs=400)
    raw = fit.state.rbm.weights
    assert 0 < (raw == 0).sum() < raw.size
    np.testing.assert_array_equal(np.asarray(fit.rbm.weights == 0), np.asarray(raw == 0))
    assert (jnp.linalg.norm(fit.rbm.weights, axis=0) <= 0.9 + 1e-5).all()


def test_a_norm_bound_keeps_a_run_that_would_diverge():
    x = np.random.default_rng(0).normal(size=(40, 3))
    rbm = hm.initialize(hm.Gaussian(3), hm.Gaussian(2), x, key=KEY)
    options = {"gradient": hm.Contrastive(hm.Gibbs(1)), "epochs": 200, "batch_size": 10}
    bound = hm.Recipe(rate=0.3, penalties=(hm.MaxNorm(0.5),))
    assert not hm.fit(rbm, x, key=KEY, optimizer=bound, **options).diverged


def test_proximal_steps_follow_other_transformations(rbm):
    chain = optax.chain(optax.adam(0.02), hm.training.proximal(hm.L1(0.1), rate=0.02))
    grads = jax.tree.map(jnp.zeros_like, rbm)
    state = hm.training.centred(chain).init(rbm)
    updates, _ = hm.training.centred(chain).update(grads, state, rbm, info=estimate(rbm)[1])
    expected = hm.L1(0.1).proximal(rbm.weights, jnp.asarray(0.02), rbm)
    np.testing.assert_allclose(rbm.weights + updates.weights, expected, atol=1e-7)
    moved = rbm.visible.bias + updates.visible.bias
    assert abs(moved - rbm.visible.bias).max() > 1e-4  # the biases compensate


def test_weights_from_given_units_are_penalised_too():
    layer = hm.Conditional(hm.Bernoulli(6), given=[0, 1], weights=np.full((2, 4), 3.0))
    rbm = hm.RBM(layer, hm.Bernoulli(3), np.full((6, 3), 3.0))
    zero = jax.tree.map(jnp.zeros_like, rbm)

    def moved(*penalties):
        step = hm.training.proximal(*penalties, rate=0.5)
        updates, _ = step.update(zero, step.init(rbm), rbm)
        return updates.visible.weights, updates.weights

    of_layer, of_weights = moved(hm.L1(1.0))
    np.testing.assert_allclose(of_layer, -0.5)
    np.testing.assert_allclose(of_weights, -0.5)
    # The groups of a bound are those of W, whose units are of two layers.
    of_layer, of_weights = moved(hm.MaxNorm(1.0))
    assert not of_layer.any()
    assert (of_weights < 0).all()
    mask = hm.training.weights_only(rbm)
    assert (mask.weights, mask.visible.weights, mask.visible.layer.bias) == (True, True, False)
    plain = hm.RBM(layer.layer, rbm.hidden, rbm.weights)
    own = size_of_weights(rbm) - size_of_weights(plain)
    assert float(own) == pytest.approx(8 * (3.0 - 0.05), rel=1e-5)


def test_a_shared_weight_has_the_prior_of_one_weight():
    like = hm.weights.ConvolutionalWeights(np.ones((1, 2)), (5,))
    shared = hm.RBM(hm.Bernoulli(5), hm.Bernoulli(4), like)
    dense = hm.RBM(shared.visible, shared.hidden, like.dense)
    assert prior_strength(shared, 10) == pytest.approx(prior_strength(dense, 10) / 4)
