"""Documents of PodGroups, as controllers create them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.kube.objects import volcano
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.pod_documents import owner_of

GROUP_VERSION = f"{volcano.GROUP}/v1beta1"


def group_document(
    workload: WorkloadDocument,
    name: str,
    spec: Mapping[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a PodGroup; fields of its spec that are None or empty are left out."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": workload.namespace,
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
        "ownerReferences": [dict(owner or owner_of(workload))],
    }
    if created := workload.text("metadata.creationTimestamp"):
        metadata["creationTimestamp"] = created
    kept = {key: value for key, value in spec.items() if value not in (None, "", {}, [])}
    return {"apiVersion": GROUP_VERSION, "kind": "PodGroup", "metadata": metadata, "spec": kept}
