"""The noise of unbiased CD against its sweeps k, on models from a training run of PCD-1.

    python benchmarks/coupled.py [--estimates 10]

Bars and stripes as in bars.py, rate 0.01. For each model, it prints |g| of the exact gradient g,
and for every method √⟨|ĝ − g|²⟩ over estimates, the time of one estimate, and the mean and the
longest coupling time. The table is for docs/choosing_a_method.md.
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from bars import CHAINS, EVERY, model_of, stretch
from reporting import parser_of

import harmonium as hm
from harmonium._base.threefry import key_of

PAUSES = (5_000, 10_000, 20_000)
METHODS = {
    "PCD-1": hm.Persistent(hm.Gibbs(1), CHAINS),
    **{f"unbiased CD-{k}": hm.Coupled(k, CHAINS) for k in (1, 10, 100, 300)},
    "unbiased CD-1, ten times the pairs": hm.Coupled(1, 10 * CHAINS),
}


def norm(model: hm.RBM) -> float:
    """Return the Euclidean norm of all parameters."""
    return float(jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(model))))


def report(rbm: hm.RBM, batch: hm.samplers.Cloud, chains, count: int) -> None:
    """Print the error and the time of each method's estimates at a model."""
    key = key_of(1)
    exact = eqx.filter_jit(hm.Exact().estimate)(rbm, batch, (), key=key)[0]
    print(f"  |g| = {norm(exact):.3f}", flush=True)
    for name, method in METHODS.items():
        state = method.init(rbm, batch, key=key)
        if name == "PCD-1":
            state = chains  # those of the run itself
        estimate = eqx.filter_jit(method.estimate)
        errors = []
        times = []
        measured = {}
        for i in range(count + 1):  # the first one compiles
            began = time.perf_counter()
            gradient, after, _ = estimate(rbm, batch, state, key=jax.random.fold_in(key, i))
            errors.append(norm(jax.tree.map(jnp.subtract, gradient, exact)))
            times.append(time.perf_counter() - began)
            for what, value in method.metrics(after).items():
                measured.setdefault(what, []).append(float(value))
        line = f"  {name:36s} {np.sqrt(np.mean(np.square(errors[1:]))):7.3f}"
        line += f" {1e3 * np.median(times[1:]):8.1f} ms"
        if measured:
            line += f"  coupling time {np.mean(measured['coupling_time']):.2f}"
            line += f", at most {max(measured['longest_coupling_time']):,.0f}"
        print(line, flush=True)


def main() -> None:
    """Train by PCD-1, and measure at several models of the run."""
    count = parser_of(__doc__, estimates=10).parse_args().estimates
    batch = hm.samplers.Cloud.uniform(jnp.asarray(hm.open_source("bars").train, jnp.float32))
    keys = jax.random.split(key_of(0), 3)
    method = METHODS["PCD-1"]
    rbm = model_of(keys[0])
    chains = method.init(rbm, batch, key=keys[1])
    advance = eqx.filter_jit(
        lambda rbm, chains, first: stretch(method, 0.01, rbm, chains, batch, first, keys[2])[:2]
    )
    for first in range(0, max(PAUSES), EVERY):
        rbm, chains = advance(rbm, chains, jnp.asarray(first))
        if first + EVERY in PAUSES:
            print(f"after {first + EVERY:,} updates")
            report(rbm, batch, chains, count)


if __name__ == "__main__":
    main()
