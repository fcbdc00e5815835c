"""The metrics that `fit` and `evaluate` show beside the loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InputError
from .base import ops
from .units.base import Tensor

NAMES = ("free_energy_gap", "reconstruction", "pseudo_likelihood")
ROWS_IN_TRAINING = 64  # of each batch: enough for a curve, at a small share of an update's cost


def reconstruction(model: Any, rows: Tensor) -> Tensor:
    """Return the mean over columns of (x − ⟨v⟩)² for each row, with ⟨v⟩ given ⟨h | x⟩.

    It needs no draws, so the same rows give the same value. It is not a likelihood: it falls with
    chains that do not mix just as it does with a good model (Hinton 2010, section 5).
    """
    return ops.mean(ops.square(rows - model.reconstruct(rows)), axis=-1)


def pseudo_likelihood(model: Any, rows: Tensor, seed: Any) -> Tensor:
    """Return n log p(x_i | all other units), in nats, for one random unit i of each row.

    n is the number of units. The mean over i is exactly the log-pseudo-likelihood
    Σ_i log p(x_i | x_−i), and it costs one row of W instead of n passes. Discrete visible units
    only.

    Source: Besag 1975.
    """
    visible = model.visible
    kernel = ops.convert_to_tensor(model.kernel)
    inputs = model.inputs_to_h(rows)
    cgf = model.hidden.cgf(inputs)
    log_odds = [ops.zeros_like(cgf)]
    for changes in visible.alternatives(rows, seed):
        moved = inputs
        gain = -cgf
        for column, amount in changes:
            moved = moved + ops.expand_dims(amount, -1) * ops.take(kernel, column, axis=0)
            gain = gain + amount * ops.take(ops.convert_to_tensor(visible.bias), column)
        log_odds.append(gain + model.hidden.cgf(moved))
    return -visible.n_units * ops.logsumexp(ops.stack(log_odds), axis=0)


def of_rows(name: str, model: Any, rows: Tensor) -> Tensor:
    """Return the metric with this name for each row."""
    if name == "reconstruction":
        return reconstruction(model, rows)
    return pseudo_likelihood(model, rows, model.monitor_seeds)


def chosen(metrics: str | Iterable[str], model: Any) -> tuple[str, ...]:
    """Return the names of the requested metrics.

    "auto" is the reconstruction error and, for discrete visible units, the pseudo-likelihood.

    Raises:
        InputError: an unknown name, or the pseudo-likelihood of continuous units.
    """
    discrete = model.visible.states_each is not None
    if isinstance(metrics, str) and metrics == "auto":
        return NAMES[1:] if discrete else NAMES[1:2]
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics or ())
    for name in names:
        if name not in NAMES:
            raise InputError(f"metrics: expected some of {', '.join(NAMES)}; got {name!r}.")
        if name == NAMES[2] and not discrete:
            raise InputError(
                f"metrics: {name} needs units with finitely many values;"
                f" got {type(model.visible).__name__}."
            )
    return names
