"""Wrong tokens of one address are limited; valid ones and those of other addresses are not."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from aiohttp import web

from stromboli.console.access import attempts
from stromboli.console.access.attempts import LoginAttempts, TokenRejected, TooManyAttempts, address_of
from stromboli.visibility.reviews import PersonReviews


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(attempts, "_BURST", 3)
    monkeypatch.setattr(attempts, "_MAX_ADDRESSES", 2)
    return Clock()


def _fail(log: LoginAttempts, address: str = "10.0.0.1") -> None:
    with pytest.raises(TokenRejected), log.attempt(address):
        raise TokenRejected


def test_wrong_tokens_are_limited_until_they_are_forgotten(clock: Clock) -> None:
    log = LoginAttempts(clock)
    for _ in range(3):
        _fail(log)
    with pytest.raises(TooManyAttempts), log.attempt("10.0.0.1"):
        pass
    _fail(log, "10.0.0.2")
    clock.now += 1.0
    _fail(log)
    with pytest.raises(TooManyAttempts), log.attempt("10.0.0.1"):
        pass


def test_valid_tokens_and_failed_reviews_do_not_count(clock: Clock) -> None:
    log = LoginAttempts(clock)
    for _ in range(10):
        with log.attempt("10.0.0.1"):
            pass
        with pytest.raises(OSError, match="down"), log.attempt("10.0.0.1"):
            raise OSError("down")
    _fail(log)


def test_attempts_in_progress_count(clock: Clock) -> None:
    log = LoginAttempts(clock)
    with log.attempt("a"), log.attempt("a"), log.attempt("a"), pytest.raises(TooManyAttempts), log.attempt("a"):
        pass


def test_a_limited_number_of_addresses_is_remembered(clock: Clock) -> None:
    log = LoginAttempts(clock)
    for number in range(50):
        _fail(log, f"10.0.0.{number}")
    assert len(log._counts) == 2


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        (("10.1.2.3", 80), "10.1.2.3"),
        (("2001:db8::1:2:3:4", 80, 0, 0), "2001:db8::/64"),
        (("::ffff:10.1.2.3", 80, 0, 0), "10.1.2.3"),
        (("fe80::1%eth0", 80, 0, 2), "fe80::/64"),
        (None, ""),
    ],
)
def test_address_of_a_client(peer: Any, address: str) -> None:
    transport = SimpleNamespace(get_extra_info=lambda name: peer)
    assert address_of(cast(web.BaseRequest, SimpleNamespace(transport=transport))) == address


class HeldUnknown:
    """An API server that accepts one token, and keeps reviews of all others waiting."""

    def __init__(self) -> None:
        self.reviewed: list[str] = []

    async def request(self, method: str, path: str, *, body: bytes, timeout: float) -> bytes:
        token = msgspec.json.decode(body)["spec"]["token"]
        self.reviewed.append(token)
        if token != "good":  # noqa: S105
            await asyncio.Event().wait()
        return msgspec.json.encode({"status": {"authenticated": True, "user": {"username": "ana"}}})


async def test_unknown_tokens_do_not_take_the_turns_of_accepted_ones() -> None:
    clock, server = Clock(), HeldUnknown()
    reviews = PersonReviews(server, clock)
    assert await reviews.person("good") is not None
    flood = [asyncio.create_task(reviews.person(f"wrong-{number}")) for number in range(16)]
    while len(server.reviewed) < 17:
        await asyncio.sleep(0)
    clock.now += 60
    person = await reviews.person("good")
    assert person is not None
    assert (person.name, server.reviewed.count("good")) == ("ana", 2)
    assert not reviews.has_accepted("wrong-1")
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
