"""An API server that refuses, stumbles, answers late or not at all: nothing is lost, nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stromboli.kube.objects.catalogue import POD_GROUPS, PODS
from stromboli.local.api_server.faults import (
    Answer,
    CutConnection,
    Delay,
    Garble,
    LoseAnswer,
    Match,
    Oversize,
    RequestAction,
)
from stromboli.local.api_server.server import ApiServer
from tests.testing.held_requests import HeldRequests
from tests.testing.invariants import check
from tests.testing.manifests.builders import Manifest, gang, manifest
from tests.testing.world import SOON, World, cpus, running_cluster

pytestmark = pytest.mark.only("embedded", because="faults of the server are made")

BINDINGS = Match(verb="create", plural="pods", subresource="binding")
EVICTIONS = Match(verb="create", plural="pods", subresource="eviction")
GROUP_STATUS = Match(verb="patch", plural="podgroups")
WATCHES_OF_PODS = Match(verb="watch", plural="pods")


# -- binds --------------------------------------------------------------------------------------------------------

STUMBLES: dict[str, tuple[RequestAction, int]] = {
    "A1 already bound, by a request whose answer was lost": (LoseAnswer(), 2),
    "A3 refused with a conflict": (Answer(409, "Conflict", "pod has scheduling gates"), 2),
    "A7 found invalid": (Answer(422, "Invalid"), 2),
    "A9 forbidden": (Answer(403, "Forbidden"), 2),
    "A10 too many requests": (Answer(429, "TooManyRequests", retry_after=1), 1),
    "A13 internal error": (Answer(500, "InternalError"), 2),
    "A13 bad gateway": (Answer(502, ""), 9),
    "A13 unavailable": (Answer(503, "ServiceUnavailable"), 2),
    "A13 gateway timeout": (Answer(504, "Timeout"), 9),
    "A14 lost on the way": (CutConnection(), 9),
    "A15 done, and the answer lost": (LoseAnswer(), 9),
    "A16 answered with half of the JSON": (Garble(), 2),
    "A16 answered with too much": (Oversize(3 << 20), 1),
}


@pytest.mark.parametrize(("action", "times"), STUMBLES.values(), ids=STUMBLES)
async def test_a_gang_is_bound_whole_although_binds_are(action: RequestAction, times: int) -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        fault = world.faults.add(BINDINGS, action, times=times)
        await world.create(gang(3, 1, name="gang"))
        await world.until_bound("gang", 3)
        await world.until_true(lambda: fault.fired >= min(times, 2))
        await check(world)


async def test_a_bind_that_is_answered_too_late_is_done_once() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        fault = world.faults.add(BINDINGS, Delay(2.0), times=2)
        await world.create(gang(3, 1, name="gang"))
        await world.start(timeout=0.3)
        await world.until_bound("gang", 3)
        assert fault.fired == 2
        await check(world)


async def test_a_pod_that_another_scheduler_bound_meanwhile_is_where_that_one_put_it() -> None:
    async with running_cluster(cpus(2, 2), bare=True, starts=False) as world:
        bind = HeldRequests(world)
        await world.create(gang(1, 2, name="gang"))
        await world.start()
        await bind.begins()
        ours = next(iter(world.scheduler.cluster.assumptions.placements.values())).node
        theirs = "node-01" if ours == "node-00" else "node-00"
        rival = await world.pod("gang-task-0")
        assert rival is not None
        await world.client.bind("default", "gang-task-0", rival.metadata.uid, theirs)
        bind.ends()
        await world.until_true(lambda: not world.scheduler.executor.waiting)
        assert (await world.bound("gang"))[0].spec.node_name == theirs
        await world.create(gang(1, 2, name="next"))
        assert (await world.until_bound("next", 1))[0].spec.node_name == ours, "our row is released"
        await check(world)


async def test_a_pod_that_is_being_deleted_is_not_bound_any_more() -> None:
    member = gang(1, 1, name="gang")
    member[1]["metadata"]["finalizers"] = ["example.com/wait"]
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        bind = HeldRequests(world, times=None)
        await world.create(member)
        await world.start()
        await bind.begins()
        await world.delete(PODS, "gang-task-0", grace_period=0)
        bind.ends()
        await world.until_true(lambda: not world.scheduler.executor.waiting)
        await world.cycles()
        assert await world.bound() == []
        assert bind.fired == 1, "it is not tried again"
        await check(world)


async def test_a_pod_that_is_gone_when_it_is_bound_is_dropped() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        bind = HeldRequests(world)
        await world.create(gang(1, 4, name="gang"))
        await world.start()
        await bind.begins()
        await world.delete(PODS, "gang-task-0", grace_period=0)
        bind.ends()
        await world.create(gang(1, 4, name="next"))
        await world.until_bound("next", 1)
        await check(world)


# -- statuses -----------------------------------------------------------------------------------------------------

REFUSALS = {
    "A5 another client wrote": Answer(409, "Conflict"),
    "A7 found invalid": Answer(422, "Invalid"),
    "A13 unavailable": Answer(503, "ServiceUnavailable"),
    "A16 half of the JSON": Garble(),
}


@pytest.mark.parametrize("action", REFUSALS.values(), ids=REFUSALS)
async def test_a_status_that_could_not_be_written_is_written_later(action: RequestAction) -> None:
    """More often than the writer is patient; the job itself changes no more."""
    async with running_cluster(cpus(1), starts=False) as world:
        fault = world.faults.add(GROUP_STATUS, action, times=8)
        await world.create(gang(2, 1, name="gang"))
        await world.start()
        await world.until_bound("gang", 2)
        await world.until(lambda: is_counted(world), "the group status counts both as running")
        assert fault.fired >= (1 if isinstance(action, Garble) else 4)  # what was garbled was written all the same
        await check(world)


async def is_counted(world: World) -> bool:
    group = await world.group("gang")
    return group is not None and (group.status.phase, group.status.running) == ("Running", 2)


async def test_a_status_that_is_refused_for_good_is_no_storm() -> None:
    async with running_cluster(cpus(1), starts=False) as world:
        fault = world.faults.add(GROUP_STATUS, Answer(422, "Invalid"), times=None)
        await world.create(gang(2, 9, name="refused"), gang(1, 1, name="other"))
        await world.start()
        await world.until_bound("other", 1)
        before, cycles = fault.fired, world.scheduler.cycles.number
        for _ in range(8):
            world.scheduler.trigger.has_changes = True
            await world.cycles(1)
        assert fault.fired - before < 2 * (world.scheduler.cycles.number - cycles)
        assert world.scheduler.writer.failed
        world.faults.clear()
        await world.until_condition("refused", "Insufficient cpu")
        await check(world)


async def test_conditions_of_others_survive_a_conflict() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        await world.create(gang(2, 9, name="gang"))
        theirs = {"type": "Audited", "status": "True", "reason": "ByUs", "transitionID": "x"}
        await world.patch(POD_GROUPS, "gang", {"status": {"conditions": [theirs]}})
        world.faults.add(GROUP_STATUS, Answer(409, "Conflict"))
        await world.start()
        await world.until_condition("gang", "Insufficient cpu")
        found = await world.group("gang")
        assert found is not None
        assert [c.type for c in found.status.conditions or ()] == ["Audited", "Unschedulable"]
        await check(world)


# -- lists and watches --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403])
async def test_scheduler_without_permission_schedules_nothing_until_it_is_granted(status: int) -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(gang(1, 1, name="before"))
        await world.until_bound("before", 1)
        world.faults.add(WATCHES_OF_PODS, Answer(status, "Denied"), times=None)
        world.server.drop_watches()
        await world.until_true(lambda: not world.scheduler.watches.is_up_to_date, "it is not ready")
        assert "pods" in (world.scheduler.watches.problem() or "") or str(status) in (
            world.scheduler.watches.problem() or ""
        )
        number = world.scheduler.cycles.number
        await world.create(gang(1, 1, name="after"))
        turns = count_turns(world)
        await world.until_true(lambda: turns() > 3)
        assert world.scheduler.cycles.number == number
        world.faults.clear()
        await world.until_bound("after", 1)
        await check(world)


def count_turns(world: World) -> Callable[[], int]:
    """How often the scheduler's loop came round from now on."""
    turns = 0

    def on_iteration() -> None:
        nonlocal turns
        turns += 1

    world.scheduler.on_iteration = on_iteration
    return lambda: turns


