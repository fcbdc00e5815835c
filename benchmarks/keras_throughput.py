"""Training speed of the Keras interface on TensorFlow, `hm.fit`, and a hand-written loop.

PCD-1 with plain ascent for all of them, in float32, with the same rows, batch and chains; the
hand-written loop is in TensorFlow. Every round times all of them in turn in one process; figures
are medians over rounds, and ratios are taken within a round first. Compiling is not counted;
`--json` writes the figures to a file. Run it with nothing else on the computer:

    python benchmarks/keras_throughput.py [--rounds 5] [--workload NAME]
        [--json docs/measured/keras_throughput.json]
"""

import os
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf
from reporting import parser_of, write_records
from timing import ContinuedRun, binary_rows, in_turn

import harmonium as hm
import harmonium.keras as hk

RATE = 0.01
PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "jax", "jaxlib")
HAND = "TensorFlow loop by hand"
CORE = "hm.fit"
WORKLOADS = {  # visible, hidden, batch, rows, epochs in a timed call
    "784x500 b512": (784, 500, 512, 20_480, 3),
    "64x16 b10": (64, 16, 10, 20_000, 4),
}


def interface_speed(x, hidden, batch, epochs, **options) -> Callable:
    """Return a function that times `fit` of the Keras interface, in rows a second."""
    rbm = hk.RBM(hidden, chains=batch, seed=0)
    rbm.compile(keras.optimizers.SGD(RATE), **options)

    def run() -> float:
        started = time.perf_counter()
        rbm.fit(x, batch_size=batch, epochs=epochs, verbose=0)
        return epochs * len(x) / (time.perf_counter() - started)

    rbm.fit(x[: 64 * batch], batch_size=batch, verbose=0)
    return run


def core_speed(x, hidden, batch, epochs) -> Callable:
    """Return a function that times `hm.fit`; each call continues the last one."""
    training = ContinuedRun(hm.Bernoulli(x.shape[1]), hidden, x, batch=batch, chains=batch)

    def run() -> float:
        return epochs * len(x) / training.train(epochs)

    run()
    return run


def hand_speed(x, hidden, batch, epochs, jit_compile=False) -> Callable:
    """Return a function that times a hand-written update; an epoch is one `tf.function`.

    The gradient is in closed form, chains are stored as hidden states, and rows are shuffled.
    """
    visible = x.shape[1]
    updates = len(x) // batch
    data = tf.constant(x)
    w = tf.Variable(0.01 * tf.random.stateless_normal((visible, hidden), (0, 0)))
    a = tf.Variable(tf.zeros(visible))
    b = tf.Variable(tf.zeros(hidden))
    chains = tf.Variable(tf.zeros((batch, hidden)))
    count = tf.Variable(0)

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
            up = tf.sigmoid(tf.matmul(rows, w) + b)
            down = tf.sigmoid(logits)
            chains.assign(draw(logits, (3, count)))
            products = tf.matmul(rows, up, transpose_a=True) - tf.matmul(v, down, transpose_a=True)
            w.assign_add(RATE / batch * products)
            a.assign_add(RATE * (tf.reduce_mean(rows, 0) - tf.reduce_mean(v, 0)))
            b.assign_add(RATE * (tf.reduce_mean(up, 0) - tf.reduce_mean(down, 0)))
            count.assign_add(1)

    def run() -> float:
        started = time.perf_counter()
        for _ in range(epochs):
            epoch()
        w.numpy()
        return epochs * updates * batch / (time.perf_counter() - started)

    epoch()
    return run


class Speed(NamedTuple):
    """Rows a second over rounds, and their ratios, taken within rounds."""

    rows_per_second: float
    lowest: float
    highest: float
    microseconds_an_update: float
    ratio_to_hand: float
    ratio_to_core: float

    def record(self) -> dict[str, float]:
        """Return the figures as they are recorded."""
        digits = {"ratio_to_hand": 2, "ratio_to_core": 2, "microseconds_an_update": 1}
        return {name: round(figure, digits.get(name)) for name, figure in self._asdict().items()}

    def __str__(self) -> str:
        return (
            f"{self.ratio_to_hand:5.2f}x the hand-written loop, {self.ratio_to_core:5.2f}x hm.fit,"
            f" {self.rows_per_second:9,.0f} rows/s [{self.lowest:,.0f} – {self.highest:,.0f}],"
            f" {self.microseconds_an_update:8.1f} µs an update"
        )


def measure(name: str, rounds: int) -> dict[str, Speed]:
    """Time all contestants of a workload in turn, several rounds."""
    visible, hidden, batch, n, epochs = WORKLOADS[name]
    rows = binary_rows(n, visible)
    task = (rows, hidden, batch, epochs)
    core_epochs = epochs if visible > 100 else 10 * epochs  # small updates need longer calls
    contestants = {
        "Keras interface, no metrics": interface_speed(*task, metrics=()),
        "Keras interface, its defaults": interface_speed(*task),
        "Keras interface, no metrics, XLA": interface_speed(*task, metrics=(), jit_compile=True),
        "Keras interface, a call for each update": interface_speed(
            *task, metrics=(), steps_per_execution=1
        ),
        HAND: hand_speed(*task),
        CORE: core_speed(rows, hidden, batch, core_epochs),
    }
    measured = in_turn(contestants, rounds)

    def ratio(speeds: list[float], base: str) -> float:
        return statistics.median(s / t for s, t in zip(speeds, measured[base], strict=True))

    return {
        contestant: Speed(
            rows_per_second=statistics.median(speeds),
            lowest=min(speeds),
            highest=max(speeds),
            microseconds_an_update=1e6 * batch / statistics.median(speeds),
            ratio_to_hand=ratio(speeds, HAND),
            ratio_to_core=ratio(speeds, CORE),
        )
        for contestant, speeds in measured.items()
    }


def main() -> None:
    parser = parser_of(__doc__, rounds=5, json="")
    parser.add_argument("--workload", choices=WORKLOADS)
    args = parser.parse_args()
    records = []
    for name in WORKLOADS:
        if args.workload not in (None, name):
            continue
        speeds = measure(name, args.rounds)
        print(f"\n{name}: PCD-1, float32, median of {args.rounds} rounds")
        for contestant, speed in speeds.items():
            print(f"  {contestant:36s} {speed}")
        contestants = {contestant: speed.record() for contestant, speed in speeds.items()}
        records.append({"workload": name, "contestants": contestants})
        write_records(args.json, "benchmarks/keras_throughput.py", records, PACKAGES)


if __name__ == "__main__":
    main()
