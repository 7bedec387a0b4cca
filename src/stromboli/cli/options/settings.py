"""Options that several commands share, options with environment variables, listen addresses and durations."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., Any])

#: The default of `--scheduler-name`.
SCHEDULER_NAMES = ("stromboli", "volcano")

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def shown_option(*names: str, **keywords: Any) -> Callable[[Any], Any]:
    """Define an option whose help shows its default, unless that is empty."""
    return click.option(*names, show_default=keywords.get("default") != "", **keywords)


def option_group(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Combine options into one decorator; the help lists them in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def reject_options(names: Collection[str], why: str) -> None:
    """End the command if one of these options is on the command line, where it would have no effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[-1]} has no effect {why}; leave it out.")


def output_option(default: str = "table", *further: str) -> Callable[[Any], Any]:
    """Define `--output` with the formats of `Printout`, and those of this command only."""
    choice = click.Choice(("table", "wide", "json", "yaml", "name", *further))
    return shown_option("-o", "--output", type=choice, default=default, help="The output format.")


def paths_option(about: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Define `-f`; `about` follows the description of its values."""
    return click.option(
        "-f", "--filename", "paths", multiple=True, required=required, metavar="PATH", type=click.Path(allow_dash=True),
        help=f"Manifests: a file, a folder, or - for the standard input. Repeatable. {about}".strip(),
    )  # fmt: skip


def conf_option(about: str = "Default: the default configuration.", *, multiple: bool = False) -> Callable[[Any], Any]:
    """Define `--conf`; `about` follows the description of its values."""
    return click.option(
        "--conf", metavar="FILE", type=click.Path(allow_dash=True), multiple=multiple,
        help="The policy: a volcano-scheduler.conf or the ConfigMap that contains it, or - for the standard input. "
        + about,
    )  # fmt: skip


def seed_option(option: Callable[..., Any] = shown_option) -> Callable[[Any], Any]:
    about = "The order of nodes with equal scores: 0 orders by name, any other number shuffles them."
    return option("--seed", type=int, default=0, metavar="N", help=about)


def plugin_option(about: str) -> Callable[[Any], Any]:
    return click.option("--plugin", "plugins", multiple=True, metavar="MODULE:CLASS", help=about)


def scheduler_name_option(about: str, option: Callable[..., Any] = shown_option) -> Callable[[Any], Any]:
    return option(
        "--scheduler-name", "scheduler_names", multiple=True, default=SCHEDULER_NAMES, metavar="NAME", help=about
    )


def setting(*names: str, **keywords: Any) -> Callable[[Any], Any]:
    """Define an option with an environment variable: --schedule-period as STROMBOLI_SCHEDULE_PERIOD."""
    long = next(name for name in names if name.startswith("--")).split("/")[0]
    variable = "STROMBOLI_" + long.removeprefix("--").replace("-", "_").upper()
    return shown_option(*names, envvar=variable, **keywords)


def switch(name: str, *, default: bool = False, help: str) -> Callable[[Any], Any]:  # noqa: A002 - as click calls it
    """Define a boolean option in the format of Volcano's flags: --leader-elect, --leader-elect=false."""
    return setting(name, type=click.BOOL, is_flag=False, flag_value=True, default=default, metavar="[=BOOL]", help=help)


class ListenAddress(click.ParamType[str]):
    """A listen address such as `:8080` or `127.0.0.1:8080`; the empty string disables listening."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from stromboli.serving.address import parse_address

        if value:
            try:
                parse_address(value)
            except ValueError as error:
                self.fail(str(error), param, ctx)
        return str(value)


class HttpPaths(click.ParamType[tuple[str, ...]]):
    """Comma-separated HTTP paths, each with `*` at its end for all that begin with it; may be empty."""

    name = "paths"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        paths = value if isinstance(value, tuple) else tuple(filter(None, (each.strip() for each in value.split(","))))
        for path in paths:
            if not path.startswith("/") or "*" in path[:-1]:
                self.fail(f"{path!r} is not a path such as /metrics, or /* for all", param, ctx)
        return paths


def address(name: str, default: str, about: str) -> Callable[[Any], Any]:
    """Define an option for a listen address."""
    return setting(name, type=ListenAddress(), default=default, metavar="HOST:PORT", help=about)


class Duration(click.ParamType[float]):
    """`1s`, `500ms`, `1m30s`; a bare number is in seconds. Durations below `minimum` are rejected."""

    name = "duration"

    def __init__(self, shortest: float = 0.0) -> None:
        self._shortest = shortest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = self._seconds(value, param, ctx)
        if seconds < self._shortest:
            return self.fail(f"{value} is too short; at least {self._shortest:g}s", param, ctx)
        return seconds

    def _seconds(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        parts = _PART.findall(text)
        if parts and "".join(number + unit for number, unit in parts) == text:
            return sum(float(number) * _SECONDS[unit] for number, unit in parts)
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        return self.fail(f"{value!r} is not a duration such as 1s, 500ms or 1m30s", param, ctx)


DURATION = Duration()
