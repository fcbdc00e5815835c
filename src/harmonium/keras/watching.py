"""Divergence checks, the progress bar, and warnings about monitored metrics for Keras runs."""

from __future__ import annotations

import inspect
import math
import time
from typing import Any

import numpy as np

from ..errors import count_of, warn_user
from .base import keras, ops, synchronise, to_numpy

GAPS = ("loss", "free_energy_gap")
# Nats per unit. No useful model has so large a gap; in a run on 0/1 rows that diverges at a
# learning rate of 1,000, the gap is 120.
LARGEST_GAP = 100.0
SECONDS_BETWEEN_COPIES = 1.0  # the parameters are copied to the host to be checked


def named(method: Any, values: tuple, after: int) -> dict[str, Any]:
    """Return positional arguments as a dict keyed by parameter name, from parameter `after` on."""
    names = list(inspect.signature(method).parameters)[after:]
    return dict(zip(names, values, strict=False))


class Divergence(keras.callbacks.Callback):
    """A callback that stops a diverging run and restores the last model before the divergence.

    Attributes:
        message: why the run was stopped and what to do; empty unless the run diverged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.message = ""

    def on_train_begin(self, logs: Any = None) -> None:
        """Copy the model before the first epoch."""
        from ..training.chunks import growth_limit  # imports the core, which takes a second

        self.limit = float(growth_limit(self._largest()))
        self.copied_weights = self.model.get_weights()
        self.epochs = 0
        self.time_of_copy = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stop if the loss is too large for a useful model; at intervals, check the parameters."""
        loss = float((logs or {}).get("loss", 0.0))
        if not abs(loss) < LARGEST_GAP * self.model.visible.n_units:  # also true of NaN
            self._stop(f"the loss was {loss:.3g} in epoch {epoch + 1}")
        elif time.perf_counter() - self.time_of_copy >= SECONDS_BETWEEN_COPIES:
            self._check(epoch)

    def on_train_end(self, logs: Any = None) -> None:
        """Check the final parameters; if the run diverged, restore the last valid copy of them."""
        self._check(None)
        if self.message:
            self.model.set_weights(self.copied_weights)

    def _check(self, epoch: int | None) -> None:
        if self.message:
            return
        synchronise(self.model)
        largest = self._largest()
        if not largest < self.limit:
            self._stop(f"a parameter reached an absolute value of {largest:.3g}")
        elif epoch is not None:
            self.copied_weights = self.model.get_weights()
            self.epochs = epoch + 1
            self.time_of_copy = time.perf_counter()

    def _stop(self, reason: str) -> None:
        synchronise(self.model)
        moment = f"after epoch {self.epochs}" if self.epochs else "before the run"
        advice = "Lower the learning rate"
        if self.model.visible.has_scale:
            advice += " and standardise the columns"
        self.message = (
            f"diverged: {reason}; the model {moment} is kept. {advice}, and compile again"
        )
        self.model.stop_training = True

    def _largest(self) -> float:
        """Return the largest absolute value of any parameter, or NaN if any parameter is NaN."""
        sizes = [float(to_numpy(ops.max(ops.abs(x)))) for x in self.model.trainable_variables]
        if any(map(math.isnan, sizes)):
            return math.nan
        return max(sizes, default=0.0)


