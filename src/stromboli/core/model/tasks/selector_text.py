"""Label selectors in kubectl's format: `zone=a,tier!=test,gpu,!spot,rack in (1,2)`."""

from __future__ import annotations

import re

from stromboli.core.model.tasks.selectors import LabelSelector, Requirement

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_AMONG = re.compile(rf"({_KEY})\s+(in|notin)\s*\(\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)")
_PRESENT = re.compile(rf"(!?)\s*({_KEY})")


def read_selector(text: str, *, empty_is_absent: bool = False) -> LabelSelector:
    """With `empty_is_absent`, `KEY=` selects objects without the label. Raises ValueError."""
    parts = re.split(r",(?![^(]*\))", text)  # at commas outside of parentheses
    return LabelSelector(tuple(_requirement(part.strip(), empty_is_absent) for part in parts))


def _requirement(part: str, empty_is_absent: bool) -> Requirement:
    if match := _EQUALS.fullmatch(part):
        key, sign, value = match.groups()
        if not value and empty_is_absent:
            return Requirement(key, "Exists" if sign == "!=" else "DoesNotExist")
        return Requirement(key, "NotIn" if sign == "!=" else "In", (value,))
    if match := _AMONG.fullmatch(part):
        key, word, values = match.groups()
        accepted = tuple(value.strip() for value in values.split(","))
        return Requirement(key, "In" if word == "in" else "NotIn", accepted)
    if match := _PRESENT.fullmatch(part):
        return Requirement(match[2], "DoesNotExist" if match[1] else "Exists")
    forms = "KEY=VALUE, KEY!=VALUE, KEY, !KEY, KEY in (A,B) or KEY notin (A,B)"
    raise ValueError(f"{part!r} is not one of {forms}")
