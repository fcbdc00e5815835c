"""A Gaussian copula for rows of codes: real numbers, and states that are ranges of latent normals.

Columns of real numbers are normal. Each column of states has a latent normal, cut so that its
ranges have the smoothed frequencies of the states; states of words are ordered along the direction
of the other columns that tells them apart best. The density of a row is

    p(x, k) = N(x; μ, Σ) · P(latents in the ranges of k | x)

and its factors have parameters of their own: Σ comes from the moments of the rows, and the latents

    z_j = (w_j·(y, ε_<j) + ε_j) / √(1 + |w_j|²)      y the whitened x, ε_j standard normal

have weights w that maximise the likelihood. The probability of a rectangle is that of the GHK
simulator (Geweke, Hajivassiliou & Keane; Train 2009, section 5.6.3): latents are drawn one after
the other from normals cut off by their ranges, and the probabilities of these are multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from peers import FEW_ROWS, LOG_2PI, States, folds, frequencies
from scipy import optimize, stats
from scipy.linalg import eigh, solve_triangular
from scipy.special import logsumexp, ndtr, ndtri, softmax

SHRINKING = (0.0, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)  # of correlations of real columns
PENALTIES = (10.0, 1.0, 0.1, 0.01)  # on ½|w|², for the sum over all rows
DRAWS = 32  # for each row
FEWER_DRAWS = 8  # of `FEW_ROWS` or more
STEPS = 100  # of L-BFGS
ROWS_AT_ONCE = 1_024
STDERR = 0.02  # nats; draws of a row are doubled until its error is below this
REPEATS = 8  # independent sets of draws
FEWEST = 64  # draws in a set
MOST = 16_384
UNCERTAIN = 0.1  # added to the initial variances of latents
AT_ONCE = 2**15  # draws in memory, of each set
FAR = 37.0  # standard deviations, beyond which no latent is
TINY = np.finfo(float).tiny
EPSILON = np.finfo(float).eps
PASSES = 5  # over the columns of words, to order their states


class Latents(NamedTuple):
    """The columns of states of some rows, in the order in which their latents are drawn.

    Attributes:
        y: whitened columns of real numbers, shape (rows, reals).
        low, high: the ends of the latents' ranges, shape (rows, columns).
    """

    y: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def taken(self, which: Any) -> Latents:
        """Return some rows."""
        return Latents(*(part[which] for part in self))


class Copula(NamedTuple):
    """A Gaussian copula.

    Attributes:
        reals: places of the columns of real numbers.
        places: places of the columns of states, in the order in which latents are drawn.
        mean, factor: of the columns of real numbers; Σ = LLᵀ.
        ranks: for each of `places`, the rank of each state.
        cuts: for each of `places`, the ends of the ranges in order, from −FAR to FAR.
        weights: w_j of each of `places`, with zeros behind.
    """

    reals: np.ndarray
    places: np.ndarray
    mean: np.ndarray
    factor: np.ndarray
    ranks: list[np.ndarray]
    cuts: list[np.ndarray]
    weights: np.ndarray

    def latents(self, rows: np.ndarray) -> Latents:
        """Return the ranges of the latents, and the whitened real numbers."""
        y = solve_triangular(self.factor, (rows[:, self.reals] - self.mean).T, lower=True).T
        low, high = np.zeros((2, len(rows), len(self.places)))
        for j, (place, rank, cuts) in enumerate(
            zip(self.places, self.ranks, self.cuts, strict=True)
        ):
            order = rank[rows[:, place].astype(int)]
            low[:, j] = cuts[order]
            high[:, j] = cuts[order + 1]
        return Latents(y, low, high)

    def log_p(
        self, rows: np.ndarray, stderr: float = STDERR, seed: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log p of rows, and the standard error of each, which is at most `stderr`."""
        latents = self.latents(rows)
        density = -0.5 * (latents.y**2 + LOG_2PI).sum(1) - np.log(np.diag(self.factor)).sum()
        if not len(self.places):
            return density, np.zeros(len(rows))
        logs, errors = rectangles(self.weights, latents, stderr, seed)
        return density + logs, errors


