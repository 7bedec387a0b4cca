"""The nodeorder plugin: which scorers are enabled, and their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.plugins.nodeorder.nodes import ImageLocality, PreferredNodeAffinity, TaintToleration
from stromboli.core.plugins.nodeorder.pods import PreferredPodAffinity, SoftTopologySpread
from stromboli.core.plugins.nodeorder.resources import BalancedResource, LeastRequested, MostRequested
from stromboli.core.plugins.nodeorder.weighted import WeightedScorer
from stromboli.core.search.node_rules import NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class NodeOrderArguments(Arguments):
    least_requested: int = Argument("leastrequested.weight", 1, "Weight of nodes with much cpu and memory free.")
    most_requested: int = Argument("mostrequested.weight", 0, "Weight of nodes with much cpu and memory in use.")
    node_affinity: int = Argument("nodeaffinity.weight", 2, "Weight of the pod's preferred node affinity.")
    pod_affinity: int = Argument("podaffinity.weight", 2, "Weight of preferred (anti-)affinity between pods.")
    balanced_resource: int = Argument("balancedresource.weight", 1, "Weight of nodes whose resources are used evenly.")
    taint_toleration: int = Argument("tainttoleration.weight", 3, "Weight of nodes without PreferNoSchedule taints.")
    image_locality: int = Argument("imagelocality.weight", 1, "Weight of nodes that already hold the pod's images.")
    topology_spread: int = Argument("podtopologyspread.weight", 2, "Weight of soft topology spread constraints.")


def _scorers(weights: NodeOrderArguments) -> tuple[WeightedScorer, ...]:
    scorers: tuple[tuple[int, Callable[[int], WeightedScorer]], ...] = (
        (weights.least_requested, LeastRequested),
        (weights.most_requested, MostRequested),
        (weights.balanced_resource, BalancedResource),
        (weights.node_affinity, PreferredNodeAffinity),
        (weights.taint_toleration, TaintToleration),
        (weights.image_locality, ImageLocality),
        (weights.pod_affinity, PreferredPodAffinity),
        (weights.topology_spread, SoftTopologySpread),
    )
    return tuple(scorer(weight) for weight, scorer in scorers if weight)


class NodeOrder(Plugin):
    """Free capacity, balance, preferences about nodes and pods, images, spreading: each from 0 to 100, times its
    weight.

    A weight of 0 disables a scorer, so that it costs nothing.
    """

    name = "nodeorder"
    arguments = NodeOrderArguments()

    def __init__(self, arguments: NodeOrderArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._scorers = _scorers(arguments)

    def open(self, session: Session) -> None:
        for scorer in self._scorers:
            scorer.open(session)

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers
