"""Recorded cycles: who reads them, when they are recorded, and how a console follows them."""

from __future__ import annotations

import pytest

from stromboli.console.cache.scheduler_cycles import SchedulerCycles
from stromboli.core.session.decision_records import DecisionRecords
from stromboli.core.session.session import Session
from stromboli.kube.client.client import Client
from stromboli.planner.live.recorded_cycles import CycleCursors, RequestedCycles
from stromboli.planner.virtual_cluster import PlannedCluster
from stromboli.visibility.questions import ROOT
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import gang, nodes, queue
from tests.testing.random_clusters.engine import default_program
from tests.unit.visibility.conftest import Asker

CYCLES = f"{ROOT}/cycles"
_PROBLEM = "the scheduler does not report its cycles: "


def session(job: str) -> Session:
    world = [queue("default"), *nodes(4, 1), *gang(1, cpu=1, name=job)]
    return PlannedCluster(objects(flattened(world)), default_program()).run_cycle(DecisionRecords())


def jobs_of(cycles: SchedulerCycles) -> dict[int, str]:
    return {each.cycle.number: each.binds[0].job.partition("/")[2] for each in cycles.before(None, 1_000)[::-1]}


REFUSED = {
    "a person of a namespace": ("token-of-ana", "", 403, 'User "ana" cannot list resource "cycles" in API group '
        '"visibility.stromboli.dev" at the cluster scope; the account of the console has this right'),
    "a wrong token": ("wrong", "", 401, "the API server does not accept the token"),
    "a broken cursor": ("token-of-console", "?after=x:y", 400, "after='x:y' is not INSTANCE:NUMBER, "
        "or several separated by commas"),
    "a broken cursor among others": ("token-of-console", "?after=x:1,y", 400, "after='x:1,y' is not INSTANCE:NUMBER, "
        "or several separated by commas"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_only_people_with_the_right_read_cycles(asker: Asker, case: str) -> None:
    token, query, code, message = REFUSED[case]
    status, document = await asker.get(f"{CYCLES}{query}", headers={"Authorization": f"Bearer {token}"})
    assert (status, document["kind"], document["message"]) == (code, "Status", message)


def test_cycles_are_recorded_only_for_some_time_after_a_request() -> None:
    now = [100.0]
    requested = RequestedCycles("stromboli", lambda: now[0])
    for moment, is_asked in ((100.0, False), (101.0, True), (160.0, False), (162.0, False)):
        now[0] = moment
        requested.observe(session(f"job-{moment:.0f}"), 0.1)
        if is_asked:
            assert b"job-" not in requested.answer({}), "not recorded before the request"
    answer = requested.answer({})
    assert (b"job-160" in answer, b"job-162" in answer) == (True, False)


async def test_console_follows_cycles_page_by_page_and_past_another_leader(
    asker: Asker, recorded: list[RequestedCycles]
) -> None:
    async with Client(asker.connection("token-of-console")) as client:
        followed = SchedulerCycles(client)
        assert followed.problem == "the scheduler was not asked for its cycles yet"
        assert await followed.read() > 0
        assert (followed.problem, jobs_of(followed)) == ("", {})
        for number in range(1, 24):
            recorded[-1].observe(session(f"job-{number}"), 0.1)
        assert await followed.read() == 0, "there are more"
        assert await followed.read() > 0
        assert jobs_of(followed) == {number: f"job-{number}" for number in range(1, 24)}
        next_leader = RequestedCycles("stromboli")
        next_leader.answer({})
        next_leader.observe(session("later"), 0.1)
        recorded.append(next_leader)
        await followed.read()
        await followed.read()
        assert (followed.latest, jobs_of(followed)[24]) == (24, "later")


async def test_console_follows_several_schedulers_that_answer_in_turns(
    asker: Asker, recorded: list[RequestedCycles]
) -> None:
    """Each record is read once, although requests reach the schedulers of shards as they come."""
    west, east = recorded[0], RequestedCycles("east")
    async with Client(asker.connection("token-of-console")) as client:
        followed = SchedulerCycles(client)
        for place, scheduler in enumerate((west, east, west, east, east, west)):
            recorded.append(scheduler)
            await followed.read()
            scheduler.observe(session(f"job-{place}"), 0.1)
        for scheduler in (west, east, west, east):
            recorded.append(scheduler)
            await followed.read()
        found = jobs_of(followed)
        schedulers = {each.binds[0].job[-1]: each.cycle.scheduler for each in followed.before(None, 1_000)}
    assert schedulers == {"0": "west", "1": "east", "2": "west", "3": "east", "4": "east", "5": "west"}
    assert sorted(found.values()) == [f"job-{place}" for place in range(6)]
    assert list(found) == list(range(1, 7))


def test_cursors_of_a_limited_number_of_processes_are_kept() -> None:
    cursors = CycleCursors()
    for number in range(40):
        cursors.advance(f"process-{number}", number)
    cursors.advance("process-8", 80)
    kept = CycleCursors.parse(cursors.query())
    assert [kept.number(f"process-{number}") for number in (7, 8, 9, 39)] == [0, 80, 9, 39]


async def test_scheduler_that_does_not_lead_is_reported_and_asked_again(
    asker: Asker, recorded: list[RequestedCycles]
) -> None:
    leader = recorded.pop()
    async with Client(asker.connection("token-of-console")) as client:
        followed = SchedulerCycles(client)
        assert await followed.read() > 0
        assert followed.problem == f"{_PROBLEM}503 ServiceUnavailable: this scheduler does not lead"
        recorded.append(leader)
        await followed.read()
        assert followed.problem == ""
