"""The configuration of the scheduler, in the format of Volcano's `volcano-scheduler.conf`.

Text in, value out. Volcano passes over what it does not understand, and a misspelt switch then changes
nothing without a word; here every name is checked against the registry and every mistake is told, with
its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stromboli.core.config.action_options import ActionReader
from stromboli.core.config.arguments import Arguments
from stromboli.core.config.bind_options import BindOptions, read_bind
from stromboli.core.config.config_map import embedded_text, is_config_map
from stromboli.core.config.configuration_errors import ConfigurationError, Findings, Problem
from stromboli.core.config.metrics_options import MetricsSource, read_metrics
from stromboli.core.config.plugin_options import PluginOption, Tier, TierReader
from stromboli.core.config.registry import Registry
from stromboli.core.config.yaml_lines import Node, read_tree

__all__ = [
    "DEFAULT_TEXT",
    "Configuration",
    "ConfigurationError",
    "PluginOption",
    "Problem",
    "Tier",
    "default_configuration",
    "parse_configuration",
]

DEFAULT_TEXT = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""

_KEYS = ("actions", "tiers", "configurations", "metrics", "bind")
_REQUIRED_KEYS = ("actions", "tiers")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a scheduler does in a cycle, and by which policies."""

    #: In the order in which they are carried out.
    actions: tuple[str, ...]
    tiers: tuple[Tier, ...]
    #: For every registered action, also those that are not carried out: an action may read another's.
    action_arguments: Mapping[str, Arguments]
    #: Where measurements of the nodes come from, for those plugins that use them; None for nowhere.
    metrics: MetricsSource | None
    warnings: tuple[str, ...]
    source: str
    #: Who binds pods.
    bind: BindOptions = field(default_factory=BindOptions)

    def arguments_of(self, action: str) -> Arguments:
        """The arguments of an action, with defaults filled in."""
        return self.action_arguments[action]


def parse_configuration(text: str, registry: Registry, source: str = "configuration") -> Configuration:
    """Read a configuration, or the ConfigMap that holds it; lines then count inside the embedded text.

    Raises ConfigurationError with everything that is wrong. `source` is what messages call the text.
    """
    findings = Findings(source)
    root = read_tree(text, findings)
    if is_config_map(root):
        key, embedded = embedded_text(root, findings)
        findings.raise_if_any()
        findings = Findings(f"{source}[{key}]")
        root = read_tree(embedded, findings)
    configuration = _read(root, registry, findings)
    findings.raise_if_any()
    return configuration


def default_configuration(registry: Registry) -> Configuration:
    """What holds when no configuration is given."""
    return parse_configuration(DEFAULT_TEXT, registry, "default configuration")


def _read(root: Node, registry: Registry, findings: Findings) -> Configuration:
    if not isinstance(root.value, dict):
        findings.stop(root.line, f"expected a mapping with actions and tiers, not {root.described}")
    fields = root.value
    _check_keys(root.line, fields, findings)
    action_reader = ActionReader(registry, findings)
    actions = action_reader.actions(fields["actions"]) if "actions" in fields else ()
    return Configuration(
        actions=actions,
        tiers=TierReader(registry, findings).read(fields["tiers"]) if "tiers" in fields else (),
        action_arguments=action_reader.arguments(fields.get("configurations"), actions),
        metrics=read_metrics(fields.get("metrics"), findings),
        warnings=findings.warnings,
        source=findings.source,
        bind=read_bind(fields.get("bind"), findings),
    )


def _check_keys(line: int, fields: Mapping[str, Node], findings: Findings) -> None:
    for key, child in fields.items():
        if key not in _KEYS:
            findings.add_unknown(child.line, "key", key, _KEYS)
    for key in _REQUIRED_KEYS:
        if key not in fields:
            findings.add(line, f"the key {key!r} is missing")
