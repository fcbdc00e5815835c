"""What a run of Keras is watched for: divergence, its progress, and what callbacks monitor."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from ..errors import count_of, warn_user
from .base import keras, ops, to_numpy

GAPS = ("loss", "free_energy_gap")
# No model near its data has a gap of a hundred nats for each unit; at a rate of 1,000 on 0/1 rows,
# which leads nowhere, it is 120.
LARGEST_GAP = 100.0
SECONDS_BETWEEN_COPIES = 1.0  # as parameters are looked at and copied on the host
# Arguments of Keras's methods in their order, after those that ours name.
OF_FIT = (
    "verbose",
    "callbacks",
    "validation_split",
    "validation_data",
    "shuffle",
    "class_weight",
    "sample_weight",
    "initial_epoch",
    "steps_per_epoch",
    "validation_steps",
    "validation_batch_size",
    "validation_freq",
)
OF_EVALUATE = ("batch_size", "verbose", "sample_weight", "steps", "callbacks", "return_dict")
OF_PREDICT = ("batch_size", "verbose", "steps", "callbacks")


class Divergence(keras.callbacks.Callback):
    """Ends a run whose parameters or loss grow without bound, with the last model before that.

    Attributes:
        message: what happened and what to do; empty if the run did not diverge.
    """

    def __init__(self) -> None:
        super().__init__()
        self.message = ""

    def on_train_begin(self, logs: Any = None) -> None:
        """Keep the model before the first epoch."""
        from ..training.chunks import growth_limit  # imports the core, which takes a second

        self.limit = float(growth_limit(self._largest()))
        self.kept = self.model.get_weights()
        self.epochs = 0
        self.copied = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stop if the loss is none of a model near its data; now and then look at parameters."""
        loss = float((logs or {}).get("loss", 0.0))
        if not abs(loss) < LARGEST_GAP * self.model.visible.n_units:
            self._stop(f"the loss was {loss:.3g} in epoch {epoch + 1}")
        elif time.perf_counter() - self.copied >= SECONDS_BETWEEN_COPIES:
            self._look(epoch)

    def on_train_end(self, logs: Any = None) -> None:
        """Look at the last parameters too; put back those that were kept if they diverged."""
        self._look(None)
        if self.message:
            self.model.set_weights(self.kept)

    def _look(self, epoch: int | None) -> None:
        if self.message:
            return
        self._synchronise()
        largest = self._largest()
        if not largest < self.limit:
            self._stop(f"a parameter had the size {largest:.3g}")
        elif epoch is not None:
            self.kept = self.model.get_weights()
            self.epochs = epoch + 1
            self.copied = time.perf_counter()

    def _stop(self, what: str) -> None:
        self._synchronise()
        standardise = " and standardise the columns" if self.model.visible.has_scale else ""
        kept = f"the model after epoch {self.epochs}" if self.epochs else "the model before the run"
        self.message = (
            f"diverged: {what}; {kept} is kept. Lower the learning rate{standardise}, and compile"
            " again"
        )
        self.model.stop_training = True

    def _synchronise(self) -> None:
        getattr(self.model, "jax_state_sync", lambda: None)()

    def _largest(self) -> float:
        """Return the largest absolute parameter, or NaN if one is NaN."""
        sizes = [float(to_numpy(ops.max(ops.abs(x)))) for x in self.model.trainable_variables]
        return math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)


