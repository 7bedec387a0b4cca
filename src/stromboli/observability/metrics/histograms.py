"""A histogram that records many equal observations at once, such as the waits of all tasks of a gang."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

#: 5 ms to 2.56 s, as Volcano has them.
MILLISECONDS = tuple(5.0 * 2**power for power in range(10))
#: 0.1 ms to 26 s.
SECONDS = tuple(0.0001 * 4**power for power in range(10))


@dataclass(slots=True)
class _Tally:
    counts: list[int]
    total: float = 0.0


class TallyHistogram(Collector):
    """One label, counts per bucket."""

    def __init__(
        self, name: str, documentation: str, label: str, buckets: Sequence[float], registry: CollectorRegistry
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._label = label
        self._buckets = tuple(buckets)
        self._tallies: dict[str, _Tally] = {}
        self._lock = Lock()
        registry.register(self)

    def observe(self, label: str, value: float, times: int = 1) -> None:
        with self._lock:
            tally = self._tallies.get(label)
            if tally is None:
                tally = self._tallies[label] = _Tally([0] * (len(self._buckets) + 1))
            tally.counts[bisect_left(self._buckets, value)] += times
            tally.total += value * times

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        bounds = [*map(str, self._buckets), "+Inf"]
        with self._lock:
            for label, tally in self._tallies.items():
                counts = list(zip(bounds, accumulate(tally.counts), strict=True))
                family.add_metric([label], counts, tally.total)
        yield family
