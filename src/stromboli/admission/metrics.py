"""Metrics of the webhook. Kinds come from requests, so only known ones become label values."""

from __future__ import annotations

from typing import ClassVar

from stromboli.observability.metrics.process import ProcessMetrics

_KINDS = frozenset((
    "Pod", "PodGroup", "Queue", "HyperNode", "Topology",
    "Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet",
    "ReplicationController",
))  # fmt: skip
_OPERATIONS = frozenset(("CREATE", "UPDATE", "DELETE"))


class AdmissionMetrics(ProcessMetrics):
    """Metrics of the webhook; safe to read from another thread."""

    prefix: ClassVar[str] = "stromboli_admission_"

    def __init__(self) -> None:
        super().__init__()
        self._reviews = self._counter("reviews", "Reviewed objects, by result.", "kind", "operation", "result")
        self._changes = self._counter("mutations", "Created objects by whether defaults were set.", "kind", "result")
        self._rejections = self._counter("rejected_requests", "Requests rejected without review.", "code")
        self._permissions = self._counter("authorizations", "Access reviews, by result.", "result")
        self._certificates = self._counter("certificate_reloads", "Certificate reloads, by result.", "result")
        self._durations = self._seconds("request_duration", "Time of a request.", "path")
        self._initialize(self._rejections, "400", "403", "408", "413", "500", "503")
        self._initialize(self._permissions, "allowed", "denied", "error")
        self._initialize(self._certificates, "accepted", "rejected")

    def reviewed(self, kind: str, operation: str, *, allowed: bool) -> None:
        known, done = kind if kind in _KINDS else "other", operation if operation in _OPERATIONS else "other"
        self._reviews.labels(known, done, "allowed" if allowed else "denied").inc()

    def mutated(self, kind: str, *, changed: bool) -> None:
        self._changes.labels(kind if kind in _KINDS else "other", "changed" if changed else "unchanged").inc()

    def rejected(self, code: str) -> None:
        self._rejections.labels(code).inc()

    def authorised(self, result: str) -> None:
        """Count an access review: `allowed`, `denied` or `error`."""
        self._permissions.labels(result).inc()

    def certificate_changed(self, result: str) -> None:
        """Count a reload of the certificate files: `accepted` or `rejected`."""
        self._certificates.labels(result).inc()

    def answered(self, path: str, seconds: float) -> None:
        self._durations.labels(path).observe(seconds)
