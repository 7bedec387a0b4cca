"""Fractional GPUs: what pods request by annotation, and how it is counted.

The containers of a pod that shares a GPU request no device. The pod counts as its fraction, on its node and in its
queue, once it waits for this scheduler or names its GPU group. The reservation pod that holds the device for a group
counts as nothing: the device is counted by the pods that share it, and by the gpusharing plugin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal, InvalidOperation

from stromboli import kube
from stromboli.core.model.devices.gpu_fractions import (
    CONTAINER,
    FRACTION,
    GPU,
    GROUPS,
    MEMORY,
    NUMBER,
    RESERVATIONS_IN,
    WHOLE,
    charge_of,
    known_memory,
)
from stromboli.core.model.devices.shared_devices import Backend, SharedDeviceRequest, SharedDeviceRequests
from stromboli.core.model.nodes.table import Node
from stromboli.core.model.resources.resources import Request, ResourceAxis

#: More devices than any node has.
_MAX_DEVICES = 1024
_MAX_MEMORY = 1 << 30


class GpuShareDecoder:
    """Decodes the amounts of pods with fractional GPUs, if the gpusharing plugin is enabled."""

    def __init__(self, axis: ResourceAxis, annotations: Collection[str]) -> None:
        self._axis = axis
        found = (each.removeprefix(RESERVATIONS_IN) for each in annotations if each.startswith(RESERVATIONS_IN))
        #: The namespace of reservation pods, as named among the annotations that plugins read; empty for none.
        self.namespace = min(found, default="")
        if self.namespace:
            axis.dimension(GPU)  # before columns are created
        #: Memory of the largest GPU of the cluster in MiB, 0 if unknown. Requests by memory count as fractions of it.
        self.largest = 0

    def look_at(self, nodes: Iterable[Node]) -> None:
        if self.namespace:
            self.largest = max((known_memory(node.labels) for node in nodes), default=0)

    def counted(self, pod: kube.Pod, request: Request, device_requests: SharedDeviceRequests | None) -> Request:
        """The request that counts, from the containers' request and the request by annotation."""
        if not self.namespace:
            return request
        has_groups = GROUPS in (pod.metadata.annotations or {})
        if has_groups and pod.metadata.namespace == self.namespace:  # a reservation pod
            dimension = self._axis.find(GPU)
            return tuple(entry for entry in request if entry[0] != dimension)
        share = gpu_request_in(device_requests)
        if share is None or (pod.spec.node_name and not has_groups):
            return request
        charge = charge_of(share.portion, share.memory, share.number, self.largest)
        return tuple(sorted((*request, (self._axis.dimension(GPU), charge))))


def gpu_request_in(device_requests: SharedDeviceRequests | None) -> SharedDeviceRequest | None:
    """The fractional GPU request among the device requests of a pod."""
    requests = (share for container in (device_requests.containers if device_requests else ()) for share in container)
    return next((share for share in requests if share.backend is Backend.GPU_FRACTIONS), None)


def gpu_request_of(pod: kube.Pod) -> SharedDeviceRequest | None:
    """The fractional GPU request in a pod's annotations; None for none.

    Raises ValueError, with the annotation in front, for an invalid one.
    """
    annotations = pod.metadata.annotations or {}
    if FRACTION not in annotations and MEMORY not in annotations:
        if NUMBER in annotations:
            raise _bad(NUMBER, f"a device count without a fraction; add {FRACTION} or {MEMORY}")
        return None
    if FRACTION in annotations and MEMORY in annotations:
        raise _bad(FRACTION, f"{MEMORY} is set as well; set only one of them")
    containers = _containers(pod)
    for field, container in containers:
        resources = container.resources
        requested = {**(resources.requests or {}), **(resources.limits or {})} if resources else {}
        if str(requested.get(GPU, "0")) not in ("0", ""):
            raise _bad(
                FRACTION if FRACTION in annotations else MEMORY, f"{field} requests {GPU} as well; remove one of them"
            )
    number = _whole(annotations, NUMBER, 1, _MAX_DEVICES) if NUMBER in annotations else 1
    wanted = annotations.get(CONTAINER)
    if wanted is not None and all(container.name != wanted for _, container in containers):
        raise _bad(CONTAINER, f"the pod has no container {wanted[:64]!r}")
    if MEMORY in annotations:
        return SharedDeviceRequest(Backend.GPU_FRACTIONS, number, _whole(annotations, MEMORY, 1, _MAX_MEMORY))
    return SharedDeviceRequest(Backend.GPU_FRACTIONS, number, portion=_portion(annotations[FRACTION]))


def _portion(text: str) -> int:
    """Thousandths; finer values are rounded."""
    try:
        fraction = Decimal(text) if len(text) <= 32 else Decimal(0)
    except InvalidOperation:
        fraction = Decimal(0)
    if not fraction.is_finite() or not 0 < fraction <= 1:
        raise _bad(FRACTION, f"expected a fraction of a GPU above 0 and below 1, such as 0.5, got {text[:64]!r}")
    return max(round(fraction * WHOLE), 1)


def _whole(annotations: Mapping[str, str], key: str, least: int, most: int) -> int:
    text = annotations[key].strip()
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else 0
    if not least <= number <= most:
        unit = " of MiB" if key == MEMORY else ""
        raise _bad(key, f"expected a whole number{unit} from {least} to {most}, got {text[:64]!r}")
    return number


def _containers(pod: kube.Pod) -> list[tuple[str, kube.Container]]:
    regular = [(f"spec.containers[{place}]", each) for place, each in enumerate(pod.spec.containers or ())]
    initial = [(f"spec.initContainers[{place}]", each) for place, each in enumerate(pod.spec.init_containers or ())]
    return regular + initial


def _bad(key: str, what: str) -> ValueError:
    return ValueError(f"metadata.annotations[{key}]: {what}")
