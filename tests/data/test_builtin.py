"""The built-in sets against their exactly known properties."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from harmonium.data import builtin as sets
from harmonium.data.builtin import (
    BUILTIN,
    bars_and_stripes,
    builtin,
    ising_configurations,
    labelled_shifter,
)
from refusals import refusal

# Three statistics test the Ising draws: the family-wise level 1e-4 is divided by Bonferroni.
ISING_LEVEL = 1e-4 / 3
REAL_MNIST = Path(os.environ.get("HARMONIUM_DATA", ""), "mnist", "mnist_train_gray.npz")


def best_log_likelihood(rows: np.ndarray) -> float:
    """Return Σ log p of the rows under their own empirical distribution, the largest possible."""
    _, counts = np.unique(rows, axis=0, return_counts=True)
    return float((counts * np.log(counts / len(rows))).sum())


def test_the_names():
    assert list(BUILTIN) == ["digits", "bars", "shifter", "ising", "mnist"]


def test_an_unknown_name_is_refused_with_the_known_ones():
    message = refusal(builtin, "cifar")
    assert message.startswith(
        "cifar: expected the name of a built-in set (digits, bars, shifter, ising, mnist)"
    )


def test_digits():
    table = builtin("digits")
    assert (table.kind, table.scale, table.image_shape) == ("grey", 16.0, (8, 8))
    assert table.train.shape == (1437, 64)
    assert table.test.shape == (360, 64)
    assert table.train.dtype == np.uint8
    assert (table.train.max(), table.train.min()) == (16, 0)
    assert set(table.labels) == set(table.test_labels) == set(range(10))
    assert not table.exhaustive
    assert table.notes[-1] == "digits: 1,437 rows of 64 grey levels, divided by 16."


def test_digits_are_all_there_and_always_split_alike():
    from sklearn.datasets import load_digits

    table = builtin("digits")
    again = builtin("digits", seed=5)
    np.testing.assert_array_equal(table.train, again.train)
    rows = np.column_stack(
        [np.vstack([table.train, table.test]), [*table.labels, *table.test_labels]]
    )
    raw = np.column_stack(load_digits(return_X_y=True)).astype(int)
    assert sorted(rows.tolist()) == sorted(raw.tolist())
    assert np.bincount(table.test_labels).min() > 20  # shuffled


def test_bars_count_blank_and_full_twice():
    table = builtin("bars")
    assert (table.kind, table.train.shape, table.image_shape) == ("binary", (32, 16), (4, 4))
    assert table.exhaustive
    assert table.test is None
    counts = np.unique(table.train, axis=0, return_counts=True)[1]
    assert (len(counts), (counts == 2).sum()) == (30, 2)
    assert best_log_likelihood(table.train) == pytest.approx(-108.131, abs=1e-3)


@pytest.mark.parametrize(
    ("width", "distinct", "rows", "bound"),
    [(4, True, 30, -102.036), (3, False, 16, -41.589), (3, True, 14, -36.947)],
)
def test_bars_of_other_sizes(width, distinct, rows, bound):
    pictures = bars_and_stripes(width, distinct=distinct)
    assert pictures.shape == (rows, width * width)
    grid = pictures.reshape(rows, width, width)
    whole_rows = (grid == grid[:, :, :1]).all(axis=(1, 2))
    whole_columns = (grid == grid[:, :1, :]).all(axis=(1, 2))
    assert (whole_rows | whole_columns).all()
    assert best_log_likelihood(pictures) == pytest.approx(bound, abs=1e-3)


def test_shifter():
    table = builtin("shifter")
    assert (table.kind, table.train.shape, table.exhaustive) == ("binary", (768, 19), True)
    assert best_log_likelihood(table.train) == pytest.approx(-5102.43, abs=5e-3)
    for row in table.train:
        step = int(np.argmax(row[16:])) - 1  # left, none, right
        assert row[16:].sum() == 1
        assert row[8:16].tolist() == np.roll(row[:8], step).tolist()


def test_shifter_moves_left_as_one_reads():
    rows = labelled_shifter(4)
    left = next(r for r in rows if r[:4].tolist() == [0, 1, 0, 0] and r[8] == 1)
    assert left[4:8].tolist() == [1, 0, 0, 0]


def test_sizes_out_of_range_are_refused():
    assert "side from 1 to 12; got 13" in refusal(bars_and_stripes, 13)
    assert "width from 1 to 12; got 0" in refusal(labelled_shifter, 0)
    assert "side from 2 to 10; got 11" in refusal(ising_configurations, 5, side=11, seed=0)
    assert "rows from 1" in refusal(ising_configurations, 0, seed=0)
    message = refusal(ising_configurations, 5, inverse_temperature=float("nan"), seed=0)
    assert "inverse_temperature from -2 to 2; got nan" in message


# --- Ising ------------------------------------------------------------------------------


def bonds(spins: np.ndarray, length: int) -> np.ndarray:
    """Return Σ s_i s_j over the bonds of each configuration of the periodic lattice."""
    grid = spins.reshape(len(spins), length, length).astype(np.int64)
    return sum((grid * np.roll(grid, 1, axis=axis)).sum(axis=(1, 2)) for axis in (1, 2))


def all_spins(sites: int) -> np.ndarray:
    return 2 * ((np.arange(2**sites)[:, None] >> np.arange(sites)) & 1) - 1


def z_level() -> float:
    return float(stats.norm.isf(ISING_LEVEL / 2))


def test_ising_energy_is_exact_on_four_by_four():
    beta = 0.44
    rows = 20_000
    every = bonds(all_spins(16), 4)
    probability = np.exp(beta * every - (beta * every).max())
    probability /= probability.sum()
    mean = probability @ every
    deviation = np.sqrt(probability @ (every - mean) ** 2)
    drawn = bonds(ising_configurations(rows, side=4, inverse_temperature=beta, seed=1), 4)
    z = (drawn.mean() - mean) / (deviation / np.sqrt(rows))
    assert abs(z) < z_level()


def test_ising_draws_follow_the_whole_distribution_on_three_by_three():
    beta = 0.3
    rows = 40_000
    spins = all_spins(9)
    probability = np.exp(beta * bonds(spins, 3))
    probability /= probability.sum()
    drawn = ising_configurations(rows, side=3, inverse_temperature=beta, seed=2)
    codes = ((drawn == 1) << np.arange(9)).sum(axis=1)
    observed = np.bincount(codes, minlength=512)
    p = stats.chisquare(observed, rows * probability).pvalue
    assert p > ISING_LEVEL


def test_ising_set_has_the_energy_that_the_partition_function_says():
    beta = sets.ISING_INVERSE_TEMPERATURE
    step = 1e-3

    def log_z(at: float) -> float:
        lines = all_spins(8).astype(float)
        within = (lines * np.roll(lines, 1, axis=1)).sum(axis=1)
        symmetric = np.exp(at * ((within[:, None] + within) / 2 + lines @ lines.T))
        return float(np.log((np.linalg.eigvalsh(symmetric) ** 8).sum()))

    below = log_z(beta - step)
    here = log_z(beta)
    above = log_z(beta + step)
    mean = (above - below) / (2 * step)
    variance = (above - 2 * here + below) / step**2
    table = builtin("ising", seed=3)
    drawn = bonds(np.vstack([table.train, table.test]), 8)
    z = (drawn.mean() - mean) / np.sqrt(variance / len(drawn))
    assert abs(z) < z_level()


def test_ising_set():
    start = time.perf_counter()
    table = builtin("ising")
    assert time.perf_counter() - start < 3
    assert (table.kind, table.image_shape) == ("spins", (8, 8))
    assert table.train.shape == (5000, 64)
    assert table.test.shape == (1000, 64)
    assert table.train.dtype == np.int8
    assert set(np.unique(table.train)) == {-1, 1}
    assert "inverse temperature 0.44 (seed 0)" in table.notes[0]


def test_ising_is_chosen_by_its_seed():
    np.testing.assert_array_equal(builtin("ising", seed=4).train, builtin("ising", seed=4).train)
    assert (builtin("ising", seed=4).train != builtin("ising", seed=5).train).any()


# --- MNIST ------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL_MNIST.is_file(), reason="HARMONIUM_DATA names no folder with mnist")
def test_mnist_from_a_folder():
    table = builtin("mnist")
    assert (table.kind, table.scale, table.image_shape) == ("grey", 255.0, (28, 28))
    assert table.train.shape == (60_000, 784)
    assert table.test.shape == (10_000, 784)
    assert table.train.dtype == np.uint8
    assert np.bincount(table.labels).tolist()[:3] == [5923, 6742, 5958]
    assert np.bincount(table.test_labels).tolist()[:3] == [980, 1135, 1032]
    assert table.notes[-1] == "mnist: 60,000 rows of 784 grey levels, divided by 255."


def small_mnist(folder: Path) -> None:
    (folder / "mnist").mkdir()
    for part, rows in (("train", 3), ("test", 2)):
        levels = np.full((rows, 784), rows, np.uint8)
        np.savez(folder / "mnist" / f"mnist_{part}_gray.npz", x=levels, y=np.arange(rows))


def test_mnist_reads_the_two_files_of_the_folder(tmp_path, monkeypatch):
    small_mnist(tmp_path)
    monkeypatch.setenv("HARMONIUM_DATA", str(tmp_path))
    table = builtin("mnist")
    assert (table.train.shape, table.test.shape) == ((3, 784), (2, 784))
    assert (table.train.max(), table.scale) == (3, 255.0)
    assert table.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("content", [b"", b"PK rubbish", b"no zip"])
def test_a_damaged_mnist_file_is_refused(tmp_path, monkeypatch, content):
    small_mnist(tmp_path)
    (tmp_path / "mnist" / "mnist_test_gray.npz").write_bytes(content)
    monkeypatch.setenv("HARMONIUM_DATA", str(tmp_path))
    message = refusal(builtin, "mnist")
    assert "mnist_test_gray.npz" in message
    assert "unset HARMONIUM_DATA" in message


def test_mnist_through_scikit_learn(tmp_path, monkeypatch):
    class Fetched:
        data = np.tile((np.arange(70_000) % 256).astype(np.uint8)[:, None], 784)
        target = (np.arange(70_000) % 10).astype(str)

    monkeypatch.setenv("HARMONIUM_DATA", str(tmp_path))  # holds no mnist
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *args, **options: Fetched)
    table = builtin("mnist")
    assert (table.train.shape, table.test.shape) == ((60_000, 784), (10_000, 784))
    assert table.test[0, 0] == 60_000 % 256
    assert table.test_labels[:3].tolist() == [0, 1, 2]


def test_mnist_out_of_reach_says_quickly_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("HARMONIUM_DATA", raising=False)
    for name in ("no_proxy", "NO_PROXY", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # no server answers there
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    start = time.perf_counter()
    message = refusal(builtin, "mnist")
    assert time.perf_counter() - start < 5
    assert message.startswith("mnist: expected ")
    assert "URLError" in message
    assert "set HARMONIUM_DATA to a folder" in message
    assert "or connect to the network once" in message


def test_an_incomplete_mnist_is_refused(monkeypatch):
    class Fetched:
        data = np.zeros((5, 784))
        target = np.zeros(5)

    monkeypatch.delenv("HARMONIUM_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *args, **options: Fetched)
    assert "70,000 rows of 784 grey levels; got shape (5, 784)" in refusal(builtin, "mnist")
