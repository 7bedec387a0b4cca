"""What was left out of the manifests by mistake is told, and nothing else is."""

from typing import Any

import pytest

from stromboli.planner.missing_objects import oversights
from tests.testing.cases.case import flattened, objects
from tests.testing.manifests.builders import foreign, gang, node, pod, priority_class

OTHERS = "without a node {} for scheduler {} and took no part; use --scheduler-name to plan them"
UNKNOWN = "PriorityClass high is not given, but {} it: its priority is not known; add it"

CASES = [
    ("nothing is missing", [gang(2), foreign("a")], []),
    ("a pod of another scheduler", [pod(schedulerName="mine")], [f"1 pod {OTHERS.format('waits', 'mine')}"]),
    ("the field was forgotten", [pod(name=name, schedulerName=None) for name in "xy"],
     [f"2 pods {OTHERS.format('wait', 'default-scheduler')}"]),
    ("a class that is not given", [gang(1, priority="high")], [UNKNOWN.format("1 object names")]),
    ("a class that is given", [gang(1, priority="high"), priority_class("high", 5)], []),
    ("a class that every cluster has", [gang(1, priority="system-node-critical")], []),
]  # fmt: skip


@pytest.mark.parametrize(("world", "told"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_oversights(world: list[Any], told: list[str]) -> None:
    assert oversights(objects(flattened([node("a"), *world])), ("stromboli", "volcano")) == told


def test_a_cluster_without_nodes() -> None:
    told = oversights(objects(flattened([gang(1)])), ("stromboli", "volcano"))
    assert told == ["no Node is given, so nothing can be placed; add the nodes to the manifests"]
