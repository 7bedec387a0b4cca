"""Fractional GPUs by annotation: how much of how many devices a pod requests, and what it was assigned.

A shared device belongs to no pod: it is a *group*, named after its first pod, and a reservation pod holds the whole GPU
of the node for all members. Node and queue amounts count fractions in thousandths of a GPU; the capacity of each device
is counted exactly, in thousandths of a MiB if the node reports the memory of its GPUs.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

#: The resource that counts whole devices.
GPU = "nvidia.com/gpu"
#: Node label with the memory of each GPU, in MiB.
MEMORY_LABEL = "nvidia.com/gpu.memory"
WHOLE = 1000

#: Annotations with the request of a pod.
FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"
NUMBER = "gpu-fraction-num-devices"
CONTAINER = "gpu-fraction-container-name"
MPS = "mps"
DEMANDS = (FRACTION, MEMORY, NUMBER, CONTAINER)

#: Annotations of a binding: the groups of a pod, and its fraction of each in thousandths.
GROUPS = "stromboli.dev/gpu-groups"
PORTION = "stromboli.dev/gpu-portion-milli"
RECEIVED = "scheduling.stromboli.dev/received-resource-type"
REGULAR_RECEIVED, FRACTION_RECEIVED = "Regular", "Fraction"

#: Prefix of a pseudo-annotation that plugins read, followed by the namespace of reservation pods.
RESERVATIONS_IN = "stromboli.dev/gpu-reservations-in-"
DEFAULT_NAMESPACE = "stromboli-reservations"

_TEBIBYTE_IN_MIB = 1 << 20
_STEP = 100
_LONGEST = 16


@dataclass(frozen=True, slots=True)
class Received:
    """The share of a pod in the GPUs of its node."""

    groups: tuple[str, ...]
    #: Fraction of each, in thousandths.
    portion: int

    def annotations(self) -> dict[str, str]:
        return {GROUPS: ",".join(self.groups), PORTION: str(self.portion), RECEIVED: FRACTION_RECEIVED}


def groups_in(annotations: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the groups of a pod."""
    text = (annotations or {}).get(GROUPS, "")
    return tuple(dict.fromkeys(word for word in text.split(",") if word))


def received_in(annotations: Mapping[str, str]) -> Received | None:
    """Return what the annotations of a binding assign to the pod; None if it has no fractional GPU."""
    groups, portion = groups_in(annotations), annotations.get(PORTION, "")
    if not groups:
        return None
    return Received(groups, int(portion) if portion.isdecimal() and len(portion) < _LONGEST else WHOLE)


def new_groups(uid: str, number: int, taken: Container[str]) -> list[str]:
    """Return unused group names for a number of devices: the uid of the first pod, and an index."""
    names: list[str] = []
    place = 0
    while len(names) < number:
        name = f"{uid}-{place}"
        if name not in taken:
            names.append(name)
        place += 1
    return names


def device_memory(labels: Mapping[str, str]) -> int | None:
    """Return the memory of each GPU of a node, in MiB; None without the label. The remainder below a hundred is not
    usable and is left out.

    Raises ValueError for a label that is not an amount.
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
    """Return the memory of each GPU of a node, in MiB; 0 if unknown."""
    try:
        return device_memory(labels) or 0
    except ValueError:
        return 0


def portion_of(memory: int, device: int) -> int:
    """Return an amount of memory as a fraction of a device, in thousandths, rounded up to hundredths."""
    return min(-(-memory * 100 // device) * 10, WHOLE) if device else WHOLE


def charge_of(portion: int, memory: int, number: int, largest: int) -> int:
    """Return what fractions of a number of devices count for on a node and in a queue, in thousandths of GPUs. A
    fraction by memory counts as part of the `largest` GPU of the cluster, so never as more than its fraction of its
    own GPU.
    """
    if portion:
        return portion * number
    return max(memory * WHOLE // largest, 1) * number if largest else number
