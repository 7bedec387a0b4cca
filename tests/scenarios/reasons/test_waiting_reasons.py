"""The exact messages of waiting jobs, which users grep for."""

from typing import Any

import pytest

from tests.testing.cases.case import PLAIN, Case, configuration
from tests.testing.manifests.builders import foreign, gang, gang_of, node, nodes, pod, queue, running

TAINT = ["gpu=true:NoSchedule"]
SHARES = configuration("gang", "proportion", "predicates")


def waiting(name: str, *world: Any, sentences: list[str], binds: str = "-", conf: str = PLAIN) -> Case:
    """The job `gang` reports this."""
    return Case(name, *world, binds=binds, reasons={"gang": sentences}, conf=conf)


SENTENCES = [
    waiting(
        "each reason with its number of nodes, the most frequent first",
        nodes(2, 3), [node(name, 9, taints=TAINT) for name in "de"], gang(1, cpu=4),
        sentences=["0/5 nodes are available: 3 Insufficient cpu, 2 node(s) had untolerated taint {gpu: true}."],
    ),
    waiting(
        "reasons of equal number by the alphabet",
        node("a", 1), node("b", 9, cordoned=True), node("c", 9, labels={"disk": "hdd"}, taints=TAINT), gang(1, cpu=2),
        sentences=[
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: true}, "
            "1 node(s) were unschedulable.",
        ],
    ),
    waiting(
        "a node that lacks two resources counts for both",
        node("a", 1, "1Gi"), node("b", 9, "1Gi"), gang(1, cpu=2, memory="2Gi"),
        sentences=["a pod requests memory 2Gi, but the largest node has memory 1Gi"],
    ),
    waiting(
        "a node that can never take the pod is not reported as full",
        nodes(1, 1, taints=TAINT), gang(1, cpu=9),
        sentences=[
            "a pod requests cpu 9, but the largest node has cpu 1",
            "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}.",
        ],
    ),
    waiting(
        "the first taint in the way",
        nodes(9, 1, taints=["spot:NoSchedule", *TAINT]), gang(1, tolerations=["spot"]),
        sentences=["0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}."],
    ),
    waiting(
        "a taint without a value",
        nodes(9, 1, taints=["spot:NoSchedule"]), gang(1),
        sentences=["0/1 nodes are available: 1 node(s) had untolerated taint {spot: }."],
    ),
    waiting(
        "different taints are distinguished",
        node("a", taints=TAINT), node("b", taints=["gpu=false:NoSchedule"]), gang(1),
        sentences=[
            "0/2 nodes are available: 1 node(s) had untolerated taint {gpu: false}, "
            "1 node(s) had untolerated taint {gpu: true}.",
        ],
    ),
    waiting(
        "what others use is what is missing",
        nodes(4, 1), foreign("a", cpu=3), gang(1, cpu=2), sentences=["0/1 nodes are available: 1 Insufficient cpu."],
    ),
    waiting(
        "what the gang itself would use is what is missing",
        nodes(4, 3), foreign("c", cpu=4), gang(5, cpu=2), binds="-----",
        sentences=["0/3 nodes are available: 3 Insufficient cpu."],
    ),
    waiting("no nodes at all", gang(1), sentences=["0/0 nodes are available: the cluster has no nodes."]),
    waiting(
        "each size of a job has its own sentence",
        nodes(4, 1), gang_of(pod(5, role="big"), pod(1, "99Gi", role="wide"), pod(1, role="fine"), minimum=1),
        binds="--a",
        sentences=[
            "a pod requests cpu 5, but the largest node has cpu 4",
            "0/1 nodes are available: 1 Insufficient cpu.",
            "0/1 nodes are available: 1 Insufficient memory.",
        ],
    ),
    waiting(
        "members of a role that failed already",
        nodes(4, 1), gang_of(pod(5, role="big"), pod(6, role="big"), pod(1, role="fine"), minimum=1), binds="--a",
        sentences=[
            "a pod requests cpu 5, but the largest node has cpu 4",
            "0/1 nodes are available: 1 Insufficient cpu.",
            "another pod of role 'big' found no node",
        ],
    ),
    waiting(
        "waiting and gated",
        nodes(4, 1), gang_of(pod(5), pod(gated=True)), binds="--",
        sentences=["a pod requests cpu 5, but the largest node has cpu 4", "scheduling gates hold back 1 pod"],
    ),
    waiting(
        "a queue with a smaller limit",
        nodes(4, 1), queue("left", capability={"cpu": 1}), gang(2, minimum=1, queue="left"), conf=SHARES, binds="a-",
        sentences=["queue left may have cpu 1 and has 1"],
    ),
    waiting(
        "a queue that deserves less",
        nodes(4, 1), queue("left"), queue("right"), running("aa", queue="right"), gang(1, name="more", queue="right"),
        gang(3, minimum=1, queue="left"), conf=SHARES, binds="-aa-",
        sentences=["queue left deserves cpu 2 and has 2"],
    ),
    waiting("no reason for a complete job", nodes(4, 1), gang(2), binds="aa", sentences=[]),
]  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES, ids=str)
def test_waiting_reasons(case: Case) -> None:
    case.check()


HELD = running("a", cpu=2, releasing=True)
CONDITIONS = [
    ("ready", nodes(4, 2), gang(3, cpu=2), "Scheduled", "tasks in gang are ready to be scheduled", ""),
    (
        "ready, though some wait",
        nodes(4, 1), gang(3, cpu=2, minimum=2), "Scheduled", "tasks in gang are ready to be scheduled", "",
    ),
    (
        "held back by a gate",
        nodes(4, 1), gang(1, gated=True), "Unschedulable", "NotEnoughResources",
        "scheduling gates hold back 1 pod. 1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, "
        "1 minAvailable; Pending: 1 Unschedulable",
    ),
    (
        "does not fit",
        [nodes(6, 1), foreign("a", cpu=2)], gang(3, cpu=2), "Unschedulable", "NotEnoughResources",
        "2 of 3 pods fit; the next needs 2 cpu, most free is 0. 1/3 tasks in gang unschedulable: pod group is not "
        "ready, 3 Pending, 3 minAvailable; Pending: 2 Schedulable, 1 Unschedulable. Origin reason is "
        "default/gang-task-2: 0/1 nodes are available: 1 Insufficient cpu.",
    ),
    (
        "waiting for others to go",
        [nodes(2, 1), HELD], gang(1, cpu=2), "Unschedulable", "NotEnoughResources",
        "1 pod will start when terminating pods are gone. 1/1 tasks in gang unschedulable: pod group is not ready, "
        "1 Pipelined, 1 minAvailable",
    ),
    (
        "too few pods",
        nodes(4, 1), gang(1, minimum=2), "Unschedulable", "NotEnoughTasks",
        "1 of 2 pods exist. Not enough valid tasks for gang-scheduling, valid: 1, min: 2",
    ),
    (
        "no such queue",
        nodes(4, 1), gang(1, queue="nowhere"), "Unschedulable", "QueueUnknown", "queue 'nowhere' does not exist",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("world", "job", "kind", "reason", "message"),
    [entry[1:] for entry in CONDITIONS],
    ids=[entry[0] for entry in CONDITIONS],
)
def test_conditions_of_groups(world: Any, job: Any, kind: str, reason: str, message: str) -> None:
    plan = Case("", world, job, binds="").plan()
    written = [(each.type, each.status, each.reason, each.message) for each in plan.groups["default/gang"].conditions]
    assert written == [(kind, "True", reason, message)]
