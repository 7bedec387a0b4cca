"""The binder prepares volumes before pods are bound, and rolls back what is incomplete."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stromboli.binding.steps.volumes.plugin import VolumesPlugin
from stromboli.kube.objects.catalogue import CLAIMS, NODES, STORAGE_CLASSES, VOLUMES
from stromboli.kube.objects.storage import SELECTED_NODE
from tests.e2e.scheduling.test_volumes import HOST, Provisioner, local_volume
from tests.testing.binder.binder_world import World
from tests.testing.virtual_time import run_virtually

LOCAL = "local"


async def create_objects(world: World, *, disks: dict[str, str]) -> None:
    """Create nodes a and b, a class with delayed binding, and existing disks by name with their nodes."""
    for name in "ab":
        await world.node(name)
        await world.client.patch(NODES, name, {"metadata": {"labels": {HOST: name}}})
    body = {
        "metadata": {"name": LOCAL},
        "provisioner": "example.com/x",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await world.client.create(STORAGE_CLASSES, body)
    for disk, node in disks.items():
        await world.client.create(VOLUMES, local_volume(disk, node, LOCAL))


async def gang(world: World, chosen: dict[str, str], node: str = "a", **facts: Any) -> None:
    """Create a pod for every claim, with its chosen volume; empty for one that is provisioned."""
    for claim in chosen:
        spec = {
            "accessModes": ["ReadWriteOnce"], "storageClassName": LOCAL,
            "resources": {"requests": {"storage": "1Gi"}},
        }  # fmt: skip
        await world.client.create(CLAIMS, {"metadata": {"name": claim}, "spec": spec}, namespace="default")
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        await world.pod(f"gang-{claim}", volumes=[volume])
    members = {
        f"gang-{claim}": {"volumes": [{"claim": claim, "volume": volume}], "volumeSeconds": 20}
        for claim, volume in chosen.items()
    }
    await world.request("gang", dict.fromkeys(members, node), facts=members, **facts)


async def untouched(world: World) -> bool:
    """Report whether no unbound claim has a node and no free volume has a claim."""
    claims = (await world.client.list(CLAIMS)).items
    volumes = (await world.client.list(VOLUMES)).items
    waiting = {claim.metadata.name for claim in claims if not claim.is_bound}
    named = [c for c in claims if not c.is_bound and SELECTED_NODE in (c.metadata.annotations or {})]
    return not named and not [v for v in volumes if v.spec.claim_ref and v.spec.claim_ref.name in waiting]


#: The chosen volumes, the claims that the provisioner ignores, and the result.
CASES: list[tuple[str, dict[str, str], set[str], dict[str, Any], str, str]] = [
    ("one that is there", {"one": "disk-a"}, set(), {}, "Succeeded", "a"),
    ("one that is made", {"one": ""}, set(), {}, "Succeeded", "a"),
    ("both kinds in one gang", {"one": "disk-a", "two": ""}, set(), {}, "Succeeded", "aa"),
    (
        "one that is never provisioned: no pod is bound",
        {"one": "disk-a", "two": ""},
        {"two"},
        {"backoffLimit": 2},
        "Failed",
        "--",
    ),
    (
        "one that never comes, and is not needed",
        {"one": "", "two": ""},
        {"two"},
        {"minimum": 1, "backoffLimit": 2},
        "Succeeded",
        "a-",
    ),
    ("a disk of another node", {"one": "disk-b"}, set(), {}, "Failed", "-"),
    ("a disk that is not there", {"one": "disk-x"}, set(), {"backoffLimit": 2}, "Failed", "-"),
]


@pytest.mark.parametrize(
    ("chosen", "ignored", "facts", "phase", "places"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_pods_are_bound_when_their_volumes_are_ready(
    chosen: dict[str, str], ignored: set[str], facts: dict[str, Any], phase: str, places: str
) -> None:
    async def scenario() -> None:
        world = World()
        await create_objects(world, disks={"disk-a": "a", "disk-b": "b"})
        await gang(world, chosen, **facts)
        provisioner = Provisioner(SimpleNamespace(client=world.client, namespace="default"))  # type: ignore[arg-type]
        provisioner.ignored = ignored
        running = asyncio.ensure_future(provisioner.run())
        world.start([VolumesPlugin()])
        await world.until_settled(1200.0)
        found = await world.found("gang")
        assert (found.status.phase, await world.places("gang")) == (phase, places), await world.described()
        assert await untouched(world)
        assert await world.faults() == []
        running.cancel()
        await world.close()

    run_virtually(scenario())
