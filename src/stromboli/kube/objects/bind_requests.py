"""BindRequest: a committed decision as an object, with its progress.

The scheduler writes the spec once, the binder writes the status. Unknown values, such as a phase of a later version,
are kept.
"""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, TopLevel, Wire

GROUP = "scheduling.stromboli.dev"

POD_GROUP_LABEL = f"{GROUP}/pod-group"
SCHEDULER_LABEL = f"{GROUP}/scheduler"
POD_NAME_LABEL = f"{GROUP}/pod-name"
SELECTED_NODE_LABEL = f"{GROUP}/selected-node"
#: Pod annotation, written with the Binding: how devices were allocated.
RECEIVED_RESOURCE_TYPE = f"{GROUP}/received-resource-type"

#: Values of a member's `received_resource_type`.
REGULAR, FRACTION = "Regular", "Fraction"

#: Phases of a request; no phase means pending.
PENDING, BINDING, SUCCEEDED, UNWINDING, FAILED = "Pending", "Binding", "Succeeded", "Unwinding", "Failed"
#: Phases of a member, besides Binding and Failed.
BOUND, UNWOUND = "Bound", "Unwound"

#: Members that fit into one object together with their status; a larger decision is split into several objects.
MAX_MEMBERS = 4_000


class ReceivedGPU(Wire):
    """Number of devices, and the portion of each in thousandths."""

    count: Int32 = 0
    portion_milli: Int32 = 1000


class ClaimAllocation(Wire):
    """The allocation chosen for a claim of the pod, as it is written to the claim's status."""

    name: str = ""
    allocation: dict[str, Any] = msgspec.field(default_factory=dict)


class ChosenVolume(Wire):
    """The volume chosen for a claim of the pod; without a name, a volume that is to be provisioned."""

    claim: str = ""
    volume: str = ""


class BoundPod(Wire):
    """One member: the pod with this uid goes to this node, with these devices and volumes."""

    pod_name: str = ""
    pod_uid: str = msgspec.field(default="", name="podUID")
    selected_node: str = ""
    selected_gpu_groups: list[str] = msgspec.field(default_factory=list, name="selectedGPUGroups")
    received_resource_type: str = ""
    received_gpu: ReceivedGPU | None = msgspec.field(default=None, name="receivedGPU")
    resource_claim_allocations: list[ClaimAllocation] = msgspec.field(default_factory=list)
    #: Conditions that must be met before the pod is bound, with their time limit in seconds.
    volumes: list[ChosenVolume] = msgspec.field(default_factory=list)
    volume_seconds: Int32 = 600
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class BindRequestSpec(Wire):
    """The decision. At least `min_member` of the members must be bound for the gang to be complete."""

    pod_group: str = ""
    pod_group_uid: str = msgspec.field(default="", name="podGroupUID")
    scheduler: str = ""
    epoch: Int64 = 0
    deadline_seconds: Int32 = 120
    backoff_limit: Int32 = 6
    min_member: Int32 = 1
    #: Shared by all parts of one decision.
    decision: str = ""
    part: Int32 = 1
    parts: Int32 = 1
    #: Number of members, for printer columns.
    size: Int32 = 0
    pods: list[BoundPod] = msgspec.field(default_factory=list)


class MemberStatus(Wire):
    """Progress of one member."""

    pod_uid: str = msgspec.field(default="", name="podUID")
    phase: str = ""
    reason: str = ""


class BindRequestStatus(Wire):
    """Progress of the decision. `epoch` is the term of the binder that wrote it."""

    phase: str = ""
    failed_attempts: Int32 = 0
    reason: str = ""
    epoch: Int64 = 0
    pods: list[MemberStatus] = msgspec.field(default_factory=list)


class BindRequest(TopLevel):
    """A committed statement that is pending, in progress or finished."""

    kind_name: ClassVar[str] = "BindRequest"
    group: ClassVar[str] = GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "spec", "status")

    spec: BindRequestSpec = msgspec.field(default_factory=BindRequestSpec)
    status: BindRequestStatus = msgspec.field(default_factory=BindRequestStatus)