def copula(
    train: np.ndarray, states: States, orders: Sequence[np.ndarray | None], seed: int = 0
) -> Copula:
    """Return the copula whose shrinkage and penalty were best for held-out rows.

    Args:
        train: rows of codes.
        states: the number of states of each column, None for real numbers.
        orders: states from low to high, or None to decide by the rows.
        seed: of the draws.
    """
    pairs = list(folds(len(train)))
    reals = np.flatnonzero([s is None for s in states])
    shrinking = 0.0
    if len(reals) > 1:
        scores = [
            np.mean([_normal(train[a][:, reals], train[b][:, reals], amount) for a, b in pairs])
            for amount in SHRINKING
        ]
        shrinking = SHRINKING[int(np.argmax(scores))]
    if len(reals) == len(states):
        return _start(train, states, orders, shrinking)
    scores = np.zeros(len(PENALTIES))
    for a, b in pairs:
        models = fitted(train[a], states, orders, shrinking, PENALTIES, seed)
        scores += [model.log_p(train[b], np.inf)[0].sum() for model in models]
    penalty = PENALTIES[int(np.argmax(scores))]
    return fitted(train, states, orders, shrinking, [penalty], seed)[0]


def _normal(train: np.ndarray, held: np.ndarray, shrinking: float) -> float:
    """Return the mean log density of held-out rows by a normal with shrunk correlations.

    It is −∞ for a singular covariance, as of a column that is the sum of others.
    """
    mean, covariance = _moments(train, shrinking)
    try:
        return float(stats.multivariate_normal.logpdf(held, mean, covariance).mean())
    except np.linalg.LinAlgError:
        return -np.inf


def _moments(reals: np.ndarray, shrinking: float) -> tuple[np.ndarray, np.ndarray]:
    covariance = np.atleast_2d(np.cov(reals.T, ddof=0))
    own = np.diag(np.diag(covariance))
    return reals.mean(0), (1 - shrinking) * covariance + shrinking * own


def _start(
    train: np.ndarray, states: States, orders: Sequence[np.ndarray | None], shrinking: float
) -> Copula:
    """Return the copula whose latents are independent."""
    reals = np.flatnonzero([s is None for s in states])
    mean = np.zeros(0)
    factor = np.zeros((0, 0))
    if len(reals):
        mean, covariance = _moments(train[:, reals], shrinking)
        factor = np.linalg.cholesky(covariance)
    sizes = {j: s for j, s in enumerate(states) if s is not None}
    p = {j: frequencies(train[:, j], s) for j, s in sizes.items()}
    # Columns of the largest entropy come first: those that follow from them are then no surprise.
    places = np.array(sorted(sizes, key=lambda j: (p[j] * np.log(p[j])).sum()), int)
    ranked = ordered(train, states, orders)
    ranks = []
    cuts = []
    for j in places:
        order = ranked[j]
        rank = np.empty(len(order), int)
        rank[order] = np.arange(len(order))
        ends = stats.norm.ppf(np.cumsum(p[j][order])[:-1])
        ranks.append(rank)
        cuts.append(np.concatenate([[-FAR], ends, [FAR]]))
    weights = np.zeros((len(places), len(reals) + len(places)))
    return Copula(reals, places, mean, factor, ranks, cuts, weights)


