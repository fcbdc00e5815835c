"""Columns of numbers that are all different, or nearly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractPart, check_digits, check_numbers, decimals_of
from .frames import RawColumn

GAIN = 3.0  # nats by which a power transform must explain a column better


@dataclass(frozen=True, kw_only=True)
class Continuous(AbstractPart):
    """Numbers that are all different, or nearly: one normal unit after a power transform.

    The code of x is (T((x − centre)/width) − mean)/scale, with T the Yeo–Johnson transform of power
    λ; λ = 1 changes nothing.

    Attributes:
        centre, width: of the numbers, so that the transform fits best: their median and a spread,
            or one of their ends and a small part of the way to the median.
        power: λ, from 0 (logarithmic) to 2.
        mean, scale: of the transformed numbers.
        decimals: digits after the point, or None for as many as there are.
        low, high: the ends of the numbers seen; cells stay between them.
    """

    kind = "continuous"
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
        """Return the transform that makes a column's numbers most nearly normal."""
        from scipy.optimize import minimize_scalar

        x = raw.values[~raw.is_missing]
        low, lower, middle, upper, high = np.quantile(x, (0.0, 0.25, 0.5, 0.75, 1.0)).tolist()
        plain = middle, (upper - lower) / 1.349 or float(x.std()) or 1.0
        chosen = (*plain, 1.0, _loss(x, *plain, 1.0) - GAIN / len(x))
        from_low = [(low, (lower - low) / part) for part in (1.0, 10.0)]
        from_high = [(high, (high - upper) / part) for part in (1.0, 10.0)]
        for centre, width in (plain, *from_low, *from_high):
            if width > 0:
                found: Any = minimize_scalar(
                    lambda power, c=centre, w=width: _loss(x, c, w, power),
                    bounds=(0.0, 2.0),
                    method="bounded",
                )
                if found.fun < chosen[3]:
                    chosen = (centre, width, float(found.x), float(found.fun))
        centre, width, power, _ = chosen
        z = _powered((x - centre) / width, power)
        return cls(
            name=name,
            form=raw.form,
            digits=raw.digits,
            centre=centre,
            width=width,
            power=power,
            mean=float(z.mean()),
            scale=float(z.std()) or 1.0,
            decimals=decimals_of(x),
            low=low,
            high=high,
        )

    @property
    def states(self) -> None:
        """None: codes are real numbers."""
        return

    @property
    def summary(self) -> str:
        """The range, and the power if there is one."""
        power = "" if self.power == 1.0 else f", power {self.power:.2f}"
        power = ", logarithmic" if self.power < 0.005 else power
        return f"{self.shown(self.low)} … {self.shown(self.high)}{power}"

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return (T((x − centre)/width) − mean)/scale."""
        check_numbers(raw, label)
        return (
            _powered((raw.values - self.centre) / self.width, self.power) - self.mean
        ) / self.scale

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return log T′((x − centre)/width) − log(width · scale)."""
        slope = _log_slope((raw.values - self.centre) / self.width, self.power)
        return np.where(raw.is_missing, 0.0, slope - np.log(self.width * self.scale))

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the numbers, rounded as those seen are, and between the ends of these."""
        powered = np.asarray(codes, float) * self.scale + self.mean
        x = _unpowered(powered, self.power) * self.width + self.centre
        x = np.clip(x, self.low, self.high)
        return x if self.decimals is None else np.round(x, self.decimals)


def _loss(x: np.ndarray, centre: float, width: float, power: float) -> float:
    """Return −log p of a number by the transform and a fitted normal density, up to a constant."""
    u = (x - centre) / width
    with np.errstate(divide="ignore"):
        spread = float(np.log(_powered(u, power).std()))
    return spread - float(_log_slope(u, power).mean()) + float(np.log(width))


def _powered(u: np.ndarray, power: float) -> np.ndarray:
    """Return the Yeo–Johnson transform: ((1 + u)^λ − 1)/λ, for u < 0 −((1 − u)^(2−λ) − 1)/(2−λ)."""
    sign = np.where(u < 0, -1.0, 1.0)
    exponent = np.where(u < 0, 2.0 - power, power)
    logs = np.log1p(np.abs(u))
    safe = np.where(exponent == 0, 1.0, exponent)
    return sign * np.where(exponent == 0, logs, np.expm1(safe * logs) / safe)


def _unpowered(z: np.ndarray, power: float) -> np.ndarray:
    """Return the u whose transform is z."""
    sign = np.where(z < 0, -1.0, 1.0)
    exponent = np.where(z < 0, 2.0 - power, power)
    safe = np.where(exponent == 0, 1.0, exponent)
    logs = np.where(exponent == 0, np.abs(z), np.log1p(safe * np.abs(z)) / safe)
    return sign * np.expm1(logs)


def _log_slope(u: np.ndarray, power: float) -> np.ndarray:
    """Return the logarithm of the transform's derivative."""
    return np.where(u < 0, 1.0 - power, power - 1.0) * np.log1p(np.abs(u))
