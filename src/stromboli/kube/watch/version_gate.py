"""The version gate: decides whether a report about an object is newer than what is known.

Reports come from lists, watches and the answers to own writes, so the same version may arrive twice, late, or after the
object was deleted. Versions are compared as integers where they are integers, and for equality otherwise.
"""

from __future__ import annotations

from stromboli.kube.objects.meta import ObjectMeta

#: Number of deleted objects that are remembered, so that a late report does not restore one.
MAX_TOMBSTONES = 20_000


class VersionGate:
    """Compares reports with the known version, and with the tombstones of deleted objects."""

    def __init__(self) -> None:
        self._tombstones: dict[tuple[str, str], int] = {}

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
        identity = (key, metadata.uid)
        self._tombstones[identity] = max(version, self._tombstones.pop(identity, 0))
        if len(self._tombstones) > MAX_TOMBSTONES:
            del self._tombstones[next(iter(self._tombstones))]

    def forget_tombstones(self) -> None:
        """The server was restored from a backup: lower versions may be news."""
        self._tombstones.clear()

    def _is_deleted(self, key: str, metadata: ObjectMeta) -> bool:
        deleted_at, version = self._tombstones.get((key, metadata.uid)), number(metadata.resource_version)
        return deleted_at is not None and version is not None and version <= deleted_at


def number(version: str | None) -> int | None:
    """A version as a number, if it is one."""
    return int(version) if version and version.isdecimal() and version.isascii() else None


def is_older(one: ObjectMeta, other: ObjectMeta) -> bool:
    version, against = number(one.resource_version), number(other.resource_version)
    return version is not None and against is not None and version < against
