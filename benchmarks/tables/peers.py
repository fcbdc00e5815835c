"""Models that a table's codes are compared with: columns by themselves, and latent classes.

A row of codes has a state's number for each column of states, and a real number for each other
column. All functions take `states`, the number of states of each column, None for real numbers.
Likelihoods are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp

LOG_2PI = float(np.log(2 * np.pi))
PSEUDO_COUNT = 1.0  # further rows of each column, spread over its states
SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120)
PRIORS = (0.3, 1.0, 3.0)  # further rows of each class, which are like all rows
RESTARTS = 5  # of EM
FEWER_RESTARTS = 2  # of `FEW_ROWS` or more
MOST_STEPS = 200  # of EM
TOLERANCE = 1e-4  # nats per row by which a step must gain
FEW_ROWS = 2_000  # fewer are cross-validated; of more, a tenth is held out
FOLDS = 5
PATIENCE = 3  # sizes in turn that are worse than the best before the search ends

States = Sequence[int | None]


def folds(rows: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of rows to learn from and rows to judge by, for the choice of a setting."""
    order = np.random.default_rng(seed).permutation(rows)
    is_few = rows < FEW_ROWS
    parts = np.array_split(order, FOLDS if is_few else 10)
    for i in range(FOLDS if is_few else 1):
        yield np.concatenate(parts[:i] + parts[i + 1 :]), parts[i]


def frequencies(codes: np.ndarray, states: int) -> np.ndarray:
    """Return the states' relative frequencies, with one further row spread over all of them."""
    counts = np.bincount(codes.astype(int), minlength=states)
    return (counts + PSEUDO_COUNT / states) / (len(codes) + PSEUDO_COUNT)


def independent(train: np.ndarray, states: States) -> Callable[[np.ndarray], np.ndarray]:
    """Return log p of rows by independent columns: frequencies, and one normal each."""

    def log_p(rows: np.ndarray) -> np.ndarray:
        logs = np.zeros(len(rows))
        for seen, column, count in zip(train.T, rows.T, states, strict=True):
            if count is not None:
                logs += np.log(frequencies(seen, count))[column.astype(int)]
            else:
                logs -= 0.5 * ((column - seen.mean()) ** 2 / seen.var() + np.log(seen.var()))
                logs -= 0.5 * LOG_2PI
        return logs

    return log_p


class Mixture(NamedTuple):
    """A mixture of products: within a class, all columns are independent.

    Attributes:
        states: the number of states of each column.
        prior: further rows of each class, which are like all rows.
        weights: log probabilities of the classes.
        logits: log probabilities of all states of all columns, for each class.
        means, variances: of the columns of real numbers, for each class.
    """

    states: States
    prior: float
    weights: np.ndarray
    logits: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def joint(self, rows: Rows) -> np.ndarray:
        """Return log p(row, class)."""
        precision = 1 / self.variances
        offset = self.means**2 * precision + np.log(self.variances) + LOG_2PI
        logs = rows.hot @ self.logits.T + rows.reals @ (self.means * precision).T
        return logs - 0.5 * (rows.squares @ precision.T + offset.sum(1)) + self.weights

    def log_p(self, rows: np.ndarray) -> np.ndarray:
        """Return log p of rows of codes."""
        return logsumexp(self.joint(Rows.of(rows, self.states)), axis=1)


class Rows(NamedTuple):
    """Rows of codes: states as zeros and ones, and real numbers with their squares."""

    hot: np.ndarray
    reals: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, states: States) -> Rows:
        """Return rows of codes as such."""
        hot = [np.eye(s)[c.astype(int)] for c, s in zip(codes.T, states, strict=True) if s]
        reals = codes[:, [s is None for s in states]].astype(float)
        return cls(np.hstack([np.zeros((len(codes), 0)), *hot]), reals, reals**2)

    def taken(self, which: np.ndarray) -> Rows:
        """Return some rows."""
        return Rows(*(part[which] for part in self))


