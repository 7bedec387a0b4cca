"""A scheduler in request mode, with a scripted binder.

Whatever the binder does, capacity is held exactly once, no cycle is skipped, and in the end the pods are bound or the
reason is reported.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.tasks.task import Task
from stromboli.kube.objects.bind_requests import BindRequest
from stromboli.kube.objects.catalogue import BIND_REQUESTS, NODES, PODS
from stromboli.kube.work.retry import RetryPolicy
from stromboli.local.api_server.faults import Answer, CutConnection, LoseAnswer, Match
from stromboli.local.up.local_cluster import local_cluster
from stromboli.scheduler import bind_tracker
from stromboli.scheduler.bind_requests import avoided_nodes, builder, monitor
from tests.testing.held_requests import HeldRequests, seen
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang, manifest, pod
from tests.testing.scripted_binder import ScriptedBinder
from tests.testing.stage import ServerHandle
from tests.testing.world import QUICK, SIMPLE, World, cpus, policy_of, running_cluster

CREATION = Match(verb="create", plural="bindrequests")
EMBEDDED = pytest.mark.only("embedded", because="what goes wrong is injected into the server")
REQUESTS = f"{SIMPLE}bind:\n  mode: request\n  deadlineSeconds: 60\n  backoffLimit: 2\n"


@pytest.fixture(autouse=True)
def short_pauses_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "CHECK_INTERVAL", 0.05)


@pytest.fixture
def short_avoidance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that refused a pod is not avoided for long."""
    backoff = RetryPolicy(min_delay=0.1, max_delay=300.0, factor=2.0, jitter=False)
    monkeypatch.setattr(avoided_nodes, "BACKOFF", backoff)


@contextlib.asynccontextmanager
async def requesting(*pools: Any, **facts: Any) -> AsyncIterator[tuple[World, ScriptedBinder]]:
    async with running_cluster(*pools, bare=True, **{"bind_mode": "request", **facts}) as world:
        yield world, ScriptedBinder(world)


async def nothing_is_left(world: World, binder: ScriptedBinder) -> None:
    """No request, no unused reservation, and accounting that agrees with the objects."""
    await binder.until(0)
    await check(world)


async def node_of(world: World, name: str) -> str:
    entry = await world.pod(name)
    return (entry.spec.node_name or "") if entry else ""


# -- what is written --------------------------------------------------------------------------------------------------


async def test_gang_becomes_one_bind_request_and_only_the_binder_binds() -> None:
    async with requesting(cpus(2, 2)) as (world, binder):
        await world.create(gang(2, 2))
        request = await binder.one()
        group = await world.group("gang")
        assert group is not None
        spec, metadata = request.spec, request.metadata
        assert (spec.pod_group, spec.pod_group_uid, spec.scheduler) == ("gang", group.metadata.uid, "stromboli")
        assert (spec.min_member, spec.part, spec.parts, spec.size) == (2, 1, 1, 2)
        assert (spec.deadline_seconds, spec.backoff_limit) == (120, 6)
        assert sorted((each.pod_name, each.selected_node) for each in spec.pods) in (
            [("gang-task-0", "node-00"), ("gang-task-1", "node-01")],
            [("gang-task-0", "node-01"), ("gang-task-1", "node-00")],
        )
        uids = {each.metadata.name: each.metadata.uid for each in await world.pods()}
        assert {each.pod_name: each.pod_uid for each in spec.pods} == uids
        assert [(owner.kind, owner.uid) for owner in metadata.owner_references or ()] == [
            ("PodGroup", group.metadata.uid)
        ]
        assert metadata.labels == {
            "scheduling.stromboli.dev/pod-group": "gang", "scheduling.stromboli.dev/scheduler": "stromboli",
        }  # fmt: skip
        await world.cycles()
        assert await world.bound() == []
        await binder.carries_out(request)
        await world.until_bound("gang", 2)
        await nothing_is_left(world, binder)
        assert world.binds.total() == 0


