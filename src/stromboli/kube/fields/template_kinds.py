"""Kinds with templates that workloads refer to by name. They are read as documents, and only when one is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote


class TemplateKind(NamedTuple):
    """How an API server serves such a kind."""

    plural: str
    version: str = "v1alpha1"
    is_namespaced: bool = True


#: By API group and kind.
TEMPLATE_KINDS: Mapping[tuple[str, str], TemplateKind] = {
    ("flow.volcano.sh", "JobTemplate"): TemplateKind("jobtemplates"),
    ("trainer.kubeflow.org", "TrainingRuntime"): TemplateKind("trainingruntimes"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): TemplateKind("clustertrainingruntimes", is_namespaced=False),
    ("argoproj.io", "WorkflowTemplate"): TemplateKind("workflowtemplates"),
    ("argoproj.io", "ClusterWorkflowTemplate"): TemplateKind("clusterworkflowtemplates", is_namespaced=False),
}


def template_path(kind: tuple[str, str], namespace: str, name: str) -> str:
    """Return the path of an object on the server."""
    found = TEMPLATE_KINDS[kind]
    within = f"namespaces/{quote(namespace, safe='')}/" if found.is_namespaced else ""
    return f"/apis/{kind[0]}/{found.version}/{within}{found.plural}/{quote(name, safe='')}"
