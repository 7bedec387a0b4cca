"""Lifecycle policies: which action follows an event, those of the task before those of the Job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stromboli.core.model.values.times import duration_or_nothing
from stromboli.workloads.document import WorkloadDocument

POD_FAILED, POD_EVICTED, POD_PENDING = "PodFailed", "PodEvicted", "PodPending"
TASK_COMPLETED, TASK_FAILED, UNKNOWN, ANY = "TaskCompleted", "TaskFailed", "Unknown", "*"


class Occurrence(NamedTuple):
    """An event: what happened to a pod, a task, or the whole Job."""

    event: str
    task: str = ""
    pod: str = ""
    uid: str = ""
    partition: str = ""
    #: Since when, in seconds since the epoch.
    since: float = 0.0
    exit_codes: tuple[int, ...] = ()


class LifecyclePolicy(NamedTuple):
    """An action and the events or the exit code that it follows."""

    action: str
    events: frozenset[str]
    exit_code: int | None = None
    #: How long the event must last, in seconds; None if the policy does not specify it.
    timeout: float | None = None

    def follows(self, occurrence: Occurrence) -> bool:
        """Report whether the action follows this event. Every new pod is pending: that needs its own event and a
        timeout.
        """
        if occurrence.event == POD_PENDING:
            return POD_PENDING in self.events and self.timeout is not None
        if self.exit_code is not None:
            return self.exit_code in occurrence.exit_codes
        return occurrence.event in self.events or ANY in self.events


def policies_of(job: WorkloadDocument, path: str) -> list[LifecyclePolicy]:
    """Return the policies of a Job or a task. Raises ObjectError."""
    return [_policy(job, f"{path}[{place}]") for place in range(job.length(path))]


def policy_for(occurrence: Occurrence, *levels: Iterable[LifecyclePolicy]) -> LifecyclePolicy | None:
    """Return the first policy of the first level that follows the event."""
    return next((policy for level in levels for policy in level if policy.follows(occurrence)), None)


def _policy(job: WorkloadDocument, path: str) -> LifecyclePolicy:
    events = {job.text(f"{path}.events[{place}]") for place in range(job.length(f"{path}.events"))}
    if event := job.text(f"{path}.event"):
        events.add(event)
    code = job.value(f"{path}.exitCode")
    timeout = job.text(f"{path}.timeout")
    try:
        seconds = duration_or_nothing(timeout) if timeout else None
    except ValueError as error:
        raise job.error(f"{path}.timeout", str(error), "write a duration such as 10m") from None
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    return LifecyclePolicy(job.text(f"{path}.action"), frozenset(events), exit_code, seconds)
