"""Potts units, which take one of q states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import InputError
from ..base import PACKAGE, keras, ops, positive_integer, to_numpy
from .base import Tensor, Unit, value_at


@keras.saving.register_keras_serializable(package=PACKAGE)
class Potts(Unit):
    """Potts units of q states, one-hot: U(x) = −b·x, Γ(I) = Σ_sites log Σ_a e^(I_a + b_a).

    Rows are one-hot, with sites · q columns; the q columns of a site are adjacent. To encode rows
    of integer codes, call `keras.utils.to_categorical(codes, q).reshape(len(codes), -1)`.

    Args:
        states: q, at least 2.

    Example:
        >>> import harmonium.keras as hk
        >>> codes = np.array([[0, 2], [1, 1]])  # two sites of three states
        >>> rows = np.eye(3, dtype="float32")[codes].reshape(2, 6)
        >>> rbm = hk.RBM(3, visible=hk.Potts(3))
        >>> tuple(rbm(rows).shape), rbm.visible.n_units
        ((2, 3), 2)
    """

    registered = "potts"

    def __init__(self, states: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.states_each = self.columns_each = positive_integer(states, "Potts states")
        if states < 2:
            raise InputError(f"Potts states: expected at least 2; got {states}.")

    def build(self, input_shape: Any) -> None:
        if int(input_shape[-1]) % self.columns_each:
            raise InputError(
                f"Potts: expected a multiple of {self.columns_each} columns, one column for each"
                f" state of each site; got {input_shape[-1]}."
            )
        super().build(input_shape)

    def get_config(self) -> dict:
        return {**super().get_config(), "states": self.columns_each}

    def _by_site(self, x: Tensor) -> Tensor:
        return ops.reshape(x, (*ops.shape(x)[:-1], self.n_units, self.columns_each))

    def _by_column(self, x: Tensor) -> Tensor:
        return ops.reshape(x, (*ops.shape(x)[:-2], self.size))

    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Σ_sites log Σ_a e^(I_a + b_a)."""
        return ops.sum(ops.logsumexp(self._by_site(inputs + self.bias), axis=-1), axis=-1)

    def mean(self, inputs: Tensor) -> Tensor:
        """Return the probability of each state."""
        return self._by_column(ops.softmax(self._by_site(inputs + self.bias), axis=-1))

    def draw(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw a state for each site by inverting its cumulative distribution at a uniform draw."""
        cumulative = ops.cumsum(self._by_site(self.mean(inputs)), axis=-1)
        threshold = keras.random.uniform(
            ops.shape(cumulative)[:-1], dtype=cumulative.dtype, seed=seed
        )
        # Rounded probabilities do not quite sum to 1, so the draw is scaled to their sum.
        passed = cumulative[..., :-1] <= ops.expand_dims(threshold, -1) * cumulative[..., -1:]
        chosen = ops.sum(ops.cast(passed, "int32"), axis=-1)
        return self._by_column(ops.one_hot(chosen, self.columns_each, dtype=cumulative.dtype))

    def fair(self, shape: Any, dtype: str, seed: Any) -> Tensor:
        sites = shape[-1] // self.columns_each
        codes = keras.random.randint((*shape[:-1], sites), 0, self.columns_each, seed=seed)
        return ops.reshape(ops.one_hot(codes, self.columns_each, dtype=dtype), shape)

    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Set b = log p, centred over the states of a site, with p = (n · mean + 1/q)/(n + 1)."""
        logs = np.log((n * mean + 1.0 / self.columns_each) / (n + 1.0))
        logs = logs.reshape(self.n_units, self.columns_each)
        self.bias.assign((logs - logs.mean(-1, keepdims=True)).reshape(-1))

    def outside(self, rows: np.ndarray) -> np.ndarray:
        by_site = rows.reshape(len(rows), self.n_units, self.columns_each)
        return ((by_site != 0) & (by_site != 1)).any(-1) | (by_site.sum(-1) != 1)

    def domain(self) -> str:
        return f"one-hot columns, {self.columns_each} for each site"

    def alternatives(self, x: Tensor, unit: Tensor) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Yield the changes that move one site of each row to each of its q − 1 other states."""
        q = self.columns_each
        codes = ops.cast(ops.argmax(self._by_site(x), axis=-1), unit.dtype)
        state = value_at(codes, unit)
        ones = ops.ones_like(state, dtype=x.dtype)
        for step in range(1, q):
            yield [(unit * q + state, -ones), (unit * q + (state + step) % q, ones)]

    def to_core(self, layers: Any) -> Any:
        return layers.Potts(self.n_units, self.columns_each, to_numpy(self.bias))

    @classmethod
    def like(cls, layer: Any) -> Potts:
        return cls(layer.states_per_site)
