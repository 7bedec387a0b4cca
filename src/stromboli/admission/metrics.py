"""The numbers of the webhook. Kinds come from those who ask, so that only known ones become series."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from stromboli.observability.metrics.histograms import SECONDS

_KINDS = frozenset(
    (
        "Pod",
        "PodGroup",
        "Queue",
        "HyperNode",
        "Topology",
        "Job",
        "CronJob",
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "DaemonSet",
    )
)
_OPERATIONS = frozenset(("CREATE", "UPDATE", "DELETE"))


class AdmissionMetrics:
    """Safe to read from another thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._reviews = self._counter("reviews", "objects that were looked at", "kind", "operation", "result")
        self._changes = self._counter("mutations", "objects by whether something was filled in", "kind", "result")
        self._away = self._counter("turned_away", "requests that were not answered, by status code", "code")
        self._permissions = self._counter("authorisations", "questions who may use a queue, by the answer", "result")
        self._certificates = self._counter("certificate_reloads", "changes of the certificate", "result")
        self._seconds = Histogram(
            "stromboli_admission_duration_seconds", "a request, until it is answered", ("path",), buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._initialize_labels()

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"stromboli_admission_{name}", documentation, labels, registry=self.registry)

    def _initialize_labels(self) -> None:
        """Alerts watch counters grow: one that appears only with its first case hides that case from them."""
        for code in ("400", "408", "413", "500", "503"):
            self._away.labels(code)
        for result in ("allowed", "denied", "unanswered"):
            self._permissions.labels(result)
        for result in ("accepted", "refused"):
            self._certificates.labels(result)

    def judged(self, kind: str, operation: str, *, allowed: bool) -> None:
        known, done = kind if kind in _KINDS else "other", operation if operation in _OPERATIONS else "other"
        self._reviews.labels(known, done, "allowed" if allowed else "refused").inc()

    def filled_in(self, kind: str, *, changed: bool) -> None:
        self._changes.labels(kind if kind in _KINDS else "other", "changed" if changed else "unchanged").inc()

    def turned_away(self, code: str) -> None:
        self._away.labels(code).inc()

    def authorised(self, result: str) -> None:
        """The API server was asked who may use a queue: `allowed`, `denied` or `unanswered`."""
        self._permissions.labels(result).inc()

    def certificate_changed(self, result: str) -> None:
        """The files were read again: `accepted` or `refused`."""
        self._certificates.labels(result).inc()

    def answered(self, path: str, seconds: float) -> None:
        self._seconds.labels(path).observe(seconds)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
