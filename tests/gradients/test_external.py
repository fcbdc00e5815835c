"""Samplers of other packages: exact draws at a β that the method does not know."""

import functools

import dimod
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.gradients.external import States, inverse_temperature
from harmonium.io.convert.annealers import Quadratic
from registry import ALL, LEVEL, random_rbm

KEY = jax.random.key(0)
SIDES = [
    (hm.Bernoulli(4), hm.Bernoulli(3)),
    (hm.Ising(3), hm.Ising(4)),
    (hm.Bernoulli(3), hm.Ising(3)),
    (hm.Mixed(hm.Ising(2), hm.Bernoulli(2)), hm.Mixed(hm.Bernoulli(2), hm.Ising(1))),
]
VARTYPES = ["SPIN", "BINARY"]
BOLTZMANN = hm.External(dimod.ExactSolver(), weighting="boltzmann")


class ExactDraws(dimod.Sampler):
    """Exact draws of a problem's states at the inverse temperature β, by enumeration."""

    parameters = properties = None

    def __init__(self, beta=1.0, vartype="SPIN", properties=None):
        self.parameters = {"num_reads": [], "seed": []}
        self.beta = beta
        self.vartype = vartype
        self.properties = properties or {}
        self.sent = []

    def sample(self, bqm, num_reads, seed):
        self.sent.append(bqm)
        n = bqm.num_variables
        spins = (2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1).astype(np.int8)
        energies = bqm.energies((spins, bqm.variables))
        weights = np.exp(-self.beta * (energies - energies.min()))
        counts = np.random.default_rng(seed).multinomial(num_reads, weights / weights.sum())
        is_drawn = counts > 0
        samples = dimod.SampleSet.from_samples(
            (spins[is_drawn], bqm.variables),
            energy=energies[is_drawn],
            num_occurrences=counts[is_drawn],
            vartype="SPIN",
        )
        return samples.change_vartype(self.vartype, inplace=False)


class Faulty:
    """A sampler, in no class of dimod, whose answer is spoilt by a function."""

    def __init__(self, spoil):
        self.spoil = spoil

    def sample(self, bqm):
        return self.spoil(bqm, dimod.ExactSolver().sample(bqm))


EXAMPLES = [hm.External(ExactDraws(), reads=64)]


@functools.cache
def model(n):
    """Return a model of these layers; not when the tests are collected, which all workers do."""
    return random_rbm(*SIDES[n], n)


def batch_of(rbm):
    """Return a few weighted rows."""
    states = rbm.visible.states(jnp.arange(min(5, rbm.visible.n_states)))
    weights = jnp.arange(1.0, 1 + len(states))
    return hm.samplers.Cloud(states, (weights / weights.sum()).astype(states.dtype))


def estimated(method, rbm, updates=1, seed=0):
    """Return the gradient and the state after some updates of one model."""
    batch = batch_of(rbm)
    step = eqx.filter_jit(method.estimate)
    state = method.init(rbm, batch, key=KEY)
    for key in jax.random.split(jax.random.key(seed), updates):
        grads, state, _ = step(rbm, batch, state, key=key)
    return grads, state


@eqx.filter_jit
def exact(rbm):
    """Return the exact gradient."""
    return hm.Exact().estimate(rbm, batch_of(rbm), (), key=KEY)[0]


def scaled(rbm, factor):
    """Return the model with all energies times a factor."""
    return jax.tree.map(lambda leaf: factor * leaf, rbm)


@pytest.mark.parametrize("n", range(len(SIDES)))
def test_all_states_with_boltzmann_weights_give_the_exact_gradient(n):
    rbm = model(n)
    with jax.enable_x64(True):
        rbm = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), rbm)
        pairs = zip(*map(jax.tree.leaves, (estimated(BOLTZMANN, rbm)[0], exact(rbm))), strict=True)
        for ours, theirs in pairs:
            largest = abs(np.asarray(theirs)).max()
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * largest)


