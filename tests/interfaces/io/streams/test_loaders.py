"""Loaders of other packages as sources of a stream."""

import jax
import numpy as np
import pytest

import harmonium as hm

ROWS = (np.random.default_rng(0).random((230, 6)) < 0.4).astype(np.float32)
LABELS = np.arange(230)


def by_tensorflow():
    tensorflow = pytest.importorskip("tensorflow")
    return tensorflow.data.Dataset.from_tensor_slices(ROWS).batch(32).prefetch(2)


def by_pytorch():
    torch = pytest.importorskip("torch")
    return torch.utils.data.DataLoader(torch.asarray(ROWS), batch_size=32)


def by_hugging_face():
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({"row": ROWS}).with_format("numpy")


def by_grain():
    grain = pytest.importorskip("grain")
    return grain.MapDataset.source(ROWS).batch(32).to_iter_dataset()


def by_h5py(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["rows"] = ROWS
    return h5py.File(tmp_path / "rows.h5")["rows"]


@pytest.mark.parametrize("make", [by_tensorflow, by_pytorch, by_hugging_face, by_grain, by_h5py])
def test_a_loader_gives_its_rows_in_every_epoch(make, tmp_path):
    source = make(tmp_path) if make is by_h5py else make()
    stream = hm.Stream(source, window=100)
    assert len(stream) == 230
    np.testing.assert_array_equal(stream.some(230).rows(), ROWS)
    windows = stream.windows(20, key=jax.random.key(0))
    updates = 0
    for _ in range(2):
        seen = []
        for _ in range(3):
            window = windows.at(updates)
            seen.append(window.dataset.rows()[: int(window.count)])
            updates = window.end
        np.testing.assert_array_equal(np.concatenate(seen), ROWS)


def test_pairs_of_rows_and_labels_are_refused():
    tensorflow = pytest.importorskip("tensorflow")
    pairs = tensorflow.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(32)
    with pytest.raises(
        hm.InputError, match="a tuple of length 2, perhaps of rows and labels; yield only"
    ):
        len(hm.Stream(pairs))
