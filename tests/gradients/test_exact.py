import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.Exact()]
KEY = jax.random.key(0)


def test_too_many_states_are_refused():
    rbm = hm.initialize(hm.Bernoulli(40), hm.Bernoulli(40), key=jax.random.key(0))
    batch = hm.samplers.Cloud.uniform(jnp.zeros((2, 40)))
    with pytest.raises(hm.InputError, match=r"at most 2\^24 joint states; got .*; choose pcd"):
        hm.Exact().init(rbm, batch, key=jax.random.key(0))


def test_chunks_add_up(monkeypatch):
    """The sum over states does not depend on how it is cut into chunks."""
    rbm = random_rbm(hm.Bernoulli(7), hm.Bernoulli(5), 0)
    batch = hm.samplers.Cloud.uniform(rbm.visible.states(jnp.arange(20)))

    def estimated():  # by a new function: the patched number would not be seen by an old one
        return eqx.filter_jit(lambda m: hm.Exact().estimate(m, batch, (), key=KEY)[::2])(rbm)

    whole, info = estimated()
    monkeypatch.setattr(
        "harmonium.likelihood.partition_function.enumerated.chunk_plan.__defaults__", (50,)
    )
    cut, info_cut = estimated()
    for a, b in zip(jax.tree.leaves((whole, info)), jax.tree.leaves((cut, info_cut)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
