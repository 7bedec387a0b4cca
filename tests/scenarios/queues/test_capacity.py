"""Queues with a deserved share: what they may have, what they borrow, and what is reclaimed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.cases.probe_actions import PROBE_ACTIONS
from tests.testing.manifests.builders import (
    GPU,
    Amounts,
    Facts,
    Manifest,
    foreign,
    gang,
    gang_of,
    group,
    node,
    nodes,
    pod,
    priority_class,
    running,
)
from tests.testing.manifests.builders import queue as plain_queue

FLAT = configuration("gang", "capacity", "predicates")
TREE = configuration("gang", plugin("capacity", enableHierarchy=True), "predicates")
#: Every pod is a job of its own, so that shares are decided pod by pod.
SINGLES: Facts = {"minimum": 0}


def holding(name: str, count: int, **facts: Any) -> list[Manifest]:
    """Running pods of a queue."""
    return running("a" * count, name=name, queue=name, **facts)


def queue(name: str, parent: str | None = None, *, deserved: Amounts | None = None, **facts: Any) -> Manifest:
    manifest = plain_queue(name, None, parent=parent, **facts)
    manifest["spec"] |= {} if deserved is None else {"deserved": deserved}
    return manifest


def cpu(amount: object) -> Amounts:
    return {"cpu": amount}


LIMITS = [
    Case(
        "a queue that deserves nothing may borrow everything",
        nodes(4, 1), queue("left"), gang(4, queue="left", **SINGLES), conf=FLAT, binds="aaaa", deserved={"left": {}},
    ),
    Case(
        "what is deserved is no ceiling",
        nodes(4, 1), queue("left", deserved=cpu(2)), gang(4, queue="left", **SINGLES), conf=FLAT, binds="aaaa",
        deserved={"left": {"cpu": "2"}},
    ),
    Case(
        "capability is a ceiling",
        nodes(4, 1), queue("left", capability=cpu(2)), gang(4, queue="left", **SINGLES), conf=FLAT, binds="aa--",
        codes={"gang": ["QueueCapabilityExceeded"]},
        reasons={"gang": ["queue left may have cpu 2 and has 2"]},
    ),
    Case(
        "a capability is reported with what is left below it",
        nodes(8, 1), queue("left", capability=cpu(3)), gang(3, cpu=2, queue="left"), conf=FLAT, binds="---",
        reasons={"gang": [
            "queue left may have cpu 3 and has 0: capacity for 1 of 3 pods",
        ]},
    ),
    Case(
        "a resource that a capability does not name is free",
        nodes(4, 1, gpu=4), queue("left", capability=cpu(4)), gang(4, gpu=1, queue="left", **SINGLES), conf=FLAT,
        binds="aaaa",
    ),
    Case(
        "none of a device is none",
        nodes(4, 1, gpu=4), queue("left", capability={GPU: 0}), gang(1, gpu=1, queue="left"),
        gang(1, name="plain", queue="left"), conf=FLAT, binds="-a", codes={"gang": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "none of cpu is no ceiling",
        nodes(4, 1), queue("left", capability=cpu(0)), gang(2, queue="left", **SINGLES), conf=FLAT, binds="aa",
    ),
    Case(
        "what a queue has too much of does not keep it from taking something else",
        node("a", 4, "4Gi"), queue("left", capability={"cpu": 1, "memory": "2Gi"}),
        running("a", cpu=1, queue="left"), gang(1, cpu=None, memory="1Gi", queue="left"), conf=FLAT, binds="a",
    ),
    Case(
        "pod slots are no part of a capability",
        nodes(4, 1), queue("left", capability={"pods": 1}), gang(2, queue="left", **SINGLES), conf=FLAT, binds="aa",
    ),
    Case(
        "a guarantee is unavailable to other queues, even while unused",
        nodes(4, 1), queue("left", guarantee=cpu(3)), queue("right"), gang(4, queue="right", **SINGLES), conf=FLAT,
        binds="a---", reasons={"gang": ["queue right may have cpu 1 and has 1"]},
    ),
    Case(
        "several others together respect a guarantee, too",
        nodes(4, 1), queue("left", guarantee=cpu(2)), queue("right"), queue("other"),
        gang(1, name="first", queue="other", **SINGLES), gang(2, name="second", queue="right", **SINGLES), conf=FLAT,
        binds="a a-", codes={"second": ["QueueCapabilityExceeded"]},
        reasons={"second": [
            "the queues of the cluster may have cpu 4 and has 2; 2 is reserved for guarantees of others",
        ]},
    ),
    *(
        Case(
            f"a guarantee is kept beside pods of other schedulers, {shape}",
            nodes(4, 1), foreign("a", 2), queue("left", guarantee=cpu(1)), queue("right"),
            gang(4, queue="right", **SINGLES), conf=conf, binds="a---",
        )
        for shape, conf in (("flat", FLAT), ("in a tree", TREE))
    ),
    Case(
        "no queue deserves what pods of other schedulers hold",
        nodes(4, 1), foreign("a", 1), queue("left", deserved=cpu(4)), gang(4, queue="left", **SINGLES), conf=FLAT,
        binds="aaa-", deserved={"left": {"cpu": "3"}},
        reasons={"gang": ["Insufficient cpu: the cluster has 4 and pods without a queue use 1, its jobs use 3"]},
    ),
    Case(
        "a capability of what pods of other schedulers leave is the limit of the queue",
        nodes(4, 1), foreign("a", 2), queue("left", capability=cpu(2)), running("aa", queue="left"),
        gang(1, queue="left"), conf=FLAT, binds="-", codes={"gang": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "what pods of other schedulers hold may be admitted, because they may end",
        nodes(4, 1), foreign("a", 2), queue("left"), running("aa", queue="left"),
        group("next", 1, queue="left", resources={"cpu": 1}),
        conf=configuration("gang", "capacity", "predicates", actions="enqueue"), binds="", phases={"next": "Inqueue"},
    ),
    Case(
        "the used part of a guarantee is not reserved twice",
        nodes(4, 1), queue("left", guarantee=cpu(2)), queue("right"), running("aa", queue="left"),
        gang(2, queue="right", **SINGLES), conf=FLAT, binds="aa",
    ),
    Case(
        "a guarantee that is released in the same cycle is reserved again",
        nodes(2, 1), queue("left", guarantee=cpu(2)), queue("right"), gang(3, name="first", queue="left"),
        gang(1, name="second", queue="right"), conf=FLAT, binds="--- -",
    ),
    Case(
        "the part of a guarantee that was used in the same cycle is not reserved any more",
        nodes(4, 1), queue("left", guarantee=cpu(2)), queue("right", priority=5), queue("other"),
        gang(1, name="first", queue="right"), gang(2, name="second", queue="left"),
        gang(1, name="third", queue="other"), conf=FLAT, binds="a aa a",
    ),
    Case(
        "a guarantee is owed to its own queue",
        nodes(4, 1), queue("left", guarantee=cpu(3)), gang(4, queue="left", **SINGLES), conf=FLAT, binds="aaaa",
        deserved={"left": {"cpu": "3"}},
    ),
    Case(
        "a guarantee above the capability is cut with a warning",
        nodes(4, 1), queue("left", guarantee=cpu(3), capability=cpu(1)), queue("right"),
        gang(4, queue="right", **SINGLES), conf=FLAT, binds="aaa-",
        warnings=["Queue left: spec.guarantee.resource: cpu 3 is more than it may have; cpu 1 counts"],
    ),
    Case(
        "no queue deserves more than there is",
        nodes(4, 1), queue("left", deserved=cpu(9)), gang(1, queue="left"), conf=FLAT, binds="a",
        deserved={"left": {"cpu": "4"}},
    ),
    Case(
        "a closed queue takes nothing",
        nodes(2, 1), queue("left", state="Closed"), gang(1, queue="left"), conf=FLAT, binds="-",
        reasons={"gang": ["queue left is Closed, not Open"]}, codes={"gang": ["QueueNotOpen"]},
    ),
    Case(
        "a closing queue admits no job",
        nodes(2, 1), queue("left", state="Closing"), gang(1, queue="left", resources=cpu(1)), conf=FLAT, binds="-",
        phases={"gang": "Pending"}, codes={"gang": ["QueueNotOpen", "NotAdmitted"]},
    ),
    Case(
        "deserved devices have no effect and a warning",
        nodes(2, 1), queue("left", guarantee={"deviceclass/gpu.example.com": 1}), gang(1, queue="left"), conf=FLAT,
        binds="a", warnings=[
            "Queue left: deviceclass/gpu.example.com has no effect: devices can be limited, not guaranteed or deserved",
        ],
    ),
]  # fmt: skip

ORDER = [
    Case(
        "the smaller share of what is deserved comes first",
        nodes(3, 1), queue("left", deserved=cpu(1)), queue("right", deserved=cpu(2)), running("a", queue="left"),
        gang(1, name="first", queue="left"), gang(2, name="second", queue="right", **SINGLES), conf=FLAT, binds="- aa",
    ),
    Case(
        "a queue that deserves nothing comes after a queue below its deserved share",
        nodes(1, 1), queue("left"), queue("right", deserved=cpu(1)), gang(1, name="first", queue="left"),
        gang(1, name="second", queue="right"), conf=FLAT, binds="- a",
    ),
    Case(
        "of equal shares a queue that deserves something comes first",
        nodes(2, 1), queue("left"), queue("right", deserved=cpu(1)), running("a", queue="right"),
        gang(1, name="first", queue="left"), gang(1, name="second", queue="right"), conf=FLAT, binds="- a",
    ),
    Case(
        "a queue above its deserved share comes after one that deserves nothing",
        nodes(3, 1), queue("left"), queue("right", deserved=cpu(1)), running("aa", queue="right"),
        gang(1, name="first", queue="left"), gang(1, name="second", queue="right"), conf=FLAT, binds="a -",
    ),
    Case(
        "priority comes before shares",
        nodes(1, 1), queue("left", priority=5), queue("right", deserved=cpu(1)), gang(1, name="first", queue="left"),
        gang(1, name="second", queue="right"), conf=FLAT, binds="a -",
    ),
    Case(
        "subtrees are compared at their common ancestor",
        nodes(4, 1), queue("org", deserved=cpu(3)), queue("one", "org", deserved=cpu(2)),
        queue("two", "org", deserved=cpu(1)), queue("lone", deserved=cpu(1)), running("aa", queue="one"),
        gang(2, name="first", queue="two", **SINGLES), gang(1, name="second", queue="lone"), conf=TREE, binds="a- a",
    ),
    Case(
        "what one queue gets moves its whole subtree back",
        nodes(4, 1), queue("one", deserved=cpu(2)), queue("two", deserved=cpu(2)),
        [queue(f"one-{number}", "one", deserved=cpu(1)) for number in range(2)],
        [queue(f"two-{number}", "two", deserved=cpu(1)) for number in range(2)],
        [gang(3, name=f"g-{name}", queue=name, **SINGLES) for name in ("one-0", "one-1", "two-0", "two-1")],
        conf=TREE, binds="a-- a-- a-- a--",
    ),
    Case(
        "a queue without a deserved share above queues with some deserves their sum",
        nodes(4, 1), queue("org"), queue("one", "org", deserved=cpu(2)), queue("lone", deserved=cpu(2)),
        gang(1, name="first", queue="one"), conf=TREE, binds="a", deserved={"org": {"cpu": "2"}, "one": {"cpu": "2"}},
    ),
]  # fmt: skip

ADMISSION = [
    Case(
        "a job that does not fit below the capability is not admitted",
        nodes(4, 1), queue("left", capability=cpu(2)), gang(1, cpu=3, queue="left", resources=cpu(3)), conf=FLAT,
        binds="-", phases={"gang": "Pending"}, codes={"gang": ["QueueCapabilityExceeded", "NotAdmitted"]},
    ),
    Case(
        "previously admitted jobs count",
        nodes(4, 1), queue("left", capability=cpu(2)), gang(2, name="first", queue="left", resources=cpu(2)),
        gang(1, name="second", queue="left", resources=cpu(1)), conf=FLAT, binds="aa -",
        phases={"first": "Running", "second": "Pending"},
    ),
    Case(
        "what a job holds above its minimum can be reclaimed",
        nodes(4, 1), queue("left", capability=cpu(3)), running("aaa", minimum=1, queue="left", resources=cpu(1)),
        gang(1, queue="left", resources=cpu(2)), conf=FLAT, binds="-", phases={"gang": "Inqueue"},
    ),
    Case(
        "every ancestor queue needs the capacity",
        nodes(8, 1), queue("org", capability=cpu(2)), queue("one", "org"), queue("two", "org"),
        gang(2, name="first", queue="one", resources=cpu(2)), gang(2, name="second", queue="two", resources=cpu(2)),
        conf=TREE, binds="aa --", phases={"second": "Pending"},
        reasons={"second": [
            "queue org resource quota insufficient: insufficient cpu", "the job is not admitted to its queue yet",
        ]},
    ),
    Case(
        "what a queue deserves it may claim, however full the queues above are",
        nodes(8, 1), queue("org", capability=cpu(2), deserved=cpu(2)), queue("one", "org", deserved=cpu(1)),
        queue("two", "org", deserved=cpu(1)), running("aa", queue="one", resources=cpu(2)),
        gang(1, queue="two", resources=cpu(1)), conf=TREE, binds="-", phases={"gang": "Inqueue"},
        codes={"gang": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "a full cluster does not block admission in a hierarchy",
        nodes(2, 1), queue("one", deserved=cpu(1)), queue("two", deserved=cpu(1)), running("aa", queue="one"),
        gang(2, queue="two", resources=cpu(2)), conf=TREE, binds="--", phases={"gang": "Inqueue"},
    ),
    Case(
        "a job without a minimum is admitted",
        nodes(1, 1), queue("left", capability=cpu(1)), gang(1, cpu=2, queue="left"), conf=FLAT, binds="-",
        phases={"gang": "Inqueue"},
    ),
]  # fmt: skip

IN_A_TREE = [
    Case(
        "the capability of a queue above holds for all below it together",
        nodes(8, 1), queue("org", capability=cpu(3)), queue("one", "org"), queue("two", "org", capability=cpu(2)),
        running("a", queue="two"), gang(4, name="first", queue="one", **SINGLES),
        gang(4, name="second", queue="two", **SINGLES), conf=TREE, binds="aa-- ----",
        codes={"first": ["QueueCapabilityExceeded"], "second": ["QueueCapabilityExceeded"]},
    ),
    Case(
        "a capability is inherited through queues that name none",
        nodes(8, 1), queue("org", capability=cpu(2)), queue("dep", "org"), queue("team", "dep"),
        gang(4, queue="team", **SINGLES), conf=TREE, binds="aa--",
        reasons={"gang": ["queue org may have cpu 2 and has 2"]},
    ),
    Case(
        "only what a capability does not name is inherited",
        nodes(8, 1, memory="8Gi"), queue("org", capability={"memory": "4Gi"}),
        queue("team", "org", capability={"memory": "2Gi"}), gang(3, memory="1Gi", queue="team", **SINGLES), conf=TREE,
        binds="aa-",
    ),
    Case(
        "the capability of the root holds for all queues",
        nodes(8, 1), queue("root", capability=cpu(2)), queue("one"), queue("two"),
        gang(2, name="first", queue="one", **SINGLES), gang(2, name="second", queue="two", **SINGLES), conf=TREE,
        binds="aa --", reasons={"second": ["queue root may have cpu 2 and has 2"]},
    ),
    Case(
        "a guarantee below a queue is unavailable to its siblings",
        nodes(8, 1), queue("org", capability=cpu(4)), queue("one", "org", guarantee=cpu(3)), queue("two", "org"),
        gang(4, queue="two", **SINGLES), conf=TREE, binds="a---",
        reasons={"gang": ["queue two may have cpu 1 and has 1"]},
    ),
    Case(
        "a guarantee deep in the tree is unavailable to all other queues",
        nodes(4, 1), queue("org"), queue("team", "org", guarantee=cpu(3)), queue("lone"),
        gang(4, queue="lone", **SINGLES), conf=TREE, binds="a---",
    ),
    Case(
        "siblings together respect a guarantee",
        nodes(8, 1), queue("org", capability=cpu(4)), queue("one", "org", guarantee=cpu(2)), queue("two", "org"),
        queue("three", "org"), gang(1, name="first", queue="three", **SINGLES),
        gang(2, name="second", queue="two", **SINGLES), conf=TREE, binds="a a-",
        reasons={"second": ["queue org may have cpu 4 and has 2; 2 is reserved for guarantees of others"]},
    ),
    Case(
        "a closed queue closes those below it",
        nodes(2, 1), queue("org", state="Closed"), queue("team", "org", state="Open"), gang(1, queue="team"), conf=TREE,
        binds="-", reasons={"gang": ["queue org is Closed, not Open"]},
    ),
    Case(
        "a queue without a parent is below the root, whether that exists or not",
        nodes(2, 1), queue("one"), queue("two", "root"), gang(1, name="first", queue="one"),
        gang(1, name="second", queue="two"), conf=TREE, binds="a a",
    ),
    Case(
        "without the switch a parent limits no queue",
        nodes(4, 1), queue("org", capability=cpu(1)), queue("team", "org"), gang(2, queue="team", **SINGLES), conf=FLAT,
        binds="aa",
    ),
]  # fmt: skip

HANGS = "the queue hangs below the root"
OWN_ANCESTOR = "is its own ancestor; correct its spec.parent"
MISTAKES = [
    Case(
        "a missing parent cuts off its subtree and no other queue",
        nodes(4, 1), queue("lost", "nowhere"), queue("team", "lost"), queue("sound"),
        gang(1, name="first", queue="team"), gang(1, name="second", queue="lost"),
        gang(1, name="third", queue="sound"), conf=TREE, binds="- - a",
        codes={"first": ["QueueMisplaced"], "second": ["QueueMisplaced"]},
        reasons={"first": [
            "queue team accepts no jobs: spec.parent of queue lost: queue 'nowhere' does not exist; "
            "create it or name another",
        ]},
        warnings=[
            f"Queue lost: spec.parent: queue 'nowhere' does not exist; {HANGS}",
            "Queue lost: it accepts no jobs: spec.parent of queue lost: queue 'nowhere' does not exist; "
            "create it or name another",
            "Queue team: it accepts no jobs: spec.parent of queue lost: queue 'nowhere' does not exist; "
            "create it or name another",
        ],
    ),
    Case(
        "a cycle of parents cuts off its subtree and no other queue",
        nodes(4, 1), queue("one", "two"), queue("two", "one"), queue("team", "two"), queue("sound"),
        gang(1, name="first", queue="team", resources=cpu(1)), gang(1, name="second", queue="sound"), conf=TREE,
        binds="- a", phases={"first": "Pending"}, codes={"first": ["QueueMisplaced", "NotAdmitted"]},
        warnings=[
            f"Queue one: spec.parent: the queue is its own ancestor; {HANGS}",
            f"Queue two: spec.parent: the queue is its own ancestor; {HANGS}",
            f"Queue one: it accepts no jobs: queue one {OWN_ANCESTOR}",
            f"Queue team: it accepts no jobs: queue two {OWN_ANCESTOR}",
            f"Queue two: it accepts no jobs: queue two {OWN_ANCESTOR}",
        ],
    ),
    Case(
        "what runs in a queue that is cut off counts for the root",
        nodes(4, 1), queue("root", capability=cpu(3)), queue("lost", "nowhere"), queue("sound"),
        running("aa", queue="lost"), gang(2, queue="sound", **SINGLES), conf=TREE, binds="a-",
        warnings=[
            f"Queue lost: spec.parent: queue 'nowhere' does not exist; {HANGS}",
            "Queue lost: it accepts no jobs: spec.parent of queue lost: queue 'nowhere' does not exist; "
            "create it or name another",
        ],
    ),
    Case(
        "jobs belong into queues at the ends of the tree",
        nodes(4, 1), queue("org"), queue("team", "org"), gang(1, name="first", queue="org"),
        gang(1, name="second", queue="team"), conf=TREE, binds="- a", codes={"first": ["QueueMisplaced"]},
        reasons={"first": ["queue org is for the queues below it; name one of those in spec.queue"]},
    ),
    Case(
        "the root takes no jobs",
        nodes(4, 1), queue("root"), queue("team"), gang(1, name="first", queue="root"),
        gang(1, name="second", queue="team"), conf=TREE, binds="- a", codes={"first": ["QueueMisplaced"]},
    ),
    Case(
        "children that deserve more than there is share it in proportion",
        nodes(18, 1), queue("science", deserved=cpu(12)), queue("physics", "science", deserved=cpu(12)),
        queue("biology", "science", deserved=cpu(6)), queue("other", deserved=cpu(6)), gang(1, queue="other"),
        conf=TREE, binds="a",
        deserved={
            "science": {"cpu": "12"}, "physics": {"cpu": "8"}, "biology": {"cpu": "4"}, "other": {"cpu": "6"},
        },
        warnings=[
            "Queue science: the queues below it deserve cpu 18 together, and it has only cpu 12 to share out; "
            "each counts in proportion",
        ],
    ),
    Case(
        "children with guarantees above the total share it in proportion, and no other queue pays",
        nodes(6, 1), queue("org", guarantee=cpu(2)), queue("one", "org", guarantee=cpu(3)),
        queue("two", "org", guarantee=cpu(3)), queue("lone"), gang(6, queue="lone", **SINGLES), conf=TREE,
        binds="aaaa--",
        warnings=[
            "Queue org: the queues below it are guaranteed cpu 6 together, and it has only cpu 2 to share out; "
            "each counts in proportion",
        ],
    ),
    Case(
        "a capability above that of the parent is cut",
        nodes(6, 1), queue("org", capability=cpu(2)), queue("team", "org", capability=cpu(5)),
        gang(6, queue="team", **SINGLES), conf=TREE, binds="aa----",
        warnings=["Queue team: spec.capability: cpu 5 is more than queue org above it may have; cpu 2 counts"],
    ),
    Case(
        "the limit of a parent is reported with the parent",
        nodes(6, 1), queue("org", capability=cpu(2)), queue("team", "org"), queue("other", "org"),
        holding("other", 2), gang(1, 3, queue="team"), conf=TREE, binds="-",
        reasons={"gang": ["queue org may have cpu 2 and has 2"]},
    ),
    Case(
        "also where the parent is empty",
        nodes(6, 1), queue("org", capability=cpu(2)), queue("part", "org"), queue("team", "part"),
        gang(1, 3, queue="team"), conf=TREE, binds="-", reasons={"gang": ["queue org may have cpu 2 and has 0"]},
    ),
    Case(
        "also before the job is admitted",
        nodes(6, 1), queue("org", capability=cpu(2)), queue("team", "org"),
        gang(1, 3, queue="team", resources=cpu(3)), conf=TREE, binds="-",
        reasons={"gang": ["queue org resource quota insufficient: insufficient cpu",
                          "the job is not admitted to its queue yet"]},
    ),
    Case(
        "a queue with a capability of its own is named itself",
        nodes(6, 1), queue("org", capability=cpu(4)), queue("team", "org", capability=cpu(2)),
        gang(1, 3, queue="team"), conf=TREE, binds="-", reasons={"gang": ["queue team may have cpu 2 and has 0"]},
    ),
    Case(
        "a guarantee above the capability of a queue above it is cut",
        nodes(6, 1), queue("org", capability=cpu(2)), queue("team", "org", guarantee=cpu(5)), queue("lone"),
        gang(6, queue="lone", **SINGLES), conf=TREE, binds="aaaa--",
        warnings=["Queue team: spec.guarantee.resource: cpu 5 is more than it may have; cpu 2 counts"],
    ),
]  # fmt: skip

HIGH = priority_class("high", 100)


def taking_back(
    name: str, *world: object, evicts: str, of: str = "evict-reclaimable", level: int | None = None
) -> Case:
    """Victims of the first pending pod, named by their queue and number, such as `rich-0`."""
    own = plugin("capacity", enableHierarchy=True, arguments={"ancestorReclaimLevel": level})
    conf = configuration(own if level is not None else "capacity", actions=of)
    gone = [f"{owner}-task-{number}" for owner, _, number in (each.rpartition("-") for each in evicts.split())]
    return Case(name, nodes(8, 1, gpu=8), HIGH, *world, conf=conf, evicts=gone, binds="-", extensions=PROBE_ACTIONS)


def preemptor(name: str = "poor", **facts: Any) -> Any:
    return gang(1, name="claim", queue=name, **facts)


POOR = [queue("poor", deserved=cpu(4)), preemptor()]

VICTIMS = [
    taking_back(
        "a queue gives what it has above its share, the last first",
        POOR, queue("rich", deserved=cpu(2)), holding("rich", 4), evicts="rich-2 rich-3",
    ),
    taking_back(
        "a queue within its share gives nothing", POOR, queue("rich", deserved=cpu(4)), holding("rich", 4), evicts="",
    ),
    taking_back(
        "a queue that deserves nothing gives everything",
        POOR, queue("rich"), holding("rich", 2), evicts="rich-0 rich-1",
    ),
    taking_back(
        "but not what it is guaranteed",
        POOR, queue("rich", guarantee=cpu(1)), holding("rich", 3), evicts="rich-1 rich-2",
    ),
    taking_back(
        "a pod without the needed resource is not evicted",
        queue("poor", deserved={GPU: 4}), preemptor(cpu=None, gpu=1), queue("rich"), holding("rich", 2), evicts="",
    ),
    taking_back(
        "what a queue does not deserve at all does not make it rich",
        POOR, queue("rich", deserved={GPU: 4}), holding("rich", 4, gpu=1), evicts="",
    ),
    taking_back(
        "one resource above its share is enough",
        POOR, queue("rich", deserved={"cpu": 4, GPU: 2}), holding("rich", 4, gpu=1), evicts="rich-2 rich-3",
    ),
    taking_back(
        "the least important loses first",
        POOR, queue("rich", deserved=cpu(1)),
        gang_of(
            pod(nodeName="a"), pod(nodeName="a", priorityClassName="high"), minimum=0, name="rich", queue="rich",
            phase="Running",
        ),
        evicts="rich-1",
    ),
    taking_back(
        "for a whole job by the same rule",
        POOR, queue("rich", deserved=cpu(2)), holding("rich", 3), of="evict-for-reclaim", evicts="rich-0",
    ),
    taking_back(
        "within a queue this does not apply",
        POOR, queue("rich", deserved=cpu(2)), holding("rich", 2), of="evict-for-preemption", evicts="rich-0 rich-1",
    ),
    taking_back(
        "a queue below its deserved share may reclaim",
        POOR, queue("rich"), holding("rich", 2), of="evict-for-queue", evicts="rich-0 rich-1",
    ),
    taking_back(
        "a queue that deserves nothing may not",
        queue("poor"), preemptor(), queue("rich"), holding("rich", 2), of="evict-for-queue", evicts="",
    ),
    taking_back(
        "a queue that has what it deserves may not",
        queue("poor", deserved=cpu(1)), preemptor(), holding("poor", 1), queue("rich"), holding("rich", 2),
        of="evict-for-queue", evicts="",
    ),
    taking_back(
        "nor one that would have too much of something else",
        queue("poor", deserved={"cpu": 4, GPU: 1}), preemptor(gpu=1), holding("poor", 1, gpu=1), queue("rich"),
        holding("rich", 7, gpu=1), of="evict-for-queue", evicts="",
    ),
    taking_back(
        "nor one that may not have so much",
        queue("poor", deserved=cpu(4), capability=cpu("500m")), preemptor(), queue("rich"), holding("rich", 2),
        of="evict-for-queue", evicts="",
    ),
    taking_back(
        "nor one that is closed",
        queue("poor", deserved=cpu(4), state="Closing"), preemptor(), queue("rich"), holding("rich", 2),
        of="evict-for-queue", evicts="",
    ),
]  # fmt: skip

#: Two departments; the preemptor is in the first.
ORG = [queue("one", deserved=cpu(4)), queue("two", deserved=cpu(4)), queue("poor", "one", deserved=cpu(2)), preemptor()]

IN_THE_TREE = [
    taking_back(
        "by itself, a level counts nothing above",
        ORG, queue("rich", "two"), holding("rich", 2), level=0, evicts="rich-0 rich-1",
    ),
    taking_back(
        "a department within its share protects its queues",
        ORG, queue("rich", "two"), holding("rich", 2), level=1, evicts="",
    ),
    taking_back(
        "a department above its share gives what is above",
        ORG, queue("rich", "two"), holding("rich", 6), level=1, evicts="rich-4 rich-5",
    ),
    taking_back(
        "within a department only the queues themselves count",
        ORG, queue("rich", "one", deserved=cpu(1)), holding("rich", 3), level=1, evicts="rich-1 rich-2",
    ),
    taking_back(
        "two queues that deserve nothing do not reclaim from each other",
        queue("one", deserved=cpu(4)), queue("poor", "one"), preemptor(), queue("rich", "one"), holding("rich", 2),
        level=1, evicts="",
    ),
    taking_back(
        "a negative level is none",
        ORG, queue("rich", "two"), holding("rich", 1), level=-3, evicts="rich-0",
    ),
    taking_back(
        "a queue may reclaim what its department deserves",
        queue("one", deserved=cpu(4)), queue("poor", "one"), preemptor(), queue("rich"), holding("rich", 1), level=1,
        of="evict-for-queue", evicts="rich-0",
    ),
    taking_back(
        "only if the level allows it",
        queue("one", deserved=cpu(4)), queue("poor", "one"), preemptor(), queue("rich"), holding("rich", 1), level=0,
        of="evict-for-queue", evicts="",
    ),
    taking_back(
        "and only as long as the department has less",
        queue("one", deserved=cpu(2)), queue("poor", "one"), preemptor(), queue("near", "one"), holding("near", 2),
        queue("rich"), holding("rich", 1), level=1, of="evict-for-queue", evicts="",
    ),
    taking_back(
        "the nearest queue loses first",
        ORG, queue("far", "two"), queue("near", "one"), holding("far", 1), holding("near", 1), level=0,
        of="evict-first", evicts="near-0",
    ),
    taking_back(
        "a guarantee of a department is kept by its queues",
        ORG[2:], queue("one", deserved=cpu(4)), queue("two", guarantee=cpu(2)), queue("rich", "two"),
        holding("rich", 3), level=0, evicts="rich-2",
    ),
    taking_back(
        "in a full department other queues are preempted only beside its own",
        queue("one", deserved=cpu(4), capability=cpu(4)), queue("two"), queue("poor", "one", deserved=cpu(2)),
        preemptor(), queue("rich", "one", deserved=cpu(2)), holding("rich", 4), queue("far", "two"), holding("far", 2),
        level=0, evicts="far-0 far-1 rich-2 rich-3",
    ),
    taking_back(
        "and not at all if these have no more than they deserve",
        queue("one", deserved=cpu(4), capability=cpu(4)), queue("two"), queue("poor", "one", deserved=cpu(1)),
        preemptor(), queue("rich", "one", deserved=cpu(3)), holding("rich", 3), holding("poor", 1),
        queue("far", "two"), holding("far", 2), level=0, evicts="",
    ),
]  # fmt: skip

RECLAIM = configuration(
    "gang", "priority", plugin("capacity", enableHierarchy=True), "predicates", actions="enqueue, allocate, reclaim"
)

RECLAIMED = [
    Case(
        "what a queue deserves it gets back",
        nodes(4, 1), queue("rich", deserved=cpu(2)), queue("poor", deserved=cpu(2)), running("aaaa", queue="rich"),
        gang(2, queue="poor"), conf=RECLAIM, binds="AA", evicts=["old-task-2", "old-task-3"],
    ),
    Case(
        "a full ancestor queue keeps a preemptor out, also where nodes have capacity",
        nodes(8, 1), queue("one", capability=cpu(1)), queue("poor", "one", guarantee=cpu(1)),
        running("a", queue="one"), gang(1, queue="poor"), conf=RECLAIM, binds="-",
    ),
    Case(
        "victims are selected below the full queue, and not elsewhere",
        nodes(8, 1), queue("one", capability=cpu(4)), queue("rich", "one", deserved=cpu(2)),
        queue("poor", "one", deserved=cpu(2)), queue("far"), running("aaaa", queue="rich"),
        running("aaaa", name="others", queue="far"), gang(1, queue="poor"), conf=RECLAIM, binds="A",
        evicts=["old-task-3"],
    ),
]  # fmt: skip

CUT_OFF = Case(
    "a queue that is cut off loses nothing",
    nodes(8, 1), POOR, queue("lost", "nowhere"), holding("lost", 2), extensions=PROBE_ACTIONS, binds="-",
    conf=configuration(plugin("capacity", enableHierarchy=True), actions="evict-reclaimable"), evicts=[],
    warnings=[
        f"Queue lost: spec.parent: queue 'nowhere' does not exist; {HANGS}",
        "Queue lost: it accepts no jobs: spec.parent of queue lost: queue 'nowhere' does not exist; "
        "create it or name another",
    ],
)  # fmt: skip

BESIDE_PROPORTION = [
    Case(
        "of capacity and proportion the first counts",
        nodes(4, 1), plain_queue("left"), plain_queue("right"), gang(4, name="first", queue="left", **SINGLES),
        gang(4, name="second", queue="right", **SINGLES), conf=configuration(["gang", "proportion"], ["capacity"]),
        binds="aa-- aa--", warnings=[
            "configuration:7: plugin 'capacity' is left out: it excludes plugin 'proportion' (line 5), which is listed "
            "first; remove one of them",
        ],
    ),
    Case(
        "in either order",
        nodes(4, 1), queue("left", capability=cpu(3)), gang(4, queue="left", **SINGLES),
        conf=configuration("gang", "capacity", "proportion"), binds="aaa-", deserved={"left": {}}, warnings=[
            "configuration:6: plugin 'proportion' is left out: it excludes plugin 'capacity' (line 5), which is listed "
            "first; remove one of them",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [
        *LIMITS,
        *ORDER,
        *ADMISSION,
        *IN_A_TREE,
        *MISTAKES,
        *VICTIMS,
        *IN_THE_TREE,
        *RECLAIMED,
        CUT_OFF,
        *BESIDE_PROPORTION,
    ],
    ids=str,
)
def test_capacity(case: Case) -> None:
    case.check()
