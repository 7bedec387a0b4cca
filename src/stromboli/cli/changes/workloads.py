"""The workload behind a job, and how it is suspended, resumed and cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from stromboli.cli.output import Failure
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client, PatchKind, delete_options
from stromboli.kube.objects.catalogue import JOBS, POD_GROUPS, PODS, VOLCANO_COMMANDS, VOLCANO_JOBS
from stromboli.kube.objects.meta import OwnerReference
from stromboli.kube.objects.resources import Resource
from stromboli.kube.objects.volcano import PodGroup
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.existing import has_ended
from stromboli.workloads.groups import job_key_of, title_of

#: The actions of Commands that suspend or resume a Volcano Job.
_ACTIONS = {True: "AbortJob", False: "ResumeJob"}
_TERMINATE = "TerminateJob"
#: Phases of a Volcano Job in which nothing is left to terminate.
_ENDED = ("Completed", "Failed", "Terminating", "Terminated")


@dataclass(frozen=True, slots=True)
class Controller:
    """A kind of workload whose controller makes pods."""

    plural: str
    #: The field that suspends it; empty for a Volcano Job.
    suspend: tuple[str, ...] = ("spec", "suspend")


_TRAINING = ("spec", "runPolicy", "suspend")
#: By API group and kind.
CONTROLLERS = {
    ("batch", "Job"): Controller("jobs"),
    ("batch.volcano.sh", "Job"): Controller("jobs", ()),
    ("jobset.x-k8s.io", "JobSet"): Controller("jobsets"),
    ("trainer.kubeflow.org", "TrainJob"): Controller("trainjobs"),
    ("ray.io", "RayJob"): Controller("rayjobs"),
    ("ray.io", "RayCluster"): Controller("rayclusters"),
    **{("kubeflow.org", kind): Controller(f"{kind.lower()}s", _TRAINING) for kind in (
        "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob",
    )},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobWorkload:
    """A job of the cluster: its PodGroup, and the object that owns it, if any."""

    namespace: str
    group: PodGroup | None
    owner: OwnerReference | None

    @property
    def label(self) -> str:
        """The name of what is changed, as kubectl prints it: `job.batch/train`."""
        if self.owner is None:
            return f"podgroup.{POD_GROUPS.group}/{self.group.metadata.name if self.group else ''}"
        group = self._group_of_owner
        kind = (self.owner.kind or "").lower()
        return f"{kind}.{group}/{self.owner.name}" if group else f"{kind}/{self.owner.name}"

    @property
    def _group_of_owner(self) -> str:
        return (self.owner.api_version or "").rpartition("/")[0] if self.owner else ""

    @property
    def controller(self) -> Controller | None:
        """The kind of the owner; None if the job has none, or one that is not known."""
        return CONTROLLERS.get((self._group_of_owner, self.owner.kind or "")) if self.owner else None

    @property
    def path(self) -> str:
        """The path of the owner on the server."""
        if self.owner is None or self.controller is None:
            raise ValueError(f"{self.label} has no known path")
        version, name = self.owner.api_version or "", quote(self.owner.name or "", safe="")
        return f"/apis/{version}/namespaces/{quote(self.namespace, safe='')}/{self.controller.plural}/{name}"


async def find_workload(client: Client, name: str, namespace: str) -> JobWorkload:
    """Return the job of this name: a PodGroup, the owner of one, or a Job without one, such as a suspended one. An
    unknown one ends the command.
    """
    groups = (await client.list(POD_GROUPS, namespace=namespace)).items
    exact = [group for group in groups if group.metadata.name == name]
    found = exact or [group for group in groups if title_of(group) == name or _owner_named(group, name)]
    if len(found) > 1:
        names = ", ".join(sorted(group.metadata.name for group in found))
        raise Failure(f"several PodGroups of namespace {namespace} belong to {name}: {names}; name one of them")
    if found:
        return JobWorkload(namespace, found[0], controlling(found[0]))
    resources: tuple[Resource[Any], ...] = (JOBS, VOLCANO_JOBS)
    for resource in resources:
        try:
            uid = (await client.get(resource, name, namespace=namespace)).metadata.uid
        except ApiError as error:
            if not error.is_missing:
                raise
        else:
            return JobWorkload(namespace, None, OwnerReference(resource.api_version, resource.kind, name, uid))
    raise Failure(f"no job is called {name} in namespace {namespace}")


def controlling(group: PodGroup) -> OwnerReference | None:
    """Return the workload that owns a group; None for plain pods."""
    owners = group.metadata.owner_references or ()
    found = next((owner for owner in owners if owner.controller), next(iter(owners), None))
    return None if found is None or found.kind == "Pod" else found


def _owner_named(group: PodGroup, name: str) -> bool:
    owner = controlling(group)
    return owner is not None and owner.name == name


async def set_suspended(client: Client, workload: JobWorkload, suspended: bool) -> None:
    """Suspend or resume a workload. One that has no such state, or has ended, ends the command."""
    controller = workload.controller
    verb = "suspended" if suspended else "resumed"
    if controller is None:
        owner = f"its {workload.owner.kind} has no field for that" if workload.owner else "no workload owns its pods"
        raise Failure(f"{workload.label} cannot be {verb}: {owner}; `stromboli cancel` ends it")
    if await _has_ended(client, workload):
        raise Failure(f"{workload.label} has ended and cannot be {verb}")
    if not controller.suspend:
        await _command(client, workload, _ACTIONS[suspended])
        return
    body: Any = suspended
    for part in reversed(controller.suspend):
        body = {part: body}
    await client.request("PATCH", workload.path, body=msgspec.json.encode(body), content_type=PatchKind.MERGE.value)


async def _command(client: Client, workload: JobWorkload, action: str) -> None:
    """Create a Command for the controller of a Volcano Job, as vcctl does; the controller deletes it."""
    owner = workload.owner
    if owner is None:
        raise ValueError("only a Volcano Job has commands")
    job = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    target = {**job, "controller": True}
    metadata = {"generateName": f"{owner.name}-{action.lower()}-", "ownerReferences": [target]}
    body = {"metadata": metadata, "target": target, "action": action}
    try:
        await client.create(VOLCANO_COMMANDS, body, namespace=workload.namespace)
    except ApiError as error:
        if not error.is_missing:
            raise
        remedy = "install the CRDs with `stromboli manifests --only crds`, and `stromboli controller`"
        raise Failure(f"the cluster has no Commands (bus.volcano.sh); {remedy}") from error


async def cancel(client: Client, workload: JobWorkload) -> list[str]:
    """Delete the workload with its pods, and its PodGroup; return what was done. A Volcano Job that has not ended is
    terminated instead: its controller deletes pods and PodGroup, and the Job stays with its status.
    """
    is_volcano_job = workload.controller == CONTROLLERS[VOLCANO_JOBS.group, VOLCANO_JOBS.kind]
    if is_volcano_job and not await _has_ended(client, workload):
        await _command(client, workload, _TERMINATE)
        return [f"{workload.label} terminated"]
    return [f"{name} deleted" for name in await _delete(client, workload)]


async def _has_ended(client: Client, workload: JobWorkload) -> bool:
    """Report whether a workload of a known kind has ended, so that nothing is left to suspend or to terminate. The
    status of a suspended one may look like that. The change of one that is gone fails later.
    """
    try:
        found = WorkloadDocument(msgspec.json.decode(await client.request("GET", workload.path)))
    except ApiError as error:
        if error.is_missing:
            return False
        raise
    if workload.controller is None or not workload.controller.suspend:
        return found.text("status.state.phase") in _ENDED
    return has_ended(found) and not found.flag(".".join(workload.controller.suspend))


async def _delete(client: Client, workload: JobWorkload) -> list[str]:
    deleted = []
    if workload.owner is not None and workload.controller is None:
        raise Failure(f"{workload.label} is not a kind that this command deletes; use kubectl delete")
    if workload.owner is not None:
        options = delete_options(workload.owner.uid or "", "", None, "Background")
        await client.request("DELETE", workload.path, body=msgspec.json.encode(options))
        deleted.append(workload.label)
    elif workload.group is not None:
        deleted += await _delete_pods(client, workload)
    if workload.group is not None:
        deleted += await _delete_group(client, workload.group)
    return deleted


async def _delete_pods(client: Client, workload: JobWorkload) -> list[str]:
    group = workload.group
    pods = (await client.list(PODS, namespace=workload.namespace)).items
    mine = [pod for pod in pods if group is not None and job_key_of(pod) == group.key]
    for pod in mine:
        await client.delete(PODS, pod.metadata.name, namespace=workload.namespace, uid=pod.metadata.uid)
    return [f"pod/{pod.metadata.name}" for pod in mine]


async def _delete_group(client: Client, group: PodGroup) -> list[str]:
    """Delete a PodGroup, unless the garbage collector was faster."""
    metadata = group.metadata
    try:
        await client.delete(POD_GROUPS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
    except ApiError as error:
        if not error.is_missing:
            raise
    return [f"podgroup.{POD_GROUPS.group}/{metadata.name}"]
