"""Durations on the command line, in the format of Kubernetes tools."""

from __future__ import annotations

import re
from typing import Any

import click

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """`1s`, `500ms`, `1m30s`; a bare number is in seconds. Durations below `minimum` are rejected."""

    name = "duration"

    def __init__(self, shortest: float = 0.0) -> None:
        self._shortest = shortest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = self._seconds(value, param, ctx)
        if seconds < self._shortest:
            return self.fail(f"{value} is too short; at least {self._shortest:g}s", param, ctx)
        return seconds

    def _seconds(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        parts = _PART.findall(text)
        if parts and "".join(number + unit for number, unit in parts) == text:
            return sum(float(number) * _SECONDS[unit] for number, unit in parts)
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        return self.fail(f"{value!r} is not a duration such as 1s, 500ms or 1m30s", param, ctx)


DURATION = Duration()
