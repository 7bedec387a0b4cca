"""What every source of measurements has in common: figures of cpu and of memory that become one measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from stromboli.core.model.nodes.usage import Usage


class SourceProblem(ValueError):
    """A source answered something that is no measurement; the message says what."""


class Figure(NamedTuple):
    """A part of what a node has, between nothing and a little more than all, and when that was."""

    part: float
    at: float


class Source(Protocol):
    """Somebody who has measured nodes."""

    async def read(self) -> dict[str, Usage]:
        """The latest measurements, by node. Raises RequestFailed, CannotReach or SourceProblem."""
        ...

    async def close(self) -> None: ...


def joined(cpu: Mapping[str, Figure], memory: Mapping[str, Figure]) -> dict[str, Usage]:
    """Nodes of which both are known; a measurement is as old as the older half of it."""
    return {
        name: Usage(cpu[name].part, memory[name].part, min(cpu[name].at, memory[name].at))
        for name in sorted(cpu.keys() & memory.keys())
        if is_sound(cpu[name]) and is_sound(memory[name])
    }


def is_sound(figure: Figure) -> bool:
    """Whether a figure is a number that a node could use; a source may well say that it is none."""
    return math.isfinite(figure.part) and math.isfinite(figure.at) and figure.part >= 0.0
