"""Resource requests of a pod, as a kubelet adds them up for admission.

Implemented independently of the scheduler on purpose: the kubelet's sums check the scheduler's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    return plus(plus(total, amounts_of(pod.spec.overhead)), {"pods": UNIT})


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
