"""Units whose values fall into classes."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm

KEY = jax.random.key(0)


def classes_of_numbers(*means_and_deviations):
    """Return a class of two correlated numbers for each mean and deviation."""
    layers = []
    for mean, deviation in means_and_deviations:
        precision = np.linalg.inv(deviation**2 * np.array([[1.0, 0.3], [0.3, 1.0]]))
        layers.append(hm.MultivariateGaussian(2, precision @ np.full(2, mean), precision))
    return layers


EXAMPLES = [
    hm.Mixture([hm.Bernoulli(3, [1.0, -1.0, 0.5]), hm.Bernoulli(3, [-2.0, 0.0, 2.0])]),
    hm.Mixture(classes_of_numbers((-1.0, 0.5), (1.0, 1.5)), np.log([0.3, 0.7])),
    hm.Mixture(
        [
            hm.Mixed(hm.Potts(1, 3, [0.0, 1.0, 2.0]), hm.Gaussian(1, [1.0])),
            hm.Mixed(hm.Potts(1, 3, [2.0, 0.0, 0.0]), hm.Gaussian(1, [-4.0], [4.0])),
        ]
    ),
]


@pytest.mark.parametrize("seed", range(3))
def test_the_density_is_that_of_the_classes_by_their_shares(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3))
    means = rng.normal(size=(3, 2))
    precisions = rng.gamma(2.0, size=(3, 2))
    layers = [hm.Gaussian(2, m * g, g) for m, g in zip(means, precisions, strict=True)]
    layer = hm.Mixture(layers, np.log(shares))
    x = rng.normal(size=(5, 2)).astype(np.float32)
    of_classes = stats.norm.pdf(x[:, None], means, precisions**-0.5).prod(-1)
    density = np.exp(-layer.energy(jnp.asarray(x)))
    np.testing.assert_allclose(density, of_classes @ shares, rtol=1e-4)
    assert float(layer.cgf(layer.zero_inputs)) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_known_units_say_which_class_the_others_are_of(seed):
    rng = np.random.default_rng(seed)
    layer = hm.Mixture([hm.Bernoulli(4, rng.normal(0, 2, 4)) for _ in range(3)], rng.normal(size=3))
    layer = layer.shift(jnp.asarray(rng.normal(size=4), jnp.float32))
    inputs = jnp.asarray(rng.normal(size=4), jnp.float32)
    states = np.array(list(itertools.product((0.0, 1.0), repeat=4)), np.float32)
    for known in itertools.product((False, True), repeat=4):
        values = np.where(known, states[seed + 5], 0.0).astype(np.float32)
        matching = states[(states == states[seed + 5])[:, list(known)].all(1)]
        log_p = matching @ inputs - layer.energy(jnp.asarray(matching))
        p = jax.nn.softmax(log_p)
        given = jnp.asarray(known), jnp.asarray(values)
        cgf = layer.unit_cgfs_given(inputs, *given).sum()
        np.testing.assert_allclose(cgf, jax.nn.logsumexp(log_p), rtol=1e-5, atol=1e-5)
        mean = p @ matching
        np.testing.assert_allclose(layer.mean_given(inputs, *given), mean, atol=1e-5)
        variance = p @ (matching - mean) ** 2
        np.testing.assert_allclose(layer.variance_given(inputs, *given), variance, atol=1e-5)


def test_classes_have_variances_of_their_own():
    rng = np.random.default_rng(0)
    is_narrow = rng.random(2_000) < 0.2
    rows = np.where(is_narrow, rng.normal(4.0, 0.1, 2_000), rng.normal(0.0, 1.0, 2_000))[:, None]
    start = hm.Mixture([hm.Gaussian(1)] * 2)
    rbm = hm.initialize(start, hm.Bernoulli(2), rows, key=KEY)
    shares = np.exp(rbm.visible.log_shares)
    narrow = int(shares.argmin())
    variances = rbm.visible.classes.precision[:, 0] ** -1
    # Four standard errors of a share of 2,000 rows, and of the variance of 400 normal numbers.
    assert shares[narrow] == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / 2_000))
    assert variances[narrow] == pytest.approx(0.01, rel=4 * np.sqrt(2 / 400) + 0.01)
    assert variances[1 - narrow] == pytest.approx(1.0, rel=4 * np.sqrt(2 / 1_600))


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_a_mixture_of_numbers_are_worth_nearly_as_much(seed):
    source = hm.Mixture(classes_of_numbers((-2.0, 0.3), (0.0, 1.0), (2.0, 0.1)))
    keys = jax.random.split(jax.random.key(seed))
    train, fresh = (source.sample_without_inputs((1_000,), key=key) for key in keys)
    alike = hm.Mixture([hm.MultivariateGaussian(2)] * 3)
    learned = hm.initialize(alike, hm.Bernoulli(1), train, key=jax.random.key(seed)).visible.base()
    losses = np.asarray(learned.energy(fresh) - source.energy(fresh))
    # 17 parameters learned from n rows cost 17 / 2n nats (Akaike 1974); four standard errors.
    assert losses.mean() < 2 * 17 / 2_000 + 4 * losses.std() / np.sqrt(len(fresh))


def test_refitting_to_other_rows_moves_the_classes():
    layer = hm.Mixture(classes_of_numbers((-1.0, 0.5), (1.0, 0.5)))
    x = layer.sample_without_inputs((2_000,), key=KEY) + 0.2
    refitted = layer.refitted(x)
    np.testing.assert_allclose(refitted.mean(refitted.zero_inputs), x.mean(0), atol=0.02)
    weights = (x[:, 0] > 0).astype(x.dtype)
    half = layer.refitted(x, weights)
    assert (half.mean(half.zero_inputs) > 0.9).all()


def test_a_model_is_stored_with_its_classes(tmp_path):
    for layer in EXAMPLES:
        rbm = hm.RBM(layer, hm.Bernoulli(2), np.full((layer.size, 2), 0.1))
        hm.save(rbm, tmp_path / "model.safetensors")
        again = hm.load(tmp_path / "model.safetensors")
        assert str(again) == str(rbm)
        for mine, its in zip(jax.tree.leaves(rbm), jax.tree.leaves(again), strict=True):
            np.testing.assert_allclose(mine, its, atol=1e-6)


def test_rescaled_classes_keep_their_shares():
    layer = EXAMPLES[1]
    rbm = hm.RBM(layer, hm.Bernoulli(1), [[0.5], [-0.5]])
    scale = np.array([10.0, 0.1])
    offset = np.array([3.0, -1.0])
    moved = hm.transforms.standardize.rewritten(rbm, scale, offset)
    x = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    before = -hm.free_energies(rbm, x) - hm.log_z(rbm).value
    after = -hm.free_energies(moved, scale * x + offset) - hm.log_z(moved).value
    np.testing.assert_allclose(after, before - np.log(scale).sum(), atol=2e-3)


@pytest.mark.parametrize(
    "classes", [[], [hm.Bernoulli(2), hm.Bernoulli(3)], [hm.Bernoulli(2), hm.Ising(2)]]
)
def test_classes_that_differ_are_refused(classes):
    with pytest.raises(hm.InputError, match="one or more layers of equal type and size"):
        hm.Mixture(classes)


def test_more_classes_than_rows_are_refused():
    with pytest.raises(hm.InputError, match="expected more rows than classes"):
        hm.initialize(hm.Mixture([hm.Gaussian(1)] * 5), hm.Bernoulli(1), [[0.0], [1.0]], key=KEY)
