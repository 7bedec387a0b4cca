"""Task classes: tasks that no scheduling rule distinguishes.

Every query about nodes is evaluated once per class, not once per task. Two tasks share a class if they have the same
requests and the same selectors, affinities, tolerations, ports, role and whatever else a rule may read; the cache
interns classes, so identity is equality.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.devices.claims import ClaimNeeds
from stromboli.core.model.devices.shared_devices import SharedDeviceRequests
from stromboli.core.model.resources.resources import CPU, MEMORY, Request, is_best_effort
from stromboli.core.model.tasks.host_ports import NO_PORTS, PortSet
from stromboli.core.model.tasks.pod_terms import PodTerm
from stromboli.core.model.tasks.selectors import NodeTerm
from stromboli.core.model.volumes.volumes import VolumeNeeds


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Pods selected by `term`, in the same domain of `topology_key` or away from it."""

    term: PodTerm
    topology_key: str


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """Keep the number of matching pods even over the domains of a node label."""

    term: PodTerm
    topology_key: str
    max_skew: int
    hard: bool
    min_domains: int = 1
    honor_node_affinity: bool = True
    honor_node_taints: bool = False
    matches_itself: bool = True


#: Pseudo-annotation that a plugin may read: the queue of the pod's job, regardless of the pod's own annotation.
QUEUE = "stromboli.dev/queue"
#: Pseudo-annotation with the limits of the pod's containers: milli-cpu and bytes, as in `1500/2147483648`, with a dash
#: if a container has no limit.
LIMITS = "stromboli.dev/limits"


@dataclass(slots=True, eq=False, weakref_slot=True)
class TaskClass:
    """Tasks that no rule can distinguish: every rule about nodes is evaluated once per class."""

    number: int
    request: Request
    role: str = ""
    #: (milli-cpu, bytes) for scorers: a pod without a request counts with a default.
    scored_request: tuple[int, int] = (0, 0)
    node_selector: tuple[tuple[str, str], ...] = ()
    #: Any of these must hold; None without a requirement, () if it cannot be satisfied.
    required_node_terms: tuple[NodeTerm, ...] | None = None
    preferred_node_terms: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: PortSet = NO_PORTS
    images: tuple[str, ...] = ()
    container_count: int = 1
    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    #: (weight, term); a negative weight is a preference for other domains.
    preferred_affinity: tuple[tuple[int, AffinityTerm], ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    #: Whether a member satisfies its own required affinity: the first of a set may then be placed anywhere.
    matches_own_affinity: bool = False
    #: Tallies of the ledger that a placed member increments.
    feeds: tuple[int, ...] = ()
    #: Requirements of a member's PersistentVolumeClaims; None without relevant claims.
    volumes: VolumeNeeds | None = None
    #: Requirements of its ResourceClaims; None without claims.
    claims: ClaimNeeds | None = None
    #: Labels and annotations that a plugin declares to read.
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: Requests for shared devices, if a plugin accounts for them.
    devices: SharedDeviceRequests | None = None
    #: Names in the request that share a dimension, because no node offers them.
    unoffered: tuple[str, ...] = ()
    #: Names of nodes that recently rejected its members.
    avoided: tuple[str, ...] = ()
    best_effort: bool = field(init=False)
    #: Whether scorers count the class with more than its request.
    is_scored_higher: bool = field(init=False)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The cpu and memory limits of a pod; None for no limit. A plugin that reads them declares `LIMITS`."""
        cpu, memory = (None if text == "-" else int(text) for text in self.annotations[LIMITS].split("/"))
        return cpu, memory

    def __post_init__(self) -> None:
        self.best_effort = is_best_effort(self.request)
        asked = dict(self.request)
        self.is_scored_higher = self.scored_request != (asked.get(CPU, 0), asked.get(MEMORY, 0))
