"""Discovery that goes on: labels change, and so do the HyperNodes that follow from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest_asyncio

from stromboli.controllers.discovered_hypernodes import DISCOVERED_BY
from stromboli.controllers.discovery_keys import parse_keys
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import HYPER_NODES, NODES
from tests.unit.local.fakes.running import running, until

KEYS = parse_keys("zone=zone,rack=rack")
SECONDS = 40.0


@pytest_asyncio.fixture(autouse=True)
async def _definitions(client: Client) -> None:
    await install_crds(client)


def there_are(client: Client, *names: str) -> Callable[[], Awaitable[bool]]:
    async def answer() -> bool:
        return {each.key for each in (await client.list(HYPER_NODES)).items} == set(names)

    return answer


async def label(client: Client, node: str, **labels: str | None) -> None:
    await client.patch(NODES, node, {"metadata": {"labels": labels}})


async def test_labels_are_followed(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(NODES, {"metadata": {"name": name, "labels": {"zone": "z", "rack": name}}})
    async with running(Controllers(client, ["volcano"], discovery_keys=KEYS)):
        await until(there_are(client, "zone.z", "rack.z.a", "rack.z.b"), SECONDS)
        await label(client, "b", rack="c")
        await until(there_are(client, "zone.z", "rack.z.a", "rack.z.c"), SECONDS)
        await client.delete(NODES, "a")
        await until(there_are(client, "zone.z", "rack.z.c"), SECONDS)
        await client.delete(HYPER_NODES, "zone.z")
        await until(there_are(client, "zone.z", "rack.z.c"), SECONDS)


async def test_what_people_wrote_and_what_was_found_before_stays(client: Client) -> None:
    """A domain is adopted by hand; then the labels are removed, and come back with other values."""
    member = {"type": "Node", "selector": {"exactMatch": {"name": "a"}}}
    await client.create(HYPER_NODES, {"metadata": {"name": "mine"}, "spec": {"tier": 1, "members": [member]}})
    await client.create(NODES, {"metadata": {"name": "a", "labels": {"zone": "z", "rack": "r"}}})
    controllers = Controllers(client, ["volcano"], discovery_keys=KEYS)
    async with running(controllers):
        await until(there_are(client, "mine", "zone.z", "rack.z.r"), SECONDS)
        await client.patch(HYPER_NODES, "rack.z.r", {"metadata": {"labels": {DISCOVERED_BY: None}}})
        await label(client, "a", zone=None, rack=None)
        await label(client, "a", zone="y")
        await until(there_are(client, "mine", "zone.y", "rack.z.r"), SECONDS)


async def test_discovery_is_off_by_default(client: Client) -> None:
    await client.create(NODES, {"metadata": {"name": "a", "labels": {"zone": "z"}}})
    controllers = Controllers(client, ["volcano"])
    async with running(controllers):
        await client.create(
            HYPER_NODES,
            {
                "metadata": {"name": "mine"},
                "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "a"}}}]},
            },
        )

        async def reported() -> bool:
            return (await client.get(HYPER_NODES, "mine")).status.node_count == 1

        await until(reported, SECONDS)
    assert await there_are(client, "mine")()
