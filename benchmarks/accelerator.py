"""What harmonium makes of a GPU, or of whatever device JAX has here: limits, precision, sizes.

    python benchmarks/accelerator.py [limits] [precision] [memory] [--out FILE]
        [--largest 65536] [--size 8192]

`limits` times square matrix products. `precision` holds draws against exact probabilities, and
gradients and log Z against float64. `memory` trains ever larger models until one does not fit. FILE
collects the results as JSON, for docs/benchmarks.md. The race against other packages is
benchmarks/race.
"""

import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from reporting import parser_of
from scipy import stats
from scipy.special import expit, logsumexp
from timing import ContinuedRun, timed

import harmonium as hm

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


PARTS = {"limits": limits, "precision": precision, "memory": memory}


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
