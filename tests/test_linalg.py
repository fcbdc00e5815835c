"""Factorisations against NumPy's, and units that are not known given those that are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium._base.linalg import eigh, inverse, inverse_factor, orthogonal_basis


def definite(*shape: int, seed: int = 0) -> np.ndarray:
    """Return positive definite matrices: second moments of three times as many rows."""
    rows = np.random.default_rng(seed).normal(size=(*shape[:-1], 3 * shape[-1]))
    return (rows @ np.swapaxes(rows, -1, -2) / (3 * shape[-1])).astype(np.float32)


@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 2), (7, 7), (130, 130), (0, 3, 3), (5, 8, 8), (2, 3, 9, 9), (3, 70, 70)]
)
def test_the_inverse_factor_is_that_of_numpy(shape):
    matrices = definite(*shape)
    expected = np.linalg.inv(np.linalg.cholesky(matrices.astype(float)))
    np.testing.assert_allclose(inverse_factor(jnp.asarray(matrices)), expected, atol=2e-5)


@pytest.mark.parametrize("size", [3, 66])
def test_under_vmap_each_matrix_has_its_own_factor(size):
    matrices = jnp.asarray(definite(4, size, size))
    alone = jnp.stack([inverse_factor(matrix) for matrix in matrices])
    np.testing.assert_allclose(jax.vmap(inverse_factor)(matrices), alone, atol=1e-5)
    np.testing.assert_allclose(jax.jit(inverse_factor)(matrices), alone, atol=1e-5)
    values, vectors = jax.vmap(eigh)(matrices)
    rebuilt = jnp.einsum("kij,kj,klj->kil", vectors, values, vectors, precision="highest")
    np.testing.assert_allclose(rebuilt, matrices, atol=1e-5)
    identity = jax.vmap(lambda matrix: inverse(matrix) @ matrix)(matrices)
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(size), identity.shape), atol=1e-3)
    basis = orthogonal_basis(matrices)
    np.testing.assert_allclose(
        jnp.swapaxes(basis, -1, -2) @ basis, np.broadcast_to(np.eye(size), basis.shape), atol=1e-5
    )


@pytest.mark.parametrize("size", [1, 4])
def test_its_derivative_is_that_of_finite_differences(size):
    matrix = definite(size, size, seed=1)
    weights = np.random.default_rng(2).normal(size=(size, size)).astype(np.float32)
    gradient = jax.grad(lambda a: (inverse_factor(a) * weights).sum())(jnp.asarray(matrix))
    for seed in range(3):
        direction = definite(size, size, seed=seed + 5) - np.eye(size, dtype=np.float32)
        step = 1e-6 * direction.astype(float)
        factors = [
            np.linalg.inv(np.linalg.cholesky(matrix.astype(float) + sign * step))
            for sign in (1.0, -1.0)
        ]
        expected = ((factors[0] - factors[1]) * weights).sum() / 2e-6
        np.testing.assert_allclose((gradient * direction).sum(), expected, rtol=2e-3)


def test_a_matrix_that_is_not_definite_has_no_factor_and_spoils_no_other():
    matrices = jnp.asarray([[[1.0, 2.0], [2.0, 1.0]], [[4.0, 0.0], [0.0, 1.0]]])
    factor = np.asarray(inverse_factor(matrices))
    assert np.isnan(factor[0]).all()
    np.testing.assert_allclose(factor[1], [[0.5, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("size", [1, 3, 12, 40])
@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.9, 1.0])
def test_the_unknown_units_of_each_row_are_conditional(size, fraction):
    """Rows that lack few units and rows that lack all are factorised in blocks of several sizes."""
    rng = np.random.default_rng(int(100 * fraction) + size)
    precision = definite(size, size, seed=3).astype(float)
    layer = hm.MultivariateGaussian(size, rng.normal(size=size), precision)
    known = jnp.asarray(rng.random((6, size)) >= fraction)
    inputs, values = jnp.asarray(rng.normal(size=(2, 6, size)), jnp.float32)
    mean = np.asarray(layer.mean_given(inputs, known, values))
    variance = np.asarray(layer.variance_given(inputs, known, values))
    cgf = np.asarray(layer.unit_cgfs_given(inputs, known, values)).sum(-1)
    for row in range(6):
        held = np.flatnonzero(known[row])
        free = np.flatnonzero(~known[row])
        of_held = np.asarray(values, float)[row, held]
        field = np.asarray(inputs, float)[row] + np.asarray(layer.bias, float)
        covariance = np.linalg.inv(precision[np.ix_(free, free)])
        rest = field[free] - precision[np.ix_(free, held)] @ of_held
        np.testing.assert_allclose(mean[row, free], covariance @ rest, atol=3e-4)
        np.testing.assert_array_equal(mean[row, held], of_held)
        np.testing.assert_allclose(variance[row, free], np.diag(covariance), rtol=1e-3)
        assert not variance[row, held].any()
        expected = field[held] @ of_held
        expected -= 0.5 * of_held @ precision[np.ix_(held, held)] @ of_held
        expected += 0.5 * rest @ covariance @ rest
        expected += 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
        np.testing.assert_allclose(cgf[row], expected, rtol=1e-4, atol=2e-3)
