"""NumPy archives: round trips, and damaged or hostile files."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from models import PLAIN, Trap, assert_same, refusal

W = np.ones((4, 3), np.float32)
A = np.zeros(4)
B = np.zeros(3)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("rbm", PLAIN, ids=str)
def test_a_round_trip(rbm):
    hm.save(rbm, "m.npz")
    assert_same(hm.load("m.npz"), rbm)
    with np.load("m.npz") as archive:
        assert sorted(archive) == ["W", "a", "b"]
        assert archive["W"].ndim == (3 if "Potts" in str(rbm) else 2)


def test_one_model_is_always_the_same_bytes():
    hm.save(PLAIN[0], "one.npz")
    hm.save(PLAIN[0], "two.npz")
    assert Path("one.npz").read_bytes() == Path("two.npz").read_bytes()


def test_pickles_are_refused_and_nothing_runs():
    trap = np.array([Trap(Path("written"))], object)
    np.savez("m.npz", W=trap, a=A, b=B)
    assert "pickled Python objects, which are never loaded" in refusal("m.npz")
    record = np.zeros(4, [("x", float), ("y", object)])
    np.savez("m.npz", W=W, a=record, b=B)
    assert "pickled Python objects, which are never loaded" in refusal("m.npz")
    assert not Path("written").exists()


def test_a_file_cut_short_anywhere_is_refused():
    np.savez("whole.npz", W=W, a=A, b=B)
    content = Path("whole.npz").read_bytes()
    for length in range(0, len(content), 37):
        Path("m.npz").write_bytes(content[:length])
        assert "expected an .npz archive of arrays" in refusal("m.npz")


def member(shape, dtype="<f4", content=b"", version=(1, 0)) -> bytes:
    """Return an .npy file with the given header, whether it is true or not."""
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(header)) + header + content


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        (member((10**6, 10**6)), "(an array of shape (1000000, 1000000), float32, in"),
        (member((2**62, 2**62)), "(an array of shape"),
        (member((-4, -3)), "a truncated or damaged one"),
        (member((4, 3), version=(9, 9)), "version (9, 9)"),
        (member((4, 3), "|O", b"cos\nsystem\n"), "pickled Python objects, which are never loaded"),
        (member((4, 3), "<M8[s]", bytes(96)), "real numbers in 'W'; got datetime64"),
        (member((4, 3), "<U1", bytes(48)), "real numbers in 'W'; got <U1"),
        (member((4, 3), content=b"\xff" * 48), "finite numbers in 'W'; got nan"),
        (b"__import__('os')", "magic"),
        (b"", "a truncated or damaged one"),
    ],
    ids=range(10),
)
def test_hostile_headers_are_refused(hostile, words):
    content = io.BytesIO()
    np.savez(content, a=A, b=B)
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("W.npy", hostile)
    Path("m.npz").write_bytes(content.getvalue())
    assert words in refusal("m.npz")


def test_an_archive_that_unpacks_to_far_more_is_refused_unopened():
    with zipfile.ZipFile("m.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"")
        with archive.open("W.npy", "w") as bomb:
            for _ in range(300):
                bomb.write(bytes(2**20))
    assert Path("m.npz").stat().st_size < 2**20
    assert "of content in a file of" in refusal("m.npz")


def test_only_the_members_that_were_checked_are_read():
    """NumPy would read a member `W` without a suffix as the array."""
    np.savez("m.npz", W=W, a=A, b=B)
    with zipfile.ZipFile("m.npz", "a") as archive:
        archive.writestr("W", member((10**6, 10**6)))
    np.testing.assert_array_equal(hm.load("m.npz").weights, W)
