"""The status column of pods, as in `kubectl get pods`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from stromboli.local.discovery.printers.columns import AGE, NAME, NONE, Cell, Field, Object, at, items, text
from stromboli.local.discovery.printers.durations import age, parse_time

_TERMINAL_PHASES = ("Succeeded", "Failed")


def pod_status(pod: Object) -> str:
    """The phase, or a more specific reason: of an init container, of a container, of a deletion."""
    status = at(pod, "status", "reason") or at(pod, "status", "phase") or "Unknown"
    if _condition(pod, "PodScheduled").get("reason") == "SchedulingGated":
        status = "SchedulingGated"
    status = _initializing(pod) or _running(pod, status)
    if at(pod, "metadata", "deletionTimestamp") and at(pod, "status", "phase") not in _TERMINAL_PHASES:
        return "Unknown" if at(pod, "status", "reason") == "NodeLost" else "Terminating"
    return status


def _initializing(pod: Object) -> str:
    """The state of the first unfinished init container; empty if all are done."""
    declared = items(pod, "spec", "initContainers")
    sidecars = {entry.get("name") for entry in declared if entry.get("restartPolicy") == "Always"}
    for position, container in enumerate(items(pod, "status", "initContainerStatuses")):
        is_sidecar = container.get("name") in sidecars
        if at(container, "state", "terminated", "exitCode") == 0 or (is_sidecar and container.get("started")):
            continue
        return _initializing_reason(container, f"{position}/{len(declared)}")
    return ""


def _initializing_reason(container: Object, progress: str) -> str:
    terminated = at(container, "state", "terminated")
    if terminated is not None:
        return f"Init:{_terminated_reason(terminated)}"
    waiting = at(container, "state", "waiting", "reason")
    return f"Init:{waiting}" if waiting and waiting != "PodInitializing" else f"Init:{progress}"


def _running(pod: Object, status: str) -> str:
    has_running = False
    for container in reversed(items(pod, "status", "containerStatuses")):
        waiting = at(container, "state", "waiting", "reason")
        terminated = at(container, "state", "terminated")
        if waiting:
            status = waiting
        elif terminated is not None:
            status = _terminated_reason(terminated)
        elif container.get("ready") and at(container, "state", "running") is not None:
            has_running = True
    if status == "Completed" and has_running:
        return "Running" if _condition(pod, "Ready").get("status") == "True" else "NotReady"
    return status


def _terminated_reason(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _condition(pod: Object, kind: str) -> dict[str, Any]:
    return next((entry for entry in items(pod, "status", "conditions") if entry.get("type") == kind), {})


def _counted(pod: Object) -> Iterator[Object]:
    """The statuses of containers and sidecars, which run concurrently."""
    sidecars = {c.get("name") for c in items(pod, "spec", "initContainers") if c.get("restartPolicy") == "Always"}
    yield from (c for c in items(pod, "status", "initContainerStatuses") if c.get("name") in sidecars)
    yield from items(pod, "status", "containerStatuses")


def _ready(pod: Object, now: datetime) -> Cell:
    sidecars = [c for c in items(pod, "spec", "initContainers") if c.get("restartPolicy") == "Always"]
    total = len(items(pod, "spec", "containers")) + len(sidecars)
    ready = sum(1 for container in _counted(pod) if container.get("ready"))
    return f"{ready}/{total}"


def _restarts(pod: Object, now: datetime) -> Cell:
    count, latest = 0, ""
    statuses = items(pod, "status", "initContainerStatuses") if _initializing(pod) else list(_counted(pod))
    for container in statuses:
        count += container.get("restartCount") or 0
        finished = at(container, "lastState", "terminated", "finishedAt")
        if parse_time(finished) is not None:
            latest = max(latest, finished)
    return f"{count} ({age(latest, now)} ago)" if count and latest else str(count)


def _readiness_gates(pod: Object, now: datetime) -> Cell:
    gates = items(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    passed = sum(1 for gate in gates if _condition(pod, gate.get("conditionType", "")).get("status") == "True")
    return f"{passed}/{len(gates)}"


def _address(pod: Object, now: datetime) -> Cell:
    addresses = items(pod, "status", "podIPs")
    return addresses[0].get("ip") or NONE if addresses else at(pod, "status", "podIP") or NONE


PODS = (
    NAME,
    Field("Ready", _ready, description="How many containers are ready, out of all."),
    Field("Status", lambda pod, now: pod_status(pod), description="What the pod is doing."),
    Field("Restarts", _restarts, description="How often containers were restarted."),
    AGE,
    Field("IP", _address, priority=1),
    Field("Node", text("spec", "nodeName", default=NONE), priority=1),
    Field("Nominated Node", text("status", "nominatedNodeName", default=NONE), priority=1),
    Field("Readiness Gates", _readiness_gates, priority=1),
)
