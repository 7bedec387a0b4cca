"""Consolidation beside preempt and reclaim in random clusters: no moved pod is evicted for a job that waited then."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, configuration, objects
from tests.testing.cases.recreated_pods import anew
from tests.testing.manifests.builders import Manifest, gang, node, priority_class, queue, running
from tests.testing.random_clusters.effort import examples

PRIORITIES = {"low": 10, "high": 100}
QUEUES = ("one", "two")
#: The actions that evict.
EVICTING = (["preempt", "reclaim"], ["reclaim"], ["preempt"], ["gangpreempt", "gangreclaim"])
#: Cycles after a move: the new pod is bound in the first, runs in the second, and could be evicted from then on.
CYCLES = 4


@st.composite
def clusters(draw: st.DrawFn) -> list[Manifest]:
    """Draw partly full nodes, a job that needs most of one, and others that need more than is free."""
    names = "abc"[: draw(st.integers(2, 3))]
    world: list[Any] = [node(name, 4) for name in names]
    for name in QUEUES:
        deserved = {"cpu": draw(st.sampled_from([1, 4, 8]))}
        world.append(queue(name, deserved=deserved, weight=draw(st.sampled_from([1, 1, 3]))))
    world += [priority_class(name, value) for name, value in PRIORITIES.items()]
    for place in names:
        for number, cpu in enumerate(draw(st.sampled_from([(1,), (2,), (2,), (1, 1), (2, 1)]))):
            name, minimum = f"runs-{place}{number}", draw(st.sampled_from([0, 0, 1]))
            world += running(place, cpu, name=name, minimum=minimum, **_whose(draw, "low", "low", "high"))
    large = draw(st.sampled_from([3, 4]))
    world += gang(1, large, name="large", phase="Inqueue", **_whose(draw, "low", "high"))
    for number in range(draw(st.integers(1, 2))):
        size, cpu = draw(st.sampled_from([2, 2, 1])), draw(st.sampled_from([2, 3, 3, 4]))
        world += gang(size, cpu, name=f"next-{number}", phase="Inqueue", **_whose(draw, "high", "high", "low"))
    return world


def _whose(draw: st.DrawFn, *priorities: str) -> dict[str, Any]:
    return {"queue": draw(st.sampled_from(QUEUES)), "priority": draw(st.sampled_from(priorities))}


@st.composite
def policies(draw: st.DrawFn) -> str:
    """Draw the order of the actions, and the plugin that shares between queues."""
    evicting = draw(st.permutations(["consolidate", *draw(st.sampled_from(EVICTING))]))
    shares = draw(st.sampled_from(["proportion", "capacity"]))
    actions = ", ".join(["allocate", *evicting])
    return configuration(["priority", "gang", "conformance"], ["predicates", shares], actions=actions)


@examples(300)
@given(clusters(), policies())
def test_moved_pod_is_not_evicted_for_a_job_that_waited(manifests: list[Manifest], policy: str) -> None:
    world = PlannedCluster(objects(manifests), Program(parse_configuration(policy, BUILT_IN), BUILT_IN))
    moved: set[str] = set()
    for number in range(CYCLES):
        session = world.decide()
        lost = {each.task.key: each.reason for each in session.decisions.evictions if each.reason != "consolidate"}
        assert not moved & lost.keys(), f"moved, then evicted: {lost}"
        moved |= _restart_moved_pods(world, session, number)


def _restart_moved_pods(world: PlannedCluster, session: Session, number: int) -> set[str]:
    """Apply the decisions; only moved pods are created again, so that nothing else changes."""
    moved = [each.task for each in session.decisions.evictions if each.reason == "consolidate"]
    pods = [world._cluster.pods.get(task.uid) for task in moved]
    world.apply_decisions(session)
    for pod in pods:
        world._cluster.apply(anew(pod, number))
    return {task.key for task in moved}
