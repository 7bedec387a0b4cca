"""The GPUs that a pod shares are held before it is bound, and the pod is told which they are."""

from __future__ import annotations

from collections.abc import Callable

from stromboli.binding.reservations.demand import SharingPod
from stromboli.binding.reservations.service import ReservationService
from stromboli.binding.steps.gpu_sharing.config_maps import GpuEnvironment, delete_maps, write_maps
from stromboli.binding.steps.gpu_sharing.options import SharingOptions
from stromboli.core.model.devices.gpu_fractions import Received
from stromboli.kube.client.client import Client
from stromboli.kube.objects.pod import Pod


class SharedGpuPreparation:
    """Holds the GPUs of one pod and tells it, or takes that back. What there is to do follows from the cluster."""

    def __init__(self, client: Client, reservations: ReservationService, options: Callable[[], SharingOptions]) -> None:
        self._client = client
        self._reservations = reservations
        self._options = options

    async def prepare_pod(self, pod: Pod, node: str, received: Received, obstacle: Callable[[], str]) -> None:
        """Raises StepFailed; what was done by then is for `take_back`."""
        metadata = pod.metadata
        member = SharingPod(metadata.uid, node, received.groups, metadata.namespace, metadata.name)
        devices = await self._reservations.reserve(member, obstacle)
        await write_maps(self._client, pod, GpuEnvironment(tuple(devices), received.portion, self._options().cdi))

    async def take_back(self, pod: Pod) -> None:
        self._reservations.release(pod.metadata.uid)
        await delete_maps(self._client, pod)
