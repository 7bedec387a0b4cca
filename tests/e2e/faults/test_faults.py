"""The fault catalogue, row by row, between a scheduler and a server: the fault and its outcome.

Every row has a case here, or a reason why a proxy cannot cover it and the place of its test.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from stromboli.kube.client.client import PatchKind
from stromboli.kube.client.config.credentials import TokenFile
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from stromboli.kube.watch import reflector
from stromboli.kube.work.retry import RetryPolicy
from stromboli.scheduler import bind_tracker
from testbed.fault_proxy import BINDINGS, EVICTIONS
from testbed.plane import ControlPlane
from testbed.proxy_call import Call
from testbed.proxy_faults import (
    Action,
    Answer,
    CutBody,
    Delay,
    Hang,
    LoseAnswer,
    LoseRequest,
    Match,
    Oversize,
    Replay,
    Truncate,
    WrongType,
)
from tests.e2e.environment.faulty_cluster import PODS_WATCH, STREAMED_LISTS, FaultyCluster, disturbed
from tests.testing.priority_classes import until_usable

FaultCase = Callable[[FaultyCluster], Awaitable[None]]

GROUP_WRITES = Match("PATCH", "/podgroups/")
POD_LISTS = Match("GET", r"^/api/v1/pods\?(?!.*watch=true)")
BUDGETS_PATH = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"
NOT_STREAMED = Answer(400, "BadRequest", "sendInitialEvents is forbidden")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry failures quickly: production delays are too long for a test."""
    backoff = RetryPolicy(min_delay=0.05, max_delay=0.2, factor=2.0, jitter=False)
    monkeypatch.setattr(bind_tracker, "BACKOFF", backoff)
    monkeypatch.setattr(reflector, "RETRY", RetryPolicy(min_delay=0.02, max_delay=0.1))


# -- 5.1 answers --------------------------------------------------------------------------------------------------


def binds_are(action: Action, times: int, *, least: int = 1, **limits: Any) -> FaultCase:
    """A gang is bound completely although its bindings meet this fault."""

    async def case(world: FaultyCluster) -> None:
        await world.create_nodes(1, 4)
        fault = world.fault(BINDINGS, action, times=times)
        await world.create_gang("gang", 3)
        await world.begin(limits=limits)
        await world.until_bound("gang", 3)
        await world.check()
        assert fault.fired >= least

    return case


async def already_bound_by_us(world: FaultyCluster) -> None:
    await binds_are(LoseAnswer(), 2, least=2)(world)
    assert sum(call.status == 409 for call in world.proxy.seen(BINDINGS)) >= 2, "the repetition is refused, and no loss"


async def bound_by_another_scheduler(world: FaultyCluster) -> None:
    """The server's state wins: the capacity of the assumed placement is released, and the real one is counted."""
    await world.create_nodes(2, 2)
    gate = world.gate()
    await world.create_gang("gang", 1)
    await world.begin()
    await world.blocked_at(gate)
    (ours,) = (each.node for each in world.scheduler.cluster.assumptions.placements.values())
    theirs = next(node for node in await world.free() if node != ours)
    (pod,) = await world.pods("gang")
    await world.client.bind(world.name, pod.metadata.name, pod.metadata.uid, theirs)
    gate.open()
    await world.until(lambda: not world.scheduler.executor.waiting, "the bind is settled")
    await world.create_gang("next", 3)
    await world.until_bound("", 4)
    assert {pod.spec.node_name for pod in await world.pods("gang")} == {theirs}
    await world.check()


async def replaced_while_it_was_bound(world: FaultyCluster) -> None:
    """A pod of the same name is another pod, and is scheduled as a new one."""
    await world.create_nodes(1, 4)
    gate = world.gate()
    await world.create_gang("gang", 1)
    await world.begin()
    await world.blocked_at(gate)
    (before,) = await world.pods("gang")
    await world.client.delete(PODS, before.metadata.name, namespace=world.name, grace_period=0)
    await world.create_pod(before.metadata.name, group="gang")
    gate.open()
    await world.until_bound("gang", 1)
    (after,) = await world.pods("gang")
    assert list(world.proxy.binds()) == [after.metadata.uid]
    await world.check()


