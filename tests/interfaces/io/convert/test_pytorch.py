"""State dicts and .pt files, tested against PyTorch itself."""

import io
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import harmonium as hm
from harmonium.io.convert import from_torch, to_torch
from models import BERNOULLI, OTHERS, PLAIN, Trap, assert_same, free_energy, refusal
from registry import random_rbm

SQUARE = random_rbm(hm.Bernoulli(3), hm.Bernoulli(3), 5)
W, A, B = (torch.from_numpy(np.array(x)) for x in hm.io.to_arrays(BERNOULLI))


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Module(torch.nn.Module):
    """An RBM as tutorials write it: W (hidden, visible), free energy by softplus."""

    def __init__(self):
        super().__init__()
        self.W = torch.nn.Parameter(torch.randn(3, 5))
        self.v_bias = torch.nn.Parameter(torch.randn(5))
        self.h_bias = torch.nn.Parameter(torch.randn(3))

    def free_energy(self, v):
        inputs = torch.nn.functional.linear(v, self.W, self.h_bias)
        return -v @ self.v_bias - torch.nn.functional.softplus(inputs).sum(1)


@pytest.mark.parametrize("rbm", [*PLAIN, SQUARE], ids=str)
@pytest.mark.parametrize("name", ["m.pt", "m.pth"])
def test_a_round_trip(rbm, name):
    assert_same(from_torch(to_torch(rbm)), rbm)
    hm.save(rbm, name)
    assert_same(hm.load(name), rbm)
    Path("renamed").write_bytes(Path(name).read_bytes())
    assert_same(hm.load("renamed"), rbm)
    assert set(torch.load(name, weights_only=True)) == {"weights", "visible_bias", "hidden_bias"}


def test_a_module_of_a_tutorial_is_read_with_its_free_energies():
    torch.manual_seed(0)
    module = Module()
    torch.save(module.state_dict(), "m.pt")
    v = np.random.default_rng(0).integers(0, 2, (50, 5)).astype(np.float32)
    with torch.no_grad():
        wanted = module.free_energy(torch.from_numpy(v)).numpy()
    np.testing.assert_allclose(free_energy(hm.load("m.pt"), v), wanted, atol=1e-5, rtol=0)


def test_a_module_loads_a_state_dict_under_its_own_names():
    module = Module()
    state = to_torch(BERNOULLI, ("W", "v_bias", "h_bias"))
    module.load_state_dict(state | {"W": state["W"].T})
    v = np.random.default_rng(0).integers(0, 2, (50, 5)).astype(np.float32)
    with torch.no_grad():
        actual = module.free_energy(torch.from_numpy(v)).numpy()
    np.testing.assert_allclose(actual, free_energy(BERNOULLI, v), atol=1e-5, rtol=0)
    with pytest.raises(hm.InputError, match="expected three different names"):
        to_torch(BERNOULLI, ("W", "a"))


@pytest.mark.parametrize(
    "state",
    [
        {"W": W, "v_bias": A, "h_bias": B},
        {"W": W.T, "v_bias": A, "h_bias": B},
        {"weight": W.T, "vbias": A, "hbias": B, "momentum": W},
        {"weight_matrix": W, "vbias": A, "hbias": B},
        {"rbm.W": W, "rbm.a": A, "rbm.b": B},
        {"W": W, "b": A, "c": B},
        {"module.rbm.Weights": W, "module.rbm.BV": A, "module.rbm.bh": B[None]},
        {"state_dict": {"W": W, "a": A, "b": B}, "epoch": 3},
        {"W": W.double(), "a": A.double(), "b": torch.nn.Parameter(B)},
        {"W": W.numpy(), "a": A.tolist(), "b": B},
    ],
    ids=range(10),
)
def test_names_and_shapes_in_use_are_known(state):
    assert_same(from_torch(state), BERNOULLI)


def test_half_precision_is_read():
    state = {"W": W.bfloat16(), "a": A.half(), "b": B}
    np.testing.assert_array_equal(from_torch(state).weights, W.bfloat16().float().numpy())


def test_a_square_w_is_not_guessed_at():
    state = to_torch(SQUARE, ("W", "v_bias", "h_bias"))
    with pytest.raises(hm.InputError, match=r"that is not square.*; give transposed=True or False"):
        from_torch(state)
    assert_same(from_torch(state, transposed=False), SQUARE)
    turned = from_torch(state | {"W": state["W"].T}, transposed=True)
    assert_same(turned, SQUARE)
    assert_same(from_torch(to_torch(SQUARE, ("weight_matrix", "vbias", "hbias"))), SQUARE)


def test_a_square_w_that_was_written_here_is_known_also_from_a_file():
    for name, state in (("ours.pt", to_torch(SQUARE)), ("theirs.pt", dict(to_torch(SQUARE)))):
        torch.save(state, name)
    assert_same(hm.load("ours.pt"), SQUARE)
    assert "as QuCumber writes it" in refusal("theirs.pt")


