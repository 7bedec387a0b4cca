"""The objects of a submitted job: a batch Job with a PodGroup for its gang, or a Volcano Job, which gets one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stromboli.core.model.resources.resources import ResourceAxis
from stromboli.kube.objects.catalogue import JOBS, POD_GROUPS, VOLCANO_JOBS
from stromboli.kube.objects.resources import Resource
from stromboli.workloads.groups import GROUP_NAME

GPU = "nvidia.com/gpu"
#: Resources that a container may use without a limit.
_WITHOUT_LIMIT = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True)
class NewJob:
    """A job as it is described on the command line: a batch Job with its PodGroup."""

    #: The kind of the workload, the label of its pods with its name, and that with the number of a pod.
    resource: ClassVar[Resource[Any]] = JOBS
    name_label: ClassVar[str] = "job-name"
    number_label: ClassVar[str] = "batch.kubernetes.io/job-completion-index"

    name: str
    namespace: str
    image: str
    command: Sequence[str] = ()
    #: Pods that must start together, and pods in all.
    gang: int = 1
    pods: int = 1
    #: Requests of each pod, by resource.
    requests: Mapping[str, str] = field(default_factory=dict)
    queue: str = ""
    priority_class: str = ""
    #: The longest run time of a pod, in seconds; 0 for none.
    limit: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    scheduler: str = "stromboli"
    #: How many times failed pods are replaced; those of a Volcano Job restart it as a whole.
    retries: int = 0

    def documents(self) -> list[dict[str, Any]]:
        """Return the manifests, for `kubectl apply`."""
        group = self.pod_group()
        return [*([] if group is None else [group]), self.workload()]

    def pod_group(self, owner_uid: str = "") -> dict[str, Any] | None:
        """Return the PodGroup, which is deleted with the Job of this uid; None if a controller makes it."""
        job = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": self.name}
        owner = {**job, "uid": owner_uid, "controller": True}
        spec = {
            "minMember": self.gang,
            "queue": self.queue,
            "priorityClassName": self.priority_class,
            "minResources": self._minimum(),
        }
        metadata = {**self._metadata(), **({"ownerReferences": [owner]} if owner_uid else {})}
        return {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": metadata,
            "spec": {key: value for key, value in spec.items() if value},
        }

    def workload(self) -> dict[str, Any]:
        """Return the Job: its pods have an index, and a stable host name with it."""
        return {
            "apiVersion": JOBS.api_version,
            "kind": JOBS.kind,
            "metadata": self._metadata(),
            "spec": {
                "parallelism": self.pods,
                "completions": self.pods,
                "completionMode": "Indexed",
                "backoffLimit": self.retries,
                "template": {"metadata": {"annotations": {GROUP_NAME: self.name}}, "spec": self._pod()},
            },
        }

    def _metadata(self) -> dict[str, Any]:
        return {"name": self.name, "namespace": self.namespace}

    def _pod(self) -> dict[str, Any]:
        limits = {name: amount for name, amount in self.requests.items() if name not in _WITHOUT_LIMIT}
        resources = {"requests": dict(self.requests), "limits": limits}
        container = {
            "name": "main",
            "image": self.image,
            "command": list(self.command),
            "env": [{"name": name, "value": value} for name, value in self.environment.items()],
            "resources": {key: value for key, value in resources.items() if value},
        }
        optional = {"priorityClassName": self.priority_class, "activeDeadlineSeconds": self.limit}
        return {
            "schedulerName": self.scheduler,
            "restartPolicy": "Never",
            **{key: value for key, value in optional.items() if value},
            "containers": [{key: value for key, value in container.items() if value}],
        }

    def _minimum(self) -> dict[str, str]:
        """Return the requests of the pods that must start together. Raises ValueError for an invalid amount."""
        axis = ResourceAxis()
        amounts = axis.parse(self.requests)
        return {axis.names[d]: axis.format(d, amount * self.gang) for d, amount in amounts.items() if amount}


class NewVolcanoJob(NewJob):
    """The same as a Volcano Job with one task, for which Volcano's controller, or that of Stromboli, makes the rest."""

    resource = VOLCANO_JOBS
    name_label = "volcano.sh/job-name"
    number_label = "volcano.sh/task-index"

    def pod_group(self, owner_uid: str = "") -> None:
        return None

    def workload(self) -> dict[str, Any]:
        """Return the Job. Its minimum is also that of the task, so that the gang counts its pods."""
        self._minimum()  # rejects invalid amounts
        on_failure = "RestartJob" if self.retries else "TerminateJob"
        optional = {
            "queue": self.queue,
            "priorityClassName": self.priority_class,
            "maxRetry": self.retries,
        }
        return {
            "apiVersion": VOLCANO_JOBS.api_version,
            "kind": VOLCANO_JOBS.kind,
            "metadata": self._metadata(),
            "spec": {
                "minAvailable": self.gang,
                "schedulerName": self.scheduler,
                "policies": [{"event": "PodFailed", "action": on_failure}],
                **{key: value for key, value in optional.items() if value},
                "tasks": [
                    {
                        "name": "main",
                        "replicas": self.pods,
                        "minAvailable": self.gang,
                        "template": {"spec": self._pod()},
                    }
                ],
            },
        }
