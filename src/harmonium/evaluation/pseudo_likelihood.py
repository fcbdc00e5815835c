"""Pseudo-likelihood: how well each unit is predicted from all other units."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Array

from .._base.programs import compiled
from ..data.parts import in_parts
from ..errors import InputError
from ..rbm import RBM
from ..samplers.single_site import PROPOSALS_AT_ONCE, neighbours_of, unit_surprisals


def pseudo_log_likelihoods(rbm: RBM, rows: Any) -> np.ndarray:
    """Return the pseudo-log-likelihood Σ_i log p(v_i | all other v) of each row, in nats.

    p(v_i | all other v) is exact and requires neither Z nor sampling: it is
    1 / (1 + Σ e^(F(v) − F(v′))), where the sum runs over the states v′ that differ from v in unit i
    alone. The result, of shape (n,), is a sum over units for each row. For independent units, it
    equals the log-likelihood; the more strongly units depend on each other, the less the result
    reveals about the log-likelihood.

    Args:
        rbm: a model whose visible layer is discrete.
        rows: rows to score, in the user's coding, shape (n, visible units).

    Raises:
        InputError: rows are outside the visible layer's domain, or the layer is continuous.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> rows = [[1, 1, 1, 1], [0, 0, 0, 0]]
        >>> print(hm.pseudo_log_likelihoods(rbm, rows).round(3))  # log((2/3)³ / 2), log((1/3)³ / 2)
        [-1.91  -3.989]

    Source: Besag 1975; Marlin, Swersky, Chen & de Freitas 2010.
    """
    if rbm.visible.n_states is None:
        raise InputError(
            f"Pseudo-likelihood: expected a discrete visible layer; got {rbm.visible}."
        )
    array = rbm.visible.validate(rows)
    return in_parts(lambda part, _: _of_rows(rbm, part), array, PROPOSALS_AT_ONCE * rbm.widest)


@compiled
def _of_rows(rbm: RBM, rows: Array) -> Array:
    return -unit_surprisals(neighbours_of(rbm, rbm.visible.encode(rows))).sum(0)
