"""Volumes, as far as they restrict the nodes of a pod.

A bound claim ties the pod to the nodes that reach its volume. An unbound claim with WaitForFirstConsumer gets a volume
on the node of its first pod: an existing one, or one that is provisioned there. Claims that no rule distinguishes are
equal here, regardless of their names: pods that differ in nothing else share a class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.selectors import LabelSelector, NodeTerm

#: Any of these must match a node; None for every node.
Terms = tuple[NodeTerm, ...] | None

NO_LIMIT = 2**62

#: Topology labels of nodes and volumes, each with its deprecated name.
ZONE_LABELS = {
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
}


@dataclass(frozen=True, slots=True)
class BoundVolume:
    """The volume of a bound claim."""

    terms: Terms = None
    #: Allowed values by label: the zones and regions of the volume's labels.
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingClaim:
    """A claim that gets its volume together with its first pod."""

    storage_class: str
    size: int
    access_modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None
    #: Whether volumes of the class are provisioned dynamically, and on which nodes.
    is_made: bool = False
    topologies: Terms = None
    #: Whether the driver reports CSIStorageCapacity.
    checks_capacity: bool = False
    #: The node that was selected before; the volume is being provisioned there.
    node: str = ""
    #: The volume that is pre-bound to it; no other matches.
    promised: str = ""
    #: The claim by name, if several pods use it: they share the volume that the first of them gets.
    shared: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A volume that counts against the limit of its driver. Without a handle it is separate for every pod."""

    driver: str
    handle: str = ""


@dataclass(frozen=True, slots=True)
class VolumeNeeds:
    """The requirements of the claims of a pod on its node."""

    #: Why the pod cannot be placed anywhere, if so.
    fault: Reason | None = None
    bound: tuple[BoundVolume, ...] = ()
    #: Smallest first: small claims should not take large volumes.
    waiting: tuple[WaitingClaim, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    #: Claims that only one pod may use, if several request them.
    exclusive: tuple[str, ...] = ()


NO_NEEDS = VolumeNeeds()


@dataclass(frozen=True, slots=True)
class VolumeChoice:
    """The volume chosen for a claim: an existing one, or, without a name, one that is to be provisioned."""

    claim: str
    volume: str = ""


@dataclass(frozen=True, slots=True)
class VolumeOrder:
    """The volumes that must be ready before a pod is bound, and how long that may take, in seconds."""

    choices: tuple[VolumeChoice, ...] = ()
    timeout: float = 600.0


@dataclass(frozen=True, slots=True)
class FreeVolume:
    """A volume without a claim. A pre-bound one is for its claim only."""

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
    """Storage left of a storage class on some nodes, and the maximum size of one volume."""

    name: str
    storage_class: str
    terms: Terms
    left: int
    largest: int = NO_LIMIT
