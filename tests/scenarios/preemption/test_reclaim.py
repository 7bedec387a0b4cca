"""Queues reclaim what they deserve: from which queues, how much, and when not."""

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import (
    GPU,
    Manifest,
    foreign,
    gang,
    gang_of,
    manifest,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)

QUEUES = [queue("rich"), queue("poor")]
CLASSES = [priority_class("high", 100), priority_class("low", 10)]
ACTIONS = "enqueue, allocate, reclaim"
#: Gangs may be evicted, but only whole.
RECLAIM = configuration(
    "priority", plugin("gang", enableReclaimable=False), "conformance", "proportion", "predicates", actions=ACTIONS
)
#: Gangs keep their minimum.
KEEPING = configuration("priority", "gang", "conformance", "proportion", "predicates", actions=ACTIONS)
#: A common configuration: queue shares in the second tier, and gang protection in the first.
TIERS = configuration(
    ["priority", "gang", "conformance"], ["proportion", "predicates"], actions=ACTIONS
)  # fmt: skip


def reclaims(name: str, *world: object, evicts: list[str], binds: str, conf: str = RECLAIM, **more: Any) -> Case:
    return Case(name, QUEUES, CLASSES, world, conf=conf, evicts=evicts, binds=binds, **more)


def rich(places: str, name: str = "rich", **facts: Any) -> list[Manifest]:
    return running(places, name=name, queue="rich", **facts)


def poor(count: int = 1, cpu: object = 1, name: str = "poor", **facts: Any) -> list[Manifest]:
    return gang(count, cpu, name=name, queue="poor", **facts)


def budget(name: str, labels: dict[str, str], **spec: Any) -> Manifest:
    fields = {"selector": {"matchLabels": labels}, **spec}
    return manifest("PodDisruptionBudget", name, "policy/v1", "default", spec=fields)


BETWEEN_QUEUES = [
    reclaims(
        "a queue gets back what it deserves",
        nodes(4, 1), rich("aaaa"), poor(2), evicts=["rich-task-2", "rich-task-3"], binds="AA",
    ),
    reclaims(
        "a newcomer gets its share of what pods of other schedulers leave",
        nodes(16, 1), foreign("a", 12), queue("new"), rich("aa"), running("aa", name="other", queue="poor"),
        gang(1, name="new", queue="new"), evicts=["rich-task-1"], binds="A",
    ),
    reclaims(
        "a queue gets no more than it deserves",
        nodes(4, 1), rich("aaaa"), poor(3), evicts=[], binds="---",
    ),
    reclaims(
        "a job that starts with less reclaims what the queue deserves",
        nodes(4, 1), rich("aaaa"), poor(3, minimum=2), evicts=["rich-task-2", "rich-task-3"], binds="AA-",
    ),
    reclaims(
        "weights decide how much",
        nodes(4, 1), queue("heavy", weight=3), rich("aaaa"), gang(3, name="heavy", queue="heavy"),
        evicts=["rich-task-1", "rich-task-2", "rich-task-3"], binds="AAA",
    ),
    reclaims(
        "what is free is taken first",
        nodes(4, 1), rich("aaa"), poor(2), evicts=["rich-task-2"], binds="AA",
    ),
    reclaims(
        "nothing is evicted in the preemptor's own queue",
        nodes(2, 1), running("aa", name="own", queue="poor"), poor(), evicts=[], binds="-",
    ),
    reclaims(
        "a queue that is not reclaimable keeps what it has",
        nodes(2, 1),
        {**queue("kept"), "spec": {"weight": 1, "reclaimable": False}}, running("aa", name="kept", queue="kept"),
        poor(), evicts=[], binds="-", codes={"poor": ["InsufficientResource", "NoPreemptablePods"]},
    ),
    reclaims(
        "of two queues the one above its share gives",
        nodes(6, 1), queue("third"), rich("aaaa"), running("aa", name="third", queue="third"),
        poor(2), evicts=["rich-task-2", "rich-task-3"], binds="AA",
    ),
    reclaims(
        "the least important pod of the queue is evicted",
        nodes(1, 2), rich("a", name="urgent", priority="high"), rich("b", name="patient", priority="low"), poor(),
        evicts=["patient-task-0"], binds="B",
    ),
    reclaims(
        "another queue's priority does not protect",
        nodes(2, 1), rich("aa", priority="high"), poor(), evicts=["rich-task-1"], binds="A",
    ),
    reclaims(
        "one large pod is evicted rather than several small ones",
        nodes(8, 1), rich("aaaa", name="small"), rich("a", cpu=4, name="large"), poor(cpu=4),
        evicts=["large-task-0"], binds="A",
    ),
    reclaims(
        "victims that hold nothing of what is needed stay",
        node("a", 4, gpu=2), rich("aa", name="cpu"), rich("aa", gpu=1, name="gpu"), poor(gpu=1, more={GPU: 1}),
        evicts=["gpu-task-1"], binds="A",
    ),
    reclaims(
        "a gang reclaims from many nodes, or nothing is evicted",
        nodes(2, 2), rich("aabb"), poor(2, cpu=1), evicts=["rich-task-2", "rich-task-3"], binds="BB",
    ),
    reclaims(
        "nothing is evicted when the gang would still not fit",
        node("a", 2), node("b", 2, taints=["gpu=true:NoSchedule"]), rich("aabb"),
        poor(2, cpu=2, minimum=2), evicts=[], binds="--",
    ),
    reclaims(
        "there are no further evictions",
        nodes(4, 1), rich("aaaa"), poor(2), cycles=6, evicts=["rich-task-2", "rich-task-3"], binds="aa",
    ),
]  # fmt: skip

