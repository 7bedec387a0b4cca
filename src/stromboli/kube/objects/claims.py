"""Dynamic resource allocation: ResourceClaims, DeviceClasses and ResourceSlices."""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.constraints import NodeSelector
from stromboli.kube.objects.meta import Int64, ObjectMeta, TopLevel, Wire

RESOURCE_GROUP = "resource.k8s.io"

PROTECTION = "resource.kubernetes.io/delete-protection"
"""The finalizer that protects an allocated claim."""
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of the claim that the scheduler creates for the extended resources of a pod."""


class CelSelector(Wire):
    """A CEL expression that a device must satisfy."""

    expression: str | None = None


class DeviceSelector(Wire):
    """A selector of devices."""

    cel: CelSelector | None = None


class KubeDeviceToleration(Wire):
    """Device taints that the request tolerates."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Wire):
    """The requested capacity of a device that can be shared."""

    requests: dict[str, str | int | float] | None = None


class DeviceSubRequest(Wire):
    """One of several alternatives of a request."""

    name: str | None = None
    device_class_name: str | None = None
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str | None = None
    count: Int64 | None = None
    tolerations: list[KubeDeviceToleration] | None = None
    capacity: CapacityRequirements | None = None


class ExactDeviceRequest(DeviceSubRequest):
    """A request without alternatives. Admin access does not allocate."""

    admin_access: bool | None = None


class DeviceRequest(Wire):
    """A device request: exactly these, or the first available of several alternatives."""

    name: str | None = None
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] | None = None


class DeviceConstraint(Wire):
    """The devices of these requests must have equal, or distinct, values of an attribute."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class KubeDeviceClaim(Wire):
    """All device requests of a claim, with their constraints."""

    requests: list[DeviceRequest] | None = None
    constraints: list[DeviceConstraint] | None = None
    #: Opaque driver configuration, passed through.
    config: list[dict[str, Any]] | None = None


class ResourceClaimSpec(Wire):
    """The requested devices."""

    devices: KubeDeviceClaim | None = None


class AllocatedDevice(Wire):
    """One allocated device."""

    request: str | None = None
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    admin_access: bool | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    tolerations: list[KubeDeviceToleration] | None = None
    consumed_capacity: dict[str, str | int | float] | None = None


class KubeDeviceAllocation(Wire):
    """All allocated devices, with their driver configuration."""

    results: list[AllocatedDevice] | None = None
    config: list[dict[str, Any]] | None = None


class Allocation(Wire):
    """An allocation, and the nodes on which it is usable."""

    devices: KubeDeviceAllocation | None = None
    node_selector: NodeSelector | None = None


class ClaimConsumer(Wire):
    """A user of the claim, usually a pod."""

    api_group: str | None = None
    resource: str | None = None
    name: str | None = None
    uid: str | None = None


class ResourceClaimStatus(Wire):
    """Allocation and users of the claim."""

    allocation: Allocation | None = None
    reserved_for: list[ClaimConsumer] | None = None


class ResourceClaim(TopLevel):
    """A claim of devices for one or more pods."""

    kind_name: ClassVar[str] = "ResourceClaim"
    group: ClassVar[str] = RESOURCE_GROUP
    namespaced: ClassVar[bool] = True

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)


class ClaimTemplate(Wire):
    """Template of a claim. The spec is passed through unchanged, including fields that are not decoded."""

    metadata: ObjectMeta | None = None
    spec: dict[str, Any] | None = None


class ResourceClaimTemplate(TopLevel):
    """A template for one claim per pod."""

    kind_name: ClassVar[str] = "ResourceClaimTemplate"
    group: ClassVar[str] = RESOURCE_GROUP
    namespaced: ClassVar[bool] = True

    spec: ClaimTemplate = msgspec.field(default_factory=ClaimTemplate)


class DeviceAttribute(Wire):
    """An attribute of a device, of one of four types."""

    text: str | None = msgspec.field(default=None, name="string")
    number: Int64 | None = msgspec.field(default=None, name="int")
    truth: bool | None = msgspec.field(default=None, name="bool")
    version: str | None = None


class CapacityRange(Wire):
    """Portions between a minimum and a maximum, in steps."""

    min: str | int | float | None = None
    max: str | int | float | None = None
    step: str | int | float | None = None


class CapacityRequestPolicy(Wire):
    """The portions in which a capacity is allocated."""

    default: str | int | float | None = None
    valid_range: CapacityRange | None = None
    valid_values: list[str | int | float] | None = None


class DeviceCapacity(Wire):
    """A capacity of a device."""

    value: str | int | float | None = None
    request_policy: CapacityRequestPolicy | None = None


class DeviceTaint(Wire):
    """A taint of a device."""

    key: str | None = None
    value: str | None = None
    effect: str | None = None


class CounterUse(Wire):
    """Consumption of a counter set that the device shares with others."""

    counter_set: str | None = None
    counters: dict[str, DeviceCapacity] | None = None


class KubeDevice(Wire):
    """One device of a slice. It has its own node selection only if the slice leaves it to the devices."""

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
    """Counters that the devices of a pool share."""

    name: str | None = None
    counters: dict[str, DeviceCapacity] | None = None


class ResourcePool(Wire):
    """Slices of the same pool and generation form a set; only a complete set is valid."""

    name: str | None = None
    generation: Int64 | None = None
    resource_slice_count: Int64 | None = None


class ResourceSliceSpec(Wire):
    """Devices of a driver, and the nodes that can use them."""

    driver: str | None = None
    pool: ResourcePool | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[KubeDevice] | None = None
    shared_counters: list[CounterSet] | None = None


class ResourceSlice(TopLevel):
    """Devices that a driver publishes."""

    kind_name: ClassVar[str] = "ResourceSlice"
    group: ClassVar[str] = RESOURCE_GROUP

    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)


class DeviceClassSpec(Wire):
    """Selectors of the class, and its extended resource name."""

    selectors: list[DeviceSelector] | None = None
    extended_resource_name: str | None = None
    #: Opaque driver configuration of the class, passed through.
    config: list[dict[str, Any]] | None = None


class DeviceClass(TopLevel):
    """A device class that claims reference by name."""

    kind_name: ClassVar[str] = "DeviceClass"
    group: ClassVar[str] = RESOURCE_GROUP

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
