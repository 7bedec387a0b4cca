"""The plugin: which scorers take part, and with which weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.plugins.nodeorder.balanced_resource import BalancedResource
from stromboli.core.plugins.nodeorder.image_locality import ImageLocality
from stromboli.core.plugins.nodeorder.least_requested import LeastRequested
from stromboli.core.plugins.nodeorder.most_requested import MostRequested
from stromboli.core.plugins.nodeorder.node_affinity import NodeAffinity
from stromboli.core.plugins.nodeorder.pod_affinity import PodAffinity
from stromboli.core.plugins.nodeorder.taint_toleration import TaintToleration
from stromboli.core.plugins.nodeorder.topology_spread import TopologySpread
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.node_rules import NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_SCORERS: tuple[tuple[str, Callable[[int], WeightedScorer]], ...] = (
    ("leastrequested.weight", LeastRequested),
    ("mostrequested.weight", MostRequested),
    ("balancedresource.weight", BalancedResource),
    ("nodeaffinity.weight", NodeAffinity),
    ("tainttoleration.weight", TaintToleration),
    ("imagelocality.weight", ImageLocality),
    ("podaffinity.weight", PodAffinity),
    ("podtopologyspread.weight", TopologySpread),
)


class NodeOrder(Plugin):
    """Free room, balance, preferences about nodes and pods, images, spreading: each from 0 to 100, times its weight.

    A weight of 0 leaves a scorer out, so that it costs nothing.
    """

    name = "nodeorder"
    arguments = (
        Argument("leastrequested.weight", int, 1, "Weight of nodes with much cpu and memory free."),
        Argument("mostrequested.weight", int, 0, "Weight of nodes with much cpu and memory in use."),
        Argument("nodeaffinity.weight", int, 2, "Weight of the pod's preferred node affinity."),
        Argument("podaffinity.weight", int, 2, "Weight of preferred affinity and anti-affinity between pods."),
        Argument("balancedresource.weight", int, 1, "Weight of nodes whose resources are used evenly."),
        Argument("tainttoleration.weight", int, 3, "Weight of nodes without taints that discourage the pod."),
        Argument("imagelocality.weight", int, 1, "Weight of nodes that already hold the pod's images."),
        Argument("podtopologyspread.weight", int, 2, "Weight of soft topology spread constraints."),
    )

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self._scorers = tuple(make(given[key]) for key, make in _SCORERS if given[key])

    def open(self, session: Session) -> None:
        for scorer in self._scorers:
            scorer.open(session)

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers
