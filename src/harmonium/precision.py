"""Where products with rounded weights serve, and are worth it: a model's and a device's part."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from .rbm import RBM
from .weights import Rounded
from .weights.base import is_plain
from .weights.rounded import short

__all__ = ["multiplies_bfloat16", "quicker", "rounded"]

FEWEST_ROWS = 64  # of states, and multiplications of a product, for bfloat16 to be worth its
WORTHWHILE = 2**18  # conversions: measured
FIRST_NVIDIA = 8.0  # compute capability with bfloat16


def rounded(rbm: RBM) -> RBM:
    """Return the model whose products with states are taken with weights rounded to bfloat16."""
    return RBM(rbm.visible, rbm.hidden, Rounded(rbm.weights))


def quicker(rbm: RBM, chains: int) -> RBM:
    """Return the rounded model where it is nearly this one and its chains move faster, else this.

    That is where all states are exact in bfloat16, the device is quicker at it, and the products of
    so many chains are worth the conversions.
    """
    is_exact = (
        rbm.visible.is_exact_in_bfloat16
        and rbm.hidden.is_exact_in_bfloat16
        and rbm.visible.dtype == jnp.float32
    )
    if not (is_exact and is_plain(rbm.weights) and is_worth_rounding(rbm, chains)):
        return rbm
    # Rounded here and now: XLA would take the rounding out of a loop once for each use, and then
    # repeat a product that the uses have in common.
    return RBM(rbm.visible, rbm.hidden, Rounded(short(rbm.weights)))


def is_worth_rounding(rbm: RBM, rows: int) -> bool:
    """Whether products with so many rows of states are large, and faster in bfloat16 here."""
    product = rows * rbm.visible.size * rbm.hidden.size
    return rows >= FEWEST_ROWS and product >= WORTHWHILE and multiplies_bfloat16()


@functools.cache
def multiplies_bfloat16() -> bool:
    """Whether this device multiplies numbers of bfloat16 faster than those of float32."""
    device: Any = jax.devices()[0]
    if device.platform == "cpu":
        return bool({"avx512_bf16", "amx_bf16"} & _cpu_flags())
    try:
        return float(getattr(device, "compute_capability", FIRST_NVIDIA)) >= FIRST_NVIDIA
    except ValueError:  # another maker's, such as "gfx90a", on which nobody has measured it
        return False


def _cpu_flags() -> set[str]:
    """Return what the first core can do, as Linux tells; nothing elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return set()
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())