async def deleted_while_it_was_bound(world: FaultyCluster) -> None:
    """A finalizer delays the deletion: the server rejects the binding, and it is not retried."""
    await world.create_nodes(1, 4)
    gate = world.gate()
    await world.create_gang("gang", 1)
    (pod,) = await world.pods()
    holds = {"metadata": {"finalizers": ["example.com/wait"]}}
    await world.client.patch(PODS, pod.metadata.name, holds, namespace=world.name)
    await world.begin()
    await world.blocked_at(gate)
    await world.client.delete(PODS, pod.metadata.name, namespace=world.name, grace_period=0)
    gate.open()
    await world.until(lambda: not world.scheduler.executor.waiting, "the bind is settled")
    await world.iterate()
    assert (await world.bound(), len(world.proxy.seen(BINDINGS))) == (0, 1)
    await world.check()
    lets_go = {"metadata": {"finalizers": None}}
    await world.client.patch(PODS, pod.metadata.name, lets_go, namespace=world.name)


async def another_client_wrote_the_status(world: FaultyCluster) -> None:
    """The foreign write is kept, and the scheduler's conditions are added."""
    await world.create_nodes(1, 4)
    gate = world.gate(GROUP_WRITES)
    await world.create_gang("gang", 5)
    await world.begin()
    await world.blocked_at(gate)
    theirs = {"type": "Audited", "status": "True", "reason": "ByUs", "transitionID": "x"}
    await world.client.patch(POD_GROUPS, "gang", {"status": {"conditions": [theirs]}}, namespace=world.name)
    gate.open()
    await world.until_condition("gang", "Insufficient cpu")
    group = await world.client.get(POD_GROUPS, "gang", namespace=world.name)
    assert [c.type for c in group.status.conditions or ()] == ["Audited", "Unschedulable"]
    assert any(call.status == 409 for call in world.proxy.seen(GROUP_WRITES))
    await world.check()


async def history_is_forgotten(world: FaultyCluster) -> None:
    """Nothing is lost, and nothing counts twice."""
    await world.create_nodes(1, 4)
    await world.create_gang("before", 2)
    await world.begin()
    await world.until_bound("before", 2)
    fault = world.fault(PODS_WATCH, Answer(410, "Expired"))
    world.proxy.cut_streams(PODS_WATCH)
    await world.create_gang("after", 2)
    await world.until_bound("after", 2)
    assert (fault.fired, sum(each.relists for each in world.scheduler.watches.required)) == (1, 1)
    await world.create_gang("last", 1)
    await world.until_condition("last", "Insufficient cpu")
    await world.check()


async def a_status_is_refused_for_good(world: FaultyCluster) -> None:
    """The write is not retried in a tight loop, and does not delay others."""
    await world.create_nodes(1, 4)
    fault = world.fault(GROUP_WRITES, Answer(422, "Invalid"), times=None)
    await world.create_gang("refused", 5)
    await world.begin()
    await world.create_gang("other", 1)
    await world.until_bound("other", 1)
    before, cycles = fault.fired, world.scheduler.cycles.number
    await world.iterate(10)
    assert fault.fired - before <= 2 * (world.scheduler.cycles.number - cycles) + 2
    world.proxy.faults.clear()
    await world.until_condition("refused", "Insufficient cpu")
    await world.check()


async def a_member_is_refused_for_good(world: FaultyCluster) -> None:
    """It is retried before the others are bound, without success: the others do not stay bound without it."""
    await world.create_nodes(1, 4)
    others = world.gate(Match("POST", "/pods/gang-00[01]/binding"), times=2)
    third = Match("POST", "/pods/gang-002/binding")
    again = world.gate(third, after=1)
    world.fault(third, Answer(422, "Invalid", "never"), times=None)
    await world.create_gang("gang", 3)
    await world.begin(heal=0.5)
    await world.blocked_at(others, 2)
    await world.blocked_at(again)
    others.open()
    await world.until_bound("gang", 2)
    again.open()
    await world.until_event("2 of 3 pods were bound")
    await world.until_bound("gang", 0)
    await world.check()


