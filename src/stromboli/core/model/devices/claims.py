"""Devices that are claimed rather than counted, as far as they say where a pod may run.

A claim asks for devices, and gets them together with its first pod; from then on it ties its pods to the nodes that
reach them. Claims that no rule can tell apart are equal here, whatever they are called: pods that differ in nothing
else are of one class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.reasons import Reason
from stromboli.core.model.volumes.volumes import Terms

MAX_DEVICES = 32
"""How many devices one claim may get, as the API says."""

#: By name, amounts in thousandths.
Costs = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    """Taints of devices that do not bother the claimant."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class DeviceCriteria:
    """Which devices will do, whoever has them now."""

    selectors: tuple[str, ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """One way to satisfy a request: so many devices, or all there are."""

    #: The request, and behind a slash which of its ways this is, if there are several.
    name: str
    device_class: str
    suit: DeviceCriteria
    count: int = 1
    takes_all: bool = False
    #: Administrators look without taking.
    is_admin: bool = False
    #: By name, how much of each device, in thousandths.
    capacity: tuple[tuple[str, int], ...] = ()
    #: How many of the selectors, at the end, are not those of the class.
    own_selectors: int = 0


@dataclass(frozen=True, slots=True)
class Constraint:
    """Devices of these requests (of all, if none is named) have the same value of an attribute, or all another."""

    attribute: str
    requests: tuple[str, ...] = ()
    is_distinct: bool = False

    def applies_to(self, wish: Wish) -> bool:
        return not self.requests or wish.name in self.requests or wish.name.partition("/")[0] in self.requests


@dataclass(frozen=True, slots=True)
class ClaimDemand:
    """A claim that gets its devices together with its first pod."""

    #: What the pod calls it, and which of the pod's claims it is.
    name: str
    number: int
    #: By request, the ways to satisfy it, the best first.
    requests: tuple[tuple[Wish, ...], ...]
    constraints: tuple[Constraint, ...] = ()
    #: The claim itself, if several pods use it: they share what the first of them gets.
    shared: str = ""


@dataclass(frozen=True, slots=True)
class ClaimCost:
    """What a claim counts for in the books of queues. Several pods may share the one that is named."""

    costs: Costs
    shared: str = ""


@dataclass(frozen=True, slots=True)
class ClaimNeeds:
    """What the claims of a pod demand of its node."""

    #: Why the pod can be placed nowhere, if that is so.
    fault: Reason | None = None
    #: The nodes from which the claims that have their devices can be used: one of each must hold.
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
    """In which portions a capacity is given out, in thousandths."""

    default: int | None = None
    values: tuple[int, ...] = ()
    least: int | None = None
    most: int | None = None
    step: int | None = None

    def portion(self, asked: int) -> int | None:
        """What is given to whoever asks for so much; None when nobody gets that."""
        if self.values:
            return next((value for value in self.values if value >= asked), None)
        if self.least is None:
            return asked
        portion = max(asked, self.least)
        if self.step:
            portion = self.least + -(-(portion - self.least) // self.step) * self.step
        return None if self.most is not None and portion > self.most else portion


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a device holds of something, in thousandths."""

    value: int
    policy: CapacityPolicy | None = None
    #: What the driver calls it: with or without its domain.
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One device of a complete pool."""

    name: DeviceName
    #: The machine it is in; without one, `terms` says from where it can be used.
    node: str = ""
    terms: Terms = None
    #: By qualified name, values that can be compared.
    attributes: Mapping[str, object] = field(default_factory=dict)
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    #: What it takes from counters that it shares with others of its pool.
    counters: tuple[tuple[str, int], ...] = ()
    #: Whether several claims may have it at once.
    is_shared: bool = False
    #: Whether it can be used only from the node for which it was given out, although others reach it.
    binds_to_node: bool = False

    def qualified(self, name: str) -> str:
        """Names without a domain are the driver's own."""
        return name if "/" in name else f"{self.name.driver}/{name}"

    def portions(self, wish: Wish) -> tuple[tuple[str, int], ...] | None:
        """By capacity, what the wish would take of the device; None when the device cannot serve it."""
        asked = {self.qualified(name): amount for name, amount in wish.capacity}
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


def _portion(capacity: Capacity, asked: int | None) -> int | None:
    """Whoever does not say how much gets what the policy says, or everything."""
    policy = capacity.policy
    if asked is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    return asked if policy is None else policy.portion(asked)


@dataclass(frozen=True, slots=True)
class AssignedDevice:
    """A device that a claim has got, by name."""

    request: str
    name: DeviceName
    is_admin: bool = False
    #: By capacity as the driver calls it, how much of a device that several may have, in thousandths; None for all.
    portions: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """What a claim has got, and who uses it."""

    devices: tuple[AssignedDevice, ...]
    #: How many use it, and how many of them stay.
    users: int = 0
    staying: int = 0


@dataclass(frozen=True, slots=True)
class ClaimChoice:
    """What was chosen for a claim, and the nodes from which it can be used: None for all."""

    #: What the pod calls the claim.
    name: str
    devices: tuple[AssignedDevice, ...]
    #: Whether the claim is tied to the node of its first pod, or to the nodes that these terms name.
    is_local: bool = True
    terms: Terms = None


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    """The claims of a pod that is being bound: all of them are for it, and these get their devices with it."""

    #: By the pod's own names, all claims that it uses.
    claims: tuple[tuple[str, str], ...] = ()
    choices: tuple[ClaimChoice, ...] = ()
