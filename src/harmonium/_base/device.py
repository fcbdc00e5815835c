"""The device on which programs run, and what of a program depends on it."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any

import jax

FAST_BFLOAT16 = 8.0  # compute capability from which NVIDIA's GPUs multiply in bfloat16


@functools.cache
def device() -> Any:
    """Return the device on which programs run."""
    return jax.devices()[0]


def is_cpu() -> bool:
    """Return whether programs are made for XLA's CPU backend, which some are written around."""
    return device().platform == "cpu"


def waits_at_turns() -> bool:
    """Return whether the device waits for the host at each turn of a loop of unknown length."""
    return device().platform == "gpu"


def multiplies_bfloat16() -> bool:
    """Return whether the device is known to multiply faster in bfloat16; False if not known."""
    with suppress(AttributeError, ValueError):  # of other GPUs it is no number
        return device().platform == "gpu" and float(device().compute_capability) >= FAST_BFLOAT16
    return False
