"""Admission: by the declared minResources, not by existing pods."""

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import foreign, gang, gang_of, group, nodes, pod, queue, running

SPACIOUS = configuration("gang", "overcommit", "predicates")
TIGHT = configuration("gang", plugin("overcommit", {"overcommit-factor": 1.0}), "predicates")
SHARES = configuration("gang", "proportion", "predicates")
FULL = [foreign("a", cpu=10)]


def wants(cpu: object, name: str = "gang", **facts: Any) -> object:
    """A pending group without pods."""
    return group(name, 1, resources={"cpu": cpu}, **facts)


OVERCOMMIT = [
    Case("a group is admitted without any pod", nodes(10, 1), wants(4), conf=SPACIOUS, binds="",
         phases={"gang": "Inqueue"}),
    Case(
        "a group without minResources is admitted",
        nodes(10, 1), FULL, group("gang", 1), conf=TIGHT, binds="", phases={"gang": "Inqueue"},
    ),
    Case(
        "a little more than the cluster has",
        nodes(10, 1), wants(12), conf=SPACIOUS, binds="", phases={"gang": "Inqueue"},
    ),
    Case(
        "too much",
        nodes(10, 1), gang(1, resources={"cpu": "12001m"}), conf=SPACIOUS, binds="-", phases={"gang": "Pending"},
        reasons={"gang": ["minResources requests cpu 12001m, but the cluster has cpu 10"]},
        codes={"gang": ["ExceedsCluster"]},
    ),
    Case(
        "a factor of 1 is exactly the cluster",
        nodes(10, 1), wants(10, "first"), conf=TIGHT, binds="", phases={"first": "Inqueue"},
    ),
    Case("and nothing beyond", nodes(10, 1), wants(11, "first"), conf=TIGHT, binds="", phases={"first": "Pending"}),
    Case(
        "a factor below 1 is read as 1.2",
        nodes(10, 1), wants(12), conf=configuration(plugin("overcommit", {"overcommit-factor": 0.5})), binds="",
        phases={"gang": "Inqueue"},
    ),
    Case(
        "used capacity counts, regardless of its owner",
        nodes(10, 1), foreign("a", cpu=8), wants(4, "first"), wants(5, "second"), conf=SPACIOUS, binds="",
        phases={"first": "Inqueue", "second": "Pending"},
    ),
    Case(
        "what was admitted in this cycle counts",
        nodes(10, 1), wants(8, "first"), wants(8, "second"), wants(4, "third"), conf=SPACIOUS, binds="",
        phases={"first": "Inqueue", "second": "Pending", "third": "Inqueue"},
    ),
    Case(
        "a completed group without pods counts for nothing, and waits for nothing",
        nodes(10, 1), wants(8, "first", phase="Completed"), wants(8, "second"), conf=SPACIOUS, binds="",
        phases={"first": "Completed", "second": "Inqueue"}, codes={"first": []},
    ),
    Case(
        "a completed group with new pods is admitted again",
        nodes(10, 1), gang(1, 8, phase="Completed", resources={"cpu": 8}), conf=SPACIOUS, binds="a",
        phases={"gang": "Running"},
    ),
    Case(
        "a completed group with new pods is not admitted if they are too much",
        nodes(10, 1), gang(1, phase="Completed", resources={"cpu": 13}), conf=SPACIOUS, binds="-",
        phases={"gang": "Pending"}, codes={"gang": ["ExceedsCluster"]},
    ),
    Case(
        "what was admitted before counts",
        nodes(10, 1), wants(8, "first", phase="Inqueue"), wants(8, "second"), conf=SPACIOUS, binds="",
        phases={"first": "Inqueue", "second": "Pending"},
    ),
    Case(
        "of an admitted job only the unused part counts",
        nodes(10, 1), gang_of(pod(4, nodeName="a"), name="first", phase="Running", minimum=1, resources={"cpu": 6}),
        wants(6, "second"), wants(1, "third"), conf=SPACIOUS, binds="",
        phases={"second": "Inqueue", "third": "Pending"},
    ),
    Case(
        "gated pods reserve no capacity",
        nodes(10, 1), gang(2, cpu=6, gated=True, name="first", resources={"cpu": 12}, phase="Inqueue"),
        wants(12, "second"), conf=SPACIOUS, binds="--", phases={"second": "Inqueue"},
    ),
    Case(
        "every resource counts",
        nodes(10, 1, memory="10Gi"), foreign("a", memory="10Gi"), gang(1, resources={"cpu": 1, "memory": "3Gi"}),
        conf=SPACIOUS, binds="-",
        reasons={"gang": ["resource in cluster is overused: overused memory",
                          "the job is not admitted to its queue yet"]},
    ),
    Case(
        "pods of a job that is not admitted wait",
        nodes(10, 1), gang(2, resources={"cpu": 13}), gang(2, name="other"), conf=SPACIOUS, binds="-- aa",
    ),
    Case(
        "without the action every job is admitted",
        nodes(10, 1), gang(2, resources={"cpu": 13}), conf=configuration("gang", "overcommit", actions="allocate"),
        binds="aa",
    ),
    Case(
        "also those whose pods do not exist yet",
        nodes(10, 1), group("empty", 2), gang(1, minimum=2), conf=configuration("gang", actions="allocate"), binds="-",
        phases={"empty": "Inqueue", "gang": "Inqueue"},
    ),
    Case(
        "two plugins must both agree",
        nodes(10, 1), queue("left", capability={"cpu": 9}), wants(10, "first", queue="left"), wants(10, "second"),
        conf=configuration("gang", "overcommit", "proportion"), binds="",
        phases={"first": "Pending", "second": "Inqueue"},
    ),
    Case(
        "a permission of an earlier tier is final",
        nodes(10, 1), queue("left", capability={"cpu": 9}), wants(10, "first", queue="left"),
        conf=configuration(["overcommit"], ["proportion"]), binds="", phases={"first": "Inqueue"},
    ),
]  # fmt: skip

