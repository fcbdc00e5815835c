"""The workloads of the race, and the contestants."""

from __future__ import annotations

from typing import NamedTuple

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
        size = f"{self.visible}x{self.hidden}"
        if self.verb == "potts":
            size = f"{self.visible}·{self.states}x{self.hidden}"
        k = f" k{self.k}" if self.verb in ("train", "potts") else ""
        return f"{self.verb} {size} b{self.batch}{k}"

    @property
    def flops(self) -> float:
        """Operations of the matrix products of a unit: an update at k = 1 has five products."""
        columns = self.visible * (self.states if self.verb == "potts" else 1)
        product = 2.0 * columns * self.hidden * self.batch
        products = {"train": 3 + 2 * self.k, "potts": 3 + 2 * self.k, "sample": 2, "ais": 2}
        return product * products.get(self.verb, 1)

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
        w = 0.1 * rng.standard_normal((self.visible, self.hidden))
        return w.astype(np.float32), *(np.zeros(n, np.float32) for n in (self.visible, self.hidden))


def repeated(call, size: int):
    """Return a run that repeats a call, which makes `size` units."""

    def run(units: int) -> int:
        times = -(-units // size)
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

# The name of each contestant, its file, its arguments, and its kind.
CONTESTANTS = {
    "harmonium": ("ours", {}, "ours"),
    "harmonium, float32": ("ours", {"precision": "float32"}, "ours"),
    "harmonium, bfloat16": ("ours", {"precision": "bfloat16"}, "ours"),
    "scikit-learn": ("scikit", {}, "package"),
    "rbms": ("rbms_peer", {}, "package"),
    "learnergy": ("learnergy_peer", {}, "package"),
    "thrml": ("thrml_peer", {}, "package"),
    "torch": ("torch_by_hand", {"compiled": False}, "loop"),
    "torch.compile": ("torch_by_hand", {"compiled": True}, "loop"),
    "torch.compile, bfloat16": ("torch_by_hand", {"compiled": True, "short": True}, "loop"),
    "CUDA graph": ("torch_by_hand", {"compiled": True, "graph": True}, "loop"),
    "CUDA graph, bfloat16": (
        "torch_by_hand",
        {"compiled": True, "graph": True, "short": True},
        "loop",
    ),
    "TensorFlow": ("tensorflow_by_hand", {}, "loop"),
    "TensorFlow, XLA": ("tensorflow_by_hand", {"xla": True}, "loop"),
    "TensorFlow, bfloat16": ("tensorflow_by_hand", {"short": True}, "loop"),
    "matmul ceiling, float32": ("ceiling", {}, "ceiling"),
    "matmul ceiling, bfloat16": ("ceiling", {"short": True}, "ceiling"),
}
