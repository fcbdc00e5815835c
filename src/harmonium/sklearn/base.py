"""The base class of the estimators: random keys, precision, batches of rows, and training."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._base.checks import positive_integer
from .._base.numerics import from_numpy
from .._base.programs import compiled
from .._base.threefry import fold_in, key_of, quick, split
from ..data import Dataset
from ..data.parts import in_parts
from ..errors import InputError, warn_user
from ..gradients import AbstractGradient
from ..inference.sampling import sample
from ..layers import AbstractLayer
from ..layers.registry import layer_named
from ..likelihood.missing.marginal import SLOW_SUMS, cheapest_sum
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
    method_named,
)
from ..training.arguments import plan_run
from ..training.loop import run_plan
from ..training.portions import Learned, Portions
from ..transforms.initialization import initialize

FLOATS = (np.float64, np.float32)  # scikit-learn converts all other types to float64
ROUNDING = 1e-5  # rounding errors of a scaler exceed [0, 1] by less than this
LEARNING, SAMPLING, SCORING, CHAINS = range(4)  # purposes of random keys


def key_from(random_state: Any, purpose: int) -> jax.Array:
    """Draw a JAX key from scikit-learn's `random_state`.

    If `random_state` is an int, every call starts from the same seed, so each purpose gets a
    separate key.
    """
    key = key_of(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return fold_in(key, purpose)


def floats(X: Any, **options: Any) -> Any:
    """Check rows and convert them to floats, without comparing the columns with those of `fit`."""
    settings: dict[str, Any] = {"dtype": FLOATS} | options
    return check_array(X, **settings)


def warn_outside(X: Any) -> None:
    """Warn if X contains values outside [0, 1], and suggest how to scale the columns."""
    low = float(X.min())
    high = float(X.max())
    if low >= -ROUNDING and high <= 1.0 + ROUNDING:
        return
    scaling = "scale the columns with sklearn.preprocessing.MinMaxScaler"
    if low >= -ROUNDING:
        largest = high
        if 16 < high <= 255:  # byte-valued pixels; scikit-learn's digits end at 16
            largest = 255
        scaling = f"divide by {largest:g}, or {scaling}"
    warn_user(
        f"X: expected values in [0, 1]; got {low:g} to {high:g}, which are used linearly, as in"
        " scikit-learn: features and scores of 0/1 units are not meaningful for such values;"
        f" {scaling}, or use harmonium.sklearn.RBM for other numbers."
    )


def at_precision(dtype: Any) -> Any:
    """Return a context that enables float64 in JAX if `dtype` is float64, to preserve precision."""
    if np.dtype(dtype) == np.float64:
        return jax.enable_x64(True)
    return nullcontext()


def checked_rate(rate: Any) -> float:
    """Return a learning rate, or raise InputError unless it is a number."""
    if not isinstance(rate, int | float | np.number):
        raise InputError(f"learning_rate: expected a number; got {rate!r}.")
    return float(rate)


def row_groups(rbm: Model, rows: np.ndarray, missing: int = 0) -> Iterator[tuple[np.ndarray, bool]]:
    """Yield the row indices of each group to process together, and whether its rows are complete.

    Rows whose missing cells can be summed over exactly are separated from rows that need Gibbs
    sampling, so that no row affects the result of another. Empty groups are omitted.

    Args:
        rbm: the model.
        rows: encoded rows, with NaN for missing cells.
        missing: number of further units that are missing in every row.
    """
    counts = np.isnan(rows).sum(1)
    summable = [
        n for n in np.unique(counts) if cheapest_sum(rbm, int(n) + missing, SLOW_SUMS) is not None
    ]
    has_gaps = counts > 0
    is_summable = np.isin(counts, summable)
    for is_member in (~has_gaps, has_gaps & is_summable, has_gaps & ~is_summable):
        if is_member.any():
            yield np.flatnonzero(is_member), not counts[is_member].any()


@dataclass(eq=False, repr=False)
class BaseRBM(BaseEstimator):
    """The base class of the estimators: their common parameters and training.

    The estimators are dataclasses, since scikit-learn requires constructors that only store each
    argument under its name.
    """

    n_components: int = 64
    _: KW_ONLY
    learning_rate: float = 0.05
    batch_size: int = 100
    n_iter: int | None = None
    verbose: int = 0
    random_state: Any = None
    method: Any = "pcd"
    k: int = 1
    n_chains: int | None = None
    optimizer: Any = None

    hidden = "bernoulli"  # overridden by a parameter in estimators that offer a choice
    _methods: ClassVar[tuple[str, ...]] = METHOD_NAMES

    # ------------------------------------------------------------------ learning

    def _hidden_layer(self) -> AbstractLayer:
        """Return the hidden layer specified by `hidden`; ("potts", 3) means units with 3 states."""
        size = positive_integer(self.n_components, "n_components")
        name: Any = self.hidden
        states = None
        if isinstance(name, tuple) and len(name) == 2:
            name, states = name
        return layer_named(name, "hidden").make(size, states)

    def _learn(self, visible: AbstractLayer, rows: Any, sample_weight: Any) -> Model:
        """Train a new model on encoded rows."""
        hidden = self._hidden_layer()
        arguments = self._arguments() | self._regularisation()
        key_start, key_run = self._new_keys()
        dataset, held_out = self._split(visible, rows, sample_weight, key=key_run)
        dataset = dataset.checked_for(visible, "X")
        rbm = initialize(visible, hidden, dataset, key=key_start)
        self._state = None
        self._alike = None
        self._settings_of_state = self._state_settings()
        if self.n_iter == 0:
            return rbm
        if self.n_iter is not None:
            positive_integer(self.n_iter, "n_iter")
        callbacks = self._callbacks(dataset)
        result = run_plan(
            rbm,
            plan_run(rbm, dataset, epochs=self.n_iter, **arguments),
            key=key_run,
            validation=held_out,
            keep="last" if held_out is None else "best",
            callbacks=callbacks,
            history=bool(callbacks),  # only the callbacks read it
        )
        self.message_ = "; ".join([result.message, *result.notes])
        self._state = self._state_for_portions(result)
        return result.rbm

    def _callbacks(self, dataset: Dataset) -> list[Callable[[Report], None]]:
        if not self.verbose:
            return []
        return [self._reporter(dataset)]

    def _regularisation(self) -> dict[str, Any]:
        """Return the arguments that regularise `fit` but not `partial_fit`."""
        return {}

    def _state_for_portions(self, result: Fit) -> TrainState | None:
        """Return the training state from which `partial_fit` continues, or None to start anew."""
        return result.state

    def _split(
        self, visible: AbstractLayer, rows: Any, sample_weight: Any, *, key: Any
    ) -> tuple[Dataset, Dataset | None]:
        """Return the training rows, and the held-out rows or None if no rows are held out."""
        return Dataset(rows, sample_weight, name="X"), None

    def _learn_more(self, visible: AbstractLayer | None, rows: Any, sample_weight: Any) -> Model:
        """Make one pass over a portion of rows, continuing from the previous state if there is one.

        Args:
            visible: the visible layer of a new model; None to continue with the fitted model.
            rows: the encoded rows of the portion.
            sample_weight: the weight of each row.
        """
        portions = self._portions_like(rows, sample_weight)
        if portions is not None:
            last: Any = self._state
            learned = portions.learn(last, self._stream_key, rows, self._portions)
            return self._after(portions, learned)
        arguments = self._arguments()
        dataset = Dataset(rows, sample_weight, name="X")
        key_start: Any = None
        if not hasattr(self, "_stream_key"):
            key_start, _ = self._new_keys()
            self._state = None
        stream_key = quick(jax.random.wrap_key_data(from_numpy(self._stream_key)))
        key = fold_in(stream_key, self._portions)
        state = self._continued(dataset, arguments, key)
        if state is not None:
            start = state.rbm
        elif visible is None:
            start = self._model()
        else:
            start = initialize(visible, self._hidden_layer(), dataset, key=key_start)
        portions = Portions(start, plan_run(start, dataset, epochs=1, endless=True, **arguments))
        return self._after(portions, portions.learn(portions.begin(state, key=key), key))

    def _may_follow(self, X: Any) -> bool:
        """Return whether X is an array of the same form as the last portion, with valid values.

        Such an array need not pass scikit-learn's checks, which take as long as ten updates. The
        checks are still made if the estimator was fitted with column names.
        """
        portions = getattr(self, "_alike", None)
        has_names = hasattr(self, "feature_names_in_")
        is_plain = type(X) is np.ndarray and X.dtype in FLOATS and not has_names
        return is_plain and portions is not None and portions.takes(X)

    def _portions_like(self, rows: Any, sample_weight: Any) -> Portions | None:
        """Return the `Portions` of the last call, or None if it cannot train on these rows."""
        portions = getattr(self, "_alike", None)
        if portions is None or sample_weight is not None:
            return None
        state: Any = self._state
        if self._state_settings() != self._settings_of_state or self._assigned(state):
            return None
        return portions if portions.takes(rows) else None

    def _after(self, portions: Portions, learned: Learned) -> Model:
        """Store the training state for the next portion, and return the current model."""
        self._alike = None
        if learned.diverged:
            message = "diverged: the model before this portion is kept; lower learning_rate"
            warnings.warn(message, DivergenceWarning, stacklevel=4)
            if self._state is not None:
                return self._model()
            return learned.state.rbm
        self._portions += 1
        self._state = learned.state
        self._settings_of_state = self._state_settings()
        self._alike = portions
        return learned.rbm

    def __getstate__(self) -> Any:
        """Return the attributes to pickle, without those that `partial_fit` recomputes."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_alike"}

    def _continued(self, dataset: Dataset, arguments: dict, key: Any) -> TrainState | None:
        """Return the training state to continue from, or None if there is no valid state.

        Parts that depend on changed parameters are created anew: chains if the method or its
        settings changed, the optimiser's state if the optimiser or the learning rate changed. If
        the user has assigned weights, no part of the state is valid.
        """
        state = self._state
        settings = self._state_settings()
        if state is None or self._assigned(state):
            return None
        if settings == self._settings_of_state:
            return state
        new = begin(state.rbm, dataset, key=key, **arguments)
        still_valid = {
            part: getattr(state, part)
            for part, values in settings.items()
            if values == self._settings_of_state[part]
        }
        return new._replace(updates=state.updates, **still_valid)

    def _state_settings(self) -> dict[str, tuple]:
        """Map each part of the training state to the parameters on which it depends."""
        return {
            "gradient": (str(self.method), self.k, self.n_chains, self.batch_size),
            "optimizer": (self.learning_rate, self.optimizer and id(self.optimizer)),
        }

    def _assigned(self, state: TrainState) -> bool:
        """Return whether the user has assigned new values to the fitted weights or biases."""
        return False

    def _new_keys(self) -> tuple[Any, Any]:
        """Draw keys for initialisation and for `fit`; store a picklable key for `partial_fit`."""
        start, run, stream = split(key_from(self.random_state, LEARNING), 3)
        self._stream_key = np.asarray(jax.random.key_data(stream))
        self._portions = 0
        return start, run

    def _arguments(self) -> dict[str, Any]:
        """Check and return the training arguments, before any attribute changes."""
        batch_size = positive_integer(self.batch_size, "batch_size")
        return {
            "gradient": self._gradient(),
            "optimizer": self._optimizer(),
            "batch_size": batch_size,
        }

    def _model(self) -> Model:
        """Return the fitted model."""
        return self.rbm_  # pyright: ignore[reportAttributeAccessIssue]

    def _gradient(self) -> AbstractGradient:
        if isinstance(self.method, AbstractGradient):
            return self.method
        if not isinstance(self.method, str) or self.method not in self._methods:
            raise InputError(
                f"method: expected {', '.join(self._methods)} or a gradient method such as"
                f" hm.Contrastive(...); got {self.method!r}."
            )
        return self._named(self.method)

    def _named(self, name: str) -> AbstractGradient:
        chains = self.batch_size if self.n_chains is None else self.n_chains
        return method_named(name, self.k, chains)

    def _optimizer(self) -> Any:
        if self.optimizer is not None:
            return self.optimizer
        return self._recipe(checked_rate(self.learning_rate))

    def _recipe(self, rate: float) -> Recipe:
        """Return the library's default recipe at this learning rate."""
        return Recipe(rate=rate)

    def _reporter(self, dataset: Dataset) -> Callable[[Report], None]:
        """Return a callback that prints a line per measured iteration, in scikit-learn's format."""
        start = time.perf_counter()

        def show(report: Report) -> None:
            nonlocal start
            if report.metrics:
                seconds = time.perf_counter() - start
                start = time.perf_counter()
                name, value = self._monitor(report, dataset)
                print(
                    f"[{type(self).__name__}] Iteration {report.epoch:.0f},"
                    f" {name} = {value:.2f}, time = {seconds:.2f}s"
                )

        return show

    def _monitor(self, report: Report, dataset: Dataset) -> tuple[str, float]:
        return "free energy", report.metrics["free_energy"]

    # ------------------------------------------------------------------ using the fitted model

    def _visible_means(self, X: Any) -> np.ndarray:
        """Return ⟨v⟩ given hidden states or hidden means."""
        check_is_fitted(self)
        h = floats(X)
        width = self._model().hidden.size
        if h.shape[1] != width:
            raise InputError(
                f"X: expected rows of hidden states or means, shape (rows, {width}); got shape"
                f" {h.shape}."
            )
        return self._apply(mean_v, h, h.dtype)

    def _draws(self, n_samples: int, k: int | None, given: Any = None) -> np.ndarray:
        """Draw rows by k Gibbs sweeps or, if k is None, as `hm.sample` does by default."""
        check_is_fitted(self)
        key = key_from(self.random_state, SAMPLING)
        if k is not None:
            k = positive_integer(k, "k")
        rbm: Any = self.rbm_  # pyright: ignore[reportAttributeAccessIssue]
        return sample(rbm, n_samples, key=key, steps=k, given=given)

    def _apply(self, function: Callable[..., Any], rows: Any, dtype: Any) -> np.ndarray:
        """Apply a compiled function of (model, rows) to batches of rows, in precision `dtype`."""
        check_is_fitted(self)
        with at_precision(dtype):
            model = in_dtype(self._model(), dtype)
            return in_parts(lambda part, _: function(model, part), rows, model.widest, dtype)


def in_dtype(model: Model, dtype: Any) -> Model:
    """Convert the parameters of a model to this dtype."""
    return jax.tree.map(lambda leaf: from_numpy(np.array(leaf, dtype)), model)


# Functions of encoded rows, compiled once for all estimators.


@compiled
def mean_h(model: Model, rows: jax.Array) -> jax.Array:
    """Return the hidden means ⟨h | v⟩ of the rows."""
    return model.mean_h_from_v(model.visible.encode(rows))


@compiled
def mean_v(model: Model, h: jax.Array) -> jax.Array:
    """Return ⟨v⟩ given hidden states or hidden means, with one-hot columns for categories."""
    return model.mean_v_from_h(h)


@compiled
def free_energy(model: Model, rows: jax.Array) -> jax.Array:
    """Return the free energy F(v) of the rows."""
    return model.free_energy(model.visible.encode(rows))


@compiled
def sweeps(model: Model, rows: jax.Array, k: jax.Array, key: jax.Array) -> jax.Array:
    """Return visible states after k Gibbs sweeps from the rows; categories are one-hot."""
    return after_sweeps(model, model.visible.encode(rows), k, key=key, turns=1)
