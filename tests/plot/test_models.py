"""Pictures of models of every kind."""

import numpy as np
import pytest

import harmonium as hm
from harmonium import plot
from harmonium.evaluation.moments import states_of

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


@pytest.mark.parametrize("shape", [None, (4, 4)])
@pytest.mark.parametrize("name", LAYERS)
def test_every_kind_of_model_has_its_pictures(name, shape, tmp_path):
    layer = LAYERS[name]
    samples = rows_of(layer, 30)
    data = rows_of(layer, 40)
    weights = np.random.default_rng(0).normal(size=(layer.size, 5)).astype(np.float32)
    rbm = hm.RBM(layer, hm.Bernoulli(5), weights)
    layer.validate(samples, "samples")
    figures = {
        "filters": plot.filters(rbm, image_shape=shape),
        "samples": plot.samples_beside_data(samples, data, image_shape=shape),
        "weights": plot.weight_histogram(rbm),
        "means": plot.means(samples, data, states=states_of(layer), weights=np.ones(40)),
    }
    for title, figure in figures.items():
        path = plot.save_figure(figure, tmp_path / f"{title}.png")
        assert path.read_bytes().startswith(b"\x89PNG")
