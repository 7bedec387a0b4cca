"""Warnings about objects that are missing in the manifests."""

from typing import Any

import pytest

from stromboli.planner.missing_objects import find_missing_objects
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import foreign, gang, node, pod, priority_class

OTHERS = "of scheduler {} {} without a node and ignored; schedule them with --scheduler-name"
UNKNOWN = "PriorityClass high is missing, but {} it: its priority is unknown; add it"

CASES = [
    ("nothing is missing", [gang(2), foreign("a")], []),
    ("pod of another scheduler", [pod(schedulerName="mine")], [f"1 pod {OTHERS.format('mine', 'is')}"]),
    ("pods without schedulerName", [pod(name=name, schedulerName=None) for name in "xy"],
     [f"2 pods {OTHERS.format('default-scheduler', 'are')}"]),
    ("missing priority class", [gang(1, priority="high")], [UNKNOWN.format("1 object names")]),
    ("present priority class", [gang(1, priority="high"), priority_class("high", 5)], []),
    ("priority class of every cluster", [gang(1, priority="system-node-critical")], []),
]  # fmt: skip


@pytest.mark.parametrize(("manifests", "warnings"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_missing_objects_are_reported(manifests: list[Any], warnings: list[str]) -> None:
    assert find_missing_objects(objects(flattened([node("a"), *manifests])), ("stromboli", "volcano")) == warnings


def test_cluster_without_nodes_is_reported() -> None:
    warnings = find_missing_objects(objects(flattened([gang(1)])), ("stromboli", "volcano"))
    assert warnings == ["the manifests contain no Node, so nothing can be placed; add the nodes"]
