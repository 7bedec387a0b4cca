"""Pods without a PodGroup: each gets one, or shares one with the others of its owner."""

from typing import Any

import pytest

from tests.testing.cases.case import STANDARD, Case, configuration
from tests.testing.manifests.builders import Manifest, foreign, nodes, pod, priority_class, queue

GROUP = "podgroup-pod-default-web"
MINIMUM = "scheduling.volcano.sh/group-min-member"
QUEUE = "scheduling.volcano.sh/queue-name"


def plain(name: str = "web", cpu: object = 1, **facts: Any) -> Manifest:
    return pod(cpu, name=name, **facts)


def owned(name: str, owner: str = "set", **facts: Any) -> Manifest:
    """A pod of a controller."""
    manifest = plain(name, **facts)
    manifest["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    return manifest


CASES = [
    Case("a pod alone", nodes(4, 1), plain(), conf=STANDARD, binds="a", phases={GROUP: "Running"}),
    Case(
        "a pod alone that does not fit",
        nodes(4, 1), foreign("a", cpu=3), plain(cpu=2), binds="-",
        reasons={GROUP: ["0/1 nodes are available: 1 Insufficient cpu."]},
    ),
    Case(
        "pods alone do not wait for each other",
        nodes(1, 1), plain("web-1"), plain("web-2"), conf=STANDARD, binds="a-",
    ),
    Case(
        "pods of one owner do not wait for each other either",
        nodes(1, 1), owned("web-1"), owned("web-2"), binds="a-", phases={"podgroup-set": "Running"},
    ),
    Case(
        "unless their annotation requests it",
        nodes(1, 1), owned("web-1", annotations={MINIMUM: "2"}), owned("web-2", annotations={MINIMUM: "2"}), binds="--",
        phases={"podgroup-set": "Inqueue"},
    ),
    Case(
        "and then they are placed together",
        nodes(2, 1), owned("web-1", annotations={MINIMUM: "2"}), owned("web-2", annotations={MINIMUM: "2"}), binds="aa",
    ),
    Case("a number that is none", nodes(1, 1), plain(annotations={MINIMUM: "two"}), binds="a"),
    Case(
        "the queue of the annotation",
        nodes(4, 1), queue("left", state="Closed"), plain(annotations={QUEUE: "left"}),
        conf=configuration("gang", "proportion"), binds="-", codes={GROUP: ["QueueNotOpen", "NotAdmitted"]},
    ),
    Case(
        "the priority of the pod",
        nodes(1, 1), priority_class("high", 9), plain("early"), plain("late", priorityClassName="high"),
        conf=configuration("priority"), binds="-a",
    ),
    Case(
        "admitted by the request of the pod",
        nodes(10, 1), foreign("a", cpu=10), plain(cpu=3), conf=configuration("overcommit"), binds="-",
        codes={GROUP: ["ClusterOvercommitted", "NotAdmitted"]},
    ),
    Case(
        "admitted by the requests of all pods that start together",
        nodes(16, 1), queue("left", capability={"cpu": 4}),
        [owned(f"web-{place}", cpu=2, annotations={MINIMUM: "4", QUEUE: "left"}) for place in range(4)],
        conf=STANDARD, binds="----", phases={"podgroup-set": "Pending"},
        codes={"podgroup-set": ["QueueCapabilityExceeded", "NotAdmitted"]},
    ),
    Case("a pod of another scheduler", nodes(4, 1), plain(schedulerName="default-scheduler"), binds="-"),
    Case("a pod that names no scheduler", nodes(4, 1), plain(schedulerName=None), binds="-"),
    Case("a pod that names Volcano", nodes(4, 1), plain(schedulerName="volcano"), binds="a"),
    Case(
        "a pod of another scheduler on a node counts",
        nodes(4, 1), plain("there", cpu=4, schedulerName="default-scheduler", nodeName="a"), plain(), binds="-",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_plain_pods(case: Case) -> None:
    case.check()
