"""The examples for the laws, from the test files of layers, samplers and gradients.

A law is a test of a property that every part of a kind must have. The test file of a part holds a
list EXAMPLES, which the laws collect. `make laws` runs all combinations with ten seeds, which takes
many hours; with LAWS=dealt, all pairs of layers, with samplers or gradients dealt out in turn; with
LAWS=cover, as `make cover` does with one seed, some pairs: each layer beside one to four others,
which differ from law to law.
"""

import functools
import importlib.util
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import harmonium as hm
from harmonium._base.parameters import map_parameters
from harmonium.layers.capabilities import projected
from harmonium.likelihood.partition_function.enumerated import enumerable

HERE = Path(__file__).parent
LAWS = os.environ.get("HARMONIUM_LAWS", "cover")
ALL = LAWS != "cover"  # all pairs of layers
FIRST, LAST = (
    int(n) for n in os.environ.get("HARMONIUM_SEEDS", "0-9" if ALL else "0-0").split("-")
)
SEEDS = range(FIRST, LAST + 1)
LEVEL = 1e-4  # family-wise, for each law


@functools.cache
def examples(kind: str) -> list:
    """Collect EXAMPLES from tests/KIND/test_*.py."""
    collected = []
    for file in sorted((HERE / kind).glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"examples_{kind}_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        collected += getattr(module, "EXAMPLES", [])
    return collected


def name_of(part) -> str:
    """Return the name of an example in a test's identifier."""
    return str(part) if isinstance(part, hm.layers.AbstractLayer) else repr(part).replace("\n", "")


def randomised(layer, key, scale=0.7):
    """Return a layer of the same type with random parameters inside its domain."""
    leaves, structure = jax.tree.flatten(layer)
    keys = jax.random.split(key, len(leaves))
    moved = [
        leaf + scale * jax.random.uniform(k, leaf.shape, leaf.dtype, -1.0, 1.0)
        for leaf, k in zip(leaves, keys, strict=True)
    ]
    # What is data, such as a length, stays.
    moved = jax.tree.unflatten(structure, moved)
    return projected(map_parameters(lambda _, new: new, layer, moved))


def random_rbm(visible, hidden, seed, coupling=0.8) -> hm.RBM:
    """Return a model with random parameters and couplings strong enough to show a broken kernel.

    Couplings between two continuous layers are weakened until Z is finite.
    """
    keys = jax.random.split(jax.random.key(1000 + seed), 3)
    visible = randomised(visible, keys[0])
    hidden = randomised(hidden, keys[1])
    shape = (visible.size, hidden.size)
    rbm = hm.RBM(visible, hidden, coupling * jax.random.normal(keys[2], shape))
    while not hm.likelihood.finite_z(rbm):
        rbm = eqx.tree_at(lambda m: m.weights, rbm, 0.5 * rbm.weights)
    return rbm


LAYERS = examples("layers")


def methods_for_all_units() -> list:
    """Return the gradient methods, except the one that needs a layer with given units."""
    needs_given = hm.gradients.ConditionalLikelihood
    return [method for method in examples("gradients") if not isinstance(method, needs_given)]


def pairs(*steps: int) -> list[tuple]:
    """Return (visible, hidden, seed) of layer examples with a side that can be enumerated.

    Args:
        steps: how far after a visible layer in the list its hidden layers stand; 0 is itself. In
            `make laws`, every layer is paired with all.
    """
    near = [
        (visible, LAYERS[(i + step) % len(LAYERS)])
        for i, visible in enumerate(LAYERS)
        for step in (range(len(LAYERS)) if ALL else steps)
    ]
    return [
        (visible, hidden, seed)
        for visible, hidden in near
        if visible.n_states is not None or hidden.n_states is not None
        for seed in SEEDS
    ]


def covered(
    kind: str, *steps: int, is_meant: Callable[[Any], bool] = lambda part: True
) -> list[tuple]:
    """Combine `pairs(*steps)` with the examples of another kind: all, or each pair with one.

    They are dealt out in turn, so that each meets many layers on both sides.
    """
    parts = [part for part in examples(kind) if is_meant(part)]
    by_layers = itertools.groupby(pairs(*steps), key=lambda pair: [id(layer) for layer in pair[:2]])
    groups = [list(group) for _, group in by_layers]
    assert len(groups) >= len(parts)  # each has its turn
    # All seeds of a part in sequence: they share compiled programs.
    return [
        (part, *pair)
        for n, group in enumerate(groups)
        for part in (parts if LAWS == "all" else [parts[n % len(parts)]])
        for pair in group
    ]


def identify(value) -> str | None:
    """Return pytest an identifier for a parameter."""
    return None if isinstance(value, int | float | str) else name_of(value)


@eqx.filter_jit
def exact_states(rbm, n, key):
    """Draw n visible states exactly, by enumeration of one side."""
    enumerated = enumerable(rbm)
    states = enumerated.visible.states(jnp.arange(enumerated.visible.n_states))
    key_side, key_other = jax.random.split(key)
    chosen = states[jax.random.categorical(key_side, -enumerated.free_energy(states), shape=(n,))]
    if enumerated.visible is rbm.visible:
        return chosen
    return rbm.sample_v_from_h(chosen, key=key_other)
