"""The short form, the condition and the event of waiting jobs, as the scheduler reports them."""

from typing import Any

import pytest

from tests.scenarios.reasons.reported_cluster import KEY, ReportedCluster
from tests.testing.cases.case import PLAIN, STANDARD, configuration
from tests.testing.manifests.builders import foreign, gang, gang_of, group, node, nodes, pod, queue, running


def tasks(number: str, counts: str, origin: str = "") -> str:
    """The part of a message that Volcano's tools look for."""
    text = f"{number} tasks in gang unschedulable: pod group is not ready, {counts}"
    return f"{text}. Origin reason is {origin}" if origin else text


ONE = "1/1", "1 Pending, 1 minAvailable; Pending: 1 Unschedulable"
THREE = "1/3", "3 Pending, 3 minAvailable; Pending: 2 Schedulable, 1 Unschedulable"
TAINT = ["gpu=true:NoSchedule"]
CAPACITY = configuration("gang", "predicates", "capacity")
LIMITED = [nodes(8, 2), queue("left", capability={"cpu": 4}), gang(3, 2, queue="left")]
NOT_ADMITTED = "no pods exist yet, 1 must start together; the job is not admitted to its queue yet"
#: Cause, cluster, configuration, short form, and the rest of the message of condition and event.
CAUSES: list[tuple[str, Any, str, str, str]] = [
    (
        "no free node", [nodes(8, 1), foreign("a", cpu=4), gang(1, 8)], PLAIN,
        "needs 8 cpu, most free on a node is 4",
        tasks(*ONE, "default/gang-task-0: 0/1 nodes are available: 1 Insufficient cpu."),
    ),
    (
        "a part fits", [nodes(6, 1), foreign("a", cpu=2), gang(3, 2)], PLAIN,
        "2 of 3 pods fit; the next needs 2 cpu, most free is 0",
        tasks(*THREE, "default/gang-task-2: 0/1 nodes are available: 1 Insufficient cpu."),
    ),
    (
        "larger than the cluster", [nodes(4, 2, gpu=4), gang(3, 1, gpu=4)], STANDARD,
        "needs 12 GPUs, cluster has 8",
        tasks(
            *THREE,
            "the 3 pods that must start together request nvidia.com/gpu 12, but the cluster has nvidia.com/gpu 8",
        ),
    ),
    (
        "the cluster is used", [nodes(4, 4), running("aabb", 2), gang(3, 4)], STANDARD,
        "needs 12 cpu, cluster has 16, jobs use 8",
        tasks(
            *THREE,
            "default/gang-task-2: Insufficient cpu: the cluster has 16 and its jobs use 8: capacity for 2 of 3 pods",
        ),
    ),
    (
        "the share of a queue",
        [nodes(4, 4), queue("left"), queue("right"), gang(2, 4, name="other", queue="right"), gang(3, 4, queue="left")],
        STANDARD, "queue left: 0 of 8 cpu used, 2 of 3 pods fit",
        tasks(*THREE, "default/gang-task-2: queue left deserves cpu 8 and has 0: capacity for 2 of 3 pods"),
    ),
    (
        "the limit of a queue", LIMITED, STANDARD, "queue left: limit 4 cpu, 0 used, 2 of 3 pods fit",
        tasks(*THREE, "default/gang-task-2: queue left may have cpu 4 and has 0: capacity for 2 of 3 pods"),
    ),
    (
        "the limit of a queue, with the capacity plugin", LIMITED, CAPACITY,
        "queue left: limit 4 cpu, 0 used, 2 of 3 pods fit",
        tasks(*THREE, "default/gang-task-2: queue left may have cpu 4 and has 0: capacity for 2 of 3 pods"),
    ),
    (
        "cordoned nodes", [node("a", 4, cordoned=True), node("b", 4, cordoned=True), gang(1)], PLAIN,
        "2 nodes cordoned",
        tasks(*ONE, "default/gang-task-0: 0/2 nodes are available: 2 node(s) were unschedulable."),
    ),
    (
        "a taint", [node("a", 4, taints=TAINT), gang(1)], PLAIN, "1 node: untolerated taint gpu=true",
        tasks(*ONE, "default/gang-task-0: 0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}."),
    ),
    (
        "a node selector", [nodes(4, 1), gang(1, nodeSelector={"disk": "ssd"})], PLAIN,
        "1 node: node selector mismatch",
        tasks(
            *ONE, "default/gang-task-0: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        ),
    ),
    (
        "several reasons of nodes", [nodes(1, 2), node("c", 4, cordoned=True), gang(1, 2)], PLAIN,
        "3 nodes: 2 insufficient cpu, 1 cordoned",
        tasks(
            *ONE,
            "default/gang-task-0: 0/3 nodes are available: 2 Insufficient cpu, 1 node(s) were unschedulable.",
        ),
    ),
    (
        "not admitted by the cluster",
        [nodes(4, 1), running("a", 4), group("gang", 1, resources={"cpu": 4})], STANDARD,
        "needs 4 cpu, cluster can admit 800m more",
        f"resource in cluster is overused: overused cpu; {NOT_ADMITTED}",
    ),
    (
        "GPUs that are not admitted by the cluster",
        [nodes(64, 1, gpu=8), running("a", 1, gpu=3), group("gang", 1, resources={"nvidia.com/gpu": 8})], STANDARD,
        "needs 8 GPUs, cluster can admit 6.6 more",
        f"resource in cluster is overused: overused nvidia.com/gpu; {NOT_ADMITTED}",
    ),
    (
        "not admitted by the queue",
        [nodes(4, 1), queue("left", capability={"cpu": 2}), group("gang", 1, resources={"cpu": 3}, queue="left")],
        STANDARD, "queue left: limit 2 cpu, 0 admitted, needs 3",
        f"queue resource quota insufficient: insufficient cpu; {NOT_ADMITTED}",
    ),
    (
        "too few pods", [nodes(4, 1), gang(1, minimum=2)], PLAIN, "1 of 2 pods exist",
        "Not enough valid tasks for gang-scheduling, valid: 1, min: 2",
    ),
    ("no such queue", [nodes(4, 1), gang(1, queue="nowhere")], PLAIN, "queue 'nowhere' does not exist", ""),
    (
        "a closed queue", [nodes(4, 1), queue("left", state="Closed"), gang(1, queue="left")], STANDARD,
        "queue left is Closed, not Open", tasks(*ONE),
    ),
    ("gates", [nodes(4, 1), gang(1, gated=True)], PLAIN, "scheduling gates hold back 1 pod", tasks(*ONE)),
    (
        "gates that block a gang in a full cluster",
        [nodes(4, 2), foreign("a", 4), gang_of(*[pod(3)] * 2, pod(1, gated=True))], PLAIN,
        "scheduling gates hold back 1 pod",
        tasks(
            "2/3", "3 Pending, 3 minAvailable; Pending: 1 Schedulable, 2 Unschedulable",
            "default/gang-task-1: 0/2 nodes are available: 2 Insufficient cpu.",
        ),
    ),
    (
        "gates of pods that are not needed",
        [nodes(4, 1), foreign("a", 3), gang_of(pod(3), pod(1, gated=True), minimum=1)], PLAIN,
        "needs 3 cpu, most free on a node is 1",
        tasks(
            "1/2", "2 Pending, 1 minAvailable; Pending: 2 Unschedulable",
            "default/gang-task-0: 0/1 nodes are available: 1 Insufficient cpu. scheduling gates hold back 1 pod",
        ),
    ),
    (
        "terminating pods", [nodes(2, 1), running("a", 2, releasing=True), gang(1, 2)], PLAIN,
        "1 pod will start when terminating pods are gone", tasks("1/1", "1 Pipelined, 1 minAvailable"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("world", "conf", "short", "rest"), [each[1:] for each in CAUSES], ids=[each[0] for each in CAUSES]
)
def test_condition_and_event_begin_with_the_short_form(world: Any, conf: str, short: str, rest: str) -> None:
    reported = ReportedCluster(world, conf=conf)
    assert reported.cycle().statuses[KEY].summary == short
    reported.cycle()  # missing pods are reported later, since they may still be created
    message = f"{short}. {rest}" if rest else short
    assert reported.messages == [message]
    assert reported.notes[KEY] == [("Unschedulable", message)]


def test_no_nodes_are_stated_once() -> None:
    reported = ReportedCluster(gang(1))
    assert reported.cycle().statuses[KEY].summary == "the cluster has no nodes"
    assert reported.notes[KEY] == [("Unschedulable", "0/0 nodes are available: the cluster has no nodes.")]


def test_new_event_for_a_new_cause_and_not_for_new_counts() -> None:
    reported = ReportedCluster(nodes(1, 2), node("c", 8, cordoned=True), gang(1, 2))
    reported.cycle()
    for name in "de":
        reported.apply(node(name, 1))
        reported.cycle()
    assert [message.partition(".")[0] for message in reported.messages] == [
        "3 nodes: 2 insufficient cpu, 1 cordoned",
        "4 nodes: 3 insufficient cpu, 1 cordoned",
        "5 nodes: 4 insufficient cpu, 1 cordoned",
    ]
    assert len(reported.notes[KEY]) == 1
    reported.apply([node(name, 1, cordoned=True) for name in "abde"])
    reported.cycle()
    assert [note.partition(".")[0] for _, note in reported.notes[KEY][1:]] == ["5 nodes cordoned"]
