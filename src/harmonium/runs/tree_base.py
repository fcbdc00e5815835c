"""The tree of dependences as what a model of few rows of 0 and 1 begins from.

Hidden units need many rows to say which columns nearly repeat one another, as those of chemical
fingerprints do, and a tree says it with one number for each column. On 124 rows of 512 such columns
(benchmarks/obvious.py) a run from independent columns was 30 to 100 nats below the tree, and one
from the tree 9 nats above it. Where hidden units do better than the tree, a run from the tree is no
better and often worse, so it begins only where the tree is ahead.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from .._base.trees import NONE
from ..analysis import dependence_forest
from ..analysis.trees import MOST_VALUES, DependenceForest
from ..data import Dataset
from ..data.coding import AUTO
from ..training import Report
from ..training.cross_validation import has_pseudo_likelihood, rows_left_out
from .baselines import SURE
from .prepare import Prepared

STATES = 2  # of a column


class TreeIsBetterError(Exception):
    """The tree of columns by itself scores better than models that begin without it.

    Attributes:
        note: what is done then and why, a sentence without a full stop.
    """

    def __init__(self, tree: float, other: float):
        """Take the scores of the tree, and of a model that begins without it, nats per row."""
        self.note = (
            "the model begins from the best tree of columns, which by cross-validation scores"
            f" {tree:.2f} nats a row, and a model that begins without it {other:.2f}"
        )
        super().__init__(self.note)


class TreeCheck:
    """A callback that ends a run which begins without the tree, if the tree scores better.

    It asks once, after the run's cross-validation; runs without one go on.

    Args:
        prepared: the run.

    Raises:
        TreeIsBetterError: at the first report.
    """

    def __init__(self, prepared: Prepared):
        rows = prepared.rows
        is_free = prepared.config.visible == AUTO and not prepared.others
        self.prepared = prepared
        # `dependence_forest` refuses more states.
        is_small = STATES * rows.visible.size <= MOST_VALUES
        is_sample = rows.binary and not rows.exhaustive
        self.is_due = is_free and is_sample and is_small

    def __call__(self, report: Report) -> None:
        folds = report.state.folds
        is_due = self.is_due and self.prepared.plan.may_stop
        self.is_due = False
        # A score that could not be followed says nothing against the model.
        if folds is None or not is_due or not np.isfinite(folds.score):
            return
        pseudo = has_pseudo_likelihood(self.prepared.plan)
        tree = score_of_tree(self.prepared.train, pseudo=pseudo, key=self.prepared.key)
        if tree > folds.score + SURE * float(folds.stderr):
            raise TreeIsBetterError(tree, folds.score)


def score_of_tree(rows: Dataset, *, pseudo: bool, key: PRNGKeyArray) -> float:
    """Return the mean score of rows that the best tree of columns has not seen, nats per row.

    The rows left out are those of the run's cross-validation, so that chance is the same for both.

    Args:
        rows: rows of 0 and 1.
        pseudo: whether the score is the pseudo-log-likelihood, and not the log-likelihood.
        key: the run's key.
    """
    x = rows.rows(key=key)
    # By counts and not as a model: each fold has a tree of its own, for which JAX would compile
    # programs of its own, 3 to 70 seconds in all.
    log_p = _pseudo_log_p if pseudo else DependenceForest.log_p
    scores = []
    for left_out in rows_left_out(len(x), key=key):
        forest = dependence_forest(np.delete(x, left_out, axis=0), [STATES] * rows.columns)
        scores.append(float(log_p(forest, x[left_out]).mean()))
    return fmean(scores)


def _pseudo_log_p(
    forest: DependenceForest, rows: Float[np.ndarray, "rows columns"]
) -> Float[np.ndarray, " rows"]:
    """Return Σ_i log p(x_i | all other x) of rows of 0 and 1, in nats.

    If x_i changes, so do its link to the parent and the links of its children to it.
    """
    other = 1.0 - rows
    change = np.zeros(rows.shape)  # of log p(x), if x_i alone takes its other value
    for i, parent in enumerate(forest.parents.tolist()):
        link = forest.links[i]
        of_parent = rows[:, parent] if parent != NONE else np.zeros(len(rows))
        as_is = link.log_p_given(rows[:, i], of_parent)
        change[:, i] += link.log_p_given(other[:, i], of_parent) - as_is
        if parent != NONE:
            change[:, parent] += link.log_p_given(rows[:, i], other[:, parent]) - as_is
    return -np.logaddexp(0.0, change).sum(axis=1)
