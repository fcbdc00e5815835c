"""The best tree of dependences: exact where the rows come from a tree."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

import harmonium as hm
from harmonium._base.trees import maximum_spanning_tree

RNG = np.random.default_rng(0)


def chain(rows):
    """Draw rows of three states, each of which is as the one before it in most rows."""
    columns = [RNG.integers(0, 3, rows)]
    for _ in range(4):
        columns.append(np.where(RNG.random(rows) < 0.8, columns[-1], RNG.integers(0, 3, rows)))
    return np.stack(columns, axis=1)


def test_rows_of_a_tree_have_the_entropy_of_the_tree():
    same = 0.8 + 0.2 / 3
    other = 0.2 / 3
    step = same * np.log(same) + 2 * other * np.log(other)
    scored = [hm.analysis.tree_log_likelihood(chain(20_000), chain(2_000)) for _ in range(5)]
    error = np.std(scored, ddof=1) / np.sqrt(5)
    assert abs(np.mean(scored) - (4 * step - np.log(3))) < 4 * error


def test_it_is_at_least_as_good_as_independent_columns():
    rows = hm.bars_and_stripes(3)
    p = rows.mean(0)
    alone = (rows * np.log(p) + (1 - rows) * np.log(1 - p)).sum(1).mean()
    assert hm.analysis.tree_log_likelihood(rows, rows) > alone


def test_weights_are_as_many_rows():
    rows = chain(50)
    weights = RNG.integers(1, 4, 50)
    repeated = np.repeat(rows, weights, axis=0)
    expected = hm.analysis.tree_log_likelihood(repeated, rows)
    assert hm.analysis.tree_log_likelihood(rows, rows, weights) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("train", "rows", "words"),
    [
        (np.zeros((3, 2)), np.zeros((3, 3)), "train: expected 3 columns"),
        (np.full((3, 2), np.nan), np.zeros((3, 2)), "train: expected finite numbers"),
        (RNG.normal(size=(4_000, 2)), np.zeros((3, 2)), "expected discrete values"),
    ],
)
def test_other_rows_are_refused(train, rows, words):
    with pytest.raises(hm.InputError, match=words):
        hm.analysis.tree_log_likelihood(train, rows)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_the_tree_is_that_of_scipy(n):
    information = np.random.default_rng(n).random((n, n))
    information += information.T
    order, parents = maximum_spanning_tree(information)
    assert sorted(order) == list(range(n))
    assert all(parents[unit] in order[:place] for place, unit in enumerate(order) if place)
    tree = minimum_spanning_tree(information.max() + 1.0 - information)
    edges = {frozenset(map(int, edge)) for edge in zip(*tree.nonzero(), strict=True)}
    assert {frozenset((int(unit), int(parents[unit]))) for unit in order[1:]} == edges
