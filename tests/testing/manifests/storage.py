"""Claims, volumes and storage in a line, for cases that are about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.testing.manifests.builders import Manifest, given, manifest

STORAGE = "storage.k8s.io/v1"
DRIVER = "disks.example.com"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
ONCE = ("ReadWriteOnce",)


def using(*claims: str, **ephemeral: Manifest) -> list[Manifest]:
    """The volumes of a pod: claims by name, and ephemeral claims."""
    named = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    made = [{"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}} for name, spec in ephemeral.items()]
    return [*named, *made]


def claim_template_spec(
    size: str = "1Gi", of: str | None = "local", modes: Sequence[str] = ONCE, **spec: Any
) -> Manifest:
    """The spec of a claim."""
    return given(accessModes=list(modes), resources={"requests": {"storage": size}}, storageClassName=of, **spec)


def claim(
    name: str = "data",
    size: str = "1Gi",
    *,
    of: str | None = "local",
    has: str | None = None,
    modes: Sequence[str] = ONCE,
    phase: str | None = None,
    on: str | None = None,
    leaving: bool = False,
    owner: str | None = None,
    **spec: Any,
) -> Manifest:
    """A claim of a class; one that `has` a volume is bound to it, one that is `on` a node is being served there."""
    metadata = given(
        annotations={"volume.kubernetes.io/selected-node": on} if on else None,
        deletionTimestamp="2020-01-01T00:00:00Z" if leaving else None,
        ownerReferences=[{"kind": "Pod", "name": "p", "uid": owner, "controller": True}] if owner else None,
    )
    wanted = claim_template_spec(size, of, modes, volumeName=has, **spec)
    status = {"phase": phase or ("Bound" if has else "Pending")}
    return manifest("PersistentVolumeClaim", name, namespace="default", metadata=metadata, spec=wanted, status=status)


def volume(
    name: str,
    size: str = "1Gi",
    *,
    on: str | Sequence[str] | None = None,
    of: str = "local",
    of_claim: str | None = None,
    uid: str | None = None,
    modes: Sequence[str] = ONCE,
    labels: Mapping[str, str] | None = None,
    csi: str | None = None,
    phase: str | None = None,
    **spec: Any,
) -> Manifest:
    """A volume that is accessible from nodes with these host names, or from all; perhaps pre-bound to a claim."""
    places = [on] if isinstance(on, str) else on
    promised = given(namespace="default", name=of_claim, uid=uid) if of_claim else None
    offered = given(
        capacity={"storage": size},
        accessModes=list(modes),
        storageClassName=of,
        claimRef=promised,
        csi={"driver": csi, "volumeHandle": name} if csi else None,
        **{"nodeAffinity": None if places is None else reached_by(HOST, *places), **spec},
    )
    metadata = given(labels=labels)
    status = {"phase": phase or ("Bound" if of_claim else "Available")}
    return manifest("PersistentVolume", name, metadata=metadata, spec=offered, status=status)


def reached_by(label: str, *values: str) -> Manifest:
    term = {"matchExpressions": [{"key": label, "operator": "In", "values": list(values)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def storage_class(
    name: str = "local",
    made_by: str | None = "kubernetes.io/no-provisioner",
    *,
    at_once: bool = False,
    zones: Sequence[str] = (),
    default: bool = False,
) -> Manifest:
    """A class with binding mode WaitForFirstConsumer, or Immediate."""
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else None
    mode = "Immediate" if at_once else "WaitForFirstConsumer"
    notes = {"storageclass.kubernetes.io/is-default-class": "true"} if default else None
    facts = given(provisioner=made_by, volumeBindingMode=mode, allowedTopologies=allowed)
    return manifest("StorageClass", name, STORAGE, metadata=given(annotations=notes), **facts)


def driver(name: str = DRIVER, *, counts: bool = True) -> Manifest:
    """A driver; with `counts` it reports the available storage."""
    return manifest("CSIDriver", name, STORAGE, spec={"storageCapacity": counts})


def storage_capacity(
    name: str, capacity: str | None, *, of: str = "made", most: str | None = None, **labels: str
) -> Manifest:
    """The capacity of a class on the nodes with these labels."""
    chosen = {key.replace("__", "/"): value for key, value in labels.items()}
    facts = given(capacity=capacity, maximumVolumeSize=most, nodeTopology={"matchLabels": chosen})
    return manifest("CSIStorageCapacity", name, STORAGE, "default", storageClassName=of, **facts)


def storage_capacity_on(node: str, capacity: str | None, **facts: Any) -> Manifest:
    return storage_capacity(f"on-{node}", capacity, **{"kubernetes.io__hostname": node}, **facts)


def csi_node(name: str, limit: int | None, by: str = DRIVER, keys: Sequence[str] = ()) -> Manifest:
    """How many volumes of a driver a node can hold."""
    driver = given(name=by, nodeID=name, topologyKeys=list(keys), allocatable=given(count=limit) or None)
    return manifest("CSINode", name, STORAGE, spec={"drivers": [driver]})
