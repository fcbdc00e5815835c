"""Training speed of PCD-1: `hm.fit`, a bare loop by hand, scikit-learn, and the matmul ceiling.

All in one run, in turn and repeated, float32, on the same rows; medians, and ratios first. Run it
with nothing else on the machine:

    python benchmarks/speed.py [--rounds 5] [--json FILE]

The ceiling is the machine's own rate for the five products of an update, in one compiled loop.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.neural_network import BernoulliRBM

import harmonium as hm
import sklearn

WORKLOADS = {  # visible, hidden, batch, rows, epochs of a timed stretch
    "784x500 b512": (784, 500, 512, 20_480, 3),
    "64x16 b10": (64, 16, 10, 20_000, 60),
}
PLAIN = hm.Recipe(rate=0.01, centring=None, averaging=None, hold=1.0)


def binary_rows(n, columns):
    """Give rows with the density of binarised digits."""
    return (np.random.default_rng(0).random((n, columns)) < 0.2).astype(np.float32)


def fit_speed(recipe: hm.Recipe, x: np.ndarray, hidden: int, batch: int, epochs: int) -> Callable:
    """Give a function that times `hm.fit`, in samples a second, compiling not counted.

    The run goes on from a state that a first call left, so each timing makes `epochs` more; the
    clock runs over whole `fit` calls, whose compiled loop the first call leaves behind.
    """
    key, gradient = jax.random.key(0), hm.Persistent(hm.Gibbs(1), chains=batch)
    rbm = hm.initialize(hm.Bernoulli(x.shape[1]), hm.Bernoulli(hidden), x, key=key)
    data = hm.Dataset(x)
    per_epoch = -(-len(x) // batch)
    transformation = recipe(10**9)
    done = {"epochs": 0, "state": None}

    def run() -> float:
        done["epochs"] += epochs
        began = time.perf_counter()
        fitted = hm.fit(
            rbm,
            data,
            key=key,
            gradient=gradient,
            optimizer=transformation,
            epochs=done["epochs"],
            batch_size=batch,
            state=done["state"],
        )
        jax.block_until_ready(fitted.state.rbm.weights)
        done["state"] = fitted.state
        return epochs * per_epoch * batch / (time.perf_counter() - began)

    run()
    return run


def bare_speed(x: np.ndarray, hidden: int, batch: int, epochs: int) -> Callable:
    """Give a function that times the same update written by hand on plain arrays."""
    n, visible = x.shape
    data = jnp.asarray(x)
    key = jax.random.key(0)
    updates = epochs * (n // batch)
    share = jnp.concatenate([jnp.full(batch, 1.0 / batch), jnp.full(batch, -1.0 / batch)])

    def draw(key, logits):
        uniforms = jax.random.uniform(key, logits.shape)
        return (uniforms * (1.0 + jnp.exp(-logits)) < 1.0).astype(jnp.float32)

    @jax.jit
    def loop(w, a, b, h, key):
        def update(t, carry):
            w, a, b, h = carry
            key_v, key_h = jax.random.split(jax.random.fold_in(key, t))
            first = (t * batch) % (n - batch + 1)
            rows = jax.lax.dynamic_slice_in_dim(data, first, batch)
            v = draw(key_v, h @ w.T + a)
            both = jnp.concatenate([rows, v])
            logits = both @ w + b
            means = jax.nn.sigmoid(logits) * share[:, None]
            h = draw(key_h, logits[batch:])
            step = 0.01
            w = w + step * (both.T @ means)
            return w, a + step * (share @ both), b + step * means.sum(0), h

        return jax.lax.fori_loop(0, updates, update, (w, a, b, h))

    w = 0.01 * jax.random.normal(key, (visible, hidden))
    start = (w, jnp.zeros(visible), jnp.zeros(hidden), jnp.zeros((batch, hidden)))
    jax.block_until_ready(loop(*start, key))

    def run() -> float:
        began = time.perf_counter()
        jax.block_until_ready(loop(*start, key))
        return updates * batch / (time.perf_counter() - began)

    return run


def sklearn_speed(x: np.ndarray, hidden: int, batch: int, epochs: int) -> Callable:
    """Give a function that times scikit-learn's `fit`, which is PCD-1 too."""
    epochs = max(1, epochs // 3)

    def run() -> float:
        model = BernoulliRBM(hidden, learning_rate=0.01, batch_size=batch, n_iter=epochs)
        began = time.perf_counter()
        model.fit(x)
        return epochs * len(x) / (time.perf_counter() - began)

    return run


def ceiling_speed(x: np.ndarray, hidden: int, batch: int, epochs: int) -> Callable:
    """Give a function that times five products of an update's shapes and nothing else."""
    visible = x.shape[1]
    updates = 60 if visible > 100 else 20_000
    w = 0.01 * jax.random.normal(jax.random.key(0), (visible, hidden))
    both, h = jnp.asarray(x[: 2 * batch]), jnp.ones((batch, hidden))

    @jax.jit
    def loop(w, both, h):
        def products(t, carry):
            w, both, h = carry
            v, means = h @ w.T, both @ w
            w = w + 1e-9 * (both.T @ means)
            return w, both.at[0, 0].add(1e-9 * v[0, 0]), h + 1e-9 * means[batch:] + v[:, :1] * 1e-9

        return jax.lax.fori_loop(0, updates, products, (w, both, h))

    jax.block_until_ready(loop(w, both, h))

    def run() -> float:
        began = time.perf_counter()
        jax.block_until_ready(loop(w, both, h))
        return updates * batch / (time.perf_counter() - began)

    return run


def measure(name: str, rounds: int) -> dict:
    """Time all contestants of a workload in turn, several rounds."""
    visible, hidden, batch, n, epochs = WORKLOADS[name]
    x = binary_rows(n, visible)
    shape = (x, hidden, batch, epochs)
    contestants = {
        "hm.fit, the same update": fit_speed(PLAIN, *shape),
        "hm.fit, its defaults (centred, averaged)": fit_speed(hm.Recipe(), *shape),
        "bare loop by hand": bare_speed(*shape),
        "scikit-learn": sklearn_speed(*shape),
        "matmul ceiling": ceiling_speed(*shape),
    }
    times: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    for _ in range(rounds):
        for contestant, run in contestants.items():
            times[contestant].append(run())
    flops = 10 * visible * hidden
    result = {}
    for contestant, speeds in times.items():
        median = statistics.median(speeds)
        ratios = [s / t for s, t in zip(speeds, times["scikit-learn"], strict=True)]
        shares = [s / t for s, t in zip(speeds, times["matmul ceiling"], strict=True)]
        result[contestant] = {
            "samples_per_second": median,
            "lowest": min(speeds),
            "highest": max(speeds),
            "microseconds_an_update": 1e6 * batch / median,
            "gflops": flops * median / 1e9,
            "ratio_to_sklearn": statistics.median(ratios),
            "share_of_ceiling": statistics.median(shares),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workload", choices=WORKLOADS)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    versions = {"jax": jax.__version__, "scikit-learn": sklearn.__version__}
    results: dict = {"machine": platform.processor(), "versions": versions}
    for name in [arguments.workload] if arguments.workload else WORKLOADS:
        results[name] = measure(name, arguments.rounds)
        print(f"\n{name}: PCD-1, float32, median of {arguments.rounds} rounds")
        for contestant, found in results[name].items():
            print(
                f"  {contestant:42s} {found['ratio_to_sklearn']:5.2f}x scikit-learn,"
                f" {100 * found['share_of_ceiling']:5.1f} % of the ceiling,"
                f" {found['samples_per_second']:9,.0f} samples/s"
                f" [{found['lowest']:,.0f} – {found['highest']:,.0f}],"
                f" {found['microseconds_an_update']:8.1f} µs an update"
            )
    if arguments.json:
        with open(arguments.json, "w") as file:  # noqa: PTH123
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
