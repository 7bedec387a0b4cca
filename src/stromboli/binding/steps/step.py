"""Preparations of a bind, and their undo.

A step makes something ready that a pod needs on its node before it can start there: a volume, a claim, a device. It
runs before the binding; when a later step or the binding itself turns out to be impossible, the steps that were
done are undone in reverse order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stromboli.binding.orders import BindOrder
from stromboli.kube.objects.meta import TopLevel


class StepFailed(Exception):
    """The preparation cannot succeed; the message says why, in words for a person."""


class Sight(Protocol):
    """What is known of the cluster, and learns from our own writes."""

    def get(self, kind: type, key: str) -> TopLevel | None:
        """An object as it was last reported."""

    def apply(self, entry: TopLevel) -> None:
        """An object as the server answered it."""


class BindStep(Protocol):
    """One preparation. Both methods may be called again after a crash, so both must be safe to repeat."""

    name: str

    async def prepare(self, order: BindOrder) -> None:
        """Make ready what the pod needs. Raises StepFailed."""

    async def undo(self, order: BindOrder) -> None:
        """Take back what `prepare` did, as far as it was done."""


class Preparation:
    """The steps of one bind, as far as they were done."""

    def __init__(self, steps: Sequence[BindStep], order: BindOrder) -> None:
        self._steps = steps
        self._order = order
        self._done: list[BindStep] = []

    async def run(self) -> None:
        for step in self._steps:
            self._done.append(step)
            await step.prepare(self._order)

    async def undo(self) -> list[str]:
        """Undo in reverse; what could not be undone is told and keeps none of the others."""
        problems = []
        while self._done:
            step = self._done.pop()
            try:
                await step.undo(self._order)
            except Exception as error:
                problems.append(f"{step.name} could not be undone: {type(error).__name__}: {error}")
        return problems
