"""Runs on one and on eight virtual devices; prints the results as JSON (see test_sharding).

python eight_devices.py CASES, which are pairs of a mesh and parts to compute, as JSON
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from spread import METHODS, ROWS, described, results, start, trained


def moving():
    """Go on with a run on other devices, from arrays that were stored."""
    state = None
    fit = None
    for mesh, stop in (({"data": 4, "hidden": 2}, 200), (None, 600), ({"data": 8}, 1_000)):
        fit = trained("Gibbs", mesh, state, stop)
        state = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), fit.state)
    return described("Gibbs", fit)


def spread_of_states():
    """Return whether rows of states are spread where they meet W."""
    rbm, _ = start()
    with hm.use_mesh({"data": 8}):
        inputs = jax.jit(lambda v: rbm.inputs_to_h(v))(jnp.asarray(ROWS, float))
    return str(inputs.sharding.spec)


def sent():
    """Return the bytes that compiled updates send, and those by the formula of scaling.md."""
    sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
    import scaling_model
    from scaling_processes import compiled

    pairs = []
    itemsize = start()[0].weights.dtype.itemsize
    for data, columns, k in ((8, 1, 1), (1, 8, 1), (4, 2, 2)):
        work = scaling_model.Work(24, 32, 16, 40, k, data, columns)
        counted = scaling_model.found_in(compiled(work).as_text())
        pairs.append([sum(size for _, size in counted), sum(scaling_model.sent(work, itemsize))])
    return pairs


def refused():
    """Return the messages of meshes and numbers that cannot be."""
    rbm, key = start()
    few = {"epochs": 1, "batch_size": 16, "mesh": {"data": 8}}
    cases = [
        lambda: trained("Gibbs", {"data": 16}),
        lambda: trained("Gibbs", {"rows": 2}),
        lambda: trained("Gibbs", "data=2"),
        lambda: trained("Gibbs", {"data": 0}),
        lambda: trained("Gibbs", {"data": 3}),
        lambda: trained("Gibbs", {"hidden": 3}),
        lambda: hm.fit(rbm, ROWS, key=key, **few),
    ]
    messages = []
    for case in cases:
        try:
            case()
            messages.append("no error")
        except hm.InputError as error:
            messages.append(str(error))
    return messages


if __name__ == "__main__":
    cases = json.loads(sys.argv[1])
    answer = {
        "alone": results(None, [*METHODS, "scores"]),
        "spread": [results(mesh, parts) for mesh, parts in cases],
        "moving": moving(),
        "states": spread_of_states(),
        "sent": sent(),
        "refused": refused(),
    }
    json.dump(answer, sys.stdout)
