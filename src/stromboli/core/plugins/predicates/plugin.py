"""The predicates plugin: which rules apply, and in which order refusals are reported.

Facts of nodes come first, because a node that can never take the pod should report that rather than a lack of capacity;
rules about other pods come last, because they are the only ones evaluated again after each placement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.model.volumes.allocator import VolumePolicy
from stromboli.core.plugins.predicates.claimed_devices import ClaimedDevices, ClaimReach
from stromboli.core.plugins.predicates.nodes import Availability, HostPorts, NodeAffinity, Taints
from stromboli.core.plugins.predicates.pods import ExistingAntiAffinity, PodAffinity, PodAntiAffinity, TopologySpread
from stromboli.core.plugins.predicates.volumes import VolumeAffinity, VolumeBinding, VolumeLimits, VolumeZone
from stromboli.core.search.node_rules import NodeFilter

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_NO_SCORES = "volumes decide where a pod may run, not where it runs best"
_NO_TIMEOUT = "the search for devices is limited in its steps, so that the same cluster gets the same answer"


class PredicatesArguments(Arguments):
    node_affinity: bool = Argument("predicate.NodeAffinityEnable", True, "Apply node selectors and node affinity.")
    node_ports: bool = Argument("predicate.NodePortsEnable", True, "Reject nodes whose host ports are in use.")
    taints: bool = Argument("predicate.TaintTolerationEnable", True, "Reject nodes with taints that are not tolerated.")
    pod_affinity: bool = Argument("predicate.PodAffinityEnable", True, "Apply required affinity between pods.")
    topology_spread: bool = Argument("predicate.PodTopologySpreadEnable", True, "Apply topology spread constraints.")
    volume_limits: bool = Argument("predicate.NodeVolumeLimitsEnable", True, "Reject nodes at their volume limit.")
    volume_zone: bool = Argument("predicate.VolumeZoneEnable", True, "Reject nodes outside the zones of volumes.")
    volume_binding: bool = Argument("predicate.VolumeBindingEnable", True, "Find and bind volumes for claims.")
    cache: bool = Argument("predicate.CacheEnable", False, "Cache.", ignored="results are always cached per task class")
    devices: bool = Argument("predicate.DynamicResourceAllocationEnable", True, "Allocate devices of claims.")
    bind_timeout: int = Argument("volumebinding.bindTimeoutSeconds", 600, "Timeout of volume binding.", minimum=1)
    volume_weight: int = Argument("volumebinding.weight", 1, "Weight of volumes in scores.", ignored=_NO_SCORES)
    volume_shape: list[object] = Argument("volumebinding.shape", [], "Scores by utilisation.", ignored=_NO_SCORES)
    filter_timeout: int = Argument("dynamicresources.filterTimeoutSeconds", 10, "Timeout.", ignored=_NO_TIMEOUT)


def _filters(enabled: PredicatesArguments) -> tuple[NodeFilter, ...]:
    """Return every enabled rule, in the order of evaluation."""
    rules: tuple[tuple[bool, Callable[[], NodeFilter]], ...] = (
        (True, Availability),
        (enabled.node_affinity, NodeAffinity),
        (enabled.taints, Taints),
        (enabled.volume_binding, VolumeAffinity),
        (enabled.volume_zone, VolumeZone),
        (enabled.node_ports, HostPorts),
        (enabled.volume_limits, VolumeLimits),
        (enabled.volume_binding, VolumeBinding),
        (enabled.devices, ClaimReach),
        (enabled.devices, ClaimedDevices),
        (enabled.pod_affinity, PodAffinity),
        (enabled.pod_affinity, PodAntiAffinity),
        (enabled.pod_affinity, ExistingAntiAffinity),
        (enabled.topology_spread, TopologySpread),
    )
    return tuple(rule() for is_on, rule in rules if is_on)


class Predicates(Plugin):
    """Node selectors and affinity, taints, host ports, volumes, devices, affinity between pods, spreading."""

    name = "predicates"
    arguments = PredicatesArguments()

    def __init__(self, arguments: PredicatesArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._filters = _filters(arguments)
        self._volumes = VolumePolicy(
            binds=arguments.volume_binding,
            limits=arguments.volume_limits,
            timeout=float(arguments.bind_timeout),
        )

    def open(self, session: Session) -> None:
        """Apply the enabled rules to volumes and devices allocated in this cycle."""
        session.ledger.volumes.policy = self._volumes
        session.ledger.claims.allocates = self.arguments.devices

    def pre_predicate(self, task_class: TaskClass) -> Reason | None:
        """Reject a pod whose claim does not exist or is in use elsewhere, before any node is checked."""
        if self._volumes.binds and task_class.volumes is not None and task_class.volumes.fault is not None:
            return task_class.volumes.fault
        return task_class.claims.fault if self.arguments.devices and task_class.claims is not None else None

    def unused_extension_points(self) -> frozenset[str]:
        asks = self._volumes.binds or self.arguments.devices
        return frozenset() if asks else frozenset({"pre_predicate"})

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters
