"""Supported kinds, and decoding of documents into objects.

A kind is identified by its API group; the version does not matter, because the fields that are decoded have the same
names and meaning in all versions of their group.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import msgspec

from stromboli.kube.manifests.errors import ObjectError, description_of, object_error
from stromboli.kube.objects import native
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.claims import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from stromboli.kube.objects.cluster import (
    ConfigMap,
    KubeNode,
    Namespace,
    NodeMetrics,
    PodDisruptionBudget,
    PriorityClass,
    ResourceQuota,
)
from stromboli.kube.objects.pod import Pod
from stromboli.kube.objects.shards import NodeShard
from stromboli.kube.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology, Numatopology
from stromboli.kube.objects.volcano import KubeQueue, PodGroup

T = TypeVar("T", bound=msgspec.Struct)

KubeObject: TypeAlias = (
    KubeNode
    | Pod
    | PodGroup
    | native.NativePodGroup
    | KubeQueue
    | PriorityClass
    | Namespace
    | PodDisruptionBudget
    | ConfigMap
    | ResourceQuota
    | NodeMetrics
    | Numatopology
    | KubeHyperNode
    | KubeTopology
    | NodeShard
    | BindRequest
    | PersistentVolumeClaim
    | PersistentVolume
    | StorageClass
    | CSIDriver
    | CSINode
    | CSIStorageCapacity
    | ResourceClaim
    | ResourceClaimTemplate
    | ResourceSlice
    | DeviceClass
)

KINDS: dict[tuple[str, str], type[KubeObject]] = {
    (kind.group, kind.kind_name): kind
    for kind in (
        *(
            KubeNode,
            Pod,
            native.NativePodGroup,
            PodGroup,
            KubeQueue,
            PriorityClass,
            Namespace,
            PodDisruptionBudget,
            ConfigMap,
        ),
        *(ResourceQuota, NodeMetrics, Numatopology, KubeHyperNode, KubeTopology, NodeShard, BindRequest),
        *(PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver, CSINode, CSIStorageCapacity),
        *(ResourceClaim, ResourceClaimTemplate, ResourceSlice, DeviceClass),
    )
}
"""Type by API group and kind; the core group is ""."""


class Unknown(msgspec.Struct, frozen=True):
    """A well-formed object of an unsupported kind."""

    api_version: str
    kind: str


def decode(document: Mapping[str, object]) -> KubeObject | Unknown:
    """Decode a document. Raises ObjectError, which names the field and a remedy."""
    api_version = _text(document, "apiVersion", "write one, for example apiVersion: v1")
    kind = _text(document, "kind", "write one, for example kind: Pod")
    group = api_version.rpartition("/")[0]
    wanted = KINDS.get((group, kind))
    if wanted is None:
        return Unknown(api_version, kind)
    return as_type(document, wanted)


def as_type(document: Mapping[str, object], wanted: type[T]) -> T:
    """Decode a document of a known type. Raises ObjectError."""
    present = _without_nulls(document)
    for name in getattr(wanted, "never_null", ()):
        if isinstance(part := present.get(name), Mapping):
            present[name] = _without_nulls(part)
    try:
        return msgspec.convert(present, wanted)
    except msgspec.ValidationError as error:
        raise object_error(getattr(wanted, "kind_name", wanted.__name__), name_of(document), present, error) from None


def name_of(document: Mapping[str, object]) -> str:
    """`namespace/name` as far as present, for messages about documents that cannot be decoded."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    parts = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(part for part in parts if isinstance(part, str) and part)


def _without_nulls(document: Mapping[str, object]) -> dict[str, object]:
    """Drop null fields: null means the same as an absent field."""
    return {key: value for key, value in document.items() if value is not None}


def _text(document: Mapping[str, object], field: str, remedy: str) -> str:
    value = document.get(field)
    if isinstance(value, str) and value:
        return value
    message = f"expected a string, got {description_of(value)}" if value else "is missing"
    kind = document.get("kind")
    raise ObjectError(kind if isinstance(kind, str) and kind else "object", name_of(document), field, message, remedy)
