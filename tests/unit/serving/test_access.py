"""Metrics and configuration at an address that other machines reach need a token that the API server accepts."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from typing import Any

import msgspec
import pytest

from stromboli.kube.client.api_errors import Unreachable
from stromboli.kube.client.config.connection import Connection
from stromboli.observability.endpoints import Endpoints
from stromboli.observability.health import Health
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.serving import access
from stromboli.serving.access import Access, AccessReviews, AccessUnavailable
from stromboli.serving.address import Address
from stromboli.serving.guard import AccessControl

PROMETHEUS = {"username": "prometheus", "uid": "7", "groups": ["monitoring"], "extra": {"pod": ["p-0"]}}
#: The certificate is made in memory.
UNVERIFIED = ssl._create_unverified_context()  # noqa: S323
EVERYWHERE = "0.0.0.0:0"
USERS = {"good": PROMETHEUS, "other": {"username": "bob"}}


@dataclass
class FakeApi:
    """An API server with two tokens; only Prometheus may read metrics."""

    fails: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)

    async def request(self, method: str, path: str, *, body: bytes, timeout: float) -> bytes:
        if self.fails:
            raise Unreachable("the server does not answer", sent=True)
        question = msgspec.json.decode(body)
        self.requests.append(question)
        if path.endswith("/tokenreviews"):
            user = USERS.get(question["spec"]["token"])
            status: dict[str, Any] = {"authenticated": True, "user": user} if user else {"error": "invalid token"}
        else:
            attributes = question["spec"]["nonResourceAttributes"]
            status = {"allowed": (question["spec"]["user"], attributes["path"]) == ("prometheus", "/metrics")}
        return msgspec.json.encode({**question, "status": status})


class FakeControl(AccessControl):
    """The control, with a fake API server."""

    api: FakeApi

    @contextlib.asynccontextmanager
    async def reviews(self) -> AsyncIterator[AccessReviews]:
        yield AccessReviews(self.api)


def control(api: FakeApi, *always_allowed: str) -> AccessControl:
    made = FakeControl(_no_connection, always_allowed)
    object.__setattr__(made, "api", api)
    return made


def _no_connection() -> Connection:
    raise AssertionError("nothing connects in this test")


@contextlib.contextmanager
def served(chosen: AccessControl, address: str = EVERYWHERE) -> Iterator[Callable[..., int]]:
    """Start the endpoints; returns a function that requests a path, with a header."""

    def ask(path: str, authorization: str = "", name: str = "metrics", method: str = "GET") -> int:
        port, is_https = endpoints.addresses[name].port, endpoints.url(name).startswith("https:")
        connection = (
            HTTPSConnection("127.0.0.1", port, timeout=30, context=UNVERIFIED)
            if is_https
            else HTTPConnection("127.0.0.1", port, timeout=30)
        )
        with contextlib.closing(connection):
            connection.request(method, path, headers={"Authorization": authorization} if authorization else {})
            return connection.getresponse().status

    with Endpoints(
        SchedulerMetrics(), Health(), metrics_address=address, health_address=address, access=chosen
    ) as endpoints:
        yield ask


ANSWERS: list[tuple[str, str, str, int]] = [
    ("no token", "/metrics", "", 401),
    ("another scheme", "/metrics", "Basic good", 401),
    ("an empty token", "/metrics", "Bearer  ", 401),
    ("an invalid token", "/metrics", "Bearer bad", 401),
    ("a user without the right", "/metrics", "Bearer other", 403),
    ("a user with the right", "/metrics", "Bearer good", 200),
    ("the scheme in lower case", "/metrics", "bearer good", 200),
    ("a right to another path", "/configz", "Bearer good", 403),
    ("a configuration without token", "/configz", "", 401),
    ("a path that does not exist", "/nowhere", "", 404),
    ("health", "/healthz", "", 200),
    ("liveness", "/livez", "", 200),
    ("readiness", "/readyz", "", 200),
]


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., int]]:
    with served(control(FakeApi(), "/healthz", "/livez", "/readyz")) as asking:
        yield asking


@pytest.mark.parametrize(("path", "header", "status"), [case[1:] for case in ANSWERS], ids=[c[0] for c in ANSWERS])
def test_paths_need_an_accepted_token(ask: Callable[..., int], path: str, header: str, status: int) -> None:
    assert ask(path, header) == status


def test_failed_review_denies_access() -> None:
    api = FakeApi(fails=True)
    with served(control(api)) as ask:
        assert ask("/metrics", "Bearer good") == 503
        api.fails = False
        assert ask("/metrics", "Bearer good") == 200, "failures are not cached"


def test_probes_need_no_token_whatever_is_open() -> None:
    with served(control(FakeApi(), "/metrics")) as ask:
        assert ask("/metrics") == 200
        assert ask("/livez") == 401
        assert ask("/livez", name="health") == 200


def test_all_paths_can_be_opened() -> None:
    with served(control(FakeApi(), "/*")) as ask:
        assert [ask(path) for path in ("/metrics", "/configz", "/livez")] == [200, 200, 200]


def test_loopback_address_needs_no_token() -> None:
    with served(control(FakeApi(fails=True)), "127.0.0.1:0") as ask:
        assert [ask(path) for path in ("/metrics", "/configz", "/livez")] == [200, 200, 200]


def test_exposed_metrics_without_control_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing controls the access to it"):
        Endpoints(SchedulerMetrics(), Health(), metrics_address=":0", health_address="")


LOOPBACK = {"127.0.0.1": True, "127.8.0.1": True, "::1": True, "localhost": True, None: False, "::": False,
            "0.0.0.0": False, "10.0.0.1": False, "example.com": False}  # fmt: skip  # noqa: S104


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_addresses_are_recognised(host: str | None) -> None:
    assert Address(host, 80).is_loopback is LOOPBACK[host]


# -- the reviews ------------------------------------------------------------------------------------------------------


async def test_user_of_the_token_is_reviewed_completely() -> None:
    api = FakeApi()
    await AccessReviews(api).review("good", "/metrics")
    tokens, accesses = api.requests
    assert tokens == {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "good"}}
    assert accesses["spec"] == {
        "user": "prometheus", "uid": "7", "groups": ["monitoring"], "extra": {"pod": ["p-0"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }  # fmt: skip


@pytest.mark.parametrize(("token", "result", "requests"), [
    ("good", Access.ALLOWED, 2), ("other", Access.FORBIDDEN, 2), ("bad", Access.NOT_AUTHENTICATED, 1)
])  # fmt: skip
async def test_results_are_cached_for_ten_seconds(token: str, result: Access, requests: int) -> None:
    api, now = FakeApi(), 100.0
    reviews = AccessReviews(api, lambda: now)
    for moment, total in ((100.0, requests), (109.9, requests), (110.0, 2 * requests)):
        now = moment
        assert await reviews.review(token, "/metrics") is result
        assert len(api.requests) == total


async def test_number_of_cached_results_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_MAX_CACHED", 2)
    api = FakeApi()
    reviews = AccessReviews(api)
    for token in ("bad-1", "bad-2", "bad-3", "bad-1"):
        await reviews.review(token, "/metrics")
    assert len(api.requests) == 4, "the first was forgotten"


async def test_reviews_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of tokens does not become a flood of requests."""
    monkeypatch.setattr(access, "_MAX_CONCURRENT", 0)
    api = FakeApi()
    with pytest.raises(AccessUnavailable, match="too many reviews"):
        await AccessReviews(api).review("good", "/metrics")
    assert api.requests == []
