"""Status patches of PodGroups and pods, with only the fields that differ.

A PodGroup has no status subresource, so its patch carries a resource version and is rejected after a concurrent write.
Conditions are a list, which a merge patch replaces as a whole: other writers' conditions are repeated unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stromboli import kube
from stromboli.binding.orders import EvictOrder
from stromboli.cluster.objects.pod_groups.expected_start import EXPECTED_START
from stromboli.cluster.objects.pod_groups.pod_groups import EVICTED, STALE, stale_since
from stromboli.cluster.objects.pod_groups.previous_domains import placement_record_changes
from stromboli.core.session.status import COMPLETED, INQUEUE, PENDING
from stromboli.kube.events.series import shortened

#: The maximum length of a message.
MAX_MESSAGE_BYTES = 1024

UNSCHEDULABLE, SCHEDULED = "Unschedulable", "Scheduled"
#: On the group of the preemptor; the group of a victim has EVICTED.
CLAIMED = "Claimed"
#: On a group whose placements are not bound.
BIND_STUCK = "BindStuck"
#: On a victim while it terminates.
POD_EVICTED = "scheduling.stromboli.dev/Evicted"
#: When one of these is true, the other one is not.
_OPPOSITES = {UNSCHEDULABLE: SCHEDULED, SCHEDULED: UNSCHEDULABLE}


@dataclass(frozen=True, slots=True)
class GroupCondition:
    type: str
    reason: str
    message: str
    #: The cycle in which it was observed.
    transition: str


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The result of a cycle for a job."""

    phase: str
    running: int
    succeeded: int
    failed: int
    condition: GroupCondition | None = None
    #: The topology domains of the job and its sub-jobs, as annotations.
    record: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingPodStatus:
    """Why a pod has no node yet, and its nominated node."""

    reason: str
    message: str
    nominated: str = ""


def group_patch(group: kube.PodGroup, desired: GroupStatus, now: str) -> dict[str, Any] | None:
    """Return the merge patch of a group's status; None when nothing differs."""
    status = group.status
    changes: dict[str, Any] = {}
    if (status.phase or "") != desired.phase:
        changes["phase"] = desired.phase
    for name in ("running", "succeeded", "failed"):
        before = getattr(status, name) or 0
        if (count := _count(desired, name, before, status.phase)) != before:
            changes[name] = count
    conditions = status.conditions or []
    if desired.condition is None:
        updated = _withdrawn(conditions, desired.phase, now)
    else:
        updated = _with_condition(conditions, desired.condition, now)
    if updated is not None:
        changes["conditions"] = msgspec.to_builtins(updated)
    metadata: dict[str, Any] = {"resourceVersion": group.metadata.resource_version}
    if record := placement_record_changes(group, desired.record):
        metadata["annotations"] = record
    elif not changes:
        return None
    return {"metadata": metadata, "status": changes}


def _count(desired: GroupStatus, name: str, before: int, phase: str | None) -> int:
    """Return a count of pods. A completed group keeps the counts of pods that were removed since."""
    count: int = getattr(desired, name)
    return max(count, before) if phase == desired.phase == COMPLETED else count


def condition_patch(group: kube.PodGroup, desired: GroupCondition, now: str) -> dict[str, Any] | None:
    """Return the merge patch that sets one condition of a group; None when nothing differs."""
    updated = _with_condition(group.status.conditions or [], desired, now)
    if updated is None:
        return None
    changes = {"conditions": msgspec.to_builtins(updated)}
    return {"metadata": {"resourceVersion": group.metadata.resource_version}, "status": changes}


def staleness_patch(group: kube.PodGroup, message: str, now: str) -> dict[str, Any] | None:
    """Return the merge patch of a group's Stale condition, false without a message; None when nothing differs. The
    transition time is when the staleness began.
    """
    if bool(message) == bool(stale_since(group)):
        return None
    reason, text = staleness_reason(message)
    fresh = kube.PodGroupCondition(
        type=STALE,
        status="True" if message else "False",
        reason=reason,
        message=shortened(text),
        last_transition_time=now,
    )
    others = [condition for condition in group.status.conditions or () if condition.type != STALE]
    changes = {"conditions": msgspec.to_builtins([*others, fresh])}
    return {"metadata": {"resourceVersion": group.metadata.resource_version}, "status": changes}


def staleness_reason(message: str) -> tuple[str, str]:
    """Return the reason and the message of the Stale condition."""
    if message:
        return "BelowMinimum", message
    return "NotStale", "the gang has its minimum again, or no pods"


