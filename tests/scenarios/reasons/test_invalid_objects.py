"""An error in one object is reported on that object, with the field, and affects no other object."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.testing.cases.case import STANDARD, Case
from tests.testing.manifests.builders import Manifest, foreign, gang, gang_of, node, nodes, pod, queue

NO_QUANTITY = "is not a quantity; write a number and a suffix, as in 500m, 2, 1.5 or 4Gi"
#: A valid job, which is placed regardless of errors elsewhere.
OTHER = gang(2, name="other")


def bad_job(name: str, *world: Any, fault: str, is_warned: bool = True, binds: str = "- aa") -> Case:
    """The job `gang` waits and reports why, and the other one is placed."""
    return Case(
        name,
        nodes(4, 1), world, OTHER, conf=STANDARD, binds=binds, phases={"gang": "Pending", "other": "Running"},
        codes={"gang": ["InvalidObject"]}, reasons={"gang": [fault]}, warnings=[fault] if is_warned else [],
    )  # fmt: skip


def bad_amount(amount: object, complaint: str) -> Case:
    field = "Pod default/gang-task-0: spec.containers[0].resources.requests.cpu"
    return bad_job(f"a pod asks for {amount}", gang(1, cpu=amount), fault=f"{field}: {complaint}")


def bad_pod(name: str, fault: str, **spec: Any) -> Case:
    return bad_job(name, gang(1, **spec), fault=f"Pod default/gang-task-0: {fault}")


def bad_group(name: str, fault: str, **spec: Any) -> Case:
    return bad_job(name, gang(1, **spec), fault=f"PodGroup default/gang: {fault}")


def required(kind: str, terms: Any) -> Manifest:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


MAXIMUM = "is larger than anything a cluster can hold; write a smaller amount"
SUFFIXES = "use one of n u m k M G T P E or Ki Mi Gi Ti Pi Ei"
MANY = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}] * 1001}]
WHO_KNOWS = [{"matchExpressions": [{"key": "disk", "operator": "Near", "values": ["ssd"]}]}]

PODS = [
    bad_amount("two", f'"two" {NO_QUANTITY}'),
    bad_amount("-1", '"-1" is negative; a quantity is zero or more'),
    bad_amount("1e200000", f'"1e200000" {MAXIMUM}'),
    bad_amount("1Zi", f'"1Zi" has an unknown suffix; {SUFFIXES}'),
    bad_amount("NaN", f'"NaN" {NO_QUANTITY}'),
    bad_pod("an overhead", f'spec.overhead.cpu: "much" {NO_QUANTITY}', overhead={"cpu": "much"}),
    bad_pod(
        "an init container",
        f'spec.initContainers[1].resources.requests.cpu: "much" {NO_QUANTITY}',
        initContainers=[{"name": "one"}, {"name": "two", "resources": {"requests": {"cpu": "much"}}}],
    ),
    bad_pod(
        "an unknown operator",
        "spec.affinity.nodeAffinity.required[0].matchExpressions[0].operator: 'Near' is not one of In, NotIn, "
        "Exists, DoesNotExist, Gt, Lt",
        affinity=required("nodeAffinity", {"nodeSelectorTerms": WHO_KNOWS}),
    ),
    bad_pod(
        "too many clauses",
        "spec.affinity.nodeAffinity.required[0].matchExpressions: "
        "more than 1000 selector clauses in one pod; use fewer",
        affinity=required("nodeAffinity", {"nodeSelectorTerms": MANY}),
    ),
    bad_pod(
        "an affinity to nowhere",
        "spec.affinity.podAffinity.required[0].topologyKey: is missing; name a node label",
        affinity=required("podAffinity", [{"labelSelector": {}}]),
    ),
    bad_pod(
        "a spread of nothing",
        "spec.topologySpreadConstraints[0].maxSkew: must be at least 1, got 0",
        topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 0}],
    ),
    bad_pod(
        "a spread constraint with an unknown value",
        "spec.topologySpreadConstraints[0].whenUnsatisfiable: 'Maybe' is not one of DoNotSchedule, ScheduleAnyway",
        topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "Maybe"}],
    ),
    bad_pod(
        "a spread over no domains",
        "spec.topologySpreadConstraints[0].minDomains: must be at least 1, got 0",
        topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 1, "minDomains": 0}],
    ),
    bad_pod(
        "a toleration of an unknown effect",
        "spec.tolerations[0].effect: 'NoSchedul' is not one of NoSchedule, PreferNoSchedule, NoExecute",
        tolerations=["gpu:NoSchedul"],
    ),
    bad_job(
        "one invalid member keeps its whole gang waiting",
        gang_of(pod(), pod("two")), binds="-- aa",
        fault=f'Pod default/gang-task-1: spec.containers[0].resources.requests.cpu: "two" {NO_QUANTITY}',
    ),
]  # fmt: skip

GROUPS = [
    bad_group(
        "a group with an invalid amount",
        f'spec.minResources.cpu: "lots" {NO_QUANTITY}', resources={"cpu": "lots"},
    ),
    bad_group(
        "a group with a negative minimum",
        "spec.minMember: must not be negative, got -1; write 0 or more", minimum=-1,
    ),
    bad_group(
        "a role with a negative minimum",
        "spec.minTaskMember.worker: must not be negative, got -1; write 0 or more", minimums={"worker": -1},
    ),
    bad_group(
        "a tier below zero",
        "spec.networkTopology.highestTierAllowed: must not be negative, got -1; write 0 or more",
        topology={"mode": "hard", "highestTierAllowed": -1},
    ),
    bad_group(
        "a topology that is neither hard nor soft",
        "spec.subGroupPolicy[0].networkTopology.mode: 'Hard' is not known; write hard or soft",
        policies=[{"matchLabelKeys": ["part"], "networkTopology": {"mode": "Hard"}}],
    ),
    bad_group(
        "sub-groups of size zero",
        "spec.subGroupPolicy[0].subGroupSize: must be at least 1, got 0",
        policies=[{"matchLabelKeys": ["part"], "subGroupSize": 0}],
    ),
    bad_job(
        "a group that does not exist",
        gang(1)[1:], is_warned=False,
        fault="PodGroup default/gang: does not exist, but pods name it; create it or correct their annotation",
    ),
]  # fmt: skip


def invalid(name: str, *world: Any, warning: str = "", warnings: Sequence[str] = (), binds: str = "aa") -> Case:
    """An error without an owning job: it is reported, and the rest is scheduled."""
    return Case(name, nodes(4, 1), world, OTHER, conf=STANDARD, binds=binds, warnings=[*warnings] or [warning])


CLUSTER = [
    invalid(
        "a node with an invalid amount is ignored",
        node("b", cpu="lots"), gang(1, cpu=5), binds="- aa",
        warning=f'Node b: status.allocatable.cpu: "lots" {NO_QUANTITY}; the node is left out',
    ),
    invalid(
        "a running pod with an invalid amount counts as a pod",
        foreign("a", cpu="lots"),
        warning=f'Pod default/stranger: spec.containers[0].resources.requests.cpu: "lots" {NO_QUANTITY}',
    ),
    invalid(
        "a queue with an invalid limit admits no job",
        queue("odd", capability={"cpu": "lots"}), gang(1, queue="odd"),
        warning=f'Queue odd: spec.capability.cpu: "lots" {NO_QUANTITY}; the queue takes no jobs', binds="- aa",
    ),
    invalid(
        "a queue with an invalid guarantee",
        queue("odd", guarantee={"cpu": "-1"}), gang(1, queue="odd"), binds="- aa",
        warning='Queue odd: spec.guarantee.resource.cpu: "-1" is negative; a quantity is zero or more; '
        "the queue takes no jobs",
    ),
    invalid(
        "a queue without weight",
        queue("odd", weight=0), gang(1, queue="odd"), binds="- aa",
        warning="Queue odd: spec.weight: must be at least 1, got 0; the queue takes no jobs",
    ),
    invalid(
        "queues that are their own ancestors",
        queue("left", parent="right"), queue("right", parent="left"), queue("below", parent="left"),
        gang(1, queue="left"), binds="a aa",
        warnings=[f"Queue {name}: spec.parent: the queue is its own ancestor; the queue hangs below the root"
                  for name in ("left", "right")],
    ),
    invalid(
        "a queue below nowhere",
        queue("left", parent="nowhere"), gang(1, queue="left"), binds="a aa",
        warning="Queue left: spec.parent: queue 'nowhere' does not exist; the queue hangs below the root",
    ),
    invalid(
        "a taint without effect",
        node("b", cpu=9, taints=["gpu:NoSchedul"]), gang(1, cpu=5), binds="- aa",
        warning="Node b: spec.taints[0].effect: 'NoSchedul' is not one of NoSchedule, PreferNoSchedule, NoExecute; "
        "the node is left out",
    ),
]  # fmt: skip

QUIET = [
    Case("a pod that runs on a node that is gone", nodes(1, 1), foreign("z", cpu=9), gang(1), conf=STANDARD, binds="a"),
    Case("a node without any amounts", {**node("a"), "status": {}}, node("b"), gang(1), conf=STANDARD, binds="b"),
    Case("more pods than the node has slots", nodes(1, 2), foreign("a", cpu=9), gang(2), conf=STANDARD, binds="--"),
    Case(
        "a creation time that is no time",
        nodes(2, 1), gang(1, name="first", created="yesterday"), gang(1), binds="aa",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", PODS + GROUPS + CLUSTER + QUIET, ids=str)
def test_invalid_object_holds_its_job_only(case: Case) -> None:
    case.check()
