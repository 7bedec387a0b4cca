"""GPUs that pods share by annotation: how much of how many devices a pod wants, and what it was given.

A device that is shared belongs to no pod: it is a *group*, named after the pod that came first, and a reservation pod
holds the whole GPU of the node for all members. Amounts of nodes and queues count portions, in thousandths of a GPU;
which device has room for whom is counted exactly, in thousandths of a MiB where the node says how much memory its GPUs
have.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

#: The resource of which a device is one.
GPU = "nvidia.com/gpu"
#: The label of nodes that says how much memory each of their GPUs has, in MiB.
MEMORY_LABEL = "nvidia.com/gpu.memory"
WHOLE = 1000

#: What a pod says it wants.
FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"
NUMBER = "gpu-fraction-num-devices"
CONTAINER = "gpu-fraction-container-name"
MPS = "mps"
DEMANDS = (FRACTION, MEMORY, NUMBER, CONTAINER)

#: What travels with a binding: the groups a pod is a member of, and its portion of each in thousandths.
GROUPS = "stromboli.dev/gpu-groups"
PORTION = "stromboli.dev/gpu-portion-milli"
RECEIVED = "scheduling.stromboli.dev/received-resource-type"
REGULAR_RECEIVED, FRACTION_RECEIVED = "Regular", "Fraction"

#: Stands among the annotations that plugins read, followed by the namespace of reservation pods.
RESERVATIONS_IN = "stromboli.dev/gpu-reservations-in-"
DEFAULT_NAMESPACE = "stromboli-reservations"

_TEBIBYTE_IN_MIB = 1 << 20
_STEP = 100
_LONGEST = 16


@dataclass(frozen=True, slots=True)
class Received:
    """What a pod was given of the GPUs of its node."""

    groups: tuple[str, ...]
    #: Of each, in thousandths.
    portion: int

    def annotations(self) -> dict[str, str]:
        return {GROUPS: ",".join(self.groups), PORTION: str(self.portion), RECEIVED: FRACTION_RECEIVED}


def groups_in(annotations: Mapping[str, str] | None) -> tuple[str, ...]:
    """The groups that a pod is a member of."""
    text = (annotations or {}).get(GROUPS, "")
    return tuple(dict.fromkeys(word for word in text.split(",") if word))


def received_in(annotations: Mapping[str, str]) -> Received | None:
    """What travels with a binding says what the pod was given; None for no share of a GPU."""
    groups, portion = groups_in(annotations), annotations.get(PORTION, "")
    if not groups:
        return None
    return Received(groups, int(portion) if portion.isdecimal() and len(portion) < _LONGEST else WHOLE)


def new_groups(uid: str, number: int, taken: Container[str]) -> list[str]:
    """Names for so many devices that nobody shares yet: of the first pod that will, and a number."""
    names: list[str] = []
    place = 0
    while len(names) < number:
        name = f"{uid}-{place}"
        if name not in taken:
            names.append(name)
        place += 1
    return names


def device_memory(labels: Mapping[str, str]) -> int | None:
    """The memory of each GPU of a node, in MiB; None where the node does not say. What nobody may count on, the part
    below a hundred, is left out.

    Raises ValueError for a label that is no amount.
    """
    text = labels.get(MEMORY_LABEL)
    if text is None:
        return None
    amount = int(text) if text.isdecimal() and text.isascii() and len(text) < _LONGEST else 0
    if amount >= _TEBIBYTE_IN_MIB:  # bytes
        amount //= 1 << 20
    if amount < _STEP:
        raise ValueError(f"label {MEMORY_LABEL}: expected the memory of a GPU in MiB, such as 40960, got {text[:64]!r}")
    return amount - amount % _STEP


def known_memory(labels: Mapping[str, str]) -> int:
    """The same with 0 for what is not known."""
    try:
        return device_memory(labels) or 0
    except ValueError:
        return 0


def portion_of(memory: int, device: int) -> int:
    """What so much memory is of a device, in thousandths, rounded up to hundredths."""
    return min(-(-memory * 100 // device) * 10, WHOLE) if device else WHOLE


def charge_of(portion: int, memory: int, number: int, largest: int) -> int:
    """What shares of so many devices count as on a node and in a queue, in thousandths of GPUs. A share by memory
    counts as part of the `largest` GPU anywhere, so never as more than it is of its own.
    """
    if portion:
        return portion * number
    return max(memory * WHOLE // largest, 1) * number if largest else number
