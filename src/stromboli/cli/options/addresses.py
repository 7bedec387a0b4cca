"""Options for listen addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from stromboli.cli.options.settings import setting


class ListenAddress(click.ParamType[str]):
    """A listen address such as `:8080` or `127.0.0.1:8080`; the empty string disables listening."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from stromboli.observability.addresses import parse_address

        if value:
            try:
                parse_address(value)
            except ValueError as error:
                self.fail(str(error), param, ctx)
        return str(value)


def address(name: str, default: str, about: str) -> Callable[[Any], Any]:
    """Define an option for a listen address."""
    return setting(name, type=ListenAddress(), default=default, metavar="HOST:PORT", help=about)
