"""The option that chooses controllers, of the process and of an installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from stromboli.cli.options.settings import shown_option
from stromboli.controllers.names import ALL, HYPERNODE, chosen_controllers

_OPTION = "--controllers"


def controllers_option(option: Callable[..., Any] = shown_option) -> Callable[[Any], Any]:
    about = "The controllers that run: names, -NAME for all but one, * for all, such as *,-queue."
    return option(_OPTION, default=ALL, metavar="LIST", help=about)


def read_controllers(text: str, discovery: str = "") -> tuple[str, ...]:
    """Return the chosen controllers; discovery of HyperNodes needs theirs. Raises BadParameter or UsageError."""
    try:
        chosen = chosen_controllers(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=_OPTION) from error
    if discovery and HYPERNODE not in chosen:
        raise click.UsageError(f"--discover-hypernodes needs the controller {HYPERNODE}; add it to {_OPTION}.")
    return chosen