GANGS = [
    reclaims(
        "a gang above its minimum gives what it can spare",
        nodes(4, 1), rich("aaaa", minimum=3), poor(), evicts=["rich-task-3"], binds="A",
    ),
    reclaims(
        "a gang at its minimum is evicted whole, if its queue has more than it deserves",
        nodes(1, 2), rich("ab", minimum=2), poor(), evicts=["rich-task-0", "rich-task-1"], binds="B",
    ),
    reclaims(
        "a single pod is evicted rather than a whole gang",
        nodes(1, 3), rich("ab", minimum=2), rich("c", name="single"), poor(), evicts=["single-task-0"], binds="C",
    ),
    reclaims(
        "where the gang plugin answers in the same tier, a gang keeps its minimum",
        nodes(1, 2), rich("ab", minimum=2), poor(), conf=KEEPING, evicts=[], binds="-",
    ),
    reclaims(
        "where the next tier decides, the gang is evicted whole",
        nodes(1, 2), rich("ab", minimum=2), poor(), conf=TIERS, evicts=["rich-task-0", "rich-task-1"], binds="B",
    ),
    reclaims(
        "of two gangs one is enough",
        nodes(1, 4), rich("ab", name="one", minimum=2), rich("cd", name="two", minimum=2), poor(2),
        evicts=["one-task-0", "one-task-1"], binds="BA",
    ),
    reclaims(
        "jobs of one pod are evicted one by one",
        nodes(4, 1), [rich("a", name=f"job-{n}", minimum=1) for n in range(4)], poor(2), conf=TIERS,
        evicts=["job-2-task-0", "job-3-task-0"], binds="AA",
    ),
]  # fmt: skip

