import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm

EXAMPLES = [hm.ReLU(2, precision=[1.4, 2.6])]


def test_negative_numbers_are_refused():
    with pytest.raises(hm.InputError, match=r"numbers of 0 or more; got -0\.5"):
        hm.ReLU(2).validate([[0.0, -0.5]])


def test_precision_stays_positive():
    with pytest.raises(hm.InputError, match=r"positive values; got -1\.0"):
        hm.ReLU(2, precision=[1.0, -1.0])
    stepped = eqx.tree_at(lambda layer: layer.precision, hm.ReLU(2), jnp.array([1.0, -2.0]))
    assert (stepped.project().precision > 0).all()


@pytest.mark.parametrize("bias", [-60.0, -5.0, 0.0, 5.0, 60.0])
def test_draws_follow_the_truncated_normal_distribution(bias):
    layer = hm.ReLU(1, bias=[bias], precision=[2.0])
    n = 20_000
    x = layer.sample_without_inputs((n,), key=jax.random.key(3))[:, 0]
    mean = bias / 2.0
    width = 2.0**-0.5
    expected = stats.truncnorm(-mean / width, np.inf, loc=mean, scale=width)
    assert stats.kstest(np.asarray(x, float), expected.cdf).pvalue > 1e-4 / 5
