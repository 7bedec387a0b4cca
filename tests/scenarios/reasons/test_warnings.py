"""Which states of a group are Unschedulable, with a Warning event, and which are not."""

from typing import Any

import pytest

from tests.scenarios.reasons.reported_cluster import KEY, ReportedCluster
from tests.testing.cases.case import PLAIN, STANDARD
from tests.testing.manifests.builders import gang, group, nodes, queue, running

FULL = [nodes(4, 1), running("a", 4)]
LIMITED = [nodes(4, 1), queue("left", capability={"cpu": 2})]
CLOSED = [nodes(4, 1), queue("left", state="Closed")]
ONE_OF_TWO = gang(1, minimum=2)

#: State, cluster, configuration, phase, and the reason of the condition in the first cycle and 20 seconds later.
STATES: list[tuple[str, Any, str, str, str, str]] = [
    ("admitted, no pods yet", [nodes(4, 1), group("gang", 2)], PLAIN, "Inqueue", "", ""),
    (
        "admitted with minResources, no pods yet",
        [nodes(4, 1), group("gang", 2, resources={"cpu": 2})], STANDARD, "Inqueue", "", "",
    ),
    ("admitted earlier, no pods yet", [*FULL, group("gang", 2, phase="Inqueue")], STANDARD, "Inqueue", "", ""),
    ("some pods are created", [nodes(4, 1), ONE_OF_TWO], PLAIN, "Inqueue", "", "NotEnoughTasks"),
    (
        "some pods of a role are created",
        [nodes(4, 1), gang(2, roles=["a", "b"], minimum=2, minimums={"a": 2})], PLAIN,
        "Inqueue", "", "NotEnoughPodsOfTask",
    ),
    (
        "not admitted by the cluster, no pods", [*FULL, group("gang", 1, resources={"cpu": 4})], STANDARD,
        "Pending", "ClusterOvercommitted", "ClusterOvercommitted",
    ),
    (
        "not admitted by its queue, no pods", [*LIMITED, group("gang", 1, resources={"cpu": 3}, queue="left")],
        STANDARD, "Pending", "QueueCapabilityExceeded", "QueueCapabilityExceeded",
    ),
    (
        "not admitted by a closed queue, no pods", [*CLOSED, group("gang", 1, resources={"cpu": 3}, queue="left")],
        STANDARD, "Pending", "QueueNotOpen", "QueueNotOpen",
    ),
    (
        "not admitted, some pods", [*LIMITED, gang(1, minimum=2, resources={"cpu": 3}, queue="left")], STANDARD,
        "Pending", "QueueCapabilityExceeded", "QueueCapabilityExceeded",
    ),
    ("no such queue, no pods", [nodes(4, 1), group("gang", 1, queue="nowhere")], PLAIN, "Pending", "QueueUnknown",
     "QueueUnknown"),
    ("lost pods while it runs", [nodes(4, 1), running("a", name="gang", minimum=2)], PLAIN, "Unknown",
     "NotEnoughTasks", "NotEnoughTasks"),
    ("no node has capacity", [*FULL, gang(1)], PLAIN, "Inqueue", "NotEnoughResources", "NotEnoughResources"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("world", "conf", "phase", "first", "later"), [each[1:] for each in STATES], ids=[each[0] for each in STATES]
)
def test_state_is_unschedulable_with_one_warning_or_has_neither(
    world: Any, conf: str, phase: str, first: str, later: str
) -> None:
    reported = ReportedCluster(world, conf=conf)
    status = reported.cycle().statuses[KEY]
    assert status.phase == phase
    assert status.summary, "`plan` and `explain` report in every state what the job waits for"
    assert reported.conditions == ({"Unschedulable": ("True", first)} if first else {})
    assert len(reported.warnings) == bool(first)
    reported.cycle()
    assert reported.conditions == ({"Unschedulable": ("True", later)} if later else {})
    assert len(reported.warnings) == bool(later)


def test_pods_that_are_created_one_by_one_get_no_warning() -> None:
    head, *members = gang(4)
    reported = ReportedCluster(nodes(4, 1), head)
    for member in members:
        reported.cycle(seconds=6)
        reported.apply(member)
    reported.cycle(seconds=6)
    assert reported.conditions == {"Scheduled": ("True", "tasks in gang are ready to be scheduled")}
    assert (reported.warnings, reported.unschedulable_pods) == ([], [])


def test_missing_pods_are_reported_when_no_more_are_created() -> None:
    reported = ReportedCluster(nodes(4, 1), ONE_OF_TWO)
    for _ in range(2):
        reported.cycle(seconds=6)
        assert (reported.conditions, reported.unschedulable_pods) == ({}, [])
    assert reported.requeue_due(), "without another change, a cycle is requested"
    reported.cycle()
    assert reported.conditions == {"Unschedulable": ("True", "NotEnoughTasks")}
    assert reported.unschedulable_pods == ["gang-task-0"]


def test_admission_ends_unschedulable_although_pods_do_not_exist_yet() -> None:
    reported = ReportedCluster(LIMITED, group("gang", 1, resources={"cpu": 3}, queue="left"), conf=STANDARD)
    reported.cycle()
    reported.apply(queue("left", capability={"cpu": 4}))
    reported.cycle()
    assert reported.conditions == {"Unschedulable": ("False", "QueueCapabilityExceeded")}
    assert len(reported.warnings) == 1


def test_group_whose_pods_are_all_gone_is_neither_scheduled_nor_unschedulable() -> None:
    head, member = running("a", name="gang", minimum=1)
    reported = ReportedCluster(nodes(4, 1), head, member)
    reported.cycle()
    assert reported.conditions["Scheduled"][0] == "True"
    reported.remove(member)
    reported.cycle()
    assert {kind: status for kind, (status, _) in reported.conditions.items()} == {"Scheduled": "False"}
    assert reported.warnings == []
