"""The gradient of log p(y | u); tests/layers/test_conditional.py holds it against enumeration."""

import jax
import numpy as np
import pytest

import harmonium as hm

EXAMPLES = [hm.gradients.ConditionalLikelihood()]


def test_it_is_described():
    method = hm.gradients.ConditionalLikelihood
    assert method(sweeps=3).about.title == "conditional likelihood, 3 sweeps"
    assert method(rows=10).about.title == "conditional likelihood, a chain for each row"
    assert method(is_exact=True).about.title == "conditional likelihood, exact gradient"
    with pytest.raises(hm.InputError, match="ConditionalLikelihood sweeps"):
        method(sweeps=0)


def test_few_rows_with_many_given_columns_are_cross_validated():
    """Of 42 given columns only two matter: without a penalty, the fit would be worse than none."""
    rng = np.random.default_rng(0)

    def rows(n):
        u = rng.integers(0, 2, (n, 42))
        p = 1.0 / (1.0 + np.exp(2.5 - 3.0 * u[:, 0] - 2.0 * u[:, 1]))
        return np.column_stack([u, rng.random(n) < p]).astype(float)

    train = rows(120)
    test = rows(2_000)
    layer = hm.Conditional(hm.Bernoulli(43), given=range(42))
    key = jax.random.key(0)
    rbm = hm.initialize(layer, hm.Bernoulli(1), train, key=key)
    fit = hm.fit(rbm, train, key=key)
    assert "4-fold cross-validation" in fit.notes[0]
    alone = hm.log_likelihood(rbm.uncoupled, test, key=key).value
    assert hm.log_likelihood(fit.rbm, test, key=key).value > alone + 0.03
    longer = hm.fit(rbm, train, key=key, epochs=5_000, optimizer=hm.Recipe(rate=0.1))
    assert hm.log_likelihood(longer.rbm, test, key=key).value < alone


def test_a_model_given_a_row_is_not_trained():
    rbm = hm.RBM(hm.Bernoulli(3), hm.Bernoulli(2), np.zeros((3, 2)))
    given = hm.condition(rbm, [[1.0, np.nan, np.nan]])
    with pytest.raises(hm.InputError, match=r"without held units.*train the model first"):
        hm.fit(given, np.ones((4, 3)), key=jax.random.key(0), epochs=1)


def test_chains_that_may_change_any_unit_refuse_a_conditional_model():
    layer = hm.Conditional(hm.Bernoulli(3), given=[0])
    rbm = hm.RBM(layer, hm.Bernoulli(2), np.zeros((3, 2)))
    with pytest.raises(hm.InputError, match="play: expected a model of all units"):
        hm.play(rbm, np.ones((4, 3)))