def fitted(
    train: np.ndarray,
    states: States,
    orders: Sequence[np.ndarray | None],
    shrinking: float,
    penalties: Sequence[float],
    seed: int = 0,
) -> list[Copula]:
    """Return copulas whose weights maximise the likelihood less ½ penalty |w|².

    Each climb begins where the one before ended, so the largest penalty should come first.
    """
    start = _start(train, states, orders, shrinking)
    latents = start.latents(train)
    reals = len(start.reals)
    columns = len(start.places)
    # Latents at the middles of their ranges give the initial weights.
    middle = stats.norm.ppf(0.5 * (stats.norm.cdf(latents.low) + stats.norm.cdf(latents.high)))
    both = np.hstack([latents.y, middle])
    correlations = np.corrcoef(both.T) + UNCERTAIN * np.eye(both.shape[1])
    factor = np.linalg.cholesky(np.atleast_2d(correlations))[reals:]
    weights = factor / np.diagonal(factor, offset=reals)[:, None]
    free = np.tri(columns, reals + columns, reals - 1, dtype=bool)
    draws = DRAWS if len(train) < FEW_ROWS else FEWER_DRAWS
    points = stats.qmc.Sobol(columns, seed=seed).random(draws)
    moves = np.random.default_rng(seed).random((len(train), 1, columns))
    u = (points + moves) % 1.0
    weights = weights[free]
    models = []
    settings = {"method": "L-BFGS-B", "jac": True, "options": {"maxiter": STEPS}}
    for penalty in penalties:
        weights = optimize.minimize(_loss, weights, (free, penalty, latents, u), **settings).x
        whole = np.zeros(free.shape)
        whole[free] = weights
        models.append(start._replace(weights=whole))
    return models


