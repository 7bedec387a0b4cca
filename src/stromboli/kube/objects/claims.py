"""Devices that are claimed rather than counted: claims, the classes they name, and the slices that offer them."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.constraints import NodeSelector
from stromboli.kube.objects.meta import Int64, ObjectMeta, TopLevel, Wire

RESOURCE_GROUP = "resource.k8s.io"

PROTECTION = "resource.kubernetes.io/delete-protection"
"""The finalizer that keeps a claim while devices are given to it."""


class CelSelector(Wire):
    """An expression that a device must satisfy."""

    expression: str | None = None


class DeviceSelector(Wire):
    """How devices are told apart: by an expression."""

    cel: CelSelector | None = None


class KubeDeviceToleration(Wire):
    """Taints of devices that do not bother the claimant."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Wire):
    """How much of a device that can be shared is asked for."""

    requests: dict[str, str | int | float] | None = None


class DeviceSubRequest(Wire):
    """One of several ways to satisfy a request."""

    name: str | None = None
    device_class_name: str | None = None
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str | None = None
    count: Int64 | None = None
    tolerations: list[KubeDeviceToleration] | None = None
    capacity: CapacityRequirements | None = None


class ExactDeviceRequest(DeviceSubRequest):
    """A request that knows what it wants. Administrators look without taking."""

    admin_access: bool | None = None


class DeviceRequest(Wire):
    """Devices of one sort: exactly these, or the first of several that can be had."""

    name: str | None = None
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] | None = None


class DeviceConstraint(Wire):
    """The devices of these requests must share, or not share, the value of an attribute."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class KubeDeviceClaim(Wire):
    """All devices of a claim, and how they must fit together."""

    requests: list[DeviceRequest] | None = None
    constraints: list[DeviceConstraint] | None = None
    #: What drivers are told about the devices; handed on as it is.
    config: list[dict[str, Any]] | None = None


class ResourceClaimSpec(Wire):
    """What is claimed."""

    devices: KubeDeviceClaim | None = None


class AllocatedDevice(Wire):
    """One device that was given."""

    request: str | None = None
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    admin_access: bool | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    tolerations: list[KubeDeviceToleration] | None = None
    consumed_capacity: dict[str, str | int | float] | None = None


class DeviceAllocation(Wire):
    """All devices that were given, and what drivers are told about them."""

    results: list[AllocatedDevice] | None = None
    config: list[dict[str, Any]] | None = None


class Allocation(Wire):
    """What was given, and the nodes from which it can be used."""

    devices: DeviceAllocation | None = None
    node_selector: NodeSelector | None = None


class ClaimConsumer(Wire):
    """Who may use the claim: a pod, as a rule."""

    api_group: str | None = None
    resource: str | None = None
    name: str | None = None
    uid: str | None = None


class ResourceClaimStatus(Wire):
    """What was given to whom."""

    allocation: Allocation | None = None
    reserved_for: list[ClaimConsumer] | None = None


class ResourceClaim(TopLevel):
    """Devices for one or more pods."""

    kind_name: ClassVar[str] = "ResourceClaim"
    group: ClassVar[str] = RESOURCE_GROUP
    namespaced: ClassVar[bool] = True

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)


class ClaimTemplate(Wire):
    """What a claim is born with. The spec is handed on as it is, also the fields that nobody here reads."""

    metadata: ObjectMeta | None = None
    spec: dict[str, Any] | None = None


class ResourceClaimTemplate(TopLevel):
    """A claim per pod."""

    kind_name: ClassVar[str] = "ResourceClaimTemplate"
    group: ClassVar[str] = RESOURCE_GROUP
    namespaced: ClassVar[bool] = True

    spec: ClaimTemplate = msgspec.field(default_factory=ClaimTemplate)


class DeviceAttribute(Wire):
    """A fact about a device, of one of four types."""

    text: str | None = msgspec.field(default=None, name="string")
    number: Int64 | None = msgspec.field(default=None, name="int")
    truth: bool | None = msgspec.field(default=None, name="bool")
    version: str | None = None


class CapacityRange(Wire):
    """Portions from a least to a most, in steps."""

    min: str | int | float | None = None
    max: str | int | float | None = None
    step: str | int | float | None = None


class CapacityRequestPolicy(Wire):
    """In which portions a capacity is given out."""

    default: str | int | float | None = None
    valid_range: CapacityRange | None = None
    valid_values: list[str | int | float] | None = None


class DeviceCapacity(Wire):
    """How much a device holds of something."""

    value: str | int | float | None = None
    request_policy: CapacityRequestPolicy | None = None


class DeviceTaint(Wire):
    """A reason not to use a device."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None


class CounterUse(Wire):
    """What a device takes from a set of counters that it shares with others."""

    counter_set: str | None = None
    counters: dict[str, DeviceCapacity] | None = None


class KubeDevice(Wire):
    """One device of a slice. Where it can be used is said here only if the slice leaves it to the devices."""

    name: str | None = None
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    taints: list[DeviceTaint] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    consumes_counters: list[CounterUse] | None = None
    allow_multiple_allocations: bool | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None


class CounterSet(Wire):
    """Counters from which the devices of a pool draw together."""

    name: str | None = None
    counters: dict[str, DeviceCapacity] | None = None


class ResourcePool(Wire):
    """Slices of the same pool and generation belong together; only a complete set is valid."""

    name: str | None = None
    generation: Int64 | None = None
    resource_slice_count: Int64 | None = None


class ResourceSliceSpec(Wire):
    """What a driver offers, and from where."""

    driver: str | None = None
    pool: ResourcePool | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[KubeDevice] | None = None
    shared_counters: list[CounterSet] | None = None


class ResourceSlice(TopLevel):
    """Devices that a driver offers."""

    kind_name: ClassVar[str] = "ResourceSlice"
    group: ClassVar[str] = RESOURCE_GROUP

    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)


class DeviceClassSpec(Wire):
    """Which devices belong to the class, and the counted resource that stands for it."""

    selectors: list[DeviceSelector] | None = None
    extended_resource_name: str | None = None
    #: What drivers are told about devices of the class; handed on as it is.
    config: list[dict[str, Any]] | None = None


class DeviceClass(TopLevel):
    """A sort of device that claims ask for by name."""

    kind_name: ClassVar[str] = "DeviceClass"
    group: ClassVar[str] = RESOURCE_GROUP

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
