"""A program: the configuration compiled into chains of answers, built once and used by every cycle.

For each extension point it holds, by tier, the answers of the plugins that override the question and are not
switched off. What does not depend on a cycle's amounts (static answers about nodes) is kept here between
cycles, for as long as the table of nodes is the same.
"""

from collections.abc import Mapping
from typing import Any

from stromboli.framework.action import Action
from stromboli.framework.combining import Answer
from stromboli.framework.configuration import Configuration, PluginOption
from stromboli.framework.extension_points import (
    ALSO_SWITCHED_BY,
    EXTENSION_POINTS,
    HIERARCHY_SWITCH,
    ExtensionPoint,
)
from stromboli.framework.lifting import filters_of, scorers_of
from stromboli.framework.node_rules import NodeFilter, NodeScorer
from stromboli.framework.plugin import Plugin, PluginFailure
from stromboli.framework.registry import Registry


class Program:
    """Plugins and actions of one configuration, ready to be asked."""

    def __init__(self, configuration: Configuration, registry: Registry) -> None:
        self.configuration = configuration
        self.actions: list[Action] = [
            registry.actions[name](configuration.arguments_of(name)) for name in configuration.actions
        ]
        self.plugins: dict[str, Plugin] = {}
        self.tiers: dict[str, list[list[Answer]]] = {point.name: [] for point in EXTENSION_POINTS}
        self.filters: list[NodeFilter] = []
        self.scorers: list[NodeScorer] = []
        for tier in configuration.tiers:
            self._add_tier([(option, self._build(option, registry)) for option in tier.plugins])
        #: The same answers without their tiers, for rules that do not care.
        self.flat: dict[str, list[Answer]] = {
            name: [answer for tier in tiers for answer in tier] for name, tiers in self.tiers.items()
        }
        #: Answers about nodes that outlive a cycle, by class; the table they were made for is the key's other half.
        self.static_answers: dict[Any, Any] = {}
        self.static_table: object = None

    def _build(self, option: PluginOption, registry: Registry) -> Plugin:
        hierarchy = self.configuration.is_on(option, HIERARCHY_SWITCH)
        try:
            plugin = registry.plugins[option.name](option.arguments, hierarchy)
        except Exception as error:
            raise PluginFailure(f"plugin {option.name} could not be made: {type(error).__name__}: {error}") from error
        self.plugins[option.name] = plugin
        return plugin

    def _add_tier(self, members: list[tuple[PluginOption, Plugin]]) -> None:
        for point in EXTENSION_POINTS:
            answers = [
                getattr(plugin, point.name)
                for option, plugin in members
                if self._answers(option, plugin, point)
            ]  # fmt: skip
            self.tiers[point.name].append(answers)
        for option, plugin in members:
            if self.configuration.is_on(option, "enablePredicate"):
                self.filters.extend(filters_of(plugin))
            if self.configuration.is_on(option, "enableNodeOrder"):
                self.scorers.extend(scorers_of(plugin))

    def _answers(self, option: PluginOption, plugin: Plugin, point: ExtensionPoint) -> bool:
        if getattr(type(plugin), point.name) is getattr(Plugin, point.name) or point.name in plugin.unanswered():
            return False
        switches = [point.switch, ALSO_SWITCHED_BY.get(point.name)]
        return point.switch is None or any(s and self.configuration.is_on(option, s) for s in switches)

    @property
    def class_labels(self) -> tuple[str, ...]:
        """Pod labels that some plugin reads."""
        return tuple(sorted({label for plugin in self.plugins.values() for label in plugin.reads_labels}))

    @property
    def class_annotations(self) -> tuple[str, ...]:
        return tuple(sorted({key for plugin in self.plugins.values() for key in plugin.reads_annotations}))

    def action_arguments(self, name: str) -> Mapping[str, Any]:
        return self.configuration.arguments_of(name)

    def statics_for(self, table: object) -> dict[Any, Any]:
        """The kept static answers for this table of nodes; those for another table are forgotten."""
        if self.static_table is not table:
            self.static_table = table
            self.static_answers = {}
        return self.static_answers
