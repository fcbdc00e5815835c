import numpy as np
import pytest

import harmonium as hm
from harmonium.data.groups import column_groups


def categories(rows, sizes, seed=0, dropped=0):
    """Return the 0/1 columns of independent categories; the first states have no column."""
    rng = np.random.default_rng(seed)
    one_hot = [np.eye(q, dtype=np.uint8)[rng.integers(0, q, rows)][:, dropped:] for q in sizes]
    return np.concatenate(one_hot, axis=1)


@pytest.mark.parametrize("seed", range(10))
def test_categories_are_found_whatever_their_order(seed):
    rng = np.random.default_rng(seed)
    x = categories(300, (3, 5, 2), seed)
    x = np.concatenate([x, rng.integers(0, 2, (300, 4))], axis=1)
    order = rng.permutation(x.shape[1])
    places = np.argsort(order)
    groups = [places[:3], places[3:8], places[8:10]]
    expected = sorted(tuple(sorted(group.tolist())) for group in groups)
    assert list(hm.data.exclusive_groups(x[:, order])) == expected


def test_a_category_without_a_column_for_its_first_state_is_found():
    assert hm.data.exclusive_groups(categories(200, (4, 4), dropped=1)) == ((0, 1, 2), (3, 4, 5))


def test_independent_columns_are_in_no_group():
    """At level 1e-4 for each size of group, a hundred sets of columns show one very rarely."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = rng.random((100, 30)) < rng.beta(0.5, 0.5, 30)
        assert not column_groups(x).all


def test_few_rows_prove_nothing():
    assert hm.data.exclusive_groups(categories(8, (3, 3))) == ()


def test_one_row_that_breaks_the_rule_ends_it():
    x = categories(300, (3,))
    x[7] = 1
    assert hm.data.exclusive_groups(x) == ()


def test_pixels_that_are_never_on_together_are_no_category():
    rng = np.random.default_rng(0)
    common = rng.random(20_000) < 0.4
    rare = (rng.random(20_000) < 0.01) & ~common
    assert hm.data.exclusive_groups(np.stack([common, rare], axis=1)) == ()


def test_equal_and_complementary_columns_are_found():
    x = np.random.default_rng(0).integers(0, 2, (100, 3))
    x = np.concatenate([x, x[:, :1], 1 - x[:, 1:2], np.zeros((100, 2), int)], axis=1)
    groups = column_groups(x)
    assert groups.equal == ((0, 3),)
    assert groups.exclusive == ((1, 4),)
    assert groups.notes[0] == (
        "2 columns form 1 group of columns of which at most one is on in any row (such as 1 and 4):"
        " each group is read as one category."
    )


def test_rows_that_are_not_complete_and_levels_say_nothing():
    x = categories(300, (3,)).astype(float)
    x[:250, 0] = np.nan
    assert hm.data.exclusive_groups(x[240:]) == ((0, 1, 2),)
    assert hm.data.exclusive_groups(x[:20]) == ()
    assert hm.data.exclusive_groups(np.full((300, 3), 0.5)) == ()
    assert hm.data.exclusive_groups(np.zeros((10, 2_001))) == ()
