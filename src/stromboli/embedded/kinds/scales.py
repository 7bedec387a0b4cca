"""The `scale` part of what has replicas: one number to read and to change, the same for all kinds."""

from __future__ import annotations

from stromboli.embedded.describing.printers.workloads import selector_text
from stromboli.embedded.kinds.typed import check_type
from stromboli.embedded.refusals import Cause, invalid
from stromboli.embedded.registry import ServedResource
from stromboli.embedded.store import Object
from stromboli.kube.objects.workloads import ReplicaSet

_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(body: Object) -> Object:
    """How many there are to be, and how many there are."""
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _IDENTITY if key in metadata},
        "spec": {"replicas": spec.get("replicas") or 0},
        "status": {"replicas": status.get("replicas") or 0, "selector": selector_text(spec.get("selector"))},
    }


def with_scale(resource: ServedResource, body: Object, scale: Object) -> Object:
    """The object with as many replicas as the scale says, in the version that the scale names if it names one."""
    check_type(scale, ReplicaSet, "Scale")
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        why = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid(resource, body["metadata"]["name"], [Cause("FieldValueInvalid", why, "spec.replicas")])
    metadata = {key: value for key, value in body["metadata"].items() if key != "resourceVersion"}
    if version := (scale.get("metadata") or {}).get("resourceVersion"):
        metadata["resourceVersion"] = version
    return {**body, "metadata": metadata, "spec": {**body["spec"], "replicas": replicas}}
