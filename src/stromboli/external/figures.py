"""Shared parts of metrics sources: cpu and memory figures are combined to one measurement per node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from stromboli.core.model.nodes.usage import Usage


class SourceProblem(ValueError):
    """A source returned invalid measurements; the message has the reason."""


class Figure(NamedTuple):
    """Usage as a share of a node's capacity, between 0 and a little above 1, and the time of measurement."""

    part: float
    at: float


class Source(Protocol):
    """A source of node usage."""

    async def read(self) -> dict[str, Usage]:
        """Return the latest measurements by node. Raises RequestFailed, EndpointError or SourceProblem."""
        ...

    async def close(self) -> None: ...


def joined(cpu: Mapping[str, Figure], memory: Mapping[str, Figure]) -> dict[str, Usage]:
    """Join both figures per node; a measurement is as old as the older of them."""
    return {
        name: Usage(cpu[name].part, memory[name].part, min(cpu[name].at, memory[name].at))
        for name in sorted(cpu.keys() & memory.keys())
        if is_sound(cpu[name]) and is_sound(memory[name])
    }


def is_sound(figure: Figure) -> bool:
    """Report whether a figure is a plausible number; a source may return NaN."""
    return math.isfinite(figure.part) and math.isfinite(figure.at) and figure.part >= 0.0
