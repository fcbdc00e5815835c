"""Mixtures of products: one hidden unit of K states, whose start is found by EM."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.transforms.mixture import ONE_IN, as_rbm, mixture_of, spread_out

KEY = jax.random.key(0)
CENTRES = np.array([[0.9] * 8 + [0.1] * 8, [0.1] * 8 + [0.9] * 8, [0.5] * 16])
SHARES = [0.5, 0.3, 0.2]


def drawn(n: int, seed: int) -> np.ndarray:
    """Return rows of three classes."""
    rng = np.random.default_rng(seed)
    p = CENTRES[rng.choice(3, n, p=SHARES)]
    return (rng.random(p.shape) < p).astype(np.uint8)


def log_p_of_source(rows: np.ndarray) -> np.ndarray:
    """Return log p of rows under the mixture that they are drawn from."""
    x = rows[:, None]
    logs = np.where(x == 1, np.log(CENTRES), np.log1p(-CENTRES)).sum(-1) + np.log(SHARES)
    return np.logaddexp.reduce(logs, axis=1)


@pytest.mark.parametrize(
    "visible",
    [
        hm.Bernoulli(4),
        hm.Ising(4),
        hm.Potts(2, states=3),
        hm.Exclusive(4, [(0, 1)]),
        hm.Binomial(3, total=2),
    ],
    ids=str,
)
def test_the_probabilities_of_a_mixture_are_those_of_its_model_and_sum_to_one(visible):
    states = np.asarray(visible.states(jnp.arange(visible.n_states)))
    x = jnp.asarray(states[np.random.default_rng(0).integers(0, len(states), 60)])
    mixture = mixture_of(visible, x, None, 3, key=KEY)
    log_p = -np.asarray(mixture.energy(jnp.asarray(states)))
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-4)
    rbm = as_rbm(mixture, hm.Potts(1, 3))
    of_model = -np.asarray(rbm.free_energy(jnp.asarray(states))) - hm.log_z(rbm).value
    np.testing.assert_allclose(of_model, log_p, atol=1e-4)
    np.testing.assert_allclose(rbm.weights @ jnp.exp(mixture.log_shares), 0.0, atol=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_a_mixture_of_rows_of_a_mixture_is_worth_nearly_as_much(seed):
    rows = drawn(1_500, seed)
    fresh = drawn(1_500, 100 + seed)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Potts(1, 3), rows, key=jax.random.key(seed))
    score = hm.log_likelihood(rbm, fresh)
    assert score.log_z.method == "exact, 3 states"
    losses = log_p_of_source(fresh) + hm.free_energies(rbm, fresh) + score.log_z.value
    # 50 parameters learned from n rows cost 50 / 2n nats (Akaike 1974); four standard errors.
    expected = (3 * 16 + 2) / (2 * len(rows))
    assert losses.mean() < 2 * expected + 4 * losses.std() / np.sqrt(len(fresh))


def test_classes_that_are_not_used_are_never_taken():
    x = jnp.asarray(drawn(200, 0), jnp.float32)
    mixture = mixture_of(hm.Bernoulli(16), x, None, 8, jnp.asarray(3), key=KEY)
    assert np.isneginf(mixture.log_shares[3:]).all()
    assert float(jnp.exp(mixture.log_shares).sum()) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(mixture.first(3).energy(x), mixture.energy(x), atol=1e-4)


def test_rows_of_weight_0_say_nothing():
    x = jnp.asarray(drawn(200, 0), jnp.float32)
    weights = jnp.asarray(np.arange(200) < 150, jnp.float32)
    others = x.at[150:].set(1.0 - x[150:])
    mixtures = [mixture_of(hm.Bernoulli(16), rows, weights, 3, key=KEY) for rows in (x, others)]
    np.testing.assert_allclose(mixtures[0].energy(x), mixtures[1].energy(x), atol=1e-4)


@pytest.mark.parametrize("layer", [hm.Gaussian, hm.MultivariateGaussian])
def test_classes_of_numbers_share_the_covariance_within_a_class(layer):
    rng = np.random.default_rng(0)
    rows = 0.1 * rng.normal(size=(600, 2)) + np.where(rng.random((600, 1)) < 0.3, 1.0, -1.0)
    rbm = hm.initialize(layer(2), hm.Potts(1, 2), rows, key=KEY)
    variance = np.asarray(rbm.visible.variance(rbm.visible.zero_inputs))
    # The variance of n normal numbers has a relative standard error of √(2/n).
    np.testing.assert_allclose(variance, 0.01, rtol=5 * np.sqrt(2 / 600))
    share = np.log([0.3, 0.7]) @ [0.3, 0.7]
    entropy = 2 * 0.5 * np.log(2 * np.pi * np.e * 0.01)
    assert hm.log_likelihood(rbm, rows).value == pytest.approx(share - entropy, abs=0.15)


def test_a_model_that_is_no_mixture_starts_with_small_weights():
    rows = drawn(50, 0)
    for visible, hidden in [
        (hm.Bernoulli(16), hm.Potts(2, 3)),
        (hm.Bernoulli(16), hm.Bernoulli(1)),
        (hm.Bernoulli(16), hm.Potts(1, 50 - 50 // ONE_IN + 1)),  # more classes than rows
        (hm.UnitInterval(16), hm.Potts(1, 3)),
    ]:
        rbm = hm.initialize(visible, hidden, rows, key=KEY)
        assert float(abs(rbm.weights).max()) < 0.1
    assert float(abs(hm.initialize(visible, hidden, key=KEY).weights).max()) < 0.1
    is_joined = np.ones((16, 1))
    masked = hm.initialize(hm.Bernoulli(16), hm.Potts(1, 3), rows, key=KEY, pattern=is_joined)
    assert isinstance(masked.weights, hm.weights.MaskedWeights)


def test_a_mixture_learns_on_by_the_exact_gradient():
    rows = drawn(300, 0)
    fresh = drawn(2_000, 1)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Potts(1, 3), rows, key=KEY)
    before = hm.log_likelihood(rbm, fresh).value
    fit = hm.fit(rbm, rows, key=KEY, gradient="exact")
    assert hm.log_likelihood(fit.rbm, fresh).value > before - 0.05
    assert float(fit.state.folds.score) < 0.0  # the folds begin as mixtures too


def test_the_rate_of_a_mixture_of_numbers_falls_with_the_distance_of_its_classes():
    """At 0.1 the exact gradient took two tight clusters apart in two steps."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(600, 2))
    side = np.where(rng.random((600, 1)) < 0.3, 1.0, -1.0)
    rates = []
    for width in (3.0, 0.3, 0.05):
        rows = width * noise + side
        rbm = hm.initialize(hm.MultivariateGaussian(2), hm.Potts(1, 2), rows, key=KEY)
        rates.append(hm.Exact().about.rate(rbm))
        before = hm.log_likelihood(rbm, rows).value
        fit = hm.fit(rbm, rows, key=KEY, gradient="exact", optimizer=hm.Recipe(rates[-1]), epochs=9)
        assert hm.log_likelihood(fit.rbm, rows).value > before - 0.01
    assert rates[0] == 0.1 > rates[1] > rates[2]
    usual = hm.initialize(hm.MultivariateGaussian(2), hm.Bernoulli(8), rows, key=KEY)
    assert hm.Exact().about.rate(usual) == 0.1


def test_rounded_numbers_are_spread_over_what_is_rounded_to_them():
    rng = np.random.default_rng(0)
    exact = rng.normal(size=2_000)
    rows = np.stack([exact.round(1), exact, rng.integers(0, 2, 2_000), np.ones(2_000)], axis=1)
    visible = hm.Mixed(hm.Gaussian(2), hm.Bernoulli(1), hm.Gaussian(1))
    spread = spread_out(visible, rows)
    away = spread - rows
    of_usual = away[abs(exact) < 1.5, 0]  # further out, values are missing in between
    assert abs(of_usual).max() <= 0.05 + 1e-9
    # A uniform number of width 0.1 has the variance 0.1²/12.
    assert of_usual.var() == pytest.approx(0.01 / 12, rel=0.1)
    assert not away[:, 1:].any()  # of which no two are equal, states, and a single value


def test_classes_do_not_shrink_to_the_values_of_rounded_numbers():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 1)).round(1)
    rbm = hm.initialize(hm.Mixture([hm.Gaussian(1)] * 40), hm.Bernoulli(1), rows, key=KEY)
    deviations = np.asarray(rbm.visible.classes.precision) ** -0.5
    assert deviations.min() > 0.5 * 0.1 / np.sqrt(12)
