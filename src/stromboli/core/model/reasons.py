"""Reasons for refusals: a stable code, a message, and the events after which to retry."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum

#: The length of the short form of a reason: it fits beside the name of a job in 80 columns.
MAX_SHORT = 60


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


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The meaning of a code, for the reference page and for `explain`."""

    #: At most 30 characters, for tables.
    title: str
    meaning: str
    remedy: Remedy
    advice: str
    retry_events: tuple[RetryEvent, ...]


_CAPACITY = (RetryEvent.POD_REMOVED, RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED)
_IMPOSSIBLE_UNTIL = (RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED, RetryEvent.POD_CHANGED, RetryEvent.JOB_CHANGED)

#: The job cannot start however long it waits. Reported before all other reasons.
IMPOSSIBLE = frozenset((Code.NO_NODE_HAS_RESOURCE, Code.EXCEEDS_EVERY_NODE, Code.EXCEEDS_CLUSTER))

#: Codes of jobs without enough pods, which may still be created.
PODS_MISSING = (Code.NO_PODS, Code.NOT_ENOUGH_TASKS, Code.NOT_ENOUGH_PODS_OF_ROLE, Code.NOT_ENOUGH_SUB_GROUPS)

CODES: dict[Code, CodeFacts] = {
    Code.INSUFFICIENT_RESOURCE: CodeFacts(
        "insufficient resource",
        "The node, or the whole cluster, does not have enough of a resource.", Remedy.WAIT,
        "Wait for pods to end, ask for less, or add nodes.", _CAPACITY,
    ),
    Code.TOO_MANY_PODS: CodeFacts(
        "too many pods",
        "The node already runs as many pods as it may.", Remedy.WAIT, "Wait for pods to end or add nodes.", _CAPACITY
    ),
    Code.CAPACITY_NOMINATED: CodeFacts(
        "capacity nominated for others",
        "The node has enough capacity, now or later, but it is nominated for another pod.", Remedy.WAIT,
        "Wait for more capacity; within a queue, a job of higher priority may use nominated capacity.", _CAPACITY,
    ),
    Code.CAPACITY_RESERVED: CodeFacts(
        "capacity reserved for others",
        "There is enough capacity, but it is reserved for another job: one that starts before this one ends, or has "
        "waited for too long.",
        Remedy.CHANGE_REQUEST,
        "Wait, or declare a shorter run time if applicable, with the annotation `scheduling.stromboli.dev/run-time` "
        "or with `activeDeadlineSeconds` on every pod.", (*_CAPACITY, RetryEvent.POD_CHANGED, RetryEvent.TIME),
    ),
    Code.START_RESERVED: CodeFacts(
        "start reserved",
        "The job has a reservation: it starts at the given time, or earlier if capacity becomes available.",
        Remedy.WAIT, "Wait; jobs that would delay it are not started.", (*_CAPACITY, RetryEvent.TIME),
    ),
    Code.NODES_RESERVED: CodeFacts(
        "nodes reserved",
        "The job has waited for longer than `starvationTime`: what becomes free on some nodes is reserved for it.",
        Remedy.WAIT, "Wait until pods on these nodes have ended; it starts elsewhere if it can.", _CAPACITY,
    ),
    Code.NODE_UNSCHEDULABLE: CodeFacts(
        "cordoned",
        "The node is cordoned.", Remedy.ASK_ADMINISTRATOR, "Uncordon the node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED)
    ),
    Code.NODE_NOT_READY: CodeFacts(
        "not ready",
        "The node reports that it is not ready.", Remedy.ASK_ADMINISTRATOR, "Repair the node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.OUTSIDE_SHARD: CodeFacts(
        "outside the shard",
        "The node belongs to the shard of another scheduler, or is still in use by it.", Remedy.ASK_ADMINISTRATOR,
        "Add nodes to the shard of this scheduler, in `spec.nodesDesired` of its NodeShard or by label, or use the "
        "scheduler that owns the nodes.", (RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED),
    ),
    Code.NODE_REJECTED: CodeFacts(
        "bind failed recently",
        "A recent attempt to bind the pod to the node failed, so the node is avoided for this pod for a while.",
        Remedy.WAIT, "See the events of the pod for the failure.", (RetryEvent.TIME,),
    ),
    Code.NODE_SELECTOR: CodeFacts(
        "node selector mismatch",
        "The node's labels do not match the pod's node selector.", Remedy.CHANGE_REQUEST,
        "Change spec.nodeSelector or label a node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.NODE_AFFINITY: CodeFacts(
        "node affinity mismatch",
        "The node does not satisfy the pod's required node affinity.", Remedy.CHANGE_REQUEST,
        "Change the node affinity or label a node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.TAINT: CodeFacts(
        "untolerated taint",
        "The node has a taint that the pod does not tolerate.", Remedy.CHANGE_REQUEST,
        "Add a toleration, or remove the taint.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.HOST_PORT: CodeFacts(
        "host port in use",
        "Another pod on the node uses the host port.", Remedy.WAIT, "Wait, or use another host port.", _CAPACITY
    ),
    Code.POD_AFFINITY: CodeFacts(
        "pod affinity unsatisfied",
        "No pod in the node's domain matches the pod affinity.", Remedy.CHANGE_REQUEST,
        "Start the pods it refers to, or change the pod affinity.",
        (RetryEvent.POD_ADDED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.POD_ANTI_AFFINITY: CodeFacts(
        "pod anti-affinity violated",
        "A pod in the node's domain matches the pod anti-affinity.", Remedy.WAIT,
        "Wait, add nodes in other domains, or relax the anti-affinity.", _CAPACITY,
    ),
    Code.EXISTING_ANTI_AFFINITY: CodeFacts(
        "anti-affinity of other pods",
        "An existing pod in the node's domain has an anti-affinity against this pod.", Remedy.WAIT,
        "Wait, or add nodes in other domains.", _CAPACITY,
    ),
    Code.TOPOLOGY_SPREAD: CodeFacts(
        "topology spread violated",
        "Placing the pod on the node would violate a topology spread constraint.", Remedy.WAIT,
        "Add capacity in the domains with fewer pods, or raise maxSkew.", (*_CAPACITY, RetryEvent.POD_ADDED),
    ),
    Code.NAMESPACE_QUOTA: CodeFacts(
        "namespace quota exceeded",
        "The ResourceQuota of the namespace is too small for the job.", Remedy.ASK_ADMINISTRATOR,
        "Wait for pods of the namespace to end, lower minResources, or ask for a larger quota.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUOTA_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.REVOCABLE_NODE: CodeFacts(
        "revocable node",
        "The node is in a revocable zone and does not accept the pod now.", Remedy.WAIT,
        "Wait until the revocable zone is active, mark the pod as preemptable, or add nodes.",
        (RetryEvent.TIME, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.NODE_LOAD: CodeFacts(
        "load above the threshold",
        "The measured cpu or memory usage of the node is above the configured threshold.", Remedy.WAIT,
        "Wait for the load to fall, add nodes, or raise the thresholds of the usage plugin.",
        (RetryEvent.TIME, RetryEvent.NODE_ADDED, RetryEvent.POD_REMOVED),
    ),
    Code.NUMA_POLICY: CodeFacts(
        "NUMA policy mismatch",
        "The node does not have the NUMA policy that the pod requests, or does not report its policy.",
        Remedy.ASK_ADMINISTRATOR,
        "Request the policy of the nodes in the annotation, or configure kubelets with that policy and run the "
        "Numatopology exporter.", (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.NUMA_ALIGNMENT: CodeFacts(
        "NUMA alignment impossible",
        "The node has too few free processors to satisfy its NUMA policy.", Remedy.WAIT,
        "Wait for pods to end, ask for fewer processors, or add nodes.", _CAPACITY,
    ),
    Code.NODE_GROUP: CodeFacts(
        "node group not allowed",
        "The node is in none of the node groups that the queue may use.", Remedy.ASK_ADMINISTRATOR,
        "Add the group to spec.affinity of the queue, label a node, or use another queue.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.NODE_GROUP_LIMIT: CodeFacts(
        "node group limit exceeded",
        "The queue has reached its limit in the node's group.", Remedy.ASK_ADMINISTRATOR,
        "Wait for the queue's pods in the group to end, or ask for a higher limit.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUEUE_CHANGED),
    ),
    Code.CAPACITY_RESERVED_FOR_DEVICES: CodeFacts(
        "reserved for idle devices",
        "The remaining capacity of the node is reserved for its idle devices.", Remedy.WAIT,
        "Wait for pods without devices to end, add nodes, or lower resourceProportion.", _CAPACITY,
    ),
    Code.NO_DEVICES: CodeFacts(
        "no such devices",
        "The node has not registered devices of the requested kind.", Remedy.ASK_ADMINISTRATOR,
        "Install the device plugin on the node, or correct what it registered.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.DEVICES_IN_USE: CodeFacts(
        "devices in use",
        "No set of the node's devices has enough free memory, cores or slots for the pod.", Remedy.WAIT,
        "Wait for pods to end, ask for less of each device, or allow other types of devices.", _CAPACITY,
    ),
    Code.CLAIM_MISSING: CodeFacts(
        "volume claim missing",
        "A PersistentVolumeClaim of the pod does not exist, or belongs to another pod.", Remedy.CHANGE_REQUEST,
        "Create the named PersistentVolumeClaim, or correct spec.volumes of the pod.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.POD_CHANGED),
    ),
    Code.CLAIM_LOST: CodeFacts(
        "volume claim lost",
        "A PersistentVolumeClaim of the pod has lost its volume, or is being deleted.", Remedy.CHANGE_REQUEST,
        "Recreate the claim, or restore its volume.", (RetryEvent.STORAGE_CHANGED, RetryEvent.POD_CHANGED),
    ),
    Code.CLAIM_UNBOUND: CodeFacts(
        "volume claim unbound",
        "A PersistentVolumeClaim with immediate binding is not bound yet.", Remedy.ASK_ADMINISTRATOR,
        "Wait for the provisioner, or read the events of the claim.", (RetryEvent.STORAGE_CHANGED,),
    ),
    Code.STORAGE_CLASS_MISSING: CodeFacts(
        "storage class missing",
        "The StorageClass of a claim does not exist.", Remedy.CHANGE_REQUEST,
        "Create the StorageClass, or use another one in the claim.", (RetryEvent.STORAGE_CHANGED,),
    ),
    Code.VOLUME_AFFINITY: CodeFacts(
        "volume not accessible",
        "The volume of a claim is not accessible from the node.", Remedy.WAIT,
        "Wait for capacity on the nodes that can access the volume.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.VOLUME_ZONE: CodeFacts(
        "volume in another zone",
        "The volume of a claim is in another zone or region.", Remedy.WAIT,
        "Wait for capacity in the zone of the volume.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.VOLUME_LIMIT: CodeFacts(
        "volume limit exceeded",
        "The node has reached the volume limit of a driver.", Remedy.WAIT,
        "Wait for pods with volumes to end, or add nodes.", (*_CAPACITY, RetryEvent.STORAGE_CHANGED),
    ),
    Code.VOLUME_IN_USE: CodeFacts(
        "volume claim in use",
        "Another pod uses a claim that only one pod may use.", Remedy.WAIT,
        "Wait for the other pod to end, or use another access mode than ReadWriteOncePod.",
        (RetryEvent.POD_REMOVED, RetryEvent.POD_CHANGED, RetryEvent.STORAGE_CHANGED),
    ),
    Code.NO_VOLUME: CodeFacts(
        "no volume available",
        "No free volume on the node matches a claim, and none can be provisioned there.",
        Remedy.ASK_ADMINISTRATOR,
        "Create volumes, or use a StorageClass that provisions them on these nodes.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.NO_STORAGE: CodeFacts(
        "insufficient storage",
        "The node has too little storage left to provision the volume of a claim.", Remedy.ASK_ADMINISTRATOR,
        "Free or add storage, or ask for a smaller volume.", (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.RESOURCE_CLAIM_MISSING: CodeFacts(
        "resource claim missing",
        "The pod uses a ResourceClaim that does not exist, or that belongs to another pod.", Remedy.CHANGE_REQUEST,
        "Create the claim, or its template; for a generated claim, make sure that its name is free.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.POD_CHANGED),
    ),
    Code.RESOURCE_CLAIM_UNUSABLE: CodeFacts(
        "resource claim unusable",
        "A ResourceClaim of the pod is being deleted, or has reached its maximum number of users.", Remedy.WAIT,
        "Wait until it is deleted and create it again, or until other pods end.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.POD_REMOVED),
    ),
    Code.DEVICE_CLASS_MISSING: CodeFacts(
        "device class missing",
        "A ResourceClaim of the pod refers to a DeviceClass that does not exist.", Remedy.ASK_ADMINISTRATOR,
        "Create the DeviceClass, or use another one in the claim.", (RetryEvent.DEVICES_CHANGED,),
    ),
    Code.RESOURCE_CLAIM_ELSEWHERE: CodeFacts(
        "claimed devices elsewhere",
        "A ResourceClaim of the pod has devices that are not accessible from this node.", Remedy.WAIT,
        "Wait for capacity on the nodes that can access the devices.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.NO_CLAIMED_DEVICE: CodeFacts(
        "too few matching devices",
        "The node has too few devices, free or in use, that satisfy a request of a ResourceClaim.",
        Remedy.CHANGE_REQUEST, "Ask for fewer or other devices, or add nodes that have them.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.CLAIMED_DEVICES_IN_USE: CodeFacts(
        "claimed devices in use",
        "Devices that satisfy a request of a ResourceClaim are in use.", Remedy.WAIT,
        "Wait for pods that use them to end, or add nodes that have such devices.",
        (*_CAPACITY, RetryEvent.DEVICES_CHANGED),
    ),
    Code.DEVICES_DO_NOT_FIT: CodeFacts(
        "claimed devices do not fit",
        "There are free devices for each request, but not for all of them together: because of constraints, shared "
        "counters or capacity.", Remedy.CHANGE_REQUEST,
        "Request less, or relax the constraints of the claim.", (*_CAPACITY, RetryEvent.DEVICES_CHANGED),
    ),
    Code.DEVICES_UNDECIDED: CodeFacts(
        "device search incomplete",
        "The search for devices did not complete: an expression failed for a device, a pool is incomplete, or the "
        "search limit was reached.", Remedy.CHANGE_REQUEST,
        "Correct the expression so that it evaluates for every device, or request less.",
        (RetryEvent.DEVICES_CHANGED,),
    ),
    Code.PLUGIN_REFUSED: CodeFacts(
        "refused by a plugin",
        "A plugin refused the node.", Remedy.ASK_ADMINISTRATOR, "Read the plugin's documentation.", tuple(RetryEvent)
    ),
    Code.PLUGIN_FAILED: CodeFacts(
        "plugin error",
        "A plugin raised an error, which counts as a refusal.", Remedy.ASK_ADMINISTRATOR,
        "Report the error to the maintainer of the plugin.", tuple(RetryEvent),
    ),
    Code.TOO_EXPENSIVE: CodeFacts(
        "scheduling is too expensive",
        "Finding nodes for the job took longer than its time budget. The job is set aside, so that others are not "
        "delayed, and is tried again alone after a pause that grows with each failure.", Remedy.CHANGE_REQUEST,
        "Use fewer distinct pods or simpler constraints, or ask the administrator: a plugin may be slow or may not "
        "return, and `--job-budget` may be too small.", (RetryEvent.TIME,),
    ),
    Code.CYCLE_BUDGET: CodeFacts(
        "cycle out of time",
        "The time budget of the cycle was spent before the job had its turn.", Remedy.WAIT,
        "Wait for the next cycle, which starts at once.", (RetryEvent.TIME,),
    ),
    Code.NO_NODES: CodeFacts(
        "the cluster has no nodes",
        "The cluster has no nodes.", Remedy.ASK_ADMINISTRATOR, "Add nodes.", (RetryEvent.NODE_ADDED,)
    ),
    Code.NO_NODE_HAS_RESOURCE: CodeFacts(
        "no node has the resource",
        "No node has any of a requested resource.", Remedy.CHANGE_REQUEST,
        "Correct the name of the resource, install its device plugin, or add nodes that have it.", _IMPOSSIBLE_UNTIL,
    ),
    Code.EXCEEDS_EVERY_NODE: CodeFacts(
        "larger than every node",
        "A pod requests more than any node has, even when the node is empty.", Remedy.CHANGE_REQUEST,
        "Request less per pod, or add a larger node.", _IMPOSSIBLE_UNTIL,
    ),
    Code.EXCEEDS_CLUSTER: CodeFacts(
        "larger than the cluster",
        "The pods that must start together do not fit into the cluster, even when it is empty.", Remedy.CHANGE_REQUEST,
        "Lower minMember or minResources, request less per pod, or add nodes.", _IMPOSSIBLE_UNTIL,
    ),
    Code.GANG_DOES_NOT_FIT: CodeFacts(
        "gang does not fit",
        "Some members of the gang fit, but fewer than must start together.", Remedy.WAIT,
        "Wait for capacity, lower minMember, or request less per pod.", (*_CAPACITY, RetryEvent.JOB_CHANGED),
    ),
    Code.GANG_STALE: CodeFacts(
        "gang below its minimum",
        "The gang runs with fewer members than must run together.", Remedy.WAIT,
        "Create the missing pods or free capacity for them; otherwise the rest is evicted after the grace period.",
        (*_CAPACITY, RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED, RetryEvent.TIME),
    ),
    Code.NOT_ENOUGH_TASKS: CodeFacts(
        "too few pods",
        "Fewer pods exist than must start together.", Remedy.CHANGE_REQUEST,
        "Create the missing pods or lower minMember.", (RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED),
    ),
    Code.NOT_ENOUGH_PODS_OF_ROLE: CodeFacts(
        "too few pods of a task",
        "A role has fewer pods than its minimum.", Remedy.CHANGE_REQUEST,
        "Create the missing pods or lower minTaskMember.", (RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED),
    ),
    Code.NOT_ENOUGH_SUB_GROUPS: CodeFacts(
        "too few sub-groups",
        "Fewer sub-groups exist than must start together.", Remedy.CHANGE_REQUEST,
        "Create the missing pods or lower minSubGroups.", (RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED),
    ),
    Code.NOT_ADMITTED: CodeFacts(
        "not admitted yet",
        "The job has not been admitted to its queue yet.", Remedy.WAIT,
        "Wait for capacity in the queue or the cluster.",
        (*_CAPACITY, RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.CLUSTER_OVERCOMMITTED: CodeFacts(
        "cluster overcommitted",
        "Running and admitted jobs may use the whole cluster.", Remedy.WAIT,
        "Wait for jobs to end, lower minResources, or raise overcommit-factor.", (*_CAPACITY, RetryEvent.JOB_CHANGED),
    ),
    Code.QUEUE_CAPABILITY: CodeFacts(
        "queue limit reached",
        "The queue may not use more than its capability, or than the guarantees of other queues leave.",
        Remedy.ASK_ADMINISTRATOR,
        "Wait for the queue's jobs to end, or ask for a larger capability.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_SHARE: CodeFacts(
        "queue share exhausted",
        "The queue already uses its deserved share of a resource.", Remedy.WAIT,
        "Wait for the queue's jobs to end, or ask for a larger share for the queue.",
        (*_CAPACITY, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_OVERUSED: CodeFacts(
        "queue overused",
        "The queue uses its deserved share of every resource.", Remedy.WAIT,
        "Wait for the queue's jobs to end, or ask for a larger share for the queue.",
        (*_CAPACITY, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_ORDER: CodeFacts(
        "held back by queue order",
        "The queue is strict: an earlier job of the queue waits for nodes that this one may use as well.",
        Remedy.WAIT,
        "Wait until the earlier job has started, or select nodes that it cannot use. Later jobs overtake with "
        "`dequeueStrategy: traverse` in the queue, and without `strict` in the arguments of `allocate`.",
        (*_CAPACITY, RetryEvent.JOB_CHANGED, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_CLOSED: CodeFacts(
        "queue not open",
        "The queue is closed.", Remedy.ASK_ADMINISTRATOR, "Open the queue or use another.", (RetryEvent.QUEUE_CHANGED,)
    ),
    Code.QUEUE_UNKNOWN: CodeFacts(
        "queue does not exist",
        "No queue has this name.", Remedy.CHANGE_REQUEST, "Create the queue or correct spec.queue.",
        (RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.QUEUE_MISPLACED: CodeFacts(
        "queue misplaced",
        "The queue has an invalid parent, or has child queues.", Remedy.ASK_ADMINISTRATOR,
        "Correct spec.parent of the named queue, or use a queue without child queues.",
        (RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.UNKNOWN_TIER: CodeFacts(
        "unknown network tier",
        "The job refers to a network tier, a Topology or a topology level that does not exist.",
        Remedy.CHANGE_REQUEST,
        "Correct `highestTierName` or the annotations `kai.scheduler/topology...`, or define the network with "
        "HyperNodes or a Topology.", (RetryEvent.JOB_CHANGED, RetryEvent.NODE_CHANGED),
    ),
    Code.NO_DOMAIN: CodeFacts(
        "no network domain fits",
        "No allowed network domain has enough capacity for the job.", Remedy.WAIT,
        "Wait for capacity in one of them, allow a higher tier with `highestTierAllowed`, or use a soft constraint.",
        (*_CAPACITY, RetryEvent.JOB_CHANGED),
    ),
    Code.SCHEDULING_GATED: CodeFacts(
        "scheduling gates",
        "The pod has scheduling gates.", Remedy.CHANGE_REQUEST, "Remove the pod's schedulingGates.",
        (RetryEvent.POD_CHANGED,)
    ),
    Code.BIND_FAILED: CodeFacts(
        "bind failed",
        "The pod was placed on a node, but binding it failed.", Remedy.WAIT,
        "See the pod's events; the bind is retried with backoff.", (RetryEvent.POD_CHANGED,),
    ),
    Code.NO_PODS: CodeFacts(
        "no pods yet",
        "The job was admitted and has no pods yet.", Remedy.WAIT, "Its controller should create the pods now.",
        (RetryEvent.POD_ADDED,),
    ),
    Code.PREEMPTED: CodeFacts(
        "preempted",
        "Pods of the job were evicted, for another job or by an action that moves or releases pods.", Remedy.WAIT,
        "Its controller should create the pods again; without a controller, create them. They start when there is "
        "capacity for them.", (RetryEvent.POD_ADDED, *_CAPACITY),
    ),
    Code.PIPELINED: CodeFacts(
        "waits for terminating pods",
        "The job has nominated capacity; it waits for pods that are being released.", Remedy.WAIT, "Wait.",
        (RetryEvent.POD_REMOVED,)
    ),
    Code.INVALID_OBJECT: CodeFacts(
        "invalid object",
        "An object of the job is not valid.", Remedy.CHANGE_REQUEST, "Correct the named field.",
        (RetryEvent.POD_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.GROUP_BEING_DELETED: CodeFacts(
        "PodGroup is being deleted",
        "The PodGroup has a deletion timestamp and waits for its finalizers, so none of its pods is placed.",
        Remedy.WAIT, "Let the finalizers finish, then create the PodGroup again.",
        (RetryEvent.JOB_CHANGED,),
    ),
    Code.ROLE_REFUSED: CodeFacts(
        "role already refused",
        "Another pod of the same role found no node, so this one was not tried.", Remedy.WAIT,
        "See the reason of the other pod.", _CAPACITY,
    ),
    Code.NO_PREEMPTABLE_PODS: CodeFacts(
        "no preemptable pods",
        "No running pod may be preempted for it.", Remedy.WAIT,
        "Wait for pods to end, or raise the priority of the job or the share of its queue.", _CAPACITY,
    ),
    Code.PREEMPTION_INSUFFICIENT: CodeFacts(
        "preemption insufficient",
        "Preempting all allowed pods would not free enough capacity.", Remedy.WAIT,
        "Wait for pods to end, ask for less, or add nodes.", _CAPACITY,
    ),
    Code.DISRUPTION_BUDGET: CodeFacts(
        "disruption budget spent",
        "PodDisruptionBudgets protect the pods that could be preempted.", Remedy.WAIT,
        "Wait until the protected pods are healthy again, or allow more disruptions.", _CAPACITY,
    ),
    Code.NEVER_PREEMPTS: CodeFacts(
        "preemption policy Never",
        "The pod may not preempt others.", Remedy.CHANGE_REQUEST,
        "Wait for pods to end, or use a priority class without `preemptionPolicy: Never`.",
        (*_CAPACITY, RetryEvent.POD_CHANGED),
    ),
}  # fmt: skip


class Reason:
    """One refusal. `detail` is the message, with numbers and names; `short` fits a table cell.

    A function as `short` is called when the short form is read, so that reasons that are not read cost nothing. Reasons
    of one code are equal if they state the same `fact`, by default the same detail.
    """

    __slots__ = ("_short", "code", "detail", "fact")

    def __init__(
        self, code: Code, detail: str, *, short: str | Callable[[], str] = "", fact: Hashable | None = None
    ) -> None:
        self.code = code
        self.detail = detail
        self.fact = detail if fact is None else fact
        self._short = short

    def __str__(self) -> str:
        return self.detail

    def __repr__(self) -> str:
        return f"Reason({self.code!s}, {self.detail!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.fact) == (other.code, other.fact)

    def __hash__(self) -> int:
        return hash((self.code, self.fact))

    @property
    def short(self) -> str:
        """Return one line of at most 60 characters: the text of the producer, else the detail if it fits, else the
        code's title with a part of the detail. For nodes ("node(s) were ...") it is the title alone.
        """
        own = self._short() if callable(self._short) else self._short
        if line := shortened_line(own):
            return line
        title = CODES[self.code].title
        if self.detail.startswith("node(s)"):
            return title
        return shortened_line(self.detail if 0 < len(self.detail) <= MAX_SHORT else f"{title}: {self.detail}")

    @property
    def has_own_short(self) -> bool:
        """Report whether the short form is not derived from the detail."""
        return bool(self._short)

    @property
    def remedy(self) -> Remedy:
        return CODES[self.code].remedy

    @property
    def retry_events(self) -> tuple[RetryEvent, ...]:
        return CODES[self.code].retry_events


def shortened_line(text: str, limit: int = MAX_SHORT) -> str:
    """Return the text as one line of at most `limit` characters, cut between words, not after the number of a list."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    kept = line[: limit - 2].rpartition(" ")[0].rstrip(" ,;:") or line[: limit - 3]
    head, _, item = kept.rpartition(", ")
    kept = head if head and item.isdigit() else kept
    return f"{kept[: limit - 3]}..."
