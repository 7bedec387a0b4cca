"""The version gate: decides whether a report about an object is newer than what is known.

Reports come from lists, watches and the answers to own writes, so the same version may arrive twice, late, or after the
object was deleted. Versions are compared as integers where they are integers, and for equality otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from stromboli.kube.objects.meta import ObjectMeta

#: Number of deleted objects that are remembered, so that a late report does not restore one.
MAX_TOMBSTONES = 20_000
#: And for how long, in seconds: several times the timeout of a request, whose answer may be such a report.
TOMBSTONE_SECONDS = 120.0


class VersionGate:
    """Compares reports with the known version, and with the tombstones of deleted objects."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: By name and uid: the version of the deletion, and when it was reported, in this order.
        self._tombstones: dict[tuple[str, str], tuple[int, float]] = {}

    def admits(self, key: str, reported: ObjectMeta, known: ObjectMeta | None) -> bool:
        """Report whether the version is new; `known` is the last admitted version of that name, if any."""
        if self._is_deleted(key, reported) or (known is not None and is_older(reported, known)):
            return False
        if known is None or known.uid != reported.uid:
            return True
        return not reported.resource_version or reported.resource_version != known.resource_version

    def record_deletion(self, key: str, metadata: ObjectMeta) -> None:
        """Reject this object from now on, unless a newer version of it is reported: a list may have missed it."""
        version = number(metadata.resource_version)
        if version is None:
            return
        identity, now = (key, metadata.uid), self._clock()
        earlier = self._tombstones.pop(identity, None)
        self._tombstones[identity] = (version if earlier is None else max(version, earlier[0])), now
        self._forget_old(now)

    def forget_tombstones(self) -> None:
        """The server was restored from a backup: lower versions may be news."""
        self._tombstones.clear()

    def _forget_old(self, now: float) -> None:
        tombstones = self._tombstones
        while tombstones:
            oldest = next(iter(tombstones))
            if len(tombstones) <= MAX_TOMBSTONES and now - tombstones[oldest][1] < TOMBSTONE_SECONDS:
                return
            del tombstones[oldest]

    def _is_deleted(self, key: str, metadata: ObjectMeta) -> bool:
        tombstone = self._tombstones.get((key, metadata.uid))
        if tombstone is None:
            return False
        version = number(metadata.resource_version)
        return version is not None and version <= tombstone[0]


def number(version: str | None) -> int | None:
    """A version as a number, if it is one."""
    return int(version) if version and version.isdecimal() and version.isascii() else None


def is_older(one: ObjectMeta, other: ObjectMeta) -> bool:
    version, against = number(one.resource_version), number(other.resource_version)
    return version is not None and against is not None and version < against
