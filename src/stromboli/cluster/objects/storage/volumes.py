"""Claims, volumes and storage as the cache knows them, and what pods need of them.

What a pod needs depends on objects that come in any order and change under way: the claim, its volume, the storage
class, the driver. Whenever one of them says something else, the pods concerned are named, and counted again with what
they need then. What was chosen for a claim counts from the decision on, until the claim itself says so or the attempt
is given up: no volume is given out twice while the cluster makes up its mind.
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
        #: By pod, the claims it uses; and what was chosen for them, while it is being bound.
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._choices: dict[str, tuple[str, tuple[VolumeChoice, ...]]] = {}
        #: By volume, the claims that say they have it; and by claim, the volumes that say they are for it.
        self._claimants: dict[str, set[str]] = {}
        self._promisers: dict[str, set[str]] = {}
        self._free = FreeVolumes(self._storage, self._claimants)
        #: Pods that may need something else than before; and what others need, as long as that is sure.
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
        """Take an object in; whether it is of a kind that belongs here."""
        return self._put(given, there=True)

    def remove(self, given: TopLevel) -> bool:
        """An object is gone; whether it was of a kind that belongs here."""
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
        """A claim is heard of after what was decided about it, as when a bind request came first."""
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
        """The volume that names a claim as its own; of several the first by name."""
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
        """Driver, node, and how many volumes."""
        for name, csi_node in self._csi_nodes.items():
            for driver in csi_node.spec.drivers or ():
                count = driver.allocatable.count if driver.allocatable else None
                if count is not None and driver.name:
                    yield driver.name, name, count

    def _touch(self, key: str) -> None:
        """Something that a claim's pods depend on is another than before."""
        for uid in self._storage.users.get(key, ()):
            self._changed.add(uid)
            self._known.pop(uid, None)

    def _touch_all(self) -> None:
        self._changed |= self._uses.keys()
        self._known = {}

    # -- pods ---------------------------------------------------------------------------------------------------

    def enter(self, pod: kube.Pod) -> None:
        """A pod has come, or says something else."""
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
        """A pod is gone."""
        self.forget(uid)
        self._known.pop(uid, None)
        for use in self._uses.pop(uid, ()):
            _discard(self._storage.users, use.key, uid)
            self._touch(use.key)

    def needs(self, pod: kube.Pod) -> PodVolumes:
        """What the claims of a pod demand, as things stand."""
        uid = pod.metadata.uid
        uses = self._uses.get(uid)
        if not uses:
            return _NOTHING
        known = self._known.get(uid)
        if known is None:
            known = needs_of(pod, uses, self._storage)
            if known.needs is None or not (known.needs.fault or known.needs.waiting):
                self._known[uid] = known  # nothing but the claims and what is told of them could change it
        return known

    def take_changed(self) -> set[str]:
        """The pods that may need something else than when this was last asked."""
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
        """The labels by which a driver says where a node is."""
        known = self._csi_nodes.get(node)
        drivers = (known.spec.drivers if known is not None else None) or ()
        return next((each.topology_keys or () for each in drivers if each.name == driver), ())

    def spend(self, claim: PersistentVolumeClaim, labels: Mapping[str, str]) -> None:
        """The volume of a claim was made on a node with these labels: its storage is gone."""
        self._rooms.spend(Making(self._storage.class_name(claim), request_of(claim), labels))
        self._table = None

    # -- decisions ----------------------------------------------------------------------------------------------

    @property
    def choices(self) -> dict[str, tuple[VolumeChoice, ...]]:
        """What was chosen for pods that are being bound, by uid."""
        return {uid: choices for uid, (_, choices) in self._choices.items()}

    def decide(self, uid: str, node: str, choices: tuple[VolumeChoice, ...]) -> None:
        """A pod is being bound, and its claims get these volumes."""
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
        """A pod is not being bound any more: what others do not want either is free again."""
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
        """A pod has its node: what was chosen for its claims stays chosen until they say so themselves."""
        self._choices.pop(uid, None)

    # -- what there is to give out ------------------------------------------------------------------------------

    def table(self) -> VolumeTable:
        """Free volumes, storage and limits as they stand."""
        if self._table is None:
            limits: dict[str, dict[str, int]] = {}
            for driver, node, count in self._limits():
                limits.setdefault(driver, {})[node] = count
            self._table = VolumeTable(self._free.all(), self._rooms.left(self._making()), limits)
        return self._table

    def warnings(self) -> list[str]:
        """What is wrong with volumes and storage."""
        self.table()
        return [*self._free.faults(), *self._rooms.faults()]

    def _making(self) -> Iterable[Making]:
        """Volumes that were decided upon and are not there yet: their storage is as good as gone."""
        storage = self._storage
        for key, (node, volume) in storage.decided.items():
            claim, labels = storage.claims.get(key), storage.labels_of(node)
            if claim is not None and not volume and labels is not None:
                with contextlib.suppress(ValueError):  # then nothing was decided about it here
                    yield Making(storage.class_name(claim), request_of(claim), labels)


def _replace(kept: dict[str, Kept], given: Kept, *, there: bool) -> Kept | None:
    """Put an object in the place of its name, or take it away; answers what was there before."""
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
    """A promise by name is for whoever comes by that name; with a uid it is for that one alone."""
    to = volume.spec.claim_ref
    return to is not None and claim_ref_key(volume) == claim.key and to.uid in (None, "", claim.metadata.uid)
