"""Rows that are read while a model learns."""

import errno
import gc
import itertools
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

import duckdb
import jax
import numpy as np
import pytest
import scipy.sparse

import harmonium as hm
from harmonium._base.statistics import effective_size
from harmonium.data import blocks

KEY = jax.random.key(3)
N = 230
COLUMNS = 6
ROWS = (np.random.default_rng(0).random((N, COLUMNS)) < 0.4).astype(np.float32)


def fitted(data, rows=ROWS, **options):
    """Return the fit of a small model."""
    options = {"epochs": 3, "batch_size": 20} | options
    visible = hm.Bernoulli(rows.shape[1])
    rbm = hm.initialize(visible, hm.Bernoulli(3), data, key=KEY)
    return hm.fit(rbm, data, key=KEY, **options)


def check_same_state(fit, other):
    """Compare the last states of two fits, bit by bit."""
    for a, b in zip(jax.tree.leaves(fit.state), jax.tree.leaves(other.state), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def batches(size=37):
    return [ROWS[first : first + size] for first in range(0, N, size)]


def in_blocks(rows, size, window=60):
    """Return a stream of blocks of so many rows."""
    with patch.object(blocks, "BYTES_IN_BLOCK", size * rows[0].nbytes):
        return hm.Stream(rows, window=window)


SOURCES = {
    "array": lambda: ROWS,
    "list": batches,
    "function": lambda: lambda: iter(batches(11)),
    "columns by name": lambda: (
        lambda: ({"a": part[:, 0], "rest": part[:, 1:]} for part in batches(50))
    ),
    "sparse": lambda: [scipy.sparse.coo_matrix(part) for part in batches()],
}


@pytest.mark.parametrize("name", SOURCES)
def test_where_one_window_holds_all_rows_the_run_is_that_of_rows_in_memory(name):
    check_same_state(fitted(hm.Stream(SOURCES[name](), window=1000)), fitted(ROWS))


def numbered(n):
    """Return rows that hold their own number in bits."""
    return (np.arange(n)[:, None] >> np.arange(12)) & 1


def visits(stream, batch, epochs):
    """Return the numbers of the rows in each window of so many epochs."""
    windows = stream.windows(batch, key=KEY)
    updates = 0
    visited = []
    for epoch in range(epochs):
        numbers = []
        while updates < (epoch + 1) * -(-len(stream) // batch):
            window = windows.at(updates)
            rows = window.dataset.rows()[: int(window.count)].astype(int)
            numbers.append(rows @ (1 << np.arange(12)))
            assert window.begin == updates
            assert window.end - window.begin == -(-int(window.count) // batch)
            updates = window.end
        visited.append(numbers)
    return visited


@pytest.mark.parametrize(
    ("n", "window", "batch", "size"),
    [(230, 60, 20, 7), (230, 50, 20, 230), (231, 7, 20, 3), (200, 100, 10, 50), (61, 60, 60, 1)],
)
def test_each_epoch_visits_every_row_once(n, window, batch, size):
    rows = numbered(n)
    stream = in_blocks(rows, size, window)
    for seen in visits(stream, batch, 3):
        assert sorted(np.concatenate(seen).tolist()) == list(range(n))


def test_blocks_come_in_another_order_in_each_epoch_the_same_for_a_key():
    first, second = visits(in_blocks(numbered(N), 7), 20, 2)
    again = visits(in_blocks(numbered(N), 7), 20, 1)[0]
    assert [x.tolist() for x in first] == [x.tolist() for x in again]
    assert [x.tolist() for x in first] != [x.tolist() for x in second]
    assert all(np.all(np.diff(x) > 0) for x in first)  # read from front to back


def test_every_block_may_be_anywhere_in_an_epoch():
    """The place of a block is uniform: χ² over 100 epochs, at level 1e-4."""
    stream = in_blocks(numbered(100), 10, window=20)
    counts = np.zeros((10, 5))
    for seen in visits(stream, 20, 100):
        for place, rows in enumerate(seen):
            counts[np.unique(rows // 10), place] += 1
    statistic = ((counts - 20.0) ** 2 / 20.0).sum()
    assert statistic < 83.0  # 36 degrees of freedom; two blocks share a place, which narrows it


def test_batches_keep_their_order():
    rows = numbered(N)
    stream = hm.Stream([rows[:100], rows[100:130], rows[130:]], window=60)
    for seen in visits(stream, 20, 2):
        assert np.concatenate(seen).tolist() == list(range(N))


@pytest.mark.parametrize(
    "stream", [lambda: in_blocks(ROWS, 7), lambda: hm.Stream(batches(), window=60)]
)
@pytest.mark.parametrize("at", [1, 4, 7, 12])
def test_a_run_goes_on_from_any_update(stream, at):
    whole = fitted(stream())
    rbm = hm.initialize(hm.Bernoulli(COLUMNS), hm.Bernoulli(3), stream(), key=KEY)
    states = []

    def stop(report):
        states.append(report.state)
        return report.updates >= at

    options = {"key": KEY, "epochs": 3, "batch_size": 20}
    hm.fit(rbm, stream(), callbacks=[stop], **options)
    state = next(s for s in states if int(s.updates) >= min(at, int(states[-1].updates)))
    check_same_state(hm.fit(rbm, stream(), state=state, **options), whole)


def test_a_stream_learns_what_rows_in_memory_teach():
    """The mean log-likelihoods over six seeds agree: Welch's t, at level 1e-4 (8 d.f. or more)."""
    rows = np.tile(hm.bars_and_stripes(3), (50, 1))
    scores = []
    stream = in_blocks(rows, 7, window=200)
    for data in (hm.Dataset(rows), stream):
        options = {"epochs": 20, "optimizer": hm.Recipe(rate=0.5), "batch_size": 20}
        fits = []
        for key in jax.random.split(KEY, 6):
            rbm = hm.initialize(hm.Bernoulli(9), hm.Bernoulli(6), data, key=key)
            fits.append(hm.fit(rbm, data, key=key, **options))
        scores.append([hm.log_likelihood(fit.rbm, rows[:14]).value for fit in fits])
    apart = np.mean(scores[0]) - np.mean(scores[1])
    assert abs(apart) < 7.1 * np.sqrt(np.var(scores, axis=1, ddof=1).sum() / 6), scores
    assert np.mean(scores) > -5.0, scores  # of independent units: −6.2; at best −2.6


# --- files ----------------------------------------------------------------------------------


def write_npy(folder):
    for i, part in enumerate(batches(100)):
        np.save(folder / f"rows-{i}.npy", part)


def write_fortran(folder):
    np.save(folder / "rows.npy", np.asfortranarray(ROWS))


def write_parquet(folder):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for i, part in enumerate(batches(100)):
        columns = {f"c{k}": part[:, k] for k in range(COLUMNS)}
        parquet.write_table(pyarrow.table(columns), folder / f"{i}.parquet", row_group_size=30)


def write_lists(folder):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cells = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(ROWS.ravel()), COLUMNS)
    parquet.write_table(pyarrow.table({"row": cells}), folder / "a.parquet", row_group_size=30)


def write_arrow(folder):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({f"c{k}": ROWS[:, k] for k in range(COLUMNS)})
    with pyarrow.ipc.new_file(str(folder / "rows.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=33)


WRITERS = [write_npy, write_fortran, write_parquet, write_lists, write_arrow]


@pytest.mark.parametrize("write", WRITERS)
def test_files_hold_the_rows(write, tmp_path):
    write(tmp_path)
    files = sorted(tmp_path.iterdir())
    for source in (tmp_path, f"{tmp_path}/*{files[0].suffix}", files):
        stream = hm.Stream(source, window=60)
        assert len(stream) == N
        np.testing.assert_array_equal(stream.some(N).rows(), ROWS)
    check_same_state(fitted(hm.Stream(tmp_path, window=1000)), fitted(ROWS))
    fit = fitted(hm.Stream(tmp_path, window=60))
    assert fit.message == "finished after 36 updates (3 epochs)"


@pytest.mark.parametrize("write", WRITERS)
def test_there_may_be_more_files_than_a_process_can_open(write, tmp_path):
    resource = pytest.importorskip("resource")  # not on Windows
    write(tmp_path)
    first, *others = sorted(tmp_path.iterdir())
    rows = hm.Stream(first).some(N).rows()
    for other in others:
        other.unlink()
    for i in range(60):
        (tmp_path / f"copy-{i}{first.suffix}").symlink_to(first)
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 40, most))
    try:
        stream = hm.Stream(tmp_path)
        all_rows = stream.some(61 * len(rows)).rows()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    np.testing.assert_array_equal(all_rows, np.tile(rows, (61, 1)))


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", ROWS)

    def refuse(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(np, "load", refuse)
    with pytest.raises(hm.InputError, match="got too many open files; raise their limit"):
        hm.Stream(tmp_path)


def test_a_query_of_a_database_is_a_source(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    for i, part in enumerate(batches(100)):
        header = ",".join(f"c{k}" for k in range(COLUMNS))
        np.savetxt(tmp_path / f"{i}.csv", part, "%g", ",", header=header, comments="")
    query = f"from '{tmp_path}/*.csv'"
    stream = hm.Stream(lambda: pyarrow.RecordBatchReader.from_stream(duckdb.sql(query)), window=60)
    np.testing.assert_array_equal(stream.some(N).rows(), ROWS)
    check_all_rows(stream)


def test_archives_of_arrays_are_refused_with_advice(tmp_path):
    np.savez(tmp_path / "rows-0.npz", train=ROWS)
    for source in (tmp_path, tmp_path / "rows-0.npz", f"{tmp_path}/*.npz"):
        with pytest.raises(hm.InputError, match=r"got \.npz; save its array as \.npy"):
            hm.Stream(source)


def test_empty_cells_of_a_file_are_missing_values(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"a": [1, None, 0], "b": [True, False, None], "c": [0.0, 1.0, 1.0]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    stream = hm.Stream(tmp_path / "rows.parquet")
    expected = [[1, 1, 0], [np.nan, 0, 1], [0, np.nan, 1]]
    np.testing.assert_array_equal(stream.some(3).rows(), expected)
    assert stream.missing == 1


def test_groups_and_batches_may_be_empty(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({f"c{k}": ROWS[:, k] for k in range(COLUMNS)})
    parts = [table[:0], table[:100], table[:0], table[100:], table[:0]]
    parts = [(p.to_batches() or [table.to_batches()[0][:0]])[0] for p in parts]
    with pyarrow.ipc.new_file(str(tmp_path / "rows.arrow"), table.schema) as file:
        for part in parts:
            file.write_batch(part)
    with parquet.ParquetWriter(tmp_path / "rows.parquet", table.schema) as file:
        for part in parts:
            file.write_table(pyarrow.Table.from_batches([part]))
    for source in ("rows.arrow", "rows.parquet"):
        stream = hm.Stream(tmp_path / source, window=60)
        assert (np.diff(stream.source.spans) == 0).sum() == 3
        check_all_rows(stream)
    by_name = [{"a": p[:, :1], "b": p[:, 1:]} for p in (ROWS[:0], ROWS, ROWS[:0])]
    check_all_rows(hm.Stream(by_name, window=60))


def check_all_rows(stream):
    """Read an epoch of rows, in any order."""
    windows = stream.windows(20, key=KEY)
    rows = []
    for updates in range(0, 12, 3):
        window = windows.at(updates)
        rows.append(window.dataset.rows()[: int(window.count)])
    assert sorted(map(tuple, np.concatenate(rows))) == sorted(map(tuple, ROWS))


def test_one_block_is_kept_and_threads_do_not_mix_blocks():
    loads = []

    def load(number):
        loads.append(number)
        return np.full((50, 3), number)

    rows = blocks.Blocks([blocks.Block(50, partial(load, i), "data") for i in range(6)])
    assert (rows.read(50, 60) == rows.read(60, 100)[:10]).all()
    assert loads == [1]

    def read(block):
        places = [i % 6 for i in range(block, block + 20)]
        return all((rows.read(50 * i, 50 * i + 50) == i).all() for i in places)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(24)))


def test_a_block_with_other_rows_than_the_file_says_is_refused():
    rows = blocks.Blocks([blocks.Block(31, lambda: ROWS[:30], "0.parquet")])
    with pytest.raises(hm.InputError, match=r"0\.parquet: expected 31 rows, as in the first"):
        rows.read(0, 31)


def test_a_group_that_unpacks_to_much_is_not_read(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"a": np.zeros(100_000)}), tmp_path / "rows.parquet")
    monkeypatch.setattr("harmonium._base.files.UNPACKED_BYTES", 2**10)
    with pytest.raises(hm.InputError, match="write it with smaller row groups"):
        hm.Stream(tmp_path / "rows.parquet")


# --- options --------------------------------------------------------------------------------


def test_rows_with_missing_values():
    rows = ROWS.copy()
    rows[::3, 1] = np.nan
    gradient = hm.Contrastive(hm.Gibbs(1))
    fit = fitted(hm.Stream(rows, window=60), gradient=gradient)
    assert not fit.diverged
    stream = hm.Stream([ROWS[:100], rows[100:]], window=60)
    with pytest.raises(hm.InputError, match=r"at most 0 missing values .* got 1; pass missing=1"):
        fitted(stream)
    fitted(hm.Stream([ROWS[:100], rows[100:]], window=60, missing=1), gradient=gradient)


def test_weights_belong_to_rows_of_the_source():
    weights = np.arange(1, N + 1)
    stream = hm.Stream(numbered(N), window=60, weights=weights)
    windows = stream.windows(20, key=KEY)
    window = windows.at(0)
    rows = window.dataset.rows()[: int(window.count)].astype(int) @ (1 << np.arange(12))
    window_weights = np.asarray(window.dataset.weights)[: len(rows)]
    np.testing.assert_allclose(window_weights, (rows + 1) / weights.mean(), rtol=1e-6)
    np.testing.assert_allclose(stream.effective_rows, effective_size(weights.astype(float)))
    rest, held = stream.split_off(30)
    assert len(rest.weights) == len(rest) == N - 30
    others = np.setdiff1d(weights, np.rint(np.asarray(rest.weights) * weights.mean()))
    np.testing.assert_allclose(np.sort(held.weights), others / weights.mean(), rtol=1e-6)
    check_same_state(
        fitted(hm.Stream(ROWS, window=1000, weights=weights)),
        fitted(hm.Dataset(ROWS, weights)),
    )


def test_grey_levels_are_drawn():
    greys = (255 * np.random.default_rng(1).random((N, COLUMNS))).astype(np.uint8)
    options = {"scale": 255, "stochastic": True}
    check_same_state(
        fitted(hm.Stream(greys, window=1000, **options)),
        fitted(hm.Dataset(greys, **options)),
    )
    fitted(hm.Stream(greys, window=60, **options))


def test_rows_are_held_out_once():
    rows = numbered(N)
    for stream in (in_blocks(rows, 7), hm.Stream([rows[:100], rows[100:]], window=60)):
        rest, held = stream.split_off(40)
        assert len(held) == 40
        assert len(rest) == N - 40
        there = np.concatenate(visits(rest, 20, 1)[0])
        held_out = held.rows().astype(int) @ (1 << np.arange(12))
        assert sorted([*there, *held_out]) == list(range(N))


def test_changes_follow_one_another_as_in_memory():
    greys = np.arange(12, dtype=np.uint8).reshape(4, 3)
    stream = hm.Stream(greys, scale=2.0).changed(lambda x: x + 1).changed(lambda x: 3 * x)
    np.testing.assert_array_equal(stream.some(4).rows(), 3 * (greys / 2 + 1))


def test_windows_of_sparse_rows_share_a_compiled_loop():
    """Otherwise each would be compiled for, by its number of entries."""
    rows = scipy.sparse.random_array(
        (4000, 300), density=0.02, random_state=np.random.default_rng(0)
    )
    rows = (rows > 0).astype(float).tocsr()
    windows = hm.Stream(rows, window=400).windows(100, key=KEY)
    datasets = [windows.at(updates).dataset for updates in range(0, 40, 4)]
    np.testing.assert_array_equal(
        sorted(map(tuple, np.concatenate([d.rows() for d in datasets]))),
        sorted(map(tuple, rows.toarray())),
    )
    assert len({tuple(x.shape for x in jax.tree.leaves(d)) for d in datasets}) <= 2


def test_windows_have_the_precision_of_the_thread_that_wants_them():
    with jax.enable_x64(True):
        rows = np.random.default_rng(0).normal(size=(N, 2))
        window = hm.Stream(rows, window=60).windows(20, key=KEY).at(0)
        assert window.dataset.stored.values.dtype == np.float64


def test_a_run_reads_in_one_thread_from_its_first_update_to_its_last():
    here = threading.get_ident()
    passes = []

    def read():
        passes.append(threading.get_ident())
        yield from batches()

    stream = hm.Stream(read, rows=N, window=100)
    rbm = hm.initialize(hm.Bernoulli(COLUMNS), hm.Bernoulli(3), stream, key=KEY)
    hm.fit(rbm, stream, key=KEY, epochs=2, batch_size=20)
    time.sleep(0.2)  # in which another pass would begin
    assert [thread == here for thread in passes[-3:]] == [True, False, False]
    assert all(thread == here for thread in passes[:-2])


def test_no_more_than_a_block_is_read_at_once():
    class Slow:
        shape = (5_000, 784)
        largest = 0

        def __getitem__(self, index):
            rows = range(*index.indices(self.shape[0]))
            self.largest = max(self.largest, len(rows))
            return np.zeros((len(rows), self.shape[1]), np.float32)

    source = Slow()
    stream = hm.Stream(source, window=600)
    windows = stream.windows(200, key=KEY)
    assert int(windows.at(0).count) == 600
    assert source.largest * 4 * 784 <= 2**20


def test_windows_are_forgotten():
    stream = hm.Stream(ROWS, window=60).checked_for(hm.Bernoulli(COLUMNS))
    windows = stream.windows(20, key=KEY)
    known = [weakref.ref(windows.at(updates).dataset.stored.values) for updates in range(0, 48, 3)]
    gc.collect()
    assert sum(ref() is not None for ref in known) <= 2  # the last one, and one that is read ahead


# --- errors ---------------------------------------------------------------------------------


def wrong_later():
    rows = ROWS.copy()
    rows[150, 2] = 7.0
    return rows


TINY = hm.RBM.from_arrays(np.zeros((6, 2)), np.zeros(6), np.zeros(2))
ERRORS = {
    "an iterator": (lambda: hm.Stream(iter(batches())), "read only once; pass the function"),
    "pairs": (lambda: hm.Stream([(ROWS, ROWS)]).columns, "a tuple of length 2, perhaps of rows"),
    "no batches": (lambda: hm.Stream([ROWS[0]]).columns, r"\(6,\); batch the rows"),
    "pictures": (lambda: hm.Stream(np.zeros((3, 2, 2))), r"shape \(rows, columns\)"),
    "words": (lambda: hm.Stream([np.array([["a"]])]).columns, "expected numbers; got an array"),
    "nothing": (lambda: hm.Stream(3), "files, an array, or an iterable of batches; got 3"),
    "no file": (lambda: hm.Stream("nowhere/*.npy"), "a file, a folder of files, or a pattern"),
    "widths": (lambda: fitted(hm.Stream([ROWS, ROWS[:, :3]])), "6 columns, as in the first rows"),
    "too few": (
        lambda: fitted(hm.Stream(batches, rows=500, window=60)),
        "expected 500 rows; got 230",
    ),
    "sparse and dense": (
        lambda: fitted(hm.Stream([ROWS, scipy.sparse.csr_array(ROWS)])),
        "all dense; got both",
    ),
    "outside": (
        lambda: fitted(hm.Stream(batches_of(wrong_later()), window=60)),
        "7 in row 150, column 2",
    ),
    "a window": (lambda: hm.Stream(ROWS, window=0), "window: expected a whole number"),
    "weights": (
        lambda: hm.Stream(ROWS, weights=[1.0]),
        "weights: expected 230 finite non-negative numbers",
    ),
    "weights twice": (
        lambda: fitted(hm.Stream(ROWS), weights=np.ones(N)),
        "expected none with a Stream",
    ),
    "a score": (
        lambda: hm.log_likelihood(TINY, hm.Stream(ROWS)),
        "expected rows in memory here; got a Stream",
    ),
    "a portion": (
        lambda: hm.partial_fit(TINY, hm.Stream(ROWS), key=KEY),
        "expected rows in memory here; got a Stream",
    ),
    "widths of sparse": (
        lambda: fitted(hm.Stream([scipy.sparse.csr_array(ROWS[:, :n]) for n in (6, 3)])),
        "6 columns, as in the first rows; got 3 from row 230 on",
    ),
    "no batches at all": (lambda: fitted(hm.Stream([])), "expected batches of rows; got no rows"),
    "no iterator": (lambda: hm.Stream(lambda: None).columns, "function that returns an iterator"),
    "a pattern": (lambda: hm.Stream("rows**.npy"), "a file, a folder of files, or a pattern"),
    "a long name": (lambda: hm.Stream(300 * "a"), "File name too"),
    "dates": (
        lambda: hm.Stream([{"a": [1.0], "d": [np.datetime64("2001-01-01")]}]).columns,
        r"data, 'd': expected numbers; got an array of dtype datetime64",
    ),
    "columns of other lengths": (
        lambda: hm.Stream([{"a": [1.0, 0.0], "b": [1.0]}]).columns,
        r"columns of equal length; got shapes \(2,\), \(1,\)",
    ),
    "a number by name": (lambda: hm.Stream([{"a": 1.0}]).columns, "columns of equal length"),
    "no columns": (lambda: hm.Stream([{}]).columns, "got shapes no columns"),
    "greys that are drawn": (
        lambda: hm.Stream(ROWS, stochastic=True).changed(abs),
        "the same values at each visit",
    ),
    "a number of rows": (lambda: hm.Stream(ROWS, rows=7), "rows: expected None with data"),
    "all held out": (lambda: hm.Stream(ROWS).split_off(N), "fewer than the 230 rows; got 230"),
}


def batches_of(rows):
    return [rows[first : first + 50] for first in range(0, len(rows), 50)]


@pytest.mark.parametrize("what", ERRORS)
def test_errors_name_what_is_wrong(what):
    call, message = ERRORS[what]
    with pytest.raises(hm.InputError, match=message):
        call()


def test_later_rows_must_be_as_exact_as_the_first():
    rows = ROWS.copy()
    rows[200:, 0] = 0.5
    with pytest.raises(hm.InputError, match="small whole numbers, as in the rows at the beginning"):
        fitted(hm.Stream(batches_of(rows), window=60), precision="bfloat16")
    fitted(hm.Stream(batches_of(rows), window=60), precision="float32")


def test_a_damaged_file_is_named(tmp_path):
    write_npy(tmp_path)
    (tmp_path / "rows-1.npy").write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(hm.InputError, match=r"rows-1\.npy"):
        hm.Stream(tmp_path)
    np.save(tmp_path / "other.npy", ROWS[:, :2])
    with pytest.raises(hm.InputError, match=r"expected 6 columns, as in .*; got 2"):
        hm.Stream([tmp_path / "rows-0.npy", tmp_path / "other.npy"])


def test_reading_ahead_does_not_change_the_rows():
    """Windows may be called for in any order, as by a run that starts again."""
    stream = in_blocks(numbered(N), 7)
    windows = stream.windows(20, key=KEY)
    updates = [0, 3, 6, 0, 9, 23, 5, 0]
    rows = [windows.at(update).dataset.rows() for update in updates]
    for (i, a), (j, b) in itertools.combinations(list(zip(updates, rows, strict=True)), 2):
        if i == j:
            np.testing.assert_array_equal(a, b)


def test_an_iterator_may_be_bound_to_its_thread():
    def bound():
        thread = threading.get_ident()
        for part in batches(10):
            assert threading.get_ident() == thread
            yield part

    stream = hm.Stream(bound, rows=N, window=60)
    stream.some(1)
    fitted(stream)


def test_the_thread_ends_with_the_windows():
    windows = hm.Stream(ROWS, window=60).windows(20, key=KEY)
    windows.at(0)
    (thread,) = windows.thread._threads
    del windows
    gc.collect()
    thread.join(5.0)
    assert not thread.is_alive()
