"""Restart a run from a simpler model if this model scores better than the model of the run.

A run starts from independent columns. For four kinds of data, another start is better:

- Columns that nearly repeat one another, with few rows: a tree represents such columns with few
  parameters. On 124 rows of 512 chemical fingerprints (benchmarks/obvious.py), a run that started
  from independent columns scored 30 to 100 nats below the tree; a run that started from the tree
  scored 9 nats above the tree.
- Rows that fall into well-separated classes: Gibbs chains do not cross from one class to another,
  but EM fits a mixture without chains. A mixture of product distributions is an RBM with one hidden
  unit that has a state for each class.
- Columns with three-way but no pairwise interactions: near W = 0 the gradient vanishes, whereas EM
  fits a mixture from a start with nonzero weights.
- Numbers whose variance differs from class to class, such as salaries by grade: hidden units with
  few states change the mean of a number but not its variance. On 142 rows of the wine data, a run
  with one covariance scored 0.9 nats below a mixture in which each class has its own covariance.

For other data, a model with many hidden units is better, so a run restarts only if the simpler
model scores better on rows that neither model has seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.numerics import from_numpy, scalar
from .._base.processes import are_several
from .._base.programs import compiled
from .._base.threefry import fold_in
from .._base.trees import NONE
from ..analysis import dependence_forest
from ..analysis.trees import MOST_VALUES, DependenceForest
from ..data.coding import AUTO
from ..evaluation import pseudo_log_likelihoods
from ..layers import AbstractLayer, Mixture, Potts
from ..layers.capabilities import (
    apart,
    are_unbounded,
    has_independent_units,
    has_inputs_at,
    takes_given,
)
from ..likelihood.scoring import free_energies
from ..rbm import RBM
from ..training import Report
from ..training.cross_validation import has_pseudo_likelihood, rows_left_out
from ..transforms.mixture import as_rbm, mixture_of, spread_out
from .baselines import stderr_of
from .prepare import Prepared

STATES = 2  # states of each column of a tree
# A simpler model must score better by this many standard errors of the difference. If neither model
# is better, this happens by chance in one case in twenty.
BETTER = 1.645
# A lower threshold for mixtures over numbers, on top of which hidden units are then trained, so
# that a wrong choice costs only time. With 1.645, runs stayed 0.2 nats below a mixture that scored
# better on 60 held-out rows.
BETTER_IN_CLASSES = 1.0
SIMPLER = 5  # folded into a run's key; 0 to 4 have other uses
# Numbers of classes to try, by the largest number for which the compiled program has room.
CLASSES = {16: (2, 3, 4, 6, 8, 12, 16), 128: (24, 32, 48, 64, 96, 128)}
MOST_OF_NUMBERS = 16  # classes, each with a covariance; more would take minutes on wide tables
ROWS_PER_CLASS = 4
PATIENCE = 3  # the search ends after this many numbers of classes without a new best score
# The search ends if the target score would not be reached by this many further steps, all with the
# gain of the last step.
HOPE = 6.0
# Simpler models learn from at most this many entries and rows, which takes seconds. They are not
# tried if these limits leave too few of the rows.
MOST_ENTRIES = 2**19
MOST_ROWS = 4_000
FEWEST_ROWS = 1_000


class SimplerStart(NamedTuple):
    """A simpler model from which a run may start, and its scores.

    Attributes:
        words: the model's name in a sentence.
        options: the options of a run that starts from the model.
        scores: the model's scores of rows that were not used to fit it, in nats.
        limit: the model must score better than the run by this many standard errors of the
            difference.
    """

    words: str
    options: dict[str, Any]
    scores: Float[np.ndarray, " rows"]
    limit: float = BETTER


class SimplerIsBetterError(Exception):
    """Raised if a simpler model scores better than the model of a run.

    Attributes:
        options: the options of a run that starts from the simpler model.
        note: the decision and its reason, as a sentence without a full stop.
    """

    def __init__(self, simpler: SimplerStart, score: float, other: float):
        """Record the decision, and the mean scores (in nats) of the simpler and the run's model."""
        self.options = simpler.options
        self.note = (
            f"the model begins from {simpler.words}, which on unseen rows scores {score:.2f} nats"
            f" per row; a model that does not begin from it scores {other:.2f}"
        )
        super().__init__(self.note)


