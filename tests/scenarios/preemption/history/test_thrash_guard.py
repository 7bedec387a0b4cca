"""A preempted job does not preempt back at once. In these cases evicted pods are recreated and wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.configuration_errors import ConfigurationError
from stromboli.core.config.plugin import EvictionContext, Plugin, Victims
from stromboli.core.model.jobs.job import Job
from stromboli.core.model.tasks.task import Task
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import configuration, extended, flattened, objects, plugin
from tests.testing.cases.recreated_pods import cycle_with_recreated_pods
from tests.testing.manifests.builders import Manifest, gang, nodes, priority_class, queue, running


class AnyPodPlugin(Plugin):
    """Contradictory rules: every job may evict every other."""

    name = "any"

    def job_starving(self, job: Job) -> bool:
        return job.pending_count > 0

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return list(candidates)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> Victims:
        return list(candidates)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Victims:
        return list(candidates)


REGISTRY = extended(AnyPodPlugin)


def contradictory(
    action: str,
    window: str = "60s",
    after: str = "allocate",
    beside: Sequence[Manifest] = (),
    **others: object,
) -> Program:
    gang_alone = plugin("gang", enablePreemptable=False, enableReclaimable=False, enableJobStarving=False)
    text = configuration(
        *beside, gang_alone, "any", "predicates", actions=f"enqueue, {after}, {action}",
        arguments={action: {"thrashingWindow": window, **others}},
    )  # fmt: skip
    return Program(parse_configuration(text, REGISTRY), REGISTRY)


@dataclass
class WindowCase:
    name: str
    world: Sequence[object]
    program: Program
    #: Victims of each cycle; cycles are `step` seconds apart.
    evicted: list[str]
    step: float = 10.0

    def __str__(self) -> str:
        return self.name

    def manifests(self) -> list[Manifest]:
        return list(flattened(self.world))


ONE_SLOT = [nodes(1, 1), running("a", name="one"), gang(1, name="two")]
UNEQUAL = [
    nodes(1, 1), priority_class("high", 100), running("a", name="one", priority="high"), gang(1, name="two"),
]  # fmt: skip
#: The important job is served first, and may be evicted nevertheless.
BY_IMPORTANCE = plugin("priority", enablePreemptable=False, enableJobStarving=False)
TWO_QUEUES = [nodes(1, 1), queue("left"), queue("right"), running("a", name="one", queue="left")]

CASES = [
    WindowCase(
        "without a window they evict each other repeatedly",
        ONE_SLOT, contradictory("preempt", "0s"), ["one", "", "two", ""] * 2,
    ),
    WindowCase("within it the first preemptor keeps what it received", ONE_SLOT, contradictory("preempt"),
          ["one", "", "", "", "", ""]),
    WindowCase(
        "after it the rules decide again",
        ONE_SLOT, contradictory("preempt", "25s"), ["one", "", "", "two", "", "", "one"],
    ),
    WindowCase(
        "with an eviction memory the job that was preempted never preempts back",
        ONE_SLOT, contradictory("preempt", "25s", evictionMemory="24h"), ["one", "", "", "", "", "", "", "", ""],
    ),
    WindowCase(
        "until the memory ends",
        ONE_SLOT, contradictory("preempt", "0s", evictionMemory="35s"), ["one", "", "", "", "two", ""],
    ),
    WindowCase(
        "after a reclaim another job of the queue preempts once the window is over, and keeps what it receives",
        [*TWO_QUEUES, gang(1, name="two", queue="right"), gang(1, name="late", queue="left")],
        contradictory("reclaim", "25s", evictionMemory="24h"), ["one", "", "", "two", "", "", ""],
    ),
    WindowCase(
        "whole gangs have the memory as well",
        [*TWO_QUEUES, gang(1, name="two", queue="right")],
        contradictory("gangreclaim", "0s", evictionMemory="24h"), ["one", "", "", ""],
    ),
    WindowCase(
        "others may still preempt: they have lost nothing to the holder",
        [*ONE_SLOT, gang(1, name="three")], contradictory("preempt"), ["one", "", "three", "", "two", ""],
    ),
    WindowCase(
        "a queue that lost capacity does not reclaim it by another job either",
        [*TWO_QUEUES, gang(1, name="two", queue="right"), gang(1, name="late", queue="left")],
        contradictory("reclaim"), ["one", "", "", ""],
    ),
    WindowCase(
        "without a window it does",
        [*TWO_QUEUES, gang(1, name="two", queue="right"), gang(1, name="late", queue="left")],
        contradictory("reclaim", "0"), ["one", "", "two", "", "late"],
    ),
    WindowCase(
        "whole gangs do not preempt back either",
        [*TWO_QUEUES, gang(1, name="two", queue="right")], contradictory("gangreclaim"), ["one", "", "", ""],
    ),
    WindowCase(
        "without a window they do",
        [*TWO_QUEUES, gang(1, name="two", queue="right")], contradictory("gangreclaim", "0s"), ["one", "", "two", ""],
    ),
    WindowCase(
        "nor does a gang that is more important",
        UNEQUAL, contradictory("gangpreempt", after="allocate, preempt"), ["one", "", "", ""],
    ),
    WindowCase(
        "without a window it does",
        UNEQUAL, contradictory("gangpreempt", "0s", after="allocate, preempt"), ["one", "", "two", ""],
    ),
    WindowCase(
        "nor does one that is served first take it before the preemptor has it",
        UNEQUAL, contradictory("preempt", beside=[BY_IMPORTANCE]), ["one", "", "", ""],
    ),
]  # fmt: skip


def played(case: WindowCase) -> list[str]:
    world = PlannedCluster(objects(case.manifests()), case.program)
    evicted = []
    for cycle in range(len(case.evicted)):
        session = cycle_with_recreated_pods(world, cycle)
        tasks = [eviction.task for eviction in session.decisions.evictions]
        world._now += case.step
        evicted.append(" ".join(task.job.partition("/")[2] for task in tasks))
    return evicted


@pytest.mark.parametrize("case", CASES, ids=str)
def test_thrash_guard(case: WindowCase) -> None:
    assert played(case) == case.evicted


@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_windows_above_history_are_rejected(action: str) -> None:
    with pytest.raises(ConfigurationError, match=f"thrashingWindow.*{action}.*'2h' is longer than an hour"):
        contradictory(action, "2h")
    with pytest.raises(ConfigurationError, match=f"evictionMemory.*{action}.*'25h' is longer than a day"):
        contradictory(action, evictionMemory="25h")
