import jax
import jax.numpy as jnp
import pytest

import harmonium as hm
from harmonium.samplers import AbstractSampler, Cloud


class Counting(AbstractSampler):
    """A sampler whose chains count their steps, each of which stands for so many sweeps."""

    sweeps: int | None

    @property
    def sweeps_per_step(self):
        return self.sweeps

    def start(self, rbm, v, *, key):
        return jnp.zeros_like(v)

    def step(self, rbm, state, *, key):
        return state + 1, None

    def cloud(self, state):
        return Cloud.uniform(state)


@pytest.mark.parametrize(
    ("sweeps", "steps", "made"), [(1, None, 1_000), (300, None, 4), (None, None, 1_000), (9, 7, 7)]
)
def test_chains_make_a_thousand_sweeps_unless_told_otherwise(sweeps, steps, made):
    rbm = hm.RBM(hm.Gaussian(2), hm.Bernoulli(1), jnp.zeros((2, 1)))
    rows = hm.sample(rbm, 3, key=jax.random.key(0), sampler=Counting(sweeps), steps=steps)
    assert rows.shape == (3, 2)
    assert (rows == made).all()


def test_steps_are_checked():
    rbm = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(1), jnp.zeros((2, 1)))
    with pytest.raises(hm.InputError, match="steps: expected a whole number of at least 1"):
        hm.sample(rbm, 3, key=jax.random.key(0), steps=0)
