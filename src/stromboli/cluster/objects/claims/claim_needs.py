"""Requirements of the ResourceClaims of a pod on its node, read from claims and device classes.

A claim that is missing, not created yet or being deleted keeps its pods pending, and so does an invalid one: the reason
names the claim, the request, and the invalid expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stromboli import kube
from stromboli.cluster.objects.claims.device_selectors import expressions_of
from stromboli.cluster.objects.claims.extended_resources import EXTENDED, ResourceClasses, resource_of
from stromboli.cluster.objects.storage.volume_needs import node_terms, volume_terms
from stromboli.core.model.devices.claims import (
    ClaimChoice,
    ClaimCost,
    ClaimDemand,
    ClaimNeeds,
    Constraint,
    Costs,
    DeviceAlternative,
    DeviceCriteria,
    DeviceToleration,
)
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.volumes.volumes import Terms
from stromboli.kube.objects.claims import (
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)

MAX_USERS = 256
"""Maximum number of pods that may use one claim, as the API defines it."""

DEVICE_CLASS = "deviceclass/"
"""Prefix, or part after a dot, of the names in queue limits that stand for devices of claims."""


@dataclass(frozen=True, slots=True)
class ResourceClaimUse:
    """A claim that a pod uses, with its name within the pod."""

    name: str
    #: Empty until the claim is created.
    key: str
    made_for_pod: bool = False


@dataclass(frozen=True, slots=True)
class PodClaims:
    """Requirements of a pod's claims, with their keys and names."""

    needs: ClaimNeeds | None = None
    keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class ClaimObjects:
    """Everything that the requirements of pods are read from."""

    claims: dict[str, ResourceClaim] = field(default_factory=dict)
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    #: Classes by the extended resource that they provide, and the claims that pods need for these, by key.
    resources: ResourceClasses = field(default_factory=dict)
    extended: dict[str, ResourceClaim] = field(default_factory=dict)
    #: By claim, the uids of the pods that use it.
    users: dict[str, set[str]] = field(default_factory=dict)
    #: By claim, the node and the choice that are not confirmed yet.
    decided: dict[str, tuple[str, ClaimChoice]] = field(default_factory=dict)

    def claim(self, key: str) -> ResourceClaim | None:
        """The claim, or the one that is created when its pod is bound."""
        return self.claims.get(key) or self.extended.get(key)