async def gone_when_it_is_bound(world: FaultyCluster) -> None:
    """Its capacity is available to the next pod."""
    await world.create_nodes(1, 1)
    gate = world.gate()
    await world.create_gang("gang", 1)
    await world.begin()
    await world.blocked_at(gate)
    await world.client.delete(PODS, "gang-000", namespace=world.name, grace_period=0)
    await world.create_gang("next", 1)
    gate.open()
    await world.until_bound("next", 1)
    await world.check()


async def a_kind_is_not_served(world: FaultyCluster) -> None:
    """The scheduler is not ready, and retries."""
    await world.create_nodes(1, 4)
    groups = Match("GET", "scheduling.volcano.sh/v1beta1/podgroups")
    world.fault(groups, Answer(404, "NotFound"), times=None)
    await world.begin()
    await world.until(lambda: "podgroups" in (world.scheduler.watches.problem() or ""), "the missing kind is reported")
    await world.create_gang("gang", 1)
    await world.iterate()
    assert (world.scheduler.cycles.number, await world.bound()) == (0, 0)
    world.proxy.faults.clear()
    await world.until_bound("gang", 1)
    await world.check()


async def looking_is_denied(world: FaultyCluster, status: int) -> None:
    """The scheduler makes no decision, reports why, retries with growing delays, and continues when it is allowed."""
    await world.create_nodes(1, 4)
    await world.create_gang("before", 1)
    await world.begin()
    await world.until_bound("before", 1)
    fault = world.fault(Match(), Answer(status, "Denied"), times=None)
    world.proxy.cut_streams(Match("GET", "watch=true"))
    await world.until_watch_fails()
    assert str(status) in (world.scheduler.watches.problem() or "")
    number = world.scheduler.cycles.number
    await world.create_gang("after", 1)
    await world.iterate()
    assert world.scheduler.cycles.number == number
    assert fault.fired < 200, "retries do not overload the server"
    world.proxy.faults.clear()
    await world.until_bound("after", 1)
    await world.check()


@dataclass(frozen=True, slots=True)
class Refuse:
    """Reject requests with this token."""

    token: str

    async def happen(self, call: Call) -> bool:
        if call.request.headers.get("Authorization") != f"Bearer {self.token}":
            return False
        return await Answer(401, "Unauthorized").happen(call)


async def a_token_is_replaced(world: FaultyCluster) -> None:
    """The old token expires: the file is read again, and no event is lost."""
    headers = await load_kubeconfig(str(world.plane.kubeconfig_of("scheduler"))).credentials.headers()
    good = headers.get("Authorization", "Bearer any").removeprefix("Bearer ")
    path = world.folder / "token"
    path.write_text("old")
    world.fault(Match(), Refuse("old"), times=None)
    await world.create_nodes(1, 4)
    await world.create_gang("gang", 1)
    await world.begin(connection=replace(world.connection, credentials=TokenFile(str(path))))
    await world.until(lambda: "401" in (world.scheduler.watches.problem() or ""), "it is not let in")
    path.write_text(good)
    await world.until_bound("gang", 1)
    await world.check()


async def a_process_is_not_let_in(world: FaultyCluster) -> None:
    """The process is alive, reports that it is not ready and why, and continues when it is authenticated."""
    await world.create_nodes(1, 4)
    world.fault(Match(), Answer(401, "Unauthorized", "who are you?"), times=None)
    process = world.start("--healthz-address=127.0.0.1:0")
    await world.until(lambda: "/readyz" in process.output, "the address of the health endpoints is logged")
    (url,) = re.findall(r"http://\S+/readyz", process.output)
    await world.until_requested(lambda: responds(url, 500, "who are you?"), lambda: f"not ready: {process.output}")
    assert await responds(url.replace("readyz", "livez"), 200, "ok")
    await world.create_gang("gang", 1)
    world.proxy.faults.clear()
    await world.until_bound("gang", 1)
    await world.until_requested(lambda: responds(url, 200, "ok"), lambda: f"ready: {process.output}")
    assert not process.has_ended


async def responds(url: str, status: int, words: str) -> bool:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status == status and words in await answer.text()


