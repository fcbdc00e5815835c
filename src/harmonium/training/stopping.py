"""When to stop: at the first lasting sign that a model gets worse on rows it has not seen."""

from __future__ import annotations

import math

from ..checks import positive_integer
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

    A measurement is worse than the best one if it lies beyond it by more than its standard error,
    where the record has one. After `patience` worse ones in a row the run stops; `rbm` is the
    model of the last measurement that was not worse.

    The free-energy gap, ⟨F⟩ of held-out rows less ⟨F⟩ of training rows, needs no Z, and its growth
    is overfitting (Hinton 2010, section 6). It is the sum of what the model gains on training
    rows and loses, or does not gain, on held-out ones: by the time it grows beyond its error, the
    held-out likelihood may still be rising. So this is the cautious choice; the held-out
    `pseudo_log_likelihood`, or a `log_likelihood` that an earlier callback adds to the metrics,
    stops at the top of what is asked for.

    Attributes:
        rbm: the best model; None before the first measurement.
        best: its record.
        reason: why the run stopped; empty while it goes on.
    """

    def __init__(self, patience: int = 5, metric: str = "free_energy_gap"):
        """Choose what to watch.

        Args:
            patience: how many worse measurements in a row stop the run; a run makes 10 to 100.
            metric: the record's name for what is watched: "free_energy_gap", "reconstruction",
                "pseudo_log_likelihood" or "log_likelihood".

        Raises:
            InputError: an unknown metric, or no whole number of measurements.
        """
        self.patience = positive_integer(patience, "EarlyStopping patience")
        if metric not in GROWS_WHEN_WORSE:
            expected = ", ".join(GROWS_WHEN_WORSE)
            raise InputError(f"EarlyStopping metric: expected one of {expected}; got {metric!r}.")
        self.metric = metric
        self.rbm: RBM | None = None
        self.best: dict[str, float] = {}
        self.reason = ""
        self._lowest, self._worse = math.inf, 0

    def __call__(self, report: Report) -> bool:
        """Look at a measurement; say whether to stop.

        Raises:
            InputError: the free-energy gap is watched, and there are no held-out rows.
        """
        value = report.metrics.get(self.metric)
        if value is None:
            if report.metrics and self.metric == "free_energy_gap" and not self.best:
                raise InputError(
                    "EarlyStopping: expected held-out rows to compare with; found none. Pass"
                    " validation= to fit."
                )
            return False
        loss = value if GROWS_WHEN_WORSE[self.metric] else -value
        if loss <= self._lowest + report.metrics.get(f"{self.metric}_stderr", 0.0):
            self.rbm, self.best, self._worse = report.rbm, dict(report.metrics), 0
        else:
            self._worse += 1
        self._lowest = min(self._lowest, loss)
        if self._worse < self.patience:
            return False
        self.reason = (
            f"{self.metric} got worse in {self.patience} measurements since update"
            f" {self.best['update']:,}, whose model is the stopper's `rbm`"
        )
        return True
