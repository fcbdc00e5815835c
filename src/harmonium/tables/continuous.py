"""Columns of numbers that are all, or nearly all, different."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .base import AbstractPart, ColumnKind, Guess, check_digits, check_numbers, decimals_of
from .frames import RawColumn

GAIN = 3.0  # nats by which a power transform must improve the fit to a column
CLUSTERS = (2, 3)  # numbers of clusters to try for a column
POINTS = 512  # quantiles that represent a column in the search for clusters
MOST_STEPS = 100  # of expectation and maximisation
POINTS_OF_A_MEAN = 15  # quadrature points for the mean of a normal code
LEAST_STEP = 1e-5  # nats per number that a step must gain


class _Transform(NamedTuple):
    """A power transform of (x − centre)/width."""

    centre: float
    width: float
    power: float

    def loss_of_one(self, x: np.ndarray) -> float:
        """Return −log p of a number under a single normal density, in nats."""
        return _loss(self.power, x, self.centre, self.width)

    def loss(self, x: np.ndarray) -> float:
        """Return the same for a single normal density, or a few of equal width if that is less."""
        u = (x - self.centre) / self.width
        scale = float(np.log(self.width)) - float(_log_slope(u, self.power).mean())
        z = _powered(u, self.power)
        return min(self.loss_of_one(x), *(_loss_of_clusters(z, k) + scale for k in CLUSTERS))


@dataclass(frozen=True, kw_only=True)
class Continuous(AbstractPart):
    """Numbers that are all, or nearly all, different: a normal unit after a power transform.

    The code of x is (T((x − centre)/width) − mean)/scale, where T is the Yeo–Johnson transform of
    power λ; λ = 1 is the identity.

    Attributes:
        centre, width: of the numbers, chosen so that the transform fits best: their median and a
            spread, or one of their ends and a small fraction of its distance to the median.
        power: λ, from 0 (logarithmic) to 2.
        mean, scale: of the transformed numbers.
        decimals: digits after the point, or None for no rounding.
        low, high: the range of the numbers seen; cells are clipped to it.
    """

    kind = ColumnKind.CONTINUOUS
    centre: float
    width: float
    power: float
    mean: float
    scale: float
    decimals: int | None
    low: float
    high: float

    def __post_init__(self):
        """Check the decimals, which may come from a file."""
        super().__post_init__()
        check_digits(self.decimals)

    @classmethod
    def of(cls, raw: RawColumn, name: str) -> Continuous:
        """Return the transform that makes a column's numbers closest to normal.

        Source: Yeo & Johnson 2000.
        """
        from scipy.optimize import minimize_scalar  # imported here: it takes a tenth of a second

        x = raw.known
        low, lower, middle, upper, high = np.quantile(x, (0.0, 0.25, 0.5, 0.75, 1.0)).tolist()
        # The quartiles of a normal density are 1.349 standard deviations apart.
        spread = (upper - lower) / 1.349 or float(x.std()) or 1.0
        plain = _Transform(middle, spread, 1.0)
        best = plain
        least = plain.loss_of_one(x) - GAIN / len(x)  # GAIN is for all numbers, the loss for one
        candidates = [(middle, spread)]
        candidates += [(low, (lower - low) / divisor) for divisor in (1.0, 10.0)]
        candidates += [(high, (high - upper) / divisor) for divisor in (1.0, 10.0)]
        for centre, width in candidates:
            if width <= 0:
                continue
            loss = partial(_loss, x=x, centre=centre, width=width)
            # Beyond these powers the transform is bounded, and some draws would have no inverse.
            minimum: Any = minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded")
            if minimum.fun < least:
                best = _Transform(centre, width, float(minimum.x))
                least = float(minimum.fun)
        # A power turns two clusters into a wide and a narrow one, and treats a few distant numbers
        # as a tail; units of equal width, as in a model, then fit neither.
        if best is not plain and plain.loss(x) < best.loss(x):
            best = plain
        z = _powered((x - best.centre) / best.width, best.power)
        return cls(
            name=name,
            form=raw.form,
            digits=raw.digits,
            centre=best.centre,
            width=best.width,
            power=best.power,
            mean=float(z.mean()),
            scale=float(z.std()) or 1.0,
            decimals=decimals_of(x),
            low=low,
            high=high,
        )

    @property
    def states(self) -> None:
        return

    @property
    def summary(self) -> str:
        ends = f"{self.shown(self.low)} … {self.shown(self.high)}"
        if self.power < 0.005:  # which would be displayed as 0.00
            return f"{ends}, logarithmic"
        if self.power == 1.0:
            return ends
        return f"{ends}, power {self.power:.2f}"

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return (T((x − centre)/width) − mean)/scale."""
        check_numbers(raw, label)
        powered = _powered((raw.values - self.centre) / self.width, self.power)
        return (powered - self.mean) / self.scale

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return log T′((x − centre)/width) − log(width · scale)."""
        slope = _log_slope((raw.values - self.centre) / self.width, self.power)
        return np.where(raw.is_missing, 0.0, slope - np.log(self.width * self.scale))

    def best(
        self, means: np.ndarray, guess: Guess = Guess.MEAN, spread: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the mean of the numbers if the codes are normal; else the number of the mean code.

        The latter is the median, and is also used for the most probable number.
        """
        codes = means[:, 0]
        rng = np.random.default_rng(0)
        if guess is Guess.EXACT:
            return replace(self, decimals=None).best(means, Guess.MEAN, spread)
        if guess is not Guess.MEAN or spread is None or self.power == 1.0:
            return self.cells(codes, rng)
        # The mean of a function of a normal number is a weighted sum over a few of its quantiles.
        at, shares = np.polynomial.hermite_e.hermegauss(POINTS_OF_A_MEAN)
        exact = replace(self, decimals=None)
        numbers = [exact.cells(codes + z * spread, rng) for z in at]
        mean = shares @ np.array(numbers) / shares.sum()
        return mean if self.decimals is None else np.round(mean, self.decimals)

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the numbers, rounded like the numbers seen and clipped to their range."""
        powered = np.asarray(codes, float) * self.scale + self.mean
        x = _unpowered(powered, self.power) * self.width + self.centre
        x = np.clip(x, self.low, self.high)
        if self.decimals is None:
            return x
        return np.round(x, self.decimals)


def _loss(power: float, x: np.ndarray, centre: float, width: float) -> float:
    """Return −log p of a number under the transform and a normal density, less a constant."""
    u = (x - centre) / width
    with np.errstate(divide="ignore"):
        spread = float(np.log(_powered(u, power).std()))
    return spread - float(_log_slope(u, power).mean()) + float(np.log(width))


def _loss_of_clusters(x: np.ndarray, k: int) -> float:
    """Return −log p of a number under k normal clusters of equal width, less `_loss`'s constant.

    Akaike's criterion is included: one nat for all numbers per additional mean and share.
    """
    points = np.quantile(x, (np.arange(POINTS) + 0.5) / POINTS)
    means = np.quantile(points, (np.arange(k) + 0.5) / k)
    shares = np.full(k, 1.0 / k)
    variance = float(points.var())
    if variance == 0.0:  # a single number
        return np.inf
    least = np.finfo(float).eps * variance
    log_p = -np.inf
    for _ in range(MOST_STEPS):
        # −½ and ½ log 2π are omitted, as in `_loss`, where they belong to the one density.
        joint = np.log(shares) - 0.5 * (points[:, None] - means) ** 2 / variance
        logs = np.logaddexp.reduce(joint, axis=1)
        before = log_p
        log_p = float(logs.mean()) - 0.5 * float(np.log(variance)) + 0.5
        if log_p - before < LEAST_STEP:
            break
        members = np.exp(joint - logs[:, None])
        counts = members.sum(0) + np.finfo(float).tiny
        means = points @ members / counts
        shares = counts / counts.sum()
        within = (members * (points[:, None] - means) ** 2).sum() / POINTS
        variance = max(float(within), least)
    return -log_p + 2.0 * (k - 1) / len(x)


def _powered(u: np.ndarray, power: float) -> np.ndarray:
    """Return the Yeo–Johnson transform: ((1 + u)^λ − 1)/λ, for u < 0 −((1 − u)^(2−λ) − 1)/(2−λ)."""
    sign = np.where(u < 0, -1.0, 1.0)
    exponent = np.where(u < 0, 2.0 - power, power)
    logs = np.log1p(np.abs(u))
    # At an exponent of 0 the limit is the logarithm; a divisor of 1 avoids 0/0 there.
    safe = np.where(exponent == 0, 1.0, exponent)
    return sign * np.where(exponent == 0, logs, np.expm1(safe * logs) / safe)


def _unpowered(z: np.ndarray, power: float) -> np.ndarray:
    """Return the value u whose transform is z."""
    sign = np.where(z < 0, -1.0, 1.0)
    exponent = np.where(z < 0, 2.0 - power, power)
    safe = np.where(exponent == 0, 1.0, exponent)
    logs = np.where(exponent == 0, np.abs(z), np.log1p(safe * np.abs(z)) / safe)
    return sign * np.expm1(logs)


def _log_slope(u: np.ndarray, power: float) -> np.ndarray:
    """Return the logarithm of the transform's derivative."""
    return np.where(u < 0, 1.0 - power, power - 1.0) * np.log1p(np.abs(u))
