"""thrml (JAX): block Gibbs on any graph, edge by edge; it has no training loop."""

import jax
import jax.numpy as jnp
from thrml import Block, SamplingSchedule, SpinNode, sample_states
from thrml.models import IsingEBM, IsingSamplingProgram, hinton_init
from workloads import CannotError, repeated

MOST_EDGES = 5_000  # each is a Python object, and a product an entry of an array
SWEEPS = 64  # sweeps in a compiled program


def graph(load):
    """Return both blocks, and the model's graph with an edge for each weight."""
    edges = load.visible * load.hidden
    if edges > MOST_EDGES:
        raise CannotError(f"{edges:,} edges, each a Python object: left out")
    layers = [[SpinNode() for _ in range(n)] for n in (load.visible, load.hidden)]
    pairs = [(v, h) for v in layers[0] for h in layers[1]]
    weights = jnp.asarray(load.model()[0].ravel()) / 4
    biases = jnp.zeros(load.visible + load.hidden)
    model = IsingEBM([*layers[0], *layers[1]], pairs, biases, weights, jnp.array(1.0))
    return [Block(layer) for layer in layers], model


def sample(load):
    """Make sweeps of all chains."""
    blocks, model = graph(load)
    program = IsingSamplingProgram(model, blocks, clamped_blocks=[])
    start = hinton_init(jax.random.key(0), model, blocks, (load.batch,))
    schedule = SamplingSchedule(n_warmup=SWEEPS - 1, n_samples=1, steps_per_sample=1)
    keys = jax.random.split(jax.random.key(1), load.batch)

    @jax.jit
    def draw(keys, start):
        def draw_chain(key, state):
            return sample_states(key, program, schedule, state, [], [blocks[0]])

        return jax.vmap(draw_chain)(keys, start)

    return repeated(lambda: jax.block_until_ready(draw(keys, start)), SWEEPS)
