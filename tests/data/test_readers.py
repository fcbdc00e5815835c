"""Reading files into arrays: every format, and every way in which a file can be wrong."""

import contextlib
import gzip
import os
import pickle
from pathlib import Path

import duckdb
import numpy as np
import pytest

from harmonium.data.readers import cells_of, is_readable, read_file, read_frame
from harmonium.errors import InputError
from refusals import GRAMMAR

BITS = np.arange(24).reshape(6, 4) % 2


class Trap:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self):
        return os._exit, (66,)


def read_array(*given):
    """Return the rows of a file, and all that it holds."""
    contents = read_file(*given)
    return contents.train, contents


def refusal(path, key=None) -> str:
    """Return the error message, which must be one line that begins with the file's name."""
    with pytest.raises(InputError) as caught:
        read_array(path, key)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: expected ")
    assert GRAMMAR.search(message)
    assert message.endswith(".")
    return message


def write_parquet(path: Path, query: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"copy ({query}) to '{path}' (format parquet)")


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def idx_bytes(array: np.ndarray, code: int = 8, dtype: str = ">u1") -> bytes:
    head = bytes([0, 0, code, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return head + array.astype(dtype).tobytes()


# --- Any file ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("a.npy", True),
        ("a.NPZ", True),
        ("a.CSV", True),
        ("a.parquet", True),
        ("a.csv.gz", True),
        ("train-images-idx3-ubyte", True),
        ("train-images.idx3-ubyte.gz", True),
        ("a.IDX.GZ", True),
        ("a.xlsx", False),
        ("a.npy.gz", False),
        ("a", False),
        (".idx", False),
    ],
)
def test_the_name_tells_the_format(name, readable):
    assert is_readable(name) == readable


@pytest.mark.parametrize(("name", "reason"), [("a.xlsx", "'.xlsx'"), ("a", "without a suffix")])
def test_an_unknown_suffix_is_answered_with_the_known_ones(tmp_path, name, reason):
    message = refusal(written(tmp_path / name, "0,1"))
    assert reason in message
    for known in (".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet", ".idx", "-idx3-ubyte", ".gz"):
        assert known in message
    assert "convert the file" in message


def test_a_missing_file(tmp_path):
    assert "got no such file; check the path" in refusal(tmp_path / "a.csv")


def test_a_folder(tmp_path):
    assert "got a folder; name one file in it" in refusal(tmp_path)


def test_a_file_that_must_not_be_read(tmp_path, monkeypatch):
    def refuse(self, *args):
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path / "a.csv", "0,1")
    monkeypatch.setattr(Path, "open", refuse)
    assert "got permission denied; change its permissions" in refusal(path)


def test_a_name_too_long_for_the_disk(tmp_path):
    assert "expected a readable file" in refusal(tmp_path / ("x" * 5000 + ".csv"))


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.csv", "a.idx", "a.parquet"])
def test_an_empty_file(tmp_path, name):
    assert "expected data; got an empty file" in refusal(written(tmp_path / name, ""))


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.idx.gz", "a.idx", "a.parquet"])
@pytest.mark.parametrize("content", ["0,1\n1,0\n", b"\x00", b"\x80\x04K\x01."])
def test_content_that_the_suffix_does_not_promise(tmp_path, name, content):
    refusal(written(tmp_path / name, content))


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.idx", "a.idx.gz", "a.parquet", "a.csv"])
def test_truncated_files_give_an_error_or_whole_numbers(tmp_path, name):
    path = tmp_path / name
    values = str(list(map(tuple, BITS.tolist())))[1:-1]
    whole = {
        "a.npy": lambda: np.save(path, BITS),
        "a.npz": lambda: np.savez_compressed(path, train=BITS, test=BITS),
        "a.idx": lambda: path.write_bytes(idx_bytes(BITS)),
        "a.idx.gz": lambda: path.write_bytes(gzip.compress(idx_bytes(BITS))),
        "a.parquet": lambda: write_parquet(path, f"values {values}"),
        "a.csv": lambda: np.savetxt(path, BITS, fmt="%d", delimiter=","),
    }
    whole[name]()
    np.testing.assert_array_equal(read_array(path)[0], BITS)
    content = path.read_bytes()
    for length in range(0, len(content) - 2, max(1, len(content) // 40)):
        written(path, content[:length])
        if name != "a.csv":
            refusal(path)
        elif content[:length].count(b"\n") and content[length - 1 : length].isdigit():
            with contextlib.suppress(InputError):  # a last line that is too short
                read_array(path)


def test_a_key_belongs_to_npz_files_only(tmp_path):
    message = refusal(written(tmp_path / "a.csv", "0,1"), "x")
    assert "a key only after an .npz file; got 'x'" in message


# --- .npy -------------------------------------------------------------------------------


def test_npy_is_read_as_it_is(tmp_path):
    for array in (BITS, BITS.reshape(2, 3, 4), np.float32([1.5]), np.array(3)):
        np.save(tmp_path / "rows.npy", array)
        read, info = read_array(tmp_path / "rows.npy")
        np.testing.assert_array_equal(read, array)
        assert read.dtype == array.dtype
        assert info.name == "rows"
    (tmp_path / "rows.npy").rename(tmp_path / "ROWS.NPY")
    assert read_array(str(tmp_path / "ROWS.NPY"))[1].name == "ROWS"


def test_npy_of_objects_is_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[Trap(), Trap()]], dtype=object), allow_pickle=True)
    message = refusal(tmp_path / "a.npy")
    assert "pickled Python objects, which are never loaded" in message
    assert "save an array of integers or floats" in message


