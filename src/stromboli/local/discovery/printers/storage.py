"""Columns of volumes, volume claims and resource claims."""

from __future__ import annotations

from datetime import datetime

from stromboli.local.discovery.printers.columns import AGE, NAME, UNSET, Cell, Field, Object, at, items, joined, text

_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _modes(*path: str) -> Field:
    def read(entry: Object, now: datetime) -> Cell:
        modes_present = set(items(entry, *path))
        return joined((short for mode, short in _SHORT_MODES.items() if mode in modes_present), "")

    return Field("Access Modes", read)


def _phase(entry: Object, now: datetime) -> Cell:
    return "Terminating" if at(entry, "metadata", "deletionTimestamp") else at(entry, "status", "phase") or ""


def _claim(volume: Object, now: datetime) -> Cell:
    claim = at(volume, "spec", "claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


_ATTRIBUTES_CLASS = Field("VolumeAttributesClass", text("spec", "volumeAttributesClassName", default=UNSET))
_VOLUME_MODE = Field("VolumeMode", text("spec", "volumeMode", default=UNSET), priority=1)

VOLUMES = (
    NAME,
    Field("Capacity", text("spec", "capacity", "storage")),
    _modes("spec", "accessModes"),
    Field("Reclaim Policy", text("spec", "persistentVolumeReclaimPolicy")),
    Field("Status", _phase),
    Field("Claim", _claim),
    Field("StorageClass", text("spec", "storageClassName")),
    _ATTRIBUTES_CLASS,
    Field("Reason", text("status", "reason")),
    AGE,
    _VOLUME_MODE,
)
VOLUME_CLAIMS = (
    NAME,
    Field("Status", _phase),
    Field("Volume", text("spec", "volumeName")),
    Field("Capacity", text("status", "capacity", "storage")),
    _modes("status", "accessModes"),
    Field("StorageClass", text("spec", "storageClassName")),
    _ATTRIBUTES_CLASS,
    AGE,
    _VOLUME_MODE,
)


def _class_name(entry: Object, now: datetime) -> Cell:
    name = at(entry, "metadata", "name") or ""
    is_default = (at(entry, "metadata", "annotations") or {}).get(_DEFAULT_CLASS) == "true"
    return f"{name} (default)" if is_default else name


STORAGE_CLASSES = (
    Field("Name", _class_name, format="name"),
    Field("Provisioner", text("provisioner")),
    Field("ReclaimPolicy", text("reclaimPolicy", default="Delete")),
    Field("VolumeBindingMode", text("volumeBindingMode", default="Immediate")),
    Field("AllowVolumeExpansion", text("allowVolumeExpansion", default="false")),
    AGE,
)
CSI_NODES = (NAME, Field("Drivers", lambda entry, now: len(items(entry, "spec", "drivers")), type="integer"), AGE)
CSI_DRIVERS = (
    NAME,
    Field("AttachRequired", text("spec", "attachRequired", default="true")),
    Field("PodInfoOnMount", text("spec", "podInfoOnMount", default="false")),
    Field("StorageCapacity", text("spec", "storageCapacity", default="false")),
    AGE,
)
CSI_CAPACITIES = (
    NAME,
    Field("StorageClassName", text("storageClassName")),
    Field("Capacity", text("capacity", default=UNSET)),
)
VOLUME_ATTACHMENTS = (
    NAME,
    Field("Attacher", text("spec", "attacher")),
    Field("PV", text("spec", "source", "persistentVolumeName")),
    Field("Node", text("spec", "nodeName")),
    Field("Attached", text("status", "attached", default="false")),
    AGE,
)


def _claim_state(claim: Object, now: datetime) -> Cell:
    states = []
    if at(claim, "metadata", "deletionTimestamp"):
        states.append("deleted")
    if at(claim, "status", "allocation") is None:
        return ",".join([*states, "pending"])
    states.append("allocated")
    if items(claim, "status", "reservedFor"):
        states.append("reserved")
    return ",".join(states)


RESOURCE_CLAIMS = (NAME, Field("State", _claim_state), AGE)
RESOURCE_SLICES = (
    NAME,
    Field("Node", text("spec", "nodeName", default=UNSET)),
    Field("Driver", text("spec", "driver")),
    Field("Pool", text("spec", "pool", "name")),
    AGE,
)
