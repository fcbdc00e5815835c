"""A hundred seeds of a small model: at once, one after the other, and by scikit-learn with joblib.

    python benchmarks/ensembles.py [--models 100] [--epochs 50] [--rounds 3]

64×64, 2,000 rows, batches and chains of 100, PCD-1 with plain ascent for all three. Compiling is
not counted. Each round times all three in turn; ratios are taken within a round and are medians
over rounds.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import jax
from joblib import Parallel, delayed
from reporting import parser_of
from sklearn.neural_network import BernoulliRBM
from timing import PLAIN, binary_rows, in_turn

import harmonium as hm

VISIBLE = 64
HIDDEN = 64
ROWS = 2_000
BATCH = 100


def main() -> None:
    """Time all three."""
    args = parser_of(__doc__, models=100, epochs=50, rounds=3).parse_args()
    rows = binary_rows(ROWS, VISIBLE)
    keys = jax.random.split(jax.random.key(0), args.models)
    visible = hm.Bernoulli(VISIBLE)
    rbms = [hm.initialize(visible, hm.Bernoulli(HIDDEN), rows, key=key) for key in keys]
    data = hm.Dataset(rows)
    settings = {
        "gradient": hm.Persistent(hm.Gibbs(1), BATCH),
        "optimizer": PLAIN,
        "batch_size": BATCH,
    }

    def at_once(epochs: int) -> None:
        fits = hm.fit_ensemble(rbms, data, keys=keys, epochs=epochs, **settings)
        jax.block_until_ready(fits[-1].rbm.weights)

    def one_by_one(epochs: int) -> None:
        for rbm, key in zip(rbms, keys, strict=True):
            fit = hm.fit(rbm, data, key=key, epochs=epochs, **settings)
            jax.block_until_ready(fit.rbm.weights)

    def scikit_learn(seed: int, epochs: int) -> BernoulliRBM:
        model = BernoulliRBM(
            HIDDEN, learning_rate=0.01, batch_size=BATCH, n_iter=epochs, random_state=seed
        )
        return model.fit(rows)

    def by_joblib(epochs: int) -> None:
        Parallel(n_jobs=-1)(delayed(scikit_learn)(seed, epochs) for seed in range(args.models))

    def seconds_of(train: Callable[[int], None]) -> float:
        started = time.perf_counter()
        train(args.epochs)
        return time.perf_counter() - started

    contestants = {
        "all at once": at_once,
        "one after the other": one_by_one,
        "scikit-learn, joblib": by_joblib,
    }
    for train in contestants.values():
        train(2)  # compiles
    seconds = in_turn(
        {name: partial(seconds_of, train) for name, train in contestants.items()}, args.rounds
    )
    updates = args.models * args.epochs * ROWS // BATCH
    for name, times in seconds.items():
        ratios = [a / b for a, b in zip(times, seconds["all at once"], strict=True)]
        print(
            f"{name:22s} {statistics.median(times):7.2f} s"
            f" {1e6 * statistics.median(times) / updates:7.1f} µs an update of a model"
            f" {statistics.median(ratios):5.2f} times as long"
            f" [{min(ratios):.2f} – {max(ratios):.2f}]"
        )


if __name__ == "__main__":
    main()
