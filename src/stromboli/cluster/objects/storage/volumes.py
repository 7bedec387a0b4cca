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
from stromboli.cluster.objects.storage.free_volumes import FreeVolumes, claim_ref_key
from stromboli.cluster.objects.storage.storage_capacity import Making, StorageCapacities
from stromboli.cluster.objects.storage.volume_needs import ClaimUse, PodVolumes, Storage, needs_of, request_of, uses_of
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

Kept = TypeVar("Kept", bound=TopLevel)

_NOTHING = PodVolumes()


class PersistentVolumes:
    def __init__(self, labels_of: Callable[[str], Mapping[str, str] | None]) -> None:
        self._storage = Storage(labels_of)
        self._csi_nodes: dict[str, CSINode] = {}
        self._rooms = StorageCapacities()
        #: Claims by pod, and the choices for pods that are being bound.
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._choices: dict[str, tuple[str, tuple[VolumeChoice, ...]]] = {}
        #: By volume, the claims bound to it; and by claim, the volumes whose claimRef names it.
        self._claimants: dict[str, set[str]] = {}
        self._promisers: dict[str, set[str]] = {}
        self._free = FreeVolumes(self._storage, self._claimants)
        #: Pods whose requirements may have changed; and cached requirements of the others.
        self._changed: set[str] = set()
        self._known: dict[str, PodVolumes] = {}
        self._table: VolumeTable | None = VolumeTable()

    # -- objects ------------------------------------------------------------------------------------------------

    def objects(self) -> list[TopLevel]:
        storage = self._storage
        kept: Sequence[Iterable[TopLevel]] = (
            storage.claims.values(), storage.volumes.values(), storage.classes.values(), storage.drivers.values(),
            self._csi_nodes.values(), self._rooms.stated.values(),
        )  # fmt: skip
        return [entry for kind in kept for entry in kind]

    def apply(self, given: TopLevel) -> bool:
        """Add or update an object; returns whether it is of a kind that is handled here."""
        return self._put(given, there=True)

    def remove(self, given: TopLevel) -> bool:
        """Remove an object; returns whether it is of a kind that is handled here."""
        return self._put(given, there=False)

    def _put(self, given: TopLevel, *, there: bool) -> bool:
        storage = self._storage
        if isinstance(given, PersistentVolumeClaim):
            self._put_claim(given, there=there)
        elif isinstance(given, PersistentVolume):
            self._put_volume(given, there=there)
        elif isinstance(given, StorageClass):
            _replace(storage.classes, given, there=there)
            self._touch_all()
        elif isinstance(given, CSIDriver):
            _replace(storage.drivers, given, there=there)
            self._touch_all()
        elif isinstance(given, CSINode):
            _replace(self._csi_nodes, given, there=there)
            self._find_limited()
        elif isinstance(given, CSIStorageCapacity):
            self._rooms.put(given, there=there)
        else:
            return False
        self._table = None
        return True

    def _put_claim(self, claim: PersistentVolumeClaim, *, there: bool) -> None:
        key, storage = claim.key, self._storage
        before = _replace(storage.claims, claim, there=there)
        if before is not None and before.spec.volume_name:
            _discard(self._claimants, before.spec.volume_name, key)
            self._free.look_again(before.spec.volume_name)
        if there and claim.spec.volume_name:
            self._claimants.setdefault(claim.spec.volume_name, set()).add(key)
            self._free.look_again(claim.spec.volume_name)
        self._free.look_again(*self._promisers.get(key, ()), storage.decided.get(key, ("", ""))[1])
        if not there or claim.is_bound or (before is not None and before.metadata.uid != claim.metadata.uid):
            storage.decided.pop(key, None)
        elif before is None:
            self._decide_late(key)
        self._find_promise(key)
        self._touch(key)

    def _decide_late(self, key: str) -> None:
        """Apply a choice that is older than the claim, as when a bind request arrives before the claim."""
        for uid in self._storage.users.get(key, ()):
            node, choices = self._choices.get(uid, ("", ()))
            for choice in choices:
                if key.endswith(f"/{choice.claim}"):
                    self._storage.decided[key] = node, choice.volume
                    self._free.look_again(choice.volume)

    def _put_volume(self, volume: PersistentVolume, *, there: bool) -> None:
        name, promised = volume.key, claim_ref_key(volume) if there else ""
        self._free.look_again(name)
        before = _replace(self._storage.volumes, volume, there=there)
        was_promised = claim_ref_key(before) if before is not None else ""
        if was_promised:
            _discard(self._promisers, was_promised, name)
        if promised:
            self._promisers.setdefault(promised, set()).add(name)
        for key in {*self._claimants.get(name, ()), was_promised, promised}:
            self._find_promise(key)
            self._touch(key)

    def _find_promise(self, key: str) -> None:
        """Find the volume whose claimRef names the claim; the first by name if there are several."""
        storage = self._storage
        claim = storage.claims.get(key)
        storage.promises.pop(key, None)
        names = sorted(self._promisers.get(key, ())) if claim is not None else []
        first = next((name for name in names if claim and _is_promised(storage.volumes[name], claim)), None)
        if first is not None:
            storage.promises[key] = first

    def _find_limited(self) -> None:
        limited = frozenset(driver for driver, _, _ in self._limits())
        if limited != self._storage.limited:
            self._storage.limited = limited
            self._touch_all()

    def _limits(self) -> Iterable[tuple[str, str, int]]:
        """Driver, node, and maximum number of volumes."""
        for name, csi_node in self._csi_nodes.items():
            for driver in csi_node.spec.drivers or ():
                count = driver.allocatable.count if driver.allocatable else None
                if count is not None and driver.name:
                    yield driver.name, name, count

    def _touch(self, key: str) -> None:
        """Mark the pods of a claim: something that they depend on has changed."""
        for uid in self._storage.users.get(key, ()):
            self._changed.add(uid)
            self._known.pop(uid, None)

    def _touch_all(self) -> None:
        self._changed |= self._uses.keys()
        self._known = {}

    # -- pods ---------------------------------------------------------------------------------------------------

    def enter(self, pod: kube.Pod) -> None:
        """Add or update a pod."""
        uid, uses = pod.metadata.uid, uses_of(pod) if pod.spec.volumes else ()
        known = self._uses.get(uid, ())
        if uses == known:
            return
        self.leave(uid)
        if uses:
            self._uses[uid] = uses
        for use in uses:
            self._storage.users.setdefault(use.key, set()).add(uid)
            self._touch(use.key)

    def leave(self, uid: str) -> None:
        """Remove a pod."""
        self.forget(uid)
        self._known.pop(uid, None)
        for use in self._uses.pop(uid, ()):
            _discard(self._storage.users, use.key, uid)
            self._touch(use.key)

    def needs(self, pod: kube.Pod) -> PodVolumes:
        """What the claims of a pod currently require."""
        uid = pod.metadata.uid
        uses = self._uses.get(uid)
        if not uses:
            return _NOTHING
        known = self._known.get(uid)
        if known is None:
            known = needs_of(pod, uses, self._storage)
            if known.needs is None or not (known.needs.fault or known.needs.waiting):
                self._known[uid] = known  # only changes of the claims and of their storage objects invalidate it
        return known

    def take_changed(self) -> set[str]:
        """Return and clear the pods whose requirements may have changed."""
        changed, self._changed = self._changed, set()
        return changed

    # -- what is known ------------------------------------------------------------------------------------------

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        return self._storage.claims.get(key)

    def volume(self, name: str) -> PersistentVolume | None:
        return self._storage.volumes.get(name)

    def storage_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        return self._storage.classes.get(self._storage.class_name(claim))

    def topology_keys(self, node: str, driver: str) -> Sequence[str]:
        """Topology labels of a driver on a node."""
        known = self._csi_nodes.get(node)
        drivers = (known.spec.drivers if known is not None else None) or ()
        return next((each.topology_keys or () for each in drivers if each.name == driver), ())

    def spend(self, claim: PersistentVolumeClaim, labels: Mapping[str, str]) -> None:
        """Subtract the storage of a claim whose volume was provisioned on a node with these labels."""
        self._rooms.spend(Making(self._storage.class_name(claim), request_of(claim), labels))
        self._table = None

    # -- decisions ----------------------------------------------------------------------------------------------

    @property
    def choices(self) -> dict[str, tuple[VolumeChoice, ...]]:
        """Choices for pods that are being bound, by uid."""
        return {uid: choices for uid, (_, choices) in self._choices.items()}

    def decide(self, uid: str, node: str, choices: tuple[VolumeChoice, ...]) -> None:
        """Record the volumes chosen for the claims of a pod that is being bound."""
        uses = self._uses.get(uid)
        if not uses or not choices:
            return
        namespace = uses[0].key.partition("/")[0]
        self._choices[uid] = node, choices
        for choice in choices:
            key = f"{namespace}/{choice.claim}"
            claim = self._storage.claims.get(key)
            if claim is not None and not claim.is_bound:
                self._storage.decided[key] = node, choice.volume
                self._free.look_again(choice.volume)
                self._touch(key)
        self._table = None

    def forget(self, uid: str) -> None:
        """Drop the choices of a pod that is no longer being bound; volumes that no other pod needs are free again."""
        _, choices = self._choices.pop(uid, ("", ()))
        if not choices:
            return
        namespace = self._uses[uid][0].key.partition("/")[0]
        for choice in choices:
            key = f"{namespace}/{choice.claim}"
            if not any(other in self._choices for other in self._storage.users.get(key, ())):
                self._storage.decided.pop(key, None)
                self._free.look_again(choice.volume)
                self._touch(key)
        self._table = None

    def settle(self, uid: str) -> None:
        """The pod is bound: its choices stay until the claims confirm them."""
        self._choices.pop(uid, None)

    # -- what there is to give out ------------------------------------------------------------------------------

    def table(self) -> VolumeTable:
        """Free volumes, storage capacity and attach limits."""
        if self._table is None:
            limits: dict[str, dict[str, int]] = {}
            for driver, node, count in self._limits():
                limits.setdefault(driver, {})[node] = count
            self._table = VolumeTable(self._free.all(), self._rooms.left(self._making()), limits)
        return self._table

    def warnings(self) -> list[str]:
        """What is wrong with volumes and storage capacities."""
        self.table()
        return [*self._free.faults(), *self._rooms.faults()]

    def _making(self) -> Iterable[Making]:
        """Volumes that were decided and are not provisioned yet: their storage counts as used."""
        storage = self._storage
        for key, (node, volume) in storage.decided.items():
            claim, labels = storage.claims.get(key), storage.labels_of(node)
            if claim is not None and not volume and labels is not None:
                with contextlib.suppress(ValueError):  # an invalid claim has no decision
                    yield Making(storage.class_name(claim), request_of(claim), labels)


def _replace(kept: dict[str, Kept], given: Kept, *, there: bool) -> Kept | None:
    """Replace or remove an object by its key; returns the previous one."""
    before = kept.pop(given.key, None)
    if there:
        kept[given.key] = given
    return before


def _discard(sets: dict[str, set[str]], key: str, member: str) -> None:
    members = sets.get(key)
    if members is not None:
        members.discard(member)
        if not members:
            del sets[key]


def _is_promised(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """A claimRef without uid is for any claim of that name; with a uid only for that claim."""
    to = volume.spec.claim_ref
    return to is not None and claim_ref_key(volume) == claim.key and to.uid in (None, "", claim.metadata.uid)
