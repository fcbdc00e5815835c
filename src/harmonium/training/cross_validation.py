"""Cross-validation: for few rows, how strong the penalty should be and how long to learn.

Of a few hundred rows, a tenth is too few to decide by and too many to lose. So four models are
trained side by side in one compiled loop, each without a quarter of the rows. They follow the run's
own schedule over its first half. At records, the free-energy gap between the rows that a model has
seen and those that it has not, averaged over the four, sets the strength of the penalty for all;
and the pseudo-log-likelihood of the rows that they have not seen says where to stop. The run itself
then learns from all rows, with these strengths.
"""

from __future__ import annotations

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
from ..rbm import RBM
from ..samplers import Gibbs
from .arguments import Plan, first_state, plan_run
from .chunks import Models, growth_limit
from .monitors import Monitors, RowStatistics, adjusted_gap
from .optimizers import Recipe, averaged_model
from .penalties import Huber, next_strength, size_of_weights, with_strength
from .schedules import rate_of
from .state import TrainState

FOLDS = 4
CHAINS = 200  # of each fold, fewer than a run has: four models share the time
PART = 0.5  # of the run's updates; until then the default rate is constant
FIRST_RECORD = 10  # the update of the first record; from there in equal ratios
RECORDS = 24  # the same for runs of any length, so that states have one shape
CROSS_VALIDATION = 4  # folded into a run's key, whose parts 0 to 3 are used otherwise


class CrossValidated(NamedTuple):
    """What was learned from models that were each trained without a part of the rows.

    Attributes:
        updates: of the records.
        strengths: of the penalty from each record on.
        scores: mean pseudo-log-likelihoods of rows that the models had not seen, nats per row.
        stderr: standard error of the best score over rows.
        independent: that of independent columns.
        best: the update of the best record; −1 if it is the last, and the run may go on.
    """

    updates: Int[Array, " records"]
    strengths: Float[Array, " records"]
    scores: Float[Array, " records"]
    stderr: Float[Array, ""]
    independent: Float[Array, ""]
    best: Int[Array, ""]

    def strength_after(self, updates: int) -> float:
        """Return the strength that was found at the last record until then."""
        place = int(np.searchsorted(np.asarray(self.updates), updates, side="right"))
        return float(self.strengths[max(0, place - 1)])

    @property
    def note(self) -> str:
        """What rows that were left out score, in a sentence."""
        score = float(np.max(np.asarray(self.scores)))
        return (
            f"by {FOLDS}-fold cross-validation, rows that a model has not seen have a"
            f" pseudo-log-likelihood of {score:.2f} ± {float(self.stderr):.2f} nats"
            f" (independent columns {float(self.independent):.2f})"
        )


def will_cross_validate(plan: Plan, held_out: Any, state: TrainState) -> bool:
    """Return whether a run begins with a cross-validation."""
    return held_out is None and is_for(plan) and state.folds is None and int(state.updates) == 0


def is_for(plan: Plan) -> bool:
    """Return whether a run without held-out rows decides by cross-validation."""
    rows = plan.rows
    if plan.layer.n_states is None or rows.weights is not None or rows.missing:
        return False
    return plan.auto_strength > 0.0 and rows.is_whole and 2 * FOLDS <= len(rows) < FEW_ROWS


def records_of(plan: Plan) -> list[int]:
    """Return the updates at which the models are measured, the last at half of the run."""
    last = max(1, int(PART * plan.total))
    return np.geomspace(min(FIRST_RECORD, last), last, RECORDS).round().astype(int).tolist()


def unknown() -> CrossValidated:
    """Return the structure that `cross_validate` fills, the same for runs of any length."""
    real = jnp.zeros(RECORDS)
    whole = jnp.zeros(RECORDS, jnp.int32)
    return CrossValidated(whole, real, real, real[0], real[0], whole[0])


