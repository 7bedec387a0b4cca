"""A plugin that creates a ConfigMap, the ticket, for every member, so that tests can count what is left over."""

from __future__ import annotations

import asyncio

from stromboli.binding.plugins.plugin import BinderPlugin, PermanentFailure, Placement, StepFailed
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CONFIG_MAPS

#: On members, how their preparation ends: `yes`, `never`, `later:<times>`, `slow:<seconds>`.
TICKET = "example.com/ticket"


class Tickets(BinderPlugin):
    name = "tickets"

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._refusals: dict[str, int] = {}

    def applies_to(self, placement: Placement) -> bool:
        return TICKET in placement.annotations

    async def pre_bind(self, placement: Placement) -> None:
        kind, _, amount = placement.annotations[TICKET].partition(":")
        self.calls.append(f"pre_bind {placement.name}")
        name = f"ticket-{placement.uid}"
        try:
            await self.context.client.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace=placement.namespace)
        except ApiError as error:
            if not error.is_conflict or error.message == "injected":
                raise
        data = {"data": {"for": placement.name}}
        await self.context.client.patch(CONFIG_MAPS, name, data, namespace=placement.namespace)
        if kind == "never":
            raise PermanentFailure("no ticket is valid there")
        if kind == "slow":
            await self._wait(placement, float(amount))
        refused = self._refusals.get(placement.uid, 0)
        if kind == "later" and refused < int(amount):
            self._refusals[placement.uid] = refused + 1
            raise StepFailed("no ticket is left just now")
        placement.annotations["example.com/seat"] = f"seat of {placement.name}"

    async def _wait(self, placement: Placement, seconds: float) -> None:
        for _ in range(int(seconds * 10)):
            if error := self.context.precondition_error(placement):
                raise StepFailed(error)
            await asyncio.sleep(0.1)

    async def post_bind(self, placement: Placement) -> None:
        self.calls.append(f"post_bind {placement.name}")

    async def rollback(self, placement: Placement) -> None:
        self.calls.append(f"rollback {placement.name}")
        try:
            await self.context.client.delete(CONFIG_MAPS, f"ticket-{placement.uid}", namespace=placement.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
