"""Laws that hold for every layer, whatever its units."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.layers import AbstractLayer
from harmonium.layers.capabilities import (
    AbstractBlocked,
    alternatives,
    has_classes,
    has_independent_units,
    has_inputs_at,
    inputs_at,
    is_rescalable,
    is_shiftable,
    projected,
    rescaled,
)
from registry import ALL, LAYERS, LEVEL, SEEDS, identify, randomised

CASES = [(layer, seed) for layer in LAYERS for seed in SEEDS]
over_layers = pytest.mark.parametrize(("layer", "seed"), CASES, ids=identify)
DISCRETE = [(layer, seed) for layer, seed in CASES if layer.n_states is not None]
over_discrete = pytest.mark.parametrize(("layer", "seed"), DISCRETE, ids=identify)


def drawn(layer, seed, scale=2.0):
    """Return the layer with random parameters, inputs, and a key."""
    key_layer, key_inputs, key = jax.random.split(jax.random.key(seed), 3)
    return randomised(layer, key_layer), scale * jax.random.normal(key_inputs, (layer.size,)), key


@eqx.filter_jit
def moments(layer, inputs):
    """Return the cumulant generating function and its first two derivatives."""
    names = ("cgf", "mean", "variance")
    return {name: getattr(layer, name)(inputs) for name in names}


def test_every_layer_has_an_example():
    import harmonium.layers as home

    named = {n for n, kind in vars(home).items() if isinstance(kind, type)}
    named = {n for n in named if not n.startswith("Abstract")}
    shown = {type(layer).__name__ for layer in LAYERS}
    # They wrap other layers, and their own tests hold them against enumeration.
    assert named - shown == {"Clamped", "Conditional", "Masked"}


@over_discrete
def test_cgf_is_the_log_sum_over_states(layer, seed):
    layer, inputs, _ = drawn(layer, seed)
    states = layer.states(jnp.arange(layer.n_states))
    expected = jax.nn.logsumexp(states @ inputs - layer.energy(states))
    np.testing.assert_allclose(moments(layer, inputs)["cgf"], expected, rtol=2e-6, atol=2e-6)


MATCHED = [(layer, seed) for layer, seed in CASES if has_inputs_at(layer)]


@pytest.mark.parametrize(("layer", "seed"), MATCHED, ids=identify)
def test_inputs_follow_from_means(layer, seed):
    layer, inputs, _ = drawn(layer, seed)
    mean = layer.mean(inputs)
    np.testing.assert_allclose(layer.mean(inputs_at(layer, mean)), mean, rtol=1e-4, atol=1e-5)


def is_of_real_numbers(layer):
    """Return whether each unit is one real number, independent of the others."""
    if not has_independent_units(layer) or layer.n_units != layer.size:
        return False
    halves = jnp.asarray(np.full((1, layer.size), 0.5, np.float32))
    return np.array_equal(layer.decode(halves), halves)  # whole numbers are rounded


@pytest.mark.parametrize(
    ("layer", "seed"), [case for case in CASES if is_of_real_numbers(case[0])], ids=identify
)
def test_cgf_is_the_log_integral(layer, seed):
    """The integral is taken by the trapezium rule over the support, or the part with any weight."""
    layer, inputs, _ = drawn(layer, seed)
    low, high = (np.clip(end, -40.0, 40.0).astype(np.float32) for end in layer.coding.support)
    grid = jnp.linspace(low, high, 20_001)
    ends = jnp.ones((len(grid), 1)).at[jnp.array([0, -1])].set(0.5)
    logs = jax.nn.logsumexp(inputs * grid - layer.unit_energies(grid), axis=0, b=ends)
    expected = logs + np.log((high - low) / 20_000)
    np.testing.assert_allclose(layer.unit_cgfs(inputs), expected, rtol=2e-5, atol=2e-5)


@eqx.filter_jit
def derivatives(layer, inputs):
    """Return derivatives of the cumulant generating function, by JAX and by the base classes."""
    of_blocks = AbstractBlocked if isinstance(layer, AbstractBlocked) else AbstractLayer
    return {
        "hessian": jnp.diag(jax.hessian(layer.cgf)(inputs)),
        "mean": AbstractLayer.mean(layer, inputs),
        "variance": of_blocks.variance(layer, inputs),
    }


@over_layers
def test_mean_and_variance_are_derivatives_of_the_cgf(layer, seed):
    layer, inputs, _ = drawn(layer, seed)
    computed = moments(layer, inputs)
    expected = derivatives(layer, inputs)
    np.testing.assert_allclose(computed["mean"], expected["mean"], atol=2e-6)
    np.testing.assert_allclose(computed["variance"], expected["hessian"], atol=5e-6)
    np.testing.assert_allclose(expected["variance"], expected["hessian"], atol=5e-6)


@over_layers
def test_draws_have_the_mean_and_the_variance(layer, seed):
    # The inputs are small, so that no state is rare: z is normal only if each is drawn many times.
    layer, inputs, key = drawn(layer, seed, scale=0.7)
    n = 40_000
    x = layer.sample(jnp.broadcast_to(inputs, (n, layer.size)), key=key)
    exact = moments(layer, inputs)
    mean = exact["mean"]
    statistics = {"mean": (x, mean), "variance": ((x - mean) ** 2, exact["variance"])}
    bound = stats.norm.isf(LEVEL / (2 * 2 * layer.size * len(CASES)))
    for name, (values, expected) in statistics.items():
        z = (values.mean(0) - expected) / (values.std(0) / np.sqrt(n) + 1e-6)
        assert abs(np.asarray(z)).max() < bound, (name, z)


@over_layers
def test_tails_hold_in_float32(layer, seed):
    """At inputs of large size, float32 agrees with float64 up to rounding."""
    layer, inputs, _ = drawn(layer, seed)
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), layer)
        for size in (1.0, 10.0, 30.0, 80.0):
            far = size * np.sign(np.asarray(inputs))
            computed = moments(layer, jnp.asarray(far, jnp.float32))
            expected = moments(wide, jnp.asarray(far, jnp.float64))
            for name, value in computed.items():
                assert np.isfinite(value).all()
                np.testing.assert_allclose(
                    value, expected[name], rtol=3e-5, atol=1e-30, err_msg=name
                )


@eqx.filter_jit
def everything(layer, batch, key):
    """Return everything that a layer computes from inputs."""
    x = layer.sample(batch, key=key)
    more = {"sample": x, "energy": layer.energy(x), "unit_cgfs": layer.unit_cgfs(batch)}
    return moments(layer, batch) | more


@over_layers
def test_batch_axes_come_first(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    cgf = moments(layer, inputs)["cgf"]
    for shape in ((), (3,), (2, 3)) if ALL else ((), (2, 3)):
        batch = jnp.broadcast_to(inputs, (*shape, layer.size))
        computed = everything(layer, batch, key)
        for name in ("sample", "mean", "variance"):
            assert computed[name].shape == batch.shape
        assert computed["cgf"].shape == computed["energy"].shape == shape
        assert computed["unit_cgfs"].shape == (*shape, layer.n_units)
        np.testing.assert_allclose(computed["cgf"], cgf, rtol=1e-6)


@over_layers
def test_a_shift_equals_a_constant_input(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    delta = jax.random.normal(key, inputs.shape)
    shifted = layer.shift(delta)
    # A sum of terms of size 1, which may nearly cancel.
    cgf = moments(shifted, inputs)["cgf"]
    expected = moments(layer, inputs + delta)["cgf"]
    np.testing.assert_allclose(cgf, expected, rtol=2e-6, atol=1e-6)
    x = layer.sample(inputs, key=key)
    np.testing.assert_allclose(shifted.energy(x), layer.energy(x) - delta @ x, rtol=1e-5, atol=1e-5)


@over_layers
def test_energy_is_affine_in_the_leaves(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    other = randomised(layer, key)
    x = layer.sample(inputs, key=key)
    between = jax.tree.map(lambda a, b: 0.3 * a + 0.7 * b, layer, other)
    expected = 0.3 * layer.energy(x) + 0.7 * other.energy(x)
    np.testing.assert_allclose(between.energy(x), expected, rtol=1e-5, atol=1e-5)


@over_discrete
def test_every_state_is_listed_once(layer, seed):
    states = np.asarray(layer.states(jnp.arange(layer.n_states)))
    assert len(np.unique(states, axis=0)) == layer.n_states


@over_layers
def test_states_that_claim_to_be_exact_in_bfloat16_are(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    x = layer.sample(jnp.broadcast_to(inputs, (50, layer.size)), key=key)
    is_exact = bool((x == x.astype(jnp.bfloat16)).all())
    assert is_exact or not layer.is_exact_in_bfloat16


@over_discrete
def test_alternatives_are_the_states_one_unit_away(layer, seed):
    states = layer.states(jnp.arange(layer.n_states))
    codes = layer.decode(states)
    for i in {0, layer.n_states // 2, layer.n_states - 1}:
        is_neighbour = (codes != codes[i]).sum(-1) == 1
        neighbours = np.unique(np.asarray(alternatives(layer, states[i])), axis=0)
        np.testing.assert_array_equal(
            neighbours, np.unique(np.asarray(states[is_neighbour]), axis=0)
        )
        assert alternatives(layer, states[i]).shape[0] == is_neighbour.sum()


@over_layers
def test_decoded_and_encoded_rows_are_the_same_states(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    x = layer.sample(jnp.broadcast_to(inputs, (50, layer.size)), key=key)
    rows = layer.decode(x)
    assert rows.shape == (50, layer.n_units)
    np.testing.assert_array_equal(layer.encode(layer.validate(rows)), x)
    for wrong in (rows[:, :-1] if layer.n_units > 1 else rows[0], rows[:0], rows * np.nan):
        with pytest.raises(hm.InputError):
            layer.validate(wrong)


# Classes are data, and have the moments of the rows that they were found in.
ONE_CLASS = [case for case in CASES if not has_classes(case[0])]


@pytest.mark.parametrize(("layer", "seed"), ONE_CLASS, ids=identify)
def test_fitted_moments_are_those_of_the_states(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    x = layer.sample(jnp.broadcast_to(inputs, (400, layer.size)), key=key)
    weights = jax.random.uniform(key, (400,))
    for w in (None, weights):
        fitted = layer.fit_moments(x, w)
        mean = x.mean(0) if w is None else w @ x / w.sum()
        # one more row, at the middle of the domain, shifts a mean of 400 rows by this much at most
        np.testing.assert_allclose(fitted.mean(fitted.zero_inputs), mean, atol=5e-3)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fitted))


@over_layers
def test_fold_sums_the_columns_that_spread_fills(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    units = jax.random.normal(key, (layer.n_units,))
    both = layer.fold(inputs * layer.spread(units))
    np.testing.assert_allclose(both, layer.fold(inputs) * units, rtol=1e-5, atol=1e-5)


@over_layers
def test_a_missing_unit_leaves_the_sums_of_the_others_as_they_are(layer, seed):
    layer, inputs, key = drawn(layer, seed)
    x = layer.sample(inputs, key=key)
    missing = np.arange(layer.n_units) == 0
    sums = layer.fold(jnp.where(layer.spread(jnp.asarray(missing)), jnp.nan, x))
    np.testing.assert_array_equal(sums, np.where(missing, np.nan, layer.fold(x)))


@over_layers
def test_projecting_changes_nothing_inside_the_domain(layer, seed):
    layer, _, _ = drawn(layer, seed)
    again = projected(layer)
    assert all(map(np.array_equal, jax.tree.leaves(layer), jax.tree.leaves(again)))


@over_layers
def test_a_rescaled_layer_is_that_of_the_rescaled_units(layer, seed):
    """U′(s·x + m) = U(x) up to a constant; units that cannot be rescaled or shifted say so."""
    layer, inputs, key = drawn(layer, seed)
    scale = np.where(is_rescalable(layer), 2.5, 1.0)
    offset = np.where(is_shiftable(layer), -1.3, 0.0)
    x = layer.sample(jnp.broadcast_to(inputs, (50, layer.size)), key=key)
    moved = layer.spread(jnp.asarray(scale)) * x + layer.spread(jnp.asarray(offset))
    gaps = rescaled(layer, scale, offset).energy(moved) - layer.energy(x)
    np.testing.assert_allclose(gaps, gaps[0], atol=2e-5)
    ones = np.ones(layer.n_units)
    zeros = np.zeros(layer.n_units)
    for able, what, asked in (
        (is_rescalable(layer), "rescaled", (2.5 * ones, zeros)),
        (is_shiftable(layer), "shifted", (ones, zeros - 1.3)),
    ):
        if not able.all():
            with pytest.raises(hm.InputError, match=f"cannot be {what}"):
                rescaled(layer, *asked)
