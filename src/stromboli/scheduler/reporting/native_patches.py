"""What is written about native groups: a condition that says whether they were scheduled, in that API's own words, and
one that says where in the network they are.

A strategic merge patch of the status touches these conditions alone. Where the condition is about the first time that a
group was scheduled, it is never taken back.
"""

from __future__ import annotations

from typing import Any

from stromboli.cluster.objects.pod_groups.native_pod_groups import INITIALLY_SCHEDULED, SCHEDULED
from stromboli.cluster.objects.pod_groups.pod_groups import STALE
from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE, PLACED
from stromboli.core.model.reasons import Code
from stromboli.kube.events.series import shortened
from stromboli.kube.objects import native
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS
from stromboli.scheduler.reporting import patches
from stromboli.scheduler.reporting.patches import EVICTED, GroupCondition, GroupStatus

DISRUPTION_TARGET = "DisruptionTarget"

Condition = dict[str, Any]


def scheduled_patch(group: native.NativePodGroup, wanted: GroupStatus, now: str) -> dict[str, Any] | None:
    """Makes the group say what is wanted; None when it does already, or has nothing to say."""
    return _patch(
        group, _scheduled(group, wanted, now), _placed(group, wanted.record.get(ALLOCATED_HYPERNODE, ""), now)
    )


def _scheduled(group: native.NativePodGroup, wanted: GroupStatus, now: str) -> Condition | None:
    if wanted.condition is None:
        return None
    name = SCHEDULED if group.api_version == EARLY_NATIVE_POD_GROUPS.api_version else INITIALLY_SCHEDULED
    before = _told(group, name)
    if before is not None and before.status == "True" and name == INITIALLY_SCHEDULED:
        return None
    if wanted.condition.type == patches.SCHEDULED:
        return _condition(group, name, "True", "Scheduled", wanted.condition.message, now)
    is_faulty = wanted.condition.reason == Code.INVALID_OBJECT.value
    reason = "SchedulerError" if is_faulty else "Unschedulable"
    return _condition(group, name, "False", reason, wanted.condition.message, now)


def _placed(group: native.NativePodGroup, home: str, now: str) -> Condition | None:
    if home:
        return _condition(group, PLACED, "True", "InDomain", home, now)
    return _condition(group, PLACED, "False", "NoDomain", "", now) if _told(group, PLACED) is not None else None


def disruption_patch(group: native.NativePodGroup, wanted: GroupCondition, now: str) -> dict[str, Any] | None:
    """Says on the group of victims that it is disrupted; nothing is said where room is made for a group."""
    if wanted.type != EVICTED:
        return None
    disrupted = _condition(group, DISRUPTION_TARGET, "True", "PreemptionByScheduler", wanted.message, now)
    return _patch(group, disrupted)


def native_staleness_patch(group: native.NativePodGroup, message: str, now: str) -> dict[str, Any] | None:
    """Says on the group that it has lost members that it needs; without a message, that it has them again."""
    before = _told(group, STALE)
    if bool(message) == (before is not None and before.status == "True"):
        return None
    status = "True" if message else "False"
    return _patch(group, _condition(group, STALE, status, *patches.staleness_reason(message), now))


def _condition(
    group: native.NativePodGroup, name: str, status: str, reason: str, message: str, now: str
) -> Condition | None:
    """The condition as it ought to be; None when it is so already."""
    before, said = _told(group, name), (status, reason, shortened(message))
    if before is not None and (before.status, before.reason, before.message or "") == said:
        return None
    stays = before is not None and before.status == status
    return {
        "type": name,
        "status": status,
        "reason": reason,
        "message": shortened(message),
        "lastTransitionTime": before.last_transition_time if before is not None and stays else now,
        "observedGeneration": group.metadata.generation or 0,
    }


def _patch(group: native.NativePodGroup, *conditions: Condition | None) -> dict[str, Any] | None:
    changed = [condition for condition in conditions if condition is not None]
    if not changed:
        return None
    identity = {"uid": group.metadata.uid, "resourceVersion": group.metadata.resource_version}
    return {"metadata": identity, "status": {"conditions": changed}}


def _told(group: native.NativePodGroup, name: str) -> native.NativePodGroupCondition | None:
    return next((condition for condition in group.status.conditions or () if condition.type == name), None)