class ClaimNotReady(Exception):
    """The claim keeps its pods pending; carries the reason."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.reason = Reason(code, detail)


def uses_of(pod: kube.Pod) -> tuple[ResourceClaimUse, ...]:
    """The claims that a pod uses. A claim that was found to be unnecessary is left out."""
    namespace, uses = pod.metadata.namespace, []
    made = {entry.name: entry.resource_claim_name for entry in pod.status.resource_claim_statuses or ()}
    for claim in pod.spec.resource_claims or ():
        name = claim.name or ""
        if claim.resource_claim_name:
            uses.append(ResourceClaimUse(name, f"{namespace}/{claim.resource_claim_name}"))
        elif name not in made:
            uses.append(ResourceClaimUse(name, "", made_for_pod=True))
        elif made[name]:
            uses.append(ResourceClaimUse(name, f"{namespace}/{made[name]}", made_for_pod=True))
    return tuple(uses)


def needs_of(pod: kube.Pod, uses: Sequence[ResourceClaimUse], known: ClaimObjects) -> PodClaims:
    """Return the requirements of the claims of a pod on its node."""
    keys, names = tuple(use.key for use in uses), tuple(use.name for use in uses)
    reader, fault = _ClaimNeedsReader(pod, known), None
    for number, use in enumerate(uses):
        try:
            reader.read(number, use)
        except ClaimNotReady as unready:
            fault = fault or unready.reason
    if fault is not None and not pod.spec.node_name:  # running pods do not wait for their claims
        return PodClaims(ClaimNeeds(fault=fault, costs=reader.result().costs), keys, names)
    return PodClaims(reader.result(), keys, names)


class _ClaimNeedsReader:
    def __init__(self, pod: kube.Pod, known: ClaimObjects) -> None:
        self._pod = pod
        self._known = known
        self._bound: list[Terms] = []
        self._waiting: list[ClaimDemand] = []
        self._costs: list[ClaimCost] = []

    def result(self) -> ClaimNeeds:
        bound = tuple(terms for terms in self._bound if terms is not None)
        return ClaimNeeds(None, bound, tuple(self._waiting), tuple(self._costs))

    def read(self, number: int, use: ResourceClaimUse) -> None:
        claim = self._claim(use)
        shared = claim.key if not use.made_for_pod and len(self._known.users.get(claim.key, ())) > 1 else ""
        try:
            if costs := costs_of(claim):
                self._costs.append(ClaimCost(costs, shared))
            if not self._read_allocated(claim, use):
                wanted = self._known.extended.get(use.key, claim)  # an earlier attempt may have been for another node
                self._waiting.append(self._demand(wanted, use, number, shared))
        except ValueError as error:
            raise ClaimNotReady(Code.INVALID_OBJECT, f'resourceclaim "{claim.metadata.name}": {error}') from None

    def _claim(self, use: ResourceClaimUse) -> ResourceClaim:
        if not use.key:
            message = f'resource claim "{use.name}" of the pod is not created yet'
            raise ClaimNotReady(Code.RESOURCE_CLAIM_MISSING, message)
        name, claim = use.key.partition("/")[2], self._known.claim(use.key)
        if claim is None:
            raise ClaimNotReady(Code.RESOURCE_CLAIM_MISSING, f'resourceclaim "{name}" not found')
        uid = self._pod.metadata.uid
        if use.made_for_pod and not any(
            owner.controller and owner.uid == uid for owner in claim.metadata.owner_references or ()
        ):
            message = f'resourceclaim "{name}" was not created for the pod: it is not its owner'
            raise ClaimNotReady(Code.RESOURCE_CLAIM_MISSING, message)
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimNotReady(Code.RESOURCE_CLAIM_UNUSABLE, f'resourceclaim "{name}" is being deleted')
        return claim

    # -- claims that have their devices -------------------------------------------------------------------------

    def _read_allocated(self, claim: ResourceClaim, use: ResourceClaimUse) -> bool:
        """Report whether the claim is allocated."""
        if self._pod.spec.node_name and use.made_for_pod:
            return False  # a replacement of the running pod would get other devices
        allocation, decided = claim.status.allocation, self._known.decided.get(claim.key)
        if allocation is None and decided is None:
            return False
        users = claim.status.reserved_for or ()
        if len(users) >= MAX_USERS and all(user.uid != self._pod.metadata.uid for user in users):
            message = f'resourceclaim "{claim.metadata.name}" is used by {len(users)} pods, and more may not'
            raise ClaimNotReady(Code.RESOURCE_CLAIM_UNUSABLE, message)
        if allocation is not None:
            where = "status.allocation.nodeSelector.nodeSelectorTerms"
            self._bound.append(volume_terms(allocation.node_selector, where))
        elif decided is not None:
            self._bound.append(node_terms(decided[0]) if decided[1].is_local else decided[1].terms)
        return True

    # -- claims that wait ---------------------------------------------------------------------------------------

    def _demand(self, claim: ResourceClaim, use: ResourceClaimUse, number: int, shared: str) -> ClaimDemand:
        devices = claim.spec.devices
        requests = tuple(
            self._alternatives(use.name, request, place)
            for place, request in enumerate((devices.requests if devices else None) or ())
        )
        constraints = tuple(
            _constraint(wire, place) for place, wire in enumerate((devices.constraints if devices else None) or ())
        )
        return ClaimDemand(use.name, number, requests, constraints, shared)

    def _alternatives(self, own_name: str, request: DeviceRequest, place: int) -> tuple[DeviceAlternative, ...]:
        where, name = f"spec.devices.requests[{place}]", request.name or ""
        if request.exactly is not None:
            resource = resource_of(self._pod, name) if own_name == EXTENDED else ""
            return (self._alternative(request.exactly, name, f"{where}.exactly", resource),)
        alternatives = request.first_available or ()
        if not alternatives:
            raise ValueError(f"{where}: request {name!r} must say exactly or firstAvailable")
        return tuple(
            self._alternative(alternative, f"{name}/{alternative.name}", f"{where}.firstAvailable[{number}]")
            for number, alternative in enumerate(alternatives)
        )

    def _alternative(self, wire: DeviceSubRequest, name: str, where: str, resource: str = "") -> DeviceAlternative:
        class_name = wire.device_class_name or ""
        device_class = self._known.classes.get(class_name)
        if device_class is None:
            raise ClaimNotReady(
                Code.DEVICE_CLASS_MISSING, f'request "{name}": device class "{class_name}" does not exist'
            )
        selectors = expressions_of(device_class.spec.selectors, f"DeviceClass {class_name}: spec")
        selectors += expressions_of(wire.selectors, where)
        mode = wire.allocation_mode or "ExactCount"
        if mode not in ("ExactCount", "All"):
            raise ValueError(f"{where}.allocationMode: {mode!r} is not known; use ExactCount or All")
        count = 1 if wire.count is None else wire.count
        if count < 1:
            raise ValueError(f"{where}.count: must be at least 1")
        tolerations = tuple(
            DeviceToleration(each.key or "", each.operator or "Equal", each.value or "", each.effect or "")
            for each in wire.tolerations or ()
        )
        return DeviceAlternative(
            name,
            class_name,
            DeviceCriteria(selectors, tolerations),
            count,
            takes_all=mode == "All",
            is_admin=isinstance(wire, ExactDeviceRequest) and bool(wire.admin_access),
            capacity=_capacity_of(wire, where),
            own_selectors=len(wire.selectors or ()),
            resource=resource,
        )


def _capacity_of(wire: DeviceSubRequest, where: str) -> tuple[tuple[str, int], ...]:
    requests = (wire.capacity.requests if wire.capacity else None) or {}
    try:
        return tuple(sorted((name, parse_quantity(amount, milli=True)) for name, amount in requests.items()))
    except ValueError as error:
        raise ValueError(f"{where}.capacity.requests: {error}") from None


def _constraint(wire: DeviceConstraint, place: int) -> Constraint:
    attribute = wire.match_attribute or wire.distinct_attribute
    if not attribute:
        where = f"spec.devices.constraints[{place}]"
        raise ValueError(f"{where}: only matchAttribute and distinctAttribute are understood")
    return Constraint(attribute, tuple(wire.requests or ()), is_distinct=not wire.match_attribute)


def costs_of(claim: ResourceClaim) -> Costs:
    """Return what a claim counts in queue sums: devices of a class, and capacity that it requests of them.

    Of several alternatives the first counts, and `All` counts as one device, until the devices are chosen.
    """
    devices = claim.spec.devices
    allocated = claim.status.allocation.devices if claim.status.allocation else None
    results = (allocated.results if allocated else None) or ()
    costs: dict[str, int] = {}
    for request in (devices.requests if devices else None) or ():
        own: dict[str, DeviceSubRequest] = {
            f"{request.name}/{each.name}": each for each in request.first_available or ()
        }
        if request.exactly:
            own = {request.name or "": request.exactly}
        chosen = [result.request or "" for result in results if result.request in own]
        name, count = (chosen[0], len(chosen)) if chosen else (next(iter(own), ""), 0)
        alternative = own.get(name)
        if alternative is None or (isinstance(alternative, ExactDeviceRequest) and alternative.admin_access):
            continue
        count = count or (1 if alternative.allocation_mode == "All" or alternative.count is None else alternative.count)
        key = f"{DEVICE_CLASS}{alternative.device_class_name}"
        costs[key] = costs.get(key, 0) + 1000 * count
        for dimension, amount in _capacity_of(alternative, f"request {name}"):
            part = f"{dimension}.{key}"
            costs[part] = costs.get(part, 0) + amount * count
    return tuple(sorted(costs.items()))
