"""The choice between float32 and bfloat16 products with W, based on timings on the device."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base import program_files
from .._base.checks import positive_integer
from .._base.device import multiplies_bfloat16
from .._base.hardware import cores, processor
from .._base.numerics import from_numpy, scalar
from .._base.processes import from_first
from .._base.programs import compiled
from .._base.sharding import clock, fetched
from .._base.threefry import key_of, split
from ..errors import InputError
from ..layers import AbstractLayer
from ..rbm import RBM, checked_rbm
from ..weights import Rounded
from ..weights.base import map_arrays, multiplies_arrays
from ..weights.rounded import short

__all__ = ["precision_timing", "rounded"]

SHORT = "bfloat16"
PRECISIONS = ("float32", SHORT)
# Smaller products take less time than their call overhead, whatever their precision.
FEWEST_ROWS = 64
WORTHWHILE = 2**18  # the least number of multiplications for which rounding is considered
LARGEST = 2**28  # most multiplications in a measurement; larger products use fewer rows
REPEATS = 5  # timings of each precision, taken in turn; the fastest counts
SECONDS = 0.02  # duration of each timing
FILE = "harmonium-precision.json"
MARGIN = 1.05  # required speed-up of bfloat16, above the noise of a measurement


class Timing(NamedTuple):
    """The time taken by a Gibbs sweep and a gradient in each precision.

    Attributes:
        float32: time in float32, in seconds.
        bfloat16: time in bfloat16, in seconds, including the rounding of the weights.
    """

    float32: float
    bfloat16: float

    @property
    def is_bfloat16_faster(self) -> bool:
        """Whether bfloat16 is faster by more than the measurement noise."""
        return self.bfloat16 * MARGIN < self.float32


@contextmanager
def in_float64(rbm: RBM) -> Iterator[RBM]:
    """Enable float64 in JAX within the block, and yield the model in that precision.

    In float32, sums of many terms have relative errors of about 1e-6, so that a sum of 5,000 nats
    may be wrong by 0.01 nats.
    """
    with jax.enable_x64(True):
        yield jax.tree.map(_in_float64, rbm)


def _in_float64(leaf: Any) -> Any:
    if getattr(leaf, "dtype", None) != np.float32:
        return leaf
    return from_numpy(fetched(leaf).astype(np.float64))


def rounded(rbm: RBM) -> RBM:
    """Return the model with its weights rounded to bfloat16 in products with states.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(1), hm.Bernoulli(1), [[1.001]])
        >>> rounded = hm.transforms.rounded(rbm)  # bfloat16 keeps 8 binary digits
        >>> float(rounded.inputs_to_h(jnp.ones(1))[0])
        1.0
    """
    return RBM(rbm.visible, rbm.hidden, map_arrays(rbm.weights, Rounded))


def rounded_if_faster(rbm: RBM, chains: int, precision: str | None = None) -> RBM:
    """Return the model, with its weights rounded to bfloat16 if this speeds up its chains.

    Weights are rounded if three conditions hold: all states are exact in bfloat16, so that only the
    weights are rounded; the device is faster in bfloat16; and the products for this number of
    chains are large enough to outweigh the cost of the conversions.

    Args:
        rbm: the model.
        chains: number of chains.
        precision: "float32" never rounds; "bfloat16" rounds if the states are exact in bfloat16;
            None rounds under all three conditions.

    Raises:
        InputError: the precision is unknown.
    """
    check_precision(precision)
    is_exact = (
        rbm.visible.is_exact_in_bfloat16
        and rbm.hidden.is_exact_in_bfloat16
        and rbm.visible.dtype == jnp.float32
    )
    if precision == "float32" or not (is_exact and multiplies_arrays(rbm.weights)):
        return rbm
    if precision is None and not is_worth_rounding(rbm, chains):
        return rbm
    # Rounded here, outside the compiled loop: XLA would hoist the rounding out of the loop once for
    # each use, and then repeat products that the uses share.
    return rounded(RBM(rbm.visible, rbm.hidden, _short(rbm.weights)))


@compiled
def _short(weights: Any) -> Any:
    return map_arrays(weights, short)


def check_precision(precision: Any) -> None:
    """Raise InputError unless `precision` is None or the name of a precision."""
    if precision not in (None, *PRECISIONS):
        known = ", ".join(map(repr, PRECISIONS))
        raise InputError(f"precision: expected None or one of {known}; got {precision!r}.")


def is_worth_rounding(rbm: RBM, rows: int) -> bool:
    """Return whether products of W with this many states are large, and faster in bfloat16."""
    product = rows * rbm.visible.size * rbm.hidden.size
    if rows < FEWEST_ROWS or product < WORTHWHILE:
        return False
    # If bfloat16 is known to be faster, a first fit need not wait for a measurement.
    return multiplies_bfloat16() or precision_timing(rbm, rows).is_bfloat16_faster


def precision_timing(rbm: RBM, rows: int) -> Timing:
    """Measure a Gibbs sweep and a gradient of the free energy in float32 and in bfloat16.

    The precisions are timed in turn, and the fastest of five timings of each counts; this takes a
    fraction of a second in total. The result is kept in memory and, alongside compiled programs, on
    disk, for each device, version of JAX, pair of layers and number of rows. The feature flags of a
    processor do not predict the result: with `avx512_bf16`, bfloat16 can be twice as fast as
    float32, or slower.

    Args:
        rbm: a model whose states are exact in bfloat16; only its layers matter.
        rows: number of states multiplied at once.

    Returns:
        Seconds in each precision.

    Raises:
        InputError: `rbm` is not a single model, or `rows` is not positive.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> timing = hm.transforms.precision_timing(rbm, rows=64)
        >>> timing.float32 > 0, timing.bfloat16 > 0
        (True, True)
    """
    rbm = checked_rbm(rbm)
    rows = positive_integer(rows, "rows")
    rows = min(rows, max(FEWEST_ROWS, LARGEST // (rbm.visible.size * rbm.hidden.size)))
    layers = " ".join(f"{type(x).__module__}.{x}" for x in (rbm.visible, rbm.hidden))
    case = f"{device_name()}; JAX {jax.__version__}; {rows} rows; {layers}"
    if case not in _TIMINGS:
        stored = from_first(_stored(case))
        if stored:
            _TIMINGS[case] = Timing(*stored)
        else:
            _TIMINGS[case] = _measured(rbm, rows)
            _store(case, _TIMINGS[case])
    return _TIMINGS[case]


_TIMINGS: dict[str, Timing] = {}  # measurements made or read by this process


def _measured(rbm: RBM, rows: int) -> Timing:
    """Return the fastest time of each precision, measured in alternation."""
    # The weights are of normal size, because subnormal numbers are slow to multiply.
    key_case, key = split(key_of(0))
    plain, v = _case(rbm.visible, rbm.hidden, rows, key=key_case)
    models = (plain, rounded(plain))
    for model in models:  # the first call compiles
        jax.block_until_ready(_work(model, v, key=key))
    best = [float("inf"), float("inf")]
    for _ in range(REPEATS):
        for i, model in enumerate(models):
            calls = 0
            began = clock()  # a clock shared by all processes, so that they make equally many calls
            while (spent := clock() - began) < SECONDS or not calls:
                jax.block_until_ready(_work(model, v, key=key))
                calls += 1
            best[i] = min(best[i], spent / calls)
    return Timing(*best)


@compiled
def _case(
    visible: AbstractLayer, hidden: AbstractLayer, rows: int, *, key: PRNGKeyArray
) -> tuple[RBM, Array]:
    """Return a model with these layers, and visible states, for a timing."""
    key_w, key_v = jax.random.split(key)
    weights = 0.1 * jax.random.normal(key_w, (visible.size, hidden.size), visible.dtype)
    return RBM(visible, hidden, weights), visible.sample_without_inputs((rows,), key=key_v)


@compiled
def _work(rbm: RBM, v: Array, *, key: PRNGKeyArray) -> tuple[Array, Array]:
    """Return the results of a Gibbs sweep and a gradient, computed as in training."""
    v = rbm.gibbs_sweep(v, key=key)
    gradient: Any = eqx.filter_grad(lambda model: model.free_energy(v).sum())(rbm)
    return v, jax.tree.leaves(gradient.weights)[0]


def device_name() -> str:
    """Return a name that devices of equal speed share: the kind, and a CPU's number of cores."""
    device: Any = next(iter(scalar(0.0, np.float32).devices()))
    if device.platform != "cpu":
        return f"{device.platform} {device.device_kind}"
    return f"cpu {processor()}, {cores()} cores"


def _file() -> Path | None:
    """Return the path of the file of measurements, or None if compiled programs are not kept."""
    return program_files.folder() / FILE if program_files.are_kept() else None


def _stored(case: str) -> Timing | None:
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        file = _file()
        if file is not None:
            seconds = json.loads(file.read_text("utf-8"))[case]
            return Timing(float(seconds[0]), float(seconds[1]))
    return None


def _store(case: str, timing: Timing) -> None:
    """Add a measurement to the file; do nothing if the file cannot be written."""
    file = _file()
    if file is None:
        return
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        timings: dict[str, Any] = {}
        with suppress(OSError, ValueError, TypeError):  # the file may be absent or damaged
            timings.update(json.loads(file.read_text("utf-8")))
        timings[case] = list(timing)
        part = file.with_name(f"{file.name}.{os.getpid()}")
        part.write_text(json.dumps(timings, indent=1), "utf-8")
        part.replace(file)
