import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.likelihood.missing.marginal import Limits
from harmonium.samplers import AbstractSampler


class Counting(AbstractSampler):
    """A sampler whose chains count their steps, each of which stands for so many sweeps."""

    sweeps: int | None

    @property
    def sweeps_per_step(self):
        return self.sweeps

    def init(self, rbm, v, *, key):
        return jnp.zeros_like(v)

    def step(self, rbm, state, *, key):
        return state + 1, None

    def positions(self, state):
        return state


@pytest.mark.parametrize(
    ("sweeps", "steps", "sweeps_made"),
    [(1, None, 1_000), (300, None, 4), (None, None, 1_000), (9, 7, 7)],
)
def test_chains_make_a_thousand_sweeps_unless_told_otherwise(sweeps, steps, sweeps_made):
    rbm = hm.RBM(hm.Gaussian(2), hm.Bernoulli(1), jnp.zeros((2, 1)))
    rows = hm.sample(rbm, 3, key=jax.random.key(0), sampler=Counting(sweeps), steps=steps)
    assert rows.shape == (3, 2)
    assert (rows == sweeps_made).all()


def test_steps_are_checked():
    rbm = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(1), jnp.zeros((2, 1)))
    with pytest.raises(hm.InputError, match="steps: expected a whole number of at least 1"):
        hm.sample(rbm, 3, key=jax.random.key(0), steps=0)


def test_annealed_chains_find_modes_that_sweeps_do_not_connect(monkeypatch):
    monkeypatch.setattr("harmonium.likelihood.missing.completing.sums_for", lambda *_: Limits(0, 0))
    # One hidden unit switches all visible units on; 20 others do nothing.
    weights = jnp.zeros((14, 21)).at[:, 0].set(5.0)
    bias = jnp.zeros(21).at[0].set(-14 * 2.5)  # p(v) = p(1 - v)
    rbm = hm.RBM(hm.Bernoulli(14, jnp.full(14, -2.5)), hm.Bernoulli(21, bias), weights)
    n = 4_000
    nothing = np.full((1, 14), np.nan)
    for seed in range(2):
        key = jax.random.key(seed)
        stuck = hm.sample(rbm, n, key=key, sampler=hm.Gibbs(), steps=200)
        assert stuck.mean() < 0.1
        drawn = hm.sample(rbm, n, key=key, steps=200)
        filled = hm.impute(rbm, nothing, key=key, draws=n, sweeps=200)
        assert "chains" in filled.method
        for rows in (drawn, filled.draws[:, 0]):
            # Half of the chains, by symmetry: a binomial share, four tests at a level of 1e-4.
            assert abs((rows.mean(1) > 0.5).mean() - 0.5) < 4.1 * 0.5 / np.sqrt(n)


def test_a_fit_or_an_estimator_is_told_from_its_model():
    class Holder:
        rbm = "the model"

    with pytest.raises(hm.InputError, match=r"expected an RBM.*got .*Holder; pass its rbm"):
        hm.sample(Holder(), 3, key=jax.random.key(0))


STRONG = hm.RBM(hm.Gaussian(2), hm.Gaussian(2), np.diag([1.1, 0.5]))  # Z is finite below 1
GAP = np.nan


def test_a_model_without_a_finite_z_has_no_draws():
    key = jax.random.key(0)
    for draw in (
        lambda: hm.log_z(STRONG),
        lambda: hm.sample(STRONG, 3, key=key),
        lambda: hm.sample(STRONG, 3, key=key, sampler=hm.Gibbs()),
        lambda: hm.sample(STRONG, key=key, given=[[GAP, 1.0], [1.0, GAP]]),
        lambda: hm.sample(hm.condition(STRONG, [[1.0, GAP], [GAP, 1.0]]), 2, key=key),
        lambda: hm.impute(STRONG, [[GAP, 1.0]], key=key),
        lambda: hm.sample(hm.RBM(hm.ReLU(2), hm.ReLU(1), np.full((2, 1), 2.0)), 3, key=key),
    ):
        with pytest.raises(hm.NotFiniteError, match=r"is infinite|is not known to be finite"):
            draw()


def test_given_units_may_confine_the_others():
    key = jax.random.key(0)
    assert not hm.likelihood.finite_z(STRONG)
    assert hm.likelihood.finite_z(hm.condition(STRONG, [[1.0, GAP]]))
    rows = hm.sample(STRONG, 200, key=key, given=[[1.0, GAP]])
    variance = 1 / (1 - 0.5**2)  # of v given nothing but its own hidden unit
    assert np.isfinite(rows).all()
    assert abs(rows[:, 1].var() / variance - 1) < 0.5
    assert np.isfinite(hm.impute(STRONG, [[1.0, GAP]], key=key).rows).all()
    assert hm.sample(STRONG, key=key, given=[[1.0, 2.0]]).tolist() == [[1.0, 2.0]]
    assert hm.impute(STRONG, [[1.0, 2.0]], key=key).rows.tolist() == [[1.0, 2.0]]


def test_weights_that_are_not_finite_have_no_draws():
    rbm = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(2), jnp.zeros((2, 2)))
    broken = eqx.tree_at(lambda model: model.weights, rbm, jnp.full((2, 2), jnp.nan))
    with pytest.raises(hm.NotFiniteError, match="weights are not finite; the model diverged"):
        hm.sample(broken, 2, key=jax.random.key(0))
    with pytest.raises(hm.NotFiniteError, match="weights are not finite"):
        hm.impute(broken, [[1, GAP]], key=jax.random.key(0))


def apart(fraction):
    """Return a model of two groups, far apart: one hidden unit turns all visible units on."""
    weights = jnp.zeros((14, 21)).at[:, 0].set(12.0)
    bias = jnp.zeros(21).at[0].set(np.log(fraction / (1 - fraction)) - 14 * 6.0)
    return hm.RBM(hm.Bernoulli(14, jnp.full(14, -6.0)), hm.Bernoulli(21, bias), weights)


def test_chains_that_have_not_mixed_are_told():
    key = jax.random.key(0)
    with pytest.warns(hm.NotConvergedWarning, match="sample: Not converged: too few independent"):
        hm.sample(apart(0.9), 200, key=key, steps=4)
    rows = hm.sample(apart(0.9), 200, key=key)  # a sum over 2^14 states
    assert abs((rows.mean(1) > 0.5).mean() - 0.9) < 4.1 * 0.3 / np.sqrt(200)


def test_populations_without_enough_families_begin_anew(monkeypatch):
    monkeypatch.setattr("harmonium.likelihood.missing.completing.sums_for", lambda *_: Limits(0, 0))
    rbm = apart(0.9)
    nothing = np.full((1, 14), np.nan)
    key = jax.random.key(1)
    mixed = hm.impute(rbm, nothing, key=key, draws=200, sweeps=16)
    assert mixed.converged
    assert mixed.method.startswith("200 chains of up to ")
    assert (abs(mixed.mean - 0.9) < 4.1 * mixed.stderr).all()
    monkeypatch.setattr("harmonium.likelihood.missing.completing.ROUNDS", 1)
    short = hm.impute(rbm, nothing, key=key, draws=200, sweeps=4)
    assert not short.converged
    assert short.message.startswith("Not converged: too few independent families")
    assert (abs(short.mean - 0.9) < 4.1 * short.stderr).all()
    assert (short.stderr > 2.0 * mixed.stderr).all()
