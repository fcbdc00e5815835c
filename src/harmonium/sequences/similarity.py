"""Similar sequences in an alignment: weights, and clusters for data splits without leakage."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from ..errors import InputError

TILE = 2048  # rows and columns of a tile of the matrix of pairs
WORD = 32  # bits per word


class Neighbours(NamedTuple):
    """The number of neighbours (similar sequences) of each sequence, and clusters of neighbours.

    Attributes:
        count: for each sequence, the number of its neighbours, including itself.
        cluster: for each sequence, the index of its cluster. Sequences in different clusters are
            never neighbours (single linkage).
        identity: the fraction of identical sites at or above which sequences are neighbours.
    """

    count: np.ndarray
    cluster: np.ndarray
    identity: float

    @property
    def weights(self) -> np.ndarray:
        """The weight of each sequence, 1 / count, so that copies together count as one sequence."""
        return 1.0 / self.count

    @property
    def effective(self) -> float:
        """The effective number of sequences: the sum of the weights."""
        return float(self.weights.sum())


def neighbours(
    codes: np.ndarray,
    identity: float = 0.8,
    progress: Callable[[float], None] | None = None,
) -> Neighbours:
    """Count the neighbours of each sequence, and join neighbours into clusters.

    Two sequences are neighbours if a fraction of at least `identity` of their sites is equal, where
    two gaps count as equal, as in direct-coupling analysis. Pairs are compared in tiles of fixed
    size, so that memory grows linearly with the number of sequences.

    Args:
        codes: one row per sequence, one integer per site.
        identity: the minimum fraction of equal sites, above 0 and at most 1.
        progress: a function called with the fraction of the pairs compared so far.

    Raises:
        InputError: `identity` is out of range.

    Source: Ekeberg, Lövkvist, Lan, Weigt & Aurell 2013 (weights).
    """
    if not 0 < identity <= 1:
        raise InputError(
            f"identity: expected a number above 0 and at most 1; got {identity}; give the fraction"
            " of identical sites at or above which two sequences are similar."
        )
    n, sites = codes.shape
    # The small term prevents a rounding error: an identity of 0.8 allows 2 of 10 sites to differ.
    most = math.floor((1.0 - identity) * sites + 1e-6)
    tiles = math.ceil(n / TILE)
    padding = codes[:1].repeat(tiles * TILE - n, 0)
    planes = _bit_planes(np.concatenate([codes, padding]))
    parts = [jnp.asarray(planes[..., i * TILE : (i + 1) * TILE]) for i in range(tiles)]
    count = np.zeros(tiles * TILE, np.int64)
    cluster = np.arange(tiles * TILE)
    pairs = tiles * (tiles + 1) // 2
    done = 0
    for i in range(tiles):
        for j in range(i, tiles):
            similar = np.array(_are_similar(parts[i], parts[j], most))
            similar[max(0, n - i * TILE) :] = False
            similar[:, max(0, n - j * TILE) :] = False
            count[i * TILE : (i + 1) * TILE] += similar.sum(1)
            if i != j:
                count[j * TILE : (j + 1) * TILE] += similar.sum(0)
            cluster = _joined(cluster, i * TILE, j * TILE, similar)
            done += 1
            if progress is not None:
                progress(done / pairs)
    return Neighbours(count[:n], np.unique(cluster[:n], return_inverse=True)[1], identity)


def _bit_planes(codes: np.ndarray) -> np.ndarray:
    """Return the bits of the codes, with 32 sites to a word, shape (bits, words, sequences).

    Two sequences of 112 sites can then be compared by XOR of a few words, so that comparing all
    pairs of 50,000 sequences takes 6 s. Comparing them letter by letter would take a hundred times
    as long.
    """
    bits = max(1, int(codes.max()).bit_length())
    words = math.ceil(codes.shape[1] / WORD)
    padded = np.zeros((len(codes), words * WORD), codes.dtype)
    padded[:, : codes.shape[1]] = codes
    packed = [np.packbits((padded >> bit) & 1, axis=1).view(np.uint32) for bit in range(bits)]
    return np.ascontiguousarray(np.stack(packed).transpose(0, 2, 1))


@partial(jax.jit, static_argnums=2)
def _are_similar(
    x: Integer[Array, "bits words rows"], y: Integer[Array, "bits words columns"], most: int
) -> Array:
    """Return a matrix of whether sequence i of x and sequence j of y differ at ≤ `most` sites."""
    bits, words, rows = x.shape
    different = jnp.zeros((rows, y.shape[2]), jnp.int32)
    for word in range(words):
        unequal = jnp.zeros((), jnp.uint32)
        for bit in range(bits):
            unequal = unequal | (x[bit, word][:, None] ^ y[bit, word][None])
        different += jax.lax.population_count(unequal).astype(jnp.int32)
    return different <= most


def _joined(cluster: np.ndarray, row: int, column: int, similar: np.ndarray) -> np.ndarray:
    """Return each sequence's cluster, after merging the clusters of neighbours found in a tile."""
    from scipy.sparse import coo_array  # imported here: it takes a tenth of a second
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.nonzero(similar)
    pairs = cluster[row + rows] * len(cluster) + cluster[column + columns]
    first, second = np.divmod(np.unique(pairs), len(cluster))
    is_apart = first != second
    if not is_apart.any():
        return cluster
    ends = (first[is_apart], second[is_apart])
    edges = coo_array((np.ones(is_apart.sum()), ends), (len(cluster),) * 2)
    return connected_components(edges, directed=False)[1][cluster]
