"""Warnings about objects that are missing in the manifests."""

from typing import Any

import pytest

from stromboli.planner.missing_objects import find_missing_objects
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import foreign, gang, node, pod, priority_class, queue

OTHERS = (
    "of scheduler {} {} without a node and ignored; set spec.schedulerName to stromboli, or use --scheduler-name {}"
)
CLASS = "PodGroup default/gang: spec.priorityClassName: PriorityClass high does not exist; "
QUEUE_NAME = "scheduling.volcano.sh/queue-name"

CASES = [
    ("nothing is missing", [gang(2), foreign("a")], []),
    ("pod of another scheduler", [pod(schedulerName="mine")], [f"1 pod {OTHERS.format('mine', 'is', 'mine')}"]),
    ("pods without schedulerName", [pod(name=name, schedulerName=None) for name in "xy"],
     [f"2 pods {OTHERS.format('default-scheduler', 'are', 'default-scheduler')}"]),
    ("missing priority class", [gang(1, priority="high")], [f"{CLASS}add it"]),
    ("similar priority class", [gang(1, priority="high"), priority_class("hight", 5)], [f"{CLASS}did you mean hight?"]),
    ("several objects", [gang(1, priority="high", name=name) for name in ("gang", "x", "y")],
     [f"{CLASS}add it (also named by 2 more objects)"]),
    ("missing queue", [gang(1, queue="reserch"), queue("research")],
     ["PodGroup default/gang: spec.queue: Queue reserch does not exist; did you mean research?"]),
    ("standard queues", [gang(1, queue="default"), gang(1, queue="root", name="x")], []),
    ("queue of an annotation", [gang(1, notes={QUEUE_NAME: "q"})],
     [f"PodGroup default/gang: metadata.annotations[{QUEUE_NAME}]: Queue q does not exist; add it"]),
    ("missing PodGroup", [pod(name="a", annotations={"scheduling.k8s.io/group-name": "gag"}), gang(1)],
     ["Pod default/a: metadata.annotations[scheduling.k8s.io/group-name]: PodGroup default/gag does not exist; "
      "did you mean default/gang?"]),
    ("pod on a node", [pod(name="a", nodeName="a", annotations={"scheduling.k8s.io/group-name": "gone"})], []),
    ("present priority class", [gang(1, priority="high"), priority_class("high", 5)], []),
    ("priority class of every cluster", [gang(1, priority="system-node-critical")], []),
]  # fmt: skip


@pytest.mark.parametrize(("manifests", "warnings"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_missing_objects_are_reported(manifests: list[Any], warnings: list[str]) -> None:
    assert find_missing_objects(objects(flattened([node("a"), *manifests])), ("stromboli", "volcano")) == warnings


def test_cluster_without_nodes_is_reported() -> None:
    warnings = find_missing_objects(objects(flattened([gang(1)])), ("stromboli", "volcano"))
    assert warnings == ["the manifests contain no Node, so nothing can be placed; add the nodes"]
