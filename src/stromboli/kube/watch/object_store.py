"""The objects of one kind as a watch has passed them to its sink.

Watches repeat events, lists overlap with watches, and after a gap only a list shows what was deleted. The store passes
every change to the sink once, passes deletions also when only a list shows them, and never passes an older version.

Objects that cannot be decoded, or that the sink fails to process, are passed as `unreadable` and affect no others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from stromboli.kube.client.decoding import Unreadable
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.version_gate import VersionGate, is_older, number

T = TypeVar("T", bound=TopLevel)
Seen = TypeVar("Seen", bound=TopLevel, contravariant=True)

_log = logging.getLogger(__name__)


class Sink(Protocol[Seen]):
    """Receives changes on the event loop, one object at a time, in the order of the server."""

    def apply(self, entry: Seen) -> None:
        """The object was added or changed."""
        ...

    def remove(self, entry: Seen) -> None:
        """The object was deleted; the entry is its last known version."""
        ...

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        """Handle an object that cannot be decoded; it counts as existing until it is removed."""
        ...


@runtime_checkable
class VersionedSink(Protocol):
    """A sink that compares versions as well."""

    def forget_history(self, kind: type) -> None:
        """Accept lower resource versions of a kind: the API server's history has been reset."""
        ...


@runtime_checkable
class GatedSink(Protocol):
    """A sink with a version gate of its own, through which own writes pass as well."""

    gate: VersionGate


class WatchStore(Generic[T]):
    """The last version of every object that was passed to the sink. For a GatedSink it tracks which objects exist, and
    leaves the comparison of versions to the sink.
    """

    def __init__(self, resource: Resource[T], sink: Sink[T]) -> None:
        self._resource = resource
        self._sink = sink
        self._known: dict[str, T] = {}
        self._failed: set[str] = set()
        self._gate = None if isinstance(sink, GatedSink) else VersionGate()
        #: The highest version seen; no list may be older.
        self.newest = 0
        self.failures = 0
        self.unreadable = 0

    @property
    def is_new(self) -> bool:
        """Report whether nothing was passed to the sink yet, so that no report can be outdated."""
        return not self._known and not self.newest

    def advance(self, version: str | None) -> None:
        """Note a version of the server, with or without an object."""
        self.newest = max(self.newest, number(version) or 0)

    def is_stale(self, version: str) -> bool:
        """Report whether a list of this version is older than what the sink has."""
        taken = number(version)
        return taken is not None and 0 < taken < self.newest

    def forget_history(self) -> None:
        """The server was restored from a backup: its versions cannot be compared with the known ones."""
        self.newest = 0
        if self._gate is not None:
            self._gate.forget_tombstones()
        for key, entry in self._known.items():
            self._known[key] = _with_version(entry, "")
        if isinstance(self._sink, VersionedSink):
            self._sink.forget_history(self._resource.type)

    def current(self, entry: T) -> T:
        """The known entry if it is the same version, so that one copy is kept in memory."""
        known = self._known.get(entry.key)
        return known if known is not None and _same_version(known.metadata, entry.metadata) else entry

    def apply(self, entry: T) -> None:
        key = entry.key
        if self._supersedes(key, entry.metadata):
            self._known[key] = entry
            self._failed.discard(key)
            self._pass_on(self._sink.apply, entry)

    def remove(self, entry: T) -> None:
        known = self._known.get(entry.key)
        if known is None or known.metadata.uid != entry.metadata.uid:
            self._record_deletion(entry)
            if self._gate is None:
                self._pass_on(self._sink.remove, entry)
        elif self._gate is None or not is_older(entry.metadata, known.metadata):
            self._drop(entry)

    def refuse(self, found: Unreadable) -> None:
        """Add an object that cannot be decoded: it exists."""
        self.advance(found.resource_version)
        entry = self._placeholder(found)
        if not found.key or self._supersedes(found.key, entry.metadata):
            self.unreadable += 1
            if found.key:
                known = self._known.get(found.key)
                self._known[found.key] = entry if known is None else _with_version(known, found.resource_version)
            self._report(found.key, found.uid, found.problem)

    def remove_unreadable(self, found: Unreadable) -> None:
        """Remove an object whose last version cannot be decoded."""
        self.advance(found.resource_version)
        known = self._known.get(found.key)
        if known is not None and known.metadata.uid == found.uid:
            self._drop(_with_version(known, found.resource_version))

    def missing(self, present: Collection[str]) -> list[T]:
        """Known objects that a list does not contain."""
        return [entry for key, entry in self._known.items() if key not in present]

    def lose(self, entry: T, version: str) -> None:
        """Remove an object that a list of this version does not contain."""
        if self._known.get(entry.key) is entry:
            self._drop(_with_version(entry, version) if number(version) else entry)

    def _supersedes(self, key: str, metadata: ObjectMeta) -> bool:
        """Report whether to pass the object on: it is new, or failed before. One of another uid is removed first."""
        self.advance(metadata.resource_version)
        known = self._known.get(key)
        if self._gate is None:
            return known is None or not _same_version(metadata, known.metadata)
        if self._gate.admits(key, metadata, known.metadata if known is not None else None):
            if known is not None and known.metadata.uid != metadata.uid:
                self._drop(known)
            return True
        return key in self._failed and known is not None and _same_version(metadata, known.metadata)

    def _drop(self, entry: T) -> None:
        self._known.pop(entry.key, None)
        self._failed.discard(entry.key)
        self._record_deletion(entry)
        self._pass_on(self._sink.remove, entry)

    def _record_deletion(self, entry: T) -> None:
        self.advance(entry.metadata.resource_version)
        if self._gate is not None:
            self._gate.record_deletion(entry.key, entry.metadata)

    def _pass_on(self, handler: Callable[[T], None], entry: T) -> None:
        try:
            handler(entry)
        except Exception as error:
            self.failures += 1
            _log.exception("watch handler failed", extra={"kind": self._resource.kind, "key": entry.key})
            if entry.key in self._known:
                self._failed.add(entry.key)
            self._report(entry.key, entry.metadata.uid, f"a handler failed: {error or type(error).__name__}")

    def _report(self, key: str, uid: str, problem: str) -> None:
        try:
            self._sink.unreadable(self._resource, key, uid, problem)
        except Exception:
            self.failures += 1
            _log.exception("watch handler failed", extra={"kind": self._resource.kind, "key": key})

    def _placeholder(self, found: Unreadable) -> T:
        namespace, _, name = found.key.rpartition("/")
        metadata = ObjectMeta(name, namespace, found.uid, resource_version=found.resource_version or None)
        return self._resource.type(metadata=metadata)


def _same_version(one: ObjectMeta, other: ObjectMeta) -> bool:
    return one.uid == other.uid and one.resource_version == other.resource_version and bool(one.resource_version)


def _with_version(entry: T, version: str) -> T:
    """A copy, because the sink may hold the entry."""
    metadata = msgspec.structs.replace(entry.metadata, resource_version=version or None)
    return msgspec.structs.replace(entry, metadata=metadata)
