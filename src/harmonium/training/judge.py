"""The judge of a run: it scores averaged models on rows that they have not seen.

Held-out rows decide two things: how strong a penalty of strength "auto" is, and which record's
model is kept.
"""

from __future__ import annotations

from collections.abc import Callable

from .._base.threefry import key_of
from ..data import Dataset, Stream
from ..layers.capabilities import has_independent_units
from ..rbm import RBM
from ..samplers import Cloud
from ..transforms.initialization import fitted_units
from .monitors import Monitors, RowStatistics, adjusted_gap, log_z_of_units
from .penalties import next_strength, size_of_weights
from .selection import Choice, chosen, in_updates
from .tracking import TOLERANCE, HeldOut, Tracker, scored

# The largest loss that is tolerated, as a fraction of the log-likelihood that training rows gained
# over independent units. On nine data sets, they lost at most 1.2 % of this gain during a run. (On
# two more sets, they gained hardly anything, and lost 0.01 nats.) When PCD failed on ten columns of
# births, they lost 9 % of the gain at first and later all of it.
FALLEN = 0.05
ROWS_OF_BASE = 10_000  # number of training rows to which dependent units are fitted


class Judge:
    """Measurements of averaged models at records, and decisions based on held-out rows.

    Attributes:
        monitors: measures models on the same few rows each time.
        tracker: the tracker of log Z; None if it is not tracked.
        held_out: the tracked log Z and the best models so far; None if log Z is not tracked.
    """

    def __init__(self, start: RBM, rows: Dataset | Stream, held_out: Dataset | None, prior: float):
        """Choose the rows to measure.

        Args:
            start: the model before the first update.
            rows: the rows to train on.
            held_out: the rows held out, if there are any.
            prior: the strength of an automatic penalty that the number of rows alone determines.
        """
        self.start = start
        self.monitors = Monitors(start, rows, held_out)
        # Taken before the first update, since another thread reads a stream later.
        self.rows: Dataset | None = None
        if not has_independent_units(start.visible):
            self.rows = rows.some(ROWS_OF_BASE)
        self.has_held_out = held_out is not None
        self.prior = prior
        self.tracker: Tracker | None = None
        self.held_out: HeldOut | None = None

    def begin(self, tracker: Tracker, known: HeldOut | None = None) -> None:
        """Continue from a stored log Z if there is one that fits this run, else start afresh."""
        self.tracker = tracker
        if known is None or not tracker.continues(known):
            known = tracker.begin()
        self.held_out = known

    def measure(
        self, rbm: RBM, updates: int, chains: Cloud | None
    ) -> tuple[list[RowStatistics], dict[str, float]]:
        """Return the statistics of the rows, and the log-likelihood if it is known.

        Args:
            rbm: the averaged model.
            updates: updates made so far.
            chains: the run's chains, if it has any.
        """
        statistics = self.monitors.measured(rbm)
        if self.tracker is None or self.held_out is None:
            return statistics, {}
        bounds = self.monitors.bounds(statistics)
        held_out = self.tracker.track(self.held_out, rbm, updates, chains, bounds)
        rows = statistics[-1]
        self.held_out, likelihood = scored(held_out, rows.energy, updates, rows.half_width)
        return statistics, likelihood

    def has_fallen(self, statistics: list[RowStatistics], likelihood: dict[str, float]) -> bool:
        """Return whether training rows have lost much of their earlier log-likelihood.

        A penalty, or rounding errors in log Z, lower this log-likelihood only a little; chains that
        lag behind the model can undo its entire increase. For the best model so far, only the
        log-likelihood of held-out rows is stored, which overfitting lowers too. The gap between
        training and held-out rows is therefore added to it.

        Args:
            statistics: the statistics of the averaged model, from `measure`.
            likelihood: the log-likelihood of this model, from `measure`.
        """
        if self.held_out is None or not likelihood:
            return False
        now = likelihood["log_likelihood"]
        before = float(self.held_out.value)
        width = likelihood["log_likelihood_high"] - likelihood["log_likelihood_low"]
        if before - now <= width:
            return False
        _, base = self.base()
        allowed = FALLEN * (before - base) + width + TOLERANCE
        if not before - now > allowed:
            return False
        of_best = self.monitors.measured(self.held_out.best)
        fallen = before - now + _gap(of_best) - _gap(statistics)
        return fallen > allowed

    def next_strength(self, strength: float, rbm: RBM, statistics: list[RowStatistics]) -> float:
        """Return the strength of the penalty after a record, set by the free-energy gap."""
        if not self.has_held_out:
            return strength
        gap, stderr = adjusted_gap(*statistics)
        return next_strength(strength, self.prior, gap, stderr, float(size_of_weights(rbm)))

    def choose(self, last: RBM, updates: int, named: Callable[[int], str] = in_updates) -> Choice:
        """Return the last model, or an earlier one with a higher held-out log-likelihood."""
        if self.tracker is None or self.held_out is None:
            return Choice(last, updates)
        measured = self.monitors.measured_to_choose_by
        return chosen(self.tracker, self.held_out, last, updates, measured, self.base(), named)

    def base(self) -> tuple[RBM, float]:
        """Return the model of the visible units alone, and the held-out log-likelihood in nats.

        Dependent units are given the full covariance of the training rows, of which they have only
        half at the start of a run. The log-likelihood is NaN if it is too imprecise to base a
        choice on.
        """
        base = self.monitors.reference
        if self.rows is not None:
            units = fitted_units(base.visible, self.rows, key=key_of(0))
            base = RBM(units, base.hidden, base.weights)
        energy, _ = self.monitors.measured_to_choose_by(base)
        return base, -energy - log_z_of_units(base)


def _gap(statistics: list[RowStatistics]) -> float:
    """Return the log-likelihood of training rows minus the log-likelihood of held-out rows."""
    return statistics[-1].energy_to_choose_by - statistics[0].energy_to_choose_by
