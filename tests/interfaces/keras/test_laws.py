"""Laws at level 10⁻⁴, one statistic each: no drift, and learning as good as the core's."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

import harmonium as hm
import harmonium.keras as hk
from registry import random_rbm

LEVEL = 1e-4
CHAINS = 20_000
SEEDS = 5


def p_value(core, x, layer):
    """Return the χ² p-value of states against the enumerated distribution of one layer."""
    turned = core if layer == "visible" else core.T
    states = turned.visible.states(jnp.arange(turned.visible.n_states))
    p = np.asarray(jax.nn.softmax(-turned.free_energy(states)), float)
    counts = np.asarray((jnp.asarray(x)[:, None] == states[None]).all(-1).sum(0), float)
    assert counts.sum() == len(x), "states outside the layer's domain"
    p = p / p.sum()
    rare = len(x) * p < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = len(x) * np.append(p[~rare], p[rare].sum())
    return stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue


def side_of(core):
    """Return the name of a layer whose states can be enumerated."""
    return "visible" if core.visible.n_states is not None else "hidden"


def test_gibbs_leaves_the_distribution_unchanged(core, make_rows, as_numpy):
    """Exact draws stay exact draws after 1 and 4 Gibbs sweeps: a family of 12 tests."""
    rbm = hk.RBM.from_harmonium(core, seed=1)
    v = make_rows(core, CHAINS)
    for k in (1, 4):
        after = rbm.gibbs(v, k)
        x = after if side_of(core) == "visible" else rbm.sample_h_from_v(after)
        assert p_value(core, as_numpy(x), side_of(core)) > LEVEL / 12, k


# The rows of a Gaussian model of any parameters are not standardised, and nothing is learned.
@pytest.mark.filterwarnings("ignore:x. expected columns near mean 0")
def test_persistent_chains_keep_the_distribution(core, make_rows, as_numpy):
    """The kernel that training uses, at a learning rate of zero: a family of 6 tests."""
    rbm = hk.RBM.from_harmonium(core, seed=2, chains=CHAINS, k=2)
    v = make_rows(core, CHAINS, seed=1)
    rbm.chains.assign(rbm.sample_h_from_v(v))
    rbm.compile(keras.optimizers.SGD(0.0), metrics=(), run_eagerly=True)
    rbm.fit(v[:12], batch_size=4, verbose=0)
    layer = "hidden" if core.hidden.n_states is not None else "visible"
    x = rbm.chains if layer == "hidden" else rbm.sample_v_from_h(rbm.chains)
    assert p_value(core, as_numpy(x), layer) > LEVEL / 6


def test_the_law_detects_another_model(make_rows, as_numpy):
    """Chains of a model whose couplings are 15 % too weak are detected: the law has power."""
    core = random_rbm(hm.Bernoulli(6), hm.Bernoulli(4), seed=3, coupling=1.5)
    weak = hm.RBM(core.visible, core.hidden, 0.85 * core.weights)
    v = make_rows(core, CHAINS)
    assert p_value(core, v, "visible") > LEVEL
    moved = hk.RBM.from_harmonium(weak, seed=1).gibbs(v, 4)
    assert p_value(core, as_numpy(moved), "visible") < LEVEL


def test_learning_reaches_the_cores_likelihood():
    """Exact log-likelihoods of runs with the same recipe, five seeds each: Welch's t."""
    rows = (load_digits().data[:1750] > 7.5).astype(np.float32)
    epochs = 5
    batch = 50
    rate = 0.1
    chains = 100

    def start(seed):
        key = jax.random.key(seed)
        return hm.initialize(hm.Bernoulli(64), hm.Bernoulli(16), rows, key=key, scale=0.1)

    recipe = hm.Recipe(rate, centring=None, averaging=None, hold=1.0)
    rbm = hk.RBM.from_harmonium(start(0), seed=7, chains=chains)
    rbm.compile(keras.optimizers.SGD(rate), metrics=())
    likelihoods = {"core": [], "keras": []}
    for seed in range(SEEDS):
        fit = hm.fit(
            start(seed),
            rows,
            key=jax.random.key(100 + seed),
            gradient=hm.Persistent(hm.Gibbs(1), chains=chains),
            optimizer=recipe,
            epochs=epochs,
            batch_size=batch,
        )
        likelihoods["core"].append(hm.log_likelihood(fit.state.rbm, rows).value)
        fresh = hk.RBM.from_harmonium(start(50 + seed), seed=1000 * seed, chains=chains)
        rbm.set_weights(fresh.get_weights())  # one model, so that it is compiled once
        rbm.fit(rows, epochs=epochs, batch_size=batch, verbose=0)
        likelihoods["keras"].append(hm.log_likelihood(rbm.to_harmonium(), rows).value)
    untrained = hm.log_likelihood(start(0), rows).value
    assert min(likelihoods["keras"]) > untrained + 1.0, "nothing was learnt"
    assert (
        stats.ttest_ind(likelihoods["core"], likelihoods["keras"], equal_var=False).pvalue > LEVEL
    )
