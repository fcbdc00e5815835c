"""All plots of a run."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import pictures

NAMES = ["filters.png", "samples.png", "learning_curves.png", "weights.png", "means.png"]
HISTORY = [{"epoch": float(e), "update": e, "free_energy": -float(e)} for e in range(1, 4)]
LAYERS = {
    "bernoulli": hm.Bernoulli(16),
    "ising": hm.Ising(16),
    "gaussian": hm.Gaussian(16),
    "potts": hm.Potts(16, states=4),
    "mixed": hm.Mixed(hm.Bernoulli(9), hm.Potts(3, states=3), hm.Gaussian(4)),
}


def rows_of(layer, n: int) -> np.ndarray:
    """Return rows of zeros and ones where the layer takes them, and of −1 and +1 elsewhere."""
    bits = np.random.default_rng(n).integers(0, 2, (n, layer.n_units))
    return 2 * bits - 1 if isinstance(layer, hm.Ising) else bits


def model(layer) -> hm.RBM:
    weights = np.random.default_rng(0).normal(size=(layer.size, 5)).astype(np.float32)
    return hm.RBM(layer, hm.Bernoulli(5), weights)


@pytest.mark.parametrize(
    ("name", "shape"), [*((name, None) for name in LAYERS), ("ising", (4, 4)), ("potts", (4, 4))]
)
def test_every_kind_of_model_gets_all_pictures(name, shape, tmp_path):
    layer = LAYERS[name]
    samples = rows_of(layer, 30)
    data = rows_of(layer, 40)
    folder = tmp_path / "new" / "run"
    given = {"rbm": model(layer), "samples": samples, "data": data, "image_shape": shape}
    paths = pictures(folder, history=HISTORY, weights=np.ones(40), **given)
    assert paths == [folder / picture for picture in NAMES]
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image_shape": (28, 28)}, "16 pixels.*with 784"),
        ({"samples": np.full((4, 16), 2)}, r"samples: a Bernoulli unit takes values in \[0, 1\]"),
        ({"data": np.zeros((4, 9))}, "data: expected at least one row of 16 columns"),
        ({"history": [{}]}, "finite 'epoch'"),
    ],
)
def test_a_mistake_leaves_nothing_behind(change, words, tmp_path):
    rows = rows_of(LAYERS["bernoulli"], 10)
    given = {"rbm": model(LAYERS["bernoulli"]), "history": [], "samples": rows, "data": rows}
    with pytest.raises(hm.InputError, match=words):
        pictures(tmp_path / "run", **(given | change))
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder(tmp_path):
    rows = rows_of(LAYERS["bernoulli"], 10)
    (tmp_path / "run").write_text("mine")
    with pytest.raises(hm.InputError, match="expected a folder; found the file"):
        pictures(
            tmp_path / "run",
            rbm=model(LAYERS["bernoulli"]),
            history=[],
            samples=rows,
            data=rows,
        )
    assert (tmp_path / "run").read_text() == "mine"
