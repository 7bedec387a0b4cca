"""Differences between two nested mappings, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Maximum number of reported differences.
MAX_DIFFERENCES = 1000
_MAX_TEXT = 200

Account = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


def difference(what: str, expected: object, found: object) -> Difference:
    return Difference(what, _words(expected), _words(found))


def differences(expected: Account, found: Account, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Differences between two nested mappings, leaf by leaf."""
    for key in {**expected, **found}:
        one, other = expected.get(key), found.get(key)
        here = (*path, _words(key))
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from differences(one, other, here)
        elif one != other:
            yield difference(", ".join(here), one, other)


def _words(value: object) -> str:
    text = "nothing" if value is None or value == {} else str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
