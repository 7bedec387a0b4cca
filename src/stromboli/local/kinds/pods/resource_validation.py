"""Validation of resource requests and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from stromboli.local.api_server.errors import Cause
from stromboli.local.api_server.quantities import UNIT, amount_of
from stromboli.local.api_server.store import Object
from stromboli.local.kinds.validation.field_errors import not_allowed, one_of, required, wrong
from stromboli.local.kinds.validation.names import qualified_problem

_HUGE = "hugepages-"
_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD = _OF_CONTAINERS | {"storage", "pods", "services", "configmaps", "secrets", "persistentvolumeclaims"}
_OF_KUBERNETES = "kubernetes.io/"
_QUOTA_PREFIX = "requests."
_NO_LIMIT = "Limit must be set for non overcommitable resources"


def resource_causes(resources: Object, field: str) -> Iterator[Cause]:
    """Validate the requests and limits of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from amount_causes(name, str(amount), f"{field}.{part}[{name}]")
    yield from _relation_causes(limits, requests, field)
    if any(name.startswith(_HUGE) for name in {**limits, **requests}) and not _has_compute(limits, requests):
        yield not_allowed(field, "HugePages require cpu or memory")


def pod_resource_causes(resources: Object, field: str) -> Iterator[Cause]:
    """Validate the resources of a pod as a whole, which exclude devices."""
    for part in ("limits", "requests"):
        for name in resources.get(part) or {}:
            if name not in ("cpu", "memory") and not name.startswith(_HUGE):
                yield from one_of(f"{field}.{part}[{name}]", name, ("cpu", _HUGE, "memory"))
    yield from resource_causes(resources, field)


def amount_causes(name: str, amount: str, field: str) -> Iterator[Cause]:
    """Validate one amount of one resource."""
    for problem in name_problems(name):
        yield wrong(field, name, problem)
    if amount.startswith("-"):
        yield wrong(field, amount, "must be greater than or equal to 0")
    elif (found := _amount(amount)) is None:
        yield wrong(field, amount, "must be a quantity")
    elif found % UNIT and is_extended(name):
        yield wrong(field, amount, "must be an integer")


@lru_cache(maxsize=1024)
def name_problems(name: str) -> tuple[str, ...]:
    """Validate the name of a resource."""
    problem = qualified_problem(name)
    problems = [problem] if problem else []
    if "/" not in name:
        if not name.startswith(_HUGE) and name not in _STANDARD:
            problems.append("must be a standard resource type or fully qualified")
        if not name.startswith(_HUGE) and name not in _OF_CONTAINERS:
            problems.append("must be a standard resource for containers")
    elif _OF_KUBERNETES not in name and (problem or name.startswith(_QUOTA_PREFIX)):
        problems.append("doesn't follow extended resource name standard")
    return tuple(problems)


def is_extended(name: str) -> bool:
    """Report whether the resource is an extended one."""
    return "/" in name and _OF_KUBERNETES not in name and not name.startswith(_QUOTA_PREFIX)


def _is_overcommitted(name: str) -> bool:
    """Report whether the resource may be overcommitted: not devices, and not huge pages."""
    return not is_extended(name) and not name.startswith(_HUGE)


def _relation_causes(limits: Mapping[str, Any], requests: Mapping[str, Any], field: str) -> Iterator[Cause]:
    for name, amount in requests.items():
        limit = limits.get(name)
        if limit is None:
            if not _is_overcommitted(name):
                yield required(f"{field}.limits", _NO_LIMIT)
            continue
        asked, most = _amount(str(amount)), _amount(str(limit))
        if asked is None or most is None:
            continue
        if not _is_overcommitted(name) and asked != most:
            yield wrong(f"{field}.requests", str(amount), f"must be equal to {name} limit of {limit}")
        elif asked > most:
            yield wrong(f"{field}.requests", str(amount), f"must be less than or equal to {name} limit of {limit}")


def _has_compute(limits: Mapping[str, Any], requests: Mapping[str, Any]) -> bool:
    return any(name in part for name in ("cpu", "memory") for part in (limits, requests))


def _amount(text: str) -> int | None:
    try:
        return amount_of(text)
    except ValueError:
        return None
