"""Deep Boltzmann machines, against enumeration of all their layers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.gradients import Marginal
from harmonium.likelihood.missing.both_ways import energies_of_rows
from harmonium.likelihood.missing.marginal import Limits
from harmonium.likelihood.partition_function import enumerated as exact_sums
from registry import LEVEL, randomised

KEY = jax.random.key(5)
STACKS = [
    [hm.Bernoulli(6), hm.Bernoulli(5), hm.Bernoulli(4)],
    [hm.Potts(2, states=3), hm.Ising(3), hm.Potts(1, states=3), hm.Bernoulli(2)],
    [hm.Mixed(hm.Bernoulli(2), hm.Ising(1)), *(hm.Bernoulli(2) for _ in range(4))],
]
over_stacks = pytest.mark.parametrize("layers", STACKS, ids=len)


def random_deep(layers, seed=0, scale=0.8) -> hm.RBM:
    """Return a deep machine with random parameters."""
    key_layers, key_weights = jax.random.split(jax.random.key(seed))
    keys = jax.random.split(key_layers, len(layers))
    layers = [randomised(layer, key) for layer, key in zip(layers, keys, strict=True)]
    return hm.deep(layers, key=key_weights, scale=scale)


def between(rbm: hm.RBM) -> list:
    """Return the weights between each layer and the one above it."""
    sides = [np.cumsum([0, *(part.size for part in rbm.parts[k::2])]) for k in (0, 1)]
    entries = rbm.dense_weights
    weights = []
    for k in range(len(rbm.parts) - 1):
        of_visible = (k + 1) // 2
        of_hidden = k // 2
        rows = slice(*sides[0][of_visible : of_visible + 2])
        block = entries[rows, slice(*sides[1][of_hidden : of_hidden + 2])]
        weights.append(block.T if k % 2 else block)
    return weights


def all_states(layers) -> list[jax.Array]:
    """Return the joint states of all layers, one array for each layer."""
    counts = [layer.n_states for layer in layers]
    indices = np.unravel_index(np.arange(np.prod(counts)), counts)
    pairs = zip(layers, indices, strict=True)
    return [layer.states(jnp.asarray(i, jnp.uint32)) for layer, i in pairs]


def log_p_of_rows(rbm: hm.RBM) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows, and log p of each, from the definition of a deep Boltzmann machine."""
    layers = rbm.parts
    states = all_states(layers)
    energy = sum(layer.energy(x) for layer, x in zip(layers, states, strict=True))
    for below, weights, above in zip(states, between(rbm), states[1:], strict=False):
        energy -= jnp.einsum("ni,ij,nj->n", below, weights, above)
    rows, index = np.unique(layers[0].decode(states[0]), axis=0, return_inverse=True)
    log_weights = -np.asarray(energy, np.float64)
    log_z = np.logaddexp.reduce(log_weights)
    sums = [np.logaddexp.reduce(log_weights[index.ravel() == i]) for i in range(len(rows))]
    return rows, np.array(sums) - log_z


@over_stacks
def test_the_parts_are_the_layers_in_order(layers):
    rbm = random_deep(layers)
    assert [str(part) for part in rbm.parts] == [str(layer) for layer in layers]
    assert [str(part) for part in rbm.T.parts[:2]] == [str(layer) for layer in layers[1::-1]]
    assert rbm.visible.n_observed == layers[0].n_units
    states = rbm.visible.sample_without_inputs((3,), key=KEY)
    assert rbm.visible.decode(states).shape == (3, layers[0].n_units)


@over_stacks
def test_the_likelihood_is_the_enumerated_one(layers):
    rbm = random_deep(layers)
    rows, log_p = log_p_of_rows(rbm)
    scores = -hm.free_energies(rbm, rows) - hm.log_z(rbm).value
    np.testing.assert_allclose(scores, log_p, atol=1e-5)
    score = hm.log_likelihood(rbm, rows)
    assert score.low == score.high
    np.testing.assert_allclose(score.value, log_p.mean(), atol=1e-5)
    np.testing.assert_allclose(hm.exact_kl(rbm, rows, np.exp(log_p)), 0.0, atol=1e-5)


