"""The interval of log Z covers the exact value as often as its level states."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import harmonium as hm
from harmonium._base.statistics import log_mean_exp
from harmonium.likelihood.partition_function.annealed import Annealed
from harmonium.likelihood.partition_function.schedule import AnnealingSchedule, base_from_moments
from registry import ALL, LEVEL, SEEDS, random_rbm

PAIRS = [  # few, since each is compiled; models of one shape share their programs
    (hm.Bernoulli(6), hm.Bernoulli(4)),
    (hm.Ising(5), hm.Gaussian(3)),
    (hm.Mixed(hm.Bernoulli(3), hm.Gaussian(2)), hm.Ising(3)),
    (hm.Gaussian(4), hm.Gaussian(3)),
    (hm.Potts(3, states=3), hm.Mixed(hm.Bernoulli(2), hm.Potts(1, states=3))),
]
PAIRS = PAIRS if ALL else PAIRS[::2]
MODELS = 6 if ALL else 4
PLAN = {"chains": 256, "seconds": 20.0}
TWO_MODES = hm.RBM.from_arrays(6 * np.ones((16, 4)), -12 * np.ones(16), -48 * np.ones(4))


def exact(rbm):
    return hm.log_z(rbm, method="exact").value


@pytest.mark.parametrize("seed", SEEDS)
def test_the_interval_covers(seed):
    """Converged 95 % intervals miss the exact value no more often than chance allows."""
    rng = np.random.default_rng(seed)
    misses = 0
    converged = 0
    for visible, hidden in PAIRS:
        for i in range(MODELS):
            rbm = random_rbm(
                visible, hidden, int(rng.integers(10_000)), float(rng.uniform(0.1, 1.5))
            )
            answer = Annealed(**PLAN).estimate(rbm, key=jax.random.key(1000 * seed + i))
            truth = exact(rbm)
            assert answer.low <= answer.value <= answer.high
            assert abs(answer.value - truth) < 0.2
            converged += answer.converged
            misses += answer.converged and not answer.low <= truth <= answer.high
    assert converged > 0.8 * MODELS * len(PAIRS)
    assert stats.binom.sf(misses - 1, converged, 0.05) > LEVEL


def test_both_directions_bound_on_average():
    """E log Ẑ is below log Z forward and above it in reverse, clearly so with a crude path."""
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(4), 3, coupling=1.5)
    schedule = AnnealingSchedule.even(
        hm.path.Heating(hm.Bernoulli(4), hm.Bernoulli(4), rbm), segments=1
    )
    states = rbm.visible.states(jnp.arange(16))
    p = jax.nn.softmax(-rbm.free_energy(states))
    offset = float(schedule.path.log_z_of_base) - exact(rbm)
    gaps = []
    for i in range(60):
        keys = jax.random.split(jax.random.key(i), 4)
        _, there = schedule.run(schedule.start(4, key=keys[0]), 1, key=keys[1])
        starts = states[jax.random.choice(keys[2], 16, (4,), p=p)]
        _, back = schedule.run(starts, 1, key=keys[3], reverse=True)
        gaps.append([log_mean_exp(there[0]) + offset, -log_mean_exp(back[0]) + offset])
    below, above = np.array(gaps).T
    assert stats.ttest_1samp(below, 0.0, alternative="less").pvalue < LEVEL
    assert stats.ttest_1samp(above, 0.0, alternative="greater").pvalue < LEVEL


def test_modes_that_short_chains_never_leave_are_found_from_a_broad_base():
    """Of two equal, distant modes, chains from the model's own biases see one: log Z = 0.00."""
    truth = exact(TWO_MODES)
    answer = Annealed().estimate(TWO_MODES, key=jax.random.key(0))
    assert truth == pytest.approx(np.log(2), abs=1e-3)
    assert abs(answer.value - truth) < 0.2
    assert answer.converged


