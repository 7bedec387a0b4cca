"""A server is taught Volcano's kinds, once or many times, and what others taught it stays."""

from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import crd_documents, install_crds
from stromboli.kube.objects.catalogue import CRDS, HYPER_NODES, NUMA_TOPOLOGIES, POD_GROUPS, QUEUES
from stromboli.kube.objects.resources import Resource
from stromboli.local.api_server.faults import Answer, Match
from stromboli.local.api_server.server import ApiServer


async def test_all_kinds_are_served_at_once(client: Client) -> None:
    await install_crds(client)
    resources: list[Resource[Any]] = [POD_GROUPS, QUEUES, HYPER_NODES, NUMA_TOPOLOGIES]
    for resource in resources:
        assert (await client.list(resource)).items == []


@pytest.mark.parametrize("status", [404, 429, 503])
async def test_a_server_may_take_its_time_to_serve_them(server: ApiServer, client: Client, status: int) -> None:
    later = server.faults.add(Match(method="GET", plural="queues"), Answer(status, "Later", "storage starts"), times=2)
    await install_crds(client)
    assert later.fired == 2


async def test_a_second_time_changes_nothing(client: Client) -> None:
    await install_crds(client)
    before = {entry.key: entry.metadata.resource_version for entry in (await client.list(CRDS)).items}
    await install_crds(client)
    assert {entry.key: entry.metadata.resource_version for entry in (await client.list(CRDS)).items} == before


async def test_definition_of_another_project_is_left_alone(client: Client) -> None:
    theirs = next(document for document in crd_documents() if document["spec"]["names"]["kind"] == "Queue")
    theirs["spec"]["names"]["shortNames"] = ["qu"]
    await client.create(CRDS, theirs)
    await install_crds(client)
    path = CRDS.path(name="queues.scheduling.volcano.sh")
    assert b'"shortNames":["qu"]' in await client.request("GET", path)


REFUSED: list[tuple[str, Resource[Any], dict[str, Any], str]] = [
    ("fewer than no members", POD_GROUPS, {"minMember": -1}, "spec.minMember"),
    ("a weight of nothing", QUEUES, {"weight": 0}, "spec.weight"),
    ("a weight beyond all", QUEUES, {"weight": 65536}, "spec.weight"),
    ("a firm topology", POD_GROUPS, {"networkTopology": {"mode": "firm"}}, "spec.networkTopology.mode"),
    ("no quantity", QUEUES, {"capability": {"cpu": "many"}}, "spec.capability"),
    ("no tier", HYPER_NODES, {"members": [{"type": "Node"}]}, "spec.tier"),
    ("two selectors at once", HYPER_NODES,
     {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "a"}, "labelMatch": {}}}]},
     "spec.members[0].selector"),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "spec", "field"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED])
async def test_what_makes_no_sense_is_refused(
    client: Client, resource: Resource[Any], spec: dict[str, Any], field: str
) -> None:
    await install_crds(client)
    with pytest.raises(ApiError) as refusal:
        await client.create(resource, {"metadata": {"name": "a"}, "spec": spec}, namespace="default")
    assert refusal.value.is_invalid
    assert field in refusal.value.message
