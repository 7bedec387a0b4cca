"""Requests that can never be satisfied are reported first, with codes of their own; a busy cluster is not reported."""

from typing import Any

import pytest

from tests.testing.cases.case import PLAIN, STANDARD, Case, configuration, plugin
from tests.testing.manifests.builders import foreign, gang, gang_of, group, node, nodes, pod, queue, running

SHARES = configuration("gang", "predicates", "proportion")
FLAT = configuration("gang", "predicates", "capacity")
TREE = configuration("gang", "predicates", plugin("capacity", enableHierarchy=True))


def never(name: str, *world: Any, codes: list[str], detail: str, conf: str = STANDARD, binds: str = "") -> Case:
    """The job `gang` reports these codes, and this message first."""
    return ImpossibleCase(name, *world, codes=codes, detail=detail, conf=conf, binds=binds)


class ImpossibleCase(Case):
    def __init__(self, name: str, *world: Any, codes: list[str], detail: str, conf: str, binds: str) -> None:
        super().__init__(name, *world, codes={"gang": codes}, conf=conf, binds=binds)
        self._detail = detail

    def check(self) -> None:
        super().check()
        group_plan = self.plan().groups["default/gang"]
        assert group_plan.reasons[0] == self._detail
        (condition,) = group_plan.conditions
        assert (condition.type, condition.reason) == ("Unschedulable", next(iter(group_plan.codes)))
        assert self._detail in condition.message


