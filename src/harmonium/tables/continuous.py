"""Continuous columns: numbers that are all, or nearly all, different."""

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
MOST_STEPS = 100  # maximum number of EM iterations
POINTS_OF_A_MEAN = 15  # quadrature points for the mean number given a normal code
LEAST_STEP = 1e-5  # minimum gain of an EM iteration, in nats per number


class _Transform(NamedTuple):
    """A power transform of (x − centre)/width."""

    centre: float
    width: float
    power: float

    def loss_of_one(self, x: np.ndarray) -> float:
        """Return the mean of −log p of the numbers under one normal density, in nats."""
        return _loss(self.power, x, self.centre, self.width)

    def loss(self, x: np.ndarray) -> float:
        """Return the mean of −log p under one normal density or a mixture, whichever is smaller."""
        u = (x - self.centre) / self.width
        scale = float(np.log(self.width)) - float(_log_slope(u, self.power).mean())
        z = _powered(u, self.power)
        return min(self.loss_of_one(x), *(_loss_of_clusters(z, k) + scale for k in CLUSTERS))


@dataclass(frozen=True, kw_only=True)
class Continuous(AbstractPart):
    """Numbers that are (nearly) all different, modelled as normal after a power transform.

    The code of x is (T((x − centre)/width) − mean)/scale, where T is the Yeo–Johnson transform of
    power λ; λ = 1 is the identity.

    Attributes:
        centre, width: the location and scale with which the transform fits best: the median and a
            spread, or the lowest or highest number and its distance to the nearest quartile, or a
            tenth of this distance.
        power: λ, from 0 (logarithmic) to 2.
        mean, scale: mean and standard deviation of the transformed numbers.
        decimals: number of digits to which cells are rounded, or None for no rounding.
        low, high: the range of the numbers in the data; cells are clipped to this range.
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
        """Check the number of decimals, which may come from an untrusted file."""
        super().__post_init__()
        check_digits(self.decimals)

    @classmethod
    def of(cls, raw: RawColumn, name: str) -> Continuous:
        """Fit the transform that makes the numbers of a column most nearly normal.

        Source: Yeo & Johnson 2000.
        """
        from scipy.optimize import minimize_scalar  # imported here: it takes a tenth of a second

        x = raw.known
        low, lower, middle, upper, high = np.quantile(x, (0.0, 0.25, 0.5, 0.75, 1.0)).tolist()
        # The quartiles of a normal density are 1.349 standard deviations apart.
        spread = (upper - lower) / 1.349 or float(x.std()) or 1.0
        plain = _Transform(middle, spread, 1.0)
        best = plain
        least = plain.loss_of_one(x) - GAIN / len(x)  # the loss is a mean, GAIN a sum
        candidates = [(middle, spread)]
        candidates += [(low, (lower - low) / divisor) for divisor in (1.0, 10.0)]
        candidates += [(high, (high - upper) / divisor) for divisor in (1.0, 10.0)]
        for centre, width in candidates:
            if width <= 0:
                continue
            loss = partial(_loss, x=x, centre=centre, width=width)
            # Beyond these powers, the transform is bounded and some draws would have no inverse.
            minimum: Any = minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded")
            if minimum.fun < least:
                best = _Transform(centre, width, float(minimum.x))
                least = float(minimum.fun)
        # A power transform gives two clusters different widths, and treats a few distant numbers
        # as a tail; a model, which is a mixture of equal widths, then fits neither.
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
        """Return (T((x − centre)/width) − mean)/scale for each number x, with T as above."""
        check_numbers(raw, label)
        powered = _powered((raw.values - self.centre) / self.width, self.power)
        return (powered - self.mean) / self.scale

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return log dcode/dx = log T′((x − centre)/width) − log(width · scale) for numbers x."""
        slope = _log_slope((raw.values - self.centre) / self.width, self.power)
        return np.where(raw.is_missing, 0.0, slope - np.log(self.width * self.scale))

    def best(
        self, means: np.ndarray, guess: Guess = Guess.MEAN, spread: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the mean number of each row, or the number at the mean code.

        The mean number, which assumes normal codes, is returned if `guess` asks for it and `spread`
        is known. The number at the mean code is the median, and also serves as the mode.
        """
        codes = means[:, 0]
        rng = np.random.default_rng(0)
        if guess is Guess.EXACT:
            return replace(self, decimals=None).best(means, Guess.MEAN, spread)
        if guess is not Guess.MEAN or spread is None or self.power == 1.0:
            return self.cells(codes, rng)
        # Gauss–Hermite quadrature: the mean of a function of a normal variable is a weighted sum.
        at, shares = np.polynomial.hermite_e.hermegauss(POINTS_OF_A_MEAN)
        exact = replace(self, decimals=None)
        numbers = [exact.cells(codes + z * spread, rng) for z in at]
        mean = shares @ np.array(numbers) / shares.sum()
        return mean if self.decimals is None else np.round(mean, self.decimals)

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decode codes to numbers, rounded like the data and clipped to the range of the data."""
        powered = np.asarray(codes, float) * self.scale + self.mean
        x = _unpowered(powered, self.power) * self.width + self.centre
        x = np.clip(x, self.low, self.high)
        if self.decimals is None:
            return x
        return np.round(x, self.decimals)


def _loss(power: float, x: np.ndarray, centre: float, width: float) -> float:
    """Return the mean of −log p if the transformed numbers are normal, up to a constant."""
    u = (x - centre) / width
    with np.errstate(divide="ignore"):
        spread = float(np.log(_powered(u, power).std()))
    return spread - float(_log_slope(u, power).mean()) + float(np.log(width))


def _loss_of_clusters(x: np.ndarray, k: int) -> float:
    """Return the mean of −log p under k normal clusters of equal width, up to a constant.

    The constant is that of `_loss`. Akaike's criterion adds one nat to the sum over all numbers for
    each additional parameter, which is a mean or a mixing weight.
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
        # The constants −½ and ½ log 2π are omitted, as in `_loss`.
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
    """Return the Yeo–Johnson transform of u with power λ.

    The transform is ((1 + u)^λ − 1)/λ for u ≥ 0, and −((1 − u)^(2−λ) − 1)/(2−λ) for u < 0.
    """
    sign = np.where(u < 0, -1.0, 1.0)
    exponent = np.where(u < 0, 2.0 - power, power)
    logs = np.log1p(np.abs(u))
    # For an exponent of 0, the limit is a logarithm; a divisor of 1 avoids 0/0.
    safe = np.where(exponent == 0, 1.0, exponent)
    return sign * np.where(exponent == 0, logs, np.expm1(safe * logs) / safe)


def _unpowered(z: np.ndarray, power: float) -> np.ndarray:
    """Return the inverse of the Yeo–Johnson transform: the value u whose transform is z."""
    sign = np.where(z < 0, -1.0, 1.0)
    exponent = np.where(z < 0, 2.0 - power, power)
    safe = np.where(exponent == 0, 1.0, exponent)
    logs = np.where(exponent == 0, np.abs(z), np.log1p(safe * np.abs(z)) / safe)
    return sign * np.expm1(logs)


def _log_slope(u: np.ndarray, power: float) -> np.ndarray:
    """Return the logarithm of the derivative of the Yeo–Johnson transform."""
    return np.where(u < 0, 1.0 - power, power - 1.0) * np.log1p(np.abs(u))
