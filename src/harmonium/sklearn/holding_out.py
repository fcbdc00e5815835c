"""Estimators that regularise `fit` with held-out rows or, for few rows, cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import jax
import numpy as np
from sklearn.base import TransformerMixin

from ..data import Dataset
from ..data.splits import FEWEST_ROWS_TO_HOLD_OUT, held_out_rows, usual_fraction
from ..errors import InputError
from ..layers import AbstractLayer
from ..training import Fit, Huber, TrainState
from ..training.cross_validation import can_cross_validate
from .base import BaseRBM


@dataclass(eq=False, repr=False)
class BaseHoldingOut(TransformerMixin, BaseRBM):
    """The base class of transformers that keep the model with the highest held-out likelihood."""

    _: KW_ONLY
    validation_fraction: float | str = "auto"

    @property
    def _is_regularised(self) -> bool:
        return self.optimizer is None and self.n_iter is None

    def _regularisation(self) -> dict[str, Any]:
        if not self._is_regularised:
            return {}
        # An L1 penalty would keep weights at 0, where the gradient of the likelihood vanishes.
        return {"optimizer": replace(self._optimizer(), penalties=(Huber(),))}

    def _state_for_portions(self, result: Fit) -> TrainState | None:
        """Return None after a penalised `fit`: `partial_fit` cannot set the penalty's strength."""
        if self._is_regularised:
            return None
        return result.state

    def _split(
        self, visible: AbstractLayer, rows: Any, sample_weight: Any, *, key: Any
    ) -> tuple[Dataset, Dataset | None]:
        fraction = self.validation_fraction
        if fraction == "auto":
            has_score = can_cross_validate(visible)
            fraction = usual_fraction(len(rows), can_cross_validate=has_score)
        if not isinstance(fraction, int | float | np.number) or not 0 <= fraction < 1:
            raise InputError(
                f'validation_fraction: expected a number in [0, 1), or "auto"; got {fraction!r}.'
            )
        is_small = len(rows) < FEWEST_ROWS_TO_HOLD_OUT
        # A weighted row represents several rows, so no subset is a random part of the data.
        if not self._is_regularised or is_small or not fraction or sample_weight is not None:
            return super()._split(visible, rows, sample_weight, key=key)
        seed = int(np.asarray(jax.random.key_data(key)).ravel()[-1])
        train, held_out = held_out_rows(len(rows), float(fraction), seed=seed)
        return Dataset(rows, which=train, name="X"), Dataset(rows, which=held_out, name="X")

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
