"""The PodGroups of the cluster and their phases.

A phase that is being written counts until it is written: a phase that arrives before then is older.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from sys import intern
from typing import Any

from stromboli import kube
from stromboli.cluster.objects.pod_groups.native_pod_groups import NativeGroup, as_group
from stromboli.cluster.objects.pod_groups.pod_groups import same_job_spec
from stromboli.cluster.state.changes import ChangedObjects
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.native import NativePodGroup


class Groups(Mapping[str, kube.PodGroup]):
    """All groups by key, native ones converted. `observe` is called with every group and whether its job changed, and
    `forget` with the key of every removed group.
    """

    def __init__(
        self, changes: ChangedObjects, observe: Callable[[kube.PodGroup, bool], None], forget: Callable[[str], None]
    ) -> None:
        self._changes = changes
        self._observe = observe
        self._forget = forget
        self._groups: dict[str, kube.PodGroup] = {}
        #: Phases of groups, from their objects or from decisions.
        self.phases: dict[str, str] = {}
        #: Groups whose phase is being written.
        self.pending_phases: set[str] = set()

    def __getitem__(self, key: str) -> kube.PodGroup:
        return self._groups[key]

    def __contains__(self, key: object) -> bool:
        return key in self._groups

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def get(self, key: str, default: Any = None) -> Any:
        return self._groups.get(key, default)

    def native_objects(self) -> list[TopLevel]:
        return [group.origin for group in self._groups.values() if isinstance(group, NativeGroup)]

    def objects(self) -> list[TopLevel]:
        return [group for group in self._groups.values() if not isinstance(group, NativeGroup)]

    # -- objects ------------------------------------------------------------------------------------------------

    def apply_native(self, group: NativePodGroup) -> None:
        self.apply(as_group(group))

    def remove_native(self, group: NativePodGroup) -> None:
        self.remove(as_group(group))

    def apply(self, group: kube.PodGroup) -> None:
        key = intern(group.key)
        known = self._groups.get(key)
        self._groups[key] = group
        is_another = known is not None and known.metadata.uid != group.metadata.uid
        if is_another or not (key in self.pending_phases or self._is_decided_here(group)):
            self.pending_phases.discard(key)
            self._enter_phase(key, _phase_of(group))
        is_changed = known is None or not same_job_spec(known, group)
        if is_changed:
            self._changes.groups.add(key)
        self._observe(group, is_changed)

    def remove(self, group: kube.PodGroup) -> None:
        key = group.key
        self._groups.pop(key, None)
        self.phases.pop(key, None)
        self.pending_phases.discard(key)
        self._changes.groups.add(key)
        self._forget(key)

    def clear(self) -> None:
        """Drop the groups before all of them are added again; phases stay."""
        self._groups.clear()

    # -- phases -------------------------------------------------------------------------------------------------

    def phase(self, key: str) -> str:
        return self.phases.get(key, "")

    def set_phase(self, key: str, phase: str, *, hold: bool = False) -> None:
        """Set the phase that a cycle decided. A held phase stays until it is released."""
        if key not in self._groups:
            return
        if hold:
            self.pending_phases.add(key)
        self._enter_phase(key, phase)

    def release_phase(self, key: str) -> None:
        """Use the phase of the object again: the decided one is written, or was abandoned."""
        self.pending_phases.discard(key)
        group = self._groups.get(key)
        if group is not None and not self._is_decided_here(group):
            self._enter_phase(key, _phase_of(group))

    def _is_decided_here(self, group: kube.PodGroup) -> bool:
        """A native group has no phase field: the decided phase counts until the group is recreated."""
        return isinstance(group, NativeGroup) and group.key in self.phases

    def _enter_phase(self, key: str, phase: str) -> None:
        if self.phases.get(key) != phase:
            self.phases[key] = phase
            self._changes.phases.add(key)


def _phase_of(group: kube.PodGroup) -> str:
    return group.status.phase or "Pending"