QUEUES = [
    Case(
        "a queue admits as much as its capability",
        nodes(10, 1), queue("left", capability={"cpu": 4}), wants(3, "first", queue="left"),
        gang(2, name="second", queue="left", resources={"cpu": 2}), wants(1, "third", queue="left"), conf=SHARES,
        binds="--", phases={"first": "Inqueue", "second": "Pending", "third": "Inqueue"},
        reasons={
            "second": ["queue resource quota insufficient: insufficient cpu",
                       "the job is not admitted to its queue yet"],
        },
        codes={"second": ["QueueCapabilityExceeded", "NotAdmitted"]},
    ),
    Case(
        "what runs counts",
        nodes(10, 1), queue("left", capability={"cpu": 4}), running("aa", queue="left", resources={"cpu": 2}),
        wants(3, "first", queue="left"), wants(2, "second", queue="left"), conf=SHARES, binds="",
        phases={"first": "Pending", "second": "Inqueue"},
    ),
    Case(
        "but not what runs beyond its own minimum",
        nodes(10, 1), queue("left", capability={"cpu": 4}), running("aa", queue="left", resources={"cpu": 1}),
        wants(3, "first", queue="left"), conf=SHARES, binds="", phases={"first": "Inqueue"},
    ),
    Case(
        "what others are guaranteed is out of reach",
        nodes(10, 1), queue("left"), queue("right", guarantee={"cpu": 7}), wants(3, "first", queue="left"),
        wants(1, "second", queue="left"), conf=SHARES, binds="", phases={"first": "Inqueue", "second": "Pending"},
    ),
    Case(
        "a closed queue admits no job",
        nodes(10, 1), queue("left", state="Closed"), gang(1, queue="left", resources={"cpu": 1}), conf=SHARES,
        binds="-", phases={"gang": "Pending"},
        reasons={"gang": ["queue left is Closed, not Open", "the job is not admitted to its queue yet"]},
    ),
    Case(
        "queues are served in turn",
        nodes(10, 1), queue("left"), queue("right"), running("aa", queue="left"), wants(6, "first", queue="left"),
        wants(6, "second", queue="right"),
        conf=configuration("overcommit", plugin("proportion", enableJobEnqueued=False)), binds="",
        phases={"first": "Pending", "second": "Inqueue"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", OVERCOMMIT + QUEUES, ids=str)
def test_enqueue(case: Case) -> None:
    case.check()
