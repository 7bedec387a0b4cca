"""Task classes: tasks that no scheduling rule can tell apart.

Every question about nodes is asked once per class, not once per task. Two tasks are of one class when they ask
for the same resources and carry the same selectors, affinities, tolerations, ports, role and whatever else a
rule may read; the cache interns classes, so identity is equality.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.model.devices.claims import ClaimNeeds
from stromboli.core.model.devices.shared_devices import SharedDeviceRequests
from stromboli.core.model.resources.resources import CPU, MEMORY, Request, is_best_effort
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
class HostPort:
    """A port on the host. The address 0.0.0.0 stands for all addresses and collides with each of them."""

    protocol: str
    port: int
    address: str = "0.0.0.0"  # noqa: S104 - a name for "every address", nothing is opened

    def collides_with(self, other: "HostPort") -> bool:
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or "0.0.0.0" in (self.address, other.address)  # noqa: S104


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Pods chosen by `term`, in the same domain of `topology_key` or away from it."""

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


#: Stands among the annotations that a plugin may read for the queue of the pod's job, whatever the pod itself says.
QUEUE = "stromboli.dev/queue"
#: Stands there for the most that the pod's containers may use: milli-cpu and bytes, as in `1500/2147483648`, with a
#: dash where a container has no limit.
LIMITS = "stromboli.dev/limits"


@dataclass(slots=True, eq=False)
class TaskClass:
    number: int
    request: Request
    role: str = ""
    #: (milli-cpu, bytes) as scorers see them: a pod without a request still costs something.
    scored_request: tuple[int, int] = (0, 0)
    node_selector: tuple[tuple[str, str], ...] = ()
    #: Any of these must hold; None when there is no requirement, () when nothing can satisfy it.
    required_node_terms: tuple[NodeTerm, ...] | None = None
    preferred_node_terms: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    container_count: int = 1
    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    #: (weight, term); a negative weight is a preference to stay away.
    preferred_affinity: tuple[tuple[int, AffinityTerm], ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    #: Whether a member satisfies its own required affinity: the first of a set may then go anywhere.
    matches_own_affinity: bool = False
    #: Columns of the ledger's tallies that a placed member raises by one.
    feeds: tuple[int, ...] = ()
    #: What the claims of a member demand; None where it has none that matter.
    volumes: VolumeNeeds | None = None
    #: What its claims for devices demand; None where it has none.
    claims: ClaimNeeds | None = None
    #: Labels and annotations that a plugin declared it reads.
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: What is asked of devices that pods share, where a plugin keeps their books.
    devices: SharedDeviceRequests | None = None
    #: The names of nodes that refused its members lately.
    avoided: tuple[str, ...] = ()
    best_effort: bool = field(init=False)
    #: Whether scorers count the class as more than it asks for.
    is_scored_higher: bool = field(init=False)

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The most cpu and memory that a pod may use; None for no limit. A plugin that asks declares that it reads
        `LIMITS`.
        """
        cpu, memory = (None if text == "-" else int(text) for text in self.annotations[LIMITS].split("/"))
        return cpu, memory

    def __post_init__(self) -> None:
        self.best_effort = is_best_effort(self.request)
        asked = dict(self.request)
        self.is_scored_higher = self.scored_request != (asked.get(CPU, 0), asked.get(MEMORY, 0))
