from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import harmonium as hm
from harmonium.data.stored import Bits, Nonzeros, Numbers, padded_size, stored
from registry import random_rbm

RNG = np.random.default_rng(0)
SPARSE = (RNG.random((300, 400)) < 0.01) * 1.0
KINDS = {
    "bits": (RNG.integers(0, 2, (20, 13)), Bits),
    "bytes": (RNG.integers(0, 256, (20, 13)), Numbers),
    "floats": (RNG.normal(size=(20, 13)).astype(np.float32), Numbers),
    "sparse bits": (scipy.sparse.csr_array(SPARSE), Nonzeros),
    "sparse floats": (scipy.sparse.csr_matrix(SPARSE * np.float32(0.3)), Nonzeros),
    "columns first": (scipy.sparse.csc_array(SPARSE * 3), Nonzeros),
    "a sparse type of full rows": (scipy.sparse.csr_array(np.ones((20, 13))), Bits),
    "nothing but zeros": (scipy.sparse.csr_array((20, 400)), Nonzeros),
}


@pytest.mark.parametrize(("rows", "form"), KINDS.values(), ids=KINDS)
def test_rows_come_back(rows, form):
    dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
    matrix = stored(rows)
    assert isinstance(matrix, form)
    assert (len(matrix), matrix.columns) == dense.shape
    which = np.array([3, 0, 19, 3])
    np.testing.assert_array_equal(matrix.take(jnp.asarray(which)), dense[which])
    np.testing.assert_array_equal(matrix.chosen(which).take(jnp.arange(4)), dense[which])
    more = matrix.filled_to(len(matrix) + 5)
    assert len(more) == len(matrix) + 5
    np.testing.assert_array_equal(jax.jit(type(more).take)(more, jnp.asarray(which)), dense[which])


@pytest.mark.parametrize(("rows", "form"), KINDS.values(), ids=KINDS)
def test_only_the_chosen_rows_are_stored(monkeypatch, rows, form):
    monkeypatch.setattr("harmonium.data.parts.rows_at_once", lambda width: 3)
    dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
    which = np.array([7, 0, 19, 3, 4, 5, 11])
    data = hm.Dataset(rows, np.arange(7), which=which)
    assert len(data) == 7
    assert isinstance(data.stored, form)
    np.testing.assert_array_equal(data.rows(), dense[which])


@pytest.mark.parametrize(("rows", "form"), KINDS.values(), ids=KINDS)
def test_a_mask_chooses_rows(rows, form):
    dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
    mask = np.arange(len(dense)) % 3 == 1
    np.testing.assert_array_equal(hm.Dataset(rows, which=mask).rows(), dense[mask])


@pytest.mark.parametrize(
    "which", [np.ones(19, bool), np.zeros(20, bool), [], [0.5], [[1]], [20], [-1]]
)
@pytest.mark.parametrize("kind", ["bits", "a sparse type of full rows"])
def test_rows_that_are_not_there_are_refused(kind, which):
    with pytest.raises(hm.InputError, match="which: expected indices"):
        hm.Dataset(KINDS[kind][0], which=np.asarray(which))


def test_an_infinite_number_of_two_bytes_stays_one():
    rows = np.array([[0, 1], [np.inf, 1]], np.float16)
    assert np.isinf(hm.Dataset(rows).rows()[1, 0])
    with pytest.raises(hm.InputError, match="finite"):
        hm.fit(random_rbm(hm.Gaussian(2), hm.Bernoulli(2), 0), rows, key=jax.random.key(0))


def test_what_is_given_is_left_as_it_is():
    matrix = scipy.sparse.csr_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 300))
    before = matrix.copy()
    assert stored(matrix).take(jnp.arange(2))[0, 1] == 3
    np.testing.assert_array_equal(matrix.data, before.data)


def test_a_large_sparse_matrix_stays_small():
    rows = scipy.sparse.random_array(
        (50_000, 20_000), density=1e-4, random_state=np.random.default_rng(1)
    )
    rows.data[:] = 1.0
    matrix = stored(rows)
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(matrix)) < 2e6  # 125 MB as bits


def test_training_on_sparse_rows_is_training_on_the_rows():
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(400), hm.Bernoulli(3), SPARSE, key=key)
    fits = [
        hm.fit(rbm, rows, key=key, epochs=2, batch_size=64).rbm
        for rows in (SPARSE, scipy.sparse.csr_array(SPARSE))
    ]
    for from_dense, from_sparse in zip(*map(jax.tree.leaves, fits), strict=True):
        np.testing.assert_array_equal(from_sparse, from_dense)


def test_sparse_rows_outside_the_domain_are_named():
    rows = scipy.sparse.csr_array(SPARSE * 7)
    rbm = hm.initialize(hm.Bernoulli(400), hm.Bernoulli(3), key=jax.random.key(0))
    with pytest.raises(hm.InputError, match=r"values in \[0, 1\]; got 7"):
        hm.fit(rbm, rows, key=jax.random.key(0))


def test_sizes_grow_by_an_eighth_at_most():
    sizes = np.arange(1, 5_000)
    rooms = np.array([padded_size(int(n)) for n in sizes])
    assert (rooms >= sizes).all()
    assert (rooms <= sizes * 1.125 + 1).all()
    assert len(np.unique(rooms)) < 90


@pytest.mark.parametrize("n", [1, 8_192, 8_193, 20_000])
def test_rows_on_disk_are_packed_a_part_at_a_time(tmp_path, n):
    rows = (np.random.default_rng(0).random((n, 11)) < 0.5).astype(np.uint8)
    np.save(tmp_path / "rows.npy", rows)
    data = hm.Dataset(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert data.stored.is_binary
    np.testing.assert_array_equal(data.rows(), rows)
    rows[-1, 3] = 2
    assert not hm.Dataset(rows).stored.is_binary


def test_very_many_rows_are_not_copied_to_save_compiling(monkeypatch):
    data = hm.Dataset(np.eye(37, dtype=np.uint8))
    assert len(data.padded()) == padded_size(37) > 37
    monkeypatch.setattr("harmonium.data.dataset.MOST_TO_COPY", 30)
    assert data.padded() is data


def test_pages_of_a_mapped_file_are_given_back(tmp_path):
    smaps = Path("/proc/self/smaps")
    if not smaps.exists():
        pytest.skip("only Linux tells what is resident")
    rows = (np.random.default_rng(0).random((60_000, 784)) < 0.2).astype(np.uint8)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    data = hm.Dataset(mapped)
    lines = iter(smaps.read_text().splitlines())
    resident = [
        int(next(line for line in lines if line.startswith("Rss:")).split()[1])
        for line in lines
        if line.endswith("rows.npy")
    ]
    assert resident == [pytest.approx(0, abs=rows.nbytes / 1024 / 4)]
    np.testing.assert_array_equal(data.values(59_000, 60_000), rows[59_000:])


def test_changes_of_a_file_mapped_copy_on_write_stay(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((20_000, 16), np.uint8))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="c")
    mapped[:] = 1
    assert hm.Dataset(mapped).values(0, 20_000).all()
    assert mapped.all()
