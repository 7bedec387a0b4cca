"""A committed decision as an object: which pods go to which nodes, and how far that has come.

The scheduler writes the spec once, the binder writes the status. Values that are not known here, such as a phase of a
later version, are kept as they are.
"""

from typing import Any, ClassVar

import msgspec

from stromboli.kube.objects.meta import Int32, Int64, TopLevel, Wire

GROUP = "scheduling.stromboli.dev"

POD_GROUP_LABEL = f"{GROUP}/pod-group"
SCHEDULER_LABEL = f"{GROUP}/scheduler"
POD_NAME_LABEL = f"{GROUP}/pod-name"
SELECTED_NODE_LABEL = f"{GROUP}/selected-node"
#: On a pod, with its Binding: how its devices were given to it.
RECEIVED_RESOURCE_TYPE = f"{GROUP}/received-resource-type"

#: `received_resource_type` of a member.
REGULAR, FRACTION = "Regular", "Fraction"

#: Phases of a request; a request that says none is pending.
PENDING, BINDING, SUCCEEDED, UNWINDING, FAILED = "Pending", "Binding", "Succeeded", "Unwinding", "Failed"
#: Phases of a member, besides Binding and Failed.
BOUND, UNWOUND = "Bound", "Unwound"

#: So many members fit into one object beside their status; a larger decision is several objects.
MAX_MEMBERS = 4_000


class ReceivedGPU(Wire):
    """How many devices, and which part of each, in thousandths."""

    count: Int32 = 0
    portion_milli: Int32 = 1000


class ClaimAllocation(Wire):
    """What was chosen for a claim of the pod, as it will stand in the claim's status."""

    name: str = ""
    allocation: dict[str, Any] = msgspec.field(default_factory=dict)


class ChosenVolume(Wire):
    """What was chosen for a claim of the pod: a volume that is there, or, without a name, one that is to be made."""

    claim: str = ""
    volume: str = ""


class BoundPod(Wire):
    """One member: this very pod goes to this node, with these things."""

    pod_name: str = ""
    pod_uid: str = msgspec.field(default="", name="podUID")
    selected_node: str = ""
    selected_gpu_groups: list[str] = msgspec.field(default_factory=list, name="selectedGPUGroups")
    received_resource_type: str = ""
    received_gpu: ReceivedGPU | None = msgspec.field(default=None, name="receivedGPU")
    resource_claim_allocations: list[ClaimAllocation] = msgspec.field(default_factory=list)
    #: What must be ready before the pod is bound, and how long that may take, in seconds.
    volumes: list[ChosenVolume] = msgspec.field(default_factory=list)
    volume_seconds: Int32 = 600
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class BindRequestSpec(Wire):
    """The decision. `min_member` of these members must be bound so that the gang is whole."""

    pod_group: str = ""
    pod_group_uid: str = msgspec.field(default="", name="podGroupUID")
    scheduler: str = ""
    epoch: Int64 = 0
    deadline_seconds: Int32 = 120
    backoff_limit: Int32 = 6
    min_member: Int32 = 1
    #: What all parts of one decision share.
    decision: str = ""
    part: Int32 = 1
    parts: Int32 = 1
    #: How many members there are, for tables that cannot count.
    size: Int32 = 0
    pods: list[BoundPod] = msgspec.field(default_factory=list)


class MemberStatus(Wire):
    """How far one member has come."""

    pod_uid: str = msgspec.field(default="", name="podUID")
    phase: str = ""
    reason: str = ""


class BindRequestStatus(Wire):
    """How far the decision has come. `epoch` is the term of the binder that wrote it."""

    phase: str = ""
    failed_attempts: Int32 = 0
    reason: str = ""
    epoch: Int64 = 0
    pods: list[MemberStatus] = msgspec.field(default_factory=list)


class BindRequest(TopLevel):
    """A committed statement that waits for the binder, is carried out by it, or has come to its end."""

    kind_name: ClassVar[str] = "BindRequest"
    group: ClassVar[str] = GROUP
    namespaced: ClassVar[bool] = True
    never_null: ClassVar[tuple[str, ...]] = ("metadata", "spec", "status")

    spec: BindRequestSpec = msgspec.field(default_factory=BindRequestSpec)
    status: BindRequestStatus = msgspec.field(default_factory=BindRequestStatus)
