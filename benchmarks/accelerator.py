"""What harmonium makes of a GPU, or of whatever device JAX has here: limits, precision, sizes.

    python benchmarks/accelerator.py [limits] [precision] [training] [memory] [--out FILE]
        [--largest 65536] [--size 8192]

`limits` times square matrix products. `precision` holds draws against exact probabilities, and
gradients and log Z against float64. `training` times updates of n×n models beside the products that
they consist of. `memory` trains ever larger models until one does not fit. FILE collects the
results as JSON, for docs/benchmarks.md. The race against other packages is benchmarks/race.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats
from scipy.special import expit, logsumexp

import harmonium as hm

DRAWS, SWEEPS = 2**21, 200
REPEATS = 5
EPOCH = 32  # updates between records, so that these take a small part of the time
PLAIN = hm.Recipe(rate=0.01, centring=None, averaging=None, hold=1.0)
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
        began = time.perf_counter()
        jax.block_until_ready(call())
        spent.append(time.perf_counter() - began)
    return min(spent)


def product_rate(n: int, dtype, precision: str, times: int = 20) -> float:
    """Return the operations a second of products of n×n matrices, each waiting for the last."""
    x = jax.random.normal(jax.random.key(0), (n, n)).astype(dtype)

    @jax.jit
    def products(x):
        def once(_, y):
            found = jnp.matmul(x, y, precision=precision, preferred_element_type=jnp.float32)
            return (found / n).astype(dtype)

        return jax.lax.fori_loop(0, times, once, x)

    return times * 2.0 * n**3 / fastest(lambda: products(x))


def limits(given) -> dict:
    """Time products of each kind, and a copy within the device's memory."""
    found = {name: product_rate(given.size, *kind) / 1e12 for name, kind in KINDS.items()}
    x = jnp.ones(2**28 if given.size > 4_096 else 2**24)
    copied = jax.jit(lambda x: x + 1.0)
    rate = 2.0 * x.nbytes / fastest(lambda: copied(x))
    return {"n": given.size, "tflops": found, "copy_gb_per_s": rate / 1e9}


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


def precision(given) -> dict:
    """Compare draws, a gradient and log Z of 12×8 and 784×16 units with float64."""
    rng = np.random.default_rng(0)
    w, a, b = (0.6 * rng.standard_normal(shape).astype(np.float32) for shape in ((12, 8), 12, 8))
    rbm = hm.RBM.from_arrays(w, a, b)
    coarse = np.asarray(jnp.asarray(w).astype(jnp.bfloat16).astype(jnp.float32))
    found: dict = {"draws": DRAWS}
    draw = {
        name: np.asarray(
            hm.sample(model, DRAWS, key=jax.random.key(1), sampler=hm.Gibbs(1), steps=SWEEPS)
        )
        for name, model in (("float32", rbm), ("bfloat16", hm.rounded(rbm)))
    }
    found["p of float32 draws"] = g_test(draw["float32"], exact(w, a, b)[1])
    found["p of bfloat16 draws, rounded weights"] = g_test(draw["bfloat16"], exact(coarse, a, b)[1])
    found["p of bfloat16 draws, unrounded weights"] = g_test(draw["bfloat16"], exact(w, a, b)[1])
    states, log_p = exact(w, a, b)
    rows = states[rng.integers(0, len(states), 100)]
    grads = hm.gradients.Exact().estimate(
        rbm, hm.Cloud.uniform(jnp.asarray(rows, jnp.float32)), (), key=None
    )[0]
    positive = rows.T @ expit(rows @ w + b) / len(rows)
    negative = (np.exp(log_p)[:, None] * states).T @ expit(states @ w + b)
    wanted = negative - positive
    away = np.linalg.norm(np.asarray(grads.weights) - wanted)
    found["relative error of the exact gradient"] = float(away / np.linalg.norm(wanted))
    w, a, b = (
        scale * rng.standard_normal(shape).astype(np.float32)
        for scale, shape in ((0.2, (784, 16)), (0.5, 784), (0.5, 16))
    )
    states = ((np.arange(2**16)[:, None] >> np.arange(16)) & 1).astype(float)
    known = logsumexp(states @ b + np.logaddexp(0.0, states @ w.T + a).sum(1))
    wide = hm.RBM.from_arrays(w, a, b)
    found["log Z, float64"] = float(known)
    found["log Z, summed"] = hm.log_z(wide).value
    for name in ("float32", "bfloat16"):
        settings = {"method": "annealed", "chains": 1024, "steps": 5_000, "precision": name}
        one = hm.log_z(wide, key=jax.random.key(0), **settings)
        found[f"log Z, annealed, {name}"] = [one.low, one.value, one.high]
    return found


