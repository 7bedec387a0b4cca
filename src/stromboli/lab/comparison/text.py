"""Figures as text."""

from __future__ import annotations

from stromboli.core.model.values.times import format_length
from stromboli.lab.comparison.metrics import FRACTION, METRICS, SECONDS
from stromboli.lab.comparison.statistics import MeanEstimate

_UNITS = {metric.key: metric.unit for metric in METRICS}


def figure_text(key: str, estimate: MeanEstimate | None) -> str:
    """Return `4m15s ±12s` or `57.1% ±0.2%` for the key of a metric; without an interval only the mean."""
    if estimate is None:
        return "-"
    unit = _UNITS[key]
    mean = _text(estimate.mean, unit)
    return mean if not estimate.margin else f"{mean} ±{_text(estimate.margin, unit)}"


def _text(value: float, unit: str) -> str:
    if unit == SECONDS:
        return format_length(value)
    if unit == FRACTION:
        return f"{value:.1%}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
