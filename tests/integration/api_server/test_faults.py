"""Injected faults: effect and number."""

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


async def test_injected_error_response(api: HttpApi) -> None:
    fault = api.server.faults.add(CREATE, Answer(429, "TooManyRequests", "slow down", retry_after=3), times=2)
    for _ in range(2):
        reply = await api.post(CONFIG_MAPS, config())
        assert (reply.status, reply.reason, reply.headers["Retry-After"]) == (429, "TooManyRequests", "3")
    assert (await api.post(CONFIG_MAPS, config())).status == 201
    assert fault.fired == 2


async def test_fault_after_number_of_requests(api: HttpApi) -> None:
    fault = api.server.faults.add(CREATE, Answer(500, "InternalError"), after=1)
    assert [(await api.post(CONFIG_MAPS, config(name))).status for name in "abc"] == [201, 500, 201]
    assert fault.fired == 1


async def test_fault_applies_to_matching_requests(api: HttpApi) -> None:
    await api.post(PODS, pod("p-1"))
    await api.post(PODS, pod("q-1"))
    match = Match(plural="pods", subresource="binding", name="p-*")
    fault = api.server.faults.add(match, Answer(500, "InternalError"), times=None)
    assert (await api.post(f"{PODS}/p-1/binding", binding(name="p-1"))).status == 500
    assert (await api.post(f"{PODS}/q-1/binding", binding(name="q-1"))).status == 201
    assert (await api.get(f"{PODS}/p-1")).status == 200
    api.server.faults.remove(fault)
    assert (await api.post(f"{PODS}/p-1/binding", binding(name="p-1"))).status == 201


async def test_lost_response_is_carried_out(api: HttpApi) -> None:
    fault = api.server.faults.add(CREATE, LoseAnswer())
    with pytest.raises(aiohttp.ClientError):
        await api.post(CONFIG_MAPS, config())
    assert fault.fired == 1
    assert (await api.get(f"{CONFIG_MAPS}/c")).status == 200


async def test_cut_connection_is_not_carried_out(api: HttpApi) -> None:
    api.server.faults.add(CREATE, CutConnection())
    with pytest.raises(aiohttp.ClientError):
        await api.post(CONFIG_MAPS, config())
    assert (await api.get(f"{CONFIG_MAPS}/c")).status == 404


async def test_delay_precedes_other_faults(api: HttpApi) -> None:
    api.server.faults.add(CREATE, Delay(0.05))
    api.server.faults.add(CREATE, Answer(503, "ServiceUnavailable"))
    begin = time.monotonic()
    assert (await api.post(CONFIG_MAPS, config())).status == 503
    assert time.monotonic() - begin >= 0.05


async def test_truncated_response(api: HttpApi) -> None:
    api.server.faults.add(Match(verb="list"), Garble())
    reply = await api.get(CONFIG_MAPS)
    assert reply.status == 200
    assert isinstance(reply.body, bytes), "what came is no JSON"


async def test_oversized_response(api: HttpApi) -> None:
    api.server.faults.add(Match(verb="list"), Oversize(100_000))
    reply = await api.get(CONFIG_MAPS)
    assert int(reply.headers["Content-Length"]) == 100_000


async def test_cut_watch(api: HttpApi) -> None:
    fault = api.server.faults.add(WATCH, CutWatch())
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, config())
        assert await events.is_cut()
    assert fault.fired == 1


async def test_expired_watch(api: HttpApi) -> None:
    api.server.faults.add(WATCH, ExpireWatch(), after=1)
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, config("a"))
        assert await events.take(1) == [("ADDED", "a")]
        await api.post(CONFIG_MAPS, config("b"))
        event = await events.next()
        assert event is not None
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert await events.next() is None


async def test_hanging_watch(api: HttpApi) -> None:
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


async def test_watch_hanging_from_start(api: HttpApi) -> None:
    await api.post(CONFIG_MAPS, config("a"))
    api.server.faults.add(WATCH, HangWatch())
    async with api.watch(CONFIG_MAPS) as silent:
        with pytest.raises(TimeoutError):
            await silent.next(within=0.05)


async def test_duplicated_events(api: HttpApi) -> None:
    api.server.faults.add(WATCH, Duplicate())
    async with api.watch(CONFIG_MAPS) as events:
        await api.post(CONFIG_MAPS, config())
        assert await events.take(2) == [("ADDED", "c")] * 2


async def test_reordered_events(api: HttpApi) -> None:
    version = (await api.get(CONFIG_MAPS)).body["metadata"]["resourceVersion"]
    for name in "ab":
        await api.post(CONFIG_MAPS, config(name))
    api.server.faults.add(WATCH, Reorder(2))
    async with api.watch(CONFIG_MAPS, resourceVersion=version) as events:
        assert await events.take(4) == [("ADDED", "b"), ("ADDED", "a"), ("ADDED", "a"), ("ADDED", "b")]


async def test_cleared_faults_have_no_effect(api: HttpApi) -> None:
    api.server.faults.add(Match(), Answer(500, "InternalError"), times=None)
    api.server.faults.clear()
    assert (await api.get(CONFIG_MAPS)).status == 200
