"""Pods by the uid of their controller, from one shared watch.

Most pods of a busy cluster have no owner, or one that is not managed here: those cost one field access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, ValuesView
from typing import Any, TypeAlias

from stromboli.kube.objects.meta import OwnerReference
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.resources import Resource
from stromboli.kube.watch.informer import Informer
from stromboli.local.fakes.workloads.pod_templates import controller_of

COUNT_DELAY = 0.02
"""Delay of a count in seconds, so that objects that change together are counted together."""
OwnerListener: TypeAlias = Callable[[str, str, Pod, bool], None]
"""Called with key and uid of an owner, a changed pod, and whether it is gone."""


class OwnedPods:
    def __init__(self, pods: Informer[Pod]) -> None:
        self.informer = pods
        self._by_owner: dict[str, dict[str, Pod]] = {}
        self._listeners: dict[tuple[str, str], list[OwnerListener]] = {}
        #: Called with orphaned pods.
        self.orphans: Callable[[Pod], None] | None = None
        pods.listen(self._changed)

    def listen(self, resource: Resource[Any], listener: OwnerListener) -> None:
        """Subscribe to the pods of one kind of owner."""
        self._listeners.setdefault((resource.group, resource.kind), []).append(listener)

    def of(self, uid: str) -> ValuesView[Pod]:
        return self._by_owner.get(uid, {}).values()

    def is_taken(self, namespace: str) -> Callable[[str], bool]:
        """A predicate: whether a pod name is in use."""
        pods = self.informer.objects
        return lambda name: f"{namespace}/{name}" in pods

    def is_orphan(self, pod: Pod) -> bool:
        return controller_of(pod.metadata.owner_references) is None

    def candidates(self, namespace: str) -> Iterable[Pod]:
        """Orphaned pods of a namespace."""
        for pod in self.informer.objects.values():
            if pod.metadata.namespace == namespace and self.is_orphan(pod):
                yield pod

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        before = controller_of(old.metadata.owner_references) if old is not None else None
        after = controller_of(new.metadata.owner_references) if new is not None else None
        is_gone = old is not None and (new is None or old.metadata.uid != new.metadata.uid)
        if old is not None and before is not None and (is_gone or after is None or after.uid != before.uid):
            self._left(old, before, is_gone)
        if new is not None and after is not None:
            self._belongs(new, after)
        elif new is not None and self.orphans is not None:
            self.orphans(new)

    def _belongs(self, pod: Pod, owner: OwnerReference) -> None:
        if listeners := self._listeners.get(_kind(owner)):
            self._by_owner.setdefault(owner.uid or "", {})[pod.key] = pod
            for listener in listeners:
                listener(f"{pod.metadata.namespace}/{owner.name}", owner.uid or "", pod, False)

    def _left(self, pod: Pod, owner: OwnerReference, is_gone: bool) -> None:
        if (pods := self._by_owner.get(owner.uid or "")) is None:
            return
        pods.pop(pod.key, None)
        if not pods:
            del self._by_owner[owner.uid or ""]
        for listener in self._listeners[_kind(owner)]:
            listener(f"{pod.metadata.namespace}/{owner.name}", owner.uid or "", pod, is_gone)


def _kind(owner: OwnerReference) -> tuple[str, str]:
    return (owner.api_version or "").rpartition("/")[0], owner.kind or ""
