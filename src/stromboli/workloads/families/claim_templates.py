"""Volumes of pods, and the claims of StatefulSets: one per pod and template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject

_TEMPLATES = "spec.volumeClaimTemplates"


def claim_volumes(
    workload: WorkloadDocument, template: Mapping[str, Any], pod: str, path: str = _TEMPLATES
) -> dict[str, Any]:
    """Return the volumes of a pod as fields of its spec: those of claims replace others with the same name."""
    claims = {name: {"claimName": f"{name}-{pod}"} for _, name in _claim_templates(workload, path)}
    others = [each for each in template["spec"].get("volumes") or () if each.get("name") not in claims]
    own = [{"name": name, "persistentVolumeClaim": claim} for name, claim in claims.items()]
    return {"volumes": [*own, *others]} if own else {}


def claims_of(workload: WorkloadDocument, pod: str, path: str = _TEMPLATES) -> Iterator[CreatedObject]:
    """The claims of one pod, which have no owner: they outlive the set."""
    for field, name in _claim_templates(workload, path):
        template = workload.map(field)
        metadata = {**(template.get("metadata") or {}), "name": f"{name}-{pod}", "namespace": workload.namespace}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        yield CreatedObject({**claim, "spec": template.get("spec") or {}}, field)


def _claim_templates(workload: WorkloadDocument, path: str) -> Iterator[tuple[str, str]]:
    """Yield the field and the name of every template of claims."""
    for place in range(workload.length(path)):
        field = f"{path}[{place}]"
        name = workload.text(f"{field}.metadata.name")
        if not name:
            raise workload.error(f"{field}.metadata.name", "is missing", "write the name of a volume")
        yield field, name


def entries_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the maps of a list that was not checked yet: others are reported when the pod is decoded."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def mounted_volumes(*containers: Any) -> set[str]:
    """Return the names of the volumes that lists of containers mount."""
    mounts = (mount.get("name") for part in containers for each in entries_of(part) for mount in _mounts(each))
    return {name for name in mounts if isinstance(name, str)}


def _mounts(container: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return entries_of(container.get("volumeMounts"))