async def test_a_single_pod_is_the_case_of_one_member() -> None:
    async with requesting(cpus(1, 2)) as (world, binder):
        await world.create(gang(1, 2))
        request = await binder.one()
        (member,) = request.spec.pods
        owners = [(owner.kind, owner.name, owner.uid) for owner in request.metadata.owner_references or ()]
        assert owners == [("Pod", "gang-task-0", member.pod_uid)]
        labels = request.metadata.labels or {}
        assert labels["scheduling.stromboli.dev/pod-name"] == "gang-task-0"
        assert labels["scheduling.stromboli.dev/selected-node"] == "node-00"
        chosen = await world.client.list(BIND_REQUESTS, label_selector="scheduling.stromboli.dev/selected-node=node-00")
        assert [each.metadata.name for each in chosen.items] == [request.metadata.name]


async def test_a_large_gang_comes_in_parts_of_one_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_MEMBERS", 2)
    async with requesting(cpus(1, 5)) as (world, binder):
        await world.create(gang(5, 1))
        parts = [each.spec for each in await binder.until(3)]
        assert [(each.part, each.parts, each.size, each.min_member) for each in parts] == [
            (1, 3, 2, 2), (2, 3, 2, 2), (3, 3, 1, 1),
        ]  # fmt: skip
        assert len({each.decision for each in parts}) == 1
        for part in await binder.until(3):
            await binder.carries_out(part)
        await world.until_bound("gang", 5)
        await nothing_is_left(world, binder)


class Passport(Plugin):
    """Gives pods something to take along."""

    name = "passport"

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        context["example.com/passport"] = task.name


@pytest.mark.parametrize("mode", ["direct", "request"])
async def test_what_plugins_add_stands_on_the_pod_in_both_modes(mode: str) -> None:
    policy = policy_of(SIMPLE.replace("- name: gang", "- name: gang\n  - name: passport"), Passport)
    async with requesting(cpus(1, 2), policy=policy, bind_mode=mode) as (world, binder):
        await world.create(gang(1, 2))
        if mode == "request":
            await binder.carries_out(await binder.one())
        (bound,) = await world.until_bound("gang", 1)
        assert (bound.metadata.annotations or {})["example.com/passport"] == "gang-task-0"


@pytest.mark.parametrize("mode", ["direct", "request"])
async def test_pods_get_the_labels_of_their_node_pool(mode: str) -> None:
    chosen = {"pool": frozenset({"a", "b"})}
    async with requesting(cpus(1, 2, labels={"pool": "a"}), node_selector=chosen, bind_mode=mode) as (world, binder):
        await world.create(gang(1, 2))
        if mode == "request":
            request = await binder.one()
            assert (request.metadata.labels or {})["pool"] == "a"
            await binder.carries_out(request)
        (bound,) = await world.until_bound("gang", 1)
        assert (bound.metadata.labels or {})["pool"] == "a"


async def test_the_configuration_file_may_choose_the_mode() -> None:
    async with requesting(cpus(1, 2), policy=policy_of(REQUESTS), bind_mode="") as (world, binder):
        await world.create(gang(1, 2))
        request = await binder.one()
        assert (request.spec.deadline_seconds, request.spec.backoff_limit) == (60, 2)


async def test_the_flag_comes_before_the_configuration_file() -> None:
    async with requesting(cpus(1, 2), policy=policy_of(REQUESTS), bind_mode="direct") as (world, binder):
        await world.create(gang(1, 2))
        await world.until_bound("gang", 1)
        assert await binder.requests() == []


# -- assumed capacity -------------------------------------------------------------------------------------------------


async def test_capacity_of_a_bind_request_is_held_until_it_fails() -> None:
    async with requesting(cpus(1, 2)) as (world, binder):
        await world.create(gang(1, 2, name="first"))
        request = await binder.one()
        await world.create(gang(1, 2, name="second"))
        await world.until_condition("second", "Insufficient cpu")
        await binder.report(request, "Binding")
        await world.cycles()
        assert len(await binder.requests()) == 1
        await binder.report(request, "Failed", "the binder failed", {"first-task-0": ("Failed", "no")})
        await binder.carries_out(await binder.one("second"))
        await world.until_bound("second", 1)