PROTECTED = [
    reclaims(
        "a pod that is not preemptable stays",
        nodes(2, 1), rich("aa", labels={"volcano.sh/preemptable": "false"}), poor(), evicts=[], binds="-",
    ),
    reclaims(
        "critical pods stay, whatever later tiers answer",
        nodes(2, 1), rich("aa", priorityClassName="system-cluster-critical"), poor(), conf=TIERS, evicts=[], binds="-",
    ),
    reclaims(
        "a pod that never preempts waits, the others are served",
        nodes(4, 1), rich("aaaa"),
        gang_of(pod(preemptionPolicy="Never"), pod(), name="poor", queue="poor", minimum=1),
        evicts=["rich-task-3"], binds="-A",
    ),
    reclaims(
        "a gang with a member that never preempts waits",
        nodes(4, 1), rich("aaaa"), gang_of(pod(preemptionPolicy="Never"), pod(), name="poor", queue="poor"),
        evicts=[], binds="--",
    ),
    reclaims(
        "a budget protects the last of a set",
        nodes(2, 1), budget("web", {"app": "web"}, maxUnavailable=0), rich("aa", labels={"app": "web"}), poor(),
        evicts=[], binds="-", codes={"poor": ["InsufficientResource", "DisruptionBudgetSpent"]},
    ),
    reclaims(
        "a budget is spent once over all preemptors",
        nodes(4, 1), budget("web", {"app": "web"}, maxUnavailable=1), rich("aaaa", labels={"app": "web"}),
        poor(name="one"), poor(name="two"), evicts=["rich-task-3"], binds="A-",
    ),
    reclaims(
        "a node that would reject the preemptor has no victims",
        node("a", 2, taints=["gpu=true:NoSchedule"]), rich("aa"), poor(), evicts=[], binds="-",
    ),
    reclaims(
        "the port must be free after the eviction",
        nodes(4, 1), rich("aa", name="other"),
        rich("a", name="port", ports=[{"containerPort": 80, "hostPort": 80}]), rich("a", name="more"),
        poor(ports=[{"containerPort": 80, "hostPort": 80}]), evicts=["port-task-0"], binds="A",
    ),
    reclaims(
        "a queue that has all it deserves claims nothing",
        nodes(4, 1), rich("aa"), running("aa", name="own", queue="poor"), poor(), evicts=[], binds="-",
    ),
    reclaims(
        "a closed queue claims nothing",
        nodes(2, 1), queue("closed", state="Closed"), rich("aa"), gang(1, name="late", queue="closed", phase="Inqueue"),
        evicts=[], binds="-",
    ),
]  # fmt: skip


def promised(name: str, cpu: int) -> Manifest:
    """A queue with a deserved share."""
    made = queue(name)
    return {**made, "spec": {**made["spec"], "deserved": {"cpu": cpu}}}


#: Queue rich has more than it deserves and important pods; queue short has less, and unimportant ones.
THREE = [
    nodes(6, 1), rich("aaaaa", priority="high"),
    running("a", name="short", queue="short", priority="low"),
    gang(3, name="short-more", queue="short"), gang(3, name="rich-more", queue="rich"),
]  # fmt: skip
BY_CAPACITY = configuration(["priority", "gang", "conformance"], ["capacity", "predicates"], actions=ACTIONS)
SHARES_IN_TIERS = [
    reclaims(
        "a queue below its deserved share loses nothing, whatever the first tier answers",
        queue("short"), THREE, poor(), conf=TIERS, evicts=["rich-task-4"], binds="--- --- A",
    ),
    Case(
        "nor by the guarantees of queues",
        CLASSES, [promised(name, 2) for name in ("rich", "poor", "short")], THREE, poor(),
        conf=BY_CAPACITY, evicts=["rich-task-4"], binds="--- --- A",
    ),
]  # fmt: skip

OVERCOMMIT = configuration("gang", "overcommit", "proportion", "predicates", actions=ACTIONS)
ADMISSION = [
    reclaims(
        "a job that can reclaim its queue's share is admitted to a full cluster",
        nodes(4, 1), rich("aaaa"), poor(2, resources={"cpu": 2}), conf=OVERCOMMIT,
        evicts=["rich-task-2", "rich-task-3"], binds="AA",
    ),
    reclaims(
        "a job of the queue that has its share is not",
        nodes(4, 1), rich("aaaa"), gang(2, name="more", queue="rich", resources={"cpu": 2}), conf=OVERCOMMIT,
        evicts=[], binds="--", phases={"more": "Pending"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", [*ADMISSION, *BETWEEN_QUEUES, *GANGS, *PROTECTED, *SHARES_IN_TIERS], ids=str)
def test_reclaim(case: Case) -> None:
    case.check()
