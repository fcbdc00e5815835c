"""Laws for every kind of weights: the model equals the model with the same dense weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.gradients.base import cloud_gradient
from harmonium.samplers import Cloud
from harmonium.training.transformations import add_outer, products_of_change
from harmonium.weights.base import dense, over_rows, projected
from registry import ALL, SEEDS, examples, methods_for_all_units, name_of, random_rbm

KINDS = examples("weights")
NAMES = [type(kind(jnp.ones((2, 2)))).__name__ for kind in KINDS]
LAYERS = [
    (hm.Bernoulli(4), hm.Bernoulli(3)),
    (hm.Potts(2, states=3), hm.Ising(2)),
    (hm.Mixed(hm.Ising(2), hm.Potts(1, states=3)), hm.Bernoulli(3)),
]
# In the cover, each kind with one of the pairs of layers, in turn.
DEALT = [(k, i) for k in range(len(KINDS)) for i in range(len(LAYERS)) if ALL or i == k % 3]
CASES = [(KINDS[k], *LAYERS[i], seed) for k, i in DEALT for seed in SEEDS]
over_kinds = pytest.mark.parametrize(
    ("kind", "visible", "hidden", "seed"),
    CASES,
    ids=[f"{NAMES[k]}-{i}-{seed}" for k, i in DEALT for seed in SEEDS],
)


def two(kind, visible, hidden, seed) -> tuple[hm.RBM, hm.RBM]:
    """Return a model with such weights, and the model with the same weights as an array."""
    rbm = random_rbm(visible, hidden, seed)
    ours = hm.RBM(rbm.visible, rbm.hidden, kind(rbm.weights))
    return ours, hm.RBM(rbm.visible, rbm.hidden, ours.dense_weights)


def rows_of(visible, n=40):
    return visible.decode(visible.sample_without_inputs((n,), key=jax.random.key(7)))


@over_kinds
def test_products_are_those_of_the_dense_form(kind, visible, hidden, seed):
    ours, plain = two(kind, visible, hidden, seed)
    v, h = (s.encode(rows_of(s, 6)) for s in (visible, hidden))
    w = np.asarray(plain.weights, float)
    assert ours.weights.shape == ours.weights.dense.shape == w.shape
    assert ours.weights.T.shape == w.T.shape
    np.testing.assert_allclose(ours.inputs_to_h(v), np.asarray(v) @ w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.inputs_to_v(h), np.asarray(h) @ w.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.T.dense_weights, w.T, rtol=1e-6)
    assert jax.tree.structure(ours.T.T) == jax.tree.structure(ours)
    np.testing.assert_array_equal(projected(ours.weights).dense, ours.weights.dense)
    factors = jnp.linspace(0.5, 2.0, visible.size)
    changed = over_rows(ours.weights, factors)
    assert type(changed) is type(ours.weights)
    np.testing.assert_allclose(changed.dense, factors[:, None] * w, rtol=1e-2, atol=1e-6)


@over_kinds
def test_scores_are_those_of_the_dense_model(kind, visible, hidden, seed):
    ours, plain = two(kind, visible, hidden, seed)
    rows = rows_of(visible)
    key = jax.random.key(seed)
    close = {"rtol": 1e-5, "atol": 1e-5}
    assert hm.likelihood.finite_z(ours) == hm.likelihood.finite_z(plain)
    np.testing.assert_allclose(hm.log_z(ours).value, hm.log_z(plain).value, **close)
    np.testing.assert_allclose(hm.free_energies(ours, rows), hm.free_energies(plain, rows), **close)
    pseudo = hm.pseudo_log_likelihoods
    np.testing.assert_allclose(pseudo(ours, rows), pseudo(plain, rows), **close)
    # errors of means, which bfloat16 rounds to 8 bits
    errors = (hm.reconstruction_errors(rbm, rows) for rbm in (ours, plain))
    np.testing.assert_allclose(*errors, rtol=2**-7, atol=2**-7)
    answer = hm.log_z(ours, method="annealed", key=key)
    assert answer.low <= hm.log_z(plain).value <= answer.high


@pytest.mark.parametrize("is_cpu", [True, False])
@over_kinds
def test_gradients_are_those_of_the_dense_model_brought_to_the_parameters(
    kind, visible, hidden, seed, is_cpu, monkeypatch
):
    """The rows of both phases are summed in two products on a CPU, and in one elsewhere."""
    monkeypatch.setattr("harmonium.gradients.base.is_cpu", lambda: is_cpu)
    ours, plain = two(kind, visible, hidden, seed)
    v = [visible.sample_without_inputs((8,), key=jax.random.key(i)) for i in (1, 2)]
    clouds = [Cloud(x, jnp.full(8, 1 / 8)) for x in v]
    gradient, _ = cloud_gradient(ours, *clouds)
    expected, _ = cloud_gradient(plain, *clouds)
    brought = jax.vjp(dense, ours.weights)[1](expected.weights)[0]
    for computed, wanted in zip(*map(jax.tree.leaves, (gradient.weights, brought)), strict=True):
        # bfloat16 rounds a gradient to 8 bits
        np.testing.assert_allclose(computed, wanted, rtol=2**-7, atol=2**-8)


@over_kinds
def test_what_centring_needs_is_that_of_the_dense_form(kind, visible, hidden, seed):
    """Jᵀ (x yᵀ) for the gradient; x J u and (J u) y for any update u of the parameters."""
    ours, plain = two(kind, visible, hidden, seed)
    keys = jax.random.split(jax.random.key(seed))
    x, y = (jax.random.normal(key, (n,)) for key, n in zip(keys, plain.weights.shape, strict=True))
    leaves, structure = jax.tree.flatten(ours.weights)
    drawn = [
        jax.random.normal(jax.random.fold_in(keys[1], i), x.shape) for i, x in enumerate(leaves)
    ]
    update = jax.tree.unflatten(structure, drawn)
    nothing = jax.tree.map(jnp.zeros_like, ours.weights)
    close = {"rtol": 1e-5, "atol": 1e-5}
    expected = jax.vjp(dense, ours.weights)[1](jnp.outer(x, y))[0]
    computed = add_outer(ours.weights, nothing, x, y)
    for one, other in zip(*map(jax.tree.leaves, (computed, expected)), strict=True):
        np.testing.assert_allclose(one, other, **close)
    change = jax.jvp(dense, (ours.weights,), (update,))[1]
    for one, other in zip(
        products_of_change(ours.weights, update, x, y), (x @ change, change @ y), strict=True
    ):
        np.testing.assert_allclose(one, other, **close)


METHODS = methods_for_all_units()
EVERY = [(kind, method) for method in METHODS for kind in range(len(KINDS))]
# Each kind with every fourth method, in turn.
TRAINED = EVERY if ALL else [(n % len(KINDS), method) for n, method in enumerate(METHODS)]


@pytest.mark.parametrize(
    ("kind", "method"),
    TRAINED,
    ids=[f"{NAMES[kind]}-{name_of(method)}" for kind, method in TRAINED],
)
def test_every_method_trains_every_kind(kind, method):
    """The run uses every option of a recipe, and measures what runs measure."""
    visible = hm.Bernoulli(4)
    hidden = hm.Bernoulli(3)
    ours, _ = two(KINDS[kind], visible, hidden, 0)
    rows = rows_of(visible)
    recipe = hm.Recipe(momentum=0.5, decay=1e-3, penalties=(hm.L1(1e-4),), sparsity=(0.2, 0.01))
    fitted = hm.fit(
        ours,
        rows,
        key=jax.random.key(0),
        gradient=method,
        optimizer=recipe,
        epochs=2,
        batch_size=20,
        validation=rows[:10],
    )
    assert not fitted.diverged
    assert type(fitted.rbm.weights) is type(ours.weights)
    assert fitted.history
    assert (np.asarray(fitted.rbm.dense_weights) != np.asarray(ours.dense_weights)).any()
    drawn = hm.sample(
        fitted.rbm, 5, key=jax.random.key(1), given=np.where(rows < 1, np.nan, rows)[:2]
    )
    assert drawn.shape == (10, 4)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_every_kind_is_saved_and_converted(kind, tmp_path):
    ours, plain = two(kind, *LAYERS[0], 0)
    hm.save(ours, tmp_path / "m.safetensors")
    back = hm.load(tmp_path / "m.safetensors")
    assert jax.tree.structure(back) == jax.tree.structure(ours)
    for loaded, saved in zip(*map(jax.tree.leaves, (back, ours)), strict=True):
        np.testing.assert_array_equal(loaded, saved)
    hm.save(ours, tmp_path / "m.npz")
    np.testing.assert_allclose(hm.load(tmp_path / "m.npz").weights, plain.weights)