async def test_new_leader_assumes_placements_of_its_predecessor_from_the_first_cycle() -> None:
    async with requesting(cpus(1, 2)) as (world, binder):
        await world.create(gang(2, 1, name="first"))
        request = await binder.one()
        await world.kill()
        await world.create(gang(1, 2, name="second"))
        await world.start()
        await world.until_condition("second", "Insufficient cpu")
        assert [each.metadata.uid for each in await binder.requests()] == [request.metadata.uid]
        await binder.carries_out(request)
        await world.until_bound("first", 2)
        await nothing_is_left(world, binder)


async def test_a_direct_scheduler_finishes_what_a_requesting_one_left() -> None:
    async with requesting(cpus(1, 4)) as (world, binder):
        await world.create(gang(1, 2, name="first"))
        await binder.one()
        await world.kill()
        world.options = replace(world.options, bind_mode="direct")
        await world.create(gang(1, 4, name="second"), gang(1, 2, name="third"))
        await world.start()
        await world.until_bound("third", 1)
        assert await world.bound("first") == []
        await binder.carries_out(await binder.one())
        await world.until_bound("first", 1)
        await nothing_is_left(world, binder)


def request_of(world_pod: Any, node: str, scheduler: str) -> dict[str, Any]:
    member = {"podName": world_pod.metadata.name, "podUID": world_pod.metadata.uid, "selectedNode": node}
    spec = {"scheduler": scheduler, "pods": [member], "size": 1}
    return manifest("BindRequest", "theirs", "scheduling.stromboli.dev/v1alpha1", "default", spec=spec)


async def test_bind_requests_of_other_schedulers_hold_capacity_and_stay_unchanged() -> None:
    async with requesting(cpus(1, 2), starts=False) as (world, binder):
        await world.create(pod(2, name="alien", schedulerName="other-scheduler"))
        alien = await world.pod("alien")
        await world.create(request_of(alien, "node-00", "other-scheduler"), gang(1, 2))
        await world.start()
        await world.until_condition("gang", "Insufficient cpu")
        await binder.report(await binder.one(), "Failed", "no")
        await binder.carries_out(await binder.one("gang"))
        await world.until_bound("gang", 1)
        assert [each.metadata.name for each in await binder.until(1)] == ["theirs"]


# -- ends -------------------------------------------------------------------------------------------------------------


async def test_node_that_rejected_a_pod_is_avoided_and_the_reason_is_reported() -> None:
    async with requesting(cpus(2, 2)) as (world, binder):
        await world.create(gang(1, 2))
        request = await binder.one()
        (member,) = request.spec.pods
        await binder.report(
            request, "Failed", "attempts are used up", {"gang-task-0": ("Failed", "the disk is on fire")}
        )
        other = await binder.another(request)
        assert {member.selected_node, other.spec.pods[0].selected_node} == {"node-00", "node-01"}
        await world.until_event("gang", "the disk is on fire", "BindFailed")
        await binder.carries_out(other)
        await world.until_bound("gang", 1)
        await nothing_is_left(world, binder)


@pytest.mark.usefixtures("short_avoidance")
async def test_pod_that_is_always_rejected_backs_off_and_does_not_delay_others() -> None:
    async with requesting(cpus(1, 4)) as (world, binder):
        await world.create(gang(1, 1, name="cursed"))
        refused: BindRequest | None = None
        for number in range(3):
            request = await (binder.another(refused, prefix="cursed") if refused else binder.one("cursed"))
            await binder.report(request, "Failed", "never", {"cursed-task-0": ("Failed", "never")})
            refused = request
            await world.create(gang(1, 1, name=f"blessed-{number}"))
            await binder.carries_out(await binder.one(f"blessed-{number}"))
            await world.until_bound(f"blessed-{number}", 1)
        assert await world.bound("cursed") == []


