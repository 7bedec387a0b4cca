"""Built-in kinds, as a table: those of a bare control plane that batch workloads use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stromboli.local.api_server.registry import ServedResource

_CORE = """
Pod                    pods  po  ns  all  status,binding,eviction,log,exec,attach,portforward,ephemeralcontainers,resize
Node                   nodes                   no      -   -    status
Namespace              namespaces              ns      -   -    status,finalize
Event                  events                  ev      ns  -    -
ConfigMap              configmaps              cm      ns  -    -
Secret                 secrets                 -       ns  -    -
Service                services                svc     ns  all  status
Endpoints              endpoints               ep      ns  -    -
ServiceAccount         serviceaccounts         sa      ns  -    -
PersistentVolumeClaim  persistentvolumeclaims  pvc     ns  -    status
PersistentVolume       persistentvolumes       pv      -   -    status
ResourceQuota          resourcequotas          quota   ns  -    status
LimitRange             limitranges             limits  ns  -    -
Binding                bindings                -       ns  -    !
PodTemplate            podtemplates            -       ns  -    -
ReplicationController  replicationcontrollers  rc      ns  all  status
"""

_GROUPS = {
    ("", "v1"): _CORE,
    ("apps", "v1"): """
Deployment          deployments          deploy  ns  all  status,scale
ReplicaSet          replicasets          rs      ns  all  status,scale
StatefulSet         statefulsets         sts     ns  all  status,scale
DaemonSet           daemonsets           ds      ns  all  status
ControllerRevision  controllerrevisions  -       ns  -    -
""",
    ("batch", "v1"): """
Job      jobs      -   ns  all  status
CronJob  cronjobs  cj  ns  all  status
""",
    ("events.k8s.io", "v1"): """
Event  events  ev  ns  -  -
""",
    ("policy", "v1"): """
PodDisruptionBudget  poddisruptionbudgets  pdb  ns  -  status
""",
    ("scheduling.k8s.io", "v1"): """
PriorityClass  priorityclasses  pc  -  -  -
""",
    ("coordination.k8s.io", "v1"): """
Lease  leases  -  ns  -  -
""",
    ("discovery.k8s.io", "v1"): """
EndpointSlice  endpointslices  -  ns  -  -
""",
    ("networking.k8s.io", "v1"): """
NetworkPolicy  networkpolicies  netpol  ns  -  -
Ingress        ingresses        ing     ns  -  status
""",
    ("storage.k8s.io", "v1"): """
StorageClass        storageclasses        sc  -   -  -
CSINode             csinodes              -   -   -  -
CSIDriver           csidrivers            -   -   -  -
CSIStorageCapacity  csistoragecapacities  -   ns  -  -
VolumeAttachment    volumeattachments     -   -   -  status
""",
    ("resource.k8s.io", "v1"): """
ResourceClaim          resourceclaims          -  ns  -  status
ResourceClaimTemplate  resourceclaimtemplates  -  ns  -  -
ResourceSlice          resourceslices          -  -   -  -
DeviceClass            deviceclasses           -  -   -  -
""",
    ("rbac.authorization.k8s.io", "v1"): """
Role                roles                -  ns  -  -
RoleBinding         rolebindings         -  ns  -  -
ClusterRole         clusterroles         -  -   -  -
ClusterRoleBinding  clusterrolebindings  -  -   -  -
""",
    ("apiextensions.k8s.io", "v1"): """
CustomResourceDefinition  customresourcedefinitions  crd,crds  -  api-extensions  status
""",
    ("apiregistration.k8s.io", "v1"): """
APIService  apiservices  -  -  api-extensions  status
""",
    ("admissionregistration.k8s.io", "v1"): """
MutatingWebhookConfiguration    mutatingwebhookconfigurations    -  -  api-extensions  -
ValidatingWebhookConfiguration  validatingwebhookconfigurations  -  -  api-extensions  -
""",
    ("authentication.k8s.io", "v1"): """
TokenReview        tokenreviews        -  -  -  !
SelfSubjectReview  selfsubjectreviews  -  -  -  !
""",
    ("authorization.k8s.io", "v1"): """
SubjectAccessReview       subjectaccessreviews       -  -   -  !
SelfSubjectAccessReview   selfsubjectaccessreviews   -  -   -  !
SelfSubjectRulesReview    selfsubjectrulesreviews    -  -   -  !
LocalSubjectAccessReview  localsubjectaccessreviews  -  ns  -  !
""",
}
"""Kind, plural, short names, scope, categories, subresources; `!` marks reviews, which are not stored."""


def builtin_resources() -> Iterator[ServedResource]:
    for (group, version), table in _GROUPS.items():
        for line in table.strip().splitlines():
            yield _resource(group, version, *line.split())


def _resource(
    group: str, version: str, kind: str, plural: str, short_names: str, scope: str, categories: str, subresources: str
) -> ServedResource:
    create_only = subresources == "!"
    parts = () if create_only else _words(subresources)
    served = ServedResource(
        group=group,
        version=version,
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        list_kind=f"{kind}List",
        namespaced=scope == "ns",
        short_names=_words(short_names),
        categories=_words(categories),
        subresources=parts,
        status_subresource="status" in parts,
    )
    if kind == "Namespace":
        return replace(served, verbs=tuple(verb for verb in served.verbs if verb != "deletecollection"))
    return replace(served, verbs=("create",)) if create_only else served


def _words(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))
