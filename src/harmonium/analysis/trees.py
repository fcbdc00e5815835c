"""The best dependence tree: a baseline between the independent-columns model and an RBM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Integer

from .._base.checks import checked_beside, checked_rows
from .._base.numerics import LOG_2PI
from .._base.statistics import weights_of
from .._base.trees import NONE, maximum_spanning_tree
from ..errors import InputError

MOST_VALUES = 6_000  # most states, over all columns; memory grows with the square of their number
ROWS_AT_ONCE = 2_000  # rows to score at once, as messages need a number for each row and state
LEAST_VARIANCE = 1e-9  # of a constant column of numbers, whose density would otherwise be infinite
LEAST_WEIGHT = 1e-9  # minimum total weight of rows with both columns observed
FEWEST_ROWS = 50  # with fewer rows, none are held out
FEW_ROWS = 2_000  # with fewer rows, cross-validation decides which links to cut
FOLDS = 4


def tree_log_likelihood(
    train: Any, rows: Any, weights: Any = None, *, numbers: Any = None
) -> float:
    """Return the mean log p of rows, in nats, under the best dependence tree of the training rows.

    The value is exact, and can serve as a baseline for models whose likelihoods are estimated.
    `dependence_forest` returns the tree itself.

    Args:
        train: rows to which the tree is fitted, shape (n, columns); NaN marks a missing value.
        rows: rows to score.
        weights: sample weights of the training rows.
        numbers: a mask of the columns of real numbers, or None if there are none. The states of
            the other columns are the values that occur in `train` or `rows`.

    Raises:
        InputError: there are too many different values, or `train` and `rows` have different
            numbers of columns.

    Example:
        >>> rows = hm.bars_and_stripes(3)
        >>> round(hm.analysis.tree_log_likelihood(rows, rows), 2)  # without a tree −9 log 2 = −6.24
        -5.2

    Source: Chow & Liu 1968.
    """
    return float(tree_log_p(train, rows, weights, numbers=numbers).mean())


def tree_log_p(
    train: Any, rows: Any, weights: Any = None, *, numbers: Any = None
) -> Float[np.ndarray, " rows"]:
    """Return log p of each row, in nats, under the best dependence tree of the training rows.

    Args:
        train: training rows, as in `tree_log_likelihood`.
        rows: rows to score.
        weights: sample weights of the training rows.
        numbers: a mask of the columns of real numbers, or None if there are none.

    Raises:
        InputError: there are too many different values, or `train` and `rows` have different
            numbers of columns.

    Example:
        >>> hm.analysis.tree_log_p([[0], [0], [1]], [[1]]).round(2)  # log (1.5 / 4)
        array([-0.98])
    """
    rows = checked_rows(rows, "rows", missing=True)
    train = checked_beside(train, "train", rows, missing=True)
    are_numbers = np.zeros(rows.shape[1], bool)
    if numbers is not None:
        are_numbers = np.asarray(numbers, bool)
    codes, states = _codes(np.concatenate([train, rows]), are_numbers)
    forest = dependence_forest(codes[: len(train)], states, weights)
    return forest.log_p(codes[len(train) :])


def _codes(rows: np.ndarray, are_numbers: np.ndarray) -> tuple[np.ndarray, list[int | None]]:
    """Return each cell's index among its column's distinct values, and how many values there are.

    Columns of real numbers are unchanged, and have None as their number of values.
    """
    codes = np.full(rows.shape, np.nan)
    counts: list[int | None] = []
    for place, column in enumerate(rows.T):
        if are_numbers[place]:
            codes[:, place] = column
            counts.append(None)
            continue
        is_known = ~np.isnan(column)
        values, of_rows = np.unique(column[is_known], return_inverse=True)
        codes[is_known, place] = of_rows
        counts.append(max(1, len(values)))
    return codes, counts


class DependenceForest(NamedTuple):
    """A distribution in which each column depends on at most one other column.

    Attributes:
        order: the columns, each after its parent.
        parents: the parent of each column, −1 if it has none.
        states: the number of states of each column; None for a column of real numbers.
        links: the distribution of each column given its parent.

    Example:
        >>> rows = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
        >>> forest = hm.analysis.dependence_forest(rows, [2, 2])
        >>> forest.order.tolist(), forest.parents.tolist()
        ([0, 1], [-1, 0])
        >>> forest.log_p(np.array([[0.0, 0.0], [np.nan, 0.0]])).round(2).tolist()
        [-0.7, -0.69]

    Source: Chow & Liu 1968.
    """

    order: Integer[np.ndarray, " columns"]
    parents: Integer[np.ndarray, " columns"]
    states: tuple[int | None, ...]
    links: tuple[_States | _Normal, ...]

    def log_p(self, rows: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, " rows"]:
        """Return log p of the observed cells of each row, in nats; NaN cells are summed out.

        The result is exact and takes one pass from the leaves of the trees to their roots.
        """
        firsts = range(0, len(rows), ROWS_AT_ONCE)
        return np.concatenate([self._log_p(rows[i : i + ROWS_AT_ONCE]) for i in firsts])

    def _log_p(self, rows: np.ndarray) -> np.ndarray:
        total = np.zeros(len(rows))
        # Messages from a column's children: log factors for its states, or as a function of its
        # number.
        of_states = {i: np.zeros((len(rows), q)) for i, q in enumerate(self.states) if q}
        of_number = {i: _Quadratic.zero(len(rows)) for i, q in enumerate(self.states) if not q}
        for i in self.order[::-1].tolist():
            link = self.links[i]
            parent = int(self.parents[i])
            if isinstance(link, _States):
                message = link.message(rows[:, i], of_states.pop(i))
            elif parent != NONE and self.states[parent] is None:
                of_number[parent] += link.message_to_number(rows[:, i], of_number.pop(i))
                continue
            else:
                message = link.message_to_states(rows[:, i], of_number.pop(i))
            if parent == NONE:
                total += message[:, 0]
            else:
                of_states[parent] += message
        return total


class _States(NamedTuple):
    """The distribution of a discrete column given a discrete parent, or without a parent.

    `log_p` contains log p(s | s′) of the column's states s given the parent's states s′, with a row
    for each s′; without a parent there is only one row.
    """

    log_p: np.ndarray

    def log_p_given(self, codes: np.ndarray, of_parent: np.ndarray) -> np.ndarray:
        """Return log p of observed states, given the observed states of the parent."""
        return self.log_p[of_parent.astype(int), codes.astype(int)]

    def message(self, codes: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Return log Σ_s p(s | s′) e^below(s) over the observed state s, or all s if missing.

        `below` is the sum of the messages from the column's children.
        """
        is_known = ~np.isnan(codes)
        seen = codes[is_known].astype(int)
        result = np.empty((len(codes), len(self.log_p)))
        result[is_known] = self.log_p[:, seen].T + below[is_known, seen][:, None]
        of_missing = self.log_p + below[~is_known][:, None]
        result[~is_known] = np.logaddexp.reduce(of_missing, axis=2)
        return result


