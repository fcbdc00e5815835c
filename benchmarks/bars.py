"""Bars and stripes 4×4: twenty runs of every method, with exact likelihoods during training.

    python benchmarks/bars.py [--out runs/bars] [--runs 20] [--updates 20000] [--rates 0.01 0.1]
                              [METHOD ...]

16 hidden units, plain ascent on all 32 rows, 1,000 chains, parameters from N(0, 0.1²), as in Qiu,
Zhang & Wang 2020. All runs of a method train in parallel in one compiled program. Results are
stored as RATE/METHOD.json in the folder: a method with a stored result is not run again, and an
interrupted method continues. Tables are for docs/choosing_a_method.md; bars.json, in the form of
docs/measured/bars.json, is what benchmarks/pictures.py draws.
"""

import itertools
import json
import os
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from reporting import head, parser_of, row, signed

import harmonium as hm
from harmonium._base.threefry import key_of
from harmonium.likelihood.partition_function import enumerated

CHAINS = 1_000
EVERY = 100
SAVED_EVERY = 1_000
DRAWN_EVERY = 200
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
    weights, visible_bias, hidden_bias = (
        0.1 * jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)
    )
    return hm.RBM(hm.Bernoulli(16, visible_bias), hm.Bernoulli(16, hidden_bias), weights)


def total_log_likelihood(rbm: hm.RBM, rows: jax.Array) -> jax.Array:
    """Return the exact Σ log p over the rows."""
    return -rbm.free_energy(rows).sum() - len(rows) * enumerated.log_z(rbm)


def stretch(method, rate, rbm, state, batch, first, key):
    """Make EVERY updates; return the model, the state, and averages of what the method measured."""
    zero = {name: jnp.zeros(()) for name in jax.eval_shape(method.metrics, state)}

    def update(i, carry):
        rbm, state, means = carry
        grads, state, _ = method.estimate(rbm, batch, state, key=jax.random.fold_in(key, first + i))
        rbm = jax.tree.map(lambda x, g: x - rate * g, rbm, grads)
        metrics = method.metrics(state)
        return rbm, state, {name: means[name] + metrics[name] / EVERY for name in means}

    return jax.lax.fori_loop(0, EVERY, update, (rbm, state, zero))


def run(method, rate: float, runs: int, updates: int, target: Path) -> None:
    """Make or continue all runs of a method, and store the results."""
    rows = jnp.asarray(hm.open_source("bars").train, jnp.float32)
    batch = hm.samplers.Cloud.uniform(rows)
    if isinstance(method, hm.Contrastive):
        # CD has a chain for each row of the batch: copies of the rows give it as many as others.
        batch = hm.samplers.Cloud.uniform(jnp.tile(rows, (CHAINS // len(rows) + 1, 1)))
    keys = jax.random.split(key_of(0), (runs, 3))
    rbms = eqx.filter_vmap(model_of)(keys[:, 0])
    states = eqx.filter_vmap(lambda rbm, key: method.init(rbm, batch, key=key))(rbms, keys[:, 1])
    record = {"every": EVERY, "rate": rate, "log_likelihood": [], "measured": [], "seconds": 0.0}
    record_file = target.with_suffix(".part")
    state_file = target.with_suffix(".eqx")
    if record_file.exists() and state_file.exists():
        record = json.loads(record_file.read_text())
        rbms, states = eqx.tree_deserialise_leaves(state_file, (rbms, states))

    @eqx.filter_jit
    def advance(rbms, states, first, keys):
        def advance_run(rbm, state, key):
            rbm, state, metrics = stretch(method, rate, rbm, state, batch, first, key)
            return rbm, state, metrics, total_log_likelihood(rbm, rows)

        return jax.vmap(advance_run)(rbms, states, keys)

    started = None
    for first in range(len(record["log_likelihood"]) * EVERY, updates, EVERY):
        started = started or time.perf_counter()
        rbms, states, metrics, score = advance(rbms, states, jnp.asarray(first), keys[:, 2])
        record["log_likelihood"].append(np.asarray(score).tolist())
        record["measured"].append({name: np.asarray(x).tolist() for name, x in metrics.items()})
        done = first + EVERY
        if done % SAVED_EVERY == 0 or done >= updates:
            record["seconds"] += time.perf_counter() - started
            started = None
            record_file.write_text(json.dumps(record))
            eqx.tree_serialise_leaves(state_file, (rbms, states))
            print(f"  {done:6d}  {np.mean(record['log_likelihood'][-1]):9.3f}", flush=True)
    target.write_text(json.dumps(record | {"updates": updates}))
    record_file.unlink(missing_ok=True)
    state_file.unlink(missing_ok=True)


def report(folder: Path, rates: list[float]) -> None:
    """Print a table of all results at each rate, as Markdown, and store them as one file."""
    records = []
    for rate in rates:
        print(f"\n### Rate {rate:g}\n")
        print(head(["method", "highest", "at update", "at the end", "ms an update"]))
        for name in METHODS:
            path = folder / f"{rate:g}" / f"{name}.json"
            if not path.exists():
                continue
            record = json.loads(path.read_text())
            line = summary(name, record)
            records.append(line)
            highest = with_error(*line["highest"])
            end = with_error(*line["end"])
            print(row([name, highest, f"{line['at']:,}", end, f"{line['ms_an_update']:.2f}"]))
            for n, mean in coupling_times(record):
                print(f"<!-- mean coupling time over the first {n:,} updates: {mean:.2f} -->")
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


def with_error(mean: float, error: float) -> str:
    """Return a mean with its standard error as text."""
    return f"{signed(mean, 2)} ± {error:.2f}"


def summary(name: str, record: dict) -> dict:
    """Return the mean curve of a method's runs, its highest point and its end with their errors."""
    scores = np.array(record["log_likelihood"])
    mean = scores.mean(1)
    error = scores.std(1, ddof=1) / np.sqrt(scores.shape[1])
    best = int(mean.argmax())
    step = DRAWN_EVERY // record["every"]
    return {
        "method": name,
        "rate": record["rate"],
        "runs": scores.shape[1],
        "highest": [round(float(x[best]), 2) for x in (mean, error)],
        "at": (best + 1) * record["every"],
        "end": [round(float(x[-1]), 2) for x in (mean, error)],
        "ms_an_update": round(1e3 * record["seconds"] / (record["updates"] * scores.shape[1]), 3),
        "mean": [round(float(x), 1) for x in mean[step - 1 :: step]],
    }


def coupling_times(record: dict) -> list[tuple[int, float]]:
    """Return the mean coupling time over the first n updates, for several n."""
    times = [part["coupling_time"] for part in record["measured"] if "coupling_time" in part]
    if not times:
        return []
    lengths = sorted({1_000, 5_000, 10_000, record["updates"]})
    return [(n, float(np.mean(times[: n // EVERY]))) for n in lengths]


def main() -> None:
    """Run the chosen methods and report."""
    parser = parser_of(__doc__, methods=METHODS, out="runs/bars", runs=20, updates=20_000)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.1])
    args = parser.parse_args()
    for name, rate in itertools.product(args.methods, args.rates):
        target = Path(args.out) / f"{rate:g}" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            print(name, "at rate", rate, flush=True)
            run(METHODS[name], rate, args.runs, args.updates, target)
    report(Path(args.out), args.rates)


if __name__ == "__main__":
    main()
