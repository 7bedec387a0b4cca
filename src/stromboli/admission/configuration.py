"""The mutating and the validating webhook configuration, as documents.

Their rules and match conditions select only what the webhook validates. Pods of other schedulers, status updates,
changes of irrelevant fields and writes of Stromboli's own processes are not sent: an unavailable webhook blocks neither
other workloads nor the scheduler.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.admission.server import MUTATE, VALIDATE
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology
from stromboli.kube.objects.volcano_jobs import BATCH_GROUP, BUS_GROUP
from stromboli.workloads.groups import GROUP_NAME
from stromboli.workloads.queues import QUEUE_NAMES

Document = dict[str, Any]

NAME = "stromboli"
DOMAIN = "admission.stromboli.dev"
SYSTEM_NAMESPACE = "kube-system"


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Settings of the configurations."""

    #: Address of the webhook: a URL, or else a service in the namespace.
    url: str = ""
    service: str = f"{NAME}-admission"
    namespace: str = f"{NAME}-system"
    port: int = 443
    #: The secret at the end of the paths; empty for none.
    path_secret: str = ""
    #: CA bundle in PEM; empty if it is injected later or the certificate is publicly trusted.
    authority: bytes = b""
    scheduler_names: tuple[str, ...] = ("stromboli", "volcano")
    #: Failure policy while the webhook is unavailable: `Fail` rejects, `Ignore` admits.
    validating_failure: str = "Fail"
    mutating_failure: str = "Ignore"
    #: Whether workloads pass their creator on to their pods.
    records_users: bool = False
    timeout: int = 10
    name: str = NAME
    #: Excluded namespaces, besides the webhook's own.
    excluded_namespaces: tuple[str, ...] = (SYSTEM_NAMESPACE,)


def webhook_documents(webhooks: Webhooks) -> list[Document]:
    """Return the mutating and the validating configuration."""
    return [
        _configuration("MutatingWebhookConfiguration", webhooks, _mutating(webhooks)),
        _configuration("ValidatingWebhookConfiguration", webhooks, _validating(webhooks)),
    ]


def _configuration(kind: str, webhooks: Webhooks, entries: Sequence[Document]) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": webhooks.name},
        "webhooks": list(entries),
    }


def _mutating(webhooks: Webhooks) -> list[Document]:
    facts = {
        "clientConfig": _client(webhooks, MUTATE),
        "failurePolicy": webhooks.mutating_failure,
        "reinvocationPolicy": "IfNeeded",
    }
    users = [
        _entry("workloads", webhooks, _WORKLOADS, ("CREATE",), {"ours": _has_our_template(webhooks)}),
        _entry("cronjobs", webhooks, _CRON_JOBS, ("CREATE",), {"ours": _has_our_cron_template(webhooks)}),
        _entry("volcanorunners", webhooks, _VOLCANO_RUNNERS, ("CREATE",), {}),
    ]
    return [
        *(entry | facts for entry in users if webhooks.records_users),
        _entry("podgroups", webhooks, _POD_GROUPS, ("CREATE",), {}) | facts,
        _entry("volcanojobs", webhooks, _VOLCANO_JOBS, ("CREATE",), {}) | facts,
        _entry("pods", webhooks, _PODS, ("CREATE",), {"ours": _is_ours(webhooks, "object")}) | facts,
    ]


def _validating(webhooks: Webhooks) -> list[Document]:
    facts = {"clientConfig": _client(webhooks, VALIDATE), "failurePolicy": webhooks.validating_failure}
    written, metadata = ("CREATE", "UPDATE"), ("metadata.?annotations", "metadata.?labels")
    conditions = {"others": _others(webhooks), "changed": _changed(*metadata, "?spec")}
    placed = {"others": _others(webhooks), "changed": _changed(*metadata, "metadata.?ownerReferences")}
    commands = {"others": _others(webhooks), "changed": _changed("?target", "?action")}
    pods = {"ours": _is_ours(webhooks, "object")}
    templates = {"ours": _has_our_template(webhooks)}
    cron_templates = {"ours": _has_our_cron_template(webhooks)}
    entries = [
        _entry("podgroups", webhooks, _POD_GROUPS, written, conditions),
        _entry("pods", webhooks, _PODS, written, pods | placed),
        _entry("workloads", webhooks, _WORKLOADS, written, templates | conditions),
        _entry("cronjobs", webhooks, _CRON_JOBS, written, cron_templates | conditions),
        _entry("volcanojobs", webhooks, _VOLCANO_WORKLOADS, written, conditions),
        _entry("volcanocommands", webhooks, _VOLCANO_COMMANDS, written, commands),
        _entry("queues", webhooks, _QUEUES, (*written, "DELETE"), conditions),
        _entry("networks", webhooks, _NETWORKS, written, conditions),
    ]
    return [entry | facts for entry in entries]


