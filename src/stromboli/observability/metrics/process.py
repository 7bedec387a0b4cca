"""Metrics that every process exposes, and the ways to define more: each name has one meaning in all processes."""

from __future__ import annotations

import re
from typing import ClassVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from stromboli import __version__
from stromboli.observability.metrics.histograms import SECONDS, TallyHistogram

#: In the Prometheus format: counters of Volcano without the suffix `_total`.
_UNTYPED = re.compile(rb"^(# TYPE volcano_\w+) untyped$", re.MULTILINE)


class ProcessMetrics:
    """A registry of its own with the metrics of the process and its build. Safe to read from another thread."""

    #: The prefix of the names of the process's metrics.
    prefix: ClassVar[str] = "stromboli_"

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        build = Gauge(
            "stromboli_build_info", "The version of Stromboli; always 1.", ("version",), registry=self.registry
        )
        build.labels(__version__).set(1)

    def _define_watching(self) -> None:
        """Define what every process with watches and an election exposes."""
        registry = self.registry
        self._leader = Gauge("stromboli_leader", "1 while this process leads, else 0.", registry=registry)
        self._watch_up = Gauge(
            "stromboli_watch_up", "1 while a watch is up to date, else 0.", ("resource",), registry=registry
        )
        self._invalid_objects = Counter(
            "stromboli_invalid_objects", "Objects that cannot be used and are ignored.", ("kind",), registry=registry
        )
        self._work = Gauge("stromboli_work_pending", "Items waiting to be processed.", ("work",), registry=registry)

    def set_leader(self, leads: bool) -> None:
        self._leader.set(leads)

    def set_watch_up(self, resource: str, is_up: bool) -> None:
        self._watch_up.labels(resource).set(is_up)

    def invalid_object(self, kind: str) -> None:
        self._invalid_objects.labels(kind).inc()

    def set_pending_work(self, work: str, length: int) -> None:
        """Set the length of a queue: `bind`, `evict`, `status`, ..."""
        self._work.labels(work).set(length)

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"{self.prefix}{name}", documentation, labels, registry=self.registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(f"{self.prefix}{name}", documentation, labels, registry=self.registry)

    def _seconds(self, name: str, documentation: str, *labels: str) -> Histogram:
        return Histogram(f"{self.prefix}{name}_seconds", documentation, labels, buckets=SECONDS, registry=self.registry)

    def _tally(self, name: str, documentation: str, label: str) -> TallyHistogram:
        return TallyHistogram(f"{self.prefix}{name}_seconds", documentation, label, SECONDS, self.registry)

    @staticmethod
    def _initialize(counter: Counter, *values: str) -> None:
        """Expose these label values from the start: an alert on growth misses the first case of a new series."""
        for value in values:
            counter.labels(value)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the text that a Prometheus server reads, and its content type, in a format that it accepts."""
        encode, content_type = choose_encoder(accept)
        return _UNTYPED.sub(rb"\1 counter", encode(self.registry)), content_type