@pytest.mark.usefixtures("short_avoidance")
async def test_members_beyond_the_minimum_are_a_decision_of_their_own() -> None:
    """The gang needs two of three; the third is refused, and gets its node with the next request."""
    async with requesting(cpus(1, 3), starts=False) as (world, binder):
        await world.create(gang(3, 1, minimum=2))
        await world.start()
        core, more = sorted(await binder.until(2), key=lambda each: -each.spec.min_member)
        assert [(each.spec.min_member, each.spec.size) for each in (core, more)] == [(2, 2), (0, 1)]
        (third,) = more.spec.pods
        await binder.carries_out(core)
        await binder.report(more, "Failed", "not today", {third.pod_name: ("Failed", "not today")})
        again = await binder.another(more, core)
        assert [each.pod_name for each in again.spec.pods] == [third.pod_name]
        await binder.carries_out(again)
        await world.until_bound("gang", 3)
        await nothing_is_left(world, binder)


async def test_succeeded_bind_request_holds_capacity_until_its_pods_are_seen_bound() -> None:
    async with requesting(cpus(1, 2)) as (world, binder):
        await world.create(gang(1, 2, name="first"), gang(1, 2, name="second"))
        request = await binder.one()
        await binder.report(request, "Succeeded", members={request.spec.pods[0].pod_name: ("Bound", "")})
        await world.cycles()
        assert [each.metadata.uid for each in await binder.requests()] == [request.metadata.uid]
        await binder.binds(request)
        await binder.until(0)
        await world.cycles()
        assert await binder.requests() == []


async def lose_the_node(world: World, request: BindRequest) -> None:
    await world.delete(NODES, request.spec.pods[0].selected_node)


async def delete_it(world: World, request: BindRequest) -> None:
    await world.delete(BIND_REQUESTS, request.metadata.name)


@pytest.mark.parametrize("change", [lose_the_node, delete_it])
async def test_bind_request_without_a_binder_is_withdrawn(
    change: Callable[[World, BindRequest], Awaitable[None]],
) -> None:
    async with requesting(cpus(2, 2)) as (world, binder):
        await world.create(gang(1, 2))
        request = await binder.one()
        await change(world, request)
        other = await binder.another(request)
        await binder.carries_out(other)
        await world.until_bound("gang", 1)
        await nothing_is_left(world, binder)


async def test_a_binding_that_arrives_after_its_request_was_given_up_leaves_no_half_gang() -> None:
    """A binder may have sent it before it heard that the request is gone."""
    async with requesting(cpus(2, 1), heal=0.3) as (world, binder):
        await world.create(gang(2, 1))
        request = await binder.one()
        first, second = request.spec.pods
        await world.delete(NODES, second.selected_node)
        await binder.until(0)
        await world.cycles()
        await binder.binds(request, first.pod_name)

        async def is_evicted() -> bool:
            entry = await world.pod(first.pod_name)
            return entry is None or entry.metadata.deletion_timestamp is not None

        await world.until(is_evicted, "the half of the gang is evicted")


async def test_the_parts_of_a_decision_are_given_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_MEMBERS", 1)
    async with requesting(cpus(3, 1)) as (world, binder):
        await world.create(gang(2, 1))
        parts = await binder.until(2)
        await lose_the_node(world, parts[0])
        uids = {each.metadata.uid for each in parts}

        async def others() -> bool:
            found = await binder.requests()
            return len(found) == 2 and not uids & {each.metadata.uid for each in found}

        await world.until(others, "there are two other parts")
        for part in await binder.until(2):
            await binder.carries_out(part)
        await world.until_bound("gang", 2)
        await nothing_is_left(world, binder)


async def test_a_request_whose_pods_are_gone_goes_too() -> None:
    async with requesting(cpus(1, 2)) as (world, binder):
        await world.create(gang(2, 1, name="first"))
        await binder.one()
        for each in await world.pods("first"):
            await world.delete(PODS, each.metadata.name, grace_period=0)
        await world.create(gang(1, 2, name="second"))
        await binder.carries_out(await binder.one("second"))
        await world.until_bound("second", 1)


