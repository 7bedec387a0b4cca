"""Preemption that does not happen."""

from stromboli.core.model.reasons.codes import CAPACITY, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
    Code.NO_PREEMPTABLE_PODS: CodeFacts(
        "no preemptable pods",
        "No running pod may be preempted for it.", Remedy.WAIT,
        "Wait for pods to end, or raise the priority of the job or the share of its queue.", CAPACITY,
    ),
    Code.PREEMPTION_INSUFFICIENT: CodeFacts(
        "preemption insufficient",
        "Preempting all allowed pods would not free enough capacity.", Remedy.WAIT,
        "Wait for pods to end, ask for less, or add nodes.", CAPACITY,
    ),
    Code.DISRUPTION_BUDGET: CodeFacts(
        "disruption budget spent",
        "PodDisruptionBudgets protect the pods that could be preempted.", Remedy.WAIT,
        "Wait until the protected pods are healthy again, or allow more disruptions.", CAPACITY,
    ),
    Code.NEVER_PREEMPTS: CodeFacts(
        "preemption policy Never",
        "The pod may not preempt others.", Remedy.CHANGE_REQUEST,
        "Wait for pods to end, or use a priority class without `preemptionPolicy: Never`.",
        (*CAPACITY, RetryEvent.POD_CHANGED),
    ),
    Code.PREEMPTION_RATE: CodeFacts(
        "preemption rate limited",
        "The evicted jobs of a period have reached the limit of the action, for the queue or for the cluster.",
        Remedy.WAIT,
        "Wait until the period is over, or raise `queuePreemptionRate` or `preemptionRate` of the action.",
        (*CAPACITY, RetryEvent.TIME),
    ),
    Code.PREEMPTION_POSTPONED: CodeFacts(
        "preemption postponed",
        "The pods that would be evicted write a checkpoint or end soon, and lose less work then.", Remedy.WAIT,
        "Wait until then, or shorten `checkpointWait` of the action.",
        (*CAPACITY, RetryEvent.TIME),
    ),
}  # fmt: skip
