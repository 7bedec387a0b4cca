"""An election ends in one of two ways: the lease is given back, or `lost` is called."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stromboli.kube.election.elector import LeaderElector
from stromboli.kube.election.leadership import Election, Leadership
from stromboli.local.api_server.server import ApiServer
from tests.testing.kube.waiting import until

ELECTION = Election("lease", "default", "me", lease_duration=1.5, renew_deadline=1.0, retry_period=0.1)


async def broken(elector: LeaderElector) -> None:
    raise KeyError("unexpected")


#: Which part of an election fails, and the callbacks.
FAILURES = {"acquire": ["lost"], "keep": ["won", "lost"]}


@pytest.mark.parametrize(("part", "expected"), FAILURES.items(), ids=FAILURES)
async def test_an_election_that_fails_is_lost(part: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaderElector, part, broken)
    calls: list[str] = []
    async with ApiServer() as server:
        leadership = Leadership(
            server.connection, ELECTION, won=lambda: calls.append("won"), lost=lambda: calls.append("lost")
        )
        leadership.start()
        await until(lambda: "lost" in calls)
        await asyncio.to_thread(leadership.stop)
    assert calls == expected
    assert leadership.problem == "KeyError: 'unexpected'"


async def test_a_stop_is_no_loss() -> None:
    calls: list[str] = []
    async with ApiServer() as server:
        leadership: Any = Leadership(
            server.connection, ELECTION, won=lambda: calls.append("won"), lost=lambda: calls.append("lost")
        )
        leadership.start()
        await until(lambda: calls)
        assert leadership.is_leading
        await asyncio.to_thread(leadership.stop)
        assert not leadership.is_leading
    assert (calls, leadership.problem) == (["won"], "")
