"""One form for values that clients write differently.

A typed client, such as vcctl, leaves out values that are zero or empty, adds others, and writes amounts and durations
in another form than the manifest. A Job that it reads, changes and writes has no other changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stromboli.core.model.resources.quantity import parse_quantity

_AMOUNTS_BY_NAME = ("limits", "requests")
_AMOUNTS = ("divisor", "sizeLimit")
_DURATIONS = ("runningEstimate", "timeout")
_PART = re.compile(r"([0-9.]+)(h|ms|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def in_one_form(value: Any, key: str = "") -> Any:
    """Return a value without zero and empty parts, with amounts and durations as numbers."""
    if isinstance(value, Mapping):
        of_parts = {name: _AMOUNTS[0] if key in _AMOUNTS_BY_NAME else str(name) for name in value}
        parts = {name: in_one_form(part, of_parts[name]) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part}
    if isinstance(value, list):
        return [in_one_form(part) for part in value]
    if key in _AMOUNTS:
        return _amount(value)
    return _seconds(value) if key in _DURATIONS and isinstance(value, str) else value


def _amount(value: Any) -> Any:
    try:
        return parse_quantity(value, milli=True)
    except ValueError:
        return value


def _seconds(text: str) -> float | str:
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text:
        return text
    try:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    except ValueError:
        return text
