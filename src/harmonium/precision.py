"""When to compute products with weights rounded to bfloat16, by model and by device."""

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

FEWEST_ROWS = 64  # rows of states from which bfloat16 is worth its conversions (measured)
WORTHWHILE = 2**18  # multiplications in a product from which it is (measured)
FIRST_NVIDIA = 8.0  # the lowest compute capability with bfloat16


def rounded(rbm: RBM) -> RBM:
    """Return the model with weights that are rounded to bfloat16 in products with states."""
    return RBM(rbm.visible, rbm.hidden, Rounded(rbm.weights))


def quicker(rbm: RBM, chains: int) -> RBM:
    """Return the model with rounded weights where this speeds up its chains, else the model.

    Weights are rounded if all states are exact in bfloat16, so that the two models are nearly the
    same, if the device is faster in bfloat16, and if the products for this number of chains are
    large enough to be worth the conversions.
    """
    is_exact = (
        rbm.visible.is_exact_in_bfloat16
        and rbm.hidden.is_exact_in_bfloat16
        and rbm.visible.dtype == jnp.float32
    )
    if not (is_exact and is_plain(rbm.weights) and is_worth_rounding(rbm, chains)):
        return rbm
    # Rounded here, outside the compiled loop: XLA would move the rounding out of the loop once for
    # each use, and then repeat a product that the uses share.
    return RBM(rbm.visible, rbm.hidden, Rounded(short(rbm.weights)))


def is_worth_rounding(rbm: RBM, rows: int) -> bool:
    """Return whether products with this many states are large, and faster in bfloat16 here."""
    product = rows * rbm.visible.size * rbm.hidden.size
    return rows >= FEWEST_ROWS and product >= WORTHWHILE and multiplies_bfloat16()


@functools.cache
def multiplies_bfloat16() -> bool:
    """Return whether this device multiplies bfloat16 faster than float32."""
    device: Any = jax.devices()[0]
    if device.platform == "cpu":
        return bool({"avx512_bf16", "amx_bf16"} & _cpu_flags())
    try:
        return float(getattr(device, "compute_capability", FIRST_NVIDIA)) >= FIRST_NVIDIA
    except ValueError:  # another vendor's, such as "gfx90a": not measured there
        return False


def _cpu_flags() -> set[str]:
    """Return the flags of the first CPU core from Linux's /proc/cpuinfo; none on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return set()
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())
