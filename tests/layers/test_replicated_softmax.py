import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.likelihood.partition_function.by_length import log_z_by_length
from registry import LEVEL, random_rbm

EXAMPLES = [hm.ReplicatedSoftmax(3, length=4)]


def documents(words, length):
    """Return all count vectors of this many words and this length."""
    counts = itertools.product(range(length + 1), repeat=words)
    return jnp.array([x for x in counts if sum(x) == length], float)


def test_probabilities_of_all_documents_of_a_length_add_up_to_one():
    rbm = random_rbm(hm.ReplicatedSoftmax(3), hm.Bernoulli(2), 0)
    for length in (0, 1, 4):
        x = documents(3, length)
        given = rbm.with_given_of(x[0])
        total = jax.nn.logsumexp(-given.free_energy(x))
        np.testing.assert_allclose(total, hm.log_z(given).value, rtol=1e-5, atol=1e-5)


def test_draws_have_the_multinomial_distribution():
    n = 20_000
    layer = hm.ReplicatedSoftmax(3, length=4, bias=[0.0, 0.5, -1.0])
    x = np.asarray(layer.sample_without_inputs((n,), key=jax.random.key(1)))
    assert (x.sum(1) == 4).all()
    states = np.asarray(documents(3, 4))
    p = np.exp(np.asarray(layer.bias, float))
    expected = stats.multinomial(4, p / p.sum()).pmf(states) * n
    counts = [(x == state).all(1).sum() for state in states]
    assert stats.chisquare(counts, expected).pvalue > LEVEL


def test_words_of_probability_zero_are_never_drawn_and_many_words_are_all_drawn():
    layer = hm.ReplicatedSoftmax(5, length=10_000, bias=[-1e4, 0.0, -1e4, 1.0, -1e4])
    x = np.asarray(layer.sample_without_inputs((8,), key=jax.random.key(0)))
    assert (x.sum(1) == 10_000).all()
    assert not x[:, [0, 2, 4]].any()


def test_held_counts_leave_the_rest_of_the_length_to_the_other_words():
    layer = hm.ReplicatedSoftmax(3, length=4, bias=[0.2, -0.4, 0.1])
    inputs = jnp.array([0.5, 0.3, -0.2])
    states = documents(3, 4)
    log_weights = states @ inputs - layer.energy(states)
    for known, values in (
        ([True, False, False], [1.0, 0.0, 0.0]),
        ([False, True, True], [0.0, 2.0, 2.0]),
        ([True, True, True], [1.0, 2.0, 1.0]),
        ([False, False, False], [0.0, 0.0, 0.0]),
    ):
        mask = jnp.array(known)
        held = jnp.array(values)
        agrees = ((states == held) | ~mask).all(1)
        expected = jax.nn.logsumexp(jnp.where(agrees, log_weights, -jnp.inf))
        cgf = layer.unit_cgfs_given(inputs, mask, held).sum()
        np.testing.assert_allclose(cgf, expected, rtol=1e-5)
        many = jnp.broadcast_to(inputs, (2_000, 3))
        x = layer.sample_given(many, mask, held, key=jax.random.key(0))
        assert bool((x.sum(1) == 4).all() & ((x == held) | ~mask).all())
        p = jax.nn.softmax(jnp.where(agrees, log_weights, -jnp.inf))
        mean = layer.mean_given(inputs, mask, held)
        np.testing.assert_allclose(mean, p @ states, atol=2e-5)
        stderr = np.sqrt(np.asarray(p @ (states - mean) ** 2) / 2_000) + 1e-6
        assert (abs(np.asarray(x.mean(0) - mean)) < stats.norm.isf(LEVEL / 24) * stderr).all()
    # More known words than the document has are impossible.
    too_many = layer.unit_cgfs_given(inputs, jnp.array([True, False, False]), 5.0 * jnp.eye(3)[0])
    assert too_many.sum() == -np.inf


def test_the_log_likelihood_takes_each_rows_own_length():
    rbm = random_rbm(hm.ReplicatedSoftmax(3, length=2), hm.Bernoulli(2), 3)
    rows = jnp.concatenate([documents(3, 1), documents(3, 3)])
    log_p = [-rbm.free_energy(row) - hm.log_z(rbm.with_given_of(row)).value for row in rows]
    exact = hm.log_likelihood(rbm, rows)
    np.testing.assert_allclose(exact.value, np.mean(log_p), rtol=1e-5)
    np.testing.assert_allclose(exact.stderr_rows, stats.sem(log_p), rtol=1e-4)
    assert "2 lengths" in exact.method
    weights = np.arange(1.0, len(rows) + 1)
    weighted = hm.log_likelihood(rbm, hm.Dataset.of(rows, weights))
    np.testing.assert_allclose(weighted.value, np.average(log_p, weights=weights), rtol=1e-5)
    reported = []
    annealed = hm.log_likelihood(
        rbm, rows, key=jax.random.key(0), method="annealed", progress=reported.append
    )
    assert annealed.low <= exact.value <= annealed.high
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


