import itertools

import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium._base.trees import NONE, with_root_at_centre


def all_trees(n):
    """Return the parents of every tree of n vertices that hangs from vertex 0."""
    trees = []
    for chosen in itertools.product(range(n), repeat=n - 1):
        parents = (NONE, *chosen)
        try:
            hm.Tree(n, parents)
        except hm.InputError:
            continue
        trees.append(parents)
    return trees


def rows_with_dependences(seed, n=300):
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, n, 1)) < 0.4
    noise = rng.random((n, 5)) < rng.uniform(0.05, 0.4, 5)
    return np.hstack([first, first, second, first & second, second]) ^ noise


def likelihood(parents, rows):
    """Return the log-likelihood of rows, and of one more that is shared by all states."""
    rows = jnp.asarray(rows, jnp.float32)
    layer = hm.Tree(rows.shape[1], parents).fit_moments(rows)
    states = layer.states(jnp.arange(layer.n_states))
    log_p = [-layer.energy(x) - layer.cgf(layer.zero_inputs) for x in (rows, states)]
    return float(log_p[0].sum() + log_p[1].mean())


@pytest.mark.parametrize("seed", range(5))
def test_no_tree_has_a_higher_likelihood(seed):
    rows = rows_with_dependences(seed)
    trees = all_trees(5)
    assert len(trees) == 125  # Cayley's formula
    best = max(likelihood(parents, rows) for parents in trees)
    assert likelihood(hm.data.dependence_tree(rows), rows) == pytest.approx(best, rel=1e-6)


def test_weights_are_counts_of_rows():
    rows = rows_with_dependences(0)
    counts = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = hm.data.dependence_tree(rows, counts)
    assert weighted == hm.data.dependence_tree(np.repeat(rows, counts, axis=0))


def test_pairs_are_compared_where_both_are_observed():
    rows = rows_with_dependences(2, n=3000).astype(float)
    rng = np.random.default_rng(3)
    missing = np.where(rng.random(rows.shape) < 0.3, np.nan, rows)
    assert hm.data.dependence_tree(missing) == hm.data.dependence_tree(rows)


def test_the_root_is_in_the_middle():
    chain = np.array([NONE, 0, 1, 2, 3, 4, 5])
    assert with_root_at_centre(chain).tolist() == [1, 2, 3, NONE, 3, 4, 5]
    assert with_root_at_centre(np.array([NONE])).tolist() == [NONE]


@pytest.mark.parametrize(
    ("rows", "message"),
    [(np.array([[0.0, 2.0], [1.0, 0.0]]), "0 to 1; got 2"), (np.zeros((2, 4001)), "4,001")],
)
def test_what_is_no_table_of_zeros_and_ones_is_refused(rows, message):
    with pytest.raises(hm.InputError, match=message):
        hm.data.dependence_tree(rows)
