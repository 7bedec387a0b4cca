"""ResourceClaims, DeviceClasses and ResourceSlices, and what pods require of them.

The requirements of a pod depend on objects that arrive in any order and change: the claim, the device class, and the
slices in which drivers publish devices. When one of them changes, the affected pods are marked and counted again.
Devices chosen for a claim count as taken from the decision on, until the claim is allocated or the attempt is
abandoned, so that no device is assigned twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stromboli import kube
from stromboli.cluster.objects.claims.claim_allocations import devices_in
from stromboli.cluster.objects.claims.claim_needs import ClaimObjects, PodClaims, ResourceClaimUse, needs_of, uses_of
from stromboli.cluster.objects.claims.device_offers import DeviceOffers
from stromboli.cluster.objects.claims.extended_resources import EXTENDED, extended_claim, resource_classes
from stromboli.cluster.objects.claims.resource_slices import DevicePools
from stromboli.cluster.objects.indexes import ClaimUsers
from stromboli.core.model.devices.claim_allocator import ClaimState
from stromboli.core.model.devices.claims import AssignedDevice, ClaimChoice, DeviceCriteria, HeldClaim
from stromboli.core.model.devices.device_table import DeviceTable
from stromboli.core.model.devices.search_memory import SearchMemory
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.claims import DeviceClass, ResourceClaim, ResourceSlice

_NOTHING = PodClaims()


class ResourceClaims(ClaimUsers[ResourceClaimUse, PodClaims]):
    def __init__(self, is_leaving: Callable[[str], bool], placements: Mapping[str, Placement]) -> None:
        """`is_leaving` reports whether a pod is terminating; `placements` are those of pods that are being bound."""
        self.known = ClaimObjects()
        super().__init__(self.known.users, placements)
        self._is_leaving = is_leaving
        self.pools = DevicePools()
        #: Allocated devices by claim.
        self._allocated: dict[str, tuple[AssignedDevice, ...]] = {}
        self._table: DeviceTable | None = None
        self._memory = SearchMemory()
        self.offers = DeviceOffers(self.pools, self.known)
        #: Whether other extended resources than before may be provided: all pods must enter again.
        self.has_new_resources = False

    # -- objects ------------------------------------------------------------------------------------------------

    def put_class(self, device_class: DeviceClass, *, present: bool) -> None:
        self.known.classes.pop(device_class.key, None)
        if present:
            self.known.classes[device_class.key] = device_class
        resources = resource_classes(self.known.classes.values())
        self.has_new_resources |= resources != self.known.resources
        self.known.resources = resources
        self.offers.revision += 1
        self._mark_all()

    def put_slice(self, resource_slice: ResourceSlice, *, present: bool) -> None:
        self.pools.put(resource_slice, present=present)
        self.offers.revision += 1
        self._table = None

    def put_claim(self, claim: ResourceClaim, *, present: bool) -> None:
        key, known = claim.key, self.known
        before = known.claims.pop(key, None)
        self._allocated.pop(key, None)
        if present:
            known.claims[key] = claim
            if claim.status.allocation is not None:
                self._allocated[key] = devices_in(claim.status.allocation)
        is_another = before is not None and before.metadata.uid != claim.metadata.uid
        if not present or key in self._allocated or is_another:
            known.decided.pop(key, None)
        self._mark(key)

    # -- pods ---------------------------------------------------------------------------------------------------

    def enter(self, pod: kube.Pod) -> None:
        """Add or update a pod."""
        uid, uses = pod.metadata.uid, uses_of(pod) if pod.spec.resource_claims else ()
        extended = None
        if self.known.resources or pod.status.extended_resource_claim_status is not None:
            extended = extended_claim(pod, self.known.resources)
        if extended is not None:
            uses = (*uses, ResourceClaimUse(EXTENDED, extended.key, made_for_pod=True))
        if uses:
            self._needs.pop(uid, None)  # the pod may have been bound
        if uses != self._uses.get(uid, ()):
            self._set_uses(uid, uses)
        if extended is not None:
            self.known.extended[extended.key] = extended
            self.reserve(uid)

    def leave(self, uid: str) -> None:
        for use in self._uses.get(uid, ()):
            self.known.extended.pop(use.key, None)
        super().leave(uid)

    def needs(self, pod: kube.Pod) -> PodClaims:
        """Return the current requirements of the claims of a pod."""
        uid = pod.metadata.uid
        uses = self._uses.get(uid)
        if not uses:
            return _NOTHING
        known = self._needs.get(uid)
        if known is None:
            known = self._needs[uid] = needs_of(pod, uses, self.known)
            if self._table is not None and any(suit not in self._table.suited for suit in criteria_of([known])):
                self._table = None
        return known

    # -- queries ------------------------------------------------------------------------------------------------

    def claim(self, key: str) -> ResourceClaim | None:
        """The claim, or the one that is created when its pod is bound."""
        return self.known.claim(key)

    def claims_of(self, uid: str) -> list[str]:
        """The claims that a pod uses."""
        return [use.key for use in self._uses.get(uid, ())]

    def device_class(self, name: str) -> DeviceClass | None:
        return self.known.classes.get(name)

    # -- choices ------------------------------------------------------------------------------------------------

    def _choices_of(self, uid: str) -> dict[str, ClaimChoice]:
        placement = self._placements.get(uid)
        return self._chosen(uid, placement) if placement is not None else {}

    def _chosen(self, uid: str, placement: Placement) -> dict[str, ClaimChoice]:
        if placement.devices is None:
            return {}
        keys = {use.name: use.key for use in self._uses.get(uid, ())}
        return {keys[choice.name]: choice for choice in placement.devices.choices if choice.name in keys}

    def reserve(self, uid: str) -> None:
        for key, choice in self._choices_of(uid).items():
            if self.known.claim(key) is not None and key not in self._allocated:
                self.known.decided[key] = self._placements[uid].node, choice
                self._mark(key)

    def release(self, uid: str, placement: Placement) -> None:
        for key in self._chosen(uid, placement):
            if not any(key in self._choices_of(other) for other in self.known.users.get(key, ()) if other != uid):
                self.known.decided.pop(key, None)
            self._mark(key)

    # -- devices ------------------------------------------------------------------------------------------------

    def state(self) -> ClaimState:
        """Devices and current allocations."""
        if not self._uses and not self._allocated:
            return ClaimState()
        if self._table is None:
            self._table = self.pools.table(dict.fromkeys(criteria_of(self._needs.values())))
        held = {key: self._held(key) for key in {**self._allocated, **self.known.decided}}
        return ClaimState(self._table, held, self.offers.provided, self._memory)

    def forget_searches(self) -> None:
        """Drop what searches derived about nodes for the claims of pods, some of which are gone; it is read again."""
        if self._table is not None:
            self._table.kinds.clear()

    def _held(self, key: str) -> HeldClaim:
        claim, users = self.known.claim(key), self.known.users.get(key, ())
        reserved = {user.uid or "" for user in (claim.status.reserved_for if claim is not None else None) or ()}
        reserved |= {uid for uid in users if self._choices_of(uid)}
        staying = sum(not self._is_leaving(uid) for uid in reserved)
        devices = self._allocated.get(key)
        if devices is None:
            devices = self.known.decided[key][1].devices
        return HeldClaim(devices, len(reserved), staying)

    def warnings(self) -> list[str]:
        """Return the warnings about published devices; empty as long as no pod uses a claim."""
        return self.pools.faults() if self._uses else []


def criteria_of(known: Iterable[PodClaims]) -> Iterable[DeviceCriteria]:
    distinct = {each.needs for each in known if each.needs is not None}
    for needs in sorted(distinct, key=repr):
        for demand in needs.waiting:
            for alternatives in demand.requests:
                for alternative in alternatives:
                    yield alternative.suit


def relevant_fields(claim: ResourceClaim) -> tuple[object, ...]:
    metadata, status = claim.metadata, claim.status
    return claim.spec, status.allocation, status.reserved_for, metadata.deletion_timestamp, metadata.owner_references
