"""A scripted binder: it executes requests, rejects them, or does nothing."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS
from tests.testing.world import World


class ScriptedBinder:
    def __init__(self, world: World) -> None:
        self._world = world

    async def requests(self, prefix: str = "") -> list[BindRequest]:
        listing = await self._world.client.list(BIND_REQUESTS)
        return [request for request in listing.items if request.metadata.name.startswith(prefix)]

    async def until(self, count: int, prefix: str = "") -> list[BindRequest]:
        """Wait until exactly so many requests are there."""

        async def enough() -> tuple[list[BindRequest]] | None:
            found = await self.requests(prefix)
            return (found,) if len(found) == count else None

        answer = await self._world.until(enough, f"there are {count} bind requests {prefix}*")
        assert answer is not None
        return sorted(answer[0], key=lambda request: request.spec.part)

    async def one(self, prefix: str = "") -> BindRequest:
        (request,) = await self.until(1, prefix)
        return request

    async def another(self, *than: BindRequest, prefix: str = "") -> BindRequest:
        """Wait for the next request."""
        known = {each.metadata.uid for each in than}

        async def other() -> BindRequest | None:
            found = [each for each in await self.requests(prefix) if each.metadata.uid not in known]
            return found[0] if len(found) == 1 else None

        answer = await self._world.until(other, f"there is another bind request {prefix}*")
        assert answer is not None
        return answer

    async def report(
        self, request: BindRequest, phase: str, reason: str = "", members: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Write the status; `members` are phases and reasons by the name of the pod."""
        uids = {member.pod_name: member.pod_uid for member in request.spec.pods}
        pods = [{"podUID": uids[name], "phase": word, "reason": why} for name, (word, why) in (members or {}).items()]
        status = {"phase": phase, "reason": reason, "failedAttempts": int(bool(reason)), "pods": pods}
        metadata = request.metadata
        await self._world.client.patch(
            BIND_REQUESTS, metadata.name, {"status": status}, namespace=metadata.namespace, subresource="status"
        )

    async def binds(self, request: BindRequest, *names: str) -> None:
        """Bind these members, or all of them."""
        for member in request.spec.pods:
            if not names or member.pod_name in names:
                await self._world.client.bind(
                    request.metadata.namespace, member.pod_name, member.pod_uid, member.selected_node,
                    annotations=member.annotations, labels=member.labels,
                )  # fmt: skip

    async def carries_out(self, request: BindRequest) -> None:
        await self.binds(request)
        await self.report(request, "Succeeded", members={each.pod_name: ("Bound", "") for each in request.spec.pods})
