import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm


def model(visible):
    return hm.initialize(visible, hm.Bernoulli(3), key=jax.random.key(0), scale=1.0)


@pytest.mark.parametrize(
    "visible", [hm.Bernoulli(5), hm.Potts(3, states=3), hm.Gaussian(4)], ids=str
)
def test_it_is_the_squared_error_of_the_mean_reconstruction(visible):
    rbm = model(visible)
    rows = hm.sample(rbm, 7, key=jax.random.key(1), sampler=hm.Gibbs(2))
    v = visible.encode(rows)
    back = rbm.mean_v_from_h(rbm.mean_h_from_v(v))
    errors = hm.reconstruction_errors(rbm, rows)
    assert errors.shape == (7,)
    np.testing.assert_allclose(errors, np.square(np.asarray(v - back)).mean(1), rtol=1e-5)


def test_of_independent_units_it_is_the_variance():
    rbm = model(hm.Bernoulli(5))
    rows = np.random.default_rng(0).integers(0, 2, (400, 5))
    rbm = hm.RBM(hm.Bernoulli(5).fit_moments(jnp.asarray(rows, float)), rbm.hidden, 0 * rbm.weights)
    error = hm.reconstruction_errors(rbm, rows).mean()
    assert error == pytest.approx(rows.var(0).mean(), rel=1e-3)


def test_rows_outside_the_domain_are_refused():
    with pytest.raises(hm.InputError, match=r"takes values in \[0, 1\]"):
        hm.reconstruction_errors(model(hm.Bernoulli(5)), np.full((1, 5), 2))
