"""Runs on eight virtual devices, in float64; prints what was found as JSON (see test_sharding).

In float64 sums in another order change no draw within so short a run, so chains can be compared.
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm

KEY = jax.random.key(3)
ROWS = np.random.default_rng(0).integers(0, 2, (64, 12))
RBM = hm.initialize(hm.Bernoulli(12), hm.Bernoulli(8), ROWS, key=KEY)
METHODS = {
    "pcd": hm.Persistent(hm.Gibbs(1), chains=40),
    "pt": hm.Tempering(models=4, chains=16),
}
MESHES = [{"data": 8}, {"data": 4, "hidden": 2}]


def trained(method, mesh, state=None, stop=1_000):
    """Return a run of a thousand updates, or its part up to about so many of them."""
    given = {"gradient": METHODS[method], "epochs": 250, "batch_size": 16, "mesh": mesh}
    ends = [lambda report: report.updates >= stop]
    return hm.fit(RBM, ROWS, key=KEY, state=state, callbacks=ends, **given)


def chains_of(method, fit):
    """Return the states of a run's chains."""
    found = METHODS[method].status(fit.rbm, fit.state.gradient).chains
    return np.asarray(found.states)


def apart(method, one, other):
    """Return the largest difference of parameters, and the share of chains that are the same."""
    pairs = zip(jax.tree.leaves(one.rbm), jax.tree.leaves(other.rbm), strict=True)
    largest = max(float(abs(np.asarray(x) - np.asarray(y)).max()) for x, y in pairs)
    return largest, float((chains_of(method, one) == chains_of(method, other)).mean())


def training(method):
    """Train on one device and on each mesh."""
    alone = trained(method, None)
    found = {}
    for mesh in MESHES if method == "pcd" else MESHES[-1:]:
        spread = trained(method, mesh)
        found[str(mesh)] = apart(method, alone, spread)
        if "hidden" in mesh:
            assert tuple(spread.rbm.weights.sharding.spec) == (None, "hidden")
    return found


def moving():
    """Go on with a run on other devices, from arrays that were stored."""
    whole, state = trained("pcd", None), None
    for mesh, stop in (({"data": 4, "hidden": 2}, 200), (None, 600), ({"data": 8}, 1_000)):
        fit = trained("pcd", mesh, state, stop)
        state = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), fit.state)
    return apart("pcd", whole, fit)


def scoring():
    """Score a model on one device and on several; return the values."""
    settings = {"key": KEY, "method": "annealed", "chains": 64, "steps": 500}
    found = []
    for mesh in (None, {"data": 8}, {"data": 2, "hidden": 4}):
        with hm.use_mesh(mesh):
            samples = hm.sample(RBM, 32, key=KEY, steps=50)
            found.append(
                [
                    hm.log_z(RBM).value,
                    hm.log_z(RBM, **settings).value,
                    hm.log_likelihood(RBM, ROWS).value,
                    float(RBM.free_energy(jnp.asarray(ROWS)).sum()),
                    float(np.asarray(samples).sum()),
                ]
            )
    return found


def spread_of_states():
    """Return whether rows of states are spread where they meet W."""
    with hm.use_mesh({"data": 8}):
        found = jax.jit(lambda v: RBM.inputs_to_h(v))(jnp.asarray(ROWS, float))
    return str(found.sharding.spec)


def sent():
    """Return the bytes that compiled updates send, and those by the formula of docs/scaling.md."""
    sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
    import scaling_model
    from scaling_processes import compiled

    found = []
    for data, columns, k in ((8, 1, 1), (1, 8, 1), (4, 2, 2)):
        work = scaling_model.Work(24, 32, 16, 40, k, data, columns)
        counted = scaling_model.found_in(compiled(work).as_text())
        formula = sum(scaling_model.sent(work, RBM.weights.dtype.itemsize))
        found.append([sum(size for _, size in counted), formula])
    return found


def refused():
    """Return the messages of meshes and numbers that cannot be."""
    cases = [
        lambda: trained("pcd", {"data": 16}),
        lambda: trained("pcd", {"rows": 2}),
        lambda: trained("pcd", "data=2"),
        lambda: trained("pcd", {"data": 0}),
        lambda: trained("pcd", {"data": 3}),
        lambda: trained("pcd", {"hidden": 3}),
        lambda: hm.fit(RBM, ROWS, key=KEY, epochs=1, batch_size=16, mesh={"data": 8}),
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
    parts = {
        "pcd": lambda: training("pcd"),
        "pt": lambda: training("pt"),
        "moving": moving,
        "scoring": scoring,
        "spread": spread_of_states,
        "sent": sent,
        "refused": refused,
    }
    json.dump({name: part() for name, part in parts.items()}, sys.stdout)
