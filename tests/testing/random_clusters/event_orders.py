"""Chronicles: the changes of a cluster, and the orders in which their events may arrive.

A chronicle is the truth: objects are created, changed, deleted and created again under the same name, each time with a
higher version. A delivery is what a cache observes: kinds overtake each other, watches break and are replaced by lists,
responses to writes arrive late and twice. At the end everything has been delivered; in between, nothing is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import msgspec

from stromboli import kube
from stromboli.kube import KubeObject
from tests.testing.random_clusters.histories import identity
from tests.testing.random_clusters.worlds import SmallWorld

Identity = tuple[str, str]


@dataclass(frozen=True)
class Report:
    entry: KubeObject
    is_gone: bool = False


@dataclass
class Chronicle:
    random: Random
    changes: list[Report] = field(default_factory=list)
    #: Existing objects.
    present: dict[Identity, KubeObject] = field(default_factory=dict)
    _version: int = 0
    _lives: int = 0

    def write(self, entry: KubeObject) -> None:
        """Create or change an object. A recreated object has another uid."""
        known = self.present.get(identity(entry))
        uid = known.metadata.uid if known else self._new_uid(entry)
        written = self._versioned(entry, uid)
        self.present[identity(entry)] = written
        self.changes.append(Report(written))

    def delete(self, entry: KubeObject) -> None:
        known = self.present.pop(identity(entry), None)
        if known is not None:
            self.changes.append(Report(self._versioned(known, known.metadata.uid), is_gone=True))

    def _new_uid(self, entry: KubeObject) -> str:
        self._lives += 1
        return f"{entry.metadata.uid}/{self._lives}"

    def _versioned(self, entry: KubeObject, uid: str) -> KubeObject:
        self._version += 1
        metadata = msgspec.structs.replace(entry.metadata, uid=uid, resource_version=str(self._version))
        return msgspec.structs.replace(entry, metadata=metadata)


def chronicle_of(past: SmallWorld, present: SmallWorld, random: Random) -> Chronicle:
    """Change one cluster into another, with short-lived and recreated objects."""
    chronicle = Chronicle(random)
    before, after = _extended(past), _extended(present)
    random.shuffle(before)
    for entry in before:
        chronicle.write(entry)
    final = {identity(entry): entry for entry in after}
    for entry in random.sample([*before, *after], len(before)):
        if random.random() < 0.3:
            chronicle.delete(entry)
        elif random.random() < 0.5:
            chronicle.write(entry)
    ending = [*final.values(), *(entry for entry in before if identity(entry) not in final)]
    random.shuffle(ending)
    for entry in ending:
        (chronicle.write if identity(entry) in final else chronicle.delete)(entry)
    return chronicle


def _extended(world: SmallWorld) -> list[KubeObject]:
    """Add namespaces, and a pod with a term about other namespaces."""
    elsewhere = kube.KubeLabelSelector(match_labels={"tier": str(len(world.pods) % 2)})
    term = kube.PodAffinityTerm(
        label_selector=kube.KubeLabelSelector(), namespace_selector=elsewhere, topology_key="kubernetes.io/hostname"
    )
    affinity = kube.Affinity(pod_anti_affinity=kube.KubePodAffinity(required=[term]))
    cautious = msgspec.structs.replace(
        world.pods[0], spec=msgspec.structs.replace(world.pods[0].spec, affinity=affinity)
    )
    namespace = kube.Namespace(metadata=kube.ObjectMeta(name="team", labels={"tier": str(len(world.groups) % 2)}))
    return [*world.objects, cautious, namespace] if world.pods else [*world.objects, namespace]


def delivery_of(chronicle: Chronicle) -> list[Report]:
    """Return an order of events. Every kind is delivered in order, independently of the others."""
    random = chronicle.random
    kinds: dict[str, list[Report]] = {}
    for change in chronicle.changes:
        kinds.setdefault(type(change.entry).kind_name, []).append(change)
    lines = [_watched(changes, random) for changes in kinds.values()]
    return _with_late_answers(_interleaved(lines, random), random)


def _watched(changes: Sequence[Report], random: Random) -> list[Report]:
    """Return the events of a watch that breaks now and then: only the result of the gap is seen."""
    reports: list[Report] = []
    delivered: dict[Identity, KubeObject] = {}
    truth: dict[Identity, KubeObject] = {}
    is_broken = False
    for change in changes:
        _follow(truth, change)
        if random.random() < 0.15:
            is_broken = not is_broken
            if not is_broken:
                reports += _relisted(delivered, truth, random)
        if not is_broken:
            reports += [change] * random.choice((1, 1, 1, 2))
            _follow(delivered, change)
    return reports + _relisted(delivered, truth, random)


def _follow(known: dict[Identity, KubeObject], change: Report) -> None:
    if change.is_gone:
        known.pop(identity(change.entry), None)
    else:
        known[identity(change.entry)] = change.entry


def _relisted(delivered: dict[Identity, KubeObject], truth: dict[Identity, KubeObject], random: Random) -> list[Report]:
    """Return the changes of a list: all existing objects, and deletions of known ones that are missing."""
    gone = [Report(e, is_gone=True) for e in delivered.values() if not _is_alive(e, truth)]
    reports = [*gone, *(Report(entry) for entry in truth.values())]
    random.shuffle(reports)
    delivered.clear()
    delivered.update(truth)
    return reports


def _is_alive(entry: KubeObject, truth: dict[Identity, KubeObject]) -> bool:
    there = truth.get(identity(entry))
    return there is not None and there.metadata.uid == entry.metadata.uid


def _interleaved(lines: list[list[Report]], random: Random) -> list[Report]:
    turns = [number for number, line in enumerate(lines) for _ in line]
    random.shuffle(turns)
    rest = [iter(line) for line in lines]
    return [next(rest[number]) for number in turns]


def _with_late_answers(reports: list[Report], random: Random) -> list[Report]:
    """Repeat some earlier events."""
    delivered: list[Report] = []
    for report in reports:
        delivered.append(report)
        if random.random() < 0.2:
            delivered.append(random.choice(delivered))
    return delivered
