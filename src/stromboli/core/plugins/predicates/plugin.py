"""The plugin: which rules apply, and in which order refusals are told.

Facts of nodes come first, because a node that can never take the pod should say so rather than report that it
is full; rules about other pods come last, because they are the only ones that are asked again after each
placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.allocator import VolumePolicy
from stromboli.core.plugins.predicates.availability import Availability
from stromboli.core.plugins.predicates.claimed_devices import ClaimedDevices, ClaimReach
from stromboli.core.plugins.predicates.existing_anti_affinity import ExistingAntiAffinity
from stromboli.core.plugins.predicates.host_ports import HostPorts
from stromboli.core.plugins.predicates.node_affinity import NodeAffinity
from stromboli.core.plugins.predicates.pod_affinity import PodAffinity
from stromboli.core.plugins.predicates.pod_anti_affinity import PodAntiAffinity
from stromboli.core.plugins.predicates.taints import Taints
from stromboli.core.plugins.predicates.topology_spread import TopologySpread
from stromboli.core.plugins.predicates.volume_affinity import VolumeAffinity, VolumeZone
from stromboli.core.plugins.predicates.volume_binding import VolumeBinding
from stromboli.core.plugins.predicates.volume_limits import VolumeLimits
from stromboli.core.search.node_rules import NodeFilter

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_NO_SCORES = "volumes decide where a pod may run, not where it runs best"
_NO_TIMEOUT = "the search for devices is limited in its steps, so that the same cluster gets the same answer"

_DEVICES = "predicate.DynamicResourceAllocationEnable"

#: Every rule in the order of asking, with the argument that switches it off; None for rules that always apply.
_RULES: tuple[tuple[str | None, Callable[[], NodeFilter]], ...] = (
    (None, Availability),
    ("predicate.NodeAffinityEnable", NodeAffinity),
    ("predicate.TaintTolerationEnable", Taints),
    ("predicate.VolumeBindingEnable", VolumeAffinity),
    ("predicate.VolumeZoneEnable", VolumeZone),
    ("predicate.NodePortsEnable", HostPorts),
    ("predicate.NodeVolumeLimitsEnable", VolumeLimits),
    ("predicate.VolumeBindingEnable", VolumeBinding),
    (_DEVICES, ClaimReach),
    (_DEVICES, ClaimedDevices),
    ("predicate.PodAffinityEnable", PodAffinity),
    ("predicate.PodAffinityEnable", PodAntiAffinity),
    ("predicate.PodAffinityEnable", ExistingAntiAffinity),
    ("predicate.PodTopologySpreadEnable", TopologySpread),
)


class Predicates(Plugin):
    """Node selectors and affinity, taints, host ports, volumes, devices, affinity between pods, spreading."""

    name = "predicates"
    arguments = (
        Argument("predicate.NodeAffinityEnable", bool, True, "Refuse nodes outside node selector and affinity."),
        Argument("predicate.NodePortsEnable", bool, True, "Refuse nodes whose host ports are taken."),
        Argument("predicate.TaintTolerationEnable", bool, True, "Refuse nodes with taints that are not tolerated."),
        Argument("predicate.PodAffinityEnable", bool, True, "Obey required affinity and anti-affinity between pods."),
        Argument("predicate.PodTopologySpreadEnable", bool, True, "Obey hard topology spread constraints."),
        Argument("predicate.NodeVolumeLimitsEnable", bool, True, "Refuse nodes that hold too many volumes."),
        Argument("predicate.VolumeZoneEnable", bool, True, "Refuse nodes in other zones than those of volumes."),
        Argument("predicate.VolumeBindingEnable", bool, True, "Find volumes for claims, and bind them with the pod."),
        Argument(
            "predicate.CacheEnable", bool, False, "Keep answers.", ignored="answers are always kept per task class"
        ),
        Argument(_DEVICES, bool, True, "Find devices for resource claims, and give them out with the pod."),
        Argument("volumebinding.bindTimeoutSeconds", int, 600, "How long volumes may take to get ready.", minimum=1),
        Argument("volumebinding.weight", int, 1, "Weight of volumes in scores.", ignored=_NO_SCORES),
        Argument("volumebinding.shape", list, [], "Scores by volume utilisation.", ignored=_NO_SCORES),
        Argument("dynamicresources.filterTimeoutSeconds", int, 10, "Time for claims.", ignored=_NO_TIMEOUT),
    )

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self._filters = tuple(make() for switch, make in _RULES if switch is None or given[switch])
        self._volumes = VolumePolicy(
            binds=given["predicate.VolumeBindingEnable"],
            limits=given["predicate.NodeVolumeLimitsEnable"],
            patience=float(given["volumebinding.bindTimeoutSeconds"]),
        )
        self._gives_devices: bool = given[_DEVICES]

    def open(self, session: Session) -> None:
        """What this cycle gives out, it gives out by the rules that are switched on."""
        session.ledger.volumes.policy = self._volumes
        session.ledger.claims.allocates = self._gives_devices

    def pre_predicate(self, task_class: TaskClass) -> Reason | None:
        """A claim that is not there, or waits for somebody else, keeps the pod from every node."""
        if self._volumes.binds and task_class.volumes is not None and task_class.volumes.fault is not None:
            return task_class.volumes.fault
        return task_class.claims.fault if self._gives_devices and task_class.claims is not None else None

    def unused_extension_points(self) -> frozenset[str]:
        asks = self._volumes.binds or self._gives_devices
        return frozenset() if asks else frozenset({"pre_predicate"})

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters
