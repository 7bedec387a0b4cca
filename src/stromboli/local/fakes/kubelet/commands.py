"""What the containers of a simulated pod do, read from their commands: `sleep N`, `exit M`, or `sleep N && exit M`.

The containers of a pod are one run: it takes as long as the longest of them, and fails if one of them fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from stromboli.kube.objects.meta import Int32
from stromboli.kube.objects.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus
from stromboli.kube.objects.resources import Resource

_SHELLS = {"sh", "bash", "/bin/sh", "/bin/bash"}
_SCRIPT = re.compile(r"(?:sleep (\d+(?:\.\d+)?)s?)?(?: *(?:&&|;) *)?(?:exit (\d{1,3}))?;?")
#: Delays before the second and later restarts in seconds, as those of a kubelet: doubled up to the maximum.
FIRST_DELAY, MAX_DELAY = 10.0, 300.0


class CommandContainer(Container):
    """A container with its command."""

    command: list[str] | None = None
    args: list[str] | None = None


class RestartingSpec(PodSpec):
    """What a kubelet reads in addition."""

    containers: list[CommandContainer] | None = None  # type: ignore[assignment]
    restart_policy: str | None = None


class RestartedContainerStatus(ContainerStatus):
    """The status of a container with its number of restarts."""

    restart_count: Int32 = 0


class RestartedStatus(PodStatus):
    """The status of a pod whose containers may have been restarted."""

    container_statuses: list[RestartedContainerStatus] | None = None  # type: ignore[assignment]


class CommandPod(Pod):
    """A pod as a kubelet reads it. Others do not decode commands."""

    spec: RestartingSpec = msgspec.field(default_factory=RestartingSpec)
    status: RestartedStatus = msgspec.field(default_factory=RestartedStatus)


PODS_WITH_COMMANDS: Resource[Pod] = Resource(CommandPod, "v1", "pods")


@dataclass(frozen=True, slots=True)
class Run:
    """How long the containers run, and how they end."""

    seconds: float
    exit_code: int


def run_of(pod: Pod) -> Run | None:
    """The run of a pod; None if at least one container runs until the pod is deleted."""
    if not isinstance(pod, CommandPod):
        return None
    runs = [_run(container) for container in pod.spec.containers or ()]
    known = [run for run in runs if run is not None]
    if not known or len(known) < len(runs):
        return None
    return Run(max(run.seconds for run in known), next((run.exit_code for run in known if run.exit_code), 0))


def restarts_after(pod: Pod, exit_code: int) -> bool:
    policy = pod.spec.restart_policy if isinstance(pod, CommandPod) else "Never"
    return policy in (None, "Always") or (policy == "OnFailure" and exit_code != 0)


def restart_count(pod: Pod) -> int:
    statuses = pod.status.container_statuses or () if isinstance(pod, CommandPod) else ()
    return max((status.restart_count for status in statuses), default=0)


def restart_delay(restarts: int) -> float:
    """Seconds before the next restart; the first one is immediate."""
    return min(MAX_DELAY, FIRST_DELAY * 2.0 ** min(restarts - 1, 10)) if restarts else 0.0


def _run(container: CommandContainer) -> Run | None:
    words = [*(container.command or ()), *(container.args or ())]
    if len(words) == 3 and words[0] in _SHELLS and words[1] == "-c":
        words = words[2:]
    found = _SCRIPT.fullmatch(" ".join(words).strip())
    if found is None or not any(found.groups()):
        return None
    sleep, code = found.groups()
    return Run(float(sleep or 0), int(code or 0) % 256)
