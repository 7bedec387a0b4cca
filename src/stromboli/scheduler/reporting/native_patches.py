"""Status patches of native groups: a condition for their scheduling, as that API defines it, and one for their
topology domain.

A strategic merge patch changes these conditions alone. A condition about the first time that a group was scheduled is
never withdrawn.
"""

from __future__ import annotations

from typing import Any

from stromboli.cluster.objects.pod_groups.native_pod_groups import INITIALLY_SCHEDULED, SCHEDULED
from stromboli.cluster.objects.pod_groups.pod_groups import EVICTED, STALE
from stromboli.cluster.objects.pod_groups.previous_domains import ALLOCATED_HYPERNODE, PLACED
from stromboli.core.model.reasons import Code
from stromboli.core.session.status import COMPLETED
from stromboli.kube.events.series import shortened
from stromboli.kube.objects import native
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS
from stromboli.scheduler.reporting import patches
from stromboli.scheduler.reporting.patches import GroupCondition, GroupStatus

DISRUPTION_TARGET = "DisruptionTarget"

Condition = dict[str, Any]


def scheduled_patch(group: native.NativePodGroup, desired: GroupStatus, now: str) -> dict[str, Any] | None:
    """Return the patch of a group's status; None when nothing differs."""
    return _patch(
        group, _scheduled(group, desired, now), _placed(group, desired.record.get(ALLOCATED_HYPERNODE, ""), now)
    )


def _scheduled(group: native.NativePodGroup, desired: GroupStatus, now: str) -> Condition | None:
    name = SCHEDULED if group.api_version == EARLY_NATIVE_POD_GROUPS.api_version else INITIALLY_SCHEDULED
    before = _find_condition(group, name)
    if desired.condition is None:
        is_stale = desired.phase == COMPLETED and before is not None and before.status == "False"
        return _condition(group, name, "True", "Scheduled", "", now) if is_stale else None
    if before is not None and before.status == "True" and name == INITIALLY_SCHEDULED:
        return None
    if desired.condition.type == patches.SCHEDULED:
        return _condition(group, name, "True", "Scheduled", desired.condition.message, now)
    is_faulty = desired.condition.reason == Code.INVALID_OBJECT.value
    reason = "SchedulerError" if is_faulty else "Unschedulable"
    return _condition(group, name, "False", reason, desired.condition.message, now)


def _placed(group: native.NativePodGroup, domain: str, now: str) -> Condition | None:
    if domain:
        return _condition(group, PLACED, "True", "InDomain", domain, now)
    return (
        _condition(group, PLACED, "False", "NoDomain", "", now) if _find_condition(group, PLACED) is not None else None
    )


def disruption_patch(group: native.NativePodGroup, desired: GroupCondition, now: str) -> dict[str, Any] | None:
    """Return the DisruptionTarget condition of the victims' group; the preemptor's group gets none."""
    if desired.type != EVICTED:
        return None
    disrupted = _condition(group, DISRUPTION_TARGET, "True", "PreemptionByScheduler", desired.message, now)
    return _patch(group, disrupted)


def native_staleness_patch(group: native.NativePodGroup, message: str, now: str) -> dict[str, Any] | None:
    """Return the patch of a group's Stale condition, false without a message."""
    before = _find_condition(group, STALE)
    if bool(message) == (before is not None and before.status == "True"):
        return None
    status = "True" if message else "False"
    return _patch(group, _condition(group, STALE, status, *patches.staleness_reason(message), now))


def _condition(
    group: native.NativePodGroup, name: str, status: str, reason: str, message: str, now: str
) -> Condition | None:
    """Return the condition as it should be; None when nothing differs."""
    before, content = _find_condition(group, name), (status, reason, shortened(message))
    if before is not None and (before.status, before.reason, before.message or "") == content:
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


def _find_condition(group: native.NativePodGroup, name: str) -> native.NativePodGroupCondition | None:
    return next((condition for condition in group.status.conditions or () if condition.type == name), None)