def test_in_float32_it_is_exact_up_to_rounding():
    for rbm in map(model, range(4) if ALL else (0, 3)):  # all of them in float64, above
        pairs = zip(*map(jax.tree.leaves, (estimated(BOLTZMANN, rbm)[0], exact(rbm))), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, atol=20 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beta", [0.4, 1.7, 3.0])
def test_an_unknown_temperature_is_found_within_two_percent(beta, seed):
    """The statistical error of β is at most 0.4 % here, so 2 % are five standard errors."""
    method = hm.External(ExactDraws(beta), reads=4_000)
    _, state = estimated(method, model(3), updates=15, seed=seed)
    assert 1 / np.sqrt(float(state.information)) / beta < 0.006  # before these draws
    assert float(state.beta) == pytest.approx(beta, rel=0.02)


@pytest.mark.parametrize("beta", [0.4, 1.0, 3.0])
def test_the_estimate_of_a_temperature_has_no_bias(beta):
    """The mean of many estimates, each from one call: its t statistic, at a level of 1e-4."""
    rbm = model(1)
    method = hm.External(ExactDraws(beta), reads=2_000)
    betas = [float(estimated(method, rbm, seed=seed)[1].beta) for seed in range(40)]
    # β₀ = 1 counts as one observation of variance 1, which pulls by less than 1e-3 of β
    t = (np.mean(betas) - beta) / (np.std(betas, ddof=1) / np.sqrt(40) + 1e-3 * beta)
    assert abs(t) < stats.t.isf(LEVEL / 2, 39)


def test_the_fitted_temperature_is_the_most_probable_one():
    """It is that on a grid, also where the earlier estimate is far away."""
    random = np.random.default_rng(0)
    model = Quadratic(*(random.normal(size=shape) for shape in ((3, 2), 3, 2)), 0.0)
    drawn = (random.random((50, n)) < 0.5 for n in (3, 2))
    states = States(*drawn, random.integers(1, 9, 50).astype(float))
    v = 2.0 * states.visible - 1
    h = 2.0 * states.hidden - 1
    z_v = v * (model.visible_bias + h @ model.weights.T)
    z = 2 * np.hstack([z_v, h * (model.hidden_bias + v @ model.weights)])
    for before, information in ((1.0, 1.0), (0.5, 200.0), (3.0, 0.0)):
        grid = np.geomspace(before / 8, before * 8, 20_001)
        log_likelihoods = [-(states.counts @ np.logaddexp(0, -beta * z).sum(1)) for beta in grid]
        best = grid[np.argmax(np.array(log_likelihoods) - information / 2 * (grid - before) ** 2)]
        beta, _ = inverse_temperature(states, model, before, information)
        assert beta == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(
    ("n", "vartype"),
    [(n, vartype) for n in range(4) for vartype in (VARTYPES if ALL else [VARTYPES[n % 2]])],
)
def test_the_gradient_is_unbiased_at_an_unknown_temperature(n, vartype):
    """The mean of estimates after the first ones: largest |z|, Bonferroni over all entries."""
    rbm = model(n)
    method = hm.External(ExactDraws(2.5, vartype), reads=500)
    batch = batch_of(rbm)
    step = eqx.filter_jit(method.estimate)
    state = method.init(rbm, batch, key=KEY)
    gradients = []
    for key in jax.random.split(jax.random.key(5), 110):
        grads, state, _ = step(rbm, batch, state, key=key)
        gradients.append(np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(grads)]))
    expected = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(exact(rbm))])
    # An error of β is shared by ten updates, so means of ten consecutive ones are compared.
    means = np.array(gradients[10:]).reshape(10, 10, -1).mean(1)
    t = abs(means.mean(0) - expected) / (means.std(0, ddof=1) / np.sqrt(10))
    assert t.max() < stats.t.isf(LEVEL / (2 * 8 * len(expected)), 9)


def test_draws_at_a_known_temperature():
    rbm = model(0)
    method = hm.External(ExactDraws(3.0), reads=200_000, beta=3.0)
    grads, state = estimated(method, rbm)
    np.testing.assert_allclose(grads.weights, exact(rbm).weights, atol=4.5 * 0.5 / 200_000**0.5)
    assert (float(state.beta), method.metrics(state)) == (3.0, {})


