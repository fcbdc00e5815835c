"""Training speed of the Keras interface on TensorFlow, `hm.fit`, and a hand-written loop.

PCD-1 with plain ascent for all of them, in float32, with the same rows, batch and chains; the
hand-written loop is in TensorFlow. Every round times all of them in turn in one process; figures
are medians over rounds, and ratios are taken within a round first. Compiling is not counted. Run it
with nothing else on the computer:

    python benchmarks/keras_throughput.py [--rounds 5] [--workload NAME] [--json FILE]
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import keras
import numpy as np
import tensorflow as tf

import harmonium as hm
import harmonium.keras as hk

RATE = 0.01
WORKLOADS = {  # visible, hidden, batch, rows, epochs in a timed call
    "784x500 b512": (784, 500, 512, 20_480, 3),
    "64x16 b10": (64, 16, 10, 20_000, 4),
}


def binary_rows(n, columns):
    """Return rows with the density of binarised digits."""
    return (np.random.default_rng(0).random((n, columns)) < 0.2).astype(np.float32)


def interface_speed(x, hidden, batch, epochs, **options) -> Callable:
    """Return a function that times `fit` of the Keras interface, in rows a second."""
    rbm = hk.RBM(hidden, chains=batch, seed=0)
    rbm.compile(keras.optimizers.SGD(RATE), **options)

    def run() -> float:
        began = time.perf_counter()
        rbm.fit(x, batch_size=batch, epochs=epochs, verbose=0)
        return epochs * len(x) / (time.perf_counter() - began)

    rbm.fit(x[: 64 * batch], batch_size=batch, verbose=0)
    return run


def core_speed(x, hidden, batch, epochs) -> Callable:
    """Return a function that times `hm.fit`; each call continues the last one."""
    key, gradient = jax.random.key(0), hm.Persistent(hm.Gibbs(1), chains=batch)
    rbm = hm.initialize(hm.Bernoulli(x.shape[1]), hm.Bernoulli(hidden), x, key=key)
    data = hm.Dataset(x)
    optimizer = hm.Recipe(RATE, centring=None, averaging=None, hold=1.0)(10**9)
    done: dict = {"epochs": 0, "state": None}

    def run() -> float:
        done["epochs"] += epochs
        began = time.perf_counter()
        fitted = hm.fit(
            rbm,
            data,
            key=key,
            gradient=gradient,
            optimizer=optimizer,
            epochs=done["epochs"],
            batch_size=batch,
            state=done["state"],
        )
        jax.block_until_ready(fitted.state.rbm.weights)
        done["state"] = fitted.state
        return epochs * len(x) / (time.perf_counter() - began)

    run()
    return run


def hand_speed(x, hidden, batch, epochs, jit_compile=False) -> Callable:
    """Return a function that times a hand-written update; an epoch is one `tf.function`.

    The gradient is in closed form, chains are stored as hidden states, and rows are shuffled.
    """
    visible, updates = x.shape[1], len(x) // batch
    data = tf.constant(x)
    w = tf.Variable(0.01 * tf.random.stateless_normal((visible, hidden), (0, 0)))
    a, b = tf.Variable(tf.zeros(visible)), tf.Variable(tf.zeros(hidden))
    chains, count = tf.Variable(tf.zeros((batch, hidden))), tf.Variable(0)

    def draw(logits, seed):
        uniforms = tf.random.stateless_uniform(tf.shape(logits), seed)
        return tf.cast(uniforms < tf.sigmoid(logits), tf.float32)

    @tf.function(jit_compile=jit_compile)
    def epoch():
        order = tf.random.experimental.stateless_shuffle(tf.range(len(x)), (1, count))
        for t in tf.range(updates):
            rows = tf.gather(data, order[t * batch : (t + 1) * batch])
            v = draw(tf.matmul(chains, w, transpose_b=True) + a, (2, count))
            logits = tf.matmul(v, w) + b
            up, down = tf.sigmoid(tf.matmul(rows, w) + b), tf.sigmoid(logits)
            chains.assign(draw(logits, (3, count)))
            products = tf.matmul(rows, up, transpose_a=True) - tf.matmul(v, down, transpose_a=True)
            w.assign_add(RATE / batch * products)
            a.assign_add(RATE * (tf.reduce_mean(rows, 0) - tf.reduce_mean(v, 0)))
            b.assign_add(RATE * (tf.reduce_mean(up, 0) - tf.reduce_mean(down, 0)))
            count.assign_add(1)

    def run() -> float:
        began = time.perf_counter()
        for _ in range(epochs):
            epoch()
        w.numpy()
        return epochs * updates * batch / (time.perf_counter() - began)

    epoch()
    return run


def measure(name: str, rounds: int) -> dict:
    """Time all contestants of a workload in turn, several rounds."""
    visible, hidden, batch, n, epochs = WORKLOADS[name]
    shape = (binary_rows(n, visible), hidden, batch, epochs)
    contestants = {
        "Keras interface, no metrics": interface_speed(*shape, metrics=()),
        "Keras interface, its defaults": interface_speed(*shape),
        "Keras interface, no metrics, XLA": interface_speed(*shape, metrics=(), jit_compile=True),
        "Keras interface, a call for each update": interface_speed(
            *shape, metrics=(), steps_per_execution=1
        ),
        "TensorFlow loop by hand": hand_speed(*shape),
        "hm.fit": core_speed(*shape[:3], epochs if visible > 100 else 10 * epochs),
    }
    speeds: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    for _ in range(rounds):
        for contestant, run in contestants.items():
            speeds[contestant].append(run())
    result = {}
    for contestant, found in speeds.items():
        ratio = {
            peer: statistics.median(s / t for s, t in zip(found, speeds[peer], strict=True))
            for peer in ("TensorFlow loop by hand", "hm.fit")
        }
        median = statistics.median(found)
        result[contestant] = {
            "rows_per_second": median,
            "lowest": min(found),
            "highest": max(found),
            "microseconds_an_update": 1e6 * batch / median,
            "ratio_to_hand": ratio["TensorFlow loop by hand"],
            "ratio_to_core": ratio["hm.fit"],
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workload", choices=WORKLOADS)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__, "jax": jax.__version__}
    results: dict = {"processor": platform.processor(), "versions": versions}
    for name in [arguments.workload] if arguments.workload else WORKLOADS:
        results[name] = measure(name, arguments.rounds)
        print(f"\n{name}: PCD-1, float32, median of {arguments.rounds} rounds")
        for contestant, found in results[name].items():
            print(
                f"  {contestant:36s} {found['ratio_to_hand']:5.2f}x the hand-written loop,"
                f" {found['ratio_to_core']:5.2f}x hm.fit,"
                f" {found['rows_per_second']:9,.0f} rows/s"
                f" [{found['lowest']:,.0f} – {found['highest']:,.0f}],"
                f" {found['microseconds_an_update']:8.1f} µs an update"
            )
    if arguments.json:
        with open(arguments.json, "w") as file:  # noqa: PTH123
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
