"""Weights in blocks, of which some are absent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.weights import BlockWeights


def in_blocks(weights):
    """Return the weights in four blocks, of which one is absent."""
    return BlockWeights(
        [[weights[:1, :1], None], [weights[1:, :1], weights[1:, 1:]]],
        columns=(1, weights.shape[1] - 1),
    )


EXAMPLES = [in_blocks]


def test_a_deep_boltzmann_machine_is_the_model_of_its_blocks():
    """Of layers of 3, 2 and 2 units: log p(v) by enumeration of all 2⁷ states."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(3, 2))
    second = rng.normal(size=(2, 2))
    biases = [rng.normal(size=n) for n in (3, 2, 2)]
    visible = hm.Mixed(hm.Bernoulli(3, biases[0]), hm.Bernoulli(2, biases[2]))
    weights = BlockWeights([[first], [second.T]])
    rbm = hm.RBM(visible, hm.Bernoulli(2, biases[1]), weights)

    states = (np.arange(2**7)[:, None] >> np.arange(7) & 1).astype(float)
    x = states[:, :3]
    y = states[:, 3:5]
    z = states[:, 5:]
    log_p = x @ biases[0] + y @ biases[1] + z @ biases[2]
    log_p += np.einsum("ni,ij,nj->n", x, first, y) + np.einsum("nj,jk,nk->n", y, second, z)
    log_p -= np.logaddexp.reduce(log_p)
    rows = np.unique(x, axis=0)
    expected = [np.logaddexp.reduce(log_p[(x == row).all(1)]) for row in rows]
    padded = np.concatenate([rows, np.full((len(rows), 2), np.nan)], axis=1)
    scores = -hm.free_energies(rbm, padded) - hm.log_z(rbm).value
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_an_absent_block_has_no_array():
    weights = in_blocks(jnp.ones((4, 3)))
    assert len(jax.tree.leaves(weights)) == 3
    assert sum(leaf.size for leaf in jax.tree.leaves(weights)) == 4 * 3 - 1 * 2


def test_parts_without_any_block_need_a_size():
    with pytest.raises(hm.InputError, match=r"no block; pass sizes as `columns`"):
        BlockWeights([[np.ones((2, 2)), None]])
    loose = BlockWeights([[np.ones((2, 2)), None]], columns=(2, 3))
    assert loose.shape == (2, 5)
    assert (jnp.ones(2) @ loose).tolist() == [2, 2, 0, 0, 0]


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([[np.ones((2, 2))], [np.ones((2, 3))]], r"block sizes in part 0; got sizes \[2, 3\]"),
        ([[np.ones((2, 2))], []], "got blocks per row: 1, 0"),
        ([], "got blocks per row: no rows"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, words):
    with pytest.raises(hm.InputError, match=words):
        BlockWeights(blocks)


def test_entries_outside_the_blocks_are_refused():
    with pytest.raises(hm.InputError, match="got nonzero entries there"):
        in_blocks(jnp.ones((4, 3))).replaced(jnp.ones((4, 3)))