@pytest.mark.parametrize("seed", range(2))
def test_log_z_of_all_lengths_comes_from_one_annealing_run(seed):
    """Errors are below twice the half width of an interval of 95 %, at every length and seed.

    The number of steps is fixed, so that the test takes as long everywhere.
    """
    rbm = random_rbm(hm.ReplicatedSoftmax(30), hm.Bernoulli(8), seed)
    lengths = np.array([0.0, 1.0, 2.0, 3.0, 7.0, 20.0, 41.0, 60.0])
    exact = log_z_by_length(rbm, lengths, hm.Enumerated())
    annealed = log_z_by_length(rbm, lengths, hm.Annealed(steps=1_000), key=jax.random.key(seed))
    assert exact[0].value == pytest.approx(annealed[0].value, abs=1e-5)
    for estimate, truth in zip(annealed[1:], exact[1:], strict=True):
        assert estimate.method.startswith("annealed along the length")
        assert abs(estimate.value - truth.value) < estimate.high - estimate.low < 1.0


def test_an_unfinished_run_along_the_length_says_so():
    """Strong couplings, few steps: the intervals are wide, and hold."""
    rbm = random_rbm(hm.ReplicatedSoftmax(20), hm.Bernoulli(12), 0, coupling=3.0)
    lengths = np.array([5.0, 50.0])
    exact = log_z_by_length(rbm, lengths, hm.Enumerated())
    method = hm.Annealed(chains=64, steps=128)
    annealed = log_z_by_length(rbm, lengths, method, key=jax.random.key(0))
    assert not annealed[-1].converged
    assert "Not converged" in annealed[-1].message
    for estimate, truth in zip(annealed, exact, strict=True):
        assert estimate.low <= truth.value <= estimate.high


def test_models_change_continuously_between_whole_lengths():
    """Γ is continuous in D; mean, variance and draws are those of m words and a part of one."""
    layer = hm.ReplicatedSoftmax(3, bias=[0.3, -0.5, 0.1])
    inputs = jnp.array([0.4, 1.0, -2.0])

    def at(length):
        return layer.with_lengths(jnp.array(length))

    for below, above in ((2.0 - 1e-4, 2.0), (2.0, 2.0 + 1e-4), (0.0, 1e-4)):
        np.testing.assert_allclose(at(below).cgf(inputs), at(above).cgf(inputs), atol=2e-3)
    part = at(2.6)
    np.testing.assert_allclose(part.mean(inputs), jax.grad(part.cgf)(inputs), atol=1e-5)
    hessian = jnp.diag(jax.hessian(part.cgf)(inputs))
    np.testing.assert_allclose(part.variance(inputs), hessian, atol=1e-5)
    x = np.asarray(part.sample(jnp.broadcast_to(inputs, (20_000, 3)), key=jax.random.key(0)))
    np.testing.assert_allclose(x.sum(1), 2.6, rtol=1e-6)
    z = (x.mean(0) - part.mean(inputs)) / np.sqrt(part.variance(inputs) / len(x))
    assert abs(np.asarray(z)).max() < stats.norm.isf(LEVEL / 6)


def test_chains_keep_the_lengths_of_their_rows():
    rbm = random_rbm(hm.ReplicatedSoftmax(4), hm.Bernoulli(3), 1)
    v = jnp.array([[1.0, 0, 0, 0], [5.0, 0, 2, 0], [0, 0, 0, 0]])
    for sampler in (hm.Gibbs(1), hm.Gibbs(3)):
        state = sampler.init(rbm, v, key=jax.random.key(0))
        moved, _ = sampler.step(rbm, state, key=jax.random.key(1))
        np.testing.assert_array_equal(moved.v.sum(1), v.sum(1))
    swept = rbm.gibbs_sweep(v, key=jax.random.key(2))
    np.testing.assert_array_equal(swept.sum(1), v.sum(1))
    drawn = hm.sample(rbm.with_given_of(v), 3, key=jax.random.key(3), steps=5)
    np.testing.assert_array_equal(drawn.sum(1), v.sum(1))