class _Normal(NamedTuple):
    """A real column given its parent: x ~ N(mean + slope · parent, variance).

    If the parent is discrete, there are a mean and a variance for each of its states, and the slope
    is 0.
    """

    mean: np.ndarray
    slope: float
    variance: np.ndarray

    def log_p_given(self, x: np.ndarray, of_parent: np.ndarray) -> np.ndarray:
        """Return the log density of the column's numbers, given the values of its parent."""
        states = np.zeros(len(x), int)
        if len(self.mean) > 1:
            states = of_parent.astype(int)
        away = x - self.mean[states] - self.slope * of_parent
        variance = self.variance[states]
        return -0.5 * (LOG_2PI + np.log(variance) + away**2 / variance)

    def message_to_states(self, x: np.ndarray, below: _Quadratic) -> np.ndarray:
        """Return log ∫ N(x; mean, variance) e^below(x) dx, or the log integrand if x is known.

        `below` is the sum of the messages from the column's children.
        """
        quadratics = [
            _Normal(mean, 0.0, variance).message_to_number(x, below)
            for mean, variance in zip(self.mean, self.variance, strict=True)
        ]
        return np.stack([quadratic.constant for quadratic in quadratics], axis=1)

    def message_to_number(self, x: np.ndarray, below: _Quadratic) -> _Quadratic:
        """Return the log of the message to a real parent: a quadratic function of its value."""
        mean = np.broadcast_to(self.mean, x.shape)
        variance = np.broadcast_to(self.variance, x.shape)
        away = x - mean
        seen = _Quadratic(
            below.at(x) - 0.5 * (LOG_2PI + np.log(variance) + away**2 / variance),
            self.slope * away / variance,
            self.slope**2 / variance,
        )
        width = 1.0 + below.curvature * variance
        exponent = below.field * mean + 0.5 * below.field**2 * variance
        exponent = (exponent - 0.5 * below.curvature * mean**2) / width
        summed = _Quadratic(
            below.constant - 0.5 * np.log(width) + exponent,
            self.slope * (below.field - below.curvature * mean) / width,
            self.slope**2 * below.curvature / width,
        )
        is_known = ~np.isnan(x)
        return _Quadratic(*(np.where(is_known, *pair) for pair in zip(seen, summed, strict=True)))


