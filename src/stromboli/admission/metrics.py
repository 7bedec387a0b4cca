"""Metrics of the webhook. Kinds come from requests, so only known ones become label values."""

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
    """Metrics of the webhook; safe to read from another thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._reviews = self._counter("reviews", "Number of reviewed objects.", "kind", "operation", "result")
        self._changes = self._counter(
            "mutations", "Number of created objects by whether defaults were set.", "kind", "result"
        )
        self._rejections = self._counter(
            "rejected_requests", "Number of requests that were rejected without review, by status code.", "code"
        )
        self._permissions = self._counter("authorisations", "Number of access reviews by result.", "result")
        self._certificates = self._counter("certificate_reloads", "Number of certificate reloads by result.", "result")
        self._seconds = Histogram(
            "stromboli_admission_duration_seconds", "Duration of a request in seconds.", ("path",), buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._initialize_labels()

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"stromboli_admission_{name}", documentation, labels, registry=self.registry)

    def _initialize_labels(self) -> None:
        """Initialize the series: alerts on increase miss the first increment of a series that does not exist before."""
        for code in ("400", "408", "413", "500", "503"):
            self._rejections.labels(code)
        for result in ("allowed", "denied", "unanswered"):
            self._permissions.labels(result)
        for result in ("accepted", "refused"):
            self._certificates.labels(result)

    def reviewed(self, kind: str, operation: str, *, allowed: bool) -> None:
        known, done = kind if kind in _KINDS else "other", operation if operation in _OPERATIONS else "other"
        self._reviews.labels(known, done, "allowed" if allowed else "refused").inc()

    def mutated(self, kind: str, *, changed: bool) -> None:
        self._changes.labels(kind if kind in _KINDS else "other", "changed" if changed else "unchanged").inc()

    def rejected(self, code: str) -> None:
        self._rejections.labels(code).inc()

    def authorised(self, result: str) -> None:
        """Count an access review: `allowed`, `denied` or `unanswered`."""
        self._permissions.labels(result).inc()

    def certificate_changed(self, result: str) -> None:
        """Count a reload of the certificate files: `accepted` or `refused`."""
        self._certificates.labels(result).inc()

    def answered(self, path: str, seconds: float) -> None:
        self._seconds.labels(path).observe(seconds)

    def render(self, accept: str = "") -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
