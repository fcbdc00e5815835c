"""Tables of categories, numbers, dates and missing cells, as read by the estimators."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InputError
from ..inference import ask
from ..inference.questions import Answer
from ..layers import AbstractLayer
from ..layers.registry import layer_named
from ..tables import Columns, Frame, columns_of
from ..tables.columns import KINDS
from ..tables.containers import (
    AbstractContainer,
    ArrayLike,
    FrameLike,
    frame_in_array,
    frame_of,
    is_all_numbers,
    is_dataframe,
    is_single,
)
from .base import FLOATS, SAMPLING, key_from
from .columns import READ_AS_TABLE, TABLE_KINDS, kinds_by_place, read_columns


def container_of(X: Any) -> AbstractContainer:
    """Return the container type of X (a data frame or an array), in which results are returned."""
    if is_dataframe(X):
        return FrameLike.of(X)
    return ArrayLike.of(np.asarray(X))


def floats_of(X: Any) -> Any:
    """Return the floating-point type of results: float32 if all of X is float32, else float64."""
    is_float32 = getattr(X, "dtype", None) == np.float32
    if is_dataframe(X):
        is_float32 = is_single(X)
    return np.float32 if is_float32 else np.float64


def frame_checked(estimator: Any, X: Any, *, reset: bool, names: tuple[str, ...] = ()) -> Frame:
    """Return the cells of X as a `Frame`, after scikit-learn's own checks.

    Args:
        estimator: the estimator.
        X: rows.
        reset: whether the estimator is being fitted to X.
        names: the column names from `fit`, which replace the names in X, since scikit-learn accepts
            an array even if `fit` was given a data frame.

    Raises:
        InputError: X is a data frame with other column names or another column order.
    """
    if is_dataframe(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        frame = frame_of(X, "X")
    else:
        options: Any = {"dtype": None if _is_of_objects(X) else FLOATS}
        options |= {"ensure_all_finite": "allow-nan", "ensure_min_samples": 2 if reset else 1}
        array: Any = validate_data(estimator, X, reset=reset, **options)
        frame = frame_in_array(array, _numbered(array.shape[1]))
    if not names:
        return frame
    # scikit-learn compares names only if all of them are strings
    has_names = is_dataframe(X) and names != _numbered(len(names))
    if has_names and frame.names != names:
        raise InputError(
            f"X: expected the columns of fit: {', '.join(names):.180}; got"
            f" {', '.join(frame.names):.200}; pass the columns of fit in their original order."
        )
    return frame.named(names)


def _numbered(count: int) -> tuple[str, ...]:
    """Return the names x0, x1, … for the columns of an array."""
    return tuple(f"x{i}" for i in range(count))


def _is_of_objects(X: Any) -> bool:
    """Return whether X is an array of objects or strings that can be cells of a table."""
    if hasattr(X, "tocsr"):  # a sparse matrix
        return False
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "OUS":
        return False
    if array.dtype.kind == "O":
        # scikit-learn rejects other objects, with its own message.
        return all(isinstance(cell, Hashable) for cell in array.flat)
    try:
        array.astype(float)
    except ValueError:
        return True
    return False


def kinds_by_name(spec: Any, names: tuple[str, ...], argument: str) -> dict[str, str]:
    """Return a dict from column names to kinds, from any form that `kinds_by_place` accepts.

    Raises:
        InputError: the form of `spec` is invalid, or a column does not exist.
    """
    if spec is None or isinstance(spec, Mapping):
        return dict(spec or {})  # `columns_of` checks the names
    kinds = kinds_by_place(spec, len(names), names, argument)
    return {names[place]: kind for place, kind in kinds.items()}


def is_of_tables(spec: Any) -> bool:
    """Return whether `spec` is "table" or assigns kinds of table columns (see `kinds_by_name`)."""
    if isinstance(spec, str):
        return spec == READ_AS_TABLE
    try:
        if isinstance(spec, Mapping):
            return all(kind in KINDS for kind in spec.values())
        return all(kind in KINDS for kind, _ in spec)
    except (TypeError, ValueError):  # not of this form; `kinds_by_place` will report it
        return False


def columns_of_table(frame: Frame, kinds: dict[str, str]) -> Columns:
    """Return the column types of a table; categories absent from it will be treated as missing."""
    return columns_of(frame, kinds, "X", keep_counters=True).taking_unseen_as_missing()


def codes_of(columns: Columns, frame: Frame) -> np.ndarray:
    """Encode rows, with NaN for missing cells; warn about categories that `fit` has not seen."""
    for name, words in columns.unseen_in(frame).items():
        shown = ", ".join(map(repr, words[:5]))
        if len(words) > 5:
            shown += ", …"
        warnings.warn(
            f"X: column {name!r}: categories not seen in fit are treated as missing: {shown}.",
            stacklevel=2,
        )
    return columns.encode(frame, "X")


class BaseAsking:
    """A mixin that answers questions about the table passed to `fit`, with columns `_table()`."""

    def ask(self: Any, question: str) -> list[Answer]:
        """Return p(column | known cells) for each column in a question, as `hm.ask` does.

        Answers that are not computed by exact sums depend on the estimator's `random_state`.

        Parameters
        ----------
        question : str
            The columns and, after a bar, known cells and ranges: "plan | city=Bern, age=30..40".

        Returns
        -------
        list of harmonium.inference.Answer
            One answer for each requested column: its values with their probabilities, or quantiles.
        """
        check_is_fitted(self)
        return ask(self.rbm_, self._table(), question, key=key_from(self.random_state, SAMPLING))


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of a table, with the same interface as the estimators' `Columns`.

    Attributes:
        columns: the types of the columns.
        container: the type of array or data frame passed to `fit`, in which results are returned.
    """

    columns: Columns
    container: AbstractContainer

    @property
    def table(self) -> Columns:
        """The columns of the table, for `ask`."""
        return self.columns

    @property
    def layer(self) -> AbstractLayer:
        """A new layer for the columns."""
        return self.columns.layer

    def checked(self, estimator: Any, X: Any) -> Frame:
        """Check that X has the columns of `fit`, and return its cells."""
        names = tuple(column.name for column in self.columns.columns)
        return frame_checked(estimator, X, reset=False, names=names)

    def dtype_of(self, frame: Frame) -> Any:
        """Return the floating-point type to compute with."""
        return np.dtype(np.float32)

    def encode(self, X: Any) -> np.ndarray:
        """Encode the rows of a data frame, with NaN for missing cells."""
        return codes_of(self.columns, frame_of(X, "X"))

    def log_density(self, frame: Frame) -> np.ndarray:
        """Return log p(row) − log p(encoded row) for each row."""
        return self.columns.log_density(frame)

    def decode(self, rows: np.ndarray) -> Any:
        """Decode encoded rows to a table."""
        return self.container.rows(self.columns.decode(rows))

    def decode_means(self, means: np.ndarray) -> Any:
        """Decode mean states to a table of most probable categories and mean numbers."""
        return self.container.means(self.columns.decode_means(means))


