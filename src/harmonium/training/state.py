"""The state of a run, the report that callbacks receive, and the result of a run."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from jaxtyping import Array, Int

from .._base.html import curve, table
from ..errors import count_of
from ..rbm import RBM

CURVES = {  # the first of these metrics that was measured is drawn
    "log_likelihood": "log-likelihood, nats per row",
    "pseudo_log_likelihood": "pseudo-log-likelihood, nats per row",
    "reconstruction": "reconstruction error",
}


Model = TypeVar("Model")  # an `RBM`, or a list of them
State = TypeVar("State")  # a `TrainState`, or a list of them


class TrainState(NamedTuple):
    """Everything that a run needs to continue, except the key and the data.

    Attributes:
        rbm: the model before averaging, to which the chains belong.
        gradient: the gradient method's state, such as persistent chains.
        optimizer: the optimiser's state, with the averaged model in it.
        updates: number of updates made.
        held_out: the results for held-out rows, a `HeldOut`; None if there are none.
        folds: the results of cross-validation, a `CrossValidated`; None if there was none.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> first = hm.fit(rbm, rows, key=key, epochs=2)
        >>> longer = hm.fit(rbm, rows, key=key, epochs=4, state=first.state)
        >>> int(first.state.updates), int(longer.state.updates)
        (2, 4)
    """

    rbm: RBM
    gradient: Any
    optimizer: Any
    updates: Int[Array, ""]
    held_out: Any = None
    folds: Any = None


class Report(NamedTuple, Generic[Model, State]):
    """The progress of a run, as passed to callbacks.

    Attributes:
        updates: updates made so far.
        total: updates at the end of the run.
        epoch: epochs made so far, fractions included.
        epochs: epochs at the end of the run.
        seconds: time since the run (or its resumption) began.
        samples_per_second: data rows processed per second, over the last chunk of updates.
        updates_per_second: updates made per second, over the last chunk.
        metrics: the record that is added to the history of the `Fit` (described there); empty if no
            measurement was made after this chunk.
        rbm: the averaged model; from `fit_ensemble` a list, one for each model.
        state: the run's state; from `fit_ensemble` a list too.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> def show(report):
        ...     print(f"update {report.updates} of {report.total}, epoch {report.epoch:g}")
        >>> fit = hm.fit(rbm, rows, key=key, epochs=2, callbacks=[show])
        update 1 of 2, epoch 1
        update 2 of 2, epoch 2
    """

    updates: int
    total: int
    epoch: float
    epochs: float
    seconds: float
    samples_per_second: float
    updates_per_second: float
    metrics: dict[str, float]
    rbm: Model
    state: State

    @property
    def seconds_left(self) -> float:
        """The time left at the present speed, in seconds."""
        return (self.total - self.updates) / self.updates_per_second


class Fit(NamedTuple):
    """A trained model, with the history of its run and the state to continue from.

    The history has one record for each measurement. Measurements are made at the ends of epochs:
    about 100 at equal intervals, and more at the beginning. If they would take more than a
    twentieth of the run's time, there are fewer, but at least ten (or one per epoch in a run of
    fewer than ten epochs). A record has:

    - `update`, `epoch`, `seconds`, `samples_per_second`: as in `Report`.
    - `free_energy`: the mean free energy of training rows.
    - `free_energy_gap`: the mean free energy of held-out rows minus the mean free energy of
      training rows, with its standard error `free_energy_gap_stderr`.
    - `log_likelihood`: the mean log-likelihood of held-out rows, in nats per row. Log Z is exact
      for models with few states. Otherwise log Z is tracked from record to record by annealing, in
      both directions if the method has chains; `log_likelihood_low` and `log_likelihood_high` are
      at least two standard errors of log Z below and above the log-likelihood. They are not strict
      bounds, and differences between records are known more precisely; for a score, use the
      function `log_likelihood`. The log-likelihood is left out while log Z is unknown: if the
      models of two records are too far apart for the sweeps allowed, if a row would have a
      probability above 1, or if fresh annealing contradicts the tracked log Z. The notes report
      this, and no decision uses log Z until annealing has estimated it afresh.
    - `penalty`: the strength of the penalty on the weights, if the run sets it.
    - `reconstruction`: the mean of `reconstruction_errors` over rows.
    - `pseudo_log_likelihood`: the mean of `pseudo_log_likelihoods` over rows, for discrete visible
      units. It is left out if it would take more than 2 % of the run's time.
    - `update_ratio`: |ΔW|/|W| of the last update, before any averaging; about 0.001 is a sensible
      rate of change (Hinton 2010, section 7).
    - the gradient method's own `metrics`.

    `reconstruction` and `pseudo_log_likelihood` are means over held-out rows if there are any, else
    over training rows. All means are over evenly spaced rows: at most 2,000, fewer for a model of
    more than two million weights, and fewer still for the pseudo-log-likelihood of a wide model. If
    rows have missing values, free energies are computed for the observed units: by exact sums if
    these have few terms, else by short annealing runs, whose errors are included in the interval of
    the log-likelihood. For all other metrics, missing values are filled in by a few Gibbs sweeps
    with the observed units clamped, afresh at each measurement. Interpret the free-energy gap with
    care if the held-out rows and the training rows have different units observed.

    Attributes:
        rbm: the model to use: the averaged model at the end or, depending on `keep`, the model of
            the record with the highest log-likelihood of held-out rows, if this exceeds that of the
            last model by more than its error.
        history: one record of metrics for each measurement, as described above.
        state: the state from which `fit(..., state=)` continues; `state.rbm` is not averaged.
        message: how the run ended, in words.
        diverged: whether the parameters diverged; `rbm` is then the last finite model.
        notes: automatic changes and remarks on the result, with reasons, one sentence each.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> fit = hm.fit(rbm, rows, key=key, epochs=2)
        >>> fit.message, fit.diverged, [record["update"] for record in fit.history]
        ('finished after 2 updates (2 epochs)', False, [1, 2])
    """

    rbm: RBM
    history: list[dict[str, float]]
    state: TrainState
    message: str
    diverged: bool
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return a summary: the model, and how the run ended."""
        names = ", ".join(self._last)
        records = f"history: {count_of(len(self.history), 'record')} of {names}"
        return f"Fit({self.rbm}, {self.message!r}, {records})"

    def _repr_html_(self) -> str:
        """Return a table and the most informative learning curve, for notebooks."""
        measured = [name for name in CURVES if name in self._last]
        rows = {"model": self.rbm, "ended": self.message, "updates": f"{int(self.state.updates):,}"}
        rows |= {CURVES[name]: f"{self._last[name]:.4g}" for name in measured}
        labels = ["note", *(" " * i for i in range(1, len(self.notes)))]  # keys have to differ
        rows |= dict(zip(labels, self.notes, strict=False))
        if not measured:
            return table("fit", rows)
        name = measured[0]
        points = [(record["epoch"], record[name]) for record in self.history if name in record]
        return table("fit", rows, curve(CURVES[name], points))

    @property
    def _last(self) -> dict[str, float]:
        return next(reversed(self.history), {})
