"""Options with values of the form `NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click


class Pair(click.ParamType[tuple[str, str]]):
    """`NAME=VALUE`; the value may contain further equals signs."""

    name = "pair"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, separator, text = str(value).partition("=")
        if not separator or not name.strip():
            self.fail(f"{value!r} is not of the form NAME=VALUE", param, ctx)
        return name.strip(), text.strip()


class Amounts(click.ParamType[dict[str, str]]):
    """Amounts by resource, `cpu=8,memory=64Gi`; the empty text is no amount."""

    name = "amounts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        from stromboli.core.model.resources.resources import ResourceAxis

        if isinstance(value, dict):
            return value
        amounts = pairs((PAIR.convert(part, param, ctx) for part in str(value).split(",") if part.strip()), "")
        try:
            parsed = ResourceAxis().parse(amounts)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if len(parsed) != len(amounts):
            self.fail(f"{value!r} names something that is no resource of nodes", param, ctx)
        return amounts


PAIR = Pair()
AMOUNTS = Amounts()


def pairs(values: Iterable[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the values by name. A name that is repeated is a usage error."""
    found: dict[str, str] = {}
    for name, text in values:
        if name in found:
            raise click.BadParameter(f"{name} is set twice", param_hint=option or None)
        found[name] = text
    return found
