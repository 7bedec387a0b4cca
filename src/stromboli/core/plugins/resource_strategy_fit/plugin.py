"""The plugin: its arguments, and which of its three rules take part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.plugins.resource_strategy_fit.proportions import ProportionFilter
from stromboli.core.plugins.resource_strategy_fit.scarcity import ScarceResourceScorer
from stromboli.core.plugins.resource_strategy_fit.strategies import SCORING_TYPE, TYPES, WEIGHTS, Strategies
from stromboli.core.plugins.resource_strategy_fit.strategy_score import StrategyScorer
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_STRATEGY = (
    Argument("type", str, TYPES[0], "Whether nodes with much or with little of it in use are better.", choices=TYPES),
    Argument("weight", int, 1, "Weight of the resource within the score.", minimum=0),
)
_SCARCITY = (
    Argument("enable", bool, False, "Whether nodes with scarce resources are avoided."),
    Argument("resources", str, "", "The scarce resources, separated by commas."),
    Argument("weight", int, 1, "Weight of the score.", minimum=0),
    Argument(
        "resourceWeight",
        dict,
        {},
        "Weight of each scarce resource.",
        entries=(Argument("<name>", int, 1, "Weight of the resource.", minimum=0),),
    ),
)
_PROPORTIONS = (
    Argument("enable", bool, False, "Whether cpu and memory are kept for idle devices."),
    Argument("resources", str, "", "The resources to keep for, separated by commas."),
    Argument(
        "resourceProportion",
        dict,
        {},
        "How much cpu and memory belongs to one device.",
        entries=(Argument("<name>", float, 1.0, "Cores, or gigabytes of memory.", minimum=0),),
    ),
)


class ResourceStrategyFit(Plugin):
    name = "resource-strategy-fit"
    arguments = (
        Argument("resourceStrategyFitWeight", int, 10, "Weight of the score; 0 switches it off.", minimum=0),
        Argument(
            "resources",
            dict,
            {},
            "The strategy and weight of each resource; without any, cpu and memory are spread.",
            entries=(Argument("<name>", dict, {}, "The strategy of a resource.", entries=_STRATEGY),),
        ),
        Argument("sra", dict, {}, "Avoid nodes with scarce resources.", entries=_SCARCITY),
        Argument("proportional", dict, {}, "Keep cpu and memory for idle devices.", entries=_PROPORTIONS),
    )
    reads_annotations = (SCORING_TYPE, WEIGHTS)

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        weight = given["resourceStrategyFitWeight"]
        strategies = {name: Arguments(_STRATEGY, entry) for name, entry in given["resources"].items()}
        scarcity = Arguments(_SCARCITY, given["sra"])
        proportions = Arguments(_PROPORTIONS, given["proportional"])
        self._fitting = StrategyScorer(weight, Strategies(strategies)) if weight else None
        self._scarcity = ScarceResourceScorer(scarcity) if scarcity["enable"] and scarcity["weight"] else None
        self._proportions = ProportionFilter(proportions) if proportions["enable"] else None

    def open(self, session: Session) -> None:
        for rule in (self._fitting, self._scarcity, self._proportions):
            if rule is not None:
                rule.open(session)

    def node_filters(self) -> Sequence[NodeFilter]:
        return [self._proportions] if self._proportions is not None else []

    def node_scorers(self) -> Sequence[NodeScorer]:
        return [rule for rule in (self._fitting, self._scarcity) if rule is not None]
