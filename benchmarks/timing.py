"""What is timed: calls, contestants in turn, and training by plain ascent on rows of noise."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

import harmonium as hm

PLAIN = hm.Recipe(rate=0.01, centring=None, averaging=None, hold=1.0)
UPDATES = 10**9  # over which a timed run's schedule extends, more than it will make


def binary_rows(count: int, columns: int, dtype: type = np.float32) -> np.ndarray:
    """Return rows of independent 0 and 1 with the density of binarised digits."""
    return (np.random.default_rng(0).random((count, columns)) < 0.2).astype(dtype)


class ContinuedRun:
    """A run of PCD-k by `hm.fit` that each call continues.

    The first call compiles; the others take as long as their updates.
    """

    def __init__(
        self,
        visible: hm.layers.AbstractLayer,
        hidden: int,
        rows: np.ndarray,
        *,
        batch: int,
        chains: int,
        k: int = 1,
        recipe: hm.Recipe = PLAIN,
        precision: str | None = None,
    ):
        self.key = jax.random.key(0)
        self.rbm = hm.initialize(visible, hm.Bernoulli(hidden), rows, key=self.key)
        self.dataset = hm.Dataset(rows)
        self.options = {
            "gradient": hm.Persistent(hm.Gibbs(k), chains=chains),
            "optimizer": recipe(UPDATES),
            "batch_size": batch,
            "precision": precision,
        }
        self.updates_per_epoch = -(-len(rows) // batch)  # rounded up: the last batch is shorter
        self.epochs = 0
        self.state: hm.training.TrainState | None = None

    def train(self, epochs: int) -> float:
        """Train for further epochs; return the seconds that they took."""
        self.epochs += epochs
        started = time.perf_counter()
        progress = {"epochs": self.epochs, "state": self.state}
        fit = hm.fit(self.rbm, self.dataset, key=self.key, **progress, **self.options)
        self.state = jax.block_until_ready(fit.state)
        return time.perf_counter() - started


def timed(call: Callable[..., Any], *args: Any, **settings: Any) -> tuple[Any, float]:
    """Return the result of a call, and its seconds."""
    started = time.perf_counter()
    result = call(*args, **settings)
    return result, time.perf_counter() - started


def in_turn(contestants: Mapping[Any, Callable[[], Any]], rounds: int) -> dict[Any, list]:
    """Return what each contestant measures in each round, all of them in turn in every round.

    What else the computer does then slows all contestants of a round alike: ratios are therefore
    taken within a round.
    """
    measured: dict[Any, list] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            measured[name].append(measure())
    return measured
