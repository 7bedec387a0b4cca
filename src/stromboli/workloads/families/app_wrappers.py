"""AppWrappers: objects of any kinds that are created together, such as a PyTorchJob with its Service."""

from __future__ import annotations

from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, CreatedWorkload, Expansion, ExpansionContext
from stromboli.workloads.pod_documents import pod_document


def expand_app_wrapper(wrapper: WorkloadDocument, context: ExpansionContext) -> Expansion:
    number = wrapper.length("spec.components")
    if not number:
        raise wrapper.error("spec.components", "is missing", "write at least one with a template")
    found = Expansion()
    for place in range(number):
        path = f"spec.components[{place}].template"
        template = wrapper.map(path)
        if template.get("apiVersion") == "v1" and template.get("kind") == "Pod":
            name = wrapper.text(f"{path}.metadata.name", f"{wrapper.name}-{place}")
            found.pods.append(CreatedObject(pod_document(wrapper, wrapper.template(path), name), path))
        elif template:
            found.workloads.append(CreatedWorkload(_component(wrapper, path), f"{path}.spec"))
    return found


def _component(wrapper: WorkloadDocument, path: str) -> dict[str, Any]:
    """Return a component, in the namespace of its wrapper."""
    metadata = {**wrapper.map(f"{path}.metadata"), "namespace": wrapper.namespace}
    return {**wrapper.map(path), "metadata": metadata}
