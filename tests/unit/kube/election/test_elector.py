"""At most one process leads, one does in the end, and a process that was suspended notices it by itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.election.elector import LeaderElector
from tests.testing.kube import responses
from tests.testing.kube.http_server import LittleServer
from tests.testing.kube.waiting import running, until
from tests.testing.logs import log_text

PATH = "/apis/coordination.k8s.io/v1/namespaces/system/leases/stromboli"


class Clock:
    """Time passes when the test advances it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class World:
    """A server and any number of candidates, each with a clock of its own."""

    def __init__(self, server: LittleServer, client: Client) -> None:
        self.server = server
        self.client = client
        self.clocks: list[Clock] = []

    def candidate(self, identity: str, **options: Any) -> LeaderElector:
        self.clocks.append(clock := Clock())
        clock.now += 10_000 * len(self.clocks)
        settings = {"lease_duration": 15, "renew_deadline": 10, "retry_period": 0.002, "clock": clock, **options}
        return LeaderElector(self.client, name="stromboli", namespace="system", identity=identity, **settings)

    def pass_time(self, seconds: float) -> None:
        for clock in self.clocks:
            clock.now += seconds

    @property
    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = self.server.objects[PATH]["spec"]
        return record


@asynccontextmanager
async def a_world() -> AsyncIterator[World]:
    async with LittleServer() as server, Client(server.connection, timeout=30) as client:
        yield World(server, client)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with a_world() as world:
        yield world


async def test_the_first_one_leads(world: World) -> None:
    one = world.candidate("one")
    assert one.is_leading is False
    await soon(one.acquire())
    assert bool(one.is_leading)
    assert (one.leader, one.epoch, one.problem) == ("one", 0, "")
    assert world.record | {"acquireTime": "", "renewTime": ""} == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 0,
        "acquireTime": "",
        "renewTime": "",
    }


async def test_the_second_waits_until_the_first_is_silent_for_long_enough(world: World) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    async with running(two.acquire()):
        await until(lambda: two.leader == "one")
        world.pass_time(14)
        await settle(world)
        assert not two.is_leading
        world.pass_time(2)
        await until(lambda: two.is_leading)
    assert not one.is_leading
    assert (two.epoch, world.record["holderIdentity"]) == (1, "two")


async def test_who_renews_stays(world: World) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    async with running(one.keep(), two.acquire()):
        for _ in range(10):
            world.pass_time(5)
            await renewal(world)
            assert one.is_leading
        assert not two.is_leading
    assert world.record["leaseTransitions"] == 0


async def test_clocks_of_others_do_not_matter(world: World) -> None:
    """The record claims to be from the year 3000, or 1970: only that it changes counts."""
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    async with running(two.acquire()):
        for year in (3000, 1970):
            world.record["renewTime"] = f"{year}-01-01T00:00:00.000000Z"
            await settle(world)
            assert not two.is_leading
        world.pass_time(16)
        await until(lambda: two.is_leading)


JUMPS = {"an hour ahead": 1, "an hour behind": -1}


