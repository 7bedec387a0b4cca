"""The resource request of a pod, as Kubernetes defines it.

Containers are summed. Sidecars (init containers with restartPolicy Always) are added to the sum and to every init
container that starts after them. Ordinary init containers run one after the other, so their maximum counts. Pod-level
resources replace the sum; overhead is added. While a resize is in progress, the larger of the requested and the granted
amount counts; the granted amount if the kubelet has rejected the resize as infeasible.
"""

from collections.abc import Collection, Iterable, Mapping

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MAX_PER_NODE, MEMORY, PODS, Request, ResourceAxis, request_of
from stromboli.kube import Pod
from stromboli.kube.objects.pod import ResourceRequirements

Amounts = dict[int, int]

#: Maximum number of different resources that a pod may request.
MAX_NAMES = 64
_GRANTED = "status.containerStatuses"
#: What scorers assume for a container without requests, as kube-scheduler does: 100m and 200 MB.
ASSUMED_CPU, ASSUMED_MEMORY = 100, 200 * 1024 * 1024


class RequestError(ValueError):
    """A field of the pod that is not a valid request; the message begins with the field."""


def pod_request(pod: Pod, axis: ResourceAxis) -> Request:
    _reject_many_names(pod)
    amounts = _containers_and_inits(pod, axis)
    if pod.spec.resources is not None:
        amounts |= _parse(axis, pod.spec.resources.requests, "spec.resources.requests")
    _add(amounts, _parse(axis, pod.spec.overhead, "spec.overhead"))
    amounts[PODS] = 1
    for dimension, amount in amounts.items():
        if amount > MAX_PER_NODE:
            text = f"{axis.names[dimension]}: {axis.format(dimension, amount)}"
            raise RequestError(f"spec.containers: {text} in total is more than any node can have; request less")
    return request_of(amounts)


def unoffered_names(pod: Pod, request: Request, axis: ResourceAxis) -> tuple[str, ...]:
    """Return the names in a request that have no dimension of their own."""
    shared = axis.unoffered
    if shared is None or shared not in dict(request):
        return ()
    return tuple(sorted(axis.folded.intersection(_names(pod))))


def _names(pod: Pod) -> set[str]:
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    names = {name for container in containers for name in effective_requests(container.resources)}
    return names.union(effective_requests(pod.spec.resources), pod.spec.overhead or ())


def _reject_many_names(pod: Pod) -> None:
    reject_too_many_names(_names(pod), "spec.containers")
    if statuses := pod.status.container_statuses:
        granted = (name for status in statuses for name in (status.allocated_resources or ()))
        reject_too_many_names(
            {*granted, *(name for each in statuses for name in effective_requests(each.resources))}, _GRANTED
        )


def reject_too_many_names(names: Collection[str], field: str) -> None:
    """Limit the number of names that one object adds to the known ones."""
    if len(names) > MAX_NAMES:
        raise RequestError(f"{field}: {len(names)} different resources are named; name at most {MAX_NAMES}")


def scored_request(pod: Pod, request: Request) -> tuple[int, int]:
    """cpu and memory as scorers count them: containers without a request get the default amount."""
    text = dict(request)
    containers = pod.spec.containers or ()
    without_cpu = sum(1 for container in containers if "cpu" not in effective_requests(container.resources))
    without_memory = sum(1 for container in containers if "memory" not in effective_requests(container.resources))
    return (text.get(CPU, 0) + without_cpu * ASSUMED_CPU, text.get(MEMORY, 0) + without_memory * ASSUMED_MEMORY)


def pod_limits(pod: Pod) -> tuple[int | None, int | None]:
    """Sum of the cpu and memory limits of all containers; None where a container has no limit.

    Init containers that end before the others start do not count.
    """
    return _limit(pod, "cpu", milli=True), _limit(pod, "memory", milli=False)


def _limit(pod: Pod, name: str, *, milli: bool) -> int | None:
    sidecars = [each for each in pod.spec.init_containers or () if each.restart_policy == "Always"]
    of_containers = [_limits(container.resources).get(name) for container in (*(pod.spec.containers or ()), *sidecars)]
    of_pod = _limits(pod.spec.resources).get(name)
    texts = of_containers if of_pod is None else [of_pod]
    known = [text for text in texts if text is not None]
    if not texts or len(known) < len(texts):
        return None
    known.append((pod.spec.overhead or {}).get(name, 0))
    try:
        return sum(parse_quantity(text, milli=milli) for text in known)
    except ValueError as error:
        raise RequestError(f"spec.containers: resources.limits.{name}: {error}") from None


def _limits(resources: ResourceRequirements | None) -> Mapping[str, str | int | float]:
    return (resources.limits if resources else None) or {}


def effective_requests(resources: ResourceRequirements | None) -> Mapping[str, str | int | float]:
    """Requests of a container; a limit without a request is also the request."""
    if resources is None:
        return {}
    return {**(resources.limits or {}), **(resources.requests or {})}


def _containers_and_inits(pod: Pod, axis: ResourceAxis) -> Amounts:
    granted, is_infeasible = _granted(pod, axis), is_resize_infeasible(pod)
    total: Amounts = {}
    for place, container in enumerate(pod.spec.containers or ()):
        own = _parse(axis, effective_requests(container.resources), f"spec.containers[{place}].resources.requests")
        actual = granted.get(container.name or "", {})
        if is_infeasible and actual:
            own = actual
        else:
            _raise_to(own, actual)
        _add(total, own)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for place, container in enumerate(pod.spec.init_containers or ()):
        own = _parse(axis, effective_requests(container.resources), f"spec.initContainers[{place}].resources.requests")
        if container.restart_policy == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            alone = dict(own)
            _add(alone, sidecars)
            _raise_to(peak, alone)
    _raise_to(total, peak)
    return total


def is_resize_infeasible(pod: Pod) -> bool:
    """Report whether the kubelet has rejected a resize of the pod: its node cannot hold it."""
    conditions = pod.status.conditions or ()
    return any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in conditions)


def _granted(pod: Pod, axis: ResourceAxis) -> dict[str, Amounts]:
    """Resources that the kubelet has granted to each container."""
    granted: dict[str, Amounts] = {}
    for status in pod.status.container_statuses or ():
        own = _parse(axis, status.allocated_resources, f"{_GRANTED}.allocatedResources")
        if status.resources is not None:
            _raise_to(own, _parse(axis, status.resources.requests, f"{_GRANTED}.resources"))
        granted[status.name or ""] = own
    return granted


def _parse(axis: ResourceAxis, resources: Mapping[str, str | int | float] | None, field: str) -> Amounts:
    try:
        return axis.parse_request(resources)
    except ValueError as error:
        raise RequestError(f"{field}.{error}") from None


def _add(total: Amounts, other: Mapping[int, int]) -> None:
    for dimension, amount in other.items():
        total[dimension] = total.get(dimension, 0) + amount


def _raise_to(total: Amounts, other: Mapping[int, int] | Iterable[tuple[int, int]]) -> None:
    for dimension, amount in dict(other).items():
        total[dimension] = max(total.get(dimension, 0), amount)
