"""What one update of PCD-k computes, holds and sends, by formulas; their constants; predictions.

`sent` and `operations` count what the compiled program does: tests/test_sharding.py holds the first
against the program, benchmarks/scaling.py both.
"""

import itertools
import math
import re
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "u32": 4, "s32": 4, "u8": 1, "pred": 1}
COLLECTIVE = re.compile(
    r"= (.*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)
SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")


class Work(NamedTuple):
    """The sizes of an update, of the whole run, and the axes of the mesh."""

    visible: int
    hidden: int
    batch: int
    chains: int
    k: int = 1
    data: int = 1  # devices along "data"
    columns: int = 1  # devices along "hidden"

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self.data * self.columns

    @property
    def held(self) -> float:
        """The weights that a device holds."""
        return self.visible * self.hidden / self.columns


def operations(work: Work) -> float:
    """Return the floating-point operations of a device in the products of an update.

    2B + (2k+1)C rows are multiplied by a part of W: rows and chains each once for the gradient,
    rows once for their inputs, chains 2k times for the sweeps. The inputs of the chains' gradient
    are those of the last sweep.
    """
    rows = 2 * work.batch + (2 * work.k + 1) * work.chains
    return 2.0 * work.held * rows / work.data


def sent(work: Work, size: int = 4) -> list[int]:
    """Return the bytes of what a device adds up with others in an update, an entry an exchange.

    Along "data": the gradients of W and of both biases, and the means of both layers. Along
    "hidden": the inputs of the chains' visible units in each sweep, and the change of W times the
    hidden offsets, for the visible biases of a centred gradient.

    Args:
        work: the sizes.
        size: bytes of a number.
    """
    counts = []
    if work.data > 1:
        units = work.visible + work.hidden // work.columns
        counts.append(int(work.held) + 2 * units)
    if work.columns > 1:
        inputs = work.chains // work.data * work.visible
        counts += [inputs] * work.k + [work.visible]
    return [size * count for count in counts]


def found_in(program: str) -> list[tuple[str, int]]:
    """Return the exchanges in a compiled program's text: their kind and bytes of a device."""
    exchanges = []
    for shapes, kind in COLLECTIVE.findall(program):
        size = 0
        for dtype, shape in SHAPE.findall(shapes):
            size += BYTES[dtype] * math.prod(int(n) for n in shape.split(",") if n)
        exchanges.append((kind, size))
    return exchanges


# Constants of this computer


def features(work: Work, passes: float, is_ring: bool) -> list[float]:
    """Return what an update's time is a sum of: operations, bytes of W, bytes sent, exchanges.

    They are of all devices together, which share the cores and the memory of one computer.

    Args:
        work: the sizes.
        passes: bytes that an update reads and writes for each weight.
        is_ring: whether the bytes sent are those of a ring; else each device reads all operands.
    """
    n = work.devices
    exchanges = sent(work)
    sizes = [work.columns] * len(exchanges)  # devices in each exchange
    if work.data > 1:
        sizes[0] = work.data
    moved = exchanges
    if is_ring:
        moved = [2.0 * (p - 1) / p * b for p, b in zip(sizes, exchanges, strict=True)]
    return [n * operations(work), n * passes * work.held, n * sum(moved), n * len(exchanges), 1.0]


NAMES = ("operations", "memory", "link", "exchange", "update")


def fitted(rows: np.ndarray, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return non-negative costs, seconds per unit of each feature, and their standard errors.

    Least squares of relative errors. Of costs at 0, the error is NaN.
    """
    scale = np.where(rows.max(0) > 0, rows.max(0), 1.0)
    x = rows / scale / seconds[:, None]
    costs, _ = nnls(x, np.ones(len(seconds)))
    used = costs > 0
    free = max(1, len(seconds) - int(used.sum()))
    variance = ((x @ costs - 1.0) ** 2).sum() / free
    errors = np.full(len(costs), np.nan)
    errors[used] = np.sqrt(np.diag(variance * np.linalg.pinv(x[:, used].T @ x[:, used])))
    return costs / scale, errors / scale


# Accelerators


class Accelerator(NamedTuple):
    """What one accelerator can do, and the links between them."""

    memory: float = 80e9  # bytes
    operations: float = 667.6e12  # bfloat16, measured on one H100 (docs/measured/gpu.json)
    bandwidth: float = 2047e9  # bytes/s of a copy, measured on one H100
    inside: float = 450e9  # bytes/s in each direction, half of NVLink's 900 GB/s
    outside: float = 50e9  # bytes/s, InfiniBand of 400 Gbit/s an accelerator
    per_node: int = 8
    latency: float = 20e-6  # seconds an exchange, assumed


class Manner(NamedTuple):
    """How an update holds and sends its arrays."""

    name: str = "as it is"
    held: float = 28.0  # bytes a weight, measured on one H100
    states: float = 12.0  # bytes for each unit of a row and a chain
    shared: float = 0.0  # bytes a weight of those that are shared along "data" as well
    passes: float = 60.0  # bytes read and written for a weight
    gradient: float = 4.0  # bytes of a number in the gradient's exchange
    inputs: float = 4.0  # bytes of a number in the exchange of inputs
    scattered: bool = False  # whether each device adds up, and applies, its part of the gradient


def link(chip: Accelerator, size: int, stride: int) -> float:
    """Return the bytes/s of a device in an exchange of `size` devices, so far apart in number.

    Of a group that has g devices in each node, g adapters of the node work together.
    """
    together = min(size, max(1, chip.per_node // stride))
    if size <= together:
        return chip.inside
    return min(chip.inside, together * chip.outside)


def predicted(work: Work, chip: Accelerator, manner: Manner, rows_first: bool = True) -> dict:
    """Return the seconds of an update by kind, and the bytes of a device.

    Args:
        work: the sizes.
        chip: the accelerators.
        manner: how arrays are held and sent.
        rows_first: whether "data" is the first axis of the mesh, so that devices with neighbouring
            numbers share the columns of W; else they share rows.
    """
    d = work.data
    h = work.columns
    data_stride = 1
    hidden_stride = d
    if rows_first:
        data_stride = h
        hidden_stride = 1
    # All devices along "data" update the same part of W; scattered, each updates a piece of it.
    updated = work.held / (d if manner.scattered else 1)
    seconds = {
        "products": operations(work) / chip.operations,
        "memory": manner.passes * updated / chip.bandwidth,
        "gradient": 0.0,
        "inputs": 0.0,
    }
    if d > 1:
        # The gradient is added up and sent back. Scattered, it is added up in parts, and those of
        # W are sent back in bfloat16.
        size = 2.0 * manner.gradient
        if manner.scattered:
            size = manner.gradient + 2.0
        moved = (d - 1) / d * size * work.held
        seconds["gradient"] = moved / link(chip, d, data_stride) + chip.latency
    if h > 1:
        moved = 2.0 * (h - 1) / h * manner.inputs * work.chains / d * work.visible
        seconds["inputs"] = work.k * (moved / link(chip, h, hidden_stride) + chip.latency)
    weights = work.held * (manner.held - manner.shared * (1.0 - 1.0 / d))
    states = manner.states * work.chains / d * (work.visible + work.hidden / h)
    return {
        "seconds": seconds,
        "total": math.fsum(seconds.values()),
        "weights": weights,
        "states": states,
        "left": chip.memory - weights - states,
    }


def enough(chip: Accelerator, rate: float) -> float:
    """Return the rows or hidden units of a device with which exchanges take as long as products.

    In PCD-1 with as many chains as rows, a weight and a row cost 10 operations. A weight's gradient
    is 4 bytes, moved twice. So products take as long as the gradient's exchange if each device has
    8 · operations / (10 · rate) rows, and as long as that of inputs with as many hidden units.

    Args:
        chip: the accelerators.
        rate: bytes/s of a device in the exchange.
    """
    return 0.8 * chip.operations / rate


def meshes(devices: int, work: Work) -> list[tuple[Work, bool]]:
    """Return all meshes that share an update among devices, with the order of the axes."""
    sizes = [2**i for i in range(devices.bit_length()) if devices % 2**i == 0]
    return [
        (work._replace(data=d, columns=devices // d), rows_first)
        for d, rows_first in itertools.product(sizes, (True, False))
    ]


def best(devices: int, work: Work, chip: Accelerator, manner: Manner) -> dict:
    """Return the prediction of the quickest mesh that fits; if none does, of the smallest one."""
    candidates = [
        predicted(shared, chip, manner, first)
        | {"data": shared.data, "hidden": shared.columns, "rows_first": first}
        for shared, first in meshes(devices, work)
    ]
    fitting = [candidate for candidate in candidates if candidate["left"] > 0]
    if fitting:
        return min(fitting, key=lambda candidate: candidate["total"]) | {"fits": True}
    return max(candidates, key=lambda candidate: candidate["left"]) | {"fits": False}
