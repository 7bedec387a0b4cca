"""How an API server is told to ask us: the two webhook configurations, as documents.

The server is told precisely what is worth asking. Pods of other schedulers, statuses, and changes that no rule looks at
never leave it, and neither does what our own processes write: a webhook that is down stands in nobody else's way, and
does not hold up the scheduler.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.admission.server import MUTATE, VALIDATE
from stromboli.cluster.objects.pod_groups.pod_groups import GROUP_NAME, QUEUE_NAMES
from stromboli.kube.objects import native, volcano
from stromboli.kube.objects.topology import KubeHyperNode, KubeTopology

Document = dict[str, Any]

NAME = "stromboli"
DOMAIN = "admission.stromboli.dev"
SYSTEM_NAMESPACE = "kube-system"


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What can be chosen about the configurations."""

    #: Where we are: an URL, or else a service in our namespace.
    url: str = ""
    service: str = f"{NAME}-admission"
    namespace: str = f"{NAME}-system"
    port: int = 443
    #: Who signed our certificate, in PEM; empty for somebody else fills it in, or everybody knows them.
    authority: bytes = b""
    scheduler_names: tuple[str, ...] = ("stromboli", "volcano")
    #: What holds while we do not answer: `Fail` refuses, `Ignore` lets pass.
    validating_failure: str = "Fail"
    mutating_failure: str = "Ignore"
    timeout: int = 10
    name: str = NAME
    #: Namespaces that nothing is asked about, besides our own.
    spared: tuple[str, ...] = (SYSTEM_NAMESPACE,)


def webhook_documents(webhooks: Webhooks) -> list[Document]:
    """Both configurations."""
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
    return [
        _entry("podgroups", webhooks, _POD_GROUPS, ("CREATE",), {}) | facts,
        _entry("pods", webhooks, _PODS, ("CREATE",), {"ours": _is_ours(webhooks, "object")}) | facts,
    ]


def _validating(webhooks: Webhooks) -> list[Document]:
    facts = {"clientConfig": _client(webhooks, VALIDATE), "failurePolicy": webhooks.validating_failure}
    written, metadata = ("CREATE", "UPDATE"), ("metadata.?annotations", "metadata.?labels")
    told = {"others": _others(webhooks), "changed": _changed(*metadata, "?spec")}
    placed = {"others": _others(webhooks), "changed": _changed(*metadata, "metadata.?ownerReferences")}
    pods = {"ours": _is_ours(webhooks, "object")}
    templates = {"ours": _is_ours(webhooks, "object.spec.template")}
    cron_templates = {"ours": _is_ours(webhooks, "object.spec.jobTemplate.spec.template")}
    jobs = {"ours": f"object.?spec.?schedulerName.orValue('') in {_list(webhooks.scheduler_names)}"}
    entries = [
        _entry("podgroups", webhooks, _POD_GROUPS, written, told),
        _entry("pods", webhooks, _PODS, written, pods | placed),
        _entry("workloads", webhooks, _WORKLOADS, written, templates | told),
        _entry("cronjobs", webhooks, _CRON_JOBS, written, cron_templates | told),
        _entry("volcanojobs", webhooks, _VOLCANO_JOBS, written, jobs | told),
        _entry("queues", webhooks, _QUEUES, (*written, "DELETE"), told),
        _entry("networks", webhooks, _NETWORKS, written, told),
    ]
    return [entry | facts for entry in entries]


def _entry(
    name: str, webhooks: Webhooks, rules: Sequence[Document], operations: Sequence[str], conditions: dict[str, str]
) -> Document:
    """What is of the whole cluster has no namespace that could be spared."""
    entry: Document = {
        "name": f"{name}.{DOMAIN}",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": webhooks.timeout,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [_spared(webhooks)]},
        "rules": [rule | {"operations": list(operations)} for rule in rules],
    }
    if conditions:
        entry["matchConditions"] = [{"name": each, "expression": text} for each, text in conditions.items()]
    return entry


def _spared(webhooks: Webhooks) -> Document:
    """Our own pods come up whether we answer or not."""
    names = sorted({*webhooks.spared, webhooks.namespace})
    return {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names}


def _client(webhooks: Webhooks, path: str) -> Document:
    if webhooks.url:
        where: Document = {"url": f"{webhooks.url.rstrip('/')}{path}"}
    else:
        service = {"name": webhooks.service, "namespace": webhooks.namespace, "port": webhooks.port, "path": path}
        where = {"service": service}
    return where | ({"caBundle": base64.b64encode(webhooks.authority).decode()} if webhooks.authority else {})


# -- what is asked about ----------------------------------------------------------------------------------------------


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
)
_CRON_JOBS = (_resources("batch", "v1", "cronjobs"),)
_VOLCANO_JOBS = (_resources("batch.volcano.sh", "v1alpha1", "jobs"),)


# -- under which conditions, in CEL -----------------------------------------------------------------------------------


def _is_ours(webhooks: Webhooks, pod: str) -> str:
    """A pod that names one of our schedulers; or none, but a group or a queue."""
    scheduler = f"{pod}.spec.?schedulerName.orValue('default-scheduler')"
    named = f"{_list((GROUP_NAME, *QUEUE_NAMES))}.exists(key, key in {pod}.?metadata.?annotations.orValue({{}}))"
    labelled = f"{_list(QUEUE_NAMES)}.exists(key, key in {pod}.?metadata.?labels.orValue({{}}))"
    meant = f"{scheduler} == 'default-scheduler' && ({named} || {labelled})"
    return f"{scheduler} in {_list(webhooks.scheduler_names)} || ({meant})"


def _others(webhooks: Webhooks) -> str:
    """Whoever is not one of our processes."""
    groups = "request.userInfo.groups"
    return f"!(has({groups}) && 'system:serviceaccounts:{webhooks.namespace}' in {groups})"


def _changed(*parts: str) -> str:
    """What is new, or goes, or has something else in one of these parts."""
    differs = (f"object.{part}.orValue(null) != oldObject.{part}.orValue(null)" for part in parts)
    return " || ".join(("request.operation != 'UPDATE'", *differs))


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(repr(word) for word in words)}]"