def updates(n: int, batch: int, kind: str, seconds: float) -> dict:
    """Return the updates a second of an n×n model, and the bytes in use."""
    rng, key = np.random.default_rng(0), jax.random.key(0)
    rows = rng.integers(0, 2, (EPOCH * batch, n), dtype=np.uint8)
    began = time.perf_counter()
    rbm = hm.initialize(hm.Bernoulli(n), hm.Bernoulli(n), rows, key=key)
    data = hm.Dataset(rows)
    options = {
        "gradient": hm.Persistent(hm.Gibbs(1), chains=batch),
        "optimizer": PLAIN(10**9),
        "batch_size": batch,
        "precision": kind,
    }
    fitted = hm.fit(rbm, data, key=key, epochs=1, **options)
    jax.block_until_ready(fitted.state)
    ready, epochs, made, spent = time.perf_counter() - began, 1, 0, 0.0
    while spent < seconds / 2:
        more = 1 if not spent else max(1, min(20 * made, int(seconds * made / spent)) // EPOCH)
        epochs += more
        began = time.perf_counter()
        fitted = hm.fit(rbm, data, key=key, epochs=epochs, state=fitted.state, **options)
        jax.block_until_ready(fitted.state)
        spent, made = time.perf_counter() - began, EPOCH * more
    rate = made / spent
    usage = jax.devices()[0].memory_stats()
    return {
        "n": n,
        "batch": batch,
        "precision": kind,
        "ready_s": ready,
        "updates_per_s": rate,
        "tflops": rate * 10.0 * batch * n**2 / 1e12,
        "flips_per_s": rate * batch * 2 * n,
        "peak_bytes": usage and usage["peak_bytes_in_use"],
    }


def training(given) -> dict:
    """Time updates at several sizes and both precisions."""
    found = []
    for n in (512, 2_048, 8_192):
        for kind in ("float32", "bfloat16"):
            if n <= given.size:
                found.append(updates(n, min(4_096, 2 * n), kind, 1.0))
                print(found[-1], flush=True)
    return {"records": found}


def memory(given) -> dict:
    """Train ever larger models, until one does not fit."""
    found: list[dict] = []
    for n in (8_192, 16_384, 32_768, 45_056, 57_344, 65_536, 81_920):
        if n > given.largest:
            break
        began = time.perf_counter()
        try:
            found.append(updates(n, 256, "bfloat16", 0.5))
        except Exception as error:
            found.append({"n": n, "error": f"{type(error).__name__}: {error}"[:600]})
            print(found[-1], flush=True)
            break
        found[-1]["bytes_per_weight"] = (found[-1]["peak_bytes"] or 0) / n**2
        print(found[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    return {"records": found}


PARTS = {"limits": limits, "precision": precision, "training": training, "memory": memory}


def main() -> None:
    """Run the chosen parts, and store what each of them found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--out", type=Path, default=Path("runs/accelerator.json"))
    parser.add_argument("--largest", type=int, default=65_536)
    parser.add_argument("--size", type=int, default=8_192)
    given = parser.parse_args()
    device = jax.devices()[0]
    about = {
        "program": "benchmarks/accelerator.py",
        "device": device.device_kind,
        "date": time.strftime("%d %B %Y"),
        "versions": {"harmonium": hm.__version__, "jax": jax.__version__},
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for part in given.parts or PARTS:
        began = time.perf_counter()
        about[part] = PARTS[part](given) | {"seconds": time.perf_counter() - began}
        print(part, json.dumps(about[part], indent=1), flush=True)
        given.out.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
