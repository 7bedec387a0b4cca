"""Events are recorded once, repetitions are counted, and recording never blocks the caller."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.client.client import Client
from stromboli.kube.events.recorder import BURST_PER_OBJECT, RETRY, EventRecorder
from stromboli.kube.events.series import MAX_NAME_LENGTH, shortened
from stromboli.kube.objects.event import ObjectReference
from tests.testing.kube import responses
from tests.testing.kube.http_server import LittleServer
from tests.testing.kube.waiting import running, until


class Clock:
    """Time passes when the test advances it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A recorder and what the server got of it."""

    def __init__(self, server: LittleServer, client: Client) -> None:
        self.server = server
        self.clock = Clock()
        self.recorder = EventRecorder(client, "stromboli", instance="here", clock=self.clock, max_pending=50)

    def record(self, note: str = "it does not fit", name: str = "a", **fields: Any) -> None:
        regarding = ObjectReference("v1", "Pod", "d", name, f"uid-{name}")
        self.recorder.record(regarding, **{"type": "Warning", "reason": "FailedScheduling", "note": note, **fields})

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(self.server.objects.values())

    @property
    def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in self.events}


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with LittleServer() as server, Client(server.connection, timeout=30) as client:
        yield Desk(server, client)


async def test_an_event_is_what_describe_shows(desk: Desk) -> None:
    related = ObjectReference("v1", "Node", name="n1")
    desk.record(related=related, action="Binding")
    assert await desk.recorder.flush(5)
    [event] = desk.events
    [path] = desk.server.objects
    name = event["metadata"]["name"]
    assert path == f"/api/v1/namespaces/d/events/{name}"
    assert name.startswith("a.")
    event.pop("metadata")
    moment = event.pop("eventTime")
    assert moment.endswith("Z")
    seconds = f"{moment.partition('.')[0]}Z"
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Binding",
        "message": "it does not fit",
        "firstTimestamp": seconds,
        "lastTimestamp": seconds,
        "count": 1,
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "d", "name": "a", "uid": "uid-a"},
        "related": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        "source": {"component": "stromboli"},
        "reportingComponent": "stromboli",
        "reportingInstance": "here",
    }


async def test_what_must_be_said_is_said(desk: Desk) -> None:
    """The server wants an action, and events of the whole cluster in the default namespace."""
    desk.recorder.record(ObjectReference("v1", "Node", name="n" * 300), type="Normal", reason="Ready", note="")
    await desk.recorder.flush(5)
    [event] = desk.events
    assert event["action"] == "Ready"
    assert event["metadata"]["namespace"] == "default"
    assert len(event["metadata"]["name"]) == 253


async def test_what_repeats_while_it_is_written_is_counted(desk: Desk) -> None:
    async def again(request: Any) -> None:
        desk.record()

    desk.server.play(again, method="POST")
    desk.record()
    assert await desk.recorder.flush(5)
    assert desk.counts == {"it does not fit": 2}
    assert [request.method for request in desk.server.requests] == ["POST", "PATCH"]


async def test_event_whose_response_was_lost_is_recorded_once(desk: Desk) -> None:
    async def apply_and_cut(request: Any) -> Any:
        desk.server._post(request, desk.server.requests[-1].body)
        desk.record()
        return await responses.cut(request)

    desk.server.play(apply_and_cut, method="POST")
    desk.record()
    assert await desk.recorder.flush(5)
    assert desk.counts == {"it does not fit": 2}


async def test_what_repeats_is_counted(desk: Desk) -> None:
    for _ in range(3):
        desk.record()
    desk.record("something else")
    async with running(desk.recorder.run()):
        await until(lambda: len(desk.events) == 2)
        assert desk.counts == {"it does not fit": 3, "something else": 1}
        for _ in range(5):
            desk.record()
        assert await desk.recorder.flush(5)
        assert desk.counts == {"it does not fit": 8, "something else": 1}
        assert len(desk.server.seen("PATCH")) == 1


async def test_counts_are_written_after_a_while(desk: Desk) -> None:
    recorder = EventRecorder(desk.recorder._client, "stromboli", repeat_seconds=0.05)
    desk.recorder = recorder
    async with running(recorder.run()):
        desk.record()
        await until(lambda: recorder.written == 1)
        for _ in range(100):
            desk.record()
        await until(lambda: recorder.written == 2)
    assert desk.events[0]["count"] == 101
    assert len(desk.server.requests) == 2


async def test_after_a_long_silence_it_is_news(desk: Desk) -> None:
    desk.record()
    await desk.recorder.flush(5)
    desk.clock.now += 400
    desk.record()
    await desk.recorder.flush(5)
    assert len(desk.events) == 2


async def test_expired_event_is_recorded_anew(desk: Desk) -> None:
    desk.record()
    await desk.recorder.flush(5)
    desk.server.objects.clear()
    desk.record()
    assert await desk.recorder.flush(5)
    [event] = desk.events
    assert event["count"] == 2


async def test_one_object_cannot_drown_the_others(desk: Desk) -> None:
    for number in range(40):
        desk.record(f"reason {number}")
    desk.record(name="b")
    await desk.recorder.flush(5)
    regarding = [event["involvedObject"]["name"] for event in desk.events]
    assert (regarding.count("a"), regarding.count("b")) == (BURST_PER_OBJECT, 1)
    assert desk.recorder.dropped == 40 - BURST_PER_OBJECT


async def test_too_much_at_once_forgets_the_oldest(desk: Desk) -> None:
    for number in range(60):
        desk.record(name=f"p{number}")
    assert desk.recorder.dropped == 10
    await desk.recorder.flush(5)
    assert {event["involvedObject"]["name"] for event in desk.events} == {f"p{number}" for number in range(10, 60)}


async def test_trouble_is_tried_again_and_then_given_up(desk: Desk) -> None:
    desk.recorder._retry = replace(RETRY, min_delay=0.0, max_delay=0.0)
    rule = desk.server.play(responses.answer(503), times=RETRY.attempts - 1)
    desk.record()
    async with running(desk.recorder.run()):
        await until(lambda: desk.events)
        assert desk.recorder.dropped == 0
        rule.times = None
        desk.record("more")
        await until(lambda: desk.recorder.dropped == 1)
    assert len(desk.events) == 1


async def test_a_refusal_is_final(desk: Desk) -> None:
    desk.server.play(responses.answer(403, "Forbidden", "the namespace is being deleted"))
    desk.record()
    assert not await desk.recorder.flush(5)
    assert (desk.recorder.dropped, len(desk.server.requests)) == (1, 1)


async def test_what_was_being_written_when_the_writers_left_is_not_lost(desk: Desk) -> None:
    rule = desk.server.play(responses.hang)
    desk.record()
    async with running(desk.recorder.run()):
        await until(lambda: rule.fired)
    assert desk.events == []
    assert await desk.recorder.flush(5)
    assert len(desk.events) == 1


async def test_flushing_has_an_end(desk: Desk) -> None:
    desk.server.play(responses.hang)
    desk.record()
    assert not await desk.recorder.flush(0.05)


async def test_flushing_does_not_claim_what_it_could_not_do(desk: Desk) -> None:
    desk.server.play(responses.answer(503), times=None)
    desk.record()
    assert not await desk.recorder.flush(5)


async def test_flushing_waits_for_those_who_write(desk: Desk) -> None:
    gate = asyncio.Event()

    async def wait(request: Any) -> None:
        await gate.wait()

    rule = desk.server.play(wait)
    async with running(desk.recorder.run()):
        desk.record()
        await until(lambda: rule.fired)
        asyncio.get_running_loop().call_later(0.02, gate.set)
        assert await desk.recorder.flush(5)
        assert len(desk.events) == 1


@given(st.text(alphabet="aé漢🌋", min_size=200, max_size=2000))
def test_notes_are_cut_between_characters(note: str) -> None:
    short = shortened(note)
    assert len(short.encode()) <= 1024
    assert short == note or (short.endswith("…") and note.startswith(short[:-1]) and len(short.encode()) > 1015)


@pytest.mark.parametrize("ending", ["-", ".", "-.-"])
async def test_a_name_that_is_cut_is_still_a_name(desk: Desk, ending: str) -> None:
    beginning = "a" * (MAX_NAME_LENGTH - len(".1234567812345678") - len(ending))
    desk.record(name=beginning + ending + "b" * 30)
    assert await desk.recorder.flush(5)
    [event] = desk.events
    assert re.fullmatch(beginning + r"\.[0-9a-f]{16}", event["metadata"]["name"])


def test_a_note_that_is_no_text_does_not_matter() -> None:
    assert shortened("a\udc80b") == "a?b"
