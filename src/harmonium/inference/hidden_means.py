"""Features of rows: the means of a hidden layer given the rows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.programs import compiled
from ..data.parts import in_parts
from ..likelihood.missing.annealed import ascended, mean_field_of
from ..rbm import RBM, checked_rbm
from ..transforms.deep_machines import checked_depth

__all__ = ["features"]

TOLERANCE = 1e-5  # relative change of the means in a sweep below which they are a fixed point
MOST_SWEEPS = 200  # of the mean field, which may oscillate


def features(rbm: RBM, rows: Any, depth: int | None = None) -> np.ndarray:
    """Return the means of a hidden layer given rows, as inputs of a classifier or for a picture.

    In a shallow model with complete rows these are the exact means ⟨h⟩ given v. Where other units
    are unknown, in deep models and in rows with missing values, they are the means of the row's
    mean field: the factorised distribution of all unknown units that is closest to theirs, found by
    coordinate ascent.

    Args:
        rbm: the model.
        rows: rows in the user's coding, shape (n, visible units), with NaN for missing values.
        depth: the number of the layer in `rbm.parts`, where 0 is the data; the top layer if None.

    Returns:
        Means, shape (n, columns of the layer).

    Raises:
        InputError: `rbm` is not a single model, rows are outside the visible layer's domain, or
            there is no such hidden layer.

    Example:
        >>> rows, key = hm.bars_and_stripes(3), jax.random.key(0)
        >>> layers = [hm.Bernoulli(9), hm.Bernoulli(8), hm.Bernoulli(4)]
        >>> rbm = hm.deep(layers, rows, key=key)
        >>> hm.features(rbm, rows).shape, hm.features(rbm, rows, depth=1).shape
        ((16, 4), (16, 8))

    Source: Salakhutdinov & Hinton 2009.
    """
    sizes = [layer.size for layer in checked_rbm(rbm).parts]
    depth = checked_depth(depth, len(sizes) - 1)
    checked = rbm.visible.validate(rows, "rows", missing=True)
    # A layer's columns lie before those of the deeper layers of its side.
    deeper = sum(sizes[depth + 2 :: 2])

    def of_part(part: Array, _: int) -> Array:
        of_side = _means(rbm, part)[depth % 2]
        last = of_side.shape[1] - deeper
        return of_side[:, last - sizes[depth] : last]

    return in_parts(of_part, checked, rbm.widest)


@compiled
def _means(rbm: RBM, rows: Array) -> tuple[Float[Array, "n _"], Float[Array, "n _"]]:
    """Return the mean-field means of both sides, of which the visible one has the even layers."""
    v = rbm.visible.encode_seen(rows)

    def is_moving(carry: tuple[Array, Array, Array]) -> Array:
        sweep, _, change = carry
        return (sweep < MOST_SWEEPS) & (change > TOLERANCE)

    def ascend(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        sweep, means, _ = carry
        moved = ascended(rbm, v, means)
        return sweep + 1, moved, (abs(moved - means) / (1.0 + abs(means))).max()

    start = (jnp.zeros((), jnp.int32), mean_field_of(rbm, v, 1), jnp.asarray(jnp.inf, v.dtype))
    _, means, _ = jax.lax.while_loop(is_moving, ascend, start)
    return means, rbm.mean_h_from_v(means)