class _Quadratic(NamedTuple):
    """Log factors constant + field · y − ½ curvature · y² of a real number y, one for each row."""

    constant: np.ndarray
    field: np.ndarray
    curvature: np.ndarray

    @classmethod
    def zero(cls, rows: int) -> _Quadratic:
        """Return log factors that are 0 for every row and every y."""
        return cls(np.zeros(rows), np.zeros(rows), np.zeros(rows))

    def __add__(self, other: Any) -> _Quadratic:
        return _Quadratic(*(mine + its for mine, its in zip(self, other, strict=True)))

    def at(self, y: np.ndarray) -> np.ndarray:
        """Return the log factor of each row at its value of y."""
        return self.constant + self.field * y - 0.5 * self.curvature * y**2


# ------------------------------------------------------------------ fitting to rows


def dependence_forest(
    train: Float[np.ndarray, "rows columns"], states: Sequence[int | None], weights: Any = None
) -> DependenceForest:
    r"""Return the dependence trees that are expected to predict new rows best.

    The distribution of a column given its parent is estimated from the training rows and one
    pseudo-row, which is divided equally among the joint states of the two columns. The gain of a
    link between two columns is their mutual information times the number of rows, minus one nat per
    parameter of the link (Akaike 1973). The tree with the largest total gain is used (Chow & Liu
    1968), and links whose gain is too small are cut. The best of many pairs has some gain by chance
    alone. With 50 to 2,000 rows, the smallest gain of a link that is kept is therefore chosen to
    maximise the likelihood of held-out rows.

    Missing cells are ignored. A real column with a discrete parent has a mean and a variance for
    each state of the parent; its dependence on a real parent is linear. A discrete column never has
    a real parent, so that all sums and integrals have closed forms.

    Args:
        train: the training rows, with states given as 0, 1, … and missing values as NaN.
        states: the number of states of each column; None for a column of real numbers.
        weights: sample weights, shape (rows,).

    Raises:
        InputError: there are too many states.

    Example:
        >>> word = np.repeat([0.0, 1.0], 100)
        >>> number = np.where(word == 1, 5.0, 0.0) + 0.1 * np.tile([-1.0, 1.0], 100)
        >>> rows = np.stack([word, number], axis=1)
        >>> forest = hm.analysis.dependence_forest(rows, [2, None])
        >>> forest.parents.tolist()
        [-1, 0]
        >>> log_p = forest.log_p(np.array([[1.0, 5.0], [np.nan, 5.0], [0.0, 5.0]]))
        >>> log_p.round(1).tolist()
        [-0.3, -0.3, -171.0]

    Source: Chow & Liu 1968; Lauritzen 1996, section 6.1 (numbers given states).
    """
    total = sum(q for q in states if q)
    if total > MOST_VALUES:
        raise InputError(
            f"dependence_forest: expected at most {MOST_VALUES:,} states in all columns; got"
            f" {total:,}."
        )
    rows = np.asarray(train, float)
    row_weights = weights_of(len(rows), weights)
    counts = _Counts.of(rows, states, row_weights)
    order, parents, gains = counts.tree()
    parents[gains <= _least_gain(rows, states, row_weights)] = NONE
    links = tuple(counts.link(i, int(parent)) for i, parent in enumerate(parents))
    return DependenceForest(order, parents, tuple(states), links)


