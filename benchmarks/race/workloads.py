"""The workloads of the race, and the contestants."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np


class Workload(NamedTuple):
    """A task of one size; all contestants have the same rows, batch, chains and k.

    Attributes:
        verb: train (a unit is an update), sample (a sweep of all chains), ais (a step of all
            chains), log_z (a state), transform (a row) or potts (an update).
        visible: visible units; of Potts units, sites.
        hidden: hidden units.
        batch: rows of an update, or chains.
        k: sweeps in an update.
        states: states of a Potts unit.
    """

    verb: str
    visible: int
    hidden: int
    batch: int
    k: int = 1
    states: int = 2

    @property
    def name(self) -> str:
        """The name, such as "train 784x500 b512 k1"."""
        visible = str(self.visible)
        if self.verb == "potts":
            visible += f"·{self.states}"
        name = f"{self.verb} {visible}x{self.hidden} b{self.batch}"
        if self.verb in ("train", "potts"):
            name += f" k{self.k}"
        return name

    @property
    def rows(self) -> int:
        """Rows of the data, a multiple of the batch; a few epochs take some seconds."""
        rows = max(2_000, min(20_480, 40 * self.batch, 2**26 // self.visible))
        return max(1, rows // self.batch) * self.batch

    def data(self) -> np.ndarray:
        """Return rows with the density of binarised digits, or codes of residues."""
        rng = np.random.default_rng(0)
        if self.verb == "potts":
            return rng.integers(0, self.states, (self.rows, self.visible)).astype(np.uint8)
        return (rng.random((self.rows, self.visible)) < 0.2).astype(np.float32)

    def model(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return weights, visible and hidden biases of a model to sample from."""
        rng = np.random.default_rng(1)
        weights = 0.1 * rng.standard_normal((self.visible, self.hidden))
        return (
            weights.astype(np.float32),
            np.zeros(self.visible, np.float32),
            np.zeros(self.hidden, np.float32),
        )


def repeated(call, size: int):
    """Return a run that repeats a call, which makes `size` units."""

    def run(units: int) -> int:
        times = math.ceil(units / size)
        for _ in range(times):
            call()
        return times * size

    return run


class CannotError(Exception):
    """The reason why a contestant cannot run a workload."""


SIZES = [
    (64, 16, 10),
    (64, 64, 100),
    (784, 256, 10),
    (784, 500, 128),
    (784, 500, 512),
    (784, 4096, 512),
    (5000, 2000, 256),
]
WORKLOADS = [
    *(Workload("train", *size, k) for size in SIZES for k in (1, 10)),
    Workload("sample", 784, 500, 512),
    Workload("sample", 64, 16, 512),
    Workload("ais", 784, 500, 512),
    Workload("log_z", 784, 16, 2**16),
    Workload("transform", 784, 500, 10_000),
    Workload("potts", 112, 200, 500, 1, 21),
]
LARGE = [Workload("train", 16_384, 8_192, 4_096)]  # for a GPU; it runs only if named


class Entry(NamedTuple):
    """A contestant: its file, the options of its functions, and its kind."""

    file: str
    kind: str  # ours, package, loop (written by hand for one model) or ceiling
    options: dict[str, Any] = {}  # noqa: RUF012 (never changed)


CONTESTANTS = {
    "harmonium": Entry("ours", "ours"),
    "harmonium, float32": Entry("ours", "ours", {"precision": "float32"}),
    "harmonium, bfloat16": Entry("ours", "ours", {"precision": "bfloat16"}),
    "scikit-learn": Entry("scikit", "package"),
    "rbms": Entry("rbms_peer", "package"),
    "learnergy": Entry("learnergy_peer", "package"),
    "thrml": Entry("thrml_peer", "package"),
    "torch": Entry("torch_by_hand", "loop"),
    "torch.compile": Entry("torch_by_hand", "loop", {"compiled": True}),
    "torch.compile, bfloat16": Entry("torch_by_hand", "loop", {"compiled": True, "short": True}),
    "CUDA graph": Entry("torch_by_hand", "loop", {"compiled": True, "graph": True}),
    "CUDA graph, bfloat16": Entry(
        "torch_by_hand", "loop", {"compiled": True, "graph": True, "short": True}
    ),
    "TensorFlow": Entry("tensorflow_by_hand", "loop"),
    "TensorFlow, XLA": Entry("tensorflow_by_hand", "loop", {"xla": True}),
    "TensorFlow, bfloat16": Entry("tensorflow_by_hand", "loop", {"short": True}),
    "matmul ceiling, float32": Entry("ceiling", "ceiling"),
    "matmul ceiling, bfloat16": Entry("ceiling", "ceiling", {"short": True}),
}
