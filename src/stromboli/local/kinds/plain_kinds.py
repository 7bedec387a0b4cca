"""Built-in kinds with few special rules: roles, leases, events, disruption budgets and namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from stromboli.local.api_server.clock import seconds_from_now
from stromboli.local.api_server.errors import Cause, bad_request, forbidden
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store, StoreEntry
from stromboli.local.kinds.events import (
    changed_causes,
    core_event_causes,
    event_causes,
    series_causes,
    set_empty_fields,
    to_core_event,
)
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import one_of, wrong

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


def check_moment(kind: str, found: Any) -> None:
    """Reject an invalid timestamp; an absent one is valid."""
    if found is None or (isinstance(found, str) and _MOMENT.fullmatch(found)):
        return
    why = f'parsing time "{found}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse it'
    raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {why}')


_EVENTS_LAST_SECONDS = 3600
MAX_EVENTS = 5_000


class RoleStrategy(KindStrategy):
    """Names of roles and role bindings may contain colons, as in `system:node`."""

    free_names = True


class ConditionalStrategy(KindStrategy):
    """Kinds with concurrent writers: updates require a resourceVersion."""

    unconditional_update = False


class LeaseStrategy(ConditionalStrategy):
    """Leases have timestamps with microseconds."""

    def default(self, resource: ServedResource, body: Object) -> None:
        spec = body.get("spec") or {}
        for field in ("acquireTime", "renewTime"):
            check_moment(resource.kind, spec.get(field))

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        spec = body.get("spec") or {}
        if (seconds := spec.get("leaseDurationSeconds")) is not None and seconds <= 0:
            yield wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")
        if (number := spec.get("leaseTransitions")) is not None and number < 0:
            yield wrong("spec.leaseTransitions", number, "must be greater than or equal to 0")


class EventStrategy(KindStrategy):
    """Events expire after an hour, and the oldest when there are many, to bound the memory of a long-running server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def default(self, resource: ServedResource, body: Object) -> None:
        check_moment(resource.kind, body.get("eventTime"))
        check_moment(resource.kind, (body.get("series") or {}).get("lastObservedTime"))
        set_empty_fields(body)

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        if not resource.group:
            return core_event_causes(body)
        is_new = body["apiVersion"] == resource.api_version  # an updated event is in the stored form already
        return event_causes(to_core_event(body)) if is_new else series_causes(body.get("series"))

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        return changed_causes(old, new) if resource.group else ()

    def written(self, resource: ServedResource, entry: StoreEntry, previous: StoreEntry | None) -> None:
        if previous is not None:
            return
        collection = self._store.collection("", "events")
        oldest_kept = seconds_from_now(-_EVENTS_LAST_SECONDS)
        while (first := collection.first()) is not None and (
            len(collection) > MAX_EVENTS or first.metadata["creationTimestamp"] < oldest_kept
        ):
            self._store.remove(collection, first)


_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    f"validation is '{_PERCENT.pattern}')"
)
_BOUNDS = ("minAvailable", "maxUnavailable")
_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


class BudgetStrategy(KindStrategy):
    """Exactly one bound, a number or a percentage. Updates require a resourceVersion."""

    unconditional_update = False

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        spec = body.get("spec") or {}
        if all(spec.get(bound) is not None for bound in _BOUNDS):
            yield wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set")
        for bound in _BOUNDS:
            if (value := spec.get(bound)) is not None:
                yield from _bound_causes(f"spec.{bound}", value)
        if policy := spec.get("unhealthyPodEvictionPolicy"):
            yield from one_of("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)


def _bound_causes(field: str, value: Any) -> Iterator[Cause]:
    if isinstance(value, int):
        if value < 0:
            yield wrong(field, value, "must be greater than or equal to 0")
    elif not _PERCENT.fullmatch(value):
        yield wrong(field, value, _PERCENT_RULE)
    elif int(value[:-1]) > 100:
        yield wrong(field, value, "must not be greater than 100%")


_UNDELETABLE = ("default", "kube-system", "kube-public")
#: Initial namespaces.
INITIAL_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceStrategy(KindStrategy):
    """A deleted namespace stays until it is empty."""

    def default(self, resource: ServedResource, body: Object) -> None:
        metadata = body["metadata"]
        labels = metadata.get("labels") or {}
        if labels.get(_NAME_LABEL) != metadata.get("name"):
            metadata["labels"] = {**labels, _NAME_LABEL: metadata.get("name")}

    def check(self, resource: ServedResource, body: Object) -> Iterator[Cause]:
        name = body["metadata"].get("name") or ""
        if "." in name:
            yield wrong("metadata.name", name, "must not contain dots")

    def start_status(self, resource: ServedResource, body: Object) -> None:
        body["spec"] = {"finalizers": ["kubernetes"]}
        body["status"] = {"phase": "Active"}

    def touch(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Object:
        """The finalizers change only through the `finalize` subresource."""
        merged = super().touch(resource, old, new, subresource)
        return merged if subresource == "finalize" else {**merged, "spec": old["spec"]}

    def delete_begins(self, resource: ServedResource, body: Object) -> None:
        name = body["metadata"]["name"]
        if name in _UNDELETABLE:
            raise forbidden(resource, name, "this namespace may not be deleted")
        body["status"] = {**(body.get("status") or {}), "phase": "Terminating"}

    def holds_back(self, body: Object) -> bool:
        return bool((body.get("spec") or {}).get("finalizers"))
