"""Pods, with the fields that a scheduler reads."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.constraints import Affinity, KubeToleration, TopologySpreadConstraint
from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, Resources, TopLevel, Wire


class ContainerResourceClaim(Wire):
    """A claim of the pod, or one of its requests, that a container uses."""

    name: str | None = None
    request: str | None = None


class ResourceRequirements(Wire):
    """Requests and limits."""

    requests: Resources | None = None
    limits: Resources | None = None
    claims: list[ContainerResourceClaim] | None = None


class ContainerPort(Wire):
    """A port; only host ports can conflict with other pods."""

    container_port: Int32 | None = None
    host_port: Int32 | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class Container(Wire):
    """A container or init container; an init container with restartPolicy Always is a sidecar."""

    name: str | None = None
    image: str | None = None
    ports: list[ContainerPort] | None = None
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None


class ClaimVolume(Wire):
    """A volume of an existing claim."""

    claim_name: str | None = None


class EphemeralVolume(Wire):
    """A volume whose claim is created for the pod, named `<pod>-<volume>`. The template is passed through unchanged."""

    volume_claim_template: dict[str, Any] | None = None


class Volume(Wire):
    """A volume; only the sources that constrain placement are decoded."""

    name: str | None = None
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class PodResourceClaim(Wire):
    """A resource claim by its name within the pod: an existing claim, or one created from a template."""

    name: str | None = None
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGate(Wire):
    """A scheduling gate: the pod is not scheduled while it is present."""

    name: str | None = None


class SchedulingGroup(Wire):
    """The native PodGroup of the pod."""

    pod_group_name: str | None = None


class PodSpec(Wire):
    """Desired state of the pod."""

    node_name: str | None = None
    scheduler_name: str | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Resources | None = None
    resources: ResourceRequirements | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[KubeToleration] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    volumes: list[Volume] | None = None
    host_network: bool | None = None
    active_deadline_seconds: Int64 | None = None
    termination_grace_period_seconds: Int64 | None = None
    resource_claims: list[PodResourceClaim] | None = None
    scheduling_group: SchedulingGroup | None = None


class ContainerStatus(Wire):
    """Resources allocated to a container, which differ from the spec during a resize."""

    name: str | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: Resources | None = None


class PodResourceClaimStatus(Wire):
    """The claim created for one of the pod's claim names; absent if none was needed."""

    name: str | None = None
    resource_claim_name: str | None = None


class ExtendedResourceRequest(Wire):
    """A request of the claim for extended resources that a container uses."""

    container_name: str | None = None
    resource_name: str | None = None
    request_name: str | None = None


class ExtendedResourceClaimStatus(Wire):
    """The claim created for the extended resources of the pod."""

    request_mappings: list[ExtendedResourceRequest] | None = None
    resource_claim_name: str | None = None


class PodStatus(Wire):
    """State of the pod."""

    phase: str | None = None
    conditions: list[KubeCondition] | None = None
    nominated_node_name: str | None = None
    reason: str | None = None
    start_time: str | None = None
    pod_ip: str | None = msgspec.field(default=None, name="podIP")
    container_statuses: list[ContainerStatus] | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None

    @property
    def is_finished(self) -> bool:
        """Report whether all containers have ended for good: the pod uses nothing of its node."""
        return self.phase in ("Succeeded", "Failed")


class Pod(TopLevel):
    """A pod."""

    kind_name: ClassVar[str] = "Pod"

    namespaced: ClassVar[bool] = True

    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
