"""The resource-strategy-fit plugin: its arguments, and which of its three rules are enabled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.plugins.resource_strategy_fit.scarcity import (
    ProportionArguments,
    ProportionFilter,
    ScarceResourceScorer,
    ScarcityArguments,
)
from stromboli.core.plugins.resource_strategy_fit.strategies import (
    SCORING_TYPE,
    WEIGHTS,
    Strategies,
    StrategiesArguments,
    StrategyScorer,
)
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class StrategyFitArguments(Arguments):
    weight: int = Argument("resourceStrategyFitWeight", 10, "Weight of the score; 0 switches it off.", minimum=0)
    resources: StrategiesArguments = Argument(
        "resources",
        {},
        "The strategy and weight of each resource; without any, cpu and memory are spread.",
        entries=StrategiesArguments,
    )
    scarcity: ScarcityArguments = Argument("sra", {}, "Avoid nodes with scarce resources.", entries=ScarcityArguments)
    proportions: ProportionArguments = Argument(
        "proportional", {}, "Reserve cpu and memory for idle devices.", entries=ProportionArguments
    )


class ResourceStrategyFit(Plugin):
    name = "resource-strategy-fit"
    arguments = StrategyFitArguments()
    reads_annotations = (SCORING_TYPE, WEIGHTS)

    def __init__(self, arguments: StrategyFitArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        weight, scarcity, proportions = arguments.weight, arguments.scarcity, arguments.proportions
        self._fitting = StrategyScorer(weight, Strategies(arguments.resources.by_name)) if weight else None
        self._scarcity = ScarceResourceScorer(scarcity) if scarcity.enable and scarcity.weight else None
        self._proportions = ProportionFilter(proportions) if proportions.enable else None

    def open(self, session: Session) -> None:
        for rule in (self._fitting, self._scarcity, self._proportions):
            if rule is not None:
                rule.open(session)

    def node_filters(self) -> Sequence[NodeFilter]:
        return [self._proportions] if self._proportions is not None else []

    def node_scorers(self) -> Sequence[NodeScorer]:
        return [rule for rule in (self._fitting, self._scarcity) if rule is not None]
