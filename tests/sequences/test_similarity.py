import numpy as np
import pytest

import harmonium as hm
from harmonium.data.splits import datasets_of, held_out_groups, split_off
from harmonium.data.table import Table
from harmonium.sequences import neighbours, similarity


def family(rows, sites, states, seed):
    """Return rows of which many are mutants of a few."""
    rng = np.random.default_rng(seed)
    parents = rng.integers(0, states, (max(1, rows // 8), sites))
    codes = parents[rng.integers(0, len(parents), rows)]
    mutated = rng.random(codes.shape) < rng.uniform(0, 0.3, (rows, 1))
    return np.where(mutated, rng.integers(0, states, codes.shape), codes).astype(np.uint8)


@pytest.mark.parametrize(
    ("rows", "sites", "states", "identity"),
    [(300, 40, 21, 0.8), (70, 32, 5, 0.9), (50, 33, 2, 0.5), (40, 7, 300, 1.0), (1, 3, 4, 0.8)],
)
def test_against_all_pairs(rows, sites, states, identity, monkeypatch):
    monkeypatch.setattr(similarity, "TILE", 64)  # so that there are several
    codes = family(rows, sites, min(states, 256), rows)
    similar = neighbours(codes, identity)
    alike = (codes[:, None] == codes).sum(-1) >= identity * sites - 1e-6
    np.testing.assert_array_equal(similar.count, alike.sum(1))
    reached = alike
    while (more := reached @ reached).sum() > reached.sum():
        reached = more
    np.testing.assert_array_equal(similar.cluster[:, None] == similar.cluster, reached)
    assert similar.effective == pytest.approx((1 / alike.sum(1)).sum())


def test_groups_are_held_out_whole():
    groups = np.repeat(np.arange(30), np.arange(1, 31))
    for seed in range(10):
        held = held_out_groups(groups, 0.2, seed=seed)
        assert 0.15 * len(groups) <= len(held) <= 0.2 * len(groups)
        out = np.isin(np.arange(len(groups)), held)
        assert not set(groups[out]) & set(groups[~out])


def table(groups):
    codes = np.random.default_rng(0).integers(0, 4, (len(groups), 5)).astype(np.uint8)
    weights = np.linspace(1, 2, len(groups)).astype(np.float32)
    return Table(
        name="x", train=codes, kind="codes", states=4, groups=np.array(groups), weights=weights
    )


def test_a_table_is_split_by_groups_where_they_allow_it():
    parts, notes = datasets_of(
        table([k // 3 for k in range(600)]), validation=0.1, binarize="none", seed=0
    )
    assert len(parts["validation"]) == 60
    assert "none of them similar to a training sequence" in notes[0]
    assert parts["validation"].weights is not None
    _, notes = datasets_of(table([0] * 590 + [1] * 10), validation=0.1, binarize="none", seed=0)
    assert "most sequences are alike" in notes[0]
    remaining, held = split_off(table([k // 3 for k in range(600)]), 0.1, seed=0)
    assert len(remaining.groups) == 540
    assert len(held) == 60


def test_identity_is_a_fraction():
    with pytest.raises(hm.InputError, match="above 0 and at most 1"):
        neighbours(np.zeros((3, 3), np.uint8), 1.5)
