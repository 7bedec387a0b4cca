"""The entrance of the cache: watch events and the answers to own writes pass through one version gate.

The same object may be reported twice, late, or after it was deleted. Only news passes: of one object only newer
versions, of one name only one object, and of a deleted object nothing. An object that cannot be processed is
quarantined and reported; it affects no others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.version_gate import VersionGate, is_older

Identity = tuple[type[TopLevel], str]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An object that cannot be used, and why."""

    api_version: str
    kind: str
    key: str
    uid: str
    problem: str


class Ingest:
    """Passes news to a Cluster. `changed` is called with every object that passed and its previous version, which for a
    removed object is the object itself; `refused` with every quarantined object.
    """

    def __init__(
        self,
        cluster: Cluster,
        changed: Callable[[TopLevel, TopLevel | None], None] = lambda entry, before: None,
        refused: Callable[[Quarantined], None] = lambda quarantined: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.gate = VersionGate(clock)
        self.quarantine: dict[tuple[str, str], Quarantined] = {}
        #: Number of reports that were no news.
        self.stale = 0
        self._changed = changed
        self._refused = refused
        self._known: dict[Identity, TopLevel] = {}
        #: Known objects whose version cannot be compared, because the server was restored from a backup.
        self._unversioned: set[Identity] = set()

    def get(self, kind: type[TopLevel], key: str) -> TopLevel | None:
        """An object as last reported."""
        return self._known.get((kind, key))

    def apply(self, entry: TopLevel) -> None:
        """Add or update an object."""
        kind, key = identity = type(entry), entry.key
        known = self._known.get(identity)
        if not self.gate.admits(_name(identity), entry.metadata, self._comparable(identity, known)):
            self.stale += 1
            return
        if problem := self._uid_problem(entry):
            self._refuse(entry, problem)
            return
        if known is not None and known.metadata.uid != entry.metadata.uid:
            self._drop(known)
        self._known[identity] = entry
        self._unversioned.discard(identity)
        self.quarantine.pop((kind.kind_name, key), None)
        self._pass_on(entry, known)

    def remove(self, entry: TopLevel) -> None:
        """Remove an object, unless the known object of that name is another or newer one."""
        identity = type(entry), entry.key
        known = self._known.get(identity)
        self.quarantine.pop((identity[0].kind_name, entry.key), None)
        if known is None or known.metadata.uid != entry.metadata.uid:
            if not self._uid_problem(entry):
                self._record_deletion(entry)
            return
        if (comparable := self._comparable(identity, known)) is not None and is_older(entry.metadata, comparable):
            return
        self._drop(known)
        self._record_deletion(entry)
        self._changed(known, known)

    def unreadable(self, resource: Resource[TopLevel], key: str, uid: str, problem: str) -> None:
        """Quarantine an object that cannot be decoded. Its previous version still counts."""
        self._quarantine(Quarantined(resource.api_version, resource.kind, key, uid, problem))

    def forget_history(self, kind: type) -> None:
        """The server was restored from a backup: lower versions of a kind may be news."""
        self._unversioned.update(identity for identity in self._known if identity[0] is kind)
        self.gate.forget_tombstones()

    def _comparable(self, identity: Identity, known: TopLevel | None) -> ObjectMeta | None:
        """Metadata of the known object, if its version can be compared."""
        return known.metadata if known is not None and identity not in self._unversioned else None

    def _uid_problem(self, entry: TopLevel) -> str:
        """Return why a pod cannot be distinguished from others: the accounting is by uid."""
        if not isinstance(entry, Pod):
            return ""
        if not entry.metadata.uid:
            return "the pod has no uid"
        other = self.cluster.pods.find(entry.metadata.uid)
        return f"the pod has the uid of pod {other.key}" if other is not None and other.key != entry.key else ""

    def _pass_on(self, entry: TopLevel, before: TopLevel | None) -> None:
        try:
            self.cluster.apply(entry)
        except Exception as error:
            self._refuse(entry, f"{type(error).__name__}: {error}")
        self._changed(entry, before)

    def _refuse(self, entry: TopLevel, problem: str) -> None:
        kind = type(entry)
        api_version = entry.api_version or kind.group
        self._quarantine(Quarantined(api_version, kind.kind_name, entry.key, entry.metadata.uid, problem))

    def _quarantine(self, quarantined: Quarantined) -> None:
        self.quarantine[quarantined.kind, quarantined.key] = quarantined
        self._refused(quarantined)

    def _drop(self, entry: TopLevel) -> None:
        identity = type(entry), entry.key
        self._known.pop(identity, None)
        self._unversioned.discard(identity)
        self.cluster.remove(entry)
        self._record_deletion(entry)

    def _record_deletion(self, entry: TopLevel) -> None:
        self.gate.record_deletion(_name((type(entry), entry.key)), entry.metadata)


def _name(identity: Identity) -> str:
    return f"{identity[0].kind_name} {identity[1]}"
