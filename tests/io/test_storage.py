"""The format of a file, and properties that hold for every format."""

import pickle
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from harmonium.io.storage import FORMATS, SUFFIXES, holds_model
from models import BERNOULLI, ISING, OTHERS, assert_same, refusal

BOTH_WAYS = [".safetensors", ".npz", ".h5", ".hdf5"]  # and .pt, where torch is installed


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_suffix_names_one_format():
    assert len(set(SUFFIXES)) == len(SUFFIXES)
    assert [known.suffixes[0] for known in FORMATS if not known.is_read] == [".json"]


@pytest.mark.parametrize("suffix", BOTH_WAYS)
def test_the_content_says_what_a_file_is(suffix):
    hm.save(BERNOULLI, f"m{suffix}")
    for other in (".SAFETENSORS", ".npz", ".h5", ".pt", ".model", ""):
        Path(f"renamed{other}").write_bytes(Path(f"m{suffix}").read_bytes())
        assert_same(hm.load(f"renamed{other}"), BERNOULLI)


@pytest.mark.parametrize("suffix", BOTH_WAYS)
def test_a_failed_write_leaves_the_old_file_as_it_was(suffix, monkeypatch):
    hm.save(BERNOULLI, f"m{suffix}")
    before = Path(f"m{suffix}").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda number: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hm.save(BERNOULLI, f"m{suffix}")
    if suffix != ".safetensors":
        with pytest.raises(hm.InputError):
            hm.save(ISING, f"m{suffix}")
    assert [path.name for path in Path().iterdir()] == [f"m{suffix}"]
    assert Path(f"m{suffix}").read_bytes() == before


def test_the_native_format_holds_what_the_others_do_not():
    for rbm in OTHERS:
        hm.save(rbm, "m.safetensors")
        assert str(hm.load("m.safetensors")) == str(rbm)


def test_weights_of_another_kind_are_kept_or_written_out():
    import jax.numpy as jnp

    scaled = hm.weights.Scaled(BERNOULLI.weights, jnp.asarray(2.0))
    hm.save(hm.RBM(BERNOULLI.visible, BERNOULLI.hidden, scaled), "m.safetensors")
    assert isinstance(hm.load("m.safetensors").weights, hm.weights.Scaled)
    hm.save(hm.RBM(BERNOULLI.visible, BERNOULLI.hidden, scaled), "m.npz")
    np.testing.assert_allclose(hm.load("m.npz").weights, 2 * BERNOULLI.weights, rtol=1e-6)


@pytest.mark.parametrize("name", ["m.hdf", "m", "m.json5", "m.safetensors.partial"])
def test_a_suffix_that_names_no_format_is_refused(name):
    with pytest.raises(hm.InputError, match=r"expected a name ending in .safetensors, .* or .json"):
        hm.save(BERNOULLI, name)
    assert not list(Path().iterdir())


def test_paths_that_cannot_be_written_or_read_are_refused():
    Path("folder.npz").mkdir()
    for name in ("folder.npz", "nowhere/m.npz"):
        with pytest.raises(hm.InputError, match="expected a file in a folder that exists"):
            hm.save(BERNOULLI, name)
    with pytest.raises(hm.InputError, match="expected an RBM"):
        hm.save("rbm", "m.npz")  # pyright: ignore
    assert "got no such file" in refusal("m.h5")
    assert "got no such file" in refusal("m.npz:update_1")
    assert "a folder without model.safetensors" in refusal("folder.npz")
    if Path("/dev/null").exists():
        assert "got a special file" in refusal("/dev/null")


@pytest.mark.parametrize(
    ("name", "package"), [("m.h5", "h5py"), ("m.pt", "torch"), ("m.json", "dimod")]
)
def test_a_missing_package_is_named_with_its_install_command(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    words = rf"{name}: expected the package {package}; .* pip install {package}"
    with pytest.raises(hm.MissingDependencyError, match=words):
        hm.save(BERNOULLI, name)
    assert not list(Path().iterdir())


def test_a_file_with_a_colon_in_its_name_is_itself():
    hm.save(BERNOULLI, "m.h5")
    Path("m.h5").rename("m.h5:1")
    assert_same(hm.load("m.h5:1"), BERNOULLI)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("m.h5", True), ("m.h5:update_3", True), ("m.pt", True), ("m.pth", True), ("m.json", False)],
)
def test_which_names_are_read_as_models(name, is_one):
    assert holds_model(name) is is_one


@pytest.mark.parametrize("suffix", [".joblib", ".pkl", ".model", ""])
def test_a_pickle_is_named_and_never_loaded(suffix):
    from sklearn.neural_network import BernoulliRBM

    name = f"model{suffix}"
    Path(name).write_bytes(pickle.dumps(BernoulliRBM()))
    message = refusal(name)
    assert "got a pickle, such as joblib writes, which is never loaded" in message
    assert "from_sklearn" in message
    Path("packed.joblib").write_bytes(zlib.compress(pickle.dumps(BernoulliRBM())))
    assert "got a pickle, such as joblib writes" in refusal("packed.joblib")
    assert holds_model("packed.joblib")


def test_a_model_of_ours_is_read_whatever_its_name():
    hm.save(BERNOULLI, "m.safetensors")
    Path("m.safetensors").rename("m.joblib")
    assert_same(hm.load("m.joblib"), BERNOULLI)
