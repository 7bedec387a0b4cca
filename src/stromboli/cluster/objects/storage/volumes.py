"""PersistentVolumeClaims, volumes and storage objects, and what pods require of them.

The requirements of a pod depend on objects that arrive in any order and change: the claim, its volume, the storage
class, the driver. When one of them changes, the affected pods are marked and counted again. A volume chosen for a claim
counts as taken from the decision on, until the claim is bound or the attempt is abandoned, so that no volume is
assigned twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from stromboli import kube
from stromboli.cluster.objects.indexes import ClaimUsers, discard_member
from stromboli.cluster.objects.storage.free_volumes import FreeVolumes, claim_ref_key
from stromboli.cluster.objects.storage.storage_capacity import PendingVolume, StorageCapacities
from stromboli.cluster.objects.storage.volume_needs import (
    PodVolumes,
    Storage,
    VolumeClaimUse,
    is_default,
    needs_of,
    request_of,
    uses_of,
)
from stromboli.core.model.tasks.placement import Placement
from stromboli.core.model.volumes.volume_table import VolumeTable
from stromboli.core.model.volumes.volumes import VolumeChoice
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

StorageObject = TypeVar("StorageObject", bound=TopLevel)

_NOTHING = PodVolumes()


class PersistentVolumes(ClaimUsers[VolumeClaimUse, PodVolumes]):
    def __init__(
        self, labels_of: Callable[[str], Mapping[str, str] | None], placements: Mapping[str, Placement]
    ) -> None:
        """`placements` are those of pods that are being bound, by uid."""
        self.storage = Storage(labels_of)
        super().__init__(self.storage.users, placements)
        self.csi_nodes: dict[str, CSINode] = {}
        self.capacities = StorageCapacities()
        #: By volume, the claims bound to it; and by claim, the volumes whose claimRef names it.
        self._bound_claims: dict[str, set[str]] = {}
        self._referring: dict[str, set[str]] = {}
        self._free = FreeVolumes(self.storage, self._bound_claims)
        self._table: VolumeTable | None = VolumeTable()

    # -- objects ------------------------------------------------------------------------------------------------

    def put_class(self, storage_class: StorageClass, *, present: bool) -> None:
        _replace(self.storage.classes, storage_class, present=present)
        self._mark_all()
        self._table = None

    def put_driver(self, driver: CSIDriver, *, present: bool) -> None:
        _replace(self.storage.drivers, driver, present=present)
        self._mark_all()
        self._table = None

    def put_csi_node(self, csi_node: CSINode, *, present: bool) -> None:
        _replace(self.csi_nodes, csi_node, present=present)
        limited = frozenset(driver for driver, _, _ in self._limits())
        if limited != self.storage.limited:
            self.storage.limited = limited
            self._mark_all()
        self._table = None

    def put_capacity(self, capacity: CSIStorageCapacity, *, present: bool) -> None:
        self.capacities.put(capacity, present=present)
        self._table = None

    def put_claim(self, claim: PersistentVolumeClaim, *, present: bool) -> None:
        key, storage = claim.key, self.storage
        before = _replace(storage.claims, claim, present=present)
        if before is not None and before.spec.volume_name:
            discard_member(self._bound_claims, before.spec.volume_name, key)
            self._free.recheck(before.spec.volume_name)
        if present and claim.spec.volume_name:
            self._bound_claims.setdefault(claim.spec.volume_name, set()).add(key)
            self._free.recheck(claim.spec.volume_name)
        self._free.recheck(*self._referring.get(key, ()), storage.decided.get(key, ("", ""))[1])
        if not present or claim.is_bound or (before is not None and before.metadata.uid != claim.metadata.uid):
            storage.decided.pop(key, None)
        elif before is None:
            self._decide_late(key)
        self._find_reference(key)
        self._mark(key)
        self._table = None

    def _decide_late(self, key: str) -> None:
        """Apply a choice that is older than the claim, as when a bind request arrives before the claim."""
        for uid in self.storage.users.get(key, ()):
            for choice in self._choices_of(uid):
                if key.endswith(f"/{choice.claim}"):
                    self.storage.decided[key] = self._placements[uid].node, choice.volume
                    self._free.recheck(choice.volume)

    def put_volume(self, volume: PersistentVolume, *, present: bool) -> None:
        name, reference = volume.key, claim_ref_key(volume) if present else ""
        self._free.recheck(name)
        before = _replace(self.storage.volumes, volume, present=present)
        old_reference = claim_ref_key(before) if before is not None else ""
        if old_reference:
            discard_member(self._referring, old_reference, name)
        if reference:
            self._referring.setdefault(reference, set()).add(name)
        for key in {*self._bound_claims.get(name, ()), old_reference, reference}:
            self._find_reference(key)
            self._mark(key)
        self._table = None

    def _find_reference(self, key: str) -> None:
        """Find the volume whose claimRef names the claim; the first by name if there are several."""
        storage = self.storage
        claim = storage.claims.get(key)
        storage.references.pop(key, None)
        names = sorted(self._referring.get(key, ())) if claim is not None else []
        first = next((name for name in names if claim and _refers_to(storage.volumes[name], claim)), None)
        if first is not None:
            storage.references[key] = first

    def _limits(self) -> Iterable[tuple[str, str, int]]:
        """Driver, node, and maximum number of volumes."""
        for name, csi_node in self.csi_nodes.items():
            for driver in csi_node.spec.drivers or ():
                count = driver.allocatable.count if driver.allocatable else None
                if count is not None and driver.name:
                    yield driver.name, name, count

    # -- pods ---------------------------------------------------------------------------------------------------

    def enter(self, pod: kube.Pod) -> None:
        """Add or update a pod."""
        uid, uses = pod.metadata.uid, uses_of(pod) if pod.spec.volumes else ()
        if uses != self._uses.get(uid, ()):
            self._set_uses(uid, uses)

    def needs(self, pod: kube.Pod) -> PodVolumes:
        """Return the current requirements of the claims of a pod."""
        uid = pod.metadata.uid
        uses = self._uses.get(uid)
        if not uses:
            return _NOTHING
        known = self._needs.get(uid)
        if known is None:
            known = needs_of(pod, uses, self.storage)
            if known.needs is None or not (known.needs.fault or known.needs.waiting):
                self._needs[uid] = known  # only changes of the claims and of their storage objects invalidate it
        return known

    # -- queries ------------------------------------------------------------------------------------------------

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        return self.storage.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self.storage.volumes.get(name)

    def storage_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        return self.storage.classes.get(self.storage.class_name(claim))

    def topology_keys(self, node: str, driver: str) -> Sequence[str]:
        """Topology labels of a driver on a node."""
        known = self.csi_nodes.get(node)
        drivers = (known.spec.drivers if known is not None else None) or ()
        return next((each.topology_keys or () for each in drivers if each.name == driver), ())

    def consume(self, claim: PersistentVolumeClaim, labels: Mapping[str, str]) -> None:
        """Subtract the storage of a claim whose volume was provisioned on a node with these labels."""
        self.capacities.consume(PendingVolume(self.storage.class_name(claim), request_of(claim), labels))
        self._table = None

    # -- choices ------------------------------------------------------------------------------------------------

    def _choices_of(self, uid: str) -> tuple[VolumeChoice, ...]:
        placement = self._placements.get(uid)
        return placement.volumes.choices if placement is not None and placement.volumes and uid in self._uses else ()

    def reserve(self, uid: str) -> None:
        for choice in self._choices_of(uid):
            key = f"{self._namespace(uid)}/{choice.claim}"
            claim = self.storage.claims.get(key)
            if claim is not None and not claim.is_bound:
                self.storage.decided[key] = self._placements[uid].node, choice.volume
                self._free.recheck(choice.volume)
                self._mark(key)
            self._table = None

    def release(self, uid: str, placement: Placement) -> None:
        if uid not in self._uses or placement.volumes is None:
            return
        for choice in placement.volumes.choices:
            key = f"{self._namespace(uid)}/{choice.claim}"
            if not any(self._choices_of(other) for other in self.storage.users.get(key, ()) if other != uid):
                self.storage.decided.pop(key, None)
                self._free.recheck(choice.volume)
                self._mark(key)
            self._table = None

    def _namespace(self, uid: str) -> str:
        return self._uses[uid][0].key.partition("/")[0]

    # -- available storage --------------------------------------------------------------------------------------

    def table(self) -> VolumeTable:
        """Free volumes, storage capacity and attach limits."""
        if self._table is None:
            limits: dict[str, dict[str, int]] = {}
            for driver, node, count in self._limits():
                limits.setdefault(driver, {})[node] = count
            self._table = VolumeTable(self._free.all(), self.capacities.remaining(self._pending_volumes()), limits)
        return self._table

    def warnings(self) -> list[str]:
        """Return the warnings about volumes and storage capacities."""
        self.table()
        return [*self._free.faults(), *self.capacities.faults()]

    def _pending_volumes(self) -> Iterable[PendingVolume]:
        """Volumes that were decided and are not provisioned yet: their storage counts as used."""
        storage = self.storage
        for key, (node, volume) in storage.decided.items():
            claim, labels = storage.claims.get(key), storage.labels_of(node)
            if claim is not None and not volume and labels is not None:
                with contextlib.suppress(ValueError):  # an invalid claim has no decision
                    yield PendingVolume(storage.class_name(claim), request_of(claim), labels)


def _replace(objects: dict[str, StorageObject], entry: StorageObject, *, present: bool) -> StorageObject | None:
    """Replace or remove an object by its key; returns the previous one."""
    before = objects.pop(entry.key, None)
    if present:
        objects[entry.key] = entry
    return before


def _refers_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """A claimRef without uid is for any claim of that name; with a uid only for that claim."""
    to = volume.spec.claim_ref
    return to is not None and claim_ref_key(volume) == claim.key and to.uid in (None, "", claim.metadata.uid)


# -- relevant fields --------------------------------------------------------------------------------------------------


def claim_fields(claim: PersistentVolumeClaim) -> tuple[object, ...]:
    metadata = claim.metadata
    binding = claim.is_bound, claim.selected_node, claim.status.phase
    return claim.spec, binding, metadata.deletion_timestamp, metadata.owner_references


def volume_fields(volume: PersistentVolume) -> tuple[object, ...]:
    return volume.spec, volume.status.phase, volume.metadata.labels, volume.metadata.deletion_timestamp


def class_fields(storage_class: StorageClass) -> tuple[object, ...]:
    """Everything but the reclaim policy; the creation time decides between several default classes."""
    provisioning = storage_class.provisioner, storage_class.volume_binding_mode, storage_class.allowed_topologies
    return provisioning, is_default(storage_class), storage_class.metadata.creation_timestamp


def capacity_fields(capacity: CSIStorageCapacity) -> tuple[object, ...]:
    amounts = capacity.capacity, capacity.maximum_volume_size
    return capacity.storage_class_name, capacity.node_topology, amounts
