"""The order of jobs: by priority, or by share."""

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Facts, Manifest, foreign, gang, gang_of, nodes, pod, priority_class, queue

BY_PRIORITY = configuration("gang", "priority", "predicates")
HIGH, LOW = priority_class("high", 100), priority_class("low", -5)
FIRST: Facts = {"name": "first"}
SECOND: Facts = {"name": "second"}

PRIORITY = [
    Case(
        "the more important job first",
        nodes(2, 1), HIGH, gang(2, **FIRST), gang(2, priority="high", **SECOND), conf=BY_PRIORITY, binds="-- aa",
    ),
    Case(
        "not without the plugin",
        nodes(2, 1), HIGH, gang(2, **FIRST), gang(2, priority="high", **SECOND), binds="aa --",
    ),
    Case(
        "less than nothing is last",
        nodes(2, 1), LOW, gang(2, priority="low", **FIRST), gang(2, **SECOND), conf=BY_PRIORITY, binds="-- aa",
    ),
    Case(
        "an unknown class counts as none",
        nodes(2, 1), gang(2, priority="unknown", **FIRST), gang(2, **SECOND), conf=BY_PRIORITY, binds="aa --",
    ),
    Case(
        "the default class of jobs without one",
        nodes(2, 1), LOW, priority_class("usual", 10, default=True), priority_class("less", 5),
        gang(2, priority="less", **FIRST), gang(2, **SECOND), conf=BY_PRIORITY, binds="-- aa",
    ),
    Case(
        "importance before need: the minimum of another can wait",
        nodes(3, 1), HIGH, gang(2, **FIRST), gang(2, minimum=1, priority="high", **SECOND),
        conf=configuration("priority", "gang"), binds="-- aa",
    ),
    Case(
        "need before importance, in the other order",
        nodes(3, 1), HIGH, gang(2, **FIRST), gang(2, minimum=1, priority="high", **SECOND),
        conf=configuration("gang", "priority"), binds="aa a-",
    ),
    Case(
        "members by the number in their spec",
        nodes(1, 1), gang_of(pod(), pod(priority=7), minimum=1), conf=BY_PRIORITY, binds="-a",
    ),
    Case(
        "a member that names no number has 1, which is more than 0",
        nodes(1, 1), gang_of(pod(priority=0), pod(), minimum=1), conf=BY_PRIORITY, binds="-a",
    ),
    Case("and less than 2", nodes(1, 1), gang_of(pod(), pod(priority=2), minimum=1), conf=BY_PRIORITY, binds="-a"),
    Case(
        "members by their annotation",
        nodes(1, 1), gang_of(pod(priority=7), pod(annotations={"volcano.sh/task-priority": "8"}), minimum=1),
        conf=BY_PRIORITY, binds="-a",
    ),
    Case(
        "a job by its group, not by its pods",
        nodes(2, 1), HIGH, gang(2, **FIRST), gang_of(pod(priorityClassName="high"), pod(), **SECOND), conf=BY_PRIORITY,
        binds="aa --",
    ),
]  # fmt: skip

BY_SHARE = configuration("drf", "predicates")
EACH: Facts = {"minimum": 0}

DRF = [
    Case(
        "the job with the smaller share is served first",
        nodes(3, 1), gang_of(pod(2, nodeName="a"), pod(), **FIRST, **EACH), gang(1, **SECOND), conf=BY_SHARE,
        binds="- a",
    ),
    Case(
        "without the plugin by age",
        nodes(3, 1), gang_of(pod(2, nodeName="a"), pod(), **FIRST, **EACH), gang(1, **SECOND),
        conf=configuration("predicates"), binds="a -",
    ),
    Case(
        "the resource that one has most of counts",
        nodes(10, 1, memory="10Gi"), gang_of(pod(2, nodeName="a"), pod(), **FIRST, **EACH),
        gang_of(pod(1, "5Gi", nodeName="a"), pod(8), **SECOND, **EACH), conf=BY_SHARE, binds="a -",
    ),
    Case(
        "shares of the cluster are compared, not amounts",
        nodes(10, 1, memory="100Gi"), gang_of(pod(5, nodeName="a"), pod(), **FIRST, **EACH),
        gang_of(pod(0, "1Gi", nodeName="a"), pod(5), **SECOND, **EACH), conf=BY_SHARE, binds="- a",
    ),
    Case(
        "shares are those of what pods of other schedulers leave",
        nodes(10, 1, memory="100Gi"), foreign("a", 5), gang_of(pod(2, nodeName="a"), pod(3), **FIRST, **EACH),
        gang_of(pod(0, "30Gi", nodeName="a"), pod(3), **SECOND, **EACH), conf=BY_SHARE, binds="- a",
    ),
    Case(
        "in turn, so that all jobs get the same",
        nodes(4, 1), gang(4, **FIRST, **EACH), gang(4, **SECOND, **EACH), conf=BY_SHARE, binds="aa-- aa--",
    ),
    Case(
        "the same share, not the same number",
        nodes(7, 1), gang(4, cpu=2, **FIRST, **EACH), gang(4, **SECOND, **EACH), conf=BY_SHARE, binds="aa-- aaa-",
    ),
]  # fmt: skip


def branch(name: str, path: str, weights: str = "") -> Manifest:
    """A queue at a place in the tree."""
    annotations = {"volcano.sh/hierarchy": path, **({"volcano.sh/hierarchy-weights": weights} if weights else {})}
    return queue(name, annotations=annotations)


def pending(*queues: str, count: int = 8) -> list[Manifest]:
    """A job in each queue that requests everything."""
    return [document for name in queues for document in gang(count, name=name, queue=name, **EACH)]


TREE = configuration(plugin("drf", enableHierarchy=True), "predicates")
BRANCHES = [branch("dev", "root/works/dev"), branch("prod", "root/works/prod"), branch("science", "root/science")]

HIERARCHY = [
    Case(
        "branches share equally, then queues within them",
        nodes(8, 1), BRANCHES, pending("dev", "prod", "science"), conf=TREE, binds="aa------ aa------ aaaa----",
    ),
    Case(
        "without the tree the first queue takes all",
        nodes(8, 1), BRANCHES, pending("dev", "prod", "science"), conf=configuration("drf", "predicates"),
        binds="aaaaaaaa -------- --------",
    ),
    Case(
        "branches by weight",
        nodes(8, 1), branch("dev", "root/works/dev", "1/3/1"), branch("science", "root/science", "1/1"),
        pending("dev", "science"), conf=TREE, binds="aaaaaa-- aa------",
    ),
    Case(
        "a weight below 1 is 1",
        nodes(8, 1), branch("dev", "root/dev", "1/0.1"), branch("science", "root/science", "1/1"),
        pending("dev", "science"), conf=TREE, binds="aaaa---- aaaa----",
    ),
    Case(
        "a queue without a hierarchy is below the root, with its own weight",
        nodes(8, 1), queue("dev", 3), queue("science"), pending("dev", "science"), conf=TREE, binds="aaaaaa-- aa------",
    ),
    Case(
        "what a queue does not use is for its siblings first",
        nodes(8, 1), BRANCHES, pending("dev", "science"), gang(1, name="prod", queue="prod"), conf=TREE,
        binds="aaa----- aaaa---- a",
    ),
    Case(
        "what a branch does not use is for the others",
        nodes(8, 1), BRANCHES, pending("dev", "prod"), gang(2, name="science", queue="science", **EACH), conf=TREE,
        binds="aaa----- aaa----- aa",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", PRIORITY + DRF + HIERARCHY, ids=str)
def test_priority_and_shares(case: Case) -> None:
    case.check()
