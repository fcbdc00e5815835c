"""Bars and stripes 4×4: twenty runs of every method, with exact likelihoods during training.

    python benchmarks/bars.py [--out runs/bars] [--runs 20] [--updates 20000] [--rates 0.01 0.1]
                              [METHOD ...]

16 hidden units, plain ascent on all 32 rows, 1,000 chains, parameters from N(0, 0.1²), as in Qiu,
Zhang & Wang 2020. All runs of a method train in parallel in one compiled program. Results are
stored as RATE/METHOD.json in the folder: a method with a stored result is not run again, and an
interrupted method continues. Tables are for docs/choosing_a_method.md; bars.json, in the form of
docs/measured/bars.json, is what benchmarks/pictures.py draws.
"""

import argparse
import itertools
import json
import os
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from harmonium._threefry import key_of
from harmonium.partition_function import enumerated

CHAINS, EVERY, SAVED_EVERY, DRAWN_EVERY = 1_000, 100, 1_000, 200
METHODS = {
    "CD-1": hm.Contrastive(hm.Gibbs(1)),
    "PCD-1": hm.Persistent(hm.Gibbs(1), CHAINS),
    "FPCD-1": hm.FastPersistent(hm.Gibbs(1), CHAINS, rate=0.01),
    "Jarzynski-1": hm.Jarzynski(hm.Gibbs(1), CHAINS),
    "PTT-1": hm.Trajectory(8, CHAINS // 8),
    "PT-1": hm.Tempering(8, CHAINS // 8),
    "unbiased CD-1": hm.Coupled(1, CHAINS),
    "CD-20": hm.Contrastive(hm.Gibbs(20)),
    "exact": hm.Exact(),
}


def model_of(key) -> hm.RBM:
    """Return a random initial model."""
    keys = jax.random.split(key, 3)
    shapes = ((16, 16), (16,), (16,))
    arrays = [0.1 * jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]
    blank = hm.RBM(hm.Bernoulli(16), hm.Bernoulli(16), arrays[0])
    where = lambda rbm: (rbm.visible.bias, rbm.hidden.bias)  # noqa: E731
    return eqx.tree_at(where, blank, tuple(arrays[1:]))


def total_log_likelihood(rbm: hm.RBM, rows: jax.Array) -> jax.Array:
    """Return the exact Σ log p over the rows."""
    return -rbm.free_energy(rows).sum() - len(rows) * enumerated.log_z(rbm)


def stretch(method, rate, rbm, state, batch, first, key):
    """Make EVERY updates; return the model, the state, and averages of what the method measured."""
    zero = {name: jnp.zeros(()) for name in jax.eval_shape(method.metrics, state)}

    def update(i, carry):
        rbm, state, seen = carry
        here = jax.random.fold_in(key, first + i)
        grads, state, _ = method.estimate(rbm, batch, state, key=here)
        rbm = jax.tree.map(lambda x, g: x - rate * g, rbm, grads)
        new = method.metrics(state)
        return rbm, state, {name: seen[name] + new[name] / EVERY for name in seen}

    return jax.lax.fori_loop(0, EVERY, update, (rbm, state, zero))


def run(method, rate: float, runs: int, updates: int, target: Path) -> None:
    """Make or continue all runs of a method, and store the results."""
    rows = jnp.asarray(hm.open_source("bars").train, jnp.float32)
    is_cd = isinstance(method, hm.Contrastive)  # whose chains start at the rows of the batch
    batch = hm.Cloud.uniform(jnp.tile(rows, (CHAINS // len(rows) + 1, 1)) if is_cd else rows)
    keys = jax.random.split(key_of(0), (runs, 3))
    rbms = eqx.filter_vmap(model_of)(keys[:, 0])
    begin = lambda rbm, key: method.init(rbm, batch, key=key)  # noqa: E731
    states = eqx.filter_vmap(begin)(rbms, keys[:, 1])
    found = {"every": EVERY, "rate": rate, "log_likelihood": [], "measured": [], "seconds": 0.0}
    kept = target.with_suffix(".part"), target.with_suffix(".eqx")
    if all(path.exists() for path in kept):
        found = json.loads(kept[0].read_text())
        rbms, states = eqx.tree_deserialise_leaves(kept[1], (rbms, states))

    @eqx.filter_jit
    def advance(rbms, states, first, keys):
        def go(each):
            rbm, state, key = each
            rbm, state, seen = stretch(method, rate, rbm, state, batch, first, key)
            return rbm, state, seen, total_log_likelihood(rbm, rows)

        return jax.vmap(go)((rbms, states, keys))

    began = None
    for first in range(len(found["log_likelihood"]) * EVERY, updates, EVERY):
        began = began or time.perf_counter()
        rbms, states, seen, score = advance(rbms, states, jnp.asarray(first), keys[:, 2])
        found["log_likelihood"].append(np.asarray(score).tolist())
        found["measured"].append({name: np.asarray(x).tolist() for name, x in seen.items()})
        done = first + EVERY
        if done % SAVED_EVERY == 0 or done >= updates:
            found["seconds"] += time.perf_counter() - began
            began = None
            kept[0].write_text(json.dumps(found))
            eqx.tree_serialise_leaves(kept[1], (rbms, states))
            print(f"  {done:6d}  {np.mean(found['log_likelihood'][-1]):9.3f}", flush=True)
    target.write_text(json.dumps(found | {"updates": updates}))
    for path in kept:
        path.unlink(missing_ok=True)


def report(folder: Path, rates: list[float]) -> None:
    """Print a table of all results at each rate, as Markdown, and store them as one file."""
    records = []
    for rate in rates:
        print(f"\n### Rate {rate:g}\n")
        print("| method | highest | at update | at the end | ms an update |")
        print("|---|---|---|---|---|")
        for name in METHODS:
            path = folder / f"{rate:g}" / f"{name}.json"
            if not path.exists():
                continue
            found = json.loads(path.read_text())
            records.append(one := summary(name, found))
            ends = (f"{one[key][0]:.2f} ± {one[key][1]:.2f}" for key in ("highest", "end"))
            best, end = (text.replace("-", "−") for text in ends)
            print(f"| {name} | {best} | {one['at']:,} | {end} | {one['ms_an_update']:.2f} |")
            for n, time_ in coupling_times(found):
                print(f"<!-- mean coupling time over the first {n:,} updates: {time_:.2f} -->")
    about = {
        "program": "benchmarks/bars.py",
        "date": time.strftime("%d %B %Y"),
        "computer": f"{os.cpu_count()} cores",
        "versions": f"JAX {jax.__version__}",
        "updates_apart": DRAWN_EVERY,
    }
    target = folder / "bars.json"
    target.write_text(json.dumps(about | {"records": records}, indent=1) + "\n")
    print(f"\npython benchmarks/pictures.py bars {target} {target.with_suffix('.png')}")


def summary(name: str, found: dict) -> dict:
    """Return the mean curve of a method's runs, its highest point and its end with their errors."""
    scores = np.array(found["log_likelihood"])
    mean, error = scores.mean(1), scores.std(1, ddof=1) / np.sqrt(scores.shape[1])
    best = int(mean.argmax())
    step = DRAWN_EVERY // found["every"]
    return {
        "method": name,
        "rate": found["rate"],
        "runs": scores.shape[1],
        "highest": [round(float(x[best]), 2) for x in (mean, error)],
        "at": (best + 1) * found["every"],
        "end": [round(float(x[-1]), 2) for x in (mean, error)],
        "ms_an_update": round(1e3 * found["seconds"] / (found["updates"] * scores.shape[1]), 3),
        "mean": [round(float(x), 1) for x in mean[step - 1 :: step]],
    }


def coupling_times(found: dict) -> list[tuple[int, float]]:
    """Return the mean coupling time over the first n updates, for several n."""
    times = [part["coupling_time"] for part in found["measured"] if "coupling_time" in part]
    lengths = sorted({1_000, 5_000, 10_000, found["updates"]}) if times else []
    return [(n, float(np.mean(times[: n // EVERY]))) for n in lengths]


def main() -> None:
    """Run the chosen methods and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=list(METHODS), metavar="METHOD")
    parser.add_argument("--out", default="runs/bars")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.1])
    given = parser.parse_args()
    for name, rate in itertools.product(given.methods, given.rates):
        target = Path(given.out) / f"{rate:g}" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            print(name, "at rate", rate, flush=True)
            run(METHODS[name], rate, given.runs, given.updates, target)
    report(Path(given.out), given.rates)


if __name__ == "__main__":
    main()
