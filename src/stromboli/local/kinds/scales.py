"""The `scale` subresource of kinds with replicas."""

from __future__ import annotations

from typing import Any

from stromboli.kube.objects.workloads import ReplicaSet
from stromboli.local.api_server.errors import internal_error, invalid
from stromboli.local.api_server.registry import ScalePaths, ServedResource
from stromboli.local.api_server.store import Object
from stromboli.local.discovery.printers.workloads import selector_text
from stromboli.local.kinds.validation.field_errors import wrong
from stromboli.local.kinds.validation.types import check_type

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_USUAL = ScalePaths(".spec.replicas", ".status.replicas")


def scale_of(resource: ServedResource, body: Object) -> Object:
    """Build the scale: desired and observed replicas."""
    metadata, paths = body["metadata"], resource.scale or _USUAL
    wanted = _at(body, paths.wanted)
    if wanted is None and resource.scale is not None:
        raise internal_error(f'the spec replicas field "{paths.wanted}" does not exist')
    selector = _selector(resource, body)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _IDENTITY if key in metadata},
        "spec": {"replicas": wanted or 0},
        "status": {"replicas": _at(body, paths.found) or 0, **({"selector": selector} if selector else {})},
    }


def _selector(resource: ServedResource, body: Object) -> str:
    if resource.scale is None:
        return selector_text((body.get("spec") or {}).get("selector"))
    return str(_at(body, resource.scale.selector) or "") if resource.scale.selector else ""


def with_scale(resource: ServedResource, body: Object, scale: Object) -> Object:
    """The object with the replicas of the scale, checked against the resourceVersion of the scale if it has one."""
    check_type(scale, ReplicaSet, "Scale")
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        field, why = "spec.replicas", "must be greater than or equal to 0"
        if resource.scale is not None:
            field, why = resource.scale.wanted, "should be a non-negative integer"
        raise invalid(resource, body["metadata"]["name"], [wrong(field, replicas, why)])
    version = (scale.get("metadata") or {}).get("resourceVersion") or body["metadata"]["resourceVersion"]
    named = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
    return _with(named, _steps((resource.scale or _USUAL).wanted), replicas)


def _steps(path: str) -> list[str]:
    return path.strip(".").split(".")


def _at(body: Object, path: str) -> Any:
    value: Any = body
    for step in _steps(path):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _with(body: Object, steps: list[str], value: int) -> Object:
    below = value if len(steps) == 1 else _with(body.get(steps[0]) or {}, steps[1:], value)
    return {**body, steps[0]: below}
