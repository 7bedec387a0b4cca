"""DisaggregatedSets: one LeaderWorkerSet per role and slice, such as prefill and decode of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedWorkload, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.exclusive_domains import with_required_terms
from stromboli.workloads.pod_documents import created_document

_PREFIX = "disaggregatedset.x-k8s.io"
_NAME, _SLICE, _ROLE = f"{_PREFIX}/name", f"{_PREFIX}/slice", f"{_PREFIX}/role"
_TEMPLATES = ("leaderTemplate", "workerTemplate")


def expand_disaggregated_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the LeaderWorkerSets, whose real names contain a hash of their templates."""
    roles = workload.length("spec.roles")
    if not roles:
        raise workload.error("spec.roles", "is missing", "write at least one role with a leaderWorkerTemplate")
    slices = checked_number(workload, workload.count("spec.slices", 1), "spec.slices")
    sets = [
        CreatedWorkload(_set(workload, f"spec.roles[{role}]", number), _spec_of(workload, f"spec.roles[{role}]"))
        for number in range(slices)
        for role in range(roles)
    ]
    return Expansion(workloads=sets)


def _spec_of(workload: WorkloadDocument, role: str) -> str:
    """Return the field of the spec of a role's LeaderWorkerSet; in v1alpha1 its fields are those of the role."""
    return f"{role}.spec" if workload.map(f"{role}.spec") else role


def _set(workload: WorkloadDocument, path: str, number: int) -> dict[str, Any]:
    role = workload.text(f"{path}.name")
    if not role:
        raise workload.error(f"{path}.name", "is missing", "write the name of the role, such as prefill")
    labels = {_NAME: workload.name, _SLICE: str(number), _ROLE: role}
    spec = _spec_of(workload, path)
    template = {
        key: _adapted(workload, f"{spec}.leaderWorkerTemplate.{key}", labels) if key in _TEMPLATES and value else value
        for key, value in workload.map(f"{spec}.leaderWorkerTemplate").items()
    }
    return created_document(
        workload,
        "LeaderWorkerSet",
        f"{workload.name}-{number}-{role}",
        {**workload.map(spec), "leaderWorkerTemplate": template},
        api_version="leaderworkerset.x-k8s.io/v1",
        labels={**workload.texts(f"{path}.metadata.labels"), **labels},
        annotations=workload.texts(f"{path}.metadata.annotations"),
    )


def _adapted(workload: WorkloadDocument, path: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return a template with the labels of its role, and the affinity of the placement policy."""
    template = workload.template(path)
    metadata = {**workload.map(f"{path}.metadata"), "labels": {**workload.texts(f"{path}.metadata.labels"), **labels}}
    policy = workload.text("spec.placementPolicy.type", "None")
    topology = workload.text("spec.placementPolicy.topology")
    if policy == "None" or not topology:
        return {**template, "metadata": metadata}
    name, number = labels[_NAME], labels[_SLICE]
    together = [_term(topology, (_NAME, "In", name), (_SLICE, "In", number))]
    apart = [_term(topology, (_NAME, "In", name), (_SLICE, "NotIn", number))]
    if policy == "ExclusiveTopology":
        apart.append(_term(topology, (_NAME, "NotIn", name), (_SLICE, "Exists", "")))
    affinity = with_required_terms(template, together, apart)
    return {**template, "metadata": metadata, "spec": {**template["spec"], "affinity": affinity}}


def _term(topology: str, *expressions: tuple[str, str, str]) -> dict[str, Any]:
    """Return a term of affinity for pods by key, operator and value."""
    clauses = [
        {"key": key, "operator": operator, **({"values": [value]} if value else {})}
        for key, operator, value in expressions
    ]
    return {"labelSelector": {"matchExpressions": clauses}, "topologyKey": topology}
