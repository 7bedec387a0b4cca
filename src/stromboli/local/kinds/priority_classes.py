"""Priority classes, and the priority of pods."""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.local.api_server.errors import Cause, forbidden
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store
from stromboli.local.kinds.strategies import KindStrategy

_GROUP = "scheduling.k8s.io"
_RESERVED = "system-"
_HIGHEST_OF_USERS = 1_000_000_000
SYSTEM_CLASSES = (
    ("system-cluster-critical", 2_000_000_000, "Used for system critical pods that must run in the cluster."),
    ("system-node-critical", 2_000_001_000, "Used for system critical pods that must not be moved from their node."),
)


def system_classes() -> list[Object]:
    return [
        {"metadata": {"name": name}, "value": value, "description": text, "preemptionPolicy": "PreemptLowerPriority"}
        for name, value, text in SYSTEM_CLASSES
    ]


class PodPriorities:
    """Resolves priority classes when pods are created."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, resource: ServedResource, pod: Object) -> None:
        """Set the priority from the class: a pod may repeat the value, but not choose it."""
        spec, name = pod["spec"], pod["metadata"]["name"]
        found = self._class(resource, name, spec.get("priorityClassName") or "")
        value = found["value"] if found else 0
        if spec.get("priority") not in (None, value):
            why = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority "
                f"admission controller computed {value} from the given PriorityClass name"
            )
            raise forbidden(resource, name, why)
        policy = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
        settled = {"priority": value, "preemptionPolicy": spec.get("preemptionPolicy") or policy}
        if found:
            settled["priorityClassName"] = found["metadata"]["name"]
        pod["spec"] = {**spec, **settled}

    def _class(self, resource: ServedResource, pod: str, name: str) -> Object | None:
        classes = self._store.collection(_GROUP, "priorityclasses")
        if not name:  # the lowest if there are several defaults
            defaults = (each.body for each in classes.entries() if each.body.get("globalDefault"))
            return min(defaults, key=_value, default=None)
        entry = classes.get(("", name))
        if entry is None:
            raise forbidden(resource, pod, f"no PriorityClass with name {name} was found")
        return entry.body


def _value(body: Object) -> int:
    return int(body["value"])


class PriorityClassStrategy(KindStrategy):
    """The value of a class is immutable: existing pods keep it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        name = body["metadata"]["name"]
        if name.startswith(_RESERVED):
            raise forbidden(resource, name, "this is a system priority class and cannot be deleted")

    def default(self, resource: ServedResource, body: Object) -> None:
        body.setdefault("preemptionPolicy", "PreemptLowerPriority")
        body.setdefault("value", 0)

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        name, value = body["metadata"].get("name", ""), body["value"]
        known = {each[0]: each[1] for each in SYSTEM_CLASSES}
        if not isinstance(value, int):
            yield Cause("FieldValueInvalid", f"Invalid value: {value!r}: must be a whole number", "value")
        elif name.startswith("system-") and known.get(name) != value:
            why = "Forbidden: priority class names with 'system-' prefix are reserved for system use only"
            yield Cause("FieldValueForbidden", why, "metadata.name")
        elif value > _HIGHEST_OF_USERS and name not in known:
            why = f"Forbidden: maximum allowed value of a user defined priority is {_HIGHEST_OF_USERS}"
            yield Cause("FieldValueForbidden", why, "value")

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        if old["value"] != new["value"]:
            yield Cause("FieldValueForbidden", "Forbidden: may not be changed in an update.", "value")
        if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
            why = f'Invalid value: "{new.get("preemptionPolicy")}": field is immutable'
            yield Cause("FieldValueInvalid", why, "preemptionPolicy")

    def admit(self, resource: ServedResource, body: Object) -> None:
        if not body.get("globalDefault"):
            return
        for entry in self._store.collection(_GROUP, "priorityclasses").entries():
            if entry.body.get("globalDefault"):
                why = f"PriorityClass {entry.key[1]} is already marked as default. Only one default can exist"
                raise forbidden(resource, body["metadata"]["name"], why)
