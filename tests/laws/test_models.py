"""Laws that hold for an RBM of any two layers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import harmonium as hm
from harmonium.layers.capabilities import is_rescalable
from harmonium.likelihood.partition_function import enumerated
from registry import identify, pairs, random_rbm

PAIRS = pairs(0, 3)
over_pairs = pytest.mark.parametrize(("visible", "hidden", "seed"), PAIRS, ids=identify)
over_discrete = pytest.mark.parametrize(
    ("visible", "hidden", "seed"),
    [p for p in PAIRS if p[0].n_states is not None and p[1].n_states is not None],
    ids=identify,
)


@over_pairs
def test_turning_twice_gives_the_model(visible, hidden, seed):
    rbm = random_rbm(visible, hidden, seed)
    assert eqx.tree_equal(rbm.T.T, rbm)
    v = rbm.visible.sample(rbm.visible.zero_inputs, key=jax.random.key(seed))
    h = rbm.hidden.sample(rbm.hidden.zero_inputs, key=jax.random.key(seed))
    np.testing.assert_allclose(rbm.energy(v, h), rbm.T.energy(h, v), rtol=1e-5, atol=1e-5)


@eqx.filter_jit
def twice(rbm):
    """Return pairs of the model's answers and those of its joint distribution, and log Z."""
    v = rbm.visible.states(jnp.arange(rbm.visible.n_states))
    h = rbm.hidden.states(jnp.arange(rbm.hidden.n_states))
    joint = -rbm.energy(v[:, None, :], h[None, :, :])
    log_z = jax.nn.logsumexp(joint)
    pairs = {
        "free energy": (rbm.free_energy(v), -jax.nn.logsumexp(joint, axis=1)),
        "mean of h": (rbm.mean_h_from_v(v), jax.nn.softmax(joint, axis=1) @ h),
        "mean of v": (rbm.mean_v_from_h(h), jax.nn.softmax(joint, axis=0).T @ v),
        "log Z": (enumerated.log_z(rbm), log_z),
    }
    return pairs, log_z


@over_discrete
def test_free_energy_and_conditionals_follow_from_the_joint(visible, hidden, seed):
    rbm = random_rbm(visible, hidden, seed)
    pairs, log_z = twice(rbm)
    for name, (computed, expected) in pairs.items():
        np.testing.assert_allclose(computed, expected, rtol=1e-5, atol=1e-5, err_msg=name)
    for model in (rbm, rbm.T):
        rows, chunks = enumerated.chunk_plan(model, entries=model.visible.size * 3)
        assert rows * chunks >= model.visible.n_states
        sums = enumerated.partial_log_z(model, rows, 0, chunks)
        np.testing.assert_allclose(scipy.special.logsumexp(sums), log_z, rtol=1e-5)


@eqx.filter_jit
def along(rbm, other, v):
    """Return pairs of free energies, and of constants, that agree on paths and at their ends."""
    heating = hm.path.Heating(other.visible, other.hidden, rbm)
    line = hm.path.Line(other, rbm)
    history = hm.path.History.through([other, other, rbm])
    base = hm.RBM(other.visible, other.hidden, jnp.zeros_like(rbm.weights))
    models = {
        "heating at 1": (heating.at(1.0), rbm),
        "line at 1": (line.at(1.0), rbm),
        "history at 1": (history.at(1.0), rbm),
        "line at 0": (line.at(0.0), other),
        "history at 0": (history.at(0.0), other),
        "history half-way from its middle": (history.at(0.75), line.at(0.5)),
        "heating on its way": (heating.at(0.4), hm.path.Line(base, rbm).at(0.4)),
    }
    pairs = {name: [model.free_energy(v) for model in pair] for name, pair in models.items()}
    return pairs | {"log Z of the base": [heating.log_z_of_base, enumerated.log_z(base)]}


@over_pairs
def test_paths_end_where_they_should(visible, hidden, seed):
    rbm = random_rbm(visible, hidden, seed)
    other = random_rbm(visible, hidden, seed + 100)
    v = rbm.visible.sample(jnp.zeros((5, visible.size)), key=jax.random.key(seed))
    for name, (computed, expected) in along(rbm, other, v).items():
        np.testing.assert_allclose(computed, expected, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    "visible",
    [
        hm.Potts(3, 4),
        hm.Categorical(2, [2, 5]),
        hm.Mixed(hm.Gaussian(1), hm.Potts(2, 3)),
        hm.Ising(4),
    ],
    ids=str,
)
def test_codes_are_taken_where_states_are(visible):
    rbm = random_rbm(visible, hm.Potts(2, 3), 0)
    keys = jax.random.split(jax.random.key(0), 3)
    v = visible.sample_without_inputs((5,), key=keys[0])
    h = rbm.hidden.sample_without_inputs((5,), key=keys[1])
    rows = jnp.asarray(visible.decode(v))
    codes = jnp.asarray(rbm.hidden.decode(h))
    for name, x, coded in (
        ("free_energy", v, rows),
        ("mean_h_from_v", v, rows),
        ("mean_v_from_h", h, codes),
        ("inputs_to_h", v, rows),
    ):
        method = getattr(rbm, name)
        np.testing.assert_array_equal(method(coded), method(x), err_msg=name)
    np.testing.assert_array_equal(rbm.energy(rows, codes), rbm.energy(v, h))
    for name, x, coded in (("sample_h_from_v", v, rows), ("gibbs_sweep", v, rows)):
        method = getattr(rbm, name)
        np.testing.assert_array_equal(method(coded, key=keys[2]), method(x, key=keys[2]))


