"""Estimators that hold off overfitting: by held-out rows, or by cross-validation of few."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ..data import Dataset
from ..data.splits import FEWEST_ROWS_TO_HOLD_OUT, held_out_rows, usual_fraction
from ..errors import InputError
from ..training import Fit, Huber, TrainState
from .base import BaseRBM


class BaseHoldingOut(BaseRBM):
    """The base class of estimators whose `fit` ends with the model that held-out rows like best.

    They have a `validation_fraction`, and know their columns before they learn.
    """

    validation_fraction: Any
    columns_: Any

    def _held_off(self) -> dict[str, Any]:
        if self.optimizer is not None or self.n_iter is not None:
            return {}
        return {"optimizer": replace(self._optimizer(), penalties=(Huber(),))}

    def _kept(self, found: Fit) -> TrainState | None:
        """Let portions begin anew at the model, without the penalty, which a stream cannot set."""
        return None if self._held_off() else found.state

    def _parts(self, rows: Any, sample_weight: Any, *, key: Any) -> tuple[Dataset, Dataset | None]:
        fraction = self.validation_fraction
        if isinstance(fraction, str) and fraction == "auto":
            discrete = self.columns_.layer.n_states is not None and not np.isnan(rows).any()
            fraction = usual_fraction(len(rows), can_cross_validate=discrete)
        if not isinstance(fraction, int | float | np.number) or not 0 <= fraction < 1:
            expected = 'a number from 0 to below 1, or "auto"'
            raise InputError(f"validation_fraction: expected {expected}; got {fraction!r}.")
        told = self.n_iter is not None or self.optimizer is not None
        few = len(rows) < FEWEST_ROWS_TO_HOLD_OUT
        # Weighted rows stand for others: no choice of them leaves out just a part.
        if told or few or not fraction or sample_weight is not None:
            return super()._parts(rows, sample_weight, key=key)
        seed = int(np.asarray(jax.random.key_data(key)).ravel()[-1])
        kept, held = held_out_rows(len(rows), float(fraction), seed=seed)
        return Dataset(rows, which=kept, name="X"), Dataset(rows, which=held, name="X")
