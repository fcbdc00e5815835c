"""From what a user names to a table, and rows held out of one."""

import os
from pathlib import Path

import numpy as np
import pytest

from harmonium.data.base import as_table
from harmonium.errors import InputError
from harmonium.sources import open_source, split_off

DEBD = Path(os.environ.get("HARMONIUM_DATA", ""), "debd", "adult.npz")
BITS = np.arange(24).reshape(6, 4) % 2


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refusal(call, *args, **options) -> str:
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert ": expected " in message
    assert "; found " in message
    return message


# --- open_source: files -----------------------------------------------------------------


def test_a_file_gives_its_stem_and_rows(tmp_path):
    np.save("rows.npy", BITS)
    for source in ("rows.npy", "./rows.npy", str(tmp_path / "rows.npy")):
        table = open_source(source)
        assert (table.name, table.kind) == ("rows", "binary")
        np.testing.assert_array_equal(table.train, BITS)


def test_options_reach_the_table():
    np.save("rows.npy", np.array([[0, 16], [3, 1]]))
    assert open_source("rows.npy", scale=16).scale == 16.0
    assert open_source("rows.npy", visible="potts", states=20).states == 20
    assert open_source("rows.npy", visible="gaussian").kind == "real"
    assert "--scale MAX (scale=16" in refusal(open_source, "rows.npy")


def test_a_key_picks_one_array():
    np.savez("two.NPZ".lower(), a=BITS, b=1 - BITS)
    np.testing.assert_array_equal(open_source("two.npz:b").train, 1 - BITS)
    assert open_source("two.npz:b").name == "two"
    message = refusal(open_source, "two.npz:c")
    assert "'c'" in message
    assert "a (6, 4), b (6, 4)" in message


def test_the_parts_of_one_file_stay_together():
    np.savez("set.npz", train=BITS, test=BITS[:2], valid=BITS[:3], y=np.arange(6))
    table = open_source("set.npz")
    assert (len(table.train), len(table.test), len(table.validation)) == (6, 2, 3)
    assert table.labels.tolist() == list(range(6))
    assert "set: 'test' gives the test rows." in table.notes


def test_errors_in_a_file_name_it_as_the_user_did():
    np.savez("bad.npz", a=np.array([[0.0, np.nan]]), b=BITS)
    assert refusal(open_source, "bad.npz:a").startswith("bad.npz:a: expected finite numbers")


def test_a_built_in_name_wins_over_a_file_without_folder_or_suffix():
    np.save("bars.npy", BITS)
    Path("bars.npy").rename("bars")
    assert open_source("bars").train.shape == (32, 16)
    assert "a name without a suffix" in refusal(open_source, "./bars")
    np.save("bars.npy", BITS)
    assert open_source("bars.npy").train.shape == (6, 4)


@pytest.mark.parametrize(
    ("source", "meant"),
    [
        ("digit", "'digits'"),
        ("Digits", "'digits'"),
        ("minst", "'mnist'"),
        ("row.npy", "'rows.npy'"),
    ],
)
def test_a_misspelt_source_is_answered_with_its_neighbours(source, meant):
    np.save("rows.npy", BITS)
    message = refusal(open_source, source)
    assert message.startswith(
        f"{source}: expected a built-in set (digits, bars, shifter, ising, mnist) or a file; "
        "found no such file; perhaps you mean "
    )
    assert meant in message


@pytest.mark.parametrize("source", ["", "zzzzzz", "no/such/folder.csv", "q.npz:key", "x" * 5000])
def test_a_source_like_nothing_is_refused(source):
    message = refusal(open_source, source)
    assert "no such file" in message
    assert "check the spelling" in message


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "run.csv").mkdir()
    for source in ("run.csv", "."):
        message = refusal(open_source, source)
        assert "a folder" in message
        assert "name one file in it" in message


@pytest.mark.skipif(not DEBD.is_file(), reason="HARMONIUM_DATA names no folder with debd")
def test_packed_files_are_unpacked():
    table = open_source(str(DEBD))
    assert (table.kind, table.train.shape, table.test.shape) == (
        "binary",
        (5000, 123),
        (26147, 123),
    )
    assert table.validation.shape == (1414, 123)
    np.testing.assert_array_equal(open_source(f"{DEBD}:valid").train, table.validation)


# --- open_source: built-in sets ---------------------------------------------------------


def test_built_in_sets_by_name():
    assert open_source("digits").scale == 16.0
    first, second = (open_source("ising", seed=seed).train for seed in (0, 1))
    assert (first != second).any()


@pytest.mark.parametrize("name", ["digits", "bars"])
def test_a_scale_with_a_built_in_set_is_refused(name):
    message = refusal(open_source, name, scale=16)
    assert message.startswith(f"{name}: expected no scale with a built-in set")
    assert "leave the scale out" in message


def test_built_in_sets_for_the_units_named():
    assert open_source("digits", visible="bernoulli").scale == 16.0
    assert open_source("ising", visible="ising").kind == "spins"
    assert open_source("digits", visible="potts").states == 17
    codes = open_source("bars", visible="potts", states=3)
    assert (codes.kind, codes.states, codes.exhaustive) == ("codes", 3, True)
    reals = open_source("digits", visible="gaussian")
    assert (reals.kind, reals.train.dtype, reals.train.max()) == ("real", np.float32, 1.0)
    assert reals.test.max() == 1.0
    assert reals.labels is not None
    assert "digits: grey levels divided by 16." in reals.notes


def test_built_in_sets_refuse_units_that_do_not_fit():
    assert "spins −1 or +1" in refusal(open_source, "bars", visible="ising")
    assert "values in [0, 1]" in refusal(open_source, "ising", visible="bernoulli")
    assert "no states with auto" in refusal(open_source, "bars", states=2)
    assert "--visible: expected one of" in refusal(open_source, "bars", visible="softmax")


# --- split_off --------------------------------------------------------------------------


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
def test_a_fraction_that_is_none_is_refused(fraction):
    for table in (numbered(20), numbered(20, exhaustive=True)):
        message = refusal(split_off, table, fraction, seed=0)
        assert "x: expected a validation fraction in [0, 1); found " in message
        assert "0.1" in message


def test_too_few_rows_are_refused():
    message = refusal(split_off, numbered(9), 0.1, seed=0)
    assert "at least 10 rows to hold some out for validation; found 9" in message
    assert "a validation fraction of 0" in message