def test_a_pickle_called_npy_is_never_loaded(tmp_path):
    message = refusal(written(tmp_path / "a.npy", pickle.dumps(Trap())))
    assert "a NumPy .npy file of numbers; got other content" in message
    assert "numpy.save" in message


def test_an_npz_called_npy(tmp_path):
    np.savez(tmp_path / "a.npz", x=BITS)
    (tmp_path / "a.npz").rename(tmp_path / "a.npy")
    assert "rename the file to match its format" in refusal(tmp_path / "a.npy")


# --- .npz -------------------------------------------------------------------------------


def npz(tmp_path, **arrays) -> Path:
    path = tmp_path / "set.npz"
    np.savez(path, **arrays)
    return path


def test_one_array_of_rows_needs_no_key(tmp_path):
    read, info = read_array(npz(tmp_path, x=BITS, alphabet=np.array("ACDE"), y=np.arange(6)))
    np.testing.assert_array_equal(read, BITS)
    assert info.labels.tolist() == list(range(6))
    assert info.notes == ("set: 'x' contains the train rows.",)


@pytest.mark.parametrize(
    ("train", "test", "valid", "y", "y_test"),
    [
        ("train", "test", "valid", "y", "y_test"),
        ("train", "test", "validation", "y_train", "y_test"),
        ("X_train", "X_test", "x_val", "y_train", "Y_test"),
    ],
)
def test_parts_are_known_by_their_usual_names(tmp_path, train, test, valid, y, y_test):
    arrays = {train: BITS, test: BITS[:2], valid: BITS[:3], y: np.arange(6), y_test: np.ones(2)}
    read, info = read_array(npz(tmp_path, **arrays, other=BITS))
    assert [len(a) for a in (read, info.test, info.validation)] == [6, 2, 3]
    assert info.labels.tolist() == list(range(6))
    assert info.test_labels.tolist() == [1, 1]
    assert f"set: {test!r} contains the test rows." in info.notes


def test_a_key_gives_that_array_alone(tmp_path):
    path = npz(tmp_path, train=BITS, test=1 - BITS[:2], y=np.arange(6))
    read, info = read_array(path, "test")
    np.testing.assert_array_equal(read, 1 - BITS[:2])
    assert info.test is None
    assert info.labels is None
    assert read_array(path, "train")[1].labels is not None


def test_several_arrays_are_listed_with_their_shapes(tmp_path):
    message = refusal(npz(tmp_path, a=BITS, b=BITS.reshape(2, 3, 4), c=np.arange(3)))
    assert "a (6, 4), b (2, 3, 4), c (3,)" in message
    assert "FILE.npz:KEY" in message
    assert "'train'" in message


def test_an_unknown_key_is_answered_with_the_known_ones(tmp_path):
    message = refusal(npz(tmp_path, a=BITS, b=BITS), "z")
    assert "data rows under 'z'; got a (6, 4), b (6, 4)" in message


def test_labels_are_never_data(tmp_path):
    one_hot = np.eye(6, dtype=int)
    assert len(read_array(npz(tmp_path, x=BITS, y=one_hot))[0].T) == 4
    assert "under 'y'; got labels" in refusal(npz(tmp_path, x=BITS, y=one_hot), "y")
    assert "expected an array of rows" in refusal(npz(tmp_path, y=one_hot))


def test_an_npz_without_arrays(tmp_path):
    assert "got no arrays" in refusal(npz(tmp_path))
    assert "got w (3,)" in refusal(npz(tmp_path, w=np.arange(3)))