@over_stacks
def test_the_gradient_is_that_of_the_enumerated_likelihood(layers):
    rbm = random_deep(layers)
    rows = log_p_of_rows(rbm)[0]
    states = all_states(rbm.parts)
    observed = [(rbm.parts[0].decode(states[0]) == row).all(1) for row in rows]
    weights = np.linspace(1.0, 2.0, len(rows))
    weights = jnp.asarray(weights / weights.sum(), jnp.float32)

    def loss(rbm):
        energy = sum(layer.energy(x) for layer, x in zip(rbm.parts, states, strict=True))
        for below, coupling, above in zip(states, between(rbm), states[1:], strict=False):
            energy -= jnp.einsum("ni,ij,nj->n", below, coupling, above)
        of_rows = [jax.nn.logsumexp(jnp.where(mask, -energy, -jnp.inf)) for mask in observed]
        return -weights @ jnp.stack(of_rows) + jax.nn.logsumexp(-energy)

    value, expected = eqx.filter_value_and_grad(loss)(rbm)
    batch = hm.samplers.Cloud(rbm.visible.encode_seen(jnp.asarray(rows)), weights)
    method = Marginal(hm.Exact())
    grads, _, info = method.estimate(rbm, batch, method.init(rbm, batch, key=KEY), key=KEY)
    np.testing.assert_allclose(info.gap, value, rtol=1e-5)
    for g, e in zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(g, e, atol=2e-6)


def test_drawn_and_kept_states_of_latent_layers_give_the_gradient():
    """Without sums: the completions of PCD-like chains, in their compact form; largest |z|."""
    repeats = 300
    rbm = random_deep(STACKS[0])
    rows = log_p_of_rows(rbm)[0][::7].astype(np.float32)
    n = len(rows)
    weights = jnp.full(n, 1 / n)
    batch = hm.samplers.Cloud(rbm.visible.encode_seen(jnp.asarray(rows)), weights, jnp.arange(n))
    exact = Marginal(hm.Exact())
    expected = exact.estimate(rbm, batch, exact.init(rbm, batch, key=KEY), key=KEY)[0]
    method = Marginal(hm.Exact(), missing=4, rows=n, most=Limits(0, 0))
    start = method.init(rbm, batch, key=KEY)
    assert start.completed.shape == (n, 4)
    assert start.completed.dtype == jnp.int16

    def visit(state, key):
        grads, state, _ = method.estimate(rbm, batch, state, key=key)
        return state, grads

    @eqx.filter_jit
    def visits(keys):
        return jax.lax.map(
            lambda key: jax.lax.scan(visit, start, jax.random.split(key, 40))[1], keys
        )

    many = visits(jax.random.split(KEY, repeats))
    leaves = [np.asarray(leaf)[:, -1] for leaf in jax.tree.leaves(many)]
    bound = stats.t.isf(LEVEL / (2 * sum(leaf[0].size for leaf in leaves)), repeats - 1)
    for several, e in zip(leaves, jax.tree.leaves(expected), strict=True):
        spread = several.std(0, ddof=1) / np.sqrt(repeats)
        assert float((abs(several.mean(0) - e) / (spread + 1e-5)).max()) < bound


