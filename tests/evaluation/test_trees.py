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
        (np.full((3, 2), np.inf), np.zeros((3, 2)), "train: expected finite numbers"),
        (RNG.normal(size=(4_000, 2)), np.zeros((3, 2)), "expected at most 6,000 states"),
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


# ------------------------------------------------------------------ words and numbers


def mixed(n, seed=0, missing=0.2):
    """Return rows of two words and two numbers in a chain, some of whose cells are missing."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n))
    x = a + rng.normal(size=n) * (1 + a)
    y = 2 * x + rng.normal(size=n)
    rows = np.stack([a, b, x, y], axis=1).astype(float)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


STATES = [3, 3, None, None]


def test_a_tree_of_words_and_numbers_is_that_of_the_rows():
    forest = hm.analysis.dependence_forest(mixed(400), STATES)
    edges = {frozenset((i, int(p))) for i, p in enumerate(forest.parents) if p >= 0}
    assert edges == {frozenset((0, 1)), frozenset((0, 2)), frozenset((2, 3))}


@pytest.mark.parametrize("summed", range(4))
def test_missing_cells_are_summed_out(summed):
    """The density of what is seen is the sum, or the integral, over what is not."""
    forest = hm.analysis.dependence_forest(mixed(400), STATES)
    row = np.array([2.0, np.nan, np.nan, 1.0])
    row[summed] = np.nan
    grid = np.arange(3.0)
    step = 1.0
    if STATES[summed] is None:
        grid = np.linspace(-60, 60, 4_001)
        step = grid[1] - grid[0]
    rows = np.repeat(row[None], len(grid), axis=0)
    rows[:, summed] = grid
    total = np.exp(forest.log_p(rows)).sum() * step
    assert np.log(total) == pytest.approx(forest.log_p(row[None])[0], abs=1e-6)


def test_no_number_is_between_two_words():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    words = [(x + 0.3 * rng.normal(size=500) > 0).astype(float) for _ in range(4)]
    rows = np.stack([x, *words], axis=1)
    forest = hm.analysis.dependence_forest(rows, [None, 2, 2, 2, 2])
    assert all(forest.parents[1:] != 0)
    assert forest.parents[0] > 0


@pytest.mark.parametrize("seed", range(10))
def test_columns_that_are_independent_stay_so(seed):
    """The best of 300 pairs is worth something by chance; trees of all of them lose 0.1 nats."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (2, 300, 25))
    lost = -25 * np.log(3) - hm.analysis.tree_log_likelihood(*rows)
    assert lost < 25 * 2 / 600 + 0.06  # what is lost by the frequencies of each column


def test_where_rows_are_few_links_are_cut():
    rng = np.random.default_rng(0)
    rows = (rng.random((80, 1)) < 0.5) ^ (rng.random((80, 40)) < 0.1)
    noise = rng.integers(0, 2, (80, 40))
    forest = hm.analysis.dependence_forest(np.hstack([rows, noise]).astype(float), [2] * 80)
    is_linked = forest.parents >= 0
    assert is_linked[:40].sum() >= 38
    assert is_linked[40:].sum() <= 20
