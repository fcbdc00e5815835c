"""Learning from rows that arrive in portions."""

import jax
import numpy as np
import pytest

import harmonium as hm

KEY = jax.random.key(0)
X = (np.random.default_rng(0).random((45, 6)) < 0.4).astype(np.uint8)
RBM = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(3), X, key=KEY)


def test_a_portion_is_an_epoch_at_a_rate_that_stays():
    recipe = hm.Recipe(hold=1.0)
    portion = hm.partial_fit(RBM, X, key=KEY, optimizer=recipe, batch_size=10)
    whole = hm.fit(RBM, X, key=KEY, optimizer=recipe, batch_size=10, epochs=1)
    np.testing.assert_array_equal(portion.state.rbm.weights, whole.state.rbm.weights)
    more = hm.partial_fit(RBM, X[:7], key=jax.random.key(1), optimizer=recipe, state=portion.state)
    assert int(more.state.updates) == 6
    assert not more.diverged


def test_a_portion_on_which_it_diverges_leaves_the_model_as_it_was():
    recipe = hm.Recipe(rate=1e30, centring=None)
    with pytest.warns(hm.DivergenceWarning, match="the model before this portion is kept"):
        fit = hm.partial_fit(RBM, X, key=KEY, optimizer=recipe, batch_size=10)
    assert fit.diverged
    assert int(fit.state.updates) == 0
    for leaf, leaf_before in zip(jax.tree.leaves(fit.rbm), jax.tree.leaves(RBM), strict=True):
        np.testing.assert_array_equal(leaf, leaf_before)


def test_a_state_of_another_model_is_refused():
    rows = np.random.default_rng(0).integers(0, 2, (40, 6))
    models = [
        hm.initialize(hm.Bernoulli(6), hm.Bernoulli(n), rows, key=jax.random.key(0)) for n in (3, 4)
    ]
    state = hm.partial_fit(models[0], rows, key=jax.random.key(0)).state
    with pytest.raises(hm.InputError, match="state of a run with the same model"):
        hm.partial_fit(models[1], rows, key=jax.random.key(0), state=state)


@pytest.mark.parametrize("kind", ["given columns", "missing values"])
def test_portions_of_any_size_have_no_completions_in_common(kind):
    """Rows of two portions differ, so that no state of one may stand for a row of the other."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 40)).astype(float)
    visible = hm.Bernoulli(40)
    if kind == "given columns":
        visible = hm.Conditional(visible, given=range(10))
    else:
        rows[rng.random(rows.shape) < 0.3] = np.nan
    rbm = hm.initialize(visible, hm.Bernoulli(30), rows, key=KEY)
    fit = hm.partial_fit(rbm, rows[:30], key=KEY)
    for count in (7, 60):
        fit = hm.partial_fit(fit.rbm, rows[:count], key=jax.random.key(count), state=fit.state)
        assert fit.message.startswith(f"learned from {count} rows")