@pytest.mark.parametrize("gradient", ["pcd", hm.Contrastive(hm.Gibbs(5))], ids=["PCD", "CD-5"])
def test_documents_of_several_lengths_are_learned(gradient):
    """After training the likelihood is near that of the two topics that were drawn from."""
    rng = np.random.default_rng(0)
    topics = np.array([[0.4, 0.4, 0.1, 0.1], [0.05, 0.05, 0.5, 0.4]])
    lengths = rng.integers(5, 21, size=2_000)
    labels = rng.integers(0, 2, size=2_000)
    rows = np.array([rng.multinomial(n, topics[k]) for n, k in zip(lengths, labels, strict=True)])
    train = rows[:1_500]
    test = rows[1_500:]
    visible = hm.ReplicatedSoftmax(4)
    rbm = hm.initialize(visible, hm.Bernoulli(2), train, key=jax.random.key(0))
    assert rbm.visible.length == round(train.sum(1).mean())
    fit = hm.fit(rbm, train, key=jax.random.key(1), gradient=gradient, epochs=100)
    log_p_of_topics = [stats.multinomial(test.sum(1), topic).logpmf(test) for topic in topics]
    truth = (np.logaddexp(*log_p_of_topics) - np.log(2)).mean()
    independent = hm.log_likelihood(rbm.uncoupled, test).value
    learned = hm.log_likelihood(fit.rbm, test)
    assert truth - independent > 1.0
    assert learned.value > truth - 0.1 * (truth - independent)


def test_chains_are_weighted_so_that_their_mean_length_is_that_of_the_batch():
    from harmonium.gradients.persistent import with_mean_length
    from harmonium.samplers import Cloud

    layer = hm.ReplicatedSoftmax(2)
    chains = Cloud.uniform(jnp.array([[1.0, 2.0], [4.0, 0.0], [3.0, 6.0], [0.0, 1.0]]))
    data = Cloud(jnp.array([[2.0, 1.0], [5.0, 4.0]]), jnp.array([0.7, 0.3]))
    weighted = with_mean_length(layer, chains, data)
    np.testing.assert_allclose(weighted.weights.sum(), 1.0, rtol=1e-5)
    mean = weighted.mean_of(layer.lengths(weighted.states))
    np.testing.assert_allclose(mean, data.mean_of(layer.lengths(data.states)), rtol=1e-4)
    same = Cloud.uniform(jnp.array([[1.0, 2.0], [3.0, 0.0]]))  # one length: nothing to weight by
    weights = with_mean_length(layer, same, Cloud.uniform(same.states)).weights
    np.testing.assert_allclose(weights, 0.5, rtol=1e-5)
    plain = hm.Bernoulli(2)
    assert with_mean_length(plain, chains, data) is chains


def test_words_beside_other_columns_are_refused():
    with pytest.raises(
        hm.InputError, match=r"take no part of a row as given; got ReplicatedSoftmax\(3\)"
    ):
        hm.Mixed(hm.Bernoulli(2), hm.ReplicatedSoftmax(3))


def test_what_cannot_be_done_with_lengths_is_refused():
    rbm = random_rbm(hm.ReplicatedSoftmax(3), hm.Bernoulli(2), 0)
    rows = np.array([[1.0, 0, 2], [0, 1, 0]])
    with pytest.raises(hm.InputError, match=r"length of each row.*choose CD or PCD"):
        hm.fit(rbm, rows, key=jax.random.key(0), gradient="auto", epochs=1)
    with pytest.raises(hm.InputError, match="each length of rows has its own log Z"):
        hm.log_likelihood(rbm, rows, log_z=hm.log_z(rbm))
    same = hm.log_likelihood(rbm, rows[:1], log_z=hm.log_z(rbm.with_given_of(jnp.array(rows[0]))))
    assert same.value == pytest.approx(hm.log_likelihood(rbm, rows[:1]).value, rel=1e-5)
    missing = np.array([[1.0, np.nan, 2], [0, 1, 0]])
    for call in (hm.fit, hm.log_likelihood):
        with pytest.raises(hm.InputError, match="length of a row as given"):
            call(rbm, missing, key=jax.random.key(0))
    for wrong in (-1.0, 0.5):
        with pytest.raises(hm.InputError, match="whole numbers of 0 or more"):
            hm.ReplicatedSoftmax(2).validate([[0.0, wrong]])
        with pytest.raises(hm.InputError, match="number of words"):
            hm.ReplicatedSoftmax(2, length=wrong)


def test_files_and_text():
    layer = hm.ReplicatedSoftmax(3, length=4)
    assert str(layer) == "ReplicatedSoftmax(3)"
    assert layer.log_arrangements([2, 1, 1]) == pytest.approx(np.log(12), rel=1e-5)
    assert layer.decode(jnp.array([1.0, 2.0, 1.0])).tolist() == [1, 2, 1]
