"""The values that expressions reckon with, where Python has none that are exactly so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?")
_SCALES = {
    **{suffix: Fraction(10) ** power for suffix, power in
       (("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18))},
    **{suffix: Fraction(2) ** (10 * step) for step, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}  # fmt: skip
_LONGEST = 64


class Unsigned(int):
    """A number that is never below zero."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount as the API writes it; exact."""

    amount: Fraction

    @classmethod
    def parse(cls, text: str) -> Quantity:
        match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            raise ValueError(f"{text[:_LONGEST]!r} is not a quantity")
        scale = Fraction(10) ** int(match[2]) if match[2] else _SCALES.get(match[3] or "", Fraction(1))
        return cls(Fraction(match[1]) * scale)

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount


_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_LENIENT = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:[-+].*)?)", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version by the rules of semver.org. What is behind the plus sign makes no difference."""

    major: int
    minor: int
    patch: int
    early: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, lenient: bool = False) -> Version:
        if lenient and (loose := _LENIENT.fullmatch(text)) is not None:
            text = ".".join(str(int(part or 0)) for part in loose.groups()[:3]) + loose[4]
        match = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            raise ValueError(f"{text[:_LONGEST]!r} is not a semantic version")
        return cls(int(match[1]), int(match[2]), int(match[3]), tuple(match[4].split(".")) if match[4] else ())

    @property
    def rank(self) -> tuple[object, ...]:
        """Early versions come before their version; numbers come before words."""
        early = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.early)
        return self.major, self.minor, self.patch, not self.early, early

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.rank == other.rank

    def __hash__(self) -> int:
        return hash(self.rank)

    def __lt__(self, other: Version) -> bool:
        return self.rank < other.rank


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may not be there."""

    value: object = None
    is_there: bool = False


class AttributeDomains(dict[str, dict[str, object]]):
    """Facts by domain and name; a domain that nobody speaks of has none."""

    def __missing__(self, key: str) -> dict[str, object]:
        return {}


def word_of(value: object) -> str:
    """The type of a value, for people."""
    if value is None:
        return "null"
    words = {bool: "bool", int: "int", Unsigned: "uint", float: "double", str: "string", list: "list", dict: "map",
             AttributeDomains: "map", Quantity: "quantity", Version: "semver", Optional: "optional"}  # fmt: skip
    return words.get(type(value), type(value).__name__)
