"""The sum of the requests of a group's minimum of pods, as controllers write it to `spec.minResources`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stromboli import kube
from stromboli.core.model.resources.quantity import format_quantity, parse_quantity
from stromboli.core.model.resources.resources import PODS, ResourceAxis
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.requests import RequestError, pod_request


class Members(NamedTuple):
    """Pods of one template. Those up to the minimum count first, in the order of priorities."""

    template: Mapping[str, Any]
    number: int
    priority: int = 0
    minimum: int = 0


def total_request(members: Iterable[Members]) -> dict[str, str]:
    """Return the sum of the requests of all pods, without their number; empty if one is invalid, as the pod reports."""
    axis = ResourceAxis()
    amounts: dict[int, int] = {}
    for each in members:
        try:
            request = pod_request(pod_of(each.template), axis) if each.number else ()
        except (RequestError, ObjectError):
            return {}
        for place, amount in request:
            if place != PODS:
                amounts[place] = amounts.get(place, 0) + amount * each.number
    return {axis.names[place]: axis.format(place, amount) for place, amount in sorted(amounts.items()) if amount}


def first_members(members: Sequence[Members], count: int) -> list[Members]:
    """Return the first `count` pods: the minimum of every template, then further ones, each by descending priority.

    Templates without minimums are filled one after the other.
    """
    ordered = sorted(members, key=lambda each: -each.priority)
    counts = [min(each.minimum, each.number) for each in ordered]
    left = count - sum(counts)
    for place, each in enumerate(ordered):
        more = max(0, min(left, each.number - counts[place]))
        counts[place] += more
        left -= more
    return [each._replace(number=number) for each, number in zip(ordered, counts, strict=True)]


def pod_of(template: Mapping[str, Any]) -> kube.Pod:
    """Decode a template as a pod. Raises ObjectError."""
    return as_type({"spec": template["spec"]}, kube.Pod)


def quota_of(members: Sequence[Members], requests: Mapping[str, str]) -> dict[str, str]:
    """Return what a ResourceQuota counts for the pods besides their requests, as Volcano's job controller adds it."""
    number = sum(each.number for each in members)
    counted = {f"requests.{name}": text for name, text in requests.items() if name != "pods"}
    limits = {}
    for name in ("cpu", "memory"):
        if text := _total_limit(members, name):
            limits[f"limits.{name}"] = text
    return {"pods": str(number), "count/pods": str(number), **counted, **limits} if number else {}


def _total_limit(members: Sequence[Members], name: str) -> str:
    """Return the sum of the limits of all containers; containers without a limit do not count."""
    try:
        total = sum(_limit(each, name) * each.number for each in members)
    except (ValueError, ObjectError):
        return ""
    return format_quantity(total, milli=name == "cpu", binary=name == "memory") if total else ""


def _limit(members: Members, name: str) -> int:
    resources = (container.resources for container in pod_of(members.template).spec.containers or ())
    limits = (((each.limits if each else None) or {}).get(name, 0) for each in resources)
    return sum(parse_quantity(text, milli=name == "cpu") for text in limits)
