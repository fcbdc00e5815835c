"""Equilibrium reports of training runs whose relaxation times are known by enumeration."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from registry import LEVEL, SEEDS, exact_states

SLOW = hm.RBM(hm.Ising(4), hm.Ising(3), 1.2 * jnp.ones((4, 3)))
QUICK = hm.RBM(SLOW.visible, SLOW.hidden, 0.5 * SLOW.weights)


def two_modes(n, seed):
    """Draw rows near 111111 and 000000, in equal numbers."""
    rng = np.random.default_rng(seed)
    mode = rng.integers(0, 2, (n, 1))
    return np.where(rng.random((n, 6)) < 0.02, 1 - mode, mode)


def trained(rows, gradient, rate, epochs, seed):
    start = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(4), rows, key=jax.random.key(seed))
    settings = {"gradient": gradient, "optimizer": optax.sgd(rate), "epochs": epochs}
    return hm.fit(start, rows, key=jax.random.key(seed), **settings).state


@eqx.filter_jit
def energies(rbm):
    v = rbm.visible.states(jnp.arange(rbm.visible.n_states))
    h = rbm.hidden.states(jnp.arange(rbm.hidden.n_states))
    return rbm.energy(v[:, None], h[None])


def relaxation(rbm):
    """Return −2 / log λ₂ of the kernel of a sweep."""
    joint = np.exp(-np.asarray(energies(rbm), float))
    joint /= joint.sum()
    half = joint / np.sqrt(joint.sum(1)[:, None] * joint.sum(0))
    return -2.0 / np.log(np.linalg.svd(half, compute_uv=False)[1] ** 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_quick_updates_of_a_slow_model_are_out_of_equilibrium(seed):
    rows = two_modes(600, seed)
    gradient = hm.Persistent(hm.Gibbs(1), chains=300)
    state = trained(rows, gradient, 0.5, 100, seed)
    exact = relaxation(state.rbm)
    assert exact > 100
    report = hm.equilibrium(
        state.rbm,
        gradient,
        key=jax.random.key(seed),
        data=rows,
        state=state.gradient,
        sweeps=8_192,
    )
    assert report.at_equilibrium is False
    assert report.chains_agree is not True
    assert report.k == 1
    assert report.relaxation < 1.3 * exact
    assert report.ratio == pytest.approx(1 / report.relaxation)
    assert "PCD-1 ran" in str(report)
    assert "its gradient may be biased" in report.message


@pytest.mark.parametrize("seed", SEEDS)
def test_long_chains_are_at_equilibrium(seed):
    rows = two_modes(600, seed)
    gradient = hm.Persistent(hm.Gibbs(100), chains=300)
    state = trained(rows, gradient, 0.05, 50, seed)
    assert relaxation(state.rbm) < 50
    report = hm.equilibrium(
        state.rbm, gradient, key=jax.random.key(seed), data=rows, state=state.gradient
    )
    assert report.at_equilibrium
    assert report.ratio > 2
    assert "PCD-100 ran" in report.message
    assert "trained at equilibrium" in report.message


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_that_agree_with_the_distribution_and_chains_that_do_not(seed):
    exact = relaxation(SLOW)
    method = hm.Persistent(hm.Gibbs(1), chains=400)
    key = jax.random.key(seed)
    there = method.sampler.init(QUICK, exact_states(QUICK, 400, key), key=key)
    report = hm.equilibrium(QUICK, method, key=key, state=there)
    assert report.mixing.resolved
    assert report.at_equilibrium is False
    assert float(report.message.split("(p = ")[1].split(")")[0]) > LEVEL
    away = method.sampler.init_independent(QUICK, 400, key=key)
    lagging = hm.equilibrium(QUICK, method, key=key, state=away, mixing=report.mixing)
    assert lagging.chains_agree is False
    assert "do not agree with this model's distribution" in lagging.message
    # Where the relaxation time cannot be measured, equilibrium is unknown, unless the chains drift.
    assert exact > 1_000
    there = method.sampler.init(SLOW, exact_states(SLOW, 400, key), key=key)
    report = hm.equilibrium(SLOW, method, key=key, state=there, sweeps=1_000)
    assert not report.mixing.resolved
    assert report.chains_agree is None
    assert "is not known" in report.message


def test_k_against_a_bound():
    """Below a lower bound the answer is certain; above it the answer is not known."""
    mixing = hm.mixing(SLOW, key=jax.random.key(0), sweeps=512)
    assert not mixing.resolved
    few = hm.equilibrium(SLOW, 10, key=jax.random.key(0), mixing=mixing)
    assert few.at_equilibrium is False
    assert "Training with k = 10 ran at least" in few.message
    many = hm.equilibrium(SLOW, hm.Contrastive(hm.Gibbs(600)), key=jax.random.key(0), mixing=mixing)
    assert many.at_equilibrium is None
    assert many.chains_agree is None
    assert "CD-600: it is not known" in many.message


def test_persistence_may_keep_up():
    method = hm.Persistent(hm.Gibbs(1), chains=400)
    key = jax.random.key(3)
    there = method.sampler.init(QUICK, exact_states(QUICK, 400, key), key=key)
    report = hm.equilibrium(QUICK, method, key=key, state=there)
    assert report.at_equilibrium is False
    assert report.chains_agree
    assert "gradient may be biased" not in report.message
    assert "Yet its own chains agree" in report.message


def test_exact_learning_has_no_chains():
    report = hm.equilibrium(QUICK, hm.Exact(), key=jax.random.key(0))
    assert (report.k, report.at_equilibrium, report.chains_agree, report.mixing) == (None,) * 4
    assert report.message.startswith("Exact gradient: no chains")


def test_methods_say_what_they_are():
    ladder = hm.Persistent(hm.ReplicaExchange(times=3))
    titles = [method.about.title for method in (hm.Exact(), hm.Persistent(hm.Gibbs(2)), ladder)]
    assert titles == ["exact gradient", "PCD-2", "PCD by steps of replica exchange"]
    method = hm.Contrastive(hm.Gibbs(10))
    assert (method.about.title, method.about.sweeps) == ("CD-10", 10)
    assert method.status(QUICK, ()).chains is None


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "PCD-1"])
def test_invalid_arguments_are_refused(wrong):
    with pytest.raises(hm.InputError, match="method: expected"):
        hm.equilibrium(QUICK, wrong, key=jax.random.key(0))
