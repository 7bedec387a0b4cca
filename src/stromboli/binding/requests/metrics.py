"""The numbers of a binder, in a registry of their own; those of a scheduler that binds directly are called the same."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from stromboli import __version__
from stromboli.binding.orders import Outcome
from stromboli.kube.objects.bind_requests import FAILED, SUCCEEDED
from stromboli.observability.metrics.histograms import SECONDS, TallyHistogram

_WORDS = {
    Outcome.DONE: "bound",
    Outcome.IMPOSSIBLE: "refused",
    Outcome.UNKNOWN: "unknown",
    Outcome.DROPPED: "dropped",
}


class BinderMetrics:
    """Safe to read from another thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._binds = self._counter("binds", "pods by how their binding ended", "result")
        self._bind_seconds = TallyHistogram(
            "stromboli_bind_duration_seconds", "a binding, from decision to answer", "result", SECONDS, self.registry
        )
        self._evictions = self._counter("evictions", "pods by how their eviction ended", "result")
        self._finished = self._counter("bind_requests_finished", "bind requests by their last phase", "phase")
        self._failed_attempts = self._counter("bind_attempts_failed", "attempts at bind requests that failed")
        self._unwound = self._counter("bind_requests_unwound", "bind requests whose pods were evicted again")
        self._open = self._gauge("bind_requests_open", "bind requests that are not carried out yet")
        self._open_members = self._gauge("bind_request_members_open", "members of open bind requests")
        self._work = self._gauge("work_pending", "entries that wait to be worked on", "work")
        self._watch_up = self._gauge("watch_up", "whether a watch is up to date: 1 or 0", "resource")
        self._unreadable = self._counter("unreadable_objects", "objects that could not be decoded", "resource")
        self._leader = self._gauge("leader", "whether this process leads: 1 or 0")
        self._gauge("build", "the version that runs, always 1", "version").labels(__version__).set(1)
        self._initialize_labels()

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"stromboli_{name}", documentation, labels, registry=self.registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(f"stromboli_{name}", documentation, labels, registry=self.registry)

    def _initialize_labels(self) -> None:
        """Alerts watch counters grow: one that appears only with its first case hides that case from them."""
        for counter, values in (
            (self._binds, _WORDS.values()),
            (self._evictions, [outcome.value for outcome in Outcome]),
            (self._finished, (SUCCEEDED, FAILED)),
        ):
            for value in values:
                counter.labels(value)

    def bind_finished(self, outcome: Outcome, seconds: float) -> None:
        self._binds.labels(_WORDS[outcome]).inc()
        self._bind_seconds.observe(_WORDS[outcome], seconds)

    def eviction_finished(self, outcome: Outcome) -> None:
        self._evictions.labels(outcome.value).inc()

    def request_finished(self, phase: str) -> None:
        self._finished.labels(phase).inc()

    def attempt_failed(self) -> None:
        self._failed_attempts.inc()

    def unwound(self) -> None:
        self._unwound.inc()

    def unreadable(self, resource: str) -> None:
        self._unreadable.labels(resource).inc()

    def set_open(self, requests: int, members: int) -> None:
        self._open.set(requests)
        self._open_members.set(members)

    def set_pending_work(self, work: str, length: int) -> None:
        self._work.labels(work).set(length)

    def set_watch(self, resource: str, *, is_up: bool) -> None:
        self._watch_up.labels(resource).set(is_up)

    def set_leader(self, leads: bool) -> None:
        self._leader.set(leads)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
