"""Resource claims in the virtual cluster: claims from templates, allocation and release of devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from stromboli import kube
from stromboli.cluster.objects.claims.claim_allocations import allocation_of
from stromboli.cluster.objects.claims.extended_resources import EXTENDED, narrowed
from stromboli.cluster.objects.claims.resource_claims import ResourceClaims
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.objects.claims import (
    ClaimConsumer,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from stromboli.kube.objects.meta import ObjectMeta, OwnerReference
from stromboli.kube.objects.pod import ExtendedResourceClaimStatus, PodResourceClaimStatus

Templates = Mapping[str, ResourceClaimTemplate]


def templates_in(objects: Iterable[kube.KubeObject]) -> Templates:
    return {entry.key: entry for entry in objects if isinstance(entry, ResourceClaimTemplate)}


def with_claims(pod: kube.Pod, templates: Templates, claims: ResourceClaims) -> kube.Pod:
    """Create the claims of a pod from its templates, as Kubernetes does, and return the pod with their names."""
    existing = {entry.name for entry in pod.status.resource_claim_statuses or ()}
    made = []
    for reference in pod.spec.resource_claims or ():
        template = templates.get(f"{pod.metadata.namespace}/{reference.resource_claim_template_name}")
        if reference.name in existing or template is None:
            continue
        claim = _made(pod, reference.name or "", template)
        claims.put_claim(claim, present=True)
        made.append(PodResourceClaimStatus(reference.name, claim.metadata.name))
    if not made:
        return pod
    statuses = [*(pod.status.resource_claim_statuses or ()), *made]
    status = msgspec.structs.replace(pod.status, resource_claim_statuses=statuses)
    return msgspec.structs.replace(pod, status=status)


def _made(pod: kube.Pod, own_name: str, template: ResourceClaimTemplate) -> ResourceClaim:
    metadata = pod.metadata
    owner = OwnerReference(api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid, controller=True)
    uid = f"claim-{metadata.uid}-{own_name}"
    return ResourceClaim(
        metadata=ObjectMeta(f"{metadata.name}-{own_name}", metadata.namespace, uid, owner_references=[owner]),
        spec=msgspec.convert(template.spec.spec or {}, ResourceClaimSpec),
    )


def allocate_devices(pod: kube.Pod, placement: Placement, claims: ResourceClaims) -> kube.Pod:
    """Allocate the chosen devices to the claims of a pod, and reserve the claims for it. Returns the pod, with the
    claim for its extended resources in its status.
    """
    if placement.devices is None:
        return pod
    choices = {choice.name: choice for choice in placement.devices.choices}
    for name, key in placement.devices.claims:
        claim = claims.claim(key)
        if claim is None:
            continue
        allocation = claim.status.allocation
        if allocation is None and name in choices:
            allocation = allocation_of(claim, choices[name], placement.node, claims.device_class)
        if name == EXTENDED and name in choices:
            claim = narrowed(claim, (device.request for device in choices[name].devices))
        user = ClaimConsumer(resource="pods", name=placement.name, uid=placement.uid)
        users = [*(claim.status.reserved_for or ()), user]
        claims.put_claim(msgspec.structs.replace(claim, status=ResourceClaimStatus(allocation, users)), present=True)
        if name == EXTENDED:
            extended = ExtendedResourceClaimStatus(resource_claim_name=claim.metadata.name)
            status = msgspec.structs.replace(pod.status, extended_resource_claim_status=extended)
            pod = msgspec.structs.replace(pod, status=status)
    return pod


def release_devices(pod: kube.Pod, claims: ResourceClaims) -> None:
    """Delete the claims that a removed pod owns, and deallocate claims without other consumers."""
    for key in claims.claims_of(pod.metadata.uid):
        claim = claims.claim(key)
        if claim is None:
            continue
        if any(owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references or ()):
            claims.put_claim(claim, present=False)
            continue
        users = [user for user in claim.status.reserved_for or () if user.uid != pod.metadata.uid]
        if len(users) < len(claim.status.reserved_for or ()):
            status = ResourceClaimStatus(claim.status.allocation if users else None, users or None)
            claims.put_claim(msgspec.structs.replace(claim, status=status), present=True)
