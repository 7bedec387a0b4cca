"""Pods, as far as a scheduler reads them."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.constraints import Affinity, KubeToleration, TopologySpreadConstraint
from stromboli.kube.objects.meta import Int32, Int64, KubeCondition, Resources, TopLevel, Wire


class ContainerResourceClaim(Wire):
    """A claim of the pod, or one request of it, that a container uses."""

    name: str | None = None
    request: str | None = None


class ResourceRequirements(Wire):
    """What is set aside, and what may be used at most."""

    requests: Resources | None = None
    limits: Resources | None = None
    claims: list[ContainerResourceClaim] | None = None


class ContainerPort(Wire):
    """Only a port on the host can be in the way of another pod."""

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
    """A volume that somebody claimed beforehand."""

    claim_name: str | None = None


class EphemeralVolume(Wire):
    """A volume whose claim is made for the pod, by the name `<pod>-<volume>`. The template is handed on as it is."""

    volume_claim_template: dict[str, Any] | None = None


class Volume(Wire):
    """Of all sources, only the ones that tie a pod to a place."""

    name: str | None = None
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None


class PodResourceClaim(Wire):
    """Devices by a name of the pod's own: a claim that exists, or one to be made from a template."""

    name: str | None = None
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGate(Wire):
    """Somebody asks to leave the pod alone until the gate is gone."""

    name: str | None = None


class SchedulingGroup(Wire):
    """The group of Kubernetes' own that the pod belongs to."""

    pod_group_name: str | None = None


class PodSpec(Wire):
    """What the pod asks for."""

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
    """What the kubelet granted a container, which differs from the spec while a resize is under way."""

    name: str | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: Resources | None = None


class PodResourceClaimStatus(Wire):
    """The claim that was made for the pod under one of its names; without one, none was needed."""

    name: str | None = None
    resource_claim_name: str | None = None


class PodStatus(Wire):
    """How far the pod has come."""

    phase: str | None = None
    conditions: list[KubeCondition] | None = None
    nominated_node_name: str | None = None
    reason: str | None = None
    start_time: str | None = None
    pod_ip: str | None = msgspec.field(default=None, name="podIP")
    container_statuses: list[ContainerStatus] | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None


class Pod(TopLevel):
    """One unit of work that runs on one node."""

    kind_name: ClassVar[str] = "Pod"

    namespaced: ClassVar[bool] = True

    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)
