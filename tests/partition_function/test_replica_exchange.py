import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium._base.statistics import jackknife
from harmonium.likelihood.partition_function.bridge import bennett, ladder_log_z
from harmonium.likelihood.partition_function.enumerated import Enumerated
from registry import exact_states, random_rbm

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def two_modes():
    """Return a model whose units are all on or all off, half each; Gibbs chains do not cross."""
    return hm.RBM.from_arrays(6 * np.ones((16, 4)), -12 * np.ones(16), -48 * np.ones(4))


@pytest.fixture(scope="module")
def answer(two_modes):
    return hm.log_z(two_modes, key=KEY, method="tempered", seconds=60.0)


def test_a_mode_that_gibbs_never_finds_is_counted(two_modes, answer):
    np.testing.assert_allclose(Enumerated().estimate(two_modes).value, np.log(2), atol=1e-3)
    chains = hm.sample(two_modes, 200, key=KEY, sampler=hm.Gibbs(1000))
    assert len(np.unique(chains.mean(1) > 0.5)) == 1
    assert answer.converged
    assert answer.low < np.log(2) < answer.high
    assert answer.high - answer.low < 0.2
    assert "round trips" in answer.message
    assert "The other ladder misses part of Z: log Z = 0.00" in answer.message


def test_replicas_visit_both_modes(two_modes):
    ladder = hm.samplers.adapted_ladder(two_modes, key=KEY)
    report = hm.samplers.ladder_report(two_modes, ladder, key=KEY, steps=512)
    assert report.acceptance.min() > 0.35
    assert np.ptp(report.acceptance) < 0.25
    assert report.trips > 3
    assert f"{report.models} models, swaps accepted from" in str(report)
    rows = hm.sample(two_modes, 256, key=KEY, sampler=ladder)
    assert 0.3 < rows.mean() < 0.7


@eqx.filter_jit
def gains_of(rbm, sampler, n, key):
    """Return exact draws of the models of a ladder, and the gains between them."""
    models = sampler.models(rbm)
    keys = jax.random.split(key, len(models))
    v = jnp.stack([exact_states(m, n, k) for m, k in zip(models, keys, strict=True)])
    info = sampler.step(rbm, sampler.init_each(v), key=key)[1]
    return v, info.up, info.down


def test_mbar_is_bennett_for_two_models_and_right_on_a_ladder():
    rbm = random_rbm(hm.Bernoulli(6), hm.Ising(3), 0, coupling=1.2)
    exact = Enumerated().estimate(rbm).value
    for times, atol in ((2, 0.15), (4, 0.05)):
        sampler = hm.ReplicaExchange(times=times)
        v, *gains = gains_of(rbm, sampler, 2_000, KEY)
        up, down = (np.asarray(x, np.float64) for x in gains)
        ratios = hm.likelihood.mbar_log_z(rbm, sampler, v)
        base = float(sampler.path_to(rbm).log_z_of_base)
        np.testing.assert_allclose(ratios[-1] + base, exact, atol=atol)
        estimate = ladder_log_z(up[None], down[None])
        np.testing.assert_allclose(estimate.value + base, exact, atol=atol)
        if times == 2:
            np.testing.assert_allclose(ratios[1], bennett(up[0], down[0]), atol=1e-5)


def test_the_quick_standard_error_is_that_of_leaving_out_columns():
    rng = np.random.default_rng(0)
    level = rng.normal(size=(1, 3, 12))  # the level of each column, which stays the same
    up, down = (rng.normal(-0.5, 1.0, (40, 3, 12)) + 0.5 * s * level for s in (1, -1))
    estimate = ladder_log_z(up, down)

    def direct(up, down):
        return sum(bennett(up[:, k].ravel(), down[:, k].ravel()) for k in range(3))

    expected = jackknife(direct, up, down, groups=12)
    np.testing.assert_allclose(estimate.value, expected.value, rtol=1e-6)
    np.testing.assert_allclose(estimate.stderr, expected.stderr, rtol=1e-3)


def test_training_by_exchange_carries_log_z():
    rows = np.repeat(np.eye(6)[:3], 2, axis=0)
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(4), rows, key=KEY)
    sampler = hm.ReplicaExchange(times=4)
    method = hm.Persistent(sampler, chains=64)
    fit = hm.fit(rbm, rows, key=KEY, gradient=method, epochs=2_000)
    answer = hm.likelihood.carried_log_z(
        fit.state.rbm, sampler, fit.state.gradient, key=KEY, steps=128
    )
    assert answer.converged, answer.message
    assert abs(answer.value - Enumerated().estimate(fit.state.rbm).value) < 2 * (
        answer.high - answer.low
    )


def test_arguments_are_checked(two_modes):
    with pytest.raises(hm.InputError, match="chains: expected at least 8"):
        hm.Exchanged(chains=4).estimate(two_modes, key=KEY)
    with pytest.raises(hm.InputError, match="seconds: expected a positive number"):
        hm.Exchanged(seconds=0.0).estimate(two_modes, key=KEY)
    for sampler in (hm.ReplicaExchange(times=[0.2, 1.0]), weighted(two_modes)):
        with pytest.raises(hm.InputError, match="model with zero weights"):
            hm.Exchanged(sampler=sampler).estimate(two_modes, key=KEY)
    with pytest.raises(hm.InputError, match=r"expected an hm\.ReplicaExchange"):
        hm.samplers.adapted_ladder(two_modes, hm.Gibbs(1), key=KEY)
    with pytest.raises(hm.InputError, match="acceptance: expected a number between"):
        hm.samplers.adapted_ladder(two_modes, key=KEY, acceptance=1.5)
    sampler = hm.ReplicaExchange(times=4)
    state = hm.ReplicaExchange(times=3).init_independent(two_modes, 8, key=KEY)
    with pytest.raises(hm.InputError, match="replicas of 4 models"):
        hm.likelihood.carried_log_z(two_modes, sampler, state, key=KEY)
    for method in ("tempered", "exact"):
        with pytest.raises(hm.InputError, match=f"method '{method}': expected only its own fields"):
            hm.log_z(two_modes, key=KEY, method=method, steps=100)
    with pytest.raises(hm.InputError, match=r"method: expected .*Exchanged.* and steps"):
        hm.log_z(two_modes, key=KEY, method=hm.Exchanged(), steps=100)


def weighted(rbm):
    return hm.ReplicaExchange(hm.path.Line(rbm, rbm), times=3)
