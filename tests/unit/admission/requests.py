"""Admission requests, and a cluster with some queues, groups and namespaces."""

from __future__ import annotations

from typing import Any

from stromboli import kube
from stromboli.admission.facts import NAMESPACE_QUEUE, AdmissionPolicy, Facts
from stromboli.admission.requests import GroupKind, Request, User
from stromboli.cluster.objects.priority_classes import ALLOWED_CLASSES
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.groups import GROUP_NAME

Document = dict[str, Any]

ALICE = User("alice", groups=["system:authenticated"])
ADMINISTRATOR = User("root", groups=["system:masters"])
CONTROLLER = User("system:serviceaccount:kube-system:job-controller", groups=["system:serviceaccounts:kube-system"])

GROUPS = {"PodGroup": "scheduling.volcano.sh", "Queue": "scheduling.volcano.sh", "HyperNode": "topology.volcano.sh"}
GROUPS["Topology"] = "kai.scheduler"
GROUPS |= {"Pod": "", "Job": "batch", "CronJob": "batch", "Deployment": "apps", "ReplicationController": ""}
WIDE = ("Queue", "HyperNode", "Topology")


def queue(name: str, *, state: str = "Open", annotations: dict[str, str] | None = None, **spec: Any) -> kube.KubeQueue:
    metadata = {"name": name, "annotations": annotations or {}}
    return as_type({"metadata": metadata, "spec": spec, "status": {"state": state}}, kube.KubeQueue)


def _namespace(name: str, annotations: dict[str, str]) -> kube.Namespace:
    return as_type({"metadata": {"name": name, "annotations": annotations}}, kube.Namespace)


_GANG = {"metadata": {"name": "gang", "namespace": "team"}, "spec": {"minMember": 2, "queue": "science"}}
_CLASSES = {"usual": {"value": 1, "globalDefault": True}, "high": {"value": 9}, "low": {"value": 2}}

FACTS = Facts(
    queues={
        each.metadata.name: each
        for each in (
            queue("root"),
            queue("default"),
            queue("science", capability={"cpu": "10"}, annotations={ALLOWED_CLASSES: "low, lower"}),
            queue("physics", parent="science", guarantee={"resource": {"cpu": "6"}}),
            queue("shut", state="Closed"),
            queue("shutting", state="Closing"),
        )
    },
    groups={"team/gang": as_type(_GANG, kube.PodGroup)},
    namespaces={"team": _namespace("team", {}), "lab": _namespace("lab", {NAMESPACE_QUEUE: "science"})},
    priority_classes={
        name: as_type({"metadata": {"name": name}, **facts}, kube.PriorityClass) for name, facts in _CLASSES.items()
    },
)
POLICY = AdmissionPolicy()


def request(
    kind: str,
    document: Document,
    *,
    before: Document | None = None,
    user: User = ADMINISTRATOR,
    namespace: str = "team",
    operation: str = "",
    group: str | None = None,
) -> Request:
    """A request to store the document, over the one before, if any."""
    named = {**document, "metadata": {"name": "sample", **document.get("metadata", {})}}
    old = None if before is None else {**before, "metadata": {"name": "sample", **before.get("metadata", {})}}
    return Request(
        uid="1",
        kind=GroupKind(GROUPS[kind] if group is None else group, "v1", kind),
        name=str(named["metadata"]["name"]),
        namespace="" if kind in WIDE else namespace,
        operation=operation or ("CREATE" if before is None else "UPDATE"),
        user_info=user,
        object=None if operation == "DELETE" else named,
        old_object=named if operation == "DELETE" else old,
    )


def pod(*, group: str = "", scheduler: str = "volcano", **facts: Any) -> Document:
    """Facts are annotations, labels, owner, and fields of the spec."""
    annotations = {**facts.pop("annotations", {}), **({GROUP_NAME: group} if group else {})}
    metadata: Document = {"annotations": annotations, "labels": facts.pop("labels", {})}
    if owner := facts.pop("owner", None):
        version, kind = owner
        reference = {"apiVersion": version, "kind": kind, "name": "owner", "uid": "u", "controller": True}
        metadata["ownerReferences"] = [reference]
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": facts.pop("cpu", "1")}}}
    return {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [container], **facts}}
