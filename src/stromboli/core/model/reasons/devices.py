"""Devices: those of device plugins, and those of resource claims."""

from stromboli.core.model.reasons.codes import CAPACITY, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
    Code.CAPACITY_RESERVED_FOR_DEVICES: CodeFacts(
        "reserved for idle devices",
        "The remaining capacity of the node is reserved for its idle devices.", Remedy.WAIT,
        "Wait for pods without devices to end, add nodes, or lower resourceProportion.", CAPACITY,
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
        "Wait for pods to end, ask for less of each device, or allow other types of devices.", CAPACITY,
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
        (*CAPACITY, RetryEvent.DEVICES_CHANGED),
    ),
    Code.DEVICES_DO_NOT_FIT: CodeFacts(
        "claimed devices do not fit",
        "There are free devices for each request, but not for all of them together: because of constraints, shared "
        "counters or capacity.", Remedy.CHANGE_REQUEST,
        "Request less, or relax the constraints of the claim.", (*CAPACITY, RetryEvent.DEVICES_CHANGED),
    ),
    Code.DEVICES_UNDECIDED: CodeFacts(
        "device search incomplete",
        "The search for devices did not complete: an expression failed for a device, a pool is incomplete, or the "
        "search limit was reached.", Remedy.CHANGE_REQUEST,
        "Correct the expression so that it evaluates for every device, or request less.",
        (RetryEvent.DEVICES_CHANGED,),
    ),
}  # fmt: skip
