"""The life of a pod on a simulated node, as a rule: what happens to it next, and when.

    bound ──start-seconds──▶ Running ──run-seconds──▶ Succeeded, or Failed with its exit code
      └─ does not fit any more ─▶ Failed (OutOfcpu)         deleted ──stop-seconds──▶ gone

Annotations of the pod set the times; without them a pod starts at once, runs until it is deleted, and stops at once.
Without the annotation for the run time, commands of the form `sleep N && exit M` end the containers, and the restart
policy of the pod applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stromboli.kube.objects.pod import Container, Pod
from stromboli.kube.objects.timestamps import RUN_SECONDS, seconds_of, stamp
from stromboli.local.fakes.kubelet.commands import restart_count, restart_delay, restarts_after, run_of

START_SECONDS = "stromboli.dev/start-seconds"
STOP_SECONDS = "stromboli.dev/stop-seconds"
EXIT_CODE = "stromboli.dev/exit-code"
#: The termination message of init containers.
TERMINATION_MESSAGE = "stromboli.dev/termination-message"


@dataclass(frozen=True, slots=True)
class Step:
    """The next change of a pod: a new status, its removal, or nothing; and its time in seconds since the epoch."""

    at: float
    status: Mapping[str, Any] | None = None
    is_end: bool = False


def next_step(
    pod: Pod, *, bound_at: float, started_at: float | None, now: float, address: str, host: str, second: float = 1.0
) -> Step | None:
    """The next step; None if nothing more happens by itself. `now` is only written as the time of the change, and
    `second` is the length of a second in commands.
    """
    if pod.metadata.deletion_timestamp is not None:
        return Step(_stop_at(pod, now), is_end=True)
    if pod.status.phase in ("Succeeded", "Failed"):
        return None
    if pod.status.phase != "Running":
        return Step(bound_at + seconds(pod, START_SECONDS, 0.0), status=running(pod, now, address, host))
    start = started_at if started_at is not None else seconds_of(pod.status.start_time) or now
    return _ending(pod, start, now, second)


def seconds(pod: Pod, annotation: str, default: float) -> float:
    """A duration from an annotation; an invalid one counts as absent."""
    try:
        value = float((pod.metadata.annotations or {}).get(annotation, default))
    except ValueError:
        return default
    return value if 0 <= value < 1e9 else default


def running(pod: Pod, now: float, address: str, host: str) -> dict[str, Any]:
    """The status of a pod whose containers have just started."""
    moment = stamp(now)
    address = host if pod.spec.host_network else address
    states = [_container(pod, entry, {"running": {"startedAt": moment}}, True) for entry in pod.spec.containers or ()]
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": moment, "finishedAt": moment}}
    if message := (pod.metadata.annotations or {}).get(TERMINATION_MESSAGE):
        done["terminated"]["message"] = message
    started = [
        _container(pod, entry, {"running": {"startedAt": moment}} if entry.restart_policy == "Always" else done, True)
        for entry in pod.spec.init_containers or ()
    ]
    return {
        "phase": "Running",
        "startTime": moment,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(moment, "True", None, "PodReadyToStartContainers", "Initialized", *_READINESS),
        "containerStatuses": states,
        **({"initContainerStatuses": started} if started else {}),
    }


def finished(pod: Pod, now: float, exit_code: int, reason: str | None = None) -> dict[str, Any]:
    """The status of a pod whose containers have finished."""
    moment = stamp(now)
    start = pod.status.start_time or moment
    end = {
        "exitCode": exit_code,
        "reason": "Error" if exit_code else "Completed",
        "startedAt": start,
        "finishedAt": moment,
    }
    status: dict[str, Any] = {
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": _conditions(moment, "False", "PodFailed" if exit_code else "PodCompleted", *_READINESS),
        "containerStatuses": [
            _container(pod, entry, {"terminated": end}, False) for entry in pod.spec.containers or ()
        ],
    }
    return status | ({"reason": reason} if reason else {})


def rejected(now: float, reason: str, message: str) -> dict[str, Any]:
    """The status of a pod that its node rejects."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": stamp(now),
        "conditions": _conditions(stamp(now), "False", "PodFailed", *_READINESS),
    }


_READINESS = ("Ready", "ContainersReady")


def _stop_at(pod: Pod, now: float) -> float:
    """When the pod is gone: the deletion timestamp is the end of the grace period, but the pod may finish earlier."""
    grace = float(pod.metadata.deletion_grace_period_seconds or 0)
    asked_at = (seconds_of(pod.metadata.deletion_timestamp) or now) - grace
    return asked_at + min(grace, seconds(pod, STOP_SECONDS, 0.0))


def _ending(pod: Pod, start: float, now: float, second: float) -> Step | None:
    """When the pod finishes: by itself or by its deadline, whichever comes first."""
    own = _own_ending(pod, start, now, second)
    deadline = pod.spec.active_deadline_seconds
    if deadline is not None and (own is None or start + deadline < own.at):
        return Step(start + deadline, status=finished(pod, now, 137, "DeadlineExceeded"))
    return own


def _own_ending(pod: Pod, start: float, now: float, second: float) -> Step | None:
    """The end of the run, or its restart."""
    if RUN_SECONDS in (pod.metadata.annotations or {}):
        own = seconds(pod, RUN_SECONDS, -1.0)
        return Step(start + own, status=finished(pod, now, _exit_code(pod))) if own >= 0 else None
    run = run_of(pod)
    if run is None:
        return None
    if not restarts_after(pod, run.exit_code):
        return Step(start + run.seconds * second, status=finished(pod, now, run.exit_code))
    delay = run.seconds + restart_delay(restart_count(pod))
    return Step(start + delay * second, status=_restarted(pod, now, run.exit_code))


def _restarted(pod: Pod, now: float, exit_code: int) -> dict[str, Any]:
    """The status of a pod whose containers ended and were started again."""
    moment, count = stamp(now), restart_count(pod) + 1
    ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed", "finishedAt": moment}
    states = [
        _container(pod, entry, {"running": {"startedAt": moment}}, True)
        | {"restartCount": count, "lastState": {"terminated": ended}}
        for entry in pod.spec.containers or ()
    ]
    return {"phase": "Running", "containerStatuses": states}


def _exit_code(pod: Pod) -> int:
    text = (pod.metadata.annotations or {}).get(EXIT_CODE, "0")
    return int(text) % 256 if text.isascii() and text.isdecimal() and len(text) < 9 else 1


def _container(pod: Pod, container: Container, state: dict[str, Any], is_ready: bool) -> dict[str, Any]:
    return {
        "name": container.name,
        "image": container.image or "",
        "imageID": "",
        "containerID": f"simulated://{pod.metadata.uid}/{container.name}",
        "ready": is_ready,
        "started": is_ready,
        "restartCount": restart_count(pod),
        "state": state,
    }


def _conditions(moment: str, status: str, reason: str | None, *types: str) -> list[dict[str, Any]]:
    value = {"reason": reason} if reason else {}
    return [{"type": kind, "status": status, "lastTransitionTime": moment, **value} for kind in types]
