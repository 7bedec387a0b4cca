"""What is written about native groups: one condition that says whether they were scheduled, in that API's own words.

A strategic merge patch of the status touches this condition alone. Where the condition is about the first time that a
group was scheduled, it is never taken back.
"""

from __future__ import annotations

from typing import Any

from stromboli.cache.jobs import STALE
from stromboli.cache.native_groups import INITIALLY_SCHEDULED, SCHEDULED
from stromboli.kube.objects import native
from stromboli.kube.objects.catalogue import EARLY_NATIVE_POD_GROUPS
from stromboli.kube.telling.series import shortened
from stromboli.model.reasons import Code
from stromboli.scheduler import statuses
from stromboli.scheduler.statuses import EVICTED, GroupCondition, GroupStatus

DISRUPTION_TARGET = "DisruptionTarget"


def scheduled_patch(group: native.PodGroup, wanted: GroupStatus, now: str) -> dict[str, Any] | None:
    """Makes the group say what is wanted; None when it does already, or has nothing to say."""
    if wanted.condition is None:
        return None
    name = SCHEDULED if group.api_version == EARLY_NATIVE_POD_GROUPS.api_version else INITIALLY_SCHEDULED
    before = _told(group, name)
    if before is not None and before.status == "True" and name == INITIALLY_SCHEDULED:
        return None
    if wanted.condition.type == statuses.SCHEDULED:
        return _patch(group, name, "True", "Scheduled", wanted.condition.message, now)
    is_faulty = wanted.condition.reason == Code.INVALID_OBJECT.value
    reason = "SchedulerError" if is_faulty else "Unschedulable"
    return _patch(group, name, "False", reason, wanted.condition.message, now)


def disruption_patch(group: native.PodGroup, wanted: GroupCondition, now: str) -> dict[str, Any] | None:
    """Says on the group of victims that it is disrupted; nothing is said where room is made for a group."""
    if wanted.type != EVICTED:
        return None
    return _patch(group, DISRUPTION_TARGET, "True", "PreemptionByScheduler", wanted.message, now)


def native_staleness_patch(group: native.PodGroup, message: str, now: str) -> dict[str, Any] | None:
    """Says on the group that it has lost members that it needs; without a message, that it has them again."""
    before = _told(group, STALE)
    if bool(message) == (before is not None and before.status == "True"):
        return None
    return _patch(group, STALE, "True" if message else "False", *statuses.staleness_told(message), now)


def _patch(
    group: native.PodGroup, name: str, status: str, reason: str, message: str, now: str
) -> dict[str, Any] | None:
    before, said = _told(group, name), (status, reason, shortened(message))
    if before is not None and (before.status, before.reason, before.message or "") == said:
        return None
    stays = before is not None and before.status == status
    condition = {
        "type": name,
        "status": status,
        "reason": reason,
        "message": shortened(message),
        "lastTransitionTime": before.last_transition_time if before is not None and stays else now,
        "observedGeneration": group.metadata.generation or 0,
    }
    identity = {"uid": group.metadata.uid, "resourceVersion": group.metadata.resource_version}
    return {"metadata": identity, "status": {"conditions": [condition]}}


def _told(group: native.PodGroup, name: str) -> native.PodGroupCondition | None:
    return next((condition for condition in group.status.conditions or () if condition.type == name), None)
