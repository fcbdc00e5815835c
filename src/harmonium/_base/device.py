"""The device on which programs run, and properties of the device that affect programs."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any

import jax

FAST_BFLOAT16 = 8.0  # the lowest compute capability of NVIDIA GPUs that multiply in bfloat16


@functools.cache
def device() -> Any:
    """Return the device on which programs run."""
    return jax.devices()[0]


def is_cpu() -> bool:
    """Return whether programs run on XLA's CPU backend, where some functions use other methods."""
    return device().platform == "cpu"


def waits_at_turns() -> bool:
    """Return whether the device waits for the host at each iteration of loops of unknown length."""
    return device().platform == "gpu"


def multiplies_bfloat16() -> bool:
    """Return whether the device is known to multiply faster in bfloat16 than in float32."""
    with suppress(AttributeError, ValueError):  # other GPUs have no compute capability
        return device().platform == "gpu" and float(device().compute_capability) >= FAST_BFLOAT16
    return False
