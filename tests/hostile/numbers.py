"""Files of JSON in which single numbers and words are replaced, all else being right.

Damage to bytes hardly ever makes another valid number of a valid header; whoever means harm writes
exactly that.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import harmonium as hm
from harmonium.weights import Rounded, Scaled
from hostile.readers import without_checksum

RAW = "raw "  # begins text that stands in a file without quotes
VALUES: list[Any] = [
    *(0, 1, 2, 3, -1, -(10**9), 255, 4096, 2**16 - 1, 2**16, 10**9, 2**31, 2**53, 2**63 - 1),
    *(True, False, None, 0.0, 0.5, 1.0, 3.0, -0.0, 1e38, 1e300),
    *(f"{RAW}{text}" for text in ("1e400", "NaN", "-Infinity", "9" * 30, "1" * 5000, "-0")),
    *("", "1", "x" * 1000, "\x1b[2J", "\u202e", "weights", "true"),
    *([], [10**9], [[0, 10**9]], [None], {}, {"tensor": "weights"}, {"type": "Mixed"}),
]
BITS = np.array([True, False, True])


def every_kind() -> hm.RBM:
    """Return a model with a layer and weights of every kind that a file can hold."""
    visible = hm.Mixed(
        hm.Binomial(2, total=3),
        hm.Potts(1, states=3),
        hm.Categorical(2, [2, 3]),
        hm.Exclusive(3, [(0, 1)]),
        hm.MultivariateGaussian(2),
        hm.layers.Clamped(layer=hm.Bernoulli(3), known=BITS, values=BITS.astype(np.float32)),
        hm.layers.Masked(layer=hm.DReLU(3), present=BITS),
    )
    hidden = hm.Mixed(hm.Mixed(hm.Ising(1), hm.Gaussian(1)), hm.Poisson(1), hm.UnitInterval(1))
    weights = hm.weights.MaskedWeights(np.eye(visible.size, 4), np.eye(visible.size, 4))
    return hm.RBM(visible, hidden, Scaled(weights, np.float32(0.5)))


def models() -> list[bytes]:
    """Return model files whose numbers are replaced."""
    rounded = hm.RBM(hm.Bernoulli(4), hm.ReLU(3), Rounded(np.zeros((4, 3), np.float32)))
    return [without_checksum(every_kind()), without_checksum(rounded)]


def places(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """Yield the places of all numbers, words and lists in a value of JSON."""
    if isinstance(value, list | dict):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*place, name))
    if place and not isinstance(value, dict):
        yield place


def replaced(value: Any, place: tuple, other: Any) -> Any:
    """Return a value of JSON with another one at a place."""
    changed = copy.deepcopy(value)
    at = changed
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = other
    return changed


def as_text(value: Any) -> str:
    """Return a value as JSON, or as what only looks like it."""
    text = json.dumps(value)
    for raw in (item for item in VALUES if isinstance(item, str) and item.startswith(RAW)):
        text = text.replace(json.dumps(raw), raw.removeprefix(RAW))
    return text


def value_in(content: bytes) -> Any:
    """Return the JSON of a file, or a model file's description of its layers."""
    if content[8:9] != b"{":
        return json.loads(content)
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["harmonium"])


def with_value(content: bytes, value: Any) -> bytes:
    """Return a file with other JSON, or a model file with another description of its arrays."""
    if content[8:9] != b"{":
        return as_text(value).encode()
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    head["__metadata__"]["harmonium"] = as_text(value)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def variants(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a file with one value after the other replaced, and which."""
    value = value_in(content)
    for place in places(value):
        for other in VALUES:
            name = f"{'.'.join(map(str, place))} = {other!r:.40}"
            yield name, with_value(content, replaced(value, place, other))


def drawn(content: bytes, draw: random.Random) -> bytes:
    """Return a file with one to three values replaced, or a list repeated."""
    value = value_in(content)
    for _ in range(draw.choice([1, 1, 2, 3])):
        place = draw.choice(list(places(value)))
        at = value
        for name in place:
            at = at[name]
        other = draw.choice(VALUES)
        if isinstance(at, list) and draw.random() < 0.5:
            other = at * draw.choice([2, 1000])
        value = replaced(value, place, other)
    return with_value(content, value)
