"""Objects in memory: every version is an immutable entry, encoded once and shared by all readers.

One counter numbers all writes, as in etcd. Each collection keeps its recent history, which watches read: a watch is a
position in the history, not a queue. Stored bodies are never changed; a writer builds a new one, which may share parts
with the old.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec

Object = dict[str, Any]
Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
#: Number of changes that are kept, at least and at most.
_MIN_HISTORY, _MAX_HISTORY = 1_000, 20_000

encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class StoreEntry:
    """One version of an object. The body of a replaced version is decoded when it is read: few are."""

    __slots__ = ("_body", "key", "raw", "version")

    def __init__(self, key: Key, body: Object, version: int) -> None:
        self.key = key
        self._body: Object | None = body
        self.version = version
        self.raw = encode(body)

    @property
    def body(self) -> Object:
        return _decode(self.raw) if self._body is None else self._body

    def drop_body(self) -> None:
        self._body = None

    @property
    def metadata(self) -> Object:
        return self.body["metadata"]


class StoreChange:
    """One write: the new version (for a deletion, the last one) and the previous one."""

    __slots__ = ("entry", "previous", "type")

    def __init__(self, type_: str, entry: StoreEntry, previous: StoreEntry | None) -> None:
        self.type = type_
        self.entry = entry
        self.previous = previous

    @property
    def line(self) -> bytes:
        """The event as an unfiltered watch sends it."""
        return event_line(self.type, self.entry.raw)


def event_line(type_: str, raw: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (type_.encode(), raw)


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Changes of the last `seconds` are kept, unless those of one collection have more than this many bytes."""

    seconds: float = inf
    bytes: float = inf
    clock: Callable[[], float] = time.monotonic


class Collection:
    """All objects of one resource, and their recent history, as long as `limits` allow."""

    def __init__(self, api_version: str, limits: HistoryLimits) -> None:
        self.api_version = api_version
        self._limits = limits
        self._entries: dict[Key, StoreEntry] = {}
        self._sorted: list[Key] | None = []
        self._history: list[StoreChange] = []
        self._versions: list[int] = []
        self._times: list[float] = []
        self._bytes = 0
        #: The history starts after this version.
        self.forgotten = 0
        #: The last dropped change, which open watches must have seen.
        self.last_forgotten_change = 0
        #: In the order in which they began, so that a simulation is the same in every run.
        self.watchers: dict[asyncio.Event, None] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> StoreEntry | None:
        return self._entries.get(key)

    def first(self) -> StoreEntry | None:
        """The object that was created first."""
        return next(iter(self._entries.values()), None)

    def entries(self, namespace: str = "") -> Iterator[StoreEntry]:
        """Entries by key, of one namespace or of all."""
        if self._sorted is None:
            self._sorted = sorted(self._entries)
        keys = self._sorted
        if namespace:
            keys = keys[bisect_right(keys, (namespace, "")) : bisect_right(keys, (namespace + "\0", ""))]
        return map(self._entries.__getitem__, keys)

    def record(self, change: StoreChange) -> None:
        """Record a write and wake the watches."""
        key = change.entry.key
        if change.type == DELETED:
            del self._entries[key]
            self._sorted = None
            change.entry.drop_body()
        else:
            if change.type == ADDED:
                self._sorted = None
            self._entries[key] = change.entry
        if change.previous is not None:
            change.previous.drop_body()
        self._history.append(change)
        self._versions.append(change.entry.version)
        self._times.append(self._limits.clock())
        self._bytes += len(change.entry.raw)
        self._shorten_history()
        for watcher in self.watchers:
            watcher.set()

    def _shorten_history(self) -> None:
        """Drop the oldest quarter when all of it is too old, or the whole too large: every change is moved few times,
        and the history lasts a third longer than it must.
        """
        times, limits = self._times, self._limits
        part = len(times) // 4
        if len(times) > 2 * _MAX_HISTORY:
            self.forget(self._versions[-_MAX_HISTORY])
        elif 3 * part >= _MIN_HISTORY and (times[-1] - times[part] > limits.seconds or self._bytes > limits.bytes):
            self.forget(self._versions[part])

    def changes_after(self, version: int) -> list[StoreChange]:
        return self._history[bisect_right(self._versions, version) :]

    def forget(self, version: int) -> None:
        """Drop the changes up to a version. Watches that have seen them are not affected."""
        keep = bisect_right(self._versions, version)
        if keep:
            self.last_forgotten_change = self._versions[keep - 1]
        self._bytes -= sum(len(change.entry.raw) for change in self._history[:keep])
        del self._history[:keep]
        del self._versions[:keep]
        del self._times[:keep]
        self.forgotten = max(self.forgotten, version)


class Store:
    """All collections, and the counter of writes."""

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        self.version = 1
        self._limits = limits or HistoryLimits()
        self._collections: dict[tuple[str, str], Collection] = {}

    def collection(self, group: str, plural: str) -> Collection:
        return self._collections[group, plural]

    def add_collection(self, group: str, plural: str, api_version: str) -> Collection:
        """Add the collection of a resource; an existing one is kept."""
        return self._collections.setdefault((group, plural), Collection(api_version, self._limits))

    def drop_collection(self, group: str, plural: str) -> None:
        self._collections.pop((group, plural), None)

    def items(self) -> Iterator[tuple[tuple[str, str], Collection]]:
        return iter(list(self._collections.items()))

    def put(self, collection: Collection, key: Key, body: Object) -> StoreEntry:
        """Write a new object or a new version. The body is taken over, its resourceVersion set."""
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        previous = collection.get(key)
        entry = StoreEntry(key, body, self.version)
        collection.record(StoreChange(MODIFIED if previous else ADDED, entry, previous))
        return entry

    def remove(self, collection: Collection, entry: StoreEntry, body: Object | None = None) -> StoreEntry:
        """Remove an object. Its last version, as watches see it, has the version of the deletion."""
        self.version += 1
        last = dict(body or entry.body)
        last["metadata"] = {**last["metadata"], "resourceVersion": str(self.version)}
        gone = StoreEntry(entry.key, last, self.version)
        collection.record(StoreChange(DELETED, gone, entry))
        return gone

    def compact(self) -> None:
        """Drop all history: older watches and continued lists must start over."""
        for collection in self._collections.values():
            collection.forget(self.version)