class Bar(keras.callbacks.ProgbarLogger):
    """Keras's progress bar, which ends with the epoch.

    Keras counts the steps of a whole execution, 128 of them, also where fewer rows were left.
    """

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Show the steps made so far."""
        super().on_train_batch_end(self._within(batch), logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Show the steps made so far."""
        super().on_test_batch_end(self._within(batch), logs)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Show the steps made so far."""
        super().on_predict_batch_end(self._within(batch), logs)

    def _within(self, batch: int) -> int:
        return batch if self.target is None else min(batch, self.target - 1)


class Run:
    """What a call of `fit` watches, and what it says before and after.

    Attributes:
        options: the arguments of `keras.Model.fit`, with our callbacks before the user's.
        message: what was chosen, in words.
    """

    def __init__(self, model: Any, own: Any, options: dict):
        """Make the callbacks.

        Args:
            model: the RBM, compiled.
            own: the `DefaultRun` of a run that is not told how; None for other runs.
            options: the arguments of `fit`.
        """
        callbacks = options.get("callbacks")
        self.own = own
        self.message = ""
        self.is_shown = options.get("verbose", "auto") != 0
        self.divergence = Divergence()
        warn_of_monitors(model, listed(callbacks), own is not None and own.follows)
        ours = [self.divergence] if own is None else [self.divergence, own]
        self.options = with_bar(options | {"callbacks": [*ours, *listed(callbacks)]})

    def epochs(self, epochs: int | None) -> int:
        """Return the epochs to make, and say how many if they were not given."""
        if epochs is not None:
            return epochs
        if self.own is None:
            self.message = "the rows were visited once, as in Keras: `epochs` was not given"
            return 1
        count = count_of(self.own.per_epoch, "update")
        self._say(
            f"{self.own.epochs:,} epochs of {count}, since neither `epochs` nor an optimiser was"
            " given"
        )
        return self.own.epochs

    def end(self) -> str:
        """Say what was chosen, warn of a divergence, and return both in words."""
        if self.own is not None:
            self.message = self.own.message
        if self.message:
            self._say(self.message)
        if self.divergence.message:
            from ..training import DivergenceWarning

            warn_user(f"{self.divergence.message}.", DivergenceWarning)
            self.message = "; ".join(filter(None, [self.divergence.message, self.message]))
        return self.message

    def _say(self, sentence: str) -> None:
        if self.is_shown:
            print(f"harmonium: {sentence}.")


def listed(callbacks: Any) -> list:
    """Return callbacks as a list."""
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]


def with_bar(options: dict) -> dict:
    """Return arguments of a method with our progress bar, where Keras would add its own."""
    callbacks = options.get("callbacks")
    # Within `fit`, Keras evaluates with a list of its own, whose bar stays silent.
    if options.get("verbose", "auto") == 0 or isinstance(callbacks, keras.callbacks.CallbackList):
        return options
    every = listed(callbacks)
    if any(isinstance(each, keras.callbacks.ProgbarLogger) for each in every):
        return options
    return options | {"callbacks": [*every, Bar()]}


def warn_of_monitors(model: Any, callbacks: list, is_followed: bool) -> None:
    """Warn of callbacks that act on the free-energy gap, and name what means something.

    Args:
        model: the RBM, compiled.
        callbacks: the user's callbacks.
        is_followed: whether the run has `val_log_likelihood` in its logs.
    """
    acting = [each for each in callbacks if _acts_on_gap(each)]
    if not acting:
        return
    names = " and ".join(dict.fromkeys(type(each).__name__ for each in acting))
    monitor = acting[0].monitor
    prefix = "val_" if monitor.startswith("val_") else ""
    if is_followed:
        advice = "monitor 'val_log_likelihood' with mode='max', or leave it out, since the best"
        advice += " model is kept"
    elif model.visible.states_each is not None:
        advice = f"monitor '{prefix}pseudo_likelihood' with mode='max'"
    else:
        advice = (
            f"monitor '{prefix}reconstruction' with mode='min', or call compile() and fit(x,"
            " validation_split=0.1) without an optimiser and epochs, which keep the best model"
        )
    warn_user(
        f"{names}: monitor={monitor!r} is a free-energy gap, which stays around zero while the"
        f" model improves, so it says nothing of when to act; {advice}."
    )


def _acts_on_gap(callback: Any) -> bool:
    """Return whether a callback decides by the loss; a checkpoint of every epoch does not."""
    monitor = getattr(callback, "monitor", None)
    is_gap = isinstance(monitor, str) and monitor.removeprefix("val_") in GAPS
    return is_gap and bool(getattr(callback, "save_best_only", True))


def off_scale(model: Any, mean: np.ndarray, square: np.ndarray, name: str) -> None:
    """Warn once of columns that are far from standardised, for units to which that matters."""
    if not model.visible.has_scale or model.is_told_of_scale:
        return
    deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    column = model.visible.off_scale(mean, deviation)
    if column is None:
        return
    model.is_told_of_scale = True
    warn_user(
        f"{name}: expected columns near mean 0 and standard deviation 1, at which learning rates"
        f" for {type(model.visible).__name__} units are meant; found mean {mean[column]:.3g} and"
        f" standard deviation {deviation[column]:.3g} in column {column}; subtract each column's"
        " mean and divide by its standard deviation (keras.layers.Normalization, or"
        " sklearn.preprocessing.StandardScaler)."
    )
