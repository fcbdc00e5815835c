"""A run that is not told how: its length, a penalty on the weights, and the model to end with.

It decides as `harmonium.fit` does, with the same functions, from what the Keras model is at the end
of an epoch.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .base import keras, ops, to_numpy
from .units.base import Tensor

LEAST_SECONDS, PART_OF_TIME = 10.0, 0.1  # for the score at the end


class Penalty(keras.metrics.Metric):
    """The strength of the penalty on the kernel, shown beside the loss; 0 for none.

    It is kept as a metric, since that is state that every backend carries through an epoch and that
    is not part of a model's file. Keras resets metrics at each epoch, but not this one.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.strength = self.add_variable((), "zeros", name="strength")

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the callback sets the strength between epochs."""

    def reset_state(self) -> None:
        """Do nothing."""

    def result(self) -> Tensor:
        """Return the strength."""
        return self.strength + 0.0  # not the variable's own buffer, which JAX's trainer gives away

    def of(self, kernel: Any) -> Tensor:
        """Return strength · Σ r(W), with r as in `harmonium.Huber`."""
        width = _width()
        sizes = ops.abs(ops.convert_to_tensor(kernel))
        near = ops.square(sizes) / (2.0 * width)
        each = ops.where(sizes <= width, near, sizes - width / 2.0)
        return ops.cast(self.result(), each.dtype) * ops.sum(each)


class Split(NamedTuple):
    """Rows to train on and rows held out, in the coding of the Keras units, with weights."""

    train: np.ndarray
    weights: np.ndarray | None
    held_out: np.ndarray | None
    held_weights: np.ndarray | None


def split_of(x: Any, weights: Any, fraction: float | None, held_out: Any) -> Split:
    """Return the rows as Keras will divide them: the last ones are held out."""
    rows = x if isinstance(x, np.ndarray) else to_numpy(x)
    weights = None if weights is None else np.ravel(np.asarray(weights))
    if held_out is not None:
        parts = list(held_out) if isinstance(held_out, tuple | list) else [held_out]
        of_held = np.ravel(np.asarray(parts[2])) if len(parts) > 2 else None
        kept = parts[0] if isinstance(parts[0], np.ndarray) else to_numpy(parts[0])
        return Split(rows, weights, kept, of_held)
    if not fraction:
        return Split(rows, weights, None, None)
    at = int(len(rows) * (1.0 - fraction))
    if not 0 < at < len(rows):
        raise InputError(
            f"validation_split: expected a fraction that leaves rows on both sides of {len(rows)};"
            f" got {fraction}."
        )
    first, last = (None, None) if weights is None else (weights[:at], weights[at:])
    return Split(rows[:at], first, rows[at:], last)


def _rows(visible: Any, states: np.ndarray) -> np.ndarray:
    """Return rows in the library's coding: codes for one-hot columns, grey levels as they are."""
    is_one_hot = visible.size > visible.n_units
    return visible.decode(states) if is_one_hot else np.asarray(states)


