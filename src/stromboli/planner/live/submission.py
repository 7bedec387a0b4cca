"""Objects of files on top of those of a cluster: what the cluster would contain after `kubectl apply`.

A job that the cluster has already is not added a second time: the answer is then about the pods that exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from stromboli import kube
from stromboli.core.model.values.times import format_timestamp
from stromboli.kube.objects.meta import TopLevel
from stromboli.workloads.groups import controlling_owner, job_key_of

#: Namespace, kind and name of an owner.
_Owner = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Submission:
    """The objects of the cluster with those of the files, and what was submitted."""

    objects: Sequence[kube.KubeObject]
    #: The keys of pods and PodGroups of the files, including those that the cluster had already.
    pods: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    notes: Sequence[str] = ()

    def jobs(self, known: Iterable[str], tasks: Iterable[tuple[str, str]]) -> list[str]:
        """Return the keys of the submitted jobs among the known ones; `tasks` are the keys of pods with their job."""
        found = {job for pod, job in tasks if pod in self.pods}
        return [key for key in known if key in found or key in self.groups]


def submit(existing: Iterable[TopLevel], files: Sequence[kube.KubeObject], now: float) -> Submission:
    """Add the objects of files, created at this time unless they have a time of their own."""
    known: dict[tuple[type, str], Any] = {(type(entry), entry.key): entry for entry in existing}
    owned = _pods_by_owner(known.values()) if files else {}
    pods: set[str] = set()
    groups: set[str] = set()
    notes: dict[str, None] = {}
    created = format_timestamp(now)
    present_groups = {key for kind, key in known if kind is kube.PodGroup}
    absent: set[str] = set()
    for entry in files:
        before = known.get((type(entry), entry.key))
        if isinstance(entry, kube.Pod):
            present = [entry.key] if before is not None else owned.get(_owner_of(entry) or ("", "", ""), ())
            if present:
                pods.update(present)
                notes[_present_already(entry)] = None
                absent.add(job_key_of(entry) or "")
                continue
            pods.add(entry.key)
        if isinstance(entry, kube.PodGroup):
            groups.add(entry.key)
        known[type(entry), entry.key] = _replaced(entry, before) if before is not None else _created(entry, created)
    for key in absent - {job_key_of(known[kube.Pod, pod]) for pod in pods} - present_groups:
        known.pop((kube.PodGroup, key), None)
    return Submission(list(known.values()), frozenset(pods), frozenset(groups), tuple(notes))


def _pods_by_owner(entries: Iterable[TopLevel]) -> dict[_Owner, list[str]]:
    """Return the keys of unfinished pods by their controller."""
    owned: dict[_Owner, list[str]] = {}
    for entry in entries:
        if isinstance(entry, kube.Pod) and not entry.status.is_finished and (owner := _owner_of(entry)):
            owned.setdefault(owner, []).append(entry.key)
    return owned


def _owner_of(pod: kube.Pod) -> _Owner | None:
    owner = controlling_owner(pod)
    return None if owner is None else (pod.metadata.namespace, owner.kind or "", owner.name or "")


def _present_already(pod: kube.Pod) -> str:
    owner = _owner_of(pod)
    subject = f"{owner[1]} {owner[0]}/{owner[2]}" if owner else f"Pod {pod.key}"
    return f"note: {subject} is in the cluster already: the result is about its present pods"


def _created(entry: kube.KubeObject, created: str) -> kube.KubeObject:
    metadata = entry.metadata
    if metadata.creation_timestamp:
        return entry
    return msgspec.structs.replace(entry, metadata=msgspec.structs.replace(metadata, creation_timestamp=created))


def _replaced(entry: kube.KubeObject, before: Any) -> kube.KubeObject:
    """Return the object as the API server updates it: identity, age and status stay."""
    kept = {
        name: getattr(before.metadata, name) for name in ("uid", "creation_timestamp", "resource_version", "generation")
    }
    changes: dict[str, Any] = {"metadata": msgspec.structs.replace(entry.metadata, **kept)}
    if hasattr(before, "status"):
        changes["status"] = before.status
    return msgspec.structs.replace(entry, **changes)
