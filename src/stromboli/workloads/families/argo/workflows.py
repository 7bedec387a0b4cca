"""Argo Workflows: the pods that a workflow starts with, in the steps or tasks that wait for no others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.manifests.yaml_errors import YamlError
from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, CreatedWorkload, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.argo.parameters import (
    Scope,
    call_scope,
    entry_scope,
    filled,
    formatted,
    item_scope,
    list_of,
    sequence_of,
    unknown_parameter,
    workflow_scope,
)
from stromboli.workloads.families.argo.pods import workflow_pod
from stromboli.workloads.pod_documents import owner_of
from stromboli.workloads.templates import Kind

GROUP = "argoproj.io"
TEMPLATES: Kind = (GROUP, "WorkflowTemplate")
CLUSTER_TEMPLATES: Kind = (GROUP, "ClusterWorkflowTemplate")
_PODLESS = ("suspend", "http", "plugin")
_CREATING = ("create", "apply", "replace")
_TASK = re.compile(r"[A-Za-z_][\w.-]*")
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

    @property
    def defaults(self) -> list[Mapping[str, Any]]:
        """The specs whose fields are defaults of templates: of the workflow, and of the template that it names."""
        own = self.workflow.map(self.own)
        return [own] if self.source is self.workflow else [own, self.source.map(self.path)]


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
    first = _named(start, entry)
    scope = workflow_scope(workflow, (start.source, start.path), (workflow, path))
    _template(start, first, workflow.name, 0, entry_scope((start.source, first), scope))
    _limit(start, workflow.count(f"{path}.parallelism", 0) or start.source.count(f"{start.path}.parallelism", 0))
    start.found.claims += _claims(start)
    deadline = workflow.value(f"{path}.activeDeadlineSeconds")
    start.found.run_time = f"{deadline}s" if isinstance(deadline, int) and deadline > 0 else ""
    return start.found


def _claims(start: _Start) -> Iterator[CreatedObject]:
    """Yield the claims of the workflow; those of the template that it names apply if it has none of its own."""
    specs = ((start.workflow, start.own), (start.source, start.path))
    source, path = next(
        (each for each in specs if each[0].length(f"{each[1]}.volumeClaimTemplates")), (start.workflow, start.own)
    )
    for place in range(source.length(f"{path}.volumeClaimTemplates")):
        field = f"{path}.volumeClaimTemplates[{place}]"
        name = source.text(f"{field}.metadata.name")
        identity = {"name": f"{start.workflow.name}-{name}", "namespace": start.workflow.namespace}
        metadata = {**source.map(f"{field}.metadata"), **identity, "ownerReferences": [owner_of(start.workflow)]}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        yield CreatedObject({**claim, "spec": source.map(f"{field}.spec")}, _field(start, field))


def _limit(start: _Start, most: int, before: int = 0) -> None:
    """Keep the number of pods that run at once, besides those that were found before."""
    if most and len(start.found.pods) - before > most:
        del start.found.pods[before + most :]
        start.note(f"it runs {most} {'pod' if most == 1 else 'pods'} at once")


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


def _template(start: _Start, path: str, name: str, depth: int, scope: Scope) -> None:
    """Add the pods with which a template starts."""
    source = start.source
    start.calls.append(path)
    if depth > _MAX_DEPTH or len(start.calls) > _MAX_CALLS:
        start.note("templates that are nested too deeply are not planned")
    elif source.length(f"{path}.steps") or source.map(f"{path}.dag"):
        before = len(start.found.pods)
        first = (
            _first_steps(source, f"{path}.steps[0]")
            if source.length(f"{path}.steps")
            else _first_tasks(start, path, scope)
        )
        for step in first:
            _call(start, step, name, depth, scope)
        _limit(start, source.count(f"{path}.parallelism", 0), before)
    elif not any(source.value(f"{path}.{kind}") is not None for kind in _PODLESS):
        if source.map(f"{path}.resource"):
            _create(start, f"{path}.resource", scope)
        pod = workflow_pod(start.workflow, start.own, (source, path), start.defaults, name, scope)
        start.found.pods.append(CreatedObject(pod, _field(start, path)))
        checked_number(start.workflow, len(start.found.pods), "spec.templates")


def _first_steps(source: WorkloadDocument, path: str) -> Iterator[str]:
    """The steps of the first group, which is a list, or a single step in old workflows."""
    if isinstance(source.value(path), list):
        yield from (f"{path}[{place}]" for place in range(source.length(path)))
    else:
        yield path


def _first_tasks(start: _Start, path: str, scope: Scope) -> Iterator[str]:
    """The tasks that depend on no other. With targets, those that no target needs are left out."""
    source = start.source
    tasks = [f"{path}.dag.tasks[{place}]" for place in range(source.length(f"{path}.dag.tasks"))]
    before = {source.text(f"{task}.name"): _dependencies(source, task) for task in tasks}
    needed = filled(source.text(f"{path}.dag.target"), scope).split()
    for name in needed:
        needed += (each for each in before.get(name, ()) if each not in needed)
    for task in tasks:
        name = source.text(f"{task}.name")
        if not before[name] and (not needed or name in needed):
            yield task


def _dependencies(source: WorkloadDocument, task: str) -> list[str]:
    """Return the tasks that a task names: in a list, or in an expression such as `a && (b.Succeeded || c)`."""
    named = [source.text(f"{task}.dependencies[{place}]") for place in range(source.length(f"{task}.dependencies"))]
    return [*named, *(each.partition(".")[0] for each in _TASK.findall(source.text(f"{task}.depends")))]


def _call(start: _Start, path: str, parent: str, depth: int, scope: Scope) -> None:
    """Add the pods of a step or task, once for each of its items."""
    source = start.source
    name = source.text(f"{path}.name")
    if source.text(f"{path}.when"):
        start.note(f"{name} depends on a condition, and is planned as if it held")
    scopes = _repetitions(start, path, name, scope)
    for index, each in enumerate(scopes):
        suffix = f"{parent}-{name}-{index}" if len(scopes) > 1 else f"{parent}-{name}"
        if source.map(f"{path}.inline"):
            _template(start, f"{path}.inline", suffix, depth + 1, each)
            continue
        inner, template = start, source.text(f"{path}.template")
        if reference := source.map(f"{path}.templateRef"):
            other = _referred(start.workflow, _field(start, path), reference, start.context)
            inner, template = replace(start, source=other, path="spec"), str(reference.get("template") or "")
        called = _named(inner, template)
        _template(inner, called, suffix, depth + 1, call_scope(source, path, (inner.source, called), each))


def _repetitions(start: _Start, path: str, name: str, scope: Scope) -> list[Scope]:
    """Return what each repetition of a step sees."""
    source = start.source
    if source.value(f"{path}.withItems") is not None:
        checked_number(start.workflow, source.length(f"{path}.withItems"), _field(start, path))
        return [item_scope(item, scope) for item in filled(source.value(f"{path}.withItems"), scope)]
    sequence = source.map(f"{path}.withSequence")
    items = sequence_of(sequence, scope) if sequence else list_of(source.text(f"{path}.withParam"), scope)
    if items is not None:
        checked_number(start.workflow, len(items), _field(start, path))
        return [item_scope(formatted(item, sequence) if sequence else item, scope) for item in items]
    if sequence or source.value(f"{path}.withParam") is not None:
        start.note(f"the number of pods of {name} is known when the workflow runs; one is planned")
    return [scope]


def _create(start: _Start, path: str, scope: Scope) -> None:
    """Add the workload that a resource template creates."""
    if start.source.text(f"{path}.action") not in _CREATING:
        return
    text = filled(start.source.text(f"{path}.manifest"), scope)
    if not text or (unknown := unknown_parameter(text)):
        cause = f"{unknown} of its manifest" if text else "its manifest"
        start.note(f"the object that a resource template creates is not planned: {cause} is known when it runs")
        return
    try:
        documents = load_documents(text, f"{path}.manifest")
    except YamlError as error:
        raise start.workflow.error(_field(start, path), str(error), "correct the manifest") from None
    for document in documents:
        if isinstance(document, dict):
            metadata = document.get("metadata")
            inner = {"namespace": start.workflow.namespace, **(metadata if isinstance(metadata, dict) else {})}
            start.found.workloads.append(
                CreatedWorkload({**document, "metadata": inner}, _field(start, path), is_spec=False)
            )


def _field(start: _Start, path: str) -> str:
    """Return the field of the workflow; fields of a WorkflowTemplate are not its own."""
    return path if start.source is start.workflow else f"{start.own}.workflowTemplateRef"
