"""Volumes, and everything that says where a pod with a claim may run."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.constraints import NodeSelector
from stromboli.kube.objects.meta import Int32, KubeLabelSelector, KubeRequirement, Resources, TopLevel, Wire

STORAGE_GROUP = "storage.k8s.io"

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The node that a scheduler chose for the first pod of a claim that waits for one; the provisioner reads it."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class VolumeRequest(Wire):
    """How much storage is asked for, under the key `storage`."""

    requests: Resources | None = None


class PersistentVolumeClaimSpec(Wire):
    """What the claimant asks for. A class of "" wants no class; none at all wants the default."""

    access_modes: list[str] | None = None
    resources: VolumeRequest | None = None
    selector: KubeLabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None


class PersistentVolumeClaimStatus(Wire):
    """Whether a volume was found."""

    phase: str | None = None
    access_modes: list[str] | None = None
    capacity: Resources | None = None


class PersistentVolumeClaim(TopLevel):
    """A wish for a volume."""

    kind_name: ClassVar[str] = "PersistentVolumeClaim"

    namespaced: ClassVar[bool] = True

    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)

    @property
    def reference(self) -> dict[str, str]:
        """How a volume names the claim that it belongs to."""
        metadata = self.metadata
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
        }

    @property
    def is_bound(self) -> bool:
        """Whether claim and volume belong together for good."""
        complete = self.status.phase == "Bound" or BIND_COMPLETED in (self.metadata.annotations or {})
        return bool(self.spec.volume_name) and complete

    @property
    def selected_node(self) -> str:
        return (self.metadata.annotations or {}).get(SELECTED_NODE, "")


class ClaimReference(Wire):
    """The claim that a volume is promised to: by name, and once they belong together for good, by uid."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class CsiVolume(Wire):
    """A volume that a storage driver serves, which may limit how many a node can hold."""

    driver: str | None = None
    volume_handle: str | None = None


class VolumeNodeAffinity(Wire):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire):
    """What the volume offers, and to whom it is promised."""

    capacity: Resources | None = None
    access_modes: list[str] | None = None
    claim_ref: ClaimReference | None = None
    csi: CsiVolume | None = None
    node_affinity: VolumeNodeAffinity | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    persistent_volume_reclaim_policy: str | None = None


class PersistentVolumeStatus(Wire):
    """Available, Bound, Released or Failed."""

    phase: str | None = None


class PersistentVolume(TopLevel):
    """A piece of storage."""

    kind_name: ClassVar[str] = "PersistentVolume"

    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


class TopologySelectorTerm(Wire):
    """Where volumes of a class may be made; all clauses must hold."""

    match_label_expressions: list[KubeRequirement] | None = None


class StorageClass(TopLevel):
    """How volumes are made, and whether that waits for the first pod."""

    kind_name: ClassVar[str] = "StorageClass"
    group: ClassVar[str] = STORAGE_GROUP

    provisioner: str | None = None
    volume_binding_mode: str | None = None
    reclaim_policy: str | None = None
    allowed_topologies: list[TopologySelectorTerm] | None = None


class VolumeLimit(Wire):
    """How many volumes of a driver a node can hold; none said means no limit."""

    count: Int32 | None = None


class CsiNodeDriver(Wire):
    """A storage driver as it is installed on a node."""

    name: str | None = None
    node_id: str | None = msgspec.field(default=None, name="nodeID")
    topology_keys: list[str] | None = None
    allocatable: VolumeLimit | None = None


class CSINodeSpec(Wire):
    """The drivers of a node."""

    drivers: list[CsiNodeDriver] | None = None


class CSINode(TopLevel):
    """What storage a node can reach; named like the node."""

    kind_name: ClassVar[str] = "CSINode"
    group: ClassVar[str] = STORAGE_GROUP

    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(Wire):
    """What the driver expects of others."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None


class CSIDriver(TopLevel):
    """A storage driver."""

    kind_name: ClassVar[str] = "CSIDriver"
    group: ClassVar[str] = STORAGE_GROUP

    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(TopLevel):
    """How much of a storage class can still be had on the nodes that the topology selects."""

    kind_name: ClassVar[str] = "CSIStorageCapacity"
    group: ClassVar[str] = STORAGE_GROUP
    namespaced: ClassVar[bool] = True

    storage_class_name: str | None = None
    node_topology: KubeLabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class AttachedVolume(Wire):
    """Which volume is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire):
    """What is to be attached where."""

    attacher: str | None = None
    node_name: str | None = None
    source: AttachedVolume | None = None


class VolumeAttachment(TopLevel):
    """A volume on its way to a node or there; it counts against the limit of the node's driver."""

    kind_name: ClassVar[str] = "VolumeAttachment"
    group: ClassVar[str] = STORAGE_GROUP

    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)
