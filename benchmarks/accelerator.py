"""What harmonium makes of a GPU, or of whatever device JAX has here: limits, precision, sizes.

    python benchmarks/accelerator.py [limits] [updates] [first] [precision] [memory] [--out FILE]
        [--largest 65536] [--size 8192]

`limits` times square matrix products. `updates` times updates of many kinds, beside those of a
short loop of plain JAX that does the same gradient ascent, with and without command buffers.
`first` times the first fit of a process, without and with what earlier ones kept. `precision` holds
draws against exact probabilities, and gradients and log Z against float64. `memory` trains ever
larger models until one does not fit. FILE collects the results as JSON, for docs/benchmarks.md. The
race against other packages is benchmarks/race.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from reporting import parser_of
from scipy import stats
from scipy.special import expit, logsumexp
from timing import PLAIN, ContinuedRun, binary_rows, timed

import harmonium as hm
from harmonium._base.compiler_options import IN_COMMAND_BUFFERS

DRAWS = 2**21
SWEEPS = 200
REPEATS = 5
BATCH = 256  # rows of an update, and chains
EPOCH = 32  # updates
KINDS = {
    "float32": (jnp.float32, "highest"),
    "float32 rounded by the device": (jnp.float32, "default"),
    "bfloat16": (jnp.bfloat16, "default"),
}


def fastest(call) -> float:
    """Return the least seconds of a call, after one that compiles."""
    jax.block_until_ready(call())
    spent = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        jax.block_until_ready(call())
        spent.append(time.perf_counter() - started)
    return min(spent)


def product_rate(n: int, dtype, precision: str, times: int = 20) -> float:
    """Return the operations a second of products of n×n matrices, each waiting for the last."""
    x = jax.random.normal(jax.random.key(0), (n, n)).astype(dtype)

    @jax.jit
    def products(x):
        def once(_, y):
            product = jnp.matmul(x, y, precision=precision, preferred_element_type=jnp.float32)
            return (product / n).astype(dtype)

        return jax.lax.fori_loop(0, times, once, x)

    return times * 2.0 * n**3 / fastest(lambda: products(x))


def limits(args) -> dict:
    """Time products of each kind, and a copy within the device's memory."""
    rates = {name: product_rate(args.size, *kind) / 1e12 for name, kind in KINDS.items()}
    is_large = args.size > 4_096
    x = jnp.ones(2**28 if is_large else 2**24)
    copied = jax.jit(lambda x: x + 1.0)
    rate = 2.0 * x.nbytes / fastest(lambda: copied(x))
    return {"n": args.size, "tflops": rates, "copy_gb_per_s": rate / 1e9}


def exact(w, a, b) -> tuple[np.ndarray, np.ndarray]:
    """Return all visible states and their log probabilities, in float64."""
    n = len(a)
    states = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    logs = states @ a + np.logaddexp(0.0, states @ w + b).sum(1)
    return states, logs - logsumexp(logs)


def g_test(draws: np.ndarray, log_p: np.ndarray) -> float:
    """Return the p-value of draws of states, given by their bits, against probabilities."""
    numbers = draws.astype(np.int64) @ (1 << np.arange(draws.shape[1]))
    counts = np.bincount(numbers, minlength=len(log_p))
    expected = len(draws) * np.exp(log_p)
    rare = expected < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def precision(args) -> dict:
    """Compare draws, a gradient and log Z of 12×8 and 784×16 units with float64."""
    rng = np.random.default_rng(0)
    w, a, b = (0.6 * rng.standard_normal(shape).astype(np.float32) for shape in ((12, 8), 12, 8))
    rbm = hm.RBM.from_arrays(w, a, b)
    coarse = np.asarray(jnp.asarray(w).astype(jnp.bfloat16).astype(jnp.float32))
    sampling = {"key": jax.random.key(1), "sampler": hm.Gibbs(1), "steps": SWEEPS}
    draws = np.asarray(hm.sample(rbm, DRAWS, **sampling))
    draws_bfloat16 = np.asarray(hm.sample(hm.transforms.rounded(rbm), DRAWS, **sampling))
    states, log_p = exact(w, a, b)
    _, log_p_rounded = exact(coarse, a, b)
    figures: dict = {"draws": DRAWS}
    figures["p of float32 draws"] = g_test(draws, log_p)
    figures["p of bfloat16 draws, rounded weights"] = g_test(draws_bfloat16, log_p_rounded)
    figures["p of bfloat16 draws, unrounded weights"] = g_test(draws_bfloat16, log_p)
    rows = states[rng.integers(0, len(states), 100)]
    grads = hm.gradients.Exact().estimate(
        rbm, hm.samplers.Cloud.uniform(jnp.asarray(rows, jnp.float32)), (), key=None
    )[0]
    positive = rows.T @ expit(rows @ w + b) / len(rows)
    negative = (np.exp(log_p)[:, None] * states).T @ expit(states @ w + b)
    reference = negative - positive
    error = np.linalg.norm(np.asarray(grads.weights) - reference)
    figures["relative error of the exact gradient"] = float(error / np.linalg.norm(reference))
    w, a, b = (
        scale * rng.standard_normal(shape).astype(np.float32)
        for scale, shape in ((0.2, (784, 16)), (0.5, 784), (0.5, 16))
    )
    states = ((np.arange(2**16)[:, None] >> np.arange(16)) & 1).astype(float)
    log_z = logsumexp(states @ b + np.logaddexp(0.0, states @ w.T + a).sum(1))
    wide = hm.RBM.from_arrays(w, a, b)
    figures["log Z, float64"] = float(log_z)
    figures["log Z, summed"] = hm.log_z(wide).value
    for name in ("float32", "bfloat16"):
        settings = {"method": "annealed", "chains": 1024, "steps": 5_000, "precision": name}
        estimate = hm.log_z(wide, key=jax.random.key(0), **settings)
        figures[f"log Z, annealed, {name}"] = [estimate.low, estimate.value, estimate.high]
    return figures


