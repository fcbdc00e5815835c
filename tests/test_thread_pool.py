"""Factorisations in a pool of two threads, which runs several of them at once."""

import os
import subprocess
import sys

# Each program holds four independent factorisations, twice as many as the pool has threads.
SIDE_BY_SIDE = """
import faulthandler, sys
import jax, jax.numpy as jnp
import harmonium as hm
from harmonium._base.linalg import eigh, inverse, inverse_factor, orthogonal_basis

matrices = 2.0 * jnp.eye(12) + 0.01 + jnp.zeros((2_000, 12, 12))
known = jax.random.bernoulli(jax.random.key(0), 0.9, (2_000, 12))

def layer_of(matrix):
    return hm.MultivariateGaussian(12, precision=matrix)

def drawn(matrix):
    zeros = jnp.zeros((2_000, 12))
    return layer_of(matrix).sample_given(zeros, known, zeros, key=jax.random.key(1))

few = matrices[:100]  # those that LAPACK takes one after the other
parts = {
    "factor": lambda scale: inverse_factor(scale * matrices),
    "vmapped factor": lambda scale: jax.vmap(inverse_factor)(scale * matrices),
    "eigh": lambda scale: eigh(scale * few)[0],
    "inverse": lambda scale: jax.vmap(inverse)(scale * few),
    "orthogonal": lambda scale: jax.vmap(orthogonal_basis)(scale * few),
    "given": lambda scale: drawn(scale * matrices[0]),
    "whitening": lambda scale: jax.vmap(lambda m: layer_of(m).whitening)(scale * matrices),
    "project": lambda scale: jax.vmap(lambda m: layer_of(m).project().precision)(
        scale * few
    ),
}
for name, part in parts.items():
    faulthandler.dump_traceback_later(100, exit=True)
    program = jax.jit(lambda part=part: [part(1.0 + i) for i in range(4)])
    for _ in range(100):
        results = program()
    jax.block_until_ready(results)
    print(name, flush=True)
"""


def test_two_threads_never_wait_for_each_other():
    environment = os.environ | {"PJRT_NPROC": "2", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    command = [sys.executable, "-c", SIDE_BY_SIDE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 8