def test_objects_in_an_npz_are_never_loaded(tmp_path):
    trap = np.array([[Trap()]], dtype=object)
    path = tmp_path / "set.npz"
    np.savez(path, x=BITS, trap=trap, allow_pickle=True)
    np.testing.assert_array_equal(read_array(path)[0], BITS)
    message = refusal(path, "trap")
    assert "under 'trap'; got Python objects, which are never loaded" in message
    assert "x (6, 4), trap (objects)" in message


@pytest.mark.parametrize("width", [1, 4, 7, 8, 9, 20])
def test_bits_are_unpacked(tmp_path, width):
    bits = np.random.default_rng(0).integers(0, 2, (6, width), dtype=np.uint8)
    packed = np.packbits(bits, axis=1)
    path = npz(tmp_path, train=packed, test=packed[:2], n_visible=width)
    read, info = read_array(path)
    np.testing.assert_array_equal(read, bits)
    np.testing.assert_array_equal(info.test, bits[:2])
    assert f"set: bits unpacked, {width} per row." in info.notes
    np.testing.assert_array_equal(read_array(path, "test")[0], bits[:2])


def test_rows_as_wide_as_n_visible_are_not_packed(tmp_path):
    read, info = read_array(npz(tmp_path, train=BITS, n_visible=4))
    np.testing.assert_array_equal(read, BITS)
    assert len(info.notes) == 1


@pytest.mark.parametrize("n_visible", [40, 3, 0, -8, 2.5, [4, 4], "four"])
def test_rows_that_do_not_fit_n_visible(tmp_path, n_visible):
    message = refusal(npz(tmp_path, train=BITS, n_visible=n_visible))
    assert "bits packed into uint8 rows alongside n_visible" in message
    assert "got train of int64, shape (6, 4)" in message
    assert "numpy.packbits" in message


def test_a_damaged_npz(tmp_path):
    path = npz(tmp_path, x=BITS)
    written(path, path.read_bytes()[:-30])
    message = refusal(path)
    assert "a NumPy .npz file of arrays; got a truncated or damaged one" in message
    assert "copy or write the file again" in message


# --- Text -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.txt", "ROWS.CSV"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "   ", ", ", ",\t", " ; "])
def test_delimiters_are_found(tmp_path, name, delimiter):
    lines = [delimiter.join(map(str, row)) for row in BITS]
    read, info = read_array(written(tmp_path / name, "\n".join(lines)))
    np.testing.assert_array_equal(read, BITS)
    assert read.dtype == np.int64
    assert info.notes == ()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blank_lines_and_line_ends_do_not_matter(tmp_path, end):
    content = end.join(["", "0,1", "   ", "1,1", "", ""])
    assert read_array(written(tmp_path / "a.csv", content))[0].tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    "content",
    [
        "left,right\n0,1\n1,1\n",
        "\ufeffleft,right\n0,1\n1,1\n",
        '"the left, half",right\n0,1\n1,1\n',
        "left right\n0 1\n1 1\n",
        "\n,right\n0,1\n1,1\n",
        "pixel 1;pixel 2\n0;1\n1;1",
    ],
)
def test_a_header_is_recognised_and_skipped(tmp_path, content):
    read, info = read_array(written(tmp_path / "a.csv", content))
    assert read.tolist() == [[0, 1], [1, 1]]
    assert info.notes == ("a: the first line names the 2 columns.",)


def test_a_single_column_and_a_single_row(tmp_path):
    assert read_array(written(tmp_path / "a.csv", "0\n1\n1\n"))[0].shape == (3, 1)
    assert read_array(written(tmp_path / "a.csv", "0,1,1"))[0].shape == (1, 3)
    assert read_array(written(tmp_path / "a.csv", "x\n0\n1\n"))[0].shape == (2, 1)


@pytest.mark.parametrize(
    ("content", "dtype"),
    [
        ("0,1", np.int64),
        ("-1,+1", np.int64),
        ("0.0,1", np.float64),
        ("1e0,1", np.float64),
        ("nan,1", np.float64),
        ("inf,1", np.float64),
        ("100000000000000000000,1", np.float64),
        ('"0","1"', np.int64),
    ],
)
def test_whole_numbers_become_integers(tmp_path, content, dtype):
    read, _ = read_array(written(tmp_path / "a.csv", content))
    assert read.dtype == dtype
    np.testing.assert_array_equal(read, [[float(c.strip('"')) for c in content.split(",")]])


@pytest.mark.parametrize(
    ("content", "expected", "width_and_line"),
    [
        ("0,1\n\n1\n", "2 columns", "got 1 in line 3"),
        ("0,1\n1,0,1\n", "2 columns", "got 3 in line 2"),
        ("a,b,c\n0,1\n1,0\n", "3 columns", "got 2 in line 2"),
        ("a\n0,1\n1,0\n", "1 column as", "got 2 in line 2"),
        ("0 1\n1 0 1\n", "2 columns", "got 3 in line 2"),
    ],
)
def test_ragged_lines(tmp_path, content, expected, width_and_line):
    message = refusal(written(tmp_path / "a.csv", content))
    assert expected in message
    assert width_and_line in message


