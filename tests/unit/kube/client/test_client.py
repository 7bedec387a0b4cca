"""Requests have the expected form, and every failure has its own error."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from stromboli.kube.client.api_errors import ApiError, RequestFailed, Unreachable
from stromboli.kube.client.client import Client, PatchKind
from stromboli.kube.client.config.credentials import Anonymous, CredentialsProblem, TokenFile
from stromboli.kube.objects.catalogue import NODES, POD_GROUPS, PODS
from stromboli.kube.objects.meta import ObjectMeta
from stromboli.kube.objects.pod import Pod, PodSpec
from stromboli.kube.objects.volcano import PodGroup
from tests.testing.kube import responses
from tests.testing.kube.http_server import LittleServer, event, pod


@pytest.fixture
async def server() -> AsyncIterator[LittleServer]:
    async with LittleServer() as server:
        yield server


@pytest.fixture
async def client(server: LittleServer) -> AsyncIterator[Client]:
    async with Client(server.connection, timeout=30) as client:
        yield client


async def failure(attempt: Awaitable[Any]) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        await attempt
    return caught.value


# -- what is asked ----------------------------------------------------------------------------------------------

OBJECT = json.dumps(pod("a")).encode()
POD_PATH = "/api/v1/namespaces/d/pods/a"
US = {"fieldManager": "stromboli"}
REQUESTS: list[tuple[str, Callable[[Client], Awaitable[Any]], str, str, dict[str, str], Any]] = [
    ("get", lambda c: c.get(PODS, "a", namespace="d"), "GET", POD_PATH, {}, None),
    (
        "get in the namespace of the connection",
        lambda c: c.get(PODS, "a"),
        "GET",
        "/api/v1/namespaces/default/pods/a",
        {},
        None,
    ),
    ("get of the whole cluster", lambda c: c.get(NODES, "n1", namespace="d"), "GET", "/api/v1/nodes/n1", {}, None),
    (
        "create in the object's namespace",
        lambda c: c.create(PODS, {"metadata": {"name": "a", "namespace": "d"}}),
        "POST",
        "/api/v1/namespaces/d/pods",
        US,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "d"}},
    ),
    (
        "create a typed object",
        lambda c: c.create(POD_GROUPS, PodGroup(metadata=ObjectMeta("g")), namespace="d"),
        "POST",
        "/apis/scheduling.volcano.sh/v1beta1/namespaces/d/podgroups",
        US,
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "g"},
            "spec": {},
            "status": {},
        },
    ),
    (
        "patch a status",
        lambda c: c.patch(PODS, "a", {"status": {}}, namespace="d", subresource="status", kind=PatchKind.STRATEGIC),
        "PATCH",
        f"{POD_PATH}/status",
        US,
        {"status": {}},
    ),
    (
        "apply",
        lambda c: c.patch(PODS, "a", {"x": 1}, namespace="d", kind=PatchKind.APPLY, field_manager="me", force=True),
        "PATCH",
        POD_PATH,
        {"fieldManager": "me", "force": "true"},
        {"x": 1},
    ),
    (
        "delete this very one",
        lambda c: c.delete(PODS, "a", namespace="d", uid="u", grace_period=0, propagation="Background"),
        "DELETE",
        POD_PATH,
        {},
        {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "u"},
            "propagationPolicy": "Background",
            "gracePeriodSeconds": 0,
        },
    ),
    (
        "bind",
        lambda c: c.bind("d", "a", "u", "n1", annotations={"gpu": "0"}),
        "POST",
        f"{POD_PATH}/binding",
        US,
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a", "namespace": "d", "uid": "u", "annotations": {"gpu": "0"}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        },
    ),
    (
        "evict",
        lambda c: c.evict("d", "a", "u", grace_period=5),
        "POST",
        f"{POD_PATH}/eviction",
        {},
        {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "a", "namespace": "d"},
            "deleteOptions": {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": "u"},
                "gracePeriodSeconds": 5,
            },
        },
    ),
]


@pytest.mark.parametrize(
    ("title", "call", "method", "path", "query", "sent"), REQUESTS, ids=[row[0] for row in REQUESTS]
)
async def test_requests(
    title: str,
    call: Callable[[Client], Awaitable[Any]],
    method: str,
    path: str,
    query: dict[str, str],
    sent: Any,
    client: Client,
    server: LittleServer,
) -> None:
    server.play(responses.body(OBJECT))
    await call(client)
    [request] = server.requests
    assert (request.method, request.path, request.query, request.body) == (method, path, query, sent)
    assert request.headers["User-Agent"].startswith("stromboli/")


async def test_patch_content_type(client: Client, server: LittleServer) -> None:
    server.play(responses.body(OBJECT), times=None)
    for kind in PatchKind:
        await client.patch(PODS, "a", {}, kind=kind)
    assert [request.headers["Content-Type"] for request in server.requests] == [kind.value for kind in PatchKind]


async def test_names_are_quoted_in_paths(client: Client, server: LittleServer) -> None:
    server.play(responses.body(OBJECT))
    await client.get(PODS, "../../secrets?x=1", namespace="d")
    assert server.requests[0].path == "/api/v1/namespaces/d/pods/../../secrets?x=1"
    assert server.requests[0].query == {}


async def test_list_joins_pages(client: Client, server: LittleServer) -> None:
    for name in "abcde":
        server.put(name)
    listing = await client.list(PODS, limit=2, label_selector="a=b", field_selector="spec.nodeName=")
    assert [entry.metadata.name for entry in listing.items] == list("abcde")
    assert listing.resource_version == str(server.version)
    assert len(server.requests) == 3
    assert all(request.query["labelSelector"] == "a=b" for request in server.requests)


async def test_unreadable_object_does_not_hide_others(client: Client, server: LittleServer) -> None:
    server.put("a")
    server.put("b", spec={"containers": 3})
    server.put("c", spec=None)
    listing = await client.list(PODS)
    assert [entry.metadata.name for entry in listing.items] == ["a", "c"]
    [refused] = listing.unreadable
    assert (refused.key, refused.uid) == ("d/b", server.objects["/api/v1/namespaces/d/pods/b"]["metadata"]["uid"])
    assert (
        refused.problem == "Pod d/b: spec.containers: expected a list, got an integer; write a list, one item per dash"
    )


async def test_objects_are_typed(client: Client, server: LittleServer) -> None:
    server.put("a", spec={"nodeName": "n1", "unheardOf": 1})
    found = await client.get(PODS, "a", namespace="d")
    assert isinstance(found, Pod)
    assert found.spec == PodSpec(node_name="n1")


# -- what goes wrong --------------------------------------------------------------------------------------------

REFUSALS = [
    ("missing", responses.answer(404, "NotFound", "no"), "404 NotFound: no", None),
    (
        "in a hurry",
        responses.answer(429, "TooManyRequests", "wait", headers={"Retry-After": "7"}),
        "429 TooManyRequests: wait",
        7,
    ),
    (
        "in the body",
        responses.answer(429, "TooManyRequests", "wait", retryAfterSeconds=3),
        "429 TooManyRequests: wait",
        3,
    ),
    (
        "a gateway",
        responses.body(b"<h1>Bad\x1b[2J gateway</h1>", status=502),
        r"502: <h1>Bad\x1b[2J gateway</h1>",
        None,
    ),
    ("silent", responses.body(b"", status=500), "500: the server gave no reason", None),
    ("invalid header", responses.answer(503, "x", "y", headers={"Retry-After": "soon"}), "503 x: y", None),
    (
        "elsewhere",
        responses.body(b"", status=302, headers={"Location": "http://127.0.0.1:1/"}),
        "302: the server redirects; is the address that of an API server?",
        None,
    ),
]


@pytest.mark.parametrize(("title", "trick", "words", "retry_after"), REFUSALS, ids=[row[0] for row in REFUSALS])
async def test_error_response(
    title: str, trick: Any, words: str, retry_after: float | None, client: Client, server: LittleServer
) -> None:
    server.play(trick)
    error = await failure(client.get(PODS, "a"))
    assert isinstance(error, ApiError)
    assert (str(error), error.retry_after) == (words, retry_after)


async def test_retry_after_may_be_a_date(client: Client, server: LittleServer) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    server.play(responses.answer(503, headers={"Retry-After": date}))
    error = await failure(client.get(PODS, "a"))
    assert isinstance(error, ApiError)
    assert 50 < (error.retry_after or 0) <= 60


async def test_timeout_leaves_outcome_unknown(server: LittleServer) -> None:
    server.play(responses.hang)
    async with Client(server.connection, timeout=0.1) as client:
        error = await failure(client.bind("d", "a", "u", "n1"))
    assert isinstance(error, Unreachable)
    assert error.sent
    assert str(error) == "POST /api/v1/namespaces/d/pods/a/binding: no response in time"


async def test_cut_connection_leaves_outcome_unknown(client: Client, server: LittleServer) -> None:
    server.play(responses.cut)
    error = await failure(client.bind("d", "a", "u", "n1"))
    assert isinstance(error, Unreachable)
    assert error.outcome_unknown


async def test_refused_connection_was_not_sent(server: LittleServer) -> None:
    unreachable = replace(server.connection, server="http://127.0.0.1:1")
    async with Client(unreachable) as client:
        error = await failure(client.bind("d", "a", "u", "n1"))
        assert client.answers == {("POST", "none"): 1}
    assert isinstance(error, Unreachable)
    assert not error.outcome_unknown
    assert str(error).endswith("binding: cannot connect to 127.0.0.1:1: Connection refused")


GARBLED = {
    "truncated": OBJECT[:20],
    "no object": b"[]",
    "another shape": b'{"metadata": 3}',
    "not even text": b"\xff\xfe",
}


@pytest.mark.parametrize("content", GARBLED.values(), ids=GARBLED.keys())
async def test_unreadable_response_leaves_outcome_unknown(content: bytes, client: Client, server: LittleServer) -> None:
    server.play(responses.body(content), times=None)
    for attempt in (client.get(PODS, "a"), client.list(PODS), client.patch(PODS, "a", {})):
        error = await failure(attempt)
        assert isinstance(error, Unreachable)
        assert error.outcome_unknown


async def test_oversized_response_is_aborted(server: LittleServer) -> None:
    server.play(responses.body(b"x" * 3_000_000))
    async with Client(server.connection, max_response_size=1 << 20) as client:
        error = await failure(client.get(PODS, "a"))
    assert str(error) == "the response is larger than 1 MiB; ask for smaller pages"


# -- who asks ---------------------------------------------------------------------------------------------------


class Renewable(Anonymous):
    """A token that is valid after renewal."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    async def headers(self) -> dict[str, str]:
        return {"Authorization": self.tokens[0]}

    async def renew(self) -> bool:
        return len(self.tokens) > 1 and bool(self.tokens.pop(0))


