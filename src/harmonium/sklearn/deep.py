"""A transformer of several layers: RBMs trained one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base.checks import positive_integer
from ..errors import InputError
from ..layers.registry import layer_named
from ..training import Recipe
from ..training.stacking import Bound, stack
from .base import LEARNING, SAMPLING, SCORING, checked_rate, key_from
from .tables import columns_and_rows, floats_of


@dataclass(eq=False, repr=False, kw_only=True)
class DeepRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A deep belief network: RBMs of which each learns the hidden units of the one below.

    The features of a row are the means of the top hidden layer, for any estimator of scikit-learn
    on top: `make_pipeline(DeepRBM(), LogisticRegression())`.

    Parameters
    ----------
    n_components : tuple of int, default=(64, 64)
        Numbers of hidden units, from the data upwards; one number means one layer.
    visible : str, dict or list of pairs, default="auto"
        The types of the columns, as in `RBM`. Rows must have no missing cells.
    hidden : str, default="bernoulli"
        The type of all hidden units: "bernoulli", "ising" or "gaussian".
    learning_rate : float or None, default=None
        Learning rate; the usual rate of `hm.fit` if None.
    batch_size : int, default=100
        Rows per update; all rows if there are fewer.
    n_iter : int or None, default=None
        Passes over the rows for each RBM. If None, at least 20, and at least 10,000 updates.
    random_state : int, RandomState instance or None, default=None
        The source of random numbers.

    Attributes
    ----------
    stack_ : harmonium.training.Stack
        The RBMs (`stack_.rbms`), from the data upwards.
    columns_ : Columns or TableColumns
        The mapping from columns to units, with offsets, scales and categories.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from harmonium.sklearn import DeepRBM
    >>> X = load_digits().data[:200] / 16
    >>> model = DeepRBM(n_components=(32, 16), n_iter=5, random_state=0).fit(X)
    >>> model.transform(X).shape, model.sample(3).shape
    ((200, 16), (3, 64))
    """

    n_components: Any = (64, 64)
    visible: Any = "auto"
    hidden: str = "bernoulli"
    learning_rate: float | None = None
    batch_size: int = 100
    n_iter: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DeepRBM:
        """Train an RBM on the rows of X, and one on each hidden layer but the last."""
        columns, X = columns_and_rows(self, X, self.visible)
        sizes = self.n_components
        if isinstance(sizes, int | np.integer):  # a single layer
            sizes = (sizes,)
        if not isinstance(sizes, tuple | list) or not sizes:
            raise InputError(
                f"n_components: expected a number of units for each layer, such as (64, 64); got"
                f" {sizes!r}."
            )
        sizes = [positive_integer(size, "n_components") for size in sizes]
        hidden = layer_named(self.hidden, "hidden")
        settings: dict[str, Any] = {
            "batch_size": positive_integer(self.batch_size, "batch_size"),
            "epochs": self.n_iter,
        }
        if self.n_iter is not None:
            positive_integer(self.n_iter, "n_iter")
        if self.learning_rate is not None:
            settings["optimizer"] = Recipe(rate=checked_rate(self.learning_rate))
        rows = columns.encode(X)
        if np.isnan(rows).any():
            raise InputError(
                "X: expected rows without missing cells (NaN); got some; fill them in first, with"
                " RBMImputer for example."
            )
        layers = [columns.layer, *(hidden.make(size) for size in sizes)]
        key = key_from(self.random_state, LEARNING)
        self.stack_ = stack(layers, rows, key=key, weights=sample_weight, **settings)
        self.columns_ = columns
        self._n_features_out = self.stack_.layers[-1].n_units
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the means of the top hidden layer, shape (n_samples, n_components[-1])."""
        rows = self._rows(X)
        return self.stack_.features(rows).astype(floats_of(X))

    def sample(self, n_samples: int = 1) -> Any:
        """Draw rows: states of the top RBM, then downwards, layer by layer."""
        check_is_fitted(self)
        key = key_from(self.random_state, SAMPLING)
        return self.columns_.decode(self.stack_.sample(n_samples, key=key))

    def log_likelihood_bound(self, X: Any, **settings: Any) -> Bound:
        """Return a lower bound on the mean log-likelihood of encoded rows, in nats per row.

        The settings are passed to `harmonium.training.Stack.log_likelihood_bound`.
        """
        rows = self._rows(X)
        settings = {"key": key_from(self.random_state, SCORING)} | settings
        return self.stack_.log_likelihood_bound(rows, **settings)

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.columns_.encode(self.columns_.checked(self, X))

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
