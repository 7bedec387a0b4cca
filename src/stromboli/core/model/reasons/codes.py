"""The codes of reasons, and what a code means."""

from dataclasses import dataclass
from enum import StrEnum


class RetryEvent(StrEnum):
    """A kind of cluster event after which a refusal may no longer apply."""

    NODE_ADDED = "a node is added"
    NODE_CHANGED = "a node's labels, taints or allocatable change"
    POD_REMOVED = "a pod ends or is removed"
    POD_ADDED = "a pod is added"
    POD_CHANGED = "the pod itself changes"
    JOB_CHANGED = "the PodGroup changes"
    QUEUE_CHANGED = "a queue's limits, weight or state change"
    QUOTA_CHANGED = "a quota of the namespace changes"
    STORAGE_CHANGED = "a claim, a volume or a storage class changes"
    DEVICES_CHANGED = "a resource claim, a device class or a resource slice changes"
    TIME = "time passes"


class Remedy(StrEnum):
    """The action that resolves a refusal."""

    WAIT = "wait"
    CHANGE_REQUEST = "change the request"
    ASK_ADMINISTRATOR = "ask the administrator"


class Code(StrEnum):
    """Stable reason codes. Tools may match on these; messages may change."""

    INSUFFICIENT_RESOURCE = "InsufficientResource"
    TOO_MANY_PODS = "TooManyPods"
    CAPACITY_NOMINATED = "CapacityNominated"
    CAPACITY_RESERVED = "CapacityReserved"
    START_RESERVED = "StartReserved"
    NODES_RESERVED = "NodesReserved"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NOT_READY = "NodeNotReady"
    NODE_REJECTED = "NodeRejectedPod"
    OUTSIDE_SHARD = "OutsideShard"
    NODE_SELECTOR = "NodeSelectorMismatch"
    NODE_AFFINITY = "NodeAffinityMismatch"
    TAINT = "UntoleratedTaint"
    HOST_PORT = "HostPortTaken"
    POD_AFFINITY = "PodAffinityUnsatisfied"
    POD_ANTI_AFFINITY = "PodAntiAffinityViolated"
    EXISTING_ANTI_AFFINITY = "ExistingPodAntiAffinityViolated"
    TOPOLOGY_SPREAD = "TopologySpreadViolated"
    NAMESPACE_QUOTA = "NamespaceQuotaExceeded"
    BUDGET_EXHAUSTED = "BudgetExhausted"
    USAGE_LOADING = "UsageLoading"
    REVOCABLE_NODE = "RevocableNode"
    NODE_LOAD = "NodeLoadTooHigh"
    NUMA_POLICY = "NumaPolicyMismatch"
    NUMA_ALIGNMENT = "NumaAlignmentImpossible"
    NODE_GROUP = "NodeGroupMismatch"
    NODE_GROUP_LIMIT = "NodeGroupLimitExceeded"
    CAPACITY_RESERVED_FOR_DEVICES = "CapacityReservedForDevices"
    NO_DEVICES = "NoDevices"
    DEVICES_IN_USE = "DevicesInUse"
    CLAIM_MISSING = "VolumeClaimMissing"
    CLAIM_LOST = "VolumeClaimLost"
    CLAIM_UNBOUND = "VolumeClaimUnbound"
    STORAGE_CLASS_MISSING = "StorageClassMissing"
    VOLUME_AFFINITY = "VolumeNodeAffinityMismatch"
    VOLUME_ZONE = "VolumeZoneMismatch"
    VOLUME_LIMIT = "VolumeLimitExceeded"
    VOLUME_IN_USE = "VolumeInUse"
    NO_VOLUME = "NoVolumeAvailable"
    NO_STORAGE = "InsufficientStorage"
    RESOURCE_CLAIM_MISSING = "ResourceClaimMissing"
    RESOURCE_CLAIM_UNUSABLE = "ResourceClaimUnusable"
    DEVICE_CLASS_MISSING = "DeviceClassMissing"
    RESOURCE_CLAIM_ELSEWHERE = "ResourceClaimElsewhere"
    NO_CLAIMED_DEVICE = "NoClaimedDevice"
    CLAIMED_DEVICES_IN_USE = "ClaimedDevicesInUse"
    DEVICES_DO_NOT_FIT = "ClaimedDevicesDoNotFit"
    DEVICES_UNDECIDED = "ClaimedDevicesUndecided"
    PLUGIN_REFUSED = "PluginRefused"
    PLUGIN_FAILED = "PluginFailed"
    TOO_EXPENSIVE = "SchedulingTooExpensive"
    CYCLE_BUDGET = "CycleBudgetSpent"
    NO_NODES = "NoNodes"
    NO_NODE_HAS_RESOURCE = "NoNodeHasResource"
    EXCEEDS_EVERY_NODE = "ExceedsEveryNode"
    EXCEEDS_CLUSTER = "ExceedsCluster"
    GANG_DOES_NOT_FIT = "GangDoesNotFit"
    GANG_STALE = "GangStale"
    NOT_ENOUGH_TASKS = "NotEnoughTasks"
    NOT_ENOUGH_PODS_OF_ROLE = "NotEnoughPodsOfTask"
    NOT_ENOUGH_SUB_GROUPS = "NotEnoughSubGroups"
    NOT_ADMITTED = "NotAdmitted"
    CLUSTER_OVERCOMMITTED = "ClusterOvercommitted"
    QUEUE_CAPABILITY = "QueueCapabilityExceeded"
    QUEUE_SHARE = "QueueShareExhausted"
    QUEUE_OVERUSED = "QueueOverused"
    QUEUE_ORDER = "HeldBackByQueueOrder"
    USER_LIMIT = "UserLimitReached"
    QUEUE_CLOSED = "QueueNotOpen"
    QUEUE_UNKNOWN = "QueueUnknown"
    QUEUE_MISPLACED = "QueueMisplaced"
    UNKNOWN_TIER = "UnknownTier"
    NO_DOMAIN = "NoDomainFits"
    SCHEDULING_GATED = "SchedulingGated"
    BIND_FAILED = "BindFailed"
    NO_PODS = "NoPodsYet"
    PREEMPTED = "Preempted"
    PIPELINED = "WaitingForRelease"
    INVALID_OBJECT = "InvalidObject"
    GROUP_BEING_DELETED = "PodGroupBeingDeleted"
    ROLE_REFUSED = "RoleAlreadyRefused"
    NO_PREEMPTABLE_PODS = "NoPreemptablePods"
    PREEMPTION_INSUFFICIENT = "PreemptionInsufficient"
    DISRUPTION_BUDGET = "DisruptionBudgetSpent"
    NEVER_PREEMPTS = "PreemptionPolicyNever"
    PREEMPTION_RATE = "PreemptionRateLimited"
    PREEMPTION_POSTPONED = "PreemptionPostponed"


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The meaning of a code, for the reference page and for `explain`."""

    #: At most 30 characters, for tables.
    title: str
    meaning: str
    remedy: Remedy
    advice: str
    retry_events: tuple[RetryEvent, ...]


#: The events after which nodes may have more capacity.
CAPACITY = (RetryEvent.POD_REMOVED, RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED)
#: The events after which a job that is too large may fit.
SIZE = (RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED, RetryEvent.POD_CHANGED, RetryEvent.JOB_CHANGED)
