"""Limits of the number of evicted jobs in a period. Evicted pods are not created again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.configuration_errors import ConfigurationError
from stromboli.core.model.reasons import Code
from stromboli.core.session.program import Program
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import gang, nodes, priority_class, queue, running

ACTIONS = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
CLASSES = [priority_class("high", 100), priority_class("low", 1)]
LETTERS = "abcd"


def program(action: str, rates: Mapping[str, str]) -> Program:
    keeping = plugin("gang", enablePreemptable=False, enableReclaimable=False)
    text = configuration(
        ["priority", keeping],
        ["proportion", "predicates"],
        actions=f"enqueue, allocate, {action}",
        arguments={action: rates},
    )
    return Program(parse_configuration(text, BUILT_IN), BUILT_IN)


@dataclass
class RateCase:
    name: str
    action: str
    rates: Mapping[str, str]
    #: The number of victims of each cycle; cycles are a minute apart.
    evicted: Sequence[int]
    #: Parts of the message of a job that waits because of the limit.
    message: str = ""

    def __str__(self) -> str:
        return f"{self.action}: {self.name}"

    @property
    def program(self) -> Program:
        return program(self.action, self.rates)


def preempting(queues: Sequence[str]) -> list[object]:
    """Each node is full of a job of low priority, and for each there is a preemptor of the same queue."""
    world: list[object] = [nodes(1, 4), CLASSES, [queue(name) for name in sorted(set(queues))]]
    for letter, name in zip(LETTERS, queues, strict=True):
        world.append(running(letter, name=f"old-{letter}", queue=name, priority="low", minimum=1))
        world.append(gang(1, name=f"new-{letter}", queue=name, priority="high"))
    return world


def reclaiming() -> list[object]:
    """One queue holds four nodes, and two of them are due to each of two others."""
    world: list[object] = [nodes(1, 4), CLASSES, queue("rich"), queue("left", 3), queue("right", 3)]
    world += [running(letter, name=f"old-{letter}", queue="rich", minimum=1) for letter in LETTERS]
    return [*world, *[gang(1, name=f"new-{name}-{n}", queue=name) for n in range(2) for name in ("left", "right")]]


CASES = [
    RateCase("without a limit all are served at once", "preempt", {}, [4, 0]),
    RateCase("of the cluster", "preempt", {"preemptionRate": "1/2m"}, [1, 0, 1, 0],
             "1 job evicted in the cluster, and the limit is 1/2m"),
    RateCase("a limit of nothing", "preempt", {"preemptionRate": "0/1h"}, [0, 0],
             "0 jobs evicted in the cluster, and the limit is 0/1h"),
    RateCase("of each queue", "preempt", {"queuePreemptionRate": "1/2m"}, [2, 0, 2, 0],
             "1 job evicted for queue left, and the limit is 1/2m"),
    RateCase("both", "preempt", {"queuePreemptionRate": "2/1h", "preemptionRate": "3/1h"}, [3, 0],
             "3 jobs evicted in the cluster, and the limit is 3/1h"),
    RateCase("between queues", "reclaim", {"preemptionRate": "1/2m"}, [1, 0, 1, 0],
             "1 job evicted in the cluster, and the limit is 1/2m"),
    RateCase("whole gangs", "gangpreempt", {"preemptionRate": "1/2m"}, [1, 0, 1, 0],
             "1 job evicted in the cluster, and the limit is 1/2m"),
    RateCase("whole gangs between queues", "gangreclaim", {"preemptionRate": "1/2m"}, [1, 0, 1, 0],
             "1 job evicted in the cluster, and the limit is 1/2m"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_preemption_rate(case: RateCase) -> None:
    contest = reclaiming() if "reclaim" in case.action else preempting(["left", "left", "right", "right"])
    world = PlannedCluster(objects(flattened(contest)), case.program)
    evicted, messages, codes = [], set[str](), set[Code]()
    for _ in case.evicted:
        session = world.decide()
        world.apply_decisions(session)
        world._now += 60
        evicted.append(len(session.decisions.evictions))
        for status in session.statuses.values():
            messages.update(status.sentences)
            codes.update(reason.code for reason in status.reasons)
    assert evicted == case.evicted
    assert any(case.message in message for message in messages) or not case.message
    assert (Code.PREEMPTION_RATE in codes) == bool(case.message)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("rate", "error"),
    [
        ("often", "'often' is not a rate; write a number of evicted jobs and a period, such as 20/1h"),
        ("3/1d", "'1d' is not a duration"),
        ("3/48h", "'3/48h': the period is longer than a day"),
    ],
)
def test_invalid_rate_is_rejected(action: str, rate: str, error: str) -> None:
    with pytest.raises(ConfigurationError, match=f"queuePreemptionRate.*{error}"):
        program(action, {"queuePreemptionRate": rate})
