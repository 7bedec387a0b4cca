"""Series whose subjects come and go: queues, jobs.

What is gone must not be told for ever, and a cluster with a million jobs must not make a million series. So each
round names all subjects that exist, the others are dropped, and beyond a limit nothing new is told but how much
was left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from prometheus_client import Gauge

Labels = tuple[str, ...]

_MAX_LABEL = 256


class PrunedGauge:
    """A gauge with one series per subject that exists now."""

    def __init__(self, gauge: Gauge, most: int) -> None:
        self._gauge = gauge
        self._most = most
        self._shown: dict[Labels, float] = {}

    def show(self, values: Mapping[Labels, float]) -> int:
        """Tell these values and no others. The answer is how many there was no room for."""
        now = {_short(labels): value for labels, value in islice(values.items(), self._most)}
        for labels in self._shown.keys() - now.keys():
            self._gauge.remove(*labels)
        for labels, value in now.items():
            if self._shown.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._shown = now
        return max(len(values) - self._most, 0)


def _short(labels: Labels) -> Labels:
    """Names of objects are shorter than this; what is not a name is cut."""
    return tuple(label[:_MAX_LABEL] for label in labels)
