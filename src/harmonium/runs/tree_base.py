"""The tree of dependences as what a model of few rows of 0 and 1 begins from.

Hidden units need many rows to say which columns nearly repeat one another, as those of chemical
fingerprints do, and a tree says it with one number for each column. On 124 rows of 512 such columns
(benchmarks/obvious.py) a run from independent columns was 30 to 100 nats below the tree, and one
from the tree 9 nats above it. Where hidden units do better than the tree, a run from the tree is no
better and often worse, so it begins only where the tree is ahead.
"""

from __future__ import annotations

from statistics import fmean

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from .._base.threefry import fold_in
from ..data import Dataset
from ..data.coding import AUTO
from ..data.dependences import MOST_COLUMNS, dependence_tree
from ..evaluation import pseudo_log_likelihoods
from ..layers import Bernoulli, Tree
from ..likelihood.scoring import log_likelihood
from ..rbm import RBM
from ..training import Report
from ..training.cross_validation import FOLDS, has_pseudo_likelihood
from ..transforms.initialization import fitted_units
from .prepare import Prepared

SURE = 2.0  # standard errors of the run's score by which the tree is to be better
KEY_OF_TREE = 5  # folded into a run's key, whose parts 0 to 4 are used otherwise


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
        self.is_due = is_free and rows.binary and rows.visible.size <= MOST_COLUMNS

    def __call__(self, report: Report) -> None:
        folds = report.state.folds
        is_due = self.is_due and self.prepared.plan.may_stop
        self.is_due = False
        if folds is None or not is_due or not np.isfinite(folds.score):
            return
        pseudo = has_pseudo_likelihood(self.prepared.plan)
        key = fold_in(self.prepared.key, KEY_OF_TREE)
        tree = score_of_tree(self.prepared.train, pseudo=pseudo, key=key)
        if tree > folds.score + SURE * float(folds.stderr):
            raise TreeIsBetterError(tree, folds.score)


def score_of_tree(rows: Dataset, *, pseudo: bool, key: PRNGKeyArray) -> float:
    """Return the mean score of rows that a tree of columns has not seen, nats per row.

    Args:
        rows: rows of 0 and 1.
        pseudo: whether the score is the pseudo-log-likelihood, and not the log-likelihood.
        key: a JAX random key, for the folds.
    """
    order = np.asarray(jax.random.permutation(key, len(rows)))
    scores = []
    for i in range(FOLDS):
        left_out = np.sort(order[i::FOLDS])
        seen = rows.chosen(np.setdiff1d(order, left_out))
        unseen = rows.chosen(left_out)
        tree = fitted_units(Tree(rows.columns, dependence_tree(seen)), seen, key=key)
        rbm = RBM(tree, Bernoulli(1), np.zeros((rows.columns, 1)))
        if pseudo:
            scores.append(float(pseudo_log_likelihoods(rbm, unseen.rows(key=key)).mean()))
        else:
            scores.append(log_likelihood(rbm, unseen, key=key).value)
    return fmean(scores)