def test_training_reaches_the_likelihood_of_the_exact_gradient():
    """Over five seeds, runs with draws at an unknown β end where runs with exact gradients end.

    The 99.9 % confidence interval of the mean difference in log-likelihood lies within ±0.1 nats.
    A run that takes the draws for those at β = 1 loses five times that.
    """
    rows = hm.bars_and_stripes(2)
    recipe = hm.Recipe(rate=3.0)

    def reached(gradient, seed):
        key = jax.random.key(seed)
        rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(4), rows, key=key)
        fit = hm.fit(rbm, rows, key=key, gradient=gradient, optimizer=recipe, epochs=400)
        return hm.log_likelihood(fit.rbm, rows).value, fit

    method = hm.External(ExactDraws(3.0), reads=500)
    differences = []
    for seed in range(5):
        value, fit = reached(method, seed)
        differences.append(value - reached("exact", seed)[0])
    half_width = stats.t.isf(0.0005, 4) * np.std(differences, ddof=1) / np.sqrt(5)
    assert abs(np.mean(differences)) + half_width < 0.1, differences
    assert value > -1.8  # −2.77 before, −1.73 at best
    assert fit.history[-1]["beta"] == pytest.approx(3.0, rel=0.02)
    assert fit.history[-1]["effective_reads"] > 0.99
    assert not fit.notes
    assert value - reached(hm.External(ExactDraws(3.0), reads=500, beta=1.0), seed)[0] > 0.5


def test_a_problem_that_is_scaled_down_has_the_same_gradient():
    """At a third of its energies draws come back hot, and their weights correct for it."""
    rbm = scaled(model(0), 2.0)
    fields = dimod_of(rbm).linear.values()
    top = max(map(abs, fields)) / 3
    method = hm.External(ExactDraws(), reads=400_000, ranges=((-top, top), (-9, 9)))
    grads, state = estimated(method, rbm, updates=2)
    sent = method.other.sampler.sent[-1]
    assert max(map(abs, sent.linear.values())) == pytest.approx(top)
    ratio = np.array(list(sent.quadratic.values())) / list(dimod_of(rbm).quadratic.values())
    np.testing.assert_allclose(ratio, 1 / 3, rtol=0.02)
    assert 0.05 < float(state.effective) < 0.9
    np.testing.assert_allclose(
        grads.weights, exact(rbm).weights, atol=4.5 / (400_000 * float(state.effective)) ** 0.5
    )
    assert not method.status(rbm, state).notes


def dimod_of(rbm):
    """Return the problem of spins of a model."""
    from harmonium.io import to_dimod

    return to_dimod(rbm, "SPIN")


def test_a_problem_is_clipped_if_the_temperature_is_given():
    rbm = scaled(model(1), 2.0)
    properties = {"h_range": [-9, 9], "j_range": [-0.5, 0.5]}
    couplings = np.abs(list(dimod_of(rbm).quadratic.values()))
    for declared in (properties, {"child_properties": properties}):  # as embeddings declare them
        method = hm.External(ExactDraws(properties=declared), beta=1.0)
        _, state = estimated(method, rbm, updates=2)
        clipped = int((couplings > 0.5).sum())
        assert int(state.clipped) == clipped > 0
        sent = method.other.sampler.sent[-1]
        sent_couplings = np.abs(list(sent.quadratic.values()))
        np.testing.assert_allclose(sent_couplings, np.minimum(couplings, 0.5))
        (note,) = method.status(rbm, state).notes
        assert note.startswith(f"up to {clipped} of 19 fields and couplings in an update were")


def test_draws_that_hardly_count_are_noted():
    hot = hm.External(ExactDraws(0.05), reads=100, ranges=((-0.5, 0.5), (-0.5, 0.5)))
    rbm = scaled(random_rbm(hm.Bernoulli(8), hm.Bernoulli(2), 0), 4.0)
    _, state = estimated(hot, rbm, updates=3)
    (note,) = hot.status(rbm, state).notes
    assert note.startswith("draws of ExactDraws were far from β = 1")
    assert not hot.status(rbm, None).notes


class Rescaling(ExactDraws):
    """A sampler that scales every problem to its largest field, as hardware does if it may."""

    def sample(self, bqm, num_reads, seed):
        bqm = bqm.copy()
        bqm.scale(5 / max(map(abs, bqm.linear.values())))
        return super().sample(bqm, num_reads, seed)