class SimplerCheck:
    """End a run if a simpler model describes its rows better.

    The check is made once: as a callback after a run's cross-validation, or on held-out rows when
    the model is scored. Options that the user chose are kept.

    Args:
        prepared: the run.
    """

    def __init__(self, prepared: Prepared):
        rows = prepared.rows
        config = prepared.config
        self.prepared = prepared
        # No restarts with several processes, which would have to restart together.
        is_free = config.classes is None and not prepared.others and not are_several()
        is_plain = not rows.exhaustive and rows.stream is None and rows.sites is None
        is_plain &= not takes_given(rows.visible)  # simpler models model all columns
        self.is_due = is_free and is_plain and prepared.plan.may_stop
        is_auto = config.visible == AUTO
        # The limit of `dependence_forest` on the number of states.
        self.may_be_tree = is_auto and rows.binary and STATES * rows.visible.size <= MOST_VALUES
        # Within classes, visible units keep the type that the user chose.
        is_open = is_auto or bool(are_unbounded(rows.visible).any())
        self.may_be_mixture = is_open and bool(config.may_be_mixture)
        self.may_be_mixture &= has_inputs_at(rows.visible)

    def __call__(self, report: Report) -> None:
        """Compare scores from the run's cross-validation, once the cross-validation has ended.

        Raises:
            SimplerIsBetterError: a simpler model is better by more than chance allows.
        """
        folds = report.state.folds
        # A score that could not be tracked is not evidence against the model.
        if folds is None or not self._once() or not np.isfinite(folds.score):
            return
        key = self.prepared.key
        left_out = rows_left_out(len(self.prepared.train), key=key)
        of_model = np.asarray(folds.of_rows)[np.concatenate(left_out)]
        self._compare(self._cross_validated(left_out), of_model)

    def by_held_out(self, rbm: RBM, log_z: float) -> None:
        """Compare log-likelihoods of held-out rows, if there are any.

        Args:
            rbm: the model of the source's rows.
            log_z: log Z of this model.

        Raises:
            SimplerIsBetterError: a simpler model is better by more than chance allows.
        """
        held_out = self.prepared.rows.parts.get("validation")
        if held_out is None or not self._once():
            return
        key = self.prepared.key
        of_model = -free_energies(rbm, held_out.rows(key=key)) - log_z
        self._compare(self._held_out(float(of_model.mean())), of_model)

    def _compare(
        self, simpler: Iterator[SimplerStart], of_model: Float[np.ndarray, " rows"]
    ) -> None:
        """Raise SimplerIsBetterError if the best of several simpler models beats the run's model.

        Args:
            simpler: the models, with scores of the rows.
            of_model: the scores of the run's model.

        Raises:
            SimplerIsBetterError: a simpler model is better by more than chance allows.
        """
        best = max(simpler, key=lambda start: start.scores.mean(), default=None)
        if best is None:
            return
        gains = best.scores - of_model
        error = stderr_of(gains)
        if error is not None and gains.mean() > best.limit * error:
            raise SimplerIsBetterError(best, float(best.scores.mean()), float(of_model.mean()))

    def _once(self) -> bool:
        """Return whether to check now: only once, and only for complete rows of equal weight."""
        parts = self.prepared.learned.values()
        are_plain = all(not part.missing and part.weights is None for part in parts)
        is_due = self.is_due and are_plain
        self.is_due = False
        return is_due and (self.may_be_tree or self.may_be_mixture)

    def _cross_validated(
        self, left_out: list[Integer[np.ndarray, " some"]]
    ) -> Iterator[SimplerStart]:
        """Yield simpler models with their scores on the folds of the run's cross-validation."""
        key = self.prepared.key
        x = self.prepared.train.rows(key=key)
        pseudo = has_pseudo_likelihood(self.prepared.plan)
        if self.may_be_tree:
            yield _tree(x, left_out, pseudo=pseudo)
        if self.may_be_mixture:
            for visible, options in self._visible_of_mixtures():
                mixtures = _Mixtures(visible, options, x, left_out, key=key)
                yield from mixtures.best(pseudo=pseudo)

    def _held_out(self, target: float) -> Iterator[SimplerStart]:
        """Yield simpler models with the log-likelihoods of held-out rows of the source."""
        train = self.prepared.train
        count = min(MOST_ROWS, MOST_ENTRIES // train.columns)
        if count < min(FEWEST_ROWS, len(train)):
            return
        train = train.some(count)
        key = self.prepared.key
        held_out = self.prepared.learned["validation"]
        judged = np.arange(len(train), len(train) + len(held_out))
        both = np.concatenate([train.rows(key=key), held_out.rows(key=key)])
        if self.may_be_tree:
            yield _tree(both, [judged], pseudo=False)
        if self.may_be_mixture:
            log_volume = self.prepared.change.log_volume
            for visible, options in self._visible_of_mixtures():
                mixtures = _Mixtures(visible, options, both, [judged], key=key)
                yield from mixtures.best(target=target + log_volume, less=log_volume)

    def _visible_of_mixtures(self) -> Iterator[tuple[AbstractLayer, dict[str, Any]]]:
        """Yield the visible layers to try in mixtures, with the options that select each layer.

        Groups of exclusive columns in all rows need not be the best description within a class, so
        a layer with groups is also tried without them.
        """
        visible = self.prepared.rows.visible
        yield visible, {}
        if self.prepared.rows.binary and not has_independent_units(visible):
            yield apart(visible), {"visible": "bernoulli"}


# ------------------------------------------------------------------ the tree of columns


def _tree(
    x: Float[np.ndarray, "rows columns"],
    left_out: list[Integer[np.ndarray, " some"]],
    *,
    pseudo: bool,
) -> SimplerStart:
    """Return the Chow-Liu tree of the columns, with its scores on rows left out of the fit.

    The scores are computed from counts, not with a model: each fold has its own tree, for which JAX
    would have to compile its own program, which would take 3 to 70 seconds altogether.

    Args:
        x: rows of 0 and 1.
        left_out: for each fold, the rows scored by a tree that is fitted to all other rows.
        pseudo: whether the score is the pseudo-log-likelihood rather than the log-likelihood.
    """
    log_p = _pseudo_log_p if pseudo else DependenceForest.log_p
    scores = []
    for judged in left_out:
        forest = dependence_forest(np.delete(x, judged, axis=0), [STATES] * x.shape[1])
        scores.append(log_p(forest, x[judged]))
    return SimplerStart("the best tree of columns", {"visible": "tree"}, np.concatenate(scores))


def _pseudo_log_p(
    forest: DependenceForest, rows: Float[np.ndarray, "rows columns"]
) -> Float[np.ndarray, " rows"]:
    """Return Σ_i log p(x_i | all other x) of each row of 0s and 1s, in nats.

    If x_i changes, the terms of log p for the links from i to its parent and children change.
    """
    other = 1.0 - rows
    change = np.zeros(rows.shape)  # change of log p(x) if only x_i takes its other value
    for i, parent in enumerate(forest.parents.tolist()):
        link = forest.links[i]
        of_parent = rows[:, parent] if parent != NONE else np.zeros(len(rows))
        as_is = link.log_p_given(rows[:, i], of_parent)
        change[:, i] += link.log_p_given(other[:, i], of_parent) - as_is
        if parent != NONE:
            change[:, parent] += link.log_p_given(rows[:, i], other[:, parent]) - as_is
    return -np.logaddexp(0.0, change).sum(axis=1)


# ------------------------------------------------------------------ mixtures of products


class _Mixtures:
    """Mixtures of product distributions, each fitted without some rows and scored on those rows.

    Args:
        visible: the visible layer.
        options: the options of a run with such a layer.
        rows: complete rows, in the user's coding.
        left_out: for each fold, the rows scored by a mixture that is fitted to all other rows.
        key: a JAX random key.
    """

    def __init__(
        self,
        visible: AbstractLayer,
        options: dict[str, Any],
        rows: np.ndarray,
        left_out: list[Integer[np.ndarray, " some"]],
        *,
        key: PRNGKeyArray,
    ):
        self.visible = visible
        # The states of a hidden unit cannot have different variances.
        self.are_of_numbers = bool(are_unbounded(visible).any())
        self.options = options
        self.rows = spread_out(visible, rows)
        self.left_out = left_out
        self.key = fold_in(key, SIMPLER)

    def of(self, classes: int, room: int) -> tuple[list[Mixture], list[np.ndarray]]:
        """Return the mixture for each fold, and log p of the rows left out of that fold."""
        mixtures = []
        of_left_out = []
        for judged in self.left_out:
            weights = np.ones(len(self.rows), np.float32)
            weights[judged] = 0.0
            mixture, log_p = _fitted(
                self.visible,
                from_numpy(self.rows),
                from_numpy(weights),
                room,
                scalar(classes, np.int32),
                key=self.key,
            )
            mixtures.append(mixture)
            of_left_out.append(np.asarray(log_p, np.float64)[judged])
        return mixtures, of_left_out

    def best(
        self, *, pseudo: bool = False, target: float = -np.inf, less: float = 0.0
    ) -> Iterator[SimplerStart]:
        """Yield the smallest mixture whose score is close to the best, if there are enough rows.

        Args:
            pseudo: whether mixtures are scored by the pseudo-log-likelihood.
            target: the score to exceed; the search ends when it is out of reach.
            less: a constant to subtract from log p.
        """
        tried = self._tried(target)
        if not tried:
            return
        chosen = _fewest({classes: np.concatenate(log_p) for classes, (_, log_p) in tried.items()})
        mixtures, log_p = tried[chosen]
        values = np.concatenate(log_p) - less
        if pseudo:
            values = np.concatenate(list(self._pseudo(mixtures, chosen)))
        if self.are_of_numbers:
            options = self.options | {"classes": chosen}
            words = f"a mixture of {chosen} classes"
            yield SimplerStart(words, options, values, BETTER_IN_CLASSES)
            return
        options = self.options | {
            "hidden": 1,
            "hidden_units": "potts",
            "hidden_states": chosen,
            "method": "exact",
        }
        words = f"a mixture of {chosen} products (one hidden unit of {chosen} states)"
        yield SimplerStart(words, options, values)

    def _tried(self, target: float) -> dict[int, tuple[list[Mixture], list[np.ndarray]]]:
        """Return the results of `of` for more and more classes, until more can hardly help."""
        seen = len(self.rows) - max(map(len, self.left_out))
        most = MOST_OF_NUMBERS if self.are_of_numbers else math.inf
        tried: dict[int, tuple[list[Mixture], list[np.ndarray]]] = {}
        means: list[float] = []
        for room, numbers in CLASSES.items():
            for classes in numbers:
                is_past = len(means) > PATIENCE and np.argmax(means) < len(means) - PATIENCE
                if is_past or classes * ROWS_PER_CLASS > seen or classes > most:
                    return tried
                mixtures, log_p = self.of(classes, room)
                mean = float(np.concatenate(log_p).mean())
                if not np.isfinite(mean):
                    return tried
                tried[classes] = (mixtures, log_p)
                means.append(mean)
            gain = max(0.0, means[-1] - means[-2])
            if max(means) + HOPE * gain < target:
                break
        return tried

    def _pseudo(
        self, mixtures: list[Mixture], classes: int
    ) -> Iterator[Float[np.ndarray, " some"]]:
        """Yield the pseudo-log-likelihoods of the rows left out of each fold."""
        for mixture, judged in zip(mixtures, self.left_out, strict=True):
            rbm = as_rbm(mixture.first(classes), Potts(1, classes))
            yield pseudo_log_likelihoods(rbm, self.rows[judged])


def _fewest(scores: dict[int, Float[np.ndarray, " rows"]]) -> int:
    """Return the smallest number of classes whose score is within one standard error of the best.

    The standard error is that of the mean difference between the scores of the two mixtures.

    Source: Breiman, Friedman, Olshen & Stone 1984, section 3.4.3.
    """
    best = max(scores, key=lambda classes: scores[classes].mean())
    for classes in sorted(scores):
        losses = scores[best] - scores[classes]
        if losses.mean() <= (stderr_of(losses) or 0.0):
            return classes
    return best


@compiled
def _fitted(
    visible: AbstractLayer,
    rows: Array,
    weights: Array,
    room: int,
    classes: Array,
    *,
    key: PRNGKeyArray,
) -> tuple[Mixture, Array]:
    """Return a mixture fitted to weighted rows, and log p of all rows."""
    x = visible.encode(rows)
    mixture = mixture_of(visible, x, weights, room, classes, key=key)
    return mixture, -mixture.energy(x)
