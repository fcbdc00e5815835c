"""Alarms of the log Z that is followed: what chains do not know, and what is done about it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from hard_models import FAMILIES, exact_rows
from harmonium._base.numerics import from_numpy
from harmonium.data import Dataset
from harmonium.likelihood.partition_function.agreement import AnnealingRuns
from harmonium.samplers import Cloud
from harmonium.training.base import with_values
from harmonium.training.judge import Judge
from harmonium.training.monitors import Monitors, adjusted_gap
from harmonium.training.penalties import next_strength
from harmonium.training.selection import chosen
from harmonium.training.tracking import (
    APART,
    BELOW,
    DOUBTS,
    TRUSTED,
    FreshLogZ,
    Tracker,
    bennett_ratio,
    checked,
    fresh_log_z,
    scalar,
    scored,
    settled,
)
from registry import exact_states, random_rbm

KEY = jax.random.key(3)
CHAINS = Cloud.uniform(jnp.zeros((100, 16)))  # all in one mode


def test_runs_that_are_narrow_but_far_apart_are_not_believed():
    """The spread of each direction is tiny, but they differ by 40 nats."""
    noise = np.random.default_rng(0).normal(0.0, 0.1, (2, 256))
    together = bennett_ratio(AnnealingRuns(3.0 + noise[0], -3.0 + noise[1]), 1)
    assert together[0] == pytest.approx(3.0, abs=0.05)
    assert together[2] > 0.9
    apart = bennett_ratio(AnnealingRuns(-17.0 + noise[0], -23.0 + noise[1]), 1)
    assert apart[2] < TRUSTED
    assert apart[1] > 100.0


@pytest.mark.parametrize("scale", [0.5, 2.0, 6.0])
def test_both_estimates_of_the_variance_agree_for_gaussian_work(scale):
    """Work of variance s², lost s²/2 forward and in reverse, as in runs close to reversible."""
    work = np.random.default_rng(1).normal(0.0, np.sqrt(scale), (400, 2, 256)) - scale / 2.0
    trials = work[: 400 if scale < 4 else 50]
    ratios = [bennett_ratio(AnnealingRuns(*runs), 16)[:2] for runs in trials]
    log_ratios, variances = np.array(ratios).T
    actual = log_ratios.var()
    assert 0.7 * actual < variances.mean()
    if scale < 1.0:
        assert variances.mean() < 1.6 * actual


@pytest.mark.parametrize(
    "visible", [hm.Bernoulli(8), hm.Ising(8), hm.Potts(4, states=3), hm.Gaussian(4)], ids=str
)
def test_log_z_is_above_what_a_state_says(visible):
    """By v or, for continuous rows, by h; and close to it where one state has all the mass."""
    for seed in range(5):
        rbm = random_rbm(visible, hm.Bernoulli(5), seed, coupling=0.5)
        rows = rbm.visible.decode(exact_states(rbm, 20, jax.random.key(seed)))
        monitors = Monitors(rbm, hm.Dataset(rows), None)
        least, most = monitors.bounds(monitors.measured(rbm))
        log_z = hm.log_z(rbm).value
        assert least < log_z + 1e-3
        assert least > log_z - 16.0
        without = hm.log_likelihood(rbm.uncoupled, rows).value
        energy = float(np.mean(hm.free_energies(rbm, rows)))
        assert -energy - most == pytest.approx(without, abs=1e-3)


def two_modes(scale):
    """Return a model of all units off or all on, of which "on" gains mass with its weights."""
    weights = jnp.full((16, 3), 1.2) * scale
    return hm.RBM(hm.Bernoulli(16, jnp.full(16, -1.5)), hm.Bernoulli(3), weights)


def followed(chains, records=30):
    """Return the last state and the errors of log Z along such models, None where in doubt."""
    tracker = Tracker(two_modes(0.0), 100, chains, key=KEY)
    tracker.is_exact = False
    tracker.fractions = (1.0,)  # no particles, which would know both modes
    state = tracker.begin()
    errors = []
    for i in range(1, records + 1):
        rbm = two_modes(min(1.0, i / 10))
        state = tracker.track(state, rbm, 100 * i, chains)
        estimate = state.estimate
        errors.append(None if estimate.doubt else estimate.value - hm.log_z(rbm).value)
    return state, errors


def test_a_mode_that_chains_miss_is_found_by_fresh_estimates(monkeypatch):
    """Chains that never leave a mode that has lost its mass, and no particles beside them."""

    def stuck(rbm, chains, key):
        return jnp.zeros((256, 16)) if chains is CHAINS else settled(rbm, chains, key=key)

    monkeypatch.setattr("harmonium.training.tracking.settled", stuck)
    state, errors = followed(CHAINS)
    assert int(state.anew) > 0
    assert max(abs(error) for error in errors[15:] if error is not None) < 0.5
    assert sum(error is not None for error in errors[15:]) > 10
    monkeypatch.setattr("harmonium.training.tracking.FRACTION_AFRESH", 0.0)
    errors = followed(CHAINS)[1]
    assert max(abs(error) for error in errors[15:] if error is not None) > 5.0


def test_a_fresh_estimate_contradicts_a_larger_log_z_if_it_was_checked_from_the_chains():
    """Chains with wrong fractions of modes give too large a log Z; annealing may give too small."""
    track = Tracker(two_modes(0.0), 100, CHAINS, key=KEY).begin().ways[0]
    track = track._replace(log_z=scalar(13.0, np.float32), variance=scalar(0.01, np.float32))
    fresh = FreshLogZ(track.v, log_z=10.0, variance=0.01, fraction=0.5, low=9.5, high=10.5)
    for is_checked in (False, True):
        judged = checked(track, fresh._replace(is_checked=is_checked), np.inf)
        assert judged.is_known != is_checked
    assert checked(track, fresh._replace(is_checked=True, variance=4.0), np.inf).is_known


def test_chains_where_annealing_hardly_comes_widen_its_error():
    """All chains are in the mode that has 97 % of the mass; runs from that base do not find it."""
    rng = np.random.default_rng(0)
    rbm = FAMILIES["two modes, 3 %"](rng, 1.0)
    rows = exact_rows(rbm, 2_000, rng)
    away = np.abs(rows - np.median(rows, axis=0)).sum(1)
    there = from_numpy(np.resize(rows[away < 3], (256, 14)).astype(np.float32))
    alone = fresh_log_z(rbm, rbm.uncoupled, 40, key=KEY)
    beside = fresh_log_z(rbm, rbm.uncoupled, 40, there, key=KEY)
    assert not alone.is_checked
    assert beside.is_checked
    assert beside.high - beside.log_z > alone.high - alone.log_z + 0.5
    assert beside.half_width > alone.half_width + 0.5


def test_the_interval_of_log_z_holds_those_of_both_tracks():
    rbm = random_rbm(hm.Bernoulli(60), hm.Bernoulli(12), 3)
    tracker = Tracker(rbm, 10, CHAINS, key=KEY)
    tracker.is_exact = False
    state = tracker.begin()
    for difference, low in ((0.05, 9.75), (3.0, 6.8)):
        log_zs = [scalar(10.0 - shift, np.float32) for shift in (0.0, difference)]
        tracks = tuple(
            track._replace(log_z=log_z, variance=scalar(0.01, np.float32))
            for track, log_z in zip(state.ways, log_zs, strict=True)
        )
        estimate = state._replace(ways=tracks).estimate
        assert estimate.value == 10.0
        assert estimate.low == pytest.approx(low, abs=1e-5)


def with_last(tracker, best, earlier, *, doubt):
    """Return a state with an earlier model, after log Z was lost."""
    state = tracker.begin()
    track = state.ways[0]._replace(doubt=scalar(doubt, np.int32))
    return state._replace(
        ways=(track,), best=best, earlier=earlier, earlier_update=scalar(7, np.int32)
    )


def test_a_model_from_before_log_z_was_lost_is_kept_if_annealing_says_so():
    good = random_rbm(hm.Bernoulli(10), hm.Bernoulli(6), 1, coupling=1.0)
    rows = np.asarray(exact_states(good, 200, KEY))
    poor = hm.RBM(good.visible, good.hidden, -good.weights)
    tracker = Tracker(good, 100, None, key=KEY)
    tracker.is_exact = False

    def measured(rbm):
        return float(np.mean(hm.free_energies(rbm, rows))), -np.inf

    for earlier, last in ((good, poor), (poor, good)):
        state = with_last(tracker, last, earlier, doubt=APART)
        choice = chosen(tracker, state, last, 1_000, measured, (poor.uncoupled, -np.inf))
        assert choice.rbm is good
        assert choice.update == (7 if earlier is good else 1_000)
    assert "the last model is kept: annealing" in choice.why
    assert "after update 7" in choice.why


def test_a_model_whose_rows_would_have_a_probability_above_1_is_not_kept():
    """Annealing finds nothing of the mode that has all the mass, but log Z has a lower bound."""
    good = random_rbm(hm.Bernoulli(10), hm.Bernoulli(6), 1, coupling=1.0)
    rows = np.asarray(exact_states(good, 200, KEY))
    tracker = Tracker(good, 100, None, key=KEY)
    tracker.is_exact = False
    last = random_rbm(hm.Bernoulli(10), hm.Bernoulli(6), 2, coupling=1.0)
    state = with_last(tracker, last, good, doubt=BELOW)

    def measured(rbm):
        return float(np.mean(hm.free_energies(rbm, rows))), 300.0 if rbm is last else -np.inf

    choice = chosen(tracker, state, last, 1_000, measured, (good.uncoupled, -np.inf))
    assert choice.rbm is good
    assert "with the last model" in choice.why


@pytest.mark.parametrize("has_earlier", [True, False])
@pytest.mark.parametrize("is_exact", [True, False])
def test_a_model_that_is_surely_worse_than_its_units_is_not_kept(has_earlier, is_exact):
    """Chains that lose the rows leave a model that gives them next to nothing."""
    good = random_rbm(hm.Bernoulli(10), hm.Bernoulli(6), 1, coupling=1.0)
    rows = np.asarray(exact_states(good, 200, KEY))
    poor = hm.RBM(good.visible, good.hidden, -3.0 * good.weights)
    units = hm.initialize(hm.Bernoulli(10), hm.Bernoulli(6), rows, key=KEY).uncoupled
    tracker = Tracker(good, 100, None, key=KEY)
    tracker.is_exact = is_exact

    def measured(rbm):
        return float(np.mean(hm.free_energies(rbm, rows))), -np.inf

    state = with_last(tracker, poor, poor, doubt=APART)
    if not has_earlier:
        state = with_values(state, update=-1, earlier_update=-1)
    state = with_values(state, value=hm.log_likelihood(poor, rows).value)
    base = (units, hm.log_likelihood(units, rows).value)
    choice = chosen(tracker, state, poor, 1_000, measured, base)
    if is_exact and not has_earlier:  # nothing is known of such a run
        assert choice.rbm is poor
        return
    assert choice.rbm is units
    assert "the model is the one without weights: held-out rows have" in choice.why


def test_units_that_hang_together_are_compared_with_the_whole_covariance_of_the_rows():
    """The start has half of it, so that hidden units have something to learn."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
    train = rows[:200]
    held_out = rows[200:]
    start = hm.initialize(hm.MultivariateGaussian(3), hm.Bernoulli(4), train, key=KEY)
    judge = Judge(start, Dataset.of(train), Dataset.of(held_out), 0.0)
    base, value = judge.base()
    covariance = np.linalg.inv(np.asarray(base.visible.precision))
    shrunk = covariance / np.cov(train.T, ddof=0)  # off the diagonal, by cross-validation
    assert shrunk.min() > 0.85
    assert value == pytest.approx(hm.log_likelihood(base, held_out).value, abs=1e-3)
    assert value > hm.log_likelihood(start.uncoupled, held_out).value + 0.1


