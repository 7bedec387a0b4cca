"""The page of the commands lists which command has which common option."""

from __future__ import annotations

import re

import click
import pytest

from stromboli.cli import SECTIONS, main
from tests.docs.test_pages import commands, read, section

_ROW = re.compile(r"^\| ((?:`-[^`]+`(?:, )?)+) \| ([^|]+) \|", re.MULTILINE)


def rows() -> dict[str, str]:
    """Return the commands of every common option, as the page lists them."""
    return dict(_ROW.findall(section(read("commands.md"), "Common options")))


def users_of(option: str) -> set[str]:
    """Return the commands that have an option."""
    return {
        name.strip()
        for name, command in commands(main, "")
        if any(isinstance(each, click.Option) and option in each.opts and not each.hidden for each in command.params)
    }


def test_commands_are_listed_by_section_as_in_the_help() -> None:
    listed: dict[str, list[str]] = {}
    for title, name in re.findall(
        r"^\| (?:\*\*(.+)\*\*|`stromboli ([a-z-]+)(?: [a-z]+)?`) \|", read("commands.md"), re.MULTILINE
    ):
        names = listed.setdefault(title, []) if title else listed[list(listed)[-1]]
        if name and name not in names:
            names.append(name)
    assert listed == {title: list(those) for title, those in SECTIONS.items()}


@pytest.mark.parametrize("options", [options for options, listed in rows().items() if not listed.startswith("all")])
def test_common_options_are_listed_with_their_commands(options: str) -> None:
    for option in re.findall(r"`([^`]+)`", options):
        assert users_of(option) == set(re.findall(r"`([^`]+)`", rows()[options]))


def test_options_of_four_or_more_commands_are_common() -> None:
    listed = set(re.findall(r"`([^`]+)`", " ".join(rows())))
    shared = {
        option
        for _, command in commands(main, "")
        for each in command.params
        if isinstance(each, click.Option) and not each.envvar
        for option in each.opts
        if len(users_of(option)) >= 4
    }
    assert shared <= listed