BLOCK = 8  # updates in a turn of the plain loop
TURNS = 250


def plain_loop(rows: np.ndarray, hidden: int, batch: int, dtype, options: dict):
    """Return a call that makes `BLOCK * TURNS` updates of PCD-1 in plain JAX, compiled."""
    data = jnp.asarray(rows, dtype)
    visible = rows.shape[1]
    dot = partial(jnp.matmul, precision="highest", preferred_element_type=jnp.float32)

    def update(i, state):
        w, a, b, v, key = state
        key, key_rows, key_h, key_v = jax.random.split(key, 4)
        x = data[jax.random.randint(key_rows, (batch,), 0, len(data))]
        short = w.astype(dtype)
        h = jax.random.uniform(key_h, (batch, hidden)) < jax.nn.sigmoid(dot(v, short) + b)
        inputs = dot(h.astype(dtype), short.T) + a
        v = (jax.random.uniform(key_v, inputs.shape) < jax.nn.sigmoid(inputs)).astype(dtype)
        positive = jax.nn.sigmoid(dot(x, short) + b)
        negative = jax.nn.sigmoid(dot(v, short) + b)
        dw = dot(x.T, positive.astype(dtype)) - dot(v.T, negative.astype(dtype))
        w = w + 0.01 / batch * dw
        a = a + 0.01 * (x.mean(0, dtype=jnp.float32) - v.mean(0, dtype=jnp.float32))
        return w, a, b + 0.01 * (positive.mean(0) - negative.mean(0)), v, key

    def updates(state):
        def turn(_, state):
            return jax.lax.fori_loop(0, BLOCK, update, state, unroll=True)

        return jax.lax.fori_loop(0, TURNS, turn, state)

    w = 0.01 * jax.random.normal(jax.random.key(0), (visible, hidden))
    chains = jnp.zeros((batch, visible), dtype)
    state = (w, jnp.zeros(visible), jnp.zeros(hidden), chains, jax.random.key(1))
    program = jax.jit(updates).lower(state).compile(compiler_options=options)
    return lambda: program(state)


def per_update(run, seconds: float = 3.0) -> float:
    """Return the least microseconds of an update of a run, over some seconds after the first."""
    run.train(1)  # compiles
    epochs = max(1, round(seconds / REPEATS / max(run.train(1), 1e-4)))
    spent = [run.train(epochs) for _ in range(REPEATS)]
    return 1e6 * min(spent) / (epochs * run.updates_per_epoch)


def updates(args) -> dict:
    """Time updates of many kinds, in microseconds."""
    figures: dict = {}
    for visible, hidden, batch in ((784, 500, 512), (64, 64, 100), (4_096, 4_096, 1_024)):
        rows = binary_rows(max(20_000, 20 * batch), visible, np.uint8)
        name = f"{visible}×{hidden} b{batch}"
        for dtype in (jnp.bfloat16, jnp.float32):
            for words, options in (("", {}), (", in graphs", IN_COMMAND_BUFFERS)):
                try:
                    call = plain_loop(rows, hidden, batch, dtype, options)
                    micros = 1e6 * fastest(call) / (BLOCK * TURNS)
                except Exception as error:  # an option that this compiler does not know
                    micros = f"{type(error).__name__}: {error}"[:200]
                figures[f"{name}, plain JAX, {dtype.__name__}{words}"] = micros
        for words, recipe in (("plain ascent", PLAIN), ("default recipe", hm.Recipe())):
            for short in ("bfloat16", "float32"):
                options = {"batch": batch, "chains": batch, "precision": short, "recipe": recipe}
                run = ContinuedRun(hm.Bernoulli(visible), hidden, rows, **options)
                figures[f"{name}, {words}, {short}"] = per_update(run)
                print(name, words, short, figures[f"{name}, {words}, {short}"], flush=True)
    codes = np.random.default_rng(0).integers(0, 21, (10_000, 112))
    sites = ContinuedRun(hm.Potts(112, 21), 800, codes, batch=5_000, chains=5_000)
    figures["112 sites of 21 states × 800, 5,000 chains"] = per_update(sites)
    rows = binary_rows(20_000, 784, np.uint8)
    figures |= {name: of_fit(rows, **options) for name, options in OTHERS.items()}
    return figures


