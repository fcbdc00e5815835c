"""Low-rank starts: a likelihood on a grid against enumeration, and the masses of clusters."""

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.gradients.starting import is_ordered
from harmonium.transforms.low_rank import low_rank

KEY = jax.random.key(8)
LOW = 0.12  # the lower mean of a column, unless a test says otherwise
# The program that compares starts draws the same two clusters.
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
PROGRAM: Any = importlib.import_module("clusters")
SHARE = PROGRAM.SHARE
clusters = functools.partial(PROGRAM.two_clusters, low=LOW)
share_of_smaller = PROGRAM.share_of_smaller


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_start_is_nearly_the_mixture_and_has_its_masses(rank):
    rows, means, best = clusters(14, 4_000)
    rbm = hm.initialize(hm.Bernoulli(14), hm.Bernoulli(10), rows, key=KEY, rank=rank)
    score = hm.log_likelihood(rbm, rows)
    usual = hm.initialize(hm.Bernoulli(14), hm.Bernoulli(10), rows, key=KEY)
    assert score.value > best - 0.25
    assert score.value > hm.log_likelihood(usual, rows).value + 1.0
    drawn = hm.sample(rbm, 4_000, key=KEY)
    assert abs(share_of_smaller(drawn, means) - SHARE) < 0.05


def test_the_grid_has_the_probabilities_of_the_model():
    """The exact distribution of the projections, from enumeration, in wide cells."""
    rows, _, _ = clusters(12, 1_000)
    layer = hm.Bernoulli(12).fit_moments(jnp.asarray(rows, jnp.float32))
    start = low_rank(layer, hm.Bernoulli(6), jnp.asarray(rows, jnp.float32), None, 1, key=KEY)
    rbm = hm.RBM(start.visible, start.hidden, start.weights)
    states = layer.states(jnp.arange(2**12))
    p = np.asarray(jax.nn.softmax(-rbm.free_energy(states)), np.float64)
    direction = np.linalg.svd(np.asarray(start.weights))[0][:, 0]
    centred = np.asarray(states) - rows.mean(0)
    m = centred @ direction
    grid = np.asarray(start.grid)[:, 0]
    on_grid = np.exp(np.asarray(start.log_p, np.float64))
    scores = (rows - rows.mean(0)) @ direction
    sign = np.sign(np.corrcoef(scores, (rows - rows.mean(0)) @ direction)[0, 1])
    edges = np.linspace(-2.0, 2.0, 9)
    exact = np.histogram(sign * m, edges, weights=p)[0]
    estimates = [np.histogram(side * grid, edges, weights=on_grid)[0] for side in (1, -1)]
    # A direction has no sign.
    assert min(abs(exact - estimate).max() for estimate in estimates) < 0.05


def test_other_units_and_weights_of_rows():
    rng = np.random.default_rng(0)
    centres = np.where(rng.random(200) < SHARE, 2.0, -2.0)
    rows = centres[:, None] + rng.normal(size=(200, 5))
    for visible, data in ((hm.Gaussian(5), rows), (hm.Ising(5), np.sign(rows))):
        weights = np.linspace(0.5, 1.5, 200)
        rbm = hm.initialize(visible, hm.Ising(4), data, key=KEY, weights=weights, rank=1)
        usual = hm.initialize(visible, hm.Ising(4), data, key=KEY, weights=weights)
        assert hm.log_likelihood(rbm, data).value > hm.log_likelihood(usual, data).value


def test_chains_start_at_rows_only_if_the_model_has_modes():
    rows, means, _ = clusters(40, 600)
    batch = hm.samplers.Cloud.uniform(jnp.asarray(rows[:200], jnp.float32))
    for method in (hm.Persistent(hm.Gibbs(1), chains=100), hm.Jarzynski(hm.Gibbs(1), chains=100)):
        rbm = hm.initialize(hm.Bernoulli(40), hm.Bernoulli(8), rows, key=KEY, rank=1)
        assert is_ordered(rbm, batch.states)
        v = np.asarray(method.init(rbm, batch, key=KEY).v)
        assert abs(share_of_smaller(v, means) - share_of_smaller(rows[:200], means)) < 0.02
        usual = hm.initialize(hm.Bernoulli(40), hm.Bernoulli(8), rows, key=KEY)
        assert not is_ordered(usual, batch.states)


@pytest.mark.parametrize("method", [hm.Tempering(), hm.Trajectory(), hm.training.Autopilot()])
def test_the_masses_stay_right_in_a_run_on_a_ladder(method):
    """Replicas move between the clusters from the first update on; chains of PCD never do."""
    rows, means, best = clusters(60, 2_000, low=0.08)
    rbm = hm.initialize(hm.Bernoulli(60), hm.Bernoulli(8), rows, key=KEY, rank=1)
    recipe = hm.Recipe(rate=0.05)
    fit = hm.fit(rbm, rows, key=KEY, gradient=method, optimizer=recipe, epochs=60)
    assert fit.history[0]["ladder"] >= 6
    drawn = hm.sample(fit.rbm, 4_000, key=KEY)
    assert abs(share_of_smaller(drawn, means) - SHARE) < 0.1
    assert hm.log_likelihood(fit.rbm, rows).value > best - 0.1


def test_a_weighted_run_keeps_the_masses():
    """Chains do not move between the clusters, but their weights follow the model."""
    rows, _, best = clusters(60, 2_000, low=0.08)
    rbm = hm.initialize(hm.Bernoulli(60), hm.Bernoulli(8), rows, key=KEY, rank=1)
    method = hm.Jarzynski(hm.Gibbs(1))
    recipe = hm.Recipe(rate=0.02)
    fit = hm.fit(rbm, rows, key=KEY, gradient=method, optimizer=recipe, epochs=30)
    assert hm.log_likelihood(fit.rbm, rows, key=KEY).value > best - 0.5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rank": 0}, "rank: expected a whole number from 1 to 3; got 0"),
        ({"rank": 4}, "rank: expected a whole number from 1 to 3; got 4"),
        ({"rank": True}, "rank: expected a whole number"),
        ({"rank": 1, "connections": 2}, "neither connections"),
        ({"rank": 1, "pattern": np.ones((5, 2))}, "neither connections"),
    ],
)
def test_mistakes_are_named(settings, words):
    with pytest.raises(hm.InputError, match=words):
        hm.initialize(hm.Bernoulli(5), hm.Bernoulli(2), np.eye(5), key=KEY, **settings)


def test_dependent_units_and_missing_data_are_refused():
    with pytest.raises(hm.InputError, match="rank: expected data"):
        hm.initialize(hm.Bernoulli(5), hm.Bernoulli(2), key=KEY, rank=1)
    with pytest.raises(hm.InputError, match="independent visible units"):
        hm.initialize(hm.Tree(5, [-1, 0, 1, 2, 3]), hm.Bernoulli(2), np.eye(5), key=KEY, rank=1)
