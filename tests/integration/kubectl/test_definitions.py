"""A custom resource defined, used, described and deleted with kubectl."""

from typing import Any

from tests.integration.kubectl.cluster import Kubectl

SPEC = {
    "type": "object",
    "description": "What it should be.",
    "properties": {
        "size": {"type": "integer", "description": "How large.", "default": 3},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        },
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
            }
        ],
    },
}


def widget(*parts: str) -> dict[str, Any]:
    return {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"parts": [{"name": part} for part in parts]},
    }


def test_custom_resource_definition(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=DEFINITION)
    kubectl("wait", "--for=condition=Established", "crd/widgets.example.org")
    kubectl("apply", "--server-side", "-f", "-", stdin=widget("a"))
    kubectl("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=widget("b"))
    stored = kubectl.json("get", "wd", "w")
    assert stored["spec"] == {"size": 3, "parts": [{"name": "a"}, {"name": "b"}]}
    assert kubectl("get", "wd").splitlines()[0].split() == ["NAME", "SIZE", "AGE"]
    assert "How large." in kubectl.patiently("explain", "widget.spec")
    kubectl("delete", "crd", "widgets.example.org")
    assert "the server" in kubectl.refusal("get", "widgets.example.org")
