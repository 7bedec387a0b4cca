"""Value types of expressions that have no exact counterpart in Python."""

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
_MAX_LENGTH = 64


class Unsigned(int):
    """An unsigned integer."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity; exact."""

    amount: Fraction

    @classmethod
    def parse(cls, text: str) -> Quantity:
        match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
        if match is None:
            raise ValueError(f"{text[:_MAX_LENGTH]!r} is not a quantity")
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
    """A semantic version (semver.org). Build metadata is ignored."""

    major: int
    minor: int
    patch: int
    pre_release: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, lenient: bool = False) -> Version:
        if lenient and (loose := _LENIENT.fullmatch(text)) is not None:
            text = ".".join(str(int(part or 0)) for part in loose.groups()[:3]) + loose[4]
        match = _VERSION.fullmatch(text) if len(text) <= _MAX_LENGTH else None
        if match is None:
            raise ValueError(f"{text[:_MAX_LENGTH]!r} is not a semantic version")
        return cls(int(match[1]), int(match[2]), int(match[3]), tuple(match[4].split(".")) if match[4] else ())

    @property
    def rank(self) -> tuple[object, ...]:
        """Sort key: pre-releases come before the release, numeric identifiers before alphanumeric ones."""
        pre_release = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre_release)
        return self.major, self.minor, self.patch, not self.pre_release, pre_release

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.rank == other.rank

    def __hash__(self) -> int:
        return hash(self.rank)

    def __lt__(self, other: Version) -> bool:
        return self.rank < other.rank


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional value."""

    value: object = None
    is_present: bool = False


class AttributeDomains(dict[str, dict[str, object]]):
    """Attributes by domain and name; an unknown domain is empty."""

    def __missing__(self, key: str) -> dict[str, object]:
        return {}


def type_name(value: object) -> str:
    """The CEL type name of a value."""
    if value is None:
        return "null"
    names = {bool: "bool", int: "int", Unsigned: "uint", float: "double", str: "string", list: "list", dict: "map",
             AttributeDomains: "map", Quantity: "quantity", Version: "semver", Optional: "optional"}  # fmt: skip
    return names.get(type(value), type(value).__name__)
