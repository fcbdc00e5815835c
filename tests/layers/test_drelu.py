import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import harmonium as hm

EXAMPLES = [hm.DReLU(2, precision_above=[1.4, 2.6], precision_below=[2.0, 1.2])]


def test_equal_sides_make_a_gaussian_unit():
    bias = [0.3, -1.0]
    precision = [2.0, 0.7]
    inputs = jnp.array([1.5, -0.2])
    layer = hm.DReLU(2, bias, bias, precision, precision)
    gaussian = hm.Gaussian(2, bias, precision)
    for name in ("cgf", "mean", "variance"):
        expected = getattr(gaussian, name)(inputs)
        np.testing.assert_allclose(getattr(layer, name)(inputs), expected, rtol=2e-6)


def test_a_side_that_costs_much_leaves_a_relu_unit():
    layer = hm.DReLU(1, [0.4], [1e4], [2.0], [2.0])
    relu = hm.ReLU(1, [0.4], [2.0])
    inputs = jnp.array([-0.7])
    np.testing.assert_allclose(layer.mean(inputs), relu.mean(inputs), rtol=1e-3)


def test_precisions_stay_positive():
    with pytest.raises(hm.InputError, match=r"precision_below: expected positive values; got -1"):
        hm.DReLU(2, precision_below=[1.0, -1.0])
    gone = [jnp.array([1.0, -2.0]), jnp.array([-1.0, 1.0])]
    stepped = eqx.tree_at(
        lambda layer: [layer.precision_above, layer.precision_below], hm.DReLU(2), gone
    ).project()
    assert (stepped.curvature > 0).all()


@pytest.mark.parametrize("inputs", [-60.0, -2.0, 0.0, 2.0, 60.0])
def test_draws_follow_the_distribution(inputs):
    """Of two truncated normal distributions, mixed as SciPy says."""
    layer = hm.DReLU(1, [1.0], [-0.5], [2.0], [0.5])
    n = 20_000
    x = layer.sample(jnp.full((n, 1), inputs), key=jax.random.key(3))[:, 0]
    means = np.array([1.0 + inputs, -0.5 + inputs]) / (2.0, 0.5)
    widths = (2.0**-0.5, 0.5**-0.5)
    ends = (-means[0] / widths[0], np.inf), (-np.inf, -means[1] / widths[1])
    sides = [
        stats.truncnorm(*e, loc=m, scale=w) for e, m, w in zip(ends, means, widths, strict=True)
    ]
    log_masses = [
        0.5 * (m / w) ** 2 + np.log(w) + stats.norm.logcdf(sign * m / w)
        for sign, m, w in zip((1, -1), means, widths, strict=True)
    ]
    p_above = expit(log_masses[0] - log_masses[1])

    def cdf(at):
        return p_above * sides[0].cdf(at) + (1.0 - p_above) * sides[1].cdf(at)

    assert stats.kstest(np.asarray(x, float), cdf).pvalue > 1e-4 / 5
