"""Volumes, as far as they say where a pod may run.

A claim that has its volume ties the pod to the nodes that reach it. A claim that waits for its first pod gets a volume
where that pod goes: one that is there already, or one that is made there. Claims that no rule can tell apart are equal
here, whatever their names: pods that differ in nothing else are of one class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.selectors import LabelSelector, NodeTerm

#: Any of these must hold for a node; None when every node will do.
Terms = tuple[NodeTerm, ...] | None

NO_LIMIT = 2**62

#: The labels by which nodes and volumes say where they are, each with the name it had of old.
ZONE_LABELS = {
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
}


@dataclass(frozen=True, slots=True)
class BoundVolume:
    """The volume of a claim that has one."""

    terms: Terms = None
    #: By label, the values that a node may have: what the labels of the volume say about zones and regions.
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingClaim:
    """A claim that gets its volume together with its first pod."""

    storage_class: str
    size: int
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None
    #: Whether volumes of the class are made on demand, and on which nodes.
    is_made: bool = False
    topologies: Terms = None
    #: Whether the driver says how much there is to be had where.
    checks_capacity: bool = False
    #: The node that was chosen before; the volume is being made there.
    node: str = ""
    #: The volume that is promised to it: no other will do.
    promised: str = ""
    #: The claim by name, if several pods use it: they share what the first of them gets.
    shared: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A volume that counts against the limit of its driver. Without a handle it is one of its own for every pod."""

    driver: str
    handle: str = ""


@dataclass(frozen=True, slots=True)
class VolumeNeeds:
    """What the claims of a pod demand of its node."""

    #: Why the pod can be placed nowhere, if that is so.
    fault: Reason | None = None
    bound: tuple[BoundVolume, ...] = ()
    #: The smallest first: small claims should not take large volumes.
    waiting: tuple[WaitingClaim, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    #: Claims that only one pod may use, where several want to.
    exclusive: tuple[str, ...] = ()


NO_NEEDS = VolumeNeeds()


@dataclass(frozen=True, slots=True)
class VolumeChoice:
    """What was chosen for a claim: a volume that is there, or, without a name, one that is to be made."""

    claim: str
    volume: str = ""


@dataclass(frozen=True, slots=True)
class VolumeOrder:
    """What must be made ready before a pod is bound, and how long that may take, in seconds."""

    choices: tuple[VolumeChoice, ...] = ()
    patience: float = 600.0


@dataclass(frozen=True, slots=True)
class FreeVolume:
    """A volume that no claim has. One that is promised is for that claim alone."""

    name: str
    storage_class: str
    size: int
    access_modes: frozenset[str] = frozenset()
    volume_mode: str = "Filesystem"
    labels: Mapping[str, str] = field(default_factory=dict)
    terms: Terms = None
    is_promised: bool = False

    def suits(self, claim: WaitingClaim) -> bool:
        if claim.promised:
            return self.name == claim.promised
        return (
            not self.is_promised
            and not claim.node
            and self.storage_class == claim.storage_class
            and self.size >= claim.size
            and self.volume_mode == claim.volume_mode
            and self.access_modes.issuperset(claim.access_modes)
            and (claim.selector is None or claim.selector.matches(self.labels))
        )


@dataclass(frozen=True, slots=True)
class StorageCapacity:
    """How much of a storage class can still be had on some nodes, and how large one volume may be."""

    name: str
    storage_class: str
    terms: Terms
    left: int
    largest: int = NO_LIMIT
