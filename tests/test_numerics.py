"""The numerical functions that replace or wrap JAX's own."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from harmonium._base.numerics import (
    _passed,
    _passed_one_by_one,
    from_numpy,
    log_half_line,
    mean_half_line,
    normals,
    positive_normals,
    variance_half_line,
)
from harmonium._base.threefry import quick


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.linspace(0.0, 1.0, 391).reshape(17, 23), np.float32),
        (np.array([1e300, -1e300, np.nan]), np.float32),
        (np.arange(407), np.int32),
        (np.arange(409) % 2 == 0, bool),
        (np.arange(419).astype(np.uint8)[::-1], np.uint8),
    ],
    ids=lambda x: None if isinstance(x, type) else str(x.dtype),
)
def test_arrays_become_jaxs_as_they_are_and_nothing_is_compiled(array, dtype, caplog):
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        converted = from_numpy(array)
    assert not caplog.records
    assert isinstance(converted, jax.Array)
    assert converted.dtype == dtype
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(converted, array.astype(dtype))
    with jax.enable_x64(True):
        assert from_numpy(array).dtype == array.dtype


@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (2, 3, 1)], ids=str)
@pytest.mark.parametrize("kind", [lambda key: key, quick], ids=["JAX's key", "quick key"])
def test_normals_are_those_of_jax(shape, kind):
    key = jax.random.key(3)
    drawn = normals(shape, np.float32, key=kind(key))
    np.testing.assert_allclose(drawn, jax.random.normal(key, shape), rtol=1e-6)


@pytest.mark.parametrize("states", [2, 5, 21])
def test_draws_invert_the_cumulative_distribution_on_every_device(states):
    """On CPUs and other devices, a state of probability 0 is never drawn, whatever the rounding."""
    rng = np.random.default_rng(states)
    odds = rng.exponential(size=(states, 200, 50)).astype(np.float32)
    odds[rng.random(odds.shape) < 0.4] = 0
    odds[0, odds.sum(0) == 0] = 1
    uniforms = rng.random(odds.shape[1:], dtype=np.float32)
    uniforms[0] = 0
    cumulative = odds.astype(float).cumsum(0)
    expected = (cumulative <= uniforms * cumulative[-1]).sum(0)
    for passed in (_passed, _passed_one_by_one):
        chosen = np.asarray(jax.jit(passed)(odds, uniforms))
        assert (np.take_along_axis(odds, chosen[None], axis=0) > 0).all()
        # Rounded sums change a draw with a probability below states² / 2^24.
        assert (chosen != expected).sum() <= 10


FIELDS = np.concatenate([-np.logspace(-2, 3, 200)[::-1], np.logspace(-2, 2, 100)])


def mills(t: float) -> tuple:
    """Return log ratio, mean and variance on the half line, from a scaled function of SciPy."""
    ratio = np.sqrt(np.pi / 2) * special.erfcx(-t / np.sqrt(2))
    mean = t + 1 / ratio
    return np.log(ratio), mean, 1 - mean * (mean - t)


def test_the_half_line_is_right_on_both_sides():
    """Compare with SciPy where float64 allows it, and with the leading terms in 1/s² beyond."""
    near = jnp.asarray(FIELDS[(FIELDS > -30) & (FIELDS < 30)], jnp.float32)
    expected = np.array([mills(float(t)) for t in near]).T
    functions = (log_half_line, mean_half_line, variance_half_line)
    for function, values, error in zip(functions, expected, (1e-6, 3e-6, 1e-4), strict=True):
        np.testing.assert_allclose(function(near), values, rtol=error, atol=3e-6 * (error == 1e-6))
    far = -FIELDS[FIELDS < -100]
    for function, values in zip(
        functions, (-np.log(far) - far**-2, 1 / far - 2 / far**3, far**-2 - 6 / far**4), strict=True
    ):
        np.testing.assert_allclose(function(jnp.asarray(-far, jnp.float32)), values, rtol=1e-6)


def test_the_half_line_has_its_derivatives():
    with jax.enable_x64(True):
        t = jnp.asarray(FIELDS[::10])
        for function in (log_half_line, mean_half_line, variance_half_line):
            slopes = jax.vmap(jax.grad(function))(t)
            step = 1e-5 * np.maximum(1.0, abs(t))
            differences = (function(t + step) - function(t - step)) / (2 * step)
            np.testing.assert_allclose(slopes, differences, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("t", [-1000.0, -20.0, -2.0, 0.0, 0.5, 5.0, 20.0])
def test_positive_normals_have_their_distribution(t):
    drawn = positive_normals(jnp.full(50_000, t, jnp.float32), key=jax.random.key(1))
    x = np.asarray(drawn, float)
    assert (x >= 0).all()
    tail = special.log_ndtr(t - x) - special.log_ndtr(t)
    if t < -50:  # Q(s + x)/Q(s) without a difference of two large numbers
        s = -t
        tail = -(s * x + x**2 / 2) - np.log1p(x / s)
    assert stats.kstest(np.exp(tail), "uniform").pvalue > 1e-4
