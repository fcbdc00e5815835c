import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm

PCD = hm.Persistent(hm.Gibbs(100), chains=64)
EXAMPLES = [hm.Discriminative(), hm.WeightedSum(PCD, hm.Exact(), shares=(0.75, 0.25))]
KEY = jax.random.key(0)


def conditional(rbm, rows, unit, states):
    """Return log p(v_i | rest) of rows from the free energies of all states of unit i."""
    alternatives = np.repeat(rows[:, None], states, axis=1)
    alternatives[:, :, unit] = np.arange(states)
    energies = rbm.free_energy(rbm.visible.encode(jnp.asarray(alternatives)))
    log_p = jax.nn.log_softmax(-energies, axis=1)
    return log_p[np.arange(len(rows)), rows[:, unit].astype(int)]


@pytest.mark.parametrize(
    ("visible", "target"),
    [
        (hm.Mixed(hm.Bernoulli(3), hm.Potts(1, states=3)), -1),
        (hm.Mixed(hm.Gaussian(2), hm.Potts(1, states=4)), 2),
        (hm.Mixed(hm.Bernoulli(2), hm.Potts(2, states=3)), (-2, -1)),
    ],
    ids=str,
)
def test_it_is_the_gradient_of_the_conditional_probability(visible, target):
    rbm = random_rbm(visible, hm.Bernoulli(3), 0)
    rng = np.random.default_rng(0)
    labels = visible.parts[1]
    rows = np.column_stack(
        [rng.integers(0, 2, (6, visible.parts[0].size)), rng.integers(0, 3, (6, labels.n_units))]
    ).astype(float)
    weights = jnp.asarray(rng.random(6), jnp.float32)
    units = target if isinstance(target, tuple) else (target,)
    targets = [unit % visible.n_units for unit in units]

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(rbm):
        log_p = [conditional(rbm, rows, unit, labels.states_per_site) for unit in targets]
        return -weights @ sum(log_p)

    value, expected = loss(rbm)
    batch = hm.samplers.Cloud(visible.encode(jnp.asarray(rows)), weights)
    method = hm.Discriminative(target)
    state = method.init(rbm, batch, key=KEY)
    grads, _, info = eqx.filter_jit(method.estimate)(rbm, batch, state, key=KEY)
    np.testing.assert_allclose(info.gap, value, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_blend_is_the_weighted_sum():
    rbm = random_rbm(hm.Mixed(hm.Bernoulli(2), hm.Potts(1, states=3)), hm.Bernoulli(2), 0)
    batch = hm.samplers.Cloud.uniform(rbm.visible.states(jnp.arange(5)))
    parts = [hm.Discriminative(), hm.Exact()]
    blend = hm.WeightedSum(*parts, shares=(1.0, 0.01))

    @eqx.filter_jit
    def estimates(rbm):
        of_parts = [part.estimate(rbm, batch, (), key=KEY) for part in parts]
        return of_parts, blend.estimate(rbm, batch, ((), ()), key=KEY)

    (discriminative, exact), blended = estimates(rbm)
    gap = discriminative[2].gap + 0.01 * exact[2].gap
    np.testing.assert_allclose(blended[2].gap, gap, rtol=1e-5)
    grads = [jax.tree.leaves(estimate[0]) for estimate in (discriminative, exact, blended)]
    for a, b, c in zip(*grads, strict=True):
        np.testing.assert_allclose(c, a + 0.01 * b, rtol=1e-4, atol=1e-6)


def test_a_blend_has_the_chains_and_the_name_of_its_parts():
    rbm = random_rbm(hm.Mixed(hm.Bernoulli(2), hm.Potts(1, states=3)), hm.Bernoulli(2), 0)
    batch = hm.samplers.Cloud.uniform(rbm.visible.states(jnp.arange(5)))
    blend = hm.WeightedSum(
        hm.Discriminative(), hm.Persistent(hm.Gibbs(2), chains=7), shares=(1, 0.01)
    )
    assert blend.status(rbm, blend.init(rbm, batch, key=KEY)).chains.states.shape == (7, 5)
    assert blend.about.sweeps == 2
    assert blend.about.title == "discriminative + 0.01 PCD-2"
    assert not blend.about.follows_likelihood
    assert EXAMPLES[1].about.follows_likelihood


def test_rows_without_a_label_are_learned_from():
    """Semi-supervised learning: two clusters of rows, of which eight rows have labels."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    rows = (rng.random((400, 12)) < np.where(label[:, None] == 1, 0.8, 0.2)).astype(float)
    table = np.column_stack([rows, np.where(np.arange(400) < 8, label, np.nan)])
    visible = hm.Mixed(hm.Bernoulli(12), hm.Potts(1, states=2))
    rbm = hm.initialize(visible, hm.Bernoulli(4), table, key=KEY)
    blend = hm.WeightedSum(hm.Discriminative(), hm.Contrastive(hm.Gibbs(1)), shares=(1.0, 1.0))
    learning = {"gradient": blend, "optimizer": hm.Recipe(rate=0.3), "epochs": 80}
    fit = hm.fit(rbm, table, key=KEY, batch_size=50, **learning)
    table[:, -1] = np.nan
    imputed = hm.impute(fit.rbm, table, key=KEY)
    assert (imputed.rows[:, -1] == label).mean() > 0.9
    assert imputed.method == "exact, 2 terms"


def test_arguments_are_checked():
    rbm = random_rbm(hm.Mixed(hm.Gaussian(2), hm.Potts(1, states=3)), hm.Bernoulli(2), 0)
    batch = hm.samplers.Cloud.uniform(jnp.zeros((2, 5)))
    for target, message in (
        (0, "expected a discrete unit; got unit 0"),
        (3, "indices of the 3 visible units; got 3"),
    ):
        with pytest.raises(hm.InputError, match=f"target: .*{message}"):
            hm.Discriminative(target).init(rbm, batch, key=KEY)
    with pytest.raises(
        hm.InputError, match=r"WeightedSum shares: expected one positive number for each method"
    ):
        hm.WeightedSum(hm.Exact(), shares=(0.0,))
    with pytest.raises(hm.InputError, match="expected gradient methods"):
        hm.WeightedSum(shares=())
