"""A program: the configuration compiled into chains of answers, built once and used by every cycle.

For each extension point it holds, by tier, the answers of the plugins that override the question and are not
switched off. What does not depend on a cycle's amounts (static answers about nodes) is kept here between
cycles, for as long as the table of nodes is the same.
"""

from typing import Any

from stromboli.core.config.action import Action
from stromboli.core.config.combining import Answer, Rule
from stromboli.core.config.configuration import Configuration, PluginOption
from stromboli.core.config.extension_points import BY_NAME, EXTENSION_POINTS, HIERARCHY_SWITCH, ExtensionPoint
from stromboli.core.config.external_services import ExternalServices
from stromboli.core.config.plugin import Plugin, PluginFailure
from stromboli.core.config.registry import Registry
from stromboli.core.config.rule_adapters import filters_of, overrides, scorers_of
from stromboli.core.search.node_rules import NodeFilter, NodeScorer


class Program:
    """Plugins and actions of one configuration, ready to be asked."""

    def __init__(
        self, configuration: Configuration, registry: Registry, outside: ExternalServices | None = None
    ) -> None:
        self.configuration = configuration
        #: Reaches services outside, for plugins that ask them; None where nobody is to be asked.
        self.outside = outside
        self.actions: list[Action] = [self._build_action(name, registry) for name in configuration.actions]
        self.plugins: dict[str, Plugin] = {}
        #: By extension point, the names of the plugins that answer.
        self.answering: dict[str, set[str]] = {point.name: set() for point in EXTENSION_POINTS}
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

    def _build_action(self, name: str, registry: Registry) -> Action:
        try:
            return registry.actions[name](self.configuration.arguments_of(name))
        except Exception as error:
            raise PluginFailure(f"action {name} could not be made: {type(error).__name__}: {error}") from error

    def _build(self, option: PluginOption, registry: Registry) -> Plugin:
        try:
            plugin = registry.plugins[option.name](option.arguments, option.is_on(HIERARCHY_SWITCH))
        except Exception as error:
            raise PluginFailure(f"plugin {option.name} could not be made: {type(error).__name__}: {error}") from error
        self.plugins[option.name] = plugin
        return plugin

    def _add_tier(self, members: list[tuple[PluginOption, Plugin]]) -> None:
        for point in EXTENSION_POINTS:
            answering = [plugin for option, plugin in members if _answers(option, plugin, point)]
            self.answering[point.name].update(plugin.name for plugin in answering)
            self.tiers[point.name].append([getattr(plugin, point.name) for plugin in answering])
        for option, plugin in members:
            self._add_rules(option, plugin)

    def _add_rules(self, option: PluginOption, plugin: Plugin) -> None:
        try:
            if option.is_on("predicate"):
                self.filters.extend(filters_of(plugin))
            if option.is_on("node_order"):
                self.scorers.extend(scorers_of(plugin))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise PluginFailure(f"plugin {option.name} could not give its rules about nodes: {problem}") from error

    def named(self, question: str) -> list[tuple[str, Answer]]:
        """The plugins that answer a question, by name, with their answers."""
        answering = self.answering[question]
        return [(name, getattr(plugin, question)) for name, plugin in self.plugins.items() if name in answering]

    @property
    def class_labels(self) -> tuple[str, ...]:
        """Pod labels that some plugin reads."""
        return tuple(sorted({label for plugin in self.plugins.values() for label in plugin.reads_labels}))

    @property
    def config_maps(self) -> tuple[str, ...]:
        """ConfigMaps that some plugin reads, each as `namespace/name`."""
        return tuple(sorted({key for plugin in self.plugins.values() for key in plugin.reads_config_maps}))

    @property
    def class_annotations(self) -> tuple[str, ...]:
        return tuple(sorted({key for plugin in self.plugins.values() for key in plugin.reads_annotations}))

    @property
    def usage_window(self) -> float:
        """Over how many seconds measurements of nodes are to be averaged; 0 when no plugin reads any."""
        return max((plugin.usage_window for plugin in self.plugins.values()), default=0.0)

    def guarded(self, question: str) -> tuple[list[Answer], list[list[Answer]], list[Answer]]:
        """Of a question about victims: the answers that hold whatever others say, and the rest by tier; where tiers do
        not matter, as one. Of these again those whose objections count in every tier.
        """
        guards = [getattr(plugin, question) for name, plugin in self.plugins.items() if self._guards(name, question)]
        tiers = [[answer for answer in tier if answer not in guards] for tier in self.tiers[question]]
        if BY_NAME[question].rule is Rule.INTERSECTION:
            tiers = [[answer for tier in tiers for answer in tier]]
        everywhere = [
            getattr(plugin, question)
            for name, plugin in self.plugins.items()
            if name in self.answering[question] and plugin.vetoes_in_every_tier
        ]
        return guards, tiers, everywhere

    def _guards(self, name: str, question: str) -> bool:
        return name in self.answering[question] and self.plugins[name].guards_victims

    def statics_for(self, table: object) -> dict[Any, Any]:
        """The kept static answers for this table of nodes; those for another table are forgotten."""
        if self.static_table is not table:
            self.static_table = table
            self.static_answers = {}
        return self.static_answers


def _answers(option: PluginOption, plugin: Plugin, point: ExtensionPoint) -> bool:
    return (
        overrides(plugin, point.name)
        and point.name not in plugin.unused_extension_points()
        and option.is_on(point.name)
    )
