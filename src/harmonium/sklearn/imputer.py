"""An imputer for tables of categories and numbers."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from .._base.checks import positive_integer
from ..errors import InputError
from ..inference import Imputation, impute
from ..tables import Columns, Frame, RawColumn
from ..tables.base import Guess
from ..tables.containers import AbstractContainer
from ..tables.unmodelled import LeftOut
from .base import SAMPLING, key_from
from .holding_out import BaseHoldingOut
from .tables import (
    BaseAsking,
    codes_of,
    columns_of_table,
    container_of,
    frame_checked,
    kinds_by_name,
)

# Named as in scikit-learn's SimpleImputer.
GUESSES = {"mean": Guess.MEAN, "median": Guess.MEDIAN, "most_frequent": Guess.MODE}
SHOWN = 5  # largest number of columns named in a warning
INDICATOR = "missingindicator_{}"  # as in scikit-learn


@dataclass(eq=False, repr=False, kw_only=True)
class RBMImputer(BaseAsking, OneToOneFeatureMixin, BaseHoldingOut):
    """Fill in the missing cells of a table with a restricted Boltzmann machine trained on it.

    A missing cell is predicted from the observed cells of its row. A missing category is filled
    with the most probable category, and a missing number according to `strategy`. Data frames
    (pandas, polars and others) and arrays of objects may contain words, booleans and dates, and are
    returned with their own types and names. A column that is not modelled keeps its missing cells;
    but if all its known values are the same number, the cells are filled with this number. The
    inferred type of each column is stored in `columns_` (docs/tables.md).

    Parameters
    ----------
    n_components : int, default=64
        Number of hidden units.
    hidden : str or tuple, default="bernoulli"
        The type of the hidden units, as in `RBM`.
    kinds : dict, list of pairs or None, default=None
        Column types ("category", "discrete", "continuous", "date", "calendar" or "left out"), as a
        dict from column names to types, or as pairs (type, columns) with columns given by index,
        name, slice or mask. The types of all other columns are inferred from their cells.
    strategy : {"mean", "median", "most_frequent"}, default="mean"
        The statistic of the predicted distribution that fills a missing number: the mean minimises
        the squared error, the median the absolute error, and the most frequent value the
        probability of an error. In a column of floats the mean is not rounded (2.4 children, say);
        in other columns it is rounded to a possible value.
    sample_posterior : bool, default=False
        Whether `transform` draws the missing cells of each row jointly from their distribution
        given the observed cells, for multiple imputation.
    add_indicator : bool, default=False
        Whether `transform` adds a column for each column that had missing cells in `fit`, with 1
        for a missing cell and 0 otherwise.
    draws : int, default=20
        Gibbs chains per row, over which the predictions are averaged.
    sweeps : int, default=200
        Gibbs sweeps per chain.
    learning_rate, batch_size, n_iter, verbose, random_state, method, k, n_chains, optimizer, \