class Bar(keras.callbacks.ProgbarLogger):
    """Keras's progress bar, corrected so that it does not run past the end of an epoch.

    Keras counts all 128 steps of an execution, even if fewer steps remained in the epoch.
    """

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Show the number of steps completed so far."""
        super().on_train_batch_end(self._within(batch), logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Show the number of steps completed so far."""
        super().on_test_batch_end(self._within(batch), logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Show the number of steps completed so far."""
        super().on_predict_batch_end(self._within(batch), logs)

    def _within(self, batch: int) -> int:
        if self.target is None:
            return batch
        return min(batch, self.target - 1)


class Run:
    """The callbacks of a call to `fit`, and the messages printed before and after training.

    Attributes:
        options: the arguments of `keras.Model.fit`, with harmonium's callbacks before the user's.
        message: a description of the chosen penalty and model.
    """

    def __init__(self, model: Any, default_run: Any, options: dict):
        """Create the callbacks of a run.

        Args:
            model: the RBM, compiled.
            default_run: the `DefaultRun`, or None if epochs or an optimiser is given.
            options: the arguments of `fit`.
        """
        self.default_run = default_run
        self.message = ""
        self.is_shown = options.get("verbose", "auto") != 0
        self.divergence = Divergence()
        callbacks = _as_list(options.get("callbacks"))
        own_callbacks: list = [self.divergence]
        is_tracked = False
        if default_run is not None:
            own_callbacks.append(default_run)
            is_tracked = default_run.follows
        warn_of_monitors(model, callbacks, is_tracked)
        self.options = with_bar(options | {"callbacks": [*own_callbacks, *callbacks]})

    def epochs(self, epochs: int | None) -> int:
        """Return the number of epochs, and print the number if the default run chose it."""
        if epochs is not None:
            return epochs
        if self.default_run is None:
            self.message = "the rows were visited once, as Keras does if `epochs` is not given"
            return 1
        count = count_of(self.default_run.per_epoch, "update")
        self._print(
            f"{self.default_run.epochs:,} epochs of {count}, since neither `epochs` nor an"
            " optimiser was given"
        )
        return self.default_run.epochs

    def end(self) -> str:
        """Print the chosen penalty and model, warn if the run diverged, and return the messages."""
        if self.default_run is not None:
            self.message = self.default_run.message
        if self.message:
            self._print(self.message)
        if self.divergence.message:
            from ..training import DivergenceWarning

            warn_user(f"{self.divergence.message}.", DivergenceWarning)
            self.message = "; ".join(filter(None, [self.divergence.message, self.message]))
        return self.message

    def _print(self, sentence: str) -> None:
        if self.is_shown:
            print(f"harmonium: {sentence}.")


def _as_list(callbacks: Any) -> list:
    if callbacks is None:
        return []
    if isinstance(callbacks, list | tuple):
        return list(callbacks)
    return [callbacks]


def with_bar(options: dict) -> dict:
    """Return a method's arguments with `Bar` in place of Keras's own progress bar."""
    callbacks = options.get("callbacks")
    # Within `fit`, Keras evaluates with its own list of callbacks, whose bar stays silent.
    if options.get("verbose", "auto") == 0 or isinstance(callbacks, keras.callbacks.CallbackList):
        return options
    callbacks = _as_list(callbacks)
    if any(isinstance(callback, keras.callbacks.ProgbarLogger) for callback in callbacks):
        return options
    return options | {"callbacks": [*callbacks, Bar()]}


def warn_of_monitors(model: Any, callbacks: list, is_tracked: bool) -> None:
    """Warn about callbacks that act on the free-energy gap, and suggest a meaningful metric.

    Args:
        model: the RBM, compiled.
        callbacks: the user's callbacks.
        is_tracked: whether the logs of the run include `val_log_likelihood`.
    """
    acting = [callback for callback in callbacks if _acts_on_gap(callback)]
    if not acting:
        return
    names = " and ".join(dict.fromkeys(type(callback).__name__ for callback in acting))
    monitor = acting[0].monitor
    prefix = "val_" if monitor.startswith("val_") else ""
    if is_tracked:
        advice = (
            "monitor 'val_log_likelihood' with mode='max', or leave it out, since the best model is"
            " kept"
        )
    elif model.visible.states_each is not None:
        advice = f"monitor '{prefix}pseudo_likelihood' with mode='max'"
    else:
        advice = (
            f"monitor '{prefix}reconstruction' with mode='min', or call compile() and fit(x,"
            " validation_split=0.1) without an optimiser and epochs, which keep the best model"
        )
    warn_user(
        f"{names}: monitor={monitor!r} is a free-energy gap, which stays around zero while the"
        f" model improves, so it cannot tell a callback when to act; {advice}."
    )


def _acts_on_gap(callback: Any) -> bool:
    """Return whether a callback acts on the gap; one that saves every epoch does not."""
    monitor = getattr(callback, "monitor", None)
    is_gap = isinstance(monitor, str) and monitor.removeprefix("val_") in GAPS
    return is_gap and bool(getattr(callback, "save_best_only", True))


def off_scale(model: Any, mean: np.ndarray, square: np.ndarray, name: str) -> None:
    """Warn once about columns far from standardised, if the units are sensitive to scale."""
    if not model.visible.has_scale or model.has_warned_of_scale:
        return
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    column = model.visible.off_scale(mean, deviation)
    if column is None:
        return
    model.has_warned_of_scale = True
    warn_user(
        f"{name}: expected columns near mean 0 and standard deviation 1, as learning rates for"
        f" {type(model.visible).__name__} units assume; got mean {mean[column]:.3g} and"
        f" standard deviation {deviation[column]:.3g} in column {column}; subtract each column's"
        " mean and divide by its standard deviation (keras.layers.Normalization, or"
        " sklearn.preprocessing.StandardScaler)."
    )