def test_shapes_are_checked():
    rbm = random_rbm(hm.Bernoulli(4), hm.Ising(2), 0)
    with pytest.raises(hm.InputError, match=r"a last axis of size 4; got shape \(10, 5\)"):
        rbm.free_energy(jnp.zeros((10, 5)))
    with pytest.raises(hm.InputError, match=r"v: .* size 12, or of size 3 for rows of codes"):
        random_rbm(hm.Potts(3, 4), hm.Ising(2), 0).free_energy(jnp.zeros((10, 5)))
    with pytest.raises(hm.InputError, match="h: expected a last axis of size 2"):
        rbm.sample_v_from_h(jnp.zeros(3), key=jax.random.key(0))
    with pytest.raises(hm.InputError, match=r"\(visible, hidden\) = \(4, 2\); got \(2, 4\)"):
        hm.RBM(hm.Bernoulli(4), hm.Ising(2), jnp.zeros((2, 4)))
    with pytest.raises(hm.InputError, match="finite"):
        hm.RBM.from_arrays([[np.nan]], [0.0], [0.0])
    with pytest.raises(hm.InputError, match=r"expected shape \(1,\); got \(2,\)"):
        hm.RBM.from_arrays([[0.0]], [0.0, 1.0], [0.0])


def test_a_precision_that_rounding_made_indefinite_confines_nothing():
    """A column that is the sum of two others leaves a precision that is nearly singular."""
    layer = hm.MultivariateGaussian(2)
    precision = jnp.array([[1e6, 1e6], [1e6, 1e6 - 1.0]], layer.dtype)
    layer = eqx.tree_at(lambda units: units.precision, layer, precision)
    rbm = hm.RBM(layer, hm.Bernoulli(1), np.zeros((2, 1)))
    assert not hm.likelihood.finite_z(rbm)
    confined = hm.RBM(layer.project(), rbm.hidden, rbm.weights)
    assert hm.likelihood.finite_z(confined)


def test_infinite_z_is_known():
    weights = jnp.array([[0.9]])
    assert hm.likelihood.finite_z(hm.RBM(hm.Gaussian(1), hm.Gaussian(1), weights))
    assert not hm.likelihood.finite_z(hm.RBM(hm.Gaussian(1), hm.Gaussian(1), 1.2 * weights))
    with pytest.raises(hm.NotFiniteError, match="is infinite: its couplings are too strong"):
        hm.log_z(hm.RBM(hm.Gaussian(1), hm.Gaussian(1), 1.2 * weights), key=jax.random.key(0))


def test_energies_of_many_pairs_are_right():
    """Rows of v with two sets of h: compiled for a CPU, JAX 0.10.2 gets this sum wrong."""
    rbm = random_rbm(hm.Bernoulli(3), hm.Bernoulli(4), 0)
    v = jax.random.bernoulli(jax.random.key(0), shape=(40_000, 3)).astype(float)
    h = jax.random.bernoulli(jax.random.key(1), shape=(2, 40_000, 4)).astype(float)
    energies = jax.jit(lambda v, h: rbm.energy(v, h))(v, h)
    coupling = ((np.asarray(v) @ np.asarray(rbm.weights)) * np.asarray(h)).sum(-1)
    expected = -np.asarray(v) @ rbm.visible.bias - np.asarray(h) @ rbm.hidden.bias - coupling
    np.testing.assert_allclose(energies, expected, atol=1e-4)


@over_pairs
def test_a_gauge_leaves_p_of_v_as_it_is_or_is_refused(visible, hidden, seed):
    rbm = random_rbm(visible, hidden, seed)
    v = rbm.visible.sample_without_inputs((60,), key=jax.random.key(seed))
    rows = rbm.visible.decode(v)
    one_hot = [layer for layer in (rbm.visible, rbm.hidden) if has_sites(layer)]
    able = bool(is_rescalable(rbm.hidden).all())
    changes = {
        hm.analysis.zero_sum: (bool(one_hot), (rbm,)),
        hm.analysis.unit_weight_norms: (able, (rbm,)),
        hm.analysis.unit_hidden_variance: (able, (rbm, rows)),
    }
    for change, (is_possible, arguments) in changes.items():
        if not is_possible:
            with pytest.raises(hm.InputError):
                change(*arguments)
            continue
        fixed = change(*arguments)
        gaps = np.asarray(fixed.free_energy(v) - rbm.free_energy(v), np.float64)
        np.testing.assert_allclose(gaps, gaps[0], rtol=2e-5, atol=5e-5)
        again = change(fixed, *arguments[1:])
        assert not np.allclose(fixed.dense_weights, rbm.dense_weights, atol=1e-3)
        np.testing.assert_allclose(again.dense_weights, fixed.dense_weights, rtol=1e-4, atol=1e-5)


def has_sites(layer):
    """Return whether any unit of a layer, or of a part of it, is one-hot."""
    return any(
        isinstance(part, hm.Potts | hm.Categorical) for part in getattr(layer, "parts", (layer,))
    )
