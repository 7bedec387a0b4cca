"""What a pod asks for, as a kubelet adds it up before it lets a pod in.

It is written a second time on purpose: the scheduler's own sums are what the kubelet's are there to check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stromboli.kube.objects.meta import Resources
from stromboli.kube.objects.pod import Container, Pod
from stromboli.local.api_server.quantities import UNIT, amount_of

Amounts = dict[str, int]
"""Amounts by resource name, in billionths: the finest that a quantity can be."""


def amounts_of(resources: Resources | None) -> Amounts:
    return {name: amount_of(amount) for name, amount in (resources or {}).items()}


def pod_requests(pod: Pod) -> Amounts:
    """What the pod sets aside: containers and sidecars together, or the greediest moment of its start if more."""
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
