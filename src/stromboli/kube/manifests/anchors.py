"""Anchors and aliases of one YAML document.

An alias shares the value of its anchor, so nine lines of nested aliases cost no memory here, but gigabytes once the
value is decoded. The number of values and characters that aliases add is therefore limited.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_ADDED_VALUES = 5_000_000
MAX_ADDED_CHARACTERS = 64 * 1024 * 1024


class AnchorError(ValueError):
    """An alias that cannot be used; the message and the remedy."""


class AnchoredValue(NamedTuple):
    """An anchored value, its size and depth with all aliases expanded, and for a scalar its text."""

    value: object
    text: str | None
    values: int
    characters: int
    depth: int


class Anchors:
    """The anchored values of one document, and what their aliases have added so far."""

    def __init__(self, max_values: int = MAX_ADDED_VALUES) -> None:
        self._max_values = max_values
        #: Values whose size is unknown as long as no alias uses them.
        self._unused: dict[str, tuple[object, str | None]] = {}
        self._used: dict[str, AnchoredValue] = {}
        #: The sizes of lists and maps with aliases, by identity.
        self._sizes: dict[int, tuple[int, int, int]] = {}
        self._open: set[str] = set()
        self._added_values = 0
        self._added_characters = 0

    def begin(self, name: str) -> None:
        """Begin a list or map with this anchor."""
        self._open.add(name)

    def define(self, name: str, value: object, text: str | None = None) -> None:
        """Define an anchor; a later one with the same name replaces it."""
        self._open.discard(name)
        self._unused[name] = value, text

    def resolve(self, name: str) -> AnchoredValue:
        """Return the value of an alias. Raises AnchorError."""
        if name in self._open:
            raise AnchorError(f"the alias *{name} is inside its own anchor", "write the value out")
        if name in self._unused:
            value, text = self._unused.pop(name)
            self._used[name] = AnchoredValue(value, text, *self._size_of(value))
        elif name not in self._used:
            raise AnchorError(f"the alias *{name} has no anchor before it", f"define &{name} above, or quote the text")
        found = self._used[name]
        self._add(found)
        return found

    def _add(self, found: AnchoredValue) -> None:
        self._added_values += found.values
        self._added_characters += found.characters
        if self._added_values > self._max_values:
            bound = f"{self._max_values:,} values"
        elif self._added_characters > MAX_ADDED_CHARACTERS:
            bound = f"{MAX_ADDED_CHARACTERS >> 20} MiB of text"
        else:
            return
        raise AnchorError(f"aliases add more than {bound} to this document", "write fewer or smaller aliases")

    def _size_of(self, value: object) -> tuple[int, int, int]:
        """Return the number of values and characters and the depth, with all aliases expanded."""
        values = characters = depth = 0
        pending = [(value, 1)]
        while pending:
            entry, level = pending.pop()
            if (known := self._sizes.get(id(entry))) is not None:
                values, characters, depth = values + known[0], characters + known[1], max(depth, level - 1 + known[2])
                continue
            values += 1
            if isinstance(entry, str):
                characters += len(entry)
            elif isinstance(entry, dict | list):
                depth = max(depth, level)
                characters += sum(map(len, entry)) if isinstance(entry, dict) else 0
                children = entry.values() if isinstance(entry, dict) else entry
                pending.extend((child, level + 1) for child in children)
        if isinstance(value, dict | list):
            self._sizes[id(value)] = values, characters, depth
        return values, characters, depth
