"""The tiers of a configuration: the plugins, their switches and their arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stromboli.core.config.argument_values import read_arguments
from stromboli.core.config.arguments import Arguments, converted
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.extension_points import (
    BY_NAME,
    HIERARCHY_SWITCH,
    OFF_BY_DEFAULT,
    RETIRED_SWITCHES,
    SWITCHES,
)
from stromboli.core.config.registry import Registry
from stromboli.core.config.spelling import quoted
from stromboli.core.config.yaml_lines import YamlNode

_OTHER_KEYS = ("name", "arguments")
#: Both divide the cluster between queues, by different definitions of what a queue deserves.
_ALTERNATIVES = frozenset({"capacity", "proportion"})
#: Plugins that Volcano once had, and that old files still list.
_FORMER_PLUGINS = frozenset({"reservation"})


@dataclass(frozen=True, slots=True)
class PluginOption:
    """A plugin as the configuration lists it."""

    name: str
    #: Canonical name of a switch -> its value, for the switches that the file sets.
    switches: Mapping[str, bool]
    arguments: Arguments

    def is_on(self, point_or_switch: str) -> bool:
        """Report whether a switch, in any spelling, or the plugin's answer to an extension point is on.

        A switch that the file does not set is on, except for the few that are off by default.
        """
        point = BY_NAME.get(point_or_switch)
        switch = SWITCHES[point_or_switch] if point is None else point.switch
        return switch is None or self.switches.get(switch, switch not in OFF_BY_DEFAULT)


@dataclass(frozen=True, slots=True)
class Tier:
    """Plugins whose answers are combined."""

    plugins: tuple[PluginOption, ...]


class TierReader:
    """Reads the tiers of one configuration, and keeps the plugins it has read."""

    def __init__(self, registry: Registry, findings: Findings) -> None:
        self._registry = registry
        self._findings = findings
        self._first_lines: dict[str, int] = {}

    def read(self, node: YamlNode) -> tuple[Tier, ...]:
        if node.value in (None, ()):
            self._findings.warn(node.line, "no tiers: no plugin runs; gangs, queues and constraints have no effect")
            return ()
        if not isinstance(node.value, tuple):
            self._findings.add(node.line, f"tiers must be a list, not {node.described}")
            return ()
        return self._effective([self._tier(child) for child in node.value])

    def _effective(self, tiers: Sequence[Tier]) -> tuple[Tier, ...]:
        """Keep the last entry of each plugin, and the first of two plugins that exclude each other."""
        last = {option.name: option for tier in tiers for option in tier.plugins}
        listed = [option.name for tier in tiers for option in tier.plugins if option.name in _ALTERNATIVES]
        left_out = [name for name in listed[1:] if name != listed[0]]
        for name in left_out:
            self._findings.warn(
                self._first_lines[name],
                f"plugin {name!r} is left out: it excludes plugin {listed[0]!r} (line {self._first_lines[listed[0]]}), "
                "which is listed first; remove one of them",
            )
        kept = [option for name, option in last.items() if name not in left_out]
        return tuple(Tier(tuple(o for o in tier.plugins if any(o is option for option in kept))) for tier in tiers)

    def _tier(self, node: YamlNode) -> Tier:
        if not isinstance(node.value, dict):
            self._findings.add(node.line, f"a tier must be a mapping with 'plugins', not {node.described}")
            return Tier(())
        for key, child in node.value.items():
            if key != "plugins":
                self._findings.warn_unknown(child.line, "key", key, ["plugins"], "a tier")
        plugins = node.value.get("plugins", YamlNode(node.line, None))
        if plugins.value in (None, ()):
            self._findings.warn(plugins.line, "the tier lists no plugins and has no effect")
            return Tier(())
        return self._plugins(plugins)

    def _plugins(self, node: YamlNode) -> Tier:
        if not isinstance(node.value, tuple):
            self._findings.add(node.line, f"plugins must be a list, not {node.described}")
            return Tier(())
        members = [(child.line, self._option(child)) for child in node.value]
        lines = {option.name: line for line, option in members if option is not None}
        options = tuple(option for _, option in members if option is not None)
        self._warn_of_conflict(lines, options)
        return Tier(options)

    def _warn_of_conflict(self, lines: Mapping[str, int], options: Sequence[PluginOption]) -> None:
        """Warn of two plugins that both order queues and choose victims, by different definitions of a fair share."""
        hierarchical = any(option.name == "drf" and option.is_on(HIERARCHY_SWITCH) for option in options)
        if hierarchical and "proportion" in lines:
            self._findings.warn(
                lines["drf"],
                f"plugin 'drf' with {HIERARCHY_SWITCH} conflicts with plugin 'proportion' in the same tier "
                f"(line {lines['proportion']}): the first of them orders the queues; put them into different tiers",
            )

    def _option(self, node: YamlNode) -> PluginOption | None:
        """Read one entry. The switches of an unknown plugin are checked as well; its arguments cannot be."""
        name = self._name(node)
        if name is None or not isinstance(node.value, dict):
            return None
        plugin = self._registry.plugins.get(name)
        declared = type(plugin.arguments) if plugin is not None else Arguments
        switches = self._switches(f"plugin {quoted(name)}", node.value, declared)
        if plugin is None and name in _FORMER_PLUGINS:
            self._findings.warn(node.value["name"].line, f"plugin {name!r} has no effect: Volcano has it no longer")
            return None
        if plugin is None:
            self._findings.add_unknown(node.value["name"].line, "plugin", name, self._registry.plugins)
            return None
        arguments = read_arguments(node.value.get("arguments"), declared, f"plugin {name!r}", self._findings)
        return PluginOption(name, switches, arguments)

    def _name(self, node: YamlNode) -> str | None:
        if isinstance(node.value, str):
            self._findings.add(node.line, f"a plugin must be a mapping; write 'name: ' before {node.described}")
            return None
        if not isinstance(node.value, dict):
            self._findings.add(node.line, f"a plugin must be a mapping with a name, not {node.described}")
            return None
        name = node.value.get("name", YamlNode(node.line, None))
        if not isinstance(name.value, str) or not name.value:
            self._findings.add(name.line, f"the name of a plugin must be a text, not {name.described}")
            return None
        self._note_line(name.value, name.line)
        return name.value

    def _note_line(self, name: str, line: int) -> None:
        if name in self._first_lines:
            self._findings.warn(
                line,
                f"plugin {quoted(name)} is listed twice (first in line {self._first_lines[name]}); "
                "only the last entry applies, so remove one",
            )
        self._first_lines.setdefault(name, line)

    def _switches(self, owner: str, fields: Mapping[str, YamlNode], declared: type[Arguments]) -> dict[str, bool]:
        switches: dict[str, bool] = {}
        for key, node in fields.items():
            if key in SWITCHES:
                self._switch(owner, key, node, switches)
            elif key in RETIRED_SWITCHES:
                self._findings.warn(node.line, f"{key!r} of {owner} has no effect: no action uses this extension point")
            elif key not in _OTHER_KEYS:
                self._warn_of_key(owner, key, node, declared)
        return switches

    def _switch(self, owner: str, key: str, node: YamlNode, switches: dict[str, bool]) -> None:
        value = converted(node.value, bool)
        if value is None:
            self._findings.warn(node.line, f"{key!r} of {owner} has no value and no effect")
            return
        if not isinstance(value, bool):
            self._findings.add(node.line, f"{key!r} of {owner} must be true or false, not {node.described}")
            return
        if value is not node.value:
            self._findings.warn(node.line, f"{key!r} of {owner}: {node.described} is read as {json.dumps(value)}")
        switch = SWITCHES[key]
        if switches.setdefault(switch, value) != value:
            self._findings.warn(
                node.line, f"{key!r} of {owner} is set in two spellings with different values; {switch!r} applies"
            )
            if key == switch:
                switches[switch] = value

    def _warn_of_key(self, owner: str, key: str, node: YamlNode, declared: type[Arguments]) -> None:
        if declared.declaration_of(key) is not None:
            self._findings.warn(
                node.line, f"{key!r} has no effect here: it is an argument of {owner}; put it under 'arguments'"
            )
        else:
            self._findings.warn_unknown(node.line, "key", key, [*_OTHER_KEYS, *SWITCHES], owner)
