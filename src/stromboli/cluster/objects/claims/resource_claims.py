"""ResourceClaims, DeviceClasses and ResourceSlices, and what pods require of them.

The requirements of a pod depend on objects that arrive in any order and change: the claim, the device class, and the
slices in which drivers publish devices. When one of them changes, the affected pods are marked and counted again.
Devices chosen for a claim count as taken from the decision on, until the claim is allocated or the attempt is
abandoned, so that no device is assigned twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stromboli import kube
from stromboli.cluster.objects.claims.claim_allocations import devices_in
from stromboli.cluster.objects.claims.claim_needs import Claims, ClaimUse, PodClaims, needs_of, uses_of
from stromboli.cluster.objects.claims.resource_slices import DevicePools
from stromboli.core.model.devices.claim_allocator import ClaimState
from stromboli.core.model.devices.claims import AssignedDevice, ClaimChoice, DeviceCriteria, HeldClaim
from stromboli.core.model.devices.device_table import DeviceTable
from stromboli.kube.objects.claims import DeviceClass, ResourceClaim, ResourceSlice
from stromboli.kube.objects.meta import TopLevel

_NOTHING = PodClaims()


class ResourceClaims:
    def __init__(self, is_leaving: Callable[[str], bool]) -> None:
        """`is_leaving` reports whether a pod is terminating; an unknown pod is not."""
        self._is_leaving = is_leaving
        self._known = Claims()
        self._pools = DevicePools()
        #: Claims by pod, and the choices for pods that are being bound.
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._choices: dict[str, tuple[str, tuple[ClaimChoice, ...]]] = {}
        #: Allocated devices by claim.
        self._given: dict[str, tuple[AssignedDevice, ...]] = {}
        self._changed: set[str] = set()
        self._needs: dict[str, PodClaims] = {}
        self._table: DeviceTable | None = None

    # -- objects ------------------------------------------------------------------------------------------------

    def objects(self) -> list[TopLevel]:
        return [*self._known.claims.values(), *self._known.classes.values(), *self._pools.objects()]

    def apply(self, given: TopLevel) -> bool:
        """Add or update an object; returns whether it is of a kind that is handled here."""
        return self._put(given, there=True)

    def remove(self, given: TopLevel) -> bool:
        """Remove an object; returns whether it is of a kind that is handled here."""
        return self._put(given, there=False)

    def _put(self, given: TopLevel, *, there: bool) -> bool:
        if isinstance(given, ResourceClaim):
            self._put_claim(given, there=there)
        elif isinstance(given, DeviceClass):
            self._known.classes.pop(given.key, None)
            if there:
                self._known.classes[given.key] = given
            self._touch_all()
        elif isinstance(given, ResourceSlice):
            self._pools.put(given, there=there)
            self._table = None
        else:
            return False
        return True

    def _put_claim(self, claim: ResourceClaim, *, there: bool) -> None:
        key, known = claim.key, self._known
        before = known.claims.pop(key, None)
        self._given.pop(key, None)
        if there:
            known.claims[key] = claim
            if claim.status.allocation is not None:
                self._given[key] = devices_in(claim.status.allocation)
        is_another = before is not None and before.metadata.uid != claim.metadata.uid
        if not there or key in self._given or is_another:
            known.decided.pop(key, None)
        self._touch(key)

    def _touch(self, key: str) -> None:
        """Mark the pods of a claim: something that they depend on has changed."""
        for uid in self._known.users.get(key, ()):
            self._changed.add(uid)
            self._needs.pop(uid, None)

    def _touch_all(self) -> None:
        self._changed |= self._uses.keys()
        self._needs = {}

    # -- pods ---------------------------------------------------------------------------------------------------

    def enter(self, pod: kube.Pod) -> None:
        """Add or update a pod."""
        uid, uses = pod.metadata.uid, uses_of(pod) if pod.spec.resource_claims else ()
        if uses:
            self._needs.pop(uid, None)  # the pod may have been bound
        if uses == self._uses.get(uid, ()):
            return
        choices = self._choices.get(uid)
        self.leave(uid)
        if uses:
            self._uses[uid] = uses
            self._changed.add(uid)
        for use in uses:
            self._known.users.setdefault(use.key, set()).add(uid)
            self._touch(use.key)
        if choices is not None:
            self.decide(uid, *choices)

    def leave(self, uid: str) -> None:
        """Remove a pod."""
        self.forget(uid)
        self._needs.pop(uid, None)
        for use in self._uses.pop(uid, ()):
            users = self._known.users.get(use.key)
            if users is not None:
                users.discard(uid)
                if not users:
                    del self._known.users[use.key]
            self._touch(use.key)

    def needs(self, pod: kube.Pod) -> PodClaims:
        """What the claims of a pod currently require."""
        uid = pod.metadata.uid
        uses = self._uses.get(uid)
        if not uses:
            return _NOTHING
        known = self._needs.get(uid)
        if known is None:
            known = self._needs[uid] = needs_of(pod, uses, self._known)
            if self._table is not None and any(suit not in self._table.suited for suit in suits_of([known])):
                self._table = None
        return known

    def take_changed(self) -> set[str]:
        """Return and clear the pods whose requirements may have changed."""
        changed, self._changed = self._changed, set()
        return changed

    # -- what is known ------------------------------------------------------------------------------------------

    def claim(self, key: str) -> ResourceClaim | None:
        return self._known.claims.get(key)

    def claims_of(self, uid: str) -> list[str]:
        """The claims that a pod uses."""
        return [use.key for use in self._uses.get(uid, ())]

    def device_class(self, name: str) -> DeviceClass | None:
        return self._known.classes.get(name)

    # -- decisions ----------------------------------------------------------------------------------------------

    @property
    def choices(self) -> dict[str, tuple[ClaimChoice, ...]]:
        """Choices for pods that are being bound, by uid."""
        return {uid: choices for uid, (_, choices) in self._choices.items()}

    def decide(self, uid: str, node: str, choices: tuple[ClaimChoice, ...]) -> None:
        """Record the devices chosen for the claims of a pod that is being bound."""
        if not choices or uid not in self._uses:
            return
        self._choices[uid] = node, choices
        for key, choice in self._chosen(uid).items():
            if key in self._known.claims and key not in self._given:
                self._known.decided[key] = node, choice
                self._touch(key)

    def _chosen(self, uid: str) -> dict[str, ClaimChoice]:
        """Choices of a pod, by claim."""
        keys = {use.name: use.key for use in self._uses.get(uid, ())}
        _, choices = self._choices.get(uid, ("", ()))
        return {keys[choice.name]: choice for choice in choices if choice.name in keys}

    def forget(self, uid: str) -> None:
        """Drop the choices of a pod that is no longer being bound; devices that no other pod needs are free again."""
        chosen = self._chosen(uid)
        self._choices.pop(uid, None)
        for key in chosen:
            others = (other for other in self._known.users.get(key, ()) if other in self._choices)
            if not any(key in self._chosen(other) for other in others):
                self._known.decided.pop(key, None)
            self._touch(key)

    def settle(self, uid: str) -> None:
        """The pod is bound: its choices stay until the claims confirm them."""
        self._choices.pop(uid, None)

    # -- what there is to give out ------------------------------------------------------------------------------

    def state(self) -> ClaimState:
        """Devices and current allocations."""
        if not self._uses and not self._given:
            return ClaimState()
        if self._table is None:
            self._table = self._pools.table(dict.fromkeys(suits_of(self._needs.values())))
        return ClaimState(self._table, {key: self._held(key) for key in {**self._given, **self._known.decided}})

    def _held(self, key: str) -> HeldClaim:
        claim, users = self._known.claims[key], self._known.users.get(key, ())
        reserved = {user.uid or "" for user in claim.status.reserved_for or ()}
        reserved |= {uid for uid in users if uid in self._choices}
        staying = sum(not self._is_leaving(uid) for uid in reserved)
        given = self._given.get(key)
        if given is None:
            given = self._known.decided[key][1].devices
        return HeldClaim(given, len(reserved), staying)

    def warnings(self) -> list[str]:
        """What is wrong with published devices; empty as long as no pod uses a claim."""
        return self._pools.faults() if self._uses else []


def suits_of(known: Iterable[PodClaims]) -> Iterable[DeviceCriteria]:
    distinct = {each.needs for each in known if each.needs is not None}
    for needs in sorted(distinct, key=repr):
        for demand in needs.waiting:
            for wishes in demand.requests:
                for wish in wishes:
                    yield wish.suit
