"""Steps of one bind, in order, immediately before the binding is written.

When a later step or the binding fails permanently, completed steps are undone in reverse order. What takes longer,
such as volumes and devices, is prepared by plugins before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stromboli.core.model.tasks.placement import Placement


class StepFailed(Exception):
    """The preparation cannot succeed; the message is the reason that people read."""


class BindStep(Protocol):
    """One step. Both methods may be called again after a crash, so both must be idempotent."""

    name: str

    async def prepare(self, placement: Placement) -> None:
        """Prepare what the pod needs. Raises StepFailed."""

    async def undo(self, placement: Placement) -> None:
        """Undo `prepare` as far as it was done."""


class Preparation:
    """The steps of one bind, as far as they were started."""

    def __init__(self, steps: Sequence[BindStep], placement: Placement) -> None:
        self._steps = steps
        self._placement = placement
        self._started: list[BindStep] = []

    async def run(self) -> None:
        for step in self._steps:
            self._started.append(step)
            await step.prepare(self._placement)

    async def undo(self) -> list[str]:
        """Undo in reverse order. Returns the errors; one that fails does not stop the others."""
        problems = []
        while self._started:
            step = self._started.pop()
            try:
                await step.undo(self._placement)
            except Exception as error:
                problems.append(f"{step.name} could not be undone: {type(error).__name__}: {error}")
        return problems