async def test_a_kind_that_is_not_served_is_waited_for() -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        world.faults.add(Match(verb="watch", plural="podgroups"), Answer(404, "NotFound"), times=4)
        await world.start()
        await world.until_true(lambda: "podgroups" in (world.scheduler.watches.problem() or ""))
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)
        await check(world)


async def test_a_forgotten_history_is_listed_again_and_nothing_counts_twice() -> None:
    async with running_cluster(cpus(2), bare=True) as world:
        await world.create(gang(2, 1, name="before"))
        await world.until_bound("before", 2)
        await blind(world)
        await world.delete(PODS, "before-task-0", grace_period=0)
        await world.create(gang(2, 3, name="after"))
        world.server.compact()
        world.faults.clear()
        await world.until_bound("after", 2)
        assert sum(reflector.relists for reflector in world.scheduler.watches.reflectors) >= 1
        await check(world, torn=["before"])


async def blind(world: World) -> None:
    """The scheduler sees nothing from now on, until the faults are cleared."""
    world.faults.add(Match(verb="watch"), Answer(503, "ServiceUnavailable"), times=None)
    world.faults.add(Match(verb="list"), Answer(503, "ServiceUnavailable"), times=None)
    world.server.drop_watches()
    await world.until_true(lambda: not world.scheduler.watches.is_up_to_date)
    world.faults._faults[1:] = []


