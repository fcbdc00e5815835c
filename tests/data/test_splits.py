"""Rows held out of a table, and datasets of the remaining rows."""

import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.data.coding import as_table
from harmonium.data.splits import datasets_of, held_out_rows, rarity_of, split_off
from harmonium.errors import InputError
from refusals import refusal


def numbered(rows: int, **options):
    codes = np.arange(rows)[:, None]
    return as_table(codes, name="x", coding="codes", states=max(2, rows), **options)


def test_rows_are_divided_without_loss():
    table = numbered(50, labels=np.arange(50), weights=np.arange(50) / 2)
    rest, held = split_off(table, 0.2, seed=3)
    assert (len(rest.train), len(held)) == (40, 10)
    assert sorted([*rest.train[:, 0], *held[:, 0]]) == list(range(50))
    assert sorted(rest.train[:, 0]) == rest.train[:, 0].tolist()
    np.testing.assert_array_equal(rest.labels, rest.train[:, 0])
    np.testing.assert_array_equal(rest.weights, rest.train[:, 0] / 2)
    assert rest.notes[-1] == "x: 10 of 50 rows held out for validation."
    assert held.dtype == table.train.dtype
    assert len(table.train) == 50


def test_the_seed_chooses_the_rows():
    table = numbered(50)
    first, again, other = (split_off(table, 0.2, seed=seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert sorted(first[:, 0]) != sorted(other[:, 0])


@pytest.mark.parametrize(("fraction", "held"), [(0.001, 1), (0.25, 2), (0.999, 9)])
def test_at_least_one_row_is_on_either_side(fraction, held):
    rest, rows = split_off(numbered(10), fraction, seed=0)
    assert (len(rest.train), len(rows)) == (10 - held, held)


def test_nothing_is_held_out_of_a_whole_distribution_or_for_a_fraction_of_zero():
    table = numbered(4, exhaustive=True)
    assert split_off(table, 0.5, seed=0) == (table, None)
    table = numbered(4)
    assert split_off(table, 0.0, seed=0) == (table, None)


def test_a_sources_own_validation_rows_are_used():
    table = numbered(20, validation=np.array([[3], [4]]))
    same, held = split_off(table, 0.5, seed=0)
    assert same is table
    assert held.tolist() == [[3], [4]]


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 2, float("nan")])
def test_an_invalid_fraction_is_refused(fraction):
    for table in (numbered(20), numbered(20, exhaustive=True)):
        message = refusal(split_off, table, fraction, seed=0)
        assert "x: expected a validation fraction in [0, 1); got " in message
        assert "0.1" in message


def test_too_few_rows_are_refused():
    message = refusal(split_off, numbered(9), 0.1, seed=0)
    assert "at least 10 rows to hold some out for validation; got 9" in message
    assert "a validation fraction of 0" in message


def test_datasets_hold_the_rows_that_split_off_hands_out():
    table = numbered(60, test=np.array([[5]]))
    parts, notes = datasets_of(table, validation=0.2, binarize="none", seed=3)
    rest, held = split_off(table, 0.2, seed=3)
    assert list(parts) == ["train", "validation", "test"]
    np.testing.assert_array_equal(parts["train"].rows(), rest.train)
    np.testing.assert_array_equal(parts["validation"].rows(), held)
    np.testing.assert_array_equal(parts["test"].rows(), [[5]])
    assert notes == ("x: 12 of 60 rows held out for validation.",)


def test_few_rows_are_all_learned_from():
    parts, notes = datasets_of(numbered(49), validation=0.2, binarize="none", seed=3)
    assert list(parts) == ["train"]
    assert notes == ("x: 49 rows, too few to hold any out.",)


