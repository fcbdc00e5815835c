"""Annealing of rows with missing values: intervals against enumeration, and what they admit."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import harmonium as hm
from harmonium.likelihood.missing import both_ways
from harmonium.likelihood.missing.agreement import TOLERANCE, resampled_chains
from harmonium.likelihood.missing.annealed import ROUGH, seen_energies
from harmonium.likelihood.missing.both_ways import bounds_of_rows, energies_of_rows
from harmonium.likelihood.missing.marginal import Limits
from harmonium.likelihood.partition_function.bridge import bennett
from registry import LEVEL, SEEDS

VISIBLE = 10
HIDDEN = 6
ROWS = 32


def weak(rng):
    return rng.normal(size=(VISIBLE, HIDDEN)) * 0.7, rng.normal(size=VISIBLE)


def strong(rng):
    weights = 2.5 * rng.normal(size=(VISIBLE, HIDDEN))
    return weights, -weights.sum(1) / 2 + rng.normal(size=VISIBLE)


def two_modes(rng):
    """Every unit of one mode is turned over in the other."""
    signs = [np.sign(rng.normal(size=n)) for n in (VISIBLE, HIDDEN)]
    weights = 2.0 * np.outer(*signs) * rng.uniform(0.5, 1.0, (VISIBLE, HIDDEN))
    return weights, -weights.sum(1) / 2 + 0.3 * rng.normal(size=VISIBLE)


def problem(kind, seed):
    """Return a model, rows of which half are its own and 20 to 60 % are missing, and F(v_seen)."""
    rng = np.random.default_rng(seed)
    weights, bias = kind(rng)
    weights = weights.astype(np.float32).astype(float)
    hidden_bias = -weights.sum(0) / 2 if kind is not weak else rng.normal(size=HIDDEN)
    rbm = hm.RBM.from_arrays(weights, bias, hidden_bias)
    h = np.array(list(itertools.product([0.0, 1.0], repeat=HIDDEN)))
    inputs = h @ weights.T + bias
    log_p = h @ hidden_bias + np.logaddexp(0.0, inputs).sum(1)
    drawn = rng.choice(len(h), ROWS, p=np.exp(log_p - logsumexp(log_p)))
    p = 1.0 / (1.0 + np.exp(-inputs[drawn]))
    p[ROWS // 2 :] = 0.5
    rows = (rng.random(p.shape) < p) * 1.0
    rows[rng.random(rows.shape) < rng.uniform(0.2, 0.6, (ROWS, 1))] = np.nan
    rows[:, 0] = np.where(np.isnan(rows).any(1), rows[:, 0], np.nan)
    gaps = np.isnan(rows)
    terms = np.where(gaps, 0.0, rows) @ inputs.T + gaps @ np.logaddexp(0.0, inputs).T
    return rbm, rows, -logsumexp(terms + h @ hidden_bias, axis=1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [weak, strong, two_modes])
def test_intervals_of_rows_cover_the_sum(kind, seed, monkeypatch):
    """Those of rows that converged in 95 % of cases, and wide ones in 99 %; see LEVEL."""
    monkeypatch.setattr(both_ways, "ROUNDS", (32, 32, 64))
    rbm, rows, exact = problem(kind, seed)
    energies = energies_of_rows(rbm, rows, key=jax.random.key(seed))
    is_outside = (exact < energies.low - 1e-4) | (exact > energies.high + 1e-4)
    for allowed, which in ((0.05, energies.converged), (0.01, ~energies.converged)):
        if which.any():
            misses = int(is_outside[which].sum())
            assert stats.binomtest(misses, int(which.sum()), allowed, "greater").pvalue > LEVEL
    if kind is weak:
        assert energies.converged.all()


def test_a_likelihood_of_rows_that_did_not_converge_says_so(monkeypatch):
    """Steps are far too few for weights so strong; before, such an answer was said to be good."""
    monkeypatch.setattr("harmonium.likelihood.missing.rows.SLOW_SUMS", Limits(0, 0))
    monkeypatch.setattr(both_ways, "ROUNDS", (2,))
    rbm, rows, _ = problem(strong, 3)
    rbm = hm.RBM(rbm.visible, rbm.hidden, 4.0 * rbm.weights)
    score = hm.log_likelihood(rbm, rows, key=jax.random.key(0))
    assert not score.converged
    assert "did NOT converge for" in score.method
    monkeypatch.undo()
    known = hm.log_likelihood(rbm, rows)
    assert known.converged
    assert score.low <= known.value <= score.high
    assert score.high - score.low > 0.1


def test_a_likelihood_of_annealed_rows_has_their_error(monkeypatch):
    rbm, rows, exact = problem(weak, 5)
    rows[0] = np.nan_to_num(rows[0])
    known = hm.log_likelihood(rbm, rows)
    assert known.low == known.value == known.high
    assert known.value == pytest.approx(
        hm.log_likelihood(rbm, rows[:1]).value / ROWS
        + (-exact[1:] - known.log_z.value).sum() / ROWS,
        abs=1e-5,
    )
    monkeypatch.setattr("harmonium.likelihood.missing.rows.SLOW_SUMS", Limits(0, 0))
    annealed = hm.log_likelihood(rbm, rows, key=jax.random.key(1))
    assert annealed.converged
    assert "by annealing both ways, within" in annealed.method
    assert annealed.low < known.value < annealed.high
    assert 0.0 < annealed.high - annealed.low < 0.2


def test_a_row_is_summed_where_it_can_be_whatever_is_beside_it(monkeypatch):
    monkeypatch.setattr("harmonium.likelihood.missing.rows.SLOW_SUMS", Limits(0, 2**3))
    rbm, rows, _ = problem(weak, 6)
    rows[:2] = np.nan_to_num(rows[:2])
    rows[1, :2] = np.nan
    rows[2] = np.nan
    alone = hm.free_energies(rbm, rows[:2])
    together = hm.free_energies(rbm, rows[:3], key=jax.random.key(0))
    np.testing.assert_allclose(together[:2], alone, rtol=0, atol=1e-12)


def test_a_mode_that_forward_chains_miss_is_found_by_the_starts(monkeypatch):
    """The seen units prefer one mode, the many missing ones the other by far."""
    monkeypatch.setattr(both_ways, "ROUNDS", (32,))
    size = 24
    seen = 8
    weights = np.full((size, 4), 3.0)
    rbm = hm.RBM.from_arrays(weights, np.full(size, -5.6), np.full(4, -3.0 * size / 2))
    row = np.full((8, size), np.nan)
    row[:, :seen] = 0.0
    energies = energies_of_rows(rbm, row, key=jax.random.key(0))
    h = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    inputs = h @ weights.T - 5.6
    terms = -36.0 * h.sum(1) + np.logaddexp(0.0, inputs[:, seen:]).sum(1)
    exact = -logsumexp(terms)
    assert ((energies.low <= exact) & (exact <= energies.high)).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [weak, strong, two_modes])
def test_rows_without_time_have_values_from_their_bounds(kind, seed, monkeypatch):
    """Once they had an energy of 0, with an interval of no width; see LEVEL for the mean."""
    monkeypatch.setattr(both_ways, "rows_at_once", lambda width: ROWS)
    rbm, rows, exact = problem(kind, seed)
    rows = np.tile(rows, (8, 1))
    exact = np.tile(exact, 8)
    energies = energies_of_rows(rbm, rows, key=jax.random.key(seed), seconds=1e-6)
    assert energies.annealed.all()
    late = energies.is_from_bound
    assert late.sum() == 7 * ROWS
    assert not energies.converged[late].any()
    assert (exact[late] <= bounds_of_rows(rbm, rows[late]) + 1e-4).all()
    even = np.full(len(rows), 1.0 / len(rows))
    below, above = energies.error_of_mean(even)
    miss = exact.mean() - energies.value.mean()
    assert -3.0 * below <= miss <= 3.0 * above
    alone = np.where(late, even, 0.0) / even[late].sum()
    assert energies.is_mean_known(alone) == (energies.common[late].max() < TOLERANCE)


def test_the_quick_estimate_says_when_it_is_too_rough_to_choose_by():
    lost = {}
    for kind in (weak, strong):
        rbm, rows, _ = problem(kind, 0)
        scale = 3.0 if kind is strong else 0.3
        rbm = hm.RBM(rbm.visible, rbm.hidden, scale * rbm.weights)
        states = rbm.visible.encode_seen(jnp.asarray(rows))
        quick = jax.jit(lambda rbm, v: seen_energies(rbm, v, 8, 8, key=jax.random.key(0)))
        lost[kind] = float(quick(rbm, states).lost.mean())
    assert lost[weak] < ROUGH / 4
    assert lost[strong] > ROUGH


def test_ratios_and_draws_of_many_rows_are_those_of_each():
    rng = np.random.default_rng(0)
    forward = rng.normal(size=(40, 5)) * 3
    reverse = rng.normal(size=(30, 5)) * 3 - 2
    expected = [bennett(forward[:, k], reverse[:, k]) for k in range(5)]
    np.testing.assert_allclose(bennett(forward, reverse), expected, atol=1e-12)
    chosen = resampled_chains(forward, 1_000, rng.random(5))
    weights = np.exp(forward - logsumexp(forward, axis=0))
    for row in range(5):
        counts = np.bincount(chosen[:, row], minlength=40)
        assert np.abs(counts - 1_000 * weights[:, row]).max() <= 1.0 + 1e-9
