"""`stromboli config`: validate a configuration of the scheduler, or print the recommended one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from stromboli.cli.options.settings import conf_option, output_option, plugin_option
from stromboli.cli.output import Printout, escape_controls, warn
from stromboli.cli.policies import read_configuration_text, read_registry
from stromboli.cli.text.tables import Table, echo_table

if TYPE_CHECKING:
    from stromboli.core.config.arguments import Arguments
    from stromboli.core.config.configuration import Configuration, ConfigurationError, PluginOption
    from stromboli.core.config.metrics_options import MetricsSource
    from stromboli.core.config.registry import Registry

_EPILOG = """\b
Examples:
  stromboli config check examples/contention/scheduler.conf
  stromboli config check --conf examples/day/easy.conf -o json
  kubectl -n volcano-system get configmap volcano-scheduler-configmap \\
    -o yaml | stromboli config check -
  stromboli config recommend > scheduler.conf

\b
Exit codes:
  0  the policy is valid
  1  invalid input
  2  wrong usage
"""


@click.group(epilog=_EPILOG)
def config() -> None:
    """Validate the scheduler's configuration, or print the recommended one."""


@config.command(epilog=_EPILOG)
@click.argument("file", default="", type=click.Path(allow_dash=True))
@conf_option("The same as FILE.")
@output_option()
@plugin_option("Your own plugin or action that the policy may name. Repeatable.")
def check(file: str, conf: str | None, output: str, plugins: tuple[str, ...]) -> None:
    """Validate a volcano-scheduler.conf, or the ConfigMap that contains it, and print the resulting configuration.

    FILE may be - for the standard input. All errors are listed at once, each with its line; the exit code is then 1.
    """
    from stromboli.core.config.configuration import ConfigurationError, parse_configuration

    if bool(file) == bool(conf):
        raise click.UsageError("Name one file, as FILE or with --conf.")
    file = file or conf or ""
    registry = read_registry(plugins)
    source = "standard input" if file == "-" else file
    try:
        configuration = parse_configuration(read_configuration_text(file), registry, source)
    except ConfigurationError as error:
        _problems(error).echo(output)
        sys.exit(1)
    _printout(configuration, registry).echo(output)


@config.command(epilog=_EPILOG)
def recommend() -> None:
    """Print the configuration that is recommended for production.

    Comments explain every difference from the default, which decides as Volcano does.
    """
    from stromboli.install.recommended import RECOMMENDED

    click.echo(RECOMMENDED, nl=False)


def _problems(error: ConfigurationError) -> Printout:
    """Return the errors as data; they are on the standard error in every format."""
    click.echo(str(error), err=True)
    warn(error.warnings)
    problems = [{"source": p.source, "line": p.line, "message": p.sentence} for p in error.problems]
    data = {"valid": False, "problems": problems, "warnings": error.warnings}
    return Printout(lambda wide: None, lambda: data, tuple)


def _printout(configuration: Configuration, registry: Registry) -> Printout:
    return Printout(
        tables=lambda wide: _echo_text(configuration, registry, wide=wide),
        data=lambda: _as_plain(configuration, registry),
        names=lambda: [
            *(f"action/{name}" for name in configuration.actions),
            *(f"plugin/{option.name}" for tier in configuration.tiers for option in tier.plugins),
        ],
    )


def _as_plain(configuration: Configuration, registry: Registry) -> dict[str, object]:
    tiers = [{"plugins": [_plugin_as_plain(option) for option in tier.plugins]} for tier in configuration.tiers]
    return {
        "valid": True,
        "source": configuration.source,
        "actions": configuration.actions,
        "tiers": tiers,
        "actionArguments": _changed_of_actions(configuration, registry),
        "metrics": _metrics(configuration.metrics),
        "warnings": configuration.warnings,
    }


def _metrics(source: MetricsSource | None) -> dict[str, object]:
    """Return the metrics source, with a redacted password."""
    return {} if source is None else {**asdict(source), "password": "<redacted>" if source.password else ""}


def _plugin_as_plain(option: PluginOption) -> dict[str, object]:
    return {"name": option.name, "switches": dict(option.switches), "arguments": _changed(option.arguments)}


def _echo_text(configuration: Configuration, registry: Registry, *, wide: bool) -> None:
    click.echo(f"{escape_controls(configuration.source)} is valid.\n\nActions: {', '.join(configuration.actions)}")
    for action, changed in _changed_of_actions(configuration, registry).items():
        click.echo(f"  {action}: {escape_controls(_pairs(changed))}")
    click.echo()
    echo_table(_table(configuration, wide=wide), wide=wide)
    if configuration.warnings:
        click.echo("\nWarnings:")
    for warning in configuration.warnings:
        click.echo(f"  {escape_controls(warning)}")


def _table(configuration: Configuration, *, wide: bool) -> Table:
    """Return a row per plugin, with the switches and arguments that differ from the default; wide, all arguments."""
    table = Table(("TIER", "PLUGIN", "SWITCHES", "ARGUMENTS"), flexible=("SWITCHES", "ARGUMENTS"))
    for number, tier in enumerate(configuration.tiers, start=1):
        for option in tier.plugins:
            arguments = _all(option.arguments) if wide else _changed(option.arguments)
            table.add(str(number), option.name, _switches(option), _pairs(arguments) or "-")
    return table


def _switches(option: PluginOption) -> str:
    from stromboli.core.config.extension_points import OFF_BY_DEFAULT

    changed = [
        f"{switch} {'on' if value else 'off'}"
        for switch, value in sorted(option.switches.items())
        if value == (switch in OFF_BY_DEFAULT)
    ]
    return ", ".join(changed) or "-"


def _changed_of_actions(configuration: Configuration, registry: Registry) -> dict[str, dict[str, object]]:
    every = {name: _changed(configuration.arguments_of(name)) for name in registry.actions}
    return {name: changed for name, changed in every.items() if changed}


def _changed(arguments: Arguments) -> dict[str, object]:
    """Return the arguments that differ from their defaults."""
    defaults = {argument.key: argument.default for argument in arguments.declared}
    configured = arguments.configured
    return {key: value for key, value in configured.items() if key not in defaults or defaults[key] != value}


def _all(arguments: Arguments) -> dict[str, object]:
    """Return all arguments; those with a placeholder in their key only if they are configured."""
    defaults = {argument.key: argument.default for argument in arguments.declared if argument.prefix is None}
    return {**defaults, **arguments.configured}


def _pairs(arguments: Mapping[str, object]) -> str:
    """Format values as in the configuration file."""
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()
    )
