"""Watches: positions in the history of a collection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from stromboli.local.api_server.errors import expired
from stromboli.local.api_server.lists import too_new
from stromboli.local.api_server.selectors import Matcher
from stromboli.local.api_server.store import ADDED, DELETED, MODIFIED, Store, StoreChange, StoreEntry
from stromboli.local.http.calls import ApiCall
from stromboli.local.http.representations import WholeForm

_FROM_NOW = ("", "0")


class StoreWatch:
    """The position of one client. `wake` is set when there may be news."""

    def __init__(self, store: Store, form: WholeForm, call: ApiCall, matches: Matcher | None) -> None:
        self._store = store
        self._form = form
        self._collection = form.collection
        self._namespace = call.namespace
        self._matches = matches
        self.wake = asyncio.Event()
        self.wants_bookmarks = call.flag("allowWatchBookmarks")
        self._streams_list = call.flag("sendInitialEvents")
        is_set = "sendInitialEvents" in call.query
        self._starts_with_state = self._streams_list if is_set else call.query.get("resourceVersion", "") in _FROM_NOW
        self.place = self._start(call)
        self._is_known_too_late = not self._starts_with_state and self.place < self._collection.forgotten
        entries = self._collection.entries(self._namespace) if self._starts_with_state else ()
        self._initial = [entry for entry in entries if matches is None or matches(entry.body)]

    def _start(self, call: ApiCall) -> int:
        wanted = call.query.get("resourceVersion", "")
        if wanted and int(wanted) > self._store.version:
            raise too_new(int(wanted), self._store.version)
        if self._starts_with_state or wanted in _FROM_NOW:
            return self._store.version
        return int(wanted)

    def opening(self) -> Iterator[bytes]:
        """The initial objects of a watch without resourceVersion. To be called once."""
        initial, self._initial = self._initial, []
        yield from map(self._form.initial, initial)
        if self._streams_list and self.wants_bookmarks:
            yield self._form.bookmark(self.place, initial_events_end=True)

    def news(self) -> list[StoreChange]:
        """The changes since the last call."""
        if self._is_known_too_late or self.place < self._collection.last_forgotten_change:
            raise expired(f"too old resource version: {self.place} ({self._collection.forgotten})")
        changes = self._collection.changes_after(self.place)
        self.place = self._store.version
        return changes

    def line(self, change: StoreChange) -> bytes | None:
        """The change as an event of this watch; None if it is not selected."""
        if self._namespace and change.entry.key[0] != self._namespace:
            return None
        if self._matches is None:
            return self._form.event(change.type, change, change.entry)
        return self._selected_line(change, self._matches)

    def _selected_line(self, change: StoreChange, matches: Matcher) -> bytes | None:
        """An object that starts to match is added, one that stops matching is deleted."""
        was = change.previous is not None and matches(change.previous.body)
        is_now = change.type != DELETED and matches(change.entry.body)
        if not was and not is_now:
            return None
        type_ = MODIFIED if was and is_now else ADDED if is_now else DELETED
        return self._form.event(type_, change, self._shown(change, is_now))

    def _shown(self, change: StoreChange, is_now: bool) -> StoreEntry:
        """An object that left the selection is shown in its last matching state, with the version of the change."""
        if is_now or change.type == DELETED or change.previous is None:
            return change.entry
        body = change.previous.body
        metadata = {**body["metadata"], "resourceVersion": str(change.entry.version)}
        return StoreEntry(change.entry.key, {**body, "metadata": metadata}, change.entry.version)

    def bookmark(self) -> bytes:
        return self._form.bookmark(self.place)

    def __enter__(self) -> StoreWatch:
        self._collection.watchers[self.wake] = None
        return self

    def __exit__(self, *_: object) -> None:
        self._collection.watchers.pop(self.wake, None)
