"""Volumes, claims, storage classes and CSI objects."""

from typing import ClassVar

import msgspec

from stromboli.kube.objects.constraints import NodeSelector
from stromboli.kube.objects.meta import Int32, KubeLabelSelector, KubeRequirement, Resources, TopLevel, Wire

STORAGE_GROUP = "storage.k8s.io"

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The node that the scheduler selected for the first pod of an unbound claim; the provisioner reads it."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class VolumeRequest(Wire):
    """Requested storage, under the key `storage`."""

    requests: Resources | None = None


class PersistentVolumeClaimSpec(Wire):
    """The requested volume. Class "" requests no class; an absent class requests the default."""

    access_modes: list[str] | None = None
    resources: VolumeRequest | None = None
    selector: KubeLabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None


class PersistentVolumeClaimStatus(Wire):
    """Phase of the claim."""

    phase: str | None = None
    access_modes: list[str] | None = None
    capacity: Resources | None = None


class PersistentVolumeClaim(TopLevel):
    """A claim of a volume."""

    kind_name: ClassVar[str] = "PersistentVolumeClaim"

    namespaced: ClassVar[bool] = True

    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)

    @property
    def reference(self) -> dict[str, str]:
        """The key by which a volume references the claim."""
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
        """Report whether claim and volume are bound completely."""
        complete = self.status.phase == "Bound" or BIND_COMPLETED in (self.metadata.annotations or {})
        return bool(self.spec.volume_name) and complete

    @property
    def selected_node(self) -> str:
        return (self.metadata.annotations or {}).get(SELECTED_NODE, "")


class ClaimReference(Wire):
    """The claim that a volume is reserved for: by name, and by uid once bound completely."""

    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class CsiVolume(Wire):
    """A CSI volume; its driver may limit the volumes per node."""

    driver: str | None = None
    volume_handle: str | None = None


class VolumeNodeAffinity(Wire):
    """The nodes from which a volume is accessible."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire):
    """Properties of the volume, and the claim it is reserved for."""

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
    """A volume."""

    kind_name: ClassVar[str] = "PersistentVolume"

    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


class TopologySelectorTerm(Wire):
    """Topology in which volumes of a class are provisioned; all expressions must hold."""

    match_label_expressions: list[KubeRequirement] | None = None


class StorageClass(TopLevel):
    """Provisioner and volume binding mode of a class."""

    kind_name: ClassVar[str] = "StorageClass"
    group: ClassVar[str] = STORAGE_GROUP

    provisioner: str | None = None
    volume_binding_mode: str | None = None
    reclaim_policy: str | None = None
    allowed_topologies: list[TopologySelectorTerm] | None = None


class VolumeLimit(Wire):
    """The maximum number of a driver's volumes on a node; absent means no limit."""

    count: Int32 | None = None


class CsiNodeDriver(Wire):
    """A CSI driver installed on a node."""

    name: str | None = None
    node_id: str | None = msgspec.field(default=None, name="nodeID")
    topology_keys: list[str] | None = None
    allocatable: VolumeLimit | None = None


class CSINodeSpec(Wire):
    """The drivers of a node."""

    drivers: list[CsiNodeDriver] | None = None


class CSINode(TopLevel):
    """CSI drivers of the node with the same name."""

    kind_name: ClassVar[str] = "CSINode"
    group: ClassVar[str] = STORAGE_GROUP

    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(Wire):
    """Requirements of the driver."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None


class CSIDriver(TopLevel):
    """A CSI driver."""

    kind_name: ClassVar[str] = "CSIDriver"
    group: ClassVar[str] = STORAGE_GROUP

    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(TopLevel):
    """Remaining capacity of a storage class on the nodes that the topology selects."""

    kind_name: ClassVar[str] = "CSIStorageCapacity"
    group: ClassVar[str] = STORAGE_GROUP
    namespaced: ClassVar[bool] = True

    storage_class_name: str | None = None
    node_topology: KubeLabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
