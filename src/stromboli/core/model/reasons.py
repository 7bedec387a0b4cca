"""Reasons for refusals: a stable code, a message, and the events after which to retry."""

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
    """What can be done about a refusal."""

    WAIT = "wait"
    CHANGE_REQUEST = "change the request"
    ASK_ADMINISTRATOR = "ask the administrator"


class Code(StrEnum):
    """Stable reason codes. Tools may match on these; messages may change."""

    INSUFFICIENT_RESOURCE = "InsufficientResource"
    TOO_MANY_PODS = "TooManyPods"
    CAPACITY_NOMINATED = "RoomHeld"
    CAPACITY_RESERVED = "RoomReserved"
    START_RESERVED = "StartReserved"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NOT_READY = "NodeNotReady"
    NODE_REFUSED = "NodeRefusedPod"
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
    CAPACITY_RESERVED_FOR_DEVICES = "KeptForDevices"
    NO_DEVICES = "NoDevices"
    DEVICES_TAKEN = "DevicesTaken"
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
    CLAIMED_DEVICES_TAKEN = "ClaimedDevicesTaken"
    DEVICES_DO_NOT_FIT = "ClaimedDevicesDoNotFit"
    DEVICES_UNDECIDED = "ClaimedDevicesUndecided"
    PLUGIN_REFUSED = "PluginRefused"
    PLUGIN_FAILED = "PluginFailed"
    NO_NODES = "NoNodes"
    GANG_DOES_NOT_FIT = "GangShortOfRoom"
    GANG_STALE = "GangStale"
    NOT_ENOUGH_TASKS = "NotEnoughTasks"
    NOT_ENOUGH_PODS_OF_ROLE = "NotEnoughPodsOfTask"
    NOT_ENOUGH_SUB_GROUPS = "NotEnoughSubGroups"
    NOT_ADMITTED = "NotAdmitted"
    CLUSTER_OVERCOMMITTED = "ClusterOvercommitted"
    QUEUE_CAPABILITY = "QueueCapabilityExceeded"
    QUEUE_SHARE = "QueueShareExhausted"
    QUEUE_OVERUSED = "QueueOverused"
    QUEUE_CLOSED = "QueueNotOpen"
    QUEUE_UNKNOWN = "QueueUnknown"
    QUEUE_MISPLACED = "QueueMisplaced"
    UNKNOWN_TIER = "UnknownTier"
    NO_DOMAIN = "NoDomainFits"
    SCHEDULING_GATED = "SchedulingGated"
    BIND_FAILED = "BindFailed"
    NO_PODS = "NoPodsYet"
    PIPELINED = "WaitingForRelease"
    INVALID_OBJECT = "InvalidObject"
    ROLE_REFUSED = "RoleAlreadyRefused"
    NO_PREEMPTABLE_PODS = "NoLawfulVictims"
    PREEMPTION_INSUFFICIENT = "EvictionInVain"
    DISRUPTION_BUDGET = "DisruptionBudgetSpent"
    NEVER_PREEMPTS = "PreemptionPolicyNever"


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The meaning of a code, for the reference page and for `explain`."""

    meaning: str
    remedy: Remedy
    advice: str
    retry_events: tuple[RetryEvent, ...]


_ROOM = (RetryEvent.POD_REMOVED, RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED)

CODES: dict[Code, CodeFacts] = {
    Code.INSUFFICIENT_RESOURCE: CodeFacts(
        "The node has not enough of a resource left.", Remedy.WAIT,
        "Wait for pods to end, ask for less, or add nodes.", _ROOM,
    ),
    Code.TOO_MANY_PODS: CodeFacts(
        "The node already runs as many pods as it may.", Remedy.WAIT, "Wait for pods to end or add nodes.", _ROOM
    ),
    Code.CAPACITY_NOMINATED: CodeFacts(
        "The node has the room, or will have it, but it is kept for a pod that others were evicted for or that has "
        "waited for it.", Remedy.WAIT,
        "Wait for more room; a higher priority within the same queue goes before the one that waits.", _ROOM,
    ),
    Code.CAPACITY_RESERVED: CodeFacts(
        "There is room, but it is reserved for another job that will start before this one ends.",
        Remedy.CHANGE_REQUEST,
        "Wait; or, if it is true, declare a shorter run time, with the annotation `scheduling.stromboli.dev/run-time` "
        "or with `activeDeadlineSeconds` on every pod.", (*_ROOM, RetryEvent.POD_CHANGED, RetryEvent.TIME),
    ),
    Code.START_RESERVED: CodeFacts(
        "The job has a reservation: it starts at the named time, or earlier when there is room.", Remedy.WAIT,
        "Wait; whoever would be in its way is held back.", (*_ROOM, RetryEvent.TIME),
    ),
    Code.NODE_UNSCHEDULABLE: CodeFacts(
        "The node is cordoned.", Remedy.ASK_ADMINISTRATOR, "Uncordon the node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED)
    ),
    Code.NODE_NOT_READY: CodeFacts(
        "The node reports that it is not ready.", Remedy.ASK_ADMINISTRATOR, "Repair the node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.OUTSIDE_SHARD: CodeFacts(
        "The node belongs to the shard of another scheduler, or is still in use by it.", Remedy.ASK_ADMINISTRATOR,
        "Give the shard of this scheduler more nodes, in `spec.nodesDesired` of its NodeShard or by their labels, or "
        "name the scheduler whose nodes they are.", (RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED),
    ),
    Code.NODE_REFUSED: CodeFacts(
        "The pod could not be bound to the node a short while ago, so the node is avoided for this pod for a while.",
        Remedy.WAIT, "See the events of the pod for what went wrong with the bind.", (RetryEvent.TIME,),
    ),
    Code.NODE_SELECTOR: CodeFacts(
        "The node's labels do not match the pod's node selector.", Remedy.CHANGE_REQUEST,
        "Change spec.nodeSelector or label a node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.NODE_AFFINITY: CodeFacts(
        "The node does not satisfy the pod's required node affinity.", Remedy.CHANGE_REQUEST,
        "Change the node affinity or label a node.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.TAINT: CodeFacts(
        "The node has a taint that the pod does not tolerate.", Remedy.CHANGE_REQUEST,
        "Add a toleration, or remove the taint.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.HOST_PORT: CodeFacts(
        "Another pod on the node holds the host port.", Remedy.WAIT, "Wait, or use another host port.", _ROOM
    ),
    Code.POD_AFFINITY: CodeFacts(
        "No pod that this one must be near stands in the node's domain.", Remedy.CHANGE_REQUEST,
        "Start the pods it refers to, or change the pod affinity.",
        (RetryEvent.POD_ADDED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.POD_ANTI_AFFINITY: CodeFacts(
        "A pod that this one must stay away from stands in the node's domain.", Remedy.WAIT,
        "Wait, add nodes in other domains, or relax the anti-affinity.", _ROOM,
    ),
    Code.EXISTING_ANTI_AFFINITY: CodeFacts(
        "A pod in the node's domain refuses to be near this one.", Remedy.WAIT,
        "Wait, or add nodes in other domains.", _ROOM,
    ),
    Code.TOPOLOGY_SPREAD: CodeFacts(
        "Placing the pod here would make the spread over domains too uneven.", Remedy.WAIT,
        "Add room in the emptier domains, or raise maxSkew.", (*_ROOM, RetryEvent.POD_ADDED),
    ),
    Code.NAMESPACE_QUOTA: CodeFacts(
        "A quota of the namespace leaves too little for the job.", Remedy.ASK_ADMINISTRATOR,
        "Wait for pods of the namespace to end, lower minResources, or ask for a larger quota.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUOTA_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.REVOCABLE_NODE: CodeFacts(
        "The node is lent out for some hours only, and does not take the pod now.", Remedy.WAIT,
        "Wait for the hours of the zone, mark the pod as preemptable, or add nodes.",
        (RetryEvent.TIME, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.NODE_LOAD: CodeFacts(
        "The node was measured to use more of its cpu or memory than the configuration allows.", Remedy.WAIT,
        "Wait for the load to fall, add nodes, or raise the thresholds of the plugin usage.",
        (RetryEvent.TIME, RetryEvent.NODE_ADDED, RetryEvent.POD_REMOVED),
    ),
    Code.NUMA_POLICY: CodeFacts(
        "The node does not hand out processors by the NUMA policy that the pod names, or does not say how.",
        Remedy.ASK_ADMINISTRATOR,
        "Name the policy of the nodes in the annotation, or have kubelets with that policy and the exporter of their "
        "Numatopology.", (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.POD_CHANGED),
    ),
    Code.NUMA_ALIGNMENT: CodeFacts(
        "The node has no free processors in so few NUMA nodes as its policy demands.", Remedy.WAIT,
        "Wait for pods to end, ask for fewer processors, or add nodes.", _ROOM,
    ),
    Code.NODE_GROUP: CodeFacts(
        "The node is in no group that the queue may use.", Remedy.ASK_ADMINISTRATOR,
        "Name the group in spec.affinity of the queue, label a node, or use another queue.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED, RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.NODE_GROUP_LIMIT: CodeFacts(
        "The queue may not use more of the node's group.", Remedy.ASK_ADMINISTRATOR,
        "Wait for the queue's pods in the group to end, or ask for a higher limit.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUEUE_CHANGED),
    ),
    Code.CAPACITY_RESERVED_FOR_DEVICES: CodeFacts(
        "What is left on the node belongs to its idle devices.", Remedy.WAIT,
        "Wait for pods without devices to end, add nodes, or lower resourceProportion.", _ROOM,
    ),
    Code.NO_DEVICES: CodeFacts(
        "The node has registered no devices of the kind that the pod wants to share.", Remedy.ASK_ADMINISTRATOR,
        "Install the device plugin on the node, or correct what it registered.",
        (RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.DEVICES_TAKEN: CodeFacts(
        "No set of the node's devices has enough memory, cores or places left that the pod may have.", Remedy.WAIT,
        "Wait for pods to end, ask for less of each device, or allow other types of devices.", _ROOM,
    ),
    Code.CLAIM_MISSING: CodeFacts(
        "A claim that the pod uses does not exist, or is not its own.", Remedy.CHANGE_REQUEST,
        "Create the named PersistentVolumeClaim, or correct spec.volumes of the pod.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.POD_CHANGED),
    ),
    Code.CLAIM_LOST: CodeFacts(
        "A claim that the pod uses has lost its volume, or is being deleted.", Remedy.CHANGE_REQUEST,
        "Create the claim anew, or bring its volume back.", (RetryEvent.STORAGE_CHANGED, RetryEvent.POD_CHANGED),
    ),
    Code.CLAIM_UNBOUND: CodeFacts(
        "A claim that does not wait for a node has no volume yet.", Remedy.ASK_ADMINISTRATOR,
        "Wait for the provisioner, or read the events of the claim.", (RetryEvent.STORAGE_CHANGED,),
    ),
    Code.STORAGE_CLASS_MISSING: CodeFacts(
        "The storage class of a claim does not exist.", Remedy.CHANGE_REQUEST,
        "Create the StorageClass, or name another one in the claim.", (RetryEvent.STORAGE_CHANGED,),
    ),
    Code.VOLUME_AFFINITY: CodeFacts(
        "The volume of a claim cannot be reached from the node.", Remedy.WAIT,
        "Wait for room on the nodes that reach the volume.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.VOLUME_ZONE: CodeFacts(
        "The volume of a claim is in another zone or region.", Remedy.WAIT,
        "Wait for room in the zone of the volume.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.VOLUME_LIMIT: CodeFacts(
        "The node holds as many volumes of a driver as it can.", Remedy.WAIT,
        "Wait for pods with volumes to end, or add nodes.", (*_ROOM, RetryEvent.STORAGE_CHANGED),
    ),
    Code.VOLUME_IN_USE: CodeFacts(
        "Another pod uses a claim that only one pod may use.", Remedy.WAIT,
        "Wait for the other pod to end, or use another access mode than ReadWriteOncePod.",
        (RetryEvent.POD_REMOVED, RetryEvent.POD_CHANGED, RetryEvent.STORAGE_CHANGED),
    ),
    Code.NO_VOLUME: CodeFacts(
        "There is no free volume that a claim could have on the node, and none can be made there.",
        Remedy.ASK_ADMINISTRATOR,
        "Create volumes, or use a storage class that makes them on these nodes.",
        (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.NO_STORAGE: CodeFacts(
        "The node has too little storage left to make the volume of a claim.", Remedy.ASK_ADMINISTRATOR,
        "Free or add storage, or ask for a smaller volume.", (RetryEvent.STORAGE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.RESOURCE_CLAIM_MISSING: CodeFacts(
        "The pod uses a resource claim that does not exist, or that belongs to another pod.", Remedy.CHANGE_REQUEST,
        "Create the claim, or its template; for a claim that is made for the pod, see that its name is free.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.POD_CHANGED),
    ),
    Code.RESOURCE_CLAIM_UNUSABLE: CodeFacts(
        "A resource claim of the pod is being deleted, or as many pods use it as may.", Remedy.WAIT,
        "Wait until it is gone and create it anew, or until others have ended.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.POD_REMOVED),
    ),
    Code.DEVICE_CLASS_MISSING: CodeFacts(
        "A resource claim of the pod names a device class that does not exist.", Remedy.ASK_ADMINISTRATOR,
        "Create the DeviceClass, or name another one in the claim.", (RetryEvent.DEVICES_CHANGED,),
    ),
    Code.RESOURCE_CLAIM_ELSEWHERE: CodeFacts(
        "A resource claim of the pod has devices that cannot be used from this node.", Remedy.WAIT,
        "Wait for room on the nodes that reach the devices.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.NO_CLAIMED_DEVICE: CodeFacts(
        "The node has too few devices that satisfy a request of a resource claim, free or not.",
        Remedy.CHANGE_REQUEST, "Ask for fewer or other devices, or add nodes that have them.",
        (RetryEvent.DEVICES_CHANGED, RetryEvent.NODE_CHANGED, RetryEvent.NODE_ADDED),
    ),
    Code.CLAIMED_DEVICES_TAKEN: CodeFacts(
        "Devices that would satisfy a request of a resource claim are in use by others.", Remedy.WAIT,
        "Wait for pods that use them to end, or add nodes that have such devices.",
        (*_ROOM, RetryEvent.DEVICES_CHANGED),
    ),
    Code.DEVICES_DO_NOT_FIT: CodeFacts(
        "There are free devices for every request by itself, but not for all of them together: because of constraints, "
        "or because they draw from the same counters or capacity.", Remedy.CHANGE_REQUEST,
        "Ask for less, or loosen the constraints of the claim.", (*_ROOM, RetryEvent.DEVICES_CHANGED),
    ),
    Code.DEVICES_UNDECIDED: CodeFacts(
        "Whether the node has devices for the claims of the pod cannot be said: an expression has no answer for one of "
        "them, a pool is incomplete, or the search was given up.", Remedy.CHANGE_REQUEST,
        "Mend the expression so that it has an answer for every device, or ask for less.",
        (RetryEvent.DEVICES_CHANGED,),
    ),
    Code.PLUGIN_REFUSED: CodeFacts(
        "A plugin refused the node.", Remedy.ASK_ADMINISTRATOR, "Read the plugin's documentation.", tuple(RetryEvent)
    ),
    Code.PLUGIN_FAILED: CodeFacts(
        "A plugin raised an error; its answer counts as a refusal.", Remedy.ASK_ADMINISTRATOR,
        "Report the error to whoever maintains the plugin.", tuple(RetryEvent),
    ),
    Code.NO_NODES: CodeFacts(
        "The cluster has no nodes.", Remedy.ASK_ADMINISTRATOR, "Add nodes.", (RetryEvent.NODE_ADDED,)
    ),
    Code.GANG_DOES_NOT_FIT: CodeFacts(
        "Some members have a place, but not as many as must start together.", Remedy.WAIT,
        "Wait for room, lower minMember, or ask for less per pod.", (*_ROOM, RetryEvent.JOB_CHANGED),
    ),
    Code.GANG_STALE: CodeFacts(
        "The gang runs with fewer members than must run together.", Remedy.WAIT,
        "Create the missing pods or make room for them; otherwise the rest is evicted after the grace period.",
        (*_ROOM, RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED, RetryEvent.TIME),
    ),
    Code.NOT_ENOUGH_TASKS: CodeFacts(
        "Fewer pods exist than must start together.", Remedy.CHANGE_REQUEST,
        "Create the missing pods or lower minMember.", (RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED),
    ),
    Code.NOT_ENOUGH_PODS_OF_ROLE: CodeFacts(
        "A role has fewer pods than its minimum.", Remedy.CHANGE_REQUEST,
        "Create the missing pods or lower minTaskMember.", (RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED),
    ),
    Code.NOT_ENOUGH_SUB_GROUPS: CodeFacts(
        "Fewer sub-groups exist than must start together.", Remedy.CHANGE_REQUEST,
        "Create the missing pods or lower minSubGroups.", (RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED),
    ),
    Code.NOT_ADMITTED: CodeFacts(
        "The job has not been let into its queue yet.", Remedy.WAIT, "Wait for room in the queue or the cluster.",
        (*_ROOM, RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.CLUSTER_OVERCOMMITTED: CodeFacts(
        "The jobs already admitted may use all that the cluster has.", Remedy.WAIT,
        "Wait for jobs to end, lower minResources, or raise overcommit-factor.", (*_ROOM, RetryEvent.JOB_CHANGED),
    ),
    Code.QUEUE_CAPABILITY: CodeFacts(
        "The queue may not use more than its capability.", Remedy.ASK_ADMINISTRATOR,
        "Wait for the queue's jobs to end, or ask for a larger capability.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_SHARE: CodeFacts(
        "The queue already has what it deserves of a resource.", Remedy.WAIT,
        "Wait for the queue's jobs to end, or ask for a larger share for the queue.",
        (*_ROOM, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_OVERUSED: CodeFacts(
        "The queue has all it deserves of every resource.", Remedy.WAIT,
        "Wait for the queue's jobs to end, or ask for a larger share for the queue.",
        (*_ROOM, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_CLOSED: CodeFacts(
        "The queue is closed.", Remedy.ASK_ADMINISTRATOR, "Open the queue or use another.", (RetryEvent.QUEUE_CHANGED,)
    ),
    Code.QUEUE_UNKNOWN: CodeFacts(
        "No queue has this name.", Remedy.CHANGE_REQUEST, "Create the queue or correct spec.queue.",
        (RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.QUEUE_MISPLACED: CodeFacts(
        "The queue has no place in the tree of queues, or is there for the queues below it.", Remedy.ASK_ADMINISTRATOR,
        "Correct spec.parent of the named queue, or name a queue that has none below it.",
        (RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.UNKNOWN_TIER: CodeFacts(
        "The job names a tier of the network that no HyperNode has, or a Topology or a level that there is not.",
        Remedy.CHANGE_REQUEST,
        "Correct `highestTierName` or the annotations `kai.scheduler/topology...`, or describe the network by "
        "HyperNodes or a Topology.", (RetryEvent.JOB_CHANGED, RetryEvent.NODE_CHANGED),
    ),
    Code.NO_DOMAIN: CodeFacts(
        "No part of the network that the job may be in has what the job needs.", Remedy.WAIT,
        "Wait for room in one of them, allow a higher tier with `highestTierAllowed`, or make the wish soft.",
        (*_ROOM, RetryEvent.JOB_CHANGED),
    ),
    Code.SCHEDULING_GATED: CodeFacts(
        "The pod has scheduling gates.", Remedy.CHANGE_REQUEST, "Remove the pod's schedulingGates.",
        (RetryEvent.POD_CHANGED,)
    ),
    Code.BIND_FAILED: CodeFacts(
        "The pod had a node, but could not be bound to it.", Remedy.WAIT,
        "Read the pod's events; it is tried again after a pause that grows.", (RetryEvent.POD_CHANGED,),
    ),
    Code.NO_PODS: CodeFacts(
        "The job was let in and has no pods yet.", Remedy.WAIT, "Its controller should create the pods now.",
        (RetryEvent.POD_ADDED,),
    ),
    Code.PIPELINED: CodeFacts(
        "The job has its room; it waits for pods that are being released.", Remedy.WAIT, "Wait.",
        (RetryEvent.POD_REMOVED,)
    ),
    Code.INVALID_OBJECT: CodeFacts(
        "An object of the job is not valid.", Remedy.CHANGE_REQUEST, "Correct the named field.",
        (RetryEvent.POD_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.ROLE_REFUSED: CodeFacts(
        "Another pod of the same role found no node, so this one was not tried.", Remedy.WAIT,
        "See the reason of the other pod.", _ROOM,
    ),
    Code.NO_PREEMPTABLE_PODS: CodeFacts(
        "There is no running pod that may be evicted to make room for it.", Remedy.WAIT,
        "Wait for pods to end, or raise the priority of the job or the share of its queue.", _ROOM,
    ),
    Code.PREEMPTION_INSUFFICIENT: CodeFacts(
        "The pods that may be evicted would not make the room it needs.", Remedy.WAIT,
        "Wait for pods to end, ask for less, or add nodes.", _ROOM,
    ),
    Code.DISRUPTION_BUDGET: CodeFacts(
        "Disruption budgets protect the pods that could make room for it.", Remedy.WAIT,
        "Wait until the protected pods are whole again, or allow more disruptions.", _ROOM,
    ),
    Code.NEVER_PREEMPTS: CodeFacts(
        "The pod may not take room from others.", Remedy.CHANGE_REQUEST,
        "Wait for pods to end, or give it a priority class without `preemptionPolicy: Never`.",
        (*_ROOM, RetryEvent.POD_CHANGED),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reason:
    """One refusal. `detail` is the message, with numbers and names."""

    code: Code
    detail: str

    def __str__(self) -> str:
        return self.detail

    @property
    def retry_events(self) -> tuple[RetryEvent, ...]:
        return CODES[self.code].retry_events
