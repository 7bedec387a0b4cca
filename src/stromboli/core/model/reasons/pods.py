"""Pods: their constraints, and what happened to them."""

from stromboli.core.model.reasons.codes import CAPACITY, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
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
        "Another pod on the node uses the host port.", Remedy.WAIT, "Wait, or use another host port.", CAPACITY
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
        "Wait, add nodes in other domains, or relax the anti-affinity.", CAPACITY,
    ),
    Code.EXISTING_ANTI_AFFINITY: CodeFacts(
        "anti-affinity of other pods",
        "An existing pod in the node's domain has an anti-affinity against this pod.", Remedy.WAIT,
        "Wait, or add nodes in other domains.", CAPACITY,
    ),
    Code.TOPOLOGY_SPREAD: CodeFacts(
        "topology spread violated",
        "Placing the pod on the node would violate a topology spread constraint.", Remedy.WAIT,
        "Add capacity in the domains with fewer pods, or raise maxSkew.", (*CAPACITY, RetryEvent.POD_ADDED),
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
    Code.ROLE_REFUSED: CodeFacts(
        "role already refused",
        "Another pod of the same role found no node, so this one was not tried.", Remedy.WAIT,
        "See the reason of the other pod.", CAPACITY,
    ),
}  # fmt: skip