@pytest.mark.parametrize("hours", JUMPS.values(), ids=JUMPS)
async def test_a_clock_of_the_day_that_jumps_changes_nothing(
    world: World, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    jumped = datetime.now(UTC) + timedelta(hours=hours)
    monkeypatch.setattr("stromboli.kube.election.elector.timestamps.now", lambda: f"{jumped:%Y-%m-%dT%H:%M:%S.%fZ}")
    async with running(one.keep(), two.acquire()):
        for _ in range(5):
            world.pass_time(5)
            await renewal(world)
            assert (one.is_leading, two.is_leading) == (True, False)
    assert world.record["renewTime"].startswith(f"{jumped:%Y-%m-%dT%H}")


#: How fast the clock of a leader that has fallen silent goes, and that of the one who waits.
RATES = {
    "equally fast": (1.0, 1.0),
    "the leader's is slow": (0.7, 1.0),
    "the other's is fast": (1.0, 1.4),
    "the leader's is twice as fast": (2.0, 1.0),
    "the other's is half as fast": (1.0, 0.5),
}


@pytest.mark.parametrize(("leaders", "others"), RATES.values(), ids=RATES)
async def test_clocks_that_do_not_go_alike_make_no_two_leaders(world: World, leaders: float, others: float) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    async with running(two.acquire()):
        await settle(world)
        while not two.is_leading:
            world.clocks[0].now += 0.5 * leaders
            world.clocks[1].now += 0.5 * others
            requests = len(world.server.requests)
            await until(partial(_has_moved, world, two, requests))
        assert not one.is_leading


async def test_one_who_slept_knows_that_it_is_over(world: World) -> None:
    one = world.candidate("one")
    await soon(one.acquire())
    requests = len(world.server.requests)
    world.clocks[0].now += 10
    assert not one.is_leading
    assert len(world.server.requests) == requests


async def test_a_lease_counts_from_when_it_was_asked_for(world: World) -> None:
    """The answer may have been under way for long."""
    one = world.candidate("one")

    async def dawdle(request: Any) -> None:
        world.pass_time(7)

    world.server.play(dawdle, method="POST")
    await soon(one.acquire())
    world.pass_time(2.9)
    assert one.is_leading
    world.pass_time(0.1)
    assert not one.is_leading


async def test_a_lease_is_lost_when_it_cannot_be_renewed(world: World, caplog: pytest.LogCaptureFixture) -> None:
    one = world.candidate("one")
    await soon(one.acquire())
    world.server.play(responses.answer(503, "ServiceUnavailable", "away"), times=None)
    async with asyncio.timeout(30):
        keeping = asyncio.create_task(one.keep())
        await until(lambda: one.problem == "503 ServiceUnavailable: away")
        assert bool(one.is_leading), "one failure is no loss"
        world.pass_time(10)
        await keeping
    assert bool(one.is_leading) is False
    assert log_text(caplog).count('error="503 ServiceUnavailable: away"') == 1


async def test_a_server_that_hangs_cannot_hold_up_the_loss() -> None:
    async with a_world() as world:
        one = world.candidate(
            "one", lease_duration=2, renew_deadline=0.2, retry_period=0.01, clock=asyncio.get_running_loop().time
        )
        await soon(one.acquire())
        world.server.play(responses.hang, times=None)
        async with asyncio.timeout(30):
            await one.keep()
        assert one.problem == "no response in time"


async def test_a_lease_that_another_took_is_lost_at_once(world: World) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    await take_by_force(world, two)
    async with asyncio.timeout(30):
        await one.keep()
    assert not one.is_leading
    assert one.leader == "two"


async def take_by_force(world: World, other: LeaderElector) -> None:
    """As if the other had not seen any renewal for long."""
    async with running(other.acquire()):
        await until(lambda: other.leader == "one")
        world.clocks[1].now += 16
        await until(lambda: other.is_leading)


async def test_releasing_lets_the_next_one_in_at_once(world: World) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    await one.release()
    assert not one.is_leading
    assert world.record["holderIdentity"] == ""
    await soon(two.acquire())
    assert two.epoch == 1


async def test_a_renewal_under_way_does_not_hinder_the_release(world: World) -> None:
    one = world.candidate("one")
    await soon(one.acquire())
    world.server._write(PATH, world.server.objects[PATH], "MODIFIED")
    await one.release()
    assert world.record["holderIdentity"] == ""


async def test_only_the_holder_releases(world: World) -> None:
    one, two = world.candidate("one"), world.candidate("two")
    await soon(one.acquire())
    await two.release()
    world.server.play(responses.answer(503))
    await one.release()
    assert world.record["holderIdentity"] == "one"
    assert one.problem


async def test_of_two_who_reach_for_it_one_gets_it(world: World) -> None:
    """Both see the lease free before either writes."""
    candidates = [world.candidate(f"c{number}") for number in range(5)]

    async def insist(candidate: LeaderElector) -> None:
        """An attempt that was under way while time passed is over before it is won."""
        while not candidate.is_leading:
            await candidate.acquire()

    async with running(*(insist(each) for each in candidates)):
        await until(lambda: all(each.leader for each in candidates))
        assert sum(each.is_leading for each in candidates) == 1
        world.pass_time(16)
        await until(lambda: any(each.is_leading for each in candidates))
        await settle(world)
        assert sum(each.is_leading for each in candidates) == 1


async def test_a_renewal_whose_answer_was_lost_is_no_loss(world: World) -> None:
    one = world.candidate("one")
    await soon(one.acquire())

    async def apply_and_cut(request: Any) -> Any:
        world.server._patch(request, world.server.requests[-1].body)
        return await responses.cut(request)

    rule = world.server.play(apply_and_cut, method="PATCH")
    async with running(one.keep()):
        await until(lambda: rule.fired)
        renewals = len(world.server.seen("PATCH"))
        await until(lambda: len(world.server.seen("PATCH")) > renewals + 3)
        assert one.is_leading
    assert world.record["leaseTransitions"] == 0


async def test_terms_count_up_even_if_the_record_is_deleted(world: World) -> None:
    one = world.candidate("one")
    await soon(one.acquire())
    del world.server.objects[PATH]
    async with running(one.keep()):
        await until(lambda: PATH in world.server.objects)
    await one.release()
    await soon(one.acquire())
    assert one.epoch == 2


async def test_a_new_process_of_the_same_name_begins_a_new_term(world: World) -> None:
    await soon(world.candidate("same").acquire())
    again = world.candidate("same")
    await soon(again.acquire())
    assert again.epoch == 1


@pytest.mark.parametrize("options", [{"lease_duration": 10}, {"renew_deadline": 2}, {"retry_period": 0}], ids=str)
def test_periods_that_cannot_work_are_refused(options: dict[str, float]) -> None:
    client = Client.__new__(Client)
    with pytest.raises(ValueError, match="must exceed"):
        LeaderElector(
            client,
            name="l",
            namespace="n",
            identity="i",
            lease_duration=options.get("lease_duration", 15),
            renew_deadline=options.get("renew_deadline", 10),
            retry_period=options.get("retry_period", 2),
        )


def _has_moved(world: World, candidate: LeaderElector, seen: int) -> bool:
    return candidate.is_leading or len(world.server.requests) > seen + 4


async def soon(attempt: Awaitable[None]) -> None:
    await asyncio.wait_for(attempt, 30)


async def renewal(world: World) -> None:
    """One that began after now is over."""
    renewals = len(world.server.seen("PATCH"))
    await until(lambda: len(world.server.seen("PATCH")) > renewals + 2)


async def settle(world: World) -> None:
    """Every candidate has read the lease."""
    requests = len(world.server.requests)
    await until(lambda: len(world.server.requests) > requests + 4)
