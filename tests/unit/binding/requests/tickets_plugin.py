"""A plugin that gives every member a ticket, as a ConfigMap: what it leaves behind can be counted."""

from __future__ import annotations

import asyncio

from stromboli.binding.plugins.plugin import Bind, BinderPlugin, PermanentFailure, StepFailed
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CONFIG_MAPS

#: On members, what becomes of them: `yes`, `never`, `later:<times>`, `slow:<seconds>`.
TICKET = "example.com/ticket"


class Tickets(BinderPlugin):
    name = "tickets"

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self._refusals: dict[str, int] = {}

    def applies_to(self, bind: Bind) -> bool:
        return TICKET in bind.member.annotations

    async def pre_bind(self, bind: Bind) -> None:
        what, _, amount = bind.member.annotations[TICKET].partition(":")
        self.told.append(f"pre_bind {bind.pod.metadata.name}")
        body = {"metadata": {"name": f"ticket-{bind.pod.metadata.uid}"}}
        try:
            await self.surroundings.client.create(CONFIG_MAPS, body, namespace=bind.pod.metadata.namespace)
        except ApiError as error:
            if not error.is_conflict or error.message == "injected":
                raise
        stamp = {"data": {"for": bind.pod.metadata.name}}
        await self.surroundings.client.patch(
            CONFIG_MAPS, body["metadata"]["name"], stamp, namespace=bind.pod.metadata.namespace
        )
        if what == "never":
            raise PermanentFailure("no ticket is valid there")
        if what == "slow":
            await self._wait(bind, float(amount))
        refused = self._refusals.get(bind.pod.metadata.uid, 0)
        if what == "later" and refused < int(amount):
            self._refusals[bind.pod.metadata.uid] = refused + 1
            raise StepFailed("no ticket is left just now")
        bind.annotations["example.com/seat"] = f"seat of {bind.pod.metadata.name}"

    async def _wait(self, bind: Bind, seconds: float) -> None:
        for _ in range(int(seconds * 10)):
            if obstacle := self.surroundings.obstacle(bind):
                raise StepFailed(obstacle)
            await asyncio.sleep(0.1)

    async def post_bind(self, bind: Bind) -> None:
        self.told.append(f"post_bind {bind.pod.metadata.name}")

    async def rollback(self, bind: Bind) -> None:
        self.told.append(f"rollback {bind.pod.metadata.name}")
        metadata = bind.pod.metadata
        try:
            await self.surroundings.client.delete(CONFIG_MAPS, f"ticket-{metadata.uid}", namespace=metadata.namespace)
        except ApiError as error:
            if not error.is_missing:
                raise
