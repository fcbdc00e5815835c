"""Cross-validation of small data sets: how long to train, and how strong a penalty to use.

If a data set has a few hundred rows, a held-out tenth has too few rows to base a decision on and
too many to withhold from training. Four models are therefore trained side by side in one compiled
loop, each with a different quarter of the rows held out. The models follow the schedule of the
first half of the run. At each record, they are scored on their held-out rows. Whenever the mean of
the four scores is below its highest value so far, the models are overfitting, and the penalty is
raised. The run itself then trains a model on all rows, with the same penalties, and stops at the
record at which the mean score was highest.

The score is the log-likelihood, with log Z tracked for each model as in a run with held-out rows.
For complete rows of discrete visible units that are independent given h, the score is the
pseudo-log-likelihood, which does not require log Z: for few rows with very many columns, an
estimate of log Z can be wrong without any sign of the error.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._base.numerics import from_numpy
from .._base.threefry import fold_in
from ..data.splits import FEW_ROWS
from ..evaluation import pseudo_log_likelihoods
from ..gradients import Persistent
from ..layers import AbstractLayer
from ..layers.capabilities import has_independent_units, takes_lengths
from ..likelihood.scoring import free_energies
from ..rbm import RBM
from ..samplers import Gibbs
from ..transforms.initialization import initialized_again
from .arguments import Plan, first_state, plan_run
from .chunks import Models, growth_limit
from .judge import Judge
from .optimizers import Recipe, averaged_model
from .penalties import LARGEST_FACTOR, Huber, with_strength
from .schedules import rate_of
from .state import TrainState
from .tracking import TOLERANCE, Tracker

FOLDS = 4
RISE = 1.25  # factor on the penalty at each record while the score is worse than before
CHAINS = 200  # number of chains of each fold; fewer than in a run, as four models share the time
PART = 0.5  # fraction of the run's updates that the models make; the default rate falls later
FIRST_RECORD = 10  # the update of the first record; later records follow at equal ratios
RECORDS = 24  # number of records, equal for all runs, so that states have one shape
CROSS_VALIDATION = 4  # folded into a run's key, whose parts 0 to 3 are used otherwise


class CrossValidated(NamedTuple):
    """The results of a cross-validation: scores of models on rows held out from their training.

    Attributes:
        updates: update counts of the records.
        strengths: strengths of the penalty from each record onwards.
        scores: the mean log-likelihoods of unseen rows, or their mean pseudo-log-likelihoods if the
            rows are complete and the units discrete, in nats per row.
        stderr: standard error of the best score, from the variance over rows.
        of_rows: the scores of the rows at the best record, under the models that had not seen them;
            0 if unknown. The array is as long as the largest data set that is cross-validated.
        independent: the score of the model of the visible units alone, without hidden units.
        best: the update of the best record; −1 if no later score is known, in which case the run is
            not stopped early.
    """

    updates: Int[Array, " records"]
    strengths: Float[Array, " records"]
    scores: Float[Array, " records"]
    stderr: Float[Array, ""]
    of_rows: Float[Array, " most"]
    independent: Float[Array, ""]
    best: Int[Array, ""]

    def strength_after(self, updates: int) -> float:
        """Return the penalty strength that was set at the last record up to this update."""
        place = int(np.searchsorted(np.asarray(self.updates), updates, side="right"))
        return float(self.strengths[max(0, place - 1)])

    @property
    def score(self) -> float:
        """The best score."""
        return float(np.max(np.asarray(self.scores)))

    @property
    def prefers_units_alone(self) -> bool:
        """Whether the visible units alone score better than the models at their best record."""
        is_known = bool(np.isfinite(self.score))
        return is_known and self.score < float(self.independent) - TOLERANCE

    def note(self, plan: Plan) -> str:
        """Return a sentence with the score of the held-out rows."""
        name = "pseudo-log-likelihood" if has_pseudo_likelihood(plan) else "log-likelihood"
        if not np.isfinite(self.score):
            return (
                f"{FOLDS}-fold cross-validation decided nothing: the {name} of rows that a model"
                " has not seen could not be tracked"
            )
        return (
            f"in {FOLDS}-fold cross-validation, rows that a model has not seen have a {name} of"
            f" {self.score:.2f} ± {float(self.stderr):.2f} nats (the visible units alone:"
            f" {float(self.independent):.2f})"
        )


def will_cross_validate(plan: Plan, held_out: Any, state: TrainState) -> bool:
    """Return whether a run starts with a cross-validation."""
    return held_out is None and is_for(plan) and state.folds is None and int(state.updates) == 0


def can_cross_validate(layer: AbstractLayer) -> bool:
    """Return whether held-out rows can be scored, given the visible layer.

    Documents cannot be scored, since log Z depends on their length.
    """
    return not takes_lengths(layer)


def is_for(plan: Plan) -> bool:
    """Return whether a run without held-out rows bases its decisions on cross-validation."""
    rows = plan.rows
    if rows.weights is not None or not can_cross_validate(plan.layer):
        return False
    return plan.auto_strength > 0.0 and rows.is_whole and 2 * FOLDS <= len(rows) < FEW_ROWS


def has_pseudo_likelihood(plan: Plan) -> bool:
    """Return whether rows are scored by their pseudo-log-likelihood.

    Rows of dependent units are not, since such units predict one another under any model: if one
    of several mutually exclusive columns is 1, all others are 0.
    """
    is_discrete = plan.layer.n_states is not None
    return is_discrete and has_independent_units(plan.layer) and not plan.rows.missing


def records_of(plan: Plan) -> list[int]:
    """Return the updates at which the models are measured; the last is halfway through the run."""
    last = max(1, int(PART * plan.total))
    return np.geomspace(min(FIRST_RECORD, last), last, RECORDS).round().astype(int).tolist()


def unknown() -> CrossValidated:
    """Return placeholders with the same structure as the results of `cross_validate`."""
    real = jnp.zeros(RECORDS)
    whole = jnp.zeros(RECORDS, jnp.int32)
    of_rows = jnp.zeros(FEW_ROWS)
    return CrossValidated(whole, real, real, real[0], of_rows, real[0], whole[0])


def cross_validate(rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> CrossValidated:
    """Train four models, each without a quarter of the rows, and score each on that quarter.

    Args:
        rbm: the model that the run starts from.
        plan: the fixed parts of the run.
        key: the run's random key.
    """
    keys = _keys(key)
    n = len(plan.dataset)
    left_out = rows_left_out(n, key=key)
    own = _plan(rbm, plan)
    pairs = zip(left_out, keys[1:], strict=True)
    folds = [_Fold(rbm, own, rows, key=fold_key) for rows, fold_key in pairs]
    models = Models(own, list(keys[1:]), np.stack([_weights(n, rows) for rows in left_out]))
    state = models.join([fold.start for fold in folds])
    records = records_of(plan)
    strength = plan.auto_strength
    strengths = np.full(len(records), strength)
    scores = np.full(len(records), -np.inf)  # for records without a score, and after a divergence
    errors = np.zeros(len(records))
    of_rows = np.zeros(FEW_ROWS)
    has_diverged = False
    for i, until in enumerate(records):
        limit = growth_limit(models.largest(state))
        state, sizes = models.advance(state, until)
        has_diverged = not (sizes < limit).all()
        if has_diverged:
            break  # results from before the divergence are used
        pairs = zip(folds, models.split(state, np.full(FOLDS, until)), strict=True)
        measured = [fold.measured(own_state) for fold, own_state in pairs]
        score = fmean(of_fold.score for of_fold in measured)
        if score > scores.max():
            for of_fold, rows in zip(measured, left_out, strict=True):
                of_rows[rows] = of_fold.of_rows
        if np.isfinite(score):
            scores[i] = score
        errors[i] = np.sqrt(sum(of_fold.variance for of_fold in measured)) / FOLDS
        if score < scores.max() - TOLERANCE:
            strength = min(RISE * strength, LARGEST_FACTOR * plan.auto_strength)
            strengths[i:] = strength
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
    place = int(scores.argmax())
    best = records[place]
    # If all later scores are unknown, the models improved for as long as they were tracked: for 124
    # rows of 512 columns, the last known score was that of update 195, and was 80 nats below the
    # score at the end of the run.
    is_last_known = not has_diverged and not np.isfinite(scores[place + 1 :]).any()
    if is_last_known or not np.isfinite(scores[place]):
        best = -1
    independent = fmean(fold.score_of_units() for fold in folds)
    independent = np.nan_to_num(independent, nan=-np.inf)
    given: Any = (
        *(np.array(records), strengths, scores),
        *(errors[place], of_rows, independent, np.array(best)),
    )
    like = jax.eval_shape(unknown)
    return CrossValidated(
        *(from_numpy(np.asarray(x, y.dtype)) for x, y in zip(given, like, strict=True))
    )


def rows_left_out(n: int, *, key: PRNGKeyArray) -> list[np.ndarray]:
    """Return, for each model, the indices of the rows that are held out from its training."""
    order = np.asarray(jax.random.permutation(_keys(key)[0], n))
    return [np.sort(order[i::FOLDS]) for i in range(FOLDS)]


def _keys(key: PRNGKeyArray) -> PRNGKeyArray:
    """Return a key for the order of the rows, and one for each model."""
    return jax.random.split(fold_in(key, CROSS_VALIDATION), FOLDS + 1)


class _Measured(NamedTuple):
    """Scores of a model on rows that it has not seen.

    Attributes:
        score: the mean score, in nats; NaN if unknown.
        variance: the squared standard error of the mean score.
        of_rows: the score of each row; 0 if unknown, as for rows with missing values.
    """

    score: float
    variance: float
    of_rows: Float[np.ndarray, " rows"]


class _Fold:
    """A model that is trained with part of the rows held out, and scored on that part."""

    def __init__(self, rbm: RBM, plan: Plan, left_out: np.ndarray, *, key: PRNGKeyArray):
        rows = plan.dataset
        is_seen = ~np.isin(np.arange(len(rows)), left_out)
        # The first model of the run has the moments of all rows. If training started there, a model
        # of 100 rows of dna scored best before it had forgotten the rows left out.
        rbm = initialized_again(rbm, rows, seen=is_seen, key=fold_in(key, 0))
        self.method = plan.method
        self.units = rbm.uncoupled
        self.start = first_state(rbm, plan, key=key)
        self.rows = rows.rows(key=key)[left_out]
        self.judge: Judge | None = None  # the pseudo-log-likelihood needs no judge
        if not has_pseudo_likelihood(plan):
            seen = rows.chosen(np.flatnonzero(is_seen))
            self.judge = Judge(rbm, seen, rows.chosen(left_out), plan.auto_strength)
            self.judge.begin(Tracker.of_run(rbm, plan.method, self.start, key=key))

    def measured(self, state: TrainState) -> _Measured:
        """Score the averaged model of a state on the rows left out."""
        rbm = averaged_model(state.optimizer, state.rbm)
        if self.judge is None:
            scores = pseudo_log_likelihoods(rbm, self.rows)
            return _Measured(float(scores.mean()), float(scores.var() / len(scores)), scores)
        chains = self.method.gradient.status(state.rbm, state.gradient).chains
        statistics, likelihood = self.judge.measure(rbm, int(state.updates), chains)
        rows = statistics[-1]
        variance = rows.variance / max(1.0, rows.effective_size - 1.0)
        score = likelihood.get("log_likelihood", np.nan)
        of_rows = np.zeros(len(self.rows))
        if not np.isnan(self.rows).any():
            energies = free_energies(rbm, self.rows)
            of_rows = score + energies.mean() - energies
        return _Measured(score, variance, of_rows)

    def score_of_units(self) -> float:
        """Return the mean score under the visible units alone; NaN if unknown."""
        if self.judge is None:
            return float(pseudo_log_likelihoods(self.units, self.rows).mean())
        _, log_likelihood = self.judge.base()
        return log_likelihood


def _plan(rbm: RBM, plan: Plan) -> Plan:
    """Return the plan of the four models: the run's rate and schedule, but fewer or no chains."""
    gradient = plan.method.gradient
    if not gradient.about.is_exact:
        gradient = Persistent(Gibbs(1), chains=CHAINS)
    rate = rate_of(plan.optimizer.init(rbm)) or plan.method.gradient.about.rate(rbm)
    own = plan_run(
        rbm,
        plan.dataset,
        gradient=gradient,
        optimizer=Recipe(rate=rate, penalties=(Huber(),)),
        epochs=plan.total // plan.per_epoch,
        batch_size=plan.method.batch_size,
        precision="float32",
    )
    return own._replace(auto_strength=plan.auto_strength)


def _weights(n: int, fold: np.ndarray) -> np.ndarray:
    """Return sample weights of mean 1 that are 0 for the rows held out in a fold."""
    weights = np.ones(n)
    weights[fold] = 0.0
    return weights * (n / weights.sum())
