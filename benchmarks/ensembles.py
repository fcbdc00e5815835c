"""A hundred seeds of a small model: at once, one after the other, and by scikit-learn with joblib.

    python benchmarks/ensembles.py [--models 100] [--epochs 50] [--rounds 3]

64×64, 2,000 rows, batches and chains of 100, PCD-1 with plain ascent for all three. Compiling is
not counted. Each round times all three in turn; ratios are taken within a round and are medians
over rounds.
"""

import argparse
import statistics
import time

import jax
import numpy as np
from joblib import Parallel, delayed
from sklearn.neural_network import BernoulliRBM

import harmonium as hm

VISIBLE, HIDDEN, ROWS, BATCH = 64, 64, 2_000, 100
PLAIN = hm.Recipe(rate=0.01, centring=None, averaging=None, hold=1.0)


def main() -> None:
    """Time all three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    x = (np.random.default_rng(0).random((ROWS, VISIBLE)) < 0.2).astype(np.float32)
    keys = jax.random.split(jax.random.key(0), asked.models)
    layers = hm.Bernoulli(VISIBLE), hm.Bernoulli(HIDDEN)
    rbms = [hm.initialize(*layers, x, key=key) for key in keys]
    data = hm.Dataset(x)
    given = {
        "gradient": hm.Persistent(hm.Gibbs(1), BATCH),
        "optimizer": PLAIN,
        "batch_size": BATCH,
    }

    def at_once(epochs: int) -> None:
        fits = hm.fit_ensemble(rbms, data, keys=keys, epochs=epochs, **given)
        jax.block_until_ready(fits[-1].rbm.weights)

    def in_turn(epochs: int) -> None:
        for rbm, key in zip(rbms, keys, strict=True):
            fitted = hm.fit(rbm, data, key=key, epochs=epochs, **given)
            jax.block_until_ready(fitted.rbm.weights)

    def theirs(epochs: int) -> None:
        def one(seed: int) -> BernoulliRBM:
            model = BernoulliRBM(
                HIDDEN, learning_rate=0.01, batch_size=BATCH, n_iter=epochs, random_state=seed
            )
            return model.fit(x)

        Parallel(n_jobs=-1)(delayed(one)(seed) for seed in range(asked.models))

    contestants = {
        "all at once": at_once,
        "one after the other": in_turn,
        "scikit-learn, joblib": theirs,
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run(2)
    for _ in range(asked.rounds):
        for name, run in contestants.items():
            began = time.perf_counter()
            run(asked.epochs)
            times[name].append(time.perf_counter() - began)
    updates = asked.models * asked.epochs * ROWS // BATCH
    for name, seconds in times.items():
        ratios = [a / b for a, b in zip(seconds, times["all at once"], strict=True)]
        print(
            f"{name:22s} {statistics.median(seconds):7.2f} s"
            f" {1e6 * statistics.median(seconds) / updates:7.1f} µs an update of a model"
            f" {statistics.median(ratios):5.2f} times as long"
            f" [{min(ratios):.2f} – {max(ratios):.2f}]"
        )


if __name__ == "__main__":
    main()
