"""Devices requested by ResourceClaims, as far as they restrict the nodes of a pod.

A claim requests devices and gets them together with its first pod; from then on it ties its pods to the nodes that
reach them. Claims that no rule distinguishes are equal here, regardless of their names: pods that differ in nothing
else share a class.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

from stromboli.core.model.reasons import Reason
from stromboli.core.model.volumes.volumes import Terms

MAX_DEVICES = 32
"""The maximum number of devices of one claim, as in the Kubernetes API."""

#: Amounts in thousandths, by name.
Costs = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    """Device taints that a request tolerates."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class DeviceCriteria:
    """The criteria that a device must match, in use or not."""

    selectors: tuple[str, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceAlternative:
    """One alternative of a request: a number of devices, or all of them."""

    #: The request, and after a slash the alternative, if there are several.
    name: str
    device_class: str
    suit: DeviceCriteria
    count: int = 1
    takes_all: bool = False
    #: Admin access: devices are used without being allocated.
    is_admin: bool = False
    #: Required capacity of each device, in thousandths, by name.
    capacity: tuple[tuple[str, int], ...] = ()
    #: The number of selectors, at the end, that do not come from the device class.
    own_selectors: int = 0
    #: The extended resource that the devices stand for: the request applies only to nodes where they provide it.
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """Devices of these requests (of all, if none is named) have equal, or all distinct, values of an attribute."""

    attribute: str
    requests: tuple[str, ...] = ()
    is_distinct: bool = False

    def applies_to(self, alternative: DeviceAlternative) -> bool:
        return (
            not self.requests
            or alternative.name in self.requests
            or alternative.name.partition("/")[0] in self.requests
        )


@dataclass(frozen=True, slots=True)
class ClaimDemand:
    """A claim that gets its devices together with its first pod."""

    #: The pod's name for the claim, and its index among the pod's claims.
    name: str
    number: int
    #: Alternatives of each request, best first.
    requests: tuple[tuple[DeviceAlternative, ...], ...]
    constraints: tuple[Constraint, ...] = ()
    #: The claim, if several pods use it: they share the devices that the first of them gets.
    shared: str = ""

    @property
    def is_extended(self) -> bool:
        """Report whether the claim is for extended resources: on a node without such devices it is not needed."""
        return any(alternatives[0].resource for alternatives in self.requests)

    def where(self, provided: Container[str]) -> "ClaimDemand":
        """Return the demand on a node where devices provide these resources."""
        if not self.is_extended:
            return self
        kept = (each for each in self.requests if not each[0].resource or each[0].resource in provided)
        return replace(self, requests=tuple(kept))


@dataclass(frozen=True, slots=True)
class ClaimCost:
    """The amounts of a claim in queue accounting. Several pods may share a named claim."""

    costs: Costs
    shared: str = ""


@dataclass(frozen=True, slots=True)
class ClaimNeeds:
    """The requirements of the claims of a pod on its node."""

    #: Why the pod cannot be placed anywhere, if so.
    fault: Reason | None = None
    #: Nodes from which the allocated claims can be used: one term of each must match.
    bound: tuple[Terms, ...] = ()
    waiting: tuple[ClaimDemand, ...] = ()
    costs: tuple[ClaimCost, ...] = ()


NO_CLAIMS = ClaimNeeds()


@dataclass(frozen=True, slots=True)
class DeviceName:
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class CapacityPolicy:
    """Portions in which a capacity is allocated, in thousandths."""

    default: int | None = None
    values: tuple[int, ...] = ()
    least: int | None = None
    most: int | None = None
    step: int | None = None

    def portion(self, asked: int) -> int | None:
        """Return the portion allocated for a requested amount; None if it cannot be allocated."""
        if self.values:
            return next((value for value in self.values if value >= asked), None)
        if self.least is None:
            return asked
        portion = max(asked, self.least)
        if self.step:
            portion = self.least + -(-(portion - self.least) // self.step) * self.step
        return None if self.most is not None and portion > self.most else portion


@dataclass(frozen=True, slots=True)
class CapacityAmount:
    """A capacity of a device, in thousandths."""

    value: int
    policy: CapacityPolicy | None = None
    #: The driver's name for it: with or without its domain.
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device of a complete pool."""

    name: DeviceName
    #: The node it is local to; if empty, `terms` selects the nodes that reach it.
    node: str = ""
    terms: Terms = None
    #: Comparable values by qualified name.
    attributes: Mapping[str, object] = field(default_factory=dict)
    capacity: Mapping[str, CapacityAmount] = field(default_factory=dict)
    #: The amounts it consumes of counters shared with other devices of its pool.
    counters: tuple[tuple[str, int], ...] = ()
    #: Whether several claims may use the device at once.
    is_shared: bool = False
    #: Whether the device is usable only from the node for which it was allocated, although other nodes reach it.
    binds_to_node: bool = False

    def qualified(self, name: str) -> str:
        """Qualify a name: names without a domain belong to the driver."""
        return name if "/" in name else f"{self.name.driver}/{name}"

    def portions(self, alternative: DeviceAlternative) -> tuple[tuple[str, int], ...] | None:
        """Return what the request would take of each capacity of the device; None if the device cannot serve it."""
        asked = {self.qualified(name): amount for name, amount in alternative.capacity}
        if any(name not in self.capacity for name in asked):
            return None
        if not self.is_shared:
            return () if all(self.capacity[name].value >= amount for name, amount in asked.items()) else None
        portions = []
        for name, capacity in sorted(self.capacity.items()):
            portion = _portion(capacity, asked.get(name))
            if portion is None or portion > capacity.value:
                return None
            portions.append((name, portion))
        return tuple(portions)


def _portion(capacity: CapacityAmount, asked: int | None) -> int | None:
    """Without a requested amount, allocate the policy's default, or everything."""
    policy = capacity.policy
    if asked is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    return asked if policy is None else policy.portion(asked)


@dataclass(frozen=True, slots=True)
class AssignedDevice:
    """A device allocated to a claim, by name."""

    request: str
    name: DeviceName
    is_admin: bool = False
    #: Amount of each capacity of a shareable device, by the driver's name, in thousandths; None for all.
    portions: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """The devices of an allocated claim, and its users."""

    devices: tuple[AssignedDevice, ...]
    #: Number of users, and how many of them are not releasing.
    users: int = 0
    staying: int = 0


@dataclass(frozen=True, slots=True)
class ClaimChoice:
    """The devices chosen for a claim, and the nodes from which they can be used: None for all."""

    #: The pod's name for the claim.
    name: str
    devices: tuple[AssignedDevice, ...]
    #: Whether the claim is tied to the node of its first pod, or to the nodes that these terms select.
    is_local: bool = True
    terms: Terms = None


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """The claims of a pod that is being bound: all are reserved for it, and these are allocated with it."""

    #: All claims that the pod uses, by its own names for them.
    claims: tuple[tuple[str, str], ...] = ()
    choices: tuple[ClaimChoice, ...] = ()
