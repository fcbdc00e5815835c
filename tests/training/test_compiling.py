"""Compiled programs grow in proportion to the number of kinds of units, and no faster.

When XLA computed a key again inside every draw that uses it, JAX 0.11 and 0.12 never finished
compiling programs for four kinds of units. The test that compiles such programs guards against it.
"""

import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium._base.threefry import key_of
from harmonium.samplers import Cloud
from registry import ALL

ROUNDS = 20  # of Threefry, each with one shift to the left
DRAWS = ("random_bits", "random_split", "random_fold_in")
KINDS = [
    hm.Potts(1, states=3),
    hm.Gaussian(1),
    hm.Bernoulli(1),
    hm.Ising(1),
    hm.Potts(1, states=5),
]
MIXTURES = [KINDS[:1], KINDS[1:2], KINDS[:2], KINDS[1:4], KINDS[3::-1], KINDS, 2 * KINDS]
# The parts of a normal number are used in three places, and XLA may compute them in each. Keys are
# not computed again: when they were, two kinds of units had four times the draws that they need.
REPEATED = 2


def drawn(jaxpr) -> int:
    """Count the draws, splits and folds of a traced program and of all that it calls."""
    count = 0
    for equation in jaxpr.eqns:
        count += equation.primitive.name in DRAWS
        for value in equation.params.values():
            for item in value if isinstance(value, tuple | list) else [value]:
                inner = getattr(item, "jaxpr", item)
                count += drawn(inner) if hasattr(inner, "eqns") else 0
    return count


def an_update(parts):
    """Return a function that starts PCD and makes one estimate, and its arguments."""
    rbm = hm.initialize(hm.Mixed(*parts), hm.Bernoulli(4), key=key_of(0))
    method = hm.Persistent(hm.Gibbs(1), chains=7)
    batch = Cloud.uniform(rbm.visible.sample_without_inputs((5,), key=key_of(1)))

    def update(rbm, batch, key):
        first, second = jax.random.split(key)
        state = method.init(rbm, batch, key=first)
        return method.estimate(rbm, batch, state, key=second)

    return update, (rbm, batch, key_of(2))


@pytest.mark.parametrize("parts", MIXTURES, ids=lambda parts: "-".join(map(str, parts)))
def test_draws_are_not_repeated_inside_one_another(parts):
    update, given = an_update(parts)
    compiled = jax.jit(update).lower(*given).compile().as_text()
    computed = compiled.count(" shift-left(") / ROUNDS
    asked = jax.make_jaxpr(update)(*given)
    most = REPEATED * drawn(asked.jaxpr)
    assert 0 < computed <= most


def test_a_program_grows_no_faster_than_its_parts():
    sizes = {}
    for times in (1, 2, 4):
        update, given = an_update(times * KINDS)
        lowered = jax.jit(update).lower(*given)
        texts = lowered.as_text(), lowered.compile().as_text()
        sizes[times] = [text.count("\n") for text in texts]
    for single, double, quadruple in zip(*sizes.values(), strict=True):
        assert single < double <= 2 * single
        assert double < quadruple <= 2 * double


@pytest.mark.parametrize("missing", [0.0, 0.2] if ALL else [0.2])
def test_more_kinds_compile_no_more_programs(missing):
    programs = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, _, **__: programs.append(event) if "backend_compile" in event else None
    )
    counts = []
    rng = np.random.default_rng(0)
    for parts in (KINDS[2:3], KINDS[:4]):
        visible = hm.Mixed(*parts)
        rows = visible.decode(visible.sample_without_inputs((40,), key=key_of(0))).astype(float)
        rows[rng.random(rows.shape) < missing] = np.nan
        jax.clear_caches()
        programs.clear()
        rbm = hm.initialize(visible, hm.Bernoulli(2), rows, key=key_of(1))
        hm.fit(rbm, rows, key=key_of(2), epochs=2)
        counts.append(len(programs))
    assert 0 < counts[1] <= counts[0] + 2
