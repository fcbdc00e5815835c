"""A transformer and density estimator for binary, continuous, categorical and mixed tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from ..data import Dataset
from ..inference import impute
from ..likelihood.scoring import LogLikelihood, free_energies, log_likelihood
from .base import CHAINS, SCORING, free_energy, key_from, mean_h, row_groups
from .holding_out import BaseHoldingOut
from .tables import BaseAsking, columns_and_rows, floats_of

COMPLETIONS = 20  # per row with missing cells; hidden means are averaged over these
SWEEPS = 100  # Gibbs sweeps of each chain that draws a completion


@dataclass(eq=False, repr=False, kw_only=True)
class RBM(BaseAsking, ClassNamePrefixFeaturesOutMixin, BaseHoldingOut):
    """A restricted Boltzmann machine with any types of units: a transformer and density model.

    Parameters
    ----------
    n_components : int, default=64
        Number of hidden units.
    visible : str, dict or list of pairs, default="auto"
        The types of the columns: "bernoulli" (values in [0, 1]), "ising" (−1 and 1), "gaussian"
        (standardised internally), "potts" (categories, represented by any numbers), or pairs
        (kind, columns) with columns given by index, name, slice or mask. "table" infers the type of
        each column from its cells, as `RBMImputer` does (docs/tables.md); pairs or a dict with the
        kinds "category", "discrete", "continuous", "date", "calendar" and "left out" override the
        inferred types of some columns. "auto" means "table" for data frames with words, booleans or
        dates, and for rows with missing cells. Otherwise "auto" chooses for each column: "ising" if
        all values are −1 or 1 and some are −1, "bernoulli" if all are in [0, 1], else "gaussian".
        Mutually exclusive 0/1 columns, such as the output of a one-hot encoder, are then treated as
        one categorical variable (`harmonium.data.exclusive_groups`).
    hidden : str or tuple, default="bernoulli"
        The type of the hidden units: "bernoulli", "ising", "gaussian", or ("potts", 3) for units of
        three states.
    learning_rate : float, default=0.05
        Learning rate of the gradient ascent. In `fit` the rate falls to zero over the second half
        of the run.
    batch_size : int, default=100
        Rows per update; all rows if there are fewer.
    n_iter : int or None, default=None
        Passes over the rows in `fit`. If None, `fit` makes at least 20 passes and at least 10,000
        updates, or up to 40,000 updates for a small model trained on more than 2,000 rows.
    verbose, random_state, method, k, n_chains
        As in `BernoulliRBM`.
    optimizer : optax transformation or function of the number of updates, default=None
        If None, an `hm.Recipe` with this `learning_rate`. If `n_iter` is also None, `fit` adds a
        penalty on large weights (`hm.Huber`), whose strength depends on the number of rows and on
        the free-energy gap between held-out and training rows.
    validation_fraction : float or "auto", default="auto"
        Fraction of the rows to hold out in `fit` if neither `n_iter` nor `optimizer` is given; the
        model with the highest likelihood on these rows is kept. "auto" holds out a tenth. Data
        sets with fewer than 500 rows are cross-validated instead, to choose the strength of the
        penalty and the number of updates. No rows are held out if there are fewer than 50 rows, or
        if sample weights are given.

    Attributes
    ----------
    message_ : str
        How `fit` ended, which model was kept, and the strength of the penalty.
    rbm_ : harmonium.RBM
        The model of the rows, encoded by `columns_.encode`.
    columns_ : Columns or TableColumns
        The mapping from columns to units, with offsets, scales and categories.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.sklearn import RBM
    >>> rng = np.random.default_rng(0)
    >>> colour = rng.integers(0, 3, 200)
    >>> X = np.stack([colour, 2000 + 50 * colour + rng.normal(size=200), colour > 1], axis=1)
    >>> spec = [("potts", [0]), ("gaussian", [1]), ("bernoulli", [2])]
    >>> model = RBM(4, visible=spec, n_iter=50, random_state=0).fit(X)
    >>> model.sample(3).shape
    (3, 3)
    """

    visible: Any = "auto"
    hidden: str = "bernoulli"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RBM:
        """Train on the rows of X, each weighted by its sample_weight."""
        self._arguments()  # raises before any attribute changes
        self.columns_, X = columns_and_rows(self, X, self.visible)
        rows = self.columns_.encode(X)
        self.rbm_ = self._learn(self.columns_.layer, rows, sample_weight)
        self._n_features_out = self.rbm_.hidden.n_units
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RBM:
        """Train on one more portion of rows.

        The kinds, categories and scales of the columns are taken from the first portion.
        """
        visible = None
        if hasattr(self, "rbm_"):
            X = self._checked(X)
        else:
            self.columns_, X = columns_and_rows(self, X, self.visible)
            visible = self.columns_.layer
        self.rbm_ = self._learn_more(visible, self.columns_.encode(X), sample_weight)
        self._n_features_out = self.rbm_.hidden.n_units
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the hidden means of each row, shape (n_samples, n_components).

        For a row with missing cells, the hidden means are averaged over completions drawn from the
        model.
        """
        kind = floats_of(X)
        X = self._checked(X)
        rows = self.columns_.encode(X)
        dtype = self.columns_.dtype_of(X)
        h = np.zeros((len(rows), self.rbm_.hidden.size), kind)
        key = key_from(self.random_state, CHAINS)
        for group, is_complete in row_groups(self.rbm_, rows):
            draws = [rows[group]]
            if not is_complete:
                draws = impute(
                    self.rbm_, rows[group], key=key, draws=COMPLETIONS, sweeps=SWEEPS
                ).draws
            h[group] = np.mean([self._apply(mean_h, draw, dtype) for draw in draws], axis=0)
        return h

    def inverse_transform(self, X: Any) -> Any:
        """Return the visible means given hidden means; for categories, the most probable category.

        The result is in the container of `fit`.
        """
        return self.columns_.decode_means(self._visible_means(X))

    def reconstruct(self, X: Any) -> Any:
        """Return the visible means given the hidden means of each row, in the container of `fit`.

        For arrays of integers, the result contains floats; data frames keep their column types.
        """
        rows = self.inverse_transform(self.transform(X))
        if hasattr(rows, "index") and hasattr(X, "index"):
            rows.index = X.index  # a pandas frame keeps its row labels
        return rows

    def free_energy(self, X: Any) -> np.ndarray:
        """Return the free energy F of each row, in nats: log p(encoded row) = −F − log Z.

        For a row with missing cells, this is −log Σ e^(−F), summed over all values of the missing
        cells.
        """
        X = self._checked(X)
        rows = self.columns_.encode(X)
        dtype = self.columns_.dtype_of(X)
        energies = np.zeros(len(rows), dtype)
        has_gaps = np.isnan(rows).any(1)
        if not has_gaps.all():
            energies[~has_gaps] = self._apply(free_energy, rows[~has_gaps], dtype)
        if has_gaps.any():
            key = key_from(self.random_state, SCORING)
            energies[has_gaps] = free_energies(self.rbm_, rows[has_gaps], key=key)
        return energies

    def sample(self, n_samples: int = 1, *, k: int | None = None) -> Any:
        """Draw rows by k Gibbs sweeps or, if k is None, as `hm.sample` does by default."""
        rows = self._draws(n_samples, k)
        return self.columns_.decode(rows)

    def _table(self) -> Any:
        return self.columns_.table

    def log_likelihood(self, X: Any, **settings: Any) -> LogLikelihood:
        """Return the mean log-likelihood of the rows, an uncertainty interval, and the method used.

        If there are continuous columns, the value is a log density in the units of the table; for
        rows with missing cells, it is the log-likelihood of the observed cells. The value is exact
        if a discrete layer can be enumerated; otherwise log Z is estimated by forward and reverse
        annealed importance sampling. The settings are passed to `hm.log_likelihood`.
        """
        X = self._checked(X)
        settings = {"key": key_from(self.random_state, SCORING)} | settings
        density = self.columns_.log_density(X)
        rows = Dataset(self.columns_.encode(X), log_density=density, name="X")
        return log_likelihood(self.rbm_, rows, **settings)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-likelihood of each row, as scikit-learn's density estimators do."""
        log_z = self.log_likelihood(X).log_z
        density = self.columns_.log_density(self._checked(X))
        return -self.free_energy(X) - log_z.value + density

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows, in nats: `log_likelihood(X).value`."""
        return self.log_likelihood(X).value

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.columns_.checked(self, X)
