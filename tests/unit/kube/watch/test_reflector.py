"""Whatever the server and the network do, the sink ends up knowing what is there."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import PODS
from stromboli.kube.objects.pod import Pod
from stromboli.kube.watch.reflector import Reflector
from stromboli.kube.work.retry import RetryPolicy
from tests.testing.kube import responses
from tests.testing.kube.http_server import INITIAL_EVENTS_END, LittleServer, bookmark, event, pod, refusal
from tests.testing.kube.sinks import RecordingSink
from tests.testing.kube.waiting import running, until


@dataclass
class Scene:
    """A server, a client of it, and a reflector with its sink."""

    server: LittleServer
    client: Client
    reflector: Reflector[Pod]
    sink: RecordingSink

    async def settles(self) -> None:
        """The sink knows what the server knows."""
        await until(lambda: self.sink.versions == self.server.pods(), lambda: (self.sink.versions, self.server.pods()))

    async def receives(self, calls: str) -> None:
        await until(lambda: self.sink.calls_text == calls, lambda: self.sink.calls_text)


@asynccontextmanager
async def scene(server: LittleServer, **options: Any) -> AsyncIterator[Scene]:
    """Everything is set up; `begin` starts the reflector."""
    async with server, Client(server.connection, timeout=30) as client:
        sink = RecordingSink()
        options = {"retry": RetryPolicy(min_delay=0.001, max_delay=0.01), **options}
        yield Scene(server, client, Reflector(client, PODS, sink, **options), sink)


@asynccontextmanager
async def following(server: LittleServer, *names: str, **options: Any) -> AsyncIterator[Scene]:
    """The reflector runs and knows the pods of these names."""
    async with scene(server, **options) as all_of_it:
        for name in names:
            server.put(name)
        async with running(all_of_it.reflector.run()):
            await asyncio.wait_for(all_of_it.reflector.synced.wait(), 30)
            yield all_of_it


WAYS = pytest.mark.parametrize("streams_lists", [True, False], ids=["streamed list", "paged list"])


@WAYS
async def test_lists_and_watches(streams_lists: bool) -> None:
    async with following(LittleServer(streams_lists), "a", "b", "c", page_size=2) as s:
        assert s.sink.calls_text == "+a +b +c"
        s.server.put("a")
        s.server.delete("b")
        s.server.put("d")
        await s.receives("+a +b +c +a -b +d")
        await s.settles()
        assert s.reflector.problem == ""
        assert (s.reflector.relists, s.reflector.unreadable) == (0, 0)


async def test_a_refusal_to_stream_lists_is_remembered_for_all() -> None:
    async with following(LittleServer(streams_lists=False), "a") as s:
        assert not s.client.streams_lists
        async with running(Reflector(s.client, PODS, second := RecordingSink()).run()):
            await until(lambda: second.calls_text == "+a")
        streams = [request for request in s.server.requests if "sendInitialEvents" in request.query]
        assert len(streams) == 1


async def test_a_refusal_inside_the_stream_counts_too() -> None:
    """Servers whose storage is too old accept the request, and then say that they cannot."""
    said = event("ERROR", refusal(500, "InternalError", "storage feature RequestWatchProgress is disabled"))
    server = LittleServer()
    server.play(responses.lines(said), watch=True)
    async with following(server, "a") as s:
        assert s.sink.calls_text == "+a"
        assert not s.client.streams_lists


async def test_a_stream_that_never_completes_the_list_is_given_up() -> None:
    server = LittleServer()
    server.play(responses.lines(event("ADDED", pod("a", version=5)), then_hang=True), watch=True, times=2)
    async with following(server, "b", idle_seconds=0.05) as s:
        await s.settles()
        assert s.client.streams_lists


@WAYS
async def test_a_cut_watch_goes_on_where_it_was(streams_lists: bool) -> None:
    async with following(LittleServer(streams_lists), "a") as s:
        s.server.put("b")
        await s.settles()
        s.server.drop_watches()
        s.server.put("c")
        await s.receives("+a +b +c")
        assert (s.reflector.reconnects, s.reflector.relists) == (1, 0)
        assert s.server.requests[-1].query["resourceVersion"] == str(s.server.version - 1)


async def test_bookmarks_move_the_point_to_go_on_from() -> None:
    server = LittleServer()
    server.play(responses.lines(bookmark(11, INITIAL_EVENTS_END), bookmark(500)), watch=True)
    async with scene(server) as s, running(s.reflector.run()):
        await until(lambda: len(server.seen(watch=True)) == 2)
        assert server.requests[-1].query["resourceVersion"] == "500"
        assert all(request.query["allowWatchBookmarks"] == "true" for request in server.requests)
        assert all(300 <= int(request.query["timeoutSeconds"]) <= 600 for request in server.requests)


@WAYS
@pytest.mark.parametrize("in_band", [True, False], ids=["in the stream", "as an answer"])
async def test_a_forgotten_past_is_listed_anew(streams_lists: bool, in_band: bool) -> None:
    async with following(LittleServer(streams_lists), "a", "b", "c") as s:
        server = s.server
        if not in_band:
            server.play(responses.answer(410, "Expired"), watch=True)
        server.drop_watches()
        server.delete("a")
        server.put("b")
        server.delete("c")
        server.put("c")
        server.forget_history()
        await s.settles()
        assert s.sink.calls_text == "+a +b +c -a +b -c +c" or s.sink.calls_text == "+a +b +c -a -c +b +c"
        assert s.reflector.relists == 1


async def test_pages_that_expire_are_asked_for_at_once() -> None:
    server = LittleServer(streams_lists=False)

    async def expire(request: Any) -> Any:
        return await responses.answer(410, "Expired")(request) if "continue" in request.query else None

    server.play(expire, watch=False, times=None)
    async with following(server, "a", "b", "c", page_size=2) as s:
        await s.settles()
        assert "limit" not in server.seen(watch=False)[-1].query


async def test_words_that_are_not_known_are_passed_over() -> None:
    server = LittleServer()
    said = (
        bookmark(10, INITIAL_EVENTS_END),
        event("RENAMED", pod("x", version=11)),
        event("BOOKMARK", {"metadata": 3}),
    )
    server.play(responses.lines(*said), watch=True)
    async with following(server) as s:
        server.put("a")
        await s.receives("+a")


async def test_silence_is_not_trusted() -> None:
    server = LittleServer()
    server.play(responses.lines(bookmark(10, INITIAL_EVENTS_END), then_hang=True), watch=True)
    async with following(server, idle_seconds=0.05) as s:
        server.put("a")
        await s.settles()


async def test_watch_without_any_event_falls_back_to_a_list() -> None:
    """A server that was restored waits for a version that is years ahead of it."""
    server = LittleServer()
    server.play(responses.lines(bookmark(10, INITIAL_EVENTS_END)), watch=True)
    server.play(responses.lines(then_hang=True), watch=True, times=2)
    async with following(server, idle_seconds=0.05) as s:
        await until(lambda: s.reflector.relists == 1)
        server.put("a")
        await s.settles()


GHOST = pod("ghost", version=4)
OLD_LISTS = {
    False: responses.body(json.dumps({"metadata": {"resourceVersion": "5"}, "items": [GHOST]}).encode()),
    True: responses.lines(event("ADDED", GHOST), bookmark(5, INITIAL_EVENTS_END)),
}


@WAYS
async def test_a_list_from_the_past_is_refused(streams_lists: bool) -> None:
    """A server that lags behind the one we spoke to before must not turn back time."""
    async with following(LittleServer(streams_lists), "a") as s:
        s.server.play(responses.answer(410, "Expired"), watch=True)
        rule = s.server.play(OLD_LISTS[streams_lists], watch=streams_lists, times=3)
        s.server.drop_watches()
        await until(lambda: s.reflector.relists == 1)
        assert rule.fired == 3
        assert s.sink.calls_text == "+a"


async def test_a_server_that_was_restored_is_believed_in_the_end() -> None:
    """Its versions begin anew, so those that we know say nothing about what is newer."""
    async with following(LittleServer(), "a", "b", stale_list_seconds=0.05) as s:
        s.server.delete("b")
        s.server.history.clear()
        s.server.version = 2
        s.server.put("a", spec={"nodeName": "n1"})
        s.server.put("c")
        s.server.oldest = 10**9
        s.server.drop_watches()
        await until(lambda: list(s.sink.entries) == ["d/a", "d/c"], lambda: s.sink.calls_text)
        assert s.sink.entries["d/a"].spec.node_name == "n1"


@pytest.mark.parametrize("known", [(), ("a", "b")], ids=["first list", "later list"])
async def test_what_goes_while_it_is_listed_is_gone(known: tuple[str, ...]) -> None:
    server = LittleServer()
    async with scene(server) as s:
        for name in known:
            server.put(name)
        if known:
            async with running(s.reflector.run()):
                await s.settles()
        uid = server.objects["/api/v1/namespaces/d/pods/b"]["metadata"]["uid"] if known else "u"
        server.play(responses.answer(410, "Expired"), watch=True, times=1 if known else 0)
        events = (
            event("ADDED", pod("b", uid, 20)),
            event("ADDED", pod("c", version=21)),
            event("DELETED", pod("b", uid, 22)),
            bookmark(22, INITIAL_EVENTS_END),
        )
        server.play(responses.lines(*events, then_hang=True), watch=True)
        async with running(s.reflector.run()):
            await until(lambda: list(s.sink.entries) == ["d/c"], lambda: s.sink.calls_text)


async def test_resource_version_from_the_future_is_abandoned_after_retries() -> None:
    async with following(LittleServer(), "a") as s:
        too_large = responses.answer(
            504, "Timeout", "Too large resource version: 12, current: 3", retryAfterSeconds=0.001
        )
        s.server.play(too_large, watch=True, times=4)
        s.server.drop_watches()
        await until(lambda: s.reflector.relists == 1)
        await s.settles()


async def test_what_cannot_be_read_is_reported_and_the_rest_goes_on() -> None:
    async with following(LittleServer(), "a") as s:
        s.server.put("b", spec={"containers": "many"})
        s.server.put("c")
        await s.receives("+a ?b +c")
        assert s.sink.problems["d/b"] == (
            "Pod d/b: spec.containers: expected a list, got a string; write a list, one item per dash"
        )
        s.server.delete("b")
        await s.receives("+a ?b +c -b")
        assert s.reflector.unreadable == 1


async def test_a_sink_that_stumbles_does_not_end_the_stream() -> None:
    async with following(LittleServer(), "a") as s:
        s.sink.failing_names = {"b"}
        s.server.put("b")
        s.server.put("c")
        await s.receives("+a +b ?b +c")
        assert s.sink.problems["d/b"] == "a handler failed: sink failure"
        assert s.reflector.handler_failures == 1


async def test_a_garbled_line_is_read_again() -> None:
    server = LittleServer()
    server.play(
        responses.lines(bookmark(10, INITIAL_EVENTS_END), event("ADDED", pod("a", version=11))[:30] + b"\n"), watch=True
    )
    async with following(server, "a") as s:
        await s.settles()


SETBACKS = {
    "overloaded": responses.answer(429, "TooManyRequests", retryAfterSeconds=0.01),
    "unwell": responses.answer(500, "InternalError", "etcd is away"),
    "a gateway": responses.body(b"<html>", status=502),
    "cut": responses.cut,
    "no JSON": responses.body(b'{"metadata"'),
}


@WAYS
@pytest.mark.parametrize("trick", SETBACKS.values(), ids=SETBACKS.keys())
async def test_trouble_passes(trick: Any, streams_lists: bool) -> None:
    server = LittleServer(streams_lists)
    server.play(trick, times=5)
    async with following(server, "a") as s:
        await s.settles()
        assert s.reflector.problem == ""
        assert s.reflector.errors >= 2


async def test_a_missing_permission_is_a_problem_until_it_is_given() -> None:
    server = LittleServer()
    rule = server.play(responses.answer(403, "Forbidden", "pods is forbidden"), times=None)
    async with scene(server) as s, running(s.reflector.run()):
        await until(lambda: s.reflector.problem == "403 Forbidden: pods is forbidden")
        assert not s.reflector.synced.is_set()
        rule.times = 0
        await until(lambda: s.reflector.synced.is_set() and not s.reflector.problem)


async def test_a_required_kind_that_is_not_installed_is_a_problem() -> None:
    server = LittleServer()
    server.play(responses.answer(404, "NotFound", "the server could not find the requested resource"), times=None)
    async with scene(server) as s, running(s.reflector.run()):
        await until(lambda: len(server.requests) > 3)
        assert s.reflector.problem == (
            "404 NotFound: the server could not find the requested resource; is the CRD of this kind installed?"
        )
        assert not s.reflector.synced.is_set()


async def test_an_optional_kind_that_is_not_installed_is_none() -> None:
    server = LittleServer()
    rule = server.play(responses.answer(404, "NotFound", "no such thing"), times=None)
    async with following(server, optional=True, probe_seconds=0.02) as s:
        assert s.reflector.problem == ""
        rule.times = 0
        server.put("a")
        await s.receives("+a")
        rule.times = None
        server.drop_watches()
        await s.receives("+a -a")


async def test_forbidden_optional_kind_is_reported_and_does_not_block() -> None:
    server = LittleServer()
    server.play(responses.answer(403, "Forbidden", "no"), times=None)
    async with following(server, optional=True) as s:
        assert s.reflector.problem == "403 Forbidden: no"


async def test_only_what_is_selected_is_asked_for() -> None:
    options = {"namespace": "d", "label_selector": "a=b", "field_selector": "spec.nodeName="}
    async with following(LittleServer(streams_lists=False), **options) as s:
        await until(lambda: len(s.server.requests) == 3)
        for request in s.server.requests:
            assert request.path == "/api/v1/namespaces/d/pods"
            assert (request.query["labelSelector"], request.query["fieldSelector"]) == ("a=b", "spec.nodeName=")