@pytest.mark.parametrize(
    ("rows", "options", "held"),
    [
        (499, {}, 0),
        (500, {}, 50),
        (499, {"weights": np.arange(499.0)}, 50),
        (20, {"validation": np.array([[3], [4]])}, 2),
    ],
    ids=["few", "enough", "weighted", "own"],
)
def test_by_default_few_rows_are_cross_validated(rows, options, held):
    table = numbered(rows, **options)
    parts, notes = datasets_of(table, validation="auto", binarize="none", seed=3)
    assert len(parts.get("validation", [])) == held
    said = "x: 499 rows, too few to hold any out: they are cross-validated."
    assert (notes == (said,)) == (held == 0)


def test_by_default_few_rows_of_reals_are_cross_validated_too():
    table = as_table(np.random.default_rng(0).normal(size=(100, 2)), name="x", coding="reals")
    parts, _ = datasets_of(table, validation="auto", binarize="none", seed=3)
    assert "validation" not in parts


def test_rows_are_looked_at_once_for_each_layer(monkeypatch):
    rows = np.arange(12.0).reshape(6, 2)
    layer = hm.Gaussian(2)
    seen = []
    validate = hm.Gaussian.validate
    monkeypatch.setattr(
        hm.Gaussian, "validate", lambda *args, **kw: seen.append(1) or validate(*args, **kw)
    )
    dataset = hm.Dataset(rows).checked_for(layer)
    assert len(seen) == 1
    rbm = hm.initialize(layer, hm.Bernoulli(2), dataset, key=jax.random.key(0))
    hm.fit(rbm, dataset, key=jax.random.key(0), epochs=1)
    hm.standardization(layer, dataset)
    assert len(seen) == 1
    with pytest.raises(InputError, match=r"shape \(rows, 1\)"):
        dataset.checked_for(hm.Gaussian(1))


def test_zeros_are_no_spins_however_late_they_come(monkeypatch):
    monkeypatch.setattr("harmonium.data.dataset.rows_at_once", lambda width: 2)
    dataset = hm.Dataset(np.array([[1, 1]] * 5 + [[0, 1]]))
    with pytest.raises(InputError, match="row 5, column 0"):
        dataset.checked_for(hm.Ising(2))
    assert len(dataset.checked_for(hm.Bernoulli(2))) == 6


def test_weights_of_a_table_stay_with_their_rows():
    table = numbered(60, weights=np.arange(60))
    parts, _ = datasets_of(table, validation=0.2, binarize="none", seed=3)
    for part in (parts["train"], parts["validation"]):
        rows = part.rows()[:, 0]
        weights = np.asarray(part.weights)
        np.testing.assert_allclose(weights / weights.sum(), rows / rows.sum(), rtol=1e-6)


def test_an_unknown_use_of_grey_levels_is_refused():
    with pytest.raises(InputError, match="binarize: expected one of stochastic, threshold, none"):
        datasets_of(numbered(60), validation=0.0, binarize="half", seed=0)


@pytest.mark.parametrize("seed", range(10))
def test_of_a_rare_word_the_same_fraction_is_held_out(seed):
    rng = np.random.default_rng(seed)
    word = (rng.permutation(1_000) < 40).astype(float)  # 40 rows of 1,000
    rows = np.column_stack([word, rng.integers(0, 3, 1_000), rng.normal(size=1_000)])
    train, held_out = held_out_rows(1_000, 0.1, seed=seed, rarity=rarity_of(rows, 0.1))
    assert len(held_out) == 100
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(1_000))
    assert 2 <= word[held_out].sum() <= 6


def test_numbers_with_many_digits_and_missing_cells_have_a_rarity_too():
    rows = np.column_stack([np.arange(20.0), [0.0] * 18 + [1.0, np.nan]])
    expected = -np.log([18.0] * 18 + [1.0, 1.0])
    np.testing.assert_allclose(rarity_of(rows, 0.5), expected)


@pytest.mark.parametrize(("rows", "fraction", "held"), [(10, 0.001, 1), (2, 0.9, 1), (7, 0.6, 4)])
def test_at_least_one_row_of_each_is_left_with_a_rarity_too(rows, fraction, held):
    train, held_out = held_out_rows(rows, fraction, seed=0, rarity=np.zeros(rows))
    assert (len(train), len(held_out)) == (rows - held, held)
