"""From the source that a user names to a table of rows."""

import os
from pathlib import Path

import numpy as np
import pytest

from harmonium.data.sources import open_source
from refusals import refusal

DEBD = Path(os.environ.get("HARMONIUM_DATA", ""), "debd", "adult.npz")
BITS = np.arange(24).reshape(6, 4) % 2


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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
    assert "set: 'test' contains the test rows." in table.notes


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
        "got no such file; perhaps you mean "
    )
    assert meant in message


@pytest.mark.parametrize("source", ["", "zzzzzz", "no/such/folder.csv", "q.npz:key", "x" * 5000])
def test_a_source_like_no_known_name_is_refused(source):
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


# --- Alignments -------------------------------------------------------------------------------

FAMILY = ["ACDEFGHIKLMN", "ACDEFGHIKLMW", "ACDEFGHI-LMN"]


def test_a_text_file_of_aligned_sequences_is_an_alignment():
    for content in ("\n".join(FAMILY), "".join(f">{row}\n{row}\n" for row in FAMILY)):
        Path("family.txt").write_text(content + "\n")
        table = open_source("family.txt")
        assert (table.kind, table.sites.alphabet.name) == ("codes", "protein")
        assert table.train.shape == (3, 12)
        scored = open_source("family.txt", sites=table.sites)
        np.testing.assert_array_equal(scored.train, table.train)
    Path("family.txt").write_text("\n".join(FAMILY))
    assert "each line is a sequence" in open_source("family.txt", sites=table.sites).notes[0]


def test_what_is_told_of_columns_makes_a_table_of_a_text_file():
    rows = [letter + FAMILY[0][1:] for letter in "ACDEFGHIKLMN"]
    Path("family.txt").write_text("\n".join(rows))
    assert open_source("family.txt").kind == "codes"
    assert "a column that can be modelled" in refusal(open_source, "family.txt", columns={})


def test_a_family_of_a_file_has_a_name_of_its_own():
    family = "# STOCKHOLM 1.0\n#=GF ID {}\na ACD\nb ACE\n//\n"
    Path("all.sto").write_text(family.format("one/two") + family.format("three"))
    table = open_source("all.sto:one/two")
    assert (table.name, table.train.shape) == ("all-one-two", (2, 3))
    assert "choose one, such as all.sto:one/two" in refusal(open_source, "all.sto")
    assert "no such file" in refusal(open_source, "none.sto:three")