def _loss(
    weights: np.ndarray, free: np.ndarray, penalty: float, rows: Latents, u: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the mean loss of rows by the same draws at every call, and its gradient."""
    whole = np.zeros(free.shape)
    whole[free] = weights
    value = 0.5 * penalty * weights @ weights
    slope = penalty * weights
    for first in range(0, len(u), ROWS_AT_ONCE):
        chunk = slice(first, first + ROWS_AT_ONCE)
        drawn = Draws.of(whole, rows.taken(chunk), u[chunk])
        value -= float(logsumexp(drawn.logs, axis=1).sum())
        slope -= drawn.slope(whole, rows.taken(chunk), softmax(drawn.logs, axis=1))[free]
    return value / len(u), slope / len(u)


class Draws(NamedTuple):
    """Draws of latents within their ranges, of each row and column in turn.

    Attributes:
        u: uniform numbers, shape (rows, draws, columns).
        low, high: the ends of each latent's noise ε, given the ones before it.
        p: the probability between these ends, at least the smallest float.
        noise: ε, drawn between them.
    """

    u: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, rows: Latents, u: np.ndarray) -> Draws:
        """Draw the latents one after the other."""
        reals = rows.y.shape[1]
        columns = len(weights)
        scales = np.sqrt(1 + (weights**2).sum(1))
        shifts = rows.y @ weights[:, :reals].T
        low, high, p, noise = (np.empty((columns, *u.shape[:2])) for _ in range(4))
        u = np.ascontiguousarray(np.moveaxis(u, 2, 0))
        for j in range(columns):
            shift = shifts[:, j, None] + np.tensordot(weights[j, reals : reals + j], noise[:j], 1)
            low[j] = rows.low[:, j, None] * scales[j] - shift
            high[j] = rows.high[:, j, None] * scales[j] - shift
            # In the upper tail, the mirror image is exact.
            turned = low[j] + high[j] > 0
            first = ndtr(np.where(turned, -high[j], low[j]))
            p[j] = np.maximum(ndtr(np.where(turned, -low[j], high[j])) - first, TINY)
            part = np.where(turned, 1 - u[j], u[j])
            drawn = ndtri(np.clip(first + part * p[j], TINY, 1 - EPSILON))
            noise[j] = np.where(turned, -drawn, drawn)
        return cls(u, low, high, p, noise)

    @property
    def logs(self) -> np.ndarray:
        """The log of each draw's estimate of the probability, shape (rows, draws)."""
        return np.log(self.p).sum(0)

    def slope(self, weights: np.ndarray, rows: Latents, weights_of_draws: np.ndarray) -> np.ndarray:
        """Return the derivative of Σ weights_of_draws · logs by the weights."""
        reals = rows.y.shape[1]
        scales = np.sqrt(1 + (weights**2).sum(1))
        slopes = np.zeros_like(weights)
        of_noise = np.zeros_like(self.noise)
        for j in reversed(range(len(weights))):
            by_noise = of_noise[j] / _bell(self.noise[j])
            by_p = weights_of_draws / self.p[j]
            of_low = _bell(self.low[j]) * (by_noise * (1 - self.u[j]) - by_p)
            of_high = _bell(self.high[j]) * (by_noise * self.u[j] + by_p)
            of_shift = -(of_low + of_high)
            of_scale = rows.low[:, j] @ of_low.sum(1) + rows.high[:, j] @ of_high.sum(1)
            w = weights[j, reals : reals + j]
            of_noise[:j] += w[:, None, None] * of_shift
            slopes[j, :reals] = of_shift.sum(1) @ rows.y
            slopes[j, reals : reals + j] = np.tensordot(self.noise[:j], of_shift, 2)
            slopes[j] += of_scale * weights[j] / scales[j]
        return slopes


def _bell(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.minimum(x**2, FAR**2)) / np.sqrt(2 * np.pi)


def rectangles(
    weights: np.ndarray, rows: Latents, stderr: float = STDERR, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(latents in their ranges) of rows, and the standard error of each.

    Sobol points, moved at random for each row and each of `REPEATS` sets. There are four times as
    many for rows whose error is too large, until none is, or there are `MOST`.
    """
    n, columns = rows.low.shape
    logs, errors = np.zeros((2, n))
    left = np.arange(n)
    draws = FEWEST
    rng = np.random.default_rng(seed)
    while len(left) and draws <= MOST:
        points = stats.qmc.Sobol(columns, seed=seed).random(draws)
        for part in np.array_split(left, math.ceil(len(left) * draws / AT_ONCE)):
            moves = rng.random((len(part), REPEATS, 1, columns))
            u = ((points + moves) % 1.0).reshape(len(part), -1, columns)
            sets = Draws.of(weights, rows.taken(part), u).logs.reshape(len(part), REPEATS, draws)
            top = sets.max(axis=(1, 2))
            means = np.exp(sets - top[:, None, None]).mean(2)
            mean = means.mean(1)
            logs[part] = np.log(mean) + top
            errors[part] = means.std(1, ddof=1) / np.sqrt(REPEATS) / mean
        left = left[errors[left] > stderr]
        draws *= 4
    return logs, errors


def ordered(
    train: np.ndarray, states: States, orders: Sequence[np.ndarray | None]
) -> list[np.ndarray | None]:
    """Return the states of each column from low to high; None for real numbers.

    States without a known order are ordered along the direction of all other columns that tells
    them apart best, the first discriminant axis, several times in turn.
    """
    ranked = list(orders)
    scores = np.empty(train.shape)
    for j, s in enumerate(states):
        if s is not None and orders[j] is None:
            ranked[j] = np.arange(s)
        column = train[:, j]
        if s is not None:
            column = _normal_scores(column, ranked[j])
        scores[:, j] = _standard(column)
    unordered = [j for j, s in enumerate(states) if s is not None and s > 2 and orders[j] is None]
    if len(states) == 1:
        return ranked
    for _ in range(PASSES):
        for j in unordered:
            others = np.delete(scores, j, axis=1)
            codes = train[:, j].astype(int)
            counts = np.bincount(codes, minlength=states[j])
            sums = np.stack([np.bincount(codes, o, states[j]) for o in others.T], axis=1)
            means = sums / (counts[:, None] + 1.0)
            between = (means * counts[:, None]).T @ means
            total = others.T @ others + np.eye(others.shape[1])
            axis = eigh(between, total, subset_by_index=[len(total) - 1] * 2)[1][:, 0]
            ranked[j] = np.argsort(means @ axis, kind="stable")
            scores[:, j] = _standard(_normal_scores(train[:, j], ranked[j]))
    return ranked


def _normal_scores(codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the normal quantile of the middle of each state's range."""
    p = frequencies(codes, len(order))[order]
    middles = np.empty(len(order))
    middles[order] = stats.norm.ppf(np.cumsum(p) - 0.5 * p)
    return middles[codes.astype(int)]


def _standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / (x.std() or 1.0)
