"""Workloads that were read from a cluster: their pods are objects of their own, and must not be counted twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stromboli import kube
from stromboli.workloads.document import WorkloadDocument

#: Counts of pods in a status; a workload with one of them above zero has pods.
_POD_COUNTS = (
    "active",
    "availableWorkerReplicas",
    "currentNumberScheduled",
    "desiredWorkerReplicas",
    "pending",
    "ready",
    "readyWorkerReplicas",
    "replicas",
    "running",
    "terminating",
)
_ENDED_CONDITIONS = frozenset({"Complete", "Completed", "Succeeded", "Failed"})
_ENDED_STATES = frozenset(
    {"COMPLETED", "COMPLETE", "FAILED", "STOPPED", "SUCCEEDED", "ABORTED", "TERMINATED", "ERROR", "SUCCEED"}
)
#: Fields of a status with the state of the workload.
_STATES = (
    "phase",
    "state",
    "state.phase",
    "jobStatus",
    "jobDeploymentStatus",
    "applicationState.state",
    "terminalState",
)


class ExistingObjects:
    """The pods and workloads of the input, by owner."""

    def __init__(self, pods: Iterable[kube.Pod], workloads: Iterable[WorkloadDocument]) -> None:
        self._uids: set[str] = set()
        self._names: set[tuple[str, str, str]] = set()
        self._labels: dict[str, list[Mapping[str, str]]] = {}
        for pod in pods:
            namespace = pod.metadata.namespace
            owners = pod.metadata.owner_references or ()
            for owner in owners:
                self._add(namespace, owner.kind or "", owner.name or "", owner.uid or "")
            if owners:
                self._labels.setdefault(namespace, []).append(pod.metadata.labels or {})
        for workload in workloads:
            references = workload.value("metadata.ownerReferences")
            for entry in references if isinstance(references, list) else ():
                if isinstance(entry, Mapping):
                    self._add(workload.namespace, *(str(entry.get(key) or "") for key in ("kind", "name", "uid")))

    def _add(self, namespace: str, kind: str, name: str, uid: str) -> None:
        self._uids.add(uid)
        self._names.add((namespace, kind, name))

    def has_children_of(self, workload: WorkloadDocument) -> bool:
        """Report whether an object in the input belongs to this workload. A manifest without a uid may be the source of
        a workload in a cluster, which has the same name.
        """
        if workload.uid:
            return workload.uid in self._uids
        return (workload.namespace, workload.kind[1], workload.name) in self._names

    def has_pods_like(self, workload: WorkloadDocument, labels: Mapping[str, str]) -> bool:
        """Report whether an owned pod has all labels of the pods of a workload from a cluster: objects between both,
        such as ReplicaSets, may be missing in the input.
        """
        if not labels or not is_from_cluster(workload):
            return False
        return any(labels.items() <= each.items() for each in self._labels.get(workload.namespace, ()))


def is_from_cluster(workload: WorkloadDocument) -> bool:
    return bool(workload.document.get("status"))


def has_ended(workload: WorkloadDocument) -> bool:
    """Report whether the status of a workload is final."""
    conditions = workload.value("status.conditions")
    ended = (
        isinstance(each, Mapping) and each.get("type") in _ENDED_CONDITIONS and each.get("status") == "True"
        for each in (conditions if isinstance(conditions, list) else ())
    )
    states = (workload.value(f"status.{field}") for field in _STATES)
    return any(ended) or any(isinstance(each, str) and each.upper() in _ENDED_STATES for each in states)


def has_counted_pods(workload: WorkloadDocument) -> bool:
    """Report whether the status of a workload counts pods."""
    status = workload.value("status")
    if not isinstance(status, Mapping):
        return False
    replicas, jobs = status.get("replicaStatuses"), status.get("replicatedJobsStatus")
    parts = [*(replicas.values() if isinstance(replicas, Mapping) else ()), *(jobs if isinstance(jobs, list) else ())]
    return status.get("phase") == "Running" or any(map(_counts, (status, *parts)))


def _counts(status: object) -> bool:
    values = [status.get(key) for key in _POD_COUNTS] if isinstance(status, Mapping) else []
    return any(isinstance(each, int) and each > 0 for each in values)
