"""Argo Workflows: the pods that a workflow starts with, in the steps or tasks that wait for no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.pod_documents import pod_document
from stromboli.workloads.templates import Kind

GROUP = "argoproj.io"
TEMPLATES: Kind = (GROUP, "WorkflowTemplate")
CLUSTER_TEMPLATES: Kind = (GROUP, "ClusterWorkflowTemplate")
_WORKFLOW_LABEL = "workflows.argoproj.io/workflow"
#: Fields of a template, and of the workflow as their default, that are those of a pod.
_POD_FIELDS = ("schedulerName", "nodeSelector", "affinity", "tolerations", "hostNetwork", "volumes", "initContainers")
_PODLESS = ("suspend", "http", "plugin")
_MAX_DEPTH = 50
#: Templates that call each other several times could be called without end.
_MAX_CALLS = 10_000


@dataclass(slots=True)
class _Start:
    """What a workflow starts with."""

    workflow: WorkloadDocument
    context: ExpansionContext
    #: The field of its spec.
    own: str
    #: Where its templates are: in itself, or in a WorkflowTemplate.
    source: WorkloadDocument
    path: str
    found: Expansion = field(default_factory=Expansion)
    #: The templates called so far, in all sources.
    calls: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        if text not in self.found.notes:
            self.found.notes.append(text)


def expand_workflow(workflow: WorkloadDocument, context: ExpansionContext) -> Expansion:
    return _expand(workflow, "spec", context)


def expand_cron_workflow(workflow: WorkloadDocument, context: ExpansionContext) -> Expansion:
    found = _expand(workflow, "spec.workflowSpec", context)
    several = [f"spec.schedules[{place}]" for place in range(workflow.length("spec.schedules"))]
    found.notes.append(next_run_note(workflow, context, "spec.timezone", several or ("spec.schedule",)))
    return found


def _expand(workflow: WorkloadDocument, path: str, context: ExpansionContext) -> Expansion:
    if reference := workflow.map(f"{path}.workflowTemplateRef"):
        source = _referred(workflow, f"{path}.workflowTemplateRef", reference, context)
        start = _Start(workflow, context, path, source, "spec")
    else:
        start = _Start(workflow, context, path, workflow, path)
    entry = workflow.text(f"{path}.entrypoint") or start.source.text(f"{start.path}.entrypoint")
    if not entry:
        raise workflow.error(f"{path}.entrypoint", "is missing", "write the name of a template")
    _template(start, _named(start, entry), workflow.name, 0)
    most = workflow.count(f"{path}.parallelism", 0) or start.source.count(f"{start.path}.parallelism", 0)
    if most and len(start.found.pods) > most:
        del start.found.pods[most:]
        start.note(f"it runs {most} pods at once")
    deadline = workflow.value(f"{path}.activeDeadlineSeconds")
    start.found.run_time = f"{deadline}s" if isinstance(deadline, int) and deadline > 0 else ""
    return start.found


def _referred(
    workflow: WorkloadDocument, path: str, reference: Mapping[str, Any], context: ExpansionContext
) -> WorkloadDocument:
    name, is_cluster = str(reference.get("name") or ""), reference.get("clusterScope") is True
    kind = CLUSTER_TEMPLATES if is_cluster else TEMPLATES
    return context.reference(workflow, path, kind, name, is_namespaced=not is_cluster)


def _named(start: _Start, name: str) -> str:
    """Return the field of a template."""
    path = f"{start.path}.templates"
    for place in range(start.source.length(path)):
        if start.source.text(f"{path}[{place}].name") == name:
            return f"{path}[{place}]"
    place_of_error = path if start.source is start.workflow else f"{start.own}.workflowTemplateRef"
    raise start.workflow.error(place_of_error, f"template {name} does not exist", "add it, or correct the name")


def _template(start: _Start, path: str, name: str, depth: int) -> None:
    """Add the pods with which a template starts."""
    source = start.source
    start.calls.append(path)
    if depth > _MAX_DEPTH or len(start.calls) > _MAX_CALLS:
        start.note("templates that are nested too deeply are not planned")
    elif source.length(f"{path}.steps"):
        for step in _first_steps(source, f"{path}.steps[0]"):
            _call(start, step, name, depth)
    elif source.map(f"{path}.dag"):
        for place in range(source.length(f"{path}.dag.tasks")):
            task = f"{path}.dag.tasks[{place}]"
            if not source.length(f"{task}.dependencies") and not source.text(f"{task}.depends"):
                _call(start, task, name, depth)
    elif not any(source.value(f"{path}.{kind}") is not None for kind in _PODLESS):
        if source.map(f"{path}.resource"):
            start.note("the objects that its resource templates create are not planned")
        start.found.pods.append(CreatedObject(_pod(start, path, name), _field(start, path)))
        checked_number(start.workflow, len(start.found.pods), "spec.templates")


def _first_steps(source: WorkloadDocument, path: str) -> Iterator[str]:
    """The steps of the first group, which is a list, or a single step in old workflows."""
    if isinstance(source.value(path), list):
        yield from (f"{path}[{place}]" for place in range(source.length(path)))
    else:
        yield path


def _call(start: _Start, path: str, parent: str, depth: int) -> None:
    """Add the pods of a step or task, once for each of its items."""
    source = start.source
    name = source.text(f"{path}.name")
    if source.text(f"{path}.when"):
        start.note(f"{name} depends on a condition, and is planned as if it held")
    number = _repetitions(start, path, name)
    for index in range(number):
        suffix = f"{parent}-{name}-{index}" if number > 1 else f"{parent}-{name}"
        if source.map(f"{path}.inline"):
            _template(start, f"{path}.inline", suffix, depth + 1)
        elif reference := source.map(f"{path}.templateRef"):
            other = _referred(start.workflow, _field(start, path), reference, start.context)
            inner = _Start(start.workflow, start.context, start.own, other, "spec", start.found, start.calls)
            _template(inner, _named(inner, str(reference.get("template") or "")), suffix, depth + 1)
        else:
            _template(start, _named(start, source.text(f"{path}.template")), suffix, depth + 1)


def _repetitions(start: _Start, path: str, name: str) -> int:
    source = start.source
    if source.value(f"{path}.withItems") is not None:
        return checked_number(start.workflow, source.length(f"{path}.withItems"), _field(start, path))
    sequence = source.map(f"{path}.withSequence")
    if str(sequence.get("count") or "").isdecimal():
        return checked_number(start.workflow, int(sequence["count"]), _field(start, path))
    if sequence or source.value(f"{path}.withParam") is not None:
        start.note(f"the number of pods of {name} is known when the workflow runs; one is planned")
    return 1


def _field(start: _Start, path: str) -> str:
    """Return the field of the workflow; fields of a WorkflowTemplate are not its own."""
    return path if start.source is start.workflow else ""


def _pod(start: _Start, path: str, name: str) -> dict[str, Any]:
    spec = _pod_spec(start, path)
    if start.source.value(f"{path}.podSpecPatch") or any(part.get("podSpecPatch") for part in _defaults(start)):
        start.note("its podSpecPatch is not applied")
    metadata = {part: _entries(start, path, part) for part in ("labels", "annotations")}
    labels = {_WORKFLOW_LABEL: start.workflow.name, "workflows.argoproj.io/completed": "false"}
    annotations = {"workflows.argoproj.io/node-name": name}
    template = {"metadata": metadata, "spec": spec}
    return pod_document(start.workflow, template, name, labels=labels, annotations=annotations)


def _pod_spec(start: _Start, path: str) -> dict[str, Any]:
    """Return the spec of the pod of a template; its fields come before those of the workflow."""
    template, defaults = start.source.map(path), _defaults(start)
    spec: dict[str, Any] = {}
    for part in (*reversed(defaults), template):
        spec |= {key: part[key] for key in _POD_FIELDS if part.get(key) is not None}
    names = [template.get("priorityClassName"), *(part.get("podPriorityClassName") for part in defaults)]
    if priority := next(filter(None, names), None):
        spec["priorityClassName"] = priority
    if isinstance(deadline := template.get("activeDeadlineSeconds"), int):
        spec["activeDeadlineSeconds"] = deadline
    spec["containers"] = [*_containers(start.source, path), *start.source.items(f"{path}.sidecars")]
    return spec


def _defaults(start: _Start) -> list[Mapping[str, Any]]:
    """Return the specs whose fields are defaults of templates: of the workflow, and of the template that it names."""
    own = start.workflow.map(start.own)
    return [own] if start.source is start.workflow else [own, start.source.map(start.path)]


def _containers(source: WorkloadDocument, path: str) -> list[Mapping[str, Any]]:
    for kind in ("container", "script"):
        if found := source.map(f"{path}.{kind}"):
            return [{**found, "name": "main"}]
    return source.items(f"{path}.containerSet.containers") or [{"name": "main"}]


def _entries(start: _Start, path: str, part: str) -> dict[str, str]:
    """Return the labels or annotations of pods: of all pods of the workflow, and of the template."""
    own = start.workflow.texts(f"{start.own}.podMetadata.{part}")
    of_all = start.source.texts(f"{start.path}.podMetadata.{part}")
    return {**of_all, **own, **start.source.texts(f"{path}.metadata.{part}")}