def mixture(
    train: np.ndarray, states: States, size: int, prior: float = 1.0, seed: int = 0
) -> Mixture:
    """Return the mixture of so many classes with the best posterior of several runs of EM."""
    rng = np.random.default_rng((seed, size))
    rows = Rows.of(train, states)
    restarts = RESTARTS if len(train) < FEW_ROWS else FEWER_RESTARTS
    if size == 1:
        restarts = 1
    climbs = [_climbed(rows, states, size, prior, rng) for _ in range(restarts)]
    return max(climbs, key=lambda pair: pair[0])[1]


def chosen_mixture(
    train: np.ndarray, states: States, seed: int = 0
) -> tuple[Mixture, dict[str, dict[int, float]]]:
    """Return a mixture of all rows, with the size and the prior that are best for held-out rows.

    The scores by which they are chosen come with it.
    """
    scores: dict[float, dict[int, float]] = {prior: {} for prior in PRIORS}
    pairs = list(folds(len(train)))
    for prior, by_size in scores.items():
        for size in SIZES:
            if size > min(len(learned) for learned, _ in pairs):
                break
            parts = [
                mixture(train[learned], states, size, prior, seed).log_p(train[held])
                for learned, held in pairs
            ]
            by_size[size] = float(np.concatenate(parts).mean())
            best = max(by_size, key=by_size.__getitem__)
            if list(by_size).index(best) < len(by_size) - PATIENCE:
                break
    size, prior = max(
        ((size, prior) for prior, by_size in scores.items() for size in by_size),
        key=lambda pair: scores[pair[1]][pair[0]],
    )
    named = {f"{prior:g}": by_size for prior, by_size in scores.items()}
    return mixture(train, states, size, prior, seed), named


def _climbed(
    rows: Rows, states: States, size: int, prior: float, rng: np.random.Generator
) -> tuple[float, Mixture]:
    """Return a run of EM from classes around random rows, and its log posterior per row."""
    n = len(rows.hot)
    centres = rows.taken(rng.choice(n, size, replace=False))
    spread = rows.reals.var(0)
    apart = (rows.reals / spread) @ centres.reals.T - 0.5 * (centres.squares / spread).sum(1)
    nearest = (apart + rows.hot @ centres.hot.T).argmax(1)
    model = _fitted(rows, states, prior, np.eye(size)[nearest])
    last = -np.inf
    for _ in range(MOST_STEPS):
        joint = model.joint(rows)
        now = float(logsumexp(joint, axis=1).mean()) + _log_prior(model, rows) / n
        if now - last < TOLERANCE:
            break
        last = now
        model = _fitted(rows, states, prior, np.exp(log_softmax(joint, axis=1)))
    return now, model


def _typical(rows: Rows, states: States) -> np.ndarray:
    """Return the states' relative frequencies among all rows, smoothed."""
    spread = np.concatenate([np.zeros(0), *(np.full(s, 1 / s) for s in states if s)])
    return (rows.hot.sum(0) + PSEUDO_COUNT * spread) / (len(rows.hot) + PSEUDO_COUNT)


def _log_prior(model: Mixture, rows: Rows) -> float:
    """Return the log prior up to a constant: of classes by further rows, of weights by one row."""
    log_prior = float((model.logits @ _typical(rows, model.states)).sum())
    ratio = rows.reals.var(0) / model.variances
    log_prior -= 0.5 * float((ratio + np.log(model.variances)).sum())
    return model.prior * log_prior + float(model.weights.mean())


def _fitted(rows: Rows, states: States, prior: float, memberships: np.ndarray) -> Mixture:
    """Return the mixture with the best posterior, given each row's memberships of classes.

    The further rows of a class have each column's states as often as all rows have, and the
    variance among all rows. So no probability is 0, and no variance.
    """
    total = memberships.sum(0)
    with_prior = (total + prior)[:, None]
    p = (memberships.T @ rows.hot + prior * _typical(rows, states)) / with_prior
    at_least = np.maximum(total, 1e-10)[:, None]
    means = memberships.T @ rows.reals / at_least
    inside = np.maximum(memberships.T @ rows.squares - at_least * means**2, 0.0)
    variances = (inside + prior * rows.reals.var(0)) / with_prior
    weights = np.log((total + 1 / len(total)) / (total.sum() + 1))  # one row for all classes
    return Mixture(states, prior, weights, np.log(p), means, variances)
