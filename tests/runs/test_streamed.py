"""Runs whose rows are read while training."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.errors import InputError
from harmonium.runs import streamed
from harmonium.runs.folder import RunFolder
from harmonium.runs.rows import own_rows
from harmonium.runs.train import resume, train
from harmonium.runs.train_options import RunConfig
from runs.test_faults import Lines, interrupt_after, quick  # noqa: F401  (a fixture)

GREYS = np.random.default_rng(0).integers(0, 256, (600, 5), np.uint8)
BITS = (GREYS > 128).astype(np.float32)


def in_files(rows, folder):
    folder.mkdir()
    for i in range(3):
        np.save(folder / f"{i}.npy", rows[200 * i : 200 * (i + 1)])


def config(source="parts", **options):
    options = {"hidden": 3, "epochs": 4, "chains": 20, "batch": 20, "window": 100} | options
    return RunConfig(source=source, **options)


def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path):
    in_files(BITS, tmp_path / "parts")
    train(config(), "whole", False, Lines())
    train(config(), "parted", False, Lines(interrupt_after(17)))
    resume("parted", None, Lines())
    whole, parted = (hm.load(tmp_path / name) for name in ("whole", "parted"))
    np.testing.assert_array_equal(whole.weights, parted.weights)


def test_rows_are_held_out_and_learned_from(tmp_path):
    in_files(BITS, tmp_path / "parts")
    lines = Lines()
    train(config(), "run", False, lines)
    assert "  parts: 600 rows, read while training, 100 at a time (--window)." in lines.said
    assert "  parts: 60 of 600 rows held out for validation, from up to 64 blocks." in lines.said
    assert lines.said[0] == "parts: 540 rows × 5 binary values"
    rows = own_rows(RunFolder("run"))
    assert (len(rows.stream), len(rows.parts["validation"])) == (540, 60)


def test_other_rows_are_refused_at_a_resume(tmp_path):
    in_files(BITS, tmp_path / "parts")
    train(config(), "run", False, Lines(interrupt_after(9)))
    np.save(tmp_path / "parts" / "3.npy", BITS[:10])
    with pytest.raises(InputError, match="the rows that run began with; got other rows"):
        resume("run", None, Lines())


@pytest.mark.parametrize(
    ("binarize", "note"),
    [("stochastic", "drawn as 0 or 1"), ("threshold", "count as 1"), ("none", "used unchanged")],
)
def test_grey_levels_are_used_as_told(binarize, note, tmp_path):
    in_files(GREYS, tmp_path / "parts")
    lines = Lines()
    train(config(binarize=binarize), "run", False, lines)
    assert any(note in line for line in lines.said)


def test_columns_of_reals_are_standardised(tmp_path):
    reals = np.random.default_rng(0).normal([3.0, -20.0], [0.1, 40.0], (600, 2))
    in_files(reals, tmp_path / "parts")
    train(config(visible="gaussian"), "run", False, Lines())
    visible = hm.load(tmp_path / "run").visible
    mean = np.asarray(visible.mean(visible.zero_inputs))
    assert abs(mean[0] - 3.0) < 1.0
    assert abs(mean[1] + 20.0) < 100.0


def test_a_file_of_more_than_half_of_the_memory_is_streamed(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", BITS)
    size = (tmp_path / "rows.npy").stat().st_size
    for there, expected in ((3 * size, False), (size, True), (None, False)):
        monkeypatch.setattr(streamed, "memory_there", lambda there=there: there)
        assert streamed.is_streamed(config("rows.npy", window="auto")) is expected
    assert not streamed.is_streamed(config("rows.npy", window=0))
    assert not streamed.is_streamed(config("digits", window="auto"))


def test_what_cannot_be_streamed_is_refused(tmp_path):
    in_files(BITS, tmp_path / "parts")
    with pytest.raises(InputError, match="no --as, for files that are read during training"):
        train(config(kinds={"a": "category"}), "run", False, Lines())
    (tmp_path / "rows.csv").write_text("a,b\n1,0\n")
    with pytest.raises(InputError, match="a file that can be read in blocks"):
        train(config("rows.csv"), "run", False, Lines())
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_holds_out_the_rows_that_it_began_with(tmp_path, monkeypatch):
    """Also where a tenth of the rows is more than are held out by default."""
    monkeypatch.setattr(streamed, "MOST_HELD_OUT", 17)
    in_files(BITS, tmp_path / "parts")
    train(config(), "whole", False, Lines())
    train(config(), "parted", False, Lines(interrupt_after(17)))
    resume("parted", None, Lines())
    whole, parted = (hm.load(tmp_path / name) for name in ("whole", "parted"))
    np.testing.assert_array_equal(whole.weights, parted.weights)
    assert len(own_rows(RunFolder("parted")).parts["validation"]) == 17
