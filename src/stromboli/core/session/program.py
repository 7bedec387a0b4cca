"""A program: the configuration compiled into chains of answers, built once and used by every cycle.

For each extension point it holds, by tier, the answers of the plugins that override it and are not switched off. Static
answers about nodes, which do not depend on a cycle's amounts, are cached here between cycles as long as the node table
is the same.
"""

from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from stromboli.core.config.action import Action
from stromboli.core.config.combining import Answer, Rule
from stromboli.core.config.configuration import Configuration, PluginOption
from stromboli.core.config.extension_points import BY_NAME, EXTENSION_POINTS, HIERARCHY_SWITCH, ExtensionPoint
from stromboli.core.config.external_services import ExternalServices
from stromboli.core.config.plugin import Plugin, PluginFailure
from stromboli.core.config.plugin_errors import describe_error
from stromboli.core.config.registry import Registry
from stromboli.core.config.rule_adapters import filters_of, overrides, scorers_of
from stromboli.core.search.node_rules import Locality, NodeFilter, NodeScorer


class Program:
    """The plugins and actions of one configuration."""

    def __init__(
        self, configuration: Configuration, registry: Registry, outside: ExternalServices | None = None
    ) -> None:
        self.configuration = configuration
        #: Connects plugins to external services; None where services must not be called.
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
        self.filters_by_locality = {each: [rule for rule in self.filters if rule.locality is each] for each in Locality}
        self.scorers_by_locality = {each: [rule for rule in self.scorers if rule.locality is each] for each in Locality}
        #: The same answers without tiers, for rules that ignore them.
        self.flat: dict[str, list[Answer]] = {
            name: [answer for tier in tiers for answer in tier] for name, tiers in self.tiers.items()
        }
        #: Static answers about nodes, by class, valid for `static_table`.
        self.static_answers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.static_table: object = None
        #: Errors of plugins and actions that did not abort their cycle; None where they are not collected.
        self.errors: list[Exception] | None = None

    def _build_action(self, name: str, registry: Registry) -> Action:
        try:
            return registry.actions[name](self.configuration.arguments_of(name))
        except Exception as error:
            raise PluginFailure(f"action {name} could not be built: {_described(error)}") from error

    def _build(self, option: PluginOption, registry: Registry) -> Plugin:
        try:
            plugin = registry.plugins[option.name](option.arguments, option.is_on(HIERARCHY_SWITCH))
        except Exception as error:
            raise PluginFailure(f"plugin {option.name} could not be built: {_described(error)}") from error
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
            raise PluginFailure(f"plugin {option.name}: node rules failed: {_described(error)}") from error

    def named(self, question: str) -> list[tuple[str, Answer]]:
        """Return the plugins that answer an extension point, by name, with their answers."""
        answering = self.answering[question]
        return [(name, getattr(plugin, question)) for name, plugin in self.plugins.items() if name in answering]

    @property
    def class_labels(self) -> tuple[str, ...]:
        """Pod labels that plugins read."""
        return tuple(sorted({label for plugin in self.plugins.values() for label in plugin.reads_labels}))

    @property
    def config_maps(self) -> tuple[str, ...]:
        """ConfigMaps that plugins read, each as `namespace/name`."""
        return tuple(sorted({key for plugin in self.plugins.values() for key in plugin.reads_config_maps}))

    @property
    def class_annotations(self) -> tuple[str, ...]:
        return tuple(sorted({key for plugin in self.plugins.values() for key in plugin.reads_annotations}))

    @property
    def usage_window(self) -> float:
        """The period in seconds over which node usage is averaged; 0 if no plugin reads it."""
        return max((plugin.usage_window for plugin in self.plugins.values()), default=0.0)

    @property
    def reads_past_usage(self) -> bool:
        """Report whether a plugin reads what queues and users have used so far."""
        return any(plugin.reads_past_usage for plugin in self.plugins.values())

    def guarded(self, question: str) -> tuple[list[Answer], list[list[Answer]], list[Answer]]:
        """For an extension point about victims, return the answers of guards, the other answers by tier (as one tier
        where tiers do not matter), and those whose veto counts in every tier.
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

    def statics_for(self, table: object) -> MutableMapping[Any, Any]:
        """Return the cached static answers for this node table, for as long as their classes exist; those for another
        table are dropped.
        """
        if self.static_table is not table:
            self.static_table = table
            self.static_answers = WeakKeyDictionary()
        return self.static_answers


def _answers(option: PluginOption, plugin: Plugin, point: ExtensionPoint) -> bool:
    return (
        overrides(plugin, point.name)
        and point.name not in plugin.unused_extension_points()
        and option.is_on(point.name)
    )


def _described(error: Exception) -> str:
    return describe_error(error, with_owner=False)
