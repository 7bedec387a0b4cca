"""Status updates of Deployments, and the progress deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli.kube.objects.timestamps import seconds_of, stamp
from stromboli.kube.objects.workloads import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from stromboli.local.fakes.workloads.replica_rules import desired
from stromboli.local.fakes.workloads.rollout_rules import bounds

AVAILABLE, PROGRESSING = "Available", "Progressing"
_TOO_LATE = "ProgressDeadlineExceeded"


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """Counts over all ReplicaSets of a Deployment."""

    replicas: int
    updated: int
    ready: int
    available: int


def progress(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> RolloutProgress:
    everything = [each.status for each in (*old, *((new,) if new else ()))]
    return RolloutProgress(
        replicas=sum(each.replicas or 0 for each in everything),
        updated=(new.status.replicas or 0) if new else 0,
        ready=sum(each.ready_replicas or 0 for each in everything),
        available=sum(each.available_replicas or 0 for each in everything),
    )


def is_complete(deployment: Deployment, now_at: RolloutProgress) -> bool:
    replicas = desired(deployment)
    return now_at.updated == now_at.replicas == replicas and now_at.available >= replicas


def status_changes(deployment: Deployment, now_at: RolloutProgress, name: str, now: float) -> dict[str, Any]:
    """The status fields that change; `name` is that of the new ReplicaSet."""
    status = deployment.status
    missing = max(0, max(desired(deployment), now_at.replicas) - now_at.available)
    wanted: dict[str, tuple[Any, Any]] = {
        "replicas": (status.replicas or 0, now_at.replicas),
        "updatedReplicas": (status.updated_replicas or 0, now_at.updated),
        "readyReplicas": (status.ready_replicas or 0, now_at.ready),
        "availableReplicas": (status.available_replicas or 0, now_at.available),
        "unavailableReplicas": (status.unavailable_replicas or 0, missing),
        "observedGeneration": (status.observed_generation, deployment.metadata.generation),
    }
    changes: dict[str, Any] = {field: new for field, (old, new) in wanted.items() if old != new}
    before = {each.type: each for each in status.conditions or ()}
    after = [
        _availability(deployment, now_at, before.get(AVAILABLE), now),
        _progressing(deployment, now_at, before.get(PROGRESSING), name, now),
    ]
    if after != [before.get(AVAILABLE), before.get(PROGRESSING)]:
        others = [each for kind, each in before.items() if kind not in (AVAILABLE, PROGRESSING)]
        changes["conditions"] = msgspec.to_builtins([*others, *(each for each in after if each is not None)])
    return changes


def progress_deadline(deployment: Deployment, now_at: RolloutProgress) -> float | None:
    """The progress deadline of a rollout, in seconds since the epoch."""
    limit = deployment.spec.progress_deadline_seconds
    present = next((each for each in deployment.status.conditions or () if each.type == PROGRESSING), None)
    if limit is None or present is None or deployment.spec.paused or is_complete(deployment, now_at):
        return None
    moved = seconds_of(present.last_update_time)
    return None if moved is None or present.reason == _TOO_LATE else moved + limit


def _availability(
    deployment: Deployment, now_at: RolloutProgress, before: DeploymentCondition | None, now: float
) -> DeploymentCondition:
    is_enough = now_at.available >= bounds(deployment).min_available
    if is_enough:
        return _condition(
            before, AVAILABLE, True, "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        )
    message = "Deployment does not have minimum availability."
    return _condition(before, AVAILABLE, False, "MinimumReplicasUnavailable", message, now)


def _progressing(
    deployment: Deployment, now_at: RolloutProgress, before: DeploymentCondition | None, name: str, now: float
) -> DeploymentCondition | None:
    if deployment.spec.paused:
        return before
    subject = f'ReplicaSet "{name}"'
    if is_complete(deployment, now_at):
        message = f"{subject} has successfully progressed."
        return _condition(before, PROGRESSING, True, "NewReplicaSetAvailable", message, now)
    if before is None:
        return _condition(None, PROGRESSING, True, "NewReplicaSetCreated", f"Created new replica set {name!r}", now)
    if _has_moved(deployment.status, now_at) or before.reason == "NewReplicaSetAvailable":
        message = f"{subject} is progressing."
        return _condition(before, PROGRESSING, True, "ReplicaSetUpdated", message, now, moved=True)
    end = progress_deadline(deployment, now_at)
    if end is not None and now >= end:
        return _condition(before, PROGRESSING, False, _TOO_LATE, f"{subject} has timed out progressing.", now)
    return before


def _has_moved(before: DeploymentStatus, after: RolloutProgress) -> bool:
    """Report whether the rollout progressed: more new, fewer old or more healthy pods."""
    old_before = (before.replicas or 0) - (before.updated_replicas or 0)
    return (
        after.updated > (before.updated_replicas or 0)
        or after.replicas - after.updated < old_before
        or after.ready > (before.ready_replicas or 0)
        or after.available > (before.available_replicas or 0)
    )


def _condition(
    before: DeploymentCondition | None,
    kind: str,
    holds: bool,
    reason: str,
    message: str,
    now: float,
    *,
    moved: bool = False,
) -> DeploymentCondition:
    """The previous condition, if status and reason are unchanged."""
    status, moment = "True" if holds else "False", stamp(now)
    previous = (before.status, before.reason, before.message) if before is not None else None
    if before is not None and previous == (status, reason, message) and not moved:
        return before
    turned = before.last_transition_time if before is not None and before.status == status else moment
    return DeploymentCondition(
        type=kind, status=status, reason=reason, message=message, last_transition_time=turned, last_update_time=moment
    )
