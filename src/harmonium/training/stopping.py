"""Early stopping: end a run when the model keeps getting worse on held-out rows."""

from __future__ import annotations

import math

from .._base.checks import positive_integer
from ..errors import InputError
from ..rbm import RBM
from .state import Report

GROWS_WHEN_WORSE = {
    "free_energy_gap": True,
    "reconstruction": True,
    "pseudo_log_likelihood": False,
    "log_likelihood": False,
}


class EarlyStopping:
    """A callback of `fit` that stops a run and keeps the best model.

    A measurement counts as worse if it falls short of the best one by more than its standard error
    (0 if the record has none). After `patience` consecutive worse measurements the run stops; `rbm`
    is the model of the last measurement that was not worse.

    The free-energy gap, ⟨F⟩ of held-out rows minus ⟨F⟩ of training rows, does not require Z, and
    its growth indicates overfitting (Hinton 2010, section 6). The gap grows both with what the
    model gains on training rows and with what it loses, or fails to gain, on held-out rows. When
    the gap has grown beyond its error, the held-out likelihood may therefore still be increasing,
    so the gap tends to stop a run too early rather than too late. With the held-out
    `pseudo_log_likelihood` or `log_likelihood` the run stops at the maximum of that quantity.

    Attributes:
        rbm: the model of the last measurement that was not worse; None before the first one.
        best: the record of the measurement of `rbm`.
        reason: why the run stopped; empty while it continues.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> stop, held_out = hm.EarlyStopping(patience=5), rows[::2]
        >>> fit = hm.fit(rbm, rows, key=key, validation=held_out, epochs=2, callbacks=[stop])
        >>> stop.reason, stop.rbm.weights.shape  # no reason to stop yet; the best model so far
        ('', (4, 3))
    """

    def __init__(self, patience: int = 5, metric: str = "free_energy_gap"):
        """Choose the metric to monitor.

        Args:
            patience: number of consecutive worse measurements that stops the run; a run makes 10 to
                100 measurements.
            metric: the entry of the record to monitor: "free_energy_gap", "reconstruction",
                "pseudo_log_likelihood" or "log_likelihood".

        Raises:
            InputError: the metric is unknown, or the patience is not a positive whole number.
        """
        self.patience = positive_integer(patience, "EarlyStopping patience")
        if metric not in GROWS_WHEN_WORSE:
            raise InputError(
                f"EarlyStopping metric: expected one of {', '.join(GROWS_WHEN_WORSE)}; got"
                f" {metric!r}."
            )
        self.metric = metric
        self.rbm: RBM | None = None
        self.best: dict[str, float] = {}
        self.reason = ""
        self._lowest = math.inf
        self._worse = 0

    def __call__(self, report: Report) -> bool:
        """Return whether to stop, given the latest measurement.

        Raises:
            InputError: the metric is the free-energy gap, and there are no held-out rows.
        """
        value = report.metrics.get(self.metric)
        if value is None:
            if report.metrics and self.metric == "free_energy_gap" and not self.best:
                raise InputError(
                    "EarlyStopping: expected held-out rows to compare with; got none; pass"
                    " validation= to fit."
                )
            return False
        loss = value if GROWS_WHEN_WORSE[self.metric] else -value
        if loss <= self._lowest + report.metrics.get(f"{self.metric}_stderr", 0.0):
            self.rbm = report.rbm
            self.best = dict(report.metrics)
            self._worse = 0
        else:
            self._worse += 1
        self._lowest = min(self._lowest, loss)
        if self._worse < self.patience:
            return False
        self.reason = (
            f"{self.metric} got worse in {self.patience} measurements since update"
            f" {self.best['update']:,}; the model of that update is the callback's `rbm`"
        )
        return True
