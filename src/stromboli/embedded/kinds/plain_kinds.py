"""Built-in kinds with one peculiarity each."""

from __future__ import annotations

from stromboli.embedded.clock import seconds_from_now
from stromboli.embedded.kinds.strategies import Strategy
from stromboli.embedded.registry import ServedResource
from stromboli.embedded.store import Entry, Store

_EVENTS_LAST_SECONDS = 3600


class NodeStrategy(Strategy):
    """Nodes register with their status in one write."""

    status_at_creation = True


class RoleStrategy(Strategy):
    """Roles and their bindings may be called `system:node`."""

    free_names = True


class EventStrategy(Strategy):
    """Events go after an hour, or they would fill the memory of a server that runs for days."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def written(self, resource: ServedResource, entry: Entry, previous: Entry | None) -> None:
        if previous is not None:
            return
        collection = self._store.collection("", "events")
        oldest_kept = seconds_from_now(-_EVENTS_LAST_SECONDS)
        while (first := collection.first()) is not None and first.metadata["creationTimestamp"] < oldest_kept:
            self._store.remove(collection, first)
