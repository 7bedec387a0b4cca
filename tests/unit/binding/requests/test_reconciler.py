"""Bind requests and their results, on an in-memory cluster, in virtual time.

Nodes are called a, b, c and have capacity for four pods. A gang is written as the selected nodes of its members.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from stromboli.binding.requests.placements import BOUND_BY
from stromboli.binding.requests.wiring import BinderOptions
from stromboli.kube.objects.bind_requests import RECEIVED_RESOURCE_TYPE
from stromboli.kube.objects.catalogue import BIND_REQUESTS, CONFIG_MAPS, DISRUPTION_BUDGETS, NODES, PODS
from tests.testing.binder.binder_world import World
from tests.testing.binder.tickets_plugin import TICKET, Tickets
from tests.testing.virtual_time import run_virtually

Act = Callable[[World], Awaitable[object]]


@dataclass(frozen=True)
class Case:
    """Steps before and while the binder runs, and the result."""

    name: str
    before: tuple[Act, ...]
    phase: str
    #: The nodes of the gang called `gang` at the end.
    places: str
    meanwhile: tuple[Act, ...] = ()
    #: Part of the request's reason.
    reason: str = ""
    attempts: int = 0
    members: str = ""
    injected: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def gang(nodes: str, name: str = "gang", **facts: Any) -> Act:
    return lambda world: world.gang(name, nodes, **facts)


def pod(name: str, cpu: int = 1, **facts: Any) -> Act:
    return lambda world: world.pod(name, cpu, **facts)


def request(pods: dict[str, str], **facts: Any) -> Act:
    return lambda world: world.request("gang", pods, **facts)


def removed(name: str) -> Act:
    return lambda world: world.remove_pod(name)


def recreated(name: str) -> Act:
    async def act(world: World) -> None:
        await world.remove_pod(name)
        known = world.uids[name]
        await world.pod(name)
        world.uids[name] = known

    return act


def node_gone(name: str) -> Act:
    return lambda world: world.remove_node(name)


def patched_node(name: str, spec: dict[str, Any]) -> Act:
    return lambda world: world.client.patch(NODES, name, {"spec": spec})


def bound(name: str, node: str) -> Act:
    return lambda world: world.bind_elsewhere(name, node)


def later(seconds: float, act: Act) -> Act:
    async def wait(world: World) -> None:
        await asyncio.sleep(seconds)
        await act(world)

    return wait


def phase_of(name: str, phase: str) -> Act:
    """Write this phase."""
    return lambda world: world.client.patch(
        BIND_REQUESTS, name, {"status": {"phase": phase}}, namespace="default", subresource="status"
    )


CORDONED = {"unschedulable": True}
GATED: dict[str, Any] = {"schedulingGates": [{"name": "example.com/wait"}]}
DISK = {"volumes": [{"claim": "disk", "volume": "disk"}], "volumeSeconds": 600}
TAINTED = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}

CASES = [
    Case("all members fit", (gang("aab"),), "Succeeded", "aab", members="BBB"),
    Case("one pod alone", (gang("c"),), "Succeeded", "c", members="B"),
    Case("two gangs side by side", (gang("aab"), gang("bcc", "other")), "Succeeded", "aab"),
    Case("no capacity for one: no pod is bound", (pod("big", 4, node="b"), gang("aab")), "Failed", "---",
         reason="Insufficient cpu", attempts=3, members="FFF"),
    Case("no capacity for an optional member", (pod("big", 4, node="b"), gang("aab", minimum=2)), "Succeeded", "aa-",
         reason="Insufficient cpu", attempts=6, members="BBF"),
    Case("capacity becomes free in time", (pod("big", 4, node="b"), gang("aab")), "Succeeded", "aab",
         meanwhile=(later(0.7, removed("big")),), attempts=2),
    Case("more members than the node can hold", (gang("aaaaab", minimum=5),), "Succeeded", "aaaa-b", attempts=6,
         reason="Insufficient cpu"),
    Case("the first request gets the capacity", (gang("aaa", "first"), gang("aa")), "Failed", "--", attempts=3,
         reason="Insufficient cpu"),
    Case("a pod is gone", (gang("aab"), removed("gang-1")), "Failed", "-.-", reason="the pod is gone", members="FFF"),
    Case("a pod is gone that is not needed", (gang("aab", minimum=2), removed("gang-1")), "Succeeded", "a.b",
         members="BFB"),
    Case("a pod of the same name is another pod", (gang("aab"), recreated("gang-1")), "Failed", "---",
         reason="another pod has its name"),
    Case("a pod waits behind a gate", (pod("gang-0"), pod("gang-1", **GATED), request({"gang-0": "a", "gang-1": "a"})),
         "Failed", "--", reason="scheduling gates"),
    Case("another writer bound it to the same node", (gang("aab"), bound("gang-0", "a")), "Succeeded", "aab"),
    Case("another writer chose another node", (gang("aab"), bound("gang-0", "c")), "Succeeded", "cab", members="BBB"),
    Case("the node is gone", (gang("aab"), node_gone("b")), "Failed", "---", reason="node b is gone"),
    Case("the node is gone, and is not needed", (gang("aab", minimum=2), node_gone("b")), "Succeeded", "aa-"),
    Case("the node is cordoned", (gang("aab"), patched_node("b", CORDONED)), "Failed", "---", attempts=6,
         reason="node b is cordoned"),
    Case("the node is uncordoned in time", (gang("aab"), patched_node("b", CORDONED)), "Succeeded", "aab", attempts=2,
         meanwhile=(later(0.8, patched_node("b", {"unschedulable": None})),)),
    Case("the node has a taint", (gang("aab"), patched_node("b", TAINTED)), "Failed", "---", attempts=6,
         reason="taint {gpu: }"),
    Case("the pod tolerates the taint",
         (pod("gang-0", tolerations=[{"key": "gpu", "operator": "Exists"}]), patched_node("b", TAINTED),
          request({"gang-0": "b"})), "Succeeded", "b"),
    Case("no more attempts than allowed", (gang("aab", backoffLimit=2), patched_node("b", CORDONED)), "Failed", "---",
         attempts=2),
    Case("no attempt may fail", (gang("aab", backoffLimit=0), patched_node("b", CORDONED)), "Failed", "---",
         attempts=1),
    Case("deadline", (gang("aab", deadlineSeconds=2, backoffLimit=99), patched_node("b", CORDONED)), "Failed", "---",
         reason="not bound within 2 seconds", attempts=3),
    Case("deadline exceeded, volumes included", (pod("gang-0"), patched_node("b", CORDONED), request(
         {"gang-0": "b"}, deadlineSeconds=2, backoffLimit=100, facts={"gang-0": DISK})), "Failed", "-",
         reason="not bound within 2 seconds", attempts=3),
    Case("the server is busy", (gang("aab"),), "Succeeded", "aab", injected={"refused": 0.3}),
    Case("responses are lost", (gang("aab"),), "Succeeded", "aab", injected={"lost": 0.3}),
    Case("an unknown phase is left alone", (gang("aab"), phase_of("gang", "Unheard")), "Unheard", "---"),
    Case("a failed request is left alone", (gang("aab"), phase_of("gang", "Failed")), "Failed", "---"),
    Case("a decision of a former leader is rejected",
         (gang("c", "new", epoch=7),), "Failed", "---", meanwhile=(later(1.5, gang("aab", epoch=6)),),
         reason="term 6 of scheduler stromboli, whose current term is 7"),
    Case("lower terms count when the old term has expired",
         (gang("c", "new", epoch=7),), "Succeeded", "aab", meanwhile=(later(400, gang("aab", epoch=1)),)),
    Case("a request begun in an earlier term continues",
         (gang("aab", epoch=6), phase_of("gang", "Binding"), gang("c", "new", epoch=7)), "Succeeded", "aab"),
    Case("terms of other schedulers do not count",
         (gang("c", "new", epoch=7, scheduler="other"),), "Succeeded", "aab",
         meanwhile=(later(1.5, gang("aab", epoch=6)),)),
]  # fmt: skip


async def play(case: Case) -> None:
    world = World(seed=1)
    for name in "abc":
        await world.node(name)
    for act in case.before:
        await act(world)
    for name, share in case.injected.items():
        setattr(world.injected, name, share)
    world.start()
    await asyncio.gather(*(act(world) for act in case.meanwhile))
    if case.phase not in ("Succeeded", "Failed"):
        await asyncio.sleep(60.0)
    else:
        await world.until_settled()
    found = await world.found("gang")
    reported = await world.described()
    assert (found.status.phase, await world.places("gang")) == (case.phase, case.places), reported
    assert case.reason in found.status.reason, reported
    if not case.injected:
        assert found.status.failed_attempts == case.attempts, reported
    if case.members:
        assert "".join(each.phase[:1] for each in found.status.pods) == case.members, reported
    if case.phase in ("Succeeded", "Failed") and case.name != "a failed request is left alone":
        assert await world.faults() == [], reported
    await world.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_request_ends_in_phase(case: Case) -> None:
    run_virtually(play(case))


# -- gangs that cannot be completed --------------------------------------------------------------------------------


async def half_bound(world: World, **facts: Any) -> None:
    """Two members are bound, and the third cannot be: its node is deleted meanwhile."""
    for name in "abc":
        await world.node(name)
    await world.gang("gang", "aab", **facts)
    for place in range(2):
        await world.client.bind(
            "default", f"gang-{place}", world.uids[f"gang-{place}"], "a", annotations={BOUND_BY: "gang"}
        )
    await phase_of("gang", "Binding")(world)
    await world.remove_node("b")


def test_gang_that_cannot_be_completed_is_unwound_after_the_status_is_written() -> None:
    async def scenario() -> None:
        world = World()
        await half_bound(world)
        running = world.start()
        await world.until_settled()
        found = await world.found("gang")
        assert found.status.phase == "Failed"
        assert "node b is gone" in found.status.reason
        assert await world.places("gang") == "..-"
        assert [each.phase for each in found.status.pods] == ["Unwound", "Unwound", "Failed"]
        writes = [name for name in running.passed if "eviction" in name or "bindrequests" in name]
        assert writes.index("after patch bindrequests/status") < writes.index("before create pods/eviction")
        assert await world.faults() == []
        await world.close()

    run_virtually(scenario())


def test_only_pods_bound_by_the_request_are_evicted() -> None:
    async def scenario() -> None:
        world = World()
        for name in "abc":
            await world.node(name)
        await world.gang("gang", "aab")
        await world.client.bind("default", "gang-0", world.uids["gang-0"], "a")
        await world.client.bind("default", "gang-1", world.uids["gang-1"], "a", annotations={BOUND_BY: "gang"})
        await world.remove_node("b")
        world.start()
        await world.until_settled()
        assert await world.places("gang") == "a.-"
        await world.close()

    run_virtually(scenario())


def test_eviction_blocked_by_a_budget_is_retried_until_allowed() -> None:
    async def scenario() -> None:
        world = World()
        await half_bound(world, deadlineSeconds=5)
        await world.client.patch(PODS, "gang-0", {"metadata": {"labels": {"app": "x"}}}, namespace="default")
        runs = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await world.client.patch(PODS, "gang-0", {"status": runs}, namespace="default", subresource="status")
        budget = {"metadata": {"name": "tight"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
        await world.client.create(DISRUPTION_BUDGETS, budget, namespace="default")
        world.start()
        await asyncio.sleep(90.0)
        found = await world.found("gang")
        assert found.status.phase == "Unwinding", await world.described()
        assert found.status.failed_attempts > 3
        assert any("gang-0 cannot be evicted" in note for note in await world.events("BindingError"))
        await world.client.delete(DISRUPTION_BUDGETS, "tight", namespace="default")
        await world.until_settled()
        assert await world.places("gang") == "..-"
        assert await world.faults() == []
        await world.close()

    run_virtually(scenario())


def test_binding_that_arrives_after_failure_is_rolled_back() -> None:
    async def scenario() -> None:
        world = World()
        for name in "abc":
            await world.node(name)
        await world.gang("gang", "aab")
        await world.remove_node("b")
        world.start()
        await world.until_settled()
        await world.client.bind("default", "gang-0", world.uids["gang-0"], "a", annotations={BOUND_BY: "gang"})
        await asyncio.sleep(5.0)
        await world.until_settled()
        assert await world.places("gang") == ".--"
        await world.close()

    run_virtually(scenario())


# -- parts ---------------------------------------------------------------------------------------------------------


async def part(world: World, number: int, pods: dict[str, str], parts: int = 2, **facts: Any) -> None:
    for name in pods:
        await world.pod(name)
    await world.request(f"gang-{number}-part", pods, decision="gang", part=number, parts=parts, **facts)


def test_nothing_is_bound_before_all_parts_exist() -> None:
    async def scenario() -> None:
        world = World()
        for name in "abc":
            await world.node(name)
        await part(world, 1, {"gang-0": "a", "gang-1": "a"})
        world.start()
        await asyncio.sleep(30.0)
        assert await world.places("gang") == "--"
        await part(world, 2, {"gang-2": "b"})
        await world.until_settled()
        assert await world.places("gang") == "aab"
        assert [each.status.phase for each in await world.requests()] == ["Succeeded", "Succeeded"]
        assert await world.faults() == []
        await world.close()

    run_virtually(scenario())


def test_missing_parts_fail_the_existing_parts() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a")
        await part(world, 1, {"gang-0": "a"}, parts=3, deadlineSeconds=20)
        world.start()
        await world.until_settled()
        (found,) = await world.requests()
        assert found.status.phase == "Failed"
        assert "2 of 3 parts" in found.status.reason
        await world.close()

    run_virtually(scenario())


def test_one_part_that_cannot_be_bound_fails_the_whole_decision() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a")
        await part(world, 1, {"gang-0": "a"})
        await part(world, 2, {"gang-1": "nowhere"})
        world.start()
        await world.until_settled()
        assert [each.status.phase for each in await world.requests()] == ["Failed", "Failed"]
        assert await world.places("gang") == "--"
        await world.close()

    run_virtually(scenario())


# -- plugins -------------------------------------------------------------------------------------------------------


async def with_tickets(world: World, tickets: dict[str, str], **facts: Any) -> None:
    """A gang on node a whose members need tickets of these kinds."""
    await world.node("a", cpu=8)
    for name in tickets:
        await world.pod(name)
    wanted = {name: {"annotations": {TICKET: kind}} for name, kind in tickets.items()}
    await world.request("gang", dict.fromkeys(tickets, "a"), facts=wanted, **facts)


async def tickets_of(world: World) -> set[str]:
    found = (await world.client.list(CONFIG_MAPS, namespace="default")).items
    by_uid = {uid: name for name, uid in world.uids.items()}
    names = {each.metadata.name.removeprefix("ticket-") for each in found if each.metadata.name.startswith("ticket-")}
    return {by_uid[uid] for uid in names}


PREPARED = [
    ("all get theirs", ("yes", "yes"), {}, "Succeeded", "aa", {"gang-0", "gang-1"}),
    ("one gets its own later", ("yes", "later:2"), {}, "Succeeded", "aa", {"gang-0", "gang-1"}),
    ("one never does: no pod is bound", ("yes", "never"), {}, "Failed", "--", set()),
    ("one never does, and is not needed", ("yes", "never"), {"minimum": 1}, "Succeeded", "a-", {"gang-0"}),
    ("one does not in time", ("yes", "slow:500"), {"deadlineSeconds": 20}, "Failed", "--", set()),
    ("one waits long, and gets it", ("yes", "slow:50"), {}, "Succeeded", "aa", {"gang-0", "gang-1"}),
    ("one fails too often", ("yes", "later:99"), {"backoffLimit": 3}, "Failed", "--", set()),
]


@pytest.mark.parametrize(("name", "kinds", "facts", "phase", "places", "left"), PREPARED, ids=[c[0] for c in PREPARED])
def test_members_are_prepared_before_the_first_is_bound(
    name: str, kinds: tuple[str, ...], facts: dict[str, Any], phase: str, places: str, left: set[str]
) -> None:
    async def scenario() -> None:
        world, plugin = World(), Tickets()
        await with_tickets(world, {f"gang-{place}": kind for place, kind in enumerate(kinds)}, **facts)
        running = world.start([plugin])
        await world.until_settled()
        found = await world.found("gang")
        assert (found.status.phase, await world.places("gang")) == (phase, places), await world.described()
        assert await tickets_of(world) == left
        assert await world.faults() == []
        if phase == "Succeeded":
            bound = [pod for pod in (await world.pods()).values() if pod.spec.node_name]
            seats = [(pod.metadata.annotations or {}).get("example.com/seat") for pod in bound]
            assert seats == [f"seat of {pod.metadata.name}" for pod in bound]
            last = max(place for place, each in enumerate(plugin.calls) if each.startswith("pre_bind"))
            assert plugin.calls[last + 1 :] != []
            first = running.passed.index("before create pods/binding")
            assert running.passed[:first].count("after create configmaps") >= len(left)
        await world.close()

    run_virtually(scenario())


def test_gang_in_preparation_does_not_block_other_gangs() -> None:
    async def scenario() -> None:
        world = World()
        await with_tickets(world, {"gang-0": "slow:100"})
        world.start([Tickets()], BinderOptions(request_workers=1))
        await asyncio.sleep(1.0)
        await world.gang("other", "aa")
        await asyncio.sleep(5.0)
        assert (await world.places("other"), await world.places("gang")) == ("aa", "-")
        assert (await world.found("gang")).status.phase == "Binding"
        await world.until_settled()
        assert await world.places("gang") == "a"
        await world.close()

    run_virtually(scenario())


def test_preparations_of_a_deleted_request_are_rolled_back() -> None:
    async def scenario() -> None:
        world = World()
        await with_tickets(world, {"gang-0": "yes", "gang-1": "slow:100"})
        running = world.start([Tickets()])
        await asyncio.sleep(5.0)
        assert await tickets_of(world) == {"gang-0", "gang-1"}
        await world.client.delete(BIND_REQUESTS, "gang", namespace="default")
        await asyncio.sleep(30.0)
        assert await tickets_of(world) == set()
        assert len(running.binder.assumed) == 0
        assert await world.places("gang") == "--"
        await world.close()

    run_virtually(scenario())


# -- reports -------------------------------------------------------------------------------------------------------


def test_every_failed_attempt_is_reported_on_pod_and_group() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a", cpu=1)
        await world.pod("big", 1, node="a")
        await world.gang("gang", "a")
        world.start()
        await world.until_settled()
        reported = await world.events("BindingError")
        message = "failed to bind to node a: node a has no capacity: Insufficient cpu"
        assert f"Pod gang-0: {message}" in reported
        assert [f"PodGroup gang: attempt {number}: pod gang-0 {message}" in reported for number in (1, 2, 3)] == [
            True
        ] * 3
        (condition,) = [c for c in (await world.pods())["gang-0"].status.conditions or () if c.type == "PodBound"]
        assert (condition.status, condition.reason, condition.message) == ("False", "BindingError", message)
        await world.close()

    run_virtually(scenario())


def test_bound_pod_has_condition_annotations_and_labels() -> None:
    async def scenario() -> None:
        world = World()
        await world.node("a")
        await world.pod("gang-0")
        facts = {"gang-0": {"annotations": {"a": "1"}, "labels": {"b": "2"}, "receivedResourceType": "Regular"}}
        await world.request("gang", {"gang-0": "a"}, facts=facts)
        world.start()
        await world.until_settled()
        pod = (await world.pods())["gang-0"]
        annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
        assert (annotations["a"], annotations[RECEIVED_RESOURCE_TYPE], labels["b"]) == ("1", "Regular", "2")
        (condition,) = [c for c in pod.status.conditions or () if c.type == "PodBound"]
        assert (condition.status, condition.reason) == ("True", "Bound")
        assert await world.events("Scheduled") == ["Pod gang-0: Successfully assigned default/gang-0 to a"]
        await world.close()

    run_virtually(scenario())


def test_successful_request_needs_one_status_write() -> None:
    async def scenario() -> None:
        world = World()
        for name in "abc":
            await world.node(name)
        await world.gang("gang", "aabbc")
        running = world.start()
        await world.until_settled()
        assert running.passed.count("after patch bindrequests/status") == 1
        assert running.passed.count("after create pods/binding") == 5
        await world.close()

    run_virtually(scenario())
