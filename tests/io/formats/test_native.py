"""Model files: a saved model is read back unchanged, and any other content is refused."""

import importlib
import json
import random
import sys
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import harmonium as hm
from harmonium.io.formats import native
from harmonium.io.formats.base import write_whole
from harmonium.io.formats.native import load_tree, read_header, save_tree
from harmonium.io.storage import holds_model
from refusals import GRAMMAR

LAYERS = [
    hm.Bernoulli(3, jnp.array([0.1, -2.0, 3.5])),
    hm.Ising(2),
    hm.Potts(2, states=3, bias=jnp.arange(6.0)),
    hm.Gaussian(2, jnp.array([1.0, -1.0]), jnp.array([0.5, 2.0])),
    hm.Mixed(hm.Bernoulli(1), hm.Mixed(hm.Potts(1, states=4), hm.Gaussian(2)), hm.Ising(2)),
    hm.Categorical(2, states=(2, 3), orders=[(), (0, 2, 1)]),
]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def model(visible=LAYERS[0], hidden=LAYERS[1]) -> hm.RBM:
    weights = np.random.default_rng(0).normal(size=(visible.size, hidden.size))
    return hm.RBM(visible, hidden, jnp.asarray(weights))


def refusal(path: str) -> str:
    with pytest.raises(hm.ModelFileError) as caught:
        hm.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}")
    assert "\n" not in message
    assert GRAMMAR.search(message)
    return message


@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_every_model_comes_back_as_it_was(layer, turned):
    rbm = model(LAYERS[0], layer) if turned else model(layer, LAYERS[0])
    hm.save(rbm, "m.safetensors")
    back = hm.load("m.safetensors")
    assert jax.tree.structure(back) == jax.tree.structure(rbm)
    for leaf, original in zip(jax.tree.leaves(back), jax.tree.leaves(rbm), strict=True):
        np.testing.assert_array_equal(leaf, original)
        assert leaf.dtype == original.dtype


def test_a_file_that_is_older_than_a_field_has_its_default():
    rbm = model(hm.Categorical(2, states=(2, 3)))
    header, tensors = native.described(rbm, "rbm")
    del header["visible"]["fields"]["orders"]
    save_file(tensors, "old.safetensors", {"harmonium": json.dumps(HEADER | header)})
    assert hm.load("old.safetensors") == rbm


def test_a_clamped_model_comes_back():
    rbm = hm.condition(model(), [[1, np.nan, 0], [np.nan, np.nan, 1]])
    hm.save(rbm, "m.safetensors")
    back = hm.load("m.safetensors")
    assert back.visible.known.dtype == bool
    np.testing.assert_array_equal(back.visible.known, rbm.visible.known)


def test_other_programs_can_read_the_arrays():
    rbm = model()
    hm.save(rbm, "m.safetensors")
    arrays = load_file("m.safetensors")
    assert set(arrays) == {"weights", "visible.bias", "hidden.bias"}
    np.testing.assert_array_equal(arrays["weights"], rbm.weights)
    assert read_header("m.safetensors")["visible"]["type"] == "Bernoulli"


def test_an_archive_gives_a_bernoulli_model():
    weights = np.arange(6.0).reshape(3, 2)
    np.savez("m.NPZ".lower(), W=weights, a=np.ones((1, 3)), b=np.zeros(2, int))
    rbm = hm.load("m.npz")
    assert (str(rbm.visible), str(rbm.hidden)) == ("Bernoulli(3)", "Bernoulli(2)")
    np.testing.assert_array_equal(rbm.weights, weights)
    assert rbm.weights.dtype == jnp.result_type(float)


def test_a_folder_gives_its_model():
    Path("run").mkdir()
    assert "without model.safetensors" in refusal("run")
    hm.save(model(), "run/model.safetensors")
    assert str(hm.load("run").visible) == "Bernoulli(3)"


def test_other_precisions_are_converted_and_must_stay_finite():
    hm.save(model(), "m.safetensors")
    arrays = load_file("m.safetensors")
    metadata = {"harmonium": json.dumps(read_header("m.safetensors"))}
    for dtype in (np.float16, np.float64):
        save_file(arrays | {"weights": arrays["weights"].astype(dtype)}, "o.safetensors", metadata)
        assert hm.load("o.safetensors").weights.dtype == jnp.result_type(float)
    save_file(
        arrays | {"weights": arrays["weights"].astype(float) * 1e300}, "o.safetensors", metadata
    )
    assert "finite numbers in 'weights'" in refusal("o.safetensors")
    save_file(arrays | {"weights": arrays["weights"] + 1j}, "o.safetensors", metadata)
    assert "real numbers in 'weights'; got complex" in refusal("o.safetensors")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("m.npz", True),
        ("rows.npz", False),
        ("no.npz", False),
        ("a.safetensors", True),
        ("a", False),
    ],
)
def test_which_names_are_read_as_models(name, is_one):
    np.savez("m.npz", W=np.zeros((2, 2)), a=np.zeros(2), b=np.zeros(2))
    np.savez("rows.npz", rows=np.zeros((2, 2)))
    Path("no.npz").write_text("no archive")
    assert holds_model(name) is is_one