def test_where_log_z_is_lost_nothing_is_shown_and_the_best_model_is_set_aside():
    rbm = random_rbm(hm.Bernoulli(60), hm.Bernoulli(12), 3, coupling=6.0)
    tracker = Tracker(rbm, 10, None, key=KEY)
    tracker.is_exact = False
    state, shown = scored(tracker.track(tracker.begin(), rbm.uncoupled, 1), 50.0, 1)
    assert int(state.update) == 1
    assert set(shown) == {"log_likelihood", "log_likelihood_low", "log_likelihood_high"}
    state, shown = scored(tracker.track(state, rbm, 2), 50.0, 2)
    assert state.estimate.doubt in DOUBTS[1:]
    assert shown == {}
    assert int(state.update) == -1
    assert int(state.earlier_update) == 1
    assert state.has_candidates


def test_energies_of_incomplete_rows_that_are_too_rough_decide_nothing():
    """Strong weights, and more missing units than can be summed over: eight chains say little."""
    rows = np.random.default_rng(1).integers(2, size=(200, 60)).astype(np.float32)
    rows[np.random.default_rng(0).uniform(size=rows.shape) < 0.4] = np.nan
    tracker = Tracker(random_rbm(hm.Bernoulli(60), hm.Bernoulli(30), 3), 10, None, key=KEY)
    state = tracker.begin()._replace(records=scalar(1, np.int32))
    for coupling, is_rough in ((0.3, False), (6.0, True)):
        rbm = random_rbm(hm.Bernoulli(60), hm.Bernoulli(30), 3, coupling=coupling)
        monitors = Monitors(rbm, hm.Dataset(rows[:100]), hm.Dataset(rows[100:]))
        statistics = monitors.measured(rbm)
        assert np.isinf(statistics[-1].half_width) == is_rough
        after, shown = scored(state, statistics[-1].energy, 5, statistics[-1].half_width)
        assert (shown == {}) == is_rough
        assert ("missing values" in after.note) == is_rough
        gap, _ = adjusted_gap(*statistics)
        assert (next_strength(0.3, 0.1, gap, 0.0, 1.0) == 0.3) == is_rough
        metrics = monitors.described(rbm, statistics, 0.0, last=False)
        assert ("free_energy_gap" in metrics) != is_rough
