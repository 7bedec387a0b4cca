"""The status of HyperNodes has the number of nodes and the errors; events report errors as well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from stromboli.controllers.hypernode_controller import VALID, HyperNodeReport
from stromboli.controllers.wiring import Controllers
from stromboli.kube.client.client import Client
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import EVENTS, HYPER_NODES, NODES
from stromboli.kube.objects.event import KubeEvent
from stromboli.kube.objects.meta import KubeCondition
from stromboli.kube.objects.topology import HyperNodeStatus, KubeHyperNode
from tests.unit.local.fakes.running import running, until

SECONDS = 40.0


@pytest_asyncio.fixture(autouse=True)
async def _definitions(client: Client) -> None:
    await install_crds(client)


async def create(client: Client, name: str, tier: int, *members: dict[str, Any]) -> None:
    await client.create(HYPER_NODES, {"metadata": {"name": name}, "spec": {"tier": tier, "members": members}})


async def create_node(client: Client, name: str, **labels: str) -> None:
    await client.create(NODES, {"metadata": {"name": name, "labels": labels}})


def named(name: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def labelled(**labels: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"labelMatch": {"matchLabels": labels}}}


def status_is(
    client: Client, name: str, nodes: int, message: str = ""
) -> Callable[[], Awaitable[KubeCondition | None]]:
    """The condition of a HyperNode that has so many nodes, once its message holds these words."""

    async def answer() -> KubeCondition | None:
        status = (await client.get(HYPER_NODES, name)).status
        condition = next((each for each in status.conditions or () if each.type == VALID), None)
        if condition is None or status.node_count != nodes or message not in (condition.message or ""):
            return None
        return condition if (condition.status == "False") is bool(message) else None

    return answer


def events(client: Client, count: int) -> Callable[[], Awaitable[list[KubeEvent] | None]]:
    async def answer() -> list[KubeEvent] | None:
        condition = [each for each in (await client.list(EVENTS)).items if each.involved_object.kind == "HyperNode"]
        return condition if len(condition) >= count else None

    return answer


async def test_nodes_are_counted_as_they_come_and_go(client: Client) -> None:
    await create_node(client, "a", rack="r0")
    await create(client, "rack", 1, labelled(rack="r0"))
    await create(client, "block", 2, named("rack", "HyperNode"))
    async with running(Controllers(client, ["volcano"])):
        condition = await until(status_is(client, "block", 1), SECONDS)
        await create_node(client, "b", rack="r0")
        await until(status_is(client, "rack", 2), SECONDS)
        await until(status_is(client, "block", 2), SECONDS)
        await client.patch(NODES, "a", {"metadata": {"labels": {"rack": "elsewhere"}}})
        await until(status_is(client, "block", 1), SECONDS)
        await client.delete(NODES, "b")
        await until(status_is(client, "rack", 0, "no node is in it"), SECONDS)
    assert (condition.status, condition.reason, condition.message or "") == ("True", "Valid", "")


async def test_error_is_reported_and_cleared(client: Client) -> None:
    """A node is missing, then it comes; everything else goes on."""
    await create_node(client, "a")
    await create(client, "sound", 1, named("a"))
    await create(client, "broken", 1, named("a"), named("late"))
    async with running(Controllers(client, ["volcano"])):
        condition = await until(status_is(client, "broken", 1, "there is no node 'late'"), SECONDS)
        await until(status_is(client, "sound", 1), SECONDS)
        (event,) = await until(events(client, 1), SECONDS)
        await create_node(client, "late")
        await until(status_is(client, "broken", 2), SECONDS)
        await until(events(client, 2), SECONDS)
    assert condition.reason == "Invalid"
    assert (event.type, event.reason, event.involved_object.name) == ("Warning", "Invalid", "broken")
    assert event.message == condition.message
    reasons = {(each.involved_object.name, each.reason) for each in await events(client, 2)() or ()}
    assert reasons == {("broken", "Invalid"), ("broken", "Valid")}


async def test_cycle_is_reported_on_the_hypernode_that_closes_it(client: Client) -> None:
    await create(client, "one", 1, named("two", "HyperNode"))
    await create(client, "two", 2, named("one", "HyperNode"))
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "one", 0, "two is of tier 2, which is not below tier 1"), SECONDS)


def matching(pattern: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}


#: By name: tier, members, nodes in it, and what is said about it.
FAULTS: dict[str, tuple[int, list[dict[str, Any]], int, str]] = {
    "circle-a": (3, [named("circle-b", "HyperNode")], 0, "circle-b is of tier 3, which is not below tier 3"),
    "circle-b": (3, [named("circle-a", "HyperNode")], 0, "circle-a is of tier 3, which is not below tier 3"),
    "empty": (1, [labelled(rack="none")], 0, "no node is in it; nothing is placed there"),
    "nested-pattern": (1, [matching("^(a+)+$")], 0, "no node is in it; nothing is placed there"),
    "no-pattern": (1, [matching("(")], 0, "spec.members[0].selector.regexMatch.pattern: missing )"),
    "own-member": (2, [named("own-member", "HyperNode")], 0, "own-member is of tier 2, which is not below tier 2"),
    "second-parent": (2, [named("sound", "HyperNode")], 0, "sound is a member of first-parent already"),
    "unknown-hypernode": (2, [named("missing", "HyperNode")], 0, "there is no HyperNode 'missing' yet"),
    "unknown-node": (1, [named("missing")], 0, "there is no node 'missing'"),
    "wide-pattern": (1, [matching("a" * 1025)], 0, "needs between 1 and 1024 characters"),
}


async def test_each_error_is_reported_on_its_object_alone(client: Client) -> None:
    await create_node(client, "a" * 40 + "b")
    await create(client, "sound", 1, named("a" * 40 + "b"))
    await create(client, "first-parent", 2, named("sound", "HyperNode"))
    for name, (tier, members, _, _) in FAULTS.items():
        await create(client, name, tier, *members)
    async with running(Controllers(client, ["volcano"])):
        for name, (_, _, nodes, message) in FAULTS.items():
            await until(status_is(client, name, nodes, message), SECONDS)
        for name in ("sound", "first-parent"):
            await until(status_is(client, name, 1), SECONDS)
        condition = await until(events(client, len(FAULTS)), SECONDS)
    assert {(each.involved_object.name, each.type, each.reason) for each in condition} == {
        (name, "Warning", "Invalid") for name in FAULTS
    }
    assert all(FAULTS[each.involved_object.name or ""][3] in (each.message or "") for each in condition)


async def test_what_others_say_stays_and_what_is_true_is_not_written_again(client: Client) -> None:
    await create_node(client, "a")
    await create(client, "rack", 1, named("a"))
    theirs = {"type": "Cooled", "status": "True", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await client.patch(HYPER_NODES, "rack", {"status": {"conditions": [theirs]}}, subresource="status")
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "rack", 1), SECONDS)
    before = await client.get(HYPER_NODES, "rack")
    assert {each.type for each in before.status.conditions or ()} == {"Cooled", VALID}
    controllers = Controllers(client, ["volcano"])
    async with running(controllers):
        await create(client, "other", 1, named("a"))
        await until(status_is(client, "other", 1), SECONDS)
    assert controllers.hyper_nodes.status_writes == 1
    assert await client.get(HYPER_NODES, "rack") == before


async def test_status_that_another_client_changed_is_corrected(client: Client) -> None:
    await create_node(client, "a")
    await create(client, "rack", 1, named("a"))
    async with running(Controllers(client, ["volcano"])):
        await until(status_is(client, "rack", 1), SECONDS)
        await client.patch(HYPER_NODES, "rack", {"status": {"nodeCount": 7}}, subresource="status")
        await until(status_is(client, "rack", 1), SECONDS)


# -- the condition itself -----------------------------------------------------------------------------------------

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"


def with_condition(status: str, message: str = "") -> KubeHyperNode:
    condition = KubeCondition(type=VALID, status=status, message=message, last_transition_time=EARLIER)
    return KubeHyperNode(status=HyperNodeStatus(conditions=[condition], node_count=1))


@pytest.mark.parametrize(
    ("before", "verdict", "is_reported", "since"),
    [
        pytest.param(KubeHyperNode(), HyperNodeReport(1), False, NOW, id="never reported"),
        pytest.param(with_condition("True"), HyperNodeReport(1), True, EARLIER, id="nothing has changed"),
        pytest.param(with_condition("True"), HyperNodeReport(2), False, EARLIER, id="another count"),
        pytest.param(with_condition("True"), HyperNodeReport(1, ["x"]), False, NOW, id="something is wrong now"),
        pytest.param(with_condition("False", "x"), HyperNodeReport(1, ["x"]), True, EARLIER, id="the same is wrong"),
        pytest.param(
            with_condition("False", "x"), HyperNodeReport(1, ["y"]), False, EARLIER, id="something else is wrong"
        ),
        pytest.param(with_condition("False", "x"), HyperNodeReport(1), False, NOW, id="it is right again"),
    ],
)
def test_the_condition(before: KubeHyperNode, verdict: HyperNodeReport, is_reported: bool, since: str) -> None:
    assert verdict.matches(before) is is_reported
    assert verdict.as_status(before, NOW)["conditions"][0]["lastTransitionTime"] == since


def test_number_of_reported_errors_is_limited() -> None:
    assert HyperNodeReport(0, [str(number) for number in range(8)]).message == "0; 1; 2; 3; 4; and 3 more"
