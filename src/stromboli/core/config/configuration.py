"""The configuration of the scheduler, in the format of Volcano's `volcano-scheduler.conf`.

Volcano ignores unknown keys and arguments silently. They have no effect here either, and each is a warning with its
line. What decides which actions and plugins run is checked strictly: an unknown action or plugin is an error. Without
tiers no plugin runs, as in Volcano, and that is a warning too.
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
from stromboli.core.config.yaml_lines import YamlNode, read_tree

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


@dataclass(frozen=True, slots=True)
class Configuration:
    """The actions of a cycle, and the plugins that decide."""

    #: In the order in which they run.
    actions: tuple[str, ...]
    tiers: tuple[Tier, ...]
    #: For every registered action, also those that do not run: an action may read the arguments of another.
    action_arguments: Mapping[str, Arguments]
    #: The source of node usage metrics, for plugins that use them; None for no source.
    metrics: MetricsSource | None
    warnings: tuple[str, ...]
    source: str
    #: The options of binding.
    bind: BindOptions = field(default_factory=BindOptions)

    def arguments_of(self, action: str) -> Arguments:
        """Return the arguments of an action, with defaults filled in."""
        return self.action_arguments[action]


def parse_configuration(text: str, registry: Registry, source: str = "configuration") -> Configuration:
    """Read a configuration, or the ConfigMap that holds it; lines then count inside the embedded text.

    Raises ConfigurationError with all errors. `source` is the name of the text in messages.
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
    """Return the configuration that applies without a file."""
    return parse_configuration(DEFAULT_TEXT, registry, "default configuration")


def _read(root: YamlNode, registry: Registry, findings: Findings) -> Configuration:
    if not isinstance(root.value, dict):
        findings.stop(root.line, f"expected a mapping with actions and tiers, not {root.described}")
    fields = root.value
    _check_keys(root.line, fields, findings)
    action_reader = ActionReader(registry, findings)
    actions = action_reader.actions(fields["actions"]) if "actions" in fields else ()
    return Configuration(
        actions=actions,
        tiers=TierReader(registry, findings).read(fields.get("tiers", YamlNode(root.line, None))),
        action_arguments=action_reader.arguments(fields.get("configurations"), actions),
        metrics=read_metrics(fields.get("metrics"), findings),
        bind=read_bind(fields.get("bind"), findings),
        source=findings.source,
        #: Last, when everything is read.
        warnings=findings.warnings,
    )


def _check_keys(line: int, fields: Mapping[str, YamlNode], findings: Findings) -> None:
    for key, child in fields.items():
        if key not in _KEYS:
            findings.warn_unknown(child.line, "key", key, _KEYS)
    if "actions" not in fields:
        findings.add(line, "the key 'actions' is missing")
