"""A group of commands that imports a command when it is called, not when it is listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """The import reference of a command, and its line in the list of commands."""

    reference: str
    short_help: str

    def load(self) -> click.Command:
        module, _, name = self.reference.partition(":")
        command = getattr(import_module(module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.reference} is not a command")
        return command


class LazyGroup(click.Group):
    def __init__(self, *arguments: Any, lazy_commands: Mapping[str, LazyCommand], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._lazy = dict(lazy_commands)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List commands in the order of the table."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = self._lazy.get(cmd_name)
        return known.load() if known else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.short_help) for name, command in self._lazy.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as any group does; for an unknown name suggest the most similar one."""
        near = get_close_matches(args[0], self._lazy, n=1)
        if near and args[0] not in self._lazy:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)
