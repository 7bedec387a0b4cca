"""The metrics of a binder; a scheduler that binds directly has other metric names."""

from __future__ import annotations

from typing import ClassVar

from stromboli.binding.orders import Outcome
from stromboli.observability.metrics.process import ProcessMetrics

_RESULTS = {
    Outcome.DONE: "bound",
    Outcome.IMPOSSIBLE: "rejected",
    Outcome.UNKNOWN: "unknown",
    Outcome.DROPPED: "dropped",
}


class BinderMetrics(ProcessMetrics):
    prefix: ClassVar[str] = "stromboli_binder_"

    def __init__(self) -> None:
        super().__init__()
        self._define_watching()
        self._binds = self._counter("binds", "Pods by the result of their binding.", "result")
        self._bind_seconds = self._tally("bind_duration", "Time of a binding, retries included.", "result")
        self._evictions = self._counter("evictions", "Pods by the result of their eviction.", "result")
        self._finished = self._counter("requests_finished", "Bind requests, by result.", "result")
        self._failed_attempts = self._counter("attempts_failed", "Failed attempts at bind requests.")
        self._unwound = self._counter("requests_unwound", "Bind requests whose pods were evicted again.")
        self._pending = self._gauge("requests_pending", "Bind requests without a result.")
        self._pending_members = self._gauge("request_members_pending", "Members of bind requests without a result.")
        self._initialize(self._binds, *_RESULTS.values())
        self._initialize(self._evictions, *(outcome.value for outcome in Outcome))
        self._initialize(self._finished, "succeeded", "failed")

    def bind_finished(self, outcome: Outcome, seconds: float) -> None:
        self._binds.labels(_RESULTS[outcome]).inc()
        self._bind_seconds.observe(_RESULTS[outcome], seconds)

    def eviction_finished(self, outcome: Outcome) -> None:
        self._evictions.labels(outcome.value).inc()

    def request_finished(self, phase: str) -> None:
        self._finished.labels(phase.lower()).inc()

    def attempt_failed(self) -> None:
        self._failed_attempts.inc()

    def unwound(self) -> None:
        self._unwound.inc()

    def set_open(self, requests: int, members: int) -> None:
        self._pending.set(requests)
        self._pending_members.set(members)
