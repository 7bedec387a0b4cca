"""`stromboli config`: validate a configuration of the scheduler."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from stromboli.cli.options.settings import output_option, plugin_option
from stromboli.cli.scenario import read_configuration_text, read_registry

if TYPE_CHECKING:
    from stromboli.core.config.arguments import Arguments
    from stromboli.core.config.configuration import Configuration, ConfigurationError, PluginOption
    from stromboli.core.config.metrics_options import MetricsSource
    from stromboli.core.config.registry import Registry


@click.group()
def config() -> None:
    """Validate the scheduler's configuration."""


@config.command()
@click.argument("file")
@output_option("text", "json")
@plugin_option("Your own plugin or action that the file may name. Repeatable.")
def check(file: str, output: str, plugins: tuple[str, ...]) -> None:
    """Validate a volcano-scheduler.conf, or the ConfigMap that contains it, and print the resulting configuration.

    FILE may be - for the standard input. All errors are listed at once, each with its line; the exit code is then 1.
    """
    from stromboli.core.config.configuration import ConfigurationError, parse_configuration

    registry = read_registry(plugins)
    source = "standard input" if file == "-" else file
    try:
        configuration = parse_configuration(read_configuration_text(file), registry, source)
    except ConfigurationError as error:
        _report(error, output)
        sys.exit(1)
    show = _as_json if output == "json" else _as_text
    click.echo(show(configuration, registry))


def _report(error: ConfigurationError, output: str) -> None:
    """Print the errors to the standard error and, with -o json, also as JSON to the standard output."""
    if output == "json":
        problems = [{"source": p.source, "line": p.line, "message": p.sentence} for p in error.problems]
        click.echo(json.dumps({"valid": False, "problems": problems}, indent=2))
    click.echo(str(error), err=True)


def _as_json(configuration: Configuration, registry: Registry) -> str:
    tiers = [{"plugins": [_plugin_as_json(option) for option in tier.plugins]} for tier in configuration.tiers]
    summary = {
        "valid": True,
        "source": configuration.source,
        "actions": configuration.actions,
        "tiers": tiers,
        "actionArguments": _changed_of_actions(configuration, registry),
        "metrics": _metrics(configuration.metrics),
        "warnings": configuration.warnings,
    }
    return json.dumps(summary, indent=2)


def _metrics(source: MetricsSource | None) -> dict[str, object]:
    """Return the metrics source, with a redacted password."""
    return {} if source is None else {**asdict(source), "password": "<redacted>" if source.password else ""}


def _plugin_as_json(option: PluginOption) -> dict[str, object]:
    return {"name": option.name, "switches": dict(option.switches), "arguments": _changed(option.arguments)}


def _as_text(configuration: Configuration, registry: Registry) -> str:
    lines = [f"{configuration.source} is valid.", "", f"Actions: {', '.join(configuration.actions)}"]
    for action, changed in _changed_of_actions(configuration, registry).items():
        lines.append(f"  {action}: {_pairs(changed)}")
    lines += ["", *_table(("TIER", "PLUGIN", "SWITCHES", "ARGUMENTS"), _rows(configuration))]
    if configuration.warnings:
        lines += ["", "Warnings:", *(f"  {warning}" for warning in configuration.warnings)]
    return "\n".join(lines)


def _rows(configuration: Configuration) -> Iterator[tuple[str, ...]]:
    """Yield a row per plugin, with the switches and arguments that differ from the default."""
    for number, tier in enumerate(configuration.tiers, start=1):
        for option in tier.plugins:
            yield str(number), option.name, _switches(option), _pairs(_changed(option.arguments)) or "-"


def _switches(option: PluginOption) -> str:
    from stromboli.core.config.extension_points import OFF_BY_DEFAULT

    changed = [
        f"{switch} {'on' if value else 'off'}"
        for switch, value in sorted(option.switches.items())
        if value == (switch in OFF_BY_DEFAULT)
    ]
    return ", ".join(changed) or "-"


def _table(header: Sequence[str], rows: Iterator[tuple[str, ...]]) -> list[str]:
    table = [header, *rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def _changed_of_actions(configuration: Configuration, registry: Registry) -> dict[str, dict[str, object]]:
    every = {name: _changed(configuration.arguments_of(name)) for name in registry.actions}
    return {name: changed for name, changed in every.items() if changed}


def _changed(arguments: Arguments) -> dict[str, object]:
    """Return the arguments that differ from their defaults."""
    defaults = {argument.key: argument.default for argument in arguments.declared}
    configured = arguments.configured
    return {key: value for key, value in configured.items() if key not in defaults or defaults[key] != value}


def _pairs(arguments: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in arguments.items())
