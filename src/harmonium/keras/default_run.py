"""The default training run: its length, its weight penalty, and the choice of the final model.

Training follows the rules of `harmonium.fit`: its class `Judge`, which implements these rules, also
evaluates the Keras model between epochs.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from ..errors import InputError
from .base import keras, ops, rows_and_weights, synchronise, to_numpy
from .units.base import Tensor

LEAST_SECONDS = 10.0  # minimum time for the final score
PART_OF_TIME = 0.1  # time for the final score as a fraction of the run's time


class Penalty(keras.metrics.Metric):
    """A metric that shows the strength of the penalty on the kernel; 0 if there is no penalty.

    The strength is stored as the state of a metric, because every backend passes this state to the
    training step, and saved models do not include it. Unlike the state of other metrics, it is not
    reset at the start of each epoch.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.strength = self.add_variable((), "zeros", name="strength")

    def update_state(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the callback sets the strength between epochs."""

    def reset_state(self) -> None:
        """Do nothing: the strength is kept from epoch to epoch."""

    def result(self) -> Tensor:
        """Return the strength."""
        return self.strength + 0.0  # not the variable's own buffer, which JAX's trainer donates

    def of(self, kernel: Any) -> Tensor:
        """Return the penalty, strength · Σ r(W_ij), with r as in `harmonium.Huber`."""
        from ..training.penalties import Huber

        width = Huber.width
        sizes = ops.abs(ops.convert_to_tensor(kernel))
        quadratic = ops.square(sizes) / (2.0 * width)
        penalties = ops.where(sizes <= width, quadratic, sizes - width / 2.0)
        return ops.cast(self.result(), penalties.dtype) * ops.sum(penalties)


Part = tuple[np.ndarray, np.ndarray | None]  # rows, in the coding of the Keras units, and weights


def split_of(
    x: Any, weights: Any, fraction: float | None, held_out: Any
) -> tuple[Part, Part | None]:
    """Return the training rows and the held-out rows: `held_out`, or the last rows of x."""
    rows = to_numpy(x)
    if weights is not None:
        weights = np.ravel(np.asarray(weights))
    if held_out is not None:
        held_rows, held_weights = rows_and_weights(held_out)
        return (rows, weights), (to_numpy(held_rows), held_weights)
    if not fraction:
        return (rows, weights), None
    at = int(len(rows) * (1.0 - fraction))
    if not 0 < at < len(rows):
        raise InputError(
            "validation_split: expected a fraction that leaves at least one row for training and"
            f" one for validation; got {fraction} with len(x) = {len(rows)}."
        )
    if weights is None:
        return (rows[:at], None), (rows[at:], None)
    return (rows[:at], weights[:at]), (rows[at:], weights[at:])


def _dataset(part: Part, visible: Any, name: str) -> Any:
    """Return the rows as a `Dataset`, with one-hot columns replaced by integer codes."""
    from ..data import Dataset

    states, weights = part
    is_one_hot = visible.size > visible.n_units
    rows = visible.decode(states) if is_one_hot else np.asarray(states)
    return Dataset(rows, weights).checked_for(visible, name)


class DefaultRun(keras.callbacks.Callback):
    """A callback that sets the penalty, tracks the held-out likelihood, and keeps the best model.

    Attributes:
        epochs: the number of epochs of the run.
        message: a description of the chosen penalty and model; empty until the run has ended.
    """

    def __init__(self, model: Any, train: Part, held_out: Part | None, batch_size: int):
        from ..training.arguments import usual_epochs
        from ..training.judge import Judge
        from ..training.penalties import prior_strength
        from ..training.recorder import Timetable

        super().__init__()
        start = model.to_harmonium()
        rows = _dataset(train, start.visible, "x")
        self.held_out = None
        if held_out is not None:
            self.held_out = _dataset(held_out, start.visible, "validation_data")
        self.follows = held_out is not None
        self.message = ""
        self.batch_size = min(batch_size, len(rows))
        self.judge = Judge(start, rows, self.held_out, prior_strength(start, rows.effective_rows))
        self.per_epoch = math.ceil(len(rows) / self.batch_size)
        self.epochs = usual_epochs(start, self.per_epoch)
        end = self.epochs * self.per_epoch
        measured = self.judge.monitors.watching
        self.timetable = Timetable.of(end, self.per_epoch, len(rows), measured)
        self.weights: dict[int, list[np.ndarray]] = {}  # of models that may be restored later
        self.likelihood = math.nan

    def on_train_begin(self, logs: Any = None) -> None:
        """Set the initial strength of the penalty, which depends on the number of rows."""
        from .._base.threefry import key_of
        from ..training.tracking import Tracker

        self.began = time.perf_counter()
        self.model.penalty.strength.assign(self.judge.prior)
        if self.follows:
            key = key_of(self.model.seed or 0)
            start = self.judge.start
            chains = self._chains(start)
            self.judge.begin(Tracker(start, self.batch_size, chains, key=key))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """If a record is due, evaluate the model on the held-out rows and adapt the penalty."""
        updates = (epoch + 1) * self.per_epoch
        if self.follows and self.timetable.is_due(updates):
            self._record(updates)
        if self.follows and logs is not None:
            logs["val_log_likelihood"] = self.likelihood
            logs.pop("val_penalty", None)

    def _record(self, updates: int) -> None:
        synchronise(self.model)
        rbm = self.model.to_harmonium()
        statistics, likelihood = self.judge.measure(rbm, updates, self._chains(rbm))
        self.likelihood = likelihood.get("log_likelihood", math.nan)
        known: Any = self.judge.held_out
        if int(known.update) == updates:
            self.weights[updates] = self.model.get_weights()
        candidates = (int(known.update), int(known.earlier_update))
        self.weights = {at: self.weights[at] for at in candidates if at in self.weights}
        strength = float(to_numpy(self.model.penalty.strength))
        strength = self.judge.next_strength(strength, rbm, statistics)
        self.model.penalty.strength.assign(strength)

    def on_train_end(self, logs: Any = None) -> None:
        """Restore the best model, and describe the choice in `message`."""
        synchronise(self.model)
        strength = float(to_numpy(self.model.penalty.strength))
        parts = [f"a penalty of {strength:.2g} on the kernel"]
        if self.follows:
            parts += [self._chosen(), self._scored()]
        else:
            parts.append("the last model is kept: no rows were held out")
        self.model.penalty.strength.assign(0.0)
        self.message = "; ".join(parts)

    def _scored(self) -> str:
        """Describe the log-likelihood of the held-out rows, computed with a new estimate of log Z.

        The log Z tracked during the run can be far off if the tracker's chains miss modes of the
        model.
        """
        from .._base.threefry import key_of
        from ..errors import NotFiniteError
        from ..likelihood.scoring import log_likelihood

        seconds = max(LEAST_SECONDS, PART_OF_TIME * (time.perf_counter() - self.began))
        key = key_of((self.model.seed or 0) + 1)  # differs from the tracker's key
        try:
            rbm = self.model.to_harmonium()
            score = log_likelihood(rbm, self.held_out, key=key, seconds=seconds)
        except NotFiniteError as error:
            return str(error)
        words = f"held-out rows have a log-likelihood of {score.value:.2f} nats per row"
        if score.high > score.low:
            words += f", in [{score.low:.2f}, {score.high:.2f}]"
        if not score.converged:
            words += " (not converged: do not quote it)"
        return words

    def _chosen(self) -> str:
        """Restore an earlier model if it is better than the last; return the reason as text."""
        known: Any = self.judge.held_out
        note = f"; {known.note}" if known.note else ""
        if not known.has_candidates:
            lost = "the log-likelihood of the held-out rows could not be tracked"
            return f"the last model is kept: {lost}{note}"
        updates = self.timetable.end
        choice = self.judge.choose(
            self.model.to_harmonium(),
            updates,
            lambda update: f"of epoch {update // self.per_epoch}",
        )
        if choice.update in self.weights and choice.update < updates:
            self.model.set_weights(self.weights[choice.update])
        return (choice.why or "the last model is kept: it is the best") + note

    def _chains(self, rbm: Any) -> Any:
        """Return the model's chains as visible states, or None if it has no chains."""
        import jax

        from ..samplers import Cloud

        if self.model.method != "pcd":
            return None
        h = jax.numpy.asarray(to_numpy(self.model.chains), rbm.visible.dtype)
        v = rbm.sample_v_from_h(h, key=jax.random.key(0))
        return Cloud.uniform(v)
