"""Means over seeds with confidence intervals, by Student's t distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log, sqrt
from statistics import fmean, stdev
from typing import Any

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean over seeds. `margin` is half the confidence interval; None for a single value."""

    mean: float
    margin: float | None
    count: int

    @property
    def is_clear(self) -> bool:
        """Report whether the interval excludes zero. A single value has no interval, and is taken as it is."""
        return self.mean != 0 and (self.margin is None or abs(self.mean) > self.margin)

    def scaled(self, factor: float) -> MeanEstimate:
        return MeanEstimate(
            self.mean * factor, None if self.margin is None else self.margin * abs(factor), self.count
        )  # fmt: skip

    def as_plain(self) -> dict[str, Any]:
        return {
            "mean": round(self.mean, 6), "margin": None if self.margin is None else round(self.margin, 6),
            "seeds": self.count,
        }  # fmt: skip


def mean_of(values: Sequence[float]) -> MeanEstimate:
    if len(values) < 2:
        return MeanEstimate(values[0], None, 1)
    margin = student_quantile(len(values) - 1) * stdev(values) / sqrt(len(values))
    return MeanEstimate(fmean(values), margin, len(values))


@lru_cache(maxsize=256)
def student_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the value that a variable with the distribution exceeds in magnitude with 1 - confidence."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        outside = _incomplete_beta(degrees / (degrees + middle**2), degrees / 2, 0.5)
        low, high = (middle, high) if outside > 1 - confidence else (low, middle)
    return high


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    result, c, d = 1.0, 1.0, 0.0
    for step in range(400):
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        else:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        d = 1 / (1 + term * d or 1e-300)
        c = 1 + term / c or 1e-300
        result *= c * d
        if abs(1 - c * d) < 1e-13:
            break
    return front * (result - 1)
