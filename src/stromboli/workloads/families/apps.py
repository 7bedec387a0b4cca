"""Deployments, ReplicaSets, ReplicationControllers and StatefulSets: one pod per replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.claim_templates import claim_volumes, claims_of
from stromboli.workloads.pod_documents import owner_of, owner_reference, pod_document

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
#: Annotations that a ReplicaSet does not take from its Deployment.
_OWN_ANNOTATIONS = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")


def expand_deployment(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the pods of the ReplicaSet, which has the annotations of its Deployment."""
    if workload.flag("spec.paused"):
        return Expansion(inactive="is paused")
    annotations = {key: value for key, value in workload.annotations.items() if key not in _OWN_ANNOTATIONS}
    owner = owner_reference("apps/v1", "ReplicaSet", workload.name)
    return _replicas(workload, owner, annotations)


def expand_replica_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    return _replicas(workload, owner_of(workload), workload.annotations)


def expand_replication_controller(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    return _replicas(workload, owner_of(workload), {})


def _replicas(workload: WorkloadDocument, owner: Mapping[str, Any], inherited: Mapping[str, str]) -> Expansion:
    template = workload.template("spec.template")
    number = checked_number(workload, workload.count("spec.replicas", 1), "spec.replicas")
    pods = (pod_document(workload, template, f"{workload.name}-{index}", owner=owner) for index in range(number))
    return Expansion([CreatedObject(pod, "spec.template", inherited) for pod in pods])


def expand_stateful_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return all pods: a StatefulSet that creates them one after the other needs capacity for all of them."""
    template = workload.template("spec.template")
    number = checked_number(workload, workload.count("spec.replicas", 1), "spec.replicas")
    first = workload.count("spec.ordinals.start", 0)
    one_by_one = workload.text("spec.podManagementPolicy", "OrderedReady") == "OrderedReady" and number > 1
    names = {index: f"{workload.name}-{index}" for index in range(first, first + number)}
    return Expansion(
        pods=[
            CreatedObject(_ordinal(workload, template, name, index), "spec.template", workload.annotations)
            for index, name in names.items()
        ],
        claims=[claim for name in names.values() for claim in claims_of(workload, name)],
        notes=["its pods are planned together, but created one after the other"] if one_by_one else [],
    )


def _ordinal(workload: WorkloadDocument, template: Mapping[str, Any], name: str, index: int) -> dict[str, Any]:
    labels = {POD_NAME: name, POD_INDEX: str(index)}
    spec: dict[str, Any] = {"hostname": name}
    if service := workload.text("spec.serviceName"):
        spec["subdomain"] = service
    spec |= claim_volumes(workload, template, name)
    return pod_document(workload, template, name, labels=labels, spec=spec)
