"""Two schedulers, one lease: whatever happens to the leader, the other continues its work."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stromboli.binding.recovery import term_of
from stromboli.kube.objects.catalogue import LEASES
from testbed.fault_proxy import BINDINGS
from testbed.plane import NAMESPACE, ControlPlane
from testbed.proxy_faults import Gate, Match
from tests.e2e.environment.processes import LEASE, Ground, ground
from tests.integration.processes.conftest import Command

SIZE = 100
#: The same test at several points in time, on the real server.
SEEDS = range(3 if os.environ.get("STROMBOLI_API_SERVER") == "real" else 1)
LEASE_READS = Match("GET", "/leases/")
#: Beyond the lease: a candidate retries every 0.2 s, and the machine may be busy.
MARGIN = 5.0
#: A process checks the clock of its lease and then writes to a socket. It may be frozen between the two steps.
PAST_THE_CHECK = 1


@pytest.fixture
async def place(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Ground]:
    async with ground(plane, tmp_path) as made:
        await made.create_nodes(10, 10)
        yield made


async def two_replicas(place: Ground) -> tuple[Command, Command]:
    """The first leads, the second has seen it."""
    first = place.start(elects=True)
    await place.until(lambda: "leadership acquired" in first.output, "the first replica leads")
    second = place.start(elects=True)
    asked = len(place.proxy.seen(LEASE_READS))
    await place.until(lambda: len(place.proxy.seen(LEASE_READS)) > asked, "the second replica has read the lease")
    return first, second


async def in_the_middle_of_a_commit(place: Ground, seed: int) -> Gate:
    """Some members of a gang are bound, the next bindings are in flight."""
    gate = Gate()
    place.proxy.faults.add(BINDINGS, gate, times=None, after=random.Random(seed).randrange(1, SIZE - 40))  # noqa: S311
    await place.create_gang("gang", SIZE)
    await place.until_between_writes(gate)
    place.proxy.faults.clear()
    return gate


async def until_leading(place: Ground, command: Command, since: float) -> None:
    await place.until(lambda: "leadership acquired" in command.output, "the other replica leads")
    waited = time.monotonic() - since
    assert waited < LEASE + MARGIN, f"it took {waited:.1f} s to take over a lease of {LEASE:g} s"


def adopts_before_it_decides(command: Command) -> bool:
    output = command.output
    adopted, decided = output.find("half-bound gang found"), output.find("cycle completed cycle=1 ")
    return -1 < adopted < decided


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_leader_is_killed_in_the_middle_of_a_commit(seed: int, place: Ground) -> None:
    first, second = await two_replicas(place)
    gate = await in_the_middle_of_a_commit(place, seed)
    died = time.monotonic()
    first.signal(signal.SIGKILL)
    gate.refuse()
    await until_leading(place, second, died)
    await place.until_bound("gang", SIZE)
    assert adopts_before_it_decides(second), second.output
    terms = {term_of(pod) for pod in await place.pods("gang")}
    assert terms >= {0, 1}, "every pod records the term in which it was bound"
    assert await place.faults() == [], place.logs


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_leader_is_frozen_in_the_middle_of_a_commit_and_wakes_up(seed: int, place: Ground) -> None:
    """Its requests arrive after the other replica has bound everything: no pod is bound twice."""
    first, second = await two_replicas(place)
    gate = await in_the_middle_of_a_commit(place, seed)
    froze = time.monotonic()
    first.signal(signal.SIGSTOP)
    await until_leading(place, second, froze)
    await place.until_bound("gang", SIZE)
    gate.open()
    await place.until(lambda: not place.proxy.sent(BINDINGS), "requests in flight are answered")
    sent = len(place.proxy.seen(BINDINGS))
    first.signal(signal.SIGCONT)
    assert first.ends() == 5
    assert "leadership lost" in first.output
    assert len(place.proxy.seen(BINDINGS)) <= sent + PAST_THE_CHECK, "requests were sent after it resumed"
    assert await place.faults() == [], place.logs


async def test_leader_that_resumes_alone_still_observes_the_expired_lease(place: Ground) -> None:
    """The lease has no other holder and half of the gang is pending, but its own clock shows that the lease expired."""
    first = place.start(elects=True)
    gate = await in_the_middle_of_a_commit(place, 1)
    first.signal(signal.SIGSTOP)
    gate.open()
    over = time.monotonic() + LEASE
    await place.until(lambda: time.monotonic() > over, "the lease has expired")
    await place.until(lambda: not place.proxy.sent(BINDINGS), "requests in flight are answered")
    sent = len(place.proxy.seen(BINDINGS))
    first.signal(signal.SIGCONT)
    assert first.ends() == 5
    assert len(place.proxy.seen(BINDINGS)) <= sent + PAST_THE_CHECK, "requests were sent after it resumed"
    second = place.start(elects=True)
    await place.until_bound("gang", SIZE)
    assert adopts_before_it_decides(second), second.output
    assert await place.faults() == [], place.logs


async def test_a_leader_that_is_asked_to_stop_finishes_the_gang_and_gives_the_lease_back(place: Ground) -> None:
    first, second = await two_replicas(place)
    gate = await in_the_middle_of_a_commit(place, 2)
    first.signal(signal.SIGTERM)
    gate.open()
    assert first.ends() == 0
    assert await place.bound("gang") == SIZE
    await until_leading(place, second, time.monotonic())
    lease = await place.client.get(LEASES, "stromboli", namespace=NAMESPACE)
    assert (lease.spec.lease_transitions or 0) >= 1
    assert await place.faults() == [], place.logs


@pytest.mark.only("real", because="it takes long, and the tests above cover all of it but the load")
async def test_leaders_are_replaced_while_gangs_arrive(place: Ground) -> None:
    """Three leaders in a row are killed at random times; every gang is complete in the end."""
    chance = random.Random(5)  # noqa: S311
    leader, standby = await two_replicas(place)
    for number in range(3):
        await place.create_gang(f"gang-{number}", 30)
        moment = time.monotonic() + chance.uniform(0.0, 0.2)
        await place.until(lambda at=moment: time.monotonic() > at, "a random time")  # type: ignore[misc]
        leader.signal(signal.SIGKILL)
        leader.ends()
        leader, standby = standby, place.start(elects=True)
        await place.until(lambda leader=leader: "leadership acquired" in leader.output, "the next replica leads")  # type: ignore[misc]
    await place.until_bound("gang", 90)
    lease = await place.client.get(LEASES, "stromboli", namespace=NAMESPACE)
    assert (lease.spec.lease_transitions or 0) >= 3
    assert await place.faults() == [], place.logs