def columns_and_rows(estimator: Any, X: Any, spec: Any) -> tuple[Any, Any]:
    """Determine the column types of X; return these types, and X after scikit-learn's checks.

    X is read as a table if `spec` is "table" or assigns kinds of table columns, or if `spec` is
    "auto" and X has missing cells or contains words, dates or, in a data frame, booleans.

    Args:
        estimator: the estimator being fitted.
        X: rows.
        spec: the estimator's `visible` parameter.

    Raises:
        InputError: the columns are incompatible with the specification.
    """
    is_auto = isinstance(spec, str) and spec == "auto"
    if is_of_tables(spec) or (is_auto and _needs_a_table(X)):
        frame = frame_checked(estimator, X, reset=True)
        if isinstance(spec, str):
            spec = None
        kinds = kinds_by_name(spec, frame.names, "visible")
        return TableColumns(columns_of_table(frame, kinds), container_of(X)), frame
    # Check the names of kinds first: words are not numbers, but may be valid cells of a table.
    if isinstance(spec, str | Mapping) and not is_auto:
        for kind in spec.values() if isinstance(spec, Mapping) else [spec]:
            if kind not in KINDS:
                layer_named(kind, "visible", *TABLE_KINDS)
    array: Any = validate_data(estimator, X, dtype=FLOATS, ensure_all_finite="allow-nan")  # pyright: ignore
    columns = read_columns(spec, array, getattr(estimator, "feature_names_in_", None))
    return replace(columns, container=container_of(X)), array


def _needs_a_table(X: Any) -> bool:
    """Return whether X has a missing cell or a cell that is not a number."""
    if is_dataframe(X):
        return not is_all_numbers(X)
    if hasattr(X, "tocsr"):  # a sparse matrix
        return False
    array: Any = np.asarray(X)
    if _is_of_objects(array):
        numbers = frame_in_array(array, _numbered(array.shape[1])).with_gaps()
        return numbers is None or bool(np.isnan(numbers).any())
    return array.dtype.kind == "f" and bool(np.isnan(array).any())