def _least_gain(rows: np.ndarray, states: Sequence[int | None], weights: np.ndarray) -> float:
    """Return the gain below which links are cut, in nats summed over all rows.

    Trees are fitted in a cross-validation, in which each link raises or lowers the log-likelihood
    of the held-out rows. The threshold maximises the sum of these changes over the links above it.
    """
    if not FEWEST_ROWS <= len(rows) < FEW_ROWS:
        return 0.0
    order = np.random.default_rng(0).permutation(len(rows))
    expected = []
    observed = []
    for fold in range(FOLDS):
        left_out = order[fold::FOLDS]
        learned = np.setdiff1d(order, left_out)
        counts = _Counts.of(rows[learned], states, weights[learned])
        _, parents, gains = counts.tree()
        for i in np.flatnonzero(gains > 0.0).tolist():
            x, y = rows[left_out][:, [i, parents[i]]].T
            is_seen = ~np.isnan(x) & ~np.isnan(y)
            x = x[is_seen]
            linked = counts.link(i, int(parents[i])).log_p_given(x, y[is_seen])
            alone = counts.link(i, NONE).log_p_given(x, np.zeros(len(x)))
            observed.append(float(weights[left_out][is_seen] @ (linked - alone)))
            expected.append(float(gains[i]))
    by_gain = np.argsort(expected)[::-1]
    totals = np.cumsum(np.concatenate([[0.0], np.array(observed)[by_gain]]))
    best = int(totals.argmax())
    if best == len(observed):
        return 0.0
    # Gains are proportional to the number of rows; the trees were fitted to only part of them.
    return expected[by_gain[best]] * FOLDS / (FOLDS - 1)


