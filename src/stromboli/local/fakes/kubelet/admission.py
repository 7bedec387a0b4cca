"""Pod admission of a kubelet, which detects scheduling errors and races of several schedulers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stromboli.kube.objects.cluster import KubeNode
from stromboli.kube.objects.meta import Resources
from stromboli.kube.objects.pod import Container, Pod
from stromboli.local.api_server.quantities import UNIT, amount_of

Amounts = dict[str, int]
"""Amounts by resource name, in billionths: the finest resolution of a quantity."""


def amounts_of(resources: Resources | None) -> Amounts:
    return {name: amount_of(amount) for name, amount in (resources or {}).items()}


def pod_requests(pod: Pod) -> Amounts:
    """The effective request: containers and sidecars together, or the maximum during initialization if larger."""
    total, sidecars, peak = _sum(pod.spec.containers or ()), Amounts(), Amounts()
    for container in pod.spec.init_containers or ():
        own = _requests(container)
        if container.restart_policy == "Always":
            sidecars = plus(sidecars, own)
        else:
            peak = _larger(peak, plus(sidecars, own))
    total = _larger(plus(total, sidecars), peak)
    if pod.spec.resources is not None:
        total |= amounts_of(pod.spec.resources.requests)
    total = {name: amount for name, amount in total.items() if name not in _from_devices(pod)}
    return plus(plus(total, amounts_of(pod.spec.overhead)), {"pods": UNIT})


def _from_devices(pod: Pod) -> set[str]:
    """The extended resources for which the pod has devices of a claim."""
    status = pod.status.extended_resource_claim_status
    return {mapping.resource_name or "" for mapping in (status.request_mappings if status else None) or ()}


def plus(left: Mapping[str, int], right: Mapping[str, int]) -> Amounts:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _larger(left: Mapping[str, int], right: Mapping[str, int]) -> Amounts:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


def _sum(containers: Iterable[Container]) -> Amounts:
    total = Amounts()
    for container in containers:
        total = plus(total, _requests(container))
    return total


def _requests(container: Container) -> Amounts:
    """A limit without a request is also the request."""
    resources = container.resources
    return {} if resources is None else amounts_of(resources.limits) | amounts_of(resources.requests)


class Admission:
    """Resources of the admitted pods on each node."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Amounts]] = {}
        #: Total resources by node.
        self._used: dict[str, Amounts] = {}

    def is_admitted(self, node: str, uid: str) -> bool:
        return uid in self._held.get(node, ())

    def admit(self, node: KubeNode, pod: Pod) -> tuple[str, str] | None:
        """Admit the pod, or return a one-word reason and a message."""
        try:
            wanted, allocatable = pod_requests(pod), amounts_of(node.status.allocatable)
        except ValueError as error:
            return "UnexpectedAdmissionError", str(error)
        used = self._used.get(node.metadata.name, {})
        for resource, amount in sorted(wanted.items()):
            in_use, capacity = used.get(resource, 0), allocatable.get(resource, 0)
            if amount and in_use + amount > capacity:
                return f"OutOf{resource}", _shortage(resource, amount, in_use, capacity)
        self.count(node.metadata.name, pod, wanted)
        return None

    def count(self, node: str, pod: Pod, amounts: Amounts | None = None) -> None:
        """Count a pod that was admitted before, without a check."""
        if amounts is None:
            try:
                amounts = pod_requests(pod)
            except ValueError:
                amounts = {}
        self.release(node, pod.metadata.uid)
        self._held.setdefault(node, {})[pod.metadata.uid] = amounts
        self._add(node, amounts, 1)

    def release(self, node: str, uid: str) -> None:
        held = self._held.get(node, {})
        amounts = held.pop(uid, None)
        if amounts is not None:
            self._add(node, amounts, -1)
        if node in self._held and not held:
            del self._held[node], self._used[node]

    def _add(self, node: str, amounts: Amounts, sign: int) -> None:
        used = self._used.setdefault(node, {})
        for resource, amount in amounts.items():
            used[resource] = used.get(resource, 0) + sign * amount


def _shortage(resource: str, wanted: int, used: int, capacity: int) -> str:
    """The message of a kubelet; cpu in thousandths."""
    unit = UNIT // 1000 if resource == "cpu" else UNIT
    amounts = (f"{name}: {amount // unit}" for name, amount in zip(_WORDS, (wanted, used, capacity), strict=True))
    return f"Node didn't have enough resource: {resource}, {', '.join(amounts)}"


_WORDS = ("requested", "used", "capacity")