def test_the_state_of_qucumber_is_read_with_its_free_energies():
    weights, a, b = (torch.from_numpy(np.array(x)).double() for x in hm.io.to_arrays(SQUARE))
    state = {"weights": weights.T.clone(), "visible_bias": a, "hidden_bias": b}
    torch.save({"rbm_am": state, "unitary_dict": {}}, "positive.pt")
    assert_same(hm.load("positive.pt"), SQUARE)
    torch.save({"rbm_am": state, "rbm_ph": state}, "complex.pt")
    assert "a complex one, with rbm_ph" in refusal("complex.pt")


NO_MODELS = [
    ({"W": W, "a": A}, "expected one W .* and one pair of biases"),
    ({"W": W, "a": A, "b": B, "c": B}, "expected one W .* and one pair of biases"),
    ({"W": W, "weight": W, "a": A, "b": B}, "expected one W"),
    ({"x.W": W, "y.W": W, "a": A, "b": B}, "expected one W"),
    ({"fc.weight": W, "fc.bias": A}, r"got tensors named: 'fc.weight', 'fc.bias'; rename"),
    ({}, "got tensors named: none"),
    ({"W": W, "a": A, "b": A}, "W of shape"),
    ({"W": W * float("nan"), "a": A, "b": B}, "finite numbers in 'W'"),
    ({"W": W + 0j, "a": A, "b": B}, "a dense real tensor 'W'"),
    ({"W": W.to_sparse(), "a": A, "b": B}, "a dense real tensor 'W'"),
    ({"W": W.to("meta"), "a": A, "b": B}, "a dense real tensor 'W'"),
    ({"W": "text", "a": A, "b": B}, "real numbers in 'W'"),
    ({"W": {"W": W}, "a": A, "b": B}, "real numbers in 'W'"),
    ([W, A, B], "a dict of tensors; got list"),
    (W, "a dict of tensors; got Tensor"),
]


@pytest.mark.parametrize(("state", "words"), NO_MODELS, ids=range(len(NO_MODELS)))
def test_tensors_that_make_no_model_are_refused(state, words):
    with pytest.raises(hm.InputError, match=words):
        from_torch(state)
    torch.save(state, "m.pt")
    refusal("m.pt")


@pytest.mark.parametrize("rbm", OTHERS, ids=str)
def test_layers_that_three_tensors_cannot_describe_are_refused(rbm):
    with pytest.raises(hm.InputError, match=r"m.pt: expected Bernoulli or Potts .*; got RBM"):
        hm.save(rbm, "m.pt")


# --- hostile files ------------------------------------------------------------------------


def test_pickles_are_refused_and_nothing_runs():
    trap = Trap(Path("written"))
    torch.save({"W": W, "a": A, "b": B, "more": trap}, "m.pt")
    assert "a truncated or damaged one (" in refusal("m.pt")
    torch.save(Module(), "m.pt")
    assert "a truncated or damaged one (" in refusal("m.pt")
    Path("m.pt").write_bytes(pickle.dumps(trap))
    assert "got no zip archive; save module.state_dict()" in refusal("m.pt")
    torch.save({"W": W, "a": A, "b": trap}, "m.pt", _use_new_zipfile_serialization=False)
    assert "got no zip archive" in refusal("m.pt")
    assert not Path("written").exists()


def test_programs_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(Module()).save("m.pt")
    assert "a TorchScript program, which is never loaded" in refusal("m.pt")


def test_a_number_repeated_without_end_is_refused():
    torch.save({"W": torch.zeros(1).expand(10**6, 10**6), "a": A, "b": B}, "m.pt")
    assert Path("m.pt").stat().st_size < 10_000
    assert "of content in a file of" in refusal("m.pt")


def rewritten(change) -> None:
    """Rewrite a valid file; `change` returns the name, content and packing of each member."""
    content = io.BytesIO()
    torch.save(to_torch(BERNOULLI), content)
    with zipfile.ZipFile(content) as old, zipfile.ZipFile("m.pt", "w") as new:
        for member in old.infolist():
            name, data, packing = change(member.filename, old.read(member))
            new.writestr(name, data, packing)


def test_compressed_members_are_refused():
    rewritten(lambda name, data: (name, data, zipfile.ZIP_DEFLATED))
    assert "compressed members, which torch never writes" in refusal("m.pt")


def test_a_damaged_tensor_is_refused():
    hm.save(BERNOULLI, "m.pt")
    content = Path("m.pt").read_bytes()
    place = content.index(np.asarray(BERNOULLI.weights).tobytes())
    damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    Path("m.pt").write_bytes(damaged)
    assert "got a damaged member" in refusal("m.pt")


def test_a_file_cut_short_anywhere_is_refused():
    hm.save(BERNOULLI, "m.pt")
    content = Path("m.pt").read_bytes()
    for length in range(0, len(content), 97):
        Path("m.pt").write_bytes(content[:length])
        assert "expected a .pt that torch.save wrote" in refusal("m.pt")