def budgets(*names: str, words: str) -> FaultCase:
    """Members of a gang that cannot be completed are protected by budgets: they stay until the budgets allow it."""

    async def case(world: FaultyCluster) -> None:
        path = BUDGETS_PATH.format(world.name)
        for name in names:
            spec = {"minAvailable": 3, "selector": {"matchLabels": {"app": "gang"}}}
            budget = {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name},
                "spec": spec,
            }
            await world.client.request("POST", path, body=msgspec.json.encode(budget))
        gate = world.gate(EVICTIONS, times=2)
        await never_complete(world)
        await world.blocked_at(gate, 2)
        for name in ("gang-000", "gang-001"):  # budgets are about pods that run
            running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
            await world.client.patch(
                PODS, name, running, namespace=world.name, subresource="status", kind=PatchKind.STRATEGIC
            )
        gate.open()
        await world.until_event(words)
        assert await world.bound("gang") == 2
        for name in names:
            await world.client.request("DELETE", f"{path}/{name}")
        await world.until_bound("gang", 0)
        await world.check()

    return case


async def never_complete(world: FaultyCluster) -> None:
    """Two of three are bound, and the third cannot be: the two are evicted."""
    await world.create_nodes(1, 4)
    world.fault(Match("POST", "/pods/gang-002/binding"), Answer(422, "Invalid", "never"), times=None)
    await world.create_gang("gang", 3)
    for place in range(3):
        labels = {"metadata": {"labels": {"app": "gang"}}}
        await world.client.patch(PODS, f"gang-00{place}", labels, namespace=world.name)
    await world.begin(heal=0.5)
    await world.until_event("2 of 3 pods were bound")


def evictions_are(action: Action, times: int) -> FaultCase:
    async def case(world: FaultyCluster) -> None:
        fault = world.fault(EVICTIONS, action, times=times)
        await never_complete(world)
        await world.until_bound("gang", 0)
        world.proxy.faults.clear()
        await world.check()
        assert fault.fired

    return case


def lists_are(action: Action) -> FaultCase:
    """Lists are requested again, and the wrong responses fill no memory."""

    async def case(world: FaultyCluster) -> None:
        await world.create_nodes(1, 4)
        world.fault(STREAMED_LISTS, NOT_STREAMED, times=None)
        fault = world.fault(Match("GET", r"\?(?!.*watch=true)"), action, times=10)
        await world.begin(limits={"max_response_size": 8 << 20})
        await world.until_synced()
        assert fault.fired == 10
        await world.create_gang("gang", 1)
        await world.until_bound("gang", 1)
        await world.check()

    return case


async def the_past_is_read_back(world: FaultyCluster) -> None:
    """The response to a binding is lost, and a read returns the old pod: its capacity stays taken."""
    await world.create_nodes(1, 1)
    await world.create_gang("gang", 1)
    replay = Replay()
    world.fault(Match("GET", "/pods/gang-000$"), replay, times=None)
    await world.begin()
    await world.until_synced()
    await world._scheduler_client.get(PODS, "gang-000", namespace=world.name)  # type: ignore[union-attr]
    world.fault(BINDINGS, LoseAnswer(), times=1)
    await world.create_gang("next", 1)
    await world.until_bound("", 1)
    await world.until_condition("next", "Insufficient cpu")
    await world.iterate()
    assert await world.bound() == 1
    await world.check()


async def the_server_is_slow(world: FaultyCluster) -> None:
    """Requests run concurrently: a gang takes about as long as one of its members."""
    await world.create_nodes(4, 4)
    world.fault(BINDINGS, Delay(1.0), times=None)
    await world.create_gang("gang", 16)
    await world.begin()
    await world.until(lambda: len(world.proxy.seen(BINDINGS)) == 16, "all binds are under way")
    assert not any(call.status for call in world.proxy.seen(BINDINGS)), "none was waited for"
    await world.until_bound("gang", 16)
    await world.check()


async def the_server_is_away(world: FaultyCluster) -> None:
    """No decision is made on stale data, and everything continues when the server is back."""
    await world.create_nodes(1, 4)
    await world.create_gang("before", 1)
    await world.begin()
    await world.until_bound("before", 1)
    await world.check()
    world.proxy.go_down()
    await world.until_watch_fails()
    number = world.scheduler.cycles.number
    await world.create_gang("after", 1)
    await world.iterate(10)
    assert world.scheduler.cycles.number == number
    world.proxy.come_back()
    await world.until_bound("after", 1)
    await world.check()


