"""A histogram that records many equal observations at once, such as the waits of all tasks of a gang."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector


def exponential(least: float, most: float, count: int) -> tuple[float, ...]:
    """Return bounds from `least` to `most`, each larger than the last by the same factor."""
    return tuple(least * (most / least) ** (step / (count - 1)) for step in range(count))


#: The bounds of Volcano's histograms, in milliseconds.
CYCLE_BOUNDS = exponential(1, 5_000, 20)
ACTION_BOUNDS = exponential(1, 2_000, 20)
PLUGIN_BOUNDS = exponential(0.1, 100, 15)
JOB_BOUNDS = exponential(100, 120_000, 30)
TASK_BOUNDS = exponential(50, 60_000, 30)
STAGE_BOUNDS = exponential(0.1, 500, 20)
#: 0.1 ms to 26 s.
SECONDS = tuple(0.0001 * 4**power for power in range(10))


@dataclass(slots=True)
class _Tally:
    counts: list[int]
    total: float = 0.0


class TallyHistogram(Collector):
    """Counts per bucket, with one label or, if its name is empty, none."""

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
        if not label:
            self.observe("", 0.0, times=0)  # a histogram without labels has its series from the start

    def observe(self, label: str, value: float, times: int = 1) -> None:
        with self._lock:
            tally = self._tallies.get(label)
            if tally is None:
                tally = self._tallies[label] = _Tally([0] * (len(self._buckets) + 1))
            tally.counts[bisect_left(self._buckets, value)] += times
            tally.total += value * times

    def keep(self, labels: Container[str]) -> None:
        """Remove the series of other labels."""
        with self._lock:
            self._tallies = {label: tally for label, tally in self._tallies.items() if label in labels}

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label] if self._label else [])
        bounds = [*map(str, self._buckets), "+Inf"]
        with self._lock:
            for label, tally in self._tallies.items():
                counts = list(zip(bounds, accumulate(tally.counts), strict=True))
                family.add_metric([label] if self._label else [], counts, tally.total)
        yield family
