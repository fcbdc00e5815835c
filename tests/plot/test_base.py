"""Figures, files, grids of images, and the checks that all plots share."""

import subprocess
import sys

import numpy as np
import pytest

from harmonium import InputError
from harmonium._base.checks import checked_pair
from harmonium.plot import base, save_figure

UNTOUCHED = """
import sys, matplotlib
before = matplotlib.rcParams.copy()
import harmonium.plot, numpy as np
figure = harmonium.plot.means(np.eye(3), np.eye(3))
harmonium.plot.save_figure(figure, sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.rcParams.copy() == before
"""


def test_save_figure_writes_one_png(tmp_path):
    path = save_figure(base.new_figure(2.0, 1.0, "words"), tmp_path / "a.png")
    assert path == tmp_path / "a.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_a_crash_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    figure = base.new_figure(2.0, 1.0)

    def crash(target, **options):
        target.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(figure, "savefig", crash)
    with pytest.raises(OSError, match="no space"):
        save_figure(figure, path)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "words"), [("a.pdf", "ending in .png"), ("no/a.png", "make the folder")]
)
def test_save_figure_says_what_is_wrong_with_a_path(tmp_path, name, words):
    with pytest.raises(InputError, match=words):
        save_figure(base.new_figure(2.0, 1.0), tmp_path / name)


def test_no_global_state_is_touched(tmp_path):
    subprocess.run([sys.executable, "-c", UNTOUCHED, str(tmp_path / "a.png")], check=True)


def test_tiles_lie_row_by_row_with_gaps_between():
    images = np.arange(5.0)[:, None, None] * np.ones((5, 24, 24))
    picture = base.tiled(images)
    assert picture.shape == (2 * 25 + 1, 3 * 25 + 1)
    assert [picture[12, 12 + 25 * i] for i in range(3)] == [0.0, 1.0, 2.0]
    assert [picture[37, 12 + 25 * i] for i in range(2)] == [3.0, 4.0]
    assert np.isnan(picture[26:50, 51:]).all()
    assert np.isnan(picture[[0, 25, 50]]).all()
    assert np.isnan(picture[:, [0, 25, 50, 75]]).all()


def test_small_tiles_are_enlarged_by_a_whole_factor():
    image = np.arange(64.0).reshape(8, 8)
    picture = base.tiled(image[None])
    np.testing.assert_array_equal(picture[1:-1, 1:-1], np.kron(image, np.ones((3, 3))))


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (4, 196), (28, 28), (100, 60)])
def test_gaps_are_small(shape):
    picture = base.tiled(np.zeros((12, *shape)))
    assert np.isnan(picture).mean() < (0.8 if 1 in shape else 0.35)


@pytest.mark.parametrize(
    ("samples", "data", "words"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), "samples: expected 4 columns.* 3"),
        (np.zeros(3), np.zeros((2, 3)), "samples: expected a matrix"),
        (np.zeros((2, 3)), np.zeros((0, 3)), "data: expected a matrix"),
        (np.zeros((2, 3)), np.full((2, 3), np.nan), "data: expected finite.* 6"),
        (np.full((2, 3), "x"), np.zeros((2, 3)), "samples: expected a matrix of numbers"),
    ],
)
def test_rows_that_do_not_fit(samples, data, words):
    with pytest.raises(InputError, match=words) as caught:
        checked_pair(samples, data)
    assert "\n" not in str(caught.value)
