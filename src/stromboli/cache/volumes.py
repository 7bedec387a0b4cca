"""Claims, volumes and storage as the cache knows them, and what pods need of them.

What a pod needs depends on objects that come in any order and change under way: the claim, its volume, the storage
class, the driver. Whenever one of them says something else, the pods concerned are named, and counted again with what
they need then. What was chosen for a claim counts from the decision on, until the claim itself says so or the attempt
is given up: no volume is given out twice while the cluster makes up its mind.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from stromboli import kube
from stromboli.cache.constraints import selector_of
from stromboli.cache.volume_needs import (
    ClaimUse,
    PodVolumes,
    Storage,
    needs_of,
    size_of,
    terms_of,
    uses_of,
)
from stromboli.kube.objects.meta import TopLevel
from stromboli.kube.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.model.quantity import parse_quantity
from stromboli.model.selectors import NodeTerm
from stromboli.model.volume_table import VolumeTable
from stromboli.model.volumes import NO_LIMIT, FreeVolume, StorageRoom, VolumeChoice

Kept = TypeVar("Kept", bound=TopLevel)

_NOTHING = PodVolumes()


class VolumeBook:
    def __init__(self, labels_of: Callable[[str], Mapping[str, str] | None]) -> None:
        self._storage = Storage(labels_of)
        self._csi_nodes: dict[str, CSINode] = {}
        self._capacities: dict[str, CSIStorageCapacity] = {}
        #: By pod, the claims it uses; and what was chosen for them, while it is being bound.
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._choices: dict[str, tuple[str, tuple[VolumeChoice, ...]]] = {}
        #: By volume, the claims that say they have it; and by claim, the volumes that say they are for it.
        self._claimants: dict[str, set[str]] = {}
        self._promisers: dict[str, set[str]] = {}
        self._changed: set[str] = set()
        self._table: VolumeTable | None = VolumeTable()
        self._faults: list[str] = []

    # -- objects ------------------------------------------------------------------------------------------------

    def objects(self) -> list[TopLevel]:
        storage = self._storage
        kept: Sequence[Iterable[TopLevel]] = (
            storage.claims.values(), storage.volumes.values(), storage.classes.values(), storage.drivers.values(),
            self._csi_nodes.values(), self._capacities.values(),
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
            self._changed |= self._uses.keys()
        elif isinstance(given, CSIDriver):
            _replace(storage.drivers, given, there=there)
            self._changed |= self._uses.keys()
        elif isinstance(given, CSINode):
            _replace(self._csi_nodes, given, there=there)
            self._find_limited()
        elif isinstance(given, CSIStorageCapacity):
            _replace(self._capacities, given, there=there)
        else:
            return False
        self._table = None
        return True

    def _put_claim(self, claim: PersistentVolumeClaim, *, there: bool) -> None:
        key, storage = claim.key, self._storage
        before = _replace(storage.claims, claim, there=there)
        if before is not None and before.spec.volume_name:
            _discard(self._claimants, before.spec.volume_name, key)
        if there and claim.spec.volume_name:
            self._claimants.setdefault(claim.spec.volume_name, set()).add(key)
        if not there or claim.is_bound or (before is not None and before.metadata.uid != claim.metadata.uid):
            storage.decided.pop(key, None)
        self._find_promise(key)
        self._touch(key)

    def _put_volume(self, volume: PersistentVolume, *, there: bool) -> None:
        name, promised = volume.key, _promised_to(volume) if there else ""
        before = _replace(self._storage.volumes, volume, there=there)
        was_promised = _promised_to(before) if before is not None else ""
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
            self._changed |= self._uses.keys()

    def _limits(self) -> Iterable[tuple[str, str, int]]:
        """Driver, node, and how many volumes."""
        for name, csi_node in self._csi_nodes.items():
            for driver in csi_node.spec.drivers or ():
                count = driver.allocatable.count if driver.allocatable else None
                if count is not None and driver.name:
                    yield driver.name, name, count

    def _touch(self, key: str) -> None:
        self._changed |= self._storage.users.get(key, set())

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
        for use in self._uses.pop(uid, ()):
            _discard(self._storage.users, use.key, uid)
            self._touch(use.key)

    def needs(self, pod: kube.Pod) -> PodVolumes:
        """What the claims of a pod demand, as things stand."""
        uses = self._uses.get(pod.metadata.uid)
        return needs_of(pod, uses, self._storage) if uses else _NOTHING

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

    def capacities(self, claim: PersistentVolumeClaim, labels: Mapping[str, str]) -> Iterable[CSIStorageCapacity]:
        """Where the storage for a claim may come from on a node with these labels, in the order of choosing."""
        name = self._storage.class_name(claim)
        for key, capacity in sorted(self._capacities.items()):
            with contextlib.suppress(ValueError):  # what cannot be read counts as none
                room = _room(key, capacity)
                if room is not None and _is_in(room, name, labels):
                    yield capacity

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
                self._touch(key)
        self._table = None

    def settle(self, uid: str) -> None:
        """A pod has its node: what was chosen for its claims stays chosen until they say so themselves."""
        self._choices.pop(uid, None)

    # -- what there is to give out ------------------------------------------------------------------------------

    def table(self) -> VolumeTable:
        """Free volumes, storage and limits as they stand."""
        if self._table is None:
            self._faults = []
            limits: dict[str, dict[str, int]] = {}
            for driver, node, count in self._limits():
                limits.setdefault(driver, {})[node] = count
            self._table = VolumeTable(tuple(self._free_volumes()), tuple(self._rooms()), limits)
        return self._table

    def warnings(self) -> list[str]:
        """What is wrong with volumes and storage."""
        self.table()
        return self._faults

    def _free_volumes(self) -> Iterable[FreeVolume]:
        given = {volume: key for key, (_, volume) in self._storage.decided.items() if volume}
        for name, volume in self._storage.volumes.items():
            promised = bool(_promised_to(volume)) or name in given
            if self._is_free(volume):
                try:
                    yield _free(volume, promised)
                except ValueError as error:
                    self._faults.append(f"PersistentVolume {name}: {error}; the volume is left out")

    def _is_free(self, volume: PersistentVolume) -> bool:
        """Whether nobody has the volume. One that was given back and not cleaned is nobody's, and free to none."""
        if volume.metadata.deletion_timestamp is not None or volume.status.phase in ("Released", "Failed"):
            return False
        if any(self._storage.claims[key].is_bound for key in self._claimants.get(volume.metadata.name, ())):
            return False
        to = volume.spec.claim_ref
        claim = self._storage.claims.get(_promised_to(volume))
        return to is None or not to.uid or (claim is not None and claim.metadata.uid == to.uid)

    def _rooms(self) -> Iterable[StorageRoom]:
        wanted = list(self._being_made())
        for key, capacity in sorted(self._capacities.items()):
            try:
                room = _room(key, capacity)
            except ValueError as error:
                self._faults.append(f"CSIStorageCapacity {key}: {error}; it counts as none")
                continue
            if room is not None:
                taken = sum(size for name, labels, size in wanted if _is_in(room, name, labels))
                yield replace(room, left=room.left - taken)

    def _being_made(self) -> Iterable[tuple[str, Mapping[str, str], int]]:
        """Class, labels of the node, and size of volumes that were decided upon: the storage is as good as gone."""
        storage = self._storage
        for key, (node, volume) in storage.decided.items():
            claim, labels = storage.claims.get(key), storage.labels_of(node)
            if claim is None or volume or labels is None:
                continue
            with contextlib.suppress(ValueError):  # then nothing was decided about it here
                requests = claim.spec.resources.requests if claim.spec.resources else None
                yield storage.class_name(claim), labels, size_of(requests, "spec.resources.requests")