@pytest.mark.parametrize(
    "sampler", [dimod.RandomSampler(), Rescaling()], ids=lambda sampler: type(sampler).__name__
)
def test_a_sampler_without_a_temperature_is_noted(sampler):
    method = hm.External(sampler, reads=100)
    _, state = estimated(method, model(1), updates=120)
    (note,) = method.status(model(1), state).notes
    assert note.startswith(
        f"no β from 0.01 to 100 describes the states of {type(sampler).__name__}:"
    )


def test_the_sampler_is_called_once_in_an_update_and_gets_the_seeds_of_the_run():
    rows = hm.bars_and_stripes(2)
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    options = {"key": KEY, "optimizer": hm.Recipe(rate=0.1), "epochs": 7}
    sampler = ExactDraws()
    fits = [hm.fit(rbm, rows, gradient=hm.External(sampler), **options) for _ in range(2)]
    assert len(sampler.sent) == 14
    np.testing.assert_array_equal(fits[0].rbm.weights, fits[1].rbm.weights)
    part = hm.fit(rbm, rows, gradient=hm.External(sampler), callbacks=[lambda _: True], **options)
    assert int(part.state.updates) < 7
    whole = hm.fit(rbm, rows, gradient=hm.External(sampler), state=part.state, **options)
    np.testing.assert_array_equal(whole.rbm.weights, fits[0].rbm.weights)


def test_models_are_trained_side_by_side_and_in_portions():
    rows = hm.bars_and_stripes(2)
    keys = jax.random.split(KEY, 2)
    starts = [hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key) for key in keys]
    options = {"gradient": hm.External(ExactDraws(2.0)), "optimizer": hm.Recipe(rate=0.1)}
    both = hm.fit_ensemble(starts, rows, keys=keys, epochs=3, **options)
    alone = hm.fit(starts[1], rows, key=keys[1], epochs=3, **options)
    np.testing.assert_allclose(both[1].rbm.weights, alone.rbm.weights, atol=1e-5)
    portion = hm.partial_fit(starts[0], rows, key=keys[0], **options)
    assert int(portion.state.updates) == 1


def raising(bqm, samples):
    """Fail as hardware does."""
    raise RuntimeError("the solver is offline")


def renamed(bqm, samples):
    """Return the samples with one variable renamed."""
    return samples.relabel_variables({("h", 0): "x"}, inplace=False)


def without_energies(bqm, samples):
    """Return the samples with energies that are not a number."""
    energies = np.nan * samples.record.energy
    return dimod.SampleSet.from_samples(samples, energy=energies, vartype="SPIN")


FAULTS = [
    (
        raising,
        r"a dimod SampleSet; got RuntimeError \(test_external\.py, line \d+\): the",
    ),
    (
        lambda bqm, samples: samples.truncate(0),
        "at least one row of states; got none; request draws",
    ),
    (renamed, r"the 7 variables of the model, .* got 7 variables, and \('h', 0\) is in only one"),
    (without_energies, "expected finite energies; got other values in 128 of 128 rows"),
    (lambda bqm, samples: [], "expected a dimod SampleSet; got AttributeError"),
    (lambda bqm, samples: samples, 'every state of the model once.*pass weighting="boltzmann"'),
]


@pytest.mark.parametrize(("n", "fault"), list(enumerate(FAULTS)))
def test_faults_reach_the_user_as_one_line(n, fault, caplog):
    """The first fault is tried with all four calls, the others with one call each."""
    spoil, message = fault
    rows = hm.bars_and_stripes(2)
    method = hm.External(Faulty(spoil))
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=KEY)
    keys = jax.random.split(KEY, 1)
    state = method.init(rbm, batch_of(rbm), key=KEY)
    options = {"gradient": method, "optimizer": hm.Recipe(rate=0.1)}
    attempts = (
        lambda: hm.fit(rbm, rows, key=KEY, epochs=50, **options),
        lambda: hm.fit_ensemble([rbm], rows, keys=keys, epochs=2, **options),
        lambda: hm.partial_fit(rbm, rows, key=KEY, **options),
        lambda: method.estimate(rbm, batch_of(rbm), state, key=KEY),
    )
    for attempt in attempts if ALL or n == 0 else attempts[n % 4 : n % 4 + 1]:
        with pytest.raises(hm.InputError, match=message) as caught:
            attempt()
        text = str(caught.value)
        assert text.startswith("External with Faulty: expected ")
        assert "\n" not in text
        assert caught.value.__suppress_context__
    assert not caplog.records


