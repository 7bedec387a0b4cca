"""Series whose subjects come and go: queues, jobs.

Each update names all subjects that exist: series of others are removed, and those beyond a limit are omitted and
counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from prometheus_client import CollectorRegistry, Gauge, Metric
from prometheus_client.registry import Collector

Labels = tuple[str, ...]

_MAX_LABEL = 256


class PrunedGauge:
    """A gauge with one series per subject that exists now."""

    def __init__(self, gauge: Gauge, max_series: int) -> None:
        self._gauge = gauge
        self._max_series = max_series
        self._exposed: dict[Labels, float] = {}

    def update(self, values: Mapping[Labels, float]) -> int:
        """Expose these values and no others; return the number of omitted ones."""
        now = {_short(labels): value for labels, value in islice(values.items(), self._max_series)}
        for labels in self._exposed.keys() - now.keys():
            self._gauge.remove(*labels)
        for labels, value in now.items():
            if self._exposed.get(labels) != value:
                self._gauge.labels(*labels).set(value)
        self._exposed = now
        return max(len(values) - self._max_series, 0)


class PlainCounter(Collector):
    """A counter whose name does not end in `_total`, as some of Volcano's do not.

    The client library and OpenMetrics have no such counters: there its type is unknown, and
    `ProcessMetrics.render` declares a counter in the Prometheus format.
    """

    def __init__(self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        self._name = name
        self._documentation = documentation
        self._labels = tuple(labels)
        #: Replaced, never edited: another thread reads them.
        self.values: Mapping[Labels, float] = {}
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        family = Metric(self._name, self._documentation, "unknown")
        for labels, value in self.values.items():
            family.add_sample(self._name, dict(zip(self._labels, _short(labels), strict=True)), value)
        yield family


def _short(labels: Labels) -> Labels:
    """Cut labels that are too long to be names of objects."""
    return tuple(label[:_MAX_LABEL] for label in labels)
