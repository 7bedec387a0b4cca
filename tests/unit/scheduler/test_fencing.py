"""A mark of a later term on a pod makes a leader ask whether it still leads, before it writes anything else."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest

from stromboli.kube.client.client import Client
from stromboli.kube.election.leadership import Election, Leadership
from stromboli.kube.objects.catalogue import LEASES
from stromboli.local.api_server.server import ApiServer
from stromboli.scheduler.process import FencingCheck
from tests.testing.kube.waiting import until

#: Renewed so rarely that no renewal comes by itself.
ELECTION = Election("lease", "default", "me", lease_duration=600.0, renew_deadline=500.0, retry_period=400.0)


class Reign:
    def __init__(self, server: ApiServer) -> None:
        self.calls: list[str] = []
        self.client = Client(server.connection)
        self.leadership = Leadership(
            server.connection, ELECTION, won=lambda: self.calls.append("won"), lost=lambda: self.calls.append("lost")
        )
        self.succession = FencingCheck(self.leadership, time.monotonic)

    async def usurp(self) -> None:
        """Take the lease while the process still counts as its holder."""
        spec = {"holderIdentity": "another", "leaseTransitions": 7}
        await self.client.patch(LEASES, "lease", {"spec": spec})

    @contextlib.asynccontextmanager
    async def lasting(self) -> AsyncIterator[None]:
        self.leadership.start()
        try:
            async with self.client:
                await until(self.succession.is_leader)
                yield
        finally:
            await asyncio.to_thread(self.leadership.stop)


@pytest.fixture
async def reign() -> AsyncIterator[Reign]:
    async with ApiServer() as server:
        reign = Reign(server)
        async with reign.lasting():
            yield reign


@pytest.mark.parametrize("term", [0, 7])
async def test_leader_with_a_confirmed_lease_continues(reign: Reign, term: int) -> None:
    before = reign.leadership.renewed_at
    reign.succession.observe(term)
    assert reign.succession.is_leader() == (term == 0), "only a later term is worth a question"
    await until(reign.succession.is_leader)
    assert (reign.leadership.renewed_at > before) == (term == 7)
    reign.succession.observe(term)
    assert reign.succession.is_leader(), "the same mark is asked about once"


async def test_leader_with_a_successor_writes_nothing(reign: Reign) -> None:
    await reign.usurp()
    assert reign.succession.is_leader(), "the loss was not observed yet"
    reign.succession.observe(7)
    assert not reign.succession.is_leader()
    await until(lambda: reign.calls == ["won", "lost"])
    assert not reign.succession.is_leader()


async def test_marks_from_before_our_time_are_no_successors() -> None:
    """The lease was deleted: terms are counted from the beginning again."""
    async with ApiServer() as server:
        reign = Reign(server)
        reign.succession.observe(8)
        async with reign.lasting():
            reign.succession.observe(8)
            assert reign.succession.is_leader()