def _entry(
    name: str, webhooks: Webhooks, rules: Sequence[Document], operations: Sequence[str], conditions: dict[str, str]
) -> Document:
    """Build one webhook. The namespace selector has no effect on cluster-scoped objects."""
    entry: Document = {
        "name": f"{name}.{DOMAIN}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": webhooks.timeout,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [_namespace_requirement(webhooks)]},
        "rules": [rule | {"operations": list(operations)} for rule in rules],
    }
    if conditions:
        entry["matchConditions"] = [{"name": each, "expression": text} for each, text in conditions.items()]
    return entry


def _namespace_requirement(webhooks: Webhooks) -> Document:
    """Exclude the webhook's own namespace, so that its pods start while it is unavailable."""
    names = sorted({*webhooks.excluded_namespaces, webhooks.namespace})
    return {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names}


def _client(webhooks: Webhooks, path: str) -> Document:
    if webhooks.path_secret:
        path = f"{path}/{webhooks.path_secret}"
    if webhooks.url:
        where: Document = {"url": f"{webhooks.url.rstrip('/')}{path}"}
    else:
        service = {"name": webhooks.service, "namespace": webhooks.namespace, "port": webhooks.port, "path": path}
        where = {"service": service}
    return where | ({"caBundle": base64.b64encode(webhooks.authority).decode()} if webhooks.authority else {})


# -- reviewed resources -----------------------------------------------------------------------------------------------


def _resources(group: str, version: str, *resources: str) -> Document:
    return {"apiGroups": [group], "apiVersions": [version], "resources": list(resources)}


_PODS = (_resources("", "v1", "pods"),)
_POD_GROUPS = (_resources(volcano.GROUP, "v1beta1", "podgroups"), _resources(native.GROUP, "*", "podgroups"))
_QUEUES = (_resources(volcano.GROUP, "v1beta1", "queues"),)
_NETWORKS = (
    _resources(KubeHyperNode.group, "v1alpha1", "hypernodes"),
    _resources(KubeTopology.group, "v1alpha1", "topologies"),
)
_WORKLOADS = (
    _resources("apps", "v1", "deployments", "replicasets", "statefulsets", "daemonsets"),
    _resources("batch", "v1", "jobs"),
    _resources("", "v1", "replicationcontrollers"),
)
_CRON_JOBS = (_resources("batch", "v1", "cronjobs"),)
_VOLCANO_JOBS = (_resources(BATCH_GROUP, "v1alpha1", "jobs"),)
_VOLCANO_WORKLOADS = (
    _resources(BATCH_GROUP, "v1alpha1", "jobs", "cronjobs"),
    _resources("flow.volcano.sh", "v1alpha1", "jobflows", "jobtemplates"),
)
_VOLCANO_RUNNERS = (
    _resources(BATCH_GROUP, "v1alpha1", "cronjobs"),
    _resources("flow.volcano.sh", "v1alpha1", "jobflows"),
)
_VOLCANO_COMMANDS = (_resources(BUS_GROUP, "v1alpha1", "commands"),)


# -- match conditions in CEL ------------------------------------------------------------------------------------------


def _is_ours(webhooks: Webhooks, pod: str) -> str:
    """A pod with one of the scheduler names, or without scheduler name but with a group or a queue."""
    scheduler = f"{pod}.?spec.?schedulerName.orValue('default-scheduler')"
    named = f"{_list((GROUP_NAME, *QUEUE_NAMES))}.exists(key, key in {pod}.?metadata.?annotations.orValue({{}}))"
    labelled = f"{_list(QUEUE_NAMES)}.exists(key, key in {pod}.?metadata.?labels.orValue({{}}))"
    meant = f"{scheduler} == 'default-scheduler' && ({named} || {labelled})"
    return f"{scheduler} in {_list(webhooks.scheduler_names)} || ({meant})"


def _has_our_template(webhooks: Webhooks) -> str:
    return f"{_is_ours(webhooks, 'object.spec.?template')} || {_names_queue('object')}"


def _has_our_cron_template(webhooks: Webhooks) -> str:
    template = _is_ours(webhooks, "object.spec.jobTemplate.spec.template")
    return f"{template} || {_names_queue('object.spec.jobTemplate')}"


def _names_queue(owner: str) -> str:
    """A workload that names a queue for pods that it adopts, whatever its template is."""
    return f"{_list(QUEUE_NAMES)}.exists(key, key in {owner}.?metadata.?annotations.orValue({{}}))"


def _others(webhooks: Webhooks) -> str:
    """Requests that are not made by Stromboli's own processes."""
    groups = "request.userInfo.groups"
    return f"!(has({groups}) && 'system:serviceaccounts:{webhooks.namespace}' in {groups})"


def _changed(*parts: str) -> str:
    """Creations, deletions, and updates that change one of these parts."""
    differs = (f"object.{part}.orValue(null) != oldObject.{part}.orValue(null)" for part in parts)
    return " || ".join(("request.operation != 'UPDATE'", *differs))


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(repr(value) for value in values)}]"
