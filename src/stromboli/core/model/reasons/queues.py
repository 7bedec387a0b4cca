"""Queues, quotas of namespaces, and admission."""

from stromboli.core.model.reasons.codes import CAPACITY, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
    Code.NAMESPACE_QUOTA: CodeFacts(
        "namespace quota exceeded",
        "The ResourceQuota of the namespace is too small for the job.", Remedy.ASK_ADMINISTRATOR,
        "Wait for pods of the namespace to end, lower minResources, or ask for a larger quota.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUOTA_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.BUDGET_EXHAUSTED: CodeFacts(
        "budget used up",
        "A budget of the queue, the user or the namespace is used up for this period.", Remedy.ASK_ADMINISTRATOR,
        "Wait for the next period, or ask for a larger budget.",
        (RetryEvent.TIME, RetryEvent.QUEUE_CHANGED),
    ),
    Code.USAGE_LOADING: CodeFacts(
        "usage is being loaded",
        "A scheduler that begins to lead loads what is used of the job's budget from the history.", Remedy.WAIT,
        "Wait: after half a minute at most, the job is decided by what is known.", (RetryEvent.TIME,),
    ),
    Code.NOT_ADMITTED: CodeFacts(
        "not admitted yet",
        "The job has not been admitted to its queue yet.", Remedy.WAIT,
        "Wait for capacity in the queue or the cluster.",
        (*CAPACITY, RetryEvent.QUEUE_CHANGED, RetryEvent.JOB_CHANGED),
    ),
    Code.CLUSTER_OVERCOMMITTED: CodeFacts(
        "cluster overcommitted",
        "Running and admitted jobs may use the whole cluster.", Remedy.WAIT,
        "Wait for jobs to end, lower minResources, or raise overcommit-factor.", (*CAPACITY, RetryEvent.JOB_CHANGED),
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
        (*CAPACITY, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_OVERUSED: CodeFacts(
        "queue overused",
        "The queue uses its deserved share of every resource.", Remedy.WAIT,
        "Wait for the queue's jobs to end, or ask for a larger share for the queue.",
        (*CAPACITY, RetryEvent.QUEUE_CHANGED),
    ),
    Code.QUEUE_ORDER: CodeFacts(
        "held back by queue order",
        "The queue is strict: an earlier job of the queue waits for nodes that this one may use as well.",
        Remedy.WAIT,
        "Wait until the earlier job has started, or select nodes that it cannot use. Later jobs overtake with "
        "`dequeueStrategy: traverse` in the queue, and without `strict` in the arguments of `allocate`.",
        (*CAPACITY, RetryEvent.JOB_CHANGED, RetryEvent.QUEUE_CHANGED),
    ),
    Code.USER_LIMIT: CodeFacts(
        "user limit reached",
        "The user of the job, or a group of users, already holds as much as it may in this queue.", Remedy.WAIT,
        "Wait for jobs of the user or the group to end, or ask for a larger limit.",
        (RetryEvent.POD_REMOVED, RetryEvent.QUEUE_CHANGED),
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
}  # fmt: skip