def cross_validate(rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> CrossValidated:
    """Train four models, each without a quarter of the rows, and measure them by these.

    Args:
        rbm: the model that the run starts from.
        plan: the fixed parts of the run, whose penalty is set by it.
        key: the run's random key.
    """
    keys = jax.random.split(fold_in(key, CROSS_VALIDATION), FOLDS + 1)
    rows = plan.dataset
    n = len(rows)
    order = np.asarray(jax.random.permutation(keys[0], n))
    values = rows.rows(key=keys[0])
    unseen = [np.sort(order[i::FOLDS]) for i in range(FOLDS)]
    seen = [np.setdiff1d(np.arange(n), fold) for fold in unseen]
    pairs = zip(seen, unseen, strict=True)
    monitors = [Monitors(rbm, rows.chosen(train), rows.chosen(fold)) for train, fold in pairs]

    def scores_of(models: list[RBM]) -> np.ndarray:
        """Return the pseudo-log-likelihood of each row under the model that has not seen it."""
        pairs = zip(models, unseen, strict=True)
        return np.concatenate(
            [pseudo_log_likelihoods(model, values[fold]) for model, fold in pairs]
        )

    own = _plan(rbm, plan)
    folds = Models(own, list(keys[1:]), np.stack([_weights(n, fold) for fold in unseen]))
    state = folds.join([first_state(rbm, own, key=key) for key in keys[1:]])
    strength = plan.auto_strength
    records = records_of(plan)
    strengths = np.full(len(records), strength)
    scores: list[np.ndarray] = []  # at each record, of all rows
    for i, until in enumerate(records):
        limit = growth_limit(folds.largest(state))
        state, sizes = folds.advance(state, until)
        states = folds.split(state, np.full(FOLDS, until))
        models = [averaged_model(fold.optimizer, fold.rbm) for fold in states]
        scores_now = scores_of(models)
        # What was learned before a divergence is used.
        if not ((sizes < limit).all() and np.isfinite(scores_now).all()):
            break
        scores.append(scores_now)
        statistics = [m.measured(model) for m, model in zip(monitors, models, strict=True)]
        size = float(np.mean([float(size_of_weights(model)) for model in models]))
        strength = next_strength(strength, plan.auto_strength, *pooled_gap(statistics), size)
        strengths[i:] = strength
        state = state._replace(optimizer=with_strength(state.optimizer, strength))
    if not scores:
        scores.append(scores_of([rbm] * FOLDS))
    table = np.array(scores)
    means = np.full(len(records), table.mean(1).min())  # where no model was left
    means[: len(table)] = table.mean(1)
    place = int(table.mean(1).argmax())
    best = records[place]
    if place == len(records) - 1:
        best = -1
    independent = scores_of([rbm.uncoupled] * FOLDS).mean()
    stderr = table[place].std() / np.sqrt(n)
    given: Any = (np.array(records), strengths, means, stderr, independent, np.array(best))
    like = jax.eval_shape(unknown)
    return CrossValidated(
        *(from_numpy(np.asarray(x, y.dtype)) for x, y in zip(given, like, strict=True))
    )


def pooled_gap(statistics: list[list[RowStatistics]]) -> tuple[float, float]:
    """Return the mean of the models' free-energy gaps, and its standard error."""
    gaps, errors = np.array([adjusted_gap(*pair) for pair in statistics]).T
    return float(gaps.mean()), float(np.sqrt((errors**2).sum()) / len(gaps))


def _plan(rbm: RBM, plan: Plan) -> Plan:
    """Return the plan of the models: the run's rate and schedule, with fewer chains."""
    rate = rate_of(plan.optimizer.init(rbm)) or plan.method.gradient.about.rate(rbm)
    own = plan_run(
        rbm,
        plan.dataset,
        gradient=Persistent(Gibbs(1), chains=CHAINS),
        optimizer=Recipe(rate=rate, penalties=(Huber(),)),
        epochs=plan.total // plan.per_epoch,
        batch_size=plan.method.batch_size,
        precision="float32",
    )
    return own._replace(auto_strength=plan.auto_strength)


def _weights(n: int, fold: np.ndarray) -> np.ndarray:
    """Return weights of mean 1 that leave out the rows of a fold."""
    weights = np.ones(n)
    weights[fold] = 0.0
    return weights * (n / weights.sum())
