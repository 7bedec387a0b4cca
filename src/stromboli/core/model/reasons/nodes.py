"""Nodes: their capacity, their state, and the rules of plugins for them."""

from stromboli.core.model.reasons.codes import CAPACITY, SIZE, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
    Code.INSUFFICIENT_RESOURCE: CodeFacts(
        "insufficient resource",
        "The node, or the whole cluster, does not have enough of a resource.", Remedy.WAIT,
        "Wait for pods to end, ask for less, or add nodes.", CAPACITY,
    ),
    Code.TOO_MANY_PODS: CodeFacts(
        "too many pods",
        "The node already runs as many pods as it may.", Remedy.WAIT, "Wait for pods to end or add nodes.", CAPACITY
    ),
    Code.CAPACITY_NOMINATED: CodeFacts(
        "capacity nominated for others",
        "The node has enough capacity, now or later, but it is nominated for another pod.", Remedy.WAIT,
        "Wait for more capacity; within a queue, a job of higher priority may use nominated capacity.", CAPACITY,
    ),
    Code.CAPACITY_RESERVED: CodeFacts(
        "capacity reserved for others",
        "There is enough capacity, but it is reserved for another job: one that starts before this one ends, or has "
        "waited for too long.",
        Remedy.CHANGE_REQUEST,
        "Wait, or declare a shorter run time if applicable, with the annotation `scheduling.stromboli.dev/run-time` "
        "or with `activeDeadlineSeconds` on every pod.", (*CAPACITY, RetryEvent.POD_CHANGED, RetryEvent.TIME),
    ),
    Code.START_RESERVED: CodeFacts(
        "start reserved",
        "The job has a reservation: it starts at the given time, or earlier if capacity becomes available.",
        Remedy.WAIT, "Wait; jobs that would delay it are not started.", (*CAPACITY, RetryEvent.TIME),
    ),
    Code.NODES_RESERVED: CodeFacts(
        "nodes reserved",
        "The job has waited for longer than `starvationTime`: what becomes free on some nodes is reserved for it.",
        Remedy.WAIT, "Wait until pods on these nodes have ended; it starts elsewhere if it can.", CAPACITY,
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
    Code.NODE_REJECTED: CodeFacts(
        "bind failed recently",
        "A recent attempt to bind the pod to the node failed, so the node is avoided for this pod for a while.",
        Remedy.WAIT, "See the events of the pod for the failure.", (RetryEvent.TIME,),
    ),
    Code.OUTSIDE_SHARD: CodeFacts(
        "outside the shard",
        "The node belongs to the shard of another scheduler, or is still in use by it.", Remedy.ASK_ADMINISTRATOR,
        "Add nodes to the shard of this scheduler, in `spec.nodesDesired` of its NodeShard or by label, or use the "
        "scheduler that owns the nodes.", (RetryEvent.NODE_ADDED, RetryEvent.NODE_CHANGED),
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
        "Wait for pods to end, ask for fewer processors, or add nodes.", CAPACITY,
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
    Code.PLUGIN_REFUSED: CodeFacts(
        "refused by a plugin",
        "A plugin refused the node.", Remedy.ASK_ADMINISTRATOR, "Read the plugin's documentation.", tuple(RetryEvent)
    ),
    Code.PLUGIN_FAILED: CodeFacts(
        "plugin error",
        "A plugin raised an error, which counts as a refusal.", Remedy.ASK_ADMINISTRATOR,
        "Report the error to the maintainer of the plugin.", tuple(RetryEvent),
    ),
    Code.NO_NODES: CodeFacts(
        "the cluster has no nodes",
        "The cluster has no nodes.", Remedy.ASK_ADMINISTRATOR, "Add nodes.", (RetryEvent.NODE_ADDED,)
    ),
    Code.NO_NODE_HAS_RESOURCE: CodeFacts(
        "no node has the resource",
        "No node has any of a requested resource.", Remedy.CHANGE_REQUEST,
        "Correct the name of the resource, install its device plugin, or add nodes that have it.", SIZE,
    ),
    Code.EXCEEDS_EVERY_NODE: CodeFacts(
        "larger than every node",
        "A pod requests more than any node has, even when the node is empty.", Remedy.CHANGE_REQUEST,
        "Request less per pod, or add a larger node.", SIZE,
    ),
}  # fmt: skip