SPOILT = {"half of the JSON": Garble(), "cut": CutConnection(), "too much": Oversize(1 << 20)}


@pytest.mark.parametrize("action", SPOILT.values(), ids=SPOILT)
async def test_lists_that_cannot_be_read_are_asked_for_again(action: RequestAction) -> None:
    async with running_cluster(cpus(1), bare=True, starts=False) as world:
        world.faults.add(Match(verb="watch"), Answer(400, "BadRequest", "sendInitialEvents is forbidden"), times=20)
        fault = world.faults.add(Match(verb="list"), action, times=10)
        await world.start()
        world.scheduler.watches.required[0]._client._max_response_size = 1 << 19
        await world.until_true(lambda: world.scheduler.watches.is_synced)
        assert fault.fired == 10
        await world.create(gang(1, 1, name="gang"))
        await world.until_bound("gang", 1)
        await check(world)


async def test_an_object_older_than_what_is_known_changes_nothing() -> None:
    async with running_cluster(cpus(1), bare=True) as world:
        await world.create(gang(1, 4, name="gang"))
        old = await world.pod("gang-task-0")
        await world.until_bound("gang", 1)
        await world.until_true(lambda: not world.scheduler.cluster.assumptions.placements)
        assert old is not None
        stale = world.scheduler.ingest.stale
        world.scheduler.ingest.apply(old)
        assert world.scheduler.ingest.stale == stale + 1
        await world.create(gang(1, 4, name="next"))
        await world.until_condition("next", "Insufficient cpu")
        await check(world)


async def test_a_slow_server_is_asked_many_things_at_a_time() -> None:
    """No bind is answered before all are asked for."""
    async with running_cluster(cpus(4), bare=True) as world:
        binds = HeldRequests(world, times=None)
        await world.create(gang(16, 1, name="gang"))
        await binds.begins(16)
        binds.ends()
        await world.until_bound("gang", 16)
        await check(world)


