"""The plugin: which rules apply, and in which order refusals are told.

Facts of nodes come first, because a node that can never take the pod should say so rather than report that it
is full; rules about other pods come last, because they are the only ones that are asked again after each
placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stromboli.framework.arguments import Argument, Arguments
from stromboli.framework.node_rules import NodeFilter
from stromboli.framework.plugin import Plugin
from stromboli.plugins.predicates.availability import Availability
from stromboli.plugins.predicates.existing_anti_affinity import ExistingAntiAffinity
from stromboli.plugins.predicates.host_ports import HostPorts
from stromboli.plugins.predicates.node_affinity import NodeAffinity
from stromboli.plugins.predicates.pod_affinity import PodAffinity
from stromboli.plugins.predicates.pod_anti_affinity import PodAntiAffinity
from stromboli.plugins.predicates.taints import Taints
from stromboli.plugins.predicates.topology_spread import TopologySpread

_NO_VOLUMES = "volumes are not looked at when nodes are chosen"
_NO_CLAIMS = "resource claims are not looked at when nodes are chosen"

#: Every rule in the order of asking, with the argument that switches it off; None for rules that always apply.
_RULES: tuple[tuple[str | None, Callable[[], NodeFilter]], ...] = (
    (None, Availability),
    ("predicate.NodeAffinityEnable", NodeAffinity),
    ("predicate.TaintTolerationEnable", Taints),
    ("predicate.NodePortsEnable", HostPorts),
    ("predicate.PodAffinityEnable", PodAffinity),
    ("predicate.PodAffinityEnable", PodAntiAffinity),
    ("predicate.PodAffinityEnable", ExistingAntiAffinity),
    ("predicate.PodTopologySpreadEnable", TopologySpread),
)


class Predicates(Plugin):
    """Node selectors and affinity, taints, host ports, affinity between pods, spreading."""

    name = "predicates"
    arguments = (
        Argument("predicate.NodeAffinityEnable", bool, True, "Refuse nodes outside node selector and affinity."),
        Argument("predicate.NodePortsEnable", bool, True, "Refuse nodes whose host ports are taken."),
        Argument("predicate.TaintTolerationEnable", bool, True, "Refuse nodes with taints that are not tolerated."),
        Argument("predicate.PodAffinityEnable", bool, True, "Obey required affinity and anti-affinity between pods."),
        Argument("predicate.PodTopologySpreadEnable", bool, True, "Obey hard topology spread constraints."),
        Argument("predicate.NodeVolumeLimitsEnable", bool, True, "Count volumes per node.", ignored=_NO_VOLUMES),
        Argument("predicate.VolumeZoneEnable", bool, True, "Keep to the zones of volumes.", ignored=_NO_VOLUMES),
        Argument("predicate.VolumeBindingEnable", bool, True, "Choose nodes for volumes.", ignored=_NO_VOLUMES),
        Argument(
            "predicate.CacheEnable", bool, False, "Keep answers.", ignored="answers are always kept per task class"
        ),
        Argument(
            "predicate.DynamicResourceAllocationEnable", bool, False, "Allocate resource claims.", ignored=_NO_CLAIMS
        ),
        Argument("volumebinding.bindTimeoutSeconds", int, 600, "How long a volume may take.", ignored=_NO_VOLUMES),
        Argument("volumebinding.weight", int, 1, "Weight of volumes in scores.", ignored=_NO_VOLUMES),
        Argument("volumebinding.shape", list, [], "Scores by volume utilisation.", ignored=_NO_VOLUMES),
        Argument("dynamicresources.filterTimeoutSeconds", int, 10, "Time for claims.", ignored=_NO_CLAIMS),
    )

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self._filters = tuple(make() for switch, make in _RULES if switch is None or given[switch])

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters
