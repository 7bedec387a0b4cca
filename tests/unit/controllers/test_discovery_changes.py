"""Discovery on a server: what it made it keeps up to date, what people wrote stays."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from stromboli.controllers.discovered_hypernodes import DISCOVERED_BY, hyper_nodes_of
from stromboli.controllers.discovery_changes import HyperNodeChanges, changes_to, write
from stromboli.controllers.discovery_keys import parse_keys
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import HYPER_NODES
from stromboli.kube.objects.topology import KubeHyperNode

KEYS = parse_keys("zone=zone,rack=rack")
FIRST = [{"zone": "a", "rack": "r0"}, {"zone": "a", "rack": "r1"}]
LATER = [{"zone": "a", "rack": "r0"}, {"zone": "a", "rack": "r2"}]


@pytest_asyncio.fixture(autouse=True)
async def _definitions(client: Client) -> None:
    await install_crds(client)


async def objects(client: Client) -> dict[str, KubeHyperNode]:
    return {each.key: each for each in (await client.list(HYPER_NODES)).items}


async def look(client: Client, labels: list[dict[str, str]]) -> HyperNodeChanges:
    return changes_to((await objects(client)).values(), hyper_nodes_of(labels, KEYS))


async def discover(client: Client, labels: list[dict[str, str]]) -> HyperNodeChanges:
    changes = await look(client, labels)
    await write(client, changes)
    return changes


async def written(client: Client, name: str, tier: int = 1) -> KubeHyperNode:
    """A HyperNode written by hand."""
    member: dict[str, Any] = {"type": "Node", "selector": {"exactMatch": {"name": "n"}}}
    return await client.create(HYPER_NODES, {"metadata": {"name": name}, "spec": {"tier": tier, "members": [member]}})


async def test_made_changed_and_removed(client: Client) -> None:
    await discover(client, FIRST)
    assert set(await objects(client)) == {"zone.a", "rack.a.r0", "rack.a.r1"}
    before = await objects(client)
    changes = await discover(client, LATER)
    after = await objects(client)
    assert set(after) == {"zone.a", "rack.a.r0", "rack.a.r2"}
    assert [each.key for each in changes.changed] == ["zone.a"]
    assert after["rack.a.r0"] == before["rack.a.r0"], "what is right is not written"
    selectors = [member.selector for member in after["zone.a"].spec.members or ()]
    members = [each.exact_match.name for each in selectors if each and each.exact_match]
    assert members == ["rack.a.r0", "rack.a.r2"]


async def test_what_people_wrote_stays(client: Client) -> None:
    theirs = {name: await written(client, name) for name in ("mine", "rack.a.r1")}
    changes = await discover(client, FIRST)
    await discover(client, LATER)
    assert changes.taken == ("rack.a.r1",)
    after = await objects(client)
    assert {name: after[name] for name in theirs} == theirs


async def test_hypernode_without_the_label_belongs_to_its_editor(client: Client) -> None:
    await discover(client, FIRST)
    await client.patch(HYPER_NODES, "rack.a.r1", {"metadata": {"labels": {DISCOVERED_BY: None}}})
    await discover(client, LATER)
    assert "rack.a.r1" in await objects(client)


async def test_what_is_written_meanwhile_is_not_overwritten(client: Client) -> None:
    """Between the read and the write another client creates one, adopts one, and adopts one that was to be deleted."""
    await discover(client, FIRST)
    changes = await look(client, LATER)
    taken = await written(client, "rack.a.r2", tier=5)
    for name in ("zone.a", "rack.a.r1"):
        await client.patch(HYPER_NODES, name, {"metadata": {"labels": {DISCOVERED_BY: None}}})
    for one in (
        HyperNodeChanges((changes.wanted[2],), (changes.wanted[2],), (), (), (), ()),
        HyperNodeChanges((changes.wanted[0],), (), changes.changed, (), (), ()),
        HyperNodeChanges((), (), (), changes.removed, (), ()),
    ):
        with pytest.raises(ApiError, match="409"):
            await write(client, one)
    after = await objects(client)
    assert after["rack.a.r2"] == taken
    assert after["rack.a.r1"].metadata.labels in (None, {})
    assert len(after["zone.a"].spec.members or ()) == 2
