"""LeaderWorkerSets: groups of a leader and its workers, each with a PodGroup that belongs to the leader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.group_documents import group_document
from stromboli.workloads.min_resources import Members, total_request
from stromboli.workloads.pod_documents import member_annotations, owner_reference, pod_document
from stromboli.workloads.queues import QUEUE_NAMES

PREFIX = "leaderworkerset.sigs.k8s.io"
ASSUMES = "that the operator creates with gangSchedulingManagement.schedulerProvider: volcano"
_WORKER = "spec.leaderWorkerTemplate.workerTemplate"
_LEADER = "spec.leaderWorkerTemplate.leaderTemplate"
_INHERITED = "volcano.sh/"


def expand_leader_worker_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    size = workload.count("spec.leaderWorkerTemplate.size", 1)
    if size < 1:
        raise workload.error("spec.leaderWorkerTemplate.size", "must be at least 1, got 0", "write 1 or more")
    replicas = workload.count("spec.replicas", 1)
    checked_number(workload, replicas * size, "spec.replicas")
    found = Expansion()
    for index in range(replicas):
        found.add(_replica(workload, index, size))
    if _leader_first(workload) and size > 1:
        found.notes.append("its workers are created when their leader is ready")
    return found


def _leader_first(workload: WorkloadDocument) -> bool:
    return workload.text("spec.startupPolicy") == "LeaderReady"


def _replica(workload: WorkloadDocument, index: int, size: int) -> Expansion:
    leader = workload.template(_LEADER) if workload.map(_LEADER) else workload.template(_WORKER)
    worker = workload.template(_WORKER) if size > 1 else leader
    name = f"{workload.name}-{index}"
    pods = [CreatedObject(_pod(workload, leader, index, 0, size), _LEADER if workload.map(_LEADER) else _WORKER)]
    if not _leader_first(workload):
        pods += [CreatedObject(_pod(workload, worker, index, place, size), _WORKER) for place in range(1, size)]
    spec = {
        "minMember": 1 if _leader_first(workload) else size,
        "minResources": total_request([Members(leader, 1), Members(worker, size - 1)]),
        "queue": workload.annotations.get(QUEUE_NAMES[0], ""),
    }
    group = group_document(
        workload,
        name,
        spec,
        labels={f"{PREFIX}/name": workload.name, f"{PREFIX}/group-index": str(index)},
        annotations={key: text for key, text in workload.annotations.items() if key.startswith(_INHERITED)},
        owner=owner_reference("v1", "Pod", name),
    )
    return Expansion(pods, [CreatedObject(group)])


def _pod(workload: WorkloadDocument, template: Mapping[str, Any], index: int, place: int, size: int) -> dict[str, Any]:
    leader = f"{workload.name}-{index}"
    labels = {
        f"{PREFIX}/name": workload.name,
        f"{PREFIX}/group-index": str(index),
        f"{PREFIX}/worker-index": str(place),
    }
    of_worker = {f"{PREFIX}/leader-name": leader} if place else {}
    return pod_document(
        workload,
        template,
        f"{leader}-{place}" if place else leader,
        labels=labels,
        annotations={**member_annotations(leader), f"{PREFIX}/size": str(size), **of_worker},
        owner=owner_reference("apps/v1", "StatefulSet", leader if place else workload.name),
    )
