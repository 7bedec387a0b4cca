"""LeaderWorkerSets: groups of a leader and its workers, each with a PodGroup that belongs to the leader.

The operator's webhook adds labels and affinity for exclusive domains of groups and sub-groups.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.claim_templates import claim_volumes, claims_of
from stromboli.workloads.families.exclusive_domains import exclusive_affinity
from stromboli.workloads.group_documents import group_document
from stromboli.workloads.min_resources import Members, total_request
from stromboli.workloads.pod_documents import member_annotations, owner_reference, pod_document
from stromboli.workloads.queues import QUEUE_NAMES

PREFIX = "leaderworkerset.sigs.k8s.io"
ASSUMES = "that the operator creates with gangSchedulingManagement.schedulerProvider: volcano"
#: Labels of nodes; each group, or sub-group, has one of their values to itself.
EXCLUSIVE, SUB_GROUP_EXCLUSIVE = f"{PREFIX}/exclusive-topology", f"{PREFIX}/subgroup-exclusive-topology"
GROUP_KEY, SUB_GROUP_KEY = f"{PREFIX}/group-key", f"{PREFIX}/subgroup-key"
_WORKER = "spec.leaderWorkerTemplate.workerTemplate"
_LEADER = "spec.leaderWorkerTemplate.leaderTemplate"
_CLAIMS = "spec.leaderWorkerTemplate.volumeClaimTemplates"
_SUB_GROUPS = "spec.leaderWorkerTemplate.subGroupPolicy"
_INHERITED = "volcano.sh/"


class _Member(NamedTuple):
    """A pod of a group; the leader has place 0."""

    group: int
    place: int
    #: The number of pods of the group.
    size: int


def expand_leader_worker_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    size = workload.count("spec.leaderWorkerTemplate.size", 1)
    if size < 1:
        raise workload.error("spec.leaderWorkerTemplate.size", "must be at least 1, got 0", "write 1 or more")
    replicas = workload.count("spec.replicas", 1)
    checked_number(workload, replicas * size, "spec.replicas")
    found = Expansion()
    for group in range(replicas):
        found.add(_replica(workload, group, size))
    if size > 1 and (condition := _condition_of_workers(workload)):
        found.notes.append(f"its workers are created when their leader {condition}")
    return found


def _is_leader_first(workload: WorkloadDocument) -> bool:
    return workload.text("spec.startupPolicy") == "LeaderReady"


def _condition_of_workers(workload: WorkloadDocument) -> str:
    """Return what workers wait for; empty for nothing. Those of an exclusive domain are bound to that of the leader."""
    if _is_leader_first(workload):
        return "is ready"
    exclusive = workload.annotations.get(EXCLUSIVE, "")
    return f"has a node, for nodes with the same {exclusive}" if exclusive else ""


def _replica(workload: WorkloadDocument, group: int, size: int) -> Expansion:
    created = 1 if _condition_of_workers(workload) else size
    found = Expansion(groups=[CreatedObject(_group(workload, group, size))])
    for place in range(created):
        path = _LEADER if not place and workload.map(_LEADER) else _WORKER
        pod = _pod(workload, path, _Member(group, place, size))
        found.pods.append(CreatedObject(pod, path))
        found.claims += claims_of(workload, pod["metadata"]["name"], _CLAIMS)
    return found


def _group(workload: WorkloadDocument, group: int, size: int) -> dict[str, Any]:
    """Return the group; its resources are those of all its pods, also if only the leader is its minimum."""
    worker = workload.template(_WORKER) if size > 1 or not workload.map(_LEADER) else {}
    leader = workload.template(_LEADER) if workload.map(_LEADER) else worker
    name = f"{workload.name}-{group}"
    spec = {
        "minMember": 1 if _is_leader_first(workload) else size,
        "minResources": total_request([Members(leader, 1), Members(worker, size - 1)]),
        "queue": workload.annotations.get(QUEUE_NAMES[0], ""),
    }
    return group_document(
        workload,
        name,
        spec,
        labels={f"{PREFIX}/name": workload.name, f"{PREFIX}/group-index": str(group)},
        annotations={key: text for key, text in workload.annotations.items() if key.startswith(_INHERITED)},
        owner=owner_reference("v1", "Pod", name),
    )


def _pod(workload: WorkloadDocument, path: str, member: _Member) -> dict[str, Any]:
    template = workload.template(path)
    leader = f"{workload.name}-{member.group}"
    name = f"{leader}-{member.place}" if member.place else leader
    keys = {GROUP_KEY: _hash(workload.namespace, leader), **_sub_group_labels(workload, member, leader)}
    labels = {
        f"{PREFIX}/name": workload.name,
        f"{PREFIX}/group-index": str(member.group),
        f"{PREFIX}/worker-index": str(member.place),
        **keys,
    }
    of_worker = {f"{PREFIX}/leader-name": leader} if member.place else {}
    annotations = {**member_annotations(leader), **_annotations(workload), f"{PREFIX}/size": str(member.size)}
    spec = claim_volumes(workload, template, name, _CLAIMS)
    for key, annotation in ((GROUP_KEY, EXCLUSIVE), (SUB_GROUP_KEY, SUB_GROUP_EXCLUSIVE)):
        if key in keys and (topology := annotations.get(annotation)):
            spec["affinity"] = exclusive_affinity({"spec": {**template["spec"], **spec}}, key, keys[key], topology)
    owner = owner_reference("apps/v1", "StatefulSet", leader if member.place else workload.name)
    return pod_document(
        workload, template, name, labels=labels, annotations={**annotations, **of_worker}, spec=spec, owner=owner
    )


def _annotations(workload: WorkloadDocument) -> dict[str, str]:
    """Return the annotations about domains and sub-groups, which the webhook reads."""
    named = [EXCLUSIVE]
    found = {}
    if size := workload.count(f"{_SUB_GROUPS}.subGroupSize", 0):
        named.append(SUB_GROUP_EXCLUSIVE)
        found[f"{PREFIX}/subgroup-size"] = str(size)
        found[f"{PREFIX}/subgroup-policy-type"] = workload.text(f"{_SUB_GROUPS}.type", "LeaderWorker")
    return {**found, **{key: workload.annotations[key] for key in named if workload.annotations.get(key)}}


def _sub_group_labels(workload: WorkloadDocument, member: _Member, leader: str) -> dict[str, str]:
    """Return the labels of the sub-group of a pod. A leader that is one too many belongs to the first, or to none."""
    size = workload.count(f"{_SUB_GROUPS}.subGroupSize", 0)
    is_excluded = workload.text(f"{_SUB_GROUPS}.type") == "LeaderExcluded"
    if not size or (is_excluded and not member.place):
        return {}
    is_extra = bool(member.place) and (member.size - 1) % size == 0
    number = str((member.place - is_extra) // size)
    return {f"{PREFIX}/subgroup-index": number, SUB_GROUP_KEY: _hash(leader, number)}


def _hash(*parts: str) -> str:
    return hashlib.sha1("/".join(parts).encode(), usedforsecurity=False).hexdigest()
