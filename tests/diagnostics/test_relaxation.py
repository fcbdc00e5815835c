"""Relaxation times of chains against the exact spectrum of their kernel, on small models."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium._base.statistics import same_distribution
from harmonium.diagnostics.chain_observables import names_of, slow_directions
from registry import ALL, LEVEL, SEEDS, exact_states, random_rbm

PAIRS = [
    (hm.Bernoulli(4), hm.Bernoulli(3)),
    (hm.Ising(4), hm.Ising(3)),
    (hm.Potts(3, states=3), hm.Potts(2, states=3)),
]
STRENGTHS = [0.2, 0.7, 1.5]
# `make laws` measures every pair at all strengths; other tests one at all, and the others once.
MEASURED = [
    (*pair, strength)
    for i, pair in enumerate(PAIRS)
    for j, strength in enumerate(STRENGTHS)
    if ALL or i == 1 or i == 2 * j
]
MARGIN = 0.3  # of a measured time; 64 chains of 100 τ or more spread by 5 to 10 %


def coupled(visible, hidden, strength):
    rbm = hm.initialize(visible, hidden, key=jax.random.key(1), scale=1.0)
    return eqx.tree_at(lambda m: m.weights, rbm, strength * rbm.weights)


def enumerated(rbm):
    """Return E of all joint states, and the observables of all visible states."""
    directions = slow_directions(rbm)

    @eqx.filter_jit
    def energies_and_observables(rbm):
        v = rbm.visible.states(jnp.arange(rbm.visible.n_states))
        h = rbm.hidden.states(jnp.arange(rbm.hidden.n_states))
        return rbm.energy(v[:, None], h[None]), hm.diagnostics.observables(rbm, v, directions)

    return energies_and_observables(rbm)


class Spectrum:
    """The kernel of one sweep v → h → v, as a matrix over all v, in its eigenbasis."""

    def __init__(self, rbm):
        energy, observables = enumerated(rbm)
        minus_energy = -np.asarray(energy, float)
        joint = np.exp(minus_energy - minus_energy.max())
        joint /= joint.sum()
        self.p = joint.sum(1)
        half = joint / np.sqrt(self.p[:, None] * joint.sum(0))  # the kernel is half @ half.T
        eigenvalues, self.modes = np.linalg.eigh(half @ half.T)
        self.eigenvalues = np.clip(eigenvalues, 0.0, 1.0)
        self.second = self.eigenvalues[-2]
        self.relaxation = -2.0 / np.log(self.second)
        self.slowest_tau = (1 + self.second) / (1 - self.second)
        self.observables = {name: np.asarray(f, float) for name, f in observables.items()}

    def shares(self, f):
        """Return the share of each mode but the first in the variance of an observable."""
        squares = (self.modes.T @ (np.sqrt(self.p) * f))[:-1] ** 2
        return squares / squares.sum()

    def tau(self, f):
        rates = self.eigenvalues[:-1]
        return self.shares(f) @ ((1 + rates) / (1 - rates))

    def autocorrelation(self, f, lags):
        return (self.eigenvalues[:-1] ** lags[:, None]) @ self.shares(f)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("visible", "hidden", "strength"), MEASURED, ids=str)
def test_times_are_those_of_the_kernel(visible, hidden, strength, seed):
    rbm = coupled(visible, hidden, strength)
    exact = Spectrum(rbm)
    mixing = hm.mixing(rbm, key=jax.random.key(seed), sweeps=16_384)
    assert mixing.sweeps <= 16_384
    if not mixing.resolved:
        assert exact.relaxation > 100
        assert 0.5 * exact.relaxation < mixing.relaxation < exact.relaxation
        return
    assert (1 - MARGIN) * exact.relaxation < mixing.relaxation
    assert mixing.relaxation < (1 + MARGIN) * exact.relaxation + 0.2
    assert max(exact.tau(exact.observables[name]) for name in mixing.observables) <= (
        exact.slowest_tau * (1 + 1e-9)
    )
    for name, seen in mixing.observables.items():
        tau = exact.tau(exact.observables[name])
        assert (1 - MARGIN) * tau < seen.tau < (1 + MARGIN) * exact.slowest_tau, name
        assert seen.rhat < 1.01
        assert seen.ess == pytest.approx(64 * 0.75 * mixing.sweeps / seen.tau)
        rho = exact.autocorrelation(exact.observables[name], mixing.lags)
        np.testing.assert_allclose(seen.autocorrelation, rho, atol=0.15)
    assert "relaxation time is" in str(mixing)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_unresolved_time_is_a_lower_bound(seed):
    rbm = coupled(hm.Ising(4), hm.Ising(3), 1.5)
    exact = Spectrum(rbm).relaxation  # 2,073 sweeps
    for sweeps in (64, 512, 4_096, 16_384):
        mixing = hm.mixing(rbm, key=jax.random.key(seed), sweeps=sweeps)
        assert not mixing.resolved
        assert 0.2 * min(sweeps, exact) < mixing.relaxation <= min(sweeps, exact)


@pytest.mark.parametrize("seed", SEEDS)
def test_modes_that_no_chain_leaves(seed):
    """Each chain by itself seems to mix fast; the differences between chains show otherwise."""
    rbm = coupled(hm.Ising(4), hm.Ising(3), 3.5)
    assert Spectrum(rbm).relaxation > 1e6
    mixing = hm.mixing(rbm, key=jax.random.key(seed), sweeps=2_048)
    assert not mixing.resolved
    assert mixing.relaxation == mixing.sweeps == 2_048
    assert mixing.rhat > 1.5
    assert mixing.observables[mixing.slowest].autocorrelation.min() > 0.9
    assert str(mixing).startswith("Not resolved: the relaxation time is at least 2,048 sweeps")


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_from_data_and_from_noise_that_disagree(seed):
    rbm = hm.RBM(hm.Ising(4, jnp.ones(4)), hm.Ising(3), 2 * jnp.ones((4, 3)))
    mixing = hm.mixing(rbm, key=jax.random.key(seed), sweeps=2_048, starts=-np.ones((1, 4)))
    assert not mixing.met
    assert mixing.two_sided < 1e-6
    assert not mixing.resolved
    assert mixing.relaxation == 2_048
    assert "the two starts differ" in mixing.message


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_from_data_and_from_noise_agree_on_a_quick_model(seed):
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), seed)
    rows = np.random.default_rng(seed).integers(0, 2, (20, 4))
    mixing = hm.mixing(rbm, key=jax.random.key(seed), starts=rows)
    assert mixing.two_sided > LEVEL / len(SEEDS)
    assert mixing.relaxation < 100


def test_equal_and_different_distributions():
    """p-values of equal distributions are not too small; those of different ones are small."""
    rng = np.random.default_rng(0)
    p = [same_distribution(rng.normal(size=(5, 30)), rng.normal(size=(5, 40))) for _ in range(300)]
    assert stats.binomtest(sum(x < 0.05 for x in p), 300, 0.05, "greater").pvalue > LEVEL
    assert same_distribution(rng.normal(size=(5, 50)), rng.normal(2, size=(5, 50))) < LEVEL
    assert same_distribution(np.zeros((2, 9)), np.zeros((2, 9))) == 1.0


def test_draws_of_the_model_have_the_distribution_of_its_chains():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    v = exact_states(rbm, 2_000, jax.random.key(0))
    ours = eqx.filter_jit(hm.diagnostics.observables)(rbm, v, slow_directions(rbm))
    chains = hm.diagnostics.trace(rbm, key=jax.random.key(1), chains=1_000, sweeps=200, every=200)
    both = [[np.asarray(ours[name]), x[:, 0]] for name, x in chains.items()]
    assert same_distribution(*map(np.stack, zip(*both, strict=True))) > LEVEL


def test_observables_are_what_they_are_called():
    rbm = random_rbm(hm.Ising(4), hm.Bernoulli(3), 0)
    v = rbm.visible.states(jnp.arange(16))
    values = hm.diagnostics.observables(rbm, v)
    m = rbm.mean_h_from_v(v)
    left, _, right = np.linalg.svd(np.asarray(rbm.weights), full_matrices=False)
    np.testing.assert_allclose(values["free_energy"], rbm.free_energy(v), rtol=1e-5)
    np.testing.assert_allclose(values["visible_magnetisation"], v.mean(1), atol=1e-6)
    np.testing.assert_allclose(values["hidden_magnetisation"], m.mean(1), atol=1e-6)
    for a in range(3):
        np.testing.assert_allclose(
            abs(values[f"visible_overlap_{a + 1}"]), abs(v @ left[:, a]), 1e-4
        )
        np.testing.assert_allclose(abs(values[f"hidden_overlap_{a + 1}"]), abs(m @ right[a]), 1e-4)
    assert len(values) == 3 + 2 * 3


def test_weights_that_do_not_affect_states_are_in_no_direction():
    rbm = random_rbm(hm.Mixed(hm.Potts(2, states=3), hm.Ising(2)), hm.Bernoulli(3), 0)
    shift = jnp.repeat(jnp.arange(12.0).reshape(4, 3), jnp.array([3, 3, 1, 1]), axis=0)
    same = eqx.tree_at(lambda m: m.weights, rbm, rbm.weights + shift.at[6:].set(0.0))
    for ours, theirs in zip(slow_directions(rbm), slow_directions(same), strict=True):
        np.testing.assert_allclose(abs(ours), abs(theirs), atol=1e-4)
    assert abs(slow_directions(rbm).visible[:3].sum(0)).max() < 1e-5


def test_a_trace_is_cut_anywhere():
    rbm = random_rbm(hm.Bernoulli(4), hm.Gaussian(2), 0)
    whole = hm.diagnostics.trace(rbm, key=jax.random.key(0), chains=16, sweeps=300)
    part = hm.diagnostics.trace(rbm, key=jax.random.key(0), chains=16, sweeps=200)
    thin = hm.diagnostics.trace(rbm, key=jax.random.key(0), chains=16, sweeps=299, every=3)
    assert list(whole) == names_of(slow_directions(rbm))
    for name, x in whole.items():
        assert x.shape == (16, 300)
        np.testing.assert_allclose(part[name], x[:, :200], rtol=1e-5)
        np.testing.assert_allclose(thin[name], x[:, 2:299:3], rtol=1e-5)


def test_a_long_run_is_thinned_and_says_the_same():
    rbm = coupled(hm.Ising(4), hm.Ising(3), 1.1)
    exact = Spectrum(rbm)
    assert 200 < exact.relaxation < 300
    mixing = hm.mixing(rbm, key=jax.random.key(0))
    assert mixing.resolved
    assert mixing.lags[1] > 1
    assert mixing.relaxation == pytest.approx(exact.relaxation, rel=MARGIN)


def test_limits_are_kept_and_progress_is_reported():
    rbm = coupled(hm.Ising(4), hm.Ising(3), 3.5)
    reported = []
    mixing = hm.mixing(rbm, key=jax.random.key(0), seconds=1e-6, progress=reported.append)
    assert mixing.sweeps == 128
    assert reported[-1] == 1.0
    reported.clear()
    mixing = hm.mixing(rbm, key=jax.random.key(0), sweeps=1_500, progress=reported.append)
    assert mixing.sweeps == 1_500
    assert reported == sorted(reported)


def test_a_dataset_and_a_frozen_model():
    rows = np.random.default_rng(0).random((30, 4))
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    grey = hm.Dataset(rows, stochastic=True)
    assert hm.mixing(rbm, key=jax.random.key(0), starts=grey).resolved
    frozen = hm.RBM.from_arrays(np.zeros((4, 3)), 200 * np.ones(4), np.zeros(3))
    mixing = hm.mixing(frozen, key=jax.random.key(0), sweeps=500)
    assert not mixing.resolved
    assert mixing.relaxation == 0.0
    assert "nothing moved" in mixing.message


def test_invalid_arguments_are_refused():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    key = jax.random.key(0)
    for expected, wrong in [
        ("chains: expected at least 16", {"chains": 8}),
        ("sweeps: expected a whole number", {"sweeps": 0}),
        ("seconds: expected a positive", {"seconds": 0.0}),
        (r"starts: expected shape \(rows, 4\)", {"starts": np.zeros((2, 3))}),
        ("starts: a Bernoulli unit", {"starts": 2 * np.ones((2, 4))}),
    ]:
        with pytest.raises(hm.InputError, match=expected):
            hm.mixing(rbm, key=key, **wrong)
    with pytest.raises(hm.InputError, match="got a batch"):
        hm.mixing(hm.condition(rbm, np.full((2, 4), np.nan)), key=key)
    with pytest.raises(hm.InputError, match="every: expected at most"):
        hm.diagnostics.trace(rbm, key=key, sweeps=3, every=4)
    runaway = hm.RBM(hm.Gaussian(2), hm.Gaussian(2), 9 * jnp.eye(2))
    with pytest.raises(hm.NotFiniteError, match="finite_z"):
        hm.mixing(runaway, key=key)


class Columns:
    """Replica exchange, computed exactly with arrays over all states of a column of replicas."""

    def __init__(self, rbm, sampler):
        models = sampler.models(rbm)
        v = rbm.visible.states(jnp.arange(rbm.visible.n_states))
        energies = [np.asarray(model.free_energy(v), float) for model in models]
        laws = np.ix_(*(np.exp(-f) / np.exp(-f).sum() for f in energies))
        self.law = functools.reduce(np.multiply, laws)
        self.sweeps = [self.sweep(model) for model in models]
        gaps = [low - high for low, high in itertools.pairwise(energies)]
        self.swaps = [np.minimum(1.0, np.exp(gap[:, None] - gap)) for gap in gaps]
        self.observables = {}
        for name, f in hm.diagnostics.observables(rbm, v).items():
            along = np.ix_(*[np.asarray(f, float)] * len(models))
            self.observables[name] = along[-1] + 0 * self.law
            self.observables[f"column_{name}"] = sum(along) / len(models)

    @staticmethod
    def sweep(rbm):
        joint = np.exp(-np.asarray(enumerated(rbm)[0], float))
        return (joint / joint.sum(1, keepdims=True)) @ (joint / joint.sum(0)).T

    def expected(self, f, parity):
        """Return the mean of f after a step, for energies state before it."""
        for k, sweep in enumerate(self.sweeps):
            f = np.moveaxis(np.tensordot(sweep, f, (1, k)), 0, k)
        for k, swap in enumerate(self.swaps):
            if k % 2 == parity:
                accepted = np.expand_dims(swap, [i for i in range(f.ndim) if i not in (k, k + 1)])
                f = f + accepted * (np.swapaxes(f, k, k + 1) - f)
        return f

    def autocorrelations(self, f, longest=150):
        """Return ρ(0), ρ(1), …, averaged over the parity of the last step.

        After 150 steps, seven times the largest τ below, the sum is known to four digits.
        """
        f = f - (self.law * f).sum()
        rho = np.zeros(longest)
        for last in (0, 1):
            later = f
            for t in range(longest):
                rho[t] += (self.law * f * later).sum()
                later = self.expected(later, (last + t) % 2)
        return rho / rho[0]

    def tau(self, name):
        return 2.0 * self.autocorrelations(self.observables[name]).sum() - 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_replicas_mix_more_slowly_than_their_last_model(seed):
    """Five replicas are in one of two modes each, which only the first model leaves."""
    rbm = hm.RBM(hm.Ising(2), hm.Ising(1), 2.5 * jnp.ones((2, 1)))
    sampler = hm.ReplicaExchange(None, [0.0, 0.8, 0.85, 0.9, 0.95, 1.0])
    exact = Columns(rbm, sampler)
    mixing = hm.mixing(rbm, key=jax.random.key(seed), sampler=sampler, sweeps=16_384)
    assert mixing.resolved
    assert mixing.slowest.startswith("column_")
    assert "steps of replica exchange" in str(mixing)
    slowest = max(exact.tau(name) for name in mixing.observables)
    assert (1 - MARGIN) * slowest < mixing.relaxation < (1 + MARGIN) * slowest
    curves = hm.diagnostics.trace(rbm, key=jax.random.key(seed), sampler=sampler, sweeps=32)
    assert {curve.shape for curve in curves.values()} == {(64, 32)}
    assert curves.keys() >= mixing.observables.keys()
    # The last model's own autocorrelation vanishes at once and returns after a round trip.
    alone = exact.observables["visible_overlap_1"]
    rho = exact.autocorrelations(alone)
    assert rho[2] < 0.01
    assert rho[10] > 0.3
    assert mixing.observables["visible_overlap_1"].tau < 0.2 * mixing.relaxation
