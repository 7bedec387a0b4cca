"""What a pod asks of a node, as Kubernetes defines it.

Containers are summed; sidecars (init containers that restart always) are added to them and to every init
container that starts after; each ordinary init container is compared with the rest by maximum, as they run one
after the other. Resources given for the whole pod replace that sum; overhead comes on top. While a resize is
under way the larger of what is asked and what is granted counts.
"""

from collections.abc import Collection, Iterable, Mapping

from stromboli.core.model.resources.quantity import parse_quantity
from stromboli.core.model.resources.resources import CPU, MAX_PER_NODE, MEMORY, PODS, Request, ResourceAxis, request_of
from stromboli.kube import Pod
from stromboli.kube.objects.pod import ResourceRequirements

Amounts = dict[int, int]

#: So many different resources may a pod ask for.
MAX_NAMES = 64
_GRANTED = "status.containerStatuses"
#: What scorers assume for a container that asks for nothing, as kube-scheduler does: 100m and 200 MB.
ASSUMED_CPU, ASSUMED_MEMORY = 100, 200 * 1024 * 1024


class RequestError(ValueError):
    """A field of the pod that cannot be a request; the text begins with the field."""


def pod_request(pod: Pod, axis: ResourceAxis) -> Request:
    _reject_many_names(pod)
    amounts = _containers_and_inits(pod, axis)
    if pod.spec.resources is not None:
        amounts |= _parse(axis, pod.spec.resources.requests, "spec.resources.requests")
    _add(amounts, _parse(axis, pod.spec.overhead, "spec.overhead"))
    amounts[PODS] = 1
    for dimension, amount in amounts.items():
        if amount > MAX_PER_NODE:
            asked = f"{axis.names[dimension]}: {axis.format(dimension, amount)}"
            raise RequestError(f"spec.containers: in all they ask for {asked}, which no node can have; ask for less")
    return request_of(amounts)


def _reject_many_names(pod: Pod) -> None:
    containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
    names = {name for container in containers for name in _requests(container.resources)}
    reject_too_many_names(names.union(_requests(pod.spec.resources), pod.spec.overhead or ()), "spec.containers")
    if statuses := pod.status.container_statuses:
        granted = (name for status in statuses for name in (status.allocated_resources or ()))
        reject_too_many_names({*granted, *(name for each in statuses for name in _requests(each.resources))}, _GRANTED)


def reject_too_many_names(names: Collection[str], field: str) -> None:
    """Every name becomes a row of the books, whoever invented it: there must be an end to it."""
    if len(names) > MAX_NAMES:
        raise RequestError(f"{field}: {len(names)} different resources are named; name at most {MAX_NAMES}")


def scored_request(pod: Pod, request: Request) -> tuple[int, int]:
    """cpu and memory as scorers count them: containers without a request still cost something."""
    asked = dict(request)
    containers = pod.spec.containers or ()
    without_cpu = sum(1 for container in containers if "cpu" not in _requests(container.resources))
    without_memory = sum(1 for container in containers if "memory" not in _requests(container.resources))
    return (
        asked.get(CPU, 0) + without_cpu * ASSUMED_CPU,
        asked.get(MEMORY, 0) + without_memory * ASSUMED_MEMORY,
    )


def pod_limits(pod: Pod) -> tuple[int | None, int | None]:
    """The most cpu and memory that the containers may use together; None where one of them has no limit.

    Init containers that end before the others begin do not count.
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


def _requests(resources: ResourceRequirements | None) -> Mapping[str, str | int | float]:
    """What is asked for; a limit without a request is also the request."""
    if resources is None:
        return {}
    return {**(resources.limits or {}), **(resources.requests or {})}


def _containers_and_inits(pod: Pod, axis: ResourceAxis) -> Amounts:
    granted = _granted(pod, axis)
    total: Amounts = {}
    for place, container in enumerate(pod.spec.containers or ()):
        own = _parse(axis, _requests(container.resources), f"spec.containers[{place}].resources.requests")
        _raise_to(own, granted.get(container.name or "", {}))
        _add(total, own)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for place, container in enumerate(pod.spec.init_containers or ()):
        own = _parse(axis, _requests(container.resources), f"spec.initContainers[{place}].resources.requests")
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


def _granted(pod: Pod, axis: ResourceAxis) -> dict[str, Amounts]:
    """What the kubelet has granted each container so far."""
    granted: dict[str, Amounts] = {}
    for status in pod.status.container_statuses or ():
        own = _parse(axis, status.allocated_resources, f"{_GRANTED}.allocatedResources")
        if status.resources is not None:
            _raise_to(own, _parse(axis, status.resources.requests, f"{_GRANTED}.resources"))
        granted[status.name or ""] = own
    return granted


def _parse(axis: ResourceAxis, resources: Mapping[str, str | int | float] | None, field: str) -> Amounts:
    try:
        return axis.parse(resources)
    except ValueError as error:
        raise RequestError(f"{field}.{error}") from None


def _add(total: Amounts, other: Mapping[int, int]) -> None:
    for dimension, amount in other.items():
        total[dimension] = total.get(dimension, 0) + amount


def _raise_to(total: Amounts, other: Mapping[int, int] | Iterable[tuple[int, int]]) -> None:
    for dimension, amount in dict(other).items():
        total[dimension] = max(total.get(dimension, 0), amount)
