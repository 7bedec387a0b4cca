"""Quantities and what a pod asks for, as a kubelet adds them up before it lets a pod in.

It is written a second time on purpose: the scheduler's own sums are what the kubelet's are there to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from stromboli.kube.objects.meta import Resources
from stromboli.kube.objects.pod import Container, Pod

Amounts = dict[str, int]
"""Amounts by resource name, in billionths: the finest that a quantity can be."""

_GRAMMAR = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_TENS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LONGEST = 64
UNIT = 10**9


@lru_cache(maxsize=4096)
def amount_of(text: str | int | float) -> int:
    """A quantity in billionths, rounded up. Raises ValueError for what is none."""
    if len(str(text)) > _LONGEST or (match := _GRAMMAR.fullmatch(str(text))) is None:
        raise ValueError(f"{str(text)[:_LONGEST]!r} is not a quantity")
    number, exponent, suffix = Decimal(match[1]), match[2], match[3] or ""
    if suffix.endswith("i"):
        number *= 1024 ** ("KMGTPE".index(suffix[0]) + 1)
    else:
        number = number.scaleb(int(exponent) if exponent else _TENS.get(suffix, 0))
    return int((number * UNIT).to_integral_value(ROUND_CEILING))


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
