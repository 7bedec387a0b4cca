"""Options that choose and configure binder plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from stromboli.cli.options.settings import Command, option_group, plugin_option
from stromboli.cli.output import Failure

if TYPE_CHECKING:
    from stromboli.binding.plugins.plugin import BinderPlugin


def binder_plugin_options(about: str, noun: str) -> Callable[[Command], Command]:
    """Define the options; `about` is the help of `--plugin`."""
    option_help, without_help = f"An option of a {noun}. Repeatable.", f"Disable a {noun}. Repeatable."
    return option_group(
        plugin_option(about),
        click.option(
            "--plugin-option", "plugin_options", multiple=True, metavar="PLUGIN.OPTION=VALUE", help=option_help
        ),
        click.option("--without-plugin", "left_out", multiple=True, metavar="PLUGIN", help=without_help),
    )


def load_binder_plugins(options: Mapping[str, Any]) -> list[BinderPlugin]:
    """Load the plugins of these options; an invalid one ends the command."""
    from stromboli.binding.plugins.loading import BUILT_IN, UnusablePlugin, load_plugins, read_options

    try:
        arguments = read_options(options["plugin_options"])
        return load_plugins(BUILT_IN, options["plugins"], arguments, without=options["left_out"])
    except UnusablePlugin as error:
        raise Failure(error) from error
