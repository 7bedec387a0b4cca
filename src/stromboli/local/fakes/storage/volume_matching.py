"""Selection of a volume for a claim, and provisioning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stromboli.kube.objects.meta import Resources
from stromboli.kube.objects.selectors import matches
from stromboli.kube.objects.storage import (
    BOUND_BY_CONTROLLER,
    DEFAULT_CLASS,
    NO_PROVISIONER,
    PROVISIONED_BY,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from stromboli.local.api_server.quantities import amount_of
from stromboli.local.fakes.kubelet.simulated_nodes import HOSTNAME, SIMULATED


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The newest of the default classes."""
    defaults = [one for one in classes if (one.metadata.annotations or {}).get(DEFAULT_CLASS) == "true"]
    return max(defaults, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name), default=None)


def is_delayed(storage_class: StorageClass | None) -> bool:
    """Report whether claims of the class wait for a node of their first pod."""
    return storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"


def selected_node(claim: PersistentVolumeClaim) -> str | None:
    return (claim.metadata.annotations or {}).get(SELECTED_NODE) or None


def choose(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, delayed: bool
) -> PersistentVolume | None:
    """The volume reserved for the claim, or the smallest that fits; for delayed claims only a reserved one."""
    candidates = list(volumes)
    promised = next((volume for volume in candidates if is_reserved_for_claim(volume, claim)), None)
    if promised is not None or delayed:
        return promised
    suited = [volume for volume in candidates if volume.spec.claim_ref is None and _fits(volume, claim)]
    return min(suited, key=lambda volume: (_size(volume.spec.capacity), volume.metadata.name), default=None)


def is_reserved_for_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume is reserved for the claim: by name, and by uid if it has one."""
    to = volume.spec.claim_ref
    if to is None:
        return False
    same_name = (to.namespace, to.name) == (claim.metadata.namespace, claim.metadata.name)
    return same_name and to.uid in (None, "", claim.metadata.uid)


def may_provision(claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> bool:
    if storage_class is None or storage_class.provisioner in (None, "", NO_PROVISIONER) or claim.spec.volume_name:
        return False
    return not is_delayed(storage_class) or selected_node(claim) is not None


def provisioned(claim: PersistentVolumeClaim, storage_class: StorageClass) -> dict[str, Any]:
    """A new volume: a directory on the selected node, or one that is accessible everywhere."""
    node = selected_node(claim) if is_delayed(storage_class) else None
    name, spec = f"pvc-{claim.metadata.uid}", claim.spec
    requests = (spec.resources.requests if spec.resources else None) or {}
    body: dict[str, Any] = {
        "capacity": {"storage": requests.get("storage", "1Gi")},
        "accessModes": spec.access_modes or ["ReadWriteOnce"],
        "claimRef": claim.reference,
        "storageClassName": storage_class.metadata.name,
        "volumeMode": spec.volume_mode or "Filesystem",
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
        "hostPath": {"path": f"/simulated/{name}", "type": ""},
    }
    if node is not None:
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
        body["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    annotations = {PROVISIONED_BY: storage_class.provisioner, BOUND_BY_CONTROLLER: "yes"}
    return {"metadata": {"name": name, "labels": {SIMULATED: "true"}, "annotations": annotations}, "spec": body}


def _fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    offered, wanted = volume.spec, claim.spec
    if volume.metadata.deletion_timestamp is not None or volume.status.phase in ("Released", "Failed"):
        return False
    if wanted.volume_name:
        return volume.metadata.name == wanted.volume_name
    if (offered.storage_class_name or "") != (wanted.storage_class_name or ""):
        return False
    if (offered.volume_mode or "Filesystem") != (wanted.volume_mode or "Filesystem"):
        return False
    if not set(wanted.access_modes or ()) <= set(offered.access_modes or ()):
        return False
    if wanted.selector is not None and not matches(wanted.selector, volume.metadata.labels):
        return False
    return _size(offered.capacity) >= _size(wanted.resources.requests if wanted.resources else None)


def _size(resources: Resources | None) -> int:
    """The requested size; an invalid one counts as absent, the server would have rejected it."""
    try:
        return amount_of((resources or {}).get("storage", 0))
    except ValueError:
        return 0
