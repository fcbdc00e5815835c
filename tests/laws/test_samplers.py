"""No drift: chains that start as exact draws stay exact draws.

Chains are drawn from the enumerated model, and a kernel is applied 16 times. After 1, 4 and 16
steps, the counts of the enumerated layer's states must still agree with their distribution. This
tells a broken kernel from a slow one. A kernel of several models starts from exact draws of each
of them, and all of them are tested: one χ² test for each count, Bonferroni over the family.

Products in bfloat16 are those of the model with rounded weights, which is a different model: its
own exact draws must stay exact draws.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium._base.parameters import map_parameters
from harmonium.likelihood.partition_function.enumerated import enumerable
from registry import ALL, LEVEL, covered, exact_states, examples, identify, random_rbm

CHAINS = 20_000 if ALL else 10_000
MOVES = (1, 4, 16)
MOST_MODELS = 4


def short(*layers):
    return all(layer.is_exact_in_bfloat16 for layer in layers)


CASES = covered("samplers", 1, 7)
ROUNDED = [case for case in CASES if case[0].multiplies_states and short(*case[1:3])]
LEVEL_OF_ONE = LEVEL / ((len(CASES) + len(ROUNDED)) * (len(MOVES) + 1) * MOST_MODELS)


@eqx.filter_jit
def counted(rbm, v, key):
    """Return the probabilities of the enumerated layer's states, and the chains in each state."""
    summed = enumerable(rbm)
    states = summed.visible.states(jnp.arange(summed.visible.n_states))
    x = v if summed.visible is rbm.visible else rbm.sample_h_from_v(v, key=key)
    matches = (x[:, None, :] == states[None]).all(-1)
    return jax.nn.softmax(-summed.free_energy(states)), matches.sum(0)


def p_value(rbm, v, key):
    """Return the χ² p-value of the counts against the enumerated layer's distribution."""
    p, counts = (np.asarray(x, float) for x in counted(rbm, v, key))
    p = p / p.sum()
    rare = len(v) * p < 10  # χ² needs counts that are not too small, so rare states form one class
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = len(v) * np.append(p[~rare], p[rare].sum())
    keep = expected > 0
    return stats.chisquare(observed[keep], expected[keep]).pvalue


@eqx.filter_jit
def moved(sampler, rbm, v, key):
    """Run chains of all models from v, and return their states after MOVES, in that order."""
    key, key_start = jax.random.split(key)

    def step(i, state):
        return sampler.step(rbm, state, key=jax.random.fold_in(key, i))[0]

    def stretch(state, ends):
        state = jax.lax.fori_loop(*ends, step, state)
        return state, list(sampler.replicas(state))

    ends = jnp.asarray([(0, *MOVES[:-1]), MOVES]).T
    if isinstance(sampler, hm.ReplicaExchange):
        start = sampler.init_each(v)
    else:
        start = sampler.init(rbm, v[-1], key=key_start)
    return jax.lax.scan(stretch, start, ends)[1]


def power_of(rbm, copies):
    """Return the model of p(v)^copies: it has the hidden layer `copies` times."""
    visible = map_parameters(lambda leaf: copies * leaf, rbm.visible)
    weights = jnp.concatenate([rbm.dense_weights] * copies, axis=1)
    return hm.RBM(visible, hm.Mixed(*[rbm.hidden] * copies), weights)


@eqx.filter_jit
def models_of(sampler, rbm):
    """Return the models whose product distribution a step leaves unchanged; the last: `rbm`."""
    if isinstance(sampler, hm.ReplicaExchange):
        return sampler.models(rbm)
    if isinstance(sampler, hm.Tempered):
        return [power_of(rbm, round(sampler.beta))]
    return [rbm]


def exact_starts(models, key):
    """Draw states of every model."""
    assert len(models) <= MOST_MODELS
    pairs = zip(models, jax.random.split(key, len(models)), strict=True)
    return jnp.stack([exact_states(model, CHAINS, key) for model, key in pairs])


