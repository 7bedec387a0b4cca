"""A living cluster is recorded cycle by cycle, and every decision is taken again from the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stromboli.cluster.dump.contents import Contents, contents_of
from stromboli.cluster.dump.dump import Dump, read_dump, write_dump
from stromboli.core.model.snapshot import Snapshot
from stromboli.core.session.program import Program
from stromboli.planner.replay import changed_decisions, recorded_decisions, replay
from stromboli.scheduler.cycle import CycleResult
from tests.testing.cases.case import configuration, plugin
from tests.testing.manifests.builders import gang, priority_class
from tests.testing.world import World, cpus, policy_of, running_cluster

TAKEN_WHOLE = plugin("gang", enablePreemptable=False)
POLICY = configuration(
    "priority", TAKEN_WHOLE, "predicates", "nodeorder", actions="enqueue, allocate, preempt, backfill"
)


class Recorder:
    """Keeps the contents of the cache at each snapshot, and what the cycle decides from it."""

    def __init__(self, world: World) -> None:
        self.dumps: list[Dump] = []
        self._before: tuple[Contents, float] | None = None
        cluster = world.scheduler.cluster
        self._take: Callable[[float], Snapshot] = cluster.snapshot
        cluster.snapshot = self._snapshot  # type: ignore[method-assign]
        self._cluster = cluster
        world.scheduler.observers.append(self._observe)

    def _snapshot(self, now: float = 0.0) -> Snapshot:
        self._before = contents_of(self._cluster), now
        return self._take(now)

    def _observe(self, result: CycleResult) -> None:
        assert self._before is not None
        contents, now = self._before
        self.dumps.append(Dump(contents, now, POLICY, {}, recorded_decisions(result.session)))


async def test_replay_of_a_living_cluster_takes_every_decision_again(tmp_path: Path) -> None:
    async with running_cluster(cpus(3), policy=policy_of(POLICY)) as world:
        recorder = Recorder(world)
        await world.create(priority_class("high", 10))
        await world.create(gang(2, 4, name="pair"))
        await world.until_bound("pair", 2)
        await world.create(gang(1, 4, name="low"), gang(3, 2, name="waits"))
        await world.until_bound("low", 1)
        await world.create(gang(1, 3, name="urgent", priority="high"), gang(2, 4, name="later"))
        await world.until_bound("urgent", 1)
        program = world.policy.program
    fresh = Program(program.configuration, world.policy.registry)
    decided = 0
    for number, dump in enumerate(recorder.dumps):
        write_dump(tmp_path / f"{number}", dump)
        again = read_dump(tmp_path / f"{number}")
        assert changed_decisions(again.decisions or {}, replay(again, fresh)) == []
        decided += len((dump.decisions or {})["binds"]) + len((dump.decisions or {})["evictions"])
    assert decided >= 5
