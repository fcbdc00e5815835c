"""The HDF5 layout of the rbms package; tests/interfaces tests it against the package itself."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import harmonium as hm
from models import BERNOULLI, OTHERS, PLAIN, POTTS, assert_same, refusal

NUMBERS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
FIELDS = {"weight_matrix": NUMBERS, "vbias": np.ones(4, "f4"), "hbias": np.zeros(3, "f4")}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name="m.h5", kind="BBRBM", updates=(1,), **changed) -> None:
    """Write a history as rbms 0.5 does, with W times the number of the update."""
    with h5py.File(name, "w") as file:
        file["model_type"] = kind
        file["parallel_chains"] = np.zeros((2, 4), np.float32)
        file["hyperparameters/learning_rate"] = 0.01
        for number in updates:
            group = file.create_group(f"update_{number}")
            for field, value in (FIELDS | changed).items():
                if value is not None:
                    scale = number if field == "weight_matrix" and number > 1 else 1
                    group[f"params/{field}"] = value * scale if scale > 1 else value
                    group[field] = group[f"params/{field}"]
            group["time"] = 0.5
            group["torch_rng_state"] = np.zeros(16, np.uint8)


@pytest.mark.parametrize("rbm", PLAIN, ids=str)
@pytest.mark.parametrize("name", ["m.h5", "m.hdf5"])
def test_a_round_trip(rbm, name):
    hm.save(rbm, name)
    assert_same(hm.load(name), rbm)
    assert_same(hm.load(f"{name}:update_1"), rbm)


def test_a_written_file_has_all_that_rbms_looks_for():
    hm.save(POTTS, "m.h5")
    with h5py.File("m.h5") as file:
        assert file["model_type"][()] == b"PBRBM"
        assert file["update_1/params/weight_matrix"].shape == (4, 3, 3)
        assert file["update_1/params/vbias"].shape == (4, 3)
        assert file["parallel_chains"].shape == (0, 4)
        wanted = {"batch_size", "gibbs_steps", "learning_rate", "L1", "L2", "num_visibles"}
        assert wanted < set(file["hyperparameters"])


def test_the_last_update_is_read_or_the_one_that_is_named():
    write(updates=(1, 9, 100, 20))
    for name, scale in (("m.h5", 100), ("m.h5:update_9", 9), ("m.h5:20", 20)):
        np.testing.assert_allclose(hm.load(name).weights, scale * NUMBERS, rtol=1e-6)
    message = refusal("m.h5:21")
    assert "got 'update_1', 'update_9', 'update_20', 'update_100'" in message
    for other in ("x", "update_", "..", "-1", "１"):
        assert "expected an update that the file holds" in refusal(f"m.h5:{other}")


def test_double_precision_and_the_layout_without_params_are_read():
    write(weight_matrix=NUMBERS.astype(float))
    assert hm.load("m.h5").weights.dtype == np.float32
    with h5py.File("m.h5", "a") as file:
        del file["update_1/params"]
    np.testing.assert_array_equal(hm.load("m.h5").weights, NUMBERS)


@pytest.mark.parametrize("rbm", OTHERS, ids=str)
def test_layers_that_rbms_does_not_have_are_refused(rbm):
    with pytest.raises(hm.InputError, match=r"m.h5: expected Bernoulli or Potts .*; got RBM"):
        hm.save(rbm, "m.h5")
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "IIRBM"}, "expected model_type BBRBM"),
        ({"kind": "\x1b[2J\n" * 50}, "expected model_type BBRBM"),
        ({"kind": "PBRBM"}, "got 'PBRBM' with 2"),
        ({"kind": 3}, "a text model_type; got int64"),
        ({"updates": ()}, "with groups update_1, ...; got the entries 'hyperparameters'"),
        (
            {"hbias": None},
            "expected an array /update_1/params/hbias in the file itself; got 'vbias', 'weight",
        ),
        ({"vbias": np.ones(9)}, "weight_matrix of shape (visible, hidden)"),
        ({"weight_matrix": NUMBERS.T}, "transpose weight_matrix"),
        ({"weight_matrix": NUMBERS * np.nan}, "finite numbers in 'weight_matrix'; got nan"),
        ({"weight_matrix": NUMBERS.astype(complex)}, "expected real numbers; got complex128"),
        ({"hbias": "text"}, "expected real numbers; got object"),
        ({"hbias": h5py.Empty("f")}, "expected real numbers; got nothing"),
        ({"hbias": np.zeros(3, [("x", "f4")])}, "expected real numbers; got [('x'"),
        ({"vbias": np.zeros(0), "weight_matrix": np.zeros((0, 3))}, "at least 1; got 0"),
    ],
    ids=range(14),
)
def test_wrong_content_is_refused(changed, words):
    write(**changed)
    assert words in refusal("m.h5")


def replaced(field: str):
    """Open a valid file with one array removed, so that a test can put another in its place."""
    write()
    file = h5py.File("m.h5", "a")
    for path in (f"update_1/params/{field}", f"update_1/{field}"):
        del file[path]
    return file


def test_links_are_never_followed():
    write("theirs.h5")
    for link in (
        h5py.ExternalLink("theirs.h5", "update_1/params/hbias"),
        h5py.ExternalLink("/etc/passwd", "x"),
        h5py.SoftLink("/update_1/params/vbias"),
        h5py.SoftLink("/update_1/params/hbias"),
    ):
        with replaced("hbias") as file:
            file["update_1/params/hbias"] = link
        message = refusal("m.h5")
        assert "an array /update_1/params/hbias in the file itself" in message
        assert f"got a {type(link).__name__}, which is never followed" in message
    write()
    with h5py.File("m.h5", "a") as file:
        del file["update_1"]
        file["update_1"] = h5py.ExternalLink("theirs.h5", "update_1")
    message = refusal("m.h5")
    assert "/update_1 in the file itself; got a ExternalLink, which is never followed" in message
    write()
    with h5py.File("m.h5", "a") as file:
        del file["model_type"]
        file["model_type"] = h5py.SoftLink("/update_1")
    assert "/model_type in the file itself; got a SoftLink" in refusal("m.h5")


def test_data_kept_in_other_files_is_never_opened():
    Path("secret").write_bytes(np.ones(3, "f4").tobytes())
    with replaced("hbias") as file:
        external = [("secret", 0, 12)]
        file["update_1/params"].create_dataset("hbias", (3,), "f4", external=external)
    assert "hbias, which is kept in other files or packed by a filter" in refusal("m.h5")
    write("theirs.h5")
    with replaced("hbias") as file:
        layout = h5py.VirtualLayout((3,), "f4")
        layout[:] = h5py.VirtualSource("theirs.h5", "update_1/params/hbias", shape=(3,))
        file["update_1/params"].create_virtual_dataset("hbias", layout)
    assert "hbias, which is kept in other files or packed by a filter" in refusal("m.h5")


def test_declared_shapes_without_content_and_packed_arrays_are_refused():
    with replaced("weight_matrix") as file:
        file["update_1/params"].create_dataset("weight_matrix", (10**6, 10**6), "f4")
    assert "of content in a file of" in refusal("m.h5")
    with replaced("weight_matrix") as file:
        file["update_1/params"].create_dataset(
            "weight_matrix", (4, 3), "f4", chunks=(2**14, 2**14), maxshape=(None, None)
        )
    assert "of content in a file of" in refusal("m.h5")
    with replaced("weight_matrix") as file:
        file["update_1/params"].create_dataset("weight_matrix", data=NUMBERS, compression="gzip")
    assert "packed by a filter; unpack it with: h5repack" in refusal("m.h5")


def test_a_group_in_place_of_an_array_and_the_reverse_are_refused():
    with replaced("hbias") as file:
        file.create_group("update_1/params/hbias")
    assert "expected an array /update_1/params/hbias in the file itself; got a Group" in refusal(
        "m.h5"
    )
    write()
    with h5py.File("m.h5", "a") as file:
        file["update_7"] = 3
    assert "expected a group /update_7 in the file itself; got a Dataset" in refusal("m.h5")


def test_a_file_cut_short_anywhere_is_refused():
    hm.save(BERNOULLI, "whole.h5")
    content = Path("whole.h5").read_bytes()
    for length in range(0, len(content), 211):
        Path("m.h5").write_bytes(content[:length])
        assert "expected an HDF5 file of the rbms package" in refusal("m.h5")


@pytest.mark.parametrize("content", [b"", b"plain text\n" * 9, b"\x89HDF\r\n\x1a\n" * 99])
def test_other_content_is_refused(content):
    Path("m.h5").write_bytes(content)
    assert "expected an HDF5 file of the rbms package; " in refusal("m.h5")