def eviction_condition(kind: str, victims: Sequence[EvictOrder]) -> GroupCondition:
    """Return the condition about victims: for their own group, or for that of the preemptor."""
    first = victims[0]
    names = ", ".join(sorted(order.key for order in victims))
    pods = f"{len(victims)} pods ({names})" if len(victims) > 1 else f"pod {names}"
    if kind == EVICTED:
        favour = f" in favour of {first.preemptor}" if first.preemptor else ""
        return GroupCondition(kind, camel_case_reason(first.reason), f"{pods} evicted: {first.reason}{favour}", "")
    return GroupCondition(kind, camel_case_reason(first.reason), f"{pods} evicted to free capacity: {first.reason}", "")


def victim_patch(pod: kube.Pod, order: EvictOrder, now: str) -> dict[str, Any] | None:
    """Return the strategic merge patch of a victim's condition; None when it exists, or for another pod of the name."""
    if pod.metadata.uid != order.uid:
        return None
    if any(condition.type == POD_EVICTED for condition in pod.status.conditions or ()):
        return None
    favour = f" in favour of {order.preemptor}" if order.preemptor else ""
    condition = {
        "type": POD_EVICTED,
        "status": "True",
        "reason": camel_case_reason(order.reason),
        "message": shortened(f"{order.reason}{favour}"),
        "lastTransitionTime": now,
    }
    return {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}


def camel_case_reason(reason: str) -> str:
    """Return a reason as one word, as conditions require: `preempt` as it is, a sentence in CamelCase."""
    text = reason.split()
    return reason if len(text) == 1 else "".join(word.capitalize() for word in text if word.isalnum())


def _with_condition(
    conditions: Sequence[kube.PodGroupCondition], desired: GroupCondition, now: str
) -> list[kube.PodGroupCondition] | None:
    """Return the conditions with the desired one set and its opposite false; None when nothing differs. A group that is
    scheduled is no longer evicted, and no longer expected to start.
    """
    fresh = kube.PodGroupCondition(
        type=desired.type,
        status="True",
        reason=desired.reason,
        message=shortened(desired.message) or None,
        last_transition_time=now,
        transition_id=desired.transition,
    )
    by_type = {condition.type or "": condition for condition in conditions}
    before = by_type.get(desired.type)
    is_new = before is None or before.status != "True"
    outdated = (EVICTED, EXPECTED_START) if desired.type == SCHEDULED and is_new else ()
    contradicted = (_OPPOSITES.get(desired.type, ""), *outdated)
    old = [by_type[name] for name in contradicted if name in by_type and by_type[name].status == "True"]
    if before is not None and _essence(before) == _essence(fresh) and not old:
        return None
    by_type[desired.type] = fresh
    for each in old:
        by_type[each.type or ""] = _with_status(each, "False", now)
    return list(by_type.values())


def _with_status(condition: kube.PodGroupCondition, status: str | None, now: str) -> kube.PodGroupCondition:
    if condition.status == status:
        return condition
    return msgspec.structs.replace(condition, status=status, last_transition_time=now)


def _withdrawn(
    conditions: Sequence[kube.PodGroupCondition], phase: str, now: str
) -> list[kube.PodGroupCondition] | None:
    """Return the conditions of a group that is not unschedulable, nor scheduled while it has no pods; None when nothing
    differs. A completed group was scheduled.
    """
    untrue = (UNSCHEDULABLE, SCHEDULED) if phase in (PENDING, INQUEUE) else (UNSCHEDULABLE,)
    #: A gang that loses failed members while the others run is not scheduled in between.
    true = (SCHEDULED,) if phase == COMPLETED else ()
    desired = dict.fromkeys(untrue, "False") | dict.fromkeys(true, "True")
    updated = [_with_status(each, desired.get(each.type or "", each.status), now) for each in conditions]
    return updated if updated != list(conditions) else None


def _essence(condition: kube.PodGroupCondition) -> tuple[str | None, ...]:
    return condition.status, condition.reason, condition.message or None


def pod_patch(pod: kube.Pod, desired: PendingPodStatus, now: str) -> dict[str, Any] | None:
    """Return the strategic merge patch of a pending pod's status; None when nothing differs."""
    before = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    message = shortened(desired.message)
    changes: dict[str, Any] = {}
    if before is None or (before.status, before.reason, before.message or "") != ("False", desired.reason, message):
        stays = before is not None and before.status == "False"
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": desired.reason,
            "message": message,
            "lastTransitionTime": before.last_transition_time if before is not None and stays else now,
        }
        changes["conditions"] = [condition]
    if (pod.status.nominated_node_name or "") != desired.nominated:
        changes["nominatedNodeName"] = desired.nominated or None
    if not changes:
        return None
    return {"metadata": {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}, "status": changes}