@over_stacks
def test_draws_have_the_enumerated_probabilities(layers):
    """One χ² test over all rows, for draws by sums and for draws by sweeps."""
    rbm = random_deep(layers, scale=0.5)
    rows, log_p = log_p_of_rows(rbm)
    n = 4000
    for steps in (None, 60):
        drawn = hm.sample(rbm, n, key=KEY, steps=steps)
        counts = np.array([(drawn == row).all(1).sum() for row in rows])
        assert counts.sum() == n
        merged = np.argsort(log_p)[::-1]
        expected = n * np.exp(log_p[merged])
        few = np.cumsum(expected[::-1])[::-1] < 10  # the rarest rows together
        observed = np.append(counts[merged][~few], counts[merged][few].sum())
        expected = np.append(expected[~few], expected[few].sum())
        keep = expected > 0
        assert (
            stats.chisquare(observed[keep], expected[keep] * n / expected[keep].sum()).pvalue
            > LEVEL
        )


@over_stacks
def test_annealed_intervals_contain_the_enumerated_values(layers):
    """Of log Z and of F(v_seen), if neither may be summed."""
    rbm = random_deep(layers)
    rows, log_p = log_p_of_rows(rbm)
    log_z = float(exact_sums.log_z(rbm))
    answer = hm.log_z(rbm, method="annealed", key=KEY)
    assert answer.low <= log_z <= answer.high
    some = rows[:: max(1, len(rows) // 8)].astype(float)
    energies = energies_of_rows(rbm, some, key=KEY)
    expected = -(log_p[:: max(1, len(rows) // 8)] + log_z)
    assert energies.converged.all()
    below, above = energies.error_of_mean(np.full(len(some), 1 / len(some)))
    assert -below <= expected.mean() - energies.value.mean() <= above


def test_imputed_values_are_means_over_all_layers():
    rbm = random_deep(STACKS[0])
    rows, log_p = log_p_of_rows(rbm)
    row = np.array([[1, 0, np.nan, 1, np.nan, 0]])
    agree = ((rows == row) | np.isnan(row)).all(1)
    p = np.exp(log_p[agree])
    imputed = hm.impute(rbm, np.vstack([row, rows[:1]]), key=KEY)
    np.testing.assert_allclose(imputed.mean[0], p @ rows[agree] / p.sum(), atol=1e-5)
    np.testing.assert_array_equal(imputed.mean[1], rows[0])
    assert imputed.draws.shape == (10, 2, 6)
    drawn = hm.sample(rbm, 5, key=KEY, given=row)
    assert drawn.shape == (5, 6)
    assert (drawn[:, [0, 1, 3, 5]] == row[0, [0, 1, 3, 5]]).all()


@over_stacks
def test_a_deeper_machine_starts_with_the_same_likelihood(layers):
    """All layers but the last are those of the shallower machine, whatever its weights are."""
    shallow = random_deep(layers[:-1])
    log_p = log_p_of_rows(shallow)[1]
    as_array = hm.RBM(shallow.visible, shallow.hidden, shallow.dense_weights)
    pattern = shallow.dense_weights != 0
    masked = hm.weights.MaskedWeights(shallow.dense_weights, pattern)
    for rbm in (shallow, as_array, hm.RBM(shallow.visible, shallow.hidden, masked)):
        deeper = hm.deepen(rbm, layers[-1], key=KEY)
        assert [str(part) for part in deeper.parts] == [str(layer) for layer in layers]
        np.testing.assert_allclose(log_p_of_rows(deeper)[1], log_p, atol=1e-3)
        for below, after in zip(between(shallow), between(deeper)[:-1], strict=True):
            np.testing.assert_array_equal(after, below)
        count = len(jax.tree.leaves(rbm.weights))
        assert len(jax.tree.leaves(deeper.weights)) == count + 1  # none was cut, or made dense
    far = log_p_of_rows(hm.deepen(shallow, layers[-1], key=KEY, scale=1.0))[1]
    assert abs(far - log_p).max() > 1e-3


@over_stacks
def test_features_are_a_fixed_point_of_the_mean_field(layers):
    """Each layer has the means that the features of its neighbours give it."""
    rbm = random_deep(layers, scale=0.3)
    rows = log_p_of_rows(rbm)[0]
    count = len(rbm.parts)
    means = [rbm.parts[0].encode(rows)] + [hm.features(rbm, rows, k) for k in range(1, count)]
    np.testing.assert_array_equal(hm.features(rbm, rows), means[-1])
    for k, weights in enumerate(between(rbm)):
        inputs = means[k] @ weights
        if k + 2 < count:
            inputs += means[k + 2] @ between(rbm)[k + 1].T
        np.testing.assert_allclose(rbm.parts[k + 1].mean(inputs), means[k + 1], atol=1e-5)


def test_a_deeper_machine_has_a_finite_z():
    rbm = hm.RBM(hm.Bernoulli(3), hm.Gaussian(2), np.ones((3, 2)))
    with pytest.raises(hm.NotFiniteError, match="Poisson"):
        hm.deepen(rbm, hm.Poisson(2), key=KEY)


def test_features_of_a_shallow_model_are_exact():
    rbm = random_deep(STACKS[0][:2])
    rows = log_p_of_rows(rbm)[0]
    np.testing.assert_allclose(
        hm.features(rbm, rows), rbm.mean_h_from_v(jnp.asarray(rows)), rtol=1e-6
    )


def test_a_deep_machine_learns(tmp_path):
    """Bars and stripes of 3 × 3: far above independent pixels; the file keeps the layers."""
    rows = hm.bars_and_stripes(3)
    layers = [hm.Bernoulli(9), hm.Bernoulli(8), hm.Bernoulli(4)]
    rbm = hm.deep(layers, rows, key=KEY)
    fit = hm.fit(rbm, rows, key=KEY, epochs=8000, optimizer=hm.Recipe(rate=0.4))
    score = hm.log_likelihood(fit.rbm, rows)
    assert score.value > hm.log_likelihood(rbm, rows).value + 1.5
    hm.save(fit.rbm, tmp_path / "deep.safetensors")
    again = hm.load(tmp_path / "deep.safetensors")
    assert eqx.tree_equal(again, fit.rbm)
    assert [part.size for part in again.parts] == [9, 8, 4]


def test_rounding_to_bfloat16_is_that_of_each_block():
    rbm = random_deep(STACKS[0])
    rounded = hm.transforms.rounded(rbm)
    expected = hm.transforms.rounded(hm.RBM(rbm.visible, rbm.hidden, rbm.dense_weights))
    np.testing.assert_array_equal(rounded.dense_weights, expected.dense_weights)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rbm, rows: hm.deep([hm.Bernoulli(3)], key=KEY), "expected two or more layers"),
        (lambda rbm, rows: hm.deep([3, 4], key=KEY), "expected two or more layers"),
        (lambda rbm, rows: rbm.free_energy(jnp.asarray(rows)), "including .* of latent units"),
        (lambda rbm, rows: hm.pseudo_log_likelihoods(rbm, rows), "number of latent units: 4"),
        (lambda rbm, rows: hm.free_energies(rbm, rows[:, :5]), r"expected shape \(rows, 6\)"),
        (lambda rbm, rows: hm.deepen(rbm, 3, key=KEY), "expected a layer such as"),
        (lambda rbm, rows: hm.deepen(rbm, rbm.visible, key=KEY), "one layer at a time"),
        (lambda rbm, rows: hm.deepen(rbm, rbm.parts[0], key=KEY, scale="a"), "a positive number"),
        (lambda rbm, rows: hm.features(rbm, rows, 1.0), "depth: expected a whole number"),
        (lambda rbm, rows: hm.features(rbm, rows, 3), "at most 2; got 3"),
        (lambda rbm, rows: hm.Mixed(hm.Bernoulli(2), latent=1), "at least 0 latent parts"),
        (lambda rbm, rows: hm.Mixed(rbm.visible, hm.Bernoulli(2)), "parts without latent units"),
    ],
)
def test_errors_say_what_to_do(call, words):
    rbm = random_deep(STACKS[0])
    with pytest.raises(hm.InputError, match=words):
        call(rbm, np.zeros((2, 6)))
