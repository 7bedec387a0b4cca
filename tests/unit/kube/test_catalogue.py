"""Every resource of the catalogue is decoded, and has the path that servers use."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stromboli.kube import KINDS
from stromboli.kube.manifests.yaml import load_documents
from stromboli.kube.objects import catalogue
from stromboli.kube.objects.cluster import CustomResourceDefinition
from stromboli.kube.objects.resources import Resource

FURTHER: list[Any] = load_documents(Path(__file__).with_name("further_kinds.yaml").read_text(), "further_kinds.yaml")
RESOURCES: list[Resource[Any]] = [entry for entry in vars(catalogue).values() if isinstance(entry, Resource)]
BY_KIND = {(resource.api_version, resource.kind): resource for resource in RESOURCES}


@pytest.mark.parametrize("document", FURTHER, ids=lambda document: document["kind"])
def test_every_decoded_field_survives_round_trip(document: dict[str, Any]) -> None:
    resource = BY_KIND[document["apiVersion"], document["kind"]]
    assert msgspec.to_builtins(msgspec.convert(document, resource.type)) == document


def test_every_kind_has_sample() -> None:
    samples = {(document["apiVersion"].rpartition("/")[0], document["kind"]) for document in FURTHER}
    without_sample = {("coordination.k8s.io", "Lease"), ("", "Event")}
    assert samples | set(KINDS) | without_sample == {(resource.group, resource.kind) for resource in RESOURCES}


PATHS: list[tuple[Resource[Any], str]] = [
    (catalogue.PODS, "/api/v1/namespaces/team-a/pods/worker-0"),
    (catalogue.POD_GROUPS, "/apis/scheduling.volcano.sh/v1beta1/namespaces/team-a/podgroups/worker-0"),
    (catalogue.DISRUPTION_BUDGETS, "/apis/policy/v1/namespaces/team-a/poddisruptionbudgets/worker-0"),
    (catalogue.RESOURCE_CLAIMS, "/apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims/worker-0"),
    (catalogue.LEASES, "/apis/coordination.k8s.io/v1/namespaces/team-a/leases/worker-0"),
]


@pytest.mark.parametrize(("resource", "path"), PATHS, ids=[resource.kind for resource, _ in PATHS])
def test_resource_path(resource: Resource[Any], path: str) -> None:
    assert resource.path(namespace="team-a", name="worker-0") == path


def test_definition_is_established_with_condition() -> None:
    assert not CustomResourceDefinition().is_established
    assert msgspec.convert(FURTHER[-1], CustomResourceDefinition).is_established