@pytest.mark.parametrize("watch", [False, True], ids=["request", "watch"])
async def test_rejected_token_is_renewed_once(watch: bool, server: LittleServer) -> None:
    server.play(responses.answer(401, "Unauthorized"))
    server.play(responses.lines(OBJECT, b"\n") if watch else responses.body(OBJECT))
    async with Client(replace(server.connection, credentials=Renewable("old", "new"))) as client:
        if watch:
            async with client.stream("/api/v1/pods", {"watch": "true"}) as lines:
                assert [line async for line in lines] == [OBJECT]
        else:
            await client.get(PODS, "a")
    assert [request.headers["Authorization"] for request in server.requests] == ["old", "new"]


@pytest.mark.parametrize(
    ("tokens", "asked"), [(["old"], 1), (["old", "new", "newer"], 2)], ids=["no newer credentials", "also refused"]
)
async def test_token_rejected_twice_is_an_error(tokens: list[str], asked: int, server: LittleServer) -> None:
    server.play(responses.answer(401, "Unauthorized", "no"), times=None)
    async with Client(replace(server.connection, credentials=Renewable(*tokens))) as client:
        error = await failure(client.get(PODS, "a"))
    assert str(error) == "401 Unauthorized: no"
    assert len(server.requests) == asked


async def test_request_without_token_is_not_sent(server: LittleServer) -> None:
    async with Client(replace(server.connection, credentials=TokenFile("/nowhere/token"))) as client:
        error = await failure(client.get(PODS, "a"))
    assert isinstance(error, Unreachable)
    assert not error.sent
    assert isinstance(error.__cause__, CredentialsProblem)


