"""Binds members in parallel, with a limit per node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stromboli.binding.orders import Outcome, Result
from stromboli.binding.pod_binding import PodBinder
from stromboli.core.model.tasks.placement import Placement


class ParallelBinds:
    """Binds at most `per_node` pods to one node at a time."""

    def __init__(self, binder: PodBinder, *, per_node: int) -> None:
        self._binder = binder
        self._per_node = max(per_node, 1)
        #: By node, its semaphore and how many binds use it or wait for it.
        self._slots: dict[str, tuple[asyncio.Semaphore, int]] = {}
        #: Members that are being bound.
        self.in_flight = 0

    async def bind(
        self, placements: Sequence[Placement], precondition_error: Callable[[Placement], str]
    ) -> dict[str, Result]:
        """Bind all placements. Returns results by uid. Preconditions are checked immediately before each bind."""
        self.in_flight += len(placements)
        try:
            results = await asyncio.gather(*(self._bind(each, precondition_error) for each in placements))
        finally:
            self.in_flight -= len(placements)
        return {placement.uid: result for placement, result in zip(placements, results, strict=True)}

    async def _bind(self, placement: Placement, precondition_error: Callable[[Placement], str]) -> Result:
        node = placement.node
        slots, users = self._slots.get(node) or (asyncio.Semaphore(self._per_node), 0)
        self._slots[node] = slots, users + 1
        try:
            async with slots:
                if problem := precondition_error(placement):
                    return Result(Outcome.IMPOSSIBLE, problem)
                return await self._binder.bind(placement)
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")
        finally:
            slots, users = self._slots[node]
            if users > 1:
                self._slots[node] = slots, users - 1
            else:
                del self._slots[node]