OTHERS = {
    "784×500 b512, ten replicas": {"gradient": hm.Tempering(10, 50)},
    "784×500 b512, PCD-10": {"gradient": hm.Persistent(hm.Gibbs(10), 512)},
    "100 models of 784×64": {"models": 100},
}


def of_fit(rows: np.ndarray, gradient=None, models: int = 1) -> float:
    """Return the microseconds of an update of `fit`, or of `fit_ensemble` for each model."""
    hidden = 500 if models == 1 else 64
    keys = jax.random.split(jax.random.key(0), models)
    starts = [hm.initialize(hm.Bernoulli(784), hm.Bernoulli(hidden), rows, key=k) for k in keys]
    options = {"gradient": gradient, "batch_size": 512}

    def seconds(epochs: int) -> float:
        if models == 1:
            return timed(hm.fit, starts[0], rows, key=keys[0], epochs=epochs, **options)[1]
        return timed(hm.fit_ensemble, starts, rows, keys=keys, epochs=epochs, **options)[1]

    seconds(1)  # compiles
    few, many = (min(seconds(epochs) for _ in range(2)) for epochs in (2, 12))
    return 1e6 * (many - few) / (10 * -(-len(rows) // 512)) / models


FIRST_FIT = """
import time
began = time.perf_counter()
import jax, numpy as np, harmonium as hm
rows = (np.random.default_rng(0).random((60_000, 784)) < 0.2).astype(np.uint8)
rbm = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(500), rows, key=jax.random.key(0))
hm.fit(rbm, rows, key=jax.random.key(0), epochs=1)
print(time.perf_counter() - began)
"""


def first(args) -> dict:
    """Time the first fit of a process, imports included, with an empty and with a full cache."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "HARMONIUM_CACHE": folder, "JAX_ENABLE_COMPILATION_CACHE": "0"}
        # Two processes cannot hold most of a GPU's memory each.
        variables["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        command = [sys.executable, "-c", FIRST_FIT]
        seconds = []
        for _ in range(2):
            done = subprocess.run(command, env=variables, capture_output=True, text=True)
            seconds.append(done.stdout.strip() or done.stderr[-500:])
    return {"empty cache": seconds[0], "kept programs": seconds[1]}


def peak_bytes(n: int) -> int | None:
    """Train an n×n model, and return the most bytes in use; None where none are counted."""
    rows = np.random.default_rng(0).integers(0, 2, (EPOCH * BATCH, n), dtype=np.uint8)
    run = ContinuedRun(hm.Bernoulli(n), n, rows, batch=BATCH, chains=BATCH, precision="bfloat16")
    run.train(2)
    statistics = jax.devices()[0].memory_stats()
    return statistics and statistics["peak_bytes_in_use"]


def memory(args) -> dict:
    """Train ever larger models, until one does not fit."""
    records: list[dict] = []
    for n in (8_192, 16_384, 32_768, 45_056, 57_344, 65_536, 81_920):
        if n > args.largest:
            break
        try:
            peak, seconds = timed(peak_bytes, n)
        except Exception as error:
            records.append({"n": n, "error": f"{type(error).__name__}: {error}"[:600]})
            print(records[-1], flush=True)
            break
        records.append({"n": n, "peak_bytes": peak, "bytes_per_weight": (peak or 0) / n**2})
        print(records[-1], f"{seconds:.0f} s", flush=True)
    return {"records": records}


PARTS = {
    "limits": limits,
    "updates": updates,
    "first": first,
    "precision": precision,
    "memory": memory,
}


def main() -> None:
    """Run the chosen parts, and store what each of them measures."""
    args = parser_of(
        __doc__, parts=PARTS, out=Path("runs/accelerator.json"), largest=65_536, size=8_192
    ).parse_args()
    device = jax.devices()[0]
    report = {
        "program": "benchmarks/accelerator.py",
        "device": device.device_kind,
        "date": time.strftime("%d %B %Y"),
        "versions": {"harmonium": hm.__version__, "jax": jax.__version__},
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for part in args.parts:
        started = time.perf_counter()
        report[part] = PARTS[part](args) | {"seconds": time.perf_counter() - started}
        print(part, json.dumps(report[part], indent=1), flush=True)
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
