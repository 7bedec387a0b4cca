"""What a controller and its users observe in the cluster while a case runs; every observation is waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from stromboli.kube.objects.catalogue import QUEUES
from stromboli.kube.objects.pod import Pod
from stromboli.workloads.groups import GROUP_NAME
from tests.e2e.environment.cluster import Cluster
from tests.e2e.operators.cases import Expected, Grouped, Held, Phases, Pods, Step, Waiting

#: Finds the uid of what the controller made, by kind and name.
FindUid = Callable[[str], Awaitable[str]]


class Expectations:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def look(self, step: Step, uid: FindUid) -> None:
        """All that a step wants to see."""
        if step.reaches is not None:
            await self._until_phase(step.reaches)
        if step.waits is not None:
            await self._until_waiting(step.waits)
        if step.bound is not None:
            await self._until_bound(step.bound)
        if step.unbound is not None:
            await self._until_unbound(step.unbound)
        if step.status is not None:
            await self._until_status(step.status)
        if step.queue is not None:
            await self._until_held(step.queue)
        if step.grouped is not None:
            await self._until_grouped(step.grouped, uid)

    async def _until_phase(self, wanted: Phases) -> None:
        async def reached() -> bool:
            return (await self._cluster.group(wanted.name)).status.phase in wanted.phases

        await self._cluster.until(reached, f"{wanted.name} is one of {wanted.phases}")

    async def _until_waiting(self, wanted: Waiting) -> None:
        await self._cluster.until_message(wanted.name, wanted.because)
        bound = [pod.key for pod in await self._members(wanted.name) if pod.spec.node_name]
        assert not bound, f"the gang waits, and has nodes for {bound}"

    async def _until_bound(self, wanted: Pods) -> None:
        async def reached() -> bool:
            return sum(bool(pod.spec.node_name) for pod in await self._pods(wanted.prefix)) == wanted.count

        await self._cluster.until(reached, f"{wanted.count} pods {wanted.prefix}* have nodes")

    async def _until_unbound(self, wanted: Pods) -> None:
        """To be asked when the scheduler has looked at them: when they, or their group, have said why they wait."""

        async def reached() -> bool:
            return sum(_is_reported(pod) for pod in await self._pods(wanted.prefix)) == wanted.count

        await self._cluster.until(reached, f"{wanted.count} pods {wanted.prefix}* report that they are pending")

    async def _until_status(self, wanted: Expected) -> None:
        async def reached() -> bool:
            status = (await self._cluster.group(wanted.name)).status
            reported = [c.type for c in status.conditions or () if c.status == "True"]
            found = msgspec.to_builtins(status)
            fits = all(found.get(field, 0) == value for field, value in wanted.status.items())
            return fits and (not wanted.condition or wanted.condition in reported)

        await self._cluster.until(reached, f"status of {wanted.name} is {wanted.status} with {wanted.condition}")

    async def _until_held(self, wanted: Held) -> None:
        async def reached() -> bool:
            queue = await self._cluster.client.get(QUEUES, wanted.name)
            return (queue.status.allocated or {}).get("cpu", "0") == wanted.cpu

        await self._cluster.until(reached, f"queue {wanted.name} holds {wanted.cpu} cpus")

    async def _until_grouped(self, wanted: Grouped, uid: FindUid) -> None:
        """All these pods name one group, that of their owner, and its spec follows from them."""
        name = f"podgroup-{await self._owner_uid(wanted.owner, uid)}"

        async def reached() -> bool:
            named = {(pod.metadata.annotations or {}).get(GROUP_NAME) for pod in await self._pods(wanted.pods)}
            if named != {name}:
                return False
            spec = msgspec.to_builtins((await self._cluster.group(name)).spec)
            return wanted.spec.items() <= spec.items()

        await self._cluster.until(reached, f"pods {wanted.pods}* are in {name} with {wanted.spec}")

    async def _owner_uid(self, owner: str, uid: FindUid) -> str:
        """Of what the controller made; `owner of PREFIX` is what others made, and now controls such pods."""
        if not owner.startswith("owner of "):
            return await uid(owner)
        prefix = owner.removeprefix("owner of ")

        async def is_there() -> bool:
            return bool(await self._pods(prefix))

        await self._cluster.until(is_there, f"there are pods {prefix}*")
        references = (await self._pods(prefix))[0].metadata.owner_references or ()
        return next(str(reference.uid) for reference in references if reference.controller)

    async def _pods(self, prefix: str) -> list[Pod]:
        return [pod for name, pod in sorted((await self._cluster.pods()).items()) if name.startswith(prefix)]

    async def _members(self, group: str) -> list[Pod]:
        pods = (await self._cluster.pods()).values()
        return [pod for pod in pods if (pod.metadata.annotations or {}).get(GROUP_NAME) == group]


def _is_reported(pod: Pod) -> bool:
    """Report whether a pod without a node has the condition Unschedulable."""
    conditions = pod.status.conditions or ()
    return not pod.spec.node_name and any(c.type == "PodScheduled" and c.status == "False" for c in conditions)