# -- streams ----------------------------------------------------------------------------------------------------


async def read(client: Client, **options: Any) -> list[bytes]:
    async with client.stream("/api/v1/pods", {"watch": "true"}, **options) as lines:
        return [line async for line in lines]


async def test_watch_disables_compression(client: Client, server: LittleServer) -> None:
    server.play(responses.lines(b"one\ntw", b"o\n\nthree\n"))
    assert await read(client) == [b"one", b"two", b"three"]
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


async def test_lists_may_be_compressed(client: Client, server: LittleServer) -> None:
    await client.list(PODS)
    assert "gzip" in server.requests[0].headers["Accept-Encoding"]


async def test_every_member_of_compressed_watch_is_read(client: Client, server: LittleServer) -> None:
    """Servers compress flush by flush, even unrequested; every flush is a gzip member of its own."""
    events = [event("ADDED", pod(f"p{number}")) for number in range(300)]
    server.play(responses.gzip_members(*events))
    assert await read(client) == [line.rstrip() for line in events]


async def test_idle_watch_ends(client: Client, server: LittleServer) -> None:
    server.play(responses.lines(b"one\n", then_hang=True))
    error = await failure(read(client, idle_seconds=0.1))
    assert isinstance(error, Unreachable)


async def test_cancelled_watch_closes_connection(client: Client, server: LittleServer) -> None:
    server.play(responses.lines(b"one\n", then_hang=True))
    async with client.stream("/api/v1/pods", {"watch": "true"}) as lines:
        async for _ in lines:
            break
    assert await client.list(PODS)


