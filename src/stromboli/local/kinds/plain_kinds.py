"""Built-in kinds with one special rule each."""

from __future__ import annotations

from collections.abc import Iterable

from stromboli.local.api_server.clock import seconds_from_now
from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.registry import ServedResource
from stromboli.local.api_server.store import Object, Store, StoreEntry
from stromboli.local.kinds.event_validation import changed_causes, event_causes, namespace_causes, series_causes
from stromboli.local.kinds.events_api import to_core_event
from stromboli.local.kinds.strategies import KindStrategy
from stromboli.local.kinds.validation.field_errors import wrong
from stromboli.local.kinds.validation.micro_times import check_moment

_EVENTS_LAST_SECONDS = 3600


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
    """Events expire after an hour, to bound the memory of a long-running server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def default(self, resource: ServedResource, body: Object) -> None:
        check_moment(resource.kind, body.get("eventTime"))
        check_moment(resource.kind, (body.get("series") or {}).get("lastObservedTime"))

    def check(self, resource: ServedResource, body: Object) -> Iterable[Cause]:
        if not resource.group:
            return namespace_causes(body)
        is_new = body["apiVersion"] == resource.api_version  # an updated event is in the stored form already
        return event_causes(to_core_event(body)) if is_new else series_causes(body.get("series"))

    def check_change(self, resource: ServedResource, old: Object, new: Object, subresource: str) -> Iterable[Cause]:
        return changed_causes(old, new) if resource.group else ()

    def written(self, resource: ServedResource, entry: StoreEntry, previous: StoreEntry | None) -> None:
        if previous is not None:
            return
        collection = self._store.collection("", "events")
        oldest_kept = seconds_from_now(-_EVENTS_LAST_SECONDS)
        while (first := collection.first()) is not None and first.metadata["creationTimestamp"] < oldest_kept:
            self._store.remove(collection, first)
