"""The ConfigMap with the environment of a container that shares GPUs.

The manifest of a pod names the map from admission on, and the container cannot start before the map exists. The pod
owns it, so it is deleted with the pod. A map of another owner is never touched.
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

#: The annotation with the name of a pod's map, and KAI's annotation with the prefix of its two maps.
CONFIG_MAP = "stromboli.dev/gpu-config-map"
KAI_CONFIG_MAPS = "runai/shared-gpu-configmap"

VISIBLE, PORTION, NUMBER = "NVIDIA_VISIBLE_DEVICES", "GPU_PORTION", "RUNAI_NUM_OF_GPUS"
VARIABLES = (VISIBLE, PORTION, NUMBER)
_CDI = "k8s.device-plugin.nvidia.com/gpu="


@dataclass(frozen=True, slots=True)
class GpuEnvironment:
    """The environment of the container: its GPUs, and its portion of each in thousandths."""

    devices: tuple[str, ...]
    portion: int
    #: Whether to name GPUs as the container device interface does.
    cdi: bool = False

    def variables(self) -> dict[str, str]:
        devices = (f"{_CDI}{device}" if self.cdi else device for device in self.devices)
        portion = portion_text(self.portion)
        return {VISIBLE: ",".join(devices), PORTION: portion, NUMBER: portion}


def portion_text(portion: int) -> str:
    """Format thousandths as a decimal with two digits, or three if needed."""
    text = f"{portion // 1000}.{portion % 1000:03d}"
    return text.removesuffix("0")


def container_index(pod: Pod) -> str:
    """Return the index of the container that gets the GPUs: `0`, or `i0` among the init containers."""
    chosen = (pod.metadata.annotations or {}).get(CONTAINER)
    for prefix, containers in (("", pod.spec.containers), ("i", pod.spec.init_containers)):
        for index, container in enumerate(containers or ()):
            if chosen is None or container.name == chosen:
                return f"{prefix}{index}"
    return "0"


def map_names(pod: Pod) -> list[str]:
    """Return the names of the maps in a pod's manifest. Raises StepFailed for a pod without any."""
    annotations = pod.metadata.annotations or {}
    if own := annotations.get(CONFIG_MAP):
        return [own]
    if base := annotations.get(KAI_CONFIG_MAPS):
        name = f"{base}-{container_index(pod)}"
        return [name, f"{name}-evar"]
    raise StepFailed(
        f"pod {pod.key} has no annotation {CONFIG_MAP}, so it cannot learn which GPUs it shares; admit pods with the "
        "webhook of `stromboli admission`, or set the annotation and take the environment from that ConfigMap"
    )


async def write_maps(client: Client, pod: Pod, environment: GpuEnvironment) -> None:
    """Write or update the maps. Raises StepFailed for a map of another owner."""
    for name in map_names(pod):
        await _write(client, pod, name, environment.variables())


async def _write(client: Client, pod: Pod, name: str, data: dict[str, str]) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
    labels = {"app.kubernetes.io/managed-by": "stromboli"}
    metadata: dict[str, Any] = {"name": name, "labels": labels, "ownerReferences": [owner]}
    namespace, body = pod.metadata.namespace, {"metadata": metadata, "data": data}
    try:
        await client.create(CONFIG_MAPS, body, namespace=namespace)
        return
    except ApiError as error:
        if not error.is_conflict:
            raise
    found = await client.get(CONFIG_MAPS, name, namespace=namespace)
    if not _belongs_to(found, pod):
        raise StepFailed(f"ConfigMap {namespace}/{name} exists and does not belong to pod {pod.key}; delete it")
    if found.data != data:
        await client.patch(CONFIG_MAPS, name, {"data": data}, namespace=namespace)


async def delete_maps(client: Client, pod: Pod) -> None:
    """Delete what `write_maps` wrote, if it exists."""
    try:
        names = map_names(pod)
    except StepFailed:
        return
    namespace = pod.metadata.namespace
    for name in names:
        try:
            found = await client.get(CONFIG_MAPS, name, namespace=namespace)
            if _belongs_to(found, pod):
                await client.delete(CONFIG_MAPS, name, namespace=namespace, uid=found.metadata.uid)
        except ApiError as error:
            if not error.is_missing and not error.is_conflict:
                raise


def _belongs_to(found: ConfigMap, pod: Pod) -> bool:
    return any(owner.uid == pod.metadata.uid for owner in found.metadata.owner_references or ())
