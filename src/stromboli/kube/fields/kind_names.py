"""Kinds that exist, to find misspelt ones.

Groups that are not listed belong to other projects: their kinds are not judged.
"""

from __future__ import annotations

from functools import cache

from stromboli.kube.fields.nearest import MISSPELT, nearest
from stromboli.kube.objects import catalogue
from stromboli.kube.objects.kinds import KINDS
from stromboli.kube.objects.resources import Resource

_KINDS = {
    "": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch": "CronJob Job",
    "autoscaling": "HorizontalPodAutoscaler Scale",
    "policy": "Eviction PodDisruptionBudget PodSecurityPolicy",
    "extensions": "Ingress",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
    "coordination.k8s.io": "Lease LeaseCandidate",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "metrics.k8s.io": "NodeMetrics PodMetrics",
    "networking.k8s.io": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io": "PodGroup PriorityClass Workload",
    "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
    "batch.volcano.sh": "CronJob Job Reservation",
    "bus.volcano.sh": "Command",
    "config.volcano.sh": "ColocationConfiguration",
    "flow.volcano.sh": "JobFlow JobTemplate",
    "nodeinfo.volcano.sh": "Numatopology",
    "scheduling.volcano.sh": "NamespaceQueue PodGroup Queue Reservation",
    "shard.volcano.sh": "NodeShard",
    "topology.volcano.sh": "HyperNode",
    "kai.scheduler": "Topology",
    "scheduling.stromboli.dev": "BindRequest",
}
KINDS_OF_GROUPS = {group: tuple(kinds.split()) for group, kinds in _KINDS.items()}


def is_known(api_version: str, kind: str) -> bool:
    """Report whether a kind exists, or belongs to a group that is not judged."""
    group = api_version.rpartition("/")[0]
    return kind in KINDS_OF_GROUPS[group] if group in KINDS_OF_GROUPS else _meant_group(group, kind) is None


def describe_unknown(api_version: str, kind: str) -> str:
    """Return the message about a kind that does not exist, with the kind or the version that was probably meant."""
    subject = f"unknown kind {kind} (apiVersion {api_version})"
    group = api_version.rpartition("/")[0]
    if (near := nearest(kind, KINDS_OF_GROUPS.get(group, ()), MISSPELT)) is not None:
        return f"{subject}; did you mean {near}?"
    if (meant := _meant_group(group, kind)) is not None:
        return f"{subject}; did you mean apiVersion {_api_version_of(meant, kind)}?"
    every = {name: known for known, kinds in KINDS_OF_GROUPS.items() for name in kinds}
    if (near := nearest(kind, every, MISSPELT)) is not None:
        return f"{subject}; did you mean {near} (apiVersion {_api_version_of(every[near], near)})?"
    return f"{subject}; check kind and apiVersion"


def _meant_group(group: str, kind: str) -> str | None:
    """Return the group that was probably meant: any group with this kind, or for an unlisted group a similar one."""
    groups = [known for known, kinds in KINDS_OF_GROUPS.items() if kind in kinds]
    if group not in KINDS_OF_GROUPS:
        longer = (known for known in groups if known.endswith(f".{group}"))
        return next(longer, None) or nearest(group, groups, MISSPELT)
    read = [known for known in groups if (known, kind) in KINDS]
    return next(reversed(read or groups[:1]), None)


@cache
def _api_version_of(group: str, kind: str) -> str:
    resources = (each for each in vars(catalogue).values() if isinstance(each, Resource))
    versions = (each.api_version for each in resources if (each.group, each.kind) == (group, kind))
    return next(versions, f"{group}/v1" if group else "v1")