@pytest.mark.parametrize(("sampler", "visible", "hidden", "seed"), CASES, ids=identify)
def test_no_drift(sampler, visible, hidden, seed):
    rbm = random_rbm(visible, hidden, seed)
    key_start, key_move, key_look = jax.random.split(jax.random.key(seed), 3)
    models = models_of(sampler, rbm)
    v = exact_starts(models, key_start)
    for place, (model, states) in enumerate(zip(models, v, strict=True)):
        p = p_value(model, states, key_look)
        assert p > LEVEL_OF_ONE, f"the exact draws of model {place} themselves are off"
    after = moved(sampler, rbm, v, key_move)
    for place, (model, looks) in enumerate(zip(models, after, strict=True)):
        for times, states in zip(MOVES, looks, strict=True):
            assert p_value(model, states, key_look) > LEVEL_OF_ONE, (times, place)


@pytest.mark.parametrize(("sampler", "visible", "hidden", "seed"), ROUNDED, ids=identify)
def test_no_drift_of_the_rounded_model(sampler, visible, hidden, seed):
    rbm = random_rbm(visible, hidden, seed, coupling=3.0)  # strong: rounding changes the energies
    target = eqx.tree_at(lambda m: m.weights, rbm, rbm.weights.astype("bfloat16").astype("float32"))
    key_start, key_move, key_look = jax.random.split(jax.random.key(seed), 3)
    v = exact_starts([target], key_start)
    (looks,) = moved(sampler, hm.transforms.rounded(rbm), v, key_move)
    for times, states in zip(MOVES, looks, strict=True):
        assert p_value(target, states, key_look) > LEVEL_OF_ONE, times


def lowest_p_value(sampler, kernel, start, rbm):
    """Apply a kernel of `rbm` to exact draws of a sampler's models; return the lowest p-value."""
    models = models_of(sampler, start)
    v = exact_starts(models, jax.random.key(0))
    pairs = zip(models, moved(kernel, rbm, v, jax.random.key(1)), strict=True)
    return min(p_value(model, looks[1], jax.random.key(2)) for model, looks in pairs)


@pytest.mark.parametrize("sampler", examples("samplers"), ids=identify)
def test_the_law_detects_a_kernel_of_another_model(sampler):
    """Chains of a model whose couplings are 15 % too weak are detected: the law has power."""
    rbm = random_rbm(*CASES[0][1:])
    weak = eqx.tree_at(lambda m: m.weights, rbm, 0.85 * rbm.weights)
    assert lowest_p_value(sampler, sampler, rbm, weak) < LEVEL_OF_ONE


class SwappingByOneEnergy(hm.ReplicaExchange):
    """A broken kernel, which swaps as if the model at t had the free energy t·F_1."""

    def _free_energies(self, path, times, v):
        _, inputs = super()._free_energies(path, times, v)
        return times[:, None] * path.at(1.0).free_energy(v), inputs


def test_the_law_detects_swaps_by_a_free_energy_of_another_temperature():
    ones = np.ones(4)
    rbm = hm.RBM.from_arrays(3.0 * np.ones((4, 4)), -3.0 * ones, -9.0 * ones)
    sampler = hm.ReplicaExchange(times=4)
    broken = SwappingByOneEnergy(times=4)
    assert lowest_p_value(sampler, sampler, rbm, rbm) > LEVEL_OF_ONE
    assert lowest_p_value(sampler, broken, rbm, rbm) < LEVEL_OF_ONE


ALIKE = hm.Mixed(hm.Bernoulli(3), hm.Ising(2), hm.Gaussian(1), hm.Potts(1, states=3))
ONCE = [(sampler, ALIKE, hm.Bernoulli(3), 0) for sampler in examples("samplers")]


@pytest.mark.parametrize(
    ("sampler", "visible", "hidden", "seed"), CASES if ALL else ONCE, ids=identify
)
def test_held_units_stay_held(sampler, visible, hidden, seed):
    """The values at which units are held are no parameters, so samplers must not change them."""
    rbm = random_rbm(visible, hidden, seed)
    rows = visible.decode(visible.sample_without_inputs((6,), key=jax.random.key(seed))).astype(
        float
    )
    rows[np.arange(rows.size).reshape(rows.shape) % 2 == 0] = np.nan
    drawn = hm.sample(rbm, 2, key=jax.random.key(seed), sampler=sampler, steps=30, given=rows)
    given = np.repeat(rows, 2, axis=0).astype(drawn.dtype if drawn.dtype.kind == "f" else float)
    np.testing.assert_array_equal(np.where(np.isnan(given), given, drawn), given)
