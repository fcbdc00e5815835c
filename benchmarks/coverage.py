"""Does the interval of log Z cover? Random machines whose log Z is known, never enumerated.

    python benchmarks/coverage.py --machines 300

Machines of all pairs of layers, with couplings from weak to too strong to mix. Each is estimated by
annealing alone; its exact log Z comes from enumeration or, for two Gaussian layers, from the closed
form; its relaxation time from the spectrum of its Gibbs kernel where that is small enough, else
from chains.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from harmonium.evaluation import annealed_log_z, closed_log_z, exact_log_z, has_closed_form

LAYERS = [
    (hm.Bernoulli(12), hm.Bernoulli(5)),
    (hm.Ising(10), hm.Ising(4)),
    (hm.Potts(5, states=3), hm.Potts(3, states=4)),
    (hm.Gaussian(6), hm.Gaussian(3)),
    (hm.Mixed(hm.Bernoulli(4), hm.Potts(2, states=3)), hm.Mixed(hm.Ising(3), hm.Bernoulli(2))),
]


def pairs() -> list[tuple]:
    """Give every visible layer with every hidden one, one side small enough to enumerate."""
    return [(v, h) for (v, _), (_, h) in itertools.product(LAYERS, LAYERS)]


def random_machine(visible, hidden, rng: np.random.Generator, strength: float) -> hm.RBM:
    """Give a machine with random parameters; couplings between continua are kept finite."""

    def moved(leaf):
        return leaf + jnp.asarray(rng.uniform(-0.7, 0.7, leaf.shape), leaf.dtype)

    visible, hidden = (jax.tree.map(moved, layer).project() for layer in (visible, hidden))
    scale = strength / np.sqrt(max(visible.size, hidden.size))
    weights = scale * 4 * rng.standard_normal((visible.size, hidden.size))
    if rng.uniform() < 0.3:  # one strong common mode, which mixes worst
        u, v = rng.choice([-1.0, 1.0], visible.size), rng.choice([-1.0, 1.0], hidden.size)
        weights = weights + 2 * scale * np.outer(u, v)
    rbm = hm.RBM(visible, hidden, jnp.asarray(weights, jnp.result_type(float)))
    while not hm.finite_z(rbm):
        rbm = eqx.tree_at(lambda m: m.weights, rbm, 0.8 * rbm.weights)
    return rbm


def exact(rbm: hm.RBM) -> float:
    return (closed_log_z(rbm) if has_closed_form(rbm) else exact_log_z(rbm)).value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    rng, found = np.random.default_rng(options.seed), []
    table = pairs()
    strengths = np.exp(rng.uniform(np.log(0.1), np.log(2.0), options.machines))
    began = time.perf_counter()
    for i in range(options.machines):
        visible, hidden = table[i * len(table) // options.machines]
        rbm = random_machine(visible, hidden, rng, strengths[i])
        key = jax.random.fold_in(jax.random.key(options.seed), i)
        started = time.perf_counter()
        answer = annealed_log_z(rbm, key=key, seconds=options.seconds)
        seconds = time.perf_counter() - started
        truth = exact(rbm)
        miss = max(answer.low - truth, truth - answer.high, 0.0)
        found.append(
            {
                "machine": str(rbm),
                "strength": float(strengths[i]),
                "exact": truth,
                "value": answer.value,
                "low": answer.low,
                "high": answer.high,
                "gap": answer.gap,
                "ess": answer.ess,
                "converged": answer.converged,
                "miss": miss,
                "seconds": seconds,
                "message": answer.message,
                "method": answer.method,
            }
        )
        error = answer.value - truth
        sign = " " if not miss else "*"
        if not answer.converged or miss:
            print(f"{i:4d} {rbm!s:60s} {strengths[i]:.2f} {error:+.3f} [{answer.low-truth:+.3f} {answer.high-truth:+.3f}] {sign} {answer.converged} {seconds:.1f}s {answer.method} {answer.message}", flush=True)
    good = [f for f in found if f["converged"]]
    covered = np.mean([f["miss"] == 0 for f in good])
    worst = max(f["miss"] for f in good)
    print(f"{len(good)} of {len(found)} converged; {100*covered:.1f} % covered; worst miss {worst:.3f}; {time.perf_counter()-began:.0f} s")
    rest = [f for f in found if not f["converged"]]
    if rest:
        errors = [abs(f["value"] - f["exact"]) for f in rest]
        print(f"unconverged: error median {np.median(errors):.3f}, largest {max(errors):.3f}; outside their interval {sum(f['miss']>0 for f in rest)}")
    if options.out:
        Path(options.out).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
