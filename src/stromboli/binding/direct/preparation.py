"""Preparations of a whole commit: every member is made ready before the first is bound.

They may take minutes, and nobody else is kept waiting meanwhile. When so many members cannot be made ready that the
gang would stay below its minimum, what was prepared for the others is taken back, and none is bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from stromboli.binding.orders import BindOrder, Outcome, Result
from stromboli.binding.steps.step import BindStep, StepFailed
from stromboli.kube.client.api_errors import RequestFailed


class CommitStep(BindStep, Protocol):
    """A preparation that all members of a commit must have behind them before the first is bound."""

    def applies_to(self, order: BindOrder) -> bool:
        """Whether there is anything to prepare."""

    def done(self, order: BindOrder) -> None:
        """What was prepared will not be undone any more."""


class CommitPreparation:
    """Makes members of commits ready. Members without anything to prepare are ready at once."""

    def __init__(self, steps: Sequence[CommitStep] = ()) -> None:
        self._steps = steps
        #: The members for which something was prepared, by uid, with the steps that were begun.
        self._begun: dict[str, list[CommitStep]] = {}

    def applies_to(self, orders: Iterable[BindOrder]) -> bool:
        return any(step.applies_to(order) for order in orders for step in self._steps)

    async def prepare_pod(self, orders: Sequence[BindOrder], spare: int) -> dict[str, Result]:
        """Prepare all of them side by side. Answers, by uid, who could not be made ready; the rest is given up as soon
        as more than `spare` of them have failed.
        """
        failed: dict[str, Result] = {}
        under_way = {asyncio.ensure_future(self._prepare(order)): order for order in orders}
        try:
            while under_way and len(failed) <= spare:
                finished, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    order = under_way.pop(task)
                    if problem := task.result():
                        failed[order.uid] = Result(Outcome.IMPOSSIBLE, problem)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        return failed

    async def _prepare(self, order: BindOrder) -> str:
        """What went wrong, in words."""
        begun = self._begun.setdefault(order.uid, [])
        try:
            for step in self._steps:
                if step.applies_to(order):
                    begun.append(step)
                    await step.prepare(order)
        except StepFailed as error:
            return str(error)
        except RequestFailed as error:
            return f"preparation failed: {error}"
        except Exception as error:
            return f"preparation failed: {type(error).__name__}: {error}"
        return ""

    async def undo(self, order: BindOrder) -> list[str]:
        """Take back what was prepared, the last first; what could not be taken back is told."""
        problems, begun = [], self._begun.pop(order.uid, [])
        for step in reversed(begun):
            try:
                await step.undo(order)
            except StepFailed as error:
                problems.append(f"{step.name} could not be undone: {error}")
            except Exception as error:
                problems.append(f"{step.name} could not be undone: {type(error).__name__}: {error}")
        return problems

    def done(self, order: BindOrder) -> None:
        for step in self._begun.pop(order.uid, ()):
            step.done(order)
