"""Documents of pods, their owners and other workloads, as controllers create them from templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.groups import GROUP_NAME

TASK_SPEC = "volcano.sh/task-spec"
#: The scheduler that operators with support for Volcano set.
VOLCANO = "volcano"


def owner_of(workload: WorkloadDocument) -> dict[str, Any]:
    """Return the reference of a workload's pods to it. A workload of a manifest has its name instead of a uid."""
    return owner_reference(str(workload.document.get("apiVersion")), workload.kind[1], workload.name, workload.uid)


def owner_reference(api_version: str, kind: str, name: str, uid: str = "") -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid or name,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_document(
    workload: WorkloadDocument,
    template: Mapping[str, Any],
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    owner: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a pod of a template; labels, annotations and fields of the spec are set over those of the template."""
    own = template.get("metadata") or {}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": workload.namespace,
        "labels": {**(own.get("labels") or {}), **(labels or {})},
        "annotations": {**(own.get("annotations") or {}), **(annotations or {})},
        "ownerReferences": [dict(owner or owner_of(workload))],
    }
    if created := workload.text("metadata.creationTimestamp"):
        metadata["creationTimestamp"] = created
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], **(spec or {})}}


def created_document(
    workload: WorkloadDocument,
    kind: str,
    name: str,
    spec: Mapping[str, Any],
    *,
    api_version: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a workload that the controller of another one creates; by default of the same API version."""
    version = api_version or workload.text("apiVersion")
    identity: dict[str, Any] = {"name": name, "namespace": workload.namespace}
    identity |= {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    if created := workload.text("metadata.creationTimestamp"):
        identity["creationTimestamp"] = created
    return {"apiVersion": version, "kind": kind, "metadata": identity, "spec": dict(spec)}


def scheduled_by_volcano(template: Mapping[str, Any]) -> dict[str, str]:
    """Return the scheduler of pods whose operator sets it if the template has none."""
    return {} if template["spec"].get("schedulerName") else {"schedulerName": VOLCANO}


def member_annotations(group: str, role: str = "") -> dict[str, str]:
    """Return the annotations of a pod in a group, with its role if it has one."""
    return {GROUP_NAME: group, **({TASK_SPEC: role} if role else {})}
