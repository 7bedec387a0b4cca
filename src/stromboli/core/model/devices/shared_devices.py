"""Devices that pods share: what pods ask for, container by container, and what they say they were given.

Amounts of nodes and queues know how many devices there are and no more. Which device a pod gets, and how much of its
memory and cores, is kept by a back-end: the part of a device plugin's world that a scheduler has to know. Some of the
resources that pods name mean something per device and no sum, so nobody else counts them where a back-end does.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stromboli.core.model.devices.gpu_fractions import GROUPS


class Backend(StrEnum):
    """Who keeps the books of a kind of devices."""

    GPU_SHARING = "gpu-sharing"
    GPU_NUMBER = "gpu-number"
    VGPU = "vgpu"
    ASCEND_HAMI = "ascend-hami"
    ASCEND_MIND_CLUSTER = "ascend-mind-cluster"
    GPU_FRACTIONS = "gpu-fractions"


#: Stands among the annotations that a plugin reads, followed by a back-end: pods are told apart by what their
#: containers ask of it, and what is its own to count is left to it.
DEVICES = "stromboli.dev/devices-of-"
#: On a pod: the annotation by which its node is locked until the device plugin has handed out the devices.
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

#: The chips that HAMi shares, by the word that their resources and annotations have in common.
ASCEND_CHIPS = (
    "Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910B4-1", "Ascend910C", "Ascend310P",
)  # fmt: skip
_ASCEND = "huawei.com/"

#: The annotations that say what a pod was given.
ASSIGNMENTS = (GROUPS, GPU_INDEX, VGPU_IDS, NPU_CORE, *(f"hami.io/{chip}-devices-allocated" for chip in ASCEND_CHIPS))


@dataclass(frozen=True, slots=True)
class SharedDeviceRequest:
    """What one container asks of one kind of devices: so many, and so much of each. 0 stands for what is not said."""

    backend: Backend
    number: int
    memory: int = 0
    #: Of the memory of the device, instead of an amount.
    percentage: int = 0
    cores: int = 0
    #: Which of several kinds a back-end knows.
    chip: str = ""
    #: Of the device, in thousandths, instead of an amount of its memory.
    portion: int = 0


@dataclass(frozen=True, slots=True)
class SharedDeviceRequests:
    """What a pod asks for; an entry per container, also for those that ask for nothing."""

    containers: tuple[tuple[SharedDeviceRequest, ...], ...]
    #: The job of a pod that keeps off devices of others of its job; empty for all others.
    apart_from: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """A pod on a node that says it was given devices."""

    uid: str
    key: str
    job: str
    #: Only those annotations that say so.
    annotations: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    wishes: SharedDeviceRequests | None = None
    #: Whether it is on its way out.
    leaving: bool = False


#: By node and uid. Replaced and never edited.
DeviceClaims = Mapping[str, Mapping[str, DeviceClaim]]


def is_counted_by(name: str, backends: Collection[Backend]) -> bool:
    """Whether a resource means something per device, and one of these back-ends counts it."""
    if Backend.VGPU in backends and name in (VGPU_MEMORY, VGPU_PERCENTAGE, VGPU_CORES):
        return True
    return Backend.ASCEND_HAMI in backends and name.endswith(("-memory", "-core")) and ascend_chip(name) != ""


def ascend_chip(name: str) -> str:
    """The chip that a resource of HAMi's is about; empty for other resources."""
    if not name.startswith(_ASCEND):
        return ""
    word = name[len(_ASCEND) :].removesuffix("-memory").removesuffix("-core")
    return word if word in ASCEND_CHIPS else ""


def ascend_resources(chip: str) -> tuple[str, str, str]:
    """How the number, the memory and the cores of a chip are called."""
    return f"{_ASCEND}{chip}", f"{_ASCEND}{chip}-memory", f"{_ASCEND}{chip}-core"
