"""Field numbers of the messages, from `messages.txt`.

A field is its number, its name in JSON and its type: `string`, `int`, `bool`, `bytes`, the name of a message, or one of
the special forms of `decoding.py`. `*` before a type is a list and `map:` a map by strings. `?` after a type means that
an empty value is significant (a pointer in the clients' code); other empty values are dropped. The name `=` inlines the
fields of the message into the parent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class FieldForm:
    """One field of a message."""

    name: str
    type: str
    is_list: bool = False
    is_map: bool = False
    keeps_empty: bool = False


@cache
def messages() -> dict[str, dict[int, FieldForm]]:
    """All messages by name, each with its fields by number."""
    text = files(__package__).joinpath("messages.txt").read_text("utf-8")
    table = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found = re.findall(r"^([\w./]+):(.*(?:\n  .*)*)", table, flags=re.MULTILINE)
    return {name: dict(_field(part) for part in parts.split(",")) for name, parts in found}


def message_of(api_version: str, kind: str) -> str | None:
    """The message of a kind; kinds with ambiguous names include their group."""
    return next((name for name in (f"{api_version}.{kind}", kind) if name in messages()), None)


def _field(part: str) -> tuple[int, FieldForm]:
    number, name, type_ = part.split()
    plain = type_.removesuffix("?").removeprefix("*").removeprefix("map:")
    form = FieldForm(name, plain, type_.startswith("*"), type_.startswith("map:"), type_.endswith("?"))
    return int(number), form
