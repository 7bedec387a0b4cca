"""Requests that must get nothing: without login, from other sites, by other names, too large, too slow, too many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from stromboli.console.access.callers import CSRF_HEADER
from stromboli.console.routes import ROUTES
from stromboli.console.server.calls import MAX_BODY
from stromboli.console.server.server import ConsoleServer
from stromboli.local.api_server.server import ApiServer
from tests.integration.console.conftest import ANA, CODE, EVE, ROOT, SECRETS, ConsoleClient, running_console

pytestmark = pytest.mark.only("embedded", because="roles of further users are those of the local server")

_PARTS = {"namespace": "team-a", "podGroup": "big", "node": "a", "number": "1"}
_CLOSED = [route for route in ROUTES if not route.is_open]


@pytest.mark.parametrize("route", _CLOSED, ids=lambda route: route.name)
async def test_nothing_is_read_without_login(console: ConsoleServer, route: Any) -> None:
    for token in ("", "wrong"):
        client = ConsoleClient(console, token)
        status, body, _ = await client.send(route.method, route.path.format(**_PARTS), {} if route.body else None)
        assert status == 401
        assert set(msgspec.json.decode(body)) == {"code", "reason", "message", "retryAfter"}


async def test_cookie_is_of_this_site_only_and_unreadable(console: ConsoleServer, behind_proxy: ConsoleServer) -> None:
    for server, wanted in ((console, {"HttpOnly", "SameSite=Strict"}), (behind_proxy, {"HttpOnly", "Secure"})):
        status, body, headers = await ConsoleClient(server).send("POST", "/api/session", {"token": ROOT})
        assert status == 200
        cookie = headers["Set-Cookie"]
        assert wanted <= set(cookie.split("; "))
        assert ROOT not in body.decode() + str(headers)
    assert cookie.startswith("__Host-")


async def test_session_ends_with_logout(logged_in: ConsoleClient) -> None:
    session = await logged_in.get("/api/session")
    assert session["user"] == "stromboli:admin"
    status, _, _ = await logged_in.send("DELETE", "/api/session", headers={CSRF_HEADER: session["csrf"]})
    assert status == 204
    await logged_in.get("/api/session", 401)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({CSRF_HEADER: "wrong"}, 403),
        ({CSRF_HEADER: "right", "Origin": "https://evil.example"}, 403),
        ({CSRF_HEADER: "right", "Origin": "null"}, 403),
        ({CSRF_HEADER: "right", "Sec-Fetch-Site": "cross-site"}, 403),
        ({CSRF_HEADER: "right", "Content-Type": "text/plain"}, 400),
        ({CSRF_HEADER: "right", "cycles": "0"}, 400),
    ],
)
async def test_request_of_another_site_is_rejected(
    logged_in: ConsoleClient, headers: dict[str, str], status: int
) -> None:
    """The last case passes the checks of the origin: its body is invalid."""
    csrf = (await logged_in.get("/api/session"))["csrf"]
    sent = {name: csrf if value == "right" else value for name, value in headers.items()}
    found, body, _ = await logged_in.send("POST", "/api/policy-diffs", {"cycles": 0}, headers=sent)
    assert found == status, body


async def test_login_of_another_site_is_rejected(console: ConsoleServer) -> None:
    client = ConsoleClient(console)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        status, body, answered = await client.send("POST", "/api/session", {"code": CODE}, headers=headers)
        assert (status, "Set-Cookie" in answered) == (403, False)
        assert (b"a proxy must pass on Host" in body) is ("Origin" in headers)
    for login in ({"code": "wrong"}, {"token": "wrong"}, {}, {"code": ""}):
        assert (await client.send("POST", "/api/session", login))[0] == 401, login


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("localhost:1", True), ("127.0.0.1", True), ("[::1]:80", True), ("10.1.2.3", True), ("evil.example", False),
        ("127.0.0.1.evil.example", False), ("localhost.evil.example:80", False), ("", False), ("[", False),
    ],
)  # fmt: skip
async def test_names_that_were_not_allowed_are_rejected(root: ConsoleClient, host: str, is_allowed: bool) -> None:
    status, body, _ = await root.send("GET", "/api/overview", headers={"Host": host})
    assert (status == 200) is is_allowed, body
    assert is_allowed or b"resources" not in body


async def test_header_of_a_proxy_counts_only_from_a_trusted_one(
    console: ConsoleServer, behind_proxy: ConsoleServer
) -> None:
    spoofed = {"X-Forwarded-User": "ana", "X-Forwarded-Groups": "system:masters"}
    await ConsoleClient(console, headers=spoofed).get("/api/session", 401)
    trusted = ConsoleClient(behind_proxy, headers=spoofed)
    session = await trusted.get("/api/session")
    assert (session["user"], session["groups"], session["namespaces"]) == ("ana", ["system:authenticated"], ["team-a"])
    for path in ("/api/job-table", "/api/queues", "/api/history"):
        _, body, _ = await trusted.send("GET", path)
        assert not [name for name in SECRETS if name.encode() in body], path
    plan = {"namespace": "team-b"}
    assert (await trusted.send("POST", "/api/plans", plan))[0] == 403
    csrf = {CSRF_HEADER: session["csrf"]}
    status, body, _ = await trusted.send("POST", "/api/plans", plan, headers=csrf)
    assert (status, b"PodGroups in namespace team-b" in body) == (403, True)
    for name in ("system:admin", "", " "):
        await ConsoleClient(behind_proxy, headers={"X-Forwarded-User": name}).get("/api/session", 401)


async def test_stranger_with_a_valid_token_sees_numbers(console: ConsoleServer) -> None:
    eve = ConsoleClient(console, EVE)
    assert (await eve.get("/api/jobs"))["total"] == 0
    assert (await eve.get("/api/overview"))["waiting"] == 2
    for path in ("/api/policy", "/api/topology", "/api/nodes/a"):
        await eve.get(path, 403)


async def test_body_beyond_the_limit_is_rejected(ana: ConsoleClient, console: ConsoleServer) -> None:
    await ana.post("/api/plans", b'"' + b"x" * MAX_BODY + b'"', 413)
    await ana.post("/api/plans", b"[" * 100_000, 400)
    await ConsoleClient(console).post("/api/session", b"x" * (MAX_BODY + 1), 413)


async def test_every_response_has_the_headers(root: ConsoleClient) -> None:
    for path in ("/", "/api/overview", "/api/unknown", "/api/jobs?limit=x", "/healthz"):
        _, _, headers = await root.send("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"]) == ("nosniff", "DENY")
        assert not {"Server", "Access-Control-Allow-Origin"} & headers.keys()
        assert path == "/" or headers["Cache-Control"] == "no-store"


@pytest.fixture(scope="module")
def attacked(cluster: ApiServer) -> Iterator[ConsoleServer]:
    with running_console(cluster) as server:
        yield server


async def test_many_wrong_tokens_of_an_address_are_not_reviewed(attacked: ConsoleServer) -> None:
    """A token that was accepted before, and sessions, are no attempts."""
    root = ConsoleClient(attacked, ROOT)
    await root.get("/api/session")
    _, _, headers = await ConsoleClient(attacked).send("POST", "/api/session", {"code": CODE})
    session = ConsoleClient(attacked, headers={"Cookie": headers["Set-Cookie"].partition(";")[0]})
    tokens = [f"wrong-{number}" for number in range(100)]
    statuses = [(await ConsoleClient(attacked, token).send("GET", "/api/overview"))[0] for token in tokens]
    assert set(statuses[:60]) == {401}
    assert 429 in statuses
    await root.get("/api/overview")
    await session.get("/api/overview")


async def _raw(console: ConsoleServer, text: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert console.address is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", console.address.port)
    writer.write(text.encode())
    await writer.drain()
    return reader, writer


async def _abort(writers: list[asyncio.StreamWriter]) -> None:
    for writer in writers:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_clients_that_never_finish_delay_no_other(console: ConsoleServer, root: ConsoleClient) -> None:
    """More connections without headers than may be open, and requests whose body never arrives."""
    writers = [(await _raw(console, "GET / HTTP/1.1\r\nHost: localhost\r\n"))[1] for _ in range(80)]
    body = (
        "POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    )
    writers += [(await _raw(console, body))[1] for _ in range(20)]
    try:
        async with asyncio.timeout(30):
            assert (await root.get("/api/overview"))["waiting"] == 2
    finally:
        await _abort(writers)


async def test_streams_that_are_never_read_delay_no_other(console: ConsoleServer, root: ConsoleClient) -> None:
    head = f"GET /api/events?jobs=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ANA}\r\n\r\n"
    connections = [await _raw(console, head) for _ in range(20)]
    try:
        answers = [(await reader.readline()).split()[1] for reader, _ in connections]
        assert (answers.count(b"200"), answers.count(b"429")) == (16, 4)
        assert (await root.get("/api/overview"))["waiting"] == 2
    finally:
        await _abort([writer for _, writer in connections])


async def test_stream_begins_with_hello_and_the_table_that_differs(console: ConsoleServer) -> None:
    head = f"GET /api/events?jobs=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ANA}\r\n\r\n"
    reader, writer = await _raw(console, head)
    received = b""
    with contextlib.suppress(asyncio.IncompleteReadError):
        async with asyncio.timeout(30):
            while b"event: jobs" not in received and b"event: resync" not in received:
                received += await reader.readuntil(b"\n\n")
    await _abort([writer])
    assert b"event: hello" in received
    assert not [name for name in SECRETS if name.encode() in received]
