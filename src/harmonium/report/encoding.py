"""Arrays in a page, encoded as base64 of little-endian uint8, float16 or float32 numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

LARGEST_HALF = 60_000.0  # float16 ends at 65,504


def encoded(array: Any) -> dict[str, Any]:
    """Encode an array for JSON, as bytes if all numbers are small integers, else as float32."""
    numbers = np.asarray(array)
    is_byte = (numbers >= 0) & (numbers <= 255) & (numbers == np.floor(numbers))
    if numbers.size and is_byte.all():
        return _with_data("u8", numbers.astype(np.uint8))
    return _with_data("f32", numbers.astype("<f4"))


def halved(array: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Encode an array in 16 bits (float16 times a scale); return the code and the rounded array."""
    numbers = np.asarray(array, np.float32)
    largest = float(np.abs(numbers).max(initial=0.0))
    scale = max(1.0, largest / LARGEST_HALF)
    short = (numbers / scale).astype("<f2")
    return _with_data("f16", short) | {"scale": scale}, short.astype(np.float32) * scale


def _with_data(kind: str, array: np.ndarray) -> dict[str, Any]:
    text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"kind": kind, "shape": list(array.shape), "data": text}
