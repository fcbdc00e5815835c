import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [hm.Gaussian(3, precision=[1.0, 1.6, 2.5])]


def test_parameters_are_natural_ones():
    layer = hm.Gaussian(1, bias=[3.0], precision=[2.0])
    assert float(layer.mean(jnp.zeros(1))[0]) == 1.5
    assert float(layer.variance(jnp.zeros(1))[0]) == 0.5


def test_precision_stays_positive():
    with pytest.raises(hm.InputError, match=r"positive values; got -1\.0"):
        hm.Gaussian(2, precision=[1.0, -1.0])
    stepped = eqx.tree_at(lambda layer: layer.precision, hm.Gaussian(2), jnp.array([1.0, -2.0]))
    assert (stepped.project().precision > 0).all()


def test_a_constant_column_gets_a_finite_precision():
    x = jnp.asarray(np.stack([np.full(50, 3.0), np.linspace(-1, 1, 50)], axis=1), jnp.float32)
    for rows in (x, x[:, :1]):
        fitted = hm.Gaussian(rows.shape[1]).fit_moments(rows)
        assert np.isfinite(fitted.precision).all()
        np.testing.assert_allclose(
            fitted.mean(fitted.zero_inputs), rows.mean(0), rtol=1e-5, atol=1e-5
        )