validation_fraction
        As in `RBM`.

    Attributes
    ----------
    columns_ : harmonium.tables.Columns
        The type of each column.
    rbm_ : harmonium.RBM
        The model of the encoded columns.
    message_ : str
        A description of how `fit` ended.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.sklearn import RBMImputer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> X = np.stack([x, 2 * x, rng.normal(size=200)], axis=1)
    >>> X[:20, 1] = np.nan
    >>> filled = RBMImputer(8, n_iter=200, random_state=0).fit_transform(X)
    >>> bool(np.corrcoef(filled[:20, 1], X[:20, 0])[0, 1] > 0.9)
    True
    """

    hidden: str = "bernoulli"
    kinds: Any = None
    strategy: str = "mean"
    sample_posterior: bool = False
    add_indicator: bool = False
    draws: int = 20
    sweeps: int = 200
    learning_rate: float = 0.1

    def fit(self, X: Any, y: Any = None) -> RBMImputer:
        """Train on the rows of X, in which NaN and None mark missing cells."""
        self._arguments()  # raises before any attribute changes
        self._guess()
        frame = frame_checked(self, X, reset=True)
        self._container = container_of(X)
        kinds = kinds_by_name(self.kinds, frame.names, "kinds")
        self.columns_: Columns = columns_of_table(frame, kinds)
        self.rbm_ = self._learn(self.columns_.layer, codes_of(self.columns_, frame), None)
        self._has_gaps = [bool(column.is_missing.any()) for column in frame.columns]
        return self

    def transform(self, X: Any) -> Any:
        """Return X with its missing cells filled, in the same container, with its types and names.

        All other cells are unchanged. A column that is not modelled keeps its missing cells, and a
        warning is given; but if all its values in `fit` were the same number, the cells are filled
        with this number.
        """
        check_is_fitted(self)
        guess = self._guess()
        names = tuple(column.name for column in self.columns_.columns)
        frame = frame_checked(self, X, reset=False, names=names)
        rows = codes_of(self.columns_, frame)
        draws = 1 if self.sample_posterior else positive_integer(self.draws, "draws")
        key = key_from(self.random_state, SAMPLING)
        sweeps = positive_integer(self.sweeps, "sweeps")
        imputation = impute(self.rbm_, rows, key=key, draws=draws, sweeps=sweeps)
        container = self._container_for(X)
        if self.sample_posterior:
            filled = self.columns_.completed(frame, imputation.draws[0], constants=True)
        else:
            filled = self._filled(frame, imputation, guess, container.holds_fractions(X))
        self._warn_of_gaps(filled)
        if self.add_indicator:
            filled = Frame((*filled.columns, *self._indicators(frame)))
        return container.filled(X, frame, filled)

    def _table(self) -> Columns:
        return self.columns_

    def _filled(
        self, frame: Frame, imputation: Imputation, guess: Guess, are_floats: list[bool]
    ) -> Frame:
        """Fill missing cells with point predictions; the means of float columns are not rounded."""
        mean = imputation.mean
        spread = imputation.spread
        filled = self.columns_.filled(frame, mean, guess, spread, constants=True)
        if guess is not Guess.MEAN:
            return filled
        exact = self.columns_.filled(frame, mean, Guess.EXACT, spread, constants=True)
        pairs = zip(exact.columns, filled.columns, strict=True)
        columns = []
        for is_float, (exact_one, rounded) in zip(are_floats, pairs, strict=True):
            columns.append(exact_one if is_float else rounded)
        return Frame(tuple(columns), frame.has_names)

    def _guess(self) -> Guess:
        """Return the statistic that fills missing numbers, as specified by `strategy`."""
        if self.strategy not in GUESSES:
            known = ", ".join(map(repr, GUESSES))
            raise InputError(f"strategy: expected one of {known}; got {self.strategy!r}.")
        return GUESSES[self.strategy]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` returns."""
        check_is_fitted(self)
        names: Any = super().get_feature_names_out(input_features)
        if not self.add_indicator:
            return names
        indicators = [INDICATOR.format(name) for name in names[self._has_gaps]]
        return np.concatenate([names, np.array(indicators, object)])

    def _indicators(self, frame: Frame) -> list[RawColumn]:
        """Return an indicator column (1 if missing) for each column with missing cells in `fit`."""
        columns = itertools.compress(frame.columns, self._has_gaps)
        return [RawColumn(INDICATOR.format(c.name), c.is_missing.astype(float)) for c in columns]

    def _container_for(self, X: Any) -> AbstractContainer:
        """Return the container of `fit` if X has the same type of container, else a new one."""
        container = container_of(X)
        if type(self._container) is type(container):
            return self._container
        return container

    def _warn_of_gaps(self, frame: Frame) -> None:
        """Warn about columns that keep missing cells, unless the user has left them out."""
        # `LeftOut.why`, the default reason, means that the user has left the column out.
        excluded = {
            column.name for column in self.columns_.columns if column.summary == LeftOut.why
        }
        unfilled = self.columns_.unfilled(frame)
        shown = [f"{name!r} ({why})" for name, why in unfilled.items() if name not in excluded]
        if shown:
            more = ", …" if len(shown) > SHOWN else ""
            warnings.warn(
                "X: missing cells remain in columns that are not modelled:"
                f" {', '.join(shown[:SHOWN])}{more}.",
                stacklevel=3,
            )
