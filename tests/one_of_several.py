"""One process of several that share a run, in float64; prints what it found (see test_sharding).

python one_of_several.py NUMBER PROCESSES PORT AXIS FOLDER
"""

import json
import sys

import jax
import numpy as np

import harmonium as hm
from harmonium.sharding import fetched

ROWS = np.random.default_rng(0).integers(0, 2, (64, 12))


def run(mesh, folder):
    """Train, save, score and sample; return numbers and what was stored."""
    key = jax.random.key(3)  # not earlier: it makes JAX look for devices
    rbm = hm.initialize(hm.Bernoulli(12), hm.Bernoulli(8), ROWS, key=key)
    method = hm.Persistent(hm.Gibbs(1), chains=40)
    with hm.use_mesh(mesh):
        fit = hm.fit(rbm, ROWS, key=key, gradient=method, epochs=60, batch_size=16)
        hm.save(fit.rbm, f"{folder}/model.safetensors")  # by the first one; all have parts of it
        annealed = {"key": key, "method": "annealed", "chains": 64, "steps": 500}
        return {
            "chains": fetched(fit.state.gradient.v).tolist(),
            "weights": fetched(fit.rbm.weights).tolist(),
            "updates": [record["update"] for record in fit.history],
            "log_likelihood": hm.log_likelihood(fit.rbm, ROWS).value,
            "annealed": hm.log_z(fit.rbm, **annealed).value,
        }


if __name__ == "__main__":
    number, processes, port, axis, folder = sys.argv[1:]
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", int(processes), int(number))
    print(f"\n{json.dumps(run({axis: int(processes)}, folder))}")  # Gloo prints before it
