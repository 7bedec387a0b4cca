"""Resource claims of a pod: names, generated claims, and use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stromboli.kube.objects.claims import EXTENDED_CLAIM, ClaimConsumer, ResourceClaim, ResourceClaimTemplate
from stromboli.kube.objects.pod import Pod, PodResourceClaim

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a generated claim: the pod's name for it."""
_EXTENDED = "<extended-resources>"
"""Stands for the name of the claim that the scheduler creates for the extended resources of a pod."""


def templated(pod: Pod) -> list[PodResourceClaim]:
    """The pod's claims that are created from templates."""
    return [claim for claim in pod.spec.resource_claims or () if claim.name and claim.resource_claim_template_name]


def claim_names(pod: Pod) -> dict[str, str]:
    """The known claims of the pod, by the pod's names for them."""
    made = {entry.name: entry.resource_claim_name for entry in pod.status.resource_claim_statuses or ()}
    named = {claim.name: claim.resource_claim_name or made.get(claim.name) for claim in pod.spec.resource_claims or ()}
    if pod.status.extended_resource_claim_status is not None:
        named[_EXTENDED] = pod.status.extended_resource_claim_status.resource_claim_name
    return {own: name for own, name in named.items() if own and name}


def is_done(pod: Pod) -> bool:
    """Report whether the pod will not use its claims again: finished, or never going to start."""
    never_starts = pod.metadata.deletion_timestamp is not None and not pod.spec.node_name
    return pod.status.phase in ("Succeeded", "Failed") or never_starts


def claim_document(pod: Pod, own_name: str, template: ResourceClaimTemplate) -> dict[str, Any]:
    """The generated claim, owned by the pod."""
    template_metadata = template.spec.metadata
    metadata = {
        "generateName": f"{pod.metadata.name}-{own_name}-",
        "labels": (template_metadata.labels if template_metadata else None) or {},
        "annotations": {
            **((template_metadata.annotations if template_metadata else None) or {}),
            POD_CLAIM_NAME: own_name,
        },
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.metadata.name,
                "uid": pod.metadata.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    return {"metadata": metadata, "spec": template.spec.spec or {}}


def made_for(claim: ResourceClaim) -> tuple[str, str] | None:
    """The uid of the pod, and its name for the claim; None for a claim that was not generated."""
    annotations = claim.metadata.annotations or {}
    own_name = _EXTENDED if annotations.get(EXTENDED_CLAIM) == "true" else annotations.get(POD_CLAIM_NAME)
    owners = claim.metadata.owner_references or ()
    owner = next((one.uid for one in owners if one.controller and one.kind == "Pod"), None)
    return (owner, own_name) if owner and own_name else None


def consumer(pod: Pod) -> ClaimConsumer:
    return ClaimConsumer(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)


def is_in_use(user: ClaimConsumer, pods: Mapping[str, Pod], namespace: str) -> bool:
    """Report whether a user still uses the claim. Users that are not pods are kept."""
    if user.resource != "pods" or user.api_group:
        return True
    pod = pods.get(f"{namespace}/{user.name}")
    return pod is not None and pod.metadata.uid == user.uid and not is_done(pod)