IMPOSSIBLE = [
    never(
        "a pod larger than every node",
        nodes(4, 2), gang(1, cpu=5), binds="-",
        codes=["ExceedsEveryNode"], detail="a pod requests cpu 5, but the largest node has cpu 4",
    ),
    never(
        "a pod larger than every node, none of which has all resources together",
        node("a", 8, gpu=1), node("b", 2, gpu=8), gang(1, cpu=8, gpu=8), binds="-",
        codes=["ExceedsEveryNode"],
        detail="a pod requests cpu 8, nvidia.com/gpu 8, but no node has all of it",
    ),
    never(
        "a resource that no node has",
        nodes(4, 2), gang_of(pod(more={"example.com/fpga": 1})), binds="-",
        codes=["NoNodeHasResource"], detail="no node has example.com/fpga",
    ),
    never(
        "a gang larger than the cluster by its sum",
        nodes(4, 2, gpu=4), gang(3, gpu=4), binds="---",
        codes=["ExceedsCluster"],
        detail="the 3 pods that must start together request nvidia.com/gpu 12, but the cluster has nvidia.com/gpu 8",
    ),
    never(
        "a gang with too few places, though the sum suffices",
        nodes(4, 3), gang(4, cpu=3), binds="----",
        codes=["ExceedsCluster"],
        detail="4 pods that request cpu 3 must start together, but only 3 fit on the empty nodes",
    ),
    never(
        "pods of one size in different roles",
        nodes(4, 3), gang(4, cpu=3, roles=["master", "worker", "worker", "worker"]), binds="----",
        codes=["ExceedsCluster"],
        detail="4 pods that request cpu 3 must start together, but only 3 fit on the empty nodes",
    ),
    never(
        "the pod limits of nodes count",
        nodes(9, 2, pods=2), gang(5), binds="-----",
        codes=["ExceedsCluster"],
        detail="the 5 pods that must start together request pods 5, but the cluster has pods 4",
    ),
    never(
        "minResources without pods",
        nodes(4, 2), group("gang", 3, resources={"cpu": 9}),
        codes=["ExceedsCluster"], detail="minResources requests cpu 9, but the cluster has cpu 8",
    ),
    never(
        "minResources without pods, of a resource that no node has",
        nodes(4, 2), group("gang", 3, resources={"cpu": 1, "nvidia.com/gpu": 3}),
        codes=["NoNodeHasResource"], detail="no node has nvidia.com/gpu",
    ),
    never(
        "minResources of small pods that are not admitted",
        nodes(4, 2), gang(3, resources={"cpu": 12}), conf=SHARES, binds="---",
        codes=["ExceedsCluster"], detail="minResources requests cpu 12, but the cluster has cpu 8",
    ),
    never(
        "members that run count",
        nodes(4, 2), gang_of(pod(4, nodeName="a"), pod(4), pod(4), phase="Running"), binds="--",
        codes=["ExceedsCluster"],
        detail="the 3 pods that must start together request cpu 12, but the cluster has cpu 8",
    ),
    never(
        "of a member that succeeded only the others count",
        nodes(4, 1), gang_of(pod(3, nodeName="a", phase="Succeeded"), pod(3), pod(3), phase="Running"), binds="--",
        codes=["ExceedsCluster"],
        detail="the 2 pods that must start together request cpu 6, but the cluster has cpu 4",
    ),
    never(
        "members of one role must start, however few of all",
        nodes(4, 2),
        gang_of(pod(5, role="master"), *[pod(1, role="worker") for _ in range(3)], minimum=2, minimums={"master": 1}),
        binds="----", codes=["ExceedsEveryNode"], detail="a pod requests cpu 5, but the largest node has cpu 4",
    ),
    never(
        "in a full cluster, too",
        nodes(4, 2), foreign("a", cpu=4), gang(3, cpu=4), binds="---",
        codes=["ExceedsCluster"],
        detail="the 3 pods that must start together request cpu 12, but the cluster has cpu 8",
    ),
    never(
        "reasons that waiting does not resolve come after it",
        nodes(4, 2, taints=["gpu:NoSchedule"]), gang(1, cpu=5), binds="-",
        codes=["ExceedsEveryNode", "UntoleratedTaint"], detail="a pod requests cpu 5, but the largest node has cpu 4",
    ),
    never(
        "a capability of the queue comes after it",
        nodes(4, 2), queue("left", capability={"cpu": 6}), group("gang", 3, queue="left", resources={"cpu": 9}),
        conf=SHARES, codes=["ExceedsCluster", "QueueCapabilityExceeded"],
        detail="minResources requests cpu 9, but the cluster has cpu 8",
    ),
    never(
        "a queue of a hierarchy without a capability does not matter",
        nodes(4, 2), queue("team"), queue("left", parent="team"), gang(3, cpu=4, queue="left"), conf=TREE, binds="---",
        codes=["ExceedsCluster"],
        detail="the 3 pods that must start together request cpu 12, but the cluster has cpu 8",
    ),
    never(
        "nor does one of a flat list",
        nodes(4, 2), group("gang", 3, resources={"cpu": 12}), conf=FLAT,
        codes=["ExceedsCluster"], detail="minResources requests cpu 12, but the cluster has cpu 8",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", IMPOSSIBLE, ids=str)
def test_impossible_request_is_reported_first(case: Case) -> None:
    case.check()


POSSIBLE = [
    Case(
        "a busy cluster",
        nodes(4, 2), foreign("a", cpu=3), gang(2, cpu=4), binds="--",
        codes={"gang": ["InsufficientResource", "GangDoesNotFit"]},
    ),
    Case("a cordoned node", nodes(4, 1), node("b", 8, cordoned=True), gang(1, cpu=8), binds="-",
         codes={"gang": ["NodeUnschedulable", "InsufficientResource"]}),
    Case("a node that is not ready", nodes(4, 1), node("b", 8, ready=False), gang(2, cpu=4), binds="--",
         codes={"gang": ["NodeNotReady", "InsufficientResource", "GangDoesNotFit"]}),
    Case("no nodes", gang(1, cpu=5), binds="-", codes={"gang": ["NoNodes"]}),
    Case("no nodes for minResources", gang(1, cpu=5, resources={"cpu": 5}), conf=STANDARD, binds="-",
         codes={"gang": ["NoNodes", "NotAdmitted"]}),
    Case("the minimum of an elastic job fits", nodes(4, 1), foreign("a", cpu=4), gang(3, cpu=2, minimum=2), binds="---",
         codes={"gang": ["InsufficientResource"]}),
    Case("a large pod that an elastic job does not need", nodes(4, 1), foreign("a", cpu=4),
         gang_of(pod(1), pod(9), minimum=1), binds="--", codes={"gang": ["InsufficientResource"]}),
    Case("succeeded members need no capacity", nodes(4, 1), foreign("a", cpu=4),
         gang_of(pod(4, nodeName="a", phase="Succeeded"), pod(4)), binds="-",
         codes={"gang": ["InsufficientResource"]}),
    Case("pods that do not exist yet may be smaller", nodes(4, 1), gang(2, cpu=3, minimum=5), binds="--",
         codes={"gang": ["NotEnoughTasks"]}),
    Case("one member of two runs", nodes(4, 2), foreign("b", cpu=1), gang_of(pod(4, nodeName="a"), pod(4)), binds="-",
         codes={"gang": ["InsufficientResource"]}),
    Case("the queue's share, where the job fits the cluster", nodes(4, 2), queue("left"), queue("right"),
         running("aa", cpu=2, queue="right"), gang(2, cpu=4, queue="left"), conf=SHARES, binds="--",
         codes={"gang": ["QueueShareExhausted"]}),
    Case("a busy queue without a capability", nodes(4, 2), running("aa", cpu=2, minimum=2, resources={"cpu": 4}),
         gang(2, cpu=4, resources={"cpu": 8}), conf=SHARES, binds="--",
         codes={"gang": ["ClusterOvercommitted", "NotAdmitted"]}),
    Case("a busy queue with a capability", nodes(4, 2), queue("left", capability={"cpu": 6}),
         running("a", cpu=4, minimum=1, queue="left", resources={"cpu": 4}),
         gang(1, cpu=4, resources={"cpu": 4}, queue="left"), conf=SHARES, binds="-",
         codes={"gang": ["QueueCapabilityExceeded", "NotAdmitted"]}),
    Case("pods that start alone, without the gang plugin", nodes(4, 1), gang(2, cpu=4),
         conf=configuration("predicates"), binds="a-", codes={"gang": ["InsufficientResource"]}),
]  # fmt: skip


@pytest.mark.parametrize("case", POSSIBLE, ids=str)
def test_busy_cluster_is_not_impossible(case: Case) -> None:
    case.check()


def test_pods_of_started_job_report_their_own_size() -> None:
    world = [nodes(4, 1), foreign("a", cpu=3), gang_of(pod(1), pod(9), pod(2), minimum=1)]
    plan = Case("", *world, binds="").plan()
    assert plan.groups["default/gang"].codes == ("ExceedsEveryNode", "InsufficientResource")
    messages = {key: message for key, (_, message) in plan.pods.items()}
    assert messages == {
        "default/gang-task-1": "a pod requests cpu 9, but the largest node has cpu 4: "
        "0/1 nodes are available: 1 Insufficient cpu.",
        "default/gang-task-2": "0/1 nodes are available: 1 Insufficient cpu.",
    }


def test_pods_of_impossible_gang_are_not_reported_as_schedulable() -> None:
    plan = Case("", nodes(4, 2), gang(3, cpu=4), binds="").plan()
    detail = "the 3 pods that must start together request cpu 12, but the cluster has cpu 8"
    assert {message.startswith(detail) for _, message in plan.pods.values()} == {True}


@pytest.mark.parametrize(
    ("name", "hint"),
    [("reserch", "; did you mean research?"), ("elsewhere", "")],
    ids=["similar to a queue", "unlike every queue"],
)
def test_missing_queue_is_reported(name: str, hint: str) -> None:
    plan = Case("", nodes(4, 1), queue("research"), gang(1, queue=name), conf=PLAIN, binds="-").plan()
    group_plan, detail = plan.groups["default/gang"], f"queue {name!r} does not exist{hint}"
    assert (group_plan.codes, group_plan.reasons) == (("QueueUnknown",), [detail])
    assert [(each.reason, each.message) for each in group_plan.conditions] == [("QueueUnknown", detail)]
    assert [message.startswith(f"{detail}. pod group is not ready") for _, message in plan.pods.values()] == [True]


SHORT = [
    ([nodes(4, 2, gpu=4), gang(3, gpu=4)], "needs 12 GPUs, cluster has 8"),
    ([nodes(16, 2), gang(1, cpu=32)], "needs 32 cpu, largest node has 16"),
    ([node("a", 8), node("b", 2, gpu=8), gang(1, cpu=8, gpu=8)], "no node has 8 cpu and 8 GPUs"),
    ([nodes(4, 3), gang(4, cpu=3)], "needs 4 pods at once, empty nodes fit 3"),
    ([nodes(4, 3), gang_of(pod(more={"example.com/fpga": 1}))], "no node has example.com/fpga"),
]


@pytest.mark.parametrize(("world", "short"), SHORT, ids=[short for _, short in SHORT])
def test_short_form_has_the_numbers(world: list[Any], short: str) -> None:
    plan = Case("", *world, binds="").plan()
    assert plan.session.statuses["default/gang"].reasons[0].short == short
