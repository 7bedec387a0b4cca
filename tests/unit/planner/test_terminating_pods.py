"""Terminating pods in a plan: kept for the first cycle, and the phases that the scheduler writes meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.cases.case import Case
from tests.testing.manifests.builders import Manifest, gang, gang_of, nodes, pod, pods, running


def old(*, leaving: int = 1, staying: int = 1, minimum: int = 2, **facts: Any) -> list[Manifest]:
    """A group with some pods on node a that are terminating."""
    members = [pod(nodeName="a", releasing=True) for _ in range(leaving)] + pods(staying, nodeName="a")
    return gang_of(*members, name="old", minimum=minimum, **{"phase": "Running", **facts})


#: The objects, the number of cycles, and of the group `old` its phase and number of pods; None if it is gone.
CASES = {
    "a gang with a terminating pod still runs": ([nodes(2, 1), old()], 1, ("Running", 2)),
    "after the first cycle the pod is gone": ([nodes(2, 1), old()], 2, ("Unknown", 1)),
    "all pods are terminating": ([nodes(2, 1), old(leaving=2, staying=0)], 1, ("Running", 2)),
    "all pods are gone": ([nodes(2, 1), old(leaving=2, staying=0)], 2, ("Pending", 0)),
    "more pods than needed": ([nodes(2, 1), old(minimum=1)], 1, ("Running", 2)),
    "a waiting pod replaces the terminating one": (
        [nodes(2, 1), gang_of(pod(nodeName="a", releasing=True), pod(2), name="old", minimum=1, phase="Running")],
        2,
        ("Running", 1),
    ),
}


@pytest.mark.parametrize(("world", "cycles", "found"), CASES.values(), ids=CASES)
def test_terminating_pods_are_kept_for_the_first_cycle(world: Any, cycles: int, found: tuple[str, int]) -> None:
    group = Case("", world, binds="", cycles=cycles).plan().groups["default/old"]
    assert (group.phase, group.pods) == found


def test_pod_is_bound_to_capacity_of_a_terminating_one_in_the_second_cycle() -> None:
    world = [nodes(2, 1), old(), gang(1)]
    first, second = (Case("", world, binds="", cycles=cycles).plan() for cycles in (1, 2))
    assert (first.pipelined, first.binds) == ({"default/gang-task-0": "a"}, {})
    assert second.binds == {"default/gang-task-0": "a"}


def test_gang_below_its_minimum_is_unknown() -> None:
    world = [nodes(2, 1), running("a", minimum=2, phase="Running")]
    assert Case("", world, binds="").plan().groups["default/old"].phase == "Unknown"