async def test_exception_of_reader_is_propagated(client: Client, server: LittleServer) -> None:
    server.play(responses.lines(b"one\n"))

    async def read_badly() -> None:
        async with client.stream("/api/v1/pods", {"watch": "true"}) as lines:
            async for _ in lines:
                raise TimeoutError("the reader's own")

    with pytest.raises(TimeoutError, match="the reader's own"):
        await read_badly()


# -- pace -------------------------------------------------------------------------------------------------------


async def test_requests_are_rate_limited(server: LittleServer) -> None:
    server.play(responses.body(OBJECT), times=None)
    async with Client(server.connection, qps=100, burst=5) as client:
        began = time.monotonic()
        await asyncio.gather(*(client.get(PODS, "a") for _ in range(15)))
    assert time.monotonic() - began >= 0.1


# -- who may write ----------------------------------------------------------------------------------------------


async def test_write_after_lost_leadership_is_not_sent(server: LittleServer) -> None:
    """The write was allowed when requested; opening the connection took time."""
    allowed = True

    def forbid() -> None:
        nonlocal allowed
        allowed = False

    async with Client(server.connection, timeout=5, may_write=lambda: allowed) as client:
        asyncio.get_running_loop().call_soon(forbid)
        error = await failure(client.create(PODS, {"metadata": {"name": "a", "namespace": "d"}}))
        assert "not the leader any more" in str(error)
        assert (error.outcome_unknown, server.requests) == (False, [])
        await client.list(PODS)
        allowed = True
        await client.create(PODS, {"metadata": {"name": "a", "namespace": "d"}})
    assert [request.method for request in server.requests] == ["GET", "POST"]
