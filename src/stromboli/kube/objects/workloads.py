"""What makes pods: jobs, deployments and sets, as far as their controllers read them.

Templates are handed on as they are: whoever makes a pod from one must not lose a field of it.
"""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, KubeLabelSelector, TopLevel, Wire

PodTemplate = dict[str, Any]


class BatchJobSpec(Wire):
    """How often to run pods to their end, and how many at a time."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    backoff_limit: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    ttl_seconds_after_finished: Int32 | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None


class BatchJobStatus(Wire):
    """How far it has come. Conditions of type Complete and Failed end it."""

    active: Int32 | None = None
    ready: Int32 | None = None
    terminating: Int32 | None = None
    succeeded: Int32 | None = None
    failed: Int32 | None = None
    start_time: str | None = None
    completion_time: str | None = None
    completed_indexes: str | None = None
    conditions: list[KubeCondition] | None = None


class BatchJob(TopLevel):
    """Work that comes to an end."""

    kind_name: ClassVar[str] = "Job"
    group: ClassVar[str] = "batch"
    namespaced: ClassVar[bool] = True

    spec: BatchJobSpec = msgspec.field(default_factory=BatchJobSpec)
    status: BatchJobStatus = msgspec.field(default_factory=BatchJobStatus)


class ReplicaSetSpec(Wire):
    """How many equal pods there are to be."""

    replicas: Int32 | None = None
    min_ready_seconds: Int32 | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None


class ReplicaSetStatus(Wire):
    """How many there are."""

    replicas: Int32 | None = None
    fully_labeled_replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    observed_generation: Int64 | None = None


class ReplicaSet(TopLevel):
    """A number of equal pods."""

    kind_name: ClassVar[str] = "ReplicaSet"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True

    spec: ReplicaSetSpec = msgspec.field(default_factory=ReplicaSetSpec)
    status: ReplicaSetStatus = msgspec.field(default_factory=ReplicaSetStatus)


class RollingUpdate(Wire):
    """How many pods may be too many and too few while they are exchanged: numbers or percentages."""

    max_surge: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class DeploymentStrategy(Wire):
    """Whether pods are exchanged one by one or all at once."""

    type: str | None = None
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Wire):
    """How many equal pods there are to be, and how to get from one template to the next."""

    replicas: Int32 | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None
    strategy: DeploymentStrategy | None = None
    min_ready_seconds: Int32 | None = None
    revision_history_limit: Int32 | None = None
    paused: bool | None = None
    progress_deadline_seconds: Int32 | None = None


class DeploymentCondition(KubeCondition):
    """A condition that also tells when anything last moved."""

    last_update_time: str | None = None


class DeploymentStatus(Wire):
    """How many pods there are, and how many of them are of the present template."""

    replicas: Int32 | None = None
    updated_replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    unavailable_replicas: Int32 | None = None
    observed_generation: Int64 | None = None
    conditions: list[DeploymentCondition] | None = None


class Deployment(TopLevel):
    """A number of equal pods that are exchanged when their template changes."""

    kind_name: ClassVar[str] = "Deployment"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True

    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: DeploymentStatus = msgspec.field(default_factory=DeploymentStatus)


class Partition(Wire):
    """Pods with a lower number keep their template."""

    partition: Int32 | None = None


class StatefulSetUpdate(Wire):
    """Whether pods of an older template are replaced, or wait until somebody deletes them."""

    type: str | None = None
    rolling_update: Partition | None = None


class StatefulSetSpec(Wire):
    """How many pods with names of their own there are to be. Templates of claims are handed on as they are."""

    replicas: Int32 | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None
    service_name: str | None = None
    pod_management_policy: str | None = None
    update_strategy: StatefulSetUpdate | None = None
    volume_claim_templates: list[dict[str, Any]] | None = None


class StatefulSetStatus(Wire):
    """How many there are."""

    replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    current_replicas: Int32 | None = None
    updated_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    current_revision: str | None = None
    update_revision: str | None = None
    observed_generation: Int64 | None = None


class StatefulSet(TopLevel):
    """Pods that are told apart: numbered, and made one after the other."""

    kind_name: ClassVar[str] = "StatefulSet"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True

    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)
    status: StatefulSetStatus = msgspec.field(default_factory=StatefulSetStatus)
