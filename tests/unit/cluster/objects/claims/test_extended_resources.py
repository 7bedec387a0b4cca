"""The claim for extended resources: its requests, and which container uses which."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stromboli.cluster.objects.claims.extended_resources import (
    claim_name,
    extended_claim,
    narrowed,
    request_mappings,
    resource_classes,
    resource_of,
)
from stromboli.kube.objects.claims import EXTENDED_CLAIM, DeviceClass
from stromboli.kube.objects.pod import Pod

GPU, NIC = "example.com/gpu", "example.com/nic"
CLASSES = {GPU: "gpu.example.com", NIC: "nic.example.com"}


def pod(*containers: dict[str, int], inits: tuple[dict[str, Any], ...] = (), name: str = "train") -> Pod:
    """Containers by the resources that they request; init containers with `sidecar` run as long as the others."""

    def container(number: int, amounts: dict[str, Any], prefix: str) -> dict[str, Any]:
        requests = {key: str(value) for key, value in amounts.items() if key != "sidecar"}
        policy = {"restartPolicy": "Always"} if amounts.get("sidecar") else {}
        return {"name": f"{prefix}{number}", "resources": {"requests": requests}, **policy}

    spec = {
        "containers": [container(number, each, "c") for number, each in enumerate(containers)],
        "initContainers": [container(number, each, "i") for number, each in enumerate(inits)],
    }
    return msgspec.convert({"metadata": {"name": name, "namespace": "team", "uid": "pod-1"}, "spec": spec}, Pod)


#: The pod; the requests of its claim; and the requests of each container.
CASES: dict[str, tuple[Pod, str, str]] = {
    "a container": (pod({"cpu": 1, GPU: 2}), "container-0-request-1: 2", "c0: container-0-request-1"),
    "two containers": (
        pod({GPU: 2}, {GPU: 1}),
        "container-0-request-0: 2, container-1-request-0: 1",
        "c0: container-0-request-0, c1: container-1-request-0",
    ),
    "two resources": (
        pod({"cpu": 1, GPU: 2, NIC: 1}),
        "container-0-request-1: 2, container-0-request-2: 1",
        "c0: container-0-request-1, c0: container-0-request-2",
    ),
    "an init container uses devices of later containers": (
        pod({GPU: 2}, inits=({GPU: 1},)),
        "container-1-request-0: 2",
        "c0: container-1-request-0, i0: container-1-request-0",
    ),
    "and requests what is missing to them": (
        pod({GPU: 2}, inits=({GPU: 3},)),
        "container-0-request-0: 1, container-1-request-0: 2",
        "c0: container-1-request-0, i0: container-0-request-0, i0: container-1-request-0",
    ),
    "init containers share what is missing": (
        pod({}, inits=({GPU: 1}, {GPU: 3})),
        "container-1-request-0: 3",
        "i0: container-1-request-0, i1: container-1-request-0",
    ),
    "a sidecar has devices of its own": (
        pod({GPU: 1}, inits=({GPU: 1, "sidecar": True},)),
        "container-0-request-0: 1, container-1-request-0: 1",
        "c0: container-1-request-0, i0: container-0-request-0",
    ),
    "an init container before a sidecar uses its devices": (
        pod({}, inits=({GPU: 1}, {GPU: 1, "sidecar": True})),
        "container-1-request-0: 1",
        "i0: container-1-request-0, i1: container-1-request-0",
    ),
    "and none of one that started before": (
        pod({}, inits=({GPU: 1, "sidecar": True}, {GPU: 1})),
        "container-0-request-0: 1, container-1-request-0: 1",
        "i0: container-0-request-0, i1: container-1-request-0",
    ),
    "zero is no request": (pod({GPU: 0}, {GPU: 1}), "container-1-request-0: 1", "c1: container-1-request-0"),
}


@pytest.mark.parametrize(("described", "requests", "used"), CASES.values(), ids=CASES)
def test_claim_requests_devices_for_each_container(described: Pod, requests: str, used: str) -> None:
    claim = extended_claim(described, CLASSES)
    assert claim is not None
    assert claim.spec.devices is not None
    wanted = claim.spec.devices.requests or []
    assert ", ".join(f"{each.name}: {each.exactly.count if each.exactly else 0}" for each in wanted) == requests
    mappings = request_mappings(described, CLASSES, (each.name or "" for each in wanted))
    assert ", ".join(sorted(f"{each.container_name}: {each.request_name}" for each in mappings)) == used
    for each in wanted:
        assert each.exactly is not None
        assert CLASSES[resource_of(described, each.name or "")] == each.exactly.device_class_name


def test_claim_is_owned_by_its_pod_and_has_the_annotation() -> None:
    claim = extended_claim(pod({GPU: 1}), CLASSES)
    assert claim is not None
    [owner] = claim.metadata.owner_references or []
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "train", "pod-1", True)
    assert claim.metadata.annotations == {EXTENDED_CLAIM: "true"}
    assert claim.metadata.name.startswith("train-extended-resources-")


def test_name_of_the_claim_of_a_long_pod_name_is_valid() -> None:
    assert len(claim_name(pod({GPU: 1}, name="p" * 253))) == 253


@pytest.mark.parametrize("described", [pod({"cpu": 1}), pod({"example.com/other": 1}), pod({GPU: 0})])
def test_pod_without_such_a_resource_has_no_claim(described: Pod) -> None:
    assert extended_claim(described, CLASSES) is None


def test_running_pod_has_a_claim_only_if_its_status_names_one() -> None:
    running = pod({GPU: 1})
    running.spec.node_name = "a"
    assert extended_claim(running, CLASSES) is None
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "theirs"}}
    running = msgspec.convert({**msgspec.to_builtins(running), "status": status}, Pod)
    claim = extended_claim(running, CLASSES)
    assert claim is not None
    assert claim.key == "team/theirs"


def test_narrowed_claim_has_the_allocated_requests_only() -> None:
    claim = extended_claim(pod({GPU: 1, NIC: 1}), CLASSES)
    assert claim is not None
    devices = narrowed(claim, ["container-0-request-1"]).spec.devices
    assert devices is not None
    assert [each.name for each in devices.requests or ()] == ["container-0-request-1"]


def device_class(name: str, resource: str | None, created: str = "") -> DeviceClass:
    metadata = {"name": name, "creationTimestamp": created or None}
    return msgspec.convert({"metadata": metadata, "spec": {"extendedResourceName": resource}}, DeviceClass)


OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
CHOSEN = {
    "the only one": ([device_class("a", GPU)], "a"),
    "the newest": ([device_class("a", GPU, NEW), device_class("b", GPU, OLD)], "a"),
    "the newest, in another order": ([device_class("b", GPU, OLD), device_class("a", GPU, NEW)], "a"),
    "of one age the first name": ([device_class("b", GPU, OLD), device_class("a", GPU, OLD)], "a"),
    "none": ([device_class("a", None)], None),
}


@pytest.mark.parametrize(("classes", "chosen"), CHOSEN.values(), ids=CHOSEN)
def test_class_of_a_resource(classes: list[DeviceClass], chosen: str | None) -> None:
    found = resource_classes(classes)
    assert found.get(GPU) == chosen
    assert all(
        found[f"deviceclass.resource.kubernetes.io/{each.metadata.name}"] == each.metadata.name for each in classes
    )
