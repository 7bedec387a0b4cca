"""Rules of pods: defaults, immutable fields and graceful deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from stromboli.local.api_server.clock import now
from stromboli.local.api_server.errors import Cause, bad_request
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store
from stromboli.local.kinds.pods.container_validation import CONTAINER_LISTS
from stromboli.local.kinds.pods.defaults import (
    defaulted_spec,
    quality_of_service,
    topology_labels,
    with_default_tolerations,
    with_labels,
)
from stromboli.local.kinds.pods.validation import pod_spec_causes
from stromboli.local.kinds.priority_classes import PodPriorities
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import wrong

FINISHED = ("Succeeded", "Failed")
GATED_MESSAGE = "Scheduling is blocked due to non-empty scheduling gates"
_IMMUTABLE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
#: Parts of the spec with rules of their own.
_JUDGED_APART = ("containers", "initContainers", "tolerations", "schedulingGates", "activeDeadlineSeconds")
#: Fields that may change while a pod is gated.
_DEADLINE = "spec.activeDeadlineSeconds"
_STEERABLE = ("nodeSelector", "affinity")


class PodKindStrategy(KindStrategy):
    """Pods: the spec is immutable with few exceptions, deletion is graceful."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._priorities = PodPriorities(store)

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec")
        if spec is not None and not isinstance(spec, dict):
            raise bad_request("spec: must be a map of keys and values")
        body["spec"] = defaulted_spec(spec or {})

    def start_status(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        status: Object = {"phase": "Pending", "qosClass": quality_of_service(spec)}
        if spec.get("schedulingGates"):
            status["conditions"] = [_gated_condition()]
        body["status"] = status

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        return pod_spec_causes(body["spec"])

    def admit(self, resource: ServedResource, body: Object) -> None:
        self._priorities.admit(resource, body)
        body["spec"] = with_default_tolerations(body["spec"])
        if node := body["spec"].get("nodeName"):
            body["metadata"] = with_labels(body["metadata"], topology_labels(self._store, node))

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        match subresource:
            case "":
                yield from _spec_causes(old["spec"], new["spec"])
            case "resize":
                if (before := quality_of_service(old["spec"])) != quality_of_service(new["spec"]):
                    yield wrong("spec", before, "Pod QOS Class may not change as a result of resizing")
            case "ephemeralcontainers":
                if _rest(old["spec"], ("ephemeralContainers",)) != _rest(new["spec"], ("ephemeralContainers",)):
                    yield Cause("FieldValueForbidden", "Forbidden: only ephemeral containers may be added", "spec")

    def touch(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Object:
        """Values set by admission are kept if an update omits them."""
        merged = super().touch(resource, old, new, subresource)
        spec = merged.get("spec")
        if subresource == "resize":
            return {**merged, "spec": _resized(old["spec"], spec or {})}
        if subresource or not isinstance(spec, dict):
            return merged
        decided = {name: old["spec"][name] for name in ("priority", "preemptionPolicy") if name in old["spec"]}
        missing = {name: value for name, value in decided.items() if spec.get(name) is None}
        return {**merged, "spec": with_default_tolerations({**spec, **missing})}

    def grace_period(self, body: Object, wanted: int | None) -> int:
        """A pod that never started or has finished is deleted without grace period."""
        spec, phase = body["spec"], body.get("status", {}).get("phase")
        if not spec.get("nodeName") or phase in FINISHED:
            return 0
        period = spec.get("terminationGracePeriodSeconds", 30) if wanted is None else wanted
        return 1 if period < 0 else int(period)


def _gated_condition() -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": GATED_MESSAGE,
        "lastProbeTime": None,
        "lastTransitionTime": now(),
    }


def _spec_causes(old: Object, new: Object) -> Iterator[Cause]:
    if old == new:
        return
    apart = _JUDGED_APART + (_STEERABLE if old.get("schedulingGates") else ())
    if _rest(old, apart) != _rest(new, apart) or _containers(old, "image") != _containers(new, "image"):
        yield Cause("FieldValueForbidden", _IMMUTABLE, "spec")
    yield from _deadline_causes(old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds"))
    if _lost(old.get("tolerations"), new.get("tolerations")):
        yield Cause(
            "FieldValueForbidden",
            "Forbidden: existing tolerations can not be modified except extended",
            "spec.tolerations",
        )
    if _lost(new.get("schedulingGates"), old.get("schedulingGates")):
        why = "Forbidden: only deletion is allowed, but found new scheduling gate"
        yield Cause("FieldValueForbidden", why, "spec.schedulingGates")


def _deadline_causes(old: int | None, new: int | None) -> Iterator[Cause]:
    """The deadline may only decrease."""
    if old is None or new == old:
        return
    if new is None:
        yield wrong(_DEADLINE, None, "must not update from a positive integer to nil value")
    elif new > old:
        yield wrong(_DEADLINE, new, "must be less than or equal to previous value")


def _resized(old: Object, new: Object) -> Object:
    """The old spec with the container resources of the new one."""
    sized = dict(old)
    for part in CONTAINER_LISTS:
        sizes = {each.get("name"): each["resources"] for each in new.get(part) or () if "resources" in each}
        if old.get(part):
            sized[part] = [{**each, "resources": sizes.get(each["name"], each["resources"])} for each in old[part]]
    return sized


def _rest(spec: Object, apart: tuple[str, ...]) -> Object:
    return {key: value for key, value in spec.items() if key not in apart}


def _containers(spec: Object, part: str) -> list[Object]:
    """The containers without one of their fields."""
    return [
        {key: value for key, value in container.items() if key != part}
        for name in CONTAINER_LISTS
        for container in spec.get(name) or ()
    ]


def _lost(before: list[Any] | None, after: list[Any] | None) -> bool:
    """Report whether an entry was removed."""
    return any(item not in (after or ()) for item in before or ())


def with_condition(status: Object, condition: Object) -> Object:
    """The status with this condition replacing the one of its type; the transition time changes only with the value."""
    conditions = list(status.get("conditions") or ())
    stamped = {**condition, "lastTransitionTime": now()}
    for index, found in enumerate(conditions):
        if found.get("type") == condition["type"]:
            if found.get("status") == condition["status"] and "lastTransitionTime" in found:
                stamped["lastTransitionTime"] = found["lastTransitionTime"]
            conditions[index] = stamped
            return {**status, "conditions": conditions}
    return {**status, "conditions": [*conditions, stamped]}
