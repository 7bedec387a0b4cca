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


def reservation_namespace_in(annotations: Collection[str]) -> str:
    """The namespace of reservation pods, as named among the annotations that plugins read; empty for none."""
    found = (each.removeprefix(RESERVATIONS_IN) for each in annotations if each.startswith(RESERVATIONS_IN))
    return min(found, default="")


def is_reservation(pod: kube.Pod, namespace: str) -> bool:
    """Report whether a pod is a reservation pod. Only pods in the reservation namespace can be."""
    return bool(namespace) and pod.metadata.namespace == namespace and GROUPS in (pod.metadata.annotations or {})


class GpuShareDecoder:
    """How pods with fractional GPUs count, if the gpusharing plugin is enabled."""

    def __init__(self, axis: ResourceAxis, annotations: Collection[str]) -> None:
        self._axis = axis
        self.namespace = reservation_namespace_in(annotations)
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
        if is_reservation(pod, self.namespace):
            dimension = self._axis.find(GPU)
            return tuple(entry for entry in request if entry[0] != dimension)
        share = gpu_request_in(device_requests)
        if share is None or (pod.spec.node_name and GROUPS not in (pod.metadata.annotations or {})):
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
    said = pod.metadata.annotations or {}
    if FRACTION not in said and MEMORY not in said:
        if NUMBER in said:
            raise _bad(NUMBER, f"a device count without a fraction; add {FRACTION} or {MEMORY}")
        return None
    if FRACTION in said and MEMORY in said:
        raise _bad(FRACTION, f"{MEMORY} is set as well; set only one of them")
    for field, container in _containers(pod):
        if _asks_for_whole(container):
            raise _bad(FRACTION if FRACTION in said else MEMORY, f"{field} requests {GPU} as well; remove one of them")
    number = _whole(said, NUMBER, 1, _MAX_DEVICES) if NUMBER in said else 1
    _check_container(pod, said)
    if MEMORY in said:
        return SharedDeviceRequest(Backend.GPU_FRACTIONS, number, _whole(said, MEMORY, 1, _MAX_MEMORY))
    return SharedDeviceRequest(Backend.GPU_FRACTIONS, number, portion=_portion(said[FRACTION]))


def _portion(text: str) -> int:
    """Thousandths; finer values are rounded."""
    try:
        fraction = Decimal(text) if len(text) <= 32 else Decimal(0)
    except InvalidOperation:
        fraction = Decimal(0)
    if not fraction.is_finite() or not 0 < fraction <= 1:
        raise _bad(FRACTION, f"expected a fraction of a GPU above 0 and below 1, such as 0.5, got {text[:64]!r}")
    return max(round(fraction * WHOLE), 1)


def _whole(said: Mapping[str, str], key: str, least: int, most: int) -> int:
    text = said[key].strip()
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 12 else 0
    if not least <= number <= most:
        unit = " of MiB" if key == MEMORY else ""
        raise _bad(key, f"expected a whole number{unit} from {least} to {most}, got {text[:64]!r}")
    return number


def _check_container(pod: kube.Pod, said: Mapping[str, str]) -> None:
    wanted = said.get(CONTAINER)
    if wanted is not None and all(container.name != wanted for _, container in _containers(pod)):
        raise _bad(CONTAINER, f"the pod has no container {wanted[:64]!r}")


def _containers(pod: kube.Pod) -> list[tuple[str, kube.Container]]:
    regular = [(f"spec.containers[{place}]", each) for place, each in enumerate(pod.spec.containers or ())]
    initial = [(f"spec.initContainers[{place}]", each) for place, each in enumerate(pod.spec.init_containers or ())]
    return regular + initial


def _asks_for_whole(container: kube.Container) -> bool:
    resources = container.resources
    asked = {**(resources.requests or {}), **(resources.limits or {})} if resources else {}
    return str(asked.get(GPU, "0")) not in ("0", "")


def _bad(key: str, what: str) -> ValueError:
    return ValueError(f"metadata.annotations[{key}]: {what}")
