"""What a sink knows of the server's objects of one kind, and what it has to be told next.

Watches repeat themselves, lists overlap with them, and after a gap nobody says what vanished meanwhile. The mirror
stands between: the sink hears of every change once, hears that an object is gone also when only its absence told, and
never hears of a version that is older than one it knows. Versions are compared where they are integers, as those of
every API server known; others are compared for equality alone.

What a sink cannot take, or what cannot be read at all, is told to it as `unreadable` and hurts nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from stromboli.kube.client.decoding import Unreadable
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from stromboli.kube.objects.resources import Resource

T = TypeVar("T", bound=TopLevel)
Seen = TypeVar("Seen", bound=TopLevel, contravariant=True)

MAX_TOMBSTONES = 10_000
"""How many objects that are gone are remembered, so that a late event does not bring them back."""

_log = logging.getLogger(__name__)


class Sink(Protocol[Seen]):
    """Whoever wants to know. Called on the event loop, one object at a time, in the order of the server."""

    def apply(self, entry: Seen) -> None:
        """It was added, or it changed."""
        ...

    def remove(self, entry: Seen) -> None:
        """It is gone; the entry is the last one that was seen of it."""
        ...

    def unreadable(self, resource: Resource[Any], key: str, uid: str, problem: str) -> None:
        """It exists, but in a form that nobody understands. It counts as existing until it is removed."""
        ...


@runtime_checkable
class VersionedSink(Protocol):
    """A sink that compares versions itself, and must be told when they begin anew."""

    def forget_history(self, kind: type) -> None:
        """What is known of objects of a kind may be newer by number than what comes."""
        ...


class WatchStore(Generic[T]):
    """The last version of every object that a sink was told of."""

    def __init__(self, resource: Resource[T], sink: Sink[T]) -> None:
        self._resource = resource
        self._sink = sink
        self._known: dict[str, T] = {}
        self._failed: set[str] = set()
        self._tombstones: dict[tuple[str, str], int] = {}
        #: The newest version that was ever seen; no list may be older.
        self.newest = 0
        self.failures = 0
        self.unreadable = 0

    @property
    def is_new(self) -> bool:
        """The sink has not been told of anything, so nothing that comes can be old."""
        return not self._known and not self.newest

    def advance(self, version: str | None) -> None:
        """History went on, with or without an object that we see."""
        self.newest = max(self.newest, number(version) or 0)

    def is_stale(self, version: str) -> bool:
        """Whether a list of this version was taken before something that the sink already knows."""
        taken = number(version)
        return taken is not None and 0 < taken < self.newest

    def forget_history(self) -> None:
        """The server started over (it was restored from a copy): its versions say nothing about ours."""
        self.newest = 0
        self._tombstones.clear()
        for key, entry in self._known.items():
            self._known[key] = _with_version(entry, "")
        if isinstance(self._sink, VersionedSink):
            self._sink.forget_history(self._resource.type)

    def current(self, entry: T) -> T:
        """The entry itself, or the equal one that is known already, to hold one copy and not two."""
        known = self._known.get(entry.key)
        return known if known is not None and _same(known, entry) else entry

    def apply(self, entry: T) -> None:
        key = entry.key
        if self._supersedes(key, entry.metadata):
            self._known[key] = entry
            self._failed.discard(key)
            self._tell(self._sink.apply, entry)

    def remove(self, entry: T) -> None:
        known = self._known.get(entry.key)
        if known is None or known.metadata.uid != entry.metadata.uid:
            self._add_tombstone(entry)
        elif not _is_older(entry.metadata, known.metadata):
            self._bury(entry)

    def refuse(self, found: Unreadable) -> None:
        """An object that cannot be decoded: it exists, as far as anybody can tell."""
        self.advance(found.resource_version)
        entry = self._placeholder(found)
        if not found.key or self._supersedes(found.key, entry.metadata):
            self.unreadable += 1
            if found.key:
                known = self._known.get(found.key)
                self._known[found.key] = entry if known is None else _with_version(known, found.resource_version)
            self._report(found.key, found.uid, found.problem)

    def remove_unreadable(self, found: Unreadable) -> None:
        """It is gone, and what was last seen of it cannot be read."""
        self.advance(found.resource_version)
        known = self._known.get(found.key)
        if known is not None and known.metadata.uid == found.uid:
            self._bury(_with_version(known, found.resource_version))

    def missing(self, present: Collection[str]) -> list[T]:
        """What is known and not among the keys that a list holds."""
        return [entry for key, entry in self._known.items() if key not in present]

    def lose(self, entry: T, version: str) -> None:
        """A list of this version did not hold it, so it is gone."""
        if self._known.get(entry.key) is entry:
            self._bury(_with_version(entry, version) if number(version) else entry)

    def _supersedes(self, key: str, metadata: ObjectMeta) -> bool:
        """Whether this is news. If another object had the name, it is gone by now."""
        version = number(metadata.resource_version)
        if version is not None:
            self.newest = max(self.newest, version)
        known = self._known.get(key)
        if known is None:
            return not self._has_tombstone(key, metadata.uid, version)
        if _is_older(metadata, known.metadata):
            return False
        if known.metadata.uid != metadata.uid:
            if self._has_tombstone(key, metadata.uid, version):
                return False
            self._bury(known)
            return True
        unchanged = metadata.resource_version and metadata.resource_version == known.metadata.resource_version
        return not unchanged or key in self._failed

    def _bury(self, entry: T) -> None:
        key = entry.key
        self._known.pop(key, None)
        self._failed.discard(key)
        self._add_tombstone(entry)
        self._tell(self._sink.remove, entry)

    def _add_tombstone(self, entry: T) -> None:
        version = number(entry.metadata.resource_version)
        if version is None:
            return
        self.newest = max(self.newest, version)
        grave = (entry.key, entry.metadata.uid)
        version = max(version, self._tombstones.pop(grave, 0))
        self._tombstones[grave] = version
        if len(self._tombstones) > MAX_TOMBSTONES:
            del self._tombstones[next(iter(self._tombstones))]

    def _has_tombstone(self, key: str, uid: str, version: int | None) -> bool:
        died = self._tombstones.get((key, uid))
        return died is not None and version is not None and version <= died

    def _tell(self, handler: Callable[[T], None], entry: T) -> None:
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


def number(version: str | None) -> int | None:
    """A version as a number, if it is one."""
    return int(version) if version and version.isdecimal() and version.isascii() else None


def _is_older(one: ObjectMeta, other: ObjectMeta) -> bool:
    version, against = number(one.resource_version), number(other.resource_version)
    return version is not None and against is not None and version < against


def _same(one: TopLevel, other: TopLevel) -> bool:
    left, right = one.metadata, other.metadata
    return left.uid == right.uid and left.resource_version == right.resource_version and bool(left.resource_version)


def _with_version(entry: T, version: str) -> T:
    """A copy, because the sink may hold the entry."""
    metadata = msgspec.structs.replace(entry.metadata, resource_version=version or None)
    return msgspec.structs.replace(entry, metadata=metadata)