def _is_in(room: StorageRoom, storage_class: str, labels: Mapping[str, str]) -> bool:
    """Whether a volume of the class on a node with these labels takes of this room."""
    if room.storage_class != storage_class:
        return False
    return room.terms is None or any(
        all(requirement.holds(labels.get(requirement.key)) for requirement in term.labels) for term in room.terms
    )


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


def _promised_to(volume: PersistentVolume) -> str:
    """The claim that a volume is promised to; empty for none."""
    to = volume.spec.claim_ref
    return f"{to.namespace}/{to.name}" if to is not None and to.name else ""


def _is_promised(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """A promise by name is for whoever comes by that name; with a uid it is for that one alone."""
    to = volume.spec.claim_ref
    return to is not None and _promised_to(volume) == claim.key and to.uid in (None, "", claim.metadata.uid)


def _free(volume: PersistentVolume, promised: bool) -> FreeVolume:
    spec = volume.spec
    return FreeVolume(
        volume.metadata.name,
        spec.storage_class_name or "",
        size_of(spec.capacity, "spec.capacity"),
        frozenset(spec.access_modes or ()),
        spec.volume_mode or "Filesystem",
        volume.metadata.labels or {},
        terms_of(volume),
        promised,
    )


def _room(key: str, capacity: CSIStorageCapacity) -> StorageRoom | None:
    """Without a topology it is to be had nowhere."""
    if capacity.node_topology is None:
        return None
    selector = selector_of(capacity.node_topology, "nodeTopology")
    terms = (NodeTerm(selector.requirements),) if selector.requirements else None
    largest = capacity.maximum_volume_size
    try:
        left = parse_quantity(capacity.capacity or 0, milli=False)
        most = NO_LIMIT if largest is None else parse_quantity(largest, milli=False)
    except ValueError as error:
        raise ValueError(f"capacity: {error}") from None
    return StorageRoom(key, capacity.storage_class_name or "", terms, left, most)
