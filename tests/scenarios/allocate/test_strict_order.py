"""Strict queues: a job that waits holds back later jobs of its queue on the nodes that both may use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, nodes, pod, priority_class, queue, running

FIFO = [queue("fifo", strategy="fifo"), queue("other")]
STRICT = configuration("gang", "predicates", actions="allocate", arguments={"allocate": {"strict": True}})
#: Two nodes of four, half of the first is used.
TWO = [*nodes(4, 2), *running("a", 2)]
LABELLED = [node("a", 4, labels={"pool": "x"}), node("b", 4, labels={"pool": "y"}), *running("a", 2)]


def job(name: str, count: int, cpu: object, minute: int, queue: str | None = "fifo", **facts: Any) -> list[Manifest]:
    """A gang that arrived in this minute."""
    return gang(count, cpu, name=name, queue=queue, created=f"2026-01-01T12:{minute:02}:00Z", **facts)


#: It waits for the second half of the first node.
HEAD = job("head", 2, 4, 0)
SHORT = "waits behind default/head (strict queue)"
BEHIND = "default/head is before it in the strict order of queue fifo, and waits for nodes that both may use"

CASES = [
    Case("later jobs overtake by default", TWO, queue("fifo"), HEAD, job("later", 1, 1, 1), binds="-- a"),
    Case(
        "and with the strategy traverse",
        TWO, queue("fifo", strategy="traverse"), HEAD, job("later", 1, 1, 1), binds="-- a",
    ),
    Case(
        "a job that waits holds back a later one of a strict queue",
        TWO, FIFO, HEAD, job("later", 1, 1, 1), binds="-- -",
        reasons={"later": [BEHIND]}, codes={"later": ["HeldBackByQueueOrder"]},
    ),
    Case(
        "the argument makes every queue strict",
        TWO, queue("fifo"), HEAD, job("later", 1, 1, 1), conf=STRICT, binds="-- -",
    ),
    Case("jobs of other queues start", TWO, FIFO, HEAD, job("later", 1, 1, 1, "other"), binds="-- a"),
    Case("all jobs start in order while they fit", nodes(4, 2), FIFO, HEAD, job("later", 1, 1, 1), binds="ab -"),
    Case("an earlier job starts", TWO, FIFO, job("early", 1, 2, 0), job("head", 2, 4, 1), binds="a --"),
    Case(
        "the order is that of the queue: priority comes first",
        TWO, FIFO, priority_class("high", 10), HEAD, job("urgent", 1, 1, 1, priority="high"),
        conf=configuration("priority", "gang", "predicates", actions="allocate"), binds="-- a",
    ),
    Case(
        "a job for other nodes is not held back",
        LABELLED, FIFO, job("head", 1, 4, 0, nodeSelector={"pool": "x"}),
        job("later", 1, 4, 1, nodeSelector={"pool": "y"}), binds="- b",
    ),
    Case(
        "a job that may use all nodes starts on the others",
        LABELLED, FIFO, job("head", 1, 4, 0, nodeSelector={"pool": "x"}), job("later", 4, 1, 1), binds="- bbbb",
    ),
    Case(
        "and waits with its reason when these are too few",
        LABELLED, FIFO, job("head", 1, 4, 0, nodeSelector={"pool": "x"}), job("later", 5, 1, 1), binds="- -----",
        codes={"later": ["HeldBackByQueueOrder", "CapacityNominated", "InsufficientResource", "GangDoesNotFit"]},
    ),
    Case(
        "nodes that are too small for the first job are not held",
        node("a", 8), node("b", 2), running("a", 2), FIFO, job("head", 1, 8, 0), job("later", 1, 1, 1), binds="- b",
    ),
    Case(
        "a third job is held back by the second one on its nodes",
        LABELLED, FIFO, running("b", 2, name="more"), job("head", 1, 4, 0, nodeSelector={"pool": "x"}),
        job("second", 1, 4, 1, nodeSelector={"pool": "y"}), job("third", 1, 1, 2, nodeSelector={"pool": "y"}),
        binds="- - -",
        reasons={"third": [BEHIND.replace("head", "second")]},
    ),
    Case(
        "a node that tolerations exclude is not held",
        node("a", 4, taints=["gpu=yes:NoSchedule"]), node("b", 4), running("b", 2), FIFO, job("head", 1, 4, 0),
        job("later", 1, 1, 1, tolerations=["gpu=yes:NoSchedule"]), binds="- a",
    ),
    Case(
        "a job larger than every node holds back none",
        TWO, FIFO, job("head", 1, 5, 0), job("later", 1, 1, 1), binds="- a",
    ),
    Case(
        "nor does a gang larger than the cluster",
        TWO, FIFO, job("head", 9, 1, 0), job("later", 1, 1, 1), binds="--------- a",
    ),
    Case(
        "nor a gang with gated pods",
        TWO, FIFO, gang_of(pod(4), pod(4, gated=True), name="head", queue="fifo", created="2026-01-01T12:00:00Z"),
        job("later", 1, 1, 1), binds="-- a",
    ),
    Case(
        "nor a job with a missing volume claim",
        TWO, FIFO, job("head", 1, 1, 0, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "none"}}]),
        job("later", 1, 1, 1), binds="- a",
    ),
    Case(
        "a job beyond the capability of its queue holds back none",
        nodes(4, 2), queue("fifo", strategy="fifo", capability={"cpu": 3}), job("head", 1, 4, 0), job("later", 1, 1, 1),
        conf=configuration("gang", "predicates", "proportion", actions="allocate"), binds="- a",
    ),
    Case(
        "a job that waits for the capability of its queue holds back later ones",
        nodes(4, 2), queue("fifo", strategy="fifo", capability={"cpu": 5}), running("a", 2, queue="fifo"),
        job("head", 1, 4, 0), job("later", 1, 1, 1),
        conf=configuration("gang", "predicates", "proportion", actions="allocate"), binds="- -",
        codes={"later": ["HeldBackByQueueOrder"]},
    ),
    Case(
        "a job with its minimum holds back none with its other pods",
        nodes(4, 1), FIFO, job("head", 2, 3, 0, minimum=1), job("later", 1, 1, 1), binds="a- a",
    ),
    Case(
        "a job that waits for terminating pods keeps what is nominated for it, and holds back none",
        nodes(4, 1), FIFO, running("a", 3, releasing=True), job("head", 1, 3, 0), job("later", 1, 1, 1), binds="A a",
    ),
    Case(
        "a job that is not admitted holds back the admission of later ones",
        TWO, FIFO, gang(2, 4, name="head", queue="fifo", resources={"cpu": 8}, created="2026-01-01T12:00:00Z"),
        gang(1, 1, name="later", queue="fifo", resources={"cpu": 1}, created="2026-01-01T12:01:00Z"),
        conf=configuration("gang", "predicates", "overcommit"), binds="-- -",
        phases={"head": "Pending", "later": "Pending"}, codes={"later": ["HeldBackByQueueOrder", "NotAdmitted"]},
    ),
    Case(
        "but not in another queue",
        TWO, FIFO, gang(2, 4, name="head", queue="fifo", resources={"cpu": 8}, created="2026-01-01T12:00:00Z"),
        gang(1, 1, name="later", queue="other", resources={"cpu": 1}, created="2026-01-01T12:01:00Z"),
        conf=configuration("gang", "predicates", "overcommit"), binds="-- a",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_strict_order(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_objects_does_not_matter(case: Case) -> None:
    plan, twin = case.plan(), case.backwards().plan()
    assert (plan.binds, plan.pipelined) == (twin.binds, twin.pipelined)


def test_summary_of_held_back_job_names_the_job_before_it() -> None:
    case = next(case for case in CASES if case.name == "a job that waits holds back a later one of a strict queue")
    assert case.plan().groups["default/later"].summary == SHORT