class DefaultRun(keras.callbacks.Callback):
    """Sets the penalty, follows the held-out log-likelihood, and ends with the best model.

    Attributes:
        epochs: the epochs of the run.
        message: what was chosen, in a sentence or two, once the run has ended.
    """

    def __init__(self, model: Any, split: Split, batch_size: int):
        from ..data import Dataset
        from ..training.arguments import usual_epochs
        from ..training.monitors import Monitors
        from ..training.recorder import FIRST_RECORD, epochs_a_record, recorded_epochs
        from ..training.strength import prior_strength

        super().__init__()
        start = model.to_harmonium()
        self.follows, self.message = split.held_out is not None, ""
        self.batch_size = min(batch_size, len(split.train))
        train = Dataset(_rows(start.visible, split.train), split.weights)
        train = train.checked_for(start.visible, "x")
        held_out = None
        if split.held_out is not None:
            held_out = Dataset(_rows(start.visible, split.held_out), split.held_weights)
            held_out = held_out.checked_for(start.visible, "validation_data")
        self.monitors, self.judged = Monitors(start, train, held_out), held_out
        self.per_epoch = -(-len(train) // self.batch_size)
        self.epochs = usual_epochs(start, self.per_epoch)
        every = epochs_a_record(self.epochs, len(train), self.monitors.watching)
        first = -(-FIRST_RECORD // self.per_epoch)
        self.records = set(recorded_epochs(self.epochs, every, first))
        self.prior = prior_strength(start, train.effective_rows)
        self.start: Any = start
        self.tracker: Any = None
        self.held_out: Any = None
        self.weights: dict[int, list[np.ndarray]] = {}  # of the models that may be kept
        self.likelihood = float("nan")

    def on_train_begin(self, logs: Any = None) -> None:
        """Set the penalty that the number of rows calls for."""
        from .._threefry import key_of
        from ..training.held_out import Tracker

        self.began = time.perf_counter()
        self.model.penalty.strength.assign(self.prior)
        if self.follows:
            key = key_of(self.model.seed or 0)
            chains = self._chains(self.start)
            self.tracker = Tracker(self.start, self.batch_size, chains, key=key)
            self.held_out = self.tracker.begin()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """At a record, measure the model and decide by the held-out rows."""
        if self.follows and epoch + 1 in self.records:
            self._record((epoch + 1) * self.per_epoch)
        if self.follows and logs is not None:
            logs["val_log_likelihood"] = self.likelihood
            logs.pop("val_penalty", None)

    def _record(self, updates: int) -> None:
        from ..training.held_out import judged
        from ..training.monitors import adjusted_gap
        from ..training.penalties import size_of_weights
        from ..training.strength import next_strength

        getattr(self.model, "jax_state_sync", lambda: None)()
        rbm = self.model.to_harmonium()
        found, strength = self.monitors.measured(rbm), float(to_numpy(self.model.penalty.strength))
        bounds = self.monitors.bounds(found)
        state = self.tracker.followed(self.held_out, rbm, updates, self._chains(rbm), bounds)
        self.held_out, measured = judged(state, found[-1].energy, updates, found[-1].reach)
        self.likelihood = measured.get("log_likelihood", float("nan"))
        if int(self.held_out.update) == updates:
            self.weights[updates] = self.model.get_weights()
        candidates = (int(self.held_out.update), int(self.held_out.earlier_update))
        self.weights = {at: kept for at, kept in self.weights.items() if at in candidates}
        gap, size = adjusted_gap(*found), float(size_of_weights(rbm))
        strength = next_strength(strength, self.prior, *gap, size)
        self.model.penalty.strength.assign(strength)

    def on_train_end(self, logs: Any = None) -> None:
        """Restore the best model, and say what was chosen."""
        getattr(self.model, "jax_state_sync", lambda: None)()
        strength = float(to_numpy(self.model.penalty.strength))
        said = [f"a penalty of {strength:.2g} on the kernel"]
        if not self.follows:
            said.append("the last model is kept: no rows were held out")
        else:
            said.append(self._chosen())
        if self.follows:
            said.append(self._scored())
        self.model.penalty.strength.assign(0.0)
        self.message = "; ".join(said)

    def _scored(self) -> str:
        """Return the log-likelihood of the held-out rows in words, estimated anew.

        What was followed during the run can be far off where its chains miss modes of the model.
        """
        from .._threefry import key_of
        from ..errors import NotFiniteError
        from ..likelihood import log_likelihood

        seconds = max(LEAST_SECONDS, PART_OF_TIME * (time.perf_counter() - self.began))
        key = key_of((self.model.seed or 0) + 1)
        try:
            found = log_likelihood(self.model.to_harmonium(), self.judged, key=key, seconds=seconds)
        except NotFiniteError as error:
            return str(error)
        interval = f", in [{found.low:.2f}, {found.high:.2f}]" if found.high > found.low else ""
        warning = "" if found.converged else " (not converged: do not quote it)"
        return f"held-out rows have {found.value:.2f} nats per row{interval}{warning}"

    def _chosen(self) -> str:
        """Restore the model that is better than the last one, if any is; say what decided."""
        from ..training.choice import chosen

        last, updates = self.model.to_harmonium(), self.epochs * self.per_epoch
        why = f"; {self.held_out.note}" if self.held_out.note else ""
        if not self.held_out.has_candidates:
            lost = "the log-likelihood of the held-out rows could not be followed"
            return f"the last model is kept: {lost}{why}"
        choice = chosen(
            self.tracker,
            self.held_out,
            last,
            updates,
            self.monitors.measured_to_choose_by,
            lambda update: f"of epoch {update // self.per_epoch}",
        )
        if choice.update in self.weights and choice.update < updates:
            self.model.set_weights(self.weights[choice.update])
        return (choice.why or "the last model is kept: it is the best one") + why

    def _chains(self, rbm: Any) -> Any:
        """Return the model's chains as visible states; None if it has none."""
        import jax

        from ..samplers import Cloud

        if self.model.method != "pcd":
            return None
        h = jax.numpy.asarray(to_numpy(self.model.chains), rbm.visible.dtype)
        v = rbm.sample_v_from_h(h, key=jax.random.key(0))
        return Cloud.uniform(v)


def _width() -> float:
    from ..training.penalties import Huber

    return Huber.width