def test_text_without_rows(tmp_path):
    assert "got only blank lines" in refusal(written(tmp_path / "a.csv", "\n  \n"))
    assert "got a header and no rows" in refusal(written(tmp_path / "a.csv", "a,b\n\n"))


@pytest.mark.parametrize("content", [b"\x93NUMPY\x01", b"0,1\x00", b"\xff\xfe0\x00\x00"])
def test_binary_content_called_text(tmp_path, content):
    message = refusal(written(tmp_path / "a.csv", content))
    assert "text with one row per line; got binary content" in message
    assert "UTF-8" in message


def test_decimal_commas_are_recognised(tmp_path):
    read, _ = read_array(written(tmp_path / "a.csv", "a;b\n0,5;1\n1;0\n"))
    assert read.tolist() == [[0.5, 1], [1, 0]]


# --- idx --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "dtype", "native"),
    [
        (8, ">u1", np.uint8),
        (9, ">i1", np.int8),
        (11, ">i2", np.int16),
        (12, ">i4", np.int32),
        (13, ">f4", np.float32),
        (14, ">f8", np.float64),
    ],
)
@pytest.mark.parametrize("name", ["train-images-idx3-ubyte", "a.idx3-ubyte.gz", "a.idx"])
def test_idx(tmp_path, code, dtype, native, name):
    pictures = np.arange(24).reshape(2, 3, 4)
    content = idx_bytes(pictures, code, dtype)
    path = written(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    read, info = read_array(path)
    np.testing.assert_array_equal(read, pictures)
    assert read.dtype == native
    assert info.name == ("train-images-idx3-ubyte" if "-images" in name else "a")


@pytest.mark.parametrize(
    "content", [b"\0\0\x07\x01\0\0\0\0", b"\0\1\x08\x01\0\0\0\0", b"\0\0\x08\xff" + b"\0" * 2000]
)
def test_idx_with_a_wrong_head(tmp_path, content):
    message = refusal(written(tmp_path / "a.idx", content))
    assert "an idx file: two zero bytes" in message
    assert content[:4].hex(" ") in message


@pytest.mark.parametrize("change", [-1, 1])
def test_idx_with_too_few_or_too_many_bytes(tmp_path, change):
    content = idx_bytes(BITS)
    content = content[:-1] if change < 0 else content + b"\0"
    message = refusal(written(tmp_path / "a.idx", content))
    assert "24 bytes after the header for dimensions (6, 4)" in message
    assert f"got {24 + change}" in message


def test_idx_of_impossible_size_costs_no_memory(tmp_path):
    content = b"\0\0\x08\x03" + b"\xff" * 12
    assert "(4294967295, 4294967295, 4294967295)" in refusal(written(tmp_path / "a.idx", content))


def test_idx_without_rows_is_read_as_such(tmp_path):
    assert read_array(written(tmp_path / "a.idx", idx_bytes(np.zeros((0, 4)))))[0].shape == (0, 4)


# --- Parquet ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("values (0, true), (1, false)", [[0, 1], [1, 0]]),
        ("values (0, 0.5), (1, 1.0)", [[0, 0.5], [1, 1]]),
        ("values (true), (true)", [[1], [1]]),
    ],
)
def test_parquet(tmp_path, query, rows):
    write_parquet(tmp_path / "a.PARQUET", query)
    read, info = read_array(tmp_path / "a.PARQUET")
    np.testing.assert_array_equal(read, rows)
    assert (read.dtype, info.name) == (np.array(rows).dtype, "a")


def test_words_and_missing_cells_make_a_table(tmp_path):
    write_parquet(tmp_path / "a.parquet", "values (0, 'x'), (null, 'y')")
    path = written(tmp_path / "a.csv", "n,w\n0,x\n,y\n")
    for contents in (read_file(tmp_path / "a.parquet"), read_file(path)):
        assert contents.train is None
        assert [column.values.dtype.kind for column in contents.frame.columns] == ["f", "O"]
    frame = read_frame(written(tmp_path / "gap.csv", "0,1\n0,\n"))
    assert frame.columns[1].is_missing.tolist() == [False, True]


def test_cells_that_python_cannot_split_are_none(tmp_path):
    path = tmp_path / "long.csv"
    rows = ["name,text", *(f"{i},short" for i in range(300_000)), f"x,{'y' * 140_000}"]
    path.write_text("\n".join(rows) + "\n")
    assert cells_of(path, 300_001) is None
