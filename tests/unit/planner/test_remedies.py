"""Remedies of waiting jobs: named cases."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli import kube
from stromboli.planner.advice import Advice, advise
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.trials import Trials
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import (
    foreign,
    gang,
    gang_of,
    group,
    node,
    nodes,
    pod,
    priority_class,
    queue,
    running,
)
from tests.testing.manifests.edited_documents import documents_of
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, default_program, plan_of

JOB = "default/gang"
ZONES = {"labels": {"zone": "x"}}
HOSTS = [node(name, 4, labels={"kubernetes.io/hostname": name}) for name in "ab"]
GPU_POOL = {"taints": ["gpu=true:NoSchedule"]}
APART: dict[str, Any] = {
    "labels": {"app": "db"},
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    },
}
IN_ZONE_Y = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["y"]}]}]
        }
    }
}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "db"}},
    }
]
WITHOUT_REQUEST: dict[str, Any] = {"containers": [{"name": "main", "resources": {"limits": {"cpu": "6"}}}]}


class Case:
    """Objects, the smallest change that lets `gang` start, and the kinds of alternative changes."""

    def __init__(self, name: str, *manifests: Any, smallest: str | None, others: tuple[str, ...] = ()) -> None:
        self.name = name
        self.objects = objects(flattened(manifests))
        self.expected = (smallest, others)


def lowered(before: int, after: int) -> str:
    return f"lower minMember of PodGroup {JOB} from {before} to {after}"


CASES = [
    Case(
        "closed queue",
        nodes(4, 1), queue("shut", state="Closed"), gang(2, queue="shut"),
        smallest="open queue shut, which is Closed",
    ),
    Case(
        "missing queue",
        nodes(4, 1), gang(2, queue="nowhere"),
        smallest="create queue nowhere",
    ),
    Case(
        "misspelt queue",
        nodes(4, 1), queue("research"), gang(2, queue="reserch"),
        smallest=f"use queue research in PodGroup {JOB}", others=("create-queue",),
    ),
    Case(
        "missing group",
        nodes(4, 1), gang(2)[1:],
        smallest=f"create PodGroup {JOB} with minMember 2",
    ),
    Case(
        "missing pods",
        nodes(4, 1), gang(2, minimum=4),
        smallest=f"create the 2 missing pods of job {JOB}", others=("lower-min-member",),
    ),
    Case(
        "role below its minimum",
        nodes(8, 1), gang(3, roles=["ps", "worker", "worker"], minimum=4, minimums={"ps": 1, "worker": 3}),
        smallest=f"create the missing pod of job {JOB}", others=("lower-min-member",),
    ),
    Case(
        "larger than the cluster",
        nodes(4, 2), gang(12),
        smallest=lowered(12, 8), others=("lower-request", "add-nodes"),
    ),
    Case(
        "minResources is lowered with minMember",
        nodes(8, 1), queue("small", capability={"cpu": 2}), gang(3, queue="small", resources={"cpu": 3}),
        smallest=f"{lowered(3, 2)}; lower minResources of PodGroup {JOB}: cpu from 3 to 2",
        others=("raise-capability", "lower-request"),
    ),
    Case(
        "scheduling gates",
        nodes(8, 1), gang(2, gated=True),
        smallest="remove the scheduling gate wait from 2 pods",
    ),
    Case(
        "minResources above all requests",
        nodes(4, 2), gang(2, resources={"cpu": 50}),
        smallest=f"lower minResources of PodGroup {JOB}: cpu from 50 to 2",
    ),
    Case(
        "taint on every node",
        nodes(8, 2, **GPU_POOL), gang(3),
        smallest="add a toleration for taint {gpu: true} to 3 pods",
    ),
    Case(
        "node selector without nodes",
        nodes(8, 2, **ZONES), gang(3, nodeSelector={"zone": "y"}),
        smallest="drop node selector zone=y from 3 pods",
    ),
    Case(
        "node affinity without nodes",
        nodes(8, 2, **ZONES), gang(3, affinity=IN_ZONE_Y),
        smallest="drop the required node affinity for zone from 3 pods",
    ),
    Case(
        "pod anti-affinity",
        HOSTS, gang(3, **APART),
        smallest=lowered(3, 2), others=("drop-pod-anti-affinity", "add-nodes"),
    ),
    Case(
        "topology spread constraint",
        HOSTS, running("a", 4), gang(2, labels={"app": "db"}, topologySpreadConstraints=SPREAD),
        smallest=lowered(2, 1), others=("relax-spreading", "add-nodes"),
    ),
    Case(
        "cordoned node",
        node("a", 8, cordoned=True), gang(3),
        smallest="uncordon node a",
    ),
    Case(
        "copy of a node that is not ready is healthy",
        node("a", 8, ready=False), gang(3),
        smallest="add 1 node like a",
    ),
    Case(
        "jobs with higher priority",
        nodes(4, 1), priority_class("high", 10), priority_class("higher", 20),
        gang(4, name="first", priority="high"), gang_of(pod(1), pod(1), minimum=2),
        smallest=f"give PodGroup {JOB} the priority class higher (20)", others=("add-nodes",),
    ),
    Case(
        "queue at its capability",
        nodes(8, 1), queue("small", capability={"cpu": 1}), gang_of(pod(2), queue="small"),
        smallest="raise the capability of queue small: cpu from 1 to 2", others=("lower-request",),
    ),
    Case(
        "queue with too small a share",
        nodes(4, 1), queue("light", 1), queue("heavy", 3), gang_of(pod(2), queue="light"),
        gang(4, name="other", queue="heavy", minimum=1),
        smallest="raise the weight of queue light from 1 to 3", others=("lower-request", "add-nodes"),
    ),
    Case(
        "larger than any node",
        nodes(4, 2), gang(1, cpu=6),
        smallest="request cpu 4 instead of 6 in pod default/gang-task-0", others=("add-nodes",),
    ),
    Case(
        "fits on a larger node only",
        nodes("1m", 1), gang(1, cpu=1, memory="0"),
        smallest="add 1 node like a with cpu 1",
    ),
    Case(
        "resource that no node has",
        nodes(4, 1), gang_of(pod(more={"example.com/fpga": 1}), resources={"cpu": 1, "example.com/fpga": 1}),
        smallest="do not request example.com/fpga in pod default/gang-task-0", others=("add-nodes",),
    ),
    Case(
        "resource that no node has, in a pod that is too large",
        nodes(4, 1), gang_of(pod(6, more={"example.com/fpga": 1})),
        smallest="add 1 node like a with cpu 6, example.com/fpga 1",
    ),
    Case(
        "request implied by a limit",
        nodes(4, 2), gang(1, **WITHOUT_REQUEST),
        smallest="request cpu 4 instead of 6 in pod default/gang-task-0", others=("add-nodes",),
    ),
    Case(
        "pod overhead is not lowered",
        nodes(4, 1), gang(1, cpu=4, overhead={"cpu": "1"}),
        smallest="request cpu 3 instead of 4 in pod default/gang-task-0", others=("add-nodes",),
    ),
    Case(
        "capacity used by foreign pods",
        nodes(4, 1), foreign("a", 3), gang(1, cpu=2),
        smallest="request cpu 1 instead of 2 in pod default/gang-task-0", others=("add-nodes",),
    ),
    Case(
        "elastic members wait and all requests are lowered",
        nodes(4, 1), gang(6, minimum=2),
        smallest="request cpu 660m instead of 1 in 6 pods", others=("add-nodes",),
    ),
    Case(
        "three problems are combined",
        nodes(8, 2, **GPU_POOL, **ZONES), queue("shut", state="Closed"),
        gang(3, queue="shut", nodeSelector={"zone": "y"}),
        smallest="open queue shut, which is Closed; add a toleration for taint {gpu: true} to 3 pods; "
        "drop node selector zone=y from 3 pods",
    ),
    Case(
        "two problems are combined, one with an amount",
        nodes(8, 2, **GPU_POOL), gang(3, cpu=10),
        smallest="add a toleration for taint {gpu: true} to 3 pods; request cpu 4 instead of 10 in 3 pods",
    ),
    Case("no pods", nodes(4, 1), group("gang", 3), smallest=None),
    Case("no nodes", gang(3), smallest=None),
    Case("invalid request", nodes(4, 1), gang(2, cpu="plenty"), smallest=None),
]  # fmt: skip


def advice_on(given: list[kube.KubeObject], job: str, cycles: int = 1) -> tuple[SchedulingPlan, Advice]:
    plan = plan_of(given, cycles=cycles)
    trials = Trials(given, default_program(), cycles=cycles, scheduler_names=SCHEDULER_NAMES)
    return plan, advise(plan, trials, [job])[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_smallest_change_is_proposed(case: Case) -> None:
    plan, advice = advice_on(case.objects, JOB)
    remedies = advice.remedies
    assert plan.groups[JOB].waiting
    found = remedies.smallest.description if remedies.smallest else None
    assert (found, tuple(change.kind for change in remedies.alternatives)) == case.expected
    assert not remedies.stopped_early


def test_job_with_nominated_capacity_needs_no_change() -> None:
    given = objects(flattened([nodes(4, 1), running("a", 4, releasing=True), gang(1, 2)]))
    remedies = advice_on(given, JOB)[1].remedies
    assert (remedies.starts_by_itself, remedies.smallest, remedies.trials) == (True, None, 1)


def test_search_stops_at_its_limit() -> None:
    given = objects(flattened([nodes(4, 2), gang(12)]))
    plan = plan_of(given)
    trials = Trials(given, default_program(), scheduler_names=SCHEDULER_NAMES, max_work=3 * len(given))
    remedies = advise(plan, trials, [JOB])[0].remedies
    assert (remedies.trials, remedies.stopped_early) == (3, True)
    assert remedies.smallest is not None, "the changes found so far are returned"


def test_search_that_stops_early_returns_the_smallest_known_change() -> None:
    given = objects(flattened([nodes(4, 1), gang(1, cpu=9)]))
    sentences = []
    for affordable in (1, 8, 10, 60):
        trials = Trials(given, default_program(), scheduler_names=SCHEDULER_NAMES, max_work=affordable * len(given))
        remedies = advise(plan_of(given), trials, [JOB])[0].remedies
        sentences.append((remedies.smallest.description if remedies.smallest else "", remedies.stopped_early))
    asked = "request cpu {} instead of 9 in pod default/gang-task-0"
    expected = [("100m", True), ("3", True), ("3700m", True), ("4", False)]
    assert sentences == [(asked.format(amount), early) for amount, early in expected]


def test_search_does_not_modify_objects() -> None:
    given = objects(flattened([nodes(8, 2, **GPU_POOL), gang(3, cpu=10)]))
    before = documents_of(given)
    assert advice_on(given, JOB)[1].remedies.trials > 10
    assert documents_of(given) == before
