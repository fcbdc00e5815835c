"""Arrays in a page: base64 of little-endian bytes, in the smallest of a few forms."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

LARGEST_HALF = 60_000.0  # float16 ends at 65,504


def encoded(array: Any) -> dict[str, Any]:
    """Return an array as JSON can hold it: bytes for small whole numbers, else float32."""
    found = np.asarray(array)
    is_small = found.size and np.isfinite(found).all() and found.min() >= 0 and found.max() <= 255
    if is_small and (found == np.floor(found)).all():
        return _with_data("u8", found.astype(np.uint8))
    return _with_data("f32", found.astype("<f4"))


def halved(array: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Return an array in 16 bits (float16, times a scale), and the numbers that it then has."""
    found = np.asarray(array, np.float32)
    largest = float(np.abs(found).max(initial=0.0))
    scale = 1.0 if largest <= LARGEST_HALF else largest / LARGEST_HALF
    short = (found / scale).astype("<f2")
    return _with_data("f16", short) | {"scale": scale}, short.astype(np.float32) * scale


def _with_data(kind: str, array: np.ndarray) -> dict[str, Any]:
    text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"kind": kind, "shape": list(array.shape), "data": text}
