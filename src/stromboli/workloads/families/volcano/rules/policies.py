"""Lifecycle policies: which events and actions exist, and which policies exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.rules.findings import RuleFinding

ANY = "*"
POD_PENDING = "PodPending"
#: Events of Volcano's controller itself: it acts on every change of a Job and its pods, whatever the policies are.
WITHOUT_EFFECT = ("JobUpdated", "OutOfSync")
EVENTS = (ANY, "PodFailed", "PodEvicted", POD_PENDING, "Unknown", "TaskCompleted", "TaskFailed", *WITHOUT_EFFECT)
ACTIONS = (
    "AbortJob",
    "CompleteJob",
    "RestartJob",
    "RestartPartition",
    "RestartPod",
    "RestartTask",
    "ResumeJob",
    "TerminateJob",
)
_PART = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h)"
_DURATION = re.compile(rf"\+?(?:{_PART})+|0")


def policies_are_valid(job: WorkloadDocument, prefix: str = "spec") -> Iterator[RuleFinding]:
    """Check the policies of a Job and of each of its tasks."""
    yield from check_policies(job, f"{prefix}.policies")
    for place in range(job.length(f"{prefix}.tasks")):
        yield from check_policies(job, f"{prefix}.tasks[{place}].policies")


def check_policies(job: WorkloadDocument, path: str) -> Iterator[RuleFinding]:
    """Check the policies of one list, of which at most one may apply to an event or exit code."""
    seen: dict[str | int, str] = {}
    for place in range(job.length(path)):
        policy = f"{path}[{place}]"
        yield from _action(job, policy)
        yield from _timeout(job, policy)
        events, code = events_of(job, policy), job.value(f"{policy}.exitCode")
        if events and code is not None:
            message, remedy = "must not specify event and exitCode simultaneously", "write two policies"
            yield RuleFinding(policy, message, remedy)
        elif code is not None:
            yield from _exit_code(policy, code, seen)
        elif not events:
            yield RuleFinding(policy, "either event and exitCode should be specified", "write one of both")
        else:
            yield from _events(policy, events, seen)
    if ANY in seen and any(isinstance(each, str) and each != ANY for each in seen):
        message = "if there's * here, no other policy should be here, because * applies to every event"
        yield RuleFinding(seen[ANY], message, "remove the policies for other events, or list their events instead of *")


def events_of(job: WorkloadDocument, policy: str) -> list[str]:
    """Return the events of a policy: the one, and the list."""
    one = job.text(f"{policy}.event")
    several = [job.text(f"{policy}.events[{place}]") for place in range(job.length(f"{policy}.events"))]
    return list(dict.fromkeys([*([one] if one else []), *several]))


def _events(policy: str, events: list[str], seen: dict[str | int, str]) -> Iterator[RuleFinding]:
    for event in events:
        if event not in EVENTS:
            remedy = f"use one of {', '.join(EVENTS)}"
            yield RuleFinding(f"{policy}.event", f"{event!r} is an invalid policy event", remedy)
        elif event in seen:
            message = f"duplicate event {event}: {seen[event]} has it already"
            yield RuleFinding(f"{policy}.event", message, "remove one of them")
        elif event in WITHOUT_EFFECT:
            message = f"policies for {event} have no effect: the controller acts on every change by itself"
            yield RuleFinding(f"{policy}.event", message, "remove it, or use another event", is_warning=True)
        seen.setdefault(event, policy)


def _exit_code(policy: str, code: object, seen: dict[str | int, str]) -> Iterator[RuleFinding]:
    field = f"{policy}.exitCode"
    if isinstance(code, bool) or not isinstance(code, int):
        yield RuleFinding(field, f"{code!r} is not a whole number", "write the exit code of a container")
    elif code == 0:
        message = "0 is not a valid error code: the container succeeded"
        yield RuleFinding(field, message, "write another code, or the event TaskCompleted")
    elif code in seen:
        yield RuleFinding(field, f"duplicate exitCode {code}: {seen[code]} has it already", "remove one of them")
    else:
        seen[code] = policy


def _action(job: WorkloadDocument, policy: str) -> Iterator[RuleFinding]:
    action = job.text(f"{policy}.action")
    if action not in ACTIONS:
        message = f"{action!r} is an invalid policy action" if action else "is missing"
        yield RuleFinding(f"{policy}.action", message, f"use one of {', '.join(ACTIONS)}")


def _timeout(job: WorkloadDocument, policy: str) -> Iterator[RuleFinding]:
    field = f"{policy}.timeout"
    text = job.text(field)
    if text and not _DURATION.fullmatch(text):
        yield RuleFinding(field, f"{text!r} is not a duration", "write one such as 90s, 10m or 1h30m")
    if not text and POD_PENDING in events_of(job, policy):
        message = "is missing, so that the policy applies as soon as a pod is created"
        yield RuleFinding(field, message, "write how long pods may be pending, such as 10m", is_warning=True)
