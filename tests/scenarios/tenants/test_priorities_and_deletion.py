"""What a tenant may write into pods and groups gives no advantage over other jobs."""

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import gang, gang_of, nodes, pod, priority_class, queue, running

PREEMPT = configuration("priority", "conformance", "predicates", actions="enqueue, allocate, preempt")
CLASSES = [priority_class("high", 100), priority_class("low", 10)]
TASK_PRIORITY = "volcano.sh/task-priority"
HIGH = gang(1, name="high", priority="high")
LARGE, LARGER = "2147483647", "99999999999"
IGNORED = f"Pod default/low-task-0: metadata.annotations[{TASK_PRIORITY}]: '{LARGER}' is not a number from -2147483648"
AS_MEMBERS = [pod(), pod(annotations={TASK_PRIORITY: "7"})]

CASES = [
    Case("task priority does not protect from other jobs", nodes(1, 1), CLASSES,
         running("a", name="low", priority="low", annotations={TASK_PRIORITY: LARGE}), HIGH,
         conf=PREEMPT, binds="A", evicts=["low-task-0"]),
    Case("task priority outside of 32 bits is ignored with a warning", nodes(1, 1), CLASSES,
         running("a", name="low", priority="low", annotations={TASK_PRIORITY: LARGER}), HIGH, conf=PREEMPT, binds="A",
         evicts=["low-task-0"], warnings=[f"{IGNORED} to {LARGE}; annotation ignored"]),
    Case("task priority orders the tasks of a job", nodes(1, 1), gang_of(*AS_MEMBERS, minimum=1),
         conf=configuration("gang", "priority", "predicates"), binds="-a"),
]  # fmt: skip

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}
LISTS = {"scheduling.stromboli.dev/priority-classes": "low,middle"}
CLASSES_OF_QUEUE = [*CLASSES, priority_class("middle", 50), queue("shared", annotations=LISTS), queue("open")]


def _against(members: str, *, queue: str = "shared", group: str = "low") -> list[Any]:
    """A running job with this class of its pods; a job of class middle in its queue finds no free node."""
    old = running("a", name="old", queue=queue, priority=group, priorityClassName=members)
    return [*nodes(1, 1), *CLASSES_OF_QUEUE, *old, *gang(1, name="new", queue=queue, priority="middle")]


QUEUE_CASES = [
    Case("class that the queue allows protects", _against("middle"), conf=PREEMPT, binds="-"),
    Case("class that the queue does not allow", _against("high"), conf=PREEMPT, binds="A", evicts=["old-task-0"]),
    Case("queue that allows all classes", _against("high", queue="open"), conf=PREEMPT, binds="-"),
    Case("class that the group names, too", _against("high", group="high"), conf=PREEMPT, binds="-"),
    Case("class that keeps the cluster alive", _against("system-node-critical"), conf=PREEMPT, binds="A",
         evicts=["old-task-0"]),
]  # fmt: skip


@pytest.mark.parametrize("case", QUEUE_CASES, ids=str)
def test_class_of_a_pod_counts_if_its_queue_allows_it(case: Case) -> None:
    """It was reviewed in the queue of the group that the pod had when it was created."""
    case.check()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_task_priority_counts_within_its_job_alone(case: Case) -> None:
    case.check()


def test_group_being_deleted_starts_no_pod() -> None:
    members = gang(2, name="leaving")
    members[0]["metadata"] |= LEAVING
    Case(
        "a group being deleted", nodes(4, 1), members, gang(1, name="other"), binds="-- a",
        codes={"default/leaving": ["PodGroupBeingDeleted"], "default/other": []},
    ).check()  # fmt: skip


STARTS_NOTHING = {
    "being deleted": gang(1, name="other", queue="gold", phase="Inqueue"),
    "invalid": gang(1, name="other", queue="gold", phase="Inqueue", resources={"cpu": "much"}),
}
STARTS_NOTHING["being deleted"][0]["metadata"] |= LEAVING


@pytest.mark.parametrize("group", STARTS_NOTHING)
def test_group_that_starts_nothing_takes_no_share(group: str) -> None:
    """Otherwise its queue would keep what it requests from the others, and leave it idle."""
    case = Case(
        group, nodes(4, 1), queue("gold"), gang(4), STARTS_NOTHING[group],
        conf=configuration("gang", "proportion", "predicates"), binds="",
    )  # fmt: skip
    assert case.binds(case.plan()) == "aaaa-"
