"""The same runs on one device and on several, in float64, for programs of test_sharding.

In float64 sums in another order change no draw within so short a run, so chains can be compared.
Nothing here asks JAX for devices when it is imported: several processes meet before they do.
"""

import functools

import jax
import numpy as np

import harmonium as hm
from harmonium._base.sharding import fetched

ROWS = np.random.default_rng(0).integers(0, 2, (64, 12))
WITH_GAPS = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.2, np.nan, ROWS)
METHODS = {
    "Gibbs": hm.Persistent(hm.Gibbs(1), chains=40),
    "exchange": hm.Tempering(models=4, chains=16),
    "annealing": hm.Persistent(hm.AnnealedClusters(steps=2, size=2), chains=40),
}


@functools.cache
def start():
    """Return the model that all runs start from, and their key."""
    key = jax.random.key(3)
    return hm.initialize(hm.Bernoulli(12), hm.Bernoulli(8), ROWS, key=key), key


def trained(method, mesh, state=None, stop=1_000):
    """Return a run of a thousand updates, or its part up to about so many of them."""
    rbm, key = start()
    given = {"gradient": METHODS[method], "epochs": 250, "batch_size": 16, "mesh": mesh}
    ends = [lambda report: report.updates >= stop]
    return hm.fit(rbm, ROWS, key=key, state=state, callbacks=ends, **given)


def described(method, fit):
    """Return parameters and chains of a run, and when it recorded."""
    chains = METHODS[method].status(fit.rbm, fit.state.gradient).chains
    parameters = [fetched(array).ravel() for array in jax.tree.leaves(fit.rbm)]
    return {
        "parameters": np.concatenate(parameters).tolist(),
        "chains": fetched(chains.states).tolist(),
        "updates": [record["update"] for record in fit.history],
    }


def scores(mesh):
    """Score a model and sample it."""
    rbm, key = start()
    settings = {"key": key, "method": "annealed", "chains": 64, "steps": 500}
    with hm.use_mesh(mesh):
        return [
            hm.log_z(rbm).value,
            hm.log_z(rbm, **settings).value,
            hm.log_likelihood(rbm, ROWS).value,
            float(fetched(rbm.free_energy(jax.numpy.asarray(ROWS))).sum()),
            float(hm.sample(rbm, 32, key=key, steps=50).sum()),
            float(hm.impute(rbm, WITH_GAPS, key=key).draws.sum()),
        ]


def results(mesh, parts, folder=None):
    """Train by each method, or score; save the models where there is a folder for them."""
    answer = {"scores": scores(mesh)} if "scores" in parts else {}
    for method in (part for part in parts if part in METHODS):
        fit = trained(method, mesh)
        if folder is not None:
            hm.save(fit.rbm, f"{folder}/{method}.safetensors")  # the first one; all have parts
        if (mesh or {}).get("hidden", 1) > 1:
            assert tuple(fit.rbm.weights.sharding.spec) == (None, "hidden")
        answer[method] = described(method, fit)
    return answer