def test_starts_that_no_chain_reached_give_a_warning():
    path = base_from_moments(TWO_MODES, key=jax.random.key(0))
    plan = {"paths": [path], "steps": 100}
    key = jax.random.key(1)
    blind = Annealed(**plan).estimate(TWO_MODES, key=key)
    assert blind.value == pytest.approx(0.0, abs=0.05)  # its chains never saw the other mode
    assert blind.convergence == "unchecked"
    assert blind.message.startswith("The forward and reverse estimates agree. Unchecked: ")
    assert str(blind).endswith(", unchecked)")
    starts = np.repeat([[0.0], [1.0]], 16, axis=1)
    warned = Annealed(**plan, starts=starts).estimate(TWO_MODES, key=key)
    assert not warned.converged
    assert "(for a likelihood, the rows) is in regions that hardly any chain" in warned.message
    assert warned.low <= exact(TWO_MODES) <= warned.high


@pytest.mark.parametrize("seed", SEEDS)
def test_what_has_not_converged_says_why_and_its_interval_holds(seed):
    """Crude runs of models that mix slowly: at most one of twenty wide intervals misses log Z."""
    rng = np.random.default_rng([seed, 1])
    misses = 0
    widths = []
    crude = Annealed(chains=64, steps=8)
    for visible, hidden in PAIRS:
        for i in range(4 * MODELS):
            hard = random_rbm(visible, hidden, int(rng.integers(10_000)), coupling=4.0)
            answer = crude.estimate(hard, key=jax.random.key(1000 * seed + i))
            if not answer.converged:
                assert answer.message.startswith("Not converged: ")
                misses += not answer.low <= exact(hard) <= answer.high
                widths.append(answer.high - answer.low)
    assert len(widths) > MODELS * len(PAIRS)
    assert stats.binom.sf(misses - 1, len(widths), 0.05) > LEVEL
    assert np.median(widths) < 2 * -np.log(0.025)  # narrower than by Markov's inequality alone


def test_two_gaussian_layers_have_a_closed_form_or_none():
    rbm = random_rbm(hm.Gaussian(2), hm.Mixed(hm.Gaussian(1)), 0)
    grid = jnp.linspace(-30.0, 30.0, 1201)
    v = jnp.stack(jnp.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    by_quadrature = jax.nn.logsumexp(-rbm.free_energy(v)) + 2 * np.log(grid[1] - grid[0])
    answer = hm.log_z(rbm)
    assert answer.method == "exact, closed form"
    assert answer.value == pytest.approx(float(by_quadrature), abs=1e-3)
    strong = hm.RBM(hm.Gaussian(2), hm.Gaussian(1), 2 * np.ones((2, 1)))
    with pytest.raises(hm.NotFiniteError, match="is infinite"):
        hm.log_z(strong)


def test_an_interrupted_enumeration_says_how_far_it_got():
    rbm = random_rbm(hm.Bernoulli(60), hm.Bernoulli(22), 0, coupling=0.1)

    def interrupt(part):
        if part > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(hm.Interrupted, match=r"after \d\d % of 4,194,304 states.*at least \d"):
        hm.log_z(rbm, method="exact", progress=interrupt)


def in_float64(rbm):
    """Return log Z of a Bernoulli model and a function for F of rows, by NumPy in float64."""
    leaves = (rbm.weights, rbm.visible.bias, rbm.hidden.bias)
    weights, a, b = (np.asarray(leaf, np.float64) for leaf in leaves)
    h = (np.arange(2 ** len(b))[:, None] >> np.arange(len(b))) & 1
    terms = h @ b + np.logaddexp(0.0, h @ weights.T + a).sum(1)
    return logsumexp(terms), lambda v: -(v @ a + np.logaddexp(0.0, v @ weights + b).sum(1))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("small", [True, False])
def test_exact_means_exact_to_the_rounding_that_the_interval_states(small, seed, monkeypatch):
    """Energies of thousands of nats lose up to 0.001 each in float32."""
    if not small:
        monkeypatch.setattr("harmonium.likelihood.partition_function.enumerated.MOST_IN_FLOAT64", 0)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(600, 10)) * 3.0
    biases = [rng.normal(size=n) for n in (600, 10)]
    rbm = hm.RBM.from_arrays(weights, 10.0 * biases[0], 100.0 * biases[1])
    expected, energies = in_float64(rbm)
    answer = hm.log_z(rbm)
    assert abs(answer.value) > 1_000
    half = answer.high - answer.value
    assert abs(answer.value - expected) <= (1e-9 if small else 2.0 * half)  # of two deviations
    assert half < 1e-3
    v = (rng.random((50, 600)) < 0.5) * 1.0
    np.testing.assert_allclose(hm.free_energies(rbm, v), energies(v), rtol=0, atol=1e-8)
    score = hm.log_likelihood(rbm, v)
    assert score.value == pytest.approx(-energies(v).mean() - expected, abs=1e-8 + 2.0 * half)