# -- 5.2 watches --------------------------------------------------------------------------------------------------


async def a_watch_falls_silent(world: FaultyCluster) -> None:
    await world.create_nodes(1, 4)
    await world.begin()
    await world.until_synced()
    for each in world.scheduler.watches.reflectors:
        each._idle_seconds = 0.5
    fault = world.fault(PODS_WATCH, Hang(begins=True), times=2)
    world.proxy.cut_streams(PODS_WATCH)
    await world.create_gang("gang", 2)
    await world.until_bound("gang", 2)
    assert fault.fired
    await world.check()


async def blind(world: FaultyCluster) -> None:
    """The scheduler receives no events of pods until the faults are cleared."""
    world.fault(PODS_WATCH, Answer(503, "ServiceUnavailable"), times=None)
    world.proxy.cut_streams(PODS_WATCH)
    await world.until_watch_fails()


async def see_again(world: FaultyCluster) -> None:
    """The watch history has expired by then."""
    world.proxy.faults.clear()
    world.fault(PODS_WATCH, Answer(410, "Expired"))
    await world.until_synced()


async def a_delete_is_missed(world: FaultyCluster) -> None:
    """Another pod has the name by then: they are two pods."""
    await world.create_nodes(1, 1)
    await world.create_gang("gang", 1)
    await world.begin()
    await world.until_bound("gang", 1)
    (before,) = await world.pods()
    await blind(world)
    await world.client.delete(PODS, "gang-000", namespace=world.name, grace_period=0)
    await world.create_pod("gang-000", group="gang")
    await see_again(world)
    await world.until_bound("gang", 1)
    (after,) = await world.pods()
    assert after.metadata.uid != before.metadata.uid
    await world.check()


async def a_list_comes_from_the_past(world: FaultyCluster) -> None:
    """A server that has fallen behind responds: its list is rejected, and no pod loses its node."""
    await world.create_nodes(1, 1)
    await world.create_gang("gang", 1)
    world.fault(STREAMED_LISTS, NOT_STREAMED, times=None)
    world.fault(POD_LISTS, Replay(), times=None)
    await world.begin()
    await world.until_bound("gang", 1)
    await world.check()
    world.fault(PODS_WATCH, Answer(410, "Expired"))
    world.proxy.cut_streams(PODS_WATCH)
    await world.until(lambda: "is older than" in (world.scheduler.watches.problem() or ""), "the list is refused")
    await world.create_gang("next", 1)
    await world.iterate()
    assert await world.bound() == 1
    world.proxy.faults.clear()
    await world.until_condition("next", "Insufficient cpu")
    await world.check()


async def what_came_and_went_unseen(world: FaultyCluster) -> None:
    await world.create_nodes(1, 4)
    await world.create_gang("known", 2)
    await world.begin()
    await world.until_bound("known", 2)
    await blind(world)
    await world.create_gang("unseen", 1)
    (unseen,) = await world.pods("unseen")
    (node,) = await world.free()
    await world.client.bind(world.name, "unseen-000", unseen.metadata.uid, node)
    for name in ("unseen-000", "known-000"):
        await world.client.delete(PODS, name, namespace=world.name, grace_period=0)
    await see_again(world)
    await world.create_gang("next", 3)
    await world.until_bound("next", 3)
    await world.check(torn=["known"])


# -- 5.4 changes between a decision and its writing ----------------------------------------------------------------


async def lose_node(world: FaultyCluster, node: str) -> None:
    await world.client.delete(NODES, node)


async def cordon(world: FaultyCluster, node: str) -> None:
    await world.client.patch(NODES, node, {"spec": {"unschedulable": True}})


async def lose_health(world: FaultyCluster, node: str) -> None:
    body = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await world.client.patch(NODES, node, body, subresource="status", kind=PatchKind.STRATEGIC)


