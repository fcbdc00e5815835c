"""One process of several that share runs; prints its results as JSON (see test_sharding).

python one_of_several.py NUMBER PROCESSES PORT FOLDER MESH PART...
"""

import json
import sys

import jax

import spread

if __name__ == "__main__":
    number, processes, port, folder, mesh, *parts = sys.argv[1:]
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", int(processes), int(number))
    results = spread.results(json.loads(mesh), parts, folder)
    print(f"\n{json.dumps(results)}")  # Gloo prints before it