def test_exact_is_chosen_where_it_is_cheap_and_a_key_is_needed_elsewhere():
    small = random_rbm(hm.Bernoulli(4), hm.Bernoulli(4), 0)
    answer = hm.log_z(small)
    assert answer.low == answer.value == answer.high
    assert answer.method == "exact, 16 states"
    large = hm.initialize(hm.Bernoulli(60), hm.Bernoulli(50), key=jax.random.key(0))
    with pytest.raises(hm.InputError, match="pass key="):
        hm.log_z(large)
    with pytest.raises(hm.InputError, match="'auto', 'exact', 'annealed', 'tempered', or a method"):
        hm.log_z(small, method="guess")
    with pytest.raises(hm.InputError, match="at most 2\\^28"):
        hm.log_z(large, method="exact")


def test_the_rows_bring_their_own_spread_and_the_turned_interval():
    rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(4), 0)
    rows = hm.sample(rbm, 50, key=jax.random.key(0))
    exact = hm.log_likelihood(rbm, rows)
    free = -hm.free_energies(rbm, rows)
    np.testing.assert_allclose(exact.value, free.mean() - exact.log_z.value, rtol=1e-6)
    np.testing.assert_allclose(exact.stderr_rows, free.std(ddof=1) / np.sqrt(50), rtol=1e-5)
    rough = hm.log_likelihood(rbm, rows, key=jax.random.key(0), method="annealed", steps=64)
    assert rough.low <= rough.value <= rough.high
    np.testing.assert_allclose(
        rough.high - rough.low, rough.log_z.high - rough.log_z.low, rtol=1e-4
    )


def test_grey_levels_are_labelled():
    rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(4), 0)
    grey = np.linspace(0, 1, 60).reshape(10, 6)
    assert "not a probability" in hm.log_likelihood(rbm, grey).method
    assert "not a probability" not in hm.log_likelihood(rbm, (grey > 0.5)).method
    stochastic = hm.Dataset(grey, stochastic=True)
    assert (
        "not a probability" not in hm.log_likelihood(rbm, stochastic, key=jax.random.key(0)).method
    )


def test_a_diverged_model_is_refused():
    rbm = hm.initialize(hm.Bernoulli(30), hm.Bernoulli(30), key=jax.random.key(0))
    broken = eqx.tree_at(lambda m: m.weights, rbm, jnp.full((30, 30), jnp.nan))
    with pytest.raises(hm.NotFiniteError, match="the model diverged"):
        hm.log_z(broken, key=jax.random.key(0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_may_end_at_another_model_close_by(seed):
    """The last step is weighted too: intervals cover log Z of the model, not of its neighbour."""
    misses = 0
    converged = 0
    differences = []
    for i in range(MODELS):
        rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(4), 100 * seed + i)
        noise = 0.2 * jax.random.normal(jax.random.key(i), rbm.weights.shape)
        near = eqx.tree_at(lambda m: m.weights, rbm, rbm.weights + noise)
        paths = [hm.path.Heating.from_neutral(near)]
        truth = exact(rbm)
        key = jax.random.key(1000 * seed + i)
        answer = Annealed(paths=paths, starts=np.eye(6), **PLAN).estimate(rbm, key=key)
        differences.append(abs(exact(near) - truth))
        converged += answer.converged
        misses += answer.converged and not answer.low <= truth <= answer.high
    assert max(differences) > 0.3
    assert converged > 0.8 * MODELS
    assert stats.binom.sf(misses - 1, converged, 0.05) > LEVEL
