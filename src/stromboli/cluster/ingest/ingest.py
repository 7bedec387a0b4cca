"""The door of the cache: what the watches and our own writes report goes through here.

Reports come from several places (a watch per kind, the answers to our own writes), so the same object may be
reported twice, late, or after it is gone. The mirror lets pass what is news: of one object only newer versions,
of one name only one object, and of an object that is gone nothing more. One object that cannot be taken in is
set aside and told about; it stops nobody else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from stromboli.cluster.state.cluster import Cluster
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource

#: How many objects that are gone are remembered, so that a late report does not bring one back.
MAX_TOMBSTONES = 20_000


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An object that cannot be used: who it is, and why, in words."""

    api_version: str
    kind: str
    key: str
    uid: str
    problem: str


@dataclass(slots=True)
class _Known:
    entry: TopLevel
    version: int


class Mirror:
    """Keeps a Cluster true to what is reported. `changed` is told of every report that passed, with what was known
    before, which for an object that is gone is the object itself; `refused` of every object that was set aside.
    """

    def __init__(
        self,
        cluster: Cluster,
        changed: Callable[[TopLevel, TopLevel | None], None] = lambda entry, before: None,
        refused: Callable[[Quarantined], None] = lambda quarantined: None,
    ) -> None:
        self.cluster = cluster
        self.quarantine: dict[tuple[str, str], Quarantined] = {}
        #: Reports that were no news.
        self.stale = 0
        self._changed = changed
        self._refused = refused
        self._known: dict[tuple[type, str], _Known] = {}
        #: By uid, the versions at which objects were gone. Who is heard of in a newer one is there after all: a list
        #: may have left it out.
        self._gone: OrderedDict[str, int] = OrderedDict()

    def apply(self, entry: TopLevel) -> None:
        """An object was added or changed."""
        kind, version, uid = type(entry), _version(entry), entry.metadata.uid
        place = (kind, entry.key)
        known = self._known.get(place)
        if self._is_gone(uid, version) or (known is not None and not _is_news(known, version)):
            self.stale += 1
            return
        if problem := self._confusion(entry):
            self._refuse(entry, problem)
            return
        if known is not None and known.entry.metadata.uid != uid:
            self._drop(known.entry)
        self._known[place] = _Known(entry, version)
        self.quarantine.pop((kind.kind_name, entry.key), None)
        self._pass_on(entry, known.entry if known else None)

    def remove(self, entry: TopLevel) -> None:
        """An object is gone, and another of its name may be there already."""
        known = self._known.get((type(entry), entry.key))
        self.quarantine.pop((type(entry).kind_name, entry.key), None)
        if known is not None and known.entry.metadata.uid == entry.metadata.uid:
            self._drop(known.entry)
            self._bury(entry.metadata.uid, _version(entry))
            self._changed(known.entry, known.entry)
        elif not self._confusion(entry):
            self._bury(entry.metadata.uid, _version(entry))

    def _is_gone(self, uid: str, version: int) -> bool:
        died = self._gone.get(uid)
        return died is not None and (died < 0 or version <= died)

    def _confusion(self, entry: TopLevel) -> str:
        """Why a pod cannot be told from others, in words: everything that is counted is counted by uid."""
        if not isinstance(entry, Pod):
            return ""
        if not entry.metadata.uid:
            return "the pod has no uid"
        other = self.cluster.pods.find(entry.metadata.uid)
        return f"the pod has the uid of pod {other.key}" if other is not None and other.key != entry.key else ""

    def unreadable(self, resource: Resource[TopLevel], key: str, uid: str, problem: str) -> None:
        """An object cannot be read. What was known of it before still counts: a pod that runs takes room."""
        self._set_aside(Quarantined(resource.api_version, resource.kind, key, uid, problem))

    def forget_history(self, kind: type) -> None:
        """The server's history of a kind has begun anew, as after a backup was put back: lower versions may be news."""
        for (known_kind, _), known in self._known.items():
            if known_kind is kind:
                known.version = -1
        self._gone.clear()

    def get(self, kind: type, key: str) -> TopLevel | None:
        """An object as it was last reported."""
        known = self._known.get((kind, key))
        return known.entry if known else None

    def _pass_on(self, entry: TopLevel, before: TopLevel | None) -> None:
        try:
            self.cluster.apply(entry)
        except Exception as error:
            self._refuse(entry, f"{type(error).__name__}: {error}")
        self._changed(entry, before)

    def _refuse(self, entry: TopLevel, problem: str) -> None:
        kind = type(entry)
        version = entry.api_version or kind.group
        self._set_aside(Quarantined(version, kind.kind_name, entry.key, entry.metadata.uid, problem))

    def _set_aside(self, quarantined: Quarantined) -> None:
        self.quarantine[quarantined.kind, quarantined.key] = quarantined
        self._refused(quarantined)

    def _drop(self, entry: TopLevel) -> None:
        self._known.pop((type(entry), entry.key), None)
        self.cluster.remove(entry)
        self._bury(entry.metadata.uid, _version(entry))

    def _bury(self, uid: str, version: int) -> None:
        if not uid:
            return
        self._gone[uid] = max(version, self._gone.get(uid, -1))
        self._gone.move_to_end(uid)
        if len(self._gone) > MAX_TOMBSTONES:
            self._gone.popitem(last=False)


def _version(entry: TopLevel) -> int:
    """The version as a number; -1 for servers whose versions are no numbers, which are taken as they come."""
    text = entry.metadata.resource_version or ""
    return int(text) if text.isdecimal() and len(text) < 20 else -1


def _is_news(known: _Known, version: int) -> bool:
    """Another object of the same name is news when it is younger; the same object when it has changed."""
    if version < 0 or known.version < 0:
        return True
    return version > known.version
