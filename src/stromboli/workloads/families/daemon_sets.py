"""DaemonSets: one pod for every node that its pods may run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stromboli import kube
from stromboli.kube.objects.constraints import KubeToleration, NodeSelectorTerm
from stromboli.kube.objects.meta import KubeRequirement
from stromboli.kube.objects.selectors import holds
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.min_resources import pod_of
from stromboli.workloads.pod_documents import pod_document

_NODE = "node.kubernetes.io"
#: The taints that the controller lets its pods tolerate.
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_OF_HOST_NETWORK = ("network-unavailable", "NoSchedule")


def expand_daemon_set(workload: WorkloadDocument, context: ExpansionContext) -> Expansion:
    template = workload.template("spec.template")
    tolerations = _tolerations(template["spec"])
    pod = pod_of({"spec": {**template["spec"], "tolerations": tolerations}})
    nodes = [node.metadata.name for node in context.nodes if _may_run_on(pod, node)]
    checked_number(workload, len(nodes), "spec.template")
    notes = [] if nodes else ["no node matches its pods, so it creates none"]
    pods = [_pod_for(workload, template, tolerations, node) for node in nodes]
    return Expansion([CreatedObject(each, "spec.template", workload.annotations) for each in pods], notes=notes)


def _tolerations(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    taints = (*_TOLERATED, *((_OF_HOST_NETWORK,) if spec.get("hostNetwork") else ()))
    added = [{"key": f"{_NODE}/{name}", "operator": "Exists", "effect": effect} for name, effect in taints]
    return [*(spec.get("tolerations") or ()), *added]


def _pod_for(
    workload: WorkloadDocument, template: Mapping[str, Any], tolerations: Sequence[Mapping[str, Any]], node: str
) -> dict[str, Any]:
    """Return the pod for a node: a required affinity to its name replaces the terms of the template, which it meets."""
    fields = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = template["spec"].get("affinity") or {}
    of_node = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [fields]},
    }
    spec = {"affinity": {**affinity, "nodeAffinity": of_node}, "tolerations": list(tolerations)}
    return pod_document(workload, template, f"{workload.name}-{node}", spec=spec)


def _may_run_on(pod: kube.Pod, node: kube.KubeNode) -> bool:
    """Report whether a node has the labels that the pods require, and no taint that they do not tolerate."""
    labels = node.metadata.labels or {}
    if any(labels.get(key) != value for key, value in (pod.spec.node_selector or {}).items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required if affinity else None
    terms = (required.node_selector_terms or ()) if required else None
    if terms is not None and not any(_matches(term, node) for term in terms):
        return False
    tolerations = pod.spec.tolerations or ()
    taints = (taint for taint in node.spec.taints or () if taint.effect in ("NoSchedule", "NoExecute"))
    return all(any(_tolerates(each, taint) for each in tolerations) for taint in taints)


def _matches(term: NodeSelectorTerm, node: kube.KubeNode) -> bool:
    """Match a term; an empty one matches nothing."""
    labels, fields = node.metadata.labels or {}, {"metadata.name": node.metadata.name}
    clauses = [(each, labels) for each in term.match_expressions or ()]
    clauses += [(each, fields) for each in term.match_fields or ()]
    return bool(clauses) and all(_holds(clause, entries) for clause, entries in clauses)


def _holds(clause: KubeRequirement, entries: Mapping[str, str]) -> bool:
    if clause.operator not in ("Gt", "Lt"):
        return holds(clause, entries)
    texts = (entries.get(clause.key or "", ""), (clause.values or [""])[0])
    if not all(text.removeprefix("-").isdecimal() for text in texts):
        return False
    found, bound = map(int, texts)
    return found > bound if clause.operator == "Gt" else found < bound


def _tolerates(toleration: KubeToleration, taint: kube.KubeTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and (toleration.value or "") == (taint.value or "")