def test_a_keyboard_interrupt_stays_one():
    def interrupted(bqm, samples):
        raise KeyboardInterrupt

    method = hm.External(Faulty(interrupted))
    with pytest.raises(KeyboardInterrupt):
        hm.fit(model(0), hm.bars_and_stripes(2), key=KEY, gradient=method, epochs=2)


def test_an_error_of_jax_stays_one():
    def jax_only():
        raise jax.errors.JaxRuntimeError("INTERNAL: something else")

    from harmonium._base.host import errors_as_raised

    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"), errors_as_raised():
        jax_only()


def test_a_model_that_diverged_is_not_sent():
    rbm = eqx.tree_at(lambda m: m.weights, model(0), jnp.full((4, 3), jnp.nan))
    method = hm.External(ExactDraws())
    grads, _ = estimated(method, rbm)
    assert np.isnan(grads.weights).all()
    assert not method.other.sampler.sent


def test_too_many_distinct_states_are_refused():
    method = hm.External(dimod.ExactSolver(), reads=10, weighting="boltzmann")
    rbm = model(0)
    batch = batch_of(model(0))
    state = method.init(rbm, batch, key=KEY)
    with pytest.raises(hm.InputError, match="at most reads=10 distinct visible states; got 16;"):
        method.estimate(rbm, batch, state, key=KEY)


@pytest.mark.parametrize("hidden", [hm.Gaussian(2), hm.Potts(2, states=3)], ids=str)
def test_units_of_more_than_two_values_are_refused(hidden):
    rows = hm.bars_and_stripes(2)
    rbm = random_rbm(hm.Bernoulli(4), hidden, 0)
    with pytest.raises(
        hm.InputError, match="External with ExactDraws: expected independent units that take"
    ):
        hm.fit(rbm, rows, key=KEY, gradient=EXAMPLES[0], epochs=2)


def test_arguments_are_checked():
    sampler = ExactDraws()
    for wrong in (None, ExactDraws, 3):
        with pytest.raises(hm.InputError, match="External sampler: expected an object with"):
            hm.External(wrong)
    for options, message in (
        ({"reads": 0}, "External reads"),
        ({"beta": -1.0}, "External beta: expected a positive number or None; got -1.0"),
        ({"weighting": "uniform"}, "weighting: expected 'counts' or 'boltzmann'; got 'uniform'"),
        ({"parameters": 3}, "parameters: expected a dictionary"),
        ({"parameters": {"num_reads": 7}}, "pass reads=7 instead"),
        ({"ranges": (2, 1)}, r"ranges: expected two ranges around 0.* got \(2, 1\)"),
        ({"ranges": ((0, 1), (-1, 1))}, "expected two ranges around 0"),
    ):
        with pytest.raises(hm.InputError, match=message):
            hm.External(sampler, **options)


def test_it_needs_dimod(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dimod", None)
    with pytest.raises(hm.MissingDependencyError, match="pip install dimod"):
        EXAMPLES[0].init(model(0), batch_of(model(0)), key=KEY)


def test_parameters_reach_the_sampler():
    class Recording:
        def sample(self, bqm, *, seed, sweeps):
            self.received = seed, sweeps
            return ExactDraws().sample(bqm, 100, seed)

    sampler = Recording()
    estimated(hm.External(sampler, parameters={"sweeps": [1, 2]}), model(0))
    assert 0 <= sampler.received[0] < 2**31
    assert sampler.received[1] == [1, 2]


def test_its_title_names_the_sampler():
    about = EXAMPLES[0].about
    assert (about.title, about.sweeps) == ("external, by ExactDraws", None)
    assert not about.follows_likelihood
