"""Requests of containers for shared devices."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stromboli import kube
from stromboli.cluster.objects.pods.fractional_gpus import gpu_request_of
from stromboli.core.model.devices.shared_devices import (
    ASCEND_CHIPS,
    ASSIGNMENTS,
    DEVICES,
    GPU_MEMORY,
    GPU_NUMBER,
    NPU_CORE,
    VGPU_CORES,
    VGPU_MEMORY,
    VGPU_NUMBER,
    VGPU_PERCENTAGE,
    Backend,
    SharedDeviceRequest,
    SharedDeviceRequests,
    ascend_resources,
)
from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.workloads.groups import job_key_of

#: Annotation that selects how the pods of a job spread over the devices of a node.
_GROUP_POLICY = "volcano.sh/vgpu-podgroup-policy"

_ASSIGNMENTS = frozenset(ASSIGNMENTS)

Amounts = Mapping[str, str | int | float]


def backends_in(annotations: Collection[str]) -> frozenset[Backend]:
    """The device back-ends named among the annotations that plugins read."""
    return frozenset(backend for backend in Backend if DEVICES + backend in annotations)


def assignments_in(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that record which devices were assigned to a pod."""
    if _ASSIGNMENTS.isdisjoint(annotations):
        return {}
    return {key: annotations[key] for key in ASSIGNMENTS if key in annotations}


def device_requests_of(pod: kube.Pod, backends: Collection[Backend]) -> SharedDeviceRequests | None:
    """Return what a pod requests from these back-ends; None for nothing.

    Raises ValueError, with the field in front, for an invalid amount.
    """
    containers = tuple(
        _requests_of_container(container, f"spec.containers[{place}].resources.limits", backends)
        for place, container in enumerate(pod.spec.containers or ())
    )
    shared = gpu_request_of(pod) if Backend.GPU_FRACTIONS in backends else None
    if shared is not None:
        containers = (*containers, (shared,))
    if not any(containers):
        return None
    apart = (pod.metadata.annotations or {}).get(_GROUP_POLICY) == "spread"
    return SharedDeviceRequests(containers, (job_key_of(pod) or "") if apart else "")


def _requests_of_container(
    container: kube.Container, field: str, backends: Collection[Backend]
) -> tuple[SharedDeviceRequest, ...]:
    resources = container.resources
    if resources is None:
        return ()
    amounts: Amounts = {**(resources.requests or {}), **(resources.limits or {})}
    return tuple(
        request for backend in _DECODERS if backend in backends for request in _DECODERS[backend](amounts, field)
    )


def _gpu_memory(amounts: Amounts, field: str) -> list[SharedDeviceRequest]:
    memory = _whole(amounts, GPU_MEMORY, field)
    return [SharedDeviceRequest(Backend.GPU_SHARING, 1, memory)] if memory else []


def _gpu_number(amounts: Amounts, field: str) -> list[SharedDeviceRequest]:
    number = _whole(amounts, GPU_NUMBER, field)
    return [SharedDeviceRequest(Backend.GPU_NUMBER, number)] if number else []


def _vgpu(amounts: Amounts, field: str) -> list[SharedDeviceRequest]:
    number, memory = _whole(amounts, VGPU_NUMBER, field), _whole(amounts, VGPU_MEMORY, field)
    percentage, cores = _whole(amounts, VGPU_PERCENTAGE, field, 100), _whole(amounts, VGPU_CORES, field, 100)
    if number:
        return [SharedDeviceRequest(Backend.VGPU, number, memory, percentage, cores)]
    _reject_parts_alone(memory or percentage or cores, VGPU_NUMBER, field)
    return []


def _ascend(amounts: Amounts, field: str) -> list[SharedDeviceRequest]:
    requests = []
    for chip in ASCEND_CHIPS:
        names = ascend_resources(chip)
        number, memory, cores = (_whole(amounts, name, field) for name in names)
        if number:
            requests.append(SharedDeviceRequest(Backend.ASCEND_HAMI, number, memory, cores=cores, chip=chip))
        else:
            _reject_parts_alone(memory or cores, names[0], field)
    return requests


def _npu_core(amounts: Amounts, field: str) -> list[SharedDeviceRequest]:
    cores = _whole(amounts, NPU_CORE, field)
    return [SharedDeviceRequest(Backend.ASCEND_MIND_CLUSTER, 1, cores=cores)] if cores else []


_DECODERS = {
    Backend.GPU_SHARING: _gpu_memory,
    Backend.GPU_NUMBER: _gpu_number,
    Backend.VGPU: _vgpu,
    Backend.ASCEND_HAMI: _ascend,
    Backend.ASCEND_MIND_CLUSTER: _npu_core,
}


def _whole(amounts: Amounts, name: str, field: str, most: int | None = None) -> int:
    if name not in amounts:
        return 0
    try:
        amount = parse_quantity(amounts[name], milli=True)
    except ValueError as error:
        raise ValueError(f"{field}.{name}: {error}") from None
    if amount % 1000:
        raise ValueError(f"{field}.{name}: expected a whole number, got {amounts[name]!r}")
    if most is not None and amount > most * 1000:
        raise ValueError(f"{field}.{name}: expected at most {most}, as it is a percentage, got {amounts[name]!r}")
    return amount // 1000


def _reject_parts_alone(amount: int, number: str, field: str) -> None:
    """Reject a fraction without a count: the kubelet would allocate no device."""
    if amount:
        raise ValueError(f"{field}: a fraction of a device is requested without a device count; add {number}")
