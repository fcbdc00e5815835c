"""Moments of rows: cumulants, principal axes and distances, against NumPy and SciPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import harmonium as hm
from harmonium.evaluation.moments import (
    cumulants,
    groups,
    principal_axes,
    squared_distances,
    states_of,
    variables_of,
)

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(30, 6)) @ RNG.normal(size=(6, 6))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_groups_are_of_different_columns(order):
    variables = variables_of([1, 3, 3, 1], 4)
    chosen = groups(variables, order, 1_000)
    owners = variables.column[chosen]
    assert len(np.unique(chosen, axis=0)) == len(chosen) == [8, 22, 24][order - 1]
    assert (np.diff(owners, axis=1) > 0).all()


def test_there_may_be_no_groups():
    assert groups(variables_of(None, 2), 3, 10).shape == (0, 3)
    assert groups(variables_of(4, 1), 2, 10).shape == (0, 2)


def test_states_of_each_unit():
    mixed = hm.Mixed(hm.Bernoulli(3), hm.Potts(2, states=3), hm.Gaussian(1))
    assert states_of(mixed) == [1, 1, 1, 3, 3, 1]


def test_many_groups_are_drawn():
    chosen = groups(variables_of(None, 500), 3, 700)
    assert chosen.shape == (700, 3)
    assert len(np.unique(chosen, axis=0)) == 700


def test_cumulants_are_central_moments():
    weights = RNG.random((2, 30))
    weights /= weights.sum(1, keepdims=True)
    centred = [VALUES - w @ VALUES for w in weights]
    pairs, triples = (groups(variables_of(None, 6), order, 100) for order in (2, 3))
    for which in (pairs, triples):
        expected = [w @ np.prod(c[:, which], axis=2) for w, c in zip(weights, centred, strict=True)]
        np.testing.assert_allclose(cumulants(VALUES, weights, which), expected, atol=1e-10)
    first = cumulants(VALUES, weights, np.array([[4], [1]]))
    np.testing.assert_allclose(first, (weights @ VALUES)[:, [4, 1]], atol=1e-12)


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_axes_are_those_of_the_singular_value_decomposition(shape):
    rows = RNG.normal(size=shape)
    axes, variances = principal_axes(rows, 3)
    _, singular, right = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    np.testing.assert_allclose(variances, singular[:3] ** 2 / len(rows))
    np.testing.assert_allclose(np.abs((right[:3] * axes.T).sum(1)), 1.0)
    assert (axes[np.abs(axes).argmax(0), np.arange(3)] > 0).all()


def test_axes_without_variance_are_left_out():
    assert principal_axes(np.ones((5, 3)), 2)[0].shape == (3, 0)
    line = np.arange(5.0)[:, None] * np.array([3.0, 4.0])
    axes, variances = principal_axes(line, 2)
    np.testing.assert_allclose(axes, [[0.6], [0.8]])
    np.testing.assert_allclose(variances, [50.0])


def test_codes_that_differ_are_one_apart():
    rows = np.column_stack([RNG.integers(0, 4, (20, 3)), RNG.normal(size=(20, 2))])
    variables = variables_of([4, 4, 4, 1, 1], 5)
    distances = squared_distances(variables.of(rows), variables.metric)
    differ = 3 * cdist(rows[:, :3], rows[:, :3], "hamming")
    np.testing.assert_allclose(distances, differ + cdist(rows[:, 3:], rows[:, 3:]) ** 2, atol=1e-12)
    codes = variables_of(4, 3)
    exact = squared_distances(codes.of(rows[:, :3]), codes.metric)
    np.testing.assert_array_equal(exact, np.rint(differ))
