"""Volumes in the virtual cluster: claims of ephemeral volumes, and volumes that are bound with their pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from stromboli import kube
from stromboli.cluster.objects.storage.volumes import PersistentVolumes
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.constraints import NodeSelector, NodeSelectorTerm
from stromboli.kube.objects.meta import KubeRequirement, ObjectMeta, OwnerReference
from stromboli.kube.objects.storage import (
    ClaimReference,
    CsiVolume,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    VolumeNodeAffinity,
)


def ephemeral_claims(pod: kube.Pod) -> Iterator[PersistentVolumeClaim]:
    """Yield the claims of ephemeral volumes, as Kubernetes creates them."""
    metadata = pod.metadata
    for volume in pod.spec.volumes or ():
        if volume.ephemeral is None:
            continue
        template = volume.ephemeral.volume_claim_template or {}
        owner = OwnerReference(api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid, controller=True)
        name = f"{metadata.name}-{volume.name}"
        yield PersistentVolumeClaim(
            metadata=ObjectMeta(
                name, metadata.namespace, f"claim-{metadata.uid}-{volume.name}", owner_references=[owner]
            ),
            spec=msgspec.convert(template.get("spec") or {}, PersistentVolumeClaimSpec),
            status=PersistentVolumeClaimStatus(phase="Pending"),
        )


def bind_claims(placement: Placement, volumes: PersistentVolumes, labels: Mapping[str, str]) -> None:
    """Bind the claims of a pod to the volumes chosen on its node."""
    for choice in placement.volumes.choices if placement.volumes else ():
        claim = volumes.claim(f"{placement.namespace}/{choice.claim}")
        if claim is None or claim.is_bound:
            continue
        known = volumes.volume(choice.volume) if choice.volume else None
        volume = known or _made(claim, placement.node, volumes, labels)
        volumes.put_volume(_promised(volume, claim), present=True)
        volumes.put_claim(_bound(claim, volume), present=True)


def _promised(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    metadata = claim.metadata
    to = ClaimReference(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid or None)
    spec = msgspec.structs.replace(volume.spec, claim_ref=to)
    return msgspec.structs.replace(volume, spec=spec, status=PersistentVolumeStatus(phase="Bound"))


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    spec = msgspec.structs.replace(claim.spec, volume_name=volume.metadata.name)
    status = PersistentVolumeClaimStatus(phase="Bound", capacity=volume.spec.capacity)
    return msgspec.structs.replace(claim, spec=spec, status=status)


def _made(
    claim: PersistentVolumeClaim, node: str, volumes: PersistentVolumes, labels: Mapping[str, str]
) -> PersistentVolume:
    """Create a volume with the topology of the node for its driver; without topology keys it has no node affinity."""
    storage_class, name = volumes.storage_class(claim), f"pvc-{claim.metadata.namespace}-{claim.metadata.name}"
    driver = storage_class.provisioner if storage_class is not None else None
    keys = [key for key in volumes.topology_keys(node, driver or "") if key in labels]
    term = NodeSelectorTerm(match_expressions=[KubeRequirement(key, "In", [labels[key]]) for key in keys])
    requests = claim.spec.resources.requests if claim.spec.resources else None
    volumes.consume(claim, labels)
    return PersistentVolume(
        metadata=ObjectMeta(name, uid=f"volume-{name}"),
        spec=PersistentVolumeSpec(
            capacity=requests,
            access_modes=claim.spec.access_modes,
            csi=CsiVolume(driver, name),
            node_affinity=VolumeNodeAffinity(NodeSelector([term])) if keys else None,
            storage_class_name=storage_class.metadata.name if storage_class is not None else None,
            volume_mode=claim.spec.volume_mode,
        ),
    )
