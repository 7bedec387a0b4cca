"""Jobs that took too much time: set aside with growing pauses, tried alone, known to the next leader."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import cast

import pytest

from stromboli.cluster.dump.contents import cluster_with, contents_of
from stromboli.core.config.plugin import Plugin
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.session import Session
from stromboli.kube.client.client import Client
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.set_aside import BIND_WAIT, MAX_PAUSE, SetAsideJobs
from stromboli.scheduler.watchdog import Progress, Watchdog
from tests.testing.cases.case import configuration, flattened, objects
from tests.testing.manifests.builders import gang, node, queue
from tests.testing.world import policy_of

POLICY = configuration("gang", "predicates", "dawdling", actions="enqueue, allocate")


class Dawdling(Plugin):
    """The job `slow` takes so many seconds by the patched stopwatch."""

    name = "dawdling"
    now = 0.0
    seconds = 0.0

    def open(self, session: Session) -> None:
        self._session = session

    def pre_predicate(self, task_class: TaskClass) -> None:
        job = self._session.time_budget.current
        if job is not None and job.key == "default/slow":
            Dawdling.now += Dawdling.seconds


class Wall:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    monkeypatch.setattr("stromboli.scheduler.set_aside.time.perf_counter", lambda: Dawdling.now)
    Dawdling.now, Dawdling.seconds = 0.0, 8.0
    return Wall()


def scheduler_of(wall: Wall, saved: str = "") -> Scheduler:
    """A scheduler that does not run."""
    options = SchedulerOptions(job_budget=5.0, cycle_budget=40.0)
    scheduler = Scheduler(cast(Client, None), policy_of(POLICY, Dawdling), options)
    scheduler.set_aside = SetAsideJobs(
        scheduler.cluster, scheduler.metrics, scheduler.announcer, options, wall_clock=wall
    )
    scheduler.set_aside.saved = lambda: saved
    manifests = [queue("default"), node("a", 8), gang(2, name="slow"), gang(2, name="zippy")]
    for entry in objects(flattened(manifests)):
        scheduler.ingest.apply(entry)
    return scheduler


def attempt(scheduler: Scheduler) -> int:
    """Run an ordinary cycle, and the attempt that is due; return the binds of the latter."""
    binds: list[int] = []
    scheduler.observers = [lambda result: binds.append(result.binds)]
    scheduler.run_cycle()
    scheduler._try_alone()
    return binds[1] if len(binds) > 1 else -1


async def test_expensive_job_is_set_aside_and_the_other_starts(wall: Wall) -> None:
    scheduler = scheduler_of(wall)
    result = scheduler.run_cycle()

    assert result is not None
    assert result.binds == 2
    entry = scheduler.set_aside.jobs["default/slow"]
    assert (entry.cause, entry.failures) == ("job", 1)
    assert "8.00 s, its budget is 5 s" in scheduler.cluster.assumptions.set_aside["default/slow"]


async def test_pauses_and_budgets_grow_until_the_job_is_placed(wall: Wall) -> None:
    scheduler = scheduler_of(wall)
    scheduler.run_cycle()
    assert attempt(scheduler) == -1, "the pause is not over"
    pauses = [scheduler.set_aside.jobs["default/slow"].until - wall.now]
    for seconds in (12.0, 22.0):
        wall.now, Dawdling.seconds = scheduler.set_aside.jobs["default/slow"].until + BIND_WAIT, seconds
        assert attempt(scheduler) == 0
        pauses.append(scheduler.set_aside.jobs["default/slow"].until - wall.now)
    assert pauses == [80.0, 240.0, 880.0]
    wall.now += 880.0 + BIND_WAIT
    assert attempt(scheduler) == 2, "its budget is 40 s now"
    assert scheduler.set_aside.jobs == {}
    assert scheduler.cluster.assumptions.set_aside == {}


async def test_next_leader_knows_the_job_that_stopped_the_loop(wall: Wall) -> None:
    first, written = scheduler_of(wall), list[str]()
    first.set_aside.save = written.append
    first.set_aside.blame("default/slow", 60.0)
    wall.now += 10.0
    second = scheduler_of(wall, saved=written[-1])
    second.set_aside.load()

    result = second.run_cycle()
    assert result is not None
    assert result.binds == 2
    status = result.session.statuses["default/slow"].conditions[0]
    assert (status.reason, "60 s" in status.message) == ("SchedulingTooExpensive", True)
    second.set_aside.blame("default/slow", 60.0)
    assert second.set_aside.jobs["default/slow"].until == wall.now + 1200.0


@pytest.mark.parametrize("text", ["", "{", '{"default/slow": 7}', '{"default/gone": {}}'])
async def test_unreadable_list_is_ignored(wall: Wall, text: str) -> None:
    scheduler = scheduler_of(wall, saved=text)
    scheduler.set_aside.load()
    assert scheduler.set_aside.jobs == {}


async def test_job_that_was_created_again_is_not_set_aside(wall: Wall) -> None:
    scheduler = scheduler_of(wall)
    entry = {"uid": "another", "cause": "stuck", "detail": "", "failures": 9, "until": wall.now + 10 * MAX_PAUSE}
    scheduler.set_aside.saved = lambda: json.dumps({"default/slow": entry})
    scheduler.set_aside.load()
    assert scheduler.set_aside.jobs == {}


async def test_dump_contains_what_is_set_aside(wall: Wall) -> None:
    scheduler = scheduler_of(wall)
    scheduler.run_cycle()
    contents = contents_of(scheduler.cluster)

    assert cluster_with(contents).snapshot().set_aside == scheduler.cluster.assumptions.set_aside != {}
    assert cluster_with(replace(contents, set_aside={})).snapshot().set_aside == {}


# -- the watchdog -----------------------------------------------------------------------------------------------------

AT_WORK = Progress(1, "default/slow", 0.5)
TICKS = [
    ("no cycle runs", [None] * 9, False),
    ("the same turn for too long", [AT_WORK] * 7, True),
    ("other turns of the job", [Progress(1, "default/slow", float(tick)) for tick in range(9)], False),
    ("another cycle at the same job", [Progress(tick, "default/slow", 0.5) for tick in range(9)], False),
    ("idle in between", [AT_WORK, AT_WORK, AT_WORK, None] * 3, False),
    ("not at a job", [Progress(1, "", 0.0)] * 7, True),
]


@pytest.mark.parametrize(("seen", "expected"), [case[1:] for case in TICKS], ids=[case[0] for case in TICKS])
def test_watchdog_reports_a_cycle_that_does_not_advance(seen: list[Progress | None], expected: bool) -> None:
    progress, blamed = iter(seen), list[tuple[str, float]]()
    watchdog = Watchdog(lambda: next(progress), 5.0, lambda job, seconds: blamed.append((job, seconds)))

    assert any(watchdog.tick(1.0) for _ in seen[:7]) == expected
    assert bool(blamed) == expected
    assert (watchdog.problem() is not None) == expected


def test_watchdog_counts_little_of_a_suspension() -> None:
    watchdog = Watchdog(lambda: AT_WORK, 5.0, lambda job, seconds: None)
    assert not any([watchdog.tick(1.0), watchdog.tick(3600.0)])
