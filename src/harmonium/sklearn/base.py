"""The base of the estimators: random keys, precision, rows in parts, and training."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._numerics import from_numpy
from .._threefry import key_of
from ..checks import positive_integer
from ..data import Dataset
from ..data.parts import in_parts
from ..errors import InputError, warn_user
from ..gradients import AbstractGradient
from ..initialization import initialize
from ..layers import AbstractLayer
from ..missing.marginal import SLOW_SUMS, way_to_sum
from ..rbm import RBM as Model
from ..samplers.gibbs import after_sweeps
from ..training import (
    METHOD_NAMES,
    DivergenceWarning,
    Fit,
    Recipe,
    Report,
    TrainState,
    begin,
    fit,
    method_named,
    partial_fit,
)

FLOATS = (np.float64, np.float32)
ROUNDING = 1e-5  # a scaler's own rounding leaves [0, 1] by less


LEARNING, SAMPLING, SCORING, MOVING = range(4)  # purposes of random keys


def key_from(random_state: Any, purpose: int) -> jax.Array:
    """Draw a JAX key from scikit-learn's `random_state`.

    As an int gives the same number at every call, each purpose has keys of its own.
    """
    key = key_of(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return jax.random.fold_in(key, purpose)


def checked_sweeps(k: int | None) -> int | None:
    """Return the sweeps of chains, or None, where `hm.sample` decides how rows are drawn."""
    return None if k is None else positive_integer(k, "k")


def floats(X: Any, **options: Any) -> Any:
    """Check rows that need not have the columns of `fit`, and return them as floats."""
    every: dict[str, Any] = {"dtype": FLOATS} | options
    return check_array(X, **every)


def warn_outside(X: Any) -> None:
    """Warn of values outside [0, 1], and say how to scale them."""
    low, high = float(X.min()), float(X.max())
    if low >= -ROUNDING and high <= 1.0 + ROUNDING:
        return
    scaling = "scale the columns by sklearn.preprocessing.MinMaxScaler"
    if low >= -ROUNDING:
        scaling = f"divide by {255 if 16 < high <= 255 else high:g}, or {scaling}"
    warn_user(
        f"X: expected values in [0, 1]; found {low:g} to {high:g}, which are used linearly, as in"
        " scikit-learn: features and scores of 0/1 units say little of them;"
        f" {scaling}, or use harmonium.sklearn.RBM for other numbers."
    )


def at_precision(dtype: Any) -> Any:
    """Let JAX compute in float64 if the rows are of that type, as scikit-learn does."""
    return jax.enable_x64(True) if np.dtype(dtype) == np.float64 else nullcontext()


def alike(rbm: Model, rows: np.ndarray, unseen: int = 0) -> list[np.ndarray]:
    """Return the indices of rows that are treated alike, so that no row changes another's answer.

    The first are the complete rows, perhaps none. Then follow those whose missing cells can be
    summed over, and those for which chains are needed, where there are such rows.

    Args:
        rbm: the model.
        rows: in the library's coding, NaN where a cell is missing.
        unseen: units that are missing in every row besides.
    """
    counts = np.isnan(rows).sum(1)
    kinds = {int(n): way_to_sum(rbm, int(n) + unseen, SLOW_SUMS)[0] for n in np.unique(counts)}
    ways = np.array([kinds[int(n)] is not None for n in counts])
    others = (np.flatnonzero((counts > 0) & (ways == summed)) for summed in (True, False))
    return [np.flatnonzero(counts == 0), *(which for which in others if len(which))]


class BaseRBM(BaseEstimator):
    """The base class of the estimators: their common parameters, and training."""

    n_components: int
    learning_rate: float
    batch_size: int
    n_iter: int | None
    verbose: int
    random_state: Any
    method: Any
    k: int
    n_chains: int | None
    optimizer: Any

    # ------------------------------------------------------------------ learning

    def _learn(
        self, visible: AbstractLayer, hidden: AbstractLayer, rows: Any, sample_weight: Any
    ) -> Model:
        """Train a new model on rows in the library's coding."""
        learning = self._learning() | self._held_off()
        key_start, key_run = self._new_keys()
        dataset, held_out = self._parts(rows, sample_weight, key=key_run)
        dataset = dataset.checked_for(visible, "X")
        rbm = initialize(visible, hidden, dataset, key=key_start)
        self._state, self._belongs = None, self._state_settings()
        if self.n_iter == 0:
            return rbm
        if self.n_iter is not None:
            positive_integer(self.n_iter, "n_iter")
        found = fit(
            rbm,
            dataset,
            key=key_run,
            epochs=self.n_iter,
            validation=held_out,
            keep="last" if held_out is None else "best",
            callbacks=self._callbacks(dataset),
            **learning,
        )
        self.message_ = "; ".join([found.message, *found.notes])
        self._state = self._kept(found)
        return found.rbm

    def _callbacks(self, dataset: Dataset) -> list[Callable[[Report], None]]:
        """Return what looks at the model during `fit`."""
        return [self._reporter(dataset)] if self.verbose else []

    def _held_off(self) -> dict[str, Any]:
        """Return the arguments that hold off overfitting in `fit`, but not in `partial_fit`."""
        return {}

    def _kept(self, found: Fit) -> TrainState | None:
        """Return the state that portions continue from, or None if they begin at the model."""
        return found.state

    def _parts(self, rows: Any, sample_weight: Any, *, key: Any) -> tuple[Dataset, Dataset | None]:
        """Return the rows to train on, and those to hold out or None."""
        return Dataset(rows, sample_weight, name="X"), None

    def _learn_more(
        self, make: Callable[[Dataset, Any], Model], rows: Any, sample_weight: Any
    ) -> Model:
        """Make one pass over a portion of rows, from the previous state or from a new model."""
        learning, dataset = self._learning(), Dataset(rows, sample_weight, name="X")
        key_start = None
        if not hasattr(self, "_stream_key"):
            key_start, _ = self._new_keys()
            self._state = None
        key = jax.random.fold_in(
            jax.random.wrap_key_data(jnp.asarray(self._stream_key)), self._portions
        )
        state = self._continued(dataset, learning, key)
        start = state.rbm if state else make(dataset, key_start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # the estimator's own follows
            found = partial_fit(start, dataset, key=key, state=state, **learning)
        if found.diverged:
            message = "diverged: the model before this portion is kept; lower learning_rate"
            warnings.warn(message, DivergenceWarning, stacklevel=3)
            return self._model() if state else start
        self._portions += 1
        self._state, self._belongs = found.state, self._state_settings()
        return found.rbm

    def _continued(self, dataset: Dataset, learning: dict, key: Any) -> TrainState | None:
        """Return the state to continue from, less the parts that changed parameters invalidate.

        Chains depend on the method and its settings, the optimiser's state on the optimiser and
        the learning rate. If weights were assigned explicitly, no state is valid.
        """
        state, now = self._state, self._state_settings()
        if state is None or self._assigned(state):
            return None
        if now == self._belongs:
            return state
        fresh = begin(state.rbm, dataset, key=key, **learning)
        return fresh._replace(
            gradient=state.gradient if now[0] == self._belongs[0] else fresh.gradient,
            optimizer=state.optimizer if now[1] == self._belongs[1] else fresh.optimizer,
            updates=state.updates,
        )

    def _state_settings(self) -> tuple[Any, Any]:
        chains = (str(self.method), self.k, self.n_chains, self.batch_size)
        return chains, (self.learning_rate, id(self.optimizer) if self.optimizer else None)

    def _assigned(self, state: TrainState) -> bool:
        """Return whether the fitted parameters were assigned explicitly."""
        return False

    def _new_keys(self) -> tuple[Any, Any]:
        """Draw keys for the start and for `fit`; keep one for portions, in a form that pickles."""
        start, run, stream = jax.random.split(key_from(self.random_state, LEARNING), 3)
        self._stream_key, self._portions = np.asarray(jax.random.key_data(stream)), 0
        return start, run

    def _learning(self) -> dict[str, Any]:
        """Return the arguments of training, checked before anything is changed."""
        batch_size = positive_integer(self.batch_size, "batch_size")
        return {
            "gradient": self._gradient(),
            "optimizer": self._optimizer(),
            "batch_size": batch_size,
        }

    def _model(self) -> Model:
        """Return the fitted model."""
        raise NotImplementedError

    def _gradient(self) -> AbstractGradient:
        """Return the gradient method, made from its name or passed as an object."""
        if isinstance(self.method, AbstractGradient):
            return self.method
        names = self._method_names()
        if not isinstance(self.method, str) or self.method not in names:
            expected = f"{', '.join(names)} or a method such as hm.Contrastive(...)"
            raise InputError(f"method: expected {expected}; got {self.method!r}.")
        return self._named(self.method)

    def _method_names(self) -> tuple[str, ...]:
        """Return the known names of methods."""
        return METHOD_NAMES

    def _named(self, name: str) -> AbstractGradient:
        """Return the gradient method with this name."""
        chains = self.batch_size if self.n_chains is None else self.n_chains
        return method_named(name, self.k, chains)

    def _optimizer(self) -> Any:
        """Return the optimiser, by default a recipe at this learning rate."""
        if self.optimizer is not None:
            return self.optimizer
        if not isinstance(self.learning_rate, int | float | np.number):
            raise InputError(f"learning_rate: expected a number; got {self.learning_rate!r}.")
        return self._recipe(float(self.learning_rate))

    def _recipe(self, rate: float) -> Recipe:
        """Return the library's default recipe at this learning rate."""
        return Recipe(rate=rate)

    def _reporter(self, dataset: Dataset) -> Callable[[Report], None]:
        """Return a callback that prints each measured iteration as scikit-learn does."""
        began = time.perf_counter()

        def report(now: Report) -> None:
            nonlocal began
            if now.metrics:
                seconds, began = time.perf_counter() - began, time.perf_counter()
                name, value = self._monitor(now, dataset)
                start = f"[{type(self).__name__}] Iteration {now.epoch:.0f}"
                print(f"{start}, {name} = {value:.2f}, time = {seconds:.2f}s")

        return report

    def _monitor(self, now: Report, dataset: Dataset) -> tuple[str, float]:
        return "free energy", now.metrics["free_energy"]

    # ------------------------------------------------------------------ using the fitted model

    def _apply(self, function: Callable[..., Any], rows: Any, dtype: Any) -> np.ndarray:
        """Apply a compiled function of (model, rows) to parts of the rows, in precision `dtype`."""
        check_is_fitted(self)
        with at_precision(dtype):
            model = in_dtype(self._model(), dtype)
            return in_parts(lambda some, _: function(model, some), rows, model.widest, dtype)


def in_dtype(model: Model, dtype: Any) -> Model:
    """Return the model with parameters of this dtype."""
    return jax.tree.map(lambda leaf: from_numpy(np.array(leaf, dtype)), model)


# Functions of rows in the library's coding, compiled once for all estimators.


@eqx.filter_jit
def mean_h(model: Model, rows: jax.Array) -> jax.Array:
    """Return ⟨h⟩ given the rows."""
    return model.mean_h_from_v(model.visible.encode(rows))


@eqx.filter_jit
def mean_v(model: Model, h: jax.Array) -> jax.Array:
    """Return ⟨v⟩ given hidden states or their means, in arithmetic columns."""
    return model.mean_v_from_h(h)


@eqx.filter_jit
def mean_v_again(model: Model, rows: jax.Array) -> jax.Array:
    """Return ⟨v⟩ given the hidden means of the rows."""
    v = model.visible.encode(rows)
    return model.with_lengths_of(v).mean_v_from_h(model.mean_h_from_v(v))


@eqx.filter_jit
def free_energy(model: Model, rows: jax.Array) -> jax.Array:
    """Return the free energy F(v) of the rows."""
    return model.free_energy(model.visible.encode(rows))


@eqx.filter_jit
def sweeps(model: Model, rows: jax.Array, k: jax.Array, key: jax.Array) -> jax.Array:
    """Return the visible states after k Gibbs sweeps from the rows, in arithmetic columns."""
    return after_sweeps(model, model.visible.encode(rows), k, key=key)
