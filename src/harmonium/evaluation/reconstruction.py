"""Reconstruction error: how much one pass through the hidden means changes each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from .._base.programs import compiled
from ..data.parts import in_parts
from ..rbm import RBM


def reconstruction_errors(rbm: RBM, rows: Any) -> np.ndarray:
    """Return the reconstruction error of each row: the mean over columns of (v − ⟨v⟩)².

    ⟨h⟩ is computed from the row and ⟨v⟩ from ⟨h⟩. Nothing is sampled, so the same rows always have
    the same errors. The result has shape (n,). The mean is over the columns of the encoded states:
    a Potts unit has one column for each of its states. For independent units, the expected error is
    the mean of their variances. The error is not a likelihood: it is small for a good model, but
    also if chains hardly move.

    Args:
        rbm: the model.
        rows: rows to reconstruct, in the user's coding, shape (n, visible units).

    Raises:
        InputError: rows are outside the visible layer's domain.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.zeros((4, 3)))  # every ⟨v⟩ is ½
        >>> hm.reconstruction_errors(rbm, hm.bars_and_stripes(2)).tolist()
        [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]

    Source: Hinton 2010, section 5.
    """
    array = rbm.visible.validate(rows)
    return in_parts(lambda part, _: _of_rows(rbm, part), array, rbm.widest)


@compiled
def _of_rows(rbm: RBM, rows: Array) -> Array:
    return errors_of_states(rbm, rbm.visible.encode(rows))


def errors_of_states(rbm: RBM, v: Float[Array, "n visible"]) -> Float[Array, " n"]:
    """Return the reconstruction errors of visible states. Traceable."""
    again = rbm.with_given_of(v).mean_v_from_h(rbm.mean_h_from_v(v))
    return ((v - again) ** 2).mean(-1)
