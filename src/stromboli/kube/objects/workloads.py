"""Jobs, Deployments, ReplicaSets and StatefulSets, with the fields that their controllers read.

Templates are passed through unchanged, so that pods created from them lose no field.
"""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, KubeLabelSelector, TopLevel, Wire

PodTemplate = dict[str, Any]


class PodConditionPattern(Wire):
    """A condition of pods; the default status is True."""

    type: str = ""
    status: str | None = None


class PodFailureRule(Wire):
    """What happens to a Job when a failed pod has one of the conditions."""

    action: str = ""
    on_pod_conditions: list[PodConditionPattern] | None = None


class PodFailurePolicy(Wire):
    """Rules for failed pods; the first that matches applies."""

    rules: list[PodFailureRule] | None = None


class BatchJobSpec(Wire):
    """Completions, parallelism and limits of the job."""

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
    pod_failure_policy: PodFailurePolicy | None = None


class BatchJobStatus(Wire):
    """Progress of the job. A condition Complete or Failed finishes it."""

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
    """Pods that run to completion."""

    kind_name: ClassVar[str] = "Job"
    group: ClassVar[str] = "batch"
    namespaced: ClassVar[bool] = True

    spec: BatchJobSpec = msgspec.field(default_factory=BatchJobSpec)
    status: BatchJobStatus = msgspec.field(default_factory=BatchJobStatus)


class ReplicaSetSpec(Wire):
    """Desired replicas and their template."""

    replicas: Int32 | None = None
    min_ready_seconds: Int32 | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None


class ReplicaSetStatus(Wire):
    """Observed replicas."""

    replicas: Int32 | None = None
    fully_labeled_replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    observed_generation: Int64 | None = None


class ReplicaSet(TopLevel):
    """A number of identical pods."""

    kind_name: ClassVar[str] = "ReplicaSet"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True

    spec: ReplicaSetSpec = msgspec.field(default_factory=ReplicaSetSpec)
    status: ReplicaSetStatus = msgspec.field(default_factory=ReplicaSetStatus)


class RollingUpdate(Wire):
    """How many pods may be added or unavailable during a rollout: counts or percentages."""

    max_surge: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class DeploymentStrategy(Wire):
    """Rolling update, or recreation of all pods at once."""

    type: str | None = None
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Wire):
    """Desired replicas, and the rollout strategy."""

    replicas: Int32 | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None
    strategy: DeploymentStrategy | None = None
    min_ready_seconds: Int32 | None = None
    revision_history_limit: Int32 | None = None
    paused: bool | None = None
    progress_deadline_seconds: Int32 | None = None


class DeploymentCondition(KubeCondition):
    """A condition with the time of its last update."""

    last_update_time: str | None = None


class DeploymentStatus(Wire):
    """Observed replicas, and how many of them have the current template."""

    replicas: Int32 | None = None
    updated_replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    unavailable_replicas: Int32 | None = None
    observed_generation: Int64 | None = None
    conditions: list[DeploymentCondition] | None = None


class Deployment(TopLevel):
    """A number of identical pods that are replaced when their template changes."""

    kind_name: ClassVar[str] = "Deployment"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True

    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: DeploymentStatus = msgspec.field(default_factory=DeploymentStatus)


class Partition(Wire):
    """Pods with a lower ordinal keep their template."""

    partition: Int32 | None = None


class StatefulSetUpdate(Wire):
    """Whether pods with an old template are replaced, or only when they are deleted (OnDelete)."""

    type: str | None = None
    rolling_update: Partition | None = None


class StatefulSetSpec(Wire):
    """Desired replicas with stable names. Templates of claims are passed through unchanged."""

    replicas: Int32 | None = None
    selector: KubeLabelSelector | None = None
    template: PodTemplate | None = None
    service_name: str | None = None
    pod_management_policy: str | None = None
    update_strategy: StatefulSetUpdate | None = None
    volume_claim_templates: list[dict[str, Any]] | None = None


class StatefulSetStatus(Wire):
    """Observed replicas."""

    replicas: Int32 | None = None
    ready_replicas: Int32 | None = None
    current_replicas: Int32 | None = None
    updated_replicas: Int32 | None = None
    available_replicas: Int32 | None = None
    current_revision: str | None = None
    update_revision: str | None = None
    observed_generation: Int64 | None = None


class StatefulSet(TopLevel):
    """Pods with ordinals and stable names, created in order."""

    kind_name: ClassVar[str] = "StatefulSet"
    group: ClassVar[str] = "apps"
    namespaced: ClassVar[bool] = True

    spec: StatefulSetSpec = msgspec.field(default_factory=StatefulSetSpec)
    status: StatefulSetStatus = msgspec.field(default_factory=StatefulSetStatus)