def test_damage_to_a_file_raises_nothing_but_a_model_file_error():
    """Change, cut and insert bytes, mostly in the headers, and try to load the file."""
    hm.save(model(LAYERS[4], LAYERS[0]), "m.safetensors")
    np.savez("m.npz", W=np.ones((4, 3)), a=np.zeros(4), b=np.zeros(3))
    contents = {path.suffix: path.read_bytes() for path in map(Path, ("m.safetensors", "m.npz"))}
    draw = random.Random(0)
    refusals = []
    for number in range(400):
        suffix = (".safetensors", ".npz")[number % 2]
        target = Path(f"damaged{suffix}")
        target.write_bytes(_damaged(contents[suffix], draw))
        try:
            rbm = hm.load(target)
        except hm.ModelFileError as error:
            refusals.append(str(error))
        else:
            assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(rbm))
    assert len(refusals) > 300
    assert not any("\n" in message for message in refusals)


def _damaged(content: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(draw.choice([1, 2, 5])):
        place = draw.randrange(draw.choice([len(damaged), len(damaged) // 2, 9]))
        what = draw.randrange(4)
        if what == 0:
            damaged[place] = draw.randrange(256)
        elif what == 1:
            damaged[place] = ord(draw.choice('0123456789{}[]",:-'))
        elif what == 2:
            del damaged[place : place + draw.choice([1, 1, 30])]
        else:
            damaged.insert(place, ord(draw.choice("0123456789")))
    return bytes(damaged)


# --- trees and whole files --------------------------------------------------------------

TREE = {"a": jnp.arange(3), "scalar": jnp.asarray(2.5), "b": [jnp.zeros((2, 0)), jnp.ones(1, bool)]}
HEADER = {"format": "harmonium", "version": 1}


def test_a_tree_comes_back_with_its_scalars():
    save_tree(TREE, "t.safetensors", HEADER)
    back = load_tree("t.safetensors", TREE)
    assert jax.tree.structure(back) == jax.tree.structure(TREE)
    for leaf, original in zip(jax.tree.leaves(back), jax.tree.leaves(TREE), strict=True):
        assert (leaf.shape, leaf.dtype) == (original.shape, original.dtype)
        np.testing.assert_array_equal(leaf, original)


@pytest.mark.parametrize(
    "like",
    [TREE | {"c": jnp.zeros(1)}, TREE | {"a": jnp.zeros(4, int)}, TREE | {"a": jnp.zeros(3)}],
)
def test_a_tree_of_another_shape_is_refused(like):
    save_tree(TREE, "t.safetensors", HEADER)
    with pytest.raises(hm.ModelFileError, match=r"expected an array .*; got .*other options"):
        load_tree("t.safetensors", like)


def test_a_file_is_written_whole_or_not_at_all(monkeypatch):
    write_whole("file", b"old")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda number: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_whole("file", b"new")
    assert [path.name for path in Path().iterdir()] == ["file"]
    assert Path("file").read_bytes() == b"old"
    write_whole("file", b"new")
    assert Path("file").read_bytes() == b"new"


TERNARY = """
import equinox as eqx, jax, jax.numpy as jnp
from typing import ClassVar
from harmonium.layers import AbstractDiscrete


class {name}(AbstractDiscrete):
    size: int = eqx.field(static=True)
    bias: jax.Array
    values: ClassVar = (-1.0, 0.0, 1.0)

    def __init__(self, size, bias=None):
        self.size = size
        self.bias = jnp.zeros(size) if bias is None else jnp.asarray(bias)

    def unit_energies(self, x):
        return -self.bias * x

    def shift(self, delta):
        return {name}(self.size, self.bias + delta)

    def fit_moments(self, x, weights=None):
        return self
"""


@pytest.fixture
def others(tmp_path, monkeypatch):
    """Make a module with a layer that has the name of a built-in one, and one with a new name."""
    name = f"others_{tmp_path.name.replace('-', '_')}"
    text = TERNARY.format(name="Bernoulli") + TERNARY.format(name="Ternary").split("\n\n", 1)[1]
    Path(f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module(name)


@pytest.mark.parametrize("name", ["Bernoulli", "Ternary"])
def test_a_layer_of_another_module_comes_back_as_it_was(others, name):
    rbm = model(getattr(others, name)(3, jnp.arange(3.0)), hm.Mixed(hm.Ising(1), hm.Ising(1)))
    hm.save(rbm, "m.safetensors")
    back = hm.load("m.safetensors")
    assert type(back.visible) is type(rbm.visible)
    np.testing.assert_array_equal(back.visible.bias, [0.0, 1.0, 2.0])


def test_a_module_beside_a_file_runs_only_if_the_user_names_it(others):
    module = others.__name__
    hm.save(model(others.Ternary(3, jnp.arange(3.0))), "m.safetensors")
    del sys.modules[module]
    message = refusal("m.safetensors")
    assert f"{module}:Ternary" in message
    assert f"import it first, or call hm.load(..., trust=['{module}'])" in message
    assert f"--trust {module}" in message
    assert module not in sys.modules
    back = hm.load("m.safetensors", trust=[module])
    assert (type(back.visible).__module__, type(back.visible).__name__) == (module, "Ternary")


@pytest.mark.parametrize("name", ["nowhere", "", "a b", "..", "wrong"])
def test_a_trusted_module_that_cannot_be_imported_is_named(name):
    Path("wrong.py").write_text("raise RuntimeError('not today')")
    hm.save(model(), "m.safetensors")
    sys.path.insert(0, "")
    try:
        with pytest.raises(hm.InputError, match="trust: expected names of modules that can be"):
            hm.load("m.safetensors", trust=name)
    finally:
        sys.path.remove("")


@pytest.mark.parametrize("module", ["this", "os.path", "m", "m.inner", "nowhere", "..", "", "a b"])
def test_a_file_runs_no_module(module, capsys):
    Path("m").mkdir()
    Path("m/__init__.py").write_text(f"raise SystemExit('run')\n{TERNARY.format(name='Ternary')}")
    Path("m/inner.py").write_text(f"raise SystemExit('run')\n{TERNARY.format(name='Ternary')}")
    sys.path.insert(0, "")
    try:
        renamed(f"{module}:Ternary")
        assert "layers of modules that are imported" in refusal("o.safetensors")
    finally:
        sys.path.remove("")
    assert not capsys.readouterr().out


def test_a_size_makes_no_default_array_of_another_module(others):
    hm.save(model(others.Ternary(3)), "m.safetensors")
    header = read_header("m.safetensors")
    header["visible"]["fields"] |= {"size": 65_000, "bias": None}
    save_file(load_file("m.safetensors"), "o.safetensors", {"harmonium": json.dumps(header)})
    assert "a value that is no array and no layer as its bias" in refusal("o.safetensors")


def renamed(kind: str, **fields) -> None:
    """Write a model file whose visible layer has another type, and other fields."""
    hm.save(model(), "m.safetensors")
    header = read_header("m.safetensors")
    header["visible"]["type"] = kind
    header["visible"]["fields"] |= fields
    save_file(load_file("m.safetensors"), "o.safetensors", {"harmonium": json.dumps(header)})


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "builtins:print",
        "harmonium:load",
        "harmonium:RBM",
        "harmonium:sklearn",
        "harmonium.layers:AbstractLayer",
        "harmonium.layers.clamped:AbstractPartial",
        "jax:jit",
        "AbstractWeights",
        "__name__",
        "base",
    ],
)
def test_nothing_but_a_layer_is_called(kind):
    renamed(kind)
    refusal("o.safetensors")


def test_a_module_of_other_names_is_not_asked_for_them(monkeypatch):
    """A module's `__getattr__` is code, which a file must not start."""
    module = types.ModuleType("lazy")
    module.__getattr__ = lambda name: sys.exit("run")
    monkeypatch.setitem(sys.modules, "lazy", module)
    renamed("lazy:Ternary")
    assert "'lazy:Ternary'" in refusal("o.safetensors")


def test_our_layers_have_arrays_by_whatever_name_a_file_calls_them():
    kind = "harmonium.layers.bernoulli:Bernoulli"
    renamed(kind, size=10_000, bias=None)
    assert "a value that is no array and no layer as its bias" in refusal("o.safetensors")
    renamed(kind, size=10**9, bias=None)
    assert "1,000,000,000 at visible.size" in refusal("o.safetensors")


def test_a_layer_that_cannot_be_imported_is_not_saved():
    space: dict = {"__name__": "__main__"}
    exec(TERNARY.format(name="Ternary"), space)
    with pytest.raises(hm.InputError, match="types that can be imported; got Ternary of __main__"):
        hm.save(model(space["Ternary"](3)), "m.safetensors")
    assert not Path("m.safetensors").exists()
