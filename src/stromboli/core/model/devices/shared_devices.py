"""Shared devices: what pods request, container by container, and what they were assigned.

Node and queue amounts only count devices. Which device a pod gets, and how much of its memory and cores, is tracked by
a backend: the scheduler's part of a device plugin. Some resources have a meaning per device and no sum; where a backend
counts them, no other code does.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stromboli.core.model.devices.gpu_fractions import GROUPS


class Backend(StrEnum):
    """The component that accounts for a kind of device."""

    GPU_SHARING = "gpu-sharing"
    GPU_NUMBER = "gpu-number"
    VGPU = "vgpu"
    ASCEND_HAMI = "ascend-hami"
    ASCEND_MIND_CLUSTER = "ascend-mind-cluster"
    GPU_FRACTIONS = "gpu-fractions"


#: Prefix of a pseudo-annotation that a plugin reads, followed by a backend: classes are then split by what containers
#: request of it, and resources that the backend counts are left to it.
DEVICES = "stromboli.dev/devices-of-"
#: Pod annotation: the annotation that locks its node until the device plugin has allocated the devices.
NODE_LOCK = "stromboli.dev/node-lock"

GPU_MEMORY = "volcano.sh/gpu-memory"
GPU_NUMBER = "volcano.sh/gpu-number"
GPU_INDEX = "volcano.sh/gpu-index"
VGPU_NUMBER = "volcano.sh/vgpu-number"
VGPU_MEMORY = "volcano.sh/vgpu-memory"
VGPU_PERCENTAGE = "volcano.sh/vgpu-memory-percentage"
VGPU_CORES = "volcano.sh/vgpu-cores"
VGPU_IDS = "volcano.sh/vgpu-ids-new"
NPU_CORE = "huawei.com/npu-core"

#: Chips that HAMi shares, by the term that their resources and annotations have in common.
ASCEND_CHIPS = (
    "Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910B4-1", "Ascend910C", "Ascend310P",
)  # fmt: skip
_ASCEND = "huawei.com/"

#: Annotations that name the devices assigned to a pod.
ASSIGNMENTS = (GROUPS, GPU_INDEX, VGPU_IDS, NPU_CORE, *(f"hami.io/{chip}-devices-allocated" for chip in ASCEND_CHIPS))


@dataclass(frozen=True, slots=True)
class SharedDeviceRequest:
    """The request of one container for one kind of device: a number, and an amount of each. 0 means unspecified."""

    backend: Backend
    number: int
    memory: int = 0
    #: Percentage of the device's memory, instead of an amount.
    percentage: int = 0
    cores: int = 0
    #: The kind of chip, where there are several.
    chip: str = ""
    #: Fraction of the device in thousandths, instead of an amount of its memory.
    portion: int = 0


@dataclass(frozen=True, slots=True)
class SharedDeviceRequests:
    """The requests of a pod; one entry per container, including containers that request nothing."""

    containers: tuple[tuple[SharedDeviceRequest, ...], ...]
    #: The job, for a pod that avoids devices used by its own job; otherwise empty.
    apart_from: str = ""


@dataclass(frozen=True, slots=True)
class DeviceUser:
    """A pod on a node with assigned devices."""

    uid: str
    key: str
    job: str
    #: Only the annotations that name assigned devices.
    annotations: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    requests: SharedDeviceRequests | None = None
    #: Whether the pod is terminating.
    leaving: bool = False


#: By node and uid. Replaced, never edited.
DeviceUsers = Mapping[str, Mapping[str, DeviceUser]]


def is_counted_by(name: str, backends: Collection[Backend]) -> bool:
    """Report whether a resource has a meaning per device and one of these backends counts it."""
    if Backend.VGPU in backends and name in (VGPU_MEMORY, VGPU_PERCENTAGE, VGPU_CORES):
        return True
    return Backend.ASCEND_HAMI in backends and name.endswith(("-memory", "-core")) and ascend_chip(name) != ""


def ascend_chip(name: str) -> str:
    """Return the chip of a HAMi resource; empty for other resources."""
    if not name.startswith(_ASCEND):
        return ""
    word = name[len(_ASCEND) :].removesuffix("-memory").removesuffix("-core")
    return word if word in ASCEND_CHIPS else ""


def ascend_resources(chip: str) -> tuple[str, str, str]:
    """Return the names of a chip's number, memory and core resources."""
    return f"{_ASCEND}{chip}", f"{_ASCEND}{chip}-memory", f"{_ASCEND}{chip}-core"
