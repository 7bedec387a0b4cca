"""Volumes and their claims."""

from stromboli.core.model.reasons.codes import CAPACITY, Code, CodeFacts, Remedy, RetryEvent

FACTS: dict[Code, CodeFacts] = {
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
        "Wait for pods with volumes to end, or add nodes.", (*CAPACITY, RetryEvent.STORAGE_CHANGED),
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
}  # fmt: skip
