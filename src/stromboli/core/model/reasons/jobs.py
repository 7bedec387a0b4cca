"""Jobs: gangs, network domains, budgets of time, and objects that are not valid."""

from stromboli.core.model.reasons.codes import CAPACITY, SIZE, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
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
    Code.EXCEEDS_CLUSTER: CodeFacts(
        "larger than the cluster",
        "The pods that must start together do not fit into the cluster, even when it is empty.", Remedy.CHANGE_REQUEST,
        "Lower minMember or minResources, request less per pod, or add nodes.", SIZE,
    ),
    Code.GANG_DOES_NOT_FIT: CodeFacts(
        "gang does not fit",
        "Some members of the gang fit, but fewer than must start together.", Remedy.WAIT,
        "Wait for capacity, lower minMember, or request less per pod.", (*CAPACITY, RetryEvent.JOB_CHANGED),
    ),
    Code.GANG_STALE: CodeFacts(
        "gang below its minimum",
        "The gang runs with fewer members than must run together.", Remedy.WAIT,
        "Create the missing pods or free capacity for them; otherwise the rest is evicted after the grace period.",
        (*CAPACITY, RetryEvent.POD_ADDED, RetryEvent.JOB_CHANGED, RetryEvent.TIME),
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
        (*CAPACITY, RetryEvent.JOB_CHANGED),
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
        "capacity for them.", (RetryEvent.POD_ADDED, *CAPACITY),
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
}  # fmt: skip