class _Counts(NamedTuple):
    """Training rows, and the weighted counts of pairs of states; missing cells are ignored.

    Attributes:
        rows: the training rows.
        weights: the weights of the training rows.
        states: the number of states of each column; None for a column of real numbers.
        hot: the observed states in one-hot encoding, shape (rows, states of all columns).
        first: the index of each column's first state among all states.
        pairs: the weighted counts of pairs of states.
    """

    rows: np.ndarray
    weights: np.ndarray
    states: Sequence[int | None]
    hot: np.ndarray
    first: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, states: Sequence[int | None], weights: np.ndarray) -> _Counts:
        """Return the counts of the given rows."""
        counts = [q or 0 for q in states]
        first = np.cumsum([0, *counts])
        hot = np.zeros((len(rows), first[-1]), np.float32)
        for i, q in enumerate(counts):
            seen = np.flatnonzero(~np.isnan(rows[:, i])) if q else []
            hot[seen, first[i] + rows[seen, i].astype(int)] = 1.0
        pairs = ((hot * weights[:, None].astype(np.float32)).T @ hot).astype(float)
        return cls(rows, weights, states, hot, first, pairs)

    def _of(self, i: int) -> slice:
        """Return the slice of a column's states among the states of all columns."""
        return slice(self.first[i], self.first[i + 1])

    def tree(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return an order of the columns with parents first, each column's parent, and its gain.

        The gain of a column is that of the link to its parent; 0 if it has none.
        """
        gains = self.gains()
        is_number = np.array([q is None for q in self.states])
        order, parents = maximum_spanning_tree(gains, is_number)
        return order, parents, np.where(parents == NONE, 0.0, gains[parents, np.arange(len(gains))])

    def gains(self) -> Float[np.ndarray, "columns columns"]:
        """Return the expected gain of a link between any two columns, in nats summed over rows."""
        gains = np.zeros((len(self.states),) * 2)
        words = np.flatnonzero([q is not None for q in self.states])
        if len(words):
            gains[np.ix_(words, words)] = self._gains_of_states(words)
        for i in np.flatnonzero([q is None for q in self.states]).tolist():
            for j, q in enumerate(self.states):
                if j < i or q is not None:
                    gains[i, j] = gains[j, i] = self._gain_of_number(i, j)
        np.fill_diagonal(gains, 0.0)
        return gains

    def _gains_of_states(self, words: np.ndarray) -> np.ndarray:
        """Return (rows × mutual information − parameters) for each pair of discrete columns."""
        size = np.array([self.states[i] for i in words], float)
        first = self.first[words]
        sizes = np.repeat(size, size.astype(int))
        in_pairs = self.pairs + 1.0 / np.outer(sizes, sizes)
        n = _folded(_folded(in_pairs, first, 0), first, 1)
        marginal = _folded(in_pairs, first, 1)  # of each state, if the other column is observed too
        terms = _folded(_folded(in_pairs * np.log(in_pairs), first, 0), first, 1)
        of_marginals = _folded(marginal * np.log(marginal), first, 0)
        nats = terms - of_marginals - of_marginals.T + n * np.log(n)
        return nats - np.outer(size - 1.0, size - 1.0)

    def _gain_of_number(self, i: int, j: int) -> float:
        """Return the expected gain of a link that predicts the real column i from column j."""
        alone = self._fitted(i, NONE, other=j)
        linked = self._fitted(i, j, other=j)
        q = self.states[j]
        more = 1
        if q is not None:
            more = 2 * (q - 1)
        return linked[1] - alone[1] - more

    def _fitted(self, i: int, parent: int, other: int) -> tuple[_Normal, float]:
        """Return the link of a real column to its parent, if any, and its log-likelihood.

        The link is fitted to the rows in which the columns `i` and `other` are both observed.
        """
        is_seen = ~np.isnan(self.rows[:, i]) & ~np.isnan(self.rows[:, other])
        x = self.rows[is_seen, i]
        weights = self.weights[is_seen]
        fractions = weights / max(weights.sum(), LEAST_WEIGHT)
        mean = float(fractions @ x)
        variance = max(float(fractions @ (x - mean) ** 2), LEAST_VARIANCE)
        slope = 0.0
        if parent == NONE:
            members = np.ones((len(x), 1))
        elif self.states[parent] is None:
            y = self.rows[is_seen, parent]
            centred = y - float(fractions @ y)
            of_parent = max(float(fractions @ centred**2), LEAST_VARIANCE)
            slope = float(fractions @ (centred * x)) / of_parent
            x = x - slope * y
            mean = float(fractions @ x)
            members = np.ones((len(x), 1))
        else:
            members = self.hot[is_seen, self._of(parent)].astype(float)
        # One pseudo-row for each state of the parent, with the mean and variance of all rows.
        counts = members.T @ weights
        means = (members.T @ (weights * x) + mean) / (counts + 1.0)
        squares = members.T @ (weights * x**2) - 2.0 * means * (members.T @ (weights * x))
        squares = np.maximum(squares + counts * means**2, 0.0)
        variances = (squares + variance) / (counts + 1.0)
        log_p = -0.5 * float((counts * np.log(variances) + squares / variances).sum())
        return _Normal(means, slope, variances), log_p

    def link(self, i: int, parent: int) -> _States | _Normal:
        """Return the distribution of a column given its parent, if it has one."""
        q = self.states[i]
        if q is None:
            return self._fitted(i, parent, other=i if parent == NONE else parent)[0]
        if parent == NONE:
            counts = np.diag(self.pairs)[self._of(i)][None] + 1.0 / q
        else:
            above = self.states[parent] or 1
            counts = self.pairs[self._of(parent), self._of(i)] + 1.0 / (above * q)
        return _States(np.log(counts / counts.sum(1, keepdims=True)))


def _folded(x: np.ndarray, first: np.ndarray, axis: int) -> np.ndarray:
    """Sum an array along one axis over the states of each column."""
    return np.add.reduceat(x, first, axis)
