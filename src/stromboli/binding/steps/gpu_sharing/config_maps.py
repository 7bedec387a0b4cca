"""What a container is told about the GPUs that its pod shares: a ConfigMap, which its environment is taken from.

The manifest of a pod names the map from the moment it is admitted on, and the container cannot start before the map is
there. It belongs to the pod and goes with it. A map that belongs to somebody else is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.devices.gpu_fractions import CONTAINER
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.cluster import ConfigMap
from stromboli.kube.objects.pod import Pod

#: The annotation that names the map of a pod, and the one by which KAI's webhook says how its two maps begin.
CONFIG_MAP = "stromboli.dev/gpu-config-map"
KAI_CONFIG_MAPS = "runai/shared-gpu-configmap"

VISIBLE, PORTION, NUMBER = "NVIDIA_VISIBLE_DEVICES", "GPU_PORTION", "RUNAI_NUM_OF_GPUS"
VARIABLES = (VISIBLE, PORTION, NUMBER)
_CDI = "k8s.device-plugin.nvidia.com/gpu="


@dataclass(frozen=True, slots=True)
class GpuEnvironment:
    """What the container is told: its GPUs, and its portion of each in thousandths."""

    devices: tuple[str, ...]
    portion: int
    #: Whether GPUs are named as the container device interface names them.
    cdi: bool = False

    def variables(self) -> dict[str, str]:
        devices = (f"{_CDI}{device}" if self.cdi else device for device in self.devices)
        portion = portion_text(self.portion)
        return {VISIBLE: ",".join(devices), PORTION: portion, NUMBER: portion}


def portion_text(portion: int) -> str:
    """Thousandths as a decimal with two digits, or three where two do not say it."""
    text = f"{portion // 1000}.{portion % 1000:03d}"
    return text.removesuffix("0")


def container_place(pod: Pod) -> str:
    """Where the container stands that gets the GPUs: `0`, or `i0` among the initial ones."""
    wanted = (pod.metadata.annotations or {}).get(CONTAINER)
    for prefix, containers in (("", pod.spec.containers), ("i", pod.spec.init_containers)):
        for place, container in enumerate(containers or ()):
            if wanted is None or container.name == wanted:
                return f"{prefix}{place}"
    return "0"


def map_names(pod: Pod) -> list[str]:
    """The maps that the manifest of a pod names. Raises StepFailed for a pod that names none."""
    said = pod.metadata.annotations or {}
    if own := said.get(CONFIG_MAP):
        return [own]
    if base := said.get(KAI_CONFIG_MAPS):
        name = f"{base}-{container_place(pod)}"
        return [name, f"{name}-evar"]
    raise StepFailed(
        f"pod {pod.key} cannot be told which GPUs it shares: it has no annotation {CONFIG_MAP}; admit pods by the "
        "webhook of `stromboli admission`, or name a ConfigMap there and take the environment from it"
    )


async def write_maps(client: Client, pod: Pod, told: GpuEnvironment) -> None:
    """Tell the pod, also if it was told something else before. Raises StepFailed for a map that is not the pod's."""
    for name in map_names(pod):
        await _write(client, pod, name, told.variables())


async def _write(client: Client, pod: Pod, name: str, data: dict[str, str]) -> None:
    namespace, body = pod.metadata.namespace, {"metadata": _metadata(pod, name), "data": data}
    try:
        await client.create(CONFIG_MAPS, body, namespace=namespace)
        return
    except ApiError as error:
        if not error.is_conflict:
            raise
    found = await client.get(CONFIG_MAPS, name, namespace=namespace)
    if not _belongs_to(found, pod):
        raise StepFailed(f"ConfigMap {namespace}/{name} is in the way: it does not belong to pod {pod.key}; delete it")
    if found.data != data:
        await client.patch(CONFIG_MAPS, name, {"data": data}, namespace=namespace)


async def delete_maps(client: Client, pod: Pod) -> None:
    """Take back what `write_maps` wrote, if it is there."""
    try:
        names = map_names(pod)
    except StepFailed:
        return
    for name in names:
        await _delete(client, pod, name)


async def _delete(client: Client, pod: Pod, name: str) -> None:
    namespace = pod.metadata.namespace
    try:
        found = await client.get(CONFIG_MAPS, name, namespace=namespace)
        if _belongs_to(found, pod):
            await client.delete(CONFIG_MAPS, name, namespace=namespace, uid=found.metadata.uid)
    except ApiError as error:
        if not error.is_missing and not error.is_conflict:
            raise


def _belongs_to(found: ConfigMap, pod: Pod) -> bool:
    return any(owner.uid == pod.metadata.uid for owner in found.metadata.owner_references or ())


def _metadata(pod: Pod, name: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
    return {"name": name, "labels": {"app.kubernetes.io/managed-by": "stromboli"}, "ownerReferences": [owner]}