async def test_a_server_that_is_away_for_long_is_awaited_without_a_decision() -> None:
    server = ApiServer()
    async with running_cluster(cpus(1), bare=True, server=server) as world:
        await world.create(gang(1, 1, name="before"))
        await world.until_bound("before", 1)
        await check(world)
        await server.stop()
        await world.until_true(lambda: not world.scheduler.watches.is_up_to_date)
        number, turns = world.scheduler.cycles.number, count_turns(world)
        await world.until_true(lambda: turns() > 10)
        assert world.scheduler.cycles.number == number
        assert world.failure is None
        await server.start()
        await world.create(gang(1, 1, name="after"))
        await world.until_bound("after", 1)
        await check(world)


# -- evictions ----------------------------------------------------------------------------------------------------


def budget(name: str, minimum: int) -> Manifest:
    spec = {"minAvailable": minimum, "selector": {"matchLabels": {"app": "gang"}}}
    return manifest("PodDisruptionBudget", name, "policy/v1", "default", spec=spec)


async def half_bound(world: World) -> None:
    """Two of three are bound, and the third never will be: the two have to go."""
    third = Match(verb="create", plural="pods", subresource="binding", name="gang-task-2")
    world.faults.add(third, Answer(422, "Invalid", "never"), times=None)
    await world.create(gang(3, 1, name="gang", labels={"app": "gang"}))
    await world.start()
    await world.until_event("gang", "2 of 3 pods were bound", "HalfBound")


BUDGETS = {
    "A11 one budget": ([budget("one", 3)], "a disruption budget protects the pod"),
    "A12 two budgets": ([budget("one", 1), budget("two", 1)], "more than one PodDisruptionBudget"),
}


@pytest.mark.parametrize(("budgets", "words"), BUDGETS.values(), ids=BUDGETS)
async def test_a_pod_that_a_budget_protects_stays_until_it_does_not(budgets: list[Manifest], words: str) -> None:
    async with running_cluster(cpus(1), starts=False, heal=SOON) as world:
        await world.create(budgets)
        await half_bound(world)
        await world.until_event("gang-task-0", words, "EvictFailed")
        assert len(await world.bound("gang")) == 2
        for each in budgets:
            await world.client.request(
                "DELETE", f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/{each['metadata']['name']}"
            )
        await world.until_bound("gang", 0)
        await check(world)


TROUBLE: dict[str, tuple[RequestAction, int]] = {
    "A10 throttled": (Answer(429, "TooManyRequests"), 2),
    "A13 unavailable": (Answer(503, "ServiceUnavailable"), 9),
    "A14 lost": (CutConnection(), 9),
    "A15 done, and the answer lost": (LoseAnswer(), 9),
}


@pytest.mark.parametrize(("action", "times"), TROUBLE.values(), ids=TROUBLE)
async def test_an_eviction_is_carried_out_although_the_server_is(action: RequestAction, times: int) -> None:
    async with running_cluster(cpus(1), starts=False, heal=SOON) as world:
        world.faults.add(EVICTIONS, action, times=times)
        await half_bound(world)
        await world.until_bound("gang", 0)
        world.faults.clear()
        await check(world)


async def test_a_victim_that_goes_by_itself_needs_no_eviction() -> None:
    async with running_cluster(cpus(1), starts=False, heal=SOON) as world:
        evictions = HeldRequests(world, EVICTIONS, times=None)
        await half_bound(world)
        await evictions.begins(2)
        for name in ("gang-task-0", "gang-task-1"):
            await world.delete(PODS, name, grace_period=0)
        evictions.ends()
        await world.until_true(lambda: not world.scheduler.cluster.assumptions.leaving)
        await world.cycles()
        assert await world.events("gang-task-0", "EvictFailed") == []
        assert evictions.fired == 2, "no other pod is evicted"
        await check(world)
