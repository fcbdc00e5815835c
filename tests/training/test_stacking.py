"""Deep belief networks, against sums over all states of their layers."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.training import Stack
from harmonium.training.stacking import _hidden_rows
from registry import LEVEL, random_rbm

KEY = jax.random.key(4)
STACKS = [
    (hm.Bernoulli(5), hm.Bernoulli(3), hm.Bernoulli(4)),
    (hm.Potts(2, states=3), hm.Ising(2), hm.Bernoulli(3), hm.Bernoulli(2)),
    (hm.Mixed(hm.Bernoulli(2), hm.Ising(2)), hm.Potts(2, states=2), hm.Bernoulli(2)),
]
over_stacks = pytest.mark.parametrize("layers", STACKS, ids=len)


def random_stack(layers) -> Stack:
    return Stack(
        tuple(random_rbm(*pair, number) for number, pair in enumerate(itertools.pairwise(layers)))
    )


def log_p_of_rows(dbn) -> tuple[np.ndarray, np.ndarray]:
    """Return all states of the data, and log p of each, by sums over all hidden states."""
    top = dbn.rbms[-1]
    states = top.visible.states(jnp.arange(top.visible.n_states))
    log_p = -np.asarray(top.free_energy(states), np.float64)
    log_p -= np.logaddexp.reduce(log_p)
    for rbm in reversed(dbn.rbms[:-1]):
        below = rbm.visible.states(jnp.arange(rbm.visible.n_states))
        inputs = rbm.inputs_to_v(states)
        joint = below @ inputs.T - rbm.visible.energy(below)[:, None] - rbm.visible.cgf(inputs)
        log_p = np.logaddexp.reduce(np.asarray(joint, np.float64) + log_p, axis=1)
        states = below
    return dbn.rbms[0].visible.decode(states), log_p


@over_stacks
def test_draws_have_the_enumerated_probabilities(layers):
    dbn = random_stack(layers)
    rows, log_p = log_p_of_rows(dbn)
    np.testing.assert_allclose(np.exp(log_p).sum(), 1.0, atol=1e-5)
    count = 20_000
    drawn = dbn.sample(count, key=KEY)
    seen = np.array([(drawn == row).all(1).sum() for row in rows])
    assert seen.sum() == count
    expected = count * np.exp(log_p)
    is_rare = expected < 5
    seen = np.append(seen[~is_rare], seen[is_rare].sum())
    expected = np.append(expected[~is_rare], expected[is_rare].sum())
    chi2 = ((seen - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 0].sum()
    assert stats.chi2.sf(chi2, (expected > 0).sum() - 1) > LEVEL / len(STACKS)


@over_stacks
def test_the_bound_is_below_the_likelihood_and_rises_towards_it(layers):
    dbn = random_stack(layers)
    rows, log_p = log_p_of_rows(dbn)
    few = dbn.log_likelihood_bound(rows, key=KEY, draws=1)
    many = dbn.log_likelihood_bound(rows, key=KEY, draws=2_000)
    assert few.log_z.method.startswith("exact")
    assert few.value < log_p.mean()
    np.testing.assert_allclose(many.value, log_p.mean(), atol=0.02)
    assert few.value < many.value
    assert many.low <= many.value <= many.high


def test_a_stack_of_one_rbm_is_that_rbm():
    rbm = random_rbm(hm.Bernoulli(5), hm.Bernoulli(3), 0)
    dbn = Stack((rbm,))
    rows = np.eye(5)
    score = hm.log_likelihood(rbm, rows)
    np.testing.assert_allclose(
        dbn.log_likelihood_bound(rows, key=KEY).value, score.value, atol=1e-5
    )
    np.testing.assert_allclose(dbn.features(rows), rbm.mean_h_from_v(jnp.asarray(rows)), atol=1e-6)
    np.testing.assert_array_equal(dbn.sample(4, key=KEY).shape, (4, 5))


def test_greedy_training_learns_and_has_features():
    rows = hm.bars_and_stripes(3)
    layers = [hm.Bernoulli(9), hm.Bernoulli(12), hm.Ising(4), hm.Bernoulli(3)]
    dbn = hm.stack(layers, rows, key=KEY, epochs=2_000)
    assert [str(layer) for layer in dbn.layers] == [str(layer) for layer in layers]
    bound = dbn.log_likelihood_bound(rows, key=KEY, draws=100)
    assert bound.value > -5.0  # independent pixels: −6.2
    for depth, width in ((1, 12), (2, 4), (None, 3)):
        assert dbn.features(rows, depth).shape == (16, width)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda rows: hm.stack([hm.Bernoulli(3)], rows, key=KEY),
            "a visible layer and one or more",
        ),
        (lambda rows: hm.stack([3, 4], rows, key=KEY), "a visible layer and one or more"),
        (
            lambda rows: hm.stack(
                [hm.Conditional(hm.Bernoulli(3), [0]), hm.Bernoulli(2)], rows, key=KEY
            ),
            "none given",
        ),
        (
            lambda rows: hm.stack([hm.Bernoulli(3), hm.Bernoulli(2)], [[0, 1, np.nan]], key=KEY),
            "without missing values",
        ),
        (
            lambda rows: Stack((random_rbm(hm.Bernoulli(3), hm.Bernoulli(2), 0),)).features(
                rows, 2
            ),
            "depth: expected a whole number of at most 1",
        ),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(hm.InputError, match=words):
        call(np.eye(3))


@pytest.mark.parametrize("hidden", [hm.Potts(1, states=3), hm.Exclusive(3, [(0, 1, 2)])])
def test_rows_of_the_next_rbm_are_draws_unless_units_are_independent_bits(hidden):
    """Means of such units are no rows: their largest column, or several ones at once."""
    rbm = hm.RBM(hm.Bernoulli(2), hidden, np.zeros((2, hidden.size)))
    below = hm.Dataset(np.zeros((3_000, 2)))
    rows = _hidden_rows(rbm, below, key=KEY).rows(key=KEY)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    p = np.asarray(jax.nn.softmax(-hidden.energy(hidden.states(jnp.arange(hidden.n_states)))))
    assert len(counts) == hidden.n_states
    chi2 = ((np.sort(counts) - 3_000 * np.sort(p)) ** 2 / (3_000 * np.sort(p))).sum()
    assert stats.chi2.sf(chi2, len(p) - 1) > LEVEL
