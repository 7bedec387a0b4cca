"""Addresses to listen on, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from stromboli.cli.options.settings import setting


class ListenAddress(click.ParamType[str]):
    """`:8080`, `127.0.0.1:8080`; nothing at all for nowhere. What is no address is refused where it is written."""

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
    """A setting that says where to listen."""
    return setting(name, type=ListenAddress(), default=default, metavar="HOST:PORT", help=about)
