"""The pod of an Argo template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.argo.parameters import Scope, filled, unknown_parameter
from stromboli.workloads.families.claim_templates import entries_of, mounted_volumes
from stromboli.workloads.families.pod_patches import merged, parse_patch
from stromboli.workloads.pod_documents import pod_document

_WORKFLOW_LABEL = "workflows.argoproj.io/workflow"
#: Fields of a template, and of the workflow as their default, that are those of a pod.
_POD_FIELDS = ("schedulerName", "nodeSelector", "affinity", "tolerations", "hostNetwork", "initContainers")
_PATCH = "podSpecPatch"


def workflow_pod(
    workflow: WorkloadDocument,
    own: str,
    template: tuple[WorkloadDocument, str],
    defaults: Sequence[Mapping[str, Any]],
    name: str,
    scope: Scope,
) -> dict[str, Any]:
    """Return the pod of a template, which is a field of the workflow or of a WorkflowTemplate. `own` is the field of
    the workflow's spec; `defaults` are the specs whose fields are defaults of templates.
    """
    source, path = template
    metadata = {part: _entries(workflow, own, source, path, part) for part in ("labels", "annotations")}
    labels = {_WORKFLOW_LABEL: workflow.name, "workflows.argoproj.io/completed": "false"}
    annotations = {"workflows.argoproj.io/node-name": name}
    document = {"metadata": filled(metadata, scope), "spec": _pod_spec(workflow, source, path, defaults, scope)}
    return pod_document(workflow, document, name, labels=labels, annotations=annotations)


def _entries(workflow: WorkloadDocument, own: str, source: WorkloadDocument, path: str, part: str) -> dict[str, str]:
    """Return the labels or annotations of pods: of all pods of the workflow, and of the template."""
    spec = path.partition(".templates")[0]
    of_all, of_workflow = source.texts(f"{spec}.podMetadata.{part}"), workflow.texts(f"{own}.podMetadata.{part}")
    return {**of_all, **of_workflow, **source.texts(f"{path}.metadata.{part}")}


def _pod_spec(
    workflow: WorkloadDocument, source: WorkloadDocument, path: str, defaults: Sequence[Mapping[str, Any]], scope: Scope
) -> dict[str, Any]:
    """Return the spec of the pod of a template; its fields come before those of the workflow."""
    template = template_with_defaults(source, path)
    spec: dict[str, Any] = {}
    for part in (*reversed(defaults), template):
        spec |= {key: part[key] for key in _POD_FIELDS if part.get(key) is not None}
    names = [template.get("priorityClassName"), *(part.get("podPriorityClassName") for part in defaults)]
    if priority := next(filter(None, names), None):
        spec["priorityClassName"] = priority
    if isinstance(deadline := template.get("activeDeadlineSeconds"), int):
        spec["activeDeadlineSeconds"] = deadline
    spec["containers"] = [*_containers(source, path), *source.items(f"{path}.sidecars")]
    if volumes := _mounted(spec, [template, *defaults], workflow.name):
        spec["volumes"] = volumes
    spec = filled(spec, scope)
    patches = [*(part.get(_PATCH) for part in reversed(defaults)), template.get(_PATCH)]
    for text in filter(None, patches):
        spec = merged(spec, _patch(workflow, path, filled(str(text), scope)))
    return spec


def template_with_defaults(source: WorkloadDocument, path: str) -> Mapping[str, Any]:
    """Return a template, with the defaults of the spec that contains it."""
    template: Mapping[str, Any] = merged(
        source.map(f"{path.partition('.templates')[0]}.templateDefaults"), source.map(path)
    )
    return template


def _mounted(spec: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], workflow: str) -> list[Mapping[str, Any]]:
    """Return the volumes that a container of the pod mounts: those of its template, of the workflow, and its claims."""
    mounts = mounted_volumes(spec.get("containers"), spec.get("initContainers"), [parts[0].get("containerSet")])
    volumes = {each.get("name"): each for part in reversed(parts) for each in _named(part, "volumes")}
    for name in (each for part in parts for each in claim_names(part)):
        volumes.setdefault(name, {"name": name, "persistentVolumeClaim": {"claimName": f"{workflow}-{name}"}})
    return [each for name, each in volumes.items() if name in mounts]


def _named(part: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    return [each for each in entries_of(part.get(field)) if isinstance(each.get("name"), str)]


def claim_names(spec: Mapping[str, Any]) -> list[str]:
    """Return the names of the templates of claims of a workflow."""
    metadata = [each.get("metadata") for each in entries_of(spec.get("volumeClaimTemplates"))]
    names = (each.get("name") for each in metadata if isinstance(each, Mapping))
    return [name for name in names if isinstance(name, str)]


def _patch(workflow: WorkloadDocument, path: str, text: str) -> Mapping[str, Any]:
    if unknown := unknown_parameter(text):
        message, remedy = f"the value of {unknown} is known when the workflow runs", "write a default for it"
        raise workflow.error(f"{path}.{_PATCH}", message, remedy)
    try:
        return parse_patch(text)
    except ValueError as error:
        raise workflow.error(f"{path}.{_PATCH}", str(error), "write a map of fields of a pod") from None


def _containers(source: WorkloadDocument, path: str) -> list[Mapping[str, Any]]:
    for kind in ("container", "script"):
        if found := source.map(f"{path}.{kind}"):
            return [{**found, "name": "main"}]
    return source.items(f"{path}.containerSet.containers") or [{"name": "main"}]
