"""Loops in blocks of a known number of turns, as a GPU makes them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium._base import loops
from harmonium._base.loops import TURNS, loop
from harmonium.training import chunks
from harmonium.training.arguments import first_state, plan_run

KEY = jax.random.key(0)


@pytest.fixture
def in_blocks(monkeypatch):
    """Trace programs as for a GPU."""
    monkeypatch.setattr(loops, "waits_at_turns", lambda: True)


@pytest.mark.parametrize("count", [0, 1, TURNS - 1, TURNS, TURNS + 1, 3 * TURNS + 5])
@pytest.mark.parametrize("options", [{}, {"turns": 5}, {"most": 60}, {"turns": 1}])
def test_blocks_make_as_many_turns_as_the_plain_loop(in_blocks, count, options):
    def body(i, state):
        total, keys = state
        return total + i, keys.at[i % 4].set(jax.random.fold_in(KEY, i))

    def result(first, end):
        return loop(
            first, end, body, (jnp.zeros((), jnp.int32), jax.random.split(KEY, 4)), **options
        )

    total, keys = jax.jit(result)(7, 7 + count)
    assert int(total) == sum(range(7, 7 + count))
    _, expected = jax.lax.fori_loop(7, 7 + count, body, (0, jax.random.split(KEY, 4)))
    np.testing.assert_array_equal(jax.random.key_data(keys), jax.random.key_data(expected))


def while_loops(lowered) -> list[bool]:
    """Return for each loop of a program whether its number of turns is known."""
    known = []

    def look(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name in ("scan", "while"):
                known.append(equation.primitive.name == "scan")
            for value in equation.params.values():
                for part in value if isinstance(value, tuple | list) else [value]:
                    inner = getattr(part, "jaxpr", part)
                    if hasattr(inner, "eqns"):
                        look(inner)

    look(lowered.jaxpr)
    return known


@pytest.mark.parametrize(("rows", "batch"), [(600, 100), (600, 10), (20, 20), (230, 20)])
@pytest.mark.parametrize("cuts", [(37,), (1, 2, 36, 37), (16, 17, 37)])
def test_a_run_in_blocks_makes_the_updates_of_one_without(
    in_blocks, monkeypatch, rows, batch, cuts
):
    x = (np.random.default_rng(0).random((rows, 6)) < 0.4).astype(np.uint8)
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(4), x, key=KEY)
    plan = plan_run(rbm, x, batch_size=batch, epochs=100)
    dataset = plan.dataset.padded()
    count = jnp.asarray(rows, jnp.int32)

    def updated(cuts):
        state = first_state(rbm, plan, key=KEY)
        advance = jax.jit(
            lambda state, until: chunks.advanced(plan.method, dataset, count, state, until, key=KEY)
        )
        for until in cuts:
            state = advance(state, jnp.asarray(until, jnp.int32))
        return state

    state = updated(cuts)
    monkeypatch.setattr(loops, "waits_at_turns", lambda: False)
    expected = updated([37])
    assert int(state.updates) == 37
    for new, old in zip(jax.tree.leaves(state), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(new), np.asarray(old), atol=1e-6)


def test_no_loop_around_updates_of_an_epoch_waits_within_a_block(in_blocks):
    x = (np.random.default_rng(0).random((600, 6)) < 0.4).astype(np.uint8)
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(4), x, key=KEY)
    count = jnp.asarray(600, jnp.int32)
    for batch in (10, 300):  # 60 and 2 updates an epoch
        plan = plan_run(rbm, x, batch_size=batch, epochs=100)
        state = first_state(rbm, plan, key=KEY)
        advance = partial(chunks.advanced, plan.method, plan.dataset, count, state, key=KEY)
        traced = jax.make_jaxpr(advance)(jnp.asarray(37, jnp.int32))
        known = while_loops(traced)
        # Those over epochs, over blocks of their updates, and over the updates that are left over.
        # Epochs of two updates are themselves in blocks, each with a loop of two.
        assert (known.count(False), known.count(True)) == ((3, 1) if batch == 10 else (2, 3))


def test_annealing_in_blocks_gives_the_same_log_z(in_blocks, monkeypatch):
    from harmonium.path import Heating
    from harmonium.samplers.annealing import anneal, start_annealing

    rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
    path = Heating.from_neutral(rbm)

    def weights(steps):
        chains = start_annealing(path, 100, key=KEY)
        return anneal(path, 0.0, 1.0, steps, chains, key=KEY).log_weights

    blocked = jax.jit(weights)(jnp.asarray(50, jnp.int32))
    monkeypatch.setattr(loops, "waits_at_turns", lambda: False)
    np.testing.assert_allclose(blocked, jax.jit(lambda s: weights(s))(jnp.asarray(50)), atol=1e-5)


def test_updates_lowered_for_a_gpu_have_nothing_that_is_written_around_xlas_cpu(monkeypatch):
    """Roots that keep draws from being repeated, and sums in blocks, would be kernels there."""
    from types import SimpleNamespace

    from harmonium._base import device

    x = (np.random.default_rng(0).random((512, 64)) < 0.4).astype(np.uint8)
    rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(32), x, key=KEY)
    options = {"batch_size": 128, "epochs": 100, "precision": "bfloat16"}
    plan = plan_run(rbm, x, optimizer=hm.Recipe(rate=0.1), **options)
    state = first_state(rbm, plan, key=KEY)
    count = jnp.asarray(512, jnp.int32)

    def lowered(platform):
        fake = SimpleNamespace(platform={"cuda": "gpu"}.get(platform, platform))
        monkeypatch.setattr(device, "device", lambda: fake)
        advance = partial(chunks.advanced, plan.method, plan.dataset, count, state, key=KEY)
        exported = jax.export.export(jax.jit(lambda until: advance(until)), platforms=[platform])
        return exported(jax.ShapeDtypeStruct((), jnp.int32)).mlir_module()

    of_cpu = lowered("cpu")
    of_gpu = lowered("cuda")
    assert of_cpu.count("stablehlo.sqrt") > of_gpu.count("stablehlo.sqrt") == 0
    # In an update, which stands there twice: the products of a sweep, the means of both phases, the
    # sums over their rows, and vectors. XLA merges those that appear twice.
    assert of_gpu.count("stablehlo.dot_general") <= 2 * 17
    # Ranges over blocks of epochs, and over those that are left over, are traced; the others not.
    assert of_gpu.count("stablehlo.while") == 5
