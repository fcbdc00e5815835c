import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.Contrastive(hm.Gibbs(100))]


def test_chains_carry_the_weights_of_their_rows():
    """A row of weight zero contributes to neither phase."""
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    rows = rbm.visible.states(jnp.arange(3))
    weights = jnp.array([0.5, 0.5, 0.0])
    estimate = eqx.filter_jit(hm.Contrastive(hm.Gibbs(2)).estimate)
    key = jax.random.key(1)
    grads, _, _ = estimate(rbm, hm.samplers.Cloud(rows, weights), (), key=key)
    other = rows.at[2].set(1.0 - rows[2])
    same, _, _ = estimate(rbm, hm.samplers.Cloud(other, weights), (), key=key)
    for a, b in zip(jax.tree.leaves(grads), jax.tree.leaves(same), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
