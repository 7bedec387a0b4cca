"""Capacity that was nominated in earlier cycles: for which pods it is kept, and when the nomination ends."""

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Facts, gang, gang_of, node, nodes, pod, priority_class, queue, running

CLASSES = [priority_class("high", 100), priority_class("low", 10)]
LEAVING: Facts = {"cpu": 2, "releasing": True}
SHARED = configuration("priority", "gang", "proportion", "predicates")
PREEMPT = configuration(
    "priority", plugin("gang", enablePreemptable=False), plugin("drf", enablePreemptable=False), "predicates",
    actions="enqueue, allocate, preempt",
)  # fmt: skip
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
HELD = "1 node(s) had capacity nominated for other pods."

KEPT = [
    Case(
        "a job that is served earlier does not get capacity that is nominated for another",
        nodes(2, 1), gang(1, cpu=2, name="first", created=EARLY),
        gang(1, cpu=2, name="promised", created=LATE, nominated="a"), binds="- a",
        reasons={"first": [f"0/1 nodes are available: {HELD}"], "promised": []}, codes={"first": ["CapacityNominated"]},
    ),
    Case(
        "nor do they while others are still leaving",
        nodes(2, 1), running("a", **LEAVING), gang(1, cpu=2, name="first", created=EARLY),
        gang(1, cpu=2, name="promised", created=LATE, nominated="a"), binds="- A",
    ),
    Case(
        "free capacity beside the nomination is available to all",
        nodes(3, 1), gang(1, name="first", created=EARLY),
        gang(1, cpu=2, name="promised", created=LATE, nominated="a"), binds="a a",
    ),
    Case(
        "another queue that is served before does not get it",
        nodes(2, 1), queue("ahead", weight=9), queue("behind", weight=1),
        gang(1, cpu=2, name="first", queue="ahead"), gang(1, cpu=2, name="promised", queue="behind", nominated="a"),
        conf=configuration("gang", "drf", "predicates"), binds="- a",
    ),
    Case(
        "a whole gang keeps its nominations",
        nodes(1, 3), gang(2, name="first", created=EARLY),
        gang_of(pod(nominated="b"), pod(nominated="c"), name="promised", created=LATE), binds="-- bc",
    ),
    Case(
        "pods without a request are not blocked",
        nodes(2, 1), gang(1, cpu=0, name="first", created=EARLY),
        gang(1, cpu=2, name="promised", created=LATE, nominated="a"), binds="a a",
    ),
    Case(
        "members above the minimum keep their nominations until they are served",
        nodes(1, 2), gang(1, name="other", created=LATE),
        gang_of(pod(nominated="a"), pod(nominated="b"), name="promised", created=EARLY, minimum=1), binds="- ab",
    ),
    Case(
        "nominated capacity is no part of the queue share: the queue keeps its position",
        nodes(2, 1), queue("only", capability={"cpu": 2}), gang(1, cpu=2, name="promised", queue="only", nominated="a"),
        conf=SHARED, binds="a",
    ),
]  # fmt: skip

GIVEN_UP = [
    Case(
        "a more important job of the queue is served before",
        CLASSES, nodes(2, 1), gang(1, cpu=2, name="urgent", priority="high", created=LATE),
        gang(1, cpu=2, name="promised", priority="low", created=EARLY, nominated="a"), conf=SHARED, binds="a -",
    ),
    Case(
        "if it cannot use the capacity, that is still kept from the rest",
        CLASSES, nodes(2, 1), queue("ours"), queue("theirs"),
        gang(1, cpu=3, name="urgent", queue="ours", priority="high"), gang(1, cpu=2, name="third", queue="theirs"),
        gang(1, cpu=2, name="promised", queue="ours", priority="low", nominated="a"),
        conf=configuration("priority", "gang", "drf", "predicates"), binds="- - a",
    ),
    Case(
        "a more important job of another queue does not",
        CLASSES, nodes(2, 1), queue("ours"), queue("theirs"),
        gang(1, cpu=2, name="urgent", queue="theirs", priority="high"),
        gang(1, cpu=2, name="promised", queue="ours", priority="low", nominated="a"),
        conf=configuration("priority", "gang", "drf", "predicates"), binds="- a",
    ),
    Case(
        "a gang that lacks the rest loses its nomination when it is served",
        nodes(1, 2), gang_of(pod(nominated="a"), pod(), pod(), name="promised", created=EARLY),
        gang(2, name="next", created=LATE), binds="--- ab",
    ),
    Case(
        "a queue that has all it may have keeps nothing",
        nodes(2, 2), queue("full", capability={"cpu": 2}), running("a", name="old", cpu=2, queue="full"),
        gang(1, cpu=2, name="promised", queue="full", nominated="b"), gang(1, cpu=2, name="other"), conf=SHARED,
        binds="- b",
    ),
    Case(
        "a job that is not admitted keeps nothing",
        nodes(2, 1), queue("closed", state="Closed"), gang(1, cpu=2, name="promised", queue="closed", nominated="a"),
        gang(1, cpu=2, name="other"), conf=configuration("gang", "capacity", "predicates"), binds="- a",
    ),
    Case(
        "nominated members are served before one of their role that finds no node",
        nodes(1, 2), gang_of(pod(8, role="ps"), *(pod(role="ps", nominated=name) for name in "ab"), minimum=2),
        binds="-ab",
    ),
    Case(
        "a gated pod keeps nothing",
        nodes(2, 1), gang(1, cpu=2, name="promised", nominated="a", gated=True), gang(1, cpu=2, name="other"),
        binds="- a",
    ),
    Case(
        "a node that has become too small keeps nothing",
        node("a", 2), gang(1, cpu=3, name="promised", nominated="a"), gang(1, cpu=2, name="other"), binds="- a",
    ),
    Case(
        "two nominations for the same capacity: the more important one keeps it",
        CLASSES, nodes(2, 1), gang(1, cpu=2, name="one", priority="low", created=EARLY, nominated="a"),
        gang(1, cpu=2, name="two", priority="high", created=LATE, nominated="a"), conf=SHARED, binds="- a",
    ),
]  # fmt: skip

OVER_CYCLES = [
    Case(
        "capacity that was freed for one job is not used by another in the next cycle",
        CLASSES, nodes(2, 1), queue("ours"), queue("theirs"),
        running("a", name="low", cpu=2, queue="ours", priority="low"),
        gang(1, cpu=2, name="urgent", queue="ours", priority="high", created=LATE),
        gang(1, cpu=2, name="other", queue="theirs", created=EARLY), conf=PREEMPT, cycles=2,
        evicts=["low-task-0"], binds="a -",
    ),
    Case(
        "no second eviction for a preemptor that has nominated capacity",
        CLASSES, nodes(1, 2), running("a", name="low", priority="low"),
        running("b", name="leaving", priority="low", releasing=True),
        gang(1, name="urgent", priority="high", nominated="b"), conf=PREEMPT, evicts=[], binds="B",
    ),
    Case(
        "a second preemptor selects victims of its own",
        CLASSES, nodes(1, 2), running("a", name="low", priority="low"),
        running("b", name="leaving", priority="low", releasing=True),
        gang(1, name="urgent", priority="high", nominated="b"), gang(1, name="second", priority="high", created=EARLY),
        conf=PREEMPT, evicts=["low-task-0"], binds="B A",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", KEPT + GIVEN_UP + OVER_CYCLES, ids=str)
def test_nominated_capacity(case: Case) -> None:
    case.check()
