"""No drift: chains that start as exact draws stay exact draws.

Chains are drawn from the enumerated machine, a kernel moves them 1, 4 and 16 times, and the counts
of the enumerated side's states must still be those of its distribution. That tells a broken kernel
from a slow one. One χ² a case, Bonferroni over the family.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harmonium.enumeration import enumerable
from registry import LEVEL, covered, exact_states, examples, identify, machine

CHAINS = 20_000
MOVES = (1, 4, 16)
CASES = covered("samplers")


@eqx.filter_jit
def counted(rbm, v, key):
    """Give the probabilities of the enumerated side's states and how often chains stand there."""
    side = enumerable(rbm)
    states = side.visible.states(jnp.arange(side.visible.n_states))
    x = v if side.visible is rbm.visible else rbm.sample_h_from_v(v, key=key)
    matches = (x[:, None, :] == states[None]).all(-1)
    return jax.nn.softmax(-side.free_energy(states)), matches.sum(0)


def p_value(rbm, v, key):
    """Give the probability of counts at least this far from the enumerated side's distribution."""
    p, counts = (np.asarray(x, float) for x in counted(rbm, v, key))
    p = p / p.sum()
    rare = len(v) * p < 10  # χ² needs counts that are not too small: rare states are one class
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = len(v) * np.append(p[~rare], p[rare].sum())
    keep = expected > 0
    return stats.chisquare(observed[keep], expected[keep]).pvalue


@eqx.filter_jit
def moved(sampler, rbm, v, times, key):
    """Move chains from v the given number of times."""
    key, key_start = jax.random.split(key)

    def step(i, state):
        return sampler.step(rbm, state, key=jax.random.fold_in(key, i))[0]

    start = sampler.start(rbm, v, key=key_start)
    return sampler.cloud(jax.lax.fori_loop(0, times, step, start)).states


@pytest.mark.parametrize(("sampler", "visible", "hidden", "seed"), CASES, ids=identify)
def test_no_drift(sampler, visible, hidden, seed):
    rbm = machine(visible, hidden, seed)
    key_start, key_move, key_look = jax.random.split(jax.random.key(seed), 3)
    v = exact_states(rbm, CHAINS, key_start)
    level = LEVEL / (len(CASES) * (len(MOVES) + 1))
    assert p_value(rbm, v, key_look) > level, "the exact draws themselves are off"
    for times in MOVES:
        after = moved(sampler, rbm, v, jnp.asarray(times), key_move)
        assert p_value(rbm, after, key_look) > level, times


@pytest.mark.parametrize("sampler", examples("samplers"), ids=identify)
def test_the_law_sees_a_kernel_of_another_machine(sampler):
    """Chains moved under couplings that are 15 % too weak are found out: the law has power."""
    visible, hidden, seed = CASES[0][1:]
    rbm = machine(visible, hidden, seed)
    weak = eqx.tree_at(lambda m: m.weights, rbm, 0.85 * rbm.weights)
    v = exact_states(rbm, CHAINS, jax.random.key(0))
    v = moved(sampler, weak, v, jnp.asarray(4), jax.random.key(1))
    assert p_value(rbm, v, jax.random.key(2)) < LEVEL / (len(CASES) * (len(MOVES) + 1))