class Clock:
    """A clock that the test can advance, besides running by itself."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def goes_on(self, seconds: float) -> None:
        self._ahead += seconds


@contextlib.asynccontextmanager
async def with_a_clock(*pools: Any) -> AsyncIterator[tuple[World, ScriptedBinder, Clock]]:
    clock = Clock()
    async with requesting(*pools, starts=False) as (world, binder):
        await world.start(clock=clock)
        yield world, binder, clock


async def test_missing_binder_is_reported_and_the_capacity_is_released() -> None:
    async with with_a_clock(cpus(1, 2)) as (world, binder, clock):
        await world.create(gang(2, 1))
        request = await binder.one()
        await seen(world, BIND_REQUESTS, request.metadata.name)
        clock.goes_on(151)
        await world.until_event("gang", "no binder has begun the bind request", "NoBinder")

        async def is_reported() -> bool:
            group = await world.group("gang")
            conditions = (group.status.conditions if group else None) or ()
            return any((each.type, each.reason) == ("BindStuck", "NoBinder") for each in conditions)

        await world.until(is_reported, "the group has a condition")
        await world.until_event("gang-task-0", "no binder has begun", "FailedScheduling")
        other = await binder.another(request)
        await binder.carries_out(other)
        await world.until_bound("gang", 2)
        await nothing_is_left(world, binder)


async def test_started_bind_request_keeps_its_capacity_when_late() -> None:
    async with with_a_clock(cpus(1, 2)) as (world, binder, clock):
        await world.create(gang(1, 2))
        request = await binder.one()
        await binder.report(request, "Binding")
        await seen(world, BIND_REQUESTS, request.metadata.name)
        clock.goes_on(151)
        await world.until_event("gang", "the binder has not finished in time", "BindingLate")
        await world.create(gang(1, 2, name="second"))
        await world.until_condition("second", "Insufficient cpu")
        assert [each.metadata.uid for each in await binder.requests()] == [request.metadata.uid]
        await binder.carries_out(request)
        await world.until_bound("gang", 1)


@EMBEDDED
async def test_a_request_that_is_begun_at_the_last_moment_is_not_deleted() -> None:
    """What the scheduler saw is old when the server comes to delete it: the server does not."""
    async with with_a_clock(cpus(1, 2)) as (world, binder, clock):
        await world.create(gang(1, 2))
        request = await binder.one()
        await seen(world, BIND_REQUESTS, request.metadata.name)
        deletion = HeldRequests(world, Match(verb="delete", plural="bindrequests"))
        clock.goes_on(151)
        await deletion.begins()
        await binder.report(request, "Binding")
        deletion.ends()
        await world.until_event("gang", "the binder has not finished in time", "BindingLate")
        kept = await binder.one()
        assert (kept.metadata.uid, kept.status.phase) == (request.metadata.uid, "Binding")
        await binder.carries_out(kept)
        await world.until_bound("gang", 1)
        await nothing_is_left(world, binder)


# -- what goes wrong with writing -------------------------------------------------------------------------------------

FAULTS = {
    "the answer is lost, twice": (LoseAnswer(), 2),
    "nothing arrives": (CutConnection(), 2),
    "the server is broken": (Answer(500, "InternalError"), 2),
}


@EMBEDDED
@pytest.mark.parametrize(("fault", "times"), FAULTS.values(), ids=FAULTS)
async def test_a_request_is_written_once_whatever_happens_to_the_answers(fault: Any, times: int) -> None:
    async with requesting(cpus(2, 2), starts=False) as (world, binder):
        world.faults.add(CREATION, fault, times=times)
        await world.start()
        await world.create(gang(2, 2))
        request = await binder.one()
        await world.until_true(lambda: not world.scheduler.executor.waiting, "it is known to be written")
        await world.cycles()
        assert [each.metadata.uid for each in await binder.requests()] == [request.metadata.uid]
        await binder.carries_out(request)
        await world.until_bound("gang", 2)
        await nothing_is_left(world, binder)


@EMBEDDED
async def test_scheduler_without_a_watch_on_bind_requests_schedules_nothing() -> None:
    async with requesting(cpus(1, 2), starts=False) as (world, binder):
        followed = {verb: Match(verb=verb, plural="bindrequests") for verb in ("list", "watch")}
        faults = [world.faults.add(match, Answer(403, "Forbidden"), times=None) for match in followed.values()]
        await world.create(gang(1, 2))
        await world.start()
        await world.until_true(lambda: world.scheduler.watches.is_synced, "everything else is known")
        assert "bindrequests" in (world.scheduler.watches.problem() or "")
        turns: list[int] = []
        world.scheduler.on_iteration = lambda: turns.append(1)
        await world.until_true(lambda: len(turns) > 5, "the loop comes round")
        assert world.scheduler.cycles.number == 0
        for fault in faults:
            world.faults.remove(fault)
        await binder.carries_out(await binder.one())
        await world.until_bound("gang", 1)


@EMBEDDED
async def test_rejected_bind_request_is_reported_and_retried() -> None:
    async with requesting(cpus(1, 2), starts=False) as (world, binder):
        world.faults.add(CREATION, Answer(403, "Forbidden", "no such right"), times=2)
        await world.start()
        await world.create(gang(1, 2))
        await world.until_event("gang", "the bind request could not be written: 403 Forbidden: no such right")
        await binder.carries_out(await binder.one())
        await world.until_bound("gang", 1)


@EMBEDDED
async def test_of_a_decision_in_parts_nothing_is_left_when_one_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builder, "MAX_MEMBERS", 2)
    # The retry follows the deletion of the first part; before it, the first part would hold capacity for its members.
    monkeypatch.setattr(bind_tracker, "BACKOFF", RetryPolicy(min_delay=1.0, max_delay=60.0, factor=2.0, jitter=False))
    async with requesting(cpus(1, 4), starts=False) as (world, binder):
        world.faults.add(CREATION, Answer(422, "Invalid", "injected"), times=1, after=1)
        await world.start()
        await world.create(gang(4, 1))
        await world.until_event("gang", "the bind request could not be written: 422 Invalid")

        async def whole() -> list[BindRequest]:
            found = await binder.requests()
            return found if len(found) == 2 and len({each.spec.decision for each in found}) == 1 else []

        for part in await world.until(whole, "there are two parts of one decision"):
            await binder.carries_out(part)
        await world.until_bound("gang", 4)
        await nothing_is_left(world, binder)


async def test_bind_request_name_in_use_is_skipped() -> None:
    async with requesting(cpus(1, 4), starts=False) as (world, binder):
        await world.create(pod(1, name="alien", schedulerName="other-scheduler"))
        theirs = request_of(await world.pod("alien"), "node-00", "other-scheduler")
        theirs["metadata"]["name"] = "gang-0-1"
        await world.create(theirs)
        await world.start()
        await world.create(gang(1, 2))
        names = [each.metadata.name for each in await binder.until(2)]
        assert sorted(names) == ["gang-0-1", "gang-0-2"]
        foreign = await world.client.get(BIND_REQUESTS, "gang-0-1")
        assert foreign.spec.scheduler == "other-scheduler"


# -- all together -----------------------------------------------------------------------------------------------------


@EMBEDDED
async def test_a_cluster_to_play_with_has_a_binder_where_it_needs_one() -> None:
    options = replace(QUICK, bind_mode="request")
    async with local_cluster(policy_of(), pools=[cpus(2)], options=options) as running:
        world = World(ServerHandle(running.server.connection, running.server), running.client, policy_of(), options)
        await world.create(gang(2, 2))
        await world.until_bound("gang", 2)
        await ScriptedBinder(world).until(0)
        await world.until_event("gang-task-0", "Successfully assigned default/gang-task-0 to ", "Scheduled")