async def taint(world: FaultyCluster, node: str) -> None:
    await world.client.patch(NODES, node, {"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}})


async def stranger(world: FaultyCluster, node: str) -> None:
    await world.occupy({node: 2})
    uids = [pod.metadata.uid for pod in await world.pods("foreign")]
    await world.until(lambda: all(map(world.scheduler.cluster.pods.find, uids)), "both strangers are seen")


def a_node_is_lost(change: Callable[[FaultyCluster, str], Awaitable[None]]) -> FaultCase:
    """The only worker is busy with another pod while the node changes: no member of the gang is bound."""

    async def case(world: FaultyCluster) -> None:
        await world.create_nodes(2, 3)
        gate = world.gate()
        await world.create_gang("first", 1)
        await world.begin(bind_workers=1)
        await world.blocked_at(gate)
        cluster = world.scheduler.cluster
        (taken,) = (each.node for each in cluster.assumptions.placements.values())
        node = next(node for node in await world.free() if node != taken)
        await world.create_gang("gang", 4)
        await world.until(lambda: world.scheduler.executor.waiting == 5, "the gang is decided on")
        before = cluster.external_changes, cluster.nodes.entries.get(node)
        await change(world, node)
        await world.until(
            lambda: before != (cluster.external_changes, cluster.nodes.entries.get(node)), "the change is seen"
        )
        gate.open()
        await world.until(lambda: not world.scheduler.executor.waiting, "everything is settled")
        await world.iterate()
        assert await world.bound("gang") == 0
        await world.until_event("another member of the gang cannot be bound")
        await world.check()

    return case


async def a_node_shrinks(world: FaultyCluster) -> None:
    """Running pods stay, no new ones are placed, and nothing breaks."""
    await world.create_nodes(1, 4)
    await world.create_gang("gang", 3)
    await world.begin()
    await world.until_bound("gang", 3)
    (node,) = await world.free()
    entries = world.scheduler.cluster.nodes.entries
    before = entries[node]
    less = {"status": {"allocatable": {"cpu": "1"}}}
    await world.client.patch(NODES, node, less, subresource="status")
    await world.until(lambda: entries[node] is not before, "the change is seen")
    await world.create_gang("next", 1)
    await world.until_condition("next", "Insufficient cpu")
    await world.check(overfull=[node])


async def a_member_is_deleted(world: FaultyCluster) -> None:
    """The remaining members satisfy the minimum."""
    await world.create_nodes(1, 4)
    gate = world.gate()
    await world.create_gang("gang", 3, minimum=2)
    await world.begin(bind_workers=1)
    await world.blocked_at(gate)
    held = gate.waiting[0].path.split("/")[-2]
    await world.client.delete(PODS, held, namespace=world.name, grace_period=0)
    gate.open()
    await world.until_bound("gang", 2)
    await world.check()


def in_the_middle(change: Callable[[FaultyCluster], Awaitable[None]], *, size: int = 2, bound: int = 2) -> FaultCase:
    """A gang with one bound member when something changes is bound as decided."""

    async def case(world: FaultyCluster) -> None:
        await world.create_nodes(1, 3)
        queue = {"metadata": {"name": world.name}, "spec": {"weight": 1}}
        await world.client.create(QUEUES, queue)
        await world.client.create(PRIORITY_CLASSES, {"metadata": {"name": world.name}, "value": 1000})
        await until_usable(world.client, world.name)
        gate = world.gate(after=1)
        try:
            await world.create_gang("gang", size, minimum=2, queue=world.name, priorityClassName=world.name)
            await world.begin(bind_workers=1)
            await world.blocked_at(gate)
            await change(world)
            gate.open()
            await world.until_bound("gang", bound)
            await world.iterate()
            assert await world.bound("gang") == bound
            await world.check(torn=["gang"])
        finally:
            for resource in (QUEUES, PRIORITY_CLASSES):
                await remove(world, resource)

    return case


async def remove(world: FaultyCluster, resource: Any) -> None:
    """Delete an object unless the test has deleted it before."""
    listing = await world.client.list(resource)
    if any(entry.metadata.name == world.name for entry in listing.items):
        await world.client.delete(resource, world.name)


async def delete_group(world: FaultyCluster) -> None:
    await world.client.delete(POD_GROUPS, "gang", namespace=world.name)


async def raise_minimum(world: FaultyCluster) -> None:
    await world.client.patch(POD_GROUPS, "gang", {"spec": {"minMember": 4}}, namespace=world.name)


async def close_queue(world: FaultyCluster) -> None:
    await world.client.patch(QUEUES, world.name, {"status": {"state": "Closed"}}, subresource="status")


async def delete_queue(world: FaultyCluster) -> None:
    await remove(world, QUEUES)


async def delete_priority_class(world: FaultyCluster) -> None:
    await remove(world, PRIORITY_CLASSES)


async def a_victim_goes_by_itself(world: FaultyCluster) -> None:
    """No warning is reported, and no other pod is evicted."""
    gate = world.gate(EVICTIONS, times=2)
    await never_complete(world)
    await world.blocked_at(gate, 2)
    for name in ("gang-000", "gang-001"):
        await world.client.delete(PODS, name, namespace=world.name, grace_period=0)
    gate.open()
    await world.until(lambda: not world.scheduler.cluster.assumptions.leaving, "no eviction is in progress")
    await world.iterate()
    assert len(world.proxy.seen(EVICTIONS)) == 2
    world.proxy.faults.clear()
    await world.check()


# -- the table ----------------------------------------------------------------------------------------------------

CASES: dict[str, FaultCase] = {
    "A1 bound already, to the same node": already_bound_by_us,
    "A2 bound by another scheduler": bound_by_another_scheduler,
    "A3 refused, because the pod is going": deleted_while_it_was_bound,
    "A3 refused, because it is another pod": replaced_while_it_was_bound,
    "A3 refused, because of a gate": binds_are(Answer(409, "Conflict", "pod has scheduling gates"), 2, least=2),
    "A5 another client wrote the status": another_client_wrote_the_status,
    "A6 history is forgotten": history_is_forgotten,
    "A7 a bind is found invalid": binds_are(Answer(422, "Invalid"), 2, least=2),
    "A7 a member is refused for good": a_member_is_refused_for_good,
    "A7 a status is refused for good": a_status_is_refused_for_good,
    "A8 gone when it is bound": gone_when_it_is_bound,
    "A8 a kind is not served": a_kind_is_not_served,
    "A9 not known any more": partial(looking_is_denied, status=401),
    "A9 not allowed any more": partial(looking_is_denied, status=403),
    "A9 a token is replaced": a_token_is_replaced,
    "A9 a process is not let in": a_process_is_not_let_in,
    "A9 a bind is forbidden": binds_are(Answer(403, "Forbidden"), 2, least=2),
    "A10 binds are throttled": binds_are(Answer(429, "TooManyRequests", retry_after=1), 2, least=2),
    "A10 evictions are throttled": evictions_are(Answer(429, "TooManyRequests"), 2),
    "A11 a budget is used up": budgets("one", words="a disruption budget protects the pod"),
    "A12 two budgets": budgets("one", "two", words="more than one PodDisruptionBudget"),
    "A13 internal error": binds_are(Answer(500, "InternalError"), 3, least=3),
    "A13 bad gateway": binds_are(Answer(502), 9, least=9),
    "A13 unavailable": binds_are(Answer(503, "ServiceUnavailable"), 9, least=9),
    "A13 gateway timeout": binds_are(Answer(504, "Timeout"), 9, least=9),
    "A13 evictions": evictions_are(Answer(503, "ServiceUnavailable"), 5),
    "A14 a bind is lost": binds_are(LoseRequest(), 9, least=9),
    "A14 a bind is reset": binds_are(LoseRequest(reset=True), 9, least=9),
    "A14 a bind is never answered": binds_are(Hang(), 2, least=2, timeout=0.5),
    "A15 the answer to a bind is lost": binds_are(LoseAnswer(), 9, least=3),
    "A15 the answer to a bind is reset": binds_are(LoseAnswer(reset=True), 9, least=3),
    "A15 the answer comes too late": binds_are(Delay(2.0), 2, least=2, timeout=0.5),
    "A15 the answer to an eviction is lost": evictions_are(LoseAnswer(), 5),
    "A16 half of the body of a bind": binds_are(CutBody(), 2, least=2),
    "A16 half of the body of lists": lists_are(CutBody()),
    "A16 a reset in the middle of lists": lists_are(CutBody(reset=True)),
    "A16 half of the JSON of lists": lists_are(Truncate()),
    "A16 a page for people instead of lists": lists_are(WrongType()),
    "A16 lists that are too large": lists_are(Oversize(9 << 20)),
    "A16 lists that are too large when they are unpacked": lists_are(Oversize(9 << 20, packed=True)),
    "A17 the past is read back": the_past_is_read_back,
    "A18 the server is slow": the_server_is_slow,
    "A19 the server is away": the_server_is_away,
    "W1 a watch falls silent": a_watch_falls_silent,
    "W5 a delete is missed": a_delete_is_missed,
    "W6 a list comes from the past": a_list_comes_from_the_past,
    "W7 something came and went unseen": what_came_and_went_unseen,
    "C1 a node is deleted": a_node_is_lost(lose_node),
    "C2 a node is cordoned": a_node_is_lost(cordon),
    "C2 a node is not ready": a_node_is_lost(lose_health),
    "C2 a node is tainted": a_node_is_lost(taint),
    "C3 a node shrinks": a_node_shrinks,
    "C4 a member is deleted": a_member_is_deleted,
    "C5 the group is deleted": in_the_middle(delete_group),
    "C5 the minimum is raised": in_the_middle(raise_minimum, size=4, bound=3),
    "C6 the queue is closed": in_the_middle(close_queue),
    "C6 the queue is deleted": in_the_middle(delete_queue),
    "C7 the priority class is deleted": in_the_middle(delete_priority_class),
    "C8 a victim goes by itself": a_victim_goes_by_itself,
    "C11 another scheduler takes the capacity": a_node_is_lost(stranger),
}

WATCH_FAULTS = "tests/integration/scheduler/faults/test_watch_faults.py"
PROCESS_FAULTS = "tests/integration/scheduler/faults/test_process_faults.py"
#: Rows that a proxy between one scheduler and a server cannot cover: the reason, and where they are tested.
ELSEWHERE = {
    "A4": "the scheduler binds directly and creates no bind requests",
    "W2": f"a server does not repeat itself, and a proxy does not read streams: {WATCH_FAULTS}",
    "W3": "as W2",
    "W4": "as W2",
    "W8": f"about events in large numbers, not about the network: {WATCH_FAULTS}",
    "W9": f"happens inside of the process: {WATCH_FAULTS}",
    "W10": "as W9",
    "P1": "about processes: tests/e2e/faults/test_crashes.py",
    "P2": "about processes: tests/e2e/faults/test_leadership.py",
    "P3": "two leaders are kept apart by their own checks: tests/unit/scheduler/test_fencing.py",
    "P4": "as P2",
    "P5": "there is one process, which binds itself: no two versions work together on a decision",
    "P6": f"about clocks: tests/unit/kube/election/test_elector.py, {PROCESS_FAULTS}",
    "P7": "about the memory of a process, which is not limited here",
    "P8": f"about disks: {PROCESS_FAULTS}",
    "P9": "about limits of a process, which are not set here",
    "P10": "about plugins: tests/integration/scheduler/test_policies.py",
    "P11": "about configuration: tests/integration/scheduler/test_policies.py",
    "C9": "no action evicts in favour of others yet",
    "C10": "volumes and claims are not prepared yet",
    "C12": "no plugin decides by hypernodes yet",
}
LENGTHS = {"A": 19, "W": 10, "P": 11, "C": 12}


@pytest.mark.parametrize("name", CASES)
async def test_a_fault_has_the_outcome_it_should_have(name: str, plane: ControlPlane, tmp_path: Path) -> None:
    async with disturbed(plane, tmp_path) as world:
        await CASES[name](world)


def test_every_row_of_the_catalogue_has_a_case_or_a_reason() -> None:
    covered = {name.partition(" ")[0] for name in CASES}
    rows = {f"{letter}{number}" for letter, length in LENGTHS.items() for number in range(1, length + 1)}
    assert covered | ELSEWHERE.keys() == rows
    assert not covered & ELSEWHERE.keys()
