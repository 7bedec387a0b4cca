"""The pod of an Argo template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.argo.parameters import Scope, filled, unknown_parameter
from stromboli.workloads.families.argo.patches import merged, parse_patch
from stromboli.workloads.pod_documents import pod_document

_WORKFLOW_LABEL = "workflows.argoproj.io/workflow"
#: Fields of a template, and of the workflow as their default, that are those of a pod.
_POD_FIELDS = ("schedulerName", "nodeSelector", "affinity", "tolerations", "hostNetwork", "volumes", "initContainers")
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
    template = source.map(path)
    spec: dict[str, Any] = {}
    for part in (*reversed(defaults), template):
        spec |= {key: part[key] for key in _POD_FIELDS if part.get(key) is not None}
    names = [template.get("priorityClassName"), *(part.get("podPriorityClassName") for part in defaults)]
    if priority := next(filter(None, names), None):
        spec["priorityClassName"] = priority
    if isinstance(deadline := template.get("activeDeadlineSeconds"), int):
        spec["activeDeadlineSeconds"] = deadline
    spec["containers"] = [*_containers(source, path), *source.items(f"{path}.sidecars")]
    spec = filled(spec, scope)
    patches = [*(part.get(_PATCH) for part in reversed(defaults)), template.get(_PATCH)]
    for text in filter(None, patches):
        spec = merged(spec, _patch(workflow, path, filled(str(text), scope)))
    return spec


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
