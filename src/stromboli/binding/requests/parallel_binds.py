"""Members are bound side by side: so many in all, and so many on one node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stromboli.binding.orders import Outcome, Result
from stromboli.binding.plugins.plugin import Bind
from stromboli.binding.pod_binding import PodBinder
from stromboli.binding.requests.member_orders import order_of


class ParallelBinds:
    """`obstacle` is asked at the last moment before a pod is bound."""

    def __init__(self, binding: PodBinder, obstacle: Callable[[Bind], str], *, per_node: int) -> None:
        self._binding = binding
        self._obstacle = obstacle
        self._per_node = max(per_node, 1)
        #: By node, who waits for it or uses it.
        self._turns: dict[str, tuple[asyncio.Semaphore, int]] = {}
        #: Members that are being bound.
        self.under_way = 0

    async def place(self, binds: Sequence[Bind]) -> dict[str, Result]:
        """By uid, what became of each."""
        self.under_way += len(binds)
        try:
            results = await asyncio.gather(*(self._place(bind) for bind in binds))
        finally:
            self.under_way -= len(binds)
        return {bind.member.pod_uid: result for bind, result in zip(binds, results, strict=True)}

    async def _place(self, bind: Bind) -> Result:
        node = bind.member.selected_node
        turns, users = self._turns.get(node) or (asyncio.Semaphore(self._per_node), 0)
        self._turns[node] = turns, users + 1
        try:
            async with turns:
                if obstacle := self._obstacle(bind):
                    return Result(Outcome.IMPOSSIBLE, obstacle)
                return await self._binding.bind(order_of(bind))
        except Exception as error:
            return Result(Outcome.UNKNOWN, f"{type(error).__name__}: {error}")
        finally:
            turns, users = self._turns[node]
            if users > 1:
                self._turns[node] = turns, users - 1
            else:
                del self._turns[node]
