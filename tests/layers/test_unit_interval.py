import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm

EXAMPLES = [hm.UnitInterval(2)]


def test_numbers_beyond_the_interval_are_refused():
    with pytest.raises(hm.InputError, match=r"numbers from 0 to 1; got 1\.5"):
        hm.UnitInterval(2).validate([[0.0, 1.5]])


@pytest.mark.parametrize("bias", [-60.0, -1.0, 0.0, 1e-4, 3.0, 60.0])
def test_draws_follow_the_tilted_distribution(bias):
    n = 20_000
    layer = hm.UnitInterval(1, bias=[bias])
    x = np.asarray(layer.sample_without_inputs((n,), key=jax.random.key(3))[:, 0], float)
    assert ((x >= 0) & (x <= 1)).all()

    def cdf(at):
        return np.expm1(bias * at) / np.expm1(bias) if bias else at

    assert stats.kstest(x, cdf).pvalue > 1e-4 / 6


def test_moments_are_continuous_where_the_series_end():
    t = jnp.array([1.0 - 1e-6, 1.0, -1.0 + 1e-6, -1.0])
    layer = hm.UnitInterval(4)
    for values in (layer.unit_cgfs(t), layer.mean(t), layer.variance(t)):
        np.testing.assert_allclose(values[::2], values[1::2], rtol=3e-6)


def test_a_constant_column_gets_a_finite_bias():
    rows = jnp.stack([jnp.zeros(500), jnp.ones(500)], axis=1)
    fitted = hm.UnitInterval(2).fit_moments(rows)
    assert np.isfinite(fitted.bias).all()
    np.testing.assert_allclose(fitted.mean(fitted.zero_inputs), rows.mean(0), atol=2e-3)
