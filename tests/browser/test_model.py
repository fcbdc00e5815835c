"""The model in the page has the same distribution as in Python, for all units that it knows."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

import harmonium as hm
from harmonium._base.parameters import map_parameters
from harmonium.report.content import model_content
from harmonium.report.page import script_of
from registry import LEVEL, exact_states, random_rbm

LAYERS = [
    hm.Bernoulli(5),
    hm.Ising(5),
    hm.Potts(3, states=3),
    hm.Categorical(3, states=(2, 4, 3)),
    hm.Exclusive(6, [(0, 1, 2), (3, 4)]),
    hm.Binomial(3, total=3),
    hm.Poisson(3),
    hm.Gaussian(3),
    hm.MultivariateGaussian(3, precision=4 * np.eye(3)),
    hm.ReLU(3),
    hm.DReLU(3),
    hm.UnitInterval(3),
    hm.Mixed(
        hm.Bernoulli(2),
        hm.Categorical(2, states=(3, 2)),
        hm.MultivariateGaussian(2, precision=4 * np.eye(2)),
    ),
    hm.Mixture([hm.Bernoulli(4, np.full(4, b)) for b in (-2.0, 1.0)], np.log([0.3, 0.7])),
    hm.Mixture(
        [
            hm.Mixed(
                hm.Categorical(1, states=[3], bias=np.arange(3.0) * sign),
                hm.MultivariateGaussian(2, [sign, 1.0], [[4.0, sign], [sign, 2.0]]),
            )
            for sign in (-1.0, 1.0)
        ]
    ),
]
PAGE = f"<!doctype html><main></main><script>{script_of()}</script>"
SIZES = """({ content, states }) => {
  const model = page_report.modelOf(content);
  const free = states.map((v) => model.freeEnergy(Float32Array.from(v)));
  const means = states.map((v) => Array.from(model.meanHidden(Float32Array.from(v))));
  return { free, means };
}"""
SWEPT = """({ content, states, sweeps, held }) => {
  const model = page_report.modelOf(content);
  const random = new page_random.Random(7);
  const chain = model.chain(random);
  chain.held.set(held);
  return states.map((v) => {
    chain.v.set(v);
    for (let k = 0; k < sweeps; k++) model.sweep(chain, random);
    return [...chain.v, ...chain.h];
  });
}"""
BOUNDED = [layer for layer in LAYERS if layer.n_states is not None]


def content_of(rbm):
    rows = rbm.visible.decode(rbm.visible.sample_without_inputs((4,), key=jax.random.key(0)))
    return json.loads(json.dumps(model_content(rbm, np.asarray(rows, float))))


def halved(rbm):
    """Return the model with the weights that the page has."""
    return hm.RBM(rbm.visible, rbm.hidden, np.asarray(rbm.weights, np.float16).astype(np.float32))


@pytest.fixture
def page(opened):
    return opened(PAGE)


@pytest.mark.parametrize("hidden", [hm.Bernoulli(4), hm.DReLU(3)], ids=str)
@pytest.mark.parametrize("visible", LAYERS, ids=str)
@pytest.mark.parametrize("turned", [False, True], ids=["visible", "hidden"])
def test_free_energies_and_means_are_those_of_python(page, visible, hidden, turned):
    rbm = random_rbm(*((hidden, visible) if turned else (visible, hidden)), seed=3)
    rbm = halved(rbm)
    v = rbm.visible.sample_without_inputs((40,), key=jax.random.key(1))
    computed = page.evaluate(SIZES, {"content": content_of(rbm), "states": np.asarray(v).tolist()})
    free = rbm.free_energy(v)
    means = rbm.hidden.mean(rbm.inputs_to_h(v))
    np.testing.assert_allclose(computed["free"], free, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(computed["means"], means, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
def test_sweeps_in_the_page_leave_the_distribution_as_it_is(page, layer, held):
    """Exact states stay exact: χ² over the hidden states, or of their quarters, at 10⁻⁴ in all."""
    rbm = halved(random_rbm(layer, hm.Bernoulli(4), seed=5, coupling=0.5))
    v = np.asarray(exact_states(rbm, 4_000, jax.random.key(2)))
    marks = np.zeros(layer.n_units, int)
    if held:  # what is held stays, and the rest is drawn given it: also no drift
        marks[0] = 1
    given = {"content": content_of(rbm), "states": v.tolist(), "sweeps": 3, "held": marks.tolist()}
    after = np.array(page.evaluate(SWEPT, given))
    assert np.isfinite(after).all()
    columns = np.asarray(layer.spread(jnp.asarray(marks))) > 0
    np.testing.assert_array_equal(after[:, : v.shape[1]][:, columns], v[:, columns])
    h = after[:, v.shape[1] :]
    counts = np.bincount((h @ [1, 2, 4, 8]).astype(int), minlength=16)
    every = rbm.hidden.states(jnp.arange(16))
    p = np.exp(-np.asarray(rbm.T.free_energy(every), float))
    order = np.asarray(every) @ [1, 2, 4, 8]
    expected = np.zeros(16)
    expected[order.astype(int)] = 4_000 * p / p.sum()
    assert chisquare(counts, expected).pvalue > LEVEL / (2 * len(LAYERS))


def test_units_that_the_page_does_not_know_are_refused_by_name(page):
    rbm = hm.RBM(hm.ReplicatedSoftmax(3, length=4), hm.Bernoulli(2), np.zeros((3, 2)))
    content = model_content(rbm, np.array([[1.0, 2.0, 1.0]]))
    assert page.evaluate("(content) => page_report.modelOf(content)", content) is None


SCALED = """({ content, states, temperature }) => {
  const model = page_report.modelOf(content);
  model.atTemperature(temperature);
  return states.map((v) => model.freeEnergy(Float32Array.from(v)));
}"""


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_temperature_divides_all_parameters(page, layer):
    rbm = halved(random_rbm(layer, hm.Bernoulli(4), seed=5, coupling=0.5))
    v = layer.sample_without_inputs((10,), key=jax.random.key(1))
    given = {"content": content_of(rbm), "states": np.asarray(v).tolist(), "temperature": 2.0}
    half = map_parameters(lambda x, _: 0.5 * x, rbm, rbm)
    np.testing.assert_allclose(
        page.evaluate(SCALED, given), half.free_energy(v), rtol=1e-4, atol=1e-4
    )
