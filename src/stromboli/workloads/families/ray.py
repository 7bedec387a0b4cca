"""KubeRay: RayCluster, RayJob and RayService. The group of a RayJob is its own, that of a RayService its cluster's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stromboli.workloads.cron.next_run import next_run_note
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedWorkload, Expansion, ExpansionContext
from stromboli.workloads.gangs import OperatorGang, Role, expand_gang, members_of
from stromboli.workloads.min_resources import Members, total_request
from stromboli.workloads.pod_documents import VOLCANO, created_document, owner_reference

ASSUMES = "that the operator creates with --batch-scheduler=volcano"
HEAD_GROUP = "headgroup"
QUEUE_LABEL, PRIORITY_LABEL = "volcano.sh/queue-name", "ray.io/priority-class-name"
TOPOLOGY_MODE, TOPOLOGY_TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier-allowed"
_GROUP, _REPLICA_NAME = "ray.io/group", "ray.io/worker-group-replica-name"
_REPLICA_INDEX, _HOST_INDEX = "ray.io/worker-group-replica-index", "ray.io/replica-host-index"
_WAITS_FOR_HEAD = {"cpu": "200m", "memory": "256Mi"}
_AUTOSCALER = {"cpu": "500m", "memory": "512Mi"}
_SUBMITTER = {"cpu": "500m", "memory": "200Mi"}


def expand_ray_cluster(cluster: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """A cluster of a RayJob belongs to the group of the job."""
    job = cluster.labels.get("ray.io/originated-from-cr-name", "")
    is_of_job = cluster.labels.get("ray.io/originated-from-crd") == "RayJob"
    return _expand(cluster, "spec", context, group=f"ray-{job if is_of_job and job else cluster.name}-pg")


def expand_ray_service(service: WorkloadDocument, context: ExpansionContext) -> Expansion:
    found = _expand(service, "spec.rayClusterConfig", context, owner=_cluster_of(service))
    found.notes.append("its cluster is named like it: the operator adds random letters")
    return found


def expand_ray_job(job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    if job.map("spec.clusterSelector"):
        return Expansion(notes=["it runs in an existing cluster; the pod that submits it is not planned"])
    if not job.map("spec.rayClusterSpec"):
        raise job.error("spec.rayClusterSpec", "is missing", "write the spec of its cluster, or a clusterSelector")
    mode = job.text("spec.submissionMode", "K8sJobMode")
    found = _expand(job, "spec.rayClusterSpec", context, owner=_cluster_of(job), more=_submitter(job, mode))
    deadline = job.count("spec.activeDeadlineSeconds", 0)
    found.run_time = f"{deadline}s" if deadline else ""
    if mode == "K8sJobMode":
        found.notes.append("the pod that submits it is created when its cluster is ready")
    return found


def expand_ray_cron_job(cron_job: WorkloadDocument, context: ExpansionContext) -> Expansion:
    """Return the RayJob of the next run. Its own name has the time of its run."""
    document = created_document(cron_job, "RayJob", cron_job.name, cron_job.map("spec.jobTemplate"))
    notes = [next_run_note(cron_job, context, "spec.timeZone")]
    return Expansion(workloads=[CreatedWorkload(document, "spec.jobTemplate")], notes=notes)


def _cluster_of(workload: WorkloadDocument) -> Mapping[str, Any]:
    return owner_reference(workload.text("apiVersion"), "RayCluster", workload.name)


def _submitter(job: WorkloadDocument, mode: str) -> list[Members]:
    """The pod or container that submits a job counts for the minimum of resources, but is no member."""
    if mode not in ("K8sJobMode", "SidecarMode"):
        return []
    default = {"spec": {"containers": [{"name": "ray-job-submitter", "resources": {"requests": _SUBMITTER}}]}}
    path = "spec.submitterPodTemplate"
    own = job.template(path) if mode == "K8sJobMode" and job.map(path) else default
    return [Members(own, 1)]


def _expand(
    workload: WorkloadDocument,
    path: str,
    context: ExpansionContext,
    *,
    group: str = "",
    owner: Mapping[str, Any] | None = None,
    more: list[Members] | None = None,
) -> Expansion:
    roles = [_head(workload, path), *(_workers(workload, path, place) for place in range(_groups(workload, path)))]
    is_autoscaled = workload.flag(f"{path}.enableInTreeAutoscaling")
    least = [role._replace(number=role.minimum or 0) if is_autoscaled else role for role in roles]
    labels = workload.labels
    inherited = {key: labels[key] for key in (QUEUE_LABEL, PRIORITY_LABEL) if key in labels}
    gang = OperatorGang(
        workload,
        [role._replace(minimum=None) for role in roles],
        group=group or f"ray-{workload.name}-pg",
        minimum=sum(role.number for role in least),
        queue=labels.get(QUEUE_LABEL, ""),
        priority_class=labels.get(PRIORITY_LABEL, ""),
        min_resources=total_request([*members_of(least, context), *(more or ())]),
        topology=_topology(workload, "metadata.labels"),
        sub_groups=list(_sub_groups(workload, path, roles)),
        group_annotations=workload.annotations,
        owner=owner,
        scheduler=VOLCANO,
        sets_scheduler=True,
        pod_name=_pod_name,
        pod_labels=lambda role, index: {**inherited, **_labels(workload, role, index)},
    )
    return expand_gang(gang, context)


def _groups(workload: WorkloadDocument, path: str) -> int:
    return workload.length(f"{path}.workerGroupSpecs")


def _topology(workload: WorkloadDocument, path: str) -> dict[str, Any]:
    """Return the network topology that labels name: of the workload, or of the template of a group."""
    labels = workload.texts(path)
    if TOPOLOGY_MODE not in labels:
        return {}
    tier = labels.get(TOPOLOGY_TIER, "")
    if tier and not (tier.isascii() and tier.isdecimal() and len(tier) < 9):
        raise workload.error(f"{path}[{TOPOLOGY_TIER}]", f"{tier!r} is not a number", "write the number of a tier")
    return {"mode": labels[TOPOLOGY_MODE], **({"highestTierAllowed": int(tier)} if tier else {})}


def _sub_groups(workload: WorkloadDocument, path: str, roles: Sequence[Role]) -> Iterator[dict[str, Any]]:
    """The head and every replica of a worker group are sub-groups, unless the workload names a network topology. A
    worker group whose template names one is a single sub-group.
    """
    is_autoscaled = workload.flag(f"{path}.enableInTreeAutoscaling")
    for role in roles:
        group = role.path.removesuffix(".template")
        number = (role.minimum or 0) if is_autoscaled else role.number
        topology = _topology(workload, f"{role.path}.metadata.labels") if role.name != HEAD_GROUP and number else {}
        if topology:
            yield {**_sub_group(role, number, 1, _GROUP), "networkTopology": topology}
        elif TOPOLOGY_MODE in workload.labels or workload.flag(f"{group}.suspend"):
            continue
        elif role.name == HEAD_GROUP:
            yield _sub_group(role, 1, 1, _GROUP)
        else:
            hosts = _hosts(workload, group)
            yield _sub_group(role, hosts, number // hosts, _REPLICA_NAME if hosts > 1 else _REPLICA_INDEX)


def _sub_group(role: Role, size: int, number: int, key: str) -> dict[str, Any]:
    return {
        "name": role.name,
        "subGroupSize": size,
        "minSubGroups": number,
        "labelSelector": {"matchLabels": {_GROUP: role.name}},
        "matchLabelKeys": [key],
    }


def _hosts(workload: WorkloadDocument, group: str) -> int:
    """Return the pods of a replica of a worker group."""
    return max(workload.count(f"{group}.numOfHosts", 1), 1)


def _head(workload: WorkloadDocument, path: str) -> Role:
    field = f"{path}.headGroupSpec.template"
    template = workload.template(field)
    role = Role(HEAD_GROUP, 1, field, template, minimum=1)
    if not workload.flag(f"{path}.enableInTreeAutoscaling"):
        return role
    amounts = workload.map(f"{path}.autoscalerOptions.resources") or {"requests": _AUTOSCALER, "limits": _AUTOSCALER}
    sidecar = {"name": "autoscaler", "resources": amounts}
    return role._replace(spec={"containers": [*(template["spec"].get("containers") or ()), sidecar]})


def _workers(workload: WorkloadDocument, path: str, place: int) -> Role:
    """A replica of a multi-host group has several pods. The replicas are kept between their bounds."""
    group = f"{path}.workerGroupSpecs[{place}]"
    name = workload.text(f"{group}.groupName")
    if not name:
        raise workload.error(f"{group}.groupName", "is missing", "write the name of the group")
    template = workload.template(f"{group}.template")
    least = workload.count(f"{group}.minReplicas", 0)
    most = max(workload.count(f"{group}.maxReplicas", 2**31 - 1), least)
    replicas = min(max(workload.count(f"{group}.replicas", least), least), most)
    hosts = _hosts(workload, group)
    if workload.flag(f"{group}.suspend"):
        replicas = least = 0
    waiting = {"name": "wait-gcs-ready", "resources": {"requests": _WAITS_FOR_HEAD, "limits": _WAITS_FOR_HEAD}}
    spec = {"initContainers": [*(template["spec"].get("initContainers") or ()), waiting]}
    return Role(name, replicas * hosts, f"{group}.template", template, minimum=least * hosts, spec=spec)


def _pod_name(workload: WorkloadDocument, role: Role, index: int) -> str:
    """The operator gives workers random letters instead of numbers."""
    return f"{workload.name}-head" if role.name == HEAD_GROUP else f"{workload.name}-{role.name}-worker-{index}"


def _labels(workload: WorkloadDocument, role: Role, index: int) -> dict[str, str]:
    node_type = "head" if role.name == HEAD_GROUP else "worker"
    return {
        **(_replica_labels(workload, role, index) if node_type == "worker" else {}),
        "ray.io/cluster": workload.name,
        "ray.io/node-type": node_type,
        _GROUP: role.name,
        "ray.io/is-ray-node": "yes",
        "ray.io/identifier": f"{workload.name}-{node_type}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }


def _replica_labels(workload: WorkloadDocument, role: Role, index: int) -> dict[str, str]:
    """Return the place of a worker: its replica and, of several hosts, its host. The operator names replicas by random
    letters.
    """
    hosts = _hosts(workload, role.path.removesuffix(".template"))
    replica, host = divmod(index, hosts)
    place = {_REPLICA_INDEX: str(replica)}
    return {**place, _REPLICA_NAME: f"{role.name}-{replica}", _HOST_INDEX: str(host)} if hosts > 1 else place
