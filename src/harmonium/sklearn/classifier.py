"""A classifier: an RBM that models the joint distribution of a row and its label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._base.numerics import product
from .._base.programs import compiled
from ..data import Dataset
from ..data.parts import rows_at_once
from ..errors import InputError, warn_user
from ..gradients import AbstractGradient, Contrastive, Discriminative, WeightedSum
from ..inference import impute
from ..layers import Mixed, Potts
from ..rbm import RBM as Model
from ..samplers import Gibbs
from ..training import Report
from .base import CHAINS, BaseRBM, key_from, row_groups
from .rbm import COMPLETIONS, SWEEPS
from .tables import columns_and_rows

WATCHED_ROWS = 500  # enough to detect a rise of a tenth of the gain in mean log-probability
# On iris, wine, breast cancer and digits, runs of 10,000 updates made 2 to 6 % of their gain in the
# log-probability of labels in the second half, where the rate falls; runs that were too short made
# 11 % or more of their gain there.
RISING_FRACTION = 0.1
LEAST_RISE = 0.005  # nats: a smaller rise is not reported
LEAST_GAIN = 0.01  # nats above the score of the class frequencies; below it, nothing was learned
FEWEST_WATCHED = 10  # fewer rows would be too weak evidence


@dataclass(eq=False, repr=False)
class RBMClassifier(ClassifierMixin, BaseRBM):
    """A classifier based on a restricted Boltzmann machine over rows and their labels.

    The label is represented by an additional visible Potts unit, and the model learns the joint
    distribution of rows and labels. The conditional distribution of the label is computed exactly,
    without Z and without sampling,

        p(y | v) ∝ exp(b_y + Γ_h(vW + W_y)),

    where b_y and W_y are the bias and weights of label y, and Γ_h is the cumulant generating
    function of the hidden units. Rows of a given class can be drawn from the model.

    Parameters
    ----------
    n_components : int, default=100
        Number of hidden units.
    visible, hidden : as in `RBM`
        The types of the columns and of the hidden units.
    learning_rate : float, default=0.05
        Learning rate of the gradient ascent; it falls to zero over the second half of the run.
    batch_size : int, default=100
        Rows per update; all rows if there are fewer.
    n_iter : int or None, default=None
        Passes over the rows. If None, training makes at least 20 passes and at least 10,000
        updates, or up to 40,000 updates for a small model trained on more than 2,000 rows.
    method : str or gradient method, default="pcd"
        The objective function and the method to compute its gradient. "pcd", "cd" and "exact", as
        in `BernoulliRBM`, maximise log p(v, y) of rows and labels together. "discriminative"
        maximises log p(y | v) of the labels alone, exactly and without sampling. "hybrid" maximises
        log p(y | v) + generative_share · log p(v, y), with CD-k for the second term.
        "discriminative" and "hybrid" classify better if there are many rows, and need a higher
        learning_rate, such as 0.5. With these methods the model learns little or nothing about the
        distribution of rows, so rows drawn by `sample` are poor.
    generative_share : float, default=0.1
        The weight of log p(v, y) in "hybrid"; ignored by other methods.
    verbose, random_state, k, n_chains, optimizer
        As in `BernoulliRBM`.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    rbm_ : harmonium.RBM
        The joint model of rows, encoded by `columns_.encode`, and the code of the label.
    columns_ : Columns
        The mapping from columns to units.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    References:
    ----------
    Larochelle & Bengio 2008, Classification using discriminative restricted Boltzmann machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from harmonium.sklearn import RBMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RBMClassifier(16, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    n_components: int = 100
    _: KW_ONLY
    visible: Any = "auto"
    hidden: str = "bernoulli"
    generative_share: float = 0.1

    _methods = (*BaseRBM._methods, "discriminative", "hybrid")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RBMClassifier:
        """Train on the rows of X and their labels y, each row weighted by its sample_weight."""
        self._arguments()  # raises before any attribute changes
        if y is None:
            raise ValueError("RBMClassifier requires y to be passed, but the target y is None.")
        self.columns_, X = columns_and_rows(self, X, self.visible)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        label = Potts(1, states=max(2, len(self.classes_)))  # a Potts unit has at least 2 states
        rows = np.column_stack([self.columns_.encode(X), codes])
        self.rbm_ = self._learn(Mixed(self.columns_.layer, label), rows, sample_weight)
        curve = self.__dict__.pop("_curve", None)  # absent if there were no updates
        if curve is not None and len(self.classes_) > 1:
            curve.warn_of_doubt()
        return self

    def _callbacks(self, dataset: Dataset) -> list[Callable[[Report], None]]:
        self._curve = LabelCurve(dataset)
        return [*super()._callbacks(dataset), self._curve]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log p(label | row), shape (n_samples, n_classes).

        The result is exact for complete rows. For rows with missing cells, the probabilities are
        averaged over their possible completions, exactly or by Gibbs sampling.
        """
        check_is_fitted(self)
        X = self.columns_.checked(self, X)
        rows = self.columns_.encode(X)
        dtype = self.columns_.dtype_of(X)
        log_p = np.zeros((len(rows), len(self.classes_)), dtype)
        for group, is_complete in row_groups(self.rbm_, rows, missing=1):
            if is_complete:
                log_p[group] = self._of_complete(rows[group], dtype)
            else:
                log_p[group] = self._of_incomplete(rows[group])
        return log_p

    def _of_complete(self, rows: np.ndarray, dtype: Any) -> np.ndarray:
        """Return the exact log p(label | row) of complete rows."""
        classes = len(self.classes_)
        size = rows_at_once(self.rbm_.hidden.size * classes)
        parts = [rows[first : first + size] for first in range(0, len(rows), size)]
        log_odds = np.concatenate([self._apply(_log_odds, part, dtype) for part in parts])
        return log_softmax(log_odds[:, :classes], axis=-1)

    def _of_incomplete(self, rows: np.ndarray) -> np.ndarray:
        """Return log p(label | known cells) of rows with missing cells."""
        classes = len(self.classes_)
        labelled = np.column_stack([rows, np.full(len(rows), np.nan)])
        key = key_from(self.random_state, CHAINS)
        imputation = impute(self.rbm_, labelled, key=key, draws=COMPLETIONS, sweeps=SWEEPS)
        p = imputation.mean[:, -max(2, classes) :][:, :classes].astype(float)
        return np.log(p / p.sum(1, keepdims=True))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return p(label | row), shape (n_samples, n_classes), as in `predict_log_proba`."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        chosen = self.predict_proba(X).argmax(-1)  # raises if the model is not fitted
        return self.classes_[chosen]

    def sample(self, n_samples: int = 1, y: Any = None, *, k: int | None = None) -> Any:
        """Draw rows, of class y if given, by k Gibbs sweeps or, by default, as `hm.sample` does."""
        check_is_fitted(self)
        given = None
        if y is not None:
            if y not in self.classes_:
                raise InputError(f"y: expected one of {self.classes_.tolist()}; got {y!r}.")
            given = np.full((1, self.rbm_.visible.n_units), np.nan)
            given[:, -1] = np.flatnonzero(self.classes_ == y)[0]
        rows = self._draws(n_samples, k, given)
        return self.columns_.decode(rows[:, :-1])

    def _named(self, name: str) -> AbstractGradient:
        if name == "discriminative":
            return Discriminative()
        if name == "hybrid":
            generative = Contrastive(Gibbs(self.k))
            return WeightedSum(Discriminative(), generative, shares=(1.0, self.generative_share))
        return super()._named(name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class LabelCurve:
    """A callback that checks whether training was long enough to learn the labels.

    The mean log p(label | row) of some training rows is measured halfway through the run and at its
    end. The final score is compared with that of the class frequencies alone, which the model has
    before training.
    """

    def __init__(self, dataset: Dataset):
        watched = dataset.some(WATCHED_ROWS)
        rows = np.asarray(watched.rows())
        complete = ~np.isnan(rows).any(1)
        self.weights = np.ones(len(rows))[complete]
        if watched.weights is not None:
            self.weights = np.asarray(watched.weights)[complete]
        self.rows = rows[complete][:, :-1]
        self.labels = rows[complete][:, -1].astype(int)
        self.scores: list[float] = []
        self.updates = 0
        self.is_over = False

    def __call__(self, report: Report) -> None:
        """Measure the score at the first report in the second half of the run, and at the last."""
        self.updates = report.updates
        self.is_over = report.updates >= report.total
        is_first_after_half = 2 * report.updates >= report.total and not self.scores
        is_enough = len(self.labels) >= FEWEST_WATCHED and self.weights.sum() > 0
        if is_enough and (is_first_after_half or self.is_over):
            self.scores.append(self._score(report.rbm))

    def _score(self, rbm: Model) -> float:
        """Return the mean of log p(label | row) over the watched rows."""
        log_odds = np.asarray(_log_odds(rbm, jnp.asarray(self.rows)), np.float64)
        log_p = log_softmax(log_odds, axis=-1)[np.arange(len(self.labels)), self.labels]
        return float(np.average(log_p, weights=self.weights))

    def warn_of_doubt(self) -> None:
        """Warn if the scores suggest that the run was too short, and give the reason."""
        if not self.scores or not self.is_over:
            return
        p = np.bincount(self.labels, self.weights) / self.weights.sum()
        p = p[p > 0]
        baseline = float(np.sum(p * np.log(p)))
        gain = self.scores[-1] - baseline
        rise = self.scores[-1] - self.scores[0]
        if gain < LEAST_GAIN:
            reason = (
                ", or the columns are uninformative about the labels: the mean log-probability"
                f" of the training labels is {self.scores[-1]:.3f} nats, compared with"
                f" {baseline:.3f} from the class frequencies alone"
            )
        elif rise > max(LEAST_RISE, RISING_FRACTION * gain):
            reason = (
                ": the log-probability of the training labels still rose in the second half of the"
                f" run, by {rise:.2f} of {gain:.2f} nats in all"
            )
        else:
            return
        warn_user(
            f"RBMClassifier: {self.updates:,} updates were too few{reason}: raise n_iter (None"
            " makes at least 10,000 updates) or learning_rate.",
            ConvergenceWarning,
        )


@compiled
def _log_odds(model: Model, rows: jax.Array) -> jax.Array:
    """Return −F(v, y) + U_v(v) for every label y; the product of v and W is computed only once."""
    features, label = model.visible.parts  # pyright: ignore
    inputs = product(features.encode(rows), model.weights[: features.size])
    labels = jnp.eye(label.size, dtype=inputs.dtype)
    inputs = inputs[:, None, :] + product(labels, model.weights[features.size :])
    return model.hidden.cgf(inputs) - label.energy(labels)
