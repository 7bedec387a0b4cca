"""The actions of a configuration, in their order, and their arguments."""

from collections.abc import Iterator, Mapping, Sequence

from stromboli.core.config.argument_values import read_arguments
from stromboli.core.config.arguments import Arguments
from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.registry import Registry
from stromboli.core.config.yaml_lines import YamlNode

_KEYS = ("name", "arguments")
_WANTED = "actions must be a text such as 'enqueue, allocate, backfill' or a list of names"


class ActionReader:
    """Reads the keys `actions` and `configurations`."""

    def __init__(self, registry: Registry, findings: Findings) -> None:
        self._registry = registry
        self._findings = findings

    def actions(self, node: YamlNode) -> tuple[str, ...]:
        """Return the known names. The same action may run several times in a cycle."""
        return tuple(name for line, name in self._names(node) if self._is_known(name, line))

    def _names(self, node: YamlNode) -> Iterator[tuple[int, str]]:
        """Return each name with its line: from a text with commas, as in Volcano, or from a list."""
        if node.value in (None, ()) or (isinstance(node.value, str) and not node.value.strip()):
            self._findings.add(node.line, "actions is empty; name at least one, such as 'allocate'")
        elif isinstance(node.value, str):
            yield from ((node.line, name.strip()) for name in node.value.split(","))
        elif isinstance(node.value, tuple):
            yield from self._listed_names(node.value)
        else:
            self._findings.add(node.line, f"{_WANTED}, not {node.described}")

    def _listed_names(self, nodes: Sequence[YamlNode]) -> Iterator[tuple[int, str]]:
        for node in nodes:
            if isinstance(node.value, str):
                yield node.line, node.value.strip()
            else:
                self._findings.add(node.line, f"the name of an action must be a text, not {node.described}")

    def _is_known(self, name: str, line: int) -> bool:
        if not name:
            self._findings.add(line, "actions has an empty name; remove the extra comma")
        elif name not in self._registry.actions:
            self._findings.add_unknown(line, "action", name, self._registry.actions)
        return name in self._registry.actions

    def arguments(self, node: YamlNode | None, actions: Sequence[str]) -> dict[str, Arguments]:
        """The arguments of every registered action; `actions` are those that are carried out."""
        configured = {} if node is None else self._configured(node, actions)
        return {
            name: read_arguments(configured.get(name), type(action.arguments), f"action {name!r}", self._findings)
            for name, action in self._registry.actions.items()
        }

    def _configured(self, node: YamlNode, actions: Sequence[str]) -> dict[str, YamlNode]:
        """The node of arguments by action, of the configurations that can be used."""
        if not isinstance(node.value, tuple):
            if node.value is not None:
                self._findings.add(node.line, f"configurations must be a list, not {node.described}")
            return {}
        configured: dict[str, YamlNode] = {}
        for child in node.value:
            if isinstance(child.value, dict):
                self._take(child.line, child.value, configured, actions)
            else:
                self._findings.add(child.line, f"a configuration must be a mapping, not {child.described}")
        return configured

    def _take(
        self, line: int, fields: Mapping[str, YamlNode], configured: dict[str, YamlNode], actions: Sequence[str]
    ) -> None:
        for key, child in fields.items():
            if key not in _KEYS:
                self._findings.warn_unknown(child.line, "key", key, _KEYS, "a configuration")
        name = fields.get("name", YamlNode(line, None))
        if not isinstance(name.value, str) or not name.value:
            self._findings.add(name.line, f"a configuration must name an action, not {name.described}")
        elif name.value not in self._registry.actions:
            self._findings.warn_unknown(name.line, "action", name.value, self._registry.actions)
        elif name.value in configured:
            self._findings.warn(
                name.line, f"action {name.value!r} is configured twice; the first applies, so remove this"
            )
        else:
            configured[name.value] = fields.get("arguments", YamlNode(line, None))
            if name.value not in actions:
                self._findings.warn(name.line, f"action {name.value!r} is configured but not among the actions")
