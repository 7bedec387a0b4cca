"""A scheduler is killed between two writes of a commit of 200 pods, and a successor recovers.

No pod is bound twice, no node is over-committed, and no gang stays below its minimum. On a real server there are 50
crashes, spread over all writes of a commit: bindings, statuses and events. `CRASH_RUNS` sets another number.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.plane import ControlPlane
from tests.e2e.environment.processes import Ground, ground

SIZE = 200
#: A commit binds every pod and records an event for it; the statuses of the group and of its queue come on top.
WRITES_OF_A_COMMIT = 2 * SIZE
RUNS = int(os.environ.get("CRASH_RUNS") or (50 if os.environ.get("STROMBOLI_API_SERVER") == "real" else 5))


@dataclass(frozen=True, slots=True)
class Death:
    """Which scenario, and before which write. Positions of all runs together cover the whole commit."""

    seed: int

    @property
    def scenario(self) -> str:
        return list(SCENARIOS)[self.seed % len(SCENARIOS)]

    @property
    def position(self) -> int:
        """A position in this run's part of the commit. Runs of one kind are spread over all of it."""
        share = WRITES_OF_A_COMMIT / RUNS
        part = self.seed * _STRIDE % RUNS
        return 1 + int((part + random.Random(self.seed).random()) * share)  # noqa: S311

    def __str__(self) -> str:
        return f"{self.scenario}-seed-{self.seed}-before-write-{self.position}"


#: Neighbouring seeds crash at distant positions; no number of runs in use is a multiple of it.
_STRIDE = 39


async def killed(ground: Ground, death: Death, *, elects: bool = False, waiting: Sequence[str] = ()) -> None:
    """Start a scheduler and kill it before its next write; gangs of 30 are created meanwhile."""
    gate, _ = ground.stop_before_write(death.position)
    leader = ground.start(elects=elects)
    if elects:
        await ground.until(lambda: "leadership acquired" in leader.output, "the first one leads")
        ground.start(elects=True)
    await ground.create_gang("gang", SIZE, minimum=MINIMUM.get(death.scenario))
    await ground.until_between_writes(gate)
    if waiting:
        await next_second()  # creation timestamps have a resolution of one second
        await asyncio.gather(*(ground.create_gang(name, 30) for name in waiting))
    leader.signal(signal.SIGKILL)
    leader.ends()
    gate.refuse()
    ground.proxy.faults.clear()


async def next_second() -> None:
    await asyncio.sleep(1.0 - time.time() % 1.0)


MINIMUM = {"elastic": 120}


async def restarted(ground: Ground, death: Death) -> None:
    """The successor starts after the crash, and all pods fit."""
    await ground.create_nodes(20, 10)
    await killed(ground, death)
    ground.start()
    await ground.until_bound("gang", SIZE)


async def taken_over(ground: Ground, death: Death) -> None:
    """The successor runs already, and waits for the lease."""
    await ground.create_nodes(20, 10)
    await killed(ground, death, elects=True)
    await ground.until_bound("gang", SIZE)


async def elastic(ground: Ground, death: Death) -> None:
    """The minimum and some more pods fit, but not all."""
    await ground.create_nodes(16, 10)
    await killed(ground, death)
    ground.start()
    await ground.until_bound("gang", 160)


async def others_wait(ground: Ground, death: Death) -> None:
    """Three more gangs are pending; one of them fits beside the first."""
    await ground.create_nodes(23, 10)
    await killed(ground, death, waiting=("one", "two", "three"))
    ground.start()
    await ground.until_bound("gang", SIZE)
    await ground.until_bound("", SIZE + 30)


async def capacity_is_lost(ground: Ground, death: Death) -> None:
    """A foreign pod takes capacity of an unbound member: the bound members are evicted, unless all were bound."""
    await ground.create_nodes(20, 10)
    await killed(ground, death)
    free = next((node for node, cpus in (await ground.free()).items() if cpus), None)
    if free is not None:
        await ground.occupy({free: 1})
    ground.start()
    if free is not None:
        await ground.until_waiting("gang")
    await ground.until_bound("gang", 0 if free else SIZE)


SCENARIOS = {
    "restarted": restarted,
    "taken-over": taken_over,
    "elastic": elastic,
    "others-wait": others_wait,
    "capacity-is-lost": capacity_is_lost,
}


@pytest.mark.parametrize("death", [Death(seed) for seed in range(RUNS)], ids=str)
async def test_a_scheduler_dies_between_two_writes(death: Death, plane: ControlPlane, tmp_path: Path) -> None:
    async with ground(plane, tmp_path) as place:
        await SCENARIOS[death.scenario](place, death)
        assert await place.faults() == [], f"{death}\n{place.logs}"
