"""Jobs shrink before others are lost: members above the minimum are evicted before a whole gang of equal priority."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, nodes, pod, priority_class, queue, running

CLASSES = [priority_class("high", 100), priority_class("middle", 50), priority_class("low", 10)]
QUEUES = [queue("rich"), queue("poor", 3)]
WHOLE = plugin("gang", enablePreemptable=False, enableReclaimable=False)
CONFIGURATIONS = {
    "preempt": configuration("priority", WHOLE, "conformance", "predicates", actions="enqueue, allocate, preempt"),
    "reclaim": configuration(
        "priority", WHOLE, "conformance", "proportion", "predicates", actions="enqueue, allocate, reclaim"
    ),
}


def shrinks(name: str, *world: object, binds: str, evicts: Sequence[str], of: str) -> Case:
    return Case(f"{of}: {name}", CLASSES, QUEUES, world, conf=CONFIGURATIONS[of], binds=binds, evicts=evicts)


def job(places: str, name: str, minimum: int, cpu: object = 1, priority: str = "low") -> list[Manifest]:
    return running(places, cpu, name=name, minimum=minimum, priority=priority, queue="rich")


def preemptor(count: int = 1, cpu: object = 1, *, of: str) -> list[Manifest]:
    queue_name = "rich" if of == "preempt" else "poor"
    return gang(count, cpu, name="preemptor", priority="high", queue=queue_name)


def cases(of: str) -> list[Case]:
    return [
        shrinks(
            "a spare member is evicted, and no pair",
            nodes(1, 4), job("ab", "pair", 2), job("cd", "elastic", 1), preemptor(of=of), binds="D",
            evicts=["elastic-task-1"], of=of,
        ),
        shrinks(
            "it is evicted before a job of one pod",
            nodes(1, 3), job("a", "alone", 1), job("bc", "elastic", 1), preemptor(of=of), binds="C",
            evicts=["elastic-task-1"], of=of,
        ),
        shrinks(
            "two members are evicted rather than one job",
            nodes(2, 3), job("a", "alone", 1, cpu=2), job("bbc", "elastic", 1), job("c", "other", 1),
            preemptor(cpu=2, of=of), binds="B", evicts=["elastic-task-0", "elastic-task-1"], of=of,
        ),
        shrinks(
            "several jobs shrink before one ends",
            nodes(1, 5), job("a", "alone", 1), job("bc", "one", 1), job("de", "two", 1), preemptor(2, of=of),
            binds="CE", evicts=["one-task-1", "two-task-1"], of=of,
        ),
        shrinks(
            "what shrinking does not give, a whole job gives",
            nodes(1, 4), job("a", "alone", 1), job("bcd", "elastic", 2), preemptor(2, of=of), binds="DA",
            evicts=["alone-task-0", "elastic-task-2"], of=of,
        ),
        shrinks(
            "a job that is less important ends before another shrinks",
            nodes(1, 3), job("a", "alone", 1), job("bc", "elastic", 1, priority="middle"), preemptor(of=of), binds="A",
            evicts=["alone-task-0"], of=of,
        ),
        shrinks(
            "a job without a minimum shrinks to nothing",
            nodes(1, 3), job("ab", "loose", 0), job("c", "alone", 1), preemptor(2, of=of), binds="BA",
            evicts=["loose-task-0", "loose-task-1"], of=of,
        ),
        shrinks(
            "a preemptor that needs two pods protects the previously evicted one",
            node("a", 2), node("b", 4), job("a", "kept", 1, priority="high"), job("b", "held", 1, priority="high"),
            gang_of(
                pod(nodeName="a"), pod(2, nodeName="b"), pod(nodeName="b"), name="loose", minimum=0, priority="low",
                queue="rich", phase="Running",
            ),
            preemptor(2, of=of), binds="BB", evicts=["loose-task-1"], of=of,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("case", [*cases("preempt"), *cases("reclaim")], ids=str)
def test_elastic_victims(case: Case) -> None:
    case.check()
