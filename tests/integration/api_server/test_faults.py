"""Faults: each does what it says, as often as it was asked to, and counts."""

from __future__ import annotations

import time

import aiohttp
import pytest

from stromboli.local.api_server.faults import (
    Answer,
    CutConnection,
    CutWatch,
    Delay,
    Duplicate,
    ExpireWatch,
    Garble,
    HangWatch,
    LoseAnswer,
    Match,
    Oversize,
    Reorder,
)
from tests.integration.api_server.http_api import CONFIG_MAPS, PODS, HttpApi, binding, pod

pytestmark = pytest.mark.only("embedded", because="they are its own faults")

CREATE = Match(verb="create", plural="configmaps")
WATCH = Match(verb="watch", plural="configmaps")


def config(name: str = "c") -> dict[str, dict[str, str]]:
    return {"metadata": {"name": name}}


async def test_an_answer_instead_of_the_real_one(api: HttpApi) -> None:
    fault = api.server.faults.add(CREATE, Answer(429, "TooManyRequests", "slow down", retry_after=3), times=2)
    for _ in range(2):
        reply = await api.post(CONFIG_MAPS, config())
        assert (reply.status, reply.reason, reply.headers["Retry-After"]) == (429, "TooManyRequests", "3")
    assert (await api.post(CONFIG_MAPS, config())).status == 201
    assert fault.fired == 2


async def test_a_fault_can_wait_for_its_turn(api: HttpApi) -> None:
    fault = api.server.faults.add(CREATE, Answer(500, "InternalError"), after=1)
    assert [(await api.post(CONFIG_MAPS, config(name))).status for name in "abc"] == [201, 500, 201]
    assert fault.fired == 1


async def test_faults_hit_what_they_are_meant_for(api: HttpApi) -> None:
    await api.post(PODS, pod("p-1"))
    await api.post(PODS, pod("q-1"))
    match = Match(plural="pods", subresource="binding", name="p-*")
    fault = api.server.faults.add(match, Answer(500, "InternalError"), times=None)
    assert (await api.post(f"{PODS}/p-1/binding", binding(name="p-1"))).status == 500
    assert (await api.post(f"{PODS}/q-1/binding", binding(name="q-1"))).status == 201
    assert (await api.get(f"{PODS}/p-1")).status == 200
    api.server.faults.remove(fault)
    assert (await api.post(f"{PODS}/p-1/binding", binding(name="p-1"))).status == 201


async def test_a_lost_answer_is_a_done_deed(api: HttpApi) -> None:
    fault = api.server.faults.add(CREATE, LoseAnswer())
    with pytest.raises(aiohttp.ClientError):
        await api.post(CONFIG_MAPS, config())
    assert fault.fired == 1
    assert (await api.get(f"{CONFIG_MAPS}/c")).status == 200


async def test_a_cut_connection_is_not(api: HttpApi) -> None:
    api.server.faults.add(CREATE, CutConnection())
    with pytest.raises(aiohttp.ClientError):
        await api.post(CONFIG_MAPS, config())
    assert (await api.get(f"{CONFIG_MAPS}/c")).status == 404


async def test_a_delay_comes_before_whatever_else(api: HttpApi) -> None:
    api.server.faults.add(CREATE, Delay(0.05))
    api.server.faults.add(CREATE, Answer(503, "ServiceUnavailable"))
    begin = time.monotonic()
    assert (await api.post(CONFIG_MAPS, config())).status == 503
    assert time.monotonic() - begin >= 0.05


async def test_half_an_answer(api: HttpApi) -> None:
    api.server.faults.add(Match(verb="list"), Garble())
    reply = await api.get(CONFIG_MAPS)
    assert reply.status == 200
    assert isinstance(reply.body, bytes), "what came is no JSON"


async def test_an_answer_that_is_too_long(api: HttpApi) -> None:
    api.server.faults.add(Match(verb="list"), Oversize(100_000))
    reply = await api.get(CONFIG_MAPS)
    assert int(reply.headers["Content-Length"]) == 100_000


async def test_a_watch_that_is_cut(api: HttpApi) -> None:
    fault = api.server.faults.add(WATCH, CutWatch())
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, config())
        assert await events.is_cut()
    assert fault.fired == 1


async def test_a_watch_that_expires(api: HttpApi) -> None:
    api.server.faults.add(WATCH, ExpireWatch(), after=1)
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, config("a"))
        assert await events.take(1) == [("ADDED", "a")]
        await api.post(CONFIG_MAPS, config("b"))
        event = await events.next()
        assert event is not None
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert await events.next() is None


async def test_a_watch_that_hangs(api: HttpApi) -> None:
    fault = api.server.faults.add(WATCH, HangWatch())
    async with api.watch(CONFIG_MAPS) as silent:
        await api.post(CONFIG_MAPS, config("a"))
        async with api.watch(CONFIG_MAPS) as other:
            assert await other.take(1) == [("ADDED", "a")]
            await api.post(CONFIG_MAPS, config("b"))
            assert await other.take(1) == [("ADDED", "b")]
        assert fault.fired == 1
        with pytest.raises(TimeoutError):
            await silent.next(within=0.05)


async def test_a_watch_that_hangs_from_the_start(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, config("a"))
    api.server.faults.add(WATCH, HangWatch())
    async with api.watch(CONFIG_MAPS) as silent:
        with pytest.raises(TimeoutError):
            await silent.next(within=0.05)


async def test_events_that_come_twice(api: HttpApi) -> None:
    api.server.faults.add(WATCH, Duplicate())
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, config())
        assert await events.take(2) == [("ADDED", "c")] * 2


async def test_events_that_overtake_each_other(api: HttpApi) -> None:
    version = (await api.get(CONFIG_MAPS)).body["metadata"]["resourceVersion"]
    for name in "ab":
        await api.post(CONFIG_MAPS, config(name))
    api.server.faults.add(WATCH, Reorder(2))
    async with api.watch(CONFIG_MAPS, resourceVersion=version) as events:
        assert await events.take(4) == [("ADDED", "b"), ("ADDED", "a"), ("ADDED", "a"), ("ADDED", "b")]


async def test_cleared_faults_do_nothing(api: HttpApi) -> None:
    api.server.faults.add(Match(), Answer(500, "InternalError"), times=None)
    api.server.faults.clear()
    assert (await api.get(CONFIG_MAPS)).status == 200
