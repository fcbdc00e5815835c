"""The stated interval of log Z covers the exact value as often as it says."""

import jax
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.evaluation import annealed_log_z, exact_log_z
from registry import LEVEL, SEEDS, examples, machine

LAYERS = examples("layers")
MACHINES = 24
PLAN = {"chains": 128, "steps": 100, "burn_in": 50}


def machines(seed):
    """Give machines of all kinds of layers, from weak to strong couplings."""
    rng = np.random.default_rng(seed)
    while True:
        visible, hidden = (LAYERS[rng.integers(len(LAYERS))] for _ in range(2))
        if visible.n_states is not None or hidden.n_states is not None:
            yield machine(visible, hidden, int(rng.integers(10_000)), float(rng.uniform(0.1, 1.2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_interval_covers(seed):
    """Misses among 95 % intervals that say `converged`: no more than chance allows."""
    misses = converged = 0
    for i, rbm in zip(range(MACHINES), machines(seed), strict=False):
        found = annealed_log_z(rbm, key=jax.random.key(1000 * seed + i), **PLAN)
        exact = exact_log_z(rbm).value
        assert found.low <= found.value <= found.high
        assert abs(found.value - exact) < 0.5
        converged += found.converged
        misses += found.converged and not found.low <= exact <= found.high
    assert converged > MACHINES / 2
    assert stats.binom.sf(misses - 1, converged, 0.05) > LEVEL


def test_both_directions_bound_on_average():
    """E log Ẑ lies below log Z forward and above it in reverse: with a crude path, visibly."""
    rbm = machine(hm.Bernoulli(4), hm.Bernoulli(4), 3, coupling=1.5)
    crude = hm.Heating(hm.Bernoulli(4), hm.Bernoulli(4), rbm)
    plan = {"path": crude, "chains": 4, "steps": 1, "burn_in": 500}
    gaps = [annealed_log_z(rbm, key=jax.random.key(i), **plan).gap for i in range(40)]
    assert stats.ttest_1samp(gaps, 0.0, alternative="greater").pvalue < LEVEL


def test_exact_is_chosen_where_it_is_cheap_and_a_key_is_asked_for_where_not():
    small = machine(hm.Bernoulli(4), hm.Bernoulli(4), 0)
    found = hm.log_z(small)
    assert found.low == found.value == found.high
    assert found.method == "exact, 16 states"
    large = hm.initialize(hm.Bernoulli(60), hm.Bernoulli(50), key=jax.random.key(0))
    with pytest.raises(hm.InputError, match="pass key="):
        hm.log_z(large)
    with pytest.raises(hm.InputError, match="'auto', 'exact', 'annealed' or 'tempered'"):
        hm.log_z(small, method="guess")
    with pytest.raises(hm.InputError, match="at most 2\\^28"):
        hm.log_z(large, method="exact")


def test_the_rows_bring_their_own_spread_and_the_turned_interval():
    rbm = machine(hm.Bernoulli(6), hm.Bernoulli(4), 0)
    rows = hm.sample(rbm, 50, key=jax.random.key(0))
    exact = hm.log_likelihood(rbm, rows)
    free = -hm.free_energies(rbm, rows)
    np.testing.assert_allclose(exact.value, free.mean() - exact.log_z.value, rtol=1e-6)
    np.testing.assert_allclose(exact.stderr_rows, free.std(ddof=1) / np.sqrt(50), rtol=1e-5)
    rough = hm.log_likelihood(rbm, rows, key=jax.random.key(0), method="annealed", steps=50)
    assert rough.low <= rough.value <= rough.high
    np.testing.assert_allclose(
        rough.high - rough.low, rough.log_z.high - rough.log_z.low, rtol=1e-4
    )


def test_grey_levels_are_labelled():
    rbm = machine(hm.Bernoulli(6), hm.Bernoulli(4), 0)
    grey = np.linspace(0, 1, 60).reshape(10, 6)
    assert "no probability" in hm.log_likelihood(rbm, grey).method
    assert "no probability" not in hm.log_likelihood(rbm, (grey > 0.5)).method
    stochastic = hm.Dataset(grey, stochastic=True)
    assert "no probability" not in hm.log_likelihood(rbm, stochastic, key=jax.random.key(0)).method
