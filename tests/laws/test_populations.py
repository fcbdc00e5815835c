"""Answers by annealed populations of chains, against enumeration that shares no code with them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.likelihood.missing.marginal import Limits
from registry import LEVEL, SEEDS

UNITS = 10
FEW = Limits(0, 0)  # no sum is feasible


def two_groups(fraction, strength, seed):
    """Return a model of two groups of rows, one the reverse of the other but for a few units.

    A hidden unit with the weights ± `strength` is on in one group and off in the other. Its bias
    gives the first group its fraction. Other hidden units, with small weights, make rows differ.
    """
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], UNITS)
    weights = np.column_stack([strength * signs, rng.normal(0.0, 0.4, (UNITS, 3))])
    visible = -0.5 * weights.sum(1)
    hidden = np.zeros(4)
    states, off = probabilities(weights[:, 1:], visible, hidden[1:], normalised=False)
    on = off + states @ weights[:, 0]
    log_odds = np.logaddexp.reduce(on) - np.logaddexp.reduce(off)
    hidden[0] = np.log(fraction / (1.0 - fraction)) - log_odds
    return weights, visible, hidden


def probabilities(weights, visible, hidden, normalised=True):
    """Return all states of Bernoulli units, and their probabilities or log weights, in NumPy."""
    states = (np.arange(2 ** len(visible))[:, None] >> np.arange(len(visible))) & 1
    log_p = states @ visible + np.logaddexp(0.0, states @ weights + hidden).sum(1)
    return states, np.exp(log_p - np.logaddexp.reduce(log_p)) if normalised else log_p


def ordinary(seed):
    """Return a model without groups."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 0.5, (UNITS, 4)), rng.normal(0.0, 1.0, UNITS), rng.normal(0.0, 1.0, 4)


MODELS = {
    "ordinary": ordinary,
    **{
        f"{fraction:.0%} by {strength:g}": partial(two_groups, fraction, strength)
        for fraction in (0.5, 0.93, 0.97)
        for strength in (2.0, 5.0)
    },
}


def model_of(parameters):
    weights, visible, hidden = (jnp.asarray(array, jnp.float32) for array in parameters)
    return hm.RBM(hm.Bernoulli(UNITS, visible), hm.Bernoulli(len(hidden), hidden), weights)


@pytest.fixture
def no_sums(monkeypatch):
    monkeypatch.setattr("harmonium.likelihood.missing.completing.sums_for", lambda *_: FEW)


def asked(parameters, seed):
    """Return 12 questions about models of one kind: errors of ⟨v_i⟩ in half intervals."""
    rbm = model_of(parameters)
    errors = []
    states, p = probabilities(*parameters)
    rng = np.random.default_rng(seed)
    rows = np.full((12, UNITS), np.nan)
    rows[6:, :2] = rng.integers(0, 2, (6, 2))  # a half of them with two units given
    imputation = hm.impute(rbm, rows, key=jax.random.key(seed), draws=200, sweeps=100)
    for i, row in enumerate(rows):
        agree = p * ((states == row) | np.isnan(row)).all(1)
        exact = agree @ states / agree.sum()
        free = rng.choice(np.flatnonzero(np.isnan(row)))
        errors.append((imputation.mean[i, free] - exact[free]) / (2.0 * imputation.stderr[i, free]))
    return np.array(errors), imputation


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_hold_the_enumerated_means(name, seed, no_sums):
    """At most as many of 12 lie outside as a coverage of 93 % explains, or it is said."""
    errors, imputation = asked(MODELS[name](seed), seed)
    outside = int((np.abs(errors) > 1.0).sum())
    level = LEVEL / (len(MODELS) * len(SEEDS))
    assert outside <= stats.binom.isf(level, len(errors), 0.07) or not imputation.converged
    assert imputation.message.startswith(
        "Converged: " if imputation.converged else "Not converged: "
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_and_their_draws_are_the_enumerated_ones(name, seed):
    parameters = MODELS[name](seed)
    rbm = model_of(parameters)
    (states, p) = probabilities(*parameters)
    imputation = hm.impute(rbm, np.full((1, UNITS), np.nan), key=jax.random.key(seed), draws=1_000)
    assert (imputation.converged, imputation.method.split(",")[0]) == (True, "exact")
    np.testing.assert_allclose(imputation.mean[0], p @ states, atol=1e-4)
    means = (imputation.mean[0], imputation.draws[:, 0].mean(0))
    bound = stats.norm.isf(LEVEL / (2 * UNITS * len(MODELS) * len(SEEDS)))
    error = np.sqrt(means[0] * (1 - means[0]) / 1_000) + 1e-3
    assert (abs(means[1] - means[0]) < bound * error).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_rows_have_the_shares_of_the_model(name, seed, no_sums):
    """Rows of a common ancestor are alike: a quarter as many independent ones are sure enough."""
    parameters = MODELS[name](seed)
    states, p = probabilities(*parameters)
    rows = hm.sample(model_of(parameters), 1_000, key=jax.random.key(seed), steps=300)
    exact = p @ states
    bound = stats.norm.isf(LEVEL / (2 * UNITS * len(MODELS) * len(SEEDS)))
    assert (abs(rows.mean(0) - exact) < bound * np.sqrt(exact * (1 - exact) / 250)).all()
