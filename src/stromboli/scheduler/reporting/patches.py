"""What is to be written about jobs, pods and queues, as patches: only what differs from what stands there.

A PodGroup has no status subresource, so its patch carries the version it was made for and is refused when somebody
else wrote meanwhile. Conditions are a list, which a merge patch replaces as a whole: those of others are put back
as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stromboli import kube
from stromboli.binding.orders import EvictOrder
from stromboli.cluster.objects.pod_groups.pod_groups import STALE, stale_since
from stromboli.cluster.objects.pod_groups.previous_domains import placement_record_changes
from stromboli.kube.events.series import shortened

#: The longest message that is written: people read it in a terminal.
MAX_MESSAGE_BYTES = 1024

UNSCHEDULABLE, SCHEDULED = "Unschedulable", "Scheduled"
#: On the group of a victim, and on the group in whose favour it went.
EVICTED, CLAIMED = "Evicted", "Claimed"
#: On a group whose members are not bound although that was decided.
BIND_STUCK = "BindStuck"
#: On a victim while it leaves.
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
    """What a cycle says about a job."""

    phase: str
    running: int
    succeeded: int
    failed: int
    condition: GroupCondition | None = None
    #: The record of the domains in which the job and its sub-jobs are, as annotations.
    record: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingPodStatus:
    """Why a pod has no node yet, and the node it may have soon."""

    reason: str
    message: str
    nominated: str = ""


def group_patch(group: kube.PodGroup, wanted: GroupStatus, now: str) -> dict[str, Any] | None:
    """The merge patch that makes the group say what is wanted; None when it does already."""
    status = group.status
    changes: dict[str, Any] = {}
    if (status.phase or "") != wanted.phase:
        changes["phase"] = wanted.phase
    for count in ("running", "succeeded", "failed"):
        if (getattr(status, count) or 0) != getattr(wanted, count):
            changes[count] = getattr(wanted, count)
    conditions = status.conditions or []
    told = _told(conditions, wanted.condition, now)
    if told is not None:
        changes["conditions"] = msgspec.to_builtins(told)
    metadata: dict[str, Any] = {"resourceVersion": group.metadata.resource_version}
    if record := placement_record_changes(group, wanted.record):
        metadata["annotations"] = record
    elif not changes:
        return None
    return {"metadata": metadata, "status": changes}


def condition_patch(group: kube.PodGroup, wanted: GroupCondition, now: str) -> dict[str, Any] | None:
    """The merge patch that adds one condition to a group; None when it says so already."""
    told = _told(group.status.conditions or [], wanted, now)
    if told is None:
        return None
    changes = {"conditions": msgspec.to_builtins(told)}
    return {"metadata": {"resourceVersion": group.metadata.resource_version}, "status": changes}


def staleness_patch(group: kube.PodGroup, message: str, now: str) -> dict[str, Any] | None:
    """The merge patch that makes a group say that it has lost members that it needs, or, without a message, that it has
    them again; None when it says so already. The time of the condition is when that began.
    """
    if bool(message) == bool(stale_since(group)):
        return None
    reason, words = staleness_reason(message)
    fresh = kube.PodGroupCondition(
        type=STALE,
        status="True" if message else "False",
        reason=reason,
        message=shortened(words),
        last_transition_time=now,
    )
    others = [condition for condition in group.status.conditions or () if condition.type != STALE]
    changes = {"conditions": msgspec.to_builtins([*others, fresh])}
    return {"metadata": {"resourceVersion": group.metadata.resource_version}, "status": changes}


def staleness_reason(message: str) -> tuple[str, str]:
    """The reason and the message of the condition."""
    if message:
        return "BelowMinimum", message
    return "NotStale", "the gang has its minimum again, or nothing of it is left"


def eviction_condition(kind: str, victims: Sequence[EvictOrder]) -> GroupCondition:
    """Who goes, why, and in whose favour: for the group of the victims, or for the one that wants their room."""
    first = victims[0]
    names = ", ".join(order.key for order in victims)
    pods = f"{len(victims)} pods ({names})" if len(victims) > 1 else f"pod {names}"
    if kind == EVICTED:
        favour = f" in favour of {first.preemptor}" if first.preemptor else ""
        return GroupCondition(kind, camel_case_reason(first.reason), f"{pods} evicted: {first.reason}{favour}", "")
    return GroupCondition(kind, camel_case_reason(first.reason), f"{pods} evicted to make room: {first.reason}", "")


def victim_patch(pod: kube.Pod, order: EvictOrder, now: str) -> dict[str, Any] | None:
    """The strategic merge patch that makes a leaving pod say why; None when it does already, or is another one."""
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
    """A reason as one word, as conditions want it: `preempt` as it is, a sentence in CamelCase."""
    words = reason.split()
    return reason if len(words) == 1 else "".join(word.capitalize() for word in words if word.isalnum())


def _told(
    conditions: Sequence[kube.PodGroupCondition], wanted: GroupCondition | None, now: str
) -> list[kube.PodGroupCondition] | None:
    """The conditions with the wanted one among them, its opposite no longer true; None if that is so already."""
    if wanted is None:
        return None
    fresh = kube.PodGroupCondition(
        type=wanted.type,
        status="True",
        reason=wanted.reason,
        message=shortened(wanted.message) or None,
        last_transition_time=now,
        transition_id=wanted.transition,
    )
    by_type = {condition.type or "": condition for condition in conditions}
    before = by_type.get(wanted.type)
    opposite = by_type.get(_OPPOSITES.get(wanted.type, ""))
    is_contradicted = opposite is not None and opposite.status == "True"
    if before is not None and _says(before) == _says(fresh) and not is_contradicted:
        return None
    by_type[wanted.type] = fresh
    if opposite is not None and is_contradicted:
        by_type[opposite.type or ""] = msgspec.structs.replace(opposite, status="False", last_transition_time=now)
    return list(by_type.values())


def _says(condition: kube.PodGroupCondition) -> tuple[str | None, ...]:
    return condition.status, condition.reason, condition.message or None


def pod_patch(pod: kube.Pod, wanted: PendingPodStatus, now: str) -> dict[str, Any] | None:
    """The strategic merge patch of a pod's status that makes it say why it waits; None when it does already."""
    before = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    message = shortened(wanted.message)
    changes: dict[str, Any] = {}
    if before is None or (before.status, before.reason, before.message or "") != ("False", wanted.reason, message):
        stays = before is not None and before.status == "False"
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": wanted.reason,
            "message": message,
            "lastTransitionTime": before.last_transition_time if before is not None and stays else now,
        }
        changes["conditions"] = [condition]
    if (pod.status.nominated_node_name or "") != wanted.nominated:
        changes["nominatedNodeName"] = wanted.nominated or None
    if not changes:
        return None
    return {"metadata": {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}, "status": changes}


def queue_patch(queue: kube.KubeQueue, allocated: Mapping[str, str]) -> dict[str, Any] | None:
    """The merge patch of a queue's status that makes it say what its jobs hold; None when it does already."""
    before = queue.status.allocated or {}
    if before == allocated:
        return None
    gone = {name: None for name in before if name not in allocated}
    return {"status": {"allocated": {**gone, **allocated}}}
