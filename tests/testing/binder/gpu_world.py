"""An in-memory cluster whose nodes have GPUs, allocated by a device plugin that reports their ids."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.reservations.reservation_pods import DEVICE, SharedGpu
from stromboli.binding.steps.gpu_sharing.config_maps import CONFIG_MAP, VISIBLE
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.core.model.devices.gpu_fractions import DEFAULT_NAMESPACE, groups_in
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.objects.catalogue import CONFIG_MAPS, NAMESPACES, PODS
from stromboli.kube.objects.pod import Pod
from tests.testing.binder.binder_world import Running, World


class GpuWorld(World):
    """`gpus` of each node; a `silent` device plugin never reports the id."""

    def __init__(self, seed: int = 0, *, gpus: int = 2, silent: bool = False) -> None:
        super().__init__(seed)
        self.gpus = gpus
        self.silent = silent
        self._kubelet: asyncio.Task[None] | None = None

    async def create_objects(self, *nodes: str) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": DEFAULT_NAMESPACE}})
        for name in nodes:
            await self.node(name)
        self._kubelet = asyncio.ensure_future(self._serve())

    async def sharing(self, name: str, node: str, *groups: str, mapped: bool = True) -> None:
        """Create a pod that shares GPUs, and a request that binds it."""
        await self.waiting(name, mapped=mapped)
        await self.decide(name, node, *groups)

    async def waiting(self, name: str, *, mapped: bool = True) -> None:
        container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1m"}}}
        spec = {"containers": [container], "schedulerName": "stromboli", "terminationGracePeriodSeconds": 0}
        annotations = {"gpu-fraction": "0.5", **({CONFIG_MAP: f"{name}-gpu"} if mapped else {})}
        body = {"metadata": {"name": name, "annotations": annotations}, "spec": spec}
        made = await self.client.create(PODS, body, namespace="default")
        self.uids[name] = made.metadata.uid

    async def decide(self, name: str, node: str, *groups: str, request: str = "", **spec: Any) -> None:
        given = {"selectedGPUGroups": list(groups), "receivedResourceType": "Fraction",
                 "receivedGPU": {"count": len(groups), "portionMilli": 500}}  # fmt: skip
        limits: dict[str, Any] = {"backoffLimit": 2, "deadlineSeconds": 60, **spec}
        await self.request(request or name, {name: node}, facts={name: given}, **limits)

    def begin(self, **facts: Any) -> Running:
        plugins: list[BinderPlugin] = [GpuSharingPlugin({"seconds": "5"})]
        return self.start(plugins, **facts)

    async def end(self, name: str) -> None:
        """End a pod."""
        await self.client.patch(
            PODS, name, {"status": {"phase": "Succeeded"}}, namespace="default", subresource="status"
        )

    async def holders(self) -> dict[SharedGpu, Pod]:
        found = (await self.client.list(PODS, namespace=DEFAULT_NAMESPACE)).items
        return {SharedGpu(pod.spec.node_name or "", groups_in(pod.metadata.annotations)[0]): pod for pod in found}

    async def held(self) -> str:
        """Return the reserved groups by node: `a/x b/y`."""
        return " ".join(sorted(f"{place.node}/{place.group}" for place in await self.holders()))

    async def reported(self, name: str) -> str:
        """Return the GPUs in the environment of a pod, or a dash."""
        try:
            found = await self.client.get(CONFIG_MAPS, f"{name}-gpu", namespace="default")
        except ApiError:
            return "-"
        return (found.data or {})[VISIBLE]

    async def until_held(self, expected: str, seconds: float = 200.0) -> None:
        async def reached() -> bool:
            return await self.held() == expected

        await self.until(reached, seconds)

    async def close(self) -> None:
        if self._kubelet is not None:
            self._kubelet.cancel()
        await super().close()

    # -- the node's part ----------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        while True:
            await asyncio.sleep(0.3)
            pods = (await self.client.list(PODS, namespace=DEFAULT_NAMESPACE)).items
            for pod in pods:
                await self._gone(partial(self._look_after, pod, pods))

    async def _look_after(self, pod: Pod, pods: list[Pod]) -> None:
        metadata = pod.metadata
        if metadata.deletion_timestamp is not None:
            await self.client.delete(PODS, metadata.name, namespace=metadata.namespace, grace_period=0)
        elif not self.silent and DEVICE not in (metadata.annotations or {}):
            device = next(each for each in self._devices(pod) if each not in {_device(other) for other in pods})
            written = {"metadata": {"annotations": {DEVICE: device}}}
            metadata.annotations = {**(metadata.annotations or {}), DEVICE: device}
            await self.client.patch(PODS, metadata.name, written, namespace=metadata.namespace)

    def _devices(self, pod: Pod) -> list[str]:
        return [f"GPU-{pod.spec.node_name}{place}" for place in range(self.gpus)]


def _device(pod: Pod) -> str:
    return (pod.metadata.annotations or {}).get(DEVICE, "")
